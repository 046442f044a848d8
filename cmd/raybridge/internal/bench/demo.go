// Whole runs of the program are measured here, with all that they start and record.

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
)

// Runs of whole programs.
const (
	demoTime      = "10s" // simulated
	quickDemoTime = "1s"
)

var demoMethod = strings.TrimSpace(`
demo: whole runs of the program while it records, ten seconds of simulated time each. city is the run of raybridge demo. The
real-time factor is the summary's, simulated seconds over those from the first tick to the last delivery. The memory is the
process's most resident set.`)

// drive is a run of the program: the demo, or the rig of a file.
type drive struct {
	named
	length string // simulated
	args   []string
}

// Demo measures whole runs of the program: the demo's, and that of each rig of the configuration.
// A run is a process of its own. It appends to the report.
func Demo(ctx context.Context, config Config, report *Report) error {
	length := ifQuick(config.Quick, quickDemoTime, demoTime)
	cases := []drive{{named{"city"}, length, []string{"--bridge", "mcap:recording", "--report"}}}
	for _, rig := range config.RigFiles {
		name := strings.TrimSuffix(filepath.Base(rig), filepath.Ext(rig))
		cases = append(cases, drive{named{name}, length, []string{"--rig", rig, "--bridge", "mcap:drive"}})
	}
	b := caseBench[drive]{"demo", cases, func(cfg *Config, d drive) (rows []Result, err error) {
		rows, report.Machine.Device, err = d.measure(ctx, cfg)
		return rows, err
	}, demoMethod}
	return b.run(config, report)
}

// measure makes the runs. device is what the sensors were generated on.
func (d *drive) measure(ctx context.Context, cfg *Config) (rows []Result, device string, err error) {
	rows = []Result{
		{Name: "demo.real_time_factor", Case: d.name, Unit: "times real time"},
		{Name: "demo.startup_s", Case: d.name, Unit: "s", Note: "from the start to the first tick"},
		{Name: "demo.rss_bytes", Case: d.name, Unit: "bytes", Note: "most resident memory of the process"},
		{Name: "demo.lost", Case: d.name, Unit: "messages"},
	}
	for range cfg.Runs {
		r, err := d.once(ctx, cfg)
		if err != nil {
			return nil, "", err
		}
		s := r.summary
		for i, v := range []float64{s.RealTimeFactor, s.StartupS, r.memory, lost(s)} {
			rows[i].Runs = append(rows[i].Runs, v)
		}
		device = deviceOf(s)
	}
	return rows, device, nil
}

// deviceOf names what a run's sensors were generated on, in a report.
func deviceOf(s *pipeline.Summary) string {
	return deviceLine(&gpu.Info{Renderer: s.GPU.Renderer, Version: s.GPU.Version, Device: s.GPU.Device})
}

// lost counts the messages that a run's sensors lost.
func lost(s *pipeline.Summary) (sum float64) {
	for i := range s.Sensors {
		sum += float64(s.Sensors[i].Drops.Total())
	}
	return sum
}

// driven is what one run of the program took.
type driven struct {
	summary *pipeline.Summary
	wall    time.Duration // of the process
	memory  float64       // the most resident, bytes
}

// once runs the program in a folder of its own.
func (d *drive) once(ctx context.Context, cfg *Config) (r driven, err error) {
	dir, err := os.MkdirTemp("", "raybridge-bench-")
	if err != nil {
		return r, fmt.Errorf("make a folder for the run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "summary.json")
	args := append([]string{"run", "--scene", "city", "--duration", d.length, "--out", filepath.Join(dir, "out"), "--summary", file}, d.args...)
	if cfg.Device != "" {
		args = append(args, "--gpu", cfg.Device)
	}
	cmd := exec.CommandContext(ctx, cfg.Program, args...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return r, fmt.Errorf("run %s %s: %w: %s", cfg.Program, strings.Join(args, " "), err, out)
	}
	r.wall, r.memory = time.Since(began), residentMost(cmd.ProcessState)
	text, err := os.ReadFile(file)
	if err != nil {
		return r, fmt.Errorf("read the run's summary: %w", fault.File(err))
	}
	if err := json.Unmarshal(text, &r.summary); err != nil {
		return r, fmt.Errorf("read the run's summary: %w", err)
	}
	return r, nil
}

// residentMost is the most resident memory of a process that has ended, in bytes (getrusage(2)).
func residentMost(p *os.ProcessState) float64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "linux" { // in KiB
		return 1024 * float64(usage.Maxrss)
	}
	return float64(usage.Maxrss)
}
