package groundtruth

import (
	"context"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Collision describes sensor.other.collision, which tells when the actor that it rides on
// touches another.
//
// raybridge has no physics: actors follow their motions through one another. Contact is
// geometry, the owner's box against the other's triangles, so that a car that drives under a
// tree's crown touches nothing. The ego, which has no triangles, is its box, and the ground
// isn't looked at. The impulse is the one that would end the approach of two bodies without
// spin.
type Collision struct{}

// CollisionDefinition describes sensor.other.collision.
var CollisionDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.collision",
	Number: 62,
	Doc:    "collisions of the actor it is attached to, one event a frame for each actor that is touched",
	Tags:   []string{"other", "collision"},
	Outputs: sensors.OneOutput[sample.Collision](sensors.OutputSpec{
		Name: "collision", Doc: "the actor that is touched, and the normal impulse on the owner",
		QoS: flow.ReliableQoS(100),
	}),
	EachFrame: true,
}, func(spec sensors.Spec, _ Collision) (sensors.Sensor, error) {
	return &collision{Reading: sensors.Reading[sample.Collision]{Spec: spec}}, nil
})

// clearance is how far above the owner's lowest point its box begins, metres: kerbs
// and what lies on the road are driven over.
const clearance = 0.15

type collision struct {
	sensors.Reading[sample.Collision]
	owner  sensors.Owner
	mass   float64   // the owner's, kg
	box    scene.Box // the owner's, without the clearance
	bodies []body
	places []sphere // of bodies; apart, for they are looked through at every instant
	meshes meshes
	// come are those who are there and were spawned, spawned the bodies of some who were.
	come    []*scene.Actor
	spawned map[uint32]*body
}

// SetOwner takes the owner's box.
func (s *collision) SetOwner(owner sensors.Owner) error {
	s.owner, s.box = owner, owner.Box
	s.mass = massOf(owner.TypeID, owner.Box)
	lift := math.Min(clearance, owner.Box.Half[2])
	s.box.Center[2] += lift / 2
	s.box.Half[2] -= lift / 2
	return nil
}

// Begin lists what can be touched and opens the output.
func (s *collision) Begin(ctx context.Context, env *sensors.Env) error {
	s.meshes = newMeshes(env.Scene)
	s.bodies, s.places = bodiesFor(env)
	s.spawned = map[uint32]*body{}
	return s.Reading.Begin(ctx, env)
}

// Tick publishes an event for each actor that the owner touches.
func (s *collision) Tick(at sensors.Tick) error {
	state, there := s.Env.History.State(s.Env.Owner, at.Due)
	if !there {
		return nil
	}
	mine := s.box.At(state.Pose)
	around := sphere{mine.Pose.Position, mine.Radius()}
	for i := range s.places {
		if s.places[i].meets(&around) {
			s.meet(at, &s.bodies[i], &around, &state)
		}
	}
	s.come = s.Env.History.Spawned(s.come[:0], at.Due)
	for _, a := range s.come {
		if b := s.bodyOf(a); b != nil {
			s.meet(at, b, &around, &state)
		}
	}
	return nil
}

// bodyOf returns the body of an actor that was spawned, nil for one that nothing collides with.
func (s *collision) bodyOf(a *scene.Actor) *body {
	b, known := s.spawned[a.ID]
	if known {
		return b
	}
	if len(s.spawned) > 2*len(s.come)+64 { // most have left
		clear(s.spawned)
	}
	if made, ok := solidBody(s.Env, a); ok {
		made = moving(made)
		b = &made
	}
	s.spawned[a.ID] = b
	return b
}

// meet publishes a collision with another, if it touches the owner, whose state is given, and who
// is within a sphere.
func (s *collision) meet(at sensors.Tick, other *body, around *sphere, state *scene.State) {
	if !other.near(s.Env.History, around, at.Due) {
		return
	}
	mine := s.box.At(state.Pose)
	theirs, there := s.Env.History.State(other.id, at.Due)
	if !there || !mine.Overlaps(other.box.At(theirs.Pose)) {
		return
	}
	contact, touches := s.meshes.touch(&mine, other, theirs.Pose, at.Due)
	if !touches {
		return
	}
	s.Message = sample.Collision{
		Header: at.Header(s.Spec.FrameID, state.Pose.Compose(s.Spec.Mount)),
		Actor:  s.Env.Owner, Other: other.id, ActorType: s.owner.TypeID, OtherType: other.typeID,
	}
	normal := mine.Pose.Rotate(normalAt(contact, mine.Half))
	s.Message.NormalImpulse = impulse(normal, state.Twist.Linear.Sub(theirs.Twist.Linear), s.mass, other.mass)
	s.Publish(at)
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

// impulse returns what ends the approach of two bodies along a normal that points to the first,
// N s. It is zero where they don't approach.
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
	if ActorKindOf(typeID) == sample.KindWalker {
		return walkerMass
	}
	return vehicleDensity * 8 * b.Half[0] * b.Half[1] * b.Half[2]
}

// body is an actor that can be touched, or the ego.
type body struct {
	id     uint32
	typeID string
	mass   float64 // kg; infinite for what is fixed to the ground
	box    scene.Box
	parts  []scene.Part // what is solid of it; the ego has none, and is its box
	// reach bounds what moves: no point of it is further from its origin, metres.
	reach float64
	// place bounds the body at all times: everywhere for what moves.
	place sphere
}

// sphere bounds something in the map frame.
type sphere struct {
	center mgl64.Vec3
	radius float64
}

// everywhere holds everything.
var everywhere = sphere{radius: math.Inf(1)}

func (s *sphere) meets(o *sphere) bool {
	reach := s.radius + o.radius
	x, y, z := s.center[0]-o.center[0], s.center[1]-o.center[1], s.center[2]-o.center[2]
	return x*x+y*y+z*z <= reach*reach
}

// bodiesFor lists what the owner can touch, by rising id, and the place of each.
func bodiesFor(env *sensors.Env) (list []body, places []sphere) {
	if box, ok := env.History.Box(scene.EgoID); ok && env.Owner != scene.EgoID {
		list = append(list, moving(body{
			id: scene.EgoID, typeID: scene.EgoTypeID, mass: massOf(scene.EgoTypeID, box), box: box,
		}))
	}
	for _, a := range env.Scene.Actors {
		b, ok := solidBody(env, a)
		if !ok {
			continue
		}
		if a.Static() {
			b = standing(b, a.Pose)
		} else {
			b = moving(b)
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b body) int { return int(a.id) - int(b.id) })
	places = make([]sphere, len(list))
	for i := range list {
		places[i] = list[i].place
	}
	return list, places
}

// solidBody returns the body of an actor, false for the owner and for one that nothing collides
// with.
func solidBody(env *sensors.Env, a *scene.Actor) (b body, ok bool) {
	box, ok := env.History.Box(a.ID)
	parts := slices.DeleteFunc(slices.Clone(a.Parts), func(p scene.Part) bool { return !isSolid(p) })
	if !ok || a.ID == env.Owner || len(parts) == 0 {
		return body{}, false
	}
	return body{id: a.ID, typeID: a.TypeID, mass: massOf(a.TypeID, box), box: box, parts: parts}, true
}

func moving(b body) body {
	b.place, b.reach = everywhere, b.box.Center.Len()+b.box.Half.Len()
	return b
}

// standing is a body that never moves: a parked vehicle gives way, all others are
// fixed to the ground.
func standing(b body, pose spatial.Pose) body {
	b.place = sphere{pose.Apply(b.box.Center), b.box.Half.Len()}
	if ActorKindOf(b.typeID) != sample.KindVehicle {
		b.mass = math.Inf(1)
	}
	return b
}

// isSolid reports whether a part stands in the way: not what is driven and walked on.
func isSolid(p scene.Part) bool {
	return !p.Tag.Ground() && p.Tag != scene.TagSky && p.Tag != scene.TagWater
}

// near reports whether the body, whose place meets the sphere, may overlap what is in
// it: it is there, and not too far away now.
func (b *body) near(h *scene.History, s *sphere, stamp simtime.Stamp) bool {
	if b.reach == 0 {
		return true
	}
	pose, there := h.Pose(b.id, stamp)
	return there && s.meets(&sphere{pose.Position, b.reach})
}

// meshes are a scene's, with the boxes of those that were looked at.
type meshes struct {
	scene *scene.Scene
	boxes []scene.Box
	known []bool // of boxes
}

func newMeshes(s *scene.Scene) meshes {
	return meshes{scene: s, boxes: make([]scene.Box, len(s.Meshes)), known: make([]bool, len(s.Meshes))}
}

// boxOf returns the box of a mesh in its own frame.
func (m *meshes) boxOf(mesh int) *scene.Box {
	if !m.known[mesh] {
		m.boxes[mesh] = m.scene.BoxOf(&scene.Actor{Parts: []scene.Part{{Mesh: mesh, Local: mgl64.Ident4()}}})
		m.known[mesh] = true
	}
	return &m.boxes[mesh]
}

// touch returns the middle of what of a body reaches into the box, in the box's frame.
func (m *meshes) touch(box *spatial.OrientedBox, b *body, pose spatial.Pose, stamp simtime.Stamp) (mgl64.Vec3, bool) {
	c := contact{box: box}
	toBox := box.Pose.Inverse().Compose(pose).Mat4()
	for i := range b.parts {
		part := &b.parts[i]
		at := toBox.Mul4(part.At(stamp))
		var shaped []mgl64.Vec3
		switch {
		case part.Shape != nil: // of which the mesh's own box says nothing
			shaped = part.Positions(m.scene, stamp)
		case !c.mayReach(m.boxOf(part.Mesh), &at):
			continue
		}
		mesh := &m.scene.Meshes[part.Mesh]
		for k := 0; k+2 < len(mesh.Indices); k += 3 {
			var triangle [3]mgl64.Vec3
			for v := range triangle {
				p := mesh.Positions[mesh.Indices[k+v]]
				place := mgl64.Vec4{float64(p[0]), float64(p[1]), float64(p[2]), 1}
				if shaped != nil {
					place = shaped[mesh.Indices[k+v]].Vec4(1)
				}
				triangle[v] = at.Mul4x1(place).Vec3()
			}
			c.add(&triangle)
		}
	}
	if b.parts == nil {
		c.addBox(b.box.At(pose))
	}
	return c.middle()
}

// contact is what reaches into a box.
type contact struct {
	box *spatial.OrientedBox
	sum mgl64.Vec3
	n   int
}

// mayReach reports whether a mesh's box, mapped into the box's frame, reaches into it;
// it is true for some that don't.
func (c *contact) mayReach(mesh *scene.Box, at *mgl64.Mat4) bool {
	center := at.Mul4x1(mesh.Center.Vec4(1))
	for row := range 3 {
		half := c.box.Half[row]
		for column := range 3 {
			half += math.Abs(at.At(row, column)) * mesh.Half[column]
		}
		if math.Abs(center[row]) > half {
			return false
		}
	}
	return true
}

// add takes a triangle in the box's frame.
func (c *contact) add(triangle *[3]mgl64.Vec3) {
	if c.box.OverlapsTriangle(*triangle) {
		c.sum = c.sum.Add(clamped(triangle, c.box.Half))
		c.n++
	}
}

// boxFaces are the triangles of a box by its corners' indices.
var boxFaces = [12][3]int{
	{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
	{2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5},
}

// addBox takes the surface of another box, in the map frame.
func (c *contact) addBox(other spatial.OrientedBox) {
	other.Pose = c.box.Pose.Inverse().Compose(other.Pose)
	corners := other.Corners()
	for _, face := range boxFaces {
		c.add(&[3]mgl64.Vec3{corners[face[0]], corners[face[1]], corners[face[2]]})
	}
}

// middle returns the middle of what was added; touches is false for nothing.
func (c *contact) middle() (_ mgl64.Vec3, touches bool) {
	if c.n == 0 {
		return mgl64.Vec3{}, false
	}
	return c.sum.Mul(1 / float64(c.n)), true
}

// clamped returns about the middle of the part of a triangle that lies in a box.
func clamped(triangle *[3]mgl64.Vec3, half mgl64.Vec3) mgl64.Vec3 {
	var middle mgl64.Vec3
	for _, p := range triangle {
		for axis := range 3 {
			middle[axis] += math.Max(-half[axis], math.Min(half[axis], p[axis])) / 3
		}
	}
	return middle
}
