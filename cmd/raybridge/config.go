package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/compose"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/rig"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

func newConfig() *cobra.Command {
	cmd := group(&cobra.Command{Use: "config", Short: "Check configuration files"})
	cmd.AddCommand(&cobra.Command{
		Use:   "check FILE",
		Short: "Read a configuration and say whether a run would accept it",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return usage(check(cmd, args[0]))
		},
	})
	return cmd
}

// check reads a configuration and all that it names, and prints its sensors.
func check(cmd *cobra.Command, file string) error {
	c, err := config.Read(file)
	if err != nil {
		return err
	}
	if err := checkConfig(c); err != nil {
		return inFile(file, err)
	}
	s, warnings, err := compose.Scene(cmd.Context(), c)
	if err != nil {
		return inFile(file, err)
	}
	if _, err := compose.Ego(c, s); err != nil {
		return inFile(file, err)
	}
	for _, w := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
	}
	resolved, err := (&rig.Rig{Sensors: c.Sensors}).Resolve(sensorsall.Registry())
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: good; %d sensors, %d bridges\n", file, len(resolved), len(c.Bridges))
	for _, s := range resolved {
		fmt.Fprintf(cmd.OutOrStdout(), "  %-20s %-40s %6s Hz  %s\n", s.Spec.Name, s.Spec.Definition.ID, s.Rate, s.Topic)
	}
	return nil
}
