// Command write writes docs/config.md, docs/sensors.md and docs/rigs.md into a folder:
//
//	go run ./write FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/reference"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors/all"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FOLDER")
		os.Exit(2)
	}
	for name, text := range map[string][]byte{
		"config.md": reference.Config(), "sensors.md": reference.Sensors(all.Registry()), "rigs.md": reference.Rigs(rig.Dialects()),
	} {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "write:", err)
			os.Exit(1)
		}
	}
}
