// Sweeps are measured here: what a small case costs, what the engine adds to it, and what a large plan takes.

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
	"github.com/raybridge/raybridge/internal/fault"
)

// Sizes of the sweeps.
const (
	sweptCases      = 40
	quickSweptCases = 8
	plannedCases    = 100_000
)

// sweptDrive is the drive that the cases vary: a tenth of a second in the city, with a small lidar, whose noise differs by the seed.
const sweptDrive = `duration: 100ms
sensors:
  - {id: sensor.lidar.ray_cast, name: lidar, rate: 10, channels: 16, points_per_second: 100000, noise_stddev: 0.01, pose: {x: 0.9, z: 1.9}}
bridges: [{type: mcap, connection: recording}]
`

var sweepMethod = strings.TrimSpace(`
sweep: a sweep of small cases, each a process of its own: a tenth of a second of a lidar in the city, recorded. Some cases run before,
so that the scene is in the cache. cases_per_min and overhead_ms are by the times that the cases' processes began and ended:
overhead_ms is what lies between them, a case, where one runs at a time. plan is sweep plan of 100,000 cases with two random keys: the
time and the most resident memory of the process. handouts_per_s is a NATS server in this process, which syncs each write, with 1,000
workers whose cases take no time: from the first offer to the last end. queue_rss_bytes is the memory of sweep run --listen with 100,000
cases, when its queue is full.`)

// sweepCase is a sweep, or a plan.
type sweepCase struct {
	named
	jobs int // at a time; 0 leaves it to the program
	plan bool
	// queue measures the cases of NATS. (optional)
	queue func(context.Context, *Config) ([]Result, error)
}

// Sweep measures sweeps of the program. It appends to the report.
func Sweep(ctx context.Context, config Config, report *Report) error {
	cases := []sweepCase{{named: named{"lidar_100ms"}}, {named: named{"lidar_100ms_1job"}, jobs: 1}, {named: named{"plan_100000"}, plan: true}}
	if queue.HasServer {
		handed, queued := sweepCase{named: named{"nats_1000workers"}}, sweepCase{named: named{"nats_100000"}}
		handed.queue, queued.queue = handed.measureHandOuts, queued.measureQueued
		cases = append(cases, handed, queued)
	}
	b := caseBench[sweepCase]{"sweep", cases, func(cfg *Config, k sweepCase) ([]Result, error) {
		if k.queue != nil {
			return k.queue(ctx, cfg)
		}
		if k.plan {
			return k.measurePlan(ctx, cfg)
		}
		return k.measureRuns(ctx, cfg, report)
	}, sweepMethod}
	return b.run(config, report)
}

// measureRuns runs sweeps, after one that is thrown away.
func (k *sweepCase) measureRuns(ctx context.Context, cfg *Config, report *Report) ([]Result, error) {
	n := ifQuick(cfg.Quick, quickSweptCases, sweptCases)
	note := fault.Count(n, "case")
	rows := []Result{{Name: "sweep.cases_per_min", Case: k.name, Unit: "cases/min", Note: note}}
	if k.jobs == 1 {
		rows = append(rows, Result{Name: "sweep.overhead_ms", Case: k.name, Unit: "ms", Note: note})
	}
	if _, err := k.run(ctx, cfg, 2); err != nil {
		return nil, err
	}
	for range cfg.Runs {
		s, err := k.run(ctx, cfg, n)
		if err != nil {
			return nil, err
		}
		report.Machine.Device = s.class
		rows[0].Runs = append(rows[0].Runs, float64(n)/s.wall.Minutes())
		if k.jobs == 1 {
			rows[1].Runs = append(rows[1].Runs, milliseconds(s.wall-s.cases)/float64(n-1))
		}
	}
	return rows, nil
}

// sweepTimes are those of a sweep: from the first process's start to the last one's end, and the sum of all processes' times.
type sweepTimes struct {
	wall, cases time.Duration
	class       string // of the device
}

// run runs a sweep in a folder that goes afterwards.
func (k *sweepCase) run(ctx context.Context, cfg *Config, n int) (t sweepTimes, err error) {
	dir, err := sweepFolder(cfg, fmt.Sprintf("repeat: {seed: %d}", n))
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out := filepath.Join(dir, "out")
	args := []string{"run", filepath.Join(dir, "sweep.yaml"), "--out", out, "--quiet"}
	if k.jobs > 0 {
		args = append(args, "--jobs", fmt.Sprint(k.jobs))
	}
	if _, err := sweepCommand(ctx, cfg, args...); err != nil {
		return t, err
	}
	return timesOf(out)
}

// timesOf reads the times of a sweep that is done.
func timesOf(dir string) (t sweepTimes, err error) {
	s, err := sweep.OpenStore(dir)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := s.Plan()
	if err != nil {
		return t, err
	}
	var first, last time.Time
	for i := range p.Cases {
		one, err := s.Timing(p.Cases[i].ID)
		if err != nil {
			return t, err
		}
		took := time.Duration(one.WallS * float64(time.Second))
		t.cases += took
		if first.IsZero() || one.Started.Before(first) {
			first = one.Started
		}
		if end := one.Started.Add(took); end.After(last) {
			last = end
		}
	}
	t.wall, t.class = last.Sub(first), p.Class
	return t, nil
}

// measurePlan plans a large sweep.
func (k *sweepCase) measurePlan(ctx context.Context, cfg *Config) ([]Result, error) {
	note := fault.Count(plannedCases, "case")
	rows := []Result{
		{Name: "sweep.plan_s", Case: k.name, Unit: "s", Note: note}, {Name: "sweep.rss_bytes", Case: k.name, Unit: "bytes", Note: "most resident memory of the process"},
	}
	for range cfg.Runs {
		took, memory, err := plan(ctx, cfg)
		if err != nil {
			return nil, err
		}
		rows[0].Runs, rows[1].Runs = append(rows[0].Runs, took.Seconds()), append(rows[1].Runs, memory)
	}
	return rows, nil
}

// plan plans a large sweep once. It returns the time and the most resident memory, bytes.
func plan(ctx context.Context, cfg *Config) (took time.Duration, memory float64, err error) {
	dir, err := largePlan(cfg)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began := time.Now()
	state, err := sweepCommand(ctx, cfg, "plan", filepath.Join(dir, "sweep.yaml"), "--out", filepath.Join(dir, "out"))
	if err != nil {
		return 0, 0, err
	}
	return time.Since(began), residentMost(state), nil
}

// largePlan makes a folder with the file of a large sweep.
func largePlan(cfg *Config) (string, error) {
	return sweepFolder(cfg, fmt.Sprintf("random: {n: %d, seed: 1, ranges: {sensors.lidar.range: [20, 100], sensors.lidar.noise_stddev: [0, 0.1]}}", plannedCases))
}

// sweepFolder makes a folder with a sweep file.
func sweepFolder(cfg *Config, keys string) (string, error) {
	dir, err := os.MkdirTemp("", "raybridge-bench-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the sweep: %w", err)
	}
	text := "sweep:\n  base: drive.yaml\n  " + keys + "\n"
	if cfg.Device != "" {
		text += "  device: " + cfg.Device + "\n"
	}
	for name, text := range map[string]string{"drive.yaml": sweptDrive, "sweep.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", errors.Join(fault.File(err), os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// sweepCommand calls raybridge sweep. Its output is shown only if it fails.
func sweepCommand(ctx context.Context, cfg *Config, args ...string) (*os.ProcessState, error) {
	cmd := exec.CommandContext(ctx, cfg.Program, append([]string{"sweep"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run %s sweep %s: %w: %s", cfg.Program, strings.Join(args, " "), err, said.String())
	}
	return cmd.ProcessState, nil
}
