package carry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
)

// Inlet is a topic that bridges are to bring, and who takes its messages: a sensor's input,
// or the clock.
type Inlet struct {
	topic string
	typ   reflect.Type
	qos   flow.QoS
	input sensors.Inlet // nil for the clock's
	// subscriber hands messages on at once, on a goroutine of the bridge, in a pause too.
	subscriber *dispatch.Subscriber[any]
}

// NewInlet makes the inlet of a sensor's input.
func NewInlet(topic string, qos flow.QoS, input sensors.Inlet) *Inlet {
	return &Inlet{topic: topic, typ: input.Spec().Type, qos: qos, input: input}
}

// open lets the inlet take messages.
func (in *Inlet) open(d *dispatch.Dispatcher, take func(message any)) {
	in.subscriber = dispatch.NewSubscriber(d, in.topic, func(_ context.Context, message any) error {
		take(message)
		return nil
	}, dispatch.SubscriberConfig{Sync: true, TopicConfig: dispatch.TopicConfig{IgnorePause: true}})
}

// close lets nothing more in. An inlet that wasn't opened stays so.
func (in *Inlet) close() {
	if in.subscriber != nil {
		in.subscriber.Close()
	}
}

// alternative reports whether another input of the sensor serves as well.
func (in *Inlet) alternative() bool { return in.input != nil && in.input.Spec().Alternative }

// reception is a topic that a bridge brings. It lasts as long as the bridge; those who
// take its messages come and go.
type reception struct {
	typ reflect.Type

	mu     sync.RWMutex
	takers []*Inlet // guarded by mu
}

// deliver hands a message to all who take it.
func (r *reception) deliver(message any) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, in := range r.takers {
		in.subscriber.Deliver(message)
	}
}

func (r *reception) add(in *Inlet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takers = append(r.takers, in)
}

// leave takes out an inlet, if it is there.
func (r *reception) leave(in *Inlet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takers = slices.DeleteFunc(r.takers, func(other *Inlet) bool { return other == in })
}

// receive lets an inlet take what the bridge brings of its topic, if the bridge has a
// message for it. The run's mu must be held.
func (c *carrier) receive(in *Inlet) error {
	if c.brought(in) {
		c.received[in.topic].add(in)
		return nil
	}
	r := &reception{typ: in.typ, takers: []*Inlet{in}}
	err := bridges.AddSubscriberOf(c.bridge, in.typ, bridges.Topic{Name: in.topic, QoS: in.qos}, r.deliver)
	switch {
	case errors.Is(err, bridges.ErrNoConverter):
		return nil
	case err != nil:
		return fmt.Errorf("receive %s: %w", in.topic, err)
	}
	c.received[in.topic] = r
	return nil
}

// release brings an inlet nothing more. The run's mu must be held.
func (c *carrier) release(in *Inlet) {
	if r := c.received[in.topic]; r != nil {
		r.leave(in)
	}
}

// brought reports whether the bridge brings what an inlet takes. The run's mu must be held.
func (c *carrier) brought(in *Inlet) bool {
	r := c.received[in.topic]
	return r != nil && r.typ == in.typ
}

// brought reports whether a bridge brings what an inlet takes; mu must be held.
func (b *Bridges) brought(in *Inlet) bool {
	return slices.ContainsFunc(b.all(), func(c *carrier) bool { return c.brought(in) })
}

// warnUnbrought warns of topics that nobody brings, of those that inlets are for. One of
// several alternative inputs is enough. mu must be held.
func (b *Bridges) warnUnbrought(list []*Inlet) {
	served := slices.ContainsFunc(list, func(in *Inlet) bool { return in.alternative() && b.brought(in) })
	var missing []string
	for _, in := range list {
		if !b.brought(in) && !(in.alternative() && served) {
			missing = append(missing, fmt.Sprintf("%s (%s)", in.topic, strings.TrimPrefix(in.typ.String(), "*sample.")))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		b.wanted.warn(b.config.Lines.Logger(), "no bridge brings some topics that are waited for", "topics", strings.Join(slices.Compact(missing), " "))
	}
}
