package flow

import (
	"context"
	"time"
)

// Patience is a timer for somebody who waits for others, and not for ever. It counts the time in which
// this process runs. One that was stopped, frozen or suspended has not waited meanwhile, and the others
// still have their time: they may not have run either. It belongs to the goroutine that waits.
type Patience struct {
	timer *time.Timer
	slice time.Duration
	limit time.Duration
	past  time.Duration // of limit, in whole slices
	begun time.Time     // the slice
}

// The parts in which patience is counted. A stop costs one of them.
const (
	sliceParts   = 8
	longestSlice = time.Second
)

// NewPatience returns patience for so long from now on.
func NewPatience(limit time.Duration) *Patience {
	p := &Patience{timer: time.NewTimer(time.Hour)}
	p.Reset(limit)
	return p
}

// Reset begins again with another limit.
func (p *Patience) Reset(limit time.Duration) {
	p.limit, p.past = limit, 0
	p.slice = max(min(limit/sliceParts, longestSlice), 1)
	p.next()
}

// next waits for another slice.
func (p *Patience) next() {
	p.begun = time.Now()
	p.timer.Reset(min(p.slice, p.limit-p.past))
}

// C delivers a value now and then, after which Ended tells whether the limit has passed.
func (p *Patience) C() <-chan time.Time { return p.timer.C }

// Ended follows a value from C. It reports whether the limit has passed; if not, C delivers again.
func (p *Patience) Ended() bool {
	if p.past += p.slice; p.past >= p.limit {
		return true
	}
	p.next()
	return false
}

// Spent returns how much of the limit has passed.
func (p *Patience) Spent() time.Duration { return p.past + min(time.Since(p.begun), p.slice) }

// Stop ends it; Reset begins again.
func (p *Patience) Stop() { p.timer.Stop() }

// WithPatience returns a context that ends when its parent does, or after so long as Patience counts it, with
// context.DeadlineExceeded for its cause. cancel gives back what it holds.
func WithPatience(parent context.Context, limit time.Duration) (ctx context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	p := NewPatience(limit)
	go func() {
		defer p.Stop()
		for {
			select {
			case <-p.C():
				if p.Ended() {
					end(context.DeadlineExceeded)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { end(context.Canceled) }
}
