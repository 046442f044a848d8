package city

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

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

// along returns the frame at a whose x axis points to b in plan and whose y
// axis points to the left of that way: seen from its right-hand side (where -y
// points), x runs rightwards and z upwards, like a drawing of an elevation.
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

func (r rect) width() float64  { return r.x1 - r.x0 }
func (r rect) height() float64 { return r.y1 - r.y0 }
func (r rect) centre() vec2    { return vec2{(r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2} }

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
