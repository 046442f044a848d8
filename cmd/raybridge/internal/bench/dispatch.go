package bench

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
)

// messageSize is one length of message.
type messageSize struct {
	name  string
	bytes int
}

var messageSizes = []messageSize{{"64B", 64}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}, {"8MiB", 8 << 20}}

// messageCase is one length of message on one number of workers.
type messageCase struct {
	name    string
	size    messageSize
	workers int
}

// messageCases lists the cases for a machine with room for all workers: each size
// with 1, 2, 4 ... and all of them, or, if brief, with one and all. The case of
// all has the plain name of its size.
func messageCases(all int, brief bool) []messageCase {
	var list []messageCase
	for _, size := range messageSizes {
		for workers := 1; workers < all; workers *= 2 {
			if workers > 1 && brief {
				break
			}
			list = append(list, messageCase{size.name + "_" + countWorkers("", workers), size, workers})
		}
		list = append(list, messageCase{size.name, size, all})
	}
	return list
}

// countWorkers returns "1worker", "2workers" and so on, with the separator
// between.
func countWorkers(separator string, n int) string {
	if n == 1 {
		return "1" + separator + "worker"
	}
	return fmt.Sprintf("%d%sworkers", n, separator)
}

// Lengths of a run of messages.
const (
	messageRunTime      = 250 * time.Millisecond
	quickMessageRunTime = 100 * time.Millisecond
)

// Dispatch measures the dispatcher against a plain channel with a worker pool, and
// its copies against memcpy. It needs no GL and appends to the report.
func Dispatch(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	cases := messageCases(min(runtime.GOMAXPROCS(0), runtime.NumCPU()), cfg.Quick)
	var names []string
	for i := range cases {
		names = append(names, cases[i].name)
	}
	if err := cfg.checkCases(names); err != nil {
		return err
	}
	runTime := messageRunTime
	if cfg.Quick {
		runTime = quickMessageRunTime
	}
	var measured []*caseFigures
	for i := range cases {
		if !cfg.wants(cases[i].name) {
			continue
		}
		fmt.Fprintf(cfg.Progress, "dispatch %s\n", cases[i].name)
		figures, err := measureMessages(ctx, &cases[i], cfg.Runs, runTime)
		if err != nil {
			return fmt.Errorf("dispatch %s: %w", cases[i].name, err)
		}
		measured = append(measured, figures)
	}
	for _, figures := range measured {
		report.addFigures(figures.results())
	}
	report.Charts = append(report.Charts, messageCharts(measured)...)
	report.explain(dispatchMethod)
	return nil
}

// messageRun is what one run came to.
type messageRun struct {
	messages uint64
	elapsed  time.Duration
	allocs   uint64
}

func (r *messageRun) nsPerMessage() float64 { return float64(r.elapsed) / float64(r.messages) }

// caseFigures are the runs of one case; those with the same index were made one
// right after the other.
type caseFigures struct {
	messageCase
	dispatched, channeled, copied []messageRun
}

// over returns the median of how many times longer a message took in a's runs
// than in b's, run by run: what slows the whole machine down for a while leaves
// it alone.
func over(a, b []messageRun) float64 {
	var ratios Result
	for i := range a {
		ratios.Runs = append(ratios.Runs, a[i].nsPerMessage()/b[i].nsPerMessage())
	}
	return ratios.Median()
}

func (f *caseFigures) results() []Result {
	of := countWorkers(" ", f.workers)
	row := func(name, unit string, runs []messageRun, value func(*messageRun) float64, note string) Result {
		r := Result{Name: name, Case: f.name, Unit: unit, Note: note}
		for i := range runs {
			r.Runs = append(r.Runs, value(&runs[i]))
		}
		return r
	}
	bytesPerSecond := func(r *messageRun) float64 { return float64(f.size.bytes) * 1e9 / r.nsPerMessage() }
	return []Result{
		row("dispatch.ns_per_msg", "ns", f.dispatched, (*messageRun).nsPerMessage,
			fmt.Sprintf("%s; %.2f times the channel, run by run", of, over(f.dispatched, f.channeled))),
		row("channel.ns_per_msg", "ns", f.channeled, (*messageRun).nsPerMessage, of),
		row("dispatch.msgs_per_s", "messages/s", f.dispatched, func(r *messageRun) float64 { return 1e9 / r.nsPerMessage() }, of),
		row("dispatch.allocs_per_msg", "allocations", f.dispatched,
			func(r *messageRun) float64 { return float64(r.allocs) / float64(r.messages) }, "of the whole process"),
		row("dispatch.bytes_per_s", "bytes/s", f.dispatched, bytesPerSecond,
			fmt.Sprintf("%s; %.0f %% of memcpy, run by run", of, 100*over(f.copied, f.dispatched))),
		row("memcpy.bytes_per_s", "bytes/s", f.copied, bytesPerSecond, "one goroutine, warm buffers"),
	}
}

// dispatchMethod says what the figures mean.
var dispatchMethod = strings.TrimSpace(`
A message is copied into a recycled buffer by its one sender, waits in a queue, and is read by a worker, one
byte in 4096; then its callback runs. The channel's rows do the same with goroutines on a buffered channel
and a channel of free buffers. Queues are 64 messages deep, or 64 MiB if that is less. memcpy copies from one
warm buffer to two others in turn, on one goroutine as the sender does. The runs of the three follow one
another; a run ends with its last callback. Allocations are counted for the whole process, the wait for
the end of the run included.`)

// messageCharts draws time and throughput over the size, on all workers.
func messageCharts(measured []*caseFigures) []chart.Chart {
	series := func(name string, value func(*caseFigures) float64) chart.Series {
		s := chart.Series{Name: name}
		for _, f := range measured {
			if f.name == f.size.name {
				s.X, s.Y = append(s.X, float64(f.size.bytes)), append(s.Y, value(f))
			}
		}
		return s
	}
	if len(series("", func(*caseFigures) float64 { return 0 }).X) < 2 {
		return nil // no line to draw
	}
	ns := func(runs []messageRun) float64 {
		var r Result
		for i := range runs {
			r.Runs = append(r.Runs, runs[i].nsPerMessage())
		}
		return r.Median()
	}
	dispatched := func(f *caseFigures) float64 { return ns(f.dispatched) }
	channeled := func(f *caseFigures) float64 { return ns(f.channeled) }
	rate := func(of func(*caseFigures) float64) func(*caseFigures) float64 {
		return func(f *caseFigures) float64 { return float64(f.size.bytes) / of(f) }
	}
	return []chart.Chart{{
		Title: "Time for a message", X: "size, bytes", Y: "ns a message", LogX: true, LogY: true,
		Series: []chart.Series{series("dispatcher", dispatched), series("channel", channeled)},
	}, {
		Title: "Bytes copied", X: "size, bytes", Y: "GB/s", LogX: true,
		Series: []chart.Series{
			series("dispatcher", rate(dispatched)), series("channel", rate(channeled)),
			series("memcpy", rate(func(f *caseFigures) float64 { return ns(f.copied) })),
		},
	}}
}
