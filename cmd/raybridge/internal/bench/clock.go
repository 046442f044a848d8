package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// clockCase is one rate of publication on an idle or a busy machine.
type clockCase struct {
	name   string
	rate   simtime.Rate
	loaded bool
}

func clockCases() []clockCase {
	return []clockCase{
		{"idle", simtime.Hz(100), false},
		{"loaded", simtime.Hz(100), true},
		{"idle_1kHz", simtime.Hz(1000), false},
		{"loaded_1kHz", simtime.Hz(1000), true},
	}
}

// Lengths of a run of the clock.
const (
	defaultClockTime = 10 * time.Second
	quickClockTime   = time.Second
)

// Clock measures how late the clock's publisher is, by its absolute deadlines,
// on its own thread as a pipeline runs it, with the machine idle and loaded.
// Without GL the load is conversions alone. It appends to the report.
func Clock(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	if cfg.ClockTime, err = clockTime(&cfg); err != nil {
		return err
	}
	cases := clockCases()
	var names []string
	for i := range cases {
		names = append(names, cases[i].name)
	}
	if err := cfg.checkCases(names); err != nil {
		return err
	}
	defer simtime.ReserveProcs()()
	var measured []*lateClock
	for i := range cases {
		if !cfg.wants(cases[i].name) {
			continue
		}
		fmt.Fprintf(cfg.Progress, "clock %s\n", cases[i].name)
		figures, err := measureClock(ctx, &cfg, &cases[i], report)
		if err != nil {
			return fmt.Errorf("clock %s: %w", cases[i].name, err)
		}
		measured = append(measured, figures)
		report.addFigures(figures.results())
	}
	report.Charts = append(report.Charts, clockCharts(measured)...)
	report.explain(clockMethod)
	return nil
}

func clockTime(cfg *Config) (time.Duration, error) {
	switch {
	case cfg.ClockTime < 0:
		return 0, fmt.Errorf("%w: a run of %v", ErrConfig, cfg.ClockTime)
	case cfg.ClockTime > 0:
		return cfg.ClockTime, nil
	case cfg.Quick:
		return quickClockTime, nil
	}
	return defaultClockTime, nil
}

// measureClock makes the runs of a case, below its load.
func measureClock(ctx context.Context, cfg *Config, k *clockCase, report *Report) (late *lateClock, err error) {
	late = &lateClock{clockCase: *k}
	if k.loaded {
		load, err := startLoad(ctx, cfg, report)
		if err != nil {
			return nil, err
		}
		late.load = load.describe()
		defer func() { err = errors.Join(err, load.close()) }()
	}
	runtime.GC() // of what was made before
	for range cfg.Runs {
		run, err := runClock(ctx, k.rate, cfg.ClockTime)
		if err != nil {
			return nil, err
		}
		late.runs = append(late.runs, run)
	}
	return late, nil
}

// lateClock is what the runs of a case came to.
type lateClock struct {
	clockCase
	load string // what the load was
	runs []*clockRun
}

// results returns the figures. Counts and the greatest lateness are of all runs
// together: a median would hide the one tick that was lost.
func (l *lateClock) results() []Result {
	each := func(name, unit, note string, value func(*clockRun) float64) Result {
		r := Result{Name: name, Case: l.name, Unit: unit, Note: note}
		for _, run := range l.runs {
			r.Runs = append(r.Runs, value(run))
		}
		return r
	}
	var late, missed uint64
	var worst float64
	var due int64
	for _, run := range l.runs {
		late, missed = late+run.lateByPeriod(), missed+run.missed
		worst, due = max(worst, run.lateness(1)), due+run.due()
	}
	all := func(name, unit, note string, value float64) Result {
		return Result{Name: name, Case: l.name, Unit: unit, Note: note, Runs: []float64{value}}
	}
	together := fmt.Sprintf("of %d, all runs together", due)
	what := fmt.Sprintf("%s Hz; thread: %s", l.rate, l.runs[0].thread)
	if l.loaded {
		what += "; " + l.load
	}
	return []Result{
		each("clock.lateness_ms.p50", "ms", what, func(r *clockRun) float64 { return r.lateness(0.50) }),
		each("clock.lateness_ms.p99", "ms", "", func(r *clockRun) float64 { return r.lateness(0.99) }),
		all("clock.lateness_ms.max", "ms", "all runs together", worst),
		all("clock.missed", "ticks", together, float64(missed)),
		all("clock.late_by_period", "ticks", together, float64(late)),
		each("clock.period_ms.p99", "ms", fmt.Sprintf("between messages, nominally %g", milliseconds(l.rate.Period())),
			func(r *clockRun) float64 { return r.periods(0.99) }),
		each("clock.drift_us", "µs", "from the first to the last tenth of a run", (*clockRun).drift),
	}
}

// clockMethod says what the figures mean.
var clockMethod = strings.TrimSpace(`
The clock is published as in a run, on an OS thread of its own. Lateness is the time from a message's absolute
deadline, start + k / rate, to the call that sends it; a tick is missed when the next was due before it
could be published. Drift is the median lateness of a run's last tenth less that of its first: deadlines that
moved would show there. Loaded means that each core has a worker of the dispatcher that turns pictures
of 1280x720 from RGB to BGR without a pause, and that a camera of that size captures back to back.`)
