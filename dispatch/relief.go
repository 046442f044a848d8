package dispatch

import (
	"bytes"
	"runtime"
	"strconv"
)

// relieve keeps callbacks from waiting for one another. It has work when all workers are in
// callbacks and some of these wait in TryQueue, for room or a token that only workers can
// free. A worker beyond the limit stands in for each of those, at most as many as the limit
// says. If all of them come to wait too, the one that has waited longest for room gets it
// beyond its queue's depth, or else the first wait for a token ends. Callbacks that are only
// slow start no worker. d.mu must be held, and no task have been taken for a while.
func (d *Dispatcher) relieve() {
	if d.blocked == 0 || len(d.idle) > 0 || int(d.callbacks.Load()) < d.workers {
		return
	}
	waiting, first := d.waitingCallbacks()
	limit := d.maxWorkers()
	switch beyond := d.workers - limit; {
	case beyond >= 0 && beyond < min(waiting, limit):
		d.addWorker()
	case beyond >= limit && waiting >= d.workers:
		d.letGo(first)
	}
}

// waitingCallbacks counts the callers in TryQueue that are callbacks of d's workers and
// returns the first of them, for room before those for a token. Callers that aren't
// known yet are asked who they are, which shows at the next look. d.mu must be held.
func (d *Dispatcher) waitingCallbacks() (n int, first *waiter) {
	count := func(l *waiterList) {
		for w := l.head; w != nil; w = w.next {
			if !w.asked {
				w.asked = true
				w.signal <- stillWaiting
			}
			if w.isCallback {
				n++
				if first == nil {
					first = w
				}
			}
		}
	}
	for _, t := range d.topics {
		count(&t.waiters)
	}
	count(&d.waiting)
	return n, first
}

// letGo ends the wait of a callback for which no worker can make what it waits for. Of
// those that stand in line for room, the head goes first. d.mu must be held.
func (d *Dispatcher) letGo(w *waiter) {
	if w.task == nil {
		d.waiting.wake(w, ErrTokenBusy)
		return
	}
	t := w.task.topic
	t.grant(t.waiters.head)
}

// answer notes whether the waiter's goroutine, which must call it, is a worker's.
func (w *waiter) answer(d *Dispatcher) {
	id := goroutineID()
	d.mu.Lock()
	_, w.isCallback = d.crew[id]
	d.mu.Unlock()
}

// goroutineID returns the calling goroutine's number, which the runtime shows in the
// first line of a stack trace alone: "goroutine 18 [running]:".
func goroutineID() uint64 {
	var trace [64]byte
	line := trace[:runtime.Stack(trace[:], false)]
	number, _, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("goroutine ")), []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64) // goroutines have others than 0
	return id
}
