package carla

import (
	"encoding/binary"
	"math"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Sizes of a frame's parts, bytes.
const (
	lengthBytes = 4
	headerBytes = 48
)

// appendFrame appends a frame: the length of what follows it, the header (packed: type
// id u64, frame u64, seconds f64, transform 6 f32), and the body.
func appendFrame(dst []byte, typeID uint64, h *sample.Header, body func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, typeID)
	dst = binary.LittleEndian.AppendUint64(dst, h.Frame)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(seconds(h.StampNs)))
	dst = appendTransform(dst, h.Pose)
	dst = body(dst)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthBytes))
	return dst
}

// seconds is the nearest number to a time: 0.3 s are 0.3.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// rotator returns a rotation as Unreal Engine's pitch, yaw and roll in degrees.
func rotator(p spatial.Pose) (pitch, yaw, roll float64) {
	var ours spatial.Angles
	ours.Roll, ours.Pitch, ours.Yaw = p.RPY()
	theirs := spatial.UnrealAngles.Out(ours)
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
	return appendF32(appendVec(dst, spatial.UnrealAxes.Out(p.Position)), pitch, yaw, roll)
}

func appendGNSS(dst []byte, m *sample.GnssFix) []byte {
	return packF64(packF64(packF64(packArray(dst, 3), m.Latitude), m.Longitude), m.Altitude)
}

// appendIMU appends specific force in m/s², angular velocity in rad/s, and the compass:
// radians clockwise from north.
func appendIMU(dst []byte, m *sample.Imu) []byte {
	dst = packArray(dst, 3)
	dst = packVec(dst, spatial.UnrealAxes.Out(m.LinearAcceleration))
	dst = packVec(dst, spatial.UnrealAxes.OutAxial(m.AngularVelocity))
	return packF32(dst, compass(m))
}

// compass returns the direction in which the sensor's x axis points, clockwise from
// north: the map's y axis (REP-105). It comes from the sensor's pose, so that it is
// there too where the orientation isn't reported.
func compass(m *sample.Imu) float64 {
	ahead := m.Pose.Rotate(mgl64.Vec3{1, 0, 0})
	angle := math.Atan2(ahead[0], ahead[1])
	if angle < 0 {
		angle += 2 * math.Pi
	}
	return angle
}

func appendCollision(dst []byte, m *sample.Collision) []byte {
	dst = packArray(dst, 3)
	dst = packActor(dst, m.Actor, m.ActorType)
	dst = packActor(dst, m.Other, m.OtherType)
	return packVec(dst, spatial.UnrealAxes.Out(m.NormalImpulse))
}

func appendObstacle(dst []byte, m *sample.Obstacle) []byte {
	dst = packArray(dst, 3)
	dst = packActor(dst, m.Actor, m.ActorType)
	dst = packActor(dst, m.Other, m.OtherType)
	return packF32(dst, float64(m.Distance))
}

// packActor writes CARLA's rpc::Actor: id, parent, description (definition's number, id,
// attributes), bounding box (location, extent, rotation), semantic tags, stream token.
// What events don't know of an actor is empty.
func packActor(dst []byte, id uint32, typeID string) []byte {
	dst = packArray(dst, 6)
	dst = packUint(dst, actorID(id))
	dst = packUint(dst, 0)
	dst = packArray(dst, 3)
	dst = packUint(dst, 0)
	dst = packString(dst, typeID)
	dst = packArray(dst, 0)
	dst = packArray(dst, 3)
	for range 3 {
		dst = packVec(dst, mgl64.Vec3{})
	}
	dst = packBin(dst, nil)
	return packBin(dst, nil)
}

// Sizes of a world snapshot's parts, bytes (LibCarla's EpisodeStateSerializer and
// ActorDynamicState, both packed).
const (
	episodeBytes = 36
	stateBytes   = 119
	unionBytes   = 54
)

// actorActive is rpc::ActorState::Active.
const actorActive = 1

func snapshotBytes(m *sample.Snapshot) int { return episodeBytes + stateBytes*len(m.Actors) }

// appendSnapshot appends the episode's state: its id, the platform's seconds (the
// simulation's stand for them), the seconds since the frame before, the map's origin
// in integers, flags; then each actor.
func appendSnapshot(dst []byte, m *sample.Snapshot) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, episodeID)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(seconds(m.StampNs)))
	dst = appendF32(dst, seconds(m.DeltaNs))
	dst = append(dst, make([]byte, 16)...)
	for i := range m.Actors {
		dst = appendActorState(dst, &m.Actors[i])
	}
	return dst
}

// episodeID is the only episode there is.
const episodeID = 1

func appendActorState(dst []byte, a *sample.ActorState) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, actorID(a.ID))
	dst = append(dst, actorActive)
	dst = appendTransform(dst, a.Pose)
	dst = appendVec(dst, spatial.UnrealAxes.Out(a.Twist.Linear))
	dst = appendVec(dst, spatial.Degrees(spatial.UnrealAxes.OutAxial(a.Twist.Angular)))
	dst = appendVec(dst, spatial.UnrealAxes.Out(a.Acceleration))
	var kind [unionBytes]byte
	putKind(&kind, a)
	return append(dst, kind[:]...)
}

// putKind fills in the part of the state that depends on the kind of the actor.
func putKind(dst *[unionBytes]byte, a *sample.ActorState) {
	switch a.Kind {
	case sample.KindVehicle:
		putVehicle(dst, a)
	case sample.KindWalker:
		// direction, speed, jump
		v := spatial.UnrealAxes.Out(a.Twist.Linear)
		speed := v.Len()
		if speed > 0 {
			v = v.Mul(1 / speed)
		}
		putF32(dst[:], float32(v[0]), float32(v[1]), float32(v[2]), float32(speed))
	case sample.KindTrafficLight:
		// 32 characters of the sign's id; green, yellow, red, elapsed; pole; frozen; state
		putF32(dst[32:], a.Green, a.Yellow, a.Red, a.SignalElapsed)
		dst[53] = byte(a.Signal)
	}
}

func putF32(dst []byte, values ...float32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

// putVehicle writes throttle, steer, brake; hand brake, reverse, manual shift; gear;
// speed limit; light state; whether it has a light and which; failure state. Which light
// is a vehicle's isn't known: it is green then in CARLA.
func putVehicle(dst *[unionBytes]byte, a *sample.ActorState) {
	putF32(dst[:], a.Throttle, a.Steering, a.Braking)
	if a.Reverse {
		dst[13] = 1
	}
	binary.LittleEndian.PutUint32(dst[15:], uint32(a.Gear))
	dst[23] = byte(sample.SignalGreen)
}

// The few kinds of MessagePack (msgpack/spec.md) that CARLA's bodies have.

func packArray(dst []byte, n int) []byte { return append(dst, 0x90|byte(n)) } // n < 16

func packF32(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0xca), math.Float32bits(float32(v)))
}

func packF64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v))
}

func packUint(dst []byte, v uint32) []byte {
	switch {
	case v < 1<<7:
		return append(dst, byte(v))
	case v < 1<<8:
		return append(dst, 0xcc, byte(v))
	case v < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(v))
	default:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), v)
	}
}

// packString writes up to 255 bytes of s.
func packString(dst []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	if len(s) < 32 {
		return append(append(dst, 0xa0|byte(len(s))), s...)
	}
	return append(append(dst, 0xd9, byte(len(s))), s...)
}

// packBin writes up to 255 bytes of b.
func packBin(dst []byte, b []byte) []byte {
	return append(append(dst, 0xc4, byte(len(b))), b...)
}

func packVec(dst []byte, v mgl64.Vec3) []byte {
	dst = packArray(dst, 3)
	for _, x := range v {
		dst = packF32(dst, x)
	}
	return dst
}
