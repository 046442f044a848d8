package cdr_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

const vectorDir = "../../../testdata/wire/cdr"

// vectors names the message type of each file in vectorDir.
var vectors = map[string]func() ros.Message{
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
	"kinds":                      message[rostest.Kinds],
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

func readVector(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join(vectorDir, name+".cdr"))
	require.NoError(t, err)
	return data
}

func TestVectorsSurviveDecodingAndEncoding(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectorDir, "*.cdr"))
	require.NoError(t, err)
	require.Len(t, files, len(vectors))
	for name, newMessage := range vectors {
		t.Run(name, func(t *testing.T) {
			data := readVector(t, name)
			m := newMessage()
			var d cdr.Decoder
			require.NoError(t, d.Decode(data, m))
			var e cdr.Encoder
			assert.Equal(t, data, e.Append(nil, m))
			// Alignment counts from the encapsulation header wherever it lies.
			prefix := []byte("odd")
			assert.Equal(t, append([]byte("odd"), data...), e.Append(prefix, m))
		})
	}
}

func TestDecodeReadsValues(t *testing.T) {
	var d cdr.Decoder
	var fix ros.NavSatFix
	require.NoError(t, d.Decode(readVector(t, "nav_sat_fix"), &fix))
	assert.Equal(t, ros.NavSatFix{
		Header:   ros.Header{Stamp: ros.Time{Sec: 1700000000, Nanosec: 123456789}, FrameID: "gnss"},
		Status:   ros.NavSatStatus{Status: -1, Service: 9},
		Latitude: 48.137154, Longitude: -11.576124, Altitude: 519.25,
		PositionCovariance:     [9]float64{0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25},
		PositionCovarianceType: 2,
	}, fix)

	var cloud ros.PointCloud2
	require.NoError(t, d.Decode(readVector(t, "point_cloud_xyzirt"), &cloud))
	assert.Equal(t, []ros.PointField{
		{Name: "x", Offset: 0, Datatype: 7, Count: 1}, {Name: "y", Offset: 4, Datatype: 7, Count: 1},
		{Name: "z", Offset: 8, Datatype: 7, Count: 1}, {Name: "intensity", Offset: 12, Datatype: 7, Count: 1},
		{Name: "ring", Offset: 16, Datatype: 4, Count: 1}, {Name: "time", Offset: 18, Datatype: 7, Count: 1},
	}, cloud.PointFields)
	assert.True(t, cloud.IsDense)
	assert.Len(t, cloud.Data.Data, 6*22)
	// A smaller message reuses the memory and leaves nothing of the larger.
	require.NoError(t, d.Decode(readVector(t, "point_cloud_empty"), &cloud))
	assert.Empty(t, cloud.Data.Data)
	assert.Len(t, cloud.PointFields, 10)
	assert.Equal(t, "x", cloud.PointFields[0].Name)
}

func TestDecodeTakesPaddingOfUpToThreeBytes(t *testing.T) {
	var d cdr.Decoder
	clock := readVector(t, "clock")
	for padding := range 4 {
		assert.NoError(t, d.Decode(append(clock[:len(clock):len(clock)], make([]byte, padding)...), &ros.Clock{}))
	}
	err := d.Decode(append(clock[:len(clock):len(clock)], 0, 0, 0, 0), &ros.Clock{})
	assert.ErrorIs(t, err, cdr.ErrMalformed)
}

func TestDecodeRefusesBrokenData(t *testing.T) {
	var d cdr.Decoder
	for name, newMessage := range vectors {
		data := readVector(t, name)
		for n := range len(data) {
			err := d.Decode(data[:n], newMessage())
			require.ErrorIs(t, err, cdr.ErrTruncated, "%s cut to %d bytes", name, n)
		}
	}
	for name, c := range map[string]struct {
		m    ros.Message
		data []byte
		want error
	}{
		"big endian":          {&ros.Clock{}, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2}, cdr.ErrRepresentation},
		"version 2":           {&ros.Clock{}, []byte{0, 7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}, cdr.ErrRepresentation},
		"string without NUL":  {&ros.Header{}, []byte{0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 'a', 'b'}, cdr.ErrMalformed},
		"string of 4 GB":      {&ros.Header{}, []byte{0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 'a', 0}, cdr.ErrTruncated},
		"4 G transforms":      {&ros.TFMessage{}, []byte{0, 1, 0, 0, 255, 255, 255, 255}, cdr.ErrTruncated},
		"boolean of two":      {&ros.RegionOfInterest{}, append(make([]byte, 1), append([]byte{1, 0, 0}, append(make([]byte, 16), 2)...)...), cdr.ErrMalformed},
		"no header":           {&ros.Clock{}, nil, cdr.ErrTruncated},
		"sequence of floats":  {&ros.LaserScan{}, append(readVector(t, "laser_scan_plain")[:52:52], 255, 255, 255, 255), cdr.ErrTruncated},
		"sequence of ints":    {&ros.CarlaLaneInvasionEvent{}, append(readVector(t, "lane_invasion")[:20:20], 255, 255, 255, 127), cdr.ErrTruncated},
		"sequence of doubles": {&ros.CameraInfo{}, append(readVector(t, "camera_info_undistorted")[:36:36], 255, 255, 255, 255), cdr.ErrTruncated},
	} {
		assert.ErrorIs(t, d.Decode(c.data, c.m), c.want, name)
	}
}

func TestMessageWithoutFieldsHasOneByte(t *testing.T) {
	var e cdr.Encoder
	assert.Equal(t, []byte{0, 1, 0, 0, 0}, e.Append(nil, &ros.EmptyRequest{}))
	var d cdr.Decoder
	assert.NoError(t, d.Decode([]byte{0, 1, 0, 0, 0, 0, 0, 0}, &ros.EmptyRequest{}))
	assert.ErrorIs(t, d.Decode([]byte{0, 1, 0, 0}, &ros.EmptyRequest{}), cdr.ErrTruncated)
}

func TestRoundTripOfEveryMessage(t *testing.T) {
	for _, m := range rostest.Every() {
		for seed := range uint64(30) {
			rostest.Fill(m, seed)
			var e cdr.Encoder
			data := e.Append(nil, m)
			again := rostest.New(m)
			var d cdr.Decoder
			require.NoError(t, d.Decode(data, again), m.TypeName())
			require.Equal(t, data, e.Append(nil, again), m.TypeName())
		}
	}
}

func FuzzDecode(f *testing.F) {
	names := make([]string, 0, len(vectors))
	for name := range vectors {
		names = append(names, name)
		f.Add(name, readVector(f, name))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		newMessage, ok := vectors[name]
		if !ok {
			newMessage = vectors[names[len(data)%len(names)]]
		}
		var d cdr.Decoder
		m := newMessage()
		if d.Decode(data, m) != nil {
			return
		}
		// What was decoded encodes to data that decodes to the same bytes again.
		var e cdr.Encoder
		first := e.Append(nil, m)
		again := newMessage()
		require.NoError(t, d.Decode(first, again))
		require.Equal(t, first, e.Append(nil, again))
	})
}

func TestAppendIntoReusedBufferAllocatesNothing(t *testing.T) {
	for name, newMessage := range vectors {
		m := newMessage()
		var d cdr.Decoder
		require.NoError(t, d.Decode(readVector(t, name), m))
		e := new(cdr.Encoder)
		var buf []byte
		buf = e.Append(buf[:0], m)
		assert.Zero(t, testing.AllocsPerRun(20, func() { buf = e.Append(buf[:0], m) }), name)
	}
}

func BenchmarkAppendImu(b *testing.B) {
	m := new(ros.Imu)
	var d cdr.Decoder
	require.NoError(b, d.Decode(readVector(b, "imu"), m))
	e := new(cdr.Encoder)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Append(buf[:0], m)
	}
}
