package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/internal/fault"
)

// newMan is the command by which packages are given their man pages. Users have --help, so it isn't listed.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write a man page of each command", Args: oneArg("the folder for the pages"), Hidden: true,
		Long: "Write a man page of each command into DIR, raybridge.1 among them.\n\n" +
			"SOURCE_DATE_EPOCH, in seconds since 1970, is the date that the pages have; without it they have today's.",
		RunE: func(cmd *cobra.Command, args []string) error { return writeManPages(cmd.Root(), args[0]) },
	}
}

// writeManPages writes the pages of a command and of those below it.
func writeManPages(root *cobra.Command, dir string) error {
	date := time.Now()
	if text, ok := os.LookupEnv("SOURCE_DATE_EPOCH"); ok {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return usage(fmt.Errorf("SOURCE_DATE_EPOCH is %q: give seconds since 1970", text))
		}
		date = time.Unix(seconds, 0).UTC()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of man pages: %w", fault.File(err))
	}
	root.DisableAutoGenTag = true // a line with the date of the build
	header := &doc.GenManHeader{Section: "1", Source: "raybridge " + raybridge.Version(), Manual: "raybridge", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("write man pages: %w", fault.File(err))
	}
	return nil
}
