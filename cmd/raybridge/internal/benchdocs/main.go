// Command benchdocs measures the figures that docs/benchmarks.md states and writes its tables.
// `make bench-docs` runs it:
//
//	go run ./cmd/raybridge/internal/benchdocs [FLAG...] [PART...]
//
// Without a PART it measures all of them, one after the other. A part that could not be measured
// keeps its tables, and so do other machines. Paths are relative to the module's folder.
//
// Each machine's results lie in a folder of their own in -out, so that -write has those of several.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/internal/fault"
)

// part is a table of the page with the commands that its figures come from.
type part struct {
	name     string
	commands []command
	tables   [][]column
	chart    string // beside the page, each machine's with its name; "" without one
}

// command measures. It is `raybridge bench` with arguments, or a benchmark of a Go package.
type command struct {
	args []string
	// goPackage, where not empty, has the benchmarks; args are those of go test.
	goPackage string
	// label ends the names of the command's cases, where they differ from the part's others.
	label string
	// long commands are left out of quick passes.
	long bool
	// ordinary commands run without the privilege of real-time scheduling.
	ordinary bool
}

// optional tells that a machine's results may lack it: not every CPU has each instruction set.
func (c *command) optional() bool { return c.long || slices.Contains(c.args, "--isa") }

// column is a figure of each case. Where over is set it is divided by that, run by run.
type column struct{ head, figure, over string }

func of(args ...string) []command { return []command{{args: args}} }

func goBench(folder, name string, args ...string) command {
	return command{goPackage: folder, args: append([]string{"-bench", name}, args...)}
}

// svlRig lies beside the checkout.
const svlRig = "../shared/assets/rigs/svl/autoware_auto.json"

// parts are all that the page states, in its order.
var parts = []part{
	{"lidar", of("lidar"), [][]column{{{"rays", "lidar.rays_per_s", ""}}, {{"resident memory", "memory.rss_bytes", ""}}}, ""},
	{"camera", []command{{args: []string{"camera"}}, {args: []string{"camera", "--isa", "avx2"}, label: "_avx2"}}, [][]column{{{"frames", "camera.frames_per_s", ""}}, {{"resident memory", "memory.rss_bytes", ""}}}, ""},
	{"bvh", of("bvh"), [][]column{{{"built", "bvh.build_s", ""}, {"from the cache", "bvh.load_s", ""}}, {{"resident memory", "memory.rss_bytes", ""}}}, ""},
	{"growth", of("growth"), [][]column{
		{{"exponent", "growth.exponent", ""}}, {{"triangles", "growth.triangles", ""}}, {{"rays", "growth.rays", ""}},
		{{"pixels", "growth.pixels", ""}}, {{"sensors", "growth.sensors", ""}}, {{"threads", "growth.threads", ""}},
	}, "images/growth.png"},
	{"demo", of("demo", "--rig", svlRig), [][]column{{
		{"real-time factor", "demo.real_time_factor", ""}, {"start-up", "demo.startup_s", ""}, {"resident memory", "demo.rss_bytes", ""}, {"lost", "demo.lost", ""},
	}}, ""},
	{"view", of("view"), [][]column{{
		{"real-time factor, one page", "view.factor", ""}, {"lost", "view.lost", ""}, {"one page, of a core", "view.core_percent", ""},
		{"each further one", "view.further_percent", ""}, {"one that reads nothing", "view.stalled_percent", ""},
	}}, ""},
	{"metrics", of("metrics"), [][]column{{{"a scrape", "metrics.scrape_ms", ""}, {"CPU time", "metrics.cpu_ms", ""}, {"bytes", "metrics.bytes", ""}}}, ""},
	{"sweep", of("sweep"), [][]column{
		{{"cases", "sweep.cases_per_min", ""}, {"the engine's own time, a case", "sweep.overhead_ms", ""}},
		{{"plan", "sweep.plan_s", ""}, {"resident memory", "sweep.rss_bytes", ""}},
		{{"handed out by NATS", "sweep.handouts_per_s", ""}}, {{"memory with a full queue", "sweep.queue_rss_bytes", ""}},
	}, ""},
	{"dataset", of("dataset"), [][]column{
		{{"data set", "dataset.wall_s", ""}, {"recording", "dataset.mcap_wall_s", ""}, {"speed, run by run", "dataset.speed", ""}},
		{{"resident memory, 60 s", "dataset.rss_bytes", ""}, {"more at 600 s", "dataset.growth_bytes", ""}},
	}, ""},
	{"receivers", []command{
		goBench("./gpu/hostdev", "^BenchmarkReceivers$", "-benchtime", "200x"),
		{goPackage: "./gpu/hostdev", args: []string{"-bench", "^BenchmarkReceiversInWeather$", "-benchtime", "30x"}, label: "_weather"},
	}, [][]column{{
		{"a firing, CPU time", "Receivers.cpu-ns/ray", ""}, {"with rays at the rim", "Receivers.rim-share", ""}, {"with all sub-rays", "Receivers.all-share", ""},
	}, {{"more in weather, CPU time", "ReceiversInWeather.cpu-ns/ray-more", ""}}}, ""},
	{"lenses", []command{
		goBench("./sensors/camera", "^BenchmarkLens640x480$", "-benchtime", "30x"),
		{goPackage: "./sensors/camera", args: []string{"-bench", "^BenchmarkShutter640x480$", "-benchtime", "12x"}, label: "_shutter"},
	}, [][]column{{{"a frame, CPU time", "Lens640x480.cpu-ms/frame", ""}}, {{"a frame, CPU time", "Shutter640x480.cpu-ms/frame", ""}}}, ""},
	{"weather", []command{goBench("./sensors/camera", "^BenchmarkWeather640x480$", "-benchtime", "80x")}, [][]column{{
		{"clear air", "clear-ns/pixel", ""}, {"more in fog", "fog-ns/pixel", ""}, {"on wet ground", "wet-ns/pixel", ""},
		{"in rain", "rain-ns/pixel", ""}, {"in snow", "snow-ns/pixel", ""},
	}}, ""},
	{"stream", of("stream"), [][]column{{
		{"stream", "stream.bytes_per_s", ""}, {"TCP", "tcp.bytes_per_s", ""}, {"ratio", "stream.ratio", ""},
		{"ratio, small buffer", "stream.small_buffer_ratio", ""}, {"allocations a frame", "stream.allocs_per_frame", ""},
	}}, ""},
	{"clouds", []command{goBench("./bridges/internal/rossample", "^BenchmarkPointCloud2$", "-benchtime", "200x")}, [][]column{{{"a cloud", "PointCloud2.ns/op", ""}}}, ""},
	{"bridges", of("bridges"), [][]column{{
		{"messages", "bridge.messages_per_s", ""}, {"bytes", "bridge.bytes_per_s", ""}, {"of the plain writer, run by run", "bridge.ratio", ""},
	}}, ""},
	{"ros2dds", []command{
		goBench("./bridges/ros2dds", "^BenchmarkBesideC$", "-tags", "peers,ros2dds", "-benchtime", "3x"),
		{goPackage: "./bridges/ros2dds", args: []string{"-bench", "^BenchmarkImages1080p$", "-tags", "peers,ros2dds", "-benchtime", "1800x", "-count", "1"}, label: "_1080p"},
	}, [][]column{
		{
			{"writer in C", "BesideC.C-bytes/s", ""}, {"bridge, octets at hand", "BesideC.octets-bytes/s", ""}, {"of C", "BesideC.octets-bytes/s", "BesideC.C-bytes/s"},
			{"bridge, converting points", "BesideC.points-bytes/s", ""}, {"of C", "BesideC.points-bytes/s", "BesideC.C-bytes/s"},
		},
		{{"lost of 1,800 pictures", "Images1080p.lost", ""}},
	}, ""},
	{"mcap", []command{goBench("./bridges/mcap", ".", "-benchtime", "50x")}, [][]column{{
		{"bridge", "bridge-ns/msg", ""}, {"the library's writer", "bare-ns/msg", ""}, {"percent of the writer", "%-of-bare", ""},
	}}, ""},
	{"readback", []command{
		{args: []string{"readback"}}, {args: []string{"readback", "--gpu", "software"}, label: "_software"},
		{args: []string{"readback", "--gpu", "software", "--case", "1280x720"}, label: "_software_ordinary_user", ordinary: true},
	}, [][]column{
		{
			{"blocking, median frame", "readback.blocking.frame_ms.p50", ""}, {"blocking, p99", "readback.blocking.frame_ms.p99", ""},
			{"asynchronous, p99", "readback.async.frame_ms.p99", ""}, {"of the blocking median", "readback.async.frame_ms.p99", "readback.blocking.frame_ms.p50"},
			{"blocking", "readback.blocking.captures_per_s", ""}, {"asynchronous", "readback.async.captures_per_s", ""}, {"latency, median", "readback.latency_ms.p50", ""},
		},
		{{"lent", "readback.bytes_per_s", ""}, {"copied", "readback.copied_bytes_per_s", ""}, {"memcpy", "memcpy.bytes_per_s", ""}},
		{{"a look at the pool", "readback.poll_us", ""}},
	}, ""},
	{"dispatch", of("dispatch", "--runs", "15"), [][]column{{
		{"dispatcher", "dispatch.ns_per_msg", ""}, {"channel", "channel.ns_per_msg", ""}, {"times the channel", "dispatch.ns_per_msg", "channel.ns_per_msg"},
		{"bytes", "dispatch.bytes_per_s", ""}, {"of memcpy", "dispatch.bytes_per_s", "memcpy.bytes_per_s"}, {"allocations a message", "dispatch.allocs_per_msg", ""},
	}}, ""},
	{"clock", []command{
		{args: []string{"clock"}}, {args: []string{"clock", "--case", "loaded", "--runs", "1", "--duration", "10m"}, label: "_ten_minutes", long: true},
		{args: []string{"clock", "--case", "loaded", "--case", "idle_1kHz"}, label: "_ordinary_user", ordinary: true},
	}, [][]column{{
		{"p50", "clock.lateness_ms.p50", ""}, {"p99", "clock.lateness_ms.p99", ""}, {"longest", "clock.lateness_ms.max", ""},
		{"missed", "clock.missed", ""}, {"late by a period", "clock.late_by_period", ""}, {"drift", "clock.drift_us", ""},
	}}, ""},
	{"steps", []command{goBench("./cmd/raybridge/internal/control", "^BenchmarkSteps$")}, [][]column{{{"p50", "Steps.p50-µs", ""}, {"p99", "Steps.p99-µs", ""}}}, ""},
	{"world", of("world"), [][]column{{
		{"Go", "world.go.step_ms", ""}, {"stream", "world.stream.step_ms", ""}, {"JSON", "world.json.step_ms", ""},
		{"allocations, Go", "world.go.allocs_per_step", ""}, {"allocations, stream", "world.stream.allocs_per_step", ""},
	}}, ""},
	{"python", of("python"), [][]column{{
		{"empty step", "python.empty_step_ms", ""}, {"Python's own", "python.cpu_ms", ""}, {"poses of 200 actors", "python.step_200_ms", ""}, {"pictures, one a step", "python.pictures_1_per_s", ""}, {"eight a step", "python.pictures_8_per_s", ""},
	}}, ""},
	{"embree", []command{{args: []string{"embree", "--isa", "avx512"}, label: "_avx512"}, {args: []string{"embree", "--isa", "avx2"}, label: "_avx2"}}, [][]column{{
		{"raybridge, by CPU time", "lidar.rays_per_cpu_s", ""}, {"against `rtcIntersect1`", "lidar.ratio_to_rtcIntersect1", ""},
		{"against `rtcIntersect16`", "lidar.ratio_to_rtcIntersect16", ""}, {"ranges that agree", "embree.agree_percent", ""}, {"mean difference", "embree.difference_um", ""},
	}}, ""},
}

// pass is one call of the command.
type pass struct {
	program, page, out string
	quick, write       bool
	env                []string // of what it starts
	progress           io.Writer
}

// defaultPage is the one that is committed.
var defaultPage = filepath.Join("docs", "benchmarks.md")

func main() {
	p := pass{progress: os.Stderr}
	flag.StringVar(&p.program, "program", filepath.Join("bin", "raybridge"), "the `PROGRAM` to measure")
	flag.StringVar(&p.page, "page", defaultPage, "the page to write")
	flag.StringVar(&p.out, "out", filepath.Join("out", "bench"), "`DIR` for the results")
	flag.BoolVar(&p.quick, "quick", false, "short runs, to try a copy of the page")
	flag.BoolVar(&p.write, "write", false, "measure nothing: write the page from the results in -out, those of all machines")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := p.run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchdocs:", err)
		os.Exit(1) //nolint:gocritic // the signals end with the process
	}
}

// run measures the named parts, all without names, and writes each into the page when it is done.
func (p *pass) run(ctx context.Context, names []string) error {
	if p.quick && filepath.Clean(p.page) == defaultPage {
		return fmt.Errorf("%s states what was measured in full: give a copy with -page, or leave -quick out", p.page)
	}
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	// Debian's python3 has numpy; one that stands before it on the path may have none.
	p.env = append(os.Environ(), "PYTHONPATH=python", "PATH=/usr/bin"+string(os.PathListSeparator)+os.Getenv("PATH"))
	var failed error
	for _, one := range chosen {
		if err := cmp.Or(ctx.Err(), p.part(ctx, one)); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", one.name, err))
		}
	}
	return failed
}

// choose returns the parts of these names, all without names.
func choose(names []string) ([]*part, error) {
	var list []*part
	var known []string
	for i := range parts {
		known = append(known, parts[i].name)
		if len(names) == 0 || slices.Contains(names, parts[i].name) {
			list = append(list, &parts[i])
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no part %q of the page, known are %s", name, strings.Join(known, ", "))
		}
	}
	return list, nil
}

// part measures one part and writes it.
func (p *pass) part(ctx context.Context, one *part) error {
	if p.write {
		return p.rewrite(one)
	}
	machine := bench.ThisMachine()
	dir := filepath.Join(p.results(), slug(machine.Name()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	var made []command
	for _, c := range one.commands {
		if p.quick && c.long {
			continue
		}
		if i := slices.Index(c.args, "--isa"); i >= 0 && !slices.Contains(hostdev.ISAs(), c.args[i+1]) {
			fmt.Fprintf(p.progress, "this machine has no %s, which is left out\n", c.args[i+1])
			continue
		}
		fmt.Fprintln(p.progress, "==", one.name+c.label)
		p.settle(ctx)
		if err := p.measure(ctx, one, &c, dir); err != nil {
			return err
		}
		made = append(made, c)
	}
	return p.put(one, made, dir)
}

// results has a folder for each machine. Quick passes have their own.
func (p *pass) results() string {
	if p.quick {
		return filepath.Join(p.out, "quick")
	}
	return p.out
}

// rewrite writes a part from the results of all machines.
func (p *pass) rewrite(one *part) error {
	dirs, err := os.ReadDir(p.results())
	if err != nil {
		return fmt.Errorf("look for results: %w", fault.File(err))
	}
	some := false
	for _, d := range dirs {
		dir := filepath.Join(p.results(), d.Name())
		commands, err := one.measured(dir)
		if err != nil {
			return err
		}
		if len(commands) == 0 {
			continue
		}
		some = true
		if err := p.put(one, commands, dir); err != nil {
			return err
		}
	}
	if !some {
		return fmt.Errorf("no machine's folder in %s has results", p.results())
	}
	return nil
}

// measured returns the commands that a machine's folder has results of, none where the part wasn't
// measured there. It is an error if some are absent that each machine can have.
func (p *part) measured(dir string) (list []command, err error) {
	for _, c := range p.commands {
		_, absent := os.Stat(p.file(dir, &c))
		switch {
		case absent == nil:
			list = append(list, c)
		case !c.optional():
			err = errors.Join(err, fmt.Errorf("look for results: %w", fault.File(absent)))
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, err
}

// file has the results of a command on the machine of a folder.
func (p *part) file(dir string, c *command) string { return filepath.Join(dir, p.name+c.label+".json") }

// put writes the results of commands on one machine into the page, with their chart beside it.
func (p *pass) put(one *part, commands []command, dir string) error {
	var figures []bench.Figure
	for _, c := range commands {
		list, err := bench.ReadFigures(one.file(dir, &c))
		if err != nil {
			return err
		}
		for k := range list {
			list[k].Case += c.label
		}
		figures = append(figures, list...)
	}
	text, err := os.ReadFile(p.page)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	changed, err := one.write(string(text), figures)
	if err != nil {
		return err
	}
	if one.chart != "" {
		if err := p.putChart(one, figures[0].Machine.Name(), dir); err != nil {
			return err
		}
	}
	if err := os.WriteFile(p.page, []byte(changed), 0o644); err != nil { //nolint:gosec // a page is for all to read
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// putChart copies a part's chart from a machine's results to the page.
func (p *pass) putChart(one *part, machine, dir string) error {
	chart, err := os.ReadFile(filepath.Join(dir, path.Base(one.chart)))
	if err != nil {
		return fmt.Errorf("read the chart: %w", fault.File(err))
	}
	to := filepath.Join(filepath.Dir(p.page), filepath.FromSlash(one.chartOf(machine)))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make the chart's folder: %w", err)
	}
	if err := os.WriteFile(to, chart, 0o644); err != nil { //nolint:gosec // a chart is for all to see
		return fmt.Errorf("write the chart: %w", err)
	}
	return nil
}

// chartOf is where a machine's chart lies beside the page.
func (p *part) chartOf(machine string) string {
	ending := path.Ext(p.chart)
	return strings.TrimSuffix(p.chart, ending) + "-" + slug(machine) + ending
}

// slug makes a file's name of a machine's.
func slug(machine string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(machine), func(r rune) bool { return !strings.ContainsRune(letters, r) }), "-")
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// quiet is how long a pass waits for a quiet machine before each command.
const quiet = 3 * time.Minute

// settle waits until the load of the command before has left the system's average. On a machine
// that isn't quiet it gives up, and the tables say so. A quick pass doesn't wait.
func (p *pass) settle(ctx context.Context) {
	if p.quick {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	for m := bench.ThisMachine(); m.Busy() && ctx.Err() == nil; m = bench.ThisMachine() {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// measure runs a command, whose figures go into the machine's folder. They name the commit of the
// work tree where the program doesn't know its own.
func (p *pass) measure(ctx context.Context, one *part, c *command, dir string) error {
	var list []bench.Figure
	var err error
	if c.goPackage != "" {
		list, err = p.goTest(ctx, c)
	} else {
		list, err = p.bench(ctx, one, c, dir)
	}
	if err != nil {
		return err
	}
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--exclude=*", "--abbrev=8", "--dirty=+").Output()
	if err != nil {
		return fmt.Errorf("ask git for the commit: %w", err)
	}
	for i := range list {
		m := &list[i].Machine
		m.Commit = cmp.Or(m.Commit, strings.TrimSpace(string(commit)))
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	if err := os.WriteFile(one.file(dir, c), append(text, '\n'), 0o644); err != nil { //nolint:gosec // for all to read
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}

// bench runs `raybridge bench`. A rig that isn't there is left out.
func (p *pass) bench(ctx context.Context, one *part, c *command, dir string) ([]bench.Figure, error) {
	file := one.file(dir, c)
	args := append([]string{"bench"}, c.args...)
	if i := slices.Index(args, "--rig"); i >= 0 {
		if _, err := os.Stat(args[i+1]); err != nil {
			fmt.Fprintf(p.progress, "%s is not there and left out\n", args[i+1])
			args = slices.Delete(args, i, i+2)
		}
	}
	args = append(args, "--json", file)
	if one.chart != "" {
		args = append(args, "--plot", filepath.Join(dir, path.Base(one.chart)))
	}
	if p.quick {
		args = append(args, "--quick")
	}
	name := p.program
	if c.ordinary && os.Geteuid() == 0 { // root would get real time by its capability
		name, args = "setpriv", append([]string{"--bounding-set=-sys_nice", "--inh-caps=-sys_nice", name}, args...)
	}
	if _, err := p.command(ctx, name, args...); err != nil {
		return nil, err
	}
	return bench.ReadFigures(file)
}

// command runs a program and returns what it printed. Where it fails the error has the end of that.
func (p *pass) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Stderr = p.env, p.progress
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w\n%s", name, strings.Join(args, " "), err, out[max(0, len(out)-2000):])
	}
	return string(out), nil
}

// goRuns is how often Go's benchmarks are made.
const goRuns = 5

// goTest runs the benchmarks of a package.
func (p *pass) goTest(ctx context.Context, c *command) ([]bench.Figure, error) {
	args := append([]string{"test", "-run", "^$", "-timeout", "30m", "-count", strconv.Itoa(goRuns)}, c.args...)
	if p.quick {
		args = append(args, "-count", "1", "-benchtime", "2x")
	}
	report := bench.Report{Machine: bench.ThisMachine()}
	out, err := p.command(ctx, "go", append(args, c.goPackage)...)
	if err != nil {
		return nil, err
	}
	report.Machine.End()
	report.Results = goResults(out)
	var list []bench.Figure
	for _, r := range report.Results {
		list = append(list, bench.Figure{Result: r, Value: r.Median(), Machine: report.Machine})
	}
	return list, nil
}

// goResults reads the lines of Go's benchmarks. A line has a name, a count, and pairs of value
// and unit. BenchmarkSteps/empty-2 is the case empty of the figures Steps.ns/op and so forth; one
// without cases is a case itself, of the figure ns/op.
func goResults(out string) (list []bench.Result) {
	at := map[[2]string]int{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "Benchmark") || len(fields) < 4 {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i >= 0 { // GOMAXPROCS
			name = name[:i]
		}
		prefix, title, hasCases := strings.Cut(name, "/")
		if !hasCases {
			prefix, title = "", prefix
		} else {
			prefix += "."
		}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break
			}
			key := [2]string{prefix + fields[i+1], title}
			if _, known := at[key]; !known {
				at[key] = len(list)
				list = append(list, bench.Result{Name: key[0], Case: title, Unit: goUnit(fields[i+1])})
			}
			r := &list[at[key]]
			r.Runs = append(r.Runs, value)
		}
	}
	return list
}

// goUnit is the unit of what a benchmark of Go reports.
func goUnit(reported string) string {
	if strings.HasSuffix(reported, "bytes/s") {
		return "bytes/s"
	}
	for _, unit := range []string{"ns", "µs", "ms", "%"} {
		if slices.Contains(strings.FieldsFunc(reported, func(r rune) bool { return r == '/' || r == '-' }), unit) {
			return unit
		}
	}
	return ""
}
