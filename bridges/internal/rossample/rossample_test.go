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
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// The values here are those of testdata/wire/cdr/generate/vectors.c.

const stamp = 1700000000_123456789

func header(frame string) sample.Header { return sample.Header{Stamp: stamp, FrameID: frame, Seq: 7} }

// ramp sets v to first, first + 0.125, first + 0.25, ...
func ramp(v []float64, first float64) {
	for i := range v {
		v[i] = first + 0.125*float64(i)
	}
}

func quat(x, y, z, w float64) mgl64.Quat { return mgl64.Quat{W: w, V: mgl64.Vec3{x, y, z}} }

func imageRGB8() *sample.Image {
	m := &sample.Image{Header: header("camera_front_optical"), Width: 3, Height: 2, Step: 9, Encoding: sample.EncodingRGB8}
	for i := range 18 {
		m.Data = append(m.Data, byte(i*7+1))
	}
	return m
}

func imageDepth() *sample.Image {
	return &sample.Image{
		Header: header("d"), Width: 2, Height: 2, Step: 8, Encoding: sample.Encoding32FC1,
		Data: []byte{0, 0, 0xc0, 0x3f, 0, 0, 0x10, 0x40, 0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x7f},
	}
}

func cameraInfo() *sample.CameraInfo {
	m := &sample.CameraInfo{
		Header: header("camera_front_optical"), Width: 640, Height: 480,
		DistortionModel: "plumb_bob", D: make([]float64, 5),
	}
	ramp(m.D, -0.5)
	ramp(m.K[:], 500)
	ramp(m.R[:], 1)
	ramp(m.P[:], 600)
	return m
}

func undistorted() *sample.CameraInfo {
	m := cameraInfo()
	m.FrameID, m.DistortionModel, m.D = "", "", nil
	return m
}

func imu() *sample.Imu {
	m := &sample.Imu{
		Header: header("imu_link"), Orientation: quat(0.1, -0.2, 0.3, 0.9),
		AngularVelocity: mgl64.Vec3{0.01, -0.02, 0.03}, LinearAcceleration: mgl64.Vec3{0.5, -0.25, 9.80665},
	}
	ramp(m.OrientationCovariance[:], -1)
	ramp(m.AngularVelocityCovariance[:], 2)
	ramp(m.LinearAccelerationCovariance[:], 4)
	return m
}

func gnssFix() *sample.GnssFix {
	m := &sample.GnssFix{
		Header: header("gnss"), Status: -1, Service: 9,
		Latitude: 48.137154, Longitude: -11.576124, Altitude: 519.25, PositionCovarianceType: 2,
	}
	ramp(m.PositionCovariance[:], 0.25)
	return m
}

func odometry() *sample.Odometry {
	m := &sample.Odometry{
		Header: header("odom"), ChildFrameID: "base_link",
		BodyPose: spatial.Pose{Position: mgl64.Vec3{1, -2, 3}, Orientation: quat(0.5, -0.5, 0.5, -0.5)},
		Twist:    spatial.Twist{Linear: mgl64.Vec3{10, -11, 12}, Angular: mgl64.Vec3{0.1, -0.2, 0.3}},
	}
	ramp(m.PoseCovariance[:], 100)
	ramp(m.TwistCovariance[:], 200)
	return m
}

func transforms() *sample.Transforms {
	m := &sample.Transforms{Stamp: 1700000001e9, Transforms: []sample.Transform{
		{Header: header("map"), ChildFrameID: "base_link",
			Relative: spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.QuatIdent()}},
		{Header: header("base_link"), ChildFrameID: "lidar",
			Relative: spatial.Pose{Position: mgl64.Vec3{-1.5, 0.25, 1.75}, Orientation: quat(0.5, 0.5, -0.5, 0.5)}},
	}}
	m.Transforms[1].Stamp = 1700000001e9
	return m
}

func cloud(layout sample.PointLayout) *sample.PointCloud {
	m := &sample.PointCloud{Header: header("lidar_top"), Layout: layout, Rings: 2, Columns: 3}
	for i, intensity := range []float32{12.4, 99.5, 254.75, 0, 300, -3} {
		f := float32(i)
		m.Points = append(m.Points, sample.Point{
			X: 1.5 + f, Y: -2.25 * f, Z: 0.125*f - 1, Intensity: intensity,
			Azimuth: 0.1 * f, Elevation: -0.05 * f, Distance: 10 + f,
			TimeNs: uint32(100000007 * i), Ring: uint16(300*i + 5), Return: uint8(i % 3),
			Tag: 9, Instance: 99, CosIncidence: 0.5, Ray: uint32(i),
		})
	}
	return m
}

// unitCloud is SVL's with intensities of 0 to 1.
func unitCloud() *sample.PointCloud {
	m := cloud(sample.LayoutSVL)
	m.UnitIntensity = true
	for i, intensity := range []float32{0, 0.5, 0.999, 1, 0.25, -1} {
		m.Points[i].Intensity = intensity
	}
	return m
}

func emptyCloud() *sample.PointCloud {
	m := cloud("")
	m.Points = nil
	return m
}

func organizedCloud() *sample.PointCloud {
	m := cloud("")
	m.Organized = true
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for i := range m.Points {
		p := &m.Points[i]
		laser, firing := i%2, i/2
		p.Ring = uint16(1 - laser)
		if firing == 1 {
			p.X, p.Y, p.Z, p.Distance = nan, nan, nan, inf
		}
		if firing == 2 && laser == 1 {
			p.X, p.Y, p.Z, p.Distance = nan, nan, nan, -inf
		}
	}
	return m
}

// encode converts a sample and encodes the message.
func encoded[M any, P interface {
	*M
	ros.Message
}, T any](convert func(P, T) error, src T) func() ([]byte, error) {
	return func() ([]byte, error) {
		dst := P(new(M))
		if err := convert(dst, src); err != nil {
			return nil, err
		}
		var e encode.BinaryEncoder
		return e.Append(nil, dst), nil
	}
}

// mirrored is encoded for a sample whose fields are those of its message.
func mirrored[T simtime.Stamped](src T) func() ([]byte, error) {
	return func() ([]byte, error) {
		dst, err := ros.PublishMirror[T]().Converter()(src)
		if err != nil {
			return nil, err
		}
		return encode.CDR.Encoder().Append(nil, dst), nil
	}
}

func TestSamplesEncodeToTheVectors(t *testing.T) {
	for name, encoded := range map[string]func() ([]byte, error){
		"clock":                      encoded(rossample.Clock, &sample.Clock{Stamp: stamp}),
		"clock_before_epoch":         encoded(rossample.Clock, &sample.Clock{Stamp: -1}),
		"image_rgb8":                 encoded(rossample.Image, imageRGB8()),
		"image_32fc1":                encoded(rossample.Image, imageDepth()),
		"compressed_image":           mirrored(&sample.CompressedImage{Header: header("cam"), Format: "png", Data: []byte("\x89PNG\r")}),
		"camera_info":                encoded(rossample.CameraInfo, cameraInfo()),
		"camera_info_undistorted":    encoded(rossample.CameraInfo, undistorted()),
		"imu":                        mirrored(imu()),
		"nav_sat_fix":                encoded(rossample.NavSatFix, gnssFix()),
		"odometry":                   encoded(rossample.Odometry, odometry()),
		"tf":                         encoded(rossample.TFMessage, transforms()),
		"tf_empty":                   encoded(rossample.TFMessage, &sample.Transforms{}),
		"point_cloud_xyzircaedt":     encoded(rossample.PointCloud2, cloud(sample.LayoutXYZIRCAEDT)),
		"point_cloud_empty":          encoded(rossample.PointCloud2, emptyCloud()),
		"point_cloud_organized":      encoded(rossample.PointCloud2, organizedCloud()),
		"point_cloud_xyzirt":         encoded(rossample.PointCloud2, cloud(sample.LayoutXYZIRT)),
		"point_cloud_xyzi":           encoded(rossample.PointCloud2, cloud(sample.LayoutXYZI)),
		"point_cloud_svl":            encoded(rossample.PointCloud2, cloud(sample.LayoutSVL)),
		"point_cloud_svl_unit":       encoded(rossample.PointCloud2, unitCloud()),
		"point_cloud_carla":          encoded(rossample.PointCloud2, cloud(sample.LayoutCARLA)),
		"point_cloud_carla_semantic": encoded(rossample.PointCloud2, cloud(sample.LayoutCARLASemantic)),
	} {
		want, err := os.ReadFile(filepath.Join("../../../testdata/wire/cdr", name+".cdr"))
		require.NoError(t, err)
		got, err := encoded()
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

// xByRow reads the x of every point of an encoded organized cloud, by rows.
func xByRow(t *testing.T, m *ros.PointCloud2) [][]float32 {
	t.Helper()
	data := make([]byte, m.Data.Len())
	m.Data.Put(data)
	rows := make([][]float32, m.Height)
	for r := range rows {
		for c := range int(m.Width) {
			at := r*int(m.RowStep) + c*int(m.PointStep)
			bits := uint32(data[at]) | uint32(data[at+1])<<8 | uint32(data[at+2])<<16 | uint32(data[at+3])<<24
			rows[r] = append(rows[r], math.Float32frombits(bits))
		}
	}
	return rows
}

func TestOrganizedRowsAreRings(t *testing.T) {
	// Three lasers, two firings; x is laser + 10 * firing.
	build := func(rings ...uint16) *sample.PointCloud {
		m := &sample.PointCloud{Organized: true, Rings: 3, Columns: 2, Layout: sample.LayoutXYZI}
		for firing := range 2 {
			for laser := range 3 {
				m.Points = append(m.Points, sample.Point{X: float32(laser + 10*firing), Ring: rings[laser]})
			}
		}
		return m
	}
	for name, c := range map[string]struct {
		rings []uint16
		want  [][]float32
	}{
		"interleaved":              {[]uint16{0, 2, 1}, [][]float32{{0, 10}, {2, 12}, {1, 11}}},
		"a ring twice":             {[]uint16{1, 1, 0}, [][]float32{{0, 10}, {1, 11}, {2, 12}}},
		"numbered from one":        {[]uint16{1, 2, 3}, [][]float32{{0, 10}, {1, 11}, {2, 12}}},
		"without numbers":          {[]uint16{0, 0, 0}, [][]float32{{0, 10}, {1, 11}, {2, 12}}},
		"from the highest to zero": {[]uint16{2, 1, 0}, [][]float32{{2, 12}, {1, 11}, {0, 10}}},
	} {
		var m ros.PointCloud2
		require.NoError(t, rossample.PointCloud2(&m, build(c.rings...)))
		assert.Equal(t, c.want, xByRow(t, &m), name)
		assert.False(t, m.IsDense)
	}
}

func TestOrganizedCloudOfManyFirings(t *testing.T) {
	m := &sample.PointCloud{Organized: true, Rings: 5, Columns: 37, Layout: sample.LayoutXYZI}
	want := make([][]float32, m.Rings)
	for firing := range m.Columns {
		for laser := range m.Rings {
			ring := m.Rings - 1 - laser
			m.Points = append(m.Points, sample.Point{X: float32(100*ring + firing), Ring: uint16(ring)})
			want[laser] = append(want[laser], float32(100*laser+firing))
		}
	}
	var dst ros.PointCloud2
	require.NoError(t, rossample.PointCloud2(&dst, m))
	assert.Equal(t, want, xByRow(t, &dst))
}

func TestMessageIsReusedBetweenClouds(t *testing.T) {
	var m, fresh ros.PointCloud2
	require.NoError(t, rossample.PointCloud2(&m, organizedCloud()))
	require.NoError(t, rossample.PointCloud2(&m, cloud(sample.LayoutXYZI)))
	require.NoError(t, rossample.PointCloud2(&fresh, cloud(sample.LayoutXYZI)))
	var e encode.BinaryEncoder
	assert.Equal(t, e.Append(nil, &fresh), e.Append(nil, &m))
}

func TestConversionLeavesTheSampleAlone(t *testing.T) { // law S4
	for _, src := range []*sample.PointCloud{cloud(""), organizedCloud()} {
		var before sample.PointCloud
		sample.Copy(&before, src)
		_, err := encoded(rossample.PointCloud2, src)()
		require.NoError(t, err)
		for i := range src.Points {
			// NaN isn't equal to itself: compare the printed values.
			assert.Equal(t, before.Points[i].Ring, src.Points[i].Ring)
			assert.Equal(t, math.Float32bits(before.Points[i].X), math.Float32bits(src.Points[i].X))
		}
	}
}

func TestBadSamplesAreErrors(t *testing.T) {
	short := imageRGB8()
	short.Data = short.Data[1:]
	ragged := organizedCloud()
	ragged.Points = ragged.Points[1:]
	shapeless := organizedCloud()
	shapeless.Points, shapeless.Rings, shapeless.Columns = nil, 0, 0
	late := &sample.Clock{Stamp: (1 << 31) * 1e9}
	lateTransform := transforms()
	lateTransform.Transforms[1].Stamp = math.MinInt64
	for name, c := range map[string]struct {
		encode func() ([]byte, error)
		want   error
	}{
		"image a byte short":       {encoded(rossample.Image, short), rossample.ErrSize},
		"organized cloud short":    {encoded(rossample.PointCloud2, ragged), rossample.ErrSize},
		"organized without shape":  {encoded(rossample.PointCloud2, shapeless), rossample.ErrSize},
		"layout":                   {encoded(rossample.PointCloud2, cloud("xyzrgb")), rossample.ErrLayout},
		"stamp after 2038":         {encoded(rossample.Clock, late), ros.ErrStampRange},
		"transform's stamp before": {encoded(rossample.TFMessage, lateTransform), ros.ErrStampRange},
	} {
		_, err := c.encode()
		assert.ErrorIs(t, err, c.want, name)
	}
}

func TestIntensityOfNaNIsZero(t *testing.T) {
	src := cloud(sample.LayoutXYZIRCAEDT)
	src.Points = src.Points[:1]
	src.Points[0].Intensity = float32(math.NaN())
	var m ros.PointCloud2
	require.NoError(t, rossample.PointCloud2(&m, src))
	data := make([]byte, m.Data.Len())
	m.Data.Put(data)
	assert.Zero(t, data[12])
}

// BenchmarkPointCloud2 encodes a scan of 128 rings and 1800 firings.
func BenchmarkPointCloud2(b *testing.B) {
	src := bigCloud()
	for _, layout := range layouts {
		for _, organized := range []bool{false, true} {
			name := string(layout)
			if organized {
				name += "_organized"
			}
			b.Run(name, func(b *testing.B) {
				src.Layout, src.Organized = layout, organized
				m, e := new(ros.PointCloud2), encode.CDR.Encoder()
				var buf []byte
				b.ReportAllocs()
				for b.Loop() {
					if err := rossample.PointCloud2(m, src); err != nil {
						b.Fatal(err)
					}
					buf = e.Append(buf[:0], m)
				}
				b.SetBytes(int64(len(buf)))
			})
		}
	}
}
