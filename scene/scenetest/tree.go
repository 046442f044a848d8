package scenetest

import (
	"math"
	"sort"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
)

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
