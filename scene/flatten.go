package scene

import (
	"context"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
)

// maxCoordinate is how far from the anchor a vertex may lie, metres: beyond it
// float32 coordinates are coarser than 8 mm.
const maxCoordinate = 65536

// soup is a set of triangles in one frame, before and after they are put in
// the order of a hierarchy.
type soup struct {
	vertices   []Row       // 3 a triangle
	attributes [][4]uint32 // 3 a triangle
	cut        []bool      // 1 a triangle: its material may be cut out
}

// newSoup returns an empty soup with room for n triangles.
func newSoup(n int) *soup {
	return &soup{
		vertices:   make([]Row, 0, 3*n),
		attributes: make([][4]uint32, 0, 3*n),
		cut:        make([]bool, 0, n),
	}
}

func (s *soup) triangles() int { return len(s.vertices) / 3 }

// placement is one part of an actor on its way into a soup.
type placement struct {
	actor  *Actor
	mesh   *Mesh
	matrix mgl64.Mat4 // mesh to the soup's frame
	label  uint32     // instance id | tag << 16
}

func label(a *Actor, tag Tag) uint32 { return a.ID&0xffff | uint32(tag)<<16 }

// checkMesh returns an error for indices that point to nothing and positions
// that are no numbers.
func (s *Scene) checkMesh(m *Mesh) error {
	if len(m.Normals) != len(m.Positions) || (m.UVs != nil && len(m.UVs) != len(m.Positions)) {
		return fmt.Errorf("%w: mesh %q has %d positions, %d normals and %d texture coordinates",
			ErrIndex, m.Name, len(m.Positions), len(m.Normals), len(m.UVs))
	}
	for i, p := range m.Positions {
		for _, x := range p {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("%w: mesh %q, vertex %d is %v", ErrVertex, m.Name, i, p)
			}
		}
	}
	for _, i := range m.Indices {
		if int(i) >= len(m.Positions) {
			return fmt.Errorf("%w: mesh %q names vertex %d of %d", ErrIndex, m.Name, i, len(m.Positions))
		}
	}
	for _, g := range m.Groups {
		if g.First < 0 || g.Count < 0 || g.First+g.Count > len(m.Indices) || g.First%3 != 0 || g.Count%3 != 0 {
			return fmt.Errorf("%w: mesh %q, group of indices %d to %d of %d", ErrIndex, m.Name, g.First, g.First+g.Count, len(m.Indices))
		}
		if g.Material < 0 || g.Material >= len(s.Materials) {
			return fmt.Errorf("%w: mesh %q names material %d of %d", ErrIndex, m.Name, g.Material, len(s.Materials))
		}
	}
	return nil
}

// cuts returns, per material, whether its alpha may cut it out.
func (s *Scene) cuts() []bool {
	cuts := make([]bool, len(s.Materials))
	for i := range s.Materials {
		cuts[i] = s.Materials[i].cutoff() > 0
	}
	return cuts
}

// flatten writes the triangles of the placements that have an area into a soup.
func (s *Scene) flatten(ctx context.Context, parts []placement) (*soup, error) {
	n := 0
	for i := range parts {
		for _, g := range parts[i].mesh.Groups {
			n += g.Count / 3
		}
	}
	out := newSoup(n)
	cuts := s.cuts()
	var corners cornerBuffer
	for i := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := corners.place(&parts[i]); err != nil {
			return nil, err
		}
		corners.emit(out, &parts[i], cuts)
	}
	return out, nil
}

// cornerBuffer holds one mesh's vertices placed in a soup's frame.
type cornerBuffer struct {
	positions []Row
	words     [][4]uint32
}

// place transforms the mesh's vertices in float64 and rounds once.
func (b *cornerBuffer) place(p *placement) error {
	m := p.mesh
	b.positions, b.words = b.positions[:0], b.words[:0]
	normals := normalMatrix(p.matrix.Mat3())
	for i, v := range m.Positions {
		at := mgl64.TransformCoordinate(mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}, p.matrix)
		for _, x := range at {
			if !(math.Abs(x) <= maxCoordinate) {
				return fmt.Errorf("%w: actor %q, mesh %q, vertex %d lies at %.6g: more than %d m from the scene's centre",
					ErrVertex, p.actor.Name, m.Name, i, at, maxCoordinate)
			}
		}
		n := m.Normals[i]
		w := [4]uint32{encodeNormal(normals.Mul3x1(mgl64.Vec3{float64(n[0]), float64(n[1]), float64(n[2])}))}
		if m.UVs != nil {
			w[1], w[2] = math.Float32bits(m.UVs[i][0]), math.Float32bits(m.UVs[i][1])
		}
		b.positions = append(b.positions, Row{float32(at[0]), float32(at[1]), float32(at[2]), 1})
		b.words = append(b.words, w)
	}
	return nil
}

// emit appends the mesh's triangles; a mirroring matrix turns them round, so
// that front faces stay counter-clockwise.
func (b *cornerBuffer) emit(out *soup, p *placement, cuts []bool) {
	mirrored := p.matrix.Mat3().Det() < 0
	for _, g := range p.mesh.Groups {
		for t := g.First; t < g.First+g.Count; t += 3 {
			i, j, k := p.mesh.Indices[t], p.mesh.Indices[t+1], p.mesh.Indices[t+2]
			if mirrored {
				j, k = k, j
			}
			if !hasArea(b.positions[i], b.positions[j], b.positions[k]) {
				continue
			}
			w0, w1, w2 := b.words[i], b.words[j], b.words[k]
			w0[3], w1[3] = uint32(g.Material), p.label
			out.vertices = append(out.vertices, b.positions[i], b.positions[j], b.positions[k])
			out.attributes = append(out.attributes, w0, w1, w2)
			out.cut = append(out.cut, cuts[g.Material])
		}
	}
}

func vec64(r Row) mgl64.Vec3 { return mgl64.Vec3{float64(r[0]), float64(r[1]), float64(r[2])} }

// hasArea tells triangles from lines and points: those are never hit.
func hasArea(a, b, c Row) bool {
	p := vec64(a)
	e1, e2 := vec64(b).Sub(p), vec64(c).Sub(p)
	n := e1.Cross(e2)
	long := max(e1.LenSqr(), e2.LenSqr())
	return n.LenSqr() > 1e-18*long*long && long > 0
}

// normalMatrix carries normals through a linear map of any scale: its
// cofactors, turned round for a mirror.
func normalMatrix(m mgl64.Mat3) mgl64.Mat3 {
	x, y, z := m.Row(0), m.Row(1), m.Row(2)
	side := 1.0
	if m.Det() < 0 {
		side = -1
	}
	return mgl64.Mat3FromRows(y.Cross(z).Mul(side), z.Cross(x).Mul(side), x.Cross(y).Mul(side))
}

// encodeNormal packs a direction as an octahedral code of two 16-bit signed
// normalised numbers (Cigolle et al., A Survey of Efficient Representations for
// Independent Unit Vectors, JCGT 2014).
func encodeNormal(n mgl64.Vec3) uint32 {
	l := math.Abs(n[0]) + math.Abs(n[1]) + math.Abs(n[2])
	if !(l > 0) || math.IsInf(l, 0) {
		n, l = mgl64.Vec3{0, 0, 1}, 1
	}
	x, y := n[0]/l, n[1]/l
	if n[2] < 0 {
		x, y = math.Copysign(1-math.Abs(y), x), math.Copysign(1-math.Abs(x), y)
	}
	return uint32(uint16(int16(math.Round(x*32767)))) | uint32(uint16(int16(math.Round(y*32767))))<<16
}

// bounds grows over points.
type bounds struct{ min, max mgl32.Vec3 }

func emptyBounds() bounds {
	inf := float32(math.Inf(1))
	return bounds{mgl32.Vec3{inf, inf, inf}, mgl32.Vec3{-inf, -inf, -inf}}
}

func (b *bounds) add(p Row) {
	for i := range 3 {
		b.min[i] = min(b.min[i], p[i])
		b.max[i] = max(b.max[i], p[i])
	}
}
