package dispatch

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// Lane is a queue through which the tasks of one or several topics pass one at a time, in the
// order of queueing. Publishing and the callback of a task end before the next task's publisher
// starts. A recording file has one Lane for all its topics, so that its messages stand in the
// order of the TryQueue calls.
//
// Make one with NewLane and name it in TopicConfig.Lane. A Lane holds no
// resources of its own and needs no Close.
type Lane struct {
	d     *Dispatcher
	limit int // tasks that may run at once: 1, or no limit for an unordered topic

	// The fields below are guarded by d.mu.
	tasks    taskList
	running  int
	next     *Lane // in d.ready
	inReady  bool
	held     bool // the head waits for the clock (law T4); then the lane is in d.held
	heldFrom time.Duration
}

// NewLane returns an ordered lane of d for topics to share.
func NewLane(d *Dispatcher) *Lane { return &Lane{d: d, limit: 1} }

func newUnorderedLane(d *Dispatcher) *Lane { return &Lane{d: d, limit: math.MaxInt} }

// runnable reports whether a worker may take the lane's head now; d.mu must be
// held.
func (l *Lane) runnable() bool {
	head := l.tasks.head
	return head != nil && l.running < l.limit && !l.d.mustHold(head)
}

// laneQueue is the queue of lanes that workers serve in turn, so that a busy
// topic can't starve the others. Entries may have become unrunnable; pop skips
// them.
type laneQueue struct{ head, tail *Lane }

func (q *laneQueue) push(l *Lane) {
	if l.inReady {
		return
	}
	l.inReady, l.next = true, nil
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.next = l
	}
	q.tail = l
}

func (q *laneQueue) pop() *Lane {
	for q.head != nil {
		l := q.head
		q.head, l.next, l.inReady = l.next, nil, false
		if q.head == nil {
			q.tail = nil
		}
		if l.runnable() {
			return l
		}
	}
	return nil
}

// task is the untyped half of a queued message: its links and what the
// dispatcher must know of it. Its fields are guarded by d.mu while it is
// queued and owned by the worker that took it afterwards.
type task struct {
	prev, next *task
	topic      *topic
	payload    payload // the *message[T] that holds this task
	done       func(error)
	token      any
	stamp      simtime.Stamp // simulation time, ns; with topic.cfg.Gated
	bytes      int64         // size of the message where its type tells it
	cost       int64         // expected publishing time, ns, as counted in d.backlog
	timed      bool          // queuedAt and took are for the histograms
	queuedAt   time.Duration // since d.start
	took       time.Duration // by the publisher
	counted    bool          // its result is in the topic's counts
	calling    bool          // it is in d.callbacks

	fromCallback bool // Task.FromCallback
}

// payload is the typed half of a task.
type payload interface {
	// publish hands the message to the topic's publisher.
	publish(ctx context.Context) error
	// recycle gives the message and its cached instance back to the topic's
	// pool; d.mu must be held.
	recycle()
}

// taskList is a first-in-first-out list of tasks that can lose any member in
// constant time.
type taskList struct{ head, tail *task }

func (l *taskList) push(t *task) {
	t.prev, t.next = l.tail, nil
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
}

func (l *taskList) remove(t *task) {
	if t.prev == nil {
		l.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}

// Release tells the dispatcher that the clock message of the given simulation time, in
// nanoseconds, has been published. Gated messages with a stamp up to it may go out (law T4). A
// time earlier than the last one is a jump of the clock. All messages queued before it go out,
// since their own tick won't come.
func (d *Dispatcher) Release(stamp simtime.Stamp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if stamp < d.released {
		for _, t := range d.topics {
			t.lane.exempt()
		}
	}
	d.released = stamp
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
