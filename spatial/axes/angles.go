package axes

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// Angles are a rotation about a body's forward, sideward and upward axes, applied yaw
// first, then pitch, then roll, in the turned axes: in ours as spatial.FromRPY has them.
// Degrees, or all in radians.
type Angles struct{ Roll, Pitch, Yaw float64 }

// AngleMirror converts angles to axes of the other hand. It is its own inverse.
type AngleMirror struct{ roll, pitch, yaw float64 }

var (
	// UnityAngles are the rotations about Unity's z (roll), x (pitch) and y (yaw): the nose
	// goes down with pitch, to the right with yaw, the left side down with roll.
	UnityAngles = AngleMirror{-1, 1, -1}
	// UnrealAngles are those of Unreal's FRotator, which CARLA has too: the nose goes up
	// with pitch, to the right with yaw, the right side down with roll.
	UnrealAngles = AngleMirror{1, -1, -1}
)

// Out returns our angles as the other's.
func (m AngleMirror) Out(a Angles) Angles {
	return Angles{m.roll*a.Roll + 0, m.pitch*a.Pitch + 0, m.yaw*a.Yaw + 0}
}

// In returns the other's angles as ours.
func (m AngleMirror) In(a Angles) Angles { return m.Out(a) }

// HeadingOfYaw returns a compass heading, degrees clockwise from the north, 0 up to 360,
// as SVL has them, of a yaw: degrees counter-clockwise from the east.
func HeadingOfYaw(yaw float64) float64 { return wrap(90 - yaw) }

// YawOfHeading returns the yaw of a compass heading, degrees, above -180 up to 180.
func YawOfHeading(heading float64) float64 {
	yaw := wrap(90 - heading)
	if yaw > 180 {
		yaw -= 360
	}
	return yaw
}

// wrap brings degrees to 0 up to 360.
func wrap(degrees float64) float64 {
	d := math.Mod(degrees, 360)
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

// Radians returns angles or angular velocities in radians.
func Radians(v mgl64.Vec3) mgl64.Vec3 { return v.Mul(math.Pi / 180) }
