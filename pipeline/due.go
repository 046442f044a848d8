package pipeline

import (
	"math"
	"slices"

	"github.com/raybridge/raybridge/simtime"
)

// nextDue returns when the next sensor is due, and all that are due then, in the order in which they will fire. It
// returns no sensors if there are none.
func (l *loop) nextDue() (stamp simtime.Stamp, due []*Sensor) {
	at := l.next()
	stamp = math.MaxInt64
	list := l.firingOrder()
	for _, s := range list {
		stamp = min(stamp, l.nextOf(s, at))
	}
	for _, s := range list {
		if l.nextOf(s, at) == stamp {
			due = append(due, s)
		}
	}
	if due == nil {
		return at, nil
	}
	return stamp, due
}

// dueAt returns the sensors that are due at an instant still to come, in the order in
// which they will fire.
func (l *loop) dueAt(stamp simtime.Stamp) []*Sensor {
	at := l.next()
	if stamp < at {
		return nil
	}
	var each, due []*Sensor
	happens := onGrid(l.steps.Rate(), stamp) || (l.clockDue != nil && onGrid(l.clockDue.Rate(), stamp))
	for _, s := range l.firingOrder() {
		switch {
		case s.schedule == nil:
			each = append(each, s)
		case onGrid(s.schedule.Rate(), stamp) && stamp >= l.nextOf(s, at):
			due = append(due, s)
		}
	}
	if happens || len(due) > 0 {
		return append(each, due...)
	}
	return nil
}

func onGrid(rate simtime.Rate, t simtime.Stamp) bool { return rate.At(rate.IndexAt(t)) == t }

// nextOf returns when a sensor fires next, at being the next instant at which
// anything happens.
func (l *loop) nextOf(s *Sensor, at simtime.Stamp) simtime.Stamp {
	switch {
	case s.schedule == nil:
		return at
	case s.joined.Load() || !l.roster.hasStarted():
		return s.schedule.Next()
	default:
		return s.firstAfter(at)
	}
}

// firingOrder returns the sensors as they fire at one instant.
func (l *loop) firingOrder() []*Sensor {
	var list []*Sensor
	for _, s := range l.roster.list() {
		if !s.users.Closing() {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b *Sensor) int { return int(a.rank) - int(b.rank) })
	return list
}
