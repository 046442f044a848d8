package pipeline

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// inlet is a topic that bridges are to bring, and what takes its messages, on a
// goroutine of the bridge.
type inlet struct {
	topic string
	typ   reflect.Type
	qos   bridges.QoS
	take  func(message any)
}

// receive subscribes the bridge to an inlet's topic, if it has a message for it.
func (b *attachedBridge) receive(in inlet) error {
	if in.topic == "" {
		return nil
	}
	want := b.p.wanted[in.topic]
	if want == nil {
		want = &wanted{typ: in.typ}
		b.p.wanted[in.topic] = want
	}
	err := bridges.AddSubscriberOf(b.bridge, in.typ, bridges.Topic{Name: in.topic, QoS: in.qos}, in.take)
	switch {
	case errors.Is(err, bridges.ErrNoConverter):
		return nil
	case err != nil:
		return fmt.Errorf("receive %s: %w", in.topic, err)
	}
	want.brought = true
	return nil
}

// wanted is a topic that bridges are to bring.
type wanted struct {
	typ     reflect.Type // of its messages
	brought bool         // some bridge has subscribed to it
}

// subscribe subscribes the bridge to all that steers the ego and to the ROS clock.
func (b *attachedBridge) subscribe() error {
	if vehicle, ok := b.p.config.Ego.(*scene.Driven); ok {
		d := &driver{p: b.p, vehicle: vehicle}
		for _, in := range d.inlets() {
			if err := b.receive(in); err != nil {
				return err
			}
		}
	}
	if b.p.followsROS() {
		return b.receive(inlet{clockTopic, reflect.TypeFor[*sample.Clock](), bridges.ClockQoS, b.p.followClock})
	}
	return nil
}

// receiveFor subscribes the bridge to a sensor's inputs.
func (b *attachedBridge) receiveFor(s *Sensor) error {
	for i, in := range s.inlets {
		err := b.receive(inlet{s.sources[i], in.Spec().Type, qosOf(in.Spec().QoS), in.Put})
		if err != nil {
			return fmt.Errorf("sensor %s: %w", s.spec.Name, err)
		}
	}
	return nil
}

// followsROS reports whether time is another ROS node's.
func (p *Pipeline) followsROS() bool {
	return p.config.Mode == Realtime && strings.EqualFold(p.config.TimeSource, simtime.ROS2)
}

// followClock makes the ros2 source show what a ROS clock said last. Up to its first
// message the source shows the time since the UNIX epoch, so that this one is a jump.
func (p *Pipeline) followClock(message any) {
	if p.rosClock.Swap(message.(*sample.Clock).StampNs) == noClock {
		p.clock.FollowROS(p.rosClock.Load)
		return
	}
	p.clock.Now() // looks, so that who waits for the time learns of it
}

// noClock is no stamp: none has come.
const noClock = math.MinInt64

// rosClock is the stamp that came last on /clock.
type rosClock struct{ atomic.Int64 }

// tellWanted says once what nobody will bring.
func (p *Pipeline) tellWanted() {
	var missing []string
	for topic, want := range p.wanted {
		if !want.brought {
			missing = append(missing, fmt.Sprintf("%s (%v)", topic, want.typ))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		p.log.Warn("no bridge brings some topics that are waited for", "topics", strings.Join(missing, " "))
	}
}

// closeInlets lets nothing more into a sensor that has ended.
func closeInlets(list []sensors.Inlet) {
	for _, in := range list {
		in.Close()
	}
}
