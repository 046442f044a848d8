package carla

import (
	"encoding/binary"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/spatial/axes"
)

// rotator returns a rotation as Unreal Engine's pitch, yaw and roll in degrees.
func rotator(p spatial.Pose) (pitch, yaw, roll float64) {
	var ours axes.Angles
	ours.Roll, ours.Pitch, ours.Yaw = p.RPY()
	theirs := axes.UnrealAngles.Out(ours)
	return theirs.Pitch, theirs.Yaw, theirs.Roll
}

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
	return appendF32(appendVec(dst, axes.Unreal.Out(p.Position)), pitch, yaw, roll)
}
