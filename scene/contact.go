package scene

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// clearance is how far above the owner's lowest point its box begins, metres: kerbs
// and what lies on the road are driven over.
const clearance = 0.15

// ContactWatch finds which actors another one touches, its owner. Contact is geometry: the owner's box against the
// others' triangles, so that a car that drives under a tree's crown touches nothing. The ego, which has no triangles, is
// its box, and the ground isn't looked at. One goroutine at a time uses it.
type ContactWatch struct {
	scene   *Scene
	history *History
	owner   uint32
	box     Box // the owner's, without the clearance
	meshes  meshes
	// standing are the bodies that never move, close those of them whose place reaches into around.
	standing []body
	close    []*body
	around   sphere
	// moving are the bodies of those who may, nil for those that nothing collides with. Some have left.
	moving map[uint32]*body

	movers []Moving // at the latest time
	met    []*body  // scratch
}

// Contact is an actor that the owner of a ContactWatch touches, or the ego.
type Contact struct {
	ID     uint32
	TypeID string
	// Box is the actor's, in its own frame. Fixed is true for one that never moves.
	Box   Box
	Fixed bool
	// Owner and Other are where the owner and the actor are, and how they move.
	Owner, Other State
	// Normal leads the owner out of the contact the shortest way, level in its own frame: a unit vector in the map's.
	Normal mgl64.Vec3
}

// NewContactWatch returns a watch over an actor that has a box in its own frame.
func NewContactWatch(s *Scene, history *History, owner uint32, box Box) *ContactWatch {
	lift := math.Min(clearance, box.Half[2])
	box.Center[2] += lift / 2
	box.Half[2] -= lift / 2
	w := &ContactWatch{scene: s, history: history, owner: owner, box: box, meshes: newMeshes(s), moving: map[uint32]*body{}, around: sphere{radius: -1}}
	for _, a := range s.Actors {
		if !a.Static() {
			continue
		}
		if b := w.bodyOf(a); b != nil {
			b.at = b.box.At(a.Pose)
			b.place = sphere{b.at.Pose.Position, b.at.Radius()}
			w.standing = append(w.standing, *b)
		}
	}
	return w
}

// Touched appends whom the owner touches at the time of a tick to dst: by rising id, none where the owner isn't there.
func (w *ContactWatch) Touched(dst []Contact, at simtime.Stamp) []Contact {
	state, there := w.history.State(w.owner, at)
	if !there {
		return dst
	}
	mine := w.box.At(state.Pose)
	reach := sphere{mine.Pose.Position, mine.Radius()}
	w.gather(&reach, at)
	for _, b := range w.met {
		if b.moves || mine.Overlaps(b.at) {
			dst = w.meet(dst, at, b, &state)
		}
	}
	return dst
}

// Moving returns who may move, as of the latest time that Touched was asked for, until it is asked again.
func (w *ContactWatch) Moving() []Moving { return w.movers }

// gather lists the bodies that may reach into a sphere, by rising id.
func (w *ContactWatch) gather(reach *sphere, at simtime.Stamp) {
	w.met = w.met[:0]
	for _, b := range w.closeTo(reach) {
		if b.place.meets(reach) {
			w.met = append(w.met, b)
		}
	}
	w.movers = w.history.Moving(w.movers[:0], at)
	for i := range w.movers {
		m := &w.movers[i]
		if place := (sphere{m.Position, m.Reach}); m.ID == w.owner || !place.meets(reach) {
			continue
		}
		if b := w.mover(m.ID); b != nil {
			w.met = append(w.met, b)
		}
	}
	slices.SortFunc(w.met, func(a, b *body) int { return cmp.Compare(a.id, b.id) })
}

// closeMargin is how far the owner goes before the bodies close to it are listed again, metres.
const closeMargin = 20

// closeTo returns those who stand and reach into a sphere, and some more.
func (w *ContactWatch) closeTo(reach *sphere) []*body {
	if w.around.radius >= reach.center.Sub(w.around.center).Len()+reach.radius {
		return w.close
	}
	w.around, w.close = sphere{reach.center, reach.radius + closeMargin}, w.close[:0]
	for i := range w.standing {
		if b := &w.standing[i]; b.place.meets(&w.around) {
			w.close = append(w.close, b)
		}
	}
	return w.close
}

// mover returns the body of somebody who may move, nil for one that nothing collides with.
func (w *ContactWatch) mover(id uint32) *body {
	b, known := w.moving[id]
	if known {
		return b
	}
	if len(w.moving) > 2*len(w.movers)+64 { // most have left
		clear(w.moving)
	}
	if id == EgoID {
		box, _ := w.history.Box(id)
		b = &body{id: id, typeID: EgoTypeID, box: box, moves: true}
	} else if b = w.bodyOf(w.history.Actor(id)); b != nil {
		b.moves = true
	}
	w.moving[id] = b
	return b
}

// bodyOf returns the body of an actor, nil for the owner and for one that nothing collides with.
func (w *ContactWatch) bodyOf(a *Actor) *body {
	box, ok := w.history.Box(a.ID)
	parts := slices.DeleteFunc(slices.Clone(a.Parts), func(p Part) bool { return !isSolid(p) })
	if !ok || a.ID == w.owner || len(parts) == 0 {
		return nil
	}
	return &body{id: a.ID, typeID: a.TypeID, box: box, parts: parts}
}

// meet appends another, if it touches the owner, whose state is given.
func (w *ContactWatch) meet(dst []Contact, at simtime.Stamp, other *body, state *State) []Contact {
	mine := w.box.At(state.Pose)
	theirs, there := w.history.State(other.id, at)
	if !there || !mine.Overlaps(other.box.At(theirs.Pose)) {
		return dst
	}
	middle, touches := w.meshes.touch(&mine, other, theirs.Pose, at)
	if !touches {
		return dst
	}
	return append(dst, Contact{
		ID: other.id, TypeID: other.typeID, Box: other.box, Fixed: !other.moves,
		Owner: *state, Other: theirs, Normal: mine.Pose.Rotate(normalAt(middle, mine.Half)),
	})
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

// body is an actor that can be touched, or the ego.
type body struct {
	id     uint32
	typeID string
	box    Box
	parts  []Part // what is solid of it; the ego has none, and is its box
	moves  bool
	// at is where the box of one is that doesn't move, place the sphere around it.
	at    spatial.OrientedBox
	place sphere
}

// sphere bounds something in the map frame.
type sphere struct {
	center mgl64.Vec3
	radius float64
}

func (s *sphere) meets(o *sphere) bool {
	reach := s.radius + o.radius
	x, y, z := s.center[0]-o.center[0], s.center[1]-o.center[1], s.center[2]-o.center[2]
	return x*x+y*y+z*z <= reach*reach
}

// isSolid reports whether a part stands in the way: not what is driven and walked on.
func isSolid(p Part) bool {
	return !p.Tag.Ground() && p.Tag != TagSky && p.Tag != TagWater
}

// meshes are a scene's, with the boxes of those that were looked at.
type meshes struct {
	scene *Scene
	boxes []Box
	known []bool // of boxes
}

func newMeshes(s *Scene) meshes {
	return meshes{scene: s, boxes: make([]Box, len(s.Meshes)), known: make([]bool, len(s.Meshes))}
}

// boxOf returns the box of a mesh in its own frame.
func (m *meshes) boxOf(mesh int) *Box {
	if !m.known[mesh] {
		m.boxes[mesh] = m.scene.BoxOf(&Actor{Parts: []Part{{Mesh: mesh, Local: mgl64.Ident4()}}})
		m.known[mesh] = true
	}
	return &m.boxes[mesh]
}

// touch returns the middle of what of a body reaches into the box, in the box's frame.
func (m *meshes) touch(box *spatial.OrientedBox, b *body, pose spatial.Pose, stamp simtime.Stamp) (mgl64.Vec3, bool) {
	c := overlap{box: box}
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

// overlap is what reaches into a box.
type overlap struct {
	box *spatial.OrientedBox
	sum mgl64.Vec3
	n   int
}

// mayReach reports whether a mesh's box, mapped into the box's frame, reaches into it;
// it is true for some that don't.
func (c *overlap) mayReach(mesh *Box, at *mgl64.Mat4) bool {
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
func (c *overlap) add(triangle *[3]mgl64.Vec3) {
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
func (c *overlap) addBox(other spatial.OrientedBox) {
	other.Pose = c.box.Pose.Inverse().Compose(other.Pose)
	corners := other.Corners()
	for _, face := range boxFaces {
		c.add(&[3]mgl64.Vec3{corners[face[0]], corners[face[1]], corners[face[2]]})
	}
}

// middle returns the middle of what was added; touches is false for nothing.
func (c *overlap) middle() (_ mgl64.Vec3, touches bool) {
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
