package carla

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial/axes"
)

func appendGNSS(dst []byte, m *sample.GnssFix) []byte {
	return packF64(packF64(packF64(packArray(dst, 3), m.Latitude), m.Longitude), m.Altitude)
}

// appendIMU appends specific force in m/s², angular velocity in rad/s, and the compass:
// radians clockwise from north.
func appendIMU(dst []byte, m *sample.Imu) []byte {
	dst = packArray(dst, 3)
	dst = packVec(dst, axes.Unreal.Out(m.LinearAcceleration))
	dst = packVec(dst, axes.Unreal.OutAxial(m.AngularVelocity))
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
	return packVec(dst, axes.Unreal.Out(m.NormalImpulse))
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
