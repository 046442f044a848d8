package main

import (
	"cmp"
	"context"
	_ "embed" // the demo rig
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/judge"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/metrics"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/save"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/window"
	"github.com/raybridge/raybridge/world"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFlags are the flags of `raybridge run`; those that were given win over the
// configuration file.
type runFlags struct {
	config, scene, rig string
	world              string
	weather            weatherPreset
	duration           time.Duration
	timeSource         string
	timeScale          float64
	api, apiTokenFile  string
	apiOrigins         []string
	view, pprof        bool
	seed               uint64
	headless, window   bool
	step, realtime     bool
	paused             bool
	waitFor            []string
	settings           []string // of --set
	device             deviceFlags
	deviceTimeout      time.Duration
	bridges            []string
	policy             string
	out                string
	quiet              bool
	summary            string
	limits             judge.Flags
	report             bool
	lenient            bool
	withInput          bool
	runID              string
	memory             memoryLimit
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a scene and a rig, and hand their data to bridges",
		Long: "Run a scene and a rig of sensors, and hand their data to bridges.\n\n" +
			"A run needs a receiver: give --bridge, --report, --view, --window or --api. By default the\nscene is the procedural city, and the rig is the demo's.",
		Example: "  raybridge run --realtime --view\n" +
			"  raybridge run --duration 10s --bridge mcap:recording --out out/drive --report\n" +
			"  raybridge run --config drive.yaml --realtime --window\n" +
			"  raybridge run --scene plane --world sumo:town.sumocfg --rig rig.yaml --bridge mcap:drive.mcap\n" +
			"  raybridge run --realtime --bridge mcap:drive.mcap --api 8080   # then: curl -X POST localhost:8080/v1/pause",
		Args: func(cmd *cobra.Command, args []string) error {
			for _, text := range f.waitFor { // first: a flag taken for a name leaves its own value as an argument
				if _, err := parseAudience(text); err != nil {
					return usage(err)
				}
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, &f) },
	}
	f.register(cmd)
	completeFlags(cmd)
	addLogFlags(cmd)
	completeTopics(cmd, func([]string) []string {
		c, err := f.configuration(cmd)
		if err != nil {
			return nil
		}
		topics, err := publishedTopics(c)
		if err != nil {
			return nil
		}
		return topics
	})
	return cmd
}

// defaultOut is the folder for recordings where --out isn't given.
const defaultOut = "out"

// register makes the flags cmd's.
func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "configuration `FILE.yaml`; flags win over it")
	flags.StringVar(&f.scene, "scene", config.SceneCity, sceneUsage)
	flags.StringVar(&f.world, "world", "", "`KIND:ADDRESS` of a world that moves the actors: "+worldForms())
	addWeather(flags, &f.weather)
	flags.StringVar(&f.rig, "rig", "", "rig `FILE`: our YAML, an SVL vehicle's JSON, or CARLA's objects.json or stack.json;\nwithout it the demo rig")
	flags.BoolVar(&f.lenient, "lenient", false, lenientUsage)
	flags.DurationVar(&f.duration, "duration", 0, "simulated time to run; 0 is until Ctrl-C")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the city, the traffic and the noise")
	addSettings(flags, &f.settings)
	flags.BoolVar(&f.headless, "headless", false, "no window (the default)")
	flags.BoolVar(&f.window, "window", false, "show the sensors in a window; h lists its keys")
	flags.BoolVar(&f.step, "step", false, "fixed steps as fast as the machine goes (default when recording)")
	flags.BoolVar(&f.realtime, "realtime", false, "follow the host's clock")
	flags.BoolVar(&f.paused, "paused", false, "begin paused, until --api, the page or the window resumes")
	flags.StringArrayVar(&f.waitFor, "wait-for", nil, "begin when `NAME[=N]` has N receivers, 1 without: a topic, or a bridge such as foxglove; repeatable")
	flags.StringVar(&f.timeSource, "time-source", "engine", "`NAME` of the time source: engine, ss2, system, simulation or ros2")
	flags.Float64Var(&f.timeScale, "time-scale", 1, "simulated seconds per second, with --realtime")
	flags.StringVar(&f.api, "api", "", "HTTP API at `ADDR`, [HOST:]PORT or unix:PATH: time, actors and sensors. By default only this\nmachine may connect; port 0 is any free one. raybridge ctl is a client")
	flags.StringVar(&f.api, "control", "", "another name of --api")
	flags.Lookup("control").Hidden = true
	flags.StringSliceVar(&f.apiOrigins, "api-origins", nil, "`HOST,...` under which page and API are reached beside IP addresses and localhost, such as robot")
	flags.BoolVar(&f.view, "view", false, "show the run in a browser: prints the page's address. Without --api that is port 7741, or any free\none; beyond this machine a token is made where none is given")
	flags.StringVar(&f.apiTokenFile, "api-token-file", "", "`FILE` with the token that --api asks for; without it that of RAYBRIDGE_API_TOKEN")
	flags.BoolVar(&f.pprof, "pprof", false, "Go's profiles of the program at /debug/pprof/ of --api, which only this machine may reach then")
	f.device.register(flags)
	flags.DurationVar(&f.deviceTimeout, "device-timeout", 0, "`TIME` that the device may take for a picture or a scan, which is lost then (default 5s with --realtime,\nelse without limit)")
	flags.StringArrayVar(&f.bridges, "bridge", nil, "`TYPE:CONNECTION` of a bridge, such as mcap:recording; repeatable")
	flags.StringVar(&f.policy, "policy", "", "`POLICY` of full queues: block, drop_newest, drop_oldest or exclusive")
	flags.StringVar(&f.out, "out", defaultOut, "`DIR` for recordings and the report")
	flags.BoolVar(&f.quiet, "quiet", false, "print errors only")
	flags.StringVar(&f.summary, "summary", "", "write what the run did to `FILE.json`")
	f.limits.Register(flags)
	flags.BoolVar(&f.report, "report", false, "write report.html into the output folder")
	flags.BoolVar(&f.withInput, "end-with-input", false, "end as by Ctrl-C when standard input ends: a program that holds\na pipe to it takes the run along, however it dies")
	flags.StringVar(&f.runID, "run-id", "", "`ID` of the run in data sets; a sweep gives its cases theirs")
	flags.Lookup("run-id").Hidden = true
	addMemoryLimit(cmd, &f.memory)
}

// addWeather makes --weather a command's flag.
func addWeather(flags *pflag.FlagSet, preset *weatherPreset) {
	flags.Var(preset, "weather", "`PRESET` of the weather: "+strings.Join(weather.Presets(), ", "))
}

// weatherPreset is a flag for the name of a weather. It is "" where none is given.
type weatherPreset string

// presetType is its type, as flagError knows it.
const presetType = "preset"

// Set takes a name that is known.
func (p *weatherPreset) Set(name string) error {
	if name == "" {
		return fmt.Errorf("preset is \"\", %s", fault.Want(name, weather.Presets()...))
	}
	if _, err := (&weather.Setting{Preset: name}).State(); err != nil {
		return err
	}
	*p = weatherPreset(name)
	return nil
}

func (p *weatherPreset) String() string { return string(*p) }

// Type returns presetType.
func (*weatherPreset) Type() string { return presetType }

// worldForms lists the kinds of worlds with what follows their colon.
func worldForms() string {
	var forms []string
	for _, k := range raybridge.Worlds() {
		forms = append(forms, k.Name+":"+k.Form)
	}
	return strings.Join(forms, "; ")
}

func run(cmd *cobra.Command, f *runFlags) error {
	if f.withInput {
		cmd.SetContext(endingWith(cmd.Context(), cmd.InOrStdin()))
	}
	pl, err := newPlan(cmd, f)
	if err != nil {
		return usage(err)
	}
	open, err := f.device.opener()
	if err != nil {
		return usage(err)
	}
	if pl.window {
		return runWindowed(cmd, pl, open)
	}
	return pl.execute(cmd.Context(), cmd, open, nil)
}

// endingWith returns a context that ends with ctx or the input. It throws away what it reads. The
// goroutine that reads ends with the input.
func endingWith(ctx context.Context, input io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, input) // one that can't be read has ended
	}()
	return ctx
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
	if err := proveOutput(pl.flags.out, pl.flags.summary, pl.flags.report || writesBelowOut(pl.config.Bridges)); err != nil {
		return usage(err)
	}
	server, err := pl.listen(ctx)
	if err != nil {
		return usage(err)
	}
	defer server.close()
	source, err := pl.openWorld(ctx)
	if err != nil {
		return pl.unlessCancelled(ctx, usage(err))
	}
	defer source.close()
	p, err := pl.build(ctx, open, server)
	if err != nil {
		return pl.unlessCancelled(ctx, err)
	}
	source.see(p)
	views, err := pl.views(p, extra)
	if err != nil {
		return errors.Join(err, p.Close(context.Background()))
	}
	pl.progress.start(p.GPU(), p.Geometry())
	if !pl.flags.quiet {
		if pl.flags.device.isAuto() {
			if devices, err := eglctx.Devices(); err == nil {
				pl.progress.note(otherGPUs(devices, p.GPU().Device))
			}
		}
		summary := p.Summary()
		printEndpoints(pl.progress.out, summary.Bridges)
	}
	pl.pause(p, server)
	defer server.serve(ctx, p)()
	runErr := pl.await(ctx, p)
	switch {
	case runErr != nil:
	case source != nil:
		runErr = p.Follow(ctx, source.Following)
	default:
		runErr = p.Run(ctx, pl.config.Duration)
	}
	pl.interrupted = ctx.Err() != nil
	server.close()
	closing, cancel := flow.WithPatience(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	closeErr := p.Close(closing)
	pl.progress.stop()
	for _, v := range views {
		closeErr = errors.Join(closeErr, v.finish(p))
	}
	return pl.conclude(cmd, p, errors.Join(runErr, closeErr))
}

// unlessCancelled drops the error of a run that was cancelled before it began, as by Ctrl-C while it waited for its world.
// A run that was to keep limits has kept none.
func (pl *plan) unlessCancelled(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil || !errors.Is(err, context.Canceled):
		return err
	case len(pl.limits) > 0:
		return &exitError{exitIncomplete, errors.New("the run was ended before it began, so that it kept no limit")}
	default:
		return nil
	}
}

// openSource is a world that the run follows; without one nil, whose close does nothing.
type openSource struct {
	pipeline.Following
	scene     *scene.Scene // once it is there
	warn      func(string, ...any)
	receivers bool   // sensors tell of places on the earth
	proj      string // of the world's coordinates, as far as it has said
}

// openWorld opens the world that moves the actors, before anything costly is begun.
func (pl *plan) openWorld(ctx context.Context) (*openSource, error) {
	c := &pl.config.World
	if c.Source == "" {
		return nil, nil
	}
	s := &openSource{warn: pl.log.Warn, receivers: slices.ContainsFunc(pl.config.Sensors, func(c sensors.Config) bool {
		d, err := sensorsall.Registry().Get(c.ID)
		return err == nil && d.Georeferenced
	})}
	defer flow.TellLong(pl.log, "opening the world "+c.Source)()
	kind, source, err := raybridge.OpenWorld(ctx, c.Source, world.Options{
		EgoTheirs: c.Ego == config.EgoTheirs, Memory: pl.memory, Warn: pl.log.Warn, Lights: func() []string { return s.scene.SignalNames() }, Projected: s.projected,
	})
	if err != nil {
		return nil, err
	}
	s.Following = pipeline.Following{Kind: kind, Source: source, Duration: pl.config.Duration, Scale: pl.pace}
	return s, nil
}

// see tells the world which scene it is in.
func (s *openSource) see(p *pipeline.Pipeline) {
	if s != nil {
		s.scene = p.Geometry().Scene
		s.projected(s.proj)
	}
}

// projected warns of a projection of the world's that isn't the scene's map's, once both are known.
func (s *openSource) projected(proj string) {
	if s.proj = proj; proj == "" || s.scene == nil || !s.receivers {
		return
	}
	zone, err := spatial.ParseUTMZone(proj)
	own, onGrid := s.scene.Map.Grid()
	switch {
	case err != nil:
		s.warn("the world's coordinates are of a projection that isn't known: positions on the earth are those of scene.origin or scene.projection", "projection", proj)
	case !onGrid:
		s.warn(fmt.Sprintf("the world's coordinates are of %v: give scene.projection: %v for right positions on the earth", zone, zone), "projection", proj)
	case own != zone:
		s.warn(fmt.Sprintf("the world's coordinates are of %v, and scene.projection is %v: positions on the earth are wrong", zone, own), "projection", proj)
	}
}

func (s *openSource) close() {
	if s != nil {
		_ = s.Source.Close() // the run is over
	}
}

// closeLimit is how long queued messages may take to be sent at the end.
const closeLimit = 2 * time.Minute

// proveOutput makes the output folder, where something is to lie in it, and proves that what a command ends with can
// be written: a summary, "" for none. That comes second, since it may lie in the output folder or above it.
func proveOutput(out, summary string, liesInOut bool) error {
	if liesInOut {
		if err := proveFolder(out); err != nil {
			return err
		}
	}
	if summary == "" {
		return nil
	}
	return proveFile("--summary", summary)
}

// isFile reports whether the bridge of a name with a connection writes a file.
func isFile(registry *bridges.Registry, name, connection string) bool {
	p, err := registry.Plugin(name)
	return err == nil && p.KindOf(connection) == bridges.KindFile
}

// writesBelowOut reports whether a bridge writes a file into the output folder. One with an absolute path doesn't.
func writesBelowOut(list []config.Bridge) bool {
	registry := bridgeRegistry()
	return slices.ContainsFunc(list, func(b config.Bridge) bool {
		return isFile(registry, b.Type, b.Connection) && !filepath.IsAbs(b.Connection)
	})
}

// proveFolder makes the output folder, and proves that it can be written.
func proveFolder(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make output folder: %w", fault.File(err))
	}
	if err := proveWritable(out); err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	return nil
}

// proveFile proves that a file can be written that a flag names.
func proveFile(flag, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: %s is a folder: name a file", flag, path)
	}
	if err := proveWritable(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// proveWritable proves that a file can be made in a folder.
func proveWritable(folder string) error {
	probe, err := os.CreateTemp(folder, ".raybridge-*")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no folder %s: make it, or choose another", folder)
	}
	if cause := new(fs.PathError); errors.As(err, &cause) {
		cause.Path = folder // not the probe
	}
	if err != nil {
		return fault.File(err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// build opens the simulation with its sensors and bridges.
func (pl *plan) build(ctx context.Context, open gpu.Opener, server *controlServer) (*pipeline.Pipeline, error) {
	run, own := *pl.config, []bridges.Factory(nil)
	if server != nil {
		own = []bridges.Factory{server.port}
		run.Bridges = append(slices.Clip(run.Bridges), config.Bridge{Type: stream.PortName})
		if server.view != nil {
			own = append(own, server.view.Port)
			run.Bridges = append(run.Bridges, config.Bridge{Type: stream.PageName})
		}
	}
	sim, err := raybridge.Open(ctx, raybridge.Config{
		Run: &run, Bridges: own, Realtime: pl.mode == pipeline.Realtime, Open: open, DeviceTimeout: pl.flags.deviceTimeout, Memory: pl.memory, OutDir: pl.flags.out,
		About: bridges.Run{Version: raybridge.Version(), Rig: pl.rigName(), ID: pl.flags.runID}, Log: pl.log, OnProgress: pl.progress.update,
	})
	if fault := new(raybridge.ConfigError); errors.As(err, &fault) {
		if fault.Key == "scene" || fault.Key == "ego" { // the others have their places
			err = inFile(pl.flags.config, err)
		}
		return nil, usage(err)
	}
	if err != nil {
		return nil, sceneFault(err)
	}
	return sim.Pipeline, nil
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

func (pl *plan) rigName() string {
	return filepath.Base(cmp.Or(pl.flags.rig, pl.flags.config, "demo"))
}

// conclude prints the tables and decides the exit code.
func (pl *plan) conclude(cmd *cobra.Command, p *pipeline.Pipeline, err error) error {
	summary := p.Summary()
	summary.Interrupted = pl.interrupted
	if !pl.flags.quiet {
		printSummary(cmd.OutOrStdout(), &summary)
	}
	if pl.flags.summary != "" {
		err = errors.Join(err, summary.WriteJSON(pl.flags.summary))
	}
	if err != nil {
		return err
	}
	return errors.Join(incomplete(summary.Bridges, bridgeRegistry(), pl.lost(summary.Sensors)...), pl.judge(cmd.OutOrStdout(), &summary))
}

// judge holds what the run did against the limits of its flags, and prints how it kept them.
func (pl *plan) judge(out io.Writer, summary *pipeline.Summary) error {
	if len(pl.limits) == 0 {
		return nil
	}
	verdict := pl.limits.Judge(summary)
	if !pl.flags.quiet {
		fmt.Fprintln(out)
		_ = verdict.Write(out, judge.Table) // a terminal that is gone needs no table
	}
	if err := verdict.Err(); err != nil {
		return &exitError{exitIncomplete, err}
	}
	return nil
}

// lost says which sensors lost firings that nothing but the device or the loop is to blame for. In real time
// that counts where it is recorded: a loop that is late skips instants there, as it has to.
func (pl *plan) lost(list []carry.SensorSummary) (parts []string) {
	causes := []flow.Cause{flow.CauseReadbackFull, flow.CauseReadbackFailed}
	switch {
	case pl.mode == pipeline.Stepped:
		causes = append(causes, flow.CauseSkipped)
	case !recordsFile(pl.config.Bridges):
		return nil
	}
	told := map[string]bool{}
	for i := range list {
		row, n := &list[i], int64(0)
		for _, cause := range causes {
			n += row.Drops[cause]
		}
		name := row.Name
		if row.Others > 0 { // which has no name
			name = "ended " + row.Type
		}
		if n > 0 && !told[name] { // its topics share captures
			told[name] = true
			parts = append(parts, fmt.Sprintf("%s lost %s", name, fault.Count(int(n), "firing")))
		}
	}
	return parts
}

// audience is what --wait-for names: so many receivers of a topic, or of a bridge.
type audience struct {
	name string
	n    int
}

func (a audience) String() string { return fault.Count(a.n, "receiver") + " of " + a.name }

// parseAudience reads NAME[=N].
func parseAudience(text string) (audience, error) {
	name, number, given := strings.Cut(text, "=")
	a := audience{name: name, n: 1}
	if name == "" || name[0] == '-' { // a flag, which --wait-for without a name takes for its value
		return a, fmt.Errorf("--wait-for %q: want the name of a topic or of a bridge, such as /lidar/points or foxglove=2", text)
	}
	if given {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return a, fmt.Errorf("--wait-for %s: %q: want a number of receivers, 1 or more", text, number)
		}
		a.n = n
	}
	return a, nil
}

// readAudience reads --wait-for, whose names are those of the run's network bridges and
// topics.
func readAudience(texts []string, c *config.Config) (list []audience, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	registry := bridgeRegistry()
	var known []string
	for _, b := range c.Bridges { // each was found in the registry
		if !isFile(registry, b.Type, b.Connection) {
			known = append(known, b.Type)
		}
	}
	if known == nil {
		return nil, errors.New("--wait-for: files have no receivers: give --bridge with one to a network (foxglove:, stream:, rosbridge:)")
	}
	topics, err := publishedTopics(c)
	if err != nil {
		return nil, err
	}
	known = append(known, topics...)
	for _, text := range texts {
		a, err := parseAudience(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, a.name) {
			return nil, fmt.Errorf("--wait-for %s: the run has no such topic or network bridge, %s", text, fault.Hint(a.name, known))
		}
		list = append(list, a)
	}
	return list, nil
}

// audiencePoll is how often a run looks whether its receivers are there: bridges tell
// nobody when they come.
const audiencePoll = 20 * time.Millisecond

// await waits until all receivers of --wait-for are there at once, or ctx ends, and says
// whom it waits for.
func (pl *plan) await(ctx context.Context, p *pipeline.Pipeline) error {
	poll := time.NewTicker(audiencePoll)
	defer poll.Stop()
	told := ""
	for ctx.Err() == nil {
		missing, err := missingOf(pl.audience, p.Receivers)
		if err != nil {
			return usage(fmt.Errorf("--wait-for: %w", err))
		}
		if missing != told && missing != "" && !pl.flags.quiet {
			fmt.Fprintln(pl.progress.out, "waiting for", missing)
		}
		if told = missing; missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		}
	}
	return nil // the run ends before it begins
}

// missingOf says which receivers aren't there, "" for none.
func missingOf(list []audience, receivers func(name string) (int, error)) (string, error) {
	var missing []string
	for _, a := range list {
		n, err := receivers(a.name)
		if err != nil {
			return "", err
		}
		if n < a.n {
			missing = append(missing, fmt.Sprintf("%v, %d there", a, n))
		}
	}
	return strings.Join(missing, "; "), nil
}

// pause lets a run begin with its clock paused, as --paused asks for, and says how to
// resume it. It comes before anybody can resume it.
func (pl *plan) pause(p *pipeline.Pipeline, server *controlServer) {
	if !pl.flags.paused {
		return
	}
	p.Clock().Pause()
	var ways []string
	if server != nil {
		ways = append(ways, server.resumedBy(pl.api))
		if server.view != nil {
			ways = append(ways, "the page")
		}
	}
	if pl.window {
		ways = append(ways, "the space key in the window")
	}
	if !pl.flags.quiet {
		fmt.Fprintln(pl.progress.out, "paused: resume with", strings.Join(ways, " or "))
	}
}

// controlServer is the API of --api; without it nil, which does nothing.
type controlServer struct {
	*control.Server
	port   *stream.Port  // its connections receive data and step
	view   *control.View // nil without the live page
	pprof  bool          // profiles are served
	step   time.Duration
	memory *memory.Budget
	log    *slog.Logger
}

// stepWait is how long a request to step waits for the steps to be done.
const stepWait = time.Second

// listen takes the address of --api before anything costly is begun, and says
// which one it is.
func (pl *plan) listen(ctx context.Context) (*controlServer, error) {
	if pl.api == nil {
		return nil, nil
	}
	listen := func(ctx context.Context) (*control.Server, error) {
		return control.Listen(ctx, pl.api.at, pl.api.token, pl.api.origins...)
	}
	if pl.api.view {
		listen = pl.listenWithPage
	}
	server, err := listen(ctx)
	if err == nil && pl.flags.pprof && !server.Local() {
		return nil, errors.Join(fmt.Errorf("--pprof: profiles keep the program busy, so that only this machine may ask for them: give %s 127.0.0.1:PORT or unix:PATH", pl.api.flag), server.Close())
	}
	if errors.Is(err, control.ErrToken) {
		return nil, fmt.Errorf("%s: %w: give --api-token-file FILE, or set %s", pl.api.flag, err, tokenVariable)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pl.api.flag, err)
	}
	if !pl.flags.quiet || pl.api.at.Port == 0 && pl.api.at.Path == "" { // else nobody would know which
		fmt.Fprintln(pl.progress.out, "API on", urlOf(server.Addr()))
	}
	s := &controlServer{Server: server, port: stream.NewPort(server.Listener(), pl.memory), pprof: pl.flags.pprof, step: pl.config.Time.Step, memory: pl.memory, log: pl.log}
	if !pl.api.view {
		return s, nil
	}
	if err := s.addPage(); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	fmt.Fprintln(pl.progress.out, "page on", pageURL(server.Listener(), pl.api)) // with --quiet too: it is what was asked for
	return s, nil
}

// urlOf is where programs find the API: of a UNIX socket its address.
func urlOf(address string) string {
	if at, err := control.ParseAddress(address); err == nil && at.Path != "" {
		return address
	}
	return "http://" + address
}

// resumedBy is a command that resumes the run.
func (s *controlServer) resumedBy(api *apiPlan) string {
	if api.at.Path != "" || api.token != "" {
		return fmt.Sprintf("raybridge ctl --api %s resume", s.Addr())
	}
	return fmt.Sprintf("curl -X POST %s/v1/resume", urlOf(s.Addr()))
}

// serve answers requests, those that have come already first. When ctx ends the run, nobody waits
// any longer for a client that steps and reads nothing, until forget is called.
func (s *controlServer) serve(ctx context.Context, p *pipeline.Pipeline) (forget func() bool) {
	if s == nil {
		return func() bool { return true }
	}
	s.Serve(control.Run{
		Clock: p.Clock(), Step: s.step, StepWait: stepWait, StepTo: p.StepRunning, Pipeline: p, Port: s.port, View: s.view, Memory: s.memory,
		Build: metrics.BuildOf(raybridge.Version()), Profiles: s.pprof,
		Tune: func(sensor, rate string, attributes map[string]any) error { return tune(p, sensor, rate, attributes) },
		Status: func() any {
			return control.StatusOf(p, s.Refused())
		},
	}, s.log)
	return context.AfterFunc(ctx, s.port.Hasten)
}

// tune changes a sensor while it runs; an empty rate leaves its own.
func tune(p *pipeline.Pipeline, name, rate string, attributes map[string]any) error {
	sensor, err := p.Sensor(name)
	if err != nil {
		return err
	}
	t := pipeline.Tuning{Attributes: attributes}
	if rate != "" {
		if t.Rate, err = simtime.ParseRate(rate); err != nil {
			return err
		}
	}
	return sensor.Tune(t)
}

// close ends the API; calling it again does nothing.
func (s *controlServer) close() {
	if s == nil {
		return
	}
	if err := s.Close(); err != nil {
		s.log.Warn("the API did not end in order", "error", err)
	}
}

// reportView writes report.html at the end of a run.
type reportView struct {
	report save.Report
	folder string
	out    io.Writer // where its path is told; nil for nowhere
}

func (v *reportView) attach(p *pipeline.Pipeline) error { return v.report.Attach(p) }

func (v *reportView) finish(p *pipeline.Pipeline) error {
	path, err := v.report.Write(v.folder, p)
	if err == nil && v.out != nil {
		fmt.Fprintf(v.out, "\nreport: %s\n", path)
	}
	return err
}

// views attaches what shows the run: the report, and a window's view if there is one.
func (pl *plan) views(p *pipeline.Pipeline, extra view) ([]view, error) {
	var list []view
	if pl.flags.report {
		v := &reportView{folder: pl.flags.out}
		if !pl.flags.quiet {
			v.out = pl.progress.out
		}
		list = append(list, v)
	}
	if extra != nil {
		list = append(list, extra)
	}
	for _, v := range list {
		if err := v.attach(p); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// incomplete says which bridges never connected, which recordings lack messages, and what else is missing: nil
// if nothing is.
func incomplete(list []carry.BridgeSummary, registry *bridges.Registry, parts ...string) error {
	for i := range list {
		one := pipeline.Summary{Bridges: list[i : i+1]}
		switch {
		case one.Complete(registry):
		case !list[i].EverConnected && list[i].Connections > 0:
			parts = append(parts, fmt.Sprintf("%s:%s ended every connection at once, so it may speak another protocol", list[i].Name, list[i].Connection))
		case !list[i].EverConnected:
			parts = append(parts, fmt.Sprintf("%s:%s never connected", list[i].Name, list[i].Connection))
		default:
			parts = append(parts, fmt.Sprintf("%s:%s lacks messages", list[i].Name, list[i].Connection))
		}
	}
	if parts == nil {
		return nil
	}
	return &exitError{exitIncomplete, errors.New("finished, but not everything was delivered: " + strings.Join(parts, ", "))}
}

//go:embed demo.yaml
var demoYAML []byte

// demoRig is the rig of a run that names none.
func demoRig() (*rig.Rig, error) { return rig.Parse("demo.yaml", demoYAML) }

// plan is a run with everything read and decided, and nothing opened yet.
type plan struct {
	flags  *runFlags
	config *config.Config
	mode   pipeline.Mode
	pace   float64 // simulated seconds in one of the host's that a world may make; 0 for no limit
	asked  []askedBridge
	window bool
	// leftToCommands: the rig leaves the vehicle to commands from outside.
	leftToCommands bool
	api            *apiPlan   // nil where nothing listens
	audience       []audience // whom the run waits for
	limits         judge.Limits
	interrupted    bool // the run was told to end
	memory         *memory.Budget
	log            *slog.Logger
	progress       *progressPrinter
}

// configuration is that of the file, with what flags say of it.
func (f *runFlags) configuration(cmd *cobra.Command) (*config.Config, error) {
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
	return c, applySettings(f.settings, c)
}

// newPlan reads the configuration and applies the flags.
func newPlan(cmd *cobra.Command, f *runFlags) (*plan, error) {
	switch {
	case f.headless && f.window:
		return nil, errors.New("give either --headless or --window, not both")
	case f.step && f.realtime:
		return nil, errors.New("give either --step or --realtime, not both")
	case f.deviceTimeout < 0:
		return nil, fmt.Errorf("--device-timeout %v is negative", f.deviceTimeout)
	}
	c, err := f.configuration(cmd)
	if err != nil {
		return nil, err
	}
	before := c.Ego.Driver
	c.ChooseDriver(f.window)
	noteAttributes(c, f.lenient)
	if err := checkConfig(c, f.out); err != nil {
		return nil, inFile(f.config, err)
	}
	pl := &plan{flags: f, config: c, window: f.window, memory: f.memory.budget(), leftToCommands: before != c.Ego.Driver && c.Ego.Driver == config.DriverExternal && !drivesItself(c.Sensors)}
	if pl.mode, err = modeOf(f, c); err != nil {
		return nil, err
	}
	if err := pl.stepByWorld(); err != nil {
		return nil, err
	}
	if err := pl.openRigBridges(); err != nil {
		return nil, inFile(f.config, err)
	}
	if pl.api, err = planAPI(cmd, f); err != nil {
		return nil, err
	}
	if f.paused && pl.api == nil && !pl.window {
		return nil, errors.New("--paused: nothing could resume the run: give --api, --view or --window")
	}
	if pl.audience, err = readAudience(f.waitFor, c); err != nil {
		return nil, err
	}
	if pl.limits, err = pl.readLimits(); err != nil {
		return nil, err
	}
	if pl.idle() {
		return nil, errors.New("there is no receiver, so sensors stay idle: give --bridge, --report, --view, --window or --api")
	}
	pl.log = newLog(cmd.ErrOrStderr(), f.quiet)
	pl.progress = newProgressPrinter(cmd.ErrOrStderr(), "simulated", c.Duration, f.quiet)
	pl.warn()
	return pl, nil
}

// readLimits reads what the run is to keep. Unless somebody may add sensors while it runs, their topics are known.
func (pl *plan) readLimits() (judge.Limits, error) {
	limits, err := pl.flags.limits.Limits()
	if err != nil || len(limits) == 0 || pl.api != nil {
		return limits, err
	}
	topics, err := publishedTopics(pl.config)
	if err != nil {
		return nil, err
	}
	return limits, limits.Known(topics)
}

// drivesItself reports whether one of the sensors drives while no command holds.
func drivesItself(list []sensors.Config) bool {
	drivers := sensorsall.Registry().Match("driver")
	return slices.ContainsFunc(list, func(c sensors.Config) bool {
		return slices.ContainsFunc(drivers, func(d *sensors.Definition) bool { return d.ID == c.ID })
	})
}

// idle reports whether the run would do nothing that anybody sees. No sensor has a listener,
// none computes always, and nobody can add either while it runs.
func (pl *plan) idle() bool {
	return len(pl.config.Bridges) == 0 && !pl.flags.report && !pl.window && pl.api == nil &&
		!slices.ContainsFunc(pl.config.Sensors, func(s sensors.Config) bool { return s.Always })
}

// stepByWorld has a run with a world go from frame to frame of it. In real time it doesn't go
// faster than that.
func (pl *plan) stepByWorld() error {
	switch {
	case pl.config.World.Source == "":
		return nil
	case pl.flags.paused:
		return errors.New("--paused: a world lets time pass by itself: leave it out")
	case pl.mode == pipeline.Realtime:
		pl.mode, pl.pace = pipeline.Stepped, pl.config.Time.Scale
	}
	return nil
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
	case f.step, !f.realtime && !outside && (recordsFile(c.Bridges) || f.report):
		return pipeline.Stepped, nil
	default:
		return pipeline.Realtime, nil
	}
}

// apiPlan is where the API listens, and the token that it asks for, "" for none.
type apiPlan struct {
	flag    string // that named it
	at      control.Address
	token   string
	origins []string // hosts under which it is reached
	view    bool     // it has the live page
	anyPort bool     // nobody has asked for the port
	// madeToken: the token was made for this run, and nobody knows it yet.
	madeToken bool
}

// planAPI reads --api, or its other name --control, and the token; nil where neither is given.
func planAPI(cmd *cobra.Command, f *runFlags) (*apiPlan, error) {
	given := cmd.Flags().Changed
	api := &apiPlan{flag: "--api", view: f.view, origins: f.apiOrigins}
	text := f.api
	switch {
	case given("api") && given("control"):
		return nil, errors.New("--control is another name of --api: give one of them")
	case given("control"):
		api.flag = "--control"
	case f.view && !given("api"):
		api.flag, api.anyPort, text = "--view", true, viewAddress
	case !given("api") && given("api-origins"):
		return nil, errors.New("--api-origins: nothing is reached: give --api or --view, too")
	case !given("api") && f.pprof:
		return nil, errors.New("--pprof: nothing serves the profiles: give --api or --view, too")
	case !given("api") && given("api-token-file"):
		return nil, errors.New("--api-token-file: nothing asks for the token: give --api, too")
	case !given("api"):
		return nil, nil
	}
	var err error
	if api.at, err = control.ParseAddress(text); err != nil {
		return nil, fmt.Errorf("%s: %w", api.flag, err)
	}
	if f.view && api.at.Path != "" {
		return nil, fmt.Errorf("--view: no browser reaches %v: give %s [HOST:]PORT", api.at, api.flag)
	}
	if api.token, err = readToken(f.apiTokenFile); err != nil {
		return nil, err
	}
	return api, nil
}

// warn says what of the plan will have no effect.
func (pl *plan) warn() {
	c, f := pl.config, pl.flags
	warnRig(pl.log, c.Notices, c.Sensors)
	pl.tellRigBridges()
	if pl.api != nil && readByOthers(f.apiTokenFile, 0o044) {
		pl.log.Warn("others on this machine can read the token: chmod 600 " + f.apiTokenFile)
	}
	if pl.leftToCommands {
		pl.log.Warn("the rig leaves the vehicle to commands from outside: it stands still until they come; ego.driver: waypoints lets it drive")
	}
	if c.Ego.Driver == config.DriverKeys && !f.window {
		pl.log.Warn("ego.driver is keys, which only --window has: the vehicle stands")
	}
	if source, _ := simtime.ParseSource(c.Time.Source); source == simtime.SS2 && pl.api == nil {
		pl.log.Warn("the time source is ss2 and nothing sets it, so time stays at 0: give --api")
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
		c.Scene.Choose(f.scene)
	}
	if given("world") {
		c.World.Source = f.world
	}
	if given("weather") {
		c.Weather = &weather.Setting{Preset: string(f.weather)}
	}
	if err := carryRig(f, c); err != nil {
		return err
	}
	for _, b := range f.bridges {
		parsed, err := parseBridge(b)
		if err != nil {
			return err
		}
		if err := bridgeRegistry().Check(b, bridges.Env{OutDir: f.out}); err != nil {
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
	registry := bridgeRegistry()
	name := spec
	if _, unknown := registry.Plugin(name); unknown != nil {
		name = fault.Closest(spec, registry.Names())
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
	return fmt.Errorf("%w %q: %s", simtime.ErrUnknownSource, name, fault.Want(name, known...))
}

// recordsFile reports whether a bridge writes a file.
func recordsFile(list []config.Bridge) bool {
	registry := bridgeRegistry()
	return slices.ContainsFunc(list, func(b config.Bridge) bool { return isFile(registry, b.Type, b.Connection) })
}

// The window's size at the start: two rows of panes around a picture of 640x480.
const (
	windowWidth  = 1280
	windowHeight = 840
)

// runWindowed runs the plan with a window as one more listener. Closing the window ends the
// run as Ctrl-C does.
func runWindowed(cmd *cobra.Command, pl *plan, open gpu.Opener) error {
	w, err := window.Open(window.Options{Title: "raybridge", Width: windowWidth, Height: windowHeight})
	if errors.Is(err, gpu.ErrNotSupported) {
		return fmt.Errorf("%w (raybridge run --headless needs no display)", err)
	}
	if err != nil {
		return err
	}
	defer w.Close()
	ctx, quit := context.WithCancel(cmd.Context())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer quit()
	watching.Go(func() {
		select {
		case <-w.Closed():
			quit()
		case <-ctx.Done():
		}
	})
	return pl.execute(ctx, cmd, open, &windowView{
		config: pl.config, saveDir: pl.saveDir(cmd), window: w, ending: ctx.Done(), quit: quit,
	})
}

// windowView shows a run in a window.
type windowView struct {
	config  *config.Config
	saveDir string
	window  *window.Window
	ending  <-chan struct{} // closed when the run is to end
	quit    func()

	stop    context.CancelFunc
	showing sync.WaitGroup
	err     error // of showing; read after showing
}

// attach listens to all sensors and begins to show them.
func (w *windowView) attach(p *pipeline.Pipeline) error {
	driven, err := w.driven(p)
	if err != nil {
		return err
	}
	options := viewer.Options{
		Title: p.Geometry().Scene.Name, GPU: p.GPU().Renderer, Clock: p.Clock(), Step: w.config.Time.Step,
		SaveDir: w.saveDir, Quit: w.quit, Drive: driven,
		EgoSpeed: func(nowNs int64) float64 {
			state, _ := p.History().State(scene.EgoID, simtime.Stamp(nowNs))
			return state.Twist.Linear.Len()
		},
	}
	v, err := viewer.New(options)
	if err != nil {
		return err
	}
	if err := v.Watch(p); err != nil {
		return err
	}
	// The window outlives the run: it says that recordings are being completed.
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.showing.Go(func() { w.err = v.Show(ctx, w.ending, w.window) })
	return nil
}

// driven returns what the keys steer, nil where something else drives.
func (w *windowView) driven(p *pipeline.Pipeline) (func(scene.Command) error, error) {
	if w.config.Ego.Driver != config.DriverKeys {
		return nil, nil
	}
	d, ok := p.Ego().(*scene.Driven)
	if !ok {
		return nil, fmt.Errorf("drive by keys: the vehicle follows a %T", p.Ego())
	}
	return d.SetCommand, nil
}

// saveDir is where pictures go: the output folder where it was named or the run
// has one, else the working directory.
func (pl *plan) saveDir(cmd *cobra.Command) string {
	if len(pl.config.Bridges) > 0 || pl.flags.report || cmd.Flags().Changed("out") {
		return pl.flags.out
	}
	return "."
}

// finish ends the showing.
func (w *windowView) finish(*pipeline.Pipeline) error {
	w.stop()
	w.showing.Wait()
	if err := cmp.Or(w.err, w.window.Err()); err != nil {
		return fmt.Errorf("show the window: %w", err)
	}
	return nil
}
