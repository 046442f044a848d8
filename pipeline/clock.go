package pipeline

import (
	"context"
	"sync"

	"github.com/raybridge/raybridge/simtime"
)

// clockOutput publishes /clock in a realtime run, on a goroutine of its own, and
// lets the samples go that waited for it (law T4).
type clockOutput struct {
	p         *Pipeline
	publisher *simtime.ClockPublisher

	mu   sync.Mutex
	last simtime.Stamp // published last
	loop simtime.Stamp // the loop's instant: no sample is stamped later
}

// startClock starts to publish /clock until ctx ends; nil without a clock.
func (p *Pipeline) startClock(ctx context.Context, workers *sync.WaitGroup) (*clockOutput, error) {
	if !p.gated() {
		return nil, nil
	}
	// The run before let everything go at its end. If the clock went back since,
	// that run's last tick lets nothing go of this one.
	now := p.clock.Now()
	c := &clockOutput{p: p, last: min(p.lastClock, now-1), loop: now}
	var err error
	c.publisher, err = simtime.NewClockPublisher(p.clock, simtime.ClockPublisherConfig{
		Rate: p.clockDue.Rate(), Publish: c.publish, OwnThread: true, Logger: p.log,
	})
	if err != nil {
		return nil, err
	}
	p.dispatcher.Release(c.last)
	workers.Go(func() { _ = c.publisher.Run(ctx) }) // always nil
	return c, nil
}

// tick publishes the clock now, on the caller's goroutine.
func (c *clockOutput) tick(ctx context.Context) {
	_ = c.publisher.Publish(ctx) // counted and logged
}

// finish publishes the clock's last time, so that what waits for it may go out. It counts the
// ticks that came too late to be published.
func (c *clockOutput) finish(ctx context.Context) {
	if c.published() != c.p.clock.Now() {
		c.tick(ctx)
	}
	c.p.lastClock = c.published()
	if missed := c.publisher.Stats().Missed; missed > 0 {
		c.p.bridges.SkippedClock(int(missed))
	}
}

// publish sends /clock on every bridge and then lets the samples go that waited
// for it. The publisher calls it, once at a time. A publication that is under way
// comes to its end, though the run's comes meanwhile: bridges don't wait for peers.
func (c *clockOutput) publish(ctx context.Context, now simtime.Stamp) error {
	ctx = context.WithoutCancel(ctx)
	t, ok := c.next(now)
	if !ok {
		return nil
	}
	c.p.bridges.PublishClock(ctx, t)
	return nil
}

// next returns what to publish while the clock shows now. When that has gone back and the loop
// hasn't followed, it is once the loop's instant. What was captured up to there has to go out
// before an earlier /clock. Behind that it would be ahead of the clock, and have no tick to
// come.
func (c *clockOutput) next(now simtime.Stamp) (t simtime.Stamp, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now < c.last {
		if c.loop <= c.last {
			return 0, false
		}
		now = c.loop
	}
	c.last = now
	return now, true
}

func (c *clockOutput) published() simtime.Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// reach notes the loop's instant, before anything is captured then.
func (c *clockOutput) reach(t simtime.Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loop = t
}

// follow goes with the loop to where the clock has jumped to. If that is back,
// settle is to wait until everything of before has gone out.
func (c *clockOutput) follow(ctx context.Context, settle func()) {
	c.tick(ctx) // and none with a time of before is under way any more
	if c.p.clock.Now() < c.published() {
		settle()
	}
	now := c.p.clock.Now()
	c.mu.Lock()
	c.last, c.loop = min(c.last, now-1), now
	c.mu.Unlock()
	c.tick(ctx)
}
