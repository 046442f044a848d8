package spatial

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// Pose places a child frame in a parent frame: Apply maps child coordinates to
// parent coordinates. Position is in metres, Orientation a unit quaternion.
type Pose struct {
	Position    mgl64.Vec3
	Orientation mgl64.Quat
}

// Twist is a velocity expressed in the frame its user names: Linear in m/s,
// Angular in rad/s.
type Twist struct {
	Linear  mgl64.Vec3
	Angular mgl64.Vec3
}

// Identity returns the pose that maps every point to itself.
func Identity() Pose { return Pose{Orientation: mgl64.QuatIdent()} }

// FromRPY returns the pose at (x, y, z) metres turned by roll, pitch and yaw in degrees. They
// are applied z-y'-x” (yaw first, counter-clockwise positive), as in raybridge's configuration
// files.
func FromRPY(position mgl64.Vec3, roll, pitch, yaw float64) Pose {
	q := mgl64.QuatRotate(mgl64.DegToRad(yaw), mgl64.Vec3{0, 0, 1}).
		Mul(mgl64.QuatRotate(mgl64.DegToRad(pitch), mgl64.Vec3{0, 1, 0})).
		Mul(mgl64.QuatRotate(mgl64.DegToRad(roll), mgl64.Vec3{1, 0, 0}))
	return Pose{Position: position, Orientation: q.Normalize()}
}

// RPY returns the orientation as roll, pitch and yaw in degrees, the inverse of
// FromRPY for |pitch| < 90.
func (p Pose) RPY() (roll, pitch, yaw float64) {
	w, x, y, z := p.Orientation.W, p.Orientation.V[0], p.Orientation.V[1], p.Orientation.V[2]
	roll = math.Atan2(2*(w*x+y*z), 1-2*(x*x+y*y))
	pitch = math.Asin(max(-1, min(1, 2*(w*y-z*x))))
	return mgl64.RadToDeg(roll), mgl64.RadToDeg(pitch), mgl64.RadToDeg(Yaw(p.Orientation))
}

// Yaw returns RPY's yaw of an orientation in radians: the heading of the x axis, from the
// parent's x to its y.
func Yaw(orientation mgl64.Quat) float64 {
	w, v := orientation.W, orientation.V
	return math.Atan2(2*(w*v[2]+v[0]*v[1]), 1-2*(v[1]*v[1]+v[2]*v[2]))
}

// Apply maps a point from the child frame to the parent frame.
func (p Pose) Apply(v mgl64.Vec3) mgl64.Vec3 {
	return p.Orientation.Rotate(v).Add(p.Position)
}

// Rotate maps a direction from the child frame to the parent frame.
func (p Pose) Rotate(v mgl64.Vec3) mgl64.Vec3 { return p.Orientation.Rotate(v) }

// Compose returns the pose of q's child in p's parent: p after q.
func (p Pose) Compose(q Pose) Pose {
	// Scenes compose very many. It is mgl64's Rotate, Mul and Normalize without their calls.
	w, x, y, z := p.Orientation.W, p.Orientation.V[0], p.Orientation.V[1], p.Orientation.V[2]
	v := &q.Position
	i, j, k := y*v[2]-z*v[1], z*v[0]-x*v[2], x*v[1]-y*v[0]
	o, u := q.Orientation.W, &q.Orientation.V
	out := Pose{
		Position: mgl64.Vec3{
			v[0] + i*(2*w) + (2*y*k - 2*z*j) + p.Position[0],
			v[1] + j*(2*w) + (2*z*i - 2*x*k) + p.Position[1],
			v[2] + k*(2*w) + (2*x*j - 2*y*i) + p.Position[2],
		},
		Orientation: mgl64.Quat{W: w*o - (x*u[0] + y*u[1] + z*u[2]), V: mgl64.Vec3{
			y*u[2] - z*u[1] + u[0]*w + x*o,
			z*u[0] - x*u[2] + u[1]*w + y*o,
			x*u[1] - y*u[0] + u[2]*w + z*o,
		}},
	}
	if off := out.Orientation.Len() - 1; !(math.Abs(off) < 1e-10) { // Normalize leaves what is nearer
		out.Orientation = out.Orientation.Normalize()
	}
	return out
}

// Inverse returns the pose that maps parent coordinates to child coordinates.
func (p Pose) Inverse() Pose {
	inv := p.Orientation.Conjugate()
	return Pose{Position: inv.Rotate(p.Position).Mul(-1), Orientation: inv}
}

// Mat4 returns the pose as a homogeneous child-to-parent matrix.
func (p Pose) Mat4() mgl64.Mat4 {
	m := p.Orientation.Mat4()
	m.SetCol(3, p.Position.Vec4(1))
	return m
}

// Interpolate returns the pose at fraction t of the way from a (t = 0) to b (t = 1). The
// position is interpolated linearly, the orientation by slerp along the shorter arc.
func Interpolate(a, b Pose, t float64) Pose {
	qb := b.Orientation
	if a.Orientation.Dot(qb) < 0 {
		qb = qb.Scale(-1)
	}
	return Pose{
		Position:    a.Position.Add(b.Position.Sub(a.Position).Mul(t)),
		Orientation: mgl64.QuatSlerp(a.Orientation, qb, t).Normalize(),
	}
}

// OpticalInBody turns coordinates of an optical frame into the body frame of the same sensor.
// The optical frame has z forward, x right, y down (REP-103's _optical suffix), the body frame
// x forward, y left, z up. It is the pose of the optical frame in the body frame.
func OpticalInBody() Pose {
	return FromRPY(mgl64.Vec3{}, -90, 0, -90)
}

// RotationVector returns a rotation as axis times angle in radians, the
// shorter way round.
func RotationVector(q mgl64.Quat) mgl64.Vec3 {
	if q.W < 0 {
		q = q.Scale(-1)
	}
	sin := q.V.Len()
	if sin < 1e-12 {
		return q.V.Mul(2)
	}
	return q.V.Mul(2 * math.Atan2(sin, q.W) / sin)
}
