package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/compose"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/rig"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

func newConfig() *cobra.Command {
	cmd := group(&cobra.Command{Use: "config", Short: "Check configuration files"})
	var lenient bool
	one := &cobra.Command{
		Use:   "check FILE",
		Short: "Read a configuration and say whether a run would accept it",
		Args:  oneArg("a configuration file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return usage(check(cmd, args[0], lenient))
		},
	}
	one.Flags().BoolVar(&lenient, "lenient", false, lenientUsage)
	cmd.AddCommand(one)
	return cmd
}

// check reads a configuration and all that it names, and prints its sensors.
func check(cmd *cobra.Command, file string, lenient bool) error {
	c, err := config.Reader{Lenient: lenient}.Read(file)
	if err != nil {
		return err
	}
	noteAttributes(c, lenient)
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
	for _, n := range c.Notices {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", n)
	}
	for _, w := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
	}
	resolved, err := (&rig.Rig{Sensors: c.Sensors}).Resolve(sensorsall.Registry())
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: good; %d sensors, %d bridges\n", file, len(resolved), len(c.Bridges))
	listSensors(cmd.OutOrStdout(), resolved)
	return nil
}

// listSensors prints a line for each sensor of a rig.
func listSensors(out io.Writer, list []rig.Sensor) {
	for _, s := range list {
		fmt.Fprintf(out, "  %-20s %-40s %6s Hz  %s\n", s.Spec.Name, s.Spec.Definition.ID, s.Rate, s.Topic)
	}
}

// lenientUsage is the help of --lenient.
const lenientUsage = "warn of what a rig has beyond the known parameters and their ranges, instead of refusing it"

// noteAttributes notes the attributes of a configuration's sensors that change nothing;
// with lenient it leaves out those that the types don't have.
func noteAttributes(c *config.Config, lenient bool) {
	r := rig.Rig{Sensors: c.Sensors, Notices: c.Notices}
	noteRig(&r, lenient)
	c.Sensors, c.Notices = r.Sensors, r.Notices
}

// noteRig is noteAttributes of a rig alone.
func noteRig(r *rig.Rig, lenient bool) {
	if lenient {
		r.DropUnknown(sensorsall.Registry())
	}
	r.NoteInert(sensorsall.Registry())
}
