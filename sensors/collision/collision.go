// Package collision tells when the actor that it rides on touches another.
//
// raybridge has no physics: actors follow their motions through one another. Contact
// is geometry, the owner's box against the other's triangles, so that a car that
// drives under a tree's crown touches nothing; the ego, which has no triangles, is its
// box, and the ground isn't looked at. The
// impulse is the one that would end the approach of two bodies without spin.
package collision

import (
	"context"
	"math"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Definition describes sensor.other.collision.
var Definition = &sensors.Definition{
	ID:     "sensor.other.collision",
	Number: 62,
	Doc:    "collisions of the actor it is attached to, one event a frame for each actor that is touched",
	Tags:   []string{"other", "collision"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Collision](sensors.OutputSpec{
			Name: "collision", Suffix: "", Doc: "who is touched, and the normal impulse on the owner",
			QoS: flow.ReliableQoS(100),
		}),
	},
	EachFrame: true,
	New:       func(spec sensors.Spec) (sensors.Sensor, error) { return &sensor{spec: spec}, nil },
}

// clearance is how far above the owner's lowest point its box begins, metres: kerbs
// and what lies on the road are driven over.
const clearance = 0.15

type sensor struct {
	spec   sensors.Spec
	owner  sensors.Owner
	mass   float64   // the owner's, kg
	box    scene.Box // the owner's, without the clearance
	env    *sensors.Env
	out    *sensors.Output[*sample.Collision]
	bodies []body
	places []sphere // of bodies; apart, for they are looked through at every instant
	meshes meshes
	event  sample.Collision // reused: outputs copy what they keep
}

// SetOwner takes the owner's box.
func (s *sensor) SetOwner(owner sensors.Owner) error {
	s.owner, s.box = owner, owner.Box
	s.mass = massOf(owner.TypeID, owner.Box)
	lift := math.Min(clearance, owner.Box.Half[2])
	s.box.Center[2] += lift / 2
	s.box.Half[2] -= lift / 2
	return nil
}

// Begin opens the output and lists what can be touched.
func (s *sensor) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env, s.meshes = env, newMeshes(env.Scene)
	s.bodies, s.places = bodiesFor(env)
	s.out, err = sensors.OutputOf[*sample.Collision](env, "collision")
	return err
}

// Tick publishes an event for each actor that the owner touches.
func (s *sensor) Tick(at sensors.Tick) error {
	state, there := s.env.History.State(s.env.Owner, at.TimeNs)
	if !there {
		return nil
	}
	mine := s.box.At(state.Pose)
	around := sphere{mine.Pose.Position, mine.Radius()}
	for i := range s.places {
		if !s.places[i].meets(&around) {
			continue
		}
		other := &s.bodies[i]
		if !other.near(s.env.History, &around, at.TimeNs) {
			continue
		}
		theirs, there := s.env.History.State(other.id, at.TimeNs)
		if !there || !mine.Overlaps(other.box.At(theirs.Pose)) {
			continue
		}
		contact, touches := s.meshes.touch(&mine, other, theirs.Pose, at.TimeNs)
		if !touches {
			continue
		}
		s.event = sample.Collision{
			Header: at.Header(s.spec.FrameID, state.Pose.Compose(s.spec.Mount)),
			Actor:  s.env.Owner, Other: other.id, ActorType: s.owner.TypeID, OtherType: other.typeID,
		}
		normal := mine.Pose.Rotate(normalAt(contact, mine.Half))
		s.event.NormalImpulse = impulse(normal, state.Twist.Linear.Sub(theirs.Twist.Linear), s.mass, other.mass)
		s.out.TryQueue(at, &s.event)
	}
	return nil
}

// normalAt returns the unit vector that leads the box out of a contact the shortest
// way, level: along x or y of the box's frame.
func normalAt(contact, half mgl64.Vec3) mgl64.Vec3 {
	axis := 0
	if half[1]-math.Abs(contact[1]) < half[0]-math.Abs(contact[0]) {
		axis = 1
	}
	var n mgl64.Vec3
	n[axis] = -math.Copysign(1, contact[axis])
	return n
}

// impulse returns what ends the approach of two bodies along a normal that points to
// the first, N s; it is zero where they don't approach.
func impulse(normal, relative mgl64.Vec3, m1, m2 float64) mgl64.Vec3 {
	approach := -relative.Dot(normal)
	if approach <= 0 {
		return mgl64.Vec3{}
	}
	return normal.Mul(approach / (1/m1 + 1/m2))
}

// Densities of the masses that impulses are computed with: a car of 14 m³ has 1.5
// tonnes, a walker 75 kg.
const (
	vehicleDensity = 107.0 // kg/m³ of the bounding box
	walkerMass     = 75.0  // kg
)

// massOf returns the mass of an actor that moves, kg.
func massOf(typeID string, b scene.Box) float64 {
	if strings.HasPrefix(typeID, "walker.") {
		return walkerMass
	}
	return vehicleDensity * 8 * b.Half[0] * b.Half[1] * b.Half[2]
}

// End releases nothing: the sensor holds memory only.
func (s *sensor) End() error { return nil }
