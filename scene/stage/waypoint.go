package stage

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// waypoint checks a state and returns it.
func waypoint(s *world.State, at simtime.Stamp) (scene.Waypoint, error) {
	w := scene.Waypoint{
		Stamp: at, Pose: s.Pose, Velocity: s.Velocity, AngularVelocity: s.AngularVelocity,
		VelocityKnown: s.VelocityKnown, AngularVelocityKnown: s.AngularVelocityKnown, Lights: s.Lights,
	}
	if !s.VelocityKnown {
		w.Velocity = mgl64.Vec3{}
	}
	if !s.AngularVelocityKnown {
		w.AngularVelocity = mgl64.Vec3{}
	}
	for _, v := range [...]struct {
		what string
		v    mgl64.Vec3
	}{{"position", w.Pose.Position}, {"velocity", w.Velocity}, {"angular velocity", w.AngularVelocity}} {
		if err := near(v.what, v.v); err != nil {
			return w, err
		}
	}
	length := w.Pose.Orientation.Len()
	if !(length > 1e-6) || math.IsInf(length, 0) {
		q := w.Pose.Orientation
		return w, fmt.Errorf("%w: orientation [%v %v %v %v] has no direction", world.ErrValue, q.V[0], q.V[1], q.V[2], q.W)
	}
	w.Pose.Orientation = w.Pose.Orientation.Scale(1 / length)
	return w, nil
}

// farthest is how far anything may be from the map's origin, along each axis, in metres: as in files. It bounds
// sizes and velocities, too.
const farthest = 1e7

// near refuses numbers that are too large, and NaN.
func near(what string, v mgl64.Vec3) error {
	for _, x := range v {
		if !(math.Abs(x) <= farthest) {
			return fmt.Errorf("%w: %s is %v, the range is %v to %v", world.ErrValue, what, x, -farthest, farthest)
		}
	}
	return nil
}
