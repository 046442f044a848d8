//go:build man

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/manual"
)

// forPackages are the commands of a program with the build tag man, which scripts/dist.sh builds beside the others and doesn't
// pack. Users have --help.
func forPackages() []*cobra.Command {
	return []*cobra.Command{{
		Use: "man DIR", Short: "Write a man page of each command", Args: oneArg("the folder for the pages"), Hidden: true,
		Long: "Write a man page of each command into DIR, raybridge.1 among them.\n\n" +
			"SOURCE_DATE_EPOCH, in seconds since 1970, is the date that the pages have.",
		RunE: func(cmd *cobra.Command, args []string) error {
			seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
			if err != nil {
				return usage(fmt.Errorf("SOURCE_DATE_EPOCH is %q: give seconds since 1970", os.Getenv("SOURCE_DATE_EPOCH")))
			}
			return manual.Write(cmd.Root(), time.Unix(seconds, 0), args[0])
		},
	}}
}
