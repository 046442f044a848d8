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
		c.mu.Lock()
		c.observeLocked()
		sleep, known, reached := c.remainingLocked(t)
		changed, jumped := c.changed, c.jumps != jumps
		c.unlockAndTell()
		switch {
		case jumped:
			return fmt.Errorf("wait for simulation time: %w", ErrJumped)
		case reached:
			return nil
		}
		if !known {
			sleep = -1
		}
		waitChange(ctx, changed, sleep)
	}
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

// remainingLocked reports whether the pace has reached t, else how long it will
// take, unless only a change can bring it there.
func (c *Clock) remainingLocked(t int64) (sleep time.Duration, known, reached bool) {
	if c.paceLocked() >= t {
		return 0, true, true
	}
	if c.cfg.Stepped || c.standsLocked() {
		return 0, false, false
	}
	switch source := c.source.(type) {
	case *engine:
		sleep, known = source.pace.reach(t)
	case *running:
		sleep, known = source.reach(t)
	case *external:
		return 0, false, false
	default:
		left := time.Duration(t - c.readLocked())
		return max(time.Millisecond/2, min(left, pollLimit)), true, false
	}
	return max(0, sleep), known, false
}
