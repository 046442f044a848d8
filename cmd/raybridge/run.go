package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	bridgesall "github.com/raybridge/raybridge/bridges/all"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/compose"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

// runFlags are the flags of `raybridge run`; those that were given win over the
// configuration file.
type runFlags struct {
	config, scene, rig string
	duration           time.Duration
	seed               uint64
	headless, window   bool
	step, realtime     bool
	gpu                string
	bridges            []string
	policy             string
	out                string
	quiet              bool
	summary            string
	report             bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a scene and a rig, and hand their data to bridges",
		Long: "Run a scene and a rig of sensors, and hand their data to bridges.\n\n" +
			"Without flags it runs the demo rig in the procedural city.",
		Example: "  raybridge run --duration 10s --bridge mcap:recording --out out/drive --report\n" +
			"  raybridge run --config drive.yaml --realtime --window",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, &f) },
	}
	f.register(cmd)
	return cmd
}

// register makes the flags cmd's.
func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "configuration `FILE.yaml`; flags win over it")
	flags.StringVar(&f.scene, "scene", "city", "`SCENE`: city, or a .gltf or .glb file")
	flags.StringVar(&f.rig, "rig", "", "rig `FILE`; without it the demo rig")
	flags.DurationVar(&f.duration, "duration", 0, "simulated time to run; 0 is until Ctrl-C")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the city, the traffic and the noise")
	flags.BoolVar(&f.headless, "headless", false, "no window (the default)")
	flags.BoolVar(&f.window, "window", false, "show the sensors in a window; h lists its keys")
	flags.BoolVar(&f.step, "step", false, "fixed steps as fast as the machine goes (default when recording)")
	flags.BoolVar(&f.realtime, "realtime", false, "follow the host's clock")
	flags.StringVar(&f.gpu, "gpu", "auto", "`DEVICE`: auto, software, or a number that raybridge gpu lists")
	flags.StringArrayVar(&f.bridges, "bridge", nil, "`TYPE:CONNECTION` of a bridge, such as mcap:recording; repeatable")
	flags.StringVar(&f.policy, "policy", "", "`POLICY` of full queues: block, drop_newest or drop_oldest")
	flags.StringVar(&f.out, "out", "out", "`DIR` for recordings and the report")
	flags.BoolVar(&f.quiet, "quiet", false, "print errors only")
	flags.StringVar(&f.summary, "summary", "", "write what the run did to `FILE.json`")
	flags.BoolVar(&f.report, "report", false, "write report.html into the output folder")
}

// plan is a run with everything read and decided, and nothing opened yet.
type plan struct {
	flags    *runFlags
	config   *config.Config
	mode     pipeline.Mode
	window   bool
	log      *slog.Logger
	progress *progressPrinter
}

func run(cmd *cobra.Command, f *runFlags) error {
	pl, err := newPlan(cmd, f)
	if err != nil {
		return usage(err)
	}
	if pl.window {
		return runWindowed(cmd.Context(), cmd, pl)
	}
	open, err := headlessOpener(f.gpu)
	if err != nil {
		return usage(err)
	}
	return pl.execute(cmd.Context(), cmd, open, nil)
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
		if c, err = config.Read(f.config); err != nil {
			return nil, err
		}
	}
	if err := applyFlags(cmd, f, c); err != nil {
		return nil, err
	}
	if err := checkConfig(c); err != nil {
		return nil, inFile(f.config, err)
	}
	pl := &plan{flags: f, config: c, window: f.window}
	pl.mode = pipeline.Realtime
	if f.step || (!f.realtime && (recordsFile(c) || f.report)) {
		pl.mode = pipeline.Stepped
	}
	level := slog.LevelWarn
	if f.quiet {
		level = slog.LevelError
	}
	pl.log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
	pl.progress = newProgressPrinter(cmd.ErrOrStderr(), c.Duration, f.quiet)
	pl.warn()
	return pl, nil
}

// warn says what of the plan will have no effect.
func (pl *plan) warn() {
	c, f := pl.config, pl.flags
	if c.Ego.Driver == config.DriverKeys && !f.window {
		pl.log.Warn("ego.driver is keys, which only --window has: the vehicle stands")
	}
	if len(c.Bridges) == 0 && !f.report && !f.window {
		pl.log.Warn("nobody listens, so sensors stay idle: give --bridge, --report or --window")
	}
	for _, b := range c.Bridges {
		if pl.mode == pipeline.Stepped && b.Policy != "" && b.Policy != dispatch.Block.String() {
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
	if given("scene") {
		c.Scene.City, c.Scene.File, c.Scene.Place = f.scene == "city", "", nil
		if f.scene != "city" {
			c.Scene.File = f.scene
		}
	}
	switch {
	case f.rig != "":
		r, err := rig.Read(f.rig)
		if err != nil {
			return err
		}
		c.Sensors = r.Sensors
	case len(c.Sensors) == 0:
		r, err := demoRig()
		if err != nil {
			return err
		}
		c.Sensors = r.Sensors
	}
	for _, b := range f.bridges {
		parsed, err := config.ParseBridge(b)
		if err != nil {
			return err
		}
		c.Bridges = append(c.Bridges, parsed)
	}
	if f.policy != "" {
		if _, err := dispatch.ParsePolicy(f.policy); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
		for i := range c.Bridges {
			c.Bridges[i].Policy = f.policy
		}
	}
	return nil
}

// recordsFile reports whether a bridge of the configuration writes a file.
func recordsFile(c *config.Config) bool {
	for _, b := range c.Bridges {
		p, err := bridgesall.Registry().Plugin(b.Type)
		if err == nil && p.Info().Kind == bridges.KindFile {
			return true
		}
	}
	return false
}

// view is what a window or a report adds to a run.
type view interface {
	// attach listens to the pipeline's sensors, before the run.
	attach(*pipeline.Pipeline) error
	// finish is called when the pipeline has been closed.
	finish(*pipeline.Pipeline) error
}

// execute runs the plan on an opened context.
func (pl *plan) execute(ctx context.Context, cmd *cobra.Command, open gpu.Opener, extra view) error {
	if err := pl.makeOut(); err != nil {
		return usage(err)
	}
	p, err := pl.build(ctx, open)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // ended before it began, as it was told to
	}
	if err != nil {
		return err
	}
	views, err := pl.views(p, extra)
	if err != nil {
		return errors.Join(err, p.Close(context.Background()))
	}
	pl.progress.start(p.GPU(), p.World())
	runErr := p.Run(ctx, pl.config.Duration)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	closeErr := p.Close(closing)
	pl.progress.stop()
	for _, v := range views {
		closeErr = errors.Join(closeErr, v.finish(p))
	}
	return pl.conclude(cmd, p, errors.Join(runErr, closeErr))
}

// closeLimit is how long queued messages may take to be sent at the end.
const closeLimit = 2 * time.Minute

// makeOut makes the output folder, and proves that what the run ends with can be
// written. The summary comes second: it may lie in the output folder or above it.
func (pl *plan) makeOut() error {
	if len(pl.config.Bridges) > 0 || pl.flags.report {
		if err := os.MkdirAll(pl.flags.out, 0o755); err != nil {
			return fmt.Errorf("make output folder: %w", err)
		}
		if err := proveWritable(pl.flags.out); err != nil {
			return fmt.Errorf("output folder: %w", err)
		}
	}
	if pl.flags.summary == "" {
		return nil
	}
	if err := proveWritable(filepath.Dir(pl.flags.summary)); err != nil {
		return fmt.Errorf("--summary: %w", err)
	}
	return nil
}

func proveWritable(folder string) error {
	probe, err := os.CreateTemp(folder, ".raybridge-*")
	var cause *os.PathError
	if errors.As(err, &cause) {
		return fmt.Errorf("write into %s: %w", folder, cause.Err)
	}
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// build makes the pipeline with its sensors and bridges.
func (pl *plan) build(ctx context.Context, open gpu.Opener) (*pipeline.Pipeline, error) {
	c := pl.config
	s, warnings, err := compose.Scene(ctx, c)
	if err != nil {
		return nil, usage(inFile(pl.flags.config, err))
	}
	for _, w := range warnings {
		pl.log.Warn(w)
	}
	ego, err := compose.Ego(c, s)
	if err != nil {
		return nil, usage(inFile(pl.flags.config, err))
	}
	clockHz := c.Time.ClockHz
	if clockHz == 0 {
		clockHz = -1
	}
	p, err := pipeline.New(ctx, pipeline.Config{
		Scene: s, Open: open, Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(),
		Mode: pl.mode, Step: c.Time.Step, ClockHz: clockHz, TimeSource: c.Time.Source, Scale: c.Time.Scale,
		Seed: c.Seed, Ego: ego, OutDir: pl.flags.out, CacheDir: cacheDir(),
		Run: bridges.Run{Version: version, Scene: s.Name, Rig: pl.rigName(), Seed: c.Seed},
		Log: pl.log, OnProgress: pl.progress.update,
	})
	if err != nil {
		return nil, sceneFault(err)
	}
	if err := pl.connect(ctx, p); err != nil {
		return nil, errors.Join(usage(err), p.Close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// sceneFault marks errors that lie in the scene or the configuration as wrong use.
func sceneFault(err error) error {
	for _, fault := range []error{
		pipeline.ErrConfig, scene.ErrEmptyScene, scene.ErrVertex, scene.ErrIndex, scene.ErrTooLarge,
	} {
		if errors.Is(err, fault) {
			return usage(err)
		}
	}
	return err
}

// connect adds the rig and the bridges.
func (pl *plan) connect(ctx context.Context, p *pipeline.Pipeline) error {
	if _, err := p.AddRig(&rig.Rig{Sensors: pl.config.Sensors}); err != nil {
		return err
	}
	if err := p.AddTransforms(); err != nil {
		return err
	}
	for _, b := range pl.config.Bridges {
		if err := p.AddBridge(ctx, pipeline.BridgeConfig{
			Spec: b.Type + ":" + b.Connection, Policy: b.Policy, QoS: qosOverrides(b.QoS),
		}); err != nil {
			return err
		}
	}
	return nil
}

// qosOverrides is the configuration's quality of service by topic.
func qosOverrides(list []config.QoS) map[string]bridges.QoS {
	overrides := map[string]bridges.QoS{}
	for _, q := range list {
		out := bridges.QoS{Reliability: bridges.BestEffort, Durability: bridges.Volatile, History: bridges.KeepLast, Depth: max(q.Depth, 1)}
		if q.Reliability == "reliable" {
			out.Reliability = bridges.Reliable
		}
		if q.Durability == "transient_local" {
			out.Durability = bridges.TransientLocal
		}
		overrides[q.Topic] = out
	}
	return overrides
}

func (pl *plan) rigName() string {
	switch {
	case pl.flags.rig != "":
		return filepath.Base(pl.flags.rig)
	case pl.flags.config != "":
		return filepath.Base(pl.flags.config)
	default:
		return "demo"
	}
}

// conclude prints the table and decides the exit code.
func (pl *plan) conclude(cmd *cobra.Command, p *pipeline.Pipeline, err error) error {
	summary := p.Summary()
	if !pl.flags.quiet {
		printSummary(cmd.OutOrStdout(), &summary)
	}
	if pl.flags.summary != "" {
		err = errors.Join(err, summary.WriteJSON(pl.flags.summary))
	}
	if err != nil {
		return err
	}
	if !summary.Complete(bridgesall.Registry()) {
		return &exitError{exitIncomplete, errors.New("finished, but not everything was delivered: see the table of bridges")}
	}
	return nil
}

// cacheDir is where built scenes are kept: $XDG_CACHE_HOME/raybridge.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "raybridge")
}
