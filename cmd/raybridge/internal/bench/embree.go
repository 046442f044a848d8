// Lidars are measured here beside Embree, which traces the same rays of the same triangles.

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/sensors/lidar"
)

// beside is a lidar in a city of so many triangles.
type beside struct {
	scan      scanCase
	rolling   bool
	triangles int
}

func (b beside) title() string {
	window := "still"
	if b.rolling {
		window = "rolling"
	}
	return fmt.Sprintf("%s_%s_%d", b.scan.name, window, b.triangles)
}

// besides lists the cases; Quick measures the first two.
func besides() (list []beside) {
	for _, triangles := range []int{sensorTriangles, bvhTriangles} {
		for _, scan := range scanCases()[1:] {
			list = append(list, beside{scan, false, triangles}, beside{scan, true, triangles})
		}
	}
	return list
}

var embreeMethod = strings.TrimSpace(`
embree: rays by the CPU time of all threads, with all fields, noise and drop-off. Embree finds the nearest hit of the same rays,
right after. The rays of a rolling scan are those of a still one there. Ranges are compared without noise and drop-off.`)

// Embree measures lidars by CPU time, and Embree beside them, by the program Beside of the
// configuration. A missing program is an error that wraps ErrConfig. It appends to the report.
func Embree(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(cfg.Beside); err != nil {
		return fmt.Errorf("%w: no program of Embree at %q: make bench WHAT=embree builds it: %w", ErrConfig, cfg.Beside, err)
	}
	cases := besides()
	if cfg.Quick {
		cases = cases[:2]
	}
	if cases, err = wanted(&cfg, cases); err != nil {
		return err
	}
	err = measureCases(&cfg, "embree", cases, func(b beside) error {
		rows, err := b.measure(ctx, &cfg)
		report.addFigures(rows)
		return err
	})
	if err == nil {
		report.explain(embreeMethod)
	}
	return err
}

func (b *beside) measure(ctx context.Context, config *Config) (rows []Result, err error) {
	cfg := *config
	cfg.Triangles = cmp.Or(cfg.Triangles, b.triangles)
	dir, err := os.MkdirTemp("", "raybridge-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the dump: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cfg.Dump, err = NewDump(dir); err != nil {
		return nil, err
	}
	st, err := openStage(ctx, &cfg, b.triangles)
	if err != nil {
		return nil, err
	}
	defer st.close()
	k := b.scan
	k.settings = maps.Clone(k.settings)
	short := cfg
	short.Runs, short.RunTime = 1, 1
	st.cfg = &short
	if _, err := st.scan(ctx, k); err != nil { // which is dumped
		return nil, err
	}
	st.cfg = &cfg
	maps.Copy(k.settings, map[string]any{
		"rolling": b.rolling, "noise_stddev": 0.02, "dropoff_general_rate": 0.1, "dropoff_zero_intensity": 0.4,
	})
	rates, err := st.cpuRates(ctx, &k)
	if err != nil {
		return nil, err
	}
	rays := float64(len(k.device.Rays(period)))
	theirs, err := b.embree(ctx, &cfg, dir)
	if err != nil {
		return nil, err
	}
	rows = append([]Result{{"lidar.rays_per_cpu_s", b.title(), "rays/CPU s", times(rays, rates), "all fields"}}, theirs...)
	for _, f := range theirs {
		if of, ok := strings.CutSuffix(f.Name, ".rays_per_cpu_s"); ok && len(f.Runs) == len(rates) {
			rows = append(rows, Result{"lidar.ratio_to_" + of, b.title(), "times " + of, ratios(rows[0].Runs, f.Runs), "by CPU time"})
		}
	}
	return rows, nil
}

// cpuRates returns the scans of a second of CPU time, one value a run.
func (st *stage) cpuRates(ctx context.Context, k *scanCase) (rates []float64, err error) {
	r, err := st.rigUp(ctx, []member{{name: "lidar", definition: lidar.RayCastDefinition, mount: lidarMount, settings: k.settings}}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	took, err := r.run(ctx, warmUp)
	if err != nil {
		return nil, err
	}
	scans := max(calibrated, int(st.cfg.RunTime*warmUp/max(took, 1)))
	for range st.cfg.Runs {
		before := cpuTime()
		if _, err := r.run(ctx, scans); err != nil {
			return nil, err
		}
		rates = append(rates, float64(scans)/max(cpuTime()-before, time.Microsecond).Seconds())
	}
	return rates, nil
}

// cpuTime is what all threads of this process have computed, in the kernel too (getrusage(2)).
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// embree runs the program, whose lines of figures are "figure NAME VALUE".
func (b *beside) embree(ctx context.Context, cfg *Config, dir string) (rows []Result, err error) {
	seconds := strconv.FormatFloat(cfg.RunTime.Seconds(), 'f', -1, 64)
	cmd := exec.CommandContext(ctx, cfg.Beside, dir, "", strconv.Itoa(cfg.Runs), seconds)
	cmd.Env = append(os.Environ(), "OMP_WAIT_POLICY=passive") // a thread that waits takes no CPU time
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", cfg.Beside, err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "figure" {
			continue
		}
		value, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return nil, fmt.Errorf("read what %s printed: %w", cfg.Beside, err)
		}
		if n := len(rows); n == 0 || rows[n-1].Name != f[1] {
			unit := "rays/CPU s"
			if strings.HasSuffix(f[1], "percent") {
				unit = "%"
			}
			rows = append(rows, Result{Name: f[1], Case: b.title(), Unit: unit})
		}
		rows[len(rows)-1].Runs = append(rows[len(rows)-1].Runs, value)
	}
	return rows, nil
}
