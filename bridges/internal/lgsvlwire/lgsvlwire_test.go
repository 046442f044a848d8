package lgsvlwire_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/lgsvlwire"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

const vectorDir = "../../../testdata/wire/lgsvlwire"

var (
	header = ros.Header{Stamp: ros.Time{Sec: 1700000000, Nanosec: 123456789}, FrameID: "lidar"}
	pose   = ros.Pose{Position: ros.Point{X: 12.5, Y: -3, Z: 0.75}, Orientation: ros.Quaternion{Z: 0.6, W: 0.8}}
	twist  = ros.Twist{Linear: ros.Vector3{X: 5, Y: -1}, Angular: ros.Vector3{Z: 0.5}}
)

// ramp sets v to first, first + 1, ...
func ramp(v []float64, first float64) {
	for i := range v {
		v[i] = first + float64(i)
	}
}

func cameraInfo() *ros.CameraInfo {
	m := &ros.CameraInfo{
		Header: header, Height: 480, Width: 640, DistortionModel: "plumb_bob", D: []float64{-0.5, 0.25}, BinningX: 1, BinningY: 2,
		ROI: ros.RegionOfInterest{XOffset: 3, YOffset: 4, Height: 5, Width: 6, DoRectify: true},
	}
	ramp(m.K[:], 500)
	ramp(m.R[:], 0)
	ramp(m.P[:], 600)
	return m
}

func imu() *ros.Imu {
	m := &ros.Imu{
		Header: header, Orientation: ros.Quaternion{X: 0.1, Y: -0.2, Z: 0.3, W: 0.9}, OrientationCovariance: [9]float64{-1},
		AngularVelocity: ros.Vector3{X: 0.01, Y: -0.02, Z: 0.03}, LinearAcceleration: ros.Vector3{X: 0.5, Y: -0.25, Z: 9.80665},
	}
	ramp(m.AngularVelocityCovariance[:], 2)
	ramp(m.LinearAccelerationCovariance[:], 4)
	return m
}

func navSatFix() *ros.NavSatFix {
	m := &ros.NavSatFix{
		Header: header, Status: ros.NavSatStatus{Status: -1, Service: 9},
		Latitude: 48.137154, Longitude: -11.576124, Altitude: 519.25, PositionCovarianceType: 2,
	}
	ramp(m.PositionCovariance[:], 0)
	return m
}

func odometry() *ros.Odometry {
	m := &ros.Odometry{Header: header, ChildFrameID: "base_link"}
	m.Header.FrameID = "odom"
	m.Pose.Pose, m.Twist.Twist = pose, twist
	ramp(m.Pose.Covariance[:], 100)
	ramp(m.Twist.Covariance[:], 200)
	return m
}

func image() *ros.Image {
	m := &ros.Image{Header: header, Height: 2, Width: 3, Encoding: "rgb8", Step: 9}
	for i := range 18 {
		m.Data.Data = append(m.Data.Data, byte(7*i+1))
	}
	return m
}

func pointCloud() *ros.PointCloud2 {
	m := &ros.PointCloud2{Header: header, Height: 1, Width: 2, PointStep: 32, RowStep: 64, IsDense: true}
	for _, f := range []ros.PointField{{Name: "x", Datatype: 7}, {Name: "y", Offset: 4, Datatype: 7}, {Name: "z", Offset: 8, Datatype: 7},
		{Name: "intensity", Offset: 16, Datatype: 2}, {Name: "timestamp", Offset: 24, Datatype: 8}} {
		f.Count = 1
		m.PointFields = append(m.PointFields, f)
	}
	for i := range 64 {
		m.Data.Data = append(m.Data.Data, byte(i))
	}
	return m
}

func detections2D() *ros.LgsvlDetection2DArray {
	d := ros.LgsvlDetection2D{
		Header: header, ID: 7, Label: "Sedan", Score: 1, BBox: ros.LgsvlBoundingBox2D{X: 320.5, Y: 240.25, Width: 100, Height: 60.5}, Velocity: twist,
	}
	d.Header.FrameID = "box"
	return &ros.LgsvlDetection2DArray{Header: header, Detections: []ros.LgsvlDetection2D{d}}
}

func signals() *ros.SignalArray {
	s := ros.Signal{Header: header, ID: 3, Label: "green", Score: 1, BBox: ros.LgsvlBoundingBox3D{Position: pose, Size: ros.Vector3{X: 0.25, Y: 0.5, Z: 1}}}
	return &ros.SignalArray{Header: header, Signals: []ros.Signal{s, s}}
}

var inf = float32(math.Inf(1))

// vectors are the values that vectors.py packed.
var vectors = map[string]ros.Message{
	"clock":              &ros.Clock{Clock: header.Stamp},
	"clock_before_epoch": &ros.Clock{Clock: ros.Time{Sec: -2, Nanosec: 999999999}},
	"image":              image(),
	"compressed_image":   &ros.CompressedImage{Header: header, Format: "jpeg", Data: ros.Bytes{Data: []byte{0xff, 0xd8, 0xff}}},
	"camera_info":        cameraInfo(),
	"imu":                imu(),
	"nav_sat_fix":        navSatFix(),
	"odometry":           odometry(),
	"laser_scan": &ros.LaserScan{
		Header: header, AngleMin: -1.5, AngleMax: 1.5, AngleIncrement: 1, TimeIncrement: 0.001, ScanTime: 0.1, RangeMin: 0.25, RangeMax: 30,
		Ranges: []float32{1.5, inf, -inf, float32(math.NaN())},
	},
	"point_cloud": pointCloud(),
	"can_bus": &ros.CanBusData{
		Header: header, SpeedMps: 8.5, ThrottlePct: 0.25, BrakePct: 0.5, SteerPct: -0.75,
		ParkingBrakeActive: true, LowBeamsActive: true, FogLightsActive: true, RightTurnSignalActive: true, ReverseGearActive: true, SelectedGear: 2, EngineActive: true, EngineRPM: 900,
		GPSLatitude: 49.01, GPSLongitude: -8.4, GPSAltitude: 115.5, Orientation: ros.Quaternion{Z: 0.6, W: 0.8}, LinearVelocities: ros.Vector3{X: 8, Y: -2, Z: 0.5},
	},
	"detections_2d": detections2D(),
	"detections_3d": &ros.LgsvlDetection3DArray{Header: header, Detections: []ros.LgsvlDetection3D{{
		Header: header, ID: 7, Label: "Straße", Score: 0.5, BBox: ros.LgsvlBoundingBox3D{Position: pose, Size: ros.Vector3{X: 4.5, Y: 1.8, Z: 1.5}}, Velocity: twist,
	}}},
	"signals": signals(),
	"radar_objects": &ros.DetectedRadarObjectArray{Header: header, Objects: []ros.DetectedRadarObject{{
		ID: -7, SensorAim: ros.Vector3{X: 1}, SensorRight: ros.Vector3{Y: -1}, SensorVelocity: ros.Vector3{X: 1, Y: 2, Z: 3}, SensorAngle: 0.5,
		ObjectPosition: ros.Point{X: 30, Z: -0.5}, ObjectVelocity: ros.Vector3{X: -4, Y: 0.5},
		ObjectRelativePosition: ros.Point{X: 30, Y: 1, Z: -0.5}, ObjectRelativeVelocity: ros.Vector3{X: -4, Y: 1},
		ObjectColliderSize: ros.Vector3{X: 4.5, Y: 1.8, Z: 1.5}, ObjectState: 1, NewDetection: true,
	}}},
	"ultrasonic":       &ros.Ultrasonic{Header: header, MinimumDistance: 1.25},
	"vehicle_odometry": &ros.VehicleOdometry{Header: header, Velocity: 8.5, FrontWheelAngle: 0.25, RearWheelAngle: -0.125},
	"vehicle_control": &ros.VehicleControlData{
		Header: header, AccelerationPct: 0.25, BrakingPct: 0.5, TargetWheelAngle: -0.5, TargetWheelAngularRate: 0.125, TargetGear: 2,
	},
	"vehicle_state": &ros.VehicleStateData{
		Header: header, BlinkerState: 3, HeadlightState: 2, WiperState: 1, CurrentGear: 4, VehicleMode: 1, HandBrakeActive: true, AutonomousModeActive: true,
	},
	"speed":    &ros.Float32{Data: -3.25},
	"tf_empty": &ros.TFMessage{},
}

func readVector(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join(vectorDir, name+".bin"))
	require.NoError(t, err)
	return data
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectorDir, "*.bin"))
	require.NoError(t, err)
	require.Len(t, files, len(vectors))
	for name, m := range vectors {
		t.Run(name, func(t *testing.T) {
			want := readVector(t, name)
			var e lgsvlwire.Encoder
			assert.Equal(t, append([]byte("before"), want...), e.Append([]byte("before"), m))
			var d lgsvlwire.Decoder
			again := rostest.New(m)
			require.NoError(t, d.Decode(want, again))
			assert.Equal(t, want, e.Append(nil, again))
			for n := range len(want) {
				require.ErrorIs(t, d.Decode(want[:n], rostest.New(m)), lgsvlwire.ErrTruncated, "cut to %d bytes", n)
			}
			assert.ErrorIs(t, d.Decode(append(want, 0), rostest.New(m)), lgsvlwire.ErrMalformed)
		})
	}
}

func TestSeqIsNotWritten(t *testing.T) {
	var e lgsvlwire.Encoder
	assert.Equal(t, e.Append(nil, &ros.Header{}), e.Append(nil, &ros.Header{Seq: 7}))
}

func TestFixedArraysHaveTheirSize(t *testing.T) {
	data := readVector(t, "camera_info")
	at := len(data) - 25 - 12*8 - 4 // the count of p
	require.Equal(t, byte(12), data[at])
	data[at] = 11
	var d lgsvlwire.Decoder
	assert.ErrorIs(t, d.Decode(data, &ros.CameraInfo{}), lgsvlwire.ErrMalformed)
}

func TestRoundTripOfEveryMessage(t *testing.T) {
	for _, m := range rostest.Every() {
		for seed := range uint64(30) {
			rostest.Fill(m, seed)
			var e lgsvlwire.Encoder
			data := e.Append(nil, m)
			require.EqualValues(t, len(data), e.Size(m), m.TypeName())
			again := rostest.New(m)
			var d lgsvlwire.Decoder
			require.NoError(t, d.Decode(data, again), m.TypeName())
			require.Equal(t, data, e.Append(nil, again), m.TypeName())
		}
	}
}

func FuzzDecode(f *testing.F) {
	for name := range vectors {
		f.Add(name, readVector(f, name))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		m := vectors[name]
		if m == nil {
			m = vectors["point_cloud"]
		}
		m = rostest.New(m)
		var d lgsvlwire.Decoder
		if d.Decode(data, m) != nil {
			return
		}
		var e lgsvlwire.Encoder
		first := e.Append(nil, m)
		require.Len(t, first, len(data))
		again := rostest.New(m)
		require.NoError(t, d.Decode(first, again))
		require.Equal(t, first, e.Append(nil, again))
	})
}

func TestAppendIntoReusedBufferAllocatesNothing(t *testing.T) {
	for _, m := range rostest.Every() {
		rostest.Fill(m, 3)
		e := new(lgsvlwire.Encoder)
		buf := e.Append(nil, m)
		assert.Zero(t, testing.AllocsPerRun(20, func() { buf = e.Append(buf[:0], m) }), m.TypeName())
		assert.Zero(t, testing.AllocsPerRun(20, func() { e.Size(m) }), m.TypeName())
	}
}

func BenchmarkAppendPointCloud2(b *testing.B) {
	m := &ros.PointCloud2{Data: ros.Bytes{Data: make([]byte, 8<<20)}}
	e := new(lgsvlwire.Encoder)
	var buf []byte
	b.ReportAllocs()
	b.SetBytes(8 << 20)
	for b.Loop() {
		buf = e.Append(buf[:0], m)
	}
}
