package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/flow"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/simtime"
)

// plan is a run with everything read and decided, and nothing opened yet.
type plan struct {
	flags  *runFlags
	config *config.Config
	mode   pipeline.Mode
	window bool
	// leftToCommands: the rig leaves the vehicle to commands from outside.
	leftToCommands bool
	control        *control.Address // nil where nothing listens
	audience       []audience       // whom the run waits for
	log            *slog.Logger
	progress       *progressPrinter
}

// newPlan reads the configuration and applies the flags.
func newPlan(cmd *cobra.Command, f *runFlags) (*plan, error) {
	switch {
	case f.headless && f.window:
		return nil, errors.New("give either --headless or --window, not both")
	case f.step && f.realtime:
		return nil, errors.New("give either --step or --realtime, not both")
	}
	c := config.Default()
	if f.config != "" {
		var err error
		if c, err = (config.Reader{Lenient: f.lenient}).Read(f.config); err != nil {
			return nil, err
		}
	}
	if err := applyFlags(cmd, f, c); err != nil {
		return nil, err
	}
	before := c.Ego.Driver
	c.ChooseDriver(f.window)
	noteAttributes(c, f.lenient)
	if err := checkConfig(c, f.out); err != nil {
		return nil, inFile(f.config, err)
	}
	if err := checkTwice(c.Bridges); err != nil {
		return nil, err
	}
	pl := &plan{flags: f, config: c, window: f.window, leftToCommands: before != c.Ego.Driver && c.Ego.Driver == config.DriverExternal}
	var err error
	if pl.mode, err = modeOf(f, c); err != nil {
		return nil, err
	}
	if pl.control, err = controlAddress(cmd, f); err != nil {
		return nil, err
	}
	if f.paused && pl.control == nil && !pl.window {
		return nil, errors.New("--paused: nothing could resume the run: give --control or --window")
	}
	if pl.audience, err = readAudience(f.waitFor, c); err != nil {
		return nil, err
	}
	if pl.idle() {
		return nil, errors.New("nobody listens, so sensors stay idle: give --bridge, --report, --window or --control")
	}
	pl.log = newLog(cmd.ErrOrStderr(), f.quiet)
	pl.progress = newProgressPrinter(cmd.ErrOrStderr(), c.Duration, f.quiet)
	pl.warn()
	return pl, nil
}

// idle reports whether the run would do nothing that anybody sees: no sensor has a
// listener, none computes always, and nobody can add either while it runs.
func (pl *plan) idle() bool {
	return len(pl.config.Bridges) == 0 && !pl.flags.report && !pl.window && pl.control == nil &&
		!slices.ContainsFunc(pl.config.Sensors, func(s rig.Entry) bool { return s.Always })
}

// modeOf decides how simulation time passes. What drives a source from outside
// keeps its own time: such a run doesn't step.
func modeOf(f *runFlags, c *config.Config) (pipeline.Mode, error) {
	source, err := simtime.ParseSource(c.Time.Source)
	if err != nil {
		return 0, err
	}
	outside := source == simtime.SS2 || source == simtime.ROS2
	switch {
	case f.step && outside:
		return 0, fmt.Errorf("--step can't follow the time source %s, which is driven from outside: give --realtime, or --time-source engine", source)
	case f.step, !f.realtime && !outside && (recordsFile(c) || f.report):
		return pipeline.Stepped, nil
	default:
		return pipeline.Realtime, nil
	}
}

// controlAddress reads --control; nil where it isn't given.
func controlAddress(cmd *cobra.Command, f *runFlags) (*control.Address, error) {
	if !cmd.Flags().Changed("control") {
		return nil, nil
	}
	address, err := control.ParseAddress(f.control)
	if err != nil {
		return nil, fmt.Errorf("--control: %w", err)
	}
	return &address, nil
}

// warn says what of the plan will have no effect.
func (pl *plan) warn() {
	c, f := pl.config, pl.flags
	warnRig(pl.log, c.Notices, c.Sensors)
	if pl.leftToCommands {
		pl.log.Warn("the rig leaves the vehicle to commands from outside: it stands until they come; ego.driver: waypoints lets it drive")
	}
	if c.Ego.Driver == config.DriverKeys && !f.window {
		pl.log.Warn("ego.driver is keys, which only --window has: the vehicle stands")
	}
	if source, _ := simtime.ParseSource(c.Time.Source); source == simtime.SS2 && pl.control == nil {
		pl.log.Warn("the time source is ss2 and nothing sets it, so time stands at 0: give --control")
	}
	if pl.mode == pipeline.Stepped && c.Time.Scale != 1 {
		pl.log.Warn("a stepped run goes as fast as it can: the time scale counts with --realtime", "scale", c.Time.Scale)
	}
	for _, b := range c.Bridges {
		if pl.mode == pipeline.Stepped && b.Policy != "" && b.Policy != flow.Block.String() {
			pl.log.Warn("a stepped run drops nothing: the policy counts with --realtime", "bridge", b.Type, "policy", b.Policy)
		}
	}
}

// applyFlags puts the flags that were given over the configuration.
func applyFlags(cmd *cobra.Command, f *runFlags, c *config.Config) error {
	given := cmd.Flags().Changed
	if given("seed") {
		c.Seed = f.seed
	}
	if given("duration") {
		if f.duration < 0 {
			return fmt.Errorf("--duration %v is negative", f.duration)
		}
		c.Duration = f.duration
	}
	if err := applyTimeFlags(cmd, f, c); err != nil {
		return err
	}
	if given("scene") {
		c.Scene.City, c.Scene.File, c.Scene.Place = f.scene == "city", "", nil
		if f.scene != "city" {
			c.Scene.File = f.scene
		}
	}
	if err := carryRig(f, c); err != nil {
		return err
	}
	for _, b := range f.bridges {
		parsed, err := parseBridge(b)
		if err != nil {
			return err
		}
		if err := bridgesall.Registry().Check(b, bridges.Env{OutDir: f.out}); err != nil {
			return fmt.Errorf("--bridge: %w", err)
		}
		c.Bridges = append(c.Bridges, parsed)
	}
	if f.policy != "" {
		if _, err := flow.ParsePolicy(f.policy); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
		for i := range c.Bridges {
			c.Bridges[i].Policy = f.policy
		}
	}
	return nil
}

// parseBridge reads --bridge. A bridge's name alone gets its colon.
func parseBridge(spec string) (config.Bridge, error) {
	parsed, err := config.ParseBridge(spec)
	if err == nil {
		return parsed, nil
	}
	registry := bridgesall.Registry()
	name := spec
	if _, unknown := registry.Plugin(name); unknown != nil {
		name = closest.Name(spec, registry.Names())
	}
	if plugin, unknown := registry.Plugin(name); unknown == nil {
		return parsed, fmt.Errorf("--bridge %s: no colon after the bridge's name: want %s:%s", spec, name, plugin.Info().Connection)
	}
	return parsed, fmt.Errorf("--bridge: %w", err)
}

// carryRig gives the vehicle the rig of --rig, or the demo's where there is none.
func carryRig(f *runFlags, c *config.Config) error {
	switch {
	case f.rig != "":
		r, err := rig.Reader{Lenient: f.lenient}.Read(f.rig)
		if err != nil {
			return err
		}
		c.Carry(r)
	case len(c.Sensors) == 0:
		r, err := demoRig()
		if err != nil {
			return err
		}
		c.Sensors = r.Sensors
	}
	return nil
}

// applyTimeFlags puts the flags of the clock over the configuration.
func applyTimeFlags(cmd *cobra.Command, f *runFlags, c *config.Config) error {
	if cmd.Flags().Changed("time-source") {
		if _, err := simtime.ParseSource(f.timeSource); err != nil {
			return fmt.Errorf("--time-source: %w", unknownSource(f.timeSource))
		}
		c.Time.Source = f.timeSource
	}
	if cmd.Flags().Changed("time-scale") {
		if !(f.timeScale >= config.MinScale && f.timeScale <= config.MaxScale) { // nor is NaN in it
			return fmt.Errorf("--time-scale %v: the range is %v to %v", f.timeScale, config.MinScale, config.MaxScale)
		}
		c.Time.Scale = f.timeScale
	}
	return nil
}

// unknownSource is the error for a time source that isn't there.
func unknownSource(name string) error {
	known := []string{simtime.Engine, simtime.SS2, simtime.System, simtime.Simulation, simtime.ROS2, "unity", "external"}
	return fmt.Errorf("%w %q: %s", simtime.ErrUnknownSource, name, closest.Want(name, known...))
}

// recordsFile reports whether a bridge of the configuration writes a file.
func recordsFile(c *config.Config) bool {
	registry := bridgesall.Registry()
	for _, b := range c.Bridges {
		p, err := registry.Plugin(b.Type)
		if err == nil && p.Info().Kind == bridges.KindFile {
			return true
		}
	}
	return false
}
