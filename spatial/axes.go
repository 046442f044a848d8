package spatial

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// AxesMirror converts to axes of the other hand.
type AxesMirror struct{ signedAxes }

// AxesRotation converts to axes of the same hand.
type AxesRotation struct {
	signedAxes
	quat mgl64.Quat // turns the other axes' coordinates into ours
}

// Conversions to left-handed axes.
var (
	// UnityAxes has x right, y up and z forward (docs.unity3d.com, Vector3).
	UnityAxes = AxesMirror{newSignedAxes(mgl64.Vec3{0, -1, 0}, mgl64.Vec3{0, 0, 1}, mgl64.Vec3{1, 0, 0})}
	// UnrealAxes, and CARLA with it, has x forward, y right and z up. Unreal counts
	// centimetres; CARLA's interface, as we do, metres.
	UnrealAxes = AxesMirror{newSignedAxes(mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, -1, 0}, mgl64.Vec3{0, 0, 1})}
)

// RFUAxes converts to a body's right, forward and up, as Apollo has it.
var RFUAxes = NewAxesRotation(mgl64.Vec3{0, -1, 0}, mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 0, 1})

// NewAxesRotation returns the conversion to axes of which x, y and z are given in ours. They
// are unit vectors along our axes, and right-handed; it panics if they aren't.
func NewAxesRotation(x, y, z mgl64.Vec3) AxesRotation {
	s := newSignedAxes(x, y, z)
	if s.hand != 1 {
		panic("spatial: want right-handed axes")
	}
	q := mgl64.Mat4ToQuat(mgl64.Mat3FromCols(x, y, z).Mat4()).Normalize()
	if q.W < 0 { // the same rotation
		q = q.Scale(-1)
	}
	return AxesRotation{s, q}
}

// signedAxes is a permutation of axes with signs.
type signedAxes struct {
	// other axis i is our axis ours[i], times sign[i]; theirs is the inverse of ours.
	ours, theirs [3]int
	sign         [3]float64
	hand         float64 // 1, or -1 for axes of the other hand
}

func newSignedAxes(x, y, z mgl64.Vec3) signedAxes {
	var s signedAxes
	for i, axis := range [3]mgl64.Vec3{x, y, z} {
		for k, v := range axis {
			if v != 0 {
				s.ours[i], s.theirs[k], s.sign[i] = k, i, v
			}
		}
	}
	s.hand = mgl64.Mat3FromRows(x, y, z).Det()
	a, b, c := s.rows()
	unit := mgl64.Vec3{math.Abs(s.sign[0]), math.Abs(s.sign[1]), math.Abs(s.sign[2])} == mgl64.Vec3{1, 1, 1}
	if a != x || b != y || c != z || !unit || math.Abs(s.hand) != 1 {
		panic("spatial: want three different axes of unit length")
	}
	return s
}

// rows are the other axes in ours.
func (s *signedAxes) rows() (x, y, z mgl64.Vec3) {
	var rows [3]mgl64.Vec3
	for i := range rows {
		rows[i][s.ours[i]] = s.sign[i]
	}
	return rows[0], rows[1], rows[2]
}

// Out returns a point or a vector in the other axes.
func (s signedAxes) Out(v mgl64.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{s.sign[0]*v[s.ours[0]] + 0, s.sign[1]*v[s.ours[1]] + 0, s.sign[2]*v[s.ours[2]] + 0}
}

// In returns a point or a vector of the other axes in ours.
func (s signedAxes) In(v mgl64.Vec3) mgl64.Vec3 {
	x, y, z := s.theirs[0], s.theirs[1], s.theirs[2]
	return mgl64.Vec3{s.sign[x]*v[x] + 0, s.sign[y]*v[y] + 0, s.sign[z]*v[z] + 0}
}

// OutAxial returns an axial vector in the other axes.
func (s signedAxes) OutAxial(v mgl64.Vec3) mgl64.Vec3 { return s.Out(v.Mul(s.hand)) }

// OutRotation returns a rotation in the other axes: what it turns has them, and what it is
// seen from.
func (s signedAxes) OutRotation(q mgl64.Quat) mgl64.Quat {
	return mgl64.Quat{W: q.W, V: s.OutAxial(q.V)}
}

// OutSize returns extents along our axes as extents along the other ones.
func (s signedAxes) OutSize(v mgl64.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{v[s.ours[0]], v[s.ours[1]], v[s.ours[2]]}
}

// OutAttitude returns the orientation that a body's other axes have in the world, given
// that of its own: the world's axes stay.
func (r AxesRotation) OutAttitude(q mgl64.Quat) mgl64.Quat { return q.Mul(r.quat) }

// Angles are a rotation about a body's forward, sideward and upward axes. It is applied yaw
// first, then pitch, then roll, in the turned axes: in ours as FromRPY has them. Degrees, or
// all in radians.
type Angles struct{ Roll, Pitch, Yaw float64 }

// AngleMirror converts angles to axes of the other hand. It is its own inverse.
type AngleMirror struct{ roll, pitch, yaw float64 }

var (
	// UnityAngles are the rotations about Unity's z (roll), x (pitch) and y (yaw). The nose
	// goes down with pitch, to the right with yaw, the left side down with roll.
	UnityAngles = AngleMirror{-1, 1, -1}
	// UnrealAngles are those of Unreal's FRotator, which CARLA has too. The nose goes up with
	// pitch, to the right with yaw, the right side down with roll.
	UnrealAngles = AngleMirror{1, -1, -1}
)

// Out returns our angles as the other's.
func (m AngleMirror) Out(a Angles) Angles {
	return Angles{m.roll*a.Roll + 0, m.pitch*a.Pitch + 0, m.yaw*a.Yaw + 0}
}

// In returns the other's angles as ours.
func (m AngleMirror) In(a Angles) Angles { return m.Out(a) }

// HeadingOfYaw returns a compass heading of a yaw. The heading is degrees clockwise from the
// north, 0 up to 360, as SVL has them; the yaw is degrees counter-clockwise from the east.
func HeadingOfYaw(yaw float64) float64 {
	d := math.Mod(90-yaw, 360)
	if d < 0 {
		d += 360
	}
	if d >= 360 { // a tiny negative number was rounded up
		d = 0
	}
	return d + 0
}

// Degrees returns angles or angular velocities in degrees.
func Degrees(v mgl64.Vec3) mgl64.Vec3 { return v.Mul(180 / math.Pi) }

// Names of coordinate frames (REP-105), without a leading slash.
const (
	// FrameEarth is earth-centred and earth-fixed.
	FrameEarth = "earth"
	// FrameMap is fixed to the world: east, north, up.
	FrameMap = "map"
	// FrameOdom is fixed to the world and may drift. raybridge's odometry doesn't drift:
	// its odom and map coincide.
	FrameOdom = "odom"
	// FrameBaseLink is the vehicle's: the rear axle's centre on the ground. Sensors are
	// mounted in the ego's by default.
	FrameBaseLink = "base_link"
)

// SuffixOptical ends the name of a camera's frame whose axes are x right, y down and z
// forward (REP-103).
const SuffixOptical = "_optical"
