// Package all lists every sensor type of raybridge: one line a type.
package all

import (
	"sync"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/sensors/world"
)

// Definitions returns the definition of each sensor type, for registries that add
// others. The list is the caller's; the definitions are shared and never change.
func Definitions() []*sensors.Definition {
	return []*sensors.Definition{
		camera.RGB,
		camera.Depth,
		camera.Semantic,
		camera.Instance,
		camera.Normals,
		camera.OpticalFlow,
		camera.DVS,
		lidar.RayCast,
		lidar.RayCastSemantic,
		lidar.LaserScan,
		groundtruth.Boxes2D,
		groundtruth.Boxes3D,
		motion.IMU,
		motion.GNSS,
		motion.GPSOdometry,
		motion.INSStatus,
		motion.Odometry,
		motion.Transform,
		motion.VehicleOdometry,
		motion.CANBus,
		motion.Speedometer,
		motion.Clock,
		world.Collision,
		world.LaneInvasion,
		ranging.SafeDistance,
		world.Signals,
		world.Snapshot,
		ranging.Radar,
		ranging.Ultrasonic,
		ranging.Obstacle,
	}
}

// Registry returns the registry of all sensor types.
var Registry = sync.OnceValue(func() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(Definitions()...))
})
