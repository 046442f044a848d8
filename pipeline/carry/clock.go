package carry

import (
	"context"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// ClockTopic is where the simulation time goes, and where it comes from while its source is ros2.
const ClockTopic = "/clock"

var (
	clockSpec = sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "clock", Suffix: "/" + ClockTopic})
	clockType = reflect.TypeFor[*sample.Clock]()
)

// QueueClock queues /clock for all bridges, ahead of the instant's samples (law T4). It does
// nothing in a run without one. One goroutine at a time calls it, as PublishClock.
func (b *Bridges) QueueClock(t simtime.Stamp) {
	if b.config.HasClock {
		b.out.TryQueue(sensors.Tick{Due: t, Started: time.Now()}, &sample.Clock{Stamp: t})
	}
}

// PublishClock sends /clock on every bridge, and then lets the samples go that waited for it
// (law T4).
func (b *Bridges) PublishClock(ctx context.Context, t simtime.Stamp) {
	at := sensors.Tick{Due: t, Started: time.Now()}
	_ = b.out.Publish(ctx, at, &sample.Clock{Stamp: t}) // the dispatcher counts and logs
	b.config.Dispatcher.Release(t)
}

// SkippedClock counts n times of /clock that came too late to be published, where somebody was to have them. Any goroutine
// may call it.
func (b *Bridges) SkippedClock(n uint64) {
	if b.clockHeard() {
		b.clock.Dropped(flow.CauseSkipped, int(n))
	}
}

// clockHeard reports whether a receiver of a bridge would take /clock now.
func (b *Bridges) clockHeard() bool {
	return slices.ContainsFunc(b.all(), func(c *carrier) bool {
		return c.clock.Load() != nil && !c.brings.Load() && c.bridge.Listening(ClockTopic)
	})
}

// addClock gives the bridge its /clock, if there is one, it doesn't come from there, and
// the bridge knows the type.
func (c *carrier) addClock(made *routes) error {
	if !c.run.config.HasClock || c.brings.Load() {
		return nil
	}
	r, err := c.route(c.run.clock)
	if r == nil || err != nil {
		return err
	}
	c.clock.Store(r)
	*made = append(*made, r)
	return nil
}

// clockWanted reports whether /clock is to be sent now.
func (c *carrier) clockWanted() bool {
	if c.clock.Load() == nil {
		return false
	}
	if c.brings.Load() { // samples don't wait for it here
		c.clockSent()
		return false
	}
	if !c.connected() {
		c.noClock.Store(true)
		return false
	}
	if !c.bridge.Listening(ClockTopic) { // who wants no clock gets samples without it
		c.clockSent()
		return false
	}
	return true
}

// clockSent lets samples follow.
func (c *carrier) clockSent() { c.noClock.Store(false) }

// rosClock joins the bridges' /clock with the simulation clock while its source is ros2.
type rosClock struct {
	run   *Bridges
	inlet *Inlet
	last  simtime.AtomicStamp // the stamp that came last
	// changed is pinged when the source may have changed; see watch.
	changed chan struct{}
	unwatch func() // ends the watch
}

// neverCame stands for the stamp before any has come.
const neverCame = math.MinInt64

// open prepares what bridges bring, and begins to watch the clock's source.
func (r *rosClock) open(run *Bridges) {
	r.run = run
	r.last.Store(neverCame)
	r.inlet = &Inlet{topic: ClockTopic, typ: clockType, qos: flow.ClockQoS}
	r.inlet.open(run.config.Dispatcher, r.take)
	r.changed = make(chan struct{}, 1)
	r.watch()
}

// followsROS reports whether time is another ROS node's.
func (b *Bridges) followsROS() bool {
	return !b.config.Stepped && b.config.Clock.Source() == simtime.ROS2
}

// take makes the ros2 source show what a ROS clock said last. Up to its first
// message the source shows the time since the UNIX epoch, so that this one is a jump.
func (r *rosClock) take(message any) {
	clock := r.run.config.Clock
	if r.last.Swap(message.(*sample.Clock).Stamp) == neverCame {
		r.run.config.Await("")
		clock.FollowROS(r.last.Load)
		return
	}
	clock.Now() // looks, so that who waits for the time learns of it
}

// watch starts to follow changes of the clock's source, until unwatch. It has a
// goroutine. A caller that changes the clock, or notices that it has jumped, must not wait
// for a sensor or bridge that comes or goes.
func (r *rosClock) watch() {
	unsubscribe := r.run.config.Clock.Subscribe(func(change simtime.Change) {
		if change.Kind != simtime.SourceChanged {
			return
		}
		select {
		case r.changed <- struct{}{}:
		default: // the one that is under way sees this change, too
		}
	})
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-r.changed:
				r.follow()
			case <-stop:
				return
			}
		}
	}()
	r.unwatch = func() {
		unsubscribe()
		close(stop)
		<-ended
	}
}

// follow has all bridges bring /clock, or take it, as the clock's source demands.
func (r *rosClock) follow() {
	b := r.run
	b.mu.Lock()
	follow, started := b.followsROS(), b.started
	for _, c := range b.all() {
		if err := c.follow(follow); err != nil {
			b.config.Lines.Logger().Warn("a bridge does not follow the change of the time source", "bridge", c.bridge.Info().Name, "error", err)
		}
	}
	if follow && started {
		b.warnUnbrought([]*Inlet{r.inlet})
	}
	forget := !follow && r.last.Swap(neverCame) != neverCame
	if forget { // before a bridge can bring a clock again
		b.config.Clock.FollowROS(nil)
	}
	b.mu.Unlock()
	switch {
	case follow && started:
		b.AwaitClock()
	case !follow && !forget:
		b.config.Await("")
	}
}

// AwaitClock tells of a /clock that doesn't come, where time is another ROS node's.
func (b *Bridges) AwaitClock() {
	if b.followsROS() && b.ros.last.Load() == neverCame {
		b.config.Await("/clock, which no bridge has brought yet: until then time is this machine's")
	}
}

// follow has the bridge bring /clock if it can and is to be followed; otherwise the bridge
// takes /clock. A clock must not be published to where it comes from. The run's mu
// must be held.
func (c *carrier) follow(ros bool) error {
	ros = ros && c.hears(clockType)
	brought := c.brings.Swap(ros)
	c.release(c.run.ros.inlet)
	switch {
	case ros:
		return c.receive(c.run.ros.inlet)
	case brought && c.clock.Load() == nil:
		var made routes
		err := c.addClock(&made)
		made.connect()
		return err
	}
	return nil
}
