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
)

// Definitions returns the definition of each sensor type, for registries that add
// others. The list is the caller's; the definitions are shared and never change.
func Definitions() []*sensors.Definition {
	return []*sensors.Definition{
		camera.RGBDefinition,
		camera.DepthDefinition,
		camera.SemanticDefinition,
		camera.InstanceDefinition,
		camera.NormalsDefinition,
		camera.OpticalFlowDefinition,
		camera.DVSDefinition,
		lidar.RayCastDefinition,
		lidar.RayCastSemanticDefinition,
		lidar.LaserScanDefinition,
		groundtruth.Boxes2DDefinition,
		groundtruth.Boxes3DDefinition,
		motion.IMUDefinition,
		motion.GNSSDefinition,
		motion.GPSOdometryDefinition,
		motion.INSStatusDefinition,
		motion.OdometryDefinition,
		motion.TransformDefinition,
		motion.VehicleOdometryDefinition,
		motion.CANBusDefinition,
		motion.SpeedometerDefinition,
		motion.ClockDefinition,
		motion.ControlDefinition,
		motion.VehicleStateDefinition,
		motion.CruiseControlDefinition,
		motion.LaneFollowingDefinition,
		motion.DestinationDefinition,
		motion.ControlCalibrationDefinition,
		motion.ComfortDefinition,
		groundtruth.CollisionDefinition,
		groundtruth.LaneInvasionDefinition,
		groundtruth.LaneMarksDefinition,
		groundtruth.LaneLinesDefinition,
		ranging.SafeDistanceDefinition,
		groundtruth.SignalsDefinition,
		groundtruth.SnapshotDefinition,
		groundtruth.WeatherDefinition,
		ranging.RadarDefinition,
		ranging.UltrasonicDefinition,
		ranging.ObstacleDefinition,
	}
}

// Registry returns the registry of all sensor types.
var Registry = sync.OnceValue(func() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(Definitions()...))
})
