package pipeline

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/world"
)

// ErrUndelivered says that a bridge still has messages of the steps, and that the caller
// has waited long enough.
var ErrUndelivered = errors.New("messages are still with a bridge")

// MaxDeliveries is how many firings of a step are told one by one. It bounds the memory of a step
// and the answers about it. The others are added up, one delivery a sensor, behind those.
const MaxDeliveries = 1 << 14

// barrier keeps account of the firings of one step. Any goroutine may use it. A nil one, as without a step that asks
// for an account, takes everything and keeps nothing.
type barrier struct {
	mu   sync.Mutex
	list []*passage              // guarded by mu: in the order they were due, MaxDeliveries at most
	sums []*passage              // guarded by mu: of the sensors that have fired beyond those
	open map[passageKey]*passage // guarded by mu: those of list, and others while they are under way
}

// reset begins another account. Firings that are still under way belong to the one before.
func (b *barrier) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list, b.sums = b.list[:0], nil
	if b.open == nil {
		b.open = map[passageKey]*passage{}
	}
	clear(b.open)
}

type passageKey struct {
	sensor *Sensor
	seq    uint64
}

// passage is one firing on its way, or the sum of several.
type passage struct {
	world.Delivery
	sum     *passage // that it is added to when it is done; nil for one of the list
	whole   bool     // the sensor has handed over all that it will
	waiting int      // messages that are with bridges
	arrived int      // messages that have left, one way or the other
}

// expect notes a firing that is due, and before it those that were passed over.
func (b *barrier) expect(s *Sensor, at sensors.Tick, skipped int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	due := world.Delivery{Sensor: s.spec.Name, Frame: at.Frame, Due: at.Due, Seq: at.Seq}
	for k := skipped; k > 0; k-- {
		rate := s.schedule.Rate()
		over := due
		over.Due, over.Missing = rate.At(rate.IndexAt(at.Due)-int64(k)), flow.CauseSkipped
		if len(b.list) == MaxDeliveries {
			sum := b.sumOf(&over)
			sum.More, sum.Lost, sum.Missing = sum.More+k, sum.Lost+k, cmp.Or(sum.Missing, over.Missing)
			break
		}
		b.list = append(b.list, &passage{Delivery: over})
	}
	x := &passage{Delivery: due}
	if len(b.list) < MaxDeliveries {
		b.list = append(b.list, x)
	} else {
		x.sum = b.sumOf(&due)
	}
	b.open[passageKey{s, at.Seq}] = x
}

// sumOf returns the sum of a sensor's firings, from the given one on. Until the account
// is closed it counts one firing too many. mu must be held.
func (b *barrier) sumOf(first *world.Delivery) *passage {
	for _, sum := range b.sums {
		if sum.Sensor == first.Sensor {
			return sum
		}
	}
	sum := &passage{Delivery: *first}
	sum.Missing = ""
	b.sums = append(b.sums, sum)
	return sum
}

// add adds a firing that is done to its sum, if it has one. mu must be held.
func (x *passage) add() {
	if x.sum == nil {
		return
	}
	x.sum.More++
	x.sum.Messages += x.Messages
	if x.Missing != "" {
		x.sum.Lost++
		x.sum.Missing = cmp.Or(x.sum.Missing, x.Missing)
	}
}

// settle forgets a firing that isn't listed, once it is done. mu must be held.
func (b *barrier) settle(key passageKey, x *passage) {
	if x.sum != nil && x.whole && x.waiting == 0 && b.open[key] == x {
		x.add()
		delete(b.open, key)
	}
}

// firingDone notes that a sensor has handed over all that it will of a firing.
func (b *barrier) firingDone(s *Sensor, seq uint64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := passageKey{s, seq}
	if x := b.open[key]; x != nil {
		x.whole = true
		b.settle(key, x)
	}
}

// miss declares a firing missing; the first cause counts.
func (b *barrier) miss(s *Sensor, seq uint64, cause flow.Cause) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.open[passageKey{s, seq}]; x != nil && x.Missing == "" {
		x.Missing = cause
	}
}

// lose declares a firing missing of which the sensor hands over nothing.
func (b *barrier) lose(s *Sensor, seq uint64, cause flow.Cause) {
	b.miss(s, seq, cause)
	b.firingDone(s, seq)
}

// sending notes a message that was handed to a receiver; the returned function, that it
// is there, or the cause for which it is not. It is nil where nobody asks.
func (b *barrier) sending(s *Sensor, seq uint64) (done func(cause flow.Cause)) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := passageKey{s, seq}
	x := b.open[key]
	if x == nil {
		return nil // of an instant before
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
		b.settle(key, x)
	}
}

// result closes the account of a run that ended with err.
func (b *barrier) result(err error) []world.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	cut := err != nil && !errors.Is(err, ErrUndelivered)
	open := slices.SortedFunc(maps.Values(b.open), func(x, y *passage) int { return cmp.Compare(x.Seq, y.Seq) })
	for _, x := range open { // in order: the first cause counts
		switch {
		case x.Missing != "":
		case x.waiting > 0:
			x.Missing = flow.CausePeerSlow
		case cut && x.arrived == 0:
			x.Missing = flow.CauseClosed
		}
		x.add()
	}
	list := make([]world.Delivery, len(b.list), len(b.list)+len(b.sums))
	for i, x := range b.list {
		list[i] = x.Delivery
	}
	for _, sum := range b.sums {
		sum.More--
		list = append(list, sum.Delivery)
	}
	b.list, b.sums = b.list[:0], nil
	clear(b.open)
	return list
}
