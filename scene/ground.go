package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// Ground returns the height of the static world's surface at a point of the map: x, y and z in
// the map frame, metres. Of several surfaces it takes the nearest to near, a height, among those
// whose tags are Ground. Only without any of these, it takes the nearest of all. ok is false
// where there is nothing.
//
// The height is that of the triangle's plane through its vertices. A triangle counts where a
// sensor's vertical ray would meet it, so neighbours leave no gap. One that
// stands upright has no height. What a material's alpha cuts out counts as surface. Any
// goroutine may call it; it allocates nothing.
func (g *Geometry) Ground(x, y, near float64) (z float64, ok bool) {
	s := groundSearch{geometry: g, x: x - g.Anchor[0], y: y - g.Anchor[1], near: near - g.Anchor[2]}
	s.ground.distance, s.other.distance = math.Inf(1), math.Inf(1)
	s.run()
	switch {
	case s.ground.found:
		return s.ground.z + g.Anchor[2], true
	case s.other.found:
		return s.other.z + g.Anchor[2], true
	default:
		return 0, false
	}
}

// groundSearch is the search for the ground at a point of the world frame.
type groundSearch struct {
	geometry   *Geometry
	x, y, near float64
	// ground is the nearest surface that is ground, other the nearest that isn't.
	ground, other groundHit
}

type groundHit struct {
	z, distance float64
	found       bool
}

// run walks through the boxes above and below the point.
func (s *groundSearch) run() {
	var stack [stackSize + 1]Ref
	top := 0
	for ref := s.geometry.Static; ref != 0; {
		if ref&refLeaf != 0 {
			first := int(ref & refFirstMask)
			for i := first; i <= first+int(ref>>refCountBit&(maxLeaf-1)); i++ {
				s.triangle(i)
			}
		} else {
			n := &s.geometry.Nodes[ref.Node()]
			for k := range 4 {
				if s.enters(n, k) {
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

// enters reports whether a child may have a surface at the point that is nearer than the ground
// found so far. An absent child has no place for it.
func (s *groundSearch) enters(n *BVHNode, k int) bool {
	return s.x >= float64(n[0][k]) && s.x <= float64(n[1][k]) && s.y >= float64(n[2][k]) && s.y <= float64(n[3][k]) &&
		float64(n[4][k])-s.near <= s.ground.distance && s.near-float64(n[5][k]) <= s.ground.distance
}

// triangle takes a triangle's height where it lies at the point. The table's rows say whether
// it does: they are those of the enlarged triangle.
func (s *groundSearch) triangle(i int) {
	g := s.geometry
	a, b, c := vec64(g.Vertices[3*i]), vec64(g.Vertices[3*i+1]), vec64(g.Vertices[3*i+2])
	n := b.Sub(a).Cross(c.Sub(a))
	p := mgl64.Vec3{s.x, s.y, a[2] - (n[0]*(s.x-a[0])+n[1]*(s.y-a[1]))/n[2]}
	ru, rv := &g.Planes[3*i+1], &g.Planes[3*i+2]
	u, v := vec64(*ru).Dot(p)+float64(ru[3]), vec64(*rv).Dot(p)+float64(rv[3])
	if !(u >= 0 && v >= 0 && u+v <= 1) { // an upright triangle has NaN or infinity here
		return
	}
	best := &s.other
	if Tag(g.Attributes[3*i+1][3] >> 16).Ground() {
		best = &s.ground
	}
	if d := math.Abs(p[2] - s.near); d < best.distance {
		*best = groundHit{z: p[2], distance: d, found: true}
	}
}
