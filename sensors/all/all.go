// Package all lists every sensor type of raybridge: one line a type.
package all

import (
	"sync"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/clock"
	"github.com/raybridge/raybridge/sensors/collision"
	"github.com/raybridge/raybridge/sensors/gnss"
	"github.com/raybridge/raybridge/sensors/gpsodometry"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/imu"
	"github.com/raybridge/raybridge/sensors/insstatus"
	"github.com/raybridge/raybridge/sensors/laneinvasion"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/obstacle"
	"github.com/raybridge/raybridge/sensors/odometry"
	"github.com/raybridge/raybridge/sensors/radar"
	"github.com/raybridge/raybridge/sensors/safedistance"
	"github.com/raybridge/raybridge/sensors/signals"
	"github.com/raybridge/raybridge/sensors/snapshot"
	"github.com/raybridge/raybridge/sensors/transform"
	"github.com/raybridge/raybridge/sensors/ultrasonic"
	"github.com/raybridge/raybridge/sensors/vehicle"
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
		imu.Definition,
		gnss.Definition,
		gpsodometry.Definition,
		insstatus.Definition,
		odometry.Definition,
		transform.Definition,
		vehicle.Odometry,
		vehicle.CanBus,
		vehicle.Speedometer,
		clock.Definition,
		collision.Definition,
		laneinvasion.Definition,
		safedistance.Definition,
		signals.Definition,
		snapshot.Definition,
		radar.Definition,
		ultrasonic.Definition,
		obstacle.Definition,
	}
}

// Registry returns the registry of all sensor types.
var Registry = sync.OnceValue(func() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(Definitions()...))
})
