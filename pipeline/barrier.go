package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// ErrUndelivered says that a bridge still has messages of the steps, and that the caller
// has waited long enough.
var ErrUndelivered = errors.New("messages are still with a bridge")

// Delivery is what became of one firing of a sensor.
type Delivery struct {
	// Sensor is the sensor's name.
	Sensor string
	// Frame is the number of the instant, Due the sensor's own on its grid.
	// Seq counts the sensor's firings from 0. Its messages' headers have all
	// three. One of a late realtime run that was skipped never had a Seq, and has the next
	// one's.
	Frame uint64
	Due   simtime.Stamp
	Seq   uint64
	// Messages counts what bridges sent and listeners were called with. A firing that
	// was delivered may have none: a sensor of events has nothing to say at most.
	Messages int
	// Missing is empty where the firing was delivered to all who listen, else the cause for
	// which it was not. The cause is one of the Summary's drops. It is "idle" where nobody
	// listens, so nothing was computed, and "closed" where the run or the sensor ended before.
	Missing flow.Cause
}

// Delivered reports whether everybody who listens has all of the firing.
func (d *Delivery) Delivered() bool { return d.Missing == "" }

// StepSensors does what Step does, and is a barrier. It returns when every firing that was due
// in the steps has been delivered, or is declared missing with its cause. They come in the
// order in which they were due. That a firing is missing is not an error. The errors are
// Step's, and ctx's, if it ends before the steps are made. One wraps ErrUndelivered if ctx
// ends, or two minutes pass, while a bridge that doesn't move still has messages. Those are
// missing as peer_slow, and are sent when it moves again.
func (p *Pipeline) StepSensors(ctx context.Context, n int) ([]Delivery, error) {
	b := &barrier{}
	b.reset()
	defer p.barrier.CompareAndSwap(b, nil)
	target := simtime.Stamp(math.MaxInt64) // until time has begun
	err := p.run(ctx, ctx, func() simtime.Stamp {
		p.barrier.Store(b) // not before its turn: a step of StepTo may be under way
		target = p.stepEnd(n)
		return target
	})
	if err == nil && ctx.Err() != nil && p.simNs.Load() < target {
		err = fmt.Errorf("step sensors: %w", context.Cause(ctx))
	}
	return b.result(err), err
}

// barrier keeps account of the firings of one StepSensors. Any goroutine may use it.
type barrier struct {
	mu   sync.Mutex
	list []*passage              // guarded by mu: in the order they were due
	open map[passageKey]*passage // guarded by mu
}

// reset begins another account. What is still under way is of the one before.
func (b *barrier) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = b.list[:0]
	if b.open == nil {
		b.open = map[passageKey]*passage{}
	}
	clear(b.open)
}

type passageKey struct {
	sensor *Sensor
	seq    uint64
}

// passage is one firing on its way.
type passage struct {
	Delivery
	waiting int // messages that are with bridges
	arrived int // messages that have left, one way or the other
}

// expect notes a firing that is due, and before it those that were passed over.
func (b *barrier) expect(s *Sensor, at sensors.Tick, skipped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	due := Delivery{Sensor: s.spec.Name, Frame: at.Frame, Due: at.Due, Seq: at.Seq}
	for k := skipped; k > 0; k-- {
		rate := s.schedule.Rate()
		over := due
		over.Due, over.Missing = rate.At(rate.IndexAt(at.Due)-int64(k)), flow.CauseSkipped
		b.list = append(b.list, &passage{Delivery: over})
	}
	x := &passage{Delivery: due}
	b.list = append(b.list, x)
	b.open[passageKey{s, at.Seq}] = x
}

// miss declares a firing missing; the first cause counts.
func (b *barrier) miss(s *Sensor, seq uint64, cause flow.Cause) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.open[passageKey{s, seq}]; x != nil && x.Missing == "" {
		x.Missing = cause
	}
}

// sending notes a message that was handed to a receiver; the returned function, that it
// is there, or the cause for which it is not.
func (b *barrier) sending(s *Sensor, seq uint64) (done func(cause flow.Cause)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.open[passageKey{s, seq}]
	if x == nil {
		return func(flow.Cause) {} // of an instant before
	}
	x.waiting++
	return func(cause flow.Cause) {
		b.mu.Lock()
		defer b.mu.Unlock()
		x.waiting--
		x.arrived++
		if cause == "" {
			x.Messages++
		} else if x.Missing == "" {
			x.Missing = cause
		}
	}
}

// result closes the account of a run that ended with err.
func (b *barrier) result(err error) []Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	cut := err != nil && !errors.Is(err, ErrUndelivered)
	list := make([]Delivery, len(b.list))
	for i, x := range b.list {
		switch {
		case x.Missing != "":
		case x.waiting > 0:
			x.Missing = flow.CausePeerSlow
		case cut && x.arrived == 0:
			x.Missing = flow.CauseClosed
		}
		list[i] = x.Delivery
	}
	return list
}

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
		if !s.users.isClosing() {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b *Sensor) int { return int(a.rank) - int(b.rank) })
	return list
}
