package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Ball is a ball that goes straight ahead.
type Ball struct {
	// Pose is where its middle begins, in the map frame. It goes along x.
	Pose spatial.Pose
	// Radius and Distance, how far it goes, are in metres. A ball without a radius is a ray.
	Radius, Distance float64
	// Through is the id of an actor that it passes through. No actor has EgoID.
	Through uint32
	// Counts says whether it touches surfaces of a tag. The second value is the cosine, 0..1,
	// between the way and the surface's normal.
	Counts func(tag Tag, facing float64) bool
}

// Touch is what a ball touches first.
type Touch struct {
	// Distance is how far the ball goes until then, metres. It is 0 for what it touches already.
	Distance float64
	// Actor is the actor's id.
	Actor uint32
}

// Sweeper finds what balls touch on their way. It is exact: the surfaces are the triangles of the
// scene, each where it is at the instant, and none is too thin. Only what is ahead of the ball's
// middle at the beginning counts. Parts that a material's alpha cuts out count as surface. The ego has
// no surface. One goroutine at a time may use it, and it needs no GPU.
type Sweeper struct {
	geometry *Geometry
	history  *History
	packer   *Packer
	cast     []Shown
	places   []mgl64.Mat4
	search   ballSearch
}

// NewSweeper returns a sweeper for a world whose actors a history follows.
func NewSweeper(g *Geometry, h *History) *Sweeper {
	return &Sweeper{geometry: g, history: h, packer: NewPacker(g, h)}
}

// First returns what a ball touches first at an instant; ok is false where its way is free.
func (s *Sweeper) First(b Ball, stamp simtime.Stamp) (first Touch, ok bool) {
	toBall := s.geometry.FromMap(b.Pose).Inverse().Mat4()
	s.search = ballSearch{geometry: s.geometry, ball: b, best: math.Inf(1)}
	s.search.static(toBall)
	s.cast = s.packer.Cast(s.cast[:0], stamp)
	s.places = s.packer.Places(s.places[:0], s.cast, stamp)
	for row := range s.cast {
		who := &s.cast[row]
		if who.Actor == nil || who.Mover < 0 || s.places[row].At(3, 3) == 0 || who.Actor.ID == b.Through {
			continue
		}
		s.search.mover(&s.geometry.Movers[who.Mover], who.Actor, toBall.Mul4(s.places[row]), stamp)
	}
	if s.search.best > b.Distance {
		return Touch{}, false
	}
	id := s.search.actor
	if s.search.labelled {
		id = s.history.Labelled(id, stamp)
	}
	return Touch{s.search.best, id}, true
}

// ballSearch is the search for what a ball touches first. Its frame is the ball's: the middle
// begins at the origin and goes along x.
type ballSearch struct {
	geometry *Geometry
	ball     Ball
	// toBall leads from the frame of the triangles that are looked at to the ball's.
	toBall mgl64.Mat4
	// whose is the actor of these triangles, nil for static ones, and tag its part's.
	whose *Actor
	tag   Tag

	best     float64 // +Inf for nothing
	actor    uint32  // its id; its label where labelled is set
	labelled bool
}

// static looks at what never moves.
func (s *ballSearch) static(toBall mgl64.Mat4) {
	s.toBall, s.whose = toBall, nil
	s.walk(s.geometry.Static)
}

// mover looks at a moving part of an actor, whose frame toBall leads from.
func (s *ballSearch) mover(m *Mover, a *Actor, toBall mgl64.Mat4, stamp simtime.Stamp) {
	s.toBall, s.whose, s.tag = toBall, a, a.Parts[m.Part].Tag
	low, high := m.Bounds(stamp)
	if !s.mayTouch(low, high) {
		return
	}
	if m.shape == nil {
		s.walk(m.Root)
		return
	}
	p := poser{shape: m.shape}
	p.pose(stamp)
	mesh := m.shape.mesh
	for k := 0; k+2 < len(mesh.Indices); k += 3 {
		var t [3]mgl64.Vec3
		for v := range t {
			t[v] = m.stretch.Mul3x1(p.positions[mesh.Indices[k+v]])
		}
		s.triangle(t, 0)
	}
}

// walk looks at the triangles of a hierarchy whose boxes the ball may touch.
func (s *ballSearch) walk(ref Ref) {
	var stack [stackSize + 1]Ref
	top := 0
	for ref != 0 {
		if ref&refLeaf != 0 {
			first := int(ref & refFirstMask)
			for i := first; i <= first+int(ref>>refCountBit&(maxLeaf-1)); i++ {
				v := s.geometry.Vertices[3*i:]
				s.triangle([3]mgl64.Vec3{vec64(v[0]), vec64(v[1]), vec64(v[2])}, s.geometry.Attributes[3*i+1][3])
			}
		} else {
			n := &s.geometry.Nodes[ref.Node()]
			for k := range 4 {
				low := mgl64.Vec3{float64(n[0][k]), float64(n[2][k]), float64(n[4][k])}
				high := mgl64.Vec3{float64(n[1][k]), float64(n[3][k]), float64(n[5][k])}
				if low[0] <= high[0] && s.mayTouch(low, high) {
					stack[top] = Ref(math.Float32bits(n[6][k]))
					top++
				}
			}
		}
		if ref = 0; top > 0 {
			top--
			ref = stack[top]
		}
	}
}

// mayTouch reports whether the ball may touch something in a box before what it has touched; it is
// true for some boxes where it doesn't.
func (s *ballSearch) mayTouch(low, high mgl64.Vec3) bool {
	centre, half := mgl64.TransformCoordinate(low.Add(high).Mul(0.5), s.toBall), high.Sub(low).Mul(0.5)
	half = absolute(s.toBall.Mat3()).Mul3x1(half)
	beside := math.Hypot(max(math.Abs(centre[1])-half[1], 0), max(math.Abs(centre[2])-half[2], 0))
	r := s.ball.Radius
	return beside <= r && centre[0]+half[0] >= 0 && centre[0]-half[0] <= min(s.best, s.ball.Distance)+r
}

// triangle takes a triangle whose label is given.
func (s *ballSearch) triangle(t [3]mgl64.Vec3, label uint32) {
	for i := range t {
		t[i] = mgl64.TransformCoordinate(t[i], s.toBall)
	}
	tag, id := s.tag, label&labelMask
	if s.whose == nil {
		tag = Tag(label >> 16)
		if id != 0 && id == LabelOf(s.ball.Through) {
			return
		}
	} else {
		id = s.whose.ID
	}
	normal := t[1].Sub(t[0]).Cross(t[2].Sub(t[0]))
	if length := normal.Len(); length > 0 {
		normal = normal.Mul(1 / length)
	}
	if !s.ball.Counts(tag, math.Abs(normal[0])) {
		return
	}
	if x := max(meet(t, normal, s.ball.Radius), 0); x < s.best {
		s.best, s.actor, s.labelled = x, id, s.whose == nil
	}
}

// meet returns how far a ball goes along x from the origin until it touches a triangle. Only what
// of it is ahead of the origin counts. It is below 0 for what it touches already, +Inf for never. The ball
// touches a point p when it has gone p.x - sqrt(r² - p.y² - p.z²). That is a convex function, so
// its least value on the triangle is where the ball lies flat on it, or else on an edge.
func meet(t [3]mgl64.Vec3, normal mgl64.Vec3, r float64) float64 {
	polygon, n := ahead(t)
	if n == 0 {
		return math.Inf(1)
	}
	if normal[0] < 0 {
		normal = normal.Mul(-1)
	}
	if normal[0] > 0 {
		gone := (normal.Dot(t[0]) - r) / normal[0]
		if inside(polygon[:n], normal, normal.Mul(r).Add(mgl64.Vec3{gone, 0, 0})) {
			return gone
		}
	}
	least := math.Inf(1)
	for i := range n {
		least = min(least, meetEdge(polygon[i], polygon[(i+1)%n], r))
	}
	return least
}

// ahead returns the part of a triangle where x isn't below 0, a polygon of n corners.
func ahead(t [3]mgl64.Vec3) (polygon [4]mgl64.Vec3, n int) {
	for i, a := range t {
		b := t[(i+1)%3]
		if a[0] >= 0 {
			polygon[n] = a
			n++
		}
		if (a[0] < 0) != (b[0] < 0) {
			polygon[n] = a.Add(b.Sub(a).Mul(a[0] / (a[0] - b[0])))
			n++
		}
	}
	return polygon, n
}

// inside reports whether a point of a convex polygon's plane is in it.
func inside(polygon []mgl64.Vec3, normal, p mgl64.Vec3) bool {
	left, right := false, false
	for i, a := range polygon {
		side := polygon[(i+1)%len(polygon)].Sub(a).Cross(p.Sub(a)).Dot(normal)
		left, right = left || side > 0, right || side < 0
	}
	return !(left && right)
}

// meetEdge is meet for a line from a to b.
func meetEdge(a, b mgl64.Vec3, r float64) float64 {
	e := b.Sub(a)
	// At the share s of the edge its distance from the way is the root of A s² + 2 B s + C.
	A, B, C := e[1]*e[1]+e[2]*e[2], a[1]*e[1]+a[2]*e[2], a[1]*a[1]+a[2]*a[2]
	if A == 0 { // along the way
		if C > r*r {
			return math.Inf(1)
		}
		return min(a[0], b[0]) - math.Sqrt(r*r-C)
	}
	free := r*r - (C - B*B/A) // of the line's nearest point
	if free < 0 {
		return math.Inf(1)
	}
	// The ball passes shares from -B/A - reach to -B/A + reach, and is touched first at best.
	reach := math.Sqrt(free / A)
	best := (-B - math.Copysign(math.Sqrt(e[0]*e[0]*free/(1+e[0]*e[0]/A)), e[0])) / A
	low, high := max(-B/A-reach, 0), min(-B/A+reach, 1)
	if low > high {
		return math.Inf(1)
	}
	share := min(max(best, low), high)
	return a[0] + share*e[0] - math.Sqrt(max(r*r-(A*share*share+2*B*share+C), 0))
}
