package encode_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// formats are the binary formats by their names in tests.
var formats = map[string]encode.Binary{"CDR": encode.CDR, "ROS1": encode.ROS1, "LGSVL": encode.LGSVL}

// vector is a message that software of others has encoded.
type vector struct {
	format encode.Binary
	name   string
	data   []byte
	empty  ros.Message
	value  ros.Message // what was encoded, nil where the test doesn't know it
}

// readVector reads a file of testdata/wire.
func readVector(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("../../../testdata/wire", path))
	require.NoError(tb, err)
	return data
}

func cdrVector(tb testing.TB, name string) []byte { return readVector(tb, "cdr/"+name+".cdr") }

// vectors returns those of all formats.
func vectors(tb testing.TB) (list []vector) {
	tb.Helper()
	files := func(pattern string, want int) (names []string) {
		found, err := filepath.Glob("../../../testdata/wire/" + pattern)
		require.NoError(tb, err)
		require.Len(tb, found, want)
		for _, file := range found {
			names = append(names, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
		}
		return names
	}
	for _, name := range files("cdr/*.cdr", len(cdrTypes)) {
		list = append(list, vector{encode.CDR, name, cdrVector(tb, name), cdrTypes[name](), nil})
	}
	types := map[string]ros.Message{}
	for _, m := range bridgetest.EveryMessage() {
		types[ros.ROS1.TypeName(m.TypeName())] = m
	}
	for _, name := range files("ros1/*.bin", 27) {
		var written struct{ Type string }
		require.NoError(tb, json.Unmarshal(readVector(tb, "ros1/"+name+".json"), &written))
		require.NotNil(tb, types[written.Type], written.Type)
		list = append(list, vector{encode.ROS1, name, readVector(tb, "ros1/"+name+".bin"), types[written.Type], nil})
	}
	for _, name := range files("lgsvlwire/*.bin", len(lgsvlValues)) {
		m := lgsvlValues[name]
		require.NotNil(tb, m, name)
		list = append(list, vector{encode.LGSVL, name, readVector(tb, "lgsvlwire/"+name+".bin"), bridgetest.NewMessage(m), m})
	}
	return list
}

func TestVectorsSurviveDecodingAndEncoding(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			d, e, m := v.format.Decoder(), v.format.Encoder(), bridgetest.NewMessage(v.empty)
			require.NoError(t, d.Decode(v.data, m))
			// Alignment counts from CDR's header wherever it lies.
			assert.Equal(t, append([]byte("odd"), v.data...), e.Append([]byte("odd"), m))
			assert.NoError(t, e.Err())
			assert.EqualValues(t, len(v.data), e.Size(m))
			if v.value != nil {
				assert.Equal(t, v.data, e.Append(nil, v.value))
			}
			for n := range len(v.data) {
				require.ErrorIs(t, d.Decode(v.data[:n], bridgetest.NewMessage(m)), encode.ErrTruncated, "cut to %d bytes", n)
			}
			if v.format != encode.CDR { // which may be padded
				assert.ErrorIs(t, d.Decode(append(v.data, 0), bridgetest.NewMessage(m)), encode.ErrMalformed)
			}
		})
	}
}

func TestRoundTripOfEveryMessage(t *testing.T) {
	for name, format := range formats {
		for _, m := range bridgetest.EveryMessage() {
			for seed := range uint64(30) {
				bridgetest.FillMessage(m, seed)
				e := format.Encoder()
				data := e.Append(nil, m)
				require.NoError(t, e.Err(), "%s: %s", name, m.TypeName())
				require.EqualValues(t, len(data), e.Size(m), "%s: %s", name, m.TypeName())
				again := bridgetest.NewMessage(m)
				require.NoError(t, format.Decoder().Decode(data, again), "%s: %s", name, m.TypeName())
				require.Equal(t, data, e.Append(nil, again), "%s: %s", name, m.TypeName())
			}
		}
	}
}

// What was decoded encodes to data that decodes to the same bytes again.
func FuzzBinary(f *testing.F) {
	types := map[string]ros.Message{}
	for _, m := range bridgetest.EveryMessage() {
		types[m.TypeName()] = m
	}
	for _, v := range vectors(f) {
		f.Add(uint8(v.format), v.empty.TypeName(), v.data)
	}
	f.Fuzz(func(t *testing.T, number uint8, typeName string, data []byte) {
		format, m := encode.Binary(number%3), types[typeName]
		if m == nil {
			m = &ros.PointCloud2{}
		}
		m = bridgetest.NewMessage(m)
		d := format.Decoder()
		if d.Decode(data, m) != nil {
			return
		}
		e := format.Encoder()
		first := e.Append(nil, m)
		require.EqualValues(t, len(first), e.Size(m))
		if format != encode.CDR { // there what pads, and the empty string, have two forms
			require.Len(t, first, len(data))
		}
		again := bridgetest.NewMessage(m)
		require.NoError(t, d.Decode(first, again))
		require.Equal(t, first, e.Append(nil, again))
	})
}

func TestAppendIntoReusedBufferAllocatesNothing(t *testing.T) {
	for name, format := range formats {
		for _, m := range bridgetest.EveryMessage() {
			bridgetest.FillMessage(m, 3)
			e := format.Encoder()
			buf := e.Append(nil, m)
			assert.Zero(t, testing.AllocsPerRun(20, func() { buf = e.Append(buf[:0], m) }), "%s: %s", name, m.TypeName())
			assert.Zero(t, testing.AllocsPerRun(20, func() { e.Size(m) }), "%s: %s", name, m.TypeName())
		}
	}
}

func BenchmarkAppendImu(b *testing.B) {
	m := new(ros.Imu)
	require.NoError(b, encode.CDR.Decoder().Decode(cdrVector(b, "imu"), m))
	e := encode.CDR.Encoder()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Append(buf[:0], m)
	}
}

func BenchmarkAppendPointCloud2(b *testing.B) {
	m := &ros.PointCloud2{Data: ros.Bytes{Data: make([]byte, 8<<20)}}
	for name, format := range formats {
		b.Run(name, func(b *testing.B) {
			e := format.Encoder()
			var buf []byte
			b.ReportAllocs()
			b.SetBytes(8 << 20)
			for b.Loop() {
				buf = e.Append(buf[:0], m)
			}
		})
	}
}

func TestPublicationHasTheDefinitionOfItsROS(t *testing.T) {
	pub := ros.Publish(func(dst *ros.Clock, src *sample.Clock) error { return dst.Clock.Set(int64(src.Stamp)) })
	for _, c := range []struct {
		format encode.Binary
		schema bridges.Schema
	}{
		{encode.CDR, bridges.Schema{Name: "rosgraph_msgs/msg/Clock", Encoding: "ros2msg", MessageEncoding: "cdr", Data: []byte(
			"builtin_interfaces/Time clock\n" + strings.Repeat("=", 80) + "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n")}},
		{encode.ROS1, bridges.Schema{Name: "rosgraph_msgs/Clock", Encoding: "ros1msg", MessageEncoding: "ros1", Data: []byte("time clock\n"),
			MD5: "a9c97c1d230cfc112e270351a944ee47"}}, // rosmsg md5 rosgraph_msgs/Clock
	} {
		row, err := c.format.Publication(pub)
		require.NoError(t, err)
		assert.Equal(t, pub.Type, row.Type)
		assert.Equal(t, c.schema, row.Schema)

		message := &ros.Clock{}
		require.NoError(t, message.Clock.Set(5_000_000_007))
		convert, src := row.Converter(), &sample.Clock{Stamp: 5_000_000_007}
		code, err := convert(src)
		require.NoError(t, err)
		got, err := code([]byte("before"))
		require.NoError(t, err)
		assert.Equal(t, c.format.Encoder().Append([]byte("before"), message), got)
		buf := make([]byte, 0, 100)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			code, _ := convert(src)
			buf, _ = code(buf[:0])
		}))

		code, err = convert(&sample.Clock{Stamp: -1})
		require.NoError(t, err)
		_, err = code(nil)
		if c.format == encode.ROS1 {
			assert.ErrorIs(t, err, ros.ErrBeforeEpoch)
		} else {
			assert.NoError(t, err)
		}
	}
	pub.Type = "no_msgs/msg/Message"
	for _, format := range []encode.Binary{encode.CDR, encode.ROS1} {
		_, err := format.Publication(pub)
		assert.ErrorContains(t, err, "no_msgs/Message")
	}
}

func TestDecodeReadsValues(t *testing.T) {
	var d encode.BinaryDecoder
	var fix ros.NavSatFix
	require.NoError(t, d.Decode(cdrVector(t, "nav_sat_fix"), &fix))
	assert.Equal(t, ros.NavSatFix{
		Header:   ros.Header{Stamp: ros.Time{Sec: 1700000000, Nanosec: 123456789}, FrameID: "gnss"},
		Status:   ros.NavSatStatus{Status: -1, Service: 9},
		Latitude: 48.137154, Longitude: -11.576124, Altitude: 519.25,
		PositionCovariance:     [9]float64{0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25},
		PositionCovarianceType: 2,
	}, fix)

	var cloud ros.PointCloud2
	require.NoError(t, d.Decode(cdrVector(t, "point_cloud_xyzirt"), &cloud))
	assert.Equal(t, []ros.PointField{
		{Name: "x", Offset: 0, Datatype: 7, Count: 1}, {Name: "y", Offset: 4, Datatype: 7, Count: 1},
		{Name: "z", Offset: 8, Datatype: 7, Count: 1}, {Name: "intensity", Offset: 12, Datatype: 7, Count: 1},
		{Name: "ring", Offset: 16, Datatype: 4, Count: 1}, {Name: "time", Offset: 18, Datatype: 7, Count: 1},
	}, cloud.PointFields)
	assert.True(t, cloud.IsDense)
	assert.Len(t, cloud.Data.Data, 6*22)
	// A smaller message reuses the memory and leaves nothing of the larger.
	require.NoError(t, d.Decode(cdrVector(t, "point_cloud_empty"), &cloud))
	assert.Empty(t, cloud.Data.Data)
	assert.Len(t, cloud.PointFields, 10)
	assert.Equal(t, "x", cloud.PointFields[0].Name)
}

func TestDecodeTakesPaddingOfUpToThreeBytes(t *testing.T) {
	var d encode.BinaryDecoder
	clock := cdrVector(t, "clock")
	for padding := range 4 {
		assert.NoError(t, d.Decode(append(clock[:len(clock):len(clock)], make([]byte, padding)...), &ros.Clock{}))
	}
	err := d.Decode(append(clock[:len(clock):len(clock)], 0, 0, 0, 0), &ros.Clock{})
	assert.ErrorIs(t, err, encode.ErrMalformed)
}

func TestDecodeRefusesBrokenData(t *testing.T) {
	var d encode.BinaryDecoder
	for name, c := range map[string]struct {
		m    ros.Message
		data []byte
		want error
	}{
		"big endian":          {&ros.Clock{}, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2}, encode.ErrRepresentation},
		"version 2":           {&ros.Clock{}, []byte{0, 7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}, encode.ErrRepresentation},
		"string without NUL":  {&ros.Header{}, []byte{0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 'a', 'b'}, encode.ErrMalformed},
		"string of 4 GB":      {&ros.Header{}, []byte{0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 'a', 0}, encode.ErrTruncated},
		"4 G transforms":      {&ros.TFMessage{}, []byte{0, 1, 0, 0, 255, 255, 255, 255}, encode.ErrTruncated},
		"boolean of two":      {&ros.RegionOfInterest{}, append(make([]byte, 1), append([]byte{1, 0, 0}, append(make([]byte, 16), 2)...)...), encode.ErrMalformed},
		"no header":           {&ros.Clock{}, nil, encode.ErrTruncated},
		"sequence of floats":  {&ros.LaserScan{}, append(cdrVector(t, "laser_scan_plain")[:52:52], 255, 255, 255, 255), encode.ErrTruncated},
		"sequence of ints":    {&ros.CarlaLaneInvasionEvent{}, append(cdrVector(t, "lane_invasion")[:20:20], 255, 255, 255, 127), encode.ErrTruncated},
		"sequence of doubles": {&ros.CameraInfo{}, append(cdrVector(t, "camera_info_undistorted")[:36:36], 255, 255, 255, 255), encode.ErrTruncated},
	} {
		assert.ErrorIs(t, d.Decode(c.data, c.m), c.want, name)
	}
}

func TestMessageWithoutFieldsHasOneByte(t *testing.T) {
	var e encode.BinaryEncoder
	assert.Equal(t, []byte{0, 1, 0, 0, 0}, e.Append(nil, &ros.EmptyRequest{}))
	var d encode.BinaryDecoder
	assert.NoError(t, d.Decode([]byte{0, 1, 0, 0, 0, 0, 0, 0}, &ros.EmptyRequest{}))
	assert.ErrorIs(t, d.Decode([]byte{0, 1, 0, 0}, &ros.EmptyRequest{}), encode.ErrTruncated)
}

// TestValuesOfVectors: values that vectors.py gave fields; those of JSON compare all others.
func TestValuesOfVectors(t *testing.T) {
	d := encode.ROS1.Decoder()
	data := readVector(t, "ros1/range.bin")
	var m ros.Range
	require.NoError(t, d.Decode(data, &m))
	assert.Equal(t, "text 4: Straße \"道路\"\\\n\x01", m.Header.FrameID)
	assert.Equal(t, ros.Time{Sec: 1700000003, Nanosec: 999999996}, m.Header.Stamp)
	assert.Equal(t, []float32{-1.25, float32(math.Inf(1)), -1, -0.875}, []float32{m.FieldOfView, m.MinRange, m.MaxRange, m.Range})
}

func TestTimesThatROS1HasNot(t *testing.T) {
	e := encode.ROS1.Encoder()
	data := e.Append(nil, &ros.Clock{Clock: ros.Time{Sec: -1, Nanosec: 5}})
	assert.ErrorIs(t, e.Err(), ros.ErrBeforeEpoch)
	assert.Equal(t, make([]byte, 8), data)
	e.Append(nil, &ros.Clock{Clock: ros.Time{Sec: 1}})
	assert.NoError(t, e.Err())

	d := encode.ROS1.Decoder()
	assert.ErrorIs(t, d.Decode([]byte{0, 0, 0, 0x80, 0, 0, 0, 0}, &ros.Clock{}), encode.ErrMalformed, "after 2038")
}

func TestDecodeTakesLittleMemory(t *testing.T) {
	// 2^16 transforms of a byte each, as there could be, would take 8 MB.
	data := append([]byte{0, 0, 1, 0}, make([]byte, 1<<16)...)
	d := encode.ROS1.Decoder()
	var m ros.TFMessage
	assert.ErrorIs(t, d.Decode(data, &m), encode.ErrTruncated)
	assert.Less(t, len(m.Transforms), 1000)
	assert.ErrorIs(t, d.Decode([]byte{255, 255, 255, 255, 0}, &ros.TFMessage{}), encode.ErrTruncated)
}

func TestSeqIsNotWritten(t *testing.T) {
	e := encode.LGSVL.Encoder()
	assert.Equal(t, e.Append(nil, &ros.Header{}), e.Append(nil, &ros.Header{Seq: 7}))
}

func TestFixedArraysHaveTheirSize(t *testing.T) {
	data := readVector(t, "lgsvlwire/camera_info.bin")
	at := len(data) - 25 - 12*8 - 4 // the count of p
	require.Equal(t, byte(12), data[at])
	data[at] = 11
	d := encode.LGSVL.Decoder()
	assert.ErrorIs(t, d.Decode(data, &ros.CameraInfo{}), encode.ErrMalformed)
}

// cdrTypes has the message type of each vector in CDR.
var cdrTypes = map[string]func() ros.Message{
	"camera_info":                message[ros.CameraInfo],
	"camera_info_undistorted":    message[ros.CameraInfo],
	"clock":                      message[ros.Clock],
	"clock_before_epoch":         message[ros.Clock],
	"compressed_image":           message[ros.CompressedImage],
	"image_32fc1":                message[ros.Image],
	"image_rgb8":                 message[ros.Image],
	"imu":                        message[ros.Imu],
	"nav_sat_fix":                message[ros.NavSatFix],
	"odometry":                   message[ros.Odometry],
	"point_cloud_carla":          message[ros.PointCloud2],
	"point_cloud_carla_semantic": message[ros.PointCloud2],
	"point_cloud_svl":            message[ros.PointCloud2],
	"point_cloud_svl_unit":       message[ros.PointCloud2],
	"point_cloud_empty":          message[ros.PointCloud2],
	"point_cloud_organized":      message[ros.PointCloud2],
	"point_cloud_xyzi":           message[ros.PointCloud2],
	"point_cloud_xyzircaedt":     message[ros.PointCloud2],
	"point_cloud_xyzirt":         message[ros.PointCloud2],
	"can_bus":                    message[ros.CanBusData],
	"collision":                  message[ros.CarlaCollisionEvent],
	"detections_2d":              message[ros.Detection2DArray],
	"detections_3d":              message[ros.Detection3DArray],
	"dvs_events":                 message[ros.PointCloud2],
	"gps_odometry":               message[ros.Odometry],
	"kinds":                      message[bridgetest.Kinds],
	"lane_invasion":              message[ros.CarlaLaneInvasionEvent],
	"laser_scan":                 message[ros.LaserScan],
	"laser_scan_plain":           message[ros.LaserScan],
	"lgsvl_detections_2d":        message[ros.LgsvlDetection2DArray],
	"lgsvl_detections_3d":        message[ros.LgsvlDetection3DArray],
	"radar":                      message[ros.PointCloud2],
	"radar_objects":              message[ros.DetectedRadarObjectArray],
	"range":                      message[ros.Range],
	"signals":                    message[ros.SignalArray],
	"signals_none":               message[ros.SignalArray],
	"speed":                      message[ros.Float32],
	"vehicle_odometry":           message[ros.VehicleOdometry],
	"tf":                         message[ros.TFMessage],
	"tf_empty":                   message[ros.TFMessage],
}

func message[M any, P interface {
	*M
	ros.Message
}]() ros.Message {
	return P(new(M))
}

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

// lgsvlValues are the values that vectors.py packed for LGSVL.
var lgsvlValues = map[string]ros.Message{
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
