package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// readbackFigures are the runs of one case; those of one index were made one right
// after the other.
type readbackFigures struct {
	name            string
	captures        int // a run
	blocking, async []*pass
	stages          []*stageTimes // of the asynchronous runs
	refused         error         // why the asynchronous runs don't count
	priority        string        // what the loops' thread was granted
}

var readbackMethod = strings.TrimSpace(`
Readback: two frame loops make the same captures of a scene that stands still, with equal stamps. A frame has one capture and 4 ms of
computation, and ends when the loop may begin the next. The blocking one waits for the capture's data (glFinish). The asynchronous one asks
for it and never waits: a run is a burst of captures, which are made two at a time, and ends when all are published. In 1280x720_10hz a
frame begins every 60th of a second, and every sixth has a capture. Both loops hand the data to a dispatcher whose workers encode it as the
mcap bridge does, without a disk. The asynchronous figures count if every capture arrived, in order, bit-equal to the blocking loop's, at
0.9 of its captures per second or more.`)

// rates returns captures per second, one a run.
func (f *readbackFigures) rates(passes []*pass) []float64 {
	return f.each(passes, func(p *pass) float64 { return float64(f.captures) / p.took.Seconds() })
}

// each returns one value of each pass.
func (f *readbackFigures) each(passes []*pass, value func(*pass) float64) []float64 {
	var list []float64
	for _, p := range passes {
		list = append(list, value(p))
	}
	return list
}

// results lists the figures that count.
func (f *readbackFigures) results() []Result {
	note := func(passes []*pass) string {
		frames := passes[0].frames
		return fmt.Sprintf("%d frames a run; thread: %s", len(frames), f.priority)
	}
	list := f.frameRows("readback.blocking", f.blocking, note(f.blocking))
	list = append(list, f.row("readback.blocking.captures_per_s", "captures/s", f.rates(f.blocking), ""))
	dropped := f.row("readback.dropped", "captures", f.each(f.async, f.dropped), fmt.Sprintf("of %d a run", f.captures))
	if f.refused != nil {
		return append(list, dropped)
	}
	list = append(list, f.frameRows("readback.async", f.async, note(f.async))...)
	list = append(list,
		f.row("readback.async.captures_per_s", "captures/s", f.rates(f.async), f.compared()),
		f.row("readback.async.ask_ms.p99", "ms", f.each(f.async, func(p *pass) float64 { return percentile(p.asks, 0.99) }),
			"to ask for a capture"),
		f.row("readback.async.ask_ms.max", "ms", f.each(f.async, func(p *pass) float64 { return percentile(p.asks, 1) }), ""),
		dropped,
		f.row("readback.latency_ms.p50", "ms", f.each(f.async, func(p *pass) float64 { return percentile(p.latencies(), 0.5) }),
			"from a capture's turn to its last message's publication"),
		f.row("readback.latency_ms.p99", "ms", f.each(f.async, func(p *pass) float64 { return percentile(p.latencies(), 0.99) }), ""))
	return append(list, f.stageRows()...)
}

// compared says how the loops' frames compare: the p99 of the asynchronous one with
// the blocking one's median, or with its p99 where most frames have no capture.
func (f *readbackFigures) compared() string {
	q, of := 0.5, "median"
	if len(f.blocking[0].frames) > f.captures {
		q, of = 0.99, "p99"
	}
	blocking := Result{Runs: f.each(f.blocking, func(p *pass) float64 { return percentile(p.frames, q) })}
	async := Result{Runs: f.each(f.async, func(p *pass) float64 { return percentile(p.frames, 0.99) })}
	return fmt.Sprintf("the p99 of its frames is %.0f %% of the blocking loop's %s", 100*async.Median()/blocking.Median(), of)
}

func (f *readbackFigures) row(name, unit string, runs []float64, note string) Result {
	return Result{Name: name, Case: f.name, Unit: unit, Runs: runs, Note: note}
}

func (f *readbackFigures) frameRows(name string, passes []*pass, note string) []Result {
	var list []Result
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
		runs := f.each(passes, func(p *pass) float64 { return percentile(p.frames, q.q) })
		list = append(list, f.row(name+".frame_ms."+q.name, "ms", runs, note))
		note = ""
	}
	return list
}

// dropped returns how many captures were not published whole.
func (f *readbackFigures) dropped(p *pass) float64 {
	least := f.captures
	for _, s := range p.streams {
		least = min(least, len(s.arrivals))
	}
	return float64(f.captures - least)
}

// stageRows lists the stages that happened.
func (f *readbackFigures) stageRows() []Result {
	var list []Result
	for stage, name := range stageNames {
		for _, q := range []struct {
			name string
			q    float64
		}{{"p50", 50}, {"p99", 99}} {
			var runs []float64
			for _, t := range f.stages {
				if t[stage].TotalCount() > 0 {
					runs = append(runs, float64(t[stage].ValueAtQuantile(q.q))/1e6)
				}
			}
			if len(runs) > 0 {
				list = append(list, f.row("readback.stage."+name+"_ms."+q.name, "ms", runs, ""))
			}
		}
	}
	return list
}

// percentile returns the duration, in milliseconds, that the share q, 0 to 1, of
// all don't exceed: one of them (nearest rank), NaN of none.
func percentile(list []time.Duration, q float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return milliseconds(sorted[min(max(rank, 1), len(sorted))-1])
}
