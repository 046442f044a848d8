package simtime

import (
	"math"
	"sync"
)

// Hold makes time stand still until release is called, whatever Pause and Resume
// do meanwhile: a pipeline holds the clock between its runs, and finds a pause
// that its user made before a run still there. Several holders each have their
// own; calling release again does nothing.
//
// Paused doesn't tell of it, and no Change does, except one of the kind Jumped at
// the end where a source from outside went on by itself.
func (c *Clock) Hold() (release func()) {
	c.mu.Lock()
	defer c.unlockAndTell()
	c.stopLocked()
	c.holds++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.unlockAndTell()
		from := c.readLocked()
		c.holds--
		if to := c.goOnLocked(from); to != from {
			c.recordLocked(Change{Kind: Jumped, From: from, To: to})
		} else {
			c.announceLocked()
		}
	})
}

// standsLocked reports whether time stands still.
func (c *Clock) standsLocked() bool { return c.paused || c.holds > 0 }

// stopLocked makes time stand from this instant on, if it doesn't yet, and
// returns where.
func (c *Clock) stopLocked() int64 {
	if c.standsLocked() {
		return c.readLocked()
	}
	if scaler, ok := c.source.(Scaler); ok {
		scaler.SetScale(Scale{})
	}
	now := c.observeLocked()
	c.frozen = now
	if c.cfg.Stepped {
		c.limit = now
	}
	if e, ok := c.source.(*engine); ok {
		e.pace.Step(now - e.pace.Now()) // what the loop had not yet reached waits
	}
	return now
}

// goOnLocked lets the time, which stood at from, go on, unless something else
// makes it stand, and returns the time after that: a source from outside did not
// stand.
func (c *Clock) goOnLocked(from int64) int64 {
	if c.standsLocked() {
		return from
	}
	if c.cfg.Stepped {
		c.limit = math.MaxInt64
	}
	if scaler, ok := c.source.(Scaler); ok {
		scaler.SetScale(c.sourceScaleLocked())
		c.noteLocked(from)
		return from
	}
	c.noteLocked(c.source.Now())
	return c.last
}

// interval is the simulation time after from, up to and including to.
type interval struct{ from, to int64 }

// noInterval contains no time.
var noInterval = interval{math.MinInt64, math.MinInt64}

// extend makes i go on to `to`; what doesn't begin at its end begins anew.
func (i *interval) extend(from, to int64) {
	if from != i.to {
		i.from = from
	}
	i.to = to
}

// Lag returns by how many nanoseconds a loop is late that is about to Advance to
// t: how far Pace is beyond it. What Step moved the clock on by makes no loop
// late, however much it is: see Stepping. A stepped clock has no lag.
func (c *Clock) Lag(t int64) int64 {
	c.mu.Lock()
	defer c.unlockAndTell()
	if c.cfg.Stepped {
		return 0
	}
	pace := c.paceLocked()
	if t <= c.steps.to {
		pace = min(pace, c.steps.from)
	}
	return max(0, pace-t)
}

// Stepping reports whether Step moved the clock on to or past t, which it
// otherwise would not have come to: a loop visits every instant for which that
// holds, also if the clock was resumed meanwhile. On a stepped clock, whose loop
// visits all of them, it is false.
func (c *Clock) Stepping(t int64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.steps.from < t && t <= c.steps.to
}
