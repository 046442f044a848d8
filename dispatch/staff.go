package dispatch

import "time"

// wakeBacklog is the expected work, for each awake worker, from which waking
// another one pays: about the time that waking takes.
const wakeBacklog = 50 * time.Microsecond

// pulsePeriod is how soon a backlog's progress is checked. While many tasks are
// taken in between, the next checks come later, up to a cycle: a timer that fires
// each millisecond costs a busy sender a tenth of its time on a small machine.
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

// onPulse adds a worker if the queue, at the pace since the last pulse, would
// not be empty within a cycle: estimates can be wrong, and a publisher can hang.
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
