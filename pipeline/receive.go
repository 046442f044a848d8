package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// inlet is a topic that bridges are to bring, and who takes its messages: a sensor's input,
// or the clock.
type inlet struct {
	topic string
	typ   reflect.Type
	qos   flow.QoS
	input sensors.Inlet // nil for the clock's
	// subscriber hands messages on at once, on a goroutine of the bridge, in a pause too.
	subscriber *dispatch.Subscriber[any]
}

// open lets the inlet take messages.
func (in *inlet) open(d *dispatch.Dispatcher, take func(message any)) {
	in.subscriber = dispatch.NewSubscriber(d, in.topic, func(_ context.Context, message any) error {
		take(message)
		return nil
	}, dispatch.SubscriberConfig{Sync: true, TopicConfig: dispatch.TopicConfig{IgnorePause: true}})
}

// alternative reports whether another input of the sensor serves as well.
func (in *inlet) alternative() bool { return in.input != nil && in.input.Spec().Alternative }

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
		in.subscriber.Deliver(message)
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

// inlets are all that there are; change must be held.
func (p *Pipeline) inlets() (list []*inlet) {
	if p.followsROS() {
		list = append(list, p.rosClock.inlet)
	}
	for _, s := range p.members {
		list = append(list, s.inlets...)
	}
	return list
}

// tellWanted says which topics nobody brings, of those that inlets are for. Of inputs that
// are alternatives one is enough. change must be held.
func (p *Pipeline) tellWanted(list []*inlet) {
	served := slices.ContainsFunc(list, func(in *inlet) bool { return in.alternative() && p.brought(in) })
	var missing []string
	for _, in := range list {
		if !p.brought(in) && !(in.alternative() && served) {
			missing = append(missing, fmt.Sprintf("%s (%s)", in.topic, strings.TrimPrefix(in.typ.String(), "*sample.")))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		p.wanted.warn(p.log, "no bridge brings some topics that are waited for", "topics", strings.Join(slices.Compact(missing), " "))
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
		for _, in := range s.env.Inlets {
			in.Close()
		}
		for _, in := range s.inlets {
			for _, b := range p.bridges {
				if r := b.received[in.topic]; r != nil {
					r.leave(in)
				}
			}
			if in.subscriber != nil {
				in.subscriber.Close()
			}
		}
	}
}

// InputSummary is one topic that a sensor is brought.
type InputSummary struct {
	// Name and Type are the sensor's.
	Name  string `json:"name"`
	Type  string `json:"type"`
	Topic string `json:"topic"`
	// Messages is how many have come.
	Messages int64 `json:"messages"`
	// Drops are messages that came and were never taken, by cause: queue_full where newer
	// ones pushed them out, convert_failed where the sensor panicked.
	Drops flow.Drops `json:"drops"`
	// Ended is true for a sensor that was ended before the run was, Others as in SensorSummary.
	Ended  bool `json:"ended,omitempty"`
	Others int  `json:"others,omitempty"`
}

// inputRows are the rows of the topics that a sensor is brought.
func (s *Sensor) inputRows() []InputSummary {
	var list []InputSummary
	for _, in := range s.inlets {
		row := InputSummary{Name: s.spec.Name, Type: s.spec.Definition.ID, Topic: in.topic, Drops: flow.Drops{}}
		stats := in.subscriber.Stats()
		row.Messages = int64(stats.Sent)
		row.Drops.Merge(stats.Dropped)
		if n := in.input.Dropped(); n > 0 {
			row.Drops.Add(flow.CauseQueueFull, n)
		}
		list = append(list, row)
	}
	return list
}

func (row *InputSummary) identity() ([3]string, int) {
	return [3]string{row.Name, row.Type, row.Topic}, row.Others
}

func (row *InputSummary) others() InputSummary {
	return InputSummary{Type: row.Type, Drops: flow.Drops{}, Ended: true}
}

func (row *InputSummary) include(other *InputSummary) {
	if row.Topic == "" {
		row.Others++
	}
	row.Messages += other.Messages
	row.Drops = maps.Clone(row.Drops) // others may read it
	row.Drops.Merge(other.Drops)
}

func (row *InputSummary) end() {
	row.Ended = true
}

// What the clients of a bridge may do with the run's time, where its protocol has services
// or parameters.
const (
	pauseService = "/raybridge/set_paused" // std_srvs/SetBool
	stepService  = "/raybridge/step"       // std_srvs/Trigger: a paused run goes on by one step

	pausedParameter = "/raybridge/paused"
	scaleParameter  = "/raybridge/time_scale"
	sourceParameter = "/raybridge/time_source" // read only
)

// offerTime offers the run's time to the bridge's clients.
func (b *attachedBridge) offerTime() error {
	errs := []error{
		bridges.AddService(b.bridge, pauseService, func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
			b.p.setPaused(r.Data)
			return sample.SetBoolResponse{Success: true}, nil
		}),
		bridges.AddService(b.bridge, stepService, func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
			return outcome(b.p.clock.Step(int64(b.p.config.Step))), nil
		}),
	}
	for _, param := range b.p.timeParameters() {
		errs = append(errs, bridges.AddParameter(b.bridge, param))
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, bridges.ErrNoConverter) {
			return fmt.Errorf("offer the run's time: %w", err)
		}
	}
	return nil
}

// outcome says whether something was done, or why not.
func outcome(err error) (r sample.TriggerResponse) {
	r.Success = err == nil
	if err != nil {
		r.Message = err.Error()
	}
	return r
}

// setPaused stops the run's time, that of steps under way too, or lets it continue.
func (p *Pipeline) setPaused(paused bool) {
	if paused {
		p.clock.Pause()
		p.clock.Halt()
	} else {
		p.clock.Resume()
	}
}

// timeParameters are the run's time as values that clients read and set.
func (p *Pipeline) timeParameters() []bridges.Parameter {
	return []bridges.Parameter{
		{
			Name: pausedParameter,
			Get:  func() any { return p.clock.Paused() },
			Set: func(value any) error {
				paused, ok := value.(bool)
				if !ok {
					return fmt.Errorf("set %s to %v: want true or false", pausedParameter, value)
				}
				p.setPaused(paused)
				return nil
			},
		},
		{
			Name: scaleParameter,
			Get:  func() any { return p.clock.Scale().Float64() },
			Set: func(value any) error {
				factor, ok := value.(float64)
				if !ok {
					return fmt.Errorf("set %s to %v: want a number", scaleParameter, value)
				}
				scale, err := simtime.ScaleOf(factor)
				if err != nil {
					return err
				}
				return p.clock.SetScale(scale)
			},
		},
		{Name: sourceParameter, Get: func() any { return p.clock.Source() }},
	}
}

// tellParameters tells the clients of bridges when the run's time is changed by others.
func (p *Pipeline) tellParameters(change simtime.Change) {
	var name string
	switch change.Kind {
	case simtime.Paused, simtime.Resumed:
		name = pausedParameter
	case simtime.ScaleChanged:
		name = scaleParameter
	case simtime.SourceChanged:
		name = sourceParameter
	default:
		return
	}
	for _, b := range p.bridges {
		bridges.ParameterChanged(b.bridge, name)
	}
}
