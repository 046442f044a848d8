package rossample

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/spatial"
)

func vector3(v mgl64.Vec3) ros.Vector3 { return ros.Vector3{X: v[0], Y: v[1], Z: v[2]} }

func point(v mgl64.Vec3) ros.Point { return ros.Point{X: v[0], Y: v[1], Z: v[2]} }

func quaternion(q mgl64.Quat) ros.Quaternion {
	return ros.Quaternion{X: q.V[0], Y: q.V[1], Z: q.V[2], W: q.W}
}

func pose(p spatial.Pose) ros.Pose {
	return ros.Pose{Position: point(p.Position), Orientation: quaternion(p.Orientation)}
}

func twist(t spatial.Twist) ros.Twist {
	return ros.Twist{Linear: vector3(t.Linear), Angular: vector3(t.Angular)}
}

func fromVector3(v ros.Vector3) mgl64.Vec3 { return mgl64.Vec3{v.X, v.Y, v.Z} }

func fromPoint(p ros.Point) mgl64.Vec3 { return mgl64.Vec3{p.X, p.Y, p.Z} }

func fromQuaternion(q ros.Quaternion) mgl64.Quat {
	return mgl64.Quat{W: q.W, V: mgl64.Vec3{q.X, q.Y, q.Z}}
}

func fromTwist(t *ros.Twist) spatial.Twist {
	return spatial.Twist{Linear: fromVector3(t.Linear), Angular: fromVector3(t.Angular)}
}

func fromPose(p *ros.Pose) spatial.Pose {
	return spatial.Pose{Position: fromPoint(p.Position), Orientation: fromQuaternion(p.Orientation)}
}
