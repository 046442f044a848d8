package bench

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// ErrRefused is wrapped by the error of a bench some of whose figures don't count
// and were left out. The report has all others, and says why.
var ErrRefused = errors.New("figures were left out")

// ErrWrongData is wrapped, beside ErrRefused, where data isn't what it must be. Without it, a loop was
// only too slow beside another, as on a busy machine.
var ErrWrongData = errors.New("data was lost, changed or reordered")

// readbackCase is the sensors whose data is read back.
type readbackCase struct {
	named
	members []member
	pace    pace
	long    bool // left out of a quick bench
}

// firstChart is the case whose charts come first.
const firstChart = "1280x720"

// The beat of a simulator's loop, and of a camera on a vehicle.
const (
	pacedFrames   = 60 // a second
	pacedCaptures = 10 // a second
)

func readbackCases() []readbackCase {
	flatOut := pace{every: 1}
	var list []readbackCase
	for _, size := range [][2]int{{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}} {
		list = append(list, readbackCase{
			named{fmt.Sprintf("%dx%d", size[0], size[1])}, cameras(size[0], size[1], fourPictures...), flatOut, size[0] > 1280,
		})
	}
	for _, preset := range []string{"VelodyneVLP16", "VelodyneVLS128"} {
		list = append(list, readbackCase{named{preset}, []member{{
			name: "lidar", definition: lidar.RayCastDefinition, mount: lidarMount, settings: map[string]any{"preset": preset, "rolling": false},
		}}, flatOut, preset != "VelodyneVLP16"})
	}
	return append(list, readbackCase{
		named{fmt.Sprintf("1280x720_%dhz", pacedCaptures)}, cameras(1280, 720, fourPictures...),
		pace{period: time.Second / pacedFrames, every: pacedFrames / pacedCaptures}, true,
	})
}

// wantedReadbacks returns the cases to measure, and whether the bare pool is measured, too.
func (c *Config) wantedReadbacks() (list []readbackCase, bare bool, err error) {
	list, err = wanted(c, readbackCases())
	bare = len(c.Cases) == 0
	if c.Quick && bare {
		list = slices.DeleteFunc(list, func(k readbackCase) bool { return k.long })
	}
	return list, bare, err
}

// Readback measures the frame times of a loop that reads back blocking, and of one that reads
// back through the pool. It measures where the time of a capture goes, and how fast the bare
// pool is beside memcpy. It appends to the report.
//
// An asynchronous loop has no figures if it lost, changed or reordered data, or made fewer
// captures a second than 0.9 of the blocking loop's. The error then wraps ErrRefused, and for data
// ErrWrongData.
func Readback(ctx context.Context, config Config, report *Report) error {
	cfg, err := config.checked()
	if err != nil {
		return err
	}
	cases, bare, err := cfg.wantedReadbacks()
	if err != nil {
		return err
	}
	st, err := openStage(ctx, &cfg, sensorTriangles)
	if err != nil {
		return err
	}
	defer st.close()
	measured, err := st.readbacks(ctx, cases)
	if err != nil {
		return err
	}
	var results []Result
	if bare {
		fmt.Fprintln(cfg.Progress, "readback of buffers and textures")
		if results, err = bareReadback(ctx, &cfg); err != nil {
			return fmt.Errorf("readback of buffers and textures: %w", err)
		}
	}
	report.addScene(st.describe())
	report.explain(readbackMethod)
	var refused error
	for _, f := range measured {
		report.addFigures(f.results())
		if f.refused != nil {
			report.explain(fmt.Sprintf("Readback %s: the asynchronous loop's figures were left out: %v.", f.name, f.refused))
			refused = errors.Join(refused, fmt.Errorf("readback %s: %w: %w", f.name, ErrRefused, f.refused))
		}
	}
	report.addFigures(results)
	report.Charts = append(report.Charts, readbackCharts(measured)...)
	return refused
}

// readbacks measures the loops of all cases. They run as a loop in real time does, on a thread
// that goes first where the system allows it. Go's scheduler has more processors than there are
// cores. A frame that is to be short would otherwise wait for software OpenGL, workers and the
// garbage collector.
func (st *stage) readbacks(ctx context.Context, cases []readbackCase) (measured []*readbackFigures, err error) {
	priority, release := simtime.TakeThread()
	defer release()
	defer simtime.ReserveProcs()()
	work := calibrateWork(frameWork)
	err = measureCases(st.cfg, "readback", cases, func(k readbackCase) error {
		f, err := st.readback(ctx, &k, work)
		if err != nil {
			return err
		}
		if f.refused == nil {
			f.refused = compareRates(f.rates(f.blocking), f.rates(f.async))
		}
		f.priority = priority
		measured = append(measured, f)
		return nil
	})
	return measured, err
}

// readback measures the two loops of one case, in turn. Data of the asynchronous
// loop that isn't the blocking one's ends it and is in refused; nothing else is.
func (st *stage) readback(ctx context.Context, k *readbackCase, work computation) (f *readbackFigures, err error) {
	out, err := openDelivery(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	r, err := st.rigUp(ctx, k.members, out.connect)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	l := &frameLoop{rigged: r, out: out, work: work, pace: k.pace}
	captures, err := l.captures(ctx, st.cfg.RunTime)
	if err != nil {
		return nil, err
	}
	f = &readbackFigures{named: k.named, captures: captures}
	for range st.cfg.Runs {
		if err := f.run(ctx, l); err != nil {
			return nil, err
		}
		if f.refused != nil {
			break
		}
	}
	return f, nil
}

// Captures of a run: fewer say nothing of a loop, more only take longer.
const (
	leastCaptures = 12
	mostCaptures  = 60
	// frameRuns is how much longer a run of frames is than one of a rate: the
	// longest of a few frames says little.
	frameRuns = 3
)

// captures warms the loop up and returns how many captures make a run.
func (l *frameLoop) captures(ctx context.Context, runTime time.Duration) (int, error) {
	if _, err := l.blocking(ctx, warmUp); err != nil {
		return 0, err
	}
	p, err := l.blocking(ctx, calibrated)
	if err != nil {
		return 0, err
	}
	return min(max(int(frameRuns*runTime*calibrated/p.took), leastCaptures), mostCaptures), nil
}

// run makes one run of each loop; what is wrong with the asynchronous one is in
// f.refused.
func (f *readbackFigures) run(ctx context.Context, l *frameLoop) error {
	blocking, err := l.blocking(ctx, f.captures)
	if err != nil {
		return err
	}
	before := l.readbackBuckets()
	async, err := l.asynchronous(ctx, f.captures)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.blocking, f.async = append(f.blocking, blocking), append(f.async, async)
	if err == nil {
		err = compareStreams(blocking.streams, async.streams, f.captures)
	}
	if err != nil {
		f.refused = fmt.Errorf("%w: %w", ErrWrongData, err)
		return nil
	}
	f.stages = append(f.stages, async.stages(before, l.readbackBuckets()))
	return nil
}

// frameLoop drives the sensors of a case frame by frame, blocking or
// asynchronously. Its methods are called on one goroutine, unless they say
// otherwise. A frame of the asynchronous loop allocates nothing: neither the
// collector nor a growing list makes one longer than another.
type frameLoop struct {
	*rigged
	out  *delivery
	work computation
	pace pace
}

// pass is what one run of a loop came to.
type pass struct {
	frames  []time.Duration // how long each frame was
	asks    []time.Duration // how long each capture kept the loop
	start   time.Time       // of the first frame
	waits   []time.Duration // from a capture's announcement to its turn on the GL thread
	took    time.Duration   // from start to the last publication
	streams []stream
}

// pace says when frames begin.
type pace struct {
	// period is from a frame's beginning to the next one's, if that isn't late; 0:
	// each begins when the one before it has ended.
	period time.Duration
	// every is how many frames have one capture, which the first of them makes.
	every int
}

// await returns when frame n of a loop that began at start may begin.
func (p pace) await(start time.Time, n int) (begun time.Time) {
	if p.period > 0 {
		time.Sleep(time.Until(start.Add(time.Duration(n) * p.period)))
	}
	return time.Now()
}

// begin makes ready for so many captures.
func (l *frameLoop) begin(captures int) *pass {
	l.out.expect(captures)
	l.reset(captures)
	p := &pass{frames: make([]time.Duration, 0, captures*l.pace.every), asks: make([]time.Duration, 0, captures)}
	runtime.GC()
	return p
}

// follow runs the frames of so many captures. What capture takes is part of its
// frame.
func (l *frameLoop) follow(p *pass, captures int, capture func() error) error {
	p.start = time.Now()
	begun := p.start
	for n := range captures * l.pace.every {
		l.work.do()
		if n%l.pace.every == 0 {
			entered := time.Now()
			if err := capture(); err != nil {
				return err
			}
			p.asks = append(p.asks, time.Since(entered))
		}
		p.frames = append(p.frames, time.Since(begun))
		begun = l.pace.await(p.start, n+1)
	}
	return nil
}

// blocking makes captures and waits for each.
func (l *frameLoop) blocking(ctx context.Context, captures int) (*pass, error) {
	p := l.begin(captures)
	if err := l.follow(p, captures, func() error { return l.captureNow(ctx) }); err != nil {
		return nil, err
	}
	return p, l.end(ctx, p)
}

// captureNow makes one capture, waits for its data, and hands it on.
func (l *frameLoop) captureNow(ctx context.Context) error {
	at, err := l.announce()
	if err != nil {
		return err
	}
	if err := l.gl.Do(ctx, l.captureAndFinish); err != nil {
		return err
	}
	for i, s := range l.sensors {
		if s.Process(at.Due) != 1 {
			return errors.Join(fmt.Errorf("%s: the data isn't there after glFinish", l.names[i]), l.lost.err())
		}
	}
	return nil
}

// captureAndFinish makes a capture as a blocking readback does. A pool that copies
// after the fence issues its copy when it sees the fence. GL thread.
func (l *frameLoop) captureAndFinish(c *gpu.Ctx) error {
	if err := l.issue(c); err != nil {
		return err
	}
	for range 2 {
		if err := c.Finish(); err != nil {
			return err
		}
		l.pollAll(c)
	}
	return nil
}

// end waits for what is still to be published, and takes it, unless ctx ends before.
func (l *frameLoop) end(ctx context.Context, p *pass) error {
	if err := l.out.dispatcher.Drain(ctx); err != nil {
		return errors.Join(err, l.failure())
	}
	p.waits, p.streams = l.waits, l.out.received()
	for i := range p.streams {
		for k := range p.streams[i].arrivals {
			p.took = max(p.took, p.streams[i].arrivals[k].published.Sub(p.start))
		}
	}
	return l.failure()
}

// failure returns what went wrong on the way.
func (l *frameLoop) failure() error { return errors.Join(l.rigged.failure(), l.out.failure()) }

// asynchronous asks for captures and waits for none; the run ends when all are
// published. Where captures are lost it returns what it came to nevertheless.
func (l *frameLoop) asynchronous(ctx context.Context, captures int) (*pass, error) {
	p := l.begin(captures)
	carried := make(chan error, 1)
	go func() { carried <- l.carry(ctx, captures) }()
	err := l.follow(p, captures, func() error {
		l.ask(1)
		return ctx.Err()
	})
	err = errors.Join(err, <-carried)
	// What the GL thread still has of this run is over before its figures are read. It is over
	// before the next run, also when ctx has ended.
	return p, errors.Join(err, l.settle(), l.end(ctx, p))
}

// delivery is what lies behind the readback, the same for both loops. It is a dispatcher whose
// workers encode each message as the mcap bridge does, into a recording that is thrown away.
type delivery struct {
	dispatcher *dispatch.Dispatcher
	bridge     *bridges.Bridge
	outlets    []*outlet

	mu  sync.Mutex
	err error // guarded by mu: the first message that was not sent
}

// openDelivery opens the recording and starts the dispatcher.
func openDelivery(ctx context.Context) (*delivery, error) {
	registry, err := bridges.NewRegistry(mcap.Factory{Open: discard})
	if err != nil {
		return nil, err
	}
	// Not compressed: that would take more of the processor than all the rest.
	bridge, err := registry.Open("mcap:bench.mcap?compression=none", bridges.Env{})
	if err != nil {
		return nil, err
	}
	if err := bridge.Connect(ctx); err != nil {
		return nil, errors.Join(err, bridge.Close(ctx))
	}
	return &delivery{dispatcher: dispatch.New(dispatch.Config{Context: ctx, Logger: slog.New(slog.DiscardHandler)}), bridge: bridge}, nil
}

// close ends the dispatcher and the recording.
func (d *delivery) close() error {
	ctx := context.Background()
	return errors.Join(d.dispatcher.Close(ctx), d.bridge.Close(ctx))
}

// connect makes the outlet of one output of a sensor.
func (d *delivery) connect(sensor string, spec *sensors.OutputSpec, _ bool) (sensors.Sink, error) {
	topic := "/" + strings.ReplaceAll(sensor, ".", "_") + spec.Suffix
	publish, err := bridges.AddPublisherOf(d.bridge, spec.Type, bridges.Topic{Name: topic})
	if err != nil {
		return nil, err
	}
	o := &outlet{of: d, spec: spec, name: topic, publish: publish}
	o.done = dispatch.Task{Done: d.resolve}
	o.topic = dispatch.NewTopic(d.dispatcher, topic, o.send, dispatch.TopicConfig{Ordered: true})
	d.outlets = append(d.outlets, o)
	return sink(o.take), o.topic.Err()
}

// resolve notes why a message was not sent.
func (d *delivery) resolve(err error) {
	if err == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = fmt.Errorf("a message was not published: %w", err)
	}
}

// failure returns why a message was not sent, or nil.
func (d *delivery) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// expect forgets what was delivered and makes room for the messages of so many
// captures. Nothing is under way.
func (d *delivery) expect(captures int) {
	for _, o := range d.outlets {
		o.arrivals = make([]arrival, 0, captures)
	}
}

// received returns what was delivered since expect, by output. Nothing is under
// way.
func (d *delivery) received() []stream {
	var list []stream
	for _, o := range d.outlets {
		list = append(list, stream{o.name, o.arrivals})
	}
	return list
}

// stream is what came of one output.
type stream struct {
	topic    string
	arrivals []arrival
}

// arrival is one published message.
type arrival struct {
	stamp int64  // simulation time
	sum   uint64 // of the data
	// The message's way, on the host's clock. Its capture was announced, it was handed to the
	// dispatcher, a worker took it, it was encoded and written.
	started, queued, taken, published time.Time
}

// outlet carries one output to the recording.
type outlet struct {
	of      *delivery
	spec    *sensors.OutputSpec
	name    string
	publish bridges.Publisher[any]
	topic   *dispatch.Topic[*parcel]
	done    dispatch.Task
	scratch parcel // of take, which one goroutine at a time calls

	arrivals []arrival // appended to by send; the topic is ordered
}

// take copies the message into the dispatcher's queue.
func (o *outlet) take(at sensors.Tick, message any) bool {
	o.scratch = parcel{at: at, queued: time.Now(), spec: o.spec, message: message}
	ok := o.topic.TryQueueTask(&o.scratch, o.done)
	o.scratch.message = nil
	return ok
}

// send encodes and writes on a worker. The sum is taken after the message was
// published, of what was published.
func (o *outlet) send(ctx context.Context, p *parcel) error {
	a := arrival{stamp: int64(p.message.(simtime.Stamped).Captured()), started: p.at.Started, queued: p.queued, taken: time.Now()}
	if err := o.publish(ctx, p.message); err != nil {
		return err
	}
	a.published = time.Now()
	var err error
	a.sum, err = sumOf(p.message)
	o.arrivals = append(o.arrivals, a)
	return err
}

// parcel is what the dispatcher queues: any message. Its copy owns the message.
type parcel struct {
	at      sensors.Tick
	queued  time.Time
	spec    *sensors.OutputSpec
	message any
}

// CopyToCache makes dst a deep copy (law D3).
func (p *parcel) CopyToCache(dst *parcel) {
	message := dst.message
	if message == nil {
		message = p.spec.New()
	}
	p.spec.Copy(message, p.message)
	*dst = *p
	dst.message = message
}

// CacheKey is the message's own.
func (p *parcel) CacheKey() uint64 { return p.spec.Key(p.message) }

// SizeBytes is the size of the message's data.
func (p *parcel) SizeBytes() int64 {
	if s, ok := p.message.(dispatch.Sized); ok {
		return s.SizeBytes()
	}
	return 0
}

// frameWork is what a frame of either loop computes, on an idle core.
const frameWork = 4 * time.Millisecond

// computation is a fixed amount of work for the processor: so many rounds of a
// generator of random numbers, which stay in registers.
type computation struct {
	rounds int
	state  uint64 // keeps the compiler from leaving the work out
}

// do works.
func (w *computation) do() { w.state = churn(w.state|1, w.rounds) }

// churn is Marsaglia's xorshift (Xorshift RNGs, 2003).
func churn(x uint64, rounds int) uint64 {
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// Calibration: so many tries of at least so long say how fast the processor is.
const (
	workTries = 9
	workTry   = time.Millisecond
)

// calibrateWork returns the computation that takes an idle core as long as target.
func calibrateWork(target time.Duration) computation {
	var state uint64 = 1
	return computation{rounds: roundsFor(target, func(rounds int) time.Duration {
		begun := time.Now()
		state = churn(state, rounds)
		return time.Since(begun)
	}), state: state}
}

// roundsFor returns how many rounds take as long as target, where measure tells
// how long some took. It trusts the shortest of several tries: what else runs on
// the machine makes the others longer.
func roundsFor(target time.Duration, measure func(rounds int) time.Duration) int {
	const most = 1 << 40
	for rounds := 1 << 10; ; rounds *= 2 {
		least := measure(rounds)
		for range workTries - 1 {
			if least < workTry && rounds < most {
				break // too short to tell
			}
			least = min(least, measure(rounds))
		}
		if least >= workTry || rounds >= most {
			return max(1, int(float64(rounds)*float64(target)/float64(max(least, 1))))
		}
	}
}

// leastRate is what an asynchronous loop must make at least, as a share of the captures per
// second of the blocking one. Otherwise its frames would be short because it does less.
const leastRate = 0.9

// compareRates refuses asynchronous runs that make too few captures beside the
// blocking runs right before them. Rates are captures per second. The median of
// the shares counts: what slows the whole machine down for a while leaves it alone.
func compareRates(blocking, async []float64) error {
	if share := median(ratios(async, blocking)); !(share >= leastRate) {
		return fmt.Errorf("it made %.2f of the blocking loop's captures per second, and %.1f is the least that counts: "+
			"was the machine busy with something else?", share, leastRate)
	}
	return nil
}

// compareStreams compares what the asynchronous loop published with what the blocking one did.
// They must be the same captures of the same outputs, in their order, with the same bytes.
func compareStreams(blocking, async []stream, captures int) error {
	if len(blocking) != len(async) {
		return fmt.Errorf("%d topics, not %d", len(async), len(blocking))
	}
	for i := range async {
		got, want := &async[i], &blocking[i]
		if err := got.complete(captures); err != nil {
			return err
		}
		if err := want.complete(captures); err != nil {
			return fmt.Errorf("the blocking loop itself failed: %w", err)
		}
		for k := range captures {
			if got.arrivals[k].sum != want.arrivals[k].sum {
				return fmt.Errorf("capture %d of %s has other bytes than the blocking loop's", k, got.topic)
			}
		}
	}
	return nil
}

// complete checks that each capture came once, in order: the stamp of a loop's
// captures is their number.
func (s *stream) complete(captures int) error {
	for k := range s.arrivals {
		if at := s.arrivals[k].stamp; simtime.Stamp(at) != simtime.Stamp(k) {
			return fmt.Errorf("capture %d of %s came as number %d", at, s.topic, k)
		}
	}
	if n := len(s.arrivals); n != captures {
		return fmt.Errorf("%d of %d captures arrived on %s", n, captures, s.topic)
	}
	return nil
}

// sums has one seed, so that the sums of both loops can be compared.
var sums = maphash.MakeSeed()

// sumOf returns a sum of a message's data: all but what tells one capture of a
// scene that stands still from the next.
func sumOf(message any) (uint64, error) {
	var h maphash.Hash
	h.SetSeed(sums)
	switch m := message.(type) {
	case *sample.Image:
		h.Write(gpu.BytesOf([]int{m.Width, m.Height, m.Step}))
		h.WriteString(m.Encoding)
		h.Write(m.Data)
	case *sample.CameraInfo:
		h.Write(gpu.BytesOf([]int{m.Width, m.Height, len(m.D)}))
		h.WriteString(m.DistortionModel)
		for _, list := range [][]float64{m.D, m.K[:], m.R[:], m.P[:]} {
			h.Write(gpu.BytesOf(list))
		}
	case *sample.PointCloud:
		h.Write(gpu.BytesOf([]int{m.Rings, m.Columns, len(m.Points)}))
		h.Write(gpu.BytesOf(m.Points)) // which have no padding
	default:
		return 0, fmt.Errorf("sum of a %T: %w", message, errors.ErrUnsupported)
	}
	return h.Sum64(), nil
}

// readbackFigures are the runs of one case; those of one index were made one right
// after the other.
type readbackFigures struct {
	named
	captures        int // a run
	blocking, async []*pass
	stages          []*stageTimes // of the asynchronous runs
	refused         error         // why the asynchronous runs don't count
	priority        string        // what the loops' thread was granted
}

var readbackMethod = strings.TrimSpace(`
Readback: two frame loops make the same captures of a scene that stands still, with equal stamps. A frame has one capture and 4 ms of
computation, and ends when the loop may begin the next. The blocking one waits for the capture's data
(glFinish). The asynchronous one asks for it and never waits. A run is a burst of captures, which are made two
at a time, and ends when all are published. In 1280x720_10hz a frame begins every 60th of a second, and every
sixth has a capture. Both loops hand the data to a dispatcher whose workers encode it as the mcap bridge does,
without a disk. The asynchronous figures count if every capture arrived, in order, bit-equal to the blocking
loop's, at 0.9 of its captures per second or more.`)

// rates returns captures per second, one a run.
func (f *readbackFigures) rates(passes []*pass) []float64 {
	return each(passes, func(p *pass) float64 { return float64(f.captures) / p.took.Seconds() })
}

// quantiles are what rows are of.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}}

// results lists the figures that count.
func (f *readbackFigures) results() []Result {
	list := f.frameRows("readback.blocking", f.blocking)
	list = append(list, f.row("readback.blocking.captures_per_s", "captures/s", f.rates(f.blocking), ""))
	dropped := f.row("readback.dropped", "captures", each(f.async, f.dropped), fmt.Sprintf("of %d a run", f.captures))
	if f.refused != nil {
		return append(list, dropped)
	}
	asks := f.rows("readback.async.ask_ms", "p99 max", f.async, func(p *pass) []time.Duration { return p.asks })
	asks[0].Note = "to ask for a capture"
	latencies := f.rows("readback.latency_ms", "p50 p99", f.async, (*pass).latencies)
	latencies[0].Note = "from a capture's turn to its last message's publication"
	return slices.Concat(list, f.frameRows("readback.async", f.async),
		[]Result{f.row("readback.async.captures_per_s", "captures/s", f.rates(f.async), f.compared())},
		asks, []Result{dropped}, latencies, f.stageRows())
}

// compared says how the loops' frames compare. It is the p99 of the asynchronous one with the
// blocking one's median, or with its p99 where most frames have no capture.
func (f *readbackFigures) compared() string {
	q, of := 0.5, "median"
	if len(f.blocking[0].frames) > f.captures {
		q, of = 0.99, "p99"
	}
	frames := func(passes []*pass, q float64) float64 {
		return median(each(passes, func(p *pass) float64 { return percentile(p.frames, q) }))
	}
	return fmt.Sprintf("the p99 of its frames is %.0f %% of the blocking loop's %s", 100*frames(f.async, 0.99)/frames(f.blocking, q), of)
}

func (f *readbackFigures) row(name, unit string, runs []float64, note string) Result {
	return Result{Name: name, Case: f.name, Unit: unit, Runs: runs, Note: note}
}

// rows are the named quantiles of durations, in milliseconds.
func (f *readbackFigures) rows(name, names string, passes []*pass, of func(*pass) []time.Duration) (list []Result) {
	for _, q := range quantiles {
		if strings.Contains(names, q.name) {
			runs := each(passes, func(p *pass) float64 { return percentile(of(p), q.q) })
			list = append(list, f.row(name+"."+q.name, "ms", runs, ""))
		}
	}
	return list
}

func (f *readbackFigures) frameRows(name string, passes []*pass) []Result {
	list := f.rows(name+".frame_ms", "p50 p99 max", passes, func(p *pass) []time.Duration { return p.frames })
	list[0].Note = fmt.Sprintf("%d frames a run; thread: %s", len(passes[0].frames), f.priority)
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
func (f *readbackFigures) stageRows() (list []Result) {
	for stage, name := range stageNames {
		for _, q := range quantiles[:2] {
			var runs []float64
			for _, t := range f.stages {
				if t[stage].TotalCount() > 0 {
					runs = append(runs, float64(t[stage].ValueAtQuantile(100*q.q))/1e6)
				}
			}
			if len(runs) > 0 {
				list = append(list, f.row("readback.stage."+name+"_ms."+q.name, "ms", runs, ""))
			}
		}
	}
	return list
}

// The stages of a capture's way, in order.
const (
	stageHop     = iota // announced, to its turn on the GL thread
	stageGPU            // the GPU's work, where the driver has timers; within stageFence
	stageFence          // its turn on the GL thread, to its fence being seen
	stageCopy           // to its bytes being in host memory; 0 where the copy went before the fence
	stageHandOn         // to its completion
	stageQueue          // handed to the dispatcher, to a worker taking it
	stageConvert        // to it being encoded and written
	stageCount
)

// stageNames are the stages' names in results.
var stageNames = [stageCount]string{"hop", "gpu", "fence", "copy", "hand_on", "queue", "convert"}

// stageTimes has a histogram of each stage, in nanoseconds.
type stageTimes [stageCount]*hdrhistogram.Histogram

func newStageTimes() *stageTimes {
	var t stageTimes
	for i := range t {
		t[i] = hdrhistogram.New(1, time.Minute.Nanoseconds(), 3) // up to a minute, to three digits
	}
	return &t
}

// record adds n durations; those beyond the histogram's end count as its end.
func record(h *hdrhistogram.Histogram, d time.Duration, n uint64) {
	// Within the histogram's range there is no error.
	_ = h.RecordValues(min(max(d.Nanoseconds(), 0), h.HighestTrackableValue()), int64(n))
}

// buckets counts durations by a bucket of a flow.Latency.
type buckets map[time.Duration]uint64

// readbackBuckets returns how long the readbacks of all sensors of the rig took so
// far; the stages that happen elsewhere are nil.
func (r *rigged) readbackBuckets() [stageCount]buckets {
	var all [stageCount]buckets
	for _, s := range r.sensors {
		reporter, ok := s.(interface{ ReadbackStats() readback.Stats })
		if !ok {
			continue
		}
		stats := reporter.ReadbackStats()
		for stage, latency := range map[int]*flow.Latency{
			stageGPU: &stats.GPU, stageFence: &stats.Fence, stageCopy: &stats.Copy, stageHandOn: &stats.Queue,
		} {
			if all[stage] == nil {
				all[stage] = buckets{}
			}
			for d, n := range latency.Buckets() {
				all[stage][d] += n
			}
		}
	}
	return all
}

// stages returns how long each stage took in a pass, before and after which the
// readbacks had those times.
func (p *pass) stages(before, after [stageCount]buckets) *stageTimes {
	t := newStageTimes()
	for stage := range after {
		for d, n := range after[stage] {
			record(t[stage], d, n-before[stage][d])
		}
	}
	for _, d := range p.waits {
		record(t[stageHop], d, 1)
	}
	for i := range p.streams {
		for k := range p.streams[i].arrivals {
			a := &p.streams[i].arrivals[k]
			record(t[stageQueue], a.taken.Sub(a.queued), 1)
			record(t[stageConvert], a.published.Sub(a.taken), 1)
		}
	}
	return t
}

// latencies returns for each capture how long it took from its announcement to the
// publication of its last message.
func (p *pass) latencies() []time.Duration {
	var list []time.Duration
	for i := range p.streams {
		for k := range p.streams[i].arrivals {
			a := &p.streams[i].arrivals[k]
			if k == len(list) {
				list = append(list, 0)
			}
			list[k] = max(list[k], a.published.Sub(a.started))
		}
	}
	return list
}

// readbackCharts draws, for each case, the frames of the blocking loop over those of the
// asynchronous one. Below them it draws where the time of a capture goes. The case of
// firstChart comes first.
func readbackCharts(measured []*readbackFigures) (list []chart.Chart) {
	for _, first := range []bool{true, false} {
		for _, f := range measured {
			if (f.name == firstChart) != first {
				continue
			}
			list = append(list, f.frameChart("blocking readback", f.blocking[0]))
			if f.refused == nil {
				list = append(list, f.frameChart("asynchronous readback of the same captures", f.async[0]), f.stageChart())
			}
		}
	}
	return list
}

// frameChart draws a bar for each frame of one run.
func (f *readbackFigures) frameChart(title string, p *pass) chart.Chart {
	bars := chart.Series{Name: "frame", Kind: chart.Bars}
	for n, d := range p.frames {
		bars.X, bars.Y = append(bars.X, float64(n+1)), append(bars.Y, milliseconds(d))
	}
	return chart.Chart{
		Title: f.name + ": " + title, X: "frame", Y: "frame time, ms", Scale: "readback " + f.name, Series: []chart.Series{bars},
		Marks: []chart.Mark{{Name: fmt.Sprintf("computation of a frame, %v", frameWork), Y: milliseconds(frameWork)}},
	}
}

// stageClasses are those of the histogram of stages, from 1 microsecond.
var stageClasses = classes{aDecade: 8, first: 1e-3}

// stageChart draws the distribution of each stage's time, all runs together.
func (f *readbackFigures) stageChart() chart.Chart {
	c := chart.Chart{
		Title: f.name + ": where the time of a capture goes", X: "ms", Y: "share of captures or messages, %", LogX: true,
	}
	for stage, name := range stageNames {
		counts := map[int]int64{}
		for _, t := range f.stages {
			for _, bar := range t[stage].Distribution() {
				if bar.Count > 0 {
					counts[stageClasses.of(float64(bar.From)/1e6)] += bar.Count
				}
			}
		}
		if len(counts) > 0 {
			c.Series = append(c.Series, stageClasses.steps(name, counts))
		}
	}
	return c
}
