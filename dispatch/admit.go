package dispatch

import (
	"reflect"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// waiter is a caller that waits, under policy Block, for its message to find room
// in the topic's queue, or for an exclusive token. Whoever removes it from its
// list sets err and sends woken on signal; with err nil the caller has what it waited
// for. Before that, stillWaiting asks it once for isCallback.
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

// admit decides whether a message of the given size may be queued, by the
// topic's policy (laws D1, D6), and reserves its token and its room; under Block
// room may be false, and then the message has to stand in line for it. Messages
// that were pushed out are added to evicted. d.mu must be held; it is released
// while waiting for a token. On an error nothing is reserved.
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
	case t.d.paused:
		return ErrPaused
	}
	return nil
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
		switch t.cfg.Policy {
		case flow.Block, flow.Unset:
			return false, nil
		case flow.DropNewest:
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
			t.drops.count(ErrFull)
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

// standInLine queues a task that admit found no room for, waiting behind the
// other callers; they are served in the order in which they came here, whoever
// of them wakes first. d.mu must be held; it is released while logging and waiting.
func (t *topic) standInLine(k *task) error {
	if t.mustWait(k) && !t.warned {
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
		return ErrFull
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
	elapsed := time.NewTimer(limit)
	defer elapsed.Stop()
	for {
		select {
		case told := <-w.signal:
			if told == woken {
				return true
			}
			w.answer(d)
		case <-elapsed.C:
			return false
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
