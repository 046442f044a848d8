package flow

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// QueueConfig says how much a queue holds. The zero value stands for the defaults.
type QueueConfig struct {
	Policy Policy
	// Messages and Bytes bound what waits; 64 and 64 MiB by default. A message
	// that is larger than Bytes is held as long as it is alone.
	Messages int
	Bytes    int64
	// BlockLimit is how long policy Block waits, as Patience counts it; 1 s by default.
	BlockLimit time.Duration
}

func (c QueueConfig) orDefaults() QueueConfig {
	if c.Messages <= 0 {
		c.Messages = 64
	}
	if c.Bytes <= 0 {
		c.Bytes = 64 << 20
	}
	if c.BlockLimit <= 0 {
		c.BlockLimit = time.Second
	}
	return c
}

// Queue is the line of messages of type T before one receiver. A message that was
// pushed is either taken or dropped, once. Steady state allocates nothing.
type Queue[T any] struct {
	config QueueConfig
	policy atomic.Uint32 // config's, until SetPolicy
	drop   func(T, Cause)
	// ready has a token when there may be something to take, room when there may be
	// room for somebody who waits.
	ready, room chan struct{}
	timers      sync.Pool // of *Patience
	hastened    chan struct{}
	hasten      sync.Once
	haste       time.Duration // written before hastened is closed

	mu      sync.Mutex
	items   Ring[item[T]] // guarded by mu
	bytes   int64         // guarded by mu
	waiting int           // guarded by mu: senders that wait for room
	stalled bool          // guarded by mu: nothing was taken since a wait ended in vain
	closed  bool          // guarded by mu
}

type item[T any] struct {
	value T
	size  int64
}

// NewQueue returns an empty queue. drop is called for every message that was pushed and
// will not be taken, on the goroutine that causes it, without a lock held.
func NewQueue[T any](config QueueConfig, drop func(T, Cause)) *Queue[T] {
	q := &Queue[T]{
		config: config.orDefaults(), drop: drop,
		ready: make(chan struct{}, 1), room: make(chan struct{}, 1), hastened: make(chan struct{}),
	}
	q.SetPolicy(config.Policy)
	return q
}

// SetPolicy changes what TryPush and Push do when the queue is full.
func (q *Queue[T]) SetPolicy(p Policy) { q.policy.Store(uint32(p)) }

// Hasten bounds the waits of policy Block from now on, those that are under way too: each ends
// after limit, or earlier where BlockLimit does. The first call holds.
func (q *Queue[T]) Hasten(limit time.Duration) {
	q.hasten.Do(func() {
		q.haste = limit
		close(q.hastened)
	})
}

// outcome is what became of a message that was offered.
type outcome uint8

const (
	queued outcome = iota
	refused
	finished
	mayWait
)

// offer queues a message if there is room, or makes room as the policy has it. Unless
// it was queued the message is the caller's still.
func (q *Queue[T]) offer(v T, size int64, policy Policy) outcome {
	for {
		q.mu.Lock()
		switch {
		case q.closed:
			q.mu.Unlock()
			return finished
		case policy == Exclusive && q.items.Len() > 0:
			q.mu.Unlock()
			return refused
		case q.fits(size):
			q.append(v, size)
			q.mu.Unlock()
			signal(q.ready)
			return queued
		case policy == DropNewest || policy == Block && q.stalled:
			q.mu.Unlock()
			return refused
		case policy == Block:
			q.mu.Unlock()
			return mayWait
		}
		oldest := q.take()
		q.mu.Unlock()
		q.drop(oldest, CauseQueueFull)
	}
}

// TryPush offers a message of so many bytes without waiting. It reports false if
// the policy is Block and the queue is full, so that Push may wait: the message is
// then the caller's still. Otherwise the message is queued or dropped, and what the
// policy has pushed out with it.
func (q *Queue[T]) TryPush(v T, size int64) bool {
	return q.TryPushUnder(Policy(q.policy.Load()), v, size)
}

// TryPushUnder is TryPush under a policy of the message's own.
func (q *Queue[T]) TryPushUnder(policy Policy, v T, size int64) bool {
	switch q.offer(v, size, policy) {
	case mayWait:
		return false
	case refused:
		q.drop(v, CauseQueueFull)
	case finished:
		q.drop(v, CauseClosed)
	}
	return true
}

// Push offers a message like TryPush. With policy Block it waits for room until the time limit
// has passed or ctx ends; then the message is dropped.
func (q *Queue[T]) Push(ctx context.Context, v T, size int64) { q.PushAfter(ctx, v, size, 0) }

// PushAfter is Push for a sender that has spent so much of the time limit already, on
// other receivers of the message.
func (q *Queue[T]) PushAfter(ctx context.Context, v T, size int64, spent time.Duration) {
	if !q.TryPush(v, size) {
		q.Await(ctx, v, size, spent)
	}
}

// Await is PushAfter for a message that TryPush or TryPushUnder left to be waited for. It returns
// how much of the time limit that has spent.
func (q *Queue[T]) Await(ctx context.Context, v T, size int64, spent time.Duration) (waited time.Duration) {
	got, waited := q.await(ctx, v, size, spent)
	switch got {
	case refused:
		q.drop(v, CauseQueueFull)
	case finished:
		q.drop(v, CauseClosed)
	}
	return waited
}

// Offer is Push under a policy of the message's own, for messages of several kinds that
// wait in one line. A message that isn't queued is the caller's still, and the error says
// why: ErrFull, or ErrClosed.
func (q *Queue[T]) Offer(ctx context.Context, v T, size int64, policy Policy) error {
	got := q.offer(v, size, policy)
	if got == mayWait {
		got, _ = q.await(ctx, v, size, 0)
	}
	switch got {
	case refused:
		return ErrFull
	case finished:
		return ErrClosed
	}
	return nil
}

// await offers a message with policy Block again and again, until what is left of the
// time limit has passed.
func (q *Queue[T]) await(ctx context.Context, v T, size int64, spent time.Duration) (got outcome, waited time.Duration) {
	limit := q.config.BlockLimit - spent
	timer := q.borrowTimer(limit)
	defer q.giveBack(timer)
	q.wait(1)
	defer q.wait(-1)
	for hastened := q.hastened; ; {
		if got := q.offer(v, size, Block); got != mayWait {
			return got, waited + timer.Spent()
		}
		select {
		case <-q.room:
		case <-hastened:
			hastened = nil
			waited = timer.Spent()
			timer.Reset(min(limit-waited, q.haste-spent))
		case <-ctx.Done():
			return refused, waited + timer.Spent()
		case <-timer.C():
			if !timer.Ended() {
				continue
			}
			q.mu.Lock()
			q.stalled = true
			q.mu.Unlock()
			return refused, waited + timer.Spent()
		}
	}
}

// wait counts a sender that waits for room. One that doesn't any more passes a
// token on, which it may have had for itself.
func (q *Queue[T]) wait(change int) {
	q.mu.Lock()
	q.waiting += change
	pass := q.waiting > 0
	q.mu.Unlock()
	if pass {
		signal(q.room)
	}
}

// fits reports whether there is room; mu must be held.
func (q *Queue[T]) fits(size int64) bool {
	n := q.items.Len()
	return n == 0 || n < q.config.Messages && q.bytes+size <= q.config.Bytes
}

// append adds at the tail; mu must be held.
func (q *Queue[T]) append(v T, size int64) {
	q.items.Push(item[T]{v, size})
	q.bytes += size
}

// take removes the oldest; mu must be held, and the queue not be empty.
func (q *Queue[T]) take() T {
	it := q.items.Pop()
	q.bytes -= it.size
	return it.value
}

// Pop takes the oldest message, or reports that there is none.
func (q *Queue[T]) Pop() (v T, ok bool) {
	q.mu.Lock()
	if ok = q.items.Len() > 0; ok {
		v = q.take()
		q.stalled = false
	}
	wake := ok && q.waiting > 0
	q.mu.Unlock()
	if wake {
		signal(q.room)
	}
	return v, ok
}

// Ready delivers a value after messages were pushed, or after Close or Finish: a
// receiver that found nothing to Pop waits for it. It may deliver once too often.
func (q *Queue[T]) Ready() <-chan struct{} { return q.ready }

// Wake makes Ready deliver a value, for a receiver that waits for other things too.
func (q *Queue[T]) Wake() { signal(q.ready) }

// MaxBytes returns how many bytes the queue holds at the most.
func (q *Queue[T]) MaxBytes() int64 { return q.config.Bytes }

// Len returns the number of messages and of bytes that wait.
func (q *Queue[T]) Len() (messages int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.Len(), q.bytes
}

// Finish lets nothing more in; what is queued may still be taken.
func (q *Queue[T]) Finish() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.room)
	signal(q.ready)
}

// Finished reports whether Finish or Close was called.
func (q *Queue[T]) Finished() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Close drops what waits and lets nothing more in. It may be called again.
func (q *Queue[T]) Close() {
	q.Finish()
	for {
		v, ok := q.Pop()
		if !ok {
			return
		}
		q.drop(v, CauseClosed)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (q *Queue[T]) borrowTimer(d time.Duration) *Patience {
	if t, ok := q.timers.Get().(*Patience); ok {
		t.Reset(d)
		return t
	}
	return NewPatience(d)
}

func (q *Queue[T]) giveBack(t *Patience) {
	t.Stop()
	q.timers.Put(t)
}
