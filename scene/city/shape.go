package city

import (
	"math"

	"github.com/go-gl/mathgl/mgl32"

	"github.com/raybridge/raybridge/scene"
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
	s.run(m).fan(first, len(pts))
}

// faceUV adds a flat quadrilateral with the texture coordinates given.
func (s *shape) faceUV(m material, pts [4]vec, uv [4]vec2) {
	n, ok := polygonNormal(pts[:])
	if !ok {
		return
	}
	weight := n.Len()
	first := uint32(len(s.verts))
	outward := s.frame.direction(n.Mul(1 / weight))
	for i, p := range pts {
		s.verts = append(s.verts, vertex{p: s.frame.point(p), n: outward, uv: uv[i], weight: weight})
	}
	s.run(m).fan(first, 4)
}

// fan adds the triangles of a convex polygon whose n vertices start at first.
func (r *run) fan(first uint32, n int) {
	for i := 2; i < n; i++ {
		r.indices = append(r.indices, first, first+uint32(i-1), first+uint32(i))
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

// smooth replaces the normals of the vertices added since from by the area
// weighted mean of the faces that meet there at less than crease radians.
func (s *shape) smooth(from int, crease float64) {
	limit := math.Cos(crease)
	verts := s.verts[from:]
	// heads and next chain the vertices that share a place.
	heads := make(map[mgl32.Vec3]int32, len(verts))
	next := make([]int32, len(verts))
	for i := range verts {
		key := roundedPoint(verts[i].p)
		if head, ok := heads[key]; ok {
			next[i] = head
		} else {
			next[i] = -1
		}
		heads[key] = int32(i)
	}
	normals := make([]vec, len(verts))
	for i := range verts {
		var sum vec
		for j := heads[roundedPoint(verts[i].p)]; j >= 0; j = next[j] {
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
