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
	// carla:[[HOST:]PORT][?policy=drop_oldest|drop_newest|block][&messages=N][&bytes=N][&clients=N] (network)
	//   *sample.Collision as carla.CollisionEvent
	//   *sample.DvsEvents as carla.DVSEventArray
	//   *sample.Snapshot as carla.EpisodeState
	//   *sample.GnssFix as carla.Gnss
	//   *sample.Imu as carla.IMU
	//   *sample.Image as carla.Image
	//   *sample.PointCloud as carla.LidarMeasurement
	//   *sample.Obstacle as carla.ObstacleDetectionEvent
	//   *sample.Radar as carla.Radar
	// cyber:HOST[:9090][?apollo=7|8][&origin=LAT,LON,ALT][&retry=TIME][&backoff=FACTOR][&longest=TIME][&attempts=N][&messages=N][&bytes=N] (network)
	//   *sample.CanBus as apollo.canbus.Chassis
	//   *sample.Detections2D as apollo.common.Detection2DArray
	//   *sample.VehicleControl as apollo.control.ControlCommand
	//   *sample.Clock as apollo.cyber.proto.Clock
	//   *sample.CompressedImage as apollo.drivers.CompressedImage
	//   *sample.RadarObjects as apollo.drivers.ContiRadar
	//   *sample.Image as apollo.drivers.Image
	//   *sample.LaserScan as apollo.drivers.PointCloud
	//   *sample.PointCloud as apollo.drivers.PointCloud
	//   *sample.GnssFix as apollo.drivers.gnss.GnssBestPose
	//   *sample.Imu as apollo.drivers.gnss.Imu
	//   *sample.InsStatus as apollo.drivers.gnss.InsStat
	//   *sample.GpsOdometry as apollo.localization.Gps
	//   *sample.Odometry as apollo.localization.LocalizationEstimate
	//   *sample.LaneLines as apollo.perception.PerceptionLanes
	//   *sample.Detections3D as apollo.perception.PerceptionObstacles
	//   *sample.Signals as apollo.perception.TrafficLightDetection
	// foxglove:[[HOST:]PORT][?messages=N][&bytes=N][&clients=N][&origins=HOST,...][&cert=FILE&key=FILE] (network)
	//   *sample.AckermannDrive as ackermann_msgs/msg/AckermannDriveStamped
	//   *sample.Collision as carla_msgs/msg/CarlaCollisionEvent
	//   *sample.LaneInvasion as carla_msgs/msg/CarlaLaneInvasionEvent
	//   *sample.CameraInfo as foxglove.CameraCalibration
	//   *sample.CompressedImage as foxglove.CompressedImage
	//   *sample.Transforms as foxglove.FrameTransforms
	//   *sample.Detections2D as foxglove.ImageAnnotations
	//   *sample.LaserScan as foxglove.LaserScan
	//   *sample.GnssFix as foxglove.LocationFix
	//   *sample.GpsOdometry as foxglove.LocationFix
	//   *sample.Log as foxglove.Log
	//   *sample.Odometry as foxglove.Odometry
	//   *sample.PointCloud as foxglove.PointCloud
	//   *sample.Image as foxglove.RawImage
	//   *sample.Detections3D as foxglove.SceneUpdate
	//   *sample.Signals as foxglove.SceneUpdate
	//   *sample.VelocityCommand as geometry_msgs/msg/Twist
	//   *sample.CanBus as lgsvl_msgs/msg/CanBusData
	//   *sample.RadarObjects as lgsvl_msgs/msg/DetectedRadarObjectArray
	//   *sample.VehicleControl as lgsvl_msgs/msg/VehicleControlData
	//   *sample.VehicleOdometry as lgsvl_msgs/msg/VehicleOdometry
	//   *sample.VehicleState as lgsvl_msgs/msg/VehicleStateData
	//   *sample.Clock as rosgraph_msgs/msg/Clock
	//   *sample.Imu as sensor_msgs/msg/Imu
	//   *sample.DvsEvents as sensor_msgs/msg/PointCloud2
	//   *sample.Radar as sensor_msgs/msg/PointCloud2
	//   *sample.Range as sensor_msgs/msg/Range
	//   *sample.Speed as std_msgs/msg/Float32
	// logging:NAME (file)
	//   *sample.CameraInfo as CameraInfoData
	//   *sample.CanBus as CanBusData
	//   *sample.Clock as ClockData
	//   *sample.Collision as CollisionData
	//   *sample.Detections2D as Detected2DObjectData
	//   *sample.Detections3D as Detected3DObjectData
	//   *sample.RadarObjects as DetectedRadarObjectData
	//   *sample.DvsEvents as DvsEventsData
	//   *sample.GnssFix as GpsData
	//   *sample.InsStatus as GpsInsData
	//   *sample.GpsOdometry as GpsOdometryData
	//   *sample.Odometry as GpsOdometryData
	//   *sample.CompressedImage as ImageData
	//   *sample.Imu as ImuData
	//   *sample.LaneInvasion as LaneInvasionData
	//   *sample.LaserScan as LaserScanData
	//   *sample.Obstacle as ObstacleData
	//   *sample.PointCloud as PointCloudData
	//   *sample.Radar as RadarData
	//   *sample.Signals as SignalDataArray
	//   *sample.Snapshot as SnapshotData
	//   *sample.Speed as SpeedData
	//   *sample.Transforms as TransformsData
	//   *sample.Range as UltrasonicData
	//   *sample.Image as UncompressedImageData
	//   *sample.VehicleOdometry as VehicleOdometryData
	// mcap:FILE.mcap or FOLDER, then [?profile=ros2|ros1|foxglove][&split=SIZE][&split_time=TIME][&metadata=5|9][&compression=zstd|lz4|none][&chunk=SIZE][&flush=TIME] (file)
	//   *sample.Collision as carla_msgs/msg/CarlaCollisionEvent
	//   *sample.LaneInvasion as carla_msgs/msg/CarlaLaneInvasionEvent
	//   *sample.CanBus as lgsvl_msgs/msg/CanBusData
	//   *sample.RadarObjects as lgsvl_msgs/msg/DetectedRadarObjectArray
	//   *sample.Signals as lgsvl_msgs/msg/SignalArray
	//   *sample.VehicleOdometry as lgsvl_msgs/msg/VehicleOdometry
	//   *sample.GpsOdometry as nav_msgs/msg/Odometry
	//   *sample.Odometry as nav_msgs/msg/Odometry
	//   *sample.Clock as rosgraph_msgs/msg/Clock
	//   *sample.CameraInfo as sensor_msgs/msg/CameraInfo
	//   *sample.CompressedImage as sensor_msgs/msg/CompressedImage
	//   *sample.Image as sensor_msgs/msg/Image
	//   *sample.Imu as sensor_msgs/msg/Imu
	//   *sample.LaserScan as sensor_msgs/msg/LaserScan
	//   *sample.GnssFix as sensor_msgs/msg/NavSatFix
	//   *sample.DvsEvents as sensor_msgs/msg/PointCloud2
	//   *sample.PointCloud as sensor_msgs/msg/PointCloud2
	//   *sample.Radar as sensor_msgs/msg/PointCloud2
	//   *sample.Range as sensor_msgs/msg/Range
	//   *sample.Speed as std_msgs/msg/Float32
	//   *sample.Transforms as tf2_msgs/msg/TFMessage
	//   *sample.Detections2D as vision_msgs/msg/Detection2DArray
	//   *sample.Detections3D as vision_msgs/msg/Detection3DArray
	// ros1:[MASTER[:11311]][?node=NAME][&host=HOST][&messages=N][&bytes=N][&retry=3s][&backoff=F][&longest=30s][&attempts=N] (network)
	//   *sample.AckermannDrive as ackermann_msgs/AckermannDriveStamped
	//   *sample.Collision as carla_msgs/CarlaCollisionEvent
	//   *sample.LaneInvasion as carla_msgs/CarlaLaneInvasionEvent
	//   *sample.VelocityCommand as geometry_msgs/Twist
	//   *sample.CanBus as lgsvl_msgs/CanBusData
	//   *sample.RadarObjects as lgsvl_msgs/DetectedRadarObjectArray
	//   *sample.Detections2D as lgsvl_msgs/Detection2DArray
	//   *sample.Detections3D as lgsvl_msgs/Detection3DArray
	//   *sample.Signals as lgsvl_msgs/SignalArray
	//   *sample.Range as lgsvl_msgs/Ultrasonic
	//   *sample.VehicleControl as lgsvl_msgs/VehicleControlData
	//   *sample.VehicleOdometry as lgsvl_msgs/VehicleOdometry
	//   *sample.VehicleState as lgsvl_msgs/VehicleStateData
	//   *sample.GpsOdometry as nav_msgs/Odometry
	//   *sample.Odometry as nav_msgs/Odometry
	//   *sample.Clock as rosgraph_msgs/Clock
	//   *sample.CameraInfo as sensor_msgs/CameraInfo
	//   *sample.CompressedImage as sensor_msgs/CompressedImage
	//   *sample.Image as sensor_msgs/Image
	//   *sample.Imu as sensor_msgs/Imu
	//   *sample.LaserScan as sensor_msgs/LaserScan
	//   *sample.GnssFix as sensor_msgs/NavSatFix
	//   *sample.DvsEvents as sensor_msgs/PointCloud2
	//   *sample.PointCloud as sensor_msgs/PointCloud2
	//   *sample.Radar as sensor_msgs/PointCloud2
	//   *sample.Speed as std_msgs/Float32
	//   *sample.Transforms as tf2_msgs/TFMessage
	// ros2dds:[DOMAIN][?node=NAME][&namespace=/NAME][&ros=humble][&messages=N][&bytes=N][&retry=3s][&backoff=F][&longest=30s][&attempts=N] (network)
	//   *sample.AckermannDrive as ackermann_msgs/msg/AckermannDriveStamped
	//   *sample.Collision as carla_msgs/msg/CarlaCollisionEvent
	//   *sample.LaneInvasion as carla_msgs/msg/CarlaLaneInvasionEvent
	//   *sample.VelocityCommand as geometry_msgs/msg/Twist
	//   *sample.CanBus as lgsvl_msgs/msg/CanBusData
	//   *sample.RadarObjects as lgsvl_msgs/msg/DetectedRadarObjectArray
	//   *sample.Signals as lgsvl_msgs/msg/SignalArray
	//   *sample.VehicleControl as lgsvl_msgs/msg/VehicleControlData
	//   *sample.VehicleOdometry as lgsvl_msgs/msg/VehicleOdometry
	//   *sample.VehicleState as lgsvl_msgs/msg/VehicleStateData
	//   *sample.GpsOdometry as nav_msgs/msg/Odometry
	//   *sample.Odometry as nav_msgs/msg/Odometry
	//   *sample.Clock as rosgraph_msgs/msg/Clock
	//   *sample.CameraInfo as sensor_msgs/msg/CameraInfo
	//   *sample.CompressedImage as sensor_msgs/msg/CompressedImage
	//   *sample.Image as sensor_msgs/msg/Image
	//   *sample.Imu as sensor_msgs/msg/Imu
	//   *sample.LaserScan as sensor_msgs/msg/LaserScan
	//   *sample.GnssFix as sensor_msgs/msg/NavSatFix
	//   *sample.DvsEvents as sensor_msgs/msg/PointCloud2
	//   *sample.PointCloud as sensor_msgs/msg/PointCloud2
	//   *sample.Radar as sensor_msgs/msg/PointCloud2
	//   *sample.Range as sensor_msgs/msg/Range
	//   *sample.Speed as std_msgs/msg/Float32
	//   *sample.Transforms as tf2_msgs/msg/TFMessage
	//   *sample.Detections2D as vision_msgs/msg/Detection2DArray
	//   *sample.Detections3D as vision_msgs/msg/Detection3DArray
	// ros2lgsvl:HOST[:9090][?messages=N][&bytes=N][&retry=3s][&backoff=F][&longest=30s][&attempts=N] (network)
	//   *sample.AckermannDrive as ackermann_msgs/AckermannDriveStamped
	//   *sample.Collision as carla_msgs/CarlaCollisionEvent
	//   *sample.LaneInvasion as carla_msgs/CarlaLaneInvasionEvent
	//   *sample.VelocityCommand as geometry_msgs/Twist
	//   *sample.CanBus as lgsvl_msgs/CanBusData
	//   *sample.RadarObjects as lgsvl_msgs/DetectedRadarObjectArray
	//   *sample.Detections2D as lgsvl_msgs/Detection2DArray
	//   *sample.Detections3D as lgsvl_msgs/Detection3DArray
	//   *sample.Signals as lgsvl_msgs/SignalArray
	//   *sample.Range as lgsvl_msgs/Ultrasonic
	//   *sample.VehicleControl as lgsvl_msgs/VehicleControlData
	//   *sample.VehicleOdometry as lgsvl_msgs/VehicleOdometry
	//   *sample.VehicleState as lgsvl_msgs/VehicleStateData
	//   *sample.GpsOdometry as nav_msgs/Odometry
	//   *sample.Odometry as nav_msgs/Odometry
	//   *sample.Clock as rosgraph_msgs/Clock
	//   *sample.CameraInfo as sensor_msgs/CameraInfo
	//   *sample.CompressedImage as sensor_msgs/CompressedImage
	//   *sample.Image as sensor_msgs/Image
	//   *sample.Imu as sensor_msgs/Imu
	//   *sample.LaserScan as sensor_msgs/LaserScan
	//   *sample.GnssFix as sensor_msgs/NavSatFix
	//   *sample.DvsEvents as sensor_msgs/PointCloud2
	//   *sample.PointCloud as sensor_msgs/PointCloud2
	//   *sample.Radar as sensor_msgs/PointCloud2
	//   *sample.Speed as std_msgs/Float32
	//   *sample.Transforms as tf2_msgs/TFMessage
	// rosapollo:[ws://|wss://]HOST[:PORT][?ca=FILE][&insecure=1][&messages=N][&bytes=N][&retry=3s][&backoff=1][&longest=30s][&attempts=0] (network)
	//   *sample.AckermannDrive as ackermann_msgs/AckermannDriveStamped
	//   *sample.Collision as carla_msgs/CarlaCollisionEvent
	//   *sample.LaneInvasion as carla_msgs/CarlaLaneInvasionEvent
	//   *sample.VelocityCommand as geometry_msgs/Twist
	//   *sample.Detections2D as lgsvl_msgs/Detection2DArray
	//   *sample.Range as lgsvl_msgs/Ultrasonic
	//   *sample.VehicleOdometry as lgsvl_msgs/VehicleOdometry
	//   *sample.VehicleState as lgsvl_msgs/VehicleStateData
	//   *sample.Odometry as nav_msgs/Odometry
	//   *sample.CanBus as pb_msgs/Chassis
	//   *sample.RadarObjects as pb_msgs/ContiRadar
	//   *sample.VehicleControl as pb_msgs/ControlCommand
	//   *sample.GnssFix as pb_msgs/GnssBestPose
	//   *sample.GpsOdometry as pb_msgs/Gps
	//   *sample.Imu as pb_msgs/Imu
	//   *sample.Detections3D as pb_msgs/PerceptionObstacles
	//   *sample.Signals as pb_msgs/TrafficLightDetection
	//   *sample.Clock as rosgraph_msgs/Clock
	//   *sample.CameraInfo as sensor_msgs/CameraInfo
	//   *sample.CompressedImage as sensor_msgs/CompressedImage
	//   *sample.Image as sensor_msgs/Image
	//   *sample.LaserScan as sensor_msgs/LaserScan
	//   *sample.DvsEvents as sensor_msgs/PointCloud2
	//   *sample.PointCloud as sensor_msgs/PointCloud2
	//   *sample.Radar as sensor_msgs/PointCloud2
	//   *sample.Speed as std_msgs/Float32
	//   *sample.Transforms as tf2_msgs/TFMessage
	// rosbridge:[ws://|wss://]HOST[:PORT] or listen=[HOST:]PORT, then [?ros=1|2][&gps=fix|nmea][&bson=1][&subscribe=cbor|json|cbor-raw][&ca=FILE][&insecure=1][&cert=FILE][&key=FILE][&clients=N][&origins=HOST,...][&messages=N][&bytes=N][&retry=3s][&backoff=1][&longest=30s][&attempts=0] (network)
	//   *sample.AckermannDrive as ackermann_msgs/AckermannDriveStamped
	//   *sample.Collision as carla_msgs/CarlaCollisionEvent
	//   *sample.LaneInvasion as carla_msgs/CarlaLaneInvasionEvent
	//   *sample.VelocityCommand as geometry_msgs/Twist
	//   *sample.CanBus as lgsvl_msgs/CanBusData
	//   *sample.RadarObjects as lgsvl_msgs/DetectedRadarObjectArray
	//   *sample.Detections2D as lgsvl_msgs/Detection2DArray
	//   *sample.Detections3D as lgsvl_msgs/Detection3DArray
	//   *sample.Signals as lgsvl_msgs/SignalArray
	//   *sample.Range as lgsvl_msgs/Ultrasonic
	//   *sample.VehicleControl as lgsvl_msgs/VehicleControlData
	//   *sample.VehicleOdometry as lgsvl_msgs/VehicleOdometry
	//   *sample.VehicleState as lgsvl_msgs/VehicleStateData
	//   *sample.GpsOdometry as nav_msgs/Odometry
	//   *sample.Odometry as nav_msgs/Odometry
	//   *sample.Clock as rosgraph_msgs/Clock
	//   *sample.CameraInfo as sensor_msgs/CameraInfo
	//   *sample.CompressedImage as sensor_msgs/CompressedImage
	//   *sample.Image as sensor_msgs/Image
	//   *sample.Imu as sensor_msgs/Imu
	//   *sample.LaserScan as sensor_msgs/LaserScan
	//   *sample.GnssFix as sensor_msgs/NavSatFix
	//   *sample.DvsEvents as sensor_msgs/PointCloud2
	//   *sample.PointCloud as sensor_msgs/PointCloud2
	//   *sample.Radar as sensor_msgs/PointCloud2
	//   *sample.Speed as std_msgs/Float32
	//   *sample.Transforms as tf2_msgs/TFMessage
	// stream:[[HOST:]PORT][?policy=drop_oldest|drop_newest|block][&messages=N][&bytes=N][&clients=N][&zstd=on|off] (network)
	//   *sample.CameraInfo as CameraInfo
	//   *sample.CanBus as CanBus
	//   *sample.Clock as Clock
	//   *sample.Collision as Collision
	//   *sample.CompressedImage as CompressedImage
	//   *sample.Detections2D as Detections2D
	//   *sample.Detections3D as Detections3D
	//   *sample.DvsEvents as DvsEvents
	//   *sample.GnssFix as GnssFix
	//   *sample.GpsOdometry as GpsOdometry
	//   *sample.Image as Image
	//   *sample.Imu as Imu
	//   *sample.InsStatus as InsStatus
	//   *sample.LaneInvasion as LaneInvasion
	//   *sample.LaserScan as LaserScan
	//   *sample.Obstacle as Obstacle
	//   *sample.Odometry as Odometry
	//   *sample.PointCloud as PointCloud
	//   *sample.Radar as Radar
	//   *sample.RadarObjects as RadarObjects
	//   *sample.Range as Range
	//   *sample.Signals as Signals
	//   *sample.Snapshot as Snapshot
	//   *sample.Speed as Speed
	//   *sample.Transforms as Transforms
	//   *sample.VehicleOdometry as VehicleOdometry
}
