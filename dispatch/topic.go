package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// ThreadCached is implemented by message types (pointers) that the dispatcher copies when they
// are queued. So the sender may reuse its buffers at once (law D3). NewTopic detects it.
type ThreadCached[T any] interface {
	// CopyToCache copies the whole message into dst, deeply, reusing dst's
	// buffers where they are large enough. dst is a zero value or an earlier
	// message of the same CacheKey; every field must be set or cleared. It runs
	// on the goroutine that queues the message; if it ends that, the message is
	// refused.
	CopyToCache(dst T)
	// CacheKey groups messages whose copies can take each other's place, for
	// instance those of one buffer size. A constant is right where all can.
	CacheKey() uint64
}

// Sized is implemented by messages that know their size in bytes. It is what
// TopicConfig.MaxBytes and the byte counts of statistics need.
type Sized interface{ SizeBytes() int64 }

// TopicConfig configures a topic. The zero value is ready for use: unordered,
// policy Block, 64 messages or 64 MiB deep.
type TopicConfig struct {
	// Policy says what happens to a message when the queue is full (law D6). Under
	// Exclusive the topic is the token of tasks without one of their own (law D4).
	Policy flow.Policy
	// Ordered sends the messages one at a time in the order of the TryQueue
	// calls. Otherwise several workers may send at once and overtake each other.
	Ordered bool
	// Lane is a lane shared with other topics; it implies Ordered. It must be of
	// the same dispatcher. (optional)
	Lane *Lane
	// Depth is the most messages that may wait, running ones not counted. Those of callbacks
	// may exceed it where all workers would wait for one another. (optional; default 64)
	Depth int
	// MaxBytes is the most bytes that may wait, for Sized messages; negative: no
	// limit. One message that is larger by itself is let into an empty queue.
	// (optional; default 64 MiB)
	MaxBytes int64
	// BlockLimit ends the waits of policy Block and WaitForToken. (optional;
	// default: no limit)
	BlockLimit time.Duration
	// WaitForToken lets the caller wait for a busy exclusive token instead of
	// dropping the message, as deterministic runs need.
	WaitForToken bool
	// IgnorePause takes messages while the dispatcher is paused too: a clock goes on
	// then, and what peers say is heard.
	IgnorePause bool
	// Gated holds back messages that were captured later than the last Dispatcher.Release
	// (law T4). Their type has to be [simtime.Stamped].
	Gated bool
	// NoWaitWarning is for callers that are meant to wait for room, as those of a stepped run: their
	// waits are counted, but not logged.
	NoWaitWarning bool
	// Logger is told of the topic's failures. (optional; default: the dispatcher's)
	Logger *slog.Logger
	// Expected reports errors of the publisher that are not to be logged, since the log's
	// reader knows of their cause. They are counted and given to Done all the same. It runs on
	// any goroutine. (optional; default: none is)
	Expected func(err error) bool
}

const (
	defaultDepth    = 64
	defaultMaxBytes = 64 << 20
	// initialCost is assumed for a topic's messages until one has been timed.
	initialCost = 100_000 // ns
)

func (c *TopicConfig) setDefaults() {
	if c.Depth == 0 {
		c.Depth = defaultDepth
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.Lane != nil {
		c.Ordered = true
	}
}

// Task is what goes with a message beside its data.
type Task struct {
	// Done is called exactly once with the message's fate (law D2): nil when the
	// publisher returned without error, else the reason. It runs on a worker, or
	// on the goroutine of the call that refused or discarded the message; it
	// must not wait for the dispatcher. Messages that it queues itself need FromCallback. (optional)
	Done func(err error)
	// Token makes the task exclusive. While one with an equal token is queued or running on any
	// topic of the dispatcher, others are refused (law D4). Any comparable value will do.
	// (optional)
	Token any
	// FromCallback says that a Done of the same dispatcher queues the message. A callback that
	// waits for room or a token keeps its worker from making any. So another worker stands in
	// for it, and where all of them come to wait, one gets its room beyond the queue's depth.
	// Callbacks that wait without saying so may wait for ever. It makes no difference to a
	// message that needn't wait. It is for the Done of messages that a worker had: that of a refused message
	// runs on the goroutine that offered it, which holds no worker. (optional)
	FromCallback bool
}

// topic is the untyped half of a Topic. d.mu guards all that changes.
type topic struct {
	d    *Dispatcher
	name string
	cfg  TopicConfig
	lane *Lane
	err  error // why nothing can be sent; set by NewTopic

	closed   bool
	queued   int
	reserved int   // admitted, being copied
	bytes    int64 // of queued and reserved messages
	running  int
	waiters  waiterList
	warned   bool  // of blocking
	cost     int64 // running mean of the publishing time, ns
	counts
	times timings
	log   failureLog // of the publisher
	// callbackLog is of callbacks that panicked.
	callbackLog failureLog
	stock       interface { // the pool
		trim() bool
		close()
		usage() PoolStats
	}
}

// Topic queues messages of one type for one publisher. All methods may be
// called from any goroutine.
type Topic[T any] struct {
	topic
	publishFunc func(context.Context, T) error
	pool        pool[T]
	fresh       func() T // makes a cached instance; nil: T is not ThreadCached
	sized       bool
	gated       bool // cfg.Gated, of a simtime.Stamped type
	describes   bool // the message's own methods are asked before queueing
}

// NewTopic returns a topic of d that sends by calling publish on d's workers. The context that
// publish receives ends when d closes. If T, a pointer type, implements ThreadCached, messages
// are copied when they are queued. Otherwise values are copied shallowly, and what they point
// to must stay unchanged until Done.
//
// A nil d or publish or an impossible cfg makes a topic that refuses every
// message with the error that Err returns.
func NewTopic[T any](d *Dispatcher, name string, publish func(context.Context, T) error, cfg TopicConfig) *Topic[T] {
	cfg.setDefaults()
	orphan := d == nil
	if orphan {
		d = New(Config{})
		d.shut()
	}
	t := &Topic[T]{publishFunc: publish}
	t.topic = topic{d: d, name: name, cfg: cfg, cost: initialCost, stock: &t.pool}
	t.inspectType()
	t.err = t.validate(publish == nil, orphan)
	logger := cmp.Or(cfg.Logger, d.cfg.Logger)
	t.log = failureLog{logger: logger, level: slog.LevelWarn, message: "publish failed", topic: name}
	t.callbackLog = failureLog{logger: logger, level: slog.LevelError, message: "callback panicked", topic: name}
	t.pool = newPool[T](max(cfg.Depth, 0), d.maxWorkers(), cfg.MaxBytes)
	t.lane = cfg.Lane
	switch {
	case t.lane != nil:
	case cfg.Ordered:
		t.lane = NewLane(d)
	default:
		t.lane = newUnorderedLane(d)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.closed = d.closed; !t.closed {
		d.topics = append(d.topics, &t.topic)
	}
	return t
}

// inspectType finds out, once, what T implements.
func (t *Topic[T]) inspectType() {
	typ := reflect.TypeFor[T]()
	if typ.Kind() == reflect.Pointer && typ.Implements(reflect.TypeFor[ThreadCached[T]]()) {
		t.fresh = func() T { return reflect.New(typ.Elem()).Interface().(T) }
	}
	t.sized = typ.Implements(reflect.TypeFor[Sized]())
	t.gated = t.cfg.Gated && typ.Implements(reflect.TypeFor[simtime.Stamped]())
	t.describes = t.fresh != nil || t.sized || t.gated
}

func (t *Topic[T]) validate(noPublisher, noDispatcher bool) error {
	var reason string
	switch typ := reflect.TypeFor[T](); {
	case noDispatcher:
		reason = "no dispatcher"
	case noPublisher:
		reason = "no publisher"
	case t.cfg.Depth < 0:
		reason = fmt.Sprintf("depth %d is negative", t.cfg.Depth)
	case !t.cfg.Policy.Valid():
		reason = fmt.Sprintf("unknown policy %d", t.cfg.Policy)
	case t.cfg.Lane != nil && t.cfg.Lane.d != t.d:
		reason = "its lane is of another dispatcher"
	case t.cfg.Gated && !typ.Implements(reflect.TypeFor[simtime.Stamped]()):
		reason = fmt.Sprintf("it is gated, but %v has no method Captured() simtime.Stamp", typ)
	default:
		return nil
	}
	return fmt.Errorf("topic %q: %w: %s", t.name, ErrConfig, reason)
}

// Name returns the topic's name.
func (t *topic) Name() string { return t.name }

// Err returns why the topic refuses all messages, an error that wraps
// ErrConfig, or nil.
func (t *topic) Err() error { return t.err }

// callBack runs a callback; its panic is logged and goes no further (law D7).
func (t *topic) callBack(done func(error), err error) {
	if done == nil {
		return
	}
	var panicked error
	defer func() {
		if panicked != nil {
			t.callbackLog.failed(panicked)
		}
	}()
	defer flow.Recover(&panicked)
	done(err)
}

// Close refuses messages from now on and discards those that wait, as
// Dispatcher.Close does for all topics; their callbacks run with flow.ErrClosed on
// Close's goroutine. Messages being published are not waited for. Calling it
// again does nothing.
func (t *topic) Close() {
	d := t.d
	d.mu.Lock()
	if t.closed || d.closed {
		d.mu.Unlock()
		return
	}
	t.closed = true
	d.topics = slices.DeleteFunc(d.topics, func(other *topic) bool { return other == t })
	var discarded taskList
	t.discard(&discarded)
	d.queueLane(t.lane)
	d.staff()
	d.mu.Unlock()
	d.fail(&discarded, flow.ErrClosed)
	t.closeLogs()
}

func (t *topic) closeLogs() {
	t.log.close()
	t.callbackLog.close()
}

// discard moves the topic's queued tasks to into and fails its blocked callers;
// d.mu must be held.
func (t *topic) discard(into *taskList) {
	for w := t.d.waiting.head; w != nil; {
		next := w.next
		if w.topic == t {
			t.d.waiting.wake(w, flow.ErrClosed)
		}
		w = next
	}
	for k := t.lane.tasks.head; k != nil; {
		next := k.next
		if k.topic == t {
			t.unqueue(k)
			t.drops.Add(flow.CauseOf(flow.ErrClosed), 1)
			if k.token != nil {
				t.d.freeToken(k.token)
			}
			into.push(k)
		}
		k = next
	}
	t.waiters.failAll(flow.ErrClosed)
	t.stock.close()
}
