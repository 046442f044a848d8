package bench

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/dispatch"
)

// The depth of the queues: so many messages, but no more than so many bytes.
const (
	messageDepth      = 64
	messageDepthBytes = 64 << 20
)

func (c *messageCase) depth() int { return max(1, min(messageDepth, messageDepthBytes/c.size.bytes)) }

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

// fillBuffers sends as many messages as the courier can take at once, all its workers
// running: after that it has every buffer it will ever need.
func fillBuffers(ctx context.Context, c courier, k *messageCase) error {
	held := *newBlob(k.size.bytes)
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

// measureRun sends messages for so long, and waits for the last of them.
func measureRun(ctx context.Context, c courier, b *blob, runTime time.Duration) (messageRun, error) {
	batch := max(1, min(256, (1<<20)/len(b.data)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var r messageRun
	begun := time.Now()
	for time.Since(begun) < runTime && ctx.Err() == nil {
		c.send(b, batch)
		r.messages += uint64(batch)
	}
	err := c.flush()
	r.elapsed = time.Since(begun)
	runtime.ReadMemStats(&after)
	r.allocs = after.Mallocs - before.Mallocs
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r, err
}

// measureMessages makes the runs of a case, those of the dispatcher, of the
// channel and of memcpy in turn.
func measureMessages(ctx context.Context, k *messageCase, runs int, runTime time.Duration) (f *caseFigures, err error) {
	runtime.GC() // of what the case before left
	d := newDispatcherCourier(ctx, k)
	defer func() { err = errors.Join(err, d.close()) }()
	c := newChannelCourier(k)
	defer c.close()
	couriers := []courier{d, c, newCopier(k)}
	for _, each := range couriers[:2] {
		if err := fillBuffers(ctx, each, k); err != nil {
			return nil, err
		}
	}
	f = &caseFigures{messageCase: *k}
	b := newBlob(k.size.bytes)
	for run := range runs + 1 {
		for i, into := range []*[]messageRun{&f.dispatched, &f.channeled, &f.copied} {
			r, err := measureRun(ctx, couriers[i], b, runTime)
			if err != nil {
				return nil, err
			}
			if run > 0 { // the first is for the caches and the scheduler to settle
				*into = append(*into, r)
			}
		}
	}
	return f, nil
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
		c.free <- newBlob(k.size.bytes)
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
	return &copier{[2]*blob{newBlob(k.size.bytes), newBlob(k.size.bytes)}}
}

func (c *copier) send(b *blob, messages int) {
	for i := range messages {
		copy(c.buffers[i%2].data, b.data)
	}
}

func (c *copier) flush() error { return nil }
