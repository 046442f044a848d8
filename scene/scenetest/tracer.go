// Package scenetest has what tests of sensors need. Tracer is a plain float64 ray caster that
// works from a scene.Scene alone and shares nothing with scene.Geometry. Agreement compares a
// sensor's ranges with it. Small scenes have known geometry, labels and colours.
package scenetest

import (
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Hit is the nearest surface on a ray, in the map frame.
type Hit struct {
	T      float64 // metres along the unit direction
	Point  mgl64.Vec3
	Normal mgl64.Vec3 // geometric, unit, on the ray's side
	Actor  *scene.Actor
	Part   int
	// Material indexes the scene's Materials; UV are the texture coordinates.
	Material int
	UV       mgl64.Vec2
	// EdgeDistance is how far, in metres, the point lies from the nearest edge
	// of its triangle.
	EdgeDistance float64
}

// Tag returns the semantic tag of what was hit.
func (h *Hit) Tag() scene.Tag { return h.Actor.Parts[h.Part].Tag }

// Poses says where an actor is, and whether it is there at all; scene.History's
// Pose is one.
type Poses func(id uint32, stamp simtime.Stamp) (spatial.Pose, bool)

// Tracer finds ray hits by the textbook. It uses float64 and Möller and Trumbore's test (Fast,
// Minimum Storage Ray/Triangle Intersection, 1997). It has a median-split tree a mesh, and a
// box around each part of a static actor. Both sides of a triangle count. A blended surface is
// there from alpha 0.5 on, whatever its vertices' alpha: sensors see it by its share. It is safe
// for concurrent use.
type Tracer struct {
	scene  *scene.Scene
	poses  Poses
	trees  []*tree // by mesh
	static []placedPart
	moving []*scene.Actor
	come   func(dst []*scene.Actor, stamp simtime.Stamp) []*scene.Actor // nil where nobody comes
	shaped sync.Map                                                     // from shapedKey to *tree
}

// shapedKey is a mesh's shape at a time.
type shapedKey struct {
	mesh  int
	shape *scene.Shape
	stamp simtime.Stamp
}

// shapedTree returns the tree of a mesh's shape at a time, and keeps it.
func (t *Tracer) shapedTree(mesh int, shape *scene.Shape, stamp simtime.Stamp) *tree {
	key := shapedKey{mesh, shape, stamp}
	if known, ok := t.shaped.Load(key); ok {
		return known.(*tree)
	}
	made := newTree(Shaped(&t.scene.Meshes[mesh], shape, stamp))
	t.shaped.Store(key, made)
	return made
}

// placedPart is one part placed in the map frame.
type placedPart struct {
	actor *scene.Actor
	part  int
	at    mgl64.Mat4
	back  mgl64.Mat3 // inverse of at's linear part
	box   node       // of the placed triangles
	tree  *tree      // the mesh's, or that of its shape at a time
}

// NewTracer returns a tracer of a scene. poses may be nil: then each actor is where its Motion,
// else its Pose, says.
func NewTracer(s *scene.Scene, poses Poses) *Tracer {
	t := &Tracer{scene: s, poses: poses}
	for i := range s.Meshes {
		t.trees = append(t.trees, newTree(&s.Meshes[i]))
	}
	for _, a := range s.Actors {
		if !a.Static() {
			t.moving = append(t.moving, a)
			continue
		}
		for i := range a.Parts {
			if p, ok := t.place(a, i, a.Pose.Mat4().Mul4(a.Parts[i].Local)); ok {
				p.box = t.box(&p)
				t.static = append(t.static, p)
			}
		}
	}
	return t
}

// TracerOf returns a tracer of a scene whose actors a history follows, those that it spawned too.
// One whose slot another has taken since is found no more, at any time.
func TracerOf(s *scene.Scene, h *scene.History) *Tracer {
	t := NewTracer(s, h.Pose)
	t.come = h.Spawned
	return t
}

// place prepares a part; ok is false where it has no volume or no triangles.
func (t *Tracer) place(a *scene.Actor, part int, at mgl64.Mat4) (p placedPart, ok bool) {
	linear := at.Mat3()
	if math.Abs(linear.Det()) < 1e-30 || len(t.trees[a.Parts[part].Mesh].nodes) == 0 {
		return placedPart{}, false
	}
	return placedPart{actor: a, part: part, at: at, back: linear.Inv(), tree: t.trees[a.Parts[part].Mesh]}, true
}

// Shaped returns a mesh as its shape is at a time, by the textbook: the targets' sum, then the
// weighted sum of the joints' matrices.
func Shaped(mesh *scene.Mesh, shape *scene.Shape, stamp simtime.Stamp) *scene.Mesh {
	joints, weights := shape.Joints(nil, stamp), shape.Weights(nil, stamp)
	out := *mesh
	out.Positions = slices.Clone(mesh.Positions)
	for i := range out.Positions {
		p := out.Positions[i]
		for k, w := range weights {
			p = p.Add(mesh.Targets[k].Positions[i].Mul(float32(w)))
		}
		v := mgl64.Vec4{float64(p[0]), float64(p[1]), float64(p[2]), 1}
		if len(joints) > 0 {
			n := len(mesh.Joints) / len(mesh.Positions)
			var sum mgl64.Mat4
			for k := n * i; k < n*(i+1); k++ {
				sum = sum.Add(joints[mesh.Joints[k]].Mul(float64(mesh.Weights[k])))
			}
			v = sum.Mul4x1(v)
			v = v.Mul(1 / v[3])
		}
		out.Positions[i] = mgl32.Vec3{float32(v[0]), float32(v[1]), float32(v[2])}
	}
	return &out
}

func (t *Tracer) box(p *placedPart) node {
	root := &t.trees[p.actor.Parts[p.part].Mesh].nodes[0]
	inf := math.Inf(1)
	n := node{lo: mgl64.Vec3{inf, inf, inf}, hi: mgl64.Vec3{-inf, -inf, -inf}}
	for k := range 8 {
		c := root.lo
		for a := range 3 {
			if k>>a&1 != 0 {
				c[a] = root.hi[a]
			}
		}
		c = mgl64.TransformCoordinate(c, p.at)
		for a := range 3 {
			n.lo[a], n.hi[a] = min(n.lo[a], c[a]-1e-6), max(n.hi[a], c[a]+1e-6)
		}
	}
	return n
}

func (t *Tracer) pose(a *scene.Actor, stamp simtime.Stamp) (pose spatial.Pose, there bool) {
	switch {
	case t.poses != nil:
		return t.poses(a.ID, stamp)
	case a.Motion != nil:
		return a.Motion.PoseAt(stamp), true
	}
	return a.Pose, true
}

// Trace returns the nearest surface at tmin <= t < tmax metres along a ray of the map frame at
// a simulation time. direction is a unit vector.
func (t *Tracer) Trace(origin, direction mgl64.Vec3, tmin, tmax float64, stamp simtime.Stamp) (Hit, bool) {
	best := Hit{T: tmax}
	for i := range t.static {
		p := &t.static[i]
		if p.box.enters(origin, direction, tmin, best.T) {
			t.tracePart(p, origin, direction, tmin, &best)
		}
	}
	moving := t.moving
	if t.come != nil {
		moving = t.come(slices.Clone(moving), stamp)
	}
	for _, a := range moving {
		place, there := t.pose(a, stamp)
		if !there {
			continue
		}
		pose := place.Mat4()
		for i := range a.Parts {
			local := a.Parts[i].Local
			if a.Parts[i].Joints != nil {
				local = a.Parts[i].Joints(stamp)
			}
			p, ok := t.place(a, i, pose.Mul4(local))
			if !ok {
				continue
			}
			if shape := a.Parts[i].Shape; shape != nil {
				p.tree = t.shapedTree(a.Parts[i].Mesh, shape, stamp)
			}
			t.tracePart(&p, origin, direction, tmin, &best)
		}
	}
	return best, best.Actor != nil
}

// tracePart searches one part, and updates best if it is nearer.
func (t *Tracer) tracePart(p *placedPart, origin, direction mgl64.Vec3, tmin float64, best *Hit) {
	tr := p.tree
	o, d := p.back.Mul3x1(origin.Sub(p.at.Col(3).Vec3())), p.back.Mul3x1(direction)
	hit, ok := tr.nearest(o, d, tmin, best.T, t.cutOut)
	if !ok {
		return
	}
	var c [3]mgl64.Vec3
	for k := range c {
		c[k] = mgl64.TransformCoordinate(tr.corner(hit.triangle, k), p.at)
	}
	n := c[1].Sub(c[0]).Cross(c[2].Sub(c[0])).Normalize()
	if n.Dot(direction) > 0 {
		n = n.Mul(-1)
	}
	point := origin.Add(direction.Mul(hit.t))
	*best = Hit{
		T: hit.t, Point: point, Normal: n, Actor: p.actor, Part: p.part,
		Material: tr.material[hit.triangle], UV: tr.uv(hit),
		EdgeDistance: min(edgeDistance(point, c[0], c[1]), edgeDistance(point, c[1], c[2]), edgeDistance(point, c[2], c[0])),
	}
}

// edgeDistance returns a point's distance from the segment a to b.
func edgeDistance(p, a, b mgl64.Vec3) float64 {
	e := b.Sub(a)
	f := 0.0
	if l := e.LenSqr(); l > 0 {
		f = max(0, min(1, p.Sub(a).Dot(e)/l))
	}
	return p.Sub(a.Add(e.Mul(f))).Len()
}

// cutOut tells whether the surface is absent at a hit: its material's alpha is
// below the cutoff there.
func (t *Tracer) cutOut(tr *tree, h localHit) bool {
	m := &t.scene.Materials[tr.material[h.triangle]]
	cutoff := 0.0
	switch m.AlphaMode {
	case scene.AlphaMask:
		cutoff = float64(m.AlphaCutoff)
	case scene.AlphaBlend:
		cutoff = 0.5
	}
	if cutoff <= 0 {
		return false
	}
	alpha := float64(m.BaseColor[3])
	if m.BaseColorTexture != scene.NoTexture {
		alpha *= Alpha(&t.scene.Textures[m.BaseColorTexture], tr.uv(h))
	}
	return alpha < cutoff
}

// Alpha returns a magnified texture's alpha, 0..1.
func Alpha(x *scene.Texture, uv mgl64.Vec2) float64 {
	w, h := x.Image.Rect.Dx(), x.Image.Rect.Dy()
	at := func(i, j float64) float64 {
		return float64(x.Image.NRGBAAt(x.Image.Rect.Min.X+wrap(int(i), w, x.WrapS), x.Image.Rect.Min.Y+wrap(int(j), h, x.WrapT)).A) / 255
	}
	if x.Magnify&scene.FilterNearestMipmapLinear != 0 {
		return at(math.Floor(uv[0]*float64(w)), math.Floor(uv[1]*float64(h)))
	}
	u, v := uv[0]*float64(w)-0.5, uv[1]*float64(h)-0.5
	i, j := math.Floor(u), math.Floor(v)
	fu, fv := u-i, v-j
	return (at(i, j)*(1-fu)+at(i+1, j)*fu)*(1-fv) + (at(i, j+1)*(1-fu)+at(i+1, j+1)*fu)*fv
}

func wrap(i, n int, how scene.Wrap) int {
	switch how {
	case scene.WrapClamp:
		return max(0, min(n-1, i))
	case scene.WrapMirror:
		i = ((i % (2 * n)) + 2*n) % (2 * n)
		if i >= n {
			return 2*n - 1 - i
		}
		return i
	default:
		return ((i % n) + n) % n
	}
}

// tree is one mesh's triangles, sorted by halving at the median centre.
type tree struct {
	mesh     *scene.Mesh
	corners  [][3]uint32 // vertex indices of each triangle
	material []int       // of each triangle
	order    []int       // triangles in the leaves' order
	nodes    []node
}

// node holds order[first:last]; a leaf has no children (left is 0).
type node struct {
	lo, hi      mgl64.Vec3
	first, last int
	left, right int
}

// localHit is a hit in a mesh's frame.
type localHit struct {
	t, u, v  float64
	triangle int
}

func newTree(m *scene.Mesh) *tree {
	tr := &tree{mesh: m}
	for _, g := range m.Groups {
		for i := g.First; i < g.First+g.Count; i += 3 {
			tr.order = append(tr.order, len(tr.corners))
			tr.corners = append(tr.corners, [3]uint32{m.Indices[i], m.Indices[i+1], m.Indices[i+2]})
			tr.material = append(tr.material, g.Material)
		}
	}
	if len(tr.order) > 0 {
		tr.split(0, len(tr.order))
	}
	return tr
}

func (tr *tree) corner(triangle, k int) mgl64.Vec3 {
	p := tr.mesh.Positions[tr.corners[triangle][k]]
	return mgl64.Vec3{float64(p[0]), float64(p[1]), float64(p[2])}
}

func (tr *tree) centre(triangle int) mgl64.Vec3 {
	return tr.corner(triangle, 0).Add(tr.corner(triangle, 1)).Add(tr.corner(triangle, 2))
}

// split makes the node of order[first:last] and returns its number.
func (tr *tree) split(first, last int) int {
	inf := math.Inf(1)
	n := node{lo: mgl64.Vec3{inf, inf, inf}, hi: mgl64.Vec3{-inf, -inf, -inf}, first: first, last: last}
	clo, chi := n.lo, n.hi
	for _, t := range tr.order[first:last] {
		c := tr.centre(t)
		for a := range 3 {
			clo[a], chi[a] = min(clo[a], c[a]), max(chi[a], c[a])
			for k := range 3 {
				p := tr.corner(t, k)
				n.lo[a], n.hi[a] = min(n.lo[a], p[a]), max(n.hi[a], p[a])
			}
		}
	}
	slot := len(tr.nodes)
	tr.nodes = append(tr.nodes, n)
	if last-first <= 4 {
		return slot
	}
	axis := 0
	for a := range 3 {
		if chi[a]-clo[a] > chi[axis]-clo[axis] {
			axis = a
		}
	}
	part := tr.order[first:last]
	sort.Slice(part, func(i, j int) bool { return tr.centre(part[i])[axis] < tr.centre(part[j])[axis] })
	mid := (first + last) / 2
	left := tr.split(first, mid)
	right := tr.split(mid, last)
	tr.nodes[slot].left, tr.nodes[slot].right = left, right
	return slot
}

// nearest returns the nearest triangle that isn't cut out at tmin <= t < tmax.
func (tr *tree) nearest(o, d mgl64.Vec3, tmin, tmax float64, cut func(*tree, localHit) bool) (localHit, bool) {
	best, found := localHit{t: tmax}, false
	if len(tr.nodes) == 0 {
		return best, false
	}
	stack := [64]int{}
	top := 1
	for top > 0 {
		top--
		n := &tr.nodes[stack[top]]
		if !n.enters(o, d, tmin, best.t) {
			continue
		}
		if n.left != 0 {
			stack[top], stack[top+1] = n.left, n.right
			top += 2
			continue
		}
		for _, t := range tr.order[n.first:n.last] {
			h, ok := tr.triangle(t, o, d)
			if ok && h.t >= tmin && h.t < best.t && !cut(tr, h) {
				best, found = h, true
			}
		}
	}
	return best, found
}

// enters is the slab test, with room for rounding.
func (n *node) enters(o, d mgl64.Vec3, tmin, tmax float64) bool {
	for a := range 3 {
		if d[a] == 0 {
			if o[a] < n.lo[a] || o[a] > n.hi[a] {
				return false
			}
			continue
		}
		t0, t1 := (n.lo[a]-o[a])/d[a], (n.hi[a]-o[a])/d[a]
		if t0 > t1 {
			t0, t1 = t1, t0
		}
		tmin, tmax = max(tmin, t0), min(tmax, t1)
		if tmin > tmax*(1+1e-12)+1e-12 {
			return false
		}
	}
	return true
}

func (tr *tree) triangle(t int, o, d mgl64.Vec3) (localHit, bool) {
	p := tr.corner(t, 0)
	e1, e2 := tr.corner(t, 1).Sub(p), tr.corner(t, 2).Sub(p)
	h := d.Cross(e2)
	det := e1.Dot(h)
	if det == 0 {
		return localHit{}, false
	}
	s := o.Sub(p)
	u := s.Dot(h) / det
	q := s.Cross(e1)
	v := d.Dot(q) / det
	const edge = 1e-12 // neighbours leave no gap
	if u < -edge || v < -edge || u+v > 1+edge {
		return localHit{}, false
	}
	return localHit{t: e2.Dot(q) / det, u: u, v: v, triangle: t}, true
}

// uv returns the texture coordinates of a hit.
func (tr *tree) uv(h localHit) mgl64.Vec2 {
	if tr.mesh.UVs == nil {
		return mgl64.Vec2{}
	}
	at := func(k int) mgl64.Vec2 {
		x := tr.mesh.UVs[tr.corners[h.triangle][k]]
		return mgl64.Vec2{float64(x[0]), float64(x[1])}
	}
	return at(0).Mul(1 - h.u - h.v).Add(at(1).Mul(h.u)).Add(at(2).Mul(h.v))
}
