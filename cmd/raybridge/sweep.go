package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/world/sumo"
)

func newSweep() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "sweep", Short: "Run variations of a drive",
		Long: "Run variations of a drive, each as a process of its own, and collect what they give.\n\n" +
			"A sweep file names the configuration of a run and what of it is varied; docs/sweep.md has its keys. The folder\n" +
			"of a sweep says what is done: a command that is run again continues there, however the one before ended.",
		Example: "  raybridge sweep run sweep.yaml --out out/sweep\n" +
			"  raybridge sweep status out/sweep\n" +
			"  raybridge sweep plan sweep.yaml --out /shared/sweep && sbatch --array=0-99 sweep.sh   # raybridge sweep run --out /shared/sweep --shard auto",
	})
	cmd.AddCommand(newSweepPlan(), newSweepRun(), newSweepWorker(), newSweepStatus(), newSweepRetry(), newSweepVerify(), newSweepMerge(), newSweepCancel())
	return cmd
}

// sweepFlags are the flags of the commands that run cases.
type sweepFlags struct {
	out           string
	jobs          int
	shard         string
	shards        int
	extend        bool
	moved         bool
	takeOver      bool
	many          bool
	allowPrograms bool
	limit         time.Duration
	quiet         bool
	json          bool
	withInput     bool
	probe         bool
	coordinatorFlags

	part sweep.Shard // of the plan, that a coordinator has run
}

func (f *sweepFlags) planning(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.extend, "extend", false, "continue a folder that has another plan of this sweep: what is done stays done")
	cmd.Flags().BoolVar(&f.moved, "moved", false, "the folder was planned from FILE when that lay elsewhere: it is that sweep's from now on")
	cmd.Flags().BoolVar(&f.many, "yes", false, fmt.Sprintf("plan more than %d cases", sweep.UsualCases))
	cmd.Flags().BoolVar(&f.allowPrograms, "allow-programs", false, "let the cases' world start programs of this machine, as sumo: does")
}

func (f *sweepFlags) running(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "`N` cases at a time; 0 is half as many as there are cores")
	cmd.Flags().DurationVar(&f.limit, "timeout", 0, "`TIME` that a case may take, before it is ended and counts as failed; 0 is without limit")
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "take the folder from a sweep run of another machine that has died")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "print errors only")
}

func newSweepPlan() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use: "plan FILE", Short: "List the cases of a sweep, and what they will take",
		Long: "List the cases of a sweep with their ids, and estimate the time and the disk that they take.\n\n" +
			"With --out, the plan and the files that the cases read are written to that folder, from which sweep run takes them:\n" +
			"what is edited afterwards changes nothing. The estimate is that of cases that are done there, or of the one that --probe runs.",
		Example: "  raybridge sweep plan sweep.yaml\n  raybridge sweep plan sweep.yaml --out /shared/sweep --probe",
		Args:    oneArg("a sweep file"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.plan(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&f.out, "out", "", "write the plan to the folder `DIR`")
	cmd.Flags().BoolVar(&f.json, "json", false, "write the plan as JSON, for programs")
	cmd.Flags().BoolVar(&f.probe, "probe", false, "run the first case to learn what one takes")
	f.planning(cmd)
	return cmd
}

func newSweepRun() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use: "run [FILE]", Short: "Run the cases of a sweep that aren't done",
		Long: "Run the cases of a sweep that aren't done yet, without a server or a port, unless --listen or --nats asks for workers of\n" +
			"other machines, which raybridge sweep worker starts.\n\n" +
			"Without FILE, the cases are those of the plan that the folder has. With --shard, only a share of the cases is run: any\n" +
			"number of machines may do so at the same time in one folder, which they share. auto finds the share by the variables\n" +
			"of Slurm, Kubernetes, AWS Batch, Google Batch, PBS, LSF and Grid Engine.\n\n" +
			"With --json, standard output has a line of JSON for each case: first for those that are done or have failed already,\n" +
			"then for each when it ends. docs/sweep.md has the keys.\n\n" +
			"The exit code is 0 if all cases are done, 1 if some failed for good, 2 for wrong use, and 4 if the run ended before\nall were tried.",
		Example: "  raybridge sweep run sweep.yaml --out out/sweep\n" +
			"  raybridge sweep run sweep.yaml --out out/sweep --extend   # after more values were added to sweep.yaml\n" +
			"  raybridge sweep run --out /shared/sweep --shard auto\n" +
			"  raybridge sweep run sweep.yaml --out /shared/sweep --listen 0.0.0.0:4222   # prints the command of workers",
		Args: upToArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.withInput {
				cmd.SetContext(endingWith(cmd.Context(), cmd.InOrStdin()))
			}
			return f.run(cmd, strings.Join(args, ""))
		},
	}
	cmd.Flags().StringVar(&f.out, "out", filepath.Join("out", "sweep"), "`DIR` of the sweep")
	cmd.Flags().StringVar(&f.shard, "shard", "", "run share `I/N` of the cases, counted from 0/N, or auto")
	cmd.Flags().IntVar(&f.shards, "shards", 0, "`N` shares in all, for systems that don't tell --shard auto")
	cmd.Flags().BoolVar(&f.json, "json", false, "write a line of JSON for each case, for programs")
	cmd.Flags().BoolVar(&f.withInput, "end-with-input", false, "end as by Ctrl-C when standard input ends: a program that holds\na pipe to it takes the sweep along, however it dies")
	f.planning(cmd)
	f.running(cmd)
	f.coordinatorFlags.add(cmd)
	return cmd
}

func newSweepStatus() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use: "status DIR", Short: "Show how far a sweep is",
		Long: "Show how far a sweep is: what is done, runs and has failed, and the time left. On a terminal, the table is kept up to date\nuntil all is done, or Ctrl-C.",
		Args: oneArg("the folder of a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.status(cmd, args[0]) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, for programs")
	return cmd
}

func newSweepRetry() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use: "retry DIR [CASE...]", Short: "Run cases again that failed for good",
		Long: "Run all cases again that failed for good, or those that are named, and whatever else isn't done.",
		Args: someArgs("the folder of a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.retry(cmd, args[0], args[1:]) },
	}
	cmd.Flags().BoolVar(&f.allowPrograms, "allow-programs", false, "let the cases' world start programs of this machine, as sumo: does")
	f.running(cmd)
	f.coordinatorFlags.add(cmd)
	return cmd
}

func newSweepVerify() *cobra.Command {
	var f sweepFlags
	var sample string
	cmd := &cobra.Command{
		Use: "verify DIR", Short: "Compare the results of a sweep with their hashes",
		Long: "Compare the files of all results with their hashes, or with --sample run a share of the cases again, and compare what\nthey give with the results.\n\n" +
			"The exit code is 1 if a result isn't what it was.",
		Example: "  raybridge sweep verify out/sweep\n  raybridge sweep verify out/sweep --sample 1%",
		Args:    oneArg("the folder of a sweep"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.verify(cmd, args[0], sample) },
	}
	cmd.Flags().StringVar(&sample, "sample", "", "run a `SHARE` of the cases again, such as 1%")
	cmd.Flags().BoolVar(&f.allowPrograms, "allow-programs", false, "let the cases' world start programs of this machine, as sumo: does")
	return cmd
}

func newSweepMerge() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use: "merge DIR...", Short: "Write the tables and the report of a sweep",
		Long: "Write results.csv, with a row for each case of the plan, timing.csv, with what depends on wall time, and report.html,\nwith plots and all cases.\n\n" +
			"Of several folders, which have the results of some cases each, the first one's plan counts. All is written to that\nfolder, unless --out names another one.",
		Args: someArgs("the folder of a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.merge(cmd, args) },
	}
	cmd.Flags().StringVar(&f.out, "out", "", "write to the folder `DIR`")
	return cmd
}

func newSweepCancel() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "cancel DIR", Short: "End a sweep, and keep what is done",
		Long: "End all that works on a sweep, on this machine and on others, and keep what is done. Shares that begin later end at once,\n" +
			"until sweep run without --shard continues the sweep.\n\n" +
			"The exit code is 0 once nothing runs any longer, and 4 if something still does after the time of --wait; it is named then.",
		Args: oneArg("the folder of a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error { return cancelSweep(cmd, args[0], wait) },
	}
	cmd.Flags().DurationVar(&wait, "wait", cancelPatience, "`TIME` that what runs may take to end")
	return cmd
}

// sweptConfig is a configuration that a sweep varies.
type sweptConfig struct{ config *config.Config }

// Copy implements sweep.Configuration.
func (s sweptConfig) Copy() sweep.Configuration {
	c := *s.config
	return sweptConfig{&c}
}

// Set implements sweep.Configuration.
func (s sweptConfig) Set(key, value string) error { return s.config.Set(key, value) }

// Leaves implements sweep.Configuration.
func (s sweptConfig) Leaves() ([]config.Leaf, error) {
	var faults doc.Faults
	faults.Add(s.config.Validate())
	leaves, err := s.config.Leaves(sensorsall.Registry())
	if faults.Add(err); err == nil {
		faults.Add(checkConfig(s.config, defaultOut))
		faults.Add(checkCase(s.config))
	}
	return leaves, faults.Err()
}

// checkMetric refuses a metric that no run of a configuration has.
func checkMetric(c sweep.Configuration, name string) error {
	names, err := pipeline.MetricNames(&rig.Rig{Sensors: c.(sweptConfig).config.Sensors}, sensorsall.Registry())
	if err == nil && !slices.Contains(names, name) {
		err = fmt.Errorf("%w %s: runs have no such metric, %s", doc.ErrValue, name, fault.Hint(name, names))
	}
	return err
}

// readSwept reads the configuration of a sweep's cases from a file's text.
func readSwept(path string, text []byte) (sweep.Configuration, error) {
	c, err := (config.Reader{}).Parse(path, text)
	if err != nil {
		return nil, err
	}
	return sweptConfig{c}, carryRig(&runFlags{}, c)
}

// checkCase refuses a configuration that no case can have: one that others would change, or that writes elsewhere.
func checkCase(c *config.Config) error {
	if _, err := modeOf(&runFlags{step: true}, c); err != nil {
		return errors.New("time.source: a case isn't driven from outside: leave it out, or give engine")
	}
	for i := range c.Bridges {
		b := &c.Bridges[i]
		file, _, _ := strings.Cut(b.Connection, "?")
		switch {
		case !recordsFile(c.Bridges[i : i+1]):
			return c.InBridge(i, "type", fmt.Errorf("bridge %s: a case writes files, and talks to nobody: leave the bridge out", b.Type))
		case !filepath.IsLocal(file):
			return c.InBridge(i, "connection", fmt.Errorf("bridge %s: %s lies outside of the case's folder: give a path below it", b.Type, b.Connection))
		}
	}
	return nil
}

// sweepVersion is the version that cases are of.
func sweepVersion() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program: %w", err)
	}
	return sweep.VersionOf(raybridge.Version(), program)
}

// classHere is the class of a device of this machine by its name, and the name that cases are given.
func classHere(name string) (class, device string, err error) {
	open, err := raybridge.Device(name, hostdev.Options{})
	if err != nil {
		return "", "", err
	}
	t, err := gpu.Start(open)
	if err != nil {
		return "", "", err
	}
	info := t.Info()
	class = sweep.ClassOf(info.Class(), info.Renderer, info.Version)
	device = info.Class()
	if info.GPU() {
		device = cmp.Or(name, "auto")
	}
	return class, device, t.Close()
}

// planner plans a sweep file for the device that it names.
func (f *sweepFlags) planner(ctx context.Context, file *sweep.File) (*sweep.Planner, error) {
	version, err := sweepVersion()
	if err != nil {
		return nil, err
	}
	pl := &sweep.Planner{
		Read: readSwept, Version: version, Class: sweep.AnyDevice, Metrics: checkMetric, Many: f.many, Moved: f.moved,
		AllowPrograms: f.allowPrograms, Program: func() (string, error) { return sumo.Version(ctx) },
	}
	if file.Device != sweep.AnyDevice {
		pl.Class, pl.Device, err = classHere(cmp.Or(file.Device, os.Getenv(gpuVariable), "auto"))
	}
	return pl, err
}

// planOf plans a sweep file.
func (f *sweepFlags) planOf(ctx context.Context, path string) (*sweep.Plan, error) {
	file, err := sweep.ReadFile(path)
	if err != nil {
		return nil, usage(err)
	}
	pl, err := f.planner(ctx, file)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: device: %w", path, err))
	}
	p, err := pl.Plan(ctx, file)
	return p, usage(err)
}

func (f *sweepFlags) plan(cmd *cobra.Command, path string) error {
	p, err := f.planOf(cmd.Context(), path)
	if err != nil {
		return err
	}
	estimate := &sweep.Estimate{}
	if f.out != "" || f.probe {
		if estimate, err = f.estimate(cmd, p); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if f.json {
		return json.NewEncoder(out).Encode(struct {
			*sweep.Plan
			Estimate *sweep.Estimate `json:"estimate,omitempty"`
		}{p, estimate})
	}
	w := columns(out)
	fmt.Fprintln(w, "case\tseed\tsettings")
	for i := range p.Cases {
		c := &p.Cases[i]
		fmt.Fprintf(w, "%s\t%d\t%s\n", c.ID, c.Seed, p.Label(c))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s on %s, %s\n", fault.Count(len(p.Cases), "case"), fault.Printable(p.Class), fault.Printable(p.Version))
	if n := p.Same(); n > 0 {
		fmt.Fprintf(out, "left out %s that would be the same run as another\n", fault.Count(n, "combination"))
	}
	fmt.Fprintln(out, estimateText(estimate, len(p.Cases)))
	return nil
}

// estimateText says what so many cases take.
func estimateText(e *sweep.Estimate, cases int) string {
	if e.Cases == 0 {
		return "time and disk: unknown until a case is done; --probe runs one"
	}
	n := float64(cases)
	whole := time.Duration(e.WallS * n * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("time and disk, by %s: %.2g s and %s each, %v with --jobs 1 and %s in all",
		fault.Count(e.Cases, "case"), e.WallS, sizeText(float64(e.Bytes)), whole, sizeText(float64(e.Bytes)*n))
}

// sizeText is a number of bytes for people.
func sizeText(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	at := 0
	for n >= 1000 && at < len(units)-1 {
		n /= 1000
		at++
	}
	return fault.Number(n, 3) + " " + units[at]
}

// estimate writes the plan to its folder, and looks at what is done there. A probe runs a case, in a folder that goes where
// none is named.
func (f *sweepFlags) estimate(cmd *cobra.Command, p *sweep.Plan) (e *sweep.Estimate, err error) {
	dir := f.out
	if dir == "" {
		if dir, err = os.MkdirTemp("", "raybridge-sweep-"); err != nil {
			return nil, fmt.Errorf("make a folder for the probe: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	s, err := sweep.CreateStore(dir)
	if err != nil {
		return nil, folderFault(err)
	}
	defer s.Close()
	if err = f.adopt(cmd, s, p); errors.Is(err, sweep.ErrUnlocked) { // nobody may run the plan that is replaced
		_, lock, locked := s.Lock(cmd.Context(), false, func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
		if locked != nil {
			return nil, folderFault(locked)
		}
		err = errors.Join(f.adopt(cmd, s, p), lock.Release())
	}
	if err != nil {
		return nil, err
	}
	if e, err = s.Estimate(p); err != nil || e.Cases > 0 || !f.probe {
		return e, err
	}
	w, err := f.worker(cmd.Context(), s, p)
	if err != nil {
		return nil, err
	}
	if err := w.Probe(cmd.Context()); err != nil {
		return nil, err
	}
	return s.Estimate(p)
}

// adopt makes a plan the store's, and says what changes.
func (f *sweepFlags) adopt(cmd *cobra.Command, s *sweep.Store, p *sweep.Plan) error {
	change, err := s.Adopt(cmd.Context(), p, f.extend)
	if change != nil && !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "cases of the folder's plan that stay: %d (%d done), new: %d, no longer asked for: %d\n",
			change.Stay, change.Done, change.New, change.Gone)
	}
	return folderFault(err)
}

// worker makes a worker of this machine for a plan.
func (f *sweepFlags) worker(ctx context.Context, s *sweep.Store, p *sweep.Plan) (*sweep.Worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program: %w", err)
	}
	version, err := sweepVersion()
	if err != nil {
		return nil, err
	}
	w := &sweep.Worker{Store: s, Plan: p, Program: program, Read: readSwept, Limit: f.limit, Secrets: []string{credentialsVariable, tokenVariable}}
	w.WorldProgram = func() (string, error) { return sumo.Version(ctx) }
	class := ""
	if p.Class != sweep.AnyDevice && p.Version == version {
		if class, _, err = classHere(p.Device); err != nil {
			return nil, fmt.Errorf("open the plan's device: %w", err)
		}
	}
	return w, folderFault(w.Prepare(version, class, f.allowPrograms))
}

func (f *sweepFlags) run(cmd *cobra.Command, path string) error {
	shard, err := f.share(cmd)
	if err = cmp.Or(err, f.checkRemote(cmd)); err != nil {
		return usage(err)
	}
	var p *sweep.Plan
	if path != "" {
		if p, err = f.planOf(cmd.Context(), path); err != nil {
			return err
		}
	}
	open := sweep.CreateStore
	if p == nil {
		open = sweep.OpenStore
	}
	s, err := open(f.out)
	if err != nil {
		return folderFault(err)
	}
	defer s.Close()
	if shard.Count > 0 && !f.remote() {
		return f.runShare(cmd, s, p, shard)
	}
	f.part = shard
	return f.coordinate(cmd, s, p, nil)
}

// share reads --shard.
func (f *sweepFlags) share(cmd *cobra.Command) (sweep.Shard, error) {
	if f.shard == "" {
		if f.shards != 0 {
			return sweep.Shard{}, errors.New("--shards: give --shard auto, too")
		}
		return sweep.Shard{}, nil
	}
	if f.extend || f.moved { // while others may run the plan that would be replaced
		return sweep.Shard{}, errors.New("--extend and --moved aren't for shares: a share doesn't replace the plan: run sweep plan with them first")
	}
	shard, err := sweep.ParseShard(f.shard, f.shards, os.Getenv)
	if err == nil && shard.Found != "" && !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "share %v, by %s\n", shard, shard.Found)
	}
	return shard, err
}

// runShare runs a share of the cases, beside others that know nothing of it.
func (f *sweepFlags) runShare(cmd *cobra.Command, s *sweep.Store, p *sweep.Plan, shard sweep.Shard) error {
	if s.Cancelled() {
		return usage(fmt.Errorf("%s: %w: sweep run without --shard continues it", s.Dir(), sweep.ErrCancelled))
	}
	p, err := f.planIn(cmd, s, p)
	if errors.Is(err, sweep.ErrUnlocked) { // it has the same cases: a share leaves it as it is
		p, err = f.planIn(cmd, s, nil)
	}
	if err != nil {
		return err
	}
	return f.runCases(cmd, cmd.Context(), s, p, shard)
}

// folderFault marks an error of a sweep's folder: it is wrong use, unless the disk or the machine has failed, which another
// try may not find.
func folderFault(err error) error {
	var failed syscall.Errno
	if !errors.As(err, &failed) || failed.Is(fs.ErrNotExist) || failed.Is(fs.ErrPermission) || failed.Is(fs.ErrExist) ||
		slices.Contains([]syscall.Errno{syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG}, failed) {
		return usage(err)
	}
	return &exitError{exitIncomplete, err}
}

// planIn returns the store's plan, after it has adopted p if that isn't nil.
func (f *sweepFlags) planIn(cmd *cobra.Command, s *sweep.Store, p *sweep.Plan) (*sweep.Plan, error) {
	if p != nil {
		return p, f.adopt(cmd, s, p)
	}
	p, err := s.Plan()
	return p, folderFault(err)
}

// coordinate runs all cases that aren't done, as the only one that does so. It first calls prepare. (optional)
func (f *sweepFlags) coordinate(cmd *cobra.Command, s *sweep.Store, p *sweep.Plan, prepare func(*sweep.Plan) error) error {
	if p == nil {
		if err := s.Planned(); err != nil {
			return folderFault(err)
		}
	}
	messages := cmd.ErrOrStderr()
	ctx, lock, err := s.Lock(cmd.Context(), f.takeOver, func(text string) { fmt.Fprintln(messages, text) })
	if err != nil {
		return folderFault(err)
	}
	err = f.coordinated(cmd, ctx, s, p, prepare)
	return errors.Join(err, lock.Release())
}

func (f *sweepFlags) coordinated(cmd *cobra.Command, ctx context.Context, s *sweep.Store, p *sweep.Plan, prepare func(*sweep.Plan) error) error {
	if err := s.Uncancel(); err != nil {
		return folderFault(err)
	}
	p, err := f.planIn(cmd, s, p)
	if err != nil {
		return err
	}
	if prepare != nil {
		if err := prepare(p); err != nil {
			return err
		}
	}
	err = f.runCases(cmd, ctx, s, p, f.part)
	if code := exitCode(err); code == exitDone || code == exitFailed {
		merged, fault := sweep.Merge(p, []*sweep.Store{s}, s.Dir())
		if err = errors.Join(err, fault); fault == nil && !f.quiet {
			tellIdle(cmd.ErrOrStderr(), merged)
			fmt.Fprintf(f.text(cmd), "table: %s\nreport: %s\n", filepath.Join(f.out, sweep.ResultsFile), filepath.Join(f.out, sweep.ReportFile))
		}
	}
	return err
}

// runCases runs a share of the cases on this machine, or has workers of others run them.
func (f *sweepFlags) runCases(cmd *cobra.Command, ctx context.Context, s *sweep.Store, p *sweep.Plan, shard sweep.Shard) (err error) {
	ctx, done := s.UntilCancelled(ctx)
	defer done()
	if !f.remote() {
		engine, err := f.localEngine(ctx, s, p)
		if err != nil {
			return err
		}
		defer engine.Close()
		return reported(f.runOn(cmd, ctx, &sweep.Run{Store: s, Plan: p, Engine: engine, Shard: shard}))
	}
	engine, end, err := f.remoteEngine(cmd, ctx, s, p)
	if err != nil {
		return err
	}
	m := &scraped{engine: engine}
	if m.at, err = progressOf(s, p); err != nil {
		return errors.Join(err, end(false))
	}
	stop, err := f.serveMetrics(cmd, m)
	if err != nil {
		return errors.Join(err, end(false))
	}
	report, err := f.runOn(cmd, ctx, &sweep.Run{Store: s, Plan: p, Engine: engine, Shard: shard, Told: func(_ sweep.End, at sweep.Progress) { m.told(at) }})
	fault := errors.Join(end(err == nil && report.Left() == 0), stop())
	return cleanedUp(newLog(cmd.ErrOrStderr(), f.quiet), fault, reported(report, err))
}

// cleanedUp is what a run came to. A fault in cleaning up after it is a warning alone, since the results are there.
func cleanedUp(log *slog.Logger, fault, err error) error {
	if fault != nil {
		log.Warn("clean up after the sweep: " + fault.Error())
	}
	return err
}

// reported is what a run of cases came to.
func reported(report *sweep.Report, err error) error {
	if err != nil {
		return err
	}
	return reportError(report)
}

// localEngine runs cases on this machine.
func (f *sweepFlags) localEngine(ctx context.Context, s *sweep.Store, p *sweep.Plan) (*sweep.Local, error) {
	if f.jobs < 0 {
		return nil, usage(fmt.Errorf("--jobs %d: want 1 or more, or 0 for half as many as there are cores", f.jobs))
	}
	w, err := f.worker(ctx, s, p)
	if err != nil {
		return nil, err
	}
	return sweep.NewLocal(ctx, w, cmp.Or(f.jobs, max(1, runtime.NumCPU()/2))), nil
}

// runOn runs cases, and tells people and programs of them.
func (f *sweepFlags) runOn(cmd *cobra.Command, ctx context.Context, run *sweep.Run) (*sweep.Report, error) {
	s, p := run.Store, run.Plan
	printer := &sweepPrinter{out: consoleOn(cmd.ErrOrStderr()), plan: p, quiet: f.quiet, began: time.Now()}
	lines := &outcomeLines{store: s, plan: p, cases: run.Shard.Of(p), told: map[string]bool{}}
	if f.json {
		lines.out = json.NewEncoder(cmd.OutOrStdout())
	}
	lines.all(true)
	also := run.Told
	run.Told = func(e sweep.End, at sweep.Progress) {
		printer.told(e, at)
		lines.tell(e.Case, false)
		if also != nil {
			also(e, at)
		}
	}
	report, err := run.Run(ctx)
	printer.out.move("")
	lines.all(false) // others may have ended some
	if err = errors.Join(err, lines.err); err != nil {
		return nil, err
	}
	if !f.quiet {
		fmt.Fprintf(f.text(cmd), "%d of %s done in %v, %d before; %d failed; processes took %v\n", report.Done-report.Before,
			fault.Count(report.Total, "case"), report.Wall.Round(10*time.Millisecond), report.Before, report.Failed, report.Cases.Round(10*time.Millisecond))
		for _, alarm := range report.Alarms {
			fmt.Fprintln(cmd.ErrOrStderr(), alarm)
		}
		if report.Failed > 0 {
			if err := listFailures(f.text(cmd), s, p); err != nil {
				return nil, err
			}
		}
	}
	return report, nil
}

// text is where people read what a run came to. With --json, standard output is for programs.
func (f *sweepFlags) text(cmd *cobra.Command) io.Writer {
	if f.json {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// outcomeLines writes a line of JSON for each case that is done or has failed for good, once.
type outcomeLines struct {
	store *sweep.Store
	plan  *sweep.Plan
	cases []*sweep.Case
	out   *json.Encoder // nil: nowhere
	told  map[string]bool
	err   error
}

// tell writes a case's line if the case has come to something. before: it had when the run began.
func (l *outcomeLines) tell(c *sweep.Case, before bool) {
	if l.out == nil || l.told[c.ID] || l.err != nil {
		return
	}
	o, err := l.store.Outcome(l.plan, c)
	if l.err = err; err != nil || o == nil {
		return
	}
	l.told[c.ID], o.Before = true, before
	l.err = l.out.Encode(o)
}

// all writes the lines that are missing, in the plan's order.
func (l *outcomeLines) all(before bool) {
	for _, c := range l.cases {
		l.tell(c, before)
	}
}

// reportError is what a run of cases came to, with its exit code.
func reportError(o *sweep.Report) error {
	err := o.Err()
	switch {
	case errors.Is(o.Stopped, sweep.ErrClass), errors.Is(o.Stopped, queue.ErrCredentials), errors.Is(o.Stopped, queue.ErrPermissions):
		return usage(err)
	case o.Stopped != nil:
		if errors.Is(o.Stopped, context.Canceled) {
			err = fmt.Errorf("%d of %d cases are left: the run was told to end; run it again to continue", o.Left(), o.Total)
		}
		return &exitError{exitIncomplete, err}
	}
	return err
}

// listFailures prints the cases that failed for good.
func listFailures(out io.Writer, s *sweep.Store, p *sweep.Plan) error {
	st, err := s.State(p)
	if err != nil {
		return err
	}
	printFailures(out, st.Failures)
	return nil
}

func printFailures(out io.Writer, failures []sweep.FailedCase) {
	w := columns(out)
	section(w, "failed case\texit\ttries\tsettings\treason", failures, func(f *sweep.FailedCase) string {
		return fmt.Sprintf("%s\t%d\t%d\t%s\t%s", f.ID, f.Code, f.Attempts, f.Label, fault.Printable(f.Reason))
	})
	_ = w.Flush() // a terminal that is gone needs no table
}

// sweepPrinter shows how far a sweep is.
type sweepPrinter struct {
	out   *console
	plan  *sweep.Plan
	quiet bool
	began time.Time
	shown time.Time
}

// told is called at each end of an attempt.
func (p *sweepPrinter) told(e sweep.End, at sweep.Progress) {
	if p.quiet {
		return
	}
	if e.Err != nil && e.Result != sweep.Returned {
		fmt.Fprintf(p.out, "case %s (%s): %s\n", e.Case.ID, p.plan.Label(e.Case), fault.Printable(e.Err.Error()))
	}
	interval := lineInterval
	if p.out.moves {
		interval = moveInterval
	}
	if time.Since(p.shown) < interval {
		return
	}
	p.shown = time.Now()
	text := fmt.Sprintf("%d of %d done, %d failed", at.Done, at.Total, at.Failed)
	if done := at.Done - at.Before; done > 0 {
		each := time.Since(p.began) / time.Duration(done)
		text += fmt.Sprintf(", %s a minute, %v left", fault.Number(time.Minute.Seconds()/each.Seconds(), 3), (time.Duration(at.Left()) * each).Round(time.Second))
	}
	if p.out.moves {
		p.out.move(text)
	} else {
		fmt.Fprintln(p.out, text)
	}
}

func (f *sweepFlags) status(cmd *cobra.Command, dir string) error {
	s, err := sweep.OpenStore(dir)
	if err != nil {
		return usage(err)
	}
	defer s.Close()
	p, err := s.Plan()
	if err != nil {
		return usage(err)
	}
	out := cmd.OutOrStdout()
	live := !f.json && isTerminal(out)
	for {
		st, err := s.State(p)
		if err != nil {
			return err
		}
		if f.json {
			e := json.NewEncoder(out)
			e.SetIndent("", "  ")
			return e.Encode(st)
		}
		if live {
			fmt.Fprint(out, "\x1b[H\x1b[2J") // from the top of an empty screen
		}
		printStatus(out, st)
		if !live || st.Done+st.Failed == st.Total {
			return nil
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// seconds is a time for people.
func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

func printStatus(out io.Writer, st *sweep.State) {
	w := columns(out)
	rate, left := "-", "-"
	if st.RatePerMin > 0 {
		rate = fault.Number(st.RatePerMin, 3)
		left = seconds(st.LeftS).String()
	}
	fmt.Fprintln(w, "sweep\tcases\tdone\trunning\tlost\tfailed\ta minute\tleft\tdevice")
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", fault.Printable(st.Sweep), st.Total, st.Done, st.Running, st.Lost, st.Failed, rate, left, fault.Printable(st.Class))
	section(w, "running case\thost\tprocess\tfor", st.Cases, func(c *sweep.RunningCase) string {
		return fmt.Sprintf("%s\t%s\t%d\t%v", c.ID, fault.Printable(c.Host), c.PID, seconds(c.ForS))
	})
	section(w, "lost case\thost\tprocess\tlast sign of life", st.LostCases, func(c *sweep.RunningCase) string {
		return fmt.Sprintf("%s\t%s\t%d\t%v ago", c.ID, fault.Printable(c.Host), c.PID, seconds(c.SilentS))
	})
	section(w, "worker\tjobs\trunning\tdone\tfailed\tsilent for", st.Workers, func(o *sweep.WorkerState) string {
		return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%v", fault.Printable(o.Name), o.Jobs, len(o.Running), o.Done, o.Failed, seconds(o.SilentS))
	})
	_ = w.Flush() // a terminal that is gone needs no table
	printFailures(out, st.Failures)
	for _, a := range st.Alarms {
		fmt.Fprintf(out, "%s differs from the first result of its case\n", fault.Printable(a))
	}
	switch {
	case st.CoordinatorLost:
		fmt.Fprintf(out, "\nwas run by %s: if it has ended, or its machine has, sweep run --take-over continues\n", st.Coordinator)
	case st.Coordinator != "":
		fmt.Fprintf(out, "\nrun by %s\n", st.Coordinator)
	case st.Lost > 0 && st.Running == 0 && !st.Cancelled:
		fmt.Fprintln(out, "\nnobody runs it: sweep run continues, the lost cases included")
	}
	if st.Cancelled {
		fmt.Fprintln(out, "\ncancelled: sweep run continues it")
	}
}

func (f *sweepFlags) retry(cmd *cobra.Command, dir string, ids []string) error {
	if err := f.checkRemote(cmd); err != nil {
		return usage(err)
	}
	f.out = dir
	s, err := sweep.OpenStore(dir)
	if err != nil {
		return usage(err)
	}
	defer s.Close()
	return f.coordinate(cmd, s, nil, func(*sweep.Plan) error {
		failed, err := s.Failed()
		if err != nil {
			return err
		}
		for _, id := range ids {
			if failed[id] == nil {
				return usage(fmt.Errorf("case %q hasn't failed: raybridge sweep status %s lists those that have", id, dir))
			}
		}
		for id := range failed {
			if len(ids) == 0 || slices.Contains(ids, id) {
				if err := s.Forgive(id); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (f *sweepFlags) verify(cmd *cobra.Command, dir, sample string) error {
	share := 0.0
	if sample != "" {
		var err error
		if share, err = sweep.ParseShare(sample); err != nil {
			return usage(fmt.Errorf("--sample: %w", err))
		}
	}
	s, err := sweep.OpenStore(dir)
	if err != nil {
		return usage(err)
	}
	defer s.Close()
	p, err := s.Plan()
	if err != nil {
		return usage(err)
	}
	out, how := cmd.OutOrStdout(), "as they were"
	var v *sweep.Verified
	if sample == "" {
		v, err = s.Verify(cmd.Context(), p)
	} else {
		how = "equal on " + fault.Printable(p.Class) + " when run again"
		var w *sweep.Worker
		if w, err = f.worker(cmd.Context(), s, p); err != nil {
			return err
		}
		v, err = w.Sample(cmd.Context(), share, func(c *sweep.Case) { fmt.Fprintf(cmd.ErrOrStderr(), "case %s again\n", c.ID) })
	}
	if err != nil {
		return err
	}
	for _, found := range v.Faults {
		fmt.Fprintln(out, fault.PrintableText(found.Error()))
	}
	fmt.Fprintf(out, "checked %d of %s: %d %s\n", v.Checked, fault.Count(v.Done, "result"), v.Checked-len(v.Faults), how)
	if len(v.Faults) > 0 {
		return fmt.Errorf("%d of %d checked not %s", len(v.Faults), v.Checked, how)
	}
	return nil
}

func (f *sweepFlags) merge(cmd *cobra.Command, dirs []string) error {
	var stores []*sweep.Store
	for _, dir := range dirs {
		s, err := sweep.OpenStore(dir)
		if err != nil {
			return usage(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	p, err := stores[0].Plan()
	if err != nil {
		return usage(err)
	}
	folder := cmp.Or(f.out, dirs[0])
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return usage(fmt.Errorf("make folder for tables: %w", fault.File(err)))
	}
	merged, err := sweep.Merge(p, stores, folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d of %s done, %d failed; table: %s; report: %s\n", merged.Done, fault.Count(merged.Total, "case"), merged.Failed,
		filepath.Join(folder, sweep.ResultsFile), filepath.Join(folder, sweep.ReportFile))
	tellIdle(cmd.ErrOrStderr(), merged)
	var alarms []error
	for _, a := range merged.Alarms {
		alarms = append(alarms, a)
	}
	return errors.Join(alarms...)
}

// tellIdle names the keys that changed nothing.
func tellIdle(messages io.Writer, m *sweep.Merged) {
	log := newLog(messages, false)
	for _, key := range m.Idle {
		log.Warn(fault.Printable(key) + " changed nothing in what was kept: does it count in this drive?")
	}
}

// cancelPatience is how long what works on a sweep may take to end: machines that share a folder by NFS see a new file in it
// after a minute at the latest, and a case may take five seconds.
const cancelPatience = 90 * time.Second

func cancelSweep(cmd *cobra.Command, dir string, wait time.Duration) error {
	s, err := sweep.OpenStore(dir)
	if err != nil {
		return usage(err)
	}
	defer s.Close()
	p, err := s.Plan()
	if err != nil {
		return usage(err)
	}
	if err := s.Cancel(); err != nil {
		return err
	}
	began, told := time.Now(), false
	for {
		at, err := s.Activity()
		if err != nil {
			return err
		}
		running := runningOf(&at)
		switch waited := time.Since(began); {
		case len(running) == 0:
			st, err := s.State(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "cancelled: %d of %s done, none running%s\n", st.Done, fault.Count(st.Total, "case"), lostText(&at))
			return nil
		case waited >= wait:
			return &exitError{exitIncomplete, fmt.Errorf("cancelled, but after %v there still runs: %s: it ends when it sees that; kill it there if it hangs, and look again by raybridge sweep status %s",
				wait, listed(running), dir)}
		case waited > cancelPatience/30 && !told:
			told = true
			fmt.Fprintf(cmd.ErrOrStderr(), "waiting up to %v for: %s\n", wait, listed(running))
		}
		select {
		case <-cmd.Context().Done():
			return usage(cmd.Context().Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// runningOf names what works on a sweep.
func runningOf(at *sweep.Activity) (names []string) {
	for i := range at.Cases {
		c := &at.Cases[i]
		names = append(names, fmt.Sprintf("case %s of process %d on %s", c.ID, c.PID, fault.Printable(c.Host)))
	}
	if at.Coordinator != "" && !at.CoordinatorLost {
		names = append(names, "sweep run, "+at.Coordinator)
	}
	return names
}

// listed joins names, of many the first few.
func listed(names []string) string {
	const few = 10
	if more := len(names) - few; more > 0 {
		names = append(names[:few:few], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// lostText says what of a sweep was lost.
func lostText(at *sweep.Activity) string {
	text := ""
	if at.Lost > 0 {
		text = fmt.Sprintf(", %d lost", at.Lost)
	}
	if at.CoordinatorLost {
		text += "; the lock is left of " + at.Coordinator
	}
	return text
}
