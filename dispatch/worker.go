package dispatch

import (
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// worker is a goroutine that publishes. Its owner is the dispatcher: it ends
// when retired or when the dispatcher is closed.
type worker struct {
	d      *Dispatcher
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
	d.mu.Lock()
	for w.next() {
		w.resolved = false
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

// next sets w.task to the next task, waiting for one, and releases d.mu, which must be held. Or
// it returns false, with d.mu held, when the worker must end.
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
	defer flow.Recover(&err)
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
		d.addWorker()
		d.mu.Unlock()
	}()
	if !w.resolved {
		w.conclude(errGoexit)
	}
}

// wakeBacklog is the expected work, for each awake worker, from which waking
// another one pays: about the time that waking takes.
const wakeBacklog = 50 * time.Microsecond

// pulsePeriod is how soon a backlog's progress is checked. While many tasks are taken in
// between, the next checks come later, up to a cycle. A timer that fires each millisecond costs
// a busy sender a tenth of its time on a small machine.
const (
	pulsePeriod = time.Millisecond
	pulseTasks  = 64 // that are many
)

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

// staff gives the ready tasks to the lingering worker, or wakes or starts one, if
// they need it (law D5); d.mu must be held.
func (d *Dispatcher) staff() {
	if d.ready.head == nil || d.handOver() {
		return
	}
	awake := int64(d.workers - len(d.idle))
	switch {
	case len(d.idle) > 0 && (awake == 0 || d.backlog > awake*int64(wakeBacklog)):
		d.wakeWorker()
	case len(d.idle) == 0 && d.backlog > awake*int64(d.cfg.Cycle) && d.workers < d.maxWorkers():
		d.addWorker()
	case !d.pulseArmed && !d.closed:
		d.armPulse()
	}
}

func (d *Dispatcher) armPulse() {
	d.pulseArmed, d.pulseTaken = true, d.taken
	d.pulse.Reset(d.pulsePeriod)
}

// reinforce wakes or starts a worker, as far as the limit goes, whatever the
// expected backlog; d.mu must be held.
func (d *Dispatcher) reinforce() {
	switch {
	case len(d.idle) > 0:
		d.wakeWorker()
	case d.workers < d.maxWorkers():
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

// onPulse adds a worker if the queue would not be empty within a cycle at the pace since the
// last pulse. Estimates can be wrong, and a publisher can hang.
func (d *Dispatcher) onPulse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pulseArmed = false
	taken, period := d.taken-d.pulseTaken, d.pulsePeriod
	if d.pulsePeriod = pulsePeriod; taken >= pulseTasks {
		d.pulsePeriod = max(pulsePeriod, min(2*period, d.cfg.Cycle))
	}
	if d.closed || d.ready.head == nil {
		return
	}
	if uint64(d.queued) > taken*max(1, uint64(d.cfg.Cycle/period)) {
		d.reinforce()
	}
	if taken == 0 {
		d.relieve()
	}
	d.armPulse()
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

// lingerTime is how long a lingering worker looks for a task. To be woken, while the goroutine
// that wakes it runs on, takes a worker several times as long. Messages that come more seldom
// would have it do nothing else but look. When one sender sent messages of 64 KiB to 1 MiB as
// fast as it could, being woken took a tenth to a fifth of the time.
const lingerTime = 10 * time.Microsecond

// copyTime is how long it looks while a sender copies a message, which will then come soon: a
// large one takes about that.
const copyTime = 40 * time.Microsecond

// quickTime is what lingering takes at least to be worth it. With a quicker sender, both would
// wait for each other's cache lines at every message; it had better fill the queue while the
// worker sleeps.
const quickTime = 200 * time.Nanosecond

// looksPerReading is how many times it looks between two readings of the clock, which take
// longer. maxReadings ends the looking under a clock that stands, as in a testing/synctest bubble.
const looksPerReading, maxReadings = 100, 2000

// maxLingerSkips bounds how many times a worker that lingered in vain sleeps
// without.
const maxLingerSkips = 63

// linger has a worker without work look out for the next task before it sleeps, and reports
// whether it was handed one. A sender that makes a message every few microseconds pays more to
// wake a worker than for the message. Only one worker lingers at a time. One that did so in
// vain sleeps at once the next times, twice as many each time, so that rare messages find it
// asleep. One that has unblocked a sender does, too, since that sender runs on its processor.
// d.mu must be held; it is released if a task came, and meanwhile.
func (w *worker) linger() bool {
	d := w.d
	switch {
	case d.lingerer != nil || w.yields || !d.parallel:
		w.yields = false
		return false
	case w.skips > 0:
		w.skips--
		return false
	}
	d.lingerer = w
	d.mu.Unlock()
	if took, came := w.watch(); came {
		w.accept(took < quickTime)
		return true
	}
	d.mu.Lock()
	if d.lingerer == w {
		d.lingerer = nil
		w.lingeredInVain()
		return false
	}
	d.mu.Unlock()
	w.accept(false) // it came after the last look
	return true
}

// watch looks for a task that is handed over, for lingerTime or copyTime, and returns how long
// it has looked.
func (w *worker) watch() (took time.Duration, came bool) {
	began := w.d.now()
	for range maxReadings {
		for range looksPerReading {
			if w.handed.Load() != nil {
				return w.d.now() - began, true
			}
		}
		took = w.d.now() - began
		if took >= copyTime || took >= lingerTime && w.d.copying.Load() == 0 {
			break
		}
	}
	return took, false
}

// accept makes the task handed over the worker's own.
func (w *worker) accept(quick bool) {
	w.task = w.handed.Load()
	w.handed.Store(nil)
	if quick {
		w.lingeredInVain()
	} else {
		w.vain /= 2
	}
}

func (w *worker) lingeredInVain() {
	w.vain = min(2*w.vain+1, maxLingerSkips)
	w.skips = w.vain
}

// handOver gives the next task to the lingering worker, if there is one, and
// reports whether it did; d.mu must be held.
func (d *Dispatcher) handOver() bool {
	w := d.lingerer
	if w == nil {
		return false
	}
	d.lingerer = nil
	if k := d.take(); k != nil {
		w.handed.Store(k)
		return true
	}
	d.lingerer = w
	return false
}

// relieve keeps callbacks from waiting for one another. It has work when all workers are in
// callbacks and some of these wait in TryQueue, for room or a token that only workers can free.
// A worker beyond the limit stands in for each of those, at most as many as the limit says. If
// all of them come to wait too, the one that has waited longest for room gets it beyond its
// queue's depth. If none waits for room, the first wait for a token ends. Callbacks that are
// only slow start no worker. d.mu must be held, and no task have been taken for a while.
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
		d.endWait(first)
	}
}

// waitingCallbacks counts the callers in TryQueue that are callbacks and returns the first of
// them, for room before those for a token. d.mu must be held.
func (d *Dispatcher) waitingCallbacks() (n int, first *waiter) {
	count := func(l *waiterList) {
		for w := l.head; w != nil; w = w.next {
			if !w.fromCallback {
				continue
			}
			n++
			if first == nil {
				first = w
			}
		}
	}
	for _, t := range d.topics {
		count(&t.waiters)
	}
	count(&d.waiting)
	return n, first
}

// endWait ends the wait of a callback for which no worker can make what it waits for. Of
// those that stand in line for room, the head goes first. d.mu must be held.
func (d *Dispatcher) endWait(w *waiter) {
	if w.task == nil {
		d.waiting.wake(w, ErrTokenBusy)
		return
	}
	t := w.task.topic
	t.grant(t.waiters.head)
}
