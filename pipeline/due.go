package pipeline

import (
	"math"
	"slices"

	"github.com/raybridge/raybridge/simtime"
)

// NextDue returns when the next sensor is due, in simulation nanoseconds, and all that are due
// then, in the order in which they will fire. It returns no sensors if there are none. Any
// goroutine may ask; during a run the answer may be past when it is read.
func (p *Pipeline) NextDue() (stamp simtime.Stamp, due []*Sensor) {
	at := p.nextInstant()
	stamp = math.MaxInt64
	list := p.firingOrder()
	for _, s := range list {
		stamp = min(stamp, s.nextFrom(at))
	}
	for _, s := range list {
		if s.nextFrom(at) == stamp {
			due = append(due, s)
		}
	}
	if due == nil {
		return at, nil
	}
	return stamp, due
}

// DueAt returns the sensors that are due at an instant still to come, in the order in
// which they will fire. Any goroutine may ask, as NextDue.
func (p *Pipeline) DueAt(stamp simtime.Stamp) []*Sensor {
	at := p.nextInstant()
	if stamp < at {
		return nil
	}
	var each, due []*Sensor
	happens := onGrid(p.steps.Rate(), stamp) || (p.clockDue != nil && onGrid(p.clockDue.Rate(), stamp))
	for _, s := range p.firingOrder() {
		switch {
		case s.schedule == nil:
			each = append(each, s)
		case onGrid(s.schedule.Rate(), stamp) && stamp >= s.nextFrom(at):
			due = append(due, s)
		}
	}
	if happens || len(due) > 0 {
		return append(each, due...)
	}
	return nil
}

func onGrid(rate simtime.Rate, t simtime.Stamp) bool { return rate.At(rate.IndexAt(t)) == t }

// nextFrom returns when the sensor fires next, at being the next instant at which
// anything happens.
func (s *Sensor) nextFrom(at simtime.Stamp) simtime.Stamp {
	switch {
	case s.schedule == nil:
		return at
	case s.joined.Load() || !s.p.hasStarted():
		return s.schedule.Next()
	default:
		return s.firstAfter(at)
	}
}

// firingOrder returns the sensors as they fire at one instant.
func (p *Pipeline) firingOrder() []*Sensor {
	var list []*Sensor
	for _, s := range p.live() {
		if !s.users.Closing() {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b *Sensor) int { return int(a.rank) - int(b.rank) })
	return list
}
