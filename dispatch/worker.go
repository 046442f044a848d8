package dispatch

import "time"

// wakeBacklog is the expected work, for each awake worker, from which waking
// another one pays: some multiple of the time that waking takes.
const wakeBacklog = 20 * time.Microsecond

// pulsePeriod is how often the backlog's progress is checked while there is one.
const pulsePeriod = time.Millisecond

// worker is a goroutine that publishes. Its owner is the dispatcher: it ends
// when retired or when the dispatcher is closed.
type worker struct {
	d     *Dispatcher
	wake  chan struct{} // capacity 1
	epoch uint64        // d.epoch when it became idle; guarded by d.mu

	// owned by the worker's goroutine
	task     *task
	resolved bool // the task's publisher has returned
}

// addWorker starts a worker; d.mu must be held.
func (d *Dispatcher) addWorker() {
	w := &worker{d: d, wake: make(chan struct{}, 1)}
	d.workers++
	if d.workers > 1 && !d.retireArmed {
		d.retireArmed = true
		d.retire.Reset(d.cfg.IdleTimeout / 2)
	}
	go w.loop()
}

// loop takes and runs tasks until the worker is retired.
func (w *worker) loop() {
	d := w.d
	defer w.replace()
	d.mu.Lock()
	for w.next() {
		d.mu.Unlock()
		w.run()
		d.mu.Lock()
		d.finish(w.task)
		w.task = nil
	}
	d.workers--
	d.settle()
	d.mu.Unlock()
	w.d = nil // tells replace that the end is regular
}

// next sets w.task to the next task, waiting for one, or returns false when the
// worker shall end. d.mu must be held; it is released while waiting.
func (w *worker) next() bool {
	d := w.d
	for {
		if w.task = d.take(); w.task != nil {
			w.resolved = false
			return true
		}
		if d.closed {
			return false
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
		k.topic.logFailure(err)
	}
	if k.done != nil {
		k.calling = true
		d.callbacks.Add(1)
		k.topic.callBack(k.done, err)
	}
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
	if !w.resolved {
		w.conclude(errGoexit)
	}
	d.mu.Lock()
	d.finish(w.task)
	d.workers--
	d.addWorker()
	d.mu.Unlock()
}

// staff wakes or starts a worker if the ready tasks need one (law D5); d.mu
// must be held.
func (d *Dispatcher) staff() {
	if d.ready.head == nil {
		return
	}
	awake := int64(d.workers - len(d.idle))
	switch {
	case len(d.idle) > 0 && (awake == 0 || d.backlog > awake*int64(wakeBacklog)):
		d.wakeWorker()
	case len(d.idle) == 0 && d.backlog > awake*int64(d.cfg.Cycle) && d.workers < d.maxWorkers():
		d.addWorker()
	case !d.pulseArmed && !d.closed:
		d.pulseArmed, d.pulseTaken = true, d.taken
		d.pulse.Reset(pulsePeriod)
	}
}

// reinforce wakes or starts a worker, as far as the limit goes, whatever the
// expected backlog; d.mu must be held.
func (d *Dispatcher) reinforce() {
	switch {
	case len(d.idle) > 0:
		d.wakeWorker()
	case d.workers < d.maxWorkers():
		d.addWorker()
	default:
		d.relieve()
	}
}

// relieve starts a worker beyond the limit if all of them are in callbacks while
// senders wait: the callbacks may be those senders, which would wait for one
// another. Each worker that is started so lets one of them go on. d.mu must be
// held.
func (d *Dispatcher) relieve() {
	if d.blocked > 0 && int(d.callbacks.Load()) >= d.workers && len(d.idle) == 0 && d.ready.head != nil {
		d.addWorker()
	}
}

func (d *Dispatcher) wakeWorker() {
	last := len(d.idle) - 1
	w := d.idle[last]
	d.idle[last] = nil
	d.idle = d.idle[:last]
	w.wake <- struct{}{}
}

// onPulse adds a worker if the queue, at the pace since the last pulse, would
// not be empty within a cycle: estimates can be wrong, and a publisher can hang.
func (d *Dispatcher) onPulse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pulseArmed = false
	if d.closed || d.ready.head == nil {
		return
	}
	taken := d.taken - d.pulseTaken
	pulses := max(1, uint64(d.cfg.Cycle/pulsePeriod))
	if uint64(d.queued) > taken*pulses {
		d.reinforce()
	}
	d.pulseArmed, d.pulseTaken = true, d.taken
	d.pulse.Reset(pulsePeriod)
}

// onRetire ends the workers that were idle for IdleTimeout, all but one. It runs
// every half of it, so an idle worker that it meets the third time is old enough.
func (d *Dispatcher) onRetire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.retireArmed = false
	if d.closed {
		return
	}
	d.epoch++
	stale := 0
	for stale < len(d.idle) && d.workers-stale > 1 && d.epoch-d.idle[stale].epoch >= 3 {
		stale++
	}
	d.retireWorkers(stale)
	if d.workers-stale > 1 {
		d.retireArmed = true
		d.retire.Reset(d.cfg.IdleTimeout / 2)
	}
}

// retireWorkers ends the n workers idle for the longest time; d.mu must be
// held.
func (d *Dispatcher) retireWorkers(n int) {
	for _, w := range d.idle[:n] {
		close(w.wake)
	}
	kept := copy(d.idle, d.idle[n:])
	clear(d.idle[kept:])
	d.idle = d.idle[:kept]
}

// onTrim leaves unused cached messages to the garbage collector.
func (d *Dispatcher) onTrim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trimArmed = false
	if d.closed {
		return
	}
	for _, t := range d.topics {
		if t.stock.trim() {
			d.trimArmed = true
		}
	}
	if d.trimArmed {
		d.trim.Reset(d.cfg.TrimTimeout)
	}
}
