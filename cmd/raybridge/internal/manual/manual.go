// Package manual writes the man pages of packages. It's apart from the program, which isn't linked with it: see cmd/raybridge/man.go.
package manual

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/raybridge/raybridge/internal/fault"
)

// Write writes a page of root and of each command below it into dir, which it makes. The pages have the date and the
// name of the program's version, and are equal where these are. It changes root, which is the caller's.
func Write(root *cobra.Command, date time.Time, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of man pages: %w", fault.File(err))
	}
	date = date.UTC()
	root.DisableAutoGenTag = true // a line with the date of the build
	header := &doc.GenManHeader{Section: "1", Source: "raybridge " + root.Version, Manual: "raybridge", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("write man pages: %w", fault.File(err))
	}
	return nil
}
