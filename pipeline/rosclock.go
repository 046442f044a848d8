package pipeline

import (
	"math"
	"reflect"
	"sync/atomic"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// rosClock joins the bridges' /clock with the simulation clock while its source is ros2.
type rosClock struct {
	inlet *inlet
	last  atomic.Int64 // the stamp that came last
	// changed is pinged when the source may have changed; see watchSource.
	changed chan struct{}
	ended   chan struct{} // closed when nobody watches any more
	unwatch func()
}

// noClock stands for the stamp before any has come.
const noClock = math.MinInt64

var clockType = reflect.TypeFor[*sample.Clock]()

// initROSClock prepares what the bridges need; watchSource follows.
func (p *Pipeline) initROSClock() {
	c := &p.rosClock
	c.last.Store(noClock)
	c.inlet = &inlet{topic: clockTopic, typ: clockType, qos: flow.ClockQoS, take: p.followClock}
	c.changed, c.ended = make(chan struct{}, 1), make(chan struct{})
}

// followsROS reports whether time is another ROS node's.
func (p *Pipeline) followsROS() bool {
	return p.config.Mode == Realtime && p.clock.Source() == simtime.ROS2
}

// followClock makes the ros2 source show what a ROS clock said last. Up to its first
// message the source shows the time since the UNIX epoch, so that this one is a jump.
func (p *Pipeline) followClock(message any) {
	if p.rosClock.last.Swap(message.(*sample.Clock).StampNs) == noClock {
		p.clock.FollowROS(p.rosClock.last.Load)
		return
	}
	p.clock.Now() // looks, so that who waits for the time learns of it
}

// watchSource starts to follow changes of the clock's source, until unwatch. It has
// a goroutine, since those who change the clock, or notice that it has jumped, must not
// wait for a sensor or bridge that comes or goes.
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
	case follow && p.started:
		p.tellWanted([]*inlet{p.rosClock.inlet})
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
		return b.addClock()
	}
	return nil
}
