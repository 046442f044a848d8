package dispatch

import (
	"time"

	"github.com/raybridge/raybridge/flow"
)

// waiter is a caller that waits, under policy Block, for its message to find room in the
// topic's queue, or for an exclusive token. The goroutine that removes it from its list sets
// err and wakes it; with err nil the caller has what it waited for.
type waiter struct {
	prev, next   *waiter
	woken        chan struct{} // capacity 1
	listed       bool
	fromCallback bool // Task.FromCallback
	err          error
	task         *task // waits for room
	token        any   // waited for
	topic        *topic
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
	w.woken <- struct{}{}
}

func (l *waiterList) failAll(err error) {
	for l.head != nil {
		l.wake(l.head, err)
	}
}

// standInLine queues a task that admit found no room for, waiting behind the other callers.
// They are served in the order in which they came here, whichever of them wakes first. d.mu
// must be held; it is released while logging and waiting.
func (t *topic) standInLine(k *task) error {
	if t.mustWait(k) && !t.warned && !t.cfg.NoWaitWarning {
		t.warned = true
		if t.logBlocked(k); t.closed || t.d.closed {
			return flow.ErrClosed
		}
	}
	if !t.mustWait(k) {
		t.reserve(k.bytes)
		t.push(k)
		return nil
	}
	w := t.d.newWaiter()
	defer t.d.freeWaiter(w)
	w.task, w.fromCallback = k, k.fromCallback
	t.waiters.push(w)
	if !t.await(w, &t.waiters) {
		t.grantRoom() // to those who stood behind it
		return flow.ErrPeerSlow
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
	served := w.wait(t.cfg.BlockLimit)
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
func (w *waiter) wait(limit time.Duration) bool {
	if limit <= 0 {
		<-w.woken
		return true
	}
	elapsed := flow.NewPatience(limit)
	defer elapsed.Stop()
	for {
		select {
		case <-w.woken:
			return true
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
	return &waiter{woken: make(chan struct{}, 1)}
}

func (d *Dispatcher) freeWaiter(w *waiter) {
	select {
	case <-w.woken: // as its limit passed
	default:
	}
	*w = waiter{woken: w.woken}
	d.spareWaiters = append(d.spareWaiters, w)
}
