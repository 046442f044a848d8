package pipeline

import (
	"log/slog"
	"math"
	"reflect"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
)

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

// commandQoS is what SVL's bridges and AWSIM ask of commands: all of them, the newest
// first.
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
