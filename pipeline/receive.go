package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
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

// Commands are the topics on which bridges receive what steers an ego that is a
// *scene.Driven; an empty one is not listened to. Each bridge takes those that it has a
// message for. The command that came last counts, whatever its topic and its bridge, until
// the vehicle's CommandTimeout.
type Commands struct {
	// Control takes pedals and a steering wheel, *sample.VehicleControl.
	Control string
	// Ackermann takes a speed and a steering angle, *sample.AckermannDrive.
	Ackermann string
	// Velocity takes velocities, *sample.VelocityCommand.
	Velocity string
}

// commandQoS is what SVL's bridges and AWSIM ask of commands: none is lost on the way, and
// only the newest waits.
var commandQoS = flow.QoS{Reliability: flow.Reliable, Durability: flow.Volatile, History: flow.KeepLast, Depth: 1}

// driver turns messages into commands of one vehicle. Any goroutine uses it.
type driver struct {
	log     *slog.Logger
	vehicle *scene.Driven
	refused sync.Once
}

// inlets are the topics that steer, with what takes their messages.
func (d *driver) inlets(c *Commands) []inlet {
	limits := d.vehicle.Vehicle()
	return []inlet{
		{topic: c.Control, typ: reflect.TypeFor[*sample.VehicleControl](), qos: commandQoS, command: true, take: func(m any) {
			d.steer(controlCommand(m.(*sample.VehicleControl), limits))
		}},
		{topic: c.Ackermann, typ: reflect.TypeFor[*sample.AckermannDrive](), qos: commandQoS, command: true, take: func(m any) {
			drive := m.(*sample.AckermannDrive)
			d.steer(scene.Command{BySpeed: true, Speed: drive.Speed, Steering: drive.SteeringAngle})
		}},
		{topic: c.Velocity, typ: reflect.TypeFor[*sample.VelocityCommand](), qos: commandQoS, command: true, take: func(m any) {
			d.steer(velocityCommand(m.(*sample.VelocityCommand), limits))
		}},
	}
}

func (d *driver) steer(c scene.Command) {
	if err := d.vehicle.SetCommand(c); err != nil {
		d.refused.Do(func() {
			d.log.Warn("a vehicle command makes no sense and is ignored, as those like it will be", "error", err)
		})
	}
}

// controlCommand is what pedals, wheel and gear ask of a vehicle. The steering rate isn't
// modelled: the wheels are where they are asked to be. A neutral gear drives forwards,
// because many senders never set one. Pedals beyond 0..1 are cut off.
func controlCommand(m *sample.VehicleControl, limits scene.Vehicle) scene.Command {
	throttle, brake := min(max(m.Acceleration, 0), 1), min(max(m.Braking, 0), 1)
	c := scene.Command{
		Steering:     -m.Steering * limits.MaxSteering,
		Acceleration: throttle*limits.MaxAcceleration - brake*limits.MaxDeceleration,
		Reverse:      m.Gear == sample.GearReverse,
	}
	if m.HasAngle {
		c.Steering = m.SteeringAngle
	}
	if m.ParkingBrake || m.Gear == sample.GearParking {
		c.Acceleration = -limits.MaxDeceleration
	}
	return c
}

// velocityCommand is what makes a car, as far as it can, move with a velocity and turn
// with a rate: the bicycle model's steering angle for both. One that stands can't turn;
// its wheels do.
func velocityCommand(m *sample.VelocityCommand, limits scene.Vehicle) scene.Command {
	speed, rate := m.Twist.Linear[0], m.Twist.Angular[2]
	c := scene.Command{BySpeed: true, Speed: speed}
	switch {
	case rate == 0:
	case speed == 0:
		c.Steering = math.Copysign(limits.MaxSteering, rate)
	default:
		c.Steering = math.Atan(limits.Wheelbase * rate / speed)
	}
	return c
}

// InputSummary is one topic that a sensor is brought.
type InputSummary struct {
	// Name and Type are the sensor's.
	Name  string `json:"name"`
	Type  string `json:"type"`
	Topic string `json:"topic"`
	// Drops are messages that came and were never taken, by cause: queue_full where newer
	// ones pushed them out.
	Drops flow.Drops `json:"drops"`
	// Ended is true for a sensor that was ended before the run was.
	Ended bool `json:"ended,omitempty"`
}

// inputRows are the rows of the topics that a sensor is brought.
func (s *Sensor) inputRows() []InputSummary {
	var list []InputSummary
	for i, in := range s.inlets {
		row := InputSummary{Name: s.spec.Name, Type: s.spec.Definition.ID, Topic: s.takers[i].topic, Drops: flow.Drops{}}
		if n := in.Dropped(); n > 0 {
			row.Drops[flow.CauseQueueFull] = n
		}
		list = append(list, row)
	}
	return list
}

// mergeInputs is mergeRows for what a sensor that has ended was brought.
func mergeInputs(former, rows []InputSummary) []InputSummary {
	former = slices.Clone(former)
	for _, row := range rows {
		row.Ended = true
		i := slices.IndexFunc(former, func(f InputSummary) bool {
			return f.Name == row.Name && f.Type == row.Type && f.Topic == row.Topic
		})
		if i < 0 {
			former = append(former, row)
			continue
		}
		row.Drops.Merge(former[i].Drops) // nobody but the new row has its map
		former[i] = row
	}
	return former
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

// setPaused stops the run's time, or lets it go on.
func (p *Pipeline) setPaused(paused bool) {
	if paused {
		p.clock.Pause()
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
