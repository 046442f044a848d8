package ros

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// Vector3Of returns a vector as a message.
func Vector3Of(v mgl64.Vec3) Vector3 { return Vector3{X: v[0], Y: v[1], Z: v[2]} }

// PointOf returns a place as a message.
func PointOf(v mgl64.Vec3) Point { return Point{X: v[0], Y: v[1], Z: v[2]} }

// QuaternionOf returns a rotation as a message.
func QuaternionOf(q mgl64.Quat) Quaternion {
	return Quaternion{X: q.V[0], Y: q.V[1], Z: q.V[2], W: q.W}
}

// PoseOf returns a pose as a message.
func PoseOf(p spatial.Pose) Pose {
	return Pose{Position: PointOf(p.Position), Orientation: QuaternionOf(p.Orientation)}
}

// TwistOf returns a twist as a message.
func TwistOf(t spatial.Twist) Twist {
	return Twist{Linear: Vector3Of(t.Linear), Angular: Vector3Of(t.Angular)}
}

// Vec3 returns the vector.
func (m *Vector3) Vec3() mgl64.Vec3 { return mgl64.Vec3{m.X, m.Y, m.Z} }

// Vec3 returns the place.
func (m *Point) Vec3() mgl64.Vec3 { return mgl64.Vec3{m.X, m.Y, m.Z} }

// Quat returns the rotation.
func (m *Quaternion) Quat() mgl64.Quat { return mgl64.Quat{W: m.W, V: mgl64.Vec3{m.X, m.Y, m.Z}} }

// Spatial returns the pose.
func (m *Pose) Spatial() spatial.Pose {
	return spatial.Pose{Position: m.Position.Vec3(), Orientation: m.Orientation.Quat()}
}

// Spatial returns the twist.
func (m *Twist) Spatial() spatial.Twist {
	return spatial.Twist{Linear: m.Linear.Vec3(), Angular: m.Angular.Vec3()}
}
