package bridgetest

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// apolloStampNs is the stamp of all of ApolloSamples: 2023-11-14 22:13:20.123456789 UTC.
const apolloStampNs = 1_700_000_000_123_456_789

// ApolloSample is a sample that becomes one of Apollo's messages. What the message must be
// is written in testdata/wire/cyber/generate/messages.py, under the sample's name.
type ApolloSample struct {
	Name string
	// Channel is where Apollo has such messages, or at least where they would be.
	Channel string
	Value   any
}

func apolloHeader(frame string) sample.Header {
	return sample.Header{Stamp: apolloStampNs, Seq: 1<<32 + 2, FrameID: frame, Pose: spatial.Identity()}
}

func apolloPose() spatial.Pose { return spatial.FromRPY(mgl64.Vec3{100, 200, 3}, 2, -3, 40) }

// ApolloSamples returns one sample for each of Apollo's messages, new with each call.
func ApolloSamples() []ApolloSample {
	return append(append(apolloPictures(), apolloClouds()...), append(apolloMotion(), apolloPerception()...)...)
}

func apolloPictures() []ApolloSample {
	pixels := make([]byte, 18)
	for i := range pixels {
		pixels[i] = byte(i)
	}
	return []ApolloSample{
		{"clock", "/clock", &sample.Clock{Stamp: apolloStampNs}},
		{"image", "/apollo/sensor/camera/front_6mm/image", &sample.Image{
			Header: apolloHeader("camera"), Width: 3, Height: 2, Step: 9, Encoding: sample.EncodingRGB8, Data: pixels,
		}},
		{"compressed_image", "/apollo/sensor/camera/front_6mm/image/compressed", &sample.CompressedImage{
			Header: apolloHeader("camera"), Format: "jpeg", Data: []byte{0xff, 0xd8, 0, 0xff, 0xd9},
		}},
	}
}

func apolloClouds() []ApolloSample {
	nan := float32(math.NaN())
	return []ApolloSample{
		{"point_cloud", "/apollo/sensor/lidar128/compensator/PointCloud2", &sample.PointCloud{
			Header: apolloHeader("lidar"), Rings: 4, Columns: 1, Points: []sample.Point{
				{X: 1.5, Y: -2.25, Z: 0.125},
				{X: 100.5, Y: 3, Z: -1.75, Intensity: 127.4, TimeNs: 1, Ring: 1},
				{X: 0.1, Y: 0.2, Z: 0.3, Intensity: 127.5, TimeNs: 99_999_999, Ring: 2},
				{X: -7, Y: 8, Z: 9, Intensity: 300, TimeNs: 4_000_000_000, Ring: 3},
			},
		}},
		{"point_cloud_organized", "/apollo/sensor/lidar16/PointCloud2", &sample.PointCloud{
			Header: apolloHeader("lidar"), Organized: true, Rings: 2, Columns: 2, UnitIntensity: true, Points: []sample.Point{
				{X: 1, Intensity: 1, Ring: 1}, {X: 3, Intensity: 0.2, TimeNs: 10},
				{X: nan, Y: nan, Z: nan, TimeNs: 20, Ring: 1}, {X: 4, Intensity: 0.4, TimeNs: 30},
			},
		}},
		{"laser_scan", "/apollo/sensor/scan", &sample.LaserScan{
			Header: apolloHeader("laser"), AngleMin: -0.5, AngleMax: 0.5, AngleIncrement: 0.5, TimeIncrement: 0.01, ScanTime: 0.1,
			RangeMin: 0.5, RangeMax: 10, Ranges: []float32{4, float32(math.Inf(1)), 2}, Intensities: []float32{25, 50, 75},
		}},
	}
}

func apolloMotion() []ApolloSample {
	imu := sample.Imu{
		Header: apolloHeader("imu"), Orientation: apolloPose().Orientation,
		LinearAcceleration: mgl64.Vec3{1.5, -0.25, 9.5}, AngularVelocity: mgl64.Vec3{0.01, -0.02, 0.3},
	}
	corrected := imu
	corrected.Pose, corrected.Orientation = apolloPose(), mgl64.QuatIdent()
	corrected.OrientationCovariance[0] = -1 // not reported: the header's counts
	return []ApolloSample{
		{"gnss_fix", "/apollo/sensor/gnss/best_pose", &sample.GnssFix{
			Header: apolloHeader("gnss"), Latitude: 37.417, Longitude: -122.016, Altitude: 12.5,
			PositionCovariance: [9]float64{0: 0.0625, 4: 0.25}, PositionCovarianceType: 2,
		}},
		{"gps_odometry", "/apollo/sensor/gnss/odometry", &sample.GpsOdometry{
			Header: apolloHeader("gps"), ChildFrameID: "base_link", Latitude: 37.417, Longitude: -122.016, Altitude: 12.5,
			Easting: 592720.5, Northing: 4134479.25, Orientation: apolloPose().Orientation, ForwardSpeed: 5,
			Velocity: mgl64.Vec3{3, 4, -0.5}, AngularVelocity: mgl64.Vec3{0.01, -0.02, 0.3}, WheelAngle: 0.1,
		}},
		{"ins_status", "/apollo/sensor/gnss/ins_stat", &sample.InsStatus{Header: apolloHeader("ins"), Status: 3, PositionType: 56}},
		{"imu", "/apollo/sensor/gnss/imu", &imu},
		{"corrected_imu", "/apollo/sensor/gnss/corrected_imu", &corrected},
		{"odometry", "/apollo/localization/pose", &sample.Odometry{
			Header: apolloHeader("odom"), ChildFrameID: "base_link", BodyPose: apolloPose(), PoseCovariance: [36]float64{0: 0.25, 7: 0.0625},
			Twist: spatial.Twist{Linear: mgl64.Vec3{5, 0.5, -0.25}, Angular: mgl64.Vec3{0.01, -0.02, 0.3}},
		}},
		{"can_bus", "/apollo/canbus/chassis", &sample.CanBus{
			Mode:   sample.ModeAutomatic,
			Header: apolloHeader("base_link"), Speed: 12.5, Throttle: 0.25, Braking: 0.5, Steering: 0.75, ParkingBrake: true, HighBeam: true,
			HazardLights: true, RightTurn: true, Wipers: true, EngineOn: true, Gear: sample.GearLow, EngineRPM: 1500,
			Latitude: 37.417, Longitude: -122.016, Altitude: 12.5,
			Orientation: spatial.FromRPY(mgl64.Vec3{}, 0, 0, -50).Orientation, Velocity: mgl64.Vec3{3, -12, 4},
		}},
	}
}

func apolloPerception() []ApolloSample {
	seen := apolloHeader("lidar")
	seen.Pose = spatial.FromRPY(mgl64.Vec3{10, 20, 2}, 0, 0, -50)
	return []ApolloSample{
		{"radar_objects", "/apollo/sensor/conti_radar", &sample.RadarObjects{Header: apolloHeader("radar"), Objects: []sample.RadarObject{
			{ID: 7, Position: mgl64.Vec3{30.5, -2.5, 0}, Velocity: mgl64.Vec3{-4, 0.5, 0}, Size: mgl64.Vec3{4.5, 1.75, 1.5}, Moving: true, New: true},
			{ID: 300, Position: mgl64.Vec3{80, 6, 0}, Velocity: mgl64.Vec3{-10, 0, 0}, Size: mgl64.Vec3{12, 2.5, 3.5}},
		}}},
		{"detections_2d", "/apollo/perception/detections_2d", &sample.Detections2D{Header: apolloHeader("camera"), Width: 640, Height: 480, Boxes: []sample.Box2D{{
			ID: 9, TypeID: "vehicle.sedan", Label: "Sedan", Score: 0.75, CenterX: 320.5, CenterY: 240, Width: 100, Height: 50.25,
			Twist: spatial.Twist{Linear: mgl64.Vec3{1, 2, 3}, Angular: mgl64.Vec3{0.1, 0.2, 0.3}},
		}}}},
		{"detections_3d", "/apollo/perception/obstacles", &sample.Detections3D{Header: seen, Boxes: []sample.Box3D{
			{
				ID: 5, Label: "Hatchback", Score: 1, Pose: spatial.FromRPY(mgl64.Vec3{15, -3, -1}, 0, 0, 20), Size: mgl64.Vec3{4.5, 1.75, 1.5},
				Twist: spatial.Twist{Linear: mgl64.Vec3{6, 1, 0}}, Acceleration: mgl64.Vec3{0.5, 0, 0},
			},
			{
				ID: 6, TypeID: "walker.adult", Score: 0.5, Pose: spatial.FromRPY(mgl64.Vec3{5, 4, -1.25}, 0, 0, -90), Size: mgl64.Vec3{0.5, 0.75, 1.75},
				Twist: spatial.Twist{Linear: mgl64.Vec3{0, -1, 0}},
			},
			{
				ID: 2000, Label: "SchoolBus", Score: 1, Pose: spatial.FromRPY(mgl64.Vec3{30, 0, 0.5}, 0, 0, 180), Size: mgl64.Vec3{11, 2.5, 3.5},
				Twist: spatial.Twist{Linear: mgl64.Vec3{-8, 0, 0}},
			},
		}}},
		{"signals", "/apollo/perception/traffic_light", &sample.Signals{Header: apolloHeader("base_link"), Signals: []sample.Signal{
			{ID: 1234, State: world.SignalRed, Score: 1}, {ID: 2, State: world.SignalYellow, Score: 0.5},
			{ID: 3, State: world.SignalGreen, Score: 1}, {ID: 4, State: world.SignalOff, Score: 1}, {ID: 5, State: world.SignalUnknown, Score: 1},
		}}},
		{"lane_lines", "/apollo/perception/lanes", &sample.LaneLines{Header: apolloHeader("camera"), Lines: []sample.LaneLine{
			{Width: 0.15, Type: sample.LaneLineWhiteSolid, Place: sample.LaneLineEgoLeft, MinX: 2, MaxX: 40, C: [4]float64{1.75, 0.5, 0.25, 0.125}},
			{Width: 0.15, Type: sample.LaneLineYellowDashed, Place: sample.LaneLineEgoRight, MinX: 2.5, MaxX: 30, C: [4]float64{-1.75, 0, 0, 0}},
		}}},
	}
}
