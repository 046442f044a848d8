package foxglovemsg_test

import (
	"encoding/binary"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	pb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// header has a stamp whose seconds and nanoseconds both count.
var header = sample.Header{Stamp: 12_345_678_901, FrameID: "front", Pose: spatial.Identity()}

var stamp = timestamppb.New(time.Unix(12, 345_678_901))

// encoded converts a sample and decodes the message with the generated code.
func encoded(t *testing.T, src any) proto.Message {
	t.Helper()
	convert, empty := foxglovemsg.NewConverter(src)
	m, err := convert(src)
	require.NoError(t, err)
	data, err := m.Append([]byte("before"))
	require.NoError(t, err)
	require.Equal(t, "before", string(data[:6]))
	data = data[6:]
	require.Len(t, data, m.Size())
	got := empty.ProtoReflect().Type().New().Interface()
	require.NoError(t, proto.Unmarshal(data, got))
	require.Equal(t, proto.Size(got), len(data), "no field is written twice, or when it is empty")
	return got
}

func equal(t *testing.T, want, got proto.Message) {
	t.Helper()
	if !proto.Equal(want, got) {
		assert.Equal(t, prototext.Format(want), prototext.Format(got))
		t.Fail()
	}
}

func identity() *pb.Pose { return &pb.Pose{Position: &pb.Vector3{}, Orientation: &pb.Quaternion{W: 1}} }

func cloud(layout sample.PointLayout) *sample.PointCloud {
	m := &sample.PointCloud{Header: header, Rings: 4, Columns: 64, Layout: layout}
	for i := range 256 {
		f := float32(i)
		m.Points = append(m.Points, sample.Point{
			X: f, Y: -f, Z: f / 8, Intensity: f / 3, Distance: 2 * f, Azimuth: f / 100, Elevation: -f / 200,
			TimeNs: uint32(i) * 1000, Ring: uint16(i % 4), Return: 1, Tag: 14, Instance: uint32(i), CosIncidence: 0.5, Ray: uint32(i),
		})
	}
	return m
}

// The points are those of the ROS message, whose bytes other tests hold against other
// software; the fields have Foxglove's numbers. In memory order, and by proto.Marshal.
func TestPointClouds(t *testing.T) {
	types := map[uint8]pb.PackedElementField_NumericType{1: 2, 2: 1, 3: 4, 4: 3, 5: 6, 6: 5, 7: 7, 8: 8}
	for _, layout := range []sample.PointLayout{
		"", sample.LayoutXYZIRCAEDT, sample.LayoutXYZIRT, sample.LayoutSVL, sample.LayoutCARLA, sample.LayoutCARLASemantic, sample.LayoutXYZI,
	} {
		for _, organized := range []bool{false, true} {
			src := cloud(layout)
			src.Organized = organized
			var cloud2 ros.PointCloud2
			require.NoError(t, rossample.PointCloud2(&cloud2, src))
			want := &pb.PointCloud{Timestamp: stamp, FrameId: "front", Pose: identity(), PointStride: cloud2.PointStep, Data: make([]byte, cloud2.Data.Len())}
			cloud2.Data.Put(want.Data)
			for _, f := range cloud2.PointFields {
				want.Fields = append(want.Fields, &pb.PackedElementField{Name: f.Name, Offset: f.Offset, Type: types[f.Datatype]})
			}
			equal(t, want, encoded(t, src))
			convert, _ := foxglovemsg.NewConverter(src)
			m, err := convert(src)
			require.NoError(t, err)
			ours, err := m.Append(nil)
			require.NoError(t, err)
			theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
			require.NoError(t, err)
			assert.Equal(t, theirs, ours, "%s: byte for byte", layout)
		}
	}
}

// A cloud is read as Foxglove reads it: by stride, offset and type.
func TestPointsAreWhereTheFieldsSay(t *testing.T) {
	src := cloud(sample.LayoutXYZIRCAEDT)
	got := encoded(t, src).(*pb.PointCloud)
	offsets := map[string]*pb.PackedElementField{}
	for _, f := range got.Fields {
		offsets[f.Name] = f
	}
	at := func(i int, name string) []byte { return got.Data[i*int(got.PointStride)+int(offsets[name].Offset):] }
	assert.Equal(t, pb.PackedElementField_FLOAT32, offsets["y"].Type)
	assert.Equal(t, pb.PackedElementField_UINT16, offsets["channel"].Type)
	assert.Equal(t, pb.PackedElementField_UINT32, offsets["time_stamp"].Type)
	for i, p := range src.Points {
		assert.Equal(t, p.Y, math.Float32frombits(binary.LittleEndian.Uint32(at(i, "y"))))
		assert.Equal(t, p.Ring, binary.LittleEndian.Uint16(at(i, "channel")))
		assert.Equal(t, p.TimeNs, binary.LittleEndian.Uint32(at(i, "time_stamp")))
	}
}

func TestPictures(t *testing.T) {
	for encoding, bytes := range map[string]int{
		sample.EncodingRGB8: 3, sample.EncodingBGR8: 3, sample.EncodingBGRA8: 4, sample.EncodingMono8: 1, sample.EncodingMono16: 2,
		sample.Encoding16UC1: 2, sample.Encoding32SC1: 4, sample.Encoding32FC1: 4, sample.Encoding32FC2: 8, sample.Encoding32FC3: 12,
	} {
		src := &sample.Image{Header: header, Width: 5, Height: 3, Step: 5 * bytes, Encoding: encoding, Data: make([]byte, 15*bytes)}
		for i := range src.Data {
			src.Data[i] = byte(i)
		}
		equal(t, &pb.RawImage{
			Timestamp: stamp, FrameId: "front", Width: 5, Height: 3, Encoding: encoding, Step: uint32(5 * bytes), Data: src.Data,
		}, encoded(t, src))
	}
	equal(t, &pb.CompressedImage{Timestamp: stamp, FrameId: "front", Format: "jpeg", Data: []byte{1, 2, 3}},
		encoded(t, &sample.CompressedImage{Header: header, Format: "jpeg", Data: []byte{1, 2, 3}}))
}

func TestBadSizes(t *testing.T) {
	convert, _ := foxglovemsg.NewConverter(&sample.Image{})
	_, err := convert(&sample.Image{Width: 2, Height: 2, Step: 2, Data: make([]byte, 3)})
	assert.ErrorIs(t, err, rossample.ErrSize)
	convert, _ = foxglovemsg.NewConverter(&sample.PointCloud{})
	_, err = convert(&sample.PointCloud{Layout: "none"})
	assert.ErrorIs(t, err, rossample.ErrLayout)
}

// Times before the epoch have whole seconds below and nanoseconds from 0 on, as
// timestamp.proto has it.
func TestTimes(t *testing.T) {
	for ns, want := range map[int64]*timestamppb.Timestamp{
		0: {}, 999_999_999: {Nanos: 999_999_999}, 1_000_000_000: {Seconds: 1}, -1: {Seconds: -1, Nanos: 999_999_999},
		-2_500_000_000: {Seconds: -3, Nanos: 500_000_000}, math.MaxInt64: {Seconds: 9_223_372_036, Nanos: 854_775_807},
	} {
		equal(t, &pb.CompressedImage{Timestamp: want}, encoded(t, &sample.CompressedImage{Header: sample.Header{Stamp: simtime.Stamp(ns)}}).(*pb.CompressedImage))
		fix := encoded(t, &sample.GnssFix{Header: sample.Header{Stamp: simtime.Stamp(ns)}}).(*pb.LocationFix)
		equal(t, want, fix.Timestamp)
	}
}

func TestCalibration(t *testing.T) {
	src := &sample.CameraInfo{
		Header: header, Width: 640, Height: 480, DistortionModel: "plumb_bob", D: []float64{0.1, 0.2, 0.3, 0.4, 0.5},
		K: [9]float64{500, 0, 319.5, 0, 500, 239.5, 0, 0, 1}, R: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, P: [12]float64{500, 0, 319.5, 0, 0, 500, 239.5, 0, 0, 0, 1},
	}
	want := &pb.CameraCalibration{
		Timestamp: stamp, FrameId: "front", Width: 640, Height: 480, DistortionModel: "plumb_bob", D: src.D, K: src.K[:], R: src.R[:], P: src.P[:],
	}
	equal(t, want, encoded(t, src))
	src.DistortionModel, want.DistortionModel = "equidistant", "kannala_brandt"
	equal(t, want, encoded(t, src))
}

func TestMotion(t *testing.T) {
	q := mgl64.QuatRotate(math.Pi/2, mgl64.Vec3{0, 0, 1})
	pose := spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: q}
	orientation := &pb.Quaternion{Z: q.V[2], W: q.W}
	equal(t, &pb.FrameTransforms{Transforms: []*pb.FrameTransform{{
		Timestamp: stamp, ParentFrameId: "front", ChildFrameId: "lidar", Translation: &pb.Vector3{X: 1, Y: 2, Z: 3}, Rotation: orientation,
	}}}, encoded(t, &sample.Transforms{Stamp: 1, Transforms: []sample.Transform{{Header: header, ChildFrameID: "lidar", Relative: pose}}}))

	odometry := &sample.Odometry{Header: header, ChildFrameID: "base_link", BodyPose: pose,
		Twist: spatial.Twist{Linear: mgl64.Vec3{4, 5, 6}, Angular: mgl64.Vec3{7, 8, 9}}}
	odometry.PoseCovariance[7], odometry.TwistCovariance[35] = 0.5, 0.25
	equal(t, &pb.Odometry{
		Timestamp: stamp, FrameId: "front", BodyFrameId: "base_link", Pose: &pb.Pose{Position: &pb.Vector3{X: 1, Y: 2, Z: 3}, Orientation: orientation},
		LinearVelocity: &pb.Vector3{X: 4, Y: 5, Z: 6}, AngularVelocity: &pb.Vector3{X: 7, Y: 8, Z: 9},
		PoseCovariance: odometry.PoseCovariance[:], VelocityCovariance: odometry.TwistCovariance[:],
	}, encoded(t, odometry))
}

func TestPlacesOnTheEarth(t *testing.T) {
	fix := &sample.GnssFix{Header: header, Status: 2, Latitude: 49.01, Longitude: 8.43, Altitude: 116.5, PositionCovarianceType: 2}
	fix.PositionCovariance[4] = 0.04
	equal(t, &pb.LocationFix{
		Timestamp: stamp, FrameId: "front", Latitude: 49.01, Longitude: 8.43, Altitude: 116.5,
		PositionCovariance: fix.PositionCovariance[:], PositionCovarianceType: pb.LocationFix_DIAGONAL_KNOWN,
		Metadata: []*pb.KeyValuePair{{Key: "status", Value: "gbas_fix"}},
	}, encoded(t, fix))

	// A vehicle that faces north-east, a quarter turn less 45 degrees from east.
	heading := mgl64.QuatRotate(math.Pi/4, mgl64.Vec3{0, 0, 1})
	gps := encoded(t, &sample.GpsOdometry{Header: header, Latitude: 1, Longitude: 2, Altitude: 3, Orientation: heading, Velocity: mgl64.Vec3{3, 4, 0}}).(*pb.LocationFix)
	assert.InDelta(t, math.Pi/4, gps.GetHeading(), 1e-9, "clockwise from north")
	equal(t, &pb.Vector3{X: 3, Y: 4}, gps.Velocity)
	// In UTM's axes, whose north is 0.04 rad east of true north: grid east is as much south of east.
	grid := encoded(t, &sample.GpsOdometry{Orientation: mgl64.QuatIdent(), Velocity: mgl64.Vec3{10, 0, 0}, Convergence: 0.04}).(*pb.LocationFix)
	assert.InDelta(t, math.Pi/2+0.04, grid.GetHeading(), 1e-12)
	assert.InDelta(t, -10*math.Sin(0.04), grid.Velocity.Y, 1e-12)
	east := encoded(t, &sample.GpsOdometry{Orientation: mgl64.QuatIdent()}).(*pb.LocationFix)
	assert.InDelta(t, math.Pi/2, east.GetHeading(), 1e-9)
}

func TestLaserScans(t *testing.T) {
	inf := float32(math.Inf(1))
	equal(t, &pb.LaserScan{
		Timestamp: stamp, FrameId: "front", Pose: identity(), StartAngle: -0.5, EndAngle: 0.5,
		Ranges: []float64{1, math.Inf(1), 3}, Intensities: []float64{10, 0, 30},
	}, encoded(t, &sample.LaserScan{
		Header: header, AngleMin: -0.5, AngleMax: 0.5, AngleIncrement: 0.5, RangeMax: 30,
		Ranges: []float32{1, inf, 3}, Intensities: []float32{10, 0, 30},
	}))
}

func TestLogs(t *testing.T) {
	for level, want := range map[slog.Level]pb.Log_Level{
		slog.LevelDebug: pb.Log_DEBUG, slog.LevelInfo: pb.Log_INFO, slog.LevelWarn: pb.Log_WARNING, slog.LevelError: pb.Log_ERROR, slog.LevelError + 4: pb.Log_ERROR,
	} {
		equal(t, &pb.Log{Timestamp: stamp, Level: want, Message: "slow", Name: "raybridge", File: "a.go", Line: 7},
			encoded(t, &sample.Log{Stamp: header.Stamp, Level: level, Message: "slow", Name: "raybridge", File: "a.go", Line: 7}))
	}
	convert, _ := foxglovemsg.NewConverter(&sample.Log{})
	for _, line := range []int{-1, math.MaxUint32 + 1} {
		_, err := convert(&sample.Log{File: "a.go", Line: line})
		assert.ErrorContains(t, err, "of a.go is not a line")
	}
}
