package scene

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/spatial"
)

// DefaultCommandTimeout is a Vehicle's CommandTimeout where none is given.
const DefaultCommandTimeout = 500 * time.Millisecond

// Vehicle describes a car for Driven; zero fields take the default.
type Vehicle struct {
	Wheelbase       float64 // metres between the axles; default 2.8
	MaxSteering     float64 // radians at the front wheels; default 0.6
	MaxAcceleration float64 // m/s²; default 4
	MaxDeceleration float64 // m/s²; default 8
	MaxSpeed        float64 // m/s; default 50
	// CommandTimeout is how old a command may grow, in simulation time. Then the vehicle
	// brakes as hard as it can, wheels straight, and stands until the next one. Default
	// DefaultCommandTimeout; below 0 a command holds until the next.
	CommandTimeout time.Duration
}

func (v Vehicle) withDefaults() Vehicle {
	for _, f := range []struct {
		at    *float64
		value float64
	}{{&v.Wheelbase, 2.8}, {&v.MaxSteering, 0.6}, {&v.MaxAcceleration, 4}, {&v.MaxDeceleration, 8}, {&v.MaxSpeed, 50}} {
		if *f.at == 0 {
			*f.at = f.value
		}
	}
	if v.CommandTimeout == 0 {
		v.CommandTimeout = DefaultCommandTimeout
	}
	return v
}

// Command steers a Driven. Values beyond the vehicle's limits are cut to them.
type Command struct {
	// Steering is the front wheels' angle in radians, positive to the left.
	Steering float64
	// BySpeed chooses what counts of the other two: Speed in m/s (negative
	// drives backwards), or Acceleration in m/s² (negative brakes, to a standstill).
	BySpeed             bool
	Speed, Acceleration float64
	// Reverse turns Acceleration's direction: above 0 drives backwards.
	Reverse bool
}

// Driven is a Motion steered from outside: the kinematic bicycle model about
// the rear axle (Rajamani, Vehicle Dynamics and Control, section 2.2), on level
// ground. Each tick is integrated exactly: a circular arc at constant
// acceleration. Before the first command, and after one that has timed out, it brakes
// to a standstill. SetCommand and the questions may come from any goroutine; Advance and
// Jump belong to the frame loop.
type Driven struct {
	vehicle Vehicle

	mu       sync.Mutex
	command  Command      // guarded by mu
	lostNs   int64        // guarded by mu: when the command times out
	now      drivenTick   // guarded by mu
	ticks    []drivenTick // guarded by mu: ring of the latest ticks
	recorded int          // guarded by mu: ticks ever written into the ring
}

// drivenTick is the state at one tick, and how it goes on from there.
type drivenTick struct {
	timeNs       int64
	position     mgl64.Vec3
	yaw, speed   float64
	acceleration float64 // m/s² along x
	steering     float64 // radians
}

// drivenTicks is how many ticks a Driven remembers.
const drivenTicks = 1024

// NewDriven returns a vehicle that stands at a pose (its yaw counts) at time 0.
// Errors: ErrMotion for figures below 0 or not finite.
func NewDriven(start spatial.Pose, v Vehicle) (*Driven, error) {
	v = v.withDefaults()
	for _, x := range []float64{v.Wheelbase, v.MaxSteering, v.MaxAcceleration, v.MaxDeceleration, v.MaxSpeed} {
		if !(x > 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%w: vehicle %+v has a figure that is not above 0", ErrMotion, v)
		}
	}
	if v.MaxSteering >= math.Pi/2 {
		return nil, fmt.Errorf("%w: maximum steering %v rad must be below a right angle", ErrMotion, v.MaxSteering)
	}
	_, _, yaw := start.RPY()
	d := &Driven{vehicle: v, ticks: make([]drivenTick, drivenTicks)}
	d.now = drivenTick{position: start.Position, yaw: mgl64.DegToRad(yaw)}
	d.keepLocked()
	return d, nil
}

// Vehicle returns the vehicle's figures, defaults filled in.
func (d *Driven) Vehicle() Vehicle { return d.vehicle }

// SetCommand replaces the command from the next tick on, whoever gave the one before; it
// holds for the vehicle's CommandTimeout, counted from the latest tick, so that time
// which stands still doesn't count. A command with a NaN is refused with ErrMotion, and
// the one before holds on.
func (d *Driven) SetCommand(c Command) error {
	if math.IsNaN(c.Steering) || math.IsNaN(c.Speed) || math.IsNaN(c.Acceleration) {
		return fmt.Errorf("%w: command %+v has a value that is no number", ErrMotion, c)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.command, d.lostNs = c, math.MaxInt64
	if timeout := int64(d.vehicle.CommandTimeout); timeout >= 0 && d.now.timeNs < math.MaxInt64-timeout {
		d.lostNs = d.now.timeNs + timeout
	}
	return nil
}

// Advance integrates up to a tick's time; one that isn't later changes nothing. A command
// that times out on the way holds up to that instant.
func (d *Driven) Advance(tNs int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now.timeNs < d.lostNs && d.lostNs < tNs {
		d.integrateLocked(d.command, d.lostNs)
	}
	c := d.command
	if d.now.timeNs >= d.lostNs {
		c = Command{BySpeed: true}
	}
	d.integrateLocked(c, tNs)
}

// Jump implements Advancer: the vehicle is where it was and as fast, and its command as
// old. What it did before is forgotten.
func (d *Driven) Jump(tNs int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lostNs != math.MaxInt64 {
		d.lostNs += tNs - d.now.timeNs
	}
	d.now.timeNs, d.recorded = tNs, 0
	d.keepLocked()
}

// integrateLocked moves the vehicle under a command up to a time, unless that isn't
// later; mu must be held.
func (d *Driven) integrateLocked(c Command, tNs int64) {
	if tNs <= d.now.timeNs {
		return
	}
	seconds := float64(tNs-d.now.timeNs) * 1e-9
	d.now.steering = clamp(c.Steering, d.vehicle.MaxSteering, d.vehicle.MaxSteering)
	d.now.acceleration = d.vehicle.acceleration(c, d.now.speed, seconds)
	d.ticks[(d.recorded-1)%drivenTicks] = d.now // the tick before now knows how it goes on
	d.now = d.now.after(tNs, d.vehicle.Wheelbase)
	d.keepLocked()
}

func (d *Driven) keepLocked() {
	d.ticks[d.recorded%drivenTicks] = d.now
	d.recorded++
}

// clamp limits x to -below..above.
func clamp(x, below, above float64) float64 { return max(-below, min(above, x)) }

// acceleration returns what a command makes of the speed over a tick.
func (v *Vehicle) acceleration(c Command, speed, seconds float64) float64 {
	if c.Reverse && !c.BySpeed {
		c.Reverse = false
		return -v.acceleration(c, -speed, seconds)
	}
	want := speed + clamp(c.Acceleration, v.MaxDeceleration, v.MaxAcceleration)*seconds
	switch {
	case c.BySpeed:
		want = c.Speed
	case speed >= 0 && want < 0, speed < 0 && c.Acceleration < 0:
		want = 0 // brakes end at a standstill, forwards and backwards
	}
	want = clamp(want, v.MaxSpeed, v.MaxSpeed)
	a := (want - speed) / seconds
	if (speed >= 0) == (a >= 0) {
		return clamp(a, v.MaxAcceleration, v.MaxAcceleration)
	}
	return clamp(a, v.MaxDeceleration, v.MaxDeceleration)
}

// after returns the state at a later time with acceleration and steering held.
func (k drivenTick) after(tNs int64, wheelbase float64) drivenTick {
	seconds := float64(tNs-k.timeNs) * 1e-9
	way := k.speed*seconds + k.acceleration*seconds*seconds/2
	half := math.Tan(k.steering) / wheelbase * way / 2 // half the turn
	chord := way
	if math.Abs(half) > 1e-8 {
		chord *= math.Sin(half) / half
	}
	sin, cos := math.Sincos(k.yaw + half)
	k.position = k.position.Add(mgl64.Vec3{chord * cos, chord * sin, 0})
	k.yaw = math.Remainder(k.yaw+2*half, 2*math.Pi)
	k.speed += k.acceleration * seconds
	k.timeNs = tNs
	return k
}

// PoseAt implements Motion: exact between the remembered ticks, the oldest
// before them, the newest after.
func (d *Driven) PoseAt(tNs int64) spatial.Pose { return d.StateAt(tNs).Pose }

// StateAt implements Kinematic.
func (d *Driven) StateAt(tNs int64) State {
	d.mu.Lock()
	k := d.tickLocked(tNs)
	d.mu.Unlock()
	return k.state(d.vehicle.Wheelbase)
}

// tickLocked returns the state at a time; mu must be held.
func (d *Driven) tickLocked(tNs int64) drivenTick {
	if tNs >= d.now.timeNs {
		return d.now
	}
	oldest := max(d.recorded-drivenTicks, 0)
	lo, hi := oldest, d.recorded // the first tick after tNs lies in [lo, hi]
	for lo < hi {
		mid := (lo + hi) / 2
		if d.ticks[mid%drivenTicks].timeNs <= tNs {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == oldest {
		return d.ticks[oldest%drivenTicks]
	}
	return d.ticks[(lo-1)%drivenTicks].after(tNs, d.vehicle.Wheelbase)
}

// state returns the movement of the rear axle. The wheels turn between ticks, in no
// time: that has no acceleration.
func (k drivenTick) state(wheelbase float64) State {
	sin, cos := math.Sincos(k.yaw)
	forward, left := mgl64.Vec3{cos, sin, 0}, mgl64.Vec3{-sin, cos, 0}
	curvature := math.Tan(k.steering) / wheelbase
	return State{
		Pose: spatial.Pose{Position: k.position, Orientation: mgl64.QuatRotate(k.yaw, mgl64.Vec3{0, 0, 1})},
		Twist: spatial.Twist{
			Linear:  forward.Mul(k.speed),
			Angular: mgl64.Vec3{0, 0, curvature * k.speed},
		},
		Acceleration:        forward.Mul(k.acceleration).Add(left.Mul(curvature * k.speed * k.speed)),
		AngularAcceleration: mgl64.Vec3{0, 0, curvature * k.acceleration},
	}
}

var (
	_ Kinematic = (*WaypointLoop)(nil)
	_ Kinematic = (*Driven)(nil)
	_ Advancer  = (*Driven)(nil)
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
