package dispatch

import (
	"log/slog"
	"math"
	"slices"
)

// Stamped is implemented by messages that know the simulation time, in
// nanoseconds, at which they were captured. Topics with TopicConfig.Gated need
// it.
type Stamped interface{ Stamp() int64 }

// Release tells the dispatcher that the clock message of the given simulation
// time, in nanoseconds, has been published. Gated messages with a stamp up to
// it may go out (law T4). A time earlier than the last one is a jump of the
// clock: all messages queued before it go out, since their own tick won't come.
func (d *Dispatcher) Release(stampNs int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if stampNs < d.released {
		for _, t := range d.topics {
			t.lane.exempt()
		}
	}
	d.released = stampNs
	d.openLanes()
}

// ReleaseAll lets all gated messages go out, those to come included, until the
// next Release. It is for the end of a run, when the clock has stopped.
func (d *Dispatcher) ReleaseAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.released = math.MaxInt64
	d.openLanes()
}

// mustHold reports whether t has to wait for a clock tick; d.mu must be held.
func (d *Dispatcher) mustHold(t *task) bool {
	return t.stamp > d.released && t.topic.cfg.Gated
}

// exempt lets the lane's queued tasks go out whatever the clock says.
func (l *Lane) exempt() {
	for t := l.tasks.head; t != nil; t = t.next {
		t.stamp = math.MinInt64
	}
}

// openLanes makes those held lanes ready whose head may go out; d.mu must be
// held.
func (d *Dispatcher) openLanes() {
	d.held = slices.DeleteFunc(d.held, func(l *Lane) bool {
		if l.tasks.head != nil && d.mustHold(l.tasks.head) {
			return false
		}
		l.held = false
		if l.runnable() {
			d.ready.push(l)
		}
		return true
	})
	d.staff()
}

// queueLane puts the lane among the ready or the held, as its head demands;
// d.mu must be held. It is called when a lane's head or its running count
// changed.
func (d *Dispatcher) queueLane(l *Lane) {
	switch {
	case l.runnable():
		d.ready.push(l)
	case !l.held && l.tasks.head != nil && d.mustHold(l.tasks.head):
		l.held, l.heldFrom = true, d.now()
		d.held = append(d.held, l)
		if !d.holdArmed && !d.closed {
			d.holdArmed = true
			d.hold.Reset(d.cfg.HoldLimit)
		}
	}
}

// onHold lets lanes go that were held for HoldLimit.
func (d *Dispatcher) onHold() {
	d.mu.Lock()
	d.holdArmed = false
	if d.closed {
		d.mu.Unlock()
		return
	}
	now := d.now()
	var overdue []any
	for _, l := range d.held {
		if head := l.tasks.head; head != nil && now-l.heldFrom >= d.cfg.HoldLimit {
			overdue = append(overdue, slog.Group(head.topic.name, "stamp_ns", head.stamp, "waited", now-l.heldFrom))
			l.exempt()
		}
	}
	clock := d.released
	d.openLanes()
	if len(d.held) > 0 {
		d.holdArmed = true
		d.hold.Reset(d.cfg.HoldLimit)
	}
	d.mu.Unlock()
	if len(overdue) > 0 {
		logSafely(d.cfg.Logger, slog.LevelWarn, "no clock tick for held messages, sending them without it", append(overdue, "clock_ns", clock)...)
	}
}
