// Package all lists raybridge's bridges. It is the one place where a new bridge
// is added to the program.
package all

import (
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo"
	"github.com/raybridge/raybridge/bridges/carla"
	"github.com/raybridge/raybridge/bridges/coco"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/bridges/kitti"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/nuscenes"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/raybridge/raybridge/bridges/ros2dds"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/bridges/velodyne"
)

// Factories returns a factory of each bridge, for registries that add others.
func Factories() []bridges.Factory {
	return []bridges.Factory{
		carla.Factory{},
		dataset.NewFactory(coco.Format),
		apollo.Cyber{},
		foxglove.Factory{},
		dataset.NewFactory(kitti.Format),
		logging.Factory{},
		mcap.Factory{},
		dataset.NewFactory(nuscenes.Format),
		ros1.Factory{},
		ros2dds.Factory{},
		ros2lgsvl.Factory{},
		apollo.RosApollo{},
		rosbridge.Factory{},
		stream.Factory{},
		velodyne.Factory{},
	}
}

// Registry returns a new registry of all bridges. Each has its own plugins, so
// that types added to one don't show up in another.
func Registry() *bridges.Registry { return bridges.MustRegistry(Factories()...) }
