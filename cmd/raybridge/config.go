package main

import (
	"fmt"

	"github.com/spf13/cobra"

	bridgesall "github.com/raybridge/raybridge/bridges/all"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/rig"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check configuration files"}
	cmd.AddCommand(&cobra.Command{
		Use:   "check FILE",
		Short: "Read a configuration and say whether a run would accept it",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Read(args[0])
			if err != nil {
				return usage(err)
			}
			resolved, err := checkConfig(c)
			if err != nil {
				return usage(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: good; %d sensors, %d bridges\n", args[0], len(resolved), len(c.Bridges))
			for _, s := range resolved {
				fmt.Fprintf(cmd.OutOrStdout(), "  %-20s %-40s %6s Hz  %s\n", s.Spec.Name, s.Spec.Definition.ID, s.Rate, s.Topic)
			}
			return nil
		},
	})
	return cmd
}

// checkConfig checks what config.Read can't know: sensor and bridge types.
func checkConfig(c *config.Config) ([]rig.Sensor, error) {
	r := rig.Rig{Sensors: c.Sensors}
	resolved, err := r.Resolve(sensorsall.Registry())
	if err != nil {
		return nil, err
	}
	for _, b := range c.Bridges {
		if _, err := bridgesall.Registry().Plugin(b.Type); err != nil {
			return nil, err
		}
	}
	return resolved, nil
}
