package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/compose"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

func newConfig() *cobra.Command {
	cmd := group(&cobra.Command{Use: "config", Short: "Check configuration files"})
	var lenient bool
	var limit memoryLimit
	one := &cobra.Command{
		Use:   "check FILE",
		Short: "Read a configuration and say whether a run would accept it",
		Args:  oneArg("a configuration file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return usage(check(cmd, args[0], lenient, &limit))
		},
	}
	one.Flags().BoolVar(&lenient, "lenient", false, lenientUsage)
	addMemoryLimit(one, &limit)
	cmd.AddCommand(one)
	return cmd
}

// check reads a configuration and all that it names, and prints its sensors.
func check(cmd *cobra.Command, file string, lenient bool, limit *memoryLimit) error {
	c, err := config.Reader{Lenient: lenient}.Read(file)
	if err != nil {
		return err
	}
	ofDemo := len(c.Sensors) == 0
	if err := carryRig(&runFlags{}, c); err != nil {
		return err
	}
	noteAttributes(c, lenient)
	if err := errors.Join(checkConfig(c, defaultOut), checkTwice(c.Bridges)); err != nil {
		return inFile(file, err)
	}
	s, warnings, err := compose.Scene(cmd.Context(), c, limit.budget())
	if err != nil {
		return inFile(file, err)
	}
	ego, err := compose.Ego(c, s)
	if err != nil {
		return inFile(file, err)
	}
	if astray := compose.Astray(s, ego); astray != "" {
		warnings = append(warnings, astray)
	}
	log := newLog(cmd.ErrOrStderr(), false)
	for _, n := range c.Notices {
		log.Warn(n.String())
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	r := rig.Rig{Sensors: c.Sensors}
	topics, err := pipeline.RigTopics(&r, sensorsall.Registry())
	if err != nil {
		return err
	}
	resolved, err := r.Resolve(sensorsall.Registry())
	if err != nil {
		return err
	}
	whose := ""
	if ofDemo {
		whose = " of the demo rig, since the file has none"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: good; %s%s, %s\n", file, count(len(resolved), "sensor"), whose, count(len(c.Bridges), "bridge"))
	listSensors(cmd.OutOrStdout(), resolved, topics)
	return nil
}

// listSensors prints a line for each sensor of a rig, with the topics that it publishes.
func listSensors(out io.Writer, list []rig.Sensor, topics [][]string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, s := range list {
		rate := s.Rate + " Hz"
		if s.Spec.Definition.EachFrame {
			rate = eachFrame
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", s.Spec.Name, s.Spec.Definition.ID, rate, strings.Join(topics[i], " "))
	}
	_ = w.Flush() // a terminal that is gone needs no table
}

// eachFrame stands for the rate of sensors that have none.
const eachFrame = "each frame"

// count is a number of things, for people.
func count[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// lenientUsage is the help of --lenient.
const lenientUsage = "warn of what a rig has beyond the known parameters and their ranges, instead of refusing it"

// noteAttributes notes what there is to say of a configuration's sensors; with lenient it
// leaves out attributes that the types don't have.
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
	r.Note(sensorsall.Registry())
}
