package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
)

// Ambient occlusion is found in a grid of cells over a mesh, of which those that hold a part of
// it are full. From each vertex rays go out into the hemisphere about its normal. One that meets
// a full cell is dark, the more the nearer it is (S. Zhukov et al., An Ambient Light
// Illumination Model, 1998, calls it obscurance).
const (
	occlusionCells   = 44   // along a mesh's longest side
	occlusionLeast   = 0.05 // metres: no cell is smaller
	occlusionMost    = 1.0  // metres: a mesh that needs larger cells has no occlusion
	occlusionReach   = 10   // cells: farther things hide nothing
	occlusionDepth   = 0.8  // what hides the sky gives back the rest
	occlusionSurface = 1.5  // cells: rays start so far from the surface
	onGround         = 0.3  // metres: a mesh whose lowest point is nearer to its frame's z = 0 stands on the ground
)

// cells are a grid over a mesh; index x + nx (y + ny z). Places in it are in cells from its
// lowest corner.
type cells struct {
	low      mgl64.Vec3 // metres, in the mesh's frame
	each     float64    // cells to a metre
	n        [3]int
	full     []bool
	grounded bool // what lies below is full, too
}

// occlusion returns how much of its sky each vertex of a mesh doesn't see for the mesh itself, in
// 255ths, and nil for one without. It depends on the mesh alone.
func (m *Mesh) occlusion() []uint8 {
	c := m.cells()
	if c == nil {
		return nil
	}
	out := make([]uint8, len(m.Positions))
	for i, p := range m.Positions {
		n := m.Normals[i]
		out[i] = uint8(255 * c.hidden(c.place(p), wide(n)))
	}
	return out
}

// cells returns the grid of a mesh, nil for one that is too large.
func (m *Mesh) cells() *cells {
	box := noBounds()
	for _, p := range m.Positions {
		box.add(wide(p))
	}
	size := box.high.Sub(box.low)
	for i := range size {
		size[i] = float64(float32(size[i])) // positions are float32, and so are the cells that follow from them
	}
	each := 1 / max(max(size[0], size[1], size[2])/occlusionCells, occlusionLeast)
	if !(each >= 1/occlusionMost) || len(m.Indices) == 0 {
		return nil
	}
	c := &cells{each: each, grounded: math.Abs(box.low[2]) < onGround, low: box.low}
	for i := range 3 {
		c.n[i] = int(size[i]*each) + 1
	}
	c.full = make([]bool, c.n[0]*c.n[1]*c.n[2])
	for t := 0; t+2 < len(m.Indices); t += 3 {
		c.fill(c.place(m.Positions[m.Indices[t]]), c.place(m.Positions[m.Indices[t+1]]), c.place(m.Positions[m.Indices[t+2]]))
	}
	return c
}

// place returns a point of the mesh in the grid.
func (c *cells) place(p mgl32.Vec3) mgl64.Vec3 {
	return wide(p).Sub(c.low).Mul(c.each)
}

// fill marks the cells of points on a triangle, two thirds of a cell apart.
func (c *cells) fill(p, q, r mgl64.Vec3) {
	// From the corner that faces the longest edge, slivers are narrow on one way.
	if pq, qr, rp := p.Sub(q).LenSqr(), q.Sub(r).LenSqr(), r.Sub(p).LenSqr(); pq > qr && pq > rp {
		p, q, r = r, p, q
	} else if rp > qr {
		p, q, r = q, r, p
	}
	a, b := q.Sub(p), r.Sub(p)
	steps := func(length float64) int { return int(1.5*length) + 1 }
	rows, wide := steps(a.Len()), b.Len()
	for i := range rows + 1 {
		along := float64(i) / float64(rows)
		from, left := p.Add(a.Mul(along)), 1-along
		n := steps(wide * left)
		for j := range n + 1 {
			if k := c.at(from.Add(b.Mul(left * float64(j) / float64(n)))); k >= 0 {
				c.full[k] = true
			}
		}
	}
}

// at returns the index of the cell at a place, -1 outside the grid.
func (c *cells) at(p mgl64.Vec3) int {
	if p[0] < 0 || p[1] < 0 || p[2] < 0 {
		return -1
	}
	x, y, z := int(p[0]), int(p[1]), int(p[2])
	if x >= c.n[0] || y >= c.n[1] || z >= c.n[2] {
		return -1
	}
	return x + c.n[0]*(y+c.n[1]*z)
}

// occlusionRays are directions about the normal, z: three rings that stand for equal shares of
// the light of an even sky.
var occlusionRays = func() (rays [15]mgl64.Vec3) {
	for i := range rays {
		ring := i % 3
		sin := math.Sqrt((float64(ring) + 0.5) / 3.5)
		s, c := math.Sincos(2 * math.Pi * (float64(i/3)/5 + float64(ring)/15))
		rays[i] = mgl64.Vec3{sin * c, sin * s, math.Sqrt(1 - sin*sin)}
	}
	return rays
}()

// hidden returns the share of a vertex's sky that is hidden, 0 to 1.
func (c *cells) hidden(p, normal mgl64.Vec3) float64 {
	side := mgl64.Vec3{1, 0, 0}
	if math.Abs(normal[0]) > 0.7 {
		side = mgl64.Vec3{0, 1, 0}
	}
	x := side.Sub(normal.Mul(side.Dot(normal))).Normalize()
	y := normal.Cross(x)
	start := p.Add(normal.Mul(occlusionSurface))
	sum := 0.0
	for _, r := range occlusionRays {
		d := x.Mul(r[0]).Add(y.Mul(r[1])).Add(normal.Mul(r[2]))
		for far := 0.5; far < occlusionReach; far += 1 + 0.25*far {
			at := start.Add(d.Mul(far))
			if k := c.at(at); k >= 0 && c.full[k] || c.grounded && at[2] < 0 {
				near := 1 - far/occlusionReach
				sum += near * near
				break
			}
		}
	}
	return occlusionDepth * sum / float64(len(occlusionRays))
}
