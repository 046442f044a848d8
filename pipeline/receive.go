package pipeline

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
)

// inlet is a topic that bridges are to bring, and what takes its messages, on a
// goroutine of the bridge.
type inlet struct {
	topic string
	typ   reflect.Type
	qos   flow.QoS
	take  func(message any)
	// command: it steers the ego, which needs no more than one such topic.
	command bool
}

// reception is a topic that a bridge brings. It lasts as long as the bridge; those who
// take its messages come and go.
type reception struct {
	typ reflect.Type

	mu     sync.RWMutex
	takers []*inlet // guarded by mu
}

// deliver hands a message to all who take it.
func (r *reception) deliver(message any) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, in := range r.takers {
		in.take(message)
	}
}

func (r *reception) add(in *inlet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takers = append(r.takers, in)
}

// leave takes out an inlet, if it is there.
func (r *reception) leave(in *inlet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takers = slices.DeleteFunc(r.takers, func(other *inlet) bool { return other == in })
}

// receive lets an inlet take what the bridge brings of its topic, if the bridge has a
// message for it. The pipeline's change must be held.
func (b *attachedBridge) receive(in *inlet) error {
	if r := b.received[in.topic]; r != nil && r.typ == in.typ {
		r.add(in)
		return nil
	}
	r := &reception{typ: in.typ, takers: []*inlet{in}}
	err := bridges.AddSubscriberOf(b.bridge, in.typ, bridges.Topic{Name: in.topic, QoS: in.qos}, r.deliver)
	switch {
	case errors.Is(err, bridges.ErrNoConverter):
		return nil
	case err != nil:
		return fmt.Errorf("receive %s: %w", in.topic, err)
	}
	b.received[in.topic] = r
	return nil
}

// receiveAll is receive for several inlets.
func (b *attachedBridge) receiveAll(list []*inlet) error {
	for _, in := range list {
		if err := b.receive(in); err != nil {
			return err
		}
	}
	return nil
}

// ownInlets are the inlets that belong to the run, not to a sensor: what steers the ego.
func (p *Pipeline) ownInlets() (list []*inlet) {
	if vehicle, ok := p.config.Ego.(*scene.Driven); ok {
		d := &driver{log: p.log, vehicle: vehicle}
		for _, in := range d.inlets(&p.config.Commands) {
			if in.topic != "" {
				list = append(list, &in)
			}
		}
	}
	return list
}

// inlets are all that there are; change must be held.
func (p *Pipeline) inlets() []*inlet {
	list := slices.Clone(p.own)
	if p.followsROS() {
		list = append(list, p.rosClock.inlet)
	}
	for _, s := range p.members {
		list = append(list, s.takers...)
	}
	return list
}

// tellWanted says which topics nobody brings, of those that inlets are for. Topics of
// commands are other ways of the same: one is enough.
func (p *Pipeline) tellWanted(list []*inlet) {
	steered := slices.ContainsFunc(list, func(in *inlet) bool { return in.command && p.brought(in) })
	var missing []string
	for _, in := range list {
		if !p.brought(in) && !(in.command && steered) {
			missing = append(missing, fmt.Sprintf("%s (%v)", in.topic, in.typ))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		p.log.Warn("no bridge brings some topics that are waited for", "topics", strings.Join(slices.Compact(missing), " "))
	}
}

// brought reports whether a bridge brings what an inlet takes.
func (p *Pipeline) brought(in *inlet) bool {
	return slices.ContainsFunc(p.bridges, func(b *attachedBridge) bool {
		r := b.received[in.topic]
		return r != nil && r.typ == in.typ
	})
}

// closeInlets lets nothing more into sensors that have ended, or didn't come to be;
// change must be held.
func (p *Pipeline) closeInlets(gone []*Sensor) {
	for _, s := range gone {
		for i, in := range s.inlets {
			in.Close()
			for _, b := range p.bridges {
				if r := b.received[s.takers[i].topic]; r != nil {
					r.leave(s.takers[i])
				}
			}
		}
	}
}
