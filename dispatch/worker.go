package dispatch

import (
	"sync/atomic"
	"time"
)

// worker is a goroutine that publishes. Its owner is the dispatcher: it ends
// when retired or when the dispatcher is closed.
type worker struct {
	d      *Dispatcher
	id     uint64               // of its goroutine
	wake   chan struct{}        // capacity 1; closed to retire the worker
	epoch  uint64               // d.epoch when it became idle; guarded by d.mu
	handed atomic.Pointer[task] // by handOver, for accept

	// owned by the worker's goroutine
	task     *task
	resolved bool // the task's publisher has returned
	yields   bool // it has made room for a blocked sender since it was last idle
	vain     int  // how many times to sleep without lingering, after lingering in vain
	skips    int  // as many of them are left
}

// loop takes and runs tasks until the worker is retired.
func (w *worker) loop() {
	d := w.d
	defer w.replace()
	w.id = goroutineID()
	d.mu.Lock()
	d.crew[w.id] = struct{}{}
	for w.next() {
		w.resolved = false
		w.run()
		d.mu.Lock()
		d.finish(w.task)
		w.task = nil
	}
	d.workers--
	delete(d.crew, w.id)
	d.settle()
	d.mu.Unlock()
	w.d = nil // tells replace that the end is regular
}

// next sets w.task to the next task, waiting for one, and releases d.mu, which
// must be held; or it returns false, with d.mu held, when the worker shall end.
func (w *worker) next() bool {
	d := w.d
	for {
		granted := d.granted
		w.task = d.take()
		w.yields = w.yields || d.granted != granted
		switch {
		case w.task != nil:
			d.mu.Unlock()
			return true
		case d.closed:
			return false
		case w.linger():
			return true
		case d.closed: // meanwhile
			return false
		case d.ready.head != nil: // meanwhile, too
			continue
		}
		w.epoch = d.epoch
		d.idle = append(d.idle, w)
		d.mu.Unlock()
		_, kept := <-w.wake
		d.mu.Lock()
		if !kept {
			return false
		}
	}
}

// take removes the next task that may run, or returns nil; d.mu must be held.
func (d *Dispatcher) take() *task {
	l := d.ready.pop()
	if l == nil {
		return nil
	}
	k := l.tasks.head
	t := k.topic
	t.unqueue(k)
	t.running++
	l.running++
	d.taken++
	if t.waiters.head != nil {
		t.grantRoom()
	}
	d.queueLane(l)
	if d.ready.head != nil {
		d.staff()
	}
	return k
}

// run publishes w.task and calls its callback, in that order, with the token
// freed in between (law D4).
func (w *worker) run() {
	k := w.task
	t := k.topic
	var began time.Duration
	if k.timed {
		began = w.d.now()
	}
	err := w.publish(k)
	if k.timed {
		k.took = w.d.now() - began
		t.times.observe(began-k.queuedAt, k.took)
	}
	w.conclude(err)
}

func (w *worker) publish(k *task) (err error) {
	defer recoverTo(&err)
	return k.payload.publish(w.d.ctx)
}

// conclude counts the publisher's result, frees the token and runs the
// callback. finish does the counting where that saves a lock.
func (w *worker) conclude(err error) {
	k, d := w.task, w.d
	w.resolved = true
	if err != nil || k.token != nil {
		d.mu.Lock()
		k.counted = true
		k.topic.countResult(err)
		if k.token != nil {
			d.freeToken(k.token)
			k.token = nil
		}
		d.mu.Unlock()
	}
	if err != nil {
		k.callBackAndLog(err)
	} else {
		k.callBack(nil)
	}
}

func (k *task) callBack(err error) {
	if k.done != nil {
		k.calling = true
		k.topic.d.callbacks.Add(1)
		k.topic.callBack(k.done, err)
	}
}

// callBackAndLog logs the error though the callback may end the goroutine.
func (k *task) callBackAndLog(err error) {
	defer k.topic.logFailure(err)
	k.callBack(err)
}

// finish ends a task whose callback has returned; d.mu must be held.
func (d *Dispatcher) finish(k *task) {
	t := k.topic
	t.running--
	if !k.counted {
		t.sent++
	}
	if k.calling {
		d.callbacks.Add(-1)
	}
	if k.timed {
		t.cost += (int64(k.took) - t.cost) / 8
	}
	l := t.lane
	l.running--
	k.payload.recycle()
	if l.tasks.head != nil {
		d.queueLane(l)
	}
	d.outstanding--
	if d.outstanding == 0 {
		d.settle()
	}
	if !d.trimArmed && !d.closed {
		d.trimArmed = true
		d.trim.Reset(d.cfg.TrimTimeout)
	}
}

// replace takes over when a publisher or callback has ended the worker's
// goroutine by runtime.Goexit: the task is concluded and another worker started
// (law D7).
func (w *worker) replace() {
	d := w.d
	if d == nil || w.task == nil {
		return
	}
	defer func() { // the callback may end the goroutine again
		d.mu.Lock()
		d.finish(w.task)
		d.workers--
		delete(d.crew, w.id)
		d.addWorker()
		d.mu.Unlock()
	}()
	if !w.resolved {
		w.conclude(errGoexit)
	}
}
