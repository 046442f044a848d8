package simtime

import (
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"
)

// Schedule tells when something with a set frequency is due: the frequency base of sensors. Its
// instants are the grid of its rate, common to all schedules of that rate, so that they stay in
// phase and don't drift. It fires at most once for each call of Due. Instants that were missed
// are skipped, never caught up (law T3). It knows simulation time alone, so a pause, a scale
// and a step need nothing of it.
//
// Which loop it serves, the frame's update or a FixedLoop, is which loop calls
// Due. All methods may be called from any goroutine.
type Schedule struct {
	mu      sync.Mutex
	rate    Rate
	next    int64 // number of the next instant
	fired   Stamp // instant last fired, or just before the start
	seen    Stamp // now of the last Due
	skipped uint64
}

// NewSchedule returns a schedule whose first instant is the first of the rate's
// grid at or after start, in nanoseconds of simulation time. What needs a whole
// period before it, such as a lidar's rolling scan, starts at the beginning plus
// rate.Period(). The error, for the zero rate, wraps ErrRate.
func NewSchedule(rate Rate, start Stamp) (*Schedule, error) {
	if rate.IsZero() {
		return nil, fmt.Errorf("make schedule: %w: no rate given", ErrRate)
	}
	s := &Schedule{rate: rate, seen: math.MinInt64}
	s.align(start)
	return s, nil
}

// align makes the first instant at or after t the next.
func (s *Schedule) align(t Stamp) {
	s.next = s.rate.IndexAt(t-1) + 1
	s.fired = t - 1
}

// Next returns the next instant at which it is due, in nanoseconds.
func (s *Schedule) Next() Stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate.At(s.next)
}

// Rate returns the current rate.
func (s *Schedule) Rate() Rate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate
}

// Due reports whether an instant of the grid has come since the last call that returned true,
// and which; of several, the last. A loop that visits every Next gets each instant exactly.
// After now went back, because the clock jumped, it continues from there.
func (s *Schedule) Due(now Stamp) (instant Stamp, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now < s.seen {
		s.align(now)
	}
	s.seen = now
	if now < s.rate.At(s.next) {
		return 0, false
	}
	k := s.rate.IndexAt(now)
	s.skipped += uint64(k - s.next)
	s.next = k + 1
	s.fired = s.rate.At(k)
	return s.fired, true
}

// SetRate changes the rate from simulation time now on. The next instant is the first of the
// new grid that is neither before now nor already fired. The error, for the zero rate, wraps
// ErrRate.
func (s *Schedule) SetRate(rate Rate, now Stamp) error {
	if rate.IsZero() {
		return fmt.Errorf("set schedule's rate: %w: no rate given", ErrRate)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate = rate
	s.next = rate.IndexAt(max(now-1, s.fired)) + 1
	return nil
}

// Realign continues from now, where the clock has jumped to, without counting what lies between
// as skipped.
func (s *Schedule) Realign(now Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.align(now)
}

// Skipped returns how many instants were passed over because the loop came too
// late for them.
func (s *Schedule) Skipped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skipped
}

// FixedLoop divides simulation time into steps of equal length, as a physics
// loop does that runs none, one or several times an update. One goroutine runs the
// loop; any may ask for Next and Rate.
type FixedLoop struct {
	rate Rate
	next atomic.Int64 // number of the next step
}

// NewFixedLoop returns a loop at the given steps per second, whose first step is
// the first of the rate's grid at or after start. The error, for the zero rate,
// wraps ErrRate.
func NewFixedLoop(rate Rate, start Stamp) (*FixedLoop, error) {
	if rate.IsZero() {
		return nil, fmt.Errorf("make fixed loop: %w: no rate given", ErrRate)
	}
	l := &FixedLoop{rate: rate}
	l.Realign(start)
	return l, nil
}

// Rate returns the steps per second.
func (l *FixedLoop) Rate() Rate { return l.rate }

// Next returns the next step, in nanoseconds of simulation time.
func (l *FixedLoop) Next() Stamp { return l.rate.At(l.next.Load()) }

// Realign continues from now, where the clock has jumped to: the next step is the first of the
// grid at or after it.
func (l *FixedLoop) Realign(now Stamp) { l.next.Store(l.rate.IndexAt(now-1) + 1) }

// Until yields the steps, in nanoseconds of simulation time, that have come up to now and were
// not yet yielded. Unlike a Schedule it leaves none out; a loop that breaks off continues with
// the step after.
func (l *FixedLoop) Until(now Stamp) iter.Seq[Stamp] {
	return func(yield func(Stamp) bool) {
		for t := l.Next(); t <= now; t = l.Next() {
			l.next.Add(1)
			if !yield(t) {
				return
			}
		}
	}
}
