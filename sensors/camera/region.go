package camera

import "github.com/go-gl/mathgl/mgl64"

// plane is the half space normal.p + offset >= 0; the normal's length is free.
type plane struct {
	normal mgl64.Vec3
	offset float64
}

// region is a convex part of space: the intersection of its half spaces.
type region []plane

// inFrame appends to dst the region in another frame; toRegion leads from there
// to the region's own.
func (r region) inFrame(dst region, toRegion *mgl64.Mat4) region {
	turn, at := toRegion.Mat3().Transpose(), toRegion.Col(3).Vec3()
	for _, p := range r {
		dst = append(dst, plane{turn.Mul3x1(p.normal), p.offset + p.normal.Dot(at)})
	}
	return dst
}

// excludes reports whether no point of the box is in the region. A box beside an
// edge may be taken for inside: it is drawn in vain, never left out.
func (r region) excludes(low, high mgl64.Vec3) bool {
	for i := range r {
		p := &r[i]
		reach := p.offset
		for axis, n := range p.normal {
			if n > 0 {
				reach += n * high[axis]
			} else {
				reach += n * low[axis]
			}
		}
		if reach < 0 {
			return true
		}
	}
	return false
}

// frustum returns what the lens sees between near and far, in the optical frame.
func (l Lens) frustum(near, far float64) region {
	topLeft := l.Ray(-0.5, -0.5)
	bottomRight := l.Ray(float64(l.Width)-0.5, float64(l.Height)-0.5)
	return region{
		{mgl64.Vec3{1, 0, -topLeft[0]}, 0},
		{mgl64.Vec3{-1, 0, bottomRight[0]}, 0},
		{mgl64.Vec3{0, 1, -topLeft[1]}, 0},
		{mgl64.Vec3{0, -1, bottomRight[1]}, 0},
		{mgl64.Vec3{0, 0, 1}, -near},
		{mgl64.Vec3{0, 0, -1}, far},
	}
}
