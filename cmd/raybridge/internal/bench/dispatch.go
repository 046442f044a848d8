package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/internal/fault"
)

// messageSizes are the lengths of messages, in bytes.
var messageSizes = []int{64, 64 << 10, 1 << 20, 8 << 20}

// messageCase is one length of message on one number of workers.
type messageCase struct {
	named
	size    int
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
			count := strings.ReplaceAll(fault.Count(workers, "worker"), " ", "")
			list = append(list, messageCase{named{byteSize(size) + "_" + count}, size, workers})
		}
		list = append(list, messageCase{named{byteSize(size)}, size, all})
	}
	return list
}

// Lengths of a run of messages.
const (
	messageRunTime      = 250 * time.Millisecond
	quickMessageRunTime = 100 * time.Millisecond
)

// Dispatch measures the dispatcher against a plain channel with a worker pool, and
// its copies against memcpy. It needs no GL and appends to the report.
func Dispatch(ctx context.Context, config Config, report *Report) error {
	runTime := ifQuick(config.Quick, quickMessageRunTime, messageRunTime)
	cases := messageCases(min(runtime.GOMAXPROCS(0), runtime.NumCPU()), config.Quick)
	var measured []*caseFigures
	b := caseBench[messageCase]{"dispatch", cases, func(cfg *Config, k messageCase) ([]Result, error) {
		figures, err := measureMessages(ctx, &k, cfg.Runs, runTime)
		if err != nil {
			return nil, err
		}
		measured = append(measured, figures)
		return figures.results(), nil
	}, dispatchMethod}
	if err := b.run(config, report); err != nil {
		return err
	}
	report.Charts = append(report.Charts, messageCharts(measured)...)
	return nil
}

// caseFigures are the runs of one case; those with the same index were made one
// right after the other.
type caseFigures struct {
	messageCase
	dispatched, channeled, copied []batch
}

// over returns the median of how many times longer a message took in a's runs
// than in b's, run by run.
func over(a, b []batch) float64 {
	return median(ratios(each(a, batch.nsPerMessage), each(b, batch.nsPerMessage)))
}

func (f *caseFigures) results() []Result {
	of := fault.Count(f.workers, "worker")
	ns, bytes := batch.nsPerMessage, float64(f.size)
	return []Result{
		{"dispatch.ns_per_msg", f.name, "ns", each(f.dispatched, ns), fmt.Sprintf("%s; %.2f times the channel, run by run", of, over(f.dispatched, f.channeled))},
		{"channel.ns_per_msg", f.name, "ns", each(f.channeled, ns), of},
		{"dispatch.msgs_per_s", f.name, "messages/s", each(f.dispatched, batch.rate), of},
		{"dispatch.allocs_per_msg", f.name, "allocations", each(f.dispatched, batch.allocsPerMessage), "of the whole process"},
		{"dispatch.bytes_per_s", f.name, "bytes/s", times(bytes, each(f.dispatched, batch.rate)),
			fmt.Sprintf("%s; %.0f %% of memcpy, run by run", of, 100*over(f.copied, f.dispatched))},
		{"memcpy.bytes_per_s", f.name, "bytes/s", times(bytes, each(f.copied, batch.rate)), "one goroutine, warm buffers"},
	}
}

// dispatchMethod says what the figures mean.
var dispatchMethod = strings.TrimSpace(`
A message is copied into a recycled buffer by its one sender and waits in a queue. A worker reads it, one byte
in 4096; then its callback runs. The channel's rows do the same with goroutines on a buffered channel
and a channel of free buffers. Queues are 64 messages deep, or 64 MiB if that is less. memcpy copies from one
warm buffer to two others in turn, on one goroutine as the sender does. The runs of the three follow one
another; a run ends with its last callback. Allocations are counted for the whole process, the wait for
the end of the run included.`)

// messageCharts draws time and throughput over the size, on all workers.
func messageCharts(measured []*caseFigures) []chart.Chart {
	series := func(name string, value func(*caseFigures) float64) chart.Series {
		s := chart.Series{Name: name}
		for _, f := range measured {
			if f.name == byteSize(f.size) {
				s.X, s.Y = append(s.X, float64(f.size)), append(s.Y, value(f))
			}
		}
		return s
	}
	if len(series("", func(*caseFigures) float64 { return 0 }).X) < 2 {
		return nil // no line to draw
	}
	ns := func(runs []batch) float64 { return median(each(runs, batch.nsPerMessage)) }
	dispatched := func(f *caseFigures) float64 { return ns(f.dispatched) }
	channeled := func(f *caseFigures) float64 { return ns(f.channeled) }
	rate := func(of func(*caseFigures) float64) func(*caseFigures) float64 {
		return func(f *caseFigures) float64 { return float64(f.size) / of(f) }
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

// The depth of the queues: so many messages, but no more than so many bytes.
const (
	messageDepth      = 64
	messageDepthBytes = 64 << 20
)

func (c *messageCase) depth() int { return max(1, min(messageDepth, messageDepthBytes/c.size)) }

// blob is the message that is sent.
type blob struct {
	data []byte
	hold *heldWorkers // where not nil, the worker that gets it waits
}

// CopyToCache copies the message (law D3).
func (b *blob) CopyToCache(dst *blob) {
	dst.data, dst.hold = append(dst.data[:0], b.data...), b.hold
}

// CacheKey says that all buffers are alike.
func (b *blob) CacheKey() uint64 { return 0 }

// newBlob returns a message whose pages are all its own: reading memory never
// written to would read one page of zeros again and again.
func newBlob(size int) *blob {
	b := &blob{data: make([]byte, size)}
	for i := range b.data {
		b.data[i] = byte(i)
	}
	return b
}

// read stands for a publisher's work: it reads one byte in 4096.
func (b *blob) read() (sum byte) {
	if b.hold != nil {
		b.hold.wait()
	}
	for i := 0; i < len(b.data); i += 4096 {
		sum += b.data[i]
	}
	return sum
}

// heldWorkers keeps all workers, so that the queue behind them fills.
type heldWorkers struct {
	arrived chan struct{}
	release chan struct{}
}

func (h *heldWorkers) wait() {
	select {
	case h.arrived <- struct{}{}:
	default: // the workers' second messages, after the release
	}
	<-h.release
}

// courier takes messages to workers: the dispatcher, or what it is held against.
type courier interface {
	// send sends the message so many times.
	send(b *blob, messages int)
	// flush waits until all that was sent has been received.
	flush() error
}

// fillBuffers sends as many messages as the courier can take at once, all its workers running.
// After that it has every buffer it will ever need.
func fillBuffers(ctx context.Context, c courier, k *messageCase) error {
	held := *newBlob(k.size)
	held.hold = &heldWorkers{arrived: make(chan struct{}, k.workers), release: make(chan struct{})}
	var sender sync.WaitGroup
	sender.Go(func() { c.send(&held, k.depth()+k.workers+1) })
	for range k.workers {
		select {
		case <-held.hold.arrived:
		case <-ctx.Done():
			close(held.hold.release)
			sender.Wait()
			return context.Cause(ctx)
		}
	}
	close(held.hold.release)
	sender.Wait()
	return c.flush()
}

// sendingFor is a run that sends messages for so long, and waits for the last of them.
func sendingFor(ctx context.Context, c courier, b *blob, runTime time.Duration) func() (int, error) {
	several := max(1, min(256, (1<<20)/len(b.data)))
	return func() (messages int, err error) {
		for begun := time.Now(); time.Since(begun) < runTime && ctx.Err() == nil; messages += several {
			c.send(b, several)
		}
		err = c.flush()
		return messages, cmp.Or(context.Cause(ctx), err)
	}
}

// measureMessages makes the runs of a case, those of the dispatcher, of the
// channel and of memcpy in turn.
func measureMessages(ctx context.Context, k *messageCase, runs int, runTime time.Duration) (f *caseFigures, err error) {
	runtime.GC() // of what the case before left
	d := newDispatcherCourier(ctx, k)
	defer func() { err = errors.Join(err, d.close()) }()
	c := newChannelCourier(k)
	defer c.close()
	for _, each := range []courier{d, c} {
		if err := fillBuffers(ctx, each, k); err != nil {
			return nil, err
		}
	}
	b := newBlob(k.size)
	list, err := byTurns(runs, sendingFor(ctx, d, b, runTime), sendingFor(ctx, c, b, runTime), sendingFor(ctx, newCopier(k), b, runTime))
	if err != nil {
		return nil, err
	}
	return &caseFigures{*k, list[0], list[1], list[2]}, nil
}

// dispatcherCourier is the dispatcher with one topic.
type dispatcherCourier struct {
	ctx       context.Context
	d         *dispatch.Dispatcher
	topic     *dispatch.Topic[*blob]
	done      func(error)
	sum, sent atomic.Int64
}

func newDispatcherCourier(ctx context.Context, k *messageCase) *dispatcherCourier {
	c := &dispatcherCourier{ctx: ctx, d: dispatch.New(dispatch.Config{MaxWorkers: k.workers, Logger: slog.New(slog.DiscardHandler)})}
	c.topic = dispatch.NewTopic(c.d, "bench", func(_ context.Context, b *blob) error {
		c.sum.Add(int64(b.read()))
		return nil
	}, dispatch.TopicConfig{Depth: k.depth(), MaxBytes: -1})
	c.done = func(error) { c.sent.Add(1) }
	return c
}

func (c *dispatcherCourier) send(b *blob, messages int) {
	for range messages {
		c.topic.TryQueueTask(b, dispatch.Task{Done: c.done})
	}
}

func (c *dispatcherCourier) flush() error { return c.d.Drain(c.ctx) }

func (c *dispatcherCourier) close() error { return c.d.Close(context.WithoutCancel(c.ctx)) }

// channelCourier is the baseline: workers on a buffered channel, recycled
// buffers, the same copy, a callback and counters.
type channelCourier struct {
	queue   chan channelTask
	free    chan *blob
	workers sync.WaitGroup
	done    func(error)
	// queued, received and the callback's sent are the counters that a user of it
	// would have, too.
	sum, sent, queued, received atomic.Int64
}

type channelTask struct {
	b    *blob
	done func(error)
}

func newChannelCourier(k *messageCase) *channelCourier {
	c := &channelCourier{
		queue: make(chan channelTask, k.depth()),
		free:  make(chan *blob, k.depth()+k.workers+1),
	}
	for range cap(c.free) {
		c.free <- newBlob(k.size)
	}
	c.done = func(error) { c.sent.Add(1) }
	for range k.workers {
		c.workers.Go(c.work)
	}
	return c
}

func (c *channelCourier) work() {
	for task := range c.queue {
		c.sum.Add(int64(task.b.read()))
		c.free <- task.b
		c.received.Add(1)
		task.done(nil)
	}
}

func (c *channelCourier) send(b *blob, messages int) {
	for range messages {
		copied := <-c.free
		b.CopyToCache(copied)
		c.queue <- channelTask{copied, c.done}
		c.queued.Add(1)
	}
}

// flush takes all buffers out of circulation and puts them back.
func (c *channelCourier) flush() error {
	all := make([]*blob, cap(c.free))
	for i := range all {
		all[i] = <-c.free
	}
	for _, b := range all {
		c.free <- b
	}
	return nil
}

// close ends the workers.
func (c *channelCourier) close() {
	close(c.queue)
	c.workers.Wait()
}

// copier is memcpy: it copies to two buffers in turn, as few as a queue can do
// with.
type copier struct{ buffers [2]*blob }

func newCopier(k *messageCase) *copier {
	return &copier{[2]*blob{newBlob(k.size), newBlob(k.size)}}
}

func (c *copier) send(b *blob, messages int) {
	for i := range messages {
		copy(c.buffers[i%2].data, b.data)
	}
}

func (c *copier) flush() error { return nil }
