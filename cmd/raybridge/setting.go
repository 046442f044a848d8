package main

import (
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/spf13/pflag"
)

// addSettings makes --set a command's flag.
func addSettings(flags *pflag.FlagSet, settings *[]string) {
	flags.StringArrayVar(settings, "set", nil, "`KEY=VALUE` of the configuration, such as ego.speed=5 or sensors.lidar.range=50, over the file,\nthe rig and the other flags; repeatable")
}

// applySettings puts those of --set over the configuration, in their order, and checks what they give together.
func applySettings(settings []string, c *config.Config) error {
	var faults doc.Faults
	for _, text := range settings {
		key, value, given := strings.Cut(text, "=")
		if !given {
			faults.Add(fmt.Errorf("--set %s: want KEY=VALUE, such as ego.speed=5", text))
			continue
		}
		if err := c.Set(key, value); err != nil {
			faults.Add(fmt.Errorf("--set: %w", err))
		}
	}
	if len(settings) > 0 {
		faults.Add(c.Validate())
	}
	return faults.Err()
}
