package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/simtime"
	"github.com/spf13/cobra"
)

func newConfig() *cobra.Command {
	cmd := group(&cobra.Command{Use: "config", Short: "Check and show configuration files"})
	cmd.AddCommand(newConfigCheck(), newConfigShow())
	return cmd
}

func newConfigCheck() *cobra.Command {
	var f runFlags
	one := &cobra.Command{
		Use:   "check FILE",
		Short: "Read a configuration and say whether a run would accept it",
		Args:  oneArg("a configuration file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.config = args[0]
			return usage(checkRunFile(cmd, &f))
		},
	}
	one.Flags().BoolVar(&f.lenient, "lenient", false, lenientUsage)
	addSettings(one.Flags(), &f.settings)
	addMemoryLimit(one, &f.memory)
	return one
}

func newConfigShow() *cobra.Command {
	var f runFlags
	one := &cobra.Command{
		Use:   "show FILE",
		Short: "Print every key with its value, defaults and the rig's sensors included: what --set can change",
		Args:  oneArg("a configuration file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.config = args[0]
			return usage(showConfig(cmd, &f))
		},
	}
	one.Flags().BoolVar(&f.lenient, "lenient", false, lenientUsage)
	addSettings(one.Flags(), &f.settings)
	return one
}

// showConfig prints a line for each leaf of a configuration.
func showConfig(cmd *cobra.Command, f *runFlags) error {
	c, err := f.configuration(cmd)
	if err != nil {
		return err
	}
	noteAttributes(c, f.lenient)
	leaves, err := c.Leaves(sensorsall.Registry())
	if err != nil {
		return inFile(f.config, err)
	}
	for _, l := range leaves {
		fmt.Fprintf(cmd.OutOrStdout(), "%s=%s\n", l.Key, l.Value)
	}
	return nil
}

// checkRunFile reads a configuration and all that it names, and prints its sensors. Other flags are those of a run.
func checkRunFile(cmd *cobra.Command, f *runFlags) error {
	file := f.config
	c, err := config.Reader{Lenient: f.lenient}.Read(file)
	if c == nil {
		return err
	}
	var faults doc.Faults
	faults.Add(err)
	ofDemo := len(c.Sensors) == 0
	if err := carryRig(f, c); err != nil {
		return err
	}
	faults.Add(applySettings(f.settings, c))
	noteAttributes(c, f.lenient)
	log := newLog(cmd.ErrOrStderr(), false)
	done := flow.TellLong(log, "making the scene")
	warnings, err := checkRun(cmd, c, &f.memory)
	done()
	faults.Add(err)
	if err := faults.Err(); err != nil {
		return inFile(file, err)
	}
	warnRig(log, c.Notices, c.Sensors)
	for _, w := range warnings {
		log.Warn(w)
	}
	var asked []askedBridge
	if c.OpenRigBridges {
		if asked, err = bridgesAsked(c); err != nil {
			return err
		}
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
	fmt.Fprintf(cmd.OutOrStdout(), "%s: good; %s%s, %s\n", file, fault.Count(len(resolved), "sensor"), whose, fault.Count(len(c.Bridges), "bridge"))
	listSensors(cmd.OutOrStdout(), resolved, topics)
	listAsked(cmd.OutOrStdout(), asked)
	return nil
}

// checkRun checks all that a run of the configuration would refuse before it begins.
func checkRun(cmd *cobra.Command, c *config.Config, limit *memoryLimit) (warnings []string, err error) {
	var faults doc.Faults
	faults.Add(checkConfig(c, defaultOut))
	s, warnings, err := raybridge.SceneOf(cmd.Context(), c, limit.budget())
	if faults.Add(err); err == nil {
		var astray string
		_, astray, err = raybridge.EgoOf(c, s)
		if faults.Add(err); astray != "" {
			warnings = append(warnings, astray)
		}
	}
	return warnings, faults.Err()
}

// listSensors prints a line for each sensor of a rig, with the topics that it publishes.
func listSensors(out io.Writer, list []sensors.Spec, topics [][]string) {
	w := columns(out)
	for i, s := range list {
		rate := s.Rate.String() + " Hz"
		if s.Definition.EachFrame {
			rate = eachFrame
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", s.Name, s.Definition.ID, rate, strings.Join(topics[i], " "))
	}
	_ = w.Flush() // a terminal that is gone needs no table
}

// eachFrame stands for the rate of sensors that have none.
const eachFrame = "each frame"

// lenientUsage is the help of --lenient.
const lenientUsage = "warn of unknown parameters and values out of range in a rig, and of unknown keys in AWSIM's file, instead of refusing the file"

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

// checkConfig checks what config.Reader can't know, before anything is opened:
// sensors and their topics, the clock, and bridges, which would write below out.
func checkConfig(c *config.Config, out string) error {
	var faults doc.Faults
	faults.Add(checkTime(c))
	topics, err := publishedTopics(c)
	faults.Add(err)
	if c.World.Source != "" {
		if err := raybridge.CheckWorld(c.World.Source); err != nil {
			faults.Add(fmt.Errorf("world.source: %w", err))
		}
	}
	registry := bridgeRegistry()
	for i := range c.Bridges {
		key, wrong := checkBridge(registry, &c.Bridges[i], out)
		if wrong == nil && err == nil { // else nobody knows the topics
			key, wrong = checkQoS(&c.Bridges[i], topics)
		}
		faults.Add(c.InBridge(i, key, wrong))
	}
	faults.Add(checkTwice(c.Bridges))
	return faults.Err()
}

// checkTwice refuses bridges that are given twice, and those that would write the same
// file.
func checkTwice(list []config.Bridge) error {
	registry, seen := bridgeRegistry(), map[string]string{}
	for i := range list {
		b := &list[i]
		spec := b.Type + ":" + b.Connection
		key := spec
		if isFile(registry, b.Type, b.Connection) {
			path, _, _ := strings.Cut(b.Connection, "?")
			key = b.Type + ":" + filepath.Clean(path)
		}
		switch before, twice := seen[key]; {
		case twice && before == spec:
			return fmt.Errorf("bridge %s is given twice", spec)
		case twice:
			return fmt.Errorf("bridges %s and %s would write to the same place", before, spec)
		}
		seen[key] = spec
	}
	return nil
}

// publishedTopics lists the topics of the sensors and those that the run adds.
func publishedTopics(c *config.Config) ([]string, error) {
	topics, err := pipeline.CheckRun(&rig.Rig{Sensors: c.Sensors}, sensorsall.Registry(), raybridge.Wants(c, bridgeRegistry()))
	if err != nil {
		return nil, err
	}
	return append(topics, "/clock"), nil
}

// checkBridge returns the key of a bridge that has a fault, and the fault.
func checkBridge(registry *bridges.Registry, b *config.Bridge, out string) (key string, err error) {
	if _, err := registry.Plugin(b.Type); err != nil {
		return "type", err
	}
	if err := registry.Check(b.Type+":"+b.Connection, bridges.Env{OutDir: out}); err != nil {
		return "connection", err
	}
	if b.Policy != "" {
		if _, err := flow.ParsePolicy(b.Policy); err != nil {
			return "policy", fmt.Errorf("bridge %s: %w", b.Type, err)
		}
	}
	return "", nil
}

// checkQoS is checkBridge of the quality of service, which is given for topics.
func checkQoS(b *config.Bridge, topics []string) (key string, err error) {
	for _, q := range b.QoS {
		if !slices.Contains(topics, q.Topic) {
			return "qos", fmt.Errorf("bridge %s: qos: no sensor publishes %q, %s", b.Type, q.Topic, fault.Hint(q.Topic, topics))
		}
	}
	return "", nil
}

// checkTime checks the clock, also beside a world, whose the time is.
func checkTime(c *config.Config) error {
	source, err := simtime.ParseSource(c.Time.Source)
	if err != nil {
		return fmt.Errorf("time.source: %w", unknownSource(c.Time.Source))
	}
	if c.World.Source != "" && (source == simtime.SS2 || source == simtime.ROS2 || source == simtime.System) {
		return fmt.Errorf("time.source: time is the world's, and can't be that of %s: leave it out, or give engine", source)
	}
	if _, err := simtime.ScaleOf(c.Time.Scale); err != nil {
		return fmt.Errorf("time.scale: %w", err)
	}
	return nil
}

// inFile names the configuration file in an error that has no place in one.
func inFile(file string, err error) error {
	if list := doc.Joined(err); list != nil {
		var all []error
		for _, one := range list {
			all = append(all, inFile(file, one))
		}
		return errors.Join(all...)
	}
	var placed *doc.Error
	if err == nil || file == "" || errors.As(err, &placed) {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}
