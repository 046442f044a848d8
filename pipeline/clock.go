package pipeline

import (
	"context"
	"log/slog"
	"math"
	"sync"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/simtime"
)

// clockOutput publishes /clock in realtime runs, on a goroutine of its own, and
// lets the samples go that waited for it (law T4).
type clockOutput struct {
	clock      *simtime.Clock
	rate       simtime.Rate
	bridges    *carry.Bridges
	dispatcher *dispatch.Dispatcher
	log        *slog.Logger
	publisher  *simtime.ClockPublisher // of the run that is under way

	mu      sync.Mutex
	last    simtime.Stamp // guarded by mu: published last, also by the run before
	instant simtime.Stamp // guarded by mu: the loop's instant: no sample is stamped later
}

// start starts to publish /clock until ctx ends.
func (c *clockOutput) start(ctx context.Context, workers *sync.WaitGroup) (err error) {
	c.publisher, err = simtime.NewClockPublisher(c.clock, simtime.ClockPublisherConfig{
		Rate: c.rate, Publish: c.publish, Miss: c.bridges.SkippedClock, OwnThread: true, Logger: c.log,
	})
	if err != nil {
		return err
	}
	// The run before let everything go at its end. If the clock went back since,
	// that run's last tick lets nothing go of this one.
	now := c.clock.Now()
	c.mu.Lock()
	c.last, c.instant = min(c.last, now-1), now
	last := c.last
	c.mu.Unlock()
	c.dispatcher.Release(last)
	workers.Go(func() { _ = c.publisher.Run(ctx) }) // always nil
	return nil
}

// restart forgets what was published.
func (c *clockOutput) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = math.MinInt64
}

// tick publishes the clock now, on the caller's goroutine.
func (c *clockOutput) tick(ctx context.Context) {
	_ = c.publisher.Publish(ctx) // counted and logged
}

// finish publishes the clock's last time, so that what waits for it may go out.
func (c *clockOutput) finish(ctx context.Context) {
	if c.published() != c.clock.Now() {
		c.tick(ctx)
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
	c.bridges.PublishClock(ctx, t)
	return nil
}

// next returns what to publish while the clock shows now. When that has gone back and the loop
// hasn't followed, it is once the loop's instant: captures up to there have to go out before an
// earlier /clock, since after it they would be ahead of the clock and wait for a tick that may
// never come.
func (c *clockOutput) next(now simtime.Stamp) (t simtime.Stamp, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now < c.last {
		if c.instant <= c.last {
			return 0, false
		}
		now = c.instant
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
	c.instant = t
}

// jump goes with the loop to where the clock has jumped to. If that is back,
// settle is to wait until everything of before has gone out.
func (c *clockOutput) jump(ctx context.Context, settle func()) {
	c.tick(ctx) // and none with a time of before is under way any more
	if c.clock.Now() < c.published() {
		settle()
	}
	now := c.clock.Now()
	c.mu.Lock()
	c.last, c.instant = min(c.last, now-1), now
	c.mu.Unlock()
	c.tick(ctx)
}
