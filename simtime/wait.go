package simtime

import (
	"context"
	"fmt"
	"time"
)

// pollLimit bounds the sleep on a source whose pace is not known.
const pollLimit = 10 * time.Millisecond

// WaitUntil waits until the loop may Advance to t, in nanoseconds of simulation
// time: until Pace is at t or beyond. It follows changes of scale, pauses and
// steps. The error wraps ErrJumped if the clock jumped meanwhile, or ctx's error
// if ctx ended.
func (c *Clock) WaitUntil(ctx context.Context, t int64) error {
	c.mu.RLock()
	jumps := c.jumps
	c.mu.RUnlock()
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for simulation time: %w", context.Cause(ctx))
		}
		left := c.remaining(t)
		switch {
		case left.jumps != jumps:
			return fmt.Errorf("wait for simulation time: %w", ErrJumped)
		case left.reached:
			return nil
		}
		waitChange(ctx, left.changed, left.sleep)
	}
}

// remaining is what keeps a waiting loop from an instant.
type remaining struct {
	reached bool
	sleep   time.Duration   // until then; negative where only a change can bring it
	changed <-chan struct{} // closed at the next change
	jumps   uint64          // of the clock until now
}

// remaining looks at the clock once.
func (c *Clock) remaining(t int64) (left remaining) {
	c.mu.Lock()
	defer c.unlockAndTell()
	left.sleep, left.reached = c.sleepLocked(t)
	left.changed, left.jumps = c.changed, c.jumps
	return left
}

// waitChange returns at a change, at the end of ctx, or after sleep if that is
// not negative.
func waitChange(ctx context.Context, changed <-chan struct{}, sleep time.Duration) {
	var elapsed <-chan time.Time
	if sleep >= 0 {
		timer := time.NewTimer(sleep)
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-elapsed:
	}
}

// pollAfter is how long to sleep before a source is asked again that promises to
// be there in so many nanoseconds.
func pollAfter(left int64) time.Duration {
	return max(time.Millisecond/2, min(time.Duration(left), pollLimit))
}

// sleepLocked reports whether the pace has reached t, else how long it will take;
// negative where only a change can bring it there.
func (c *Clock) sleepLocked(t int64) (sleep time.Duration, reached bool) {
	const never = -1
	pace := c.paceLocked()
	if pace >= t {
		return 0, true
	}
	if c.cfg.Stepped || c.standsLocked() {
		return never, false
	}
	known := false
	switch source := c.source.(type) {
	case *engine:
		sleep, known = source.pace.reach(t)
	case *running:
		sleep, known = source.reach(t)
	case *external:
	case Scaler:
		left, _ := mapping{scale: c.scale}.reaches(t - pace)
		sleep, known = pollAfter(left), true
	default:
		sleep, known = pollAfter(t-pace), true
	}
	if !known {
		return never, false
	}
	return max(0, sleep), false
}
