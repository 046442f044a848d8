package all_test

import (
	"fmt"

	"github.com/raybridge/raybridge/bridges/all"
)

func ExampleRegistry() {
	registry := all.Registry()
	for _, name := range registry.Names() {
		plugin, err := registry.Plugin(name)
		if err != nil {
			panic(err)
		}
		info := plugin.Info()
		fmt.Printf("%s:%s (%s)\n", info.Name, info.Connection, info.Kind)
		for _, t := range plugin.Types() {
			fmt.Println(" ", t.Go, "as", t.Wire)
		}
	}
	// Output:
	// logging:NAME (file)
	//   *sample.CameraInfo as CameraInfoData
	//   *sample.Clock as ClockData
	//   *sample.GnssFix as GpsData
	//   *sample.Odometry as GpsOdometryData
	//   *sample.CompressedImage as ImageData
	//   *sample.Imu as ImuData
	//   *sample.PointCloud as PointCloudData
	//   *sample.Transforms as TransformsData
	//   *sample.Image as UncompressedImageData
	// mcap:FILE.mcap or FOLDER, then [?metadata=5|9][&compression=zstd|lz4|none][&chunk=BYTES] (file)
	//   *sample.Odometry as nav_msgs/msg/Odometry
	//   *sample.Clock as rosgraph_msgs/msg/Clock
	//   *sample.CameraInfo as sensor_msgs/msg/CameraInfo
	//   *sample.CompressedImage as sensor_msgs/msg/CompressedImage
	//   *sample.Image as sensor_msgs/msg/Image
	//   *sample.Imu as sensor_msgs/msg/Imu
	//   *sample.GnssFix as sensor_msgs/msg/NavSatFix
	//   *sample.PointCloud as sensor_msgs/msg/PointCloud2
	//   *sample.Transforms as tf2_msgs/msg/TFMessage
}
