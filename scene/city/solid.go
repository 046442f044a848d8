package city

import (
	"math"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// shape gathers the triangles of one mesh, material by material. Vertices are
// given in the coordinates of frame.
type shape struct {
	frame frame
	verts []vertex
	runs  []run
	last  int // index of the run used last
}

type vertex struct {
	p, n   vec
	uv     vec2
	weight float64 // twice the area of the vertex's face
}

// run holds the indices of the triangles of one material.
type run struct {
	material material
	indices  []uint32
}

func newShape() *shape { return &shape{frame: worldFrame()} }

// in makes f the frame and returns the function that makes it what it was:
// defer s.in(f)() builds the rest of a function in f.
func (s *shape) in(f frame) func() {
	before := s.frame
	s.frame = f
	return func() { s.frame = before }
}

func (s *shape) triangles() int {
	n := 0
	for i := range s.runs {
		n += len(s.runs[i].indices) / 3
	}
	return n
}

func (s *shape) run(m material) *run {
	if s.last < len(s.runs) && s.runs[s.last].material == m {
		return &s.runs[s.last]
	}
	for i := range s.runs {
		if s.runs[i].material == m {
			s.last = i
			return &s.runs[i]
		}
	}
	s.runs = append(s.runs, run{material: m})
	s.last = len(s.runs) - 1
	return &s.runs[s.last]
}

// face adds a flat convex polygon, counter-clockwise seen from its front, with
// texture coordinates from its local position (see planarUV). One without area
// is left out.
func (s *shape) face(m material, pts ...vec) {
	n, ok := polygonNormal(pts)
	if !ok {
		return
	}
	tile := palette[m].tile
	weight := n.Len()
	first := uint32(len(s.verts))
	outward := s.frame.direction(n.Mul(1 / weight))
	for _, p := range pts {
		s.verts = append(s.verts, vertex{p: s.frame.point(p), n: outward, uv: planarUV(p, n, tile), weight: weight})
	}
	r := s.run(m)
	for i := 2; i < len(pts); i++ {
		r.indices = append(r.indices, first, first+uint32(i-1), first+uint32(i))
	}
}

// faceUV adds a flat quadrilateral with the texture coordinates given.
func (s *shape) faceUV(m material, pts [4]vec, uv [4]vec2) {
	first := len(s.verts)
	s.face(m, pts[:]...)
	for i := first; i < len(s.verts); i++ {
		s.verts[i].uv = uv[i-first]
	}
}

// polygonNormal returns the normal by Newell's method, as long as twice the
// polygon's area, and whether there is any area.
func polygonNormal(pts []vec) (vec, bool) {
	var n vec
	for i, p := range pts {
		q := pts[(i+1)%len(pts)]
		n[0] += (p[1] - q[1]) * (p[2] + q[2])
		n[1] += (p[2] - q[2]) * (p[0] + q[0])
		n[2] += (p[0] - q[0]) * (p[1] + q[1])
	}
	return n, n.Dot(n) > 1e-12
}

// planarUV maps a point onto the plane of the axes that a normal looks at
// least: metres over the tile's size. Texture rows run down (glTF 2.0, section
// 3.8), so v falls with height.
func planarUV(p, n vec, tile float64) vec2 {
	if tile == 0 {
		return vec2{}
	}
	ax, ay, az := math.Abs(n[0]), math.Abs(n[1]), math.Abs(n[2])
	switch {
	case az > ax && az > ay:
		return vec2{p[0] / tile, -p[1] / tile}
	case ax > ay:
		return vec2{p[1] / tile, -p[2] / tile}
	default:
		return vec2{p[0] / tile, -p[2] / tile}
	}
}

// mesh returns what was gathered: vertices rounded to 1/4096 m, one group a
// material in the order of first use.
func (s *shape) mesh(name string) scene.Mesh {
	m := scene.Mesh{
		Name:      name,
		Positions: make([]mgl32.Vec3, len(s.verts)),
		Normals:   make([]mgl32.Vec3, len(s.verts)),
		UVs:       make([]mgl32.Vec2, len(s.verts)),
		Indices:   make([]uint32, 0, 3*s.triangles()),
	}
	for i := range s.verts {
		v := &s.verts[i]
		m.Positions[i] = roundedPoint(v.p)
		m.Normals[i] = mgl32.Vec3{float32(v.n[0]), float32(v.n[1]), float32(v.n[2])}
		m.UVs[i] = mgl32.Vec2{float32(math.Round(v.uv[0]*4096) / 4096), float32(math.Round(v.uv[1]*4096) / 4096)}
	}
	for i := range s.runs {
		r := &s.runs[i]
		m.Groups = append(m.Groups, scene.Group{First: len(m.Indices), Count: len(r.indices), Material: int(r.material)})
		m.Indices = append(m.Indices, r.indices...)
	}
	return m
}

func roundedPoint(p vec) mgl32.Vec3 {
	var out mgl32.Vec3
	for i := range p {
		out[i] = float32(math.Round(p[i]*4096) / 4096)
	}
	return out
}

// smooth replaces the normals of the vertices added since from. They become the area weighted
// mean of the faces that meet there at less than crease radians.
func (s *shape) smooth(from int, crease float64) {
	limit := math.Cos(crease)
	verts := s.verts[from:]
	// heads and next chain the vertices that share a place.
	places := make(map[mgl32.Vec3]int32, len(verts))
	var heads []int32
	place, next := make([]int32, len(verts)), make([]int32, len(verts))
	for i := range verts {
		key := roundedPoint(verts[i].p)
		at, known := places[key]
		if !known {
			at = int32(len(heads))
			places[key], heads = at, append(heads, -1)
		}
		place[i], next[i], heads[at] = at, heads[at], int32(i)
	}
	normals := make([]vec, len(verts))
	for i := range verts {
		var sum vec
		for j := heads[place[i]]; j >= 0; j = next[j] {
			if j == int32(i) || verts[j].n.Dot(verts[i].n) >= limit {
				sum = sum.Add(verts[j].n.Mul(verts[j].weight))
			}
		}
		normals[i] = sum.Normalize()
	}
	for i := range verts {
		verts[i].n = normals[i]
	}
}

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

// loft adds the skin of one material through cross-sections (see skin). Normals are smooth over
// edges below crease radians.
func (s *shape) loft(m material, sections [][]vec, closed bool, crease float64) {
	from := len(s.verts)
	s.skin(sections, closed, func(int, int) material { return m })
	s.smooth(from, crease)
}

// skin adds the faces between cross-sections with equal numbers of points. Seen along the way
// from section to section, the points run counter-clockwise, so that faces look outwards. It
// closes around where closed is set; the caller closes the ends. look says what is between
// sections k and k+1 and their points i and i+1, noMaterial for a hole.
func (s *shape) skin(sections [][]vec, closed bool, look func(k, i int) material) {
	for k := range len(sections) - 1 {
		a, b := sections[k], sections[k+1]
		for i := range a {
			j := (i + 1) % len(a)
			if j == 0 && !closed {
				break
			}
			if m := look(k, i); m != noMaterial {
				s.patch(m, a[i], b[i], b[j], a[j])
			}
		}
	}
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

// prism adds the walls of a convex counter-clockwise polygon between two heights.
func (s *shape) prism(m material, outline []vec2, heights [2]float64) {
	n := len(outline)
	for i, a := range outline {
		b := outline[(i+1)%n]
		s.face(m, vec{a[0], a[1], heights[0]}, vec{b[0], b[1], heights[0]},
			vec{b[0], b[1], heights[1]}, vec{a[0], a[1], heights[1]})
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

// icosahedron returns the triangles of the unit icosahedron.
func icosahedron() [][3]vec {
	t := (1 + math.Sqrt(5)) / 2
	v := []vec{{-1, t, 0}, {1, t, 0}, {-1, -t, 0}, {1, -t, 0}, {0, -1, t}, {0, 1, t},
		{0, -1, -t}, {0, 1, -t}, {t, 0, -1}, {t, 0, 1}, {-t, 0, -1}, {-t, 0, 1}}
	faces := [][3]int{{0, 11, 5}, {0, 5, 1}, {0, 1, 7}, {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
		{11, 10, 2}, {10, 7, 6}, {7, 1, 8}, {3, 9, 4}, {3, 4, 2}, {3, 2, 6}, {3, 6, 8}, {3, 8, 9},
		{4, 9, 5}, {2, 4, 11}, {6, 2, 10}, {8, 6, 7}, {9, 8, 1}}
	tris := make([][3]vec, len(faces))
	for i, f := range faces {
		tris[i] = [3]vec{v[f[0]].Normalize(), v[f[1]].Normalize(), v[f[2]].Normalize()}
	}
	return tris
}

// split returns triangles of the unit sphere, each split into 4^times.
func split(tris [][3]vec, times int) [][3]vec {
	for range times {
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

type (
	vec  = mgl64.Vec3
	vec2 = mgl64.Vec2
)

// frame is a right-handed orthonormal frame that shapes are built in.
type frame struct {
	origin  vec
	x, y, z vec
}

// level returns the frame at p with z up, its x axis turned by yaw radians.
func level(p vec, yaw float64) frame {
	s, c := math.Sincos(yaw)
	return frame{origin: p, x: vec{c, s, 0}, y: vec{-s, c, 0}, z: vec{0, 0, 1}}
}

// along returns the frame at a whose x axis points to b in plan and whose y axis points to the
// left of that way. Seen from its right-hand side (where -y points), x runs rightwards and z
// upwards, like a drawing of an elevation.
func along(a, b vec2, z float64) frame {
	d := b.Sub(a).Normalize()
	return frame{origin: vec{a[0], a[1], z}, x: vec{d[0], d[1], 0}, y: vec{-d[1], d[0], 0}, z: vec{0, 0, 1}}
}

func worldFrame() frame {
	return frame{x: vec{1, 0, 0}, y: vec{0, 1, 0}, z: vec{0, 0, 1}}
}

func (f frame) point(p vec) vec { return f.origin.Add(f.direction(p)) }

func (f frame) direction(d vec) vec {
	return f.x.Mul(d[0]).Add(f.y.Mul(d[1])).Add(f.z.Mul(d[2]))
}

// moved returns the frame with its origin at local point (x, y, z).
func (f frame) moved(x, y, z float64) frame {
	f.origin = f.point(vec{x, y, z})
	return f
}

// turned returns the frame turned about its own z axis by yaw radians.
func (f frame) turned(yaw float64) frame {
	s, c := math.Sincos(yaw)
	f.x, f.y = f.x.Mul(c).Add(f.y.Mul(s)), f.y.Mul(c).Sub(f.x.Mul(s))
	return f
}

// pitched returns the frame turned about its own y axis by angle radians:
// positive angles lower the x axis.
func (f frame) pitched(angle float64) frame {
	s, c := math.Sincos(angle)
	f.x, f.z = f.x.Mul(c).Sub(f.z.Mul(s)), f.z.Mul(c).Add(f.x.Mul(s))
	return f
}

// rolled returns the frame turned about its own x axis by angle radians.
func (f frame) rolled(angle float64) frame {
	s, c := math.Sincos(angle)
	f.y, f.z = f.y.Mul(c).Add(f.z.Mul(s)), f.z.Mul(c).Sub(f.y.Mul(s))
	return f
}

// standing returns the pose at p, level, turned by yaw radians.
func standing(p vec, yaw float64) spatial.Pose {
	return spatial.Pose{Position: p, Orientation: mgl64.QuatRotate(yaw, vec{0, 0, 1})}
}

// rect is an axis-aligned rectangle in plan, metres.
type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) width() float64 { return r.x1 - r.x0 }

func (r rect) height() float64 { return r.y1 - r.y0 }

func (r rect) centre() vec2 { return vec2{(r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2} }

// inset returns the rectangle with each side moved inwards by d metres.
func (r rect) inset(d float64) rect { return rect{r.x0 + d, r.y0 + d, r.x1 - d, r.y1 - d} }

// corners returns the corners counter-clockwise from (x0, y0).
func (r rect) corners() [4]vec2 {
	return [4]vec2{{r.x0, r.y0}, {r.x1, r.y0}, {r.x1, r.y1}, {r.x0, r.y1}}
}

// rounded returns the outline of r with its corners rounded by radius,
// counter-clockwise, n segments a corner, starting on the south side's west end.
func (r rect) rounded(radius float64, n int) []vec2 {
	centres := r.inset(radius).corners()
	pts := make([]vec2, 0, 4*(n+1))
	for i, c := range centres {
		// Corner i is entered where the side before it ends, at -180 + 90 i degrees.
		for k := range n + 1 {
			a := -math.Pi + (float64(i)+float64(k)/float64(n))*math.Pi/2
			s, co := math.Sincos(a)
			pts = append(pts, vec2{c[0] + radius*co, c[1] + radius*s})
		}
	}
	return append(pts[n:], pts[:n]...)
}

// lerp2 returns the point at fraction t of the way from a to b.
func lerp2(a, b vec2, t float64) vec2 { return a.Add(b.Sub(a).Mul(t)) }

// insetPolygon moves each edge of a convex counter-clockwise polygon inwards by d.
func insetPolygon(p []vec2, d float64) []vec2 {
	n := len(p)
	out := make([]vec2, n)
	for i := range p {
		prev, next := p[(i+n-1)%n], p[(i+1)%n]
		u, v := p[i].Sub(prev).Normalize(), next.Sub(p[i]).Normalize()
		// The corner moves along the bisector; inward normals are to the left.
		nu, nv := vec2{-u[1], u[0]}, vec2{-v[1], v[0]}
		k := d / (1 + nu.Dot(nv))
		out[i] = p[i].Add(nu.Add(nv).Mul(k))
	}
	return out
}
