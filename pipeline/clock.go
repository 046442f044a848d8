package pipeline

import (
	"context"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
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
		c.p.clockStats.dropped(flow.CauseSkipped, int(missed))
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
	at := sensors.Tick{Due: t, Started: time.Now()}
	_ = c.p.clockPort.Publish(ctx, at, &sample.Clock{Stamp: t}) // the dispatcher counts and logs
	c.p.dispatcher.Release(t)
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

// rosClock joins the bridges' /clock with the simulation clock while its source is ros2.
type rosClock struct {
	inlet *inlet
	last  instantCell // the stamp that came last
	// changed is pinged when the source may have changed; see watchSource.
	changed chan struct{}
	ended   chan struct{} // closed when nobody watches any more
	unwatch func()
}

// instantCell is an instant that any goroutine may read and set.
type instantCell struct{ ns atomic.Int64 }

func (c *instantCell) Load() simtime.Stamp { return simtime.Stamp(c.ns.Load()) }

func (c *instantCell) Store(at simtime.Stamp) { c.ns.Store(int64(at)) }

// Swap stores an instant and returns the one before.
func (c *instantCell) Swap(at simtime.Stamp) simtime.Stamp {
	return simtime.Stamp(c.ns.Swap(int64(at)))
}

// noClock stands for the stamp before any has come.
const noClock = math.MinInt64

var clockType = reflect.TypeFor[*sample.Clock]()

// initROSClock prepares what the bridges need; watchSource follows.
func (p *Pipeline) initROSClock() {
	c := &p.rosClock
	c.last.Store(noClock)
	c.inlet = &inlet{topic: clockTopic, typ: clockType, qos: flow.ClockQoS}
	c.inlet.open(p.dispatcher, p.followClock)
	c.changed, c.ended = make(chan struct{}, 1), make(chan struct{})
}

// followsROS reports whether time is another ROS node's.
func (p *Pipeline) followsROS() bool {
	return p.config.Mode == Realtime && p.clock.Source() == simtime.ROS2
}

// followClock makes the ros2 source show what a ROS clock said last. Up to its first
// message the source shows the time since the UNIX epoch, so that this one is a jump.
func (p *Pipeline) followClock(message any) {
	if p.rosClock.last.Swap(message.(*sample.Clock).Stamp) == noClock {
		p.waiting.end()
		p.clock.FollowROS(p.rosClock.last.Load)
		return
	}
	p.clock.Now() // looks, so that who waits for the time learns of it
}

// watchSource starts to follow changes of the clock's source, until unwatch. It has a
// goroutine. Those who change the clock, or notice that it has jumped, must not wait for a
// sensor or bridge that comes or goes.
func (p *Pipeline) watchSource() {
	c := &p.rosClock
	unsubscribe := p.clock.Subscribe(func(change simtime.Change) {
		if change.Kind != simtime.SourceChanged {
			return
		}
		select {
		case c.changed <- struct{}{}:
		default: // the one that is under way sees this change, too
		}
	})
	stop := make(chan struct{})
	go func() {
		defer close(c.ended)
		for {
			select {
			case <-c.changed:
				p.tuneBridges()
			case <-stop:
				return
			}
		}
	}()
	c.unwatch = func() {
		unsubscribe()
		close(stop)
		<-c.ended
	}
}

// tuneBridges has all bridges bring /clock, or take it, as the clock's source demands.
func (p *Pipeline) tuneBridges() {
	p.change.Lock()
	defer p.change.Unlock()
	if p.closed {
		return
	}
	follow := p.followsROS()
	for _, b := range p.bridges {
		if err := b.tune(follow); err != nil {
			p.log.Warn("a bridge does not follow the change of the time source", "bridge", b.bridge.Info().Name, "error", err)
		}
	}
	switch {
	case !follow && p.rosClock.last.Swap(noClock) != noClock:
		p.clock.FollowROS(nil)
	case !follow:
		p.waiting.end()
	case follow && p.started:
		p.tellWanted([]*inlet{p.rosClock.inlet})
		p.awaitClock()
	}
}

// awaitClock tells of a /clock that doesn't come, where time is another ROS node's.
func (p *Pipeline) awaitClock() {
	if p.followsROS() && p.rosClock.last.Load() == noClock {
		p.waiting.begin("/clock, which no bridge has brought yet: until then time is this machine's")
	}
}

// tune has the bridge bring /clock if it can and is to be followed; otherwise the bridge
// takes /clock. A clock must not be published to where it comes from. The pipeline's change
// must be held.
func (b *attachedBridge) tune(follow bool) error {
	follow = follow && b.hears(clockType)
	followed := b.bringsClock.Swap(follow)
	if r := b.received[clockTopic]; r != nil {
		r.leave(b.p.rosClock.inlet)
	}
	switch {
	case follow:
		return b.receive(b.p.rosClock.inlet)
	case followed && b.clock.Load() == nil:
		var made routes
		err := b.addClock(&made)
		made.connect()
		return err
	}
	return nil
}
