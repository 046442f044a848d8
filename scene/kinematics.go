package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// State is a body's place and movement at one instant, all in the map frame:
// Twist is the velocity of its origin and its angular velocity, Acceleration the
// second derivative of its origin's position, m/s² (gravity not included),
// AngularAcceleration the derivative of its angular velocity, rad/s².
type State struct {
	Pose                spatial.Pose
	Twist               spatial.Twist
	Acceleration        mgl64.Vec3
	AngularAcceleration mgl64.Vec3
}

// Kinematic is a Motion that knows its derivatives.
type Kinematic interface {
	Motion
	// StateAt returns the state at a simulation time. Like PoseAt it is a pure
	// function that any goroutine may call.
	StateAt(tNs int64) State
}

// differenceNs is the step of the central differences: small against what
// moves, and large enough that float64 leaves 1e-6 m/s² and rad/s² in accelerations.
const differenceNs = 2_000_000

// StateOf returns a motion's state: its own where it is Kinematic, else from
// central differences of its poses 2 ms apart.
func StateOf(m Motion, tNs int64) State {
	if k, ok := m.(Kinematic); ok {
		return k.StateAt(tNs)
	}
	const h = differenceNs * 1e-9
	before, now, after := m.PoseAt(tNs-differenceNs), m.PoseAt(tNs), m.PoseAt(tNs+differenceNs)
	turn := func(from, to spatial.Pose) mgl64.Vec3 {
		return rotationVector(to.Orientation.Mul(from.Orientation.Conjugate()))
	}
	return State{
		Pose: now,
		Twist: spatial.Twist{
			Linear:  after.Position.Sub(before.Position).Mul(1 / (2 * h)),
			Angular: turn(before, after).Mul(1 / (2 * h)),
		},
		Acceleration:        after.Position.Add(before.Position).Sub(now.Position.Mul(2)).Mul(1 / (h * h)),
		AngularAcceleration: turn(now, after).Sub(turn(before, now)).Mul(1 / (h * h)),
	}
}

// rotationVector returns a rotation as axis times angle in radians, the
// shorter way round.
func rotationVector(q mgl64.Quat) mgl64.Vec3 {
	if q.W < 0 {
		q = q.Scale(-1)
	}
	sin := q.V.Len()
	if sin < 1e-12 {
		return q.V.Mul(2)
	}
	return q.V.Mul(2 * math.Atan2(sin, q.W) / sin)
}
