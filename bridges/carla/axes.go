package carla

import (
	"encoding/binary"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// The y axis points to the other side. A mirror turns vectors' y, and of axial ones
// (angular velocities) what isn't along y.

func vector(v mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{v[0], -v[1], v[2]} }

func axial(v mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{-v[0], v[1], -v[2]} }

// rotator returns a rotation as Unreal Engine's pitch, yaw and roll in degrees: the
// nose goes up with pitch, clockwise with yaw.
func rotator(p spatial.Pose) (pitch, yaw, roll float64) {
	roll, pitch, yaw = p.RPY()
	return -pitch, -yaw, roll
}

func degrees(v mgl64.Vec3) mgl64.Vec3 { return v.Mul(180 / math.Pi) }

// appendF32 appends float32; a zero that was mirrored has no sign.
func appendF32(dst []byte, values ...float64) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)+0))
	}
	return dst
}

func appendVec(dst []byte, v mgl64.Vec3) []byte { return appendF32(dst, v[0], v[1], v[2]) }

// appendTransform appends CARLA's Transform: location in metres, then pitch, yaw and
// roll, six float32.
func appendTransform(dst []byte, p spatial.Pose) []byte {
	pitch, yaw, roll := rotator(p)
	return appendF32(appendVec(dst, vector(p.Position)), pitch, yaw, roll)
}
