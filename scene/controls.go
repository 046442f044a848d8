package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// Controls is what a vehicle's own instruments say: how fast it goes, and what its
// driver does.
type Controls struct {
	// Speed in m/s and Acceleration in m/s² are along the vehicle's x axis.
	Speed, Acceleration float64
	// Steering is the front wheels' angle in radians, positive to the left.
	Steering float64
	// SteeringShare is Steering as a share of the vehicle's greatest angle, -1..1.
	SteeringShare float64
	// Throttle and Brake are 0..1 of the greatest acceleration and deceleration;
	// one of them is 0. Nothing slows a vehicle down but its brake: at constant speed
	// both are 0.
	Throttle, Brake float64
	// Gear is 1 forwards, -1 backwards, 0 while it stands; Reverse says the same of -1.
	Gear    int8
	Reverse bool
}

const (
	// standstill is the speed in m/s below which a vehicle stands: a turn of the
	// body tells nothing of the wheels then.
	standstill = 0.05
	// setOff is the acceleration in m/s² above which one that stands sets off: less
	// is rounding.
	setOff = 1e-3
)

// ControlsOf derives a vehicle's controls from how it moves. The state is that of its
// rear axle, as the ego's and a Driven's are: there the kinematic bicycle model
// (Rajamani, Vehicle Dynamics and Control, section 2.2) has the steering angle from
// speed and yaw rate. Steering is limited to the vehicle's, and 0 below 0.05 m/s. Zero
// fields of v take Driven's defaults. It is a pure function.
func (v Vehicle) ControlsOf(s State) Controls {
	v = v.withDefaults()
	forward := s.Pose.Rotate(mgl64.Vec3{1, 0, 0})
	yawRate := s.Pose.Rotate(mgl64.Vec3{0, 0, 1}).Dot(s.Twist.Angular)
	steering := 0.0
	speed := forward.Dot(s.Twist.Linear)
	if math.Abs(speed) >= standstill {
		steering = clamp(math.Atan(v.Wheelbase*yawRate/speed), v.MaxSteering, v.MaxSteering)
	}
	return v.controls(speed, forward.Dot(s.Acceleration), steering)
}

// controls finds the pedals and the gear.
func (v *Vehicle) controls(speed, acceleration, steering float64) Controls {
	c := Controls{Speed: speed, Acceleration: acceleration, Steering: steering, SteeringShare: steering / v.MaxSteering}
	onward := acceleration // in the direction of travel
	switch {
	case speed >= standstill:
		c.Gear = 1
	case speed <= -standstill:
		c.Gear, onward = -1, -acceleration
	case acceleration < -setOff:
		c.Gear, onward = -1, -acceleration
	case acceleration > setOff:
		c.Gear = 1
	default:
		onward = 0
	}
	c.Reverse = c.Gear < 0
	c.Throttle = min(max(onward, 0)/v.MaxAcceleration, 1)
	c.Brake = min(max(-onward, 0)/v.MaxDeceleration, 1)
	return c
}

// Controls returns what the vehicle obeyed at a time: the steering and acceleration of
// the command, as far as its limits let it. Any goroutine may ask.
func (d *Driven) Controls(tNs int64) Controls {
	d.mu.Lock()
	k := d.tickLocked(tNs)
	d.mu.Unlock()
	return d.vehicle.controls(k.speed, k.acceleration, k.steering)
}

// Controls returns those of an actor, or of the ego, at a time: a Driven's own, else
// what ControlsOf makes of its state with the vehicle's figures v. ok is false where
// State's is. Any goroutine may ask.
func (h *History) Controls(id uint32, v Vehicle, tNs int64) (c Controls, ok bool) {
	s, ok := h.State(id, tNs)
	if !ok {
		return Controls{}, false
	}
	if m, _ := h.Motion(id); m != nil {
		if d, driven := m.(*Driven); driven {
			return d.Controls(tNs), true
		}
	}
	return v.ControlsOf(s), true
}
