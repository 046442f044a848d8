package motion

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// commandQoS is what SVL's bridges and AWSIM ask of commands: none is lost on the way, and
// only the newest waits.
var commandQoS = flow.QoS{Reliability: flow.Reliable, Durability: flow.Volatile, History: flow.KeepLast, Depth: 1}

// Control describes sensor.other.control: it steers the vehicle that it rides on. The
// command that came last counts, whatever its topic and its bridge, until the vehicle's
// CommandTimeout.
type Control struct{}

// ControlDefinition describes sensor.other.control.
var ControlDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.control",
	Number: 50,
	Doc:    "what steers the vehicle: pedals and a wheel, a speed and an angle, or velocities",
	Tags:   []string{"vehicle", "motion"},
	Inputs: []sensors.InputSpec{
		sensors.DeclareInput[*sample.VehicleControl](sensors.InputSpec{
			Name: "control", Suffix: "//vehicle_control", Doc: "pedals and a steering wheel", QoS: commandQoS, Alternative: true,
		}),
		sensors.DeclareInput[*sample.AckermannDrive](sensors.InputSpec{
			Name: "ackermann", Suffix: "//ackermann_cmd", Doc: "a speed and a steering angle", QoS: commandQoS, Alternative: true,
		}),
		sensors.DeclareInput[*sample.VelocityCommand](sensors.InputSpec{
			Name: "velocity", Suffix: "//cmd_vel", Doc: "velocities", QoS: commandQoS, Alternative: true,
		}),
	},
	EachFrame: true,
}, func(sensors.Spec, Control) (sensors.Sensor, error) { return &control{}, nil })

// ErrNotDriven says that the actor that a control rides on moves by itself.
var ErrNotDriven = errors.New("the actor obeys no commands")

// control turns messages into commands of one vehicle, on the goroutines of the bridges
// that bring them.
type control struct {
	driver
	log     *slog.Logger
	refused sync.Once
}

// Begin lets commands come in.
func (s *control) Begin(_ context.Context, env *sensors.Env) error {
	s.log = env.Log
	limits := s.vehicle.Vehicle()
	return errors.Join(
		sensors.Handle(env, "control", func(m *sample.VehicleControl) { s.steer(ControlCommand(m, limits)) }),
		sensors.Handle(env, "ackermann", func(m *sample.AckermannDrive) {
			s.steer(scene.Command{BySpeed: true, Speed: m.Speed, Steering: m.SteeringAngle})
		}),
		sensors.Handle(env, "velocity", func(m *sample.VelocityCommand) { s.steer(velocityCommand(m, limits)) }))
}

// End does nothing: the sensor gave no standing order, and leaves those of others. The pipeline closes
// the inputs.
func (s *control) End() error { return nil }

func (s *control) steer(c scene.Command) {
	if err := s.vehicle.SetCommand(c); err != nil {
		s.refused.Do(func() {
			s.log.Warn("a vehicle command makes no sense and is ignored, as those like it will be", "error", err)
		})
	}
}

// ControlCommand is what pedals, wheel and gear ask of a vehicle. The steering rate isn't
// modelled: the wheels are where they are asked to be. A neutral gear drives forwards,
// because many senders never set one. Pedals beyond 0..1 are cut off.
func ControlCommand(m *sample.VehicleControl, limits scene.Vehicle) scene.Command {
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

// velocityCommand is what makes a car, as far as it can, move with a velocity and turn with a
// rate. It has the bicycle model's steering angle for both. One that stands can't turn; its
// wheels do.
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
