package city

import (
	"math"
)

// sides names faces of a box, to be left out or to be made.
type sides uint8

const (
	left   sides = 1 << iota // -x
	right                    // +x
	front                    // -y
	back                     // +y
	bottom                   // -z
	top                      // +z

	allSides = left | right | front | back | bottom | top
	standsOn = allSides &^ bottom
	uprights = left | right | front | back
)

// box adds the faces of the box from a to b (a less than b on each axis).
func (s *shape) box(m material, a, b vec, faces sides) {
	p := func(x, y, z float64) vec { return vec{x, y, z} }
	if faces&left != 0 {
		s.face(m, p(a[0], b[1], a[2]), p(a[0], a[1], a[2]), p(a[0], a[1], b[2]), p(a[0], b[1], b[2]))
	}
	if faces&right != 0 {
		s.face(m, p(b[0], a[1], a[2]), p(b[0], b[1], a[2]), p(b[0], b[1], b[2]), p(b[0], a[1], b[2]))
	}
	if faces&front != 0 {
		s.face(m, p(a[0], a[1], a[2]), p(b[0], a[1], a[2]), p(b[0], a[1], b[2]), p(a[0], a[1], b[2]))
	}
	if faces&back != 0 {
		s.face(m, p(b[0], b[1], a[2]), p(a[0], b[1], a[2]), p(a[0], b[1], b[2]), p(b[0], b[1], b[2]))
	}
	if faces&bottom != 0 {
		s.face(m, p(a[0], b[1], a[2]), p(b[0], b[1], a[2]), p(b[0], a[1], a[2]), p(a[0], a[1], a[2]))
	}
	if faces&top != 0 {
		s.face(m, p(a[0], a[1], b[2]), p(b[0], a[1], b[2]), p(b[0], b[1], b[2]), p(a[0], b[1], b[2]))
	}
}

// wallQuad adds the rectangle x0..x1, z0..z1 at depth y, facing -y.
func (s *shape) wallQuad(m material, y float64, r rect) {
	s.face(m, vec{r.x0, y, r.y0}, vec{r.x1, y, r.y0}, vec{r.x1, y, r.y1}, vec{r.x0, y, r.y1})
}

// floorQuad adds the rectangle r at height z, facing up.
func (s *shape) floorQuad(m material, z float64, r rect) {
	s.face(m, vec{r.x0, r.y0, z}, vec{r.x1, r.y0, z}, vec{r.x1, r.y1, z}, vec{r.x0, r.y1, z})
}

// ring is one cross-section of a turned solid: radius r at height z.
type ring struct{ z, r float64 }

// turned adds a solid of revolution about z with n sides through the rings,
// lowest first, its normals smooth over edges below 50 degrees. A ring with
// radius 0 closes it.
func (s *shape) turned(m material, n int, rings ...ring) {
	from := len(s.verts)
	for k := 1; k < len(rings); k++ {
		lo, hi := rings[k-1], rings[k]
		for i := range n {
			s0, c0 := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			s1, c1 := math.Sincos(2 * math.Pi * float64((i+1)%n) / float64(n))
			at := func(g ring, c, sn float64) vec { return vec{g.r * c, g.r * sn, g.z} }
			switch {
			case lo.r == 0:
				s.face(m, at(lo, 0, 0), at(hi, c1, s1), at(hi, c0, s0))
			case hi.r == 0:
				s.face(m, at(lo, c0, s0), at(lo, c1, s1), at(hi, 0, 0))
			default:
				s.face(m, at(lo, c0, s0), at(lo, c1, s1), at(hi, c1, s1), at(hi, c0, s0))
			}
		}
	}
	if n > 4 {
		s.smooth(from, 50*math.Pi/180)
	}
}

// pole adds an n-sided tapering rod from local point a to b, with its end cap
// at b. Radii are ra and rb.
func (s *shape) pole(m material, n int, a, b vec, radii [2]float64) {
	axis := b.Sub(a)
	length := axis.Len()
	axis = axis.Mul(1 / length)
	side := vec{1, 0, 0}
	if math.Abs(axis[0]) > 0.7 {
		side = vec{0, 1, 0}
	}
	x := side.Sub(axis.Mul(side.Dot(axis))).Normalize()
	y := axis.Cross(x)
	f := s.frame
	defer s.in(frame{origin: f.point(a), x: f.direction(x), y: f.direction(y), z: f.direction(axis)})()
	s.turned(m, n, ring{0, radii[0]}, ring{length, radii[1]}, ring{length, 0})
}

// loft adds the skin through cross-sections with equal numbers of points. Seen
// along the way from section to section, the points run counter-clockwise, so
// that faces look outwards. It closes around where closed is set; the caller closes
// the ends. Normals are smooth over edges below crease radians.
func (s *shape) loft(m material, sections [][]vec, closed bool, crease float64) {
	from := len(s.verts)
	for k := 1; k < len(sections); k++ {
		a, b := sections[k-1], sections[k]
		n := len(a)
		for i := range n {
			j := (i + 1) % n
			if j == 0 && !closed {
				break
			}
			s.patch(m, a[i], b[i], b[j], a[j])
		}
	}
	s.smooth(from, crease)
}

// patch adds a quadrilateral that need not be flat, as two triangles.
func (s *shape) patch(m material, a, b, c, d vec) {
	s.face(m, a, b, c)
	s.face(m, a, c, d)
}

// disc adds an n-sided flat disc of radius r at height z, facing up.
func (s *shape) disc(m material, n int, z, r float64) {
	pts := make([]vec, n)
	for i := range pts {
		sn, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		pts[i] = vec{r * c, r * sn, z}
	}
	s.face(m, pts...)
}

// discFace is disc with a face of the sign picture on it, upright along y.
func (s *shape) discFace(m material, n int, r float64, f face) {
	n0 := len(s.verts)
	s.disc(m, n, 0, r)
	for i := n0; i < len(s.verts); i++ {
		sn, c := math.Sincos(2 * math.Pi * float64(i-n0) / float64(n))
		uv := faceUVs(f, vec2{}, vec2{1, 1})
		s.verts[i].uv = vec2{(uv[0][0]*(1-c) + uv[1][0]*(1+c)) / 2, (uv[0][1]*(1-sn) + uv[2][1]*(1+sn)) / 2}
	}
}

// prism adds the walls and, where asked, the top of a convex counter-clockwise
// polygon between two heights.
func (s *shape) prism(m material, outline []vec2, heights [2]float64, lid bool) {
	n := len(outline)
	for i, a := range outline {
		b := outline[(i+1)%n]
		s.face(m, vec{a[0], a[1], heights[0]}, vec{b[0], b[1], heights[0]},
			vec{b[0], b[1], heights[1]}, vec{a[0], a[1], heights[1]})
	}
	if lid {
		s.plate(m, outline, heights[1])
	}
}

// plate adds a flat convex counter-clockwise polygon at height z, facing up.
func (s *shape) plate(m material, outline []vec2, z float64) {
	pts := make([]vec, len(outline))
	for i, p := range outline {
		pts[i] = vec{p[0], p[1], z}
	}
	s.face(m, pts...)
}

// icosphere returns the triangles of a unit icosphere, each face split into
// 4^splits.
func icosphere(splits int) [][3]vec {
	t := (1 + math.Sqrt(5)) / 2
	v := []vec{{-1, t, 0}, {1, t, 0}, {-1, -t, 0}, {1, -t, 0}, {0, -1, t}, {0, 1, t},
		{0, -1, -t}, {0, 1, -t}, {t, 0, -1}, {t, 0, 1}, {-t, 0, -1}, {-t, 0, 1}}
	faces := [][3]int{{0, 11, 5}, {0, 5, 1}, {0, 1, 7}, {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
		{11, 10, 2}, {10, 7, 6}, {7, 1, 8}, {3, 9, 4}, {3, 4, 2}, {3, 2, 6}, {3, 6, 8}, {3, 8, 9},
		{4, 9, 5}, {2, 4, 11}, {6, 2, 10}, {8, 6, 7}, {9, 8, 1}}
	tris := make([][3]vec, 0, 20)
	for _, f := range faces {
		tris = append(tris, [3]vec{v[f[0]].Normalize(), v[f[1]].Normalize(), v[f[2]].Normalize()})
	}
	for range splits {
		finer := make([][3]vec, 0, 4*len(tris))
		for _, f := range tris {
			ab, bc, ca := f[0].Add(f[1]).Normalize(), f[1].Add(f[2]).Normalize(), f[2].Add(f[0]).Normalize()
			finer = append(finer, [3]vec{f[0], ab, ca}, [3]vec{ab, f[1], bc}, [3]vec{ca, bc, f[2]}, [3]vec{ab, bc, ca})
		}
		tris = finer
	}
	return tris
}

// limb adds a bent round rod through level rings around the points, each with
// its radius; it is open at both ends.
func (s *shape) limb(m material, n int, points []vec, radii []float64) {
	sections := make([][]vec, len(points))
	for k, p := range points {
		sections[k] = make([]vec, n)
		for i := range n {
			// Seen upwards, counter-clockwise is clockwise seen from above.
			sn, c := math.Sincos(-2 * math.Pi * float64(i) / float64(n))
			sections[k][i] = p.Add(vec{radii[k] * c, radii[k] * sn, 0})
		}
	}
	s.loft(m, sections, true, 60*math.Pi/180)
}
