package main

import (
	"context"
	"time"
)

// pacer waits until messages are due on this machine's clock. Their times count from
// the start, so that what one waits too long is not added to the next.
type pacer struct {
	rate  float64 // recorded seconds per second; 0 waits for nothing
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
	begun time.Time
	// startNs is the recorded time that was due then.
	startNs int64
}

func newPacer(rate float64) *pacer { return &pacer{rate: rate, now: time.Now, sleep: sleep} }

// begin makes startNs due now.
func (p *pacer) begin(startNs int64) { p.begun, p.startNs = p.now(), startNs }

// wait returns when a recorded time is due, or ctx ends with its error. What is due
// already costs no wait.
func (p *pacer) wait(ctx context.Context, atNs int64) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	due := p.begun.Add(time.Duration(float64(atNs-p.startNs) / p.rate))
	if d := due.Sub(p.now()); d > 0 {
		return p.sleep(ctx, d)
	}
	return ctx.Err()
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logClock makes a clock of log times: it has a tick each clockStep, and one right before
// each message that is later than the last tick, so that no stamp is ahead of it.
type logClock struct {
	nextNs, lastNs int64
	begun          bool
}

// clockStep is the time between two ticks, nanoseconds.
const clockStep = 10_000_000

func (c *logClock) begin(startNs int64) { *c = logClock{nextNs: startNs} }

// next returns the next tick up to a message's log time, and false when there is none
// left.
func (c *logClock) next(logNs int64) (int64, bool) {
	switch {
	case c.nextNs <= logNs:
		c.lastNs, c.begun = c.nextNs, true
		c.nextNs += clockStep
		return c.lastNs, true
	case c.begun && c.lastNs < logNs:
		c.lastNs = logNs
		return logNs, true
	default:
		return 0, false
	}
}
