package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
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
	// Gated holds back messages with a stamp later than the last
	// Dispatcher.Release (law T4), for Stamped types.
	Gated bool
	// Unhurried callers are meant to wait for room, as those of a stepped run: no warning tells
	// that they do.
	Unhurried bool
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
	// must not wait for the dispatcher. (optional)
	Done func(err error)
	// Token makes the task exclusive. While one with an equal token is queued or running on any
	// topic of the dispatcher, others are refused (law D4). Any comparable value will do.
	// (optional)
	Token any
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
	gated       bool // cfg.Gated, of a Stamped type
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
	t.gated = t.cfg.Gated && typ.Implements(reflect.TypeFor[Stamped]())
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
	case t.cfg.Gated && !typ.Implements(reflect.TypeFor[Stamped]()):
		reason = fmt.Sprintf("it is gated, but %v has no Stamp method", typ)
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

// TryQueue queues a message without callback or token; see TryQueueTask.
func (t *Topic[T]) TryQueue(data T) bool { return t.TryQueueTask(data, Task{}) }

// TryQueueTask offers a message and says at once whether it was taken (law D1); only policy
// Block and WaitForToken may wait. If it returns true, the message will be published unless it
// is pushed out or the dispatcher closes. If it returns false, Done has already been called, on
// this goroutine. Its error is ErrPaused, ErrTokenBusy, ErrFull, ErrSlow, ErrClosed, ErrToken, a
// configuration error, or the *PanicError of the message's own methods. If those end the
// goroutine by runtime.Goexit, Done is called on the way out.
func (t *Topic[T]) TryQueueTask(data T, task Task) bool {
	task.Token = t.tokenOr(task.Token)
	var traits traits[T]
	if t.describes {
		if err := t.describe(data, task.Done, &traits); err != nil {
			return t.refuse(task.Done, err)
		}
	}
	var evicted taskList
	d := t.d
	d.mu.Lock()
	room, err := t.admit(task.Token, traits.bytes, &evicted)
	if err == nil {
		err = t.enqueue(data, task, &traits, admission{room, &evicted})
	}
	if err != nil {
		t.drops.Add(flow.CauseOf(err), 1)
	}
	d.mu.Unlock()
	if evicted.head != nil || err != nil {
		t.tell(task.Done, err, &evicted)
	}
	return err == nil
}

// tell calls back those whose fate an offer has settled: the evicted, and the offered
// message itself unless err is nil.
func (t *topic) tell(done func(error), err error, evicted *taskList) {
	if err != nil {
		defer t.callBack(done, err) // also if a callback of the evicted ends the goroutine
	}
	t.d.fail(evicted, ErrFull)
}

// refuse counts a message that was never admitted and calls its callback.
func (t *topic) refuse(done func(error), err error) bool {
	t.d.mu.Lock()
	t.drops.Add(flow.CauseOf(err), 1)
	t.d.mu.Unlock()
	t.callBack(done, err)
	return false
}

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
	defer recoverTo(&panicked)
	done(err)
}

// recoverTo turns a panic of the calling function into a *PanicError.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = panicError(v)
	}
}

func panicError(v any) error { return &PanicError{Value: v, Stack: debug.Stack()} }

// Close refuses messages from now on and discards those that wait, as
// Dispatcher.Close does for all topics; their callbacks run with ErrClosed on
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
	d.fail(&discarded, ErrClosed)
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
			t.d.waiting.wake(w, ErrClosed)
		}
		w = next
	}
	for k := t.lane.tasks.head; k != nil; {
		next := k.next
		if k.topic == t {
			t.unqueue(k)
			t.drops.Add(flow.CauseOf(ErrClosed), 1)
			if k.token != nil {
				t.d.freeToken(k.token)
			}
			into.push(k)
		}
		k = next
	}
	t.waiters.failAll(ErrClosed)
	t.stock.close()
}

// waiter is a caller that waits, under policy Block, for its message to find room in the
// topic's queue, or for an exclusive token. The goroutine that removes it from its list sets
// err and sends woken on signal; with err nil the caller has what it waited for. Before that,
// stillWaiting asks it once for isCallback.
type waiter struct {
	prev, next *waiter
	signal     chan signal // capacity 2
	listed     bool
	asked      bool
	isCallback bool // of a worker
	err        error
	task       *task // waits for room
	token      any   // waited for
	topic      *topic
}

// signal is what a waiter is told.
type signal uint8

const (
	woken signal = iota
	stillWaiting
)

// waiterList serves waiters first come, first served.
type waiterList struct {
	head, tail *waiter
	len        int
}

func (l *waiterList) push(w *waiter) {
	w.prev, w.next, w.listed = l.tail, nil, true
	l.len++
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
}

func (l *waiterList) remove(w *waiter) {
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.listed = nil, nil, false
	l.len--
}

func (l *waiterList) wake(w *waiter, err error) {
	l.remove(w)
	w.err = err
	w.signal <- woken
}

func (l *waiterList) failAll(err error) {
	for l.head != nil {
		l.wake(l.head, err)
	}
}

// admit decides by the topic's policy whether a message of the given size may be queued (laws
// D1, D6). It reserves the message's token and room. Under Block room may be false, and then
// the message has to stand in line for it. Messages that were pushed out are added to evicted.
// d.mu must be held; it is released while waiting for a token. On an error nothing is reserved.
func (t *topic) admit(token any, bytes int64, evicted *taskList) (room bool, err error) {
	if err := t.refusal(); err != nil {
		return false, err
	}
	if token != nil {
		if err := t.acquireToken(token); err != nil {
			return false, err
		}
	}
	room, err = t.acquireRoom(bytes, evicted)
	if err != nil && token != nil {
		t.d.freeToken(token)
	}
	return room, err
}

// refusal returns why the topic takes no messages at all now, or nil.
func (t *topic) refusal() error {
	switch {
	case t.err != nil:
		return t.err
	case t.closed || t.d.closed:
		return ErrClosed
	case t.d.paused && !t.cfg.IgnorePause:
		return ErrPaused
	}
	return nil
}

// tokenOr returns a task's token, or the topic's own under Exclusive.
func (t *topic) tokenOr(token any) any {
	if token == nil && t.cfg.Policy == flow.Exclusive {
		return t
	}
	return token
}

// acquireToken reserves an exclusive token (law D4).
func (t *topic) acquireToken(token any) error {
	d := t.d
	if !comparableToken(token) {
		return ErrToken
	}
	if _, busy := d.tokens[token]; !busy {
		d.tokens[token] = struct{}{}
		return nil
	}
	if !t.cfg.WaitForToken {
		return ErrTokenBusy
	}
	w := d.newWaiter()
	defer d.freeWaiter(w)
	w.token, w.topic = token, t
	d.waiting.push(w)
	if !t.await(w, &d.waiting) {
		return ErrTokenBusy
	}
	return w.err
}

// comparableToken reports whether the token can be a map's key that is found again.
// Only structs and arrays can hide an incomparable value in an interface; looking
// into them allocates.
func comparableToken(token any) bool {
	switch reflect.TypeOf(token).Kind() {
	case reflect.Struct, reflect.Array:
		if !reflect.ValueOf(token).Comparable() {
			return false
		}
	case reflect.Slice, reflect.Map, reflect.Func:
		return false
	}
	return equalTokens(token, token) // NaN isn't
}

func equalTokens(a, b any) bool { return a == b }

// freeToken hands the token to who waits for it, else frees it; d.mu must be
// held.
func (d *Dispatcher) freeToken(token any) {
	for w := d.waiting.head; w != nil; w = w.next {
		if w.token == token {
			d.waiting.wake(w, nil)
			return
		}
	}
	delete(d.tokens, token)
}

// hasRoom reports whether a message of the given size fits into the queue. A
// message larger than the whole queue fits into an empty one.
func (t *topic) hasRoom(bytes int64) bool {
	n := t.queued + t.reserved
	return n < t.cfg.Depth && (n == 0 || t.cfg.MaxBytes < 0 || t.bytes+bytes <= t.cfg.MaxBytes)
}

// acquireRoom reserves room in the queue by the topic's policy (law D6).
func (t *topic) acquireRoom(bytes int64, evicted *taskList) (bool, error) {
	if t.waiters.head != nil || !t.hasRoom(bytes) {
		if t.lane.runnable() {
			t.d.reinforce()
		}
		switch t.cfg.Policy.Or(flow.Block) {
		case flow.Block:
			return false, nil
		case flow.DropNewest, flow.Exclusive:
			return false, ErrFull
		case flow.DropOldest:
			for !t.hasRoom(bytes) {
				if !t.evict(evicted) {
					return false, ErrFull
				}
			}
		}
	}
	t.reserve(bytes)
	return true, nil
}

// reserve counts a message as outstanding that is admitted but not yet queued,
// so that Drain waits for it.
func (t *topic) reserve(bytes int64) {
	t.reserved++
	t.bytes += bytes
	t.d.outstanding++
}

// evict moves the topic's oldest queued task to evicted and reports whether
// there was one.
func (t *topic) evict(evicted *taskList) bool {
	for k := t.lane.tasks.head; k != nil; k = k.next {
		if k.topic == t {
			t.unqueue(k)
			t.drops.Add(flow.CauseOf(ErrFull), 1)
			if k.token != nil {
				t.d.freeToken(k.token)
			}
			evicted.push(k)
			t.d.queueLane(t.lane)
			t.d.staff()
			return true
		}
	}
	return false
}

// standInLine queues a task that admit found no room for, waiting behind the other callers.
// They are served in the order in which they came here, whichever of them wakes first. d.mu
// must be held; it is released while logging and waiting.
func (t *topic) standInLine(k *task) error {
	if t.mustWait(k) && !t.warned && !t.cfg.Unhurried {
		t.warned = true
		if t.logBlocked(k); t.closed || t.d.closed {
			return ErrClosed
		}
	}
	if !t.mustWait(k) {
		t.reserve(k.bytes)
		t.push(k)
		return nil
	}
	w := t.d.newWaiter()
	defer t.d.freeWaiter(w)
	w.task = k
	t.waiters.push(w)
	if !t.await(w, &t.waiters) {
		t.grantRoom() // to those who stood behind it
		return ErrSlow
	}
	return w.err
}

func (t *topic) mustWait(k *task) bool { return t.waiters.head != nil || !t.hasRoom(k.bytes) }

// await waits until w is woken and reports true, or takes w out of its list at
// the topic's BlockLimit and reports false. d.mu is released meanwhile.
func (t *topic) await(w *waiter, list *waiterList) bool {
	d := t.d
	d.blocked++
	d.mu.Unlock()
	served := w.wait(d, t.cfg.BlockLimit)
	d.mu.Lock()
	d.blocked--
	if !served && w.listed {
		list.remove(w)
		return false
	}
	return true // perhaps just after the limit
}

// wait waits until w is woken and reports whether it was, within limit if that is
// positive.
func (w *waiter) wait(d *Dispatcher, limit time.Duration) bool {
	if limit <= 0 {
		for <-w.signal == stillWaiting {
			w.answer(d)
		}
		return true
	}
	elapsed := flow.NewPatience(limit)
	defer elapsed.Stop()
	for {
		select {
		case told := <-w.signal:
			if told == woken {
				return true
			}
			w.answer(d)
		case <-elapsed.C():
			if elapsed.Ended() {
				return false
			}
		}
	}
}

// grantRoom queues the tasks of the callers that wait longest, as far as there
// is room; d.mu must be held.
func (t *topic) grantRoom() {
	for w := t.waiters.head; w != nil && t.hasRoom(w.task.bytes); w = t.waiters.head {
		t.grant(w)
	}
}

// grant queues the task of a caller that waits; d.mu must be held. The waiter leaves the
// list before: push can hand the task to a worker, which grants the room that it leaves.
func (t *topic) grant(w *waiter) {
	k := w.task
	t.waiters.wake(w, nil)
	t.d.granted++
	t.reserve(k.bytes)
	t.push(k)
}

func (d *Dispatcher) newWaiter() *waiter {
	if n := len(d.spareWaiters); n > 0 {
		w := d.spareWaiters[n-1]
		d.spareWaiters = d.spareWaiters[:n-1]
		return w
	}
	return &waiter{signal: make(chan signal, 2)}
}

func (d *Dispatcher) freeWaiter(w *waiter) {
	for len(w.signal) > 0 { // it was asked, or woken, as its limit passed
		<-w.signal
	}
	*w = waiter{signal: w.signal}
	d.spareWaiters = append(d.spareWaiters, w)
}

// traits is what a message's own methods say of it.
type traits[T any] struct {
	cached ThreadCached[T] // the message itself, if it is one
	key    uint64
	bytes  int64
	stamp  simtime.Stamp
}

// describe asks the message's own methods; if one of them ends the goroutine, the
// message is refused on the way out.
func (t *Topic[T]) describe(data T, done func(error), into *traits[T]) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = t.failDescribing(recover(), done)
		}
	}()
	if t.fresh != nil {
		into.cached = any(data).(ThreadCached[T])
		into.key = into.cached.CacheKey()
	}
	if t.sized {
		into.bytes = max(0, any(data).(Sized).SizeBytes())
	}
	if t.gated {
		into.stamp = any(data).(Stamped).Stamp()
	}
	returned = true
	return nil
}

// failDescribing returns a message's panic as an error; with none, it refuses the
// message whose method ends the goroutine.
func (t *topic) failDescribing(panicked any, done func(error)) error {
	if panicked == nil {
		t.refuse(done, errGoexit)
		return errGoexit
	}
	return panicError(panicked)
}

// admission is what admit has decided.
type admission struct {
	room    bool // reserved for the message
	evicted *taskList
}

// enqueue puts an admitted message into the lane, after a wait in line if it has
// no room yet. d.mu must be held; it is released while a ThreadCached message is
// copied, while logging and while waiting. On an error the reservation is undone.
func (t *Topic[T]) enqueue(data T, task Task, traits *traits[T], admitted admission) (err error) {
	m := t.pool.get(traits.key)
	if m == nil {
		m = &message[T]{owner: t}
		m.task.topic, m.task.payload = &t.topic, m
	}
	m.key, m.stamp = traits.key, traits.stamp
	m.done, m.token = task.Done, task.Token
	t.pool.charge(m, traits.bytes)
	if t.fresh == nil {
		m.data = data
	} else {
		err = t.copyToCache(traits.cached, m, admitted)
	}
	switch {
	case err != nil:
	case t.closed || t.d.closed: // during the copy
		err = ErrClosed
	case admitted.room:
		t.push(&m.task)
	default:
		err = t.standInLine(&m.task)
	}
	if err != nil {
		t.abandon(&m.task, admitted.room)
	}
	return err
}

// copyToCache copies data into m's instance (law D3), and makes the instance first if m has
// none. d.mu must be held; it is released meanwhile.
func (t *Topic[T]) copyToCache(data ThreadCached[T], m *message[T], admitted admission) (err error) {
	d := t.d
	d.copying.Add(1)
	d.mu.Unlock()
	returned := false
	defer func() {
		var panicked any
		if !returned {
			panicked = recover()
		}
		d.mu.Lock()
		d.copying.Add(-1)
		if !returned {
			err = t.failCopying(&m.task, admitted, panicked)
		}
	}()
	if !m.made {
		m.data, m.made = t.fresh(), true
	}
	data.CopyToCache(m.data)
	returned = true
	return nil
}

// failCopying returns a message's panic as an error; with none, it resolves the message
// whose copy ends the goroutine.
func (t *topic) failCopying(k *task, admitted admission, panicked any) error {
	if panicked == nil {
		t.abort(k, admitted)
		return errGoexit
	}
	return panicError(panicked)
}

// abandon gives back what an admitted message held that can't be queued; room
// says whether it had any.
func (t *topic) abandon(k *task, room bool) {
	if k.token != nil {
		t.d.freeToken(k.token)
	}
	bytes := k.bytes
	k.payload.recycle()
	if room {
		t.reserved--
		t.bytes -= bytes
		t.d.outstanding--
		t.grantRoom()
		t.d.settle()
	}
}

// abort resolves an admitted message that isn't queued yet when its copy, or the
// logger, ends the goroutine. d.mu must be held; it is released.
func (t *topic) abort(k *task, admitted admission) {
	done := k.done
	t.abandon(k, admitted.room)
	t.drops.Add(flow.CauseOf(errGoexit), 1)
	t.d.mu.Unlock()
	t.tell(done, errGoexit, admitted.evicted)
}

// push appends an admitted task to the lane; d.mu must be held.
func (t *topic) push(k *task) {
	d := t.d
	t.reserved--
	t.queued++
	t.accepted++
	k.cost = t.cost
	if k.timed = t.times.sample(t.accepted); k.timed {
		k.queuedAt = d.now()
	}
	t.lane.tasks.push(k)
	d.queued++
	d.backlog += k.cost
	d.queueLane(t.lane)
	d.staff()
}

// unqueue takes a task out of its lane; d.mu must be held.
func (t *topic) unqueue(k *task) {
	t.lane.tasks.remove(k)
	t.queued--
	t.bytes -= k.bytes
	t.d.queued--
	t.d.backlog -= k.cost
}

// Publish sends a message at once on the caller's goroutine, by the same rules as a queued one.
// It is refused while paused or closed, a panic becomes a *PanicError, and it is counted. It
// doesn't wait for queued messages, so it is for topics that are only used this way, with data
// that is quick to send. The publisher gets ctx; Close waits for it, but doesn't end ctx.
func (t *Topic[T]) Publish(ctx context.Context, data T) error {
	return t.publishTask(ctx, data, Task{})
}

// publishTask is Publish with a token and a callback: the token is exclusive
// while the publisher runs, and the callback runs before the return.
func (t *Topic[T]) publishTask(ctx context.Context, data T, task Task) error {
	task.Token = t.tokenOr(task.Token)
	if err := t.beginPublish(task.Token); err != nil {
		t.callBack(task.Done, err)
		return err
	}
	err := errGoexit
	defer func() { t.endPublish(task, err) }()
	err = t.publishSafely(ctx, data)
	return err
}

// beginPublish admits a message that is published at once, or counts it as
// dropped.
func (t *topic) beginPublish(token any) error {
	d := t.d
	d.mu.Lock()
	defer d.mu.Unlock()
	err := t.refusal()
	if err == nil && token != nil {
		if err = t.acquireToken(token); err == nil && (t.closed || d.closed) { // during a wait for it
			d.freeToken(token)
			err = ErrClosed
		}
	}
	if err != nil {
		t.drops.Add(flow.CauseOf(err), 1)
		return err
	}
	t.accepted++
	t.running++
	d.outstanding++
	return nil
}

// endPublish counts the result, frees the token and runs the callback, in this
// order (law D4).
func (t *topic) endPublish(task Task, err error) {
	d := t.d
	d.mu.Lock()
	t.countResult(err)
	if task.Token != nil {
		d.freeToken(task.Token)
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		t.running--
		d.outstanding--
		d.settle()
		d.mu.Unlock()
	}()
	if err != nil {
		defer t.logFailure(err) // also if the callback ends the goroutine
	}
	t.callBack(task.Done, err)
}

var errGoexit error = &PanicError{Value: "runtime.Goexit"}

func (t *Topic[T]) publishSafely(ctx context.Context, data T) (err error) {
	defer recoverTo(&err)
	return t.publishFunc(ctx, data)
}

// logFailure logs a publisher's error, at most once a second. The end of the
// context at Close is not a failure worth a line, nor is what the topic expects.
func (t *topic) logFailure(err error) {
	if !errors.Is(err, context.Canceled) && !t.expects(err) {
		t.log.failed(err)
	}
}

// expects asks TopicConfig.Expected; the error is unexpected if that panics, which is
// logged as a callback's panic.
func (t *topic) expects(err error) bool {
	if t.cfg.Expected == nil {
		return false
	}
	var panicked error
	defer func() {
		if panicked != nil {
			t.callbackLog.failed(panicked)
		}
	}()
	defer recoverTo(&panicked)
	return t.cfg.Expected(err)
}
