package rossample_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// The values here are those of testdata/wire/cdr/generate/detections.c.

func laserScan(intensities ...float32) *sample.LaserScan {
	inf := float32(math.Inf(1))
	return &sample.LaserScan{
		Header: header("scan"), AngleMin: -1.5, AngleMax: 1.5, AngleIncrement: 1, TimeIncrement: 0.001, ScanTime: 0.1,
		RangeMin: 0.25, RangeMax: 30, Ranges: []float32{1.5, inf, -inf, 7.25}, Intensities: intensities,
	}
}

func radar() *sample.Radar {
	return &sample.Radar{Header: header("lidar_top"), Detections: []sample.RadarDetection{
		{Velocity: -3.5, Depth: 20, Instance: 3, Tag: 14},
		{Velocity: 1.25, Azimuth: math.Pi / 2, Altitude: math.Pi / 6, Depth: 8},
	}}
}

func dvsEvents() *sample.DvsEvents {
	return &sample.DvsEvents{Header: header("lidar_top"), Width: 640, Height: 480, FovDeg: 90, Events: []sample.DvsEvent{
		{X: 5, Y: 7, TimeNs: 1_000_000_001, Polarity: true},
		{X: 639, Y: 479, TimeNs: 1_000_000_001},
		{TimeNs: 1_000_999_999, Polarity: true},
	}}
}

func gpsOdometry() *sample.GpsOdometry {
	return &sample.GpsOdometry{
		Header: header("gps"), ChildFrameID: "base_link", Latitude: 49, Longitude: 8.4, Altitude: 115.5,
		Easting: 456120.5, Northing: 5428321.25, Orientation: quat(0, 0, 0.6, 0.8), ForwardSpeed: 8.5,
		Velocity: mgl64.Vec3{1, 2, 3}, AngularVelocity: mgl64.Vec3{0.5, 0.75, 0.25}, WheelAngle: 0.1,
	}
}

func canBus() *sample.CanBus {
	return &sample.CanBus{
		Header: header("can"), Speed: 8.5, Throttle: 0.25, Braking: 0.5, Steering: -0.75,
		ParkingBrake: true, LowBeam: true, FogLights: true, RightTurn: true, Reverse: true, EngineOn: true,
		Gear: sample.GearReverse, EngineRPM: 900, Latitude: 49.01, Longitude: -8.4, Altitude: 115.5,
		Orientation: quat(0, 0, 0.6, 0.8), Velocity: mgl64.Vec3{8, -2, 0.5},
	}
}

var boxPose = spatial.Pose{Position: mgl64.Vec3{12.5, -3, 0.75}, Orientation: quat(0, 0, 0.6, 0.8)}

var boxTwist = spatial.Twist{Linear: mgl64.Vec3{5, -1, 0}, Angular: mgl64.Vec3{0, 0, 0.5}}

func detections2D() *sample.Detections2D {
	return &sample.Detections2D{Header: header("camera"), Width: 640, Height: 480, Boxes: []sample.Box2D{
		{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Tag: 14, Score: 1, CenterX: 320.5, CenterY: 240.25, Width: 100, Height: 60.5, Twist: boxTwist},
		{ID: 65535, TypeID: "walker.adult", Score: 0.5, CenterX: 10, CenterY: 20, Width: 4, Height: 9},
	}}
}

func detections3D() *sample.Detections3D {
	return &sample.Detections3D{Header: header("lidar"), Boxes: []sample.Box3D{
		{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Score: 1, Pose: boxPose, Size: mgl64.Vec3{4.5, 1.8, 1.5}, Twist: boxTwist},
	}}
}

func signals() *sample.Signals {
	return &sample.Signals{Header: header("signals"), Signals: []sample.Signal{
		{ID: 3, Label: "green", State: world.SignalGreen, Score: 1, Pose: boxPose, Size: mgl64.Vec3{0.25, 0.5, 1}},
	}}
}

func radarObjects() *sample.RadarObjects {
	return &sample.RadarObjects{Header: header("radar"), Objects: []sample.RadarObject{
		{ID: 7, Position: mgl64.Vec3{30, 0, -0.5}, Velocity: mgl64.Vec3{-4, 0.5, 0}, Size: mgl64.Vec3{4.5, 1.8, 1.5}, Moving: true, New: true},
		{ID: 9, Position: mgl64.Vec3{0, 8, 0}, Size: mgl64.Vec3{0.5, 0.5, 1.75}},
	}}
}

func TestMoreSamplesEncodeToTheVectors(t *testing.T) {
	for name, encoded := range map[string]func() ([]byte, error){
		"laser_scan":       mirrored(laserScan(0.5, 0, 0, 12)),
		"laser_scan_plain": mirrored(laserScan()),
		"range": mirrored(&sample.Range{
			Header: header("sonar"), RadiationType: sample.RadiationUltrasound, FieldOfView: 0.7, MinRange: 0.3, MaxRange: 2, Range: 1.25,
		}),
		"radar":               encoded(rossample.RadarCloud, radar()),
		"dvs_events":          encoded(rossample.DvsCloud, dvsEvents()),
		"speed":               encoded(rossample.Speed, &sample.Speed{Header: header("speed"), MetresPerSecond: -3.25}),
		"gps_odometry":        encoded(rossample.GpsOdometry, gpsOdometry()),
		"can_bus":             encoded(rossample.CanBusData, canBus()),
		"vehicle_odometry":    encoded(rossample.VehicleOdometry, &sample.VehicleOdometry{Header: header("wheels"), Velocity: 8.5, FrontWheelAngle: -0.25, RearWheelAngle: 0.125}),
		"collision":           encoded(rossample.CarlaCollisionEvent, &sample.Collision{Header: header("ego"), Actor: 1, Other: 42, NormalImpulse: mgl64.Vec3{-100, 50.5, 0}}),
		"lane_invasion":       encoded(rossample.CarlaLaneInvasionEvent, &sample.LaneInvasion{Header: header("ego"), Marks: []sample.CrossedMark{{ID: 5, Type: sample.LaneMarkSolid}, {ID: 6, Type: sample.LaneMarkNone}}}),
		"detections_2d":       encoded(rossample.Detection2DArray, detections2D()),
		"detections_3d":       encoded(rossample.Detection3DArray, detections3D()),
		"lgsvl_detections_2d": encoded(rossample.LgsvlDetection2DArray, detections2D()),
		"lgsvl_detections_3d": encoded(rossample.LgsvlDetection3DArray, detections3D()),
		"signals":             encoded(rossample.SignalArray, signals()),
		"signals_none":        encoded(rossample.SignalArray, &sample.Signals{Header: header("signals")}),
		"radar_objects":       encoded(rossample.DetectedRadarObjectArray, radarObjects()),
	} {
		want, err := os.ReadFile(filepath.Join("../../../testdata/wire/cdr", name+".cdr"))
		require.NoError(t, err)
		got, err := encoded()
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

// TestListsAreReused: a message that had more elements before keeps nothing of them.
func TestListsAreReused(t *testing.T) {
	var e encode.BinaryEncoder
	var flat, freshFlat ros.Detection2DArray
	require.NoError(t, rossample.Detection2DArray(&flat, detections2D()))
	fewer := detections2D()
	fewer.Boxes = fewer.Boxes[1:]
	require.NoError(t, rossample.Detection2DArray(&flat, fewer))
	require.NoError(t, rossample.Detection2DArray(&freshFlat, fewer))
	assert.Equal(t, e.Append(nil, &freshFlat), e.Append(nil, &flat))

	var cloud, freshCloud ros.PointCloud2
	require.NoError(t, rossample.DvsCloud(&cloud, dvsEvents()))
	require.NoError(t, rossample.RadarCloud(&cloud, radar()))
	require.NoError(t, rossample.RadarCloud(&freshCloud, radar()))
	assert.Equal(t, e.Append(nil, &freshCloud), e.Append(nil, &cloud))

	var crossed ros.CarlaLaneInvasionEvent
	require.NoError(t, rossample.CarlaLaneInvasionEvent(&crossed, &sample.LaneInvasion{Marks: make([]sample.CrossedMark, 3)}))
	require.NoError(t, rossample.CarlaLaneInvasionEvent(&crossed, &sample.LaneInvasion{Marks: []sample.CrossedMark{{Type: sample.LaneMarkCurb}}}))
	assert.Equal(t, []int32{9}, crossed.CrossedLaneMarkings)
}

func TestLateStampsAreErrors(t *testing.T) {
	late := sample.Header{Stamp: math.MaxInt64}
	for name, encoded := range map[string]func() ([]byte, error){
		"detections 2d":       encoded(rossample.Detection2DArray, &sample.Detections2D{Header: late}),
		"detections 3d":       encoded(rossample.Detection3DArray, &sample.Detections3D{Header: late}),
		"lgsvl detections 2d": encoded(rossample.LgsvlDetection2DArray, &sample.Detections2D{Header: late}),
		"lgsvl detections 3d": encoded(rossample.LgsvlDetection3DArray, &sample.Detections3D{Header: late}),
		"signals":             encoded(rossample.SignalArray, &sample.Signals{Header: late}),
		"radar objects":       encoded(rossample.DetectedRadarObjectArray, &sample.RadarObjects{Header: late}),
		"laser scan":          mirrored(&sample.LaserScan{Header: late}),
	} {
		_, err := encoded()
		assert.ErrorIs(t, err, ros.ErrStampRange, name)
	}
}
