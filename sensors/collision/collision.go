// Package collision tells when the actor that it rides on touches another.
//
// raybridge has no physics: actors follow their motions through one another. Contact
// is geometry, the owner's box against the other's triangles, so that a car that
// drives under a tree's crown touches nothing; the ground isn't looked at. The
// impulse is the one that would end the approach of two bodies without spin.
package collision

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
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
			QoS: sensors.QoS{Reliable: true, Depth: 100},
		}),
	},
	EachFrame: true,
	New:       func(spec sensors.Spec) (sensors.Sensor, error) { return &sensor{spec: spec}, nil },
}

// clearance is how far above the owner's lowest point its box begins, metres: kerbs
// and what lies on the road are driven over.
const clearance = 0.15

type sensor struct {
	spec  sensors.Spec
	owner sensors.Owner
	box   scene.Box // the owner's, without the clearance
	env   *sensors.Env
	out   *sensors.Output[*sample.Collision]
	solid []body
	event sample.Collision // reused: outputs copy what they keep
}

// body is an actor that can be touched.
type body struct {
	actor *scene.Actor
	box   scene.Box
}

// SetOwner takes the owner's box.
func (s *sensor) SetOwner(owner sensors.Owner) error {
	s.owner, s.box = owner, owner.Box
	lift := math.Min(clearance, owner.Box.Half[2])
	s.box.Center[2] += lift / 2
	s.box.Half[2] -= lift / 2
	return nil
}

// Begin opens the output and lists what can be touched.
func (s *sensor) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	for _, a := range env.Scene.Actors {
		if box, ok := env.History.Box(a.ID); ok && a.ID != env.Owner && slices.ContainsFunc(a.Parts, isSolid) {
			s.solid = append(s.solid, body{a, box})
		}
	}
	slices.SortFunc(s.solid, func(a, b body) int { return int(a.actor.ID) - int(b.actor.ID) })
	s.out, err = sensors.OutputOf[*sample.Collision](env, "collision")
	return err
}

// isSolid reports whether a part stands in the way: not what is driven and walked on.
func isSolid(p scene.Part) bool {
	switch p.Tag {
	case scene.TagRoads, scene.TagSidewalks, scene.TagTerrain, scene.TagGround, scene.TagRoadLine,
		scene.TagSky, scene.TagWater, scene.TagRailTrack, scene.TagBridge:
		return false
	default:
		return true
	}
}

// Tick publishes an event for each actor that the owner touches.
func (s *sensor) Tick(at sensors.Tick) error {
	state, there := s.env.History.State(s.env.Owner, at.TimeNs)
	if !there {
		return nil
	}
	mine := s.box.At(state.Pose)
	for i := range s.solid {
		other := &s.solid[i]
		theirs, there := s.env.History.State(other.actor.ID, at.TimeNs)
		if !there || !near(mine, other.box.At(theirs.Pose)) {
			continue
		}
		contact, touches := s.touch(mine, other.actor, theirs.Pose, at.TimeNs)
		if !touches {
			continue
		}
		s.event = sample.Collision{
			Header: at.Header(s.spec.FrameID, state.Pose.Compose(s.spec.Mount)),
			Actor:  s.env.Owner, Other: other.actor.ID, ActorType: s.owner.TypeID, OtherType: other.actor.TypeID,
		}
		normal := mine.Pose.Rotate(normalAt(contact, mine.Half))
		s.event.NormalImpulse = impulse(normal, state.Twist.Linear.Sub(theirs.Twist.Linear), mass(s.owner.TypeID, s.owner.Box), other.mass())
		s.out.TryQueue(at, &s.event)
	}
	return nil
}

func near(a, b spatial.OrientedBox) bool {
	reach := a.Radius() + b.Radius()
	d := a.Pose.Position.Sub(b.Pose.Position)
	return d.Dot(d) <= reach*reach && a.Overlaps(b)
}

// touch returns the middle of an actor's triangles that reach into the box, in the
// box's frame.
func (s *sensor) touch(box spatial.OrientedBox, a *scene.Actor, pose spatial.Pose, tNs int64) (contact mgl64.Vec3, touches bool) {
	toBox := box.Pose.Inverse().Compose(pose).Mat4()
	n := 0
	for i := range a.Parts {
		part := &a.Parts[i]
		if !isSolid(*part) {
			continue
		}
		at := toBox.Mul4(part.At(tNs))
		mesh := &s.env.Scene.Meshes[part.Mesh]
		for k := 0; k+2 < len(mesh.Indices); k += 3 {
			var triangle [3]mgl64.Vec3
			for v := range triangle {
				p := mesh.Positions[mesh.Indices[k+v]]
				triangle[v] = at.Mul4x1(mgl64.Vec4{float64(p[0]), float64(p[1]), float64(p[2]), 1}).Vec3()
			}
			if box.OverlapsTriangle(triangle) {
				contact = contact.Add(clamped(triangle, box.Half))
				n++
			}
		}
	}
	if n == 0 {
		return mgl64.Vec3{}, false
	}
	return contact.Mul(1 / float64(n)), true
}

// clamped returns about the middle of the part of a triangle that lies in a box.
func clamped(triangle [3]mgl64.Vec3, half mgl64.Vec3) mgl64.Vec3 {
	var middle mgl64.Vec3
	for _, p := range triangle {
		for axis := range 3 {
			middle[axis] += math.Max(-half[axis], math.Min(half[axis], p[axis])) / 3
		}
	}
	return middle
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

// mass returns the mass of an actor that moves, kg.
func mass(typeID string, b scene.Box) float64 {
	if strings.HasPrefix(typeID, "walker.") {
		return walkerMass
	}
	return vehicleDensity * 8 * b.Half[0] * b.Half[1] * b.Half[2]
}

// mass is infinite for what is fixed to the ground.
func (b *body) mass() float64 {
	if b.actor.Static() && !strings.HasPrefix(b.actor.TypeID, "vehicle.") {
		return math.Inf(1)
	}
	return mass(b.actor.TypeID, b.box)
}

// End releases nothing: the sensor holds memory only.
func (s *sensor) End() error { return nil }
