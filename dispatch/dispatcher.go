package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// Config configures a Dispatcher. The zero value is ready for use; numbers and
// times of zero or less mean their defaults.
type Config struct {
	// Context ends the dispatcher as Close does, the waits of policy Block and the
	// publishers' context included; that carries its values. (optional; default
	// context.Background) To drain after an interrupt, give a context that the
	// interrupt doesn't end.
	Context context.Context
	// MaxWorkers bounds the worker goroutines, those left out that stand in for callbacks which
	// wait in TryQueue: as many again at most (law D5). (optional; default GOMAXPROCS, read
	// whenever a worker is added. It is at most the number of cores: what a program sets beyond
	// them is not meant for workers)
	MaxWorkers int
	// Cycle is the time within which the queue should be emptied; while it would
	// not be, workers are added. (optional; default 10 ms)
	Cycle time.Duration
	// IdleTimeout is how long a worker may be idle before it ends; one always
	// stays. (optional; default 1 s)
	IdleTimeout time.Duration
	// TrimTimeout is how long a cached message may stay unused before it is left
	// to the garbage collector. (optional; default 30 s)
	TrimTimeout time.Duration
	// HoldLimit is the longest that a gated message waits for its clock tick. After that it
	// goes out with a warning: the clock must have stopped or jumped. (optional; default 1 s)
	HoldLimit time.Duration
	// Logger receives warnings. (optional; default slog.Default)
	Logger *slog.Logger
}

func (c *Config) setDefaults() {
	if c.Context == nil {
		c.Context = context.Background()
	}
	if c.Cycle <= 0 {
		c.Cycle = 10 * time.Millisecond
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = time.Second
	}
	if c.TrimTimeout <= 0 {
		c.TrimTimeout = 30 * time.Second
	}
	if c.HoldLimit <= 0 {
		c.HoldLimit = time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}

// Dispatcher runs the publishers of its topics on worker goroutines. Make one
// with New and end it with Close. All methods may be called from any goroutine,
// Close and Drain excepted from publishers and callbacks, which they wait for.
type Dispatcher struct {
	cfg    Config
	start  time.Time
	ctx    context.Context // given to publishers; ended by shut
	cancel context.CancelFunc
	detach func() bool // undoes the watch on cfg.Context
	// parallel says that a sender can run while a worker does.
	parallel bool
	done     chan struct{} // closed when closed, without workers and with nothing outstanding

	mu sync.Mutex
	// All below, and the fields of topics, lanes and pools, are guarded by mu. Those
	// needed for each message come first, to share cache lines.
	closed      bool
	paused      bool
	pulseArmed  bool
	trimArmed   bool
	ready       laneQueue
	lingerer    *worker      // the worker that looks out for a task
	copying     atomic.Int32 // senders that copy a message; who lingers reads it without mu
	outstanding int          // tasks taken whose callback has not returned
	queued      int          // tasks in lanes
	backlog     int64        // expected time of the queued tasks, ns
	taken       uint64
	granted     uint64 // blocked senders whose task was queued
	workers     int
	idle        []*worker     // the one idle for the shortest time last
	released    simtime.Stamp // simulation time of the last published clock, ns (law T4)

	topics       []*topic
	tokens       map[any]struct{} // exclusive tokens in use (law D4)
	waiting      waiterList       // callers that wait for a token
	blocked      int              // callers in await
	spareWaiters []*waiter
	drainers     []chan struct{}

	pulseTaken  uint64 // taken at the last pulse
	pulsePeriod time.Duration
	epoch       uint64 // counts retire's periods
	retireArmed bool
	holdArmed   bool
	held        []*Lane

	pulse, retire, trim, hold *time.Timer

	callbacks atomic.Int32 // workers in a Done callback; changed without mu, so far from it
}

// New returns a running dispatcher with one worker. The caller ends it with
// Close, or by ending cfg.Context.
func New(cfg Config) *Dispatcher {
	cfg.setDefaults()
	d := &Dispatcher{
		cfg:      cfg,
		start:    time.Now(),
		done:     make(chan struct{}),
		tokens:   map[any]struct{}{},
		released: math.MinInt64,

		pulsePeriod: pulsePeriod,
		parallel:    min(runtime.GOMAXPROCS(0), runtime.NumCPU()) > 1,
	}
	// Publishers' context ends by shut alone, so that the queue is discarded
	// before the running publishers return and make room in it.
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(cfg.Context))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pulse = stoppedTimer(d.onPulse)
	d.retire = stoppedTimer(d.onRetire)
	d.trim = stoppedTimer(d.onTrim)
	d.hold = stoppedTimer(d.onHold)
	d.detach = context.AfterFunc(cfg.Context, d.shut)
	d.addWorker()
	return d
}

func stoppedTimer(f func()) *time.Timer {
	t := time.AfterFunc(math.MaxInt64, f)
	t.Stop()
	return t
}

func (d *Dispatcher) maxWorkers() int {
	if d.cfg.MaxWorkers > 0 {
		return d.cfg.MaxWorkers
	}
	return min(runtime.GOMAXPROCS(0), runtime.NumCPU())
}

// now is the dispatcher's monotonic time.
func (d *Dispatcher) now() time.Duration { return time.Since(d.start) }

// Pause refuses messages from now on: TryQueue returns false and Done receives ErrPaused.
// Messages taken before are still sent. Topics with IgnorePause continue.
func (d *Dispatcher) Pause() {
	d.mu.Lock()
	d.paused = true
	d.mu.Unlock()
}

// Resume ends a Pause.
func (d *Dispatcher) Resume() {
	d.mu.Lock()
	d.paused = false
	d.mu.Unlock()
}

// Paused reports whether the dispatcher is paused.
func (d *Dispatcher) Paused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paused
}

// Drain waits until every message taken has been resolved, its callback
// included, or until ctx ends; then its error wraps ctx's. New messages are
// taken meanwhile and waited for too: stop the producers first. Messages held
// for a clock tick need that tick: Release them, or all with ReleaseAll.
func (d *Dispatcher) Drain(ctx context.Context) error {
	d.mu.Lock()
	if d.outstanding == 0 {
		d.mu.Unlock()
		return nil
	}
	drained := make(chan struct{})
	d.drainers = append(d.drainers, drained)
	d.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("drain dispatcher: %w", context.Cause(ctx))
	}
}

// Close refuses messages from now on, ends the waits of policy Block and ends the publishers'
// context. It discards what is queued: each callback runs with flow.ErrClosed on Close's goroutine.
// Then it waits for publishers still running, until ctx ends; its error wraps ctx's. Later
// calls only wait.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.shut()
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for running publishers: %w", context.Cause(ctx))
	}
}

// Closed returns a channel that is closed when the dispatcher is closed and its
// last publisher and callback have returned.
func (d *Dispatcher) Closed() <-chan struct{} { return d.done }

// shut is the part of Close that doesn't wait for workers.
func (d *Dispatcher) shut() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.closed = true
	d.detach()
	for _, t := range []*time.Timer{d.pulse, d.retire, d.trim, d.hold} {
		t.Stop()
	}
	var discarded taskList
	for _, t := range d.topics {
		t.discard(&discarded)
	}
	d.waiting.failAll(flow.ErrClosed)
	d.retireWorkers(len(d.idle))
	d.settle()
	d.mu.Unlock()
	d.cancel()
	d.fail(&discarded, flow.ErrClosed)
	for _, t := range d.topics { // no topic is added or removed any more
		t.closeLogs()
	}
}

// fail runs the callbacks of tasks that left their queue unsent, in order, on
// the caller's goroutine; d.mu must not be held.
func (d *Dispatcher) fail(tasks *taskList, err error) {
	if tasks.head == nil {
		return
	}
	defer d.fail(tasks, err) // those left if a callback calls runtime.Goexit
	for tasks.head != nil {
		d.failFirst(tasks, err)
	}
}

func (d *Dispatcher) failFirst(tasks *taskList, err error) {
	k := tasks.head
	tasks.remove(k)
	defer func() {
		d.mu.Lock()
		k.payload.recycle()
		d.outstanding--
		d.settle()
		d.mu.Unlock()
	}()
	k.topic.callBack(k.done, err)
}

// settle wakes those who wait for the dispatcher to be empty or gone; d.mu must
// be held, after outstanding or workers fell.
func (d *Dispatcher) settle() {
	if d.outstanding > 0 {
		return
	}
	for _, drained := range d.drainers {
		close(drained)
	}
	d.drainers = d.drainers[:0]
	if d.closed && d.workers == 0 {
		select {
		case <-d.done:
		default:
			close(d.done)
		}
	}
}
