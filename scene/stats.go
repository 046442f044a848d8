package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// Stats describes a scene, for people.
type Stats struct {
	// Triangles counts every part's mesh, each time it is shown; Stored counts
	// each mesh once.
	Triangles, Stored int
	// Instances is the number of actors, Moving those that move. Reserved ones
	// are counted apart, and nowhere else but in Stored.
	Instances, Moving, Reserved int
	Meshes, Materials, Textures int
	Tags                        []TagStats // of the tags that occur, in order
	// Min and Max bound these actors at time 0, map frame, metres.
	Min, Max mgl64.Vec3
}

// TagStats says how much of a scene has a tag.
type TagStats struct {
	Tag Tag
	// Instances is the number of actors with such a part.
	Instances, Triangles int
}

// Stats counts what the scene holds.
func (s *Scene) Stats() Stats {
	out := Stats{
		Meshes: len(s.Meshes), Materials: len(s.Materials), Textures: len(s.Textures),
	}
	counts := make([]int, len(s.Meshes))
	for i := range s.Meshes {
		counts[i] = s.Meshes[i].Triangles()
		out.Stored += counts[i]
	}
	var tags [256]TagStats
	for _, a := range s.Actors {
		if a.Reserved {
			out.Reserved++
			continue
		}
		out.Instances++
		if !a.Static() {
			out.Moving++
		}
		var seen [256]bool
		for i := range a.Parts {
			p := &a.Parts[i]
			t := &tags[p.Tag]
			if !seen[p.Tag] {
				seen[p.Tag] = true
				t.Instances++
			}
			if p.Mesh >= 0 && p.Mesh < len(counts) {
				t.Triangles += counts[p.Mesh]
				out.Triangles += counts[p.Mesh]
			}
		}
	}
	for i, t := range tags {
		if t.Instances > 0 {
			t.Tag = Tag(i)
			out.Tags = append(out.Tags, t)
		}
	}
	out.Min, out.Max, _ = s.Bounds()
	return out
}

// Triangles returns the number of triangles in the mesh's groups.
func (m *Mesh) Triangles() int {
	n := 0
	for _, g := range m.Groups {
		n += g.Count / 3
	}
	return n
}

// Bounds returns the box of all actors' vertices at time 0 in the map frame,
// metres, but for reserved ones; ok is false where there are none.
func (s *Scene) Bounds() (lo, hi mgl64.Vec3, ok bool) {
	inf := math.Inf(1)
	lo, hi = mgl64.Vec3{inf, inf, inf}, mgl64.Vec3{-inf, -inf, -inf}
	for _, a := range s.Actors {
		if a.Reserved {
			continue
		}
		pose := a.poseAt(0).Mat4()
		for i := range a.Parts {
			p := &a.Parts[i]
			if p.Mesh < 0 || p.Mesh >= len(s.Meshes) {
				continue
			}
			at := pose.Mul4(p.At(0))
			for _, v := range s.Meshes[p.Mesh].Positions {
				q := mgl64.TransformCoordinate(mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}, at)
				for k := range 3 {
					lo[k], hi[k] = min(lo[k], q[k]), max(hi[k], q[k])
				}
				ok = true
			}
		}
	}
	if !ok {
		return mgl64.Vec3{}, mgl64.Vec3{}, false
	}
	return lo, hi, true
}
