package dispatch

import (
	"reflect"
	"time"
)

// waiter is a caller that waits, under policy Block, for room in a topic's queue
// or for an exclusive token. Whoever removes it from its list sets err and
// sends on signal; with err nil the caller has what it waited for.
type waiter struct {
	prev, next *waiter
	signal     chan struct{} // capacity 1
	listed     bool
	err        error
	bytes      int64
	token      any
}

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
	w.signal <- struct{}{}
}

func (l *waiterList) failAll(err error) {
	for l.head != nil {
		l.wake(l.head, err)
	}
}

// admit decides whether a message of the given size may be queued, waiting
// where the topic's configuration says so, and reserves its token and its room
// (law D1). Messages that it pushed out are added to evicted. d.mu must be held
// and is released while waiting. On an error nothing is reserved.
func (t *topic) admit(token any, bytes int64, evicted *taskList) error {
	if err := t.refusal(); err != nil {
		return err
	}
	if token != nil {
		if err := t.acquireToken(token); err != nil {
			return err
		}
	}
	if err := t.acquireRoom(bytes, evicted); err != nil {
		if token != nil {
			t.d.freeToken(token)
		}
		return err
	}
	t.d.outstanding++
	return nil
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
	if !reflect.ValueOf(token).Comparable() {
		return ErrToken
	}
	if _, busy := d.tokens[token]; !busy {
		d.tokens[token] = struct{}{}
		return nil
	}
	if !t.cfg.WaitForToken {
		return ErrTokenBusy
	}
	w := waiter{signal: make(chan struct{}, 1), token: token}
	d.waiting.push(&w)
	if !t.await(&w, &d.waiting) {
		return ErrTokenBusy
	}
	return w.err
}

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
func (t *topic) acquireRoom(bytes int64, evicted *taskList) error {
	if t.waiters.head != nil || !t.hasRoom(bytes) {
		t.d.reinforce(t.lane)
		switch t.cfg.Policy {
		case Block:
			return t.awaitRoom(bytes)
		case DropNewest:
			return ErrFull
		case DropOldest:
			for !t.hasRoom(bytes) {
				if !t.evict(evicted) {
					return ErrFull
				}
			}
		}
	}
	t.reserved++
	t.bytes += bytes
	return nil
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
			return true
		}
	}
	return false
}

// awaitRoom waits in line for room; grantRoom reserves it for the waiter.
func (t *topic) awaitRoom(bytes int64) error {
	w := t.d.newWaiter()
	defer t.d.freeWaiter(w)
	w.bytes = bytes
	t.waiters.push(w)
	if !t.warned {
		t.warned = true
		t.logBlocked()
	}
	if !t.await(w, &t.waiters) {
		return ErrFull
	}
	return w.err
}

// await waits until w is woken and reports true, or takes w out of its list at
// the topic's BlockLimit and reports false. d.mu is released meanwhile.
func (t *topic) await(w *waiter, list *waiterList) bool {
	d := t.d
	d.mu.Unlock()
	if t.cfg.BlockLimit > 0 {
		limit := time.NewTimer(t.cfg.BlockLimit)
		defer limit.Stop()
		select {
		case <-w.signal:
			d.mu.Lock()
			return true
		case <-limit.C:
		}
		d.mu.Lock()
		if w.listed {
			list.remove(w)
			return false
		}
		<-w.signal // woken at the same instant; the send is already done
		return true
	}
	<-w.signal
	d.mu.Lock()
	return true
}

// grantRoom gives freed room to the callers that wait longest; d.mu must be
// held.
func (t *topic) grantRoom() {
	for w := t.waiters.head; w != nil && t.hasRoom(w.bytes); w = t.waiters.head {
		t.reserved++
		t.bytes += w.bytes
		t.waiters.wake(w, nil)
	}
}

func (d *Dispatcher) newWaiter() *waiter {
	if n := len(d.spareWaiters); n > 0 {
		w := d.spareWaiters[n-1]
		d.spareWaiters = d.spareWaiters[:n-1]
		return w
	}
	return &waiter{signal: make(chan struct{}, 1)}
}

func (d *Dispatcher) freeWaiter(w *waiter) {
	w.err, w.token, w.bytes = nil, nil, 0
	d.spareWaiters = append(d.spareWaiters, w)
}
