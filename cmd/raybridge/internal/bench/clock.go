package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// clockCase is one rate of publication on an idle or a busy machine.
type clockCase struct {
	named
	rate   simtime.Rate
	loaded bool
	shared bool // on a goroutine like any other, beside captures alone
}

func clockCases() []clockCase {
	return []clockCase{
		{named: named{"idle"}, rate: simtime.Hz(100)},
		{named: named{"loaded"}, rate: simtime.Hz(100), loaded: true},
		{named: named{"idle_1kHz"}, rate: simtime.Hz(1000)},
		{named: named{"loaded_1kHz"}, rate: simtime.Hz(1000), loaded: true},
		{named: named{"goroutine_1kHz"}, rate: simtime.Hz(1000), loaded: true, shared: true},
	}
}

// Lengths of a run of the clock.
const (
	defaultClockTime = 10 * time.Second
	quickClockTime   = time.Second
)

// Clock measures how late the clock's publisher is, by its absolute deadlines. The publisher is
// on its own thread as a pipeline runs it, with the machine idle and loaded. Without GL the
// load is conversions alone. It appends to the report.
func Clock(ctx context.Context, config Config, report *Report) error {
	if config.ClockTime < 0 {
		return fmt.Errorf("%w: a run of %v", ErrConfig, config.ClockTime)
	}
	config.ClockTime = cmp.Or(config.ClockTime, ifQuick(config.Quick, quickClockTime, defaultClockTime))
	defer simtime.ReserveProcs()()
	var measured []*lateClock
	b := caseBench[clockCase]{"clock", clockCases(), func(cfg *Config, k clockCase) ([]Result, error) {
		figures, err := measureClock(ctx, cfg, &k, report)
		if err != nil {
			return nil, err
		}
		measured = append(measured, figures)
		return figures.results(), nil
	}, clockMethod}
	if err := b.run(config, report); err != nil {
		return err
	}
	report.Charts = append(report.Charts, clockCharts(measured)...)
	return nil
}

// measureClock makes the runs of a case, below its load.
func measureClock(ctx context.Context, cfg *Config, k *clockCase, report *Report) (late *lateClock, err error) {
	late = &lateClock{clockCase: *k}
	if k.loaded {
		load, err := startLoad(ctx, cfg, report, !k.shared)
		if err != nil {
			return nil, err
		}
		late.load = load.describe()
		defer func() { err = errors.Join(err, load.close()) }()
	}
	runtime.GC() // of what was made before
	for range cfg.Runs {
		run, err := runClock(ctx, k.rate, cfg.ClockTime, !k.shared)
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
	var late, missed uint64
	var due int64
	for _, run := range l.runs {
		late, missed, due = late+run.lateByPeriod(), missed+run.missed, due+run.due()
	}
	together := fmt.Sprintf("of %d, all runs together", due)
	what := fmt.Sprintf("%s Hz; thread: %s", l.rate, cmp.Or(l.runs[0].thread, "none of its own"))
	if l.loaded {
		what += "; " + l.load
	}
	row := func(name, unit, note string, runs ...float64) Result { return Result{name, l.name, unit, runs, note} }
	lateness := func(q float64) []float64 { return each(l.runs, func(r *clockRun) float64 { return r.lateness(q) }) }
	return []Result{
		row("clock.lateness_ms.p50", "ms", what, lateness(0.50)...),
		row("clock.lateness_ms.p99", "ms", "", lateness(0.99)...),
		row("clock.lateness_ms.max", "ms", "all runs together", slices.Max(lateness(1))),
		row("clock.missed", "ticks", together, float64(missed)),
		row("clock.late_by_period", "ticks", together, float64(late)),
		row("clock.period_ms.p99", "ms", fmt.Sprintf("between messages, nominally %g", milliseconds(l.rate.Period())),
			each(l.runs, func(r *clockRun) float64 { return percentile(r.periods(), 0.99) })...),
		row("clock.drift_us", "µs", "from the first to the last tenth of a run", each(l.runs, (*clockRun).drift)...),
	}
}

// clockMethod says what the figures mean.
var clockMethod = strings.TrimSpace(`
The clock is published as in a run, on an OS thread of its own. Lateness is the time from a message's absolute
deadline, start + k / rate, to the call that sends it. A tick is missed when the next was due before it could be
published. Drift is the median lateness of a run's last tenth less that of its first: deadlines that moved would
show there. Loaded means that each core has a worker of the dispatcher that turns pictures of 1280x720 from RGB
to BGR without a pause. A camera of that size captures back to back. The clock of goroutine_1kHz has no thread of
its own, and the camera is all the load.`)

// clockRun is one run of a publisher: a tick is one message published. What
// records is called on the publisher's goroutine and allocates nothing.
type clockRun struct {
	rate      simtime.Rate
	length    time.Duration
	stop      func()          // ends the publisher
	first     time.Time       // the first deadline
	deadline  time.Time       // the last one
	deadlines []int64         // each tick's, in ns from the first
	late      []time.Duration // how long after its deadline each was published
	missed    uint64          // deadlines up to the last tick's that were left out
	ended     int64           // when the publisher had ended, in ns from the first deadline
	thread    string          // what the system granted the publisher's thread
}

// errClockRecord says that what the publisher did and what was recorded of it
// differ.
var errClockRecord = errors.New("the clock's publisher and its record differ")

// runClock publishes a clock up to the first tick at length or beyond, which no
// timer that is late itself puts off. The publish function takes the lateness; the
// publisher's own statistics must agree with it.
func runClock(ctx context.Context, rate simtime.Rate, length time.Duration, ownThread bool) (*clockRun, error) {
	clock, err := simtime.NewClock(simtime.Config{Source: simtime.System})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	room := rate.IndexAt(simtime.Stamp(length)) + 2
	r := &clockRun{rate: rate, length: length, stop: stop, deadlines: make([]int64, 0, room), late: make([]time.Duration, 0, room)}
	publisher, err := simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Rate: rate, OwnThread: ownThread, Publish: r.publish, Observe: r.observe, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if err := publisher.Run(running); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	stats := publisher.Stats()
	r.ended, r.thread = int64(time.Since(r.first)), stats.Scheduling
	return r, r.check(&stats)
}

// observe is told of a tick's deadline right before publish.
func (r *clockRun) observe(deadline time.Time, _ time.Duration) {
	if r.first.IsZero() {
		r.first = deadline
	}
	r.deadline = deadline
}

// publish stands for the sending of a clock message.
func (r *clockRun) publish(context.Context, simtime.Stamp) error {
	late := time.Since(r.deadline)
	if len(r.late) == cap(r.late) {
		return errClockRecord // more ticks than there are deadlines in the time
	}
	at := r.deadline.Sub(r.first)
	r.late = append(r.late, late)
	r.deadlines = append(r.deadlines, int64(at))
	if at >= r.length {
		r.stop()
	}
	return nil
}

// check proves that all deadlines were on one grid, and that every one of it was either
// published or counted as missed. The publisher's histogram of lateness must tell the same as
// the record. After a last tick that was late the publisher may have counted those that it kept
// from being published.
func (r *clockRun) check(stats *simtime.ClockPublisherStats) error {
	n := len(r.late)
	if n == 0 || stats.Failed > 0 || stats.Published != uint64(n) {
		return fmt.Errorf("%w: %d published, %d failed, %d recorded", errClockRecord, stats.Published, stats.Failed, n)
	}
	for i, at := range r.deadlines {
		if r.rate.At(r.rate.IndexAt(simtime.Stamp(at))) != simtime.Stamp(at) || i > 0 && at <= r.deadlines[i-1] {
			return fmt.Errorf("%w: a deadline %d ns after the first is off the grid of %s Hz", errClockRecord, at, r.rate)
		}
	}
	due := r.due()
	r.missed = uint64(due) - stats.Published
	if after := uint64(max(0, r.rate.IndexAt(simtime.Stamp(r.ended))+1-due)); stats.Missed < r.missed || stats.Missed > r.missed+after {
		return fmt.Errorf("%w: %d ticks due, %d published, %d missed", errClockRecord, due, stats.Published, stats.Missed)
	}
	for _, q := range []float64{0, 0.5, 0.99, 1} {
		// The publisher looks at the time first, and its quantiles are up to a thirty-second too long.
		least := float64(stats.Lateness.Quantile(q))
		if most := 33./32*float64(quantile(r.late, q)) + 1; least > most {
			return fmt.Errorf("%w: quantile %g of the lateness is %g ns, or %g", errClockRecord, q, least, most)
		}
	}
	return nil
}

// due returns how many deadlines there were up to the last tick.
func (r *clockRun) due() int64 {
	return r.rate.IndexAt(simtime.Stamp(r.deadlines[len(r.deadlines)-1])) + 1
}

// lateness returns a quantile of the lateness in milliseconds.
func (r *clockRun) lateness(q float64) float64 { return percentile(r.late, q) }

// lateByPeriod counts the ticks that were late by more than a period.
func (r *clockRun) lateByPeriod() (n uint64) {
	for _, l := range r.late {
		if l > r.rate.Period() {
			n++
		}
	}
	return n
}

// periods returns the times between messages.
func (r *clockRun) periods() (between []time.Duration) {
	for i := 1; i < len(r.late); i++ {
		between = append(between, time.Duration(r.deadlines[i]-r.deadlines[i-1])+r.late[i]-r.late[i-1])
	}
	return between
}

// drift returns by how many microseconds the median lateness of the last tenth of
// the ticks exceeds that of the first.
func (r *clockRun) drift() float64 {
	tenth := max(1, len(r.late)/10)
	first, last := r.late[:tenth], r.late[len(r.late)-tenth:]
	return float64(quantile(last, 0.5)-quantile(first, 0.5)) / 1e3
}

// The pictures that the load makes and converts.
const loadWidth, loadHeight = 1280, 720

// clockLoad is what else runs until it is closed. Workers on every core convert pictures, which a
// goroutine gives them, and a camera captures.
type clockLoad struct {
	dispatcher *dispatch.Dispatcher // nil where captures are all the load
	stage      *stage               // nil without GL
	rig        *rigged              // nil without GL
	device     string               // its class

	cancel context.CancelFunc
	group  sync.WaitGroup
	failed error // of the camera; written before group is done
}

// startLoad loads the machine; when it returns, the camera's shaders are compiled.
func startLoad(ctx context.Context, cfg *Config, report *Report, converts bool) (*clockLoad, error) {
	l := &clockLoad{}
	if err := l.openCamera(ctx, cfg, report); err != nil {
		return nil, errors.Join(err, l.closeCamera())
	}
	ctx, l.cancel = context.WithCancel(ctx)
	if converts {
		l.dispatcher = dispatch.New(dispatch.Config{Context: ctx, Logger: slog.New(slog.DiscardHandler)})
		pictures := dispatch.NewTopic(l.dispatcher, "bench", new(swapper).publish, dispatch.TopicConfig{})
		l.group.Go(func() {
			picture := newPicture()
			for ctx.Err() == nil {
				pictures.TryQueue(picture) // waits while the queue is full, until ctx ends
			}
		})
	}
	if l.rig != nil {
		l.group.Go(func() {
			for ctx.Err() == nil && l.failed == nil {
				if _, err := l.rig.run(ctx, inFlight); ctx.Err() == nil {
					l.failed = err
				}
			}
		})
	}
	return l, nil
}

// openCamera makes the camera and its first captures.
func (l *clockLoad) openCamera(ctx context.Context, cfg *Config, report *Report) error {
	if cfg.GL == nil {
		return nil
	}
	info := cfg.GL.Info()
	l.device = info.Class()
	var err error
	if l.stage, err = openStage(ctx, cfg, sensorTriangles); err != nil {
		return err
	}
	report.addScene(l.stage.describe())
	if l.rig, err = l.stage.rigUp(ctx, cameras(loadWidth, loadHeight, camera.RGBDefinition), nil); err != nil {
		return err
	}
	_, err = l.rig.run(ctx, warmUp)
	return err
}

// describe says what the load is.
func (l *clockLoad) describe() string {
	text := "no workers"
	if l.dispatcher != nil {
		text = fmt.Sprintf("%d workers converting", min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	}
	switch l.device {
	case "":
		return text + ", no OpenGL"
	case "software", gpu.HostDevice:
		return text + ", a camera on the same cores: " + l.device
	}
	return text + "; the camera is the GPU's load, not the cores'"
}

// close ends the load, and returns what kept the camera from capturing.
func (l *clockLoad) close() error {
	l.cancel()
	var err error
	if l.dispatcher != nil {
		err = l.dispatcher.Close(context.Background())
	}
	l.group.Wait()
	return errors.Join(err, l.failed, l.closeCamera())
}

func (l *clockLoad) closeCamera() (err error) {
	if l.rig != nil {
		err = l.rig.close()
	}
	if l.stage != nil {
		l.stage.close()
	}
	return err
}

// newPicture returns an RGB picture whose pages are all its own.
func newPicture() *sample.Image {
	m := &sample.Image{
		Width: loadWidth, Height: loadHeight, Step: 3 * loadWidth, Encoding: sample.EncodingRGB8,
		Data: make([]byte, 3*loadWidth*loadHeight),
	}
	for i := range m.Data {
		m.Data[i] = byte(i)
	}
	return m
}

// swapper is a publisher that converts pictures from RGB to BGR.
type swapper struct{ buffers sync.Pool }

func (s *swapper) publish(_ context.Context, m *sample.Image) error {
	buffer, ok := s.buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	*buffer = swapRedBlue((*buffer)[:0], m.Data)
	s.buffers.Put(buffer)
	return nil
}

// swapRedBlue appends pixels of three bytes with their first and last exchanged.
func swapRedBlue(dst, src []byte) []byte {
	dst = slices.Grow(dst, len(src))[:len(dst)+len(src)]
	out := dst[len(dst)-len(src):]
	for i := 0; i+2 < len(src); i += 3 {
		out[i], out[i+1], out[i+2] = src[i+2], src[i+1], src[i]
	}
	return dst
}

// clockCharts draws, for each rate, how late the ticks of each case were, over
// time and as histograms.
func clockCharts(measured []*lateClock) []chart.Chart {
	var charts []chart.Chart
	for _, rate := range []simtime.Rate{simtime.Hz(100), simtime.Hz(1000)} {
		over := chart.Chart{
			Title: fmt.Sprintf("Lateness of the clock at %s Hz", rate), X: "time, s", Y: "lateness, ms", LogY: true, Scale: "clock lateness",
			Marks: []chart.Mark{{Name: "period", Y: milliseconds(rate.Period())}},
		}
		classes := chart.Chart{
			Title: fmt.Sprintf("Lateness of the clock at %s Hz", rate), X: "lateness, ms", Y: "share of the ticks, %", LogX: true, LogY: true,
			Scale: "clock histogram",
		}
		for _, late := range measured {
			if late.rate == rate {
				over.Series = append(over.Series, late.overTime())
				classes.Series = append(classes.Series, late.histogram())
			}
		}
		if len(over.Series) > 0 {
			charts = append(charts, over, classes)
		}
	}
	return charts
}

// chartPoints is about how many points a line has room for.
const chartPoints = 1000

// overTime is the lateness of the last run's ticks: the greatest of so many one
// after the other as the line has no room for.
func (l *lateClock) overTime() chart.Series {
	s := chart.Series{Name: l.name}
	run := l.runs[len(l.runs)-1]
	group := (len(run.late) + chartPoints - 1) / chartPoints
	for i := 0; i < len(run.late); i += group {
		worst := run.late[i]
		for _, late := range run.late[i:min(i+group, len(run.late))] {
			worst = max(worst, late)
		}
		s.X = append(s.X, float64(run.deadlines[i])/1e9)
		s.Y = append(s.Y, float64(worst)/1e6)
	}
	return s
}

// clockClasses are those of the histogram, from 100 nanoseconds.
var clockClasses = classes{aDecade: 10, first: 1e-4}

// histogram sorts all runs' ticks into classes of equal ratio.
func (l *lateClock) histogram() chart.Series {
	counts := map[int]int64{}
	for _, run := range l.runs {
		for _, late := range run.late {
			counts[clockClasses.of(milliseconds(late))]++
		}
	}
	return clockClasses.steps(l.name, counts)
}
