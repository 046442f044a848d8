package rossample_test

import (
	"encoding/binary"
	"math"
	"reflect"
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
	"github.com/raybridge/raybridge/world"
)

func readHeader() sample.Header {
	return sample.Header{Stamp: 12_345_678_901, FrameID: "frame", Pose: spatial.Identity()}
}

// carried are samples of which the message carries everything that is set.
func carried() []simtime.Stamped {
	h := readHeader()
	pose := spatial.Pose{Position: mgl64.Vec3{1, -2, 3.5}, Orientation: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, -0.5, 0.5}}}
	twist := spatial.Twist{Linear: mgl64.Vec3{1, 2, 3}, Angular: mgl64.Vec3{-4, -5, -6}}
	return []simtime.Stamped{
		&sample.Clock{Stamp: math.MaxInt32*1e9 + 999_999_999},
		&sample.Image{Header: h, Width: 2, Height: 2, Step: 8, Encoding: sample.EncodingRGB8, Data: []byte("0123456789abcdef")},
		&sample.CompressedImage{Header: h, Format: "jpeg", Data: []byte{0xff, 0xd8}},
		&sample.CameraInfo{
			Header: h, Width: 640, Height: 480, DistortionModel: "plumb_bob", D: []float64{1, 2, 3, 4, 5},
			K: [9]float64{1, 2, 3}, R: [9]float64{4, 5}, P: [12]float64{6},
		},
		&sample.Imu{
			Header: h, Orientation: pose.Orientation, OrientationCovariance: [9]float64{-1},
			AngularVelocity: twist.Angular, AngularVelocityCovariance: [9]float64{1}, LinearAcceleration: twist.Linear,
			LinearAccelerationCovariance: [9]float64{2},
		},
		&sample.GnssFix{
			Header: h, Status: -1, Service: 15, Latitude: 49, Longitude: 8, Altitude: 116,
			PositionCovariance: [9]float64{1, 2}, PositionCovarianceType: 2,
		},
		&sample.Odometry{
			Header: h, ChildFrameID: "base_link", BodyPose: pose, PoseCovariance: [36]float64{1}, Twist: twist, TwistCovariance: [36]float64{35: 2},
		},
		&sample.Transforms{Stamp: h.Stamp, Transforms: []sample.Transform{
			{Header: sample.Header{Stamp: 5, FrameID: "map", Pose: spatial.Identity()}, ChildFrameID: "base_link", Relative: pose},
			{Header: h, ChildFrameID: "lidar", Relative: spatial.Identity()},
		}},
		&sample.LaserScan{
			Header: h, AngleMin: -1, AngleMax: 1, AngleIncrement: 1, TimeIncrement: 0.1, ScanTime: 0.5, RangeMin: 0.2, RangeMax: 30,
			Ranges: []float32{1, float32(math.Inf(1)), 3}, Intensities: []float32{4, 5, 6},
		},
		&sample.Range{Header: h, RadiationType: sample.RadiationInfrared, FieldOfView: 0.5, MinRange: 0.1, MaxRange: 4, Range: 2},
		&sample.Radar{Header: h, Detections: []sample.RadarDetection{{Velocity: -3, Azimuth: 0.25, Altitude: -0.5, Depth: 40}, {Depth: 1}}},
		&sample.RadarObjects{Header: h, Objects: []sample.RadarObject{
			{ID: 7, Position: mgl64.Vec3{10, 1, 0}, Velocity: mgl64.Vec3{-1, 0, 0}, Size: mgl64.Vec3{4, 2, 1.5}, Moving: true, New: true},
			{ID: 8, Position: mgl64.Vec3{20, 0, 0}},
		}},
		&sample.DvsEvents{Header: h, Events: []sample.DvsEvent{{X: 640, Y: 479, TimeNs: 12_345_600_001, Polarity: true}, {TimeNs: 5}}},
		&sample.Speed{MetresPerSecond: 13.5, Header: sample.Header{Pose: spatial.Identity()}},
		&sample.Comfort{
			Header: sample.Header{Pose: spatial.Identity()}, Velocity: mgl64.Vec3{8}, Acceleration: mgl64.Vec3{2}, Jerk: mgl64.Vec3{0.5},
			AngularVelocity: math.Pi, AngularAcceleration: math.Pi / 2, Roll: -math.Pi / 4, Slip: math.Pi / 2,
		},
		&sample.Destination{Header: h, Goal: spatial.FromRPY(mgl64.Vec3{3, -4, 0}, 0, 0, 90)},
		&sample.CanBus{
			Mode:   sample.ModeAutomatic,
			Header: h, Speed: 1, Throttle: 0.5, Braking: 0.25, Steering: -0.5, ParkingBrake: true, HighBeam: true, LowBeam: true,
			HazardLights: true, FogLights: true, LeftTurn: true, RightTurn: true, Wipers: true, Reverse: true, EngineOn: true,
			Gear: sample.GearReverse, EngineRPM: 800, Latitude: 49, Longitude: 8, Altitude: 116, Orientation: pose.Orientation, Velocity: twist.Linear,
		},
		&sample.VehicleOdometry{Header: h, Velocity: 2, FrontWheelAngle: 0.25, RearWheelAngle: -0.5},
		&sample.Detections2D{Header: h, Boxes: []sample.Box2D{{ID: 7, Label: "Sedan", Score: 0.5, CenterX: 3, CenterY: 4, Width: 5, Height: 6}}},
		&sample.Detections3D{Header: h, Boxes: []sample.Box3D{{ID: 7, Label: "Sedan", Score: 0.5, Pose: pose, Size: mgl64.Vec3{1, 2, 3}}}},
		&sample.Signals{Header: h, Signals: []sample.Signal{
			{ID: 3, Label: "green", State: world.SignalGreen, Score: 1, Pose: pose, Size: mgl64.Vec3{1, 2, 3}},
			{ID: 4, Label: "unknown", State: world.SignalUnknown, Score: 1, Pose: spatial.Identity()},
		}},
		&sample.Collision{Header: h, Other: 9, NormalImpulse: mgl64.Vec3{1, 2, 3}},
		&sample.LaneInvasion{Header: h, Marks: []sample.CrossedMark{{Type: sample.LaneMarkSolid}, {Type: sample.LaneMarkNone}}},
	}
}

// through writes a sample as its message, sends that through CDR, and reads it again.
func through(t *testing.T, pub ros.Publication, s simtime.Stamped) simtime.Stamped {
	t.Helper()
	message, err := pub.Converter()(s)
	require.NoError(t, err)
	data := encode.CDR.Encoder().Append(nil, message)
	for _, r := range rossample.Readings() {
		if r.Type == pub.Type {
			m := r.New()
			require.NoError(t, encode.CDR.Decoder().Decode(data, m))
			back, err := r.From(m)
			require.NoError(t, err)
			if r.Sample != nil {
				assert.Equal(t, r.Sample, reflect.TypeOf(back))
			}
			return back
		}
	}
	require.Fail(t, "no reading", pub.Type)
	return nil
}

func TestSamplesComeBack(t *testing.T) {
	byType := map[reflect.Type]ros.Publication{}
	for _, pub := range rossample.Standard() {
		byType[pub.Sample] = pub
	}
	for _, s := range carried() {
		pub, ok := byType[reflect.TypeOf(s)]
		require.True(t, ok, "%T", s)
		assert.Equal(t, s, through(t, pub, s))
		delete(byType, reflect.TypeOf(s))
	}
	delete(byType, reflect.TypeFor[*sample.PointCloud]())
	delete(byType, reflect.TypeFor[*sample.GpsOdometry]())
	assert.Empty(t, byType, "tested in tests of their own")
}

func TestEveryPublicationHasAReading(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rossample.Readings() {
		assert.False(t, known[r.Type], "%s is there twice", r.Type)
		known[r.Type] = true
		assert.Equal(t, r.Type, r.New().TypeName())
	}
	for _, pub := range append(rossample.Standard(), rossample.SVL()...) {
		assert.True(t, known[pub.Type], pub.Type)
	}
}

func TestBoxesAsSVLHasThemComeBack(t *testing.T) {
	twist := spatial.Twist{Linear: mgl64.Vec3{1, 2, 3}, Angular: mgl64.Vec3{4, 5, 6}}
	for _, s := range []simtime.Stamped{
		&sample.Detections2D{Header: readHeader(), Boxes: []sample.Box2D{{ID: 7, Label: "Sedan", Score: 0.5, CenterX: 3, Height: 6, Twist: twist}}},
		&sample.Detections3D{Header: readHeader(), Boxes: []sample.Box3D{{ID: 7, Label: "Sedan", Score: 0.5, Pose: spatial.Identity(), Twist: twist}}},
		&sample.Range{Header: readHeader(), Range: 2},
	} {
		for _, pub := range rossample.SVL() {
			if pub.Sample == reflect.TypeOf(s) {
				assert.Equal(t, s, through(t, pub, s))
			}
		}
	}
}

func TestGpsOdometryComesBackAsOdometry(t *testing.T) {
	for _, pub := range rossample.Standard() {
		if pub.Sample != reflect.TypeFor[*sample.GpsOdometry]() {
			continue
		}
		back := through(t, pub, &sample.GpsOdometry{Header: readHeader(), ChildFrameID: "base_link", Easting: 1, Northing: 2, Altitude: 3,
			Orientation: mgl64.QuatIdent(), ForwardSpeed: 4, AngularVelocity: mgl64.Vec3{0, 0, 5}})
		assert.Equal(t, &sample.Odometry{
			Header: readHeader(), ChildFrameID: "base_link",
			BodyPose: spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.QuatIdent()},
			Twist:    spatial.Twist{Linear: mgl64.Vec3{4, 0, 0}, Angular: mgl64.Vec3{0, 0, 5}},
			// Only the forward speed and the yaw rate are measured of the twist.
			PoseCovariance:  [36]float64{0: 1e-6, 7: 1e-6, 14: 1e-6, 21: 1e-6, 28: 1e-6, 35: 1e-6},
			TwistCovariance: [36]float64{0: 1e-6, 7: 1e6, 14: 1e6, 21: 1e6, 28: 1e6, 35: 1e-6},
		}, back)
	}
}

// scan is a cloud of two rings and three firings, whose derived fields are true.
func scan(layout sample.PointLayout) *sample.PointCloud {
	m := &sample.PointCloud{Header: readHeader(), Layout: layout, Rings: 2}
	for i := range 6 {
		p := sample.Point{X: float32(i + 1), Y: float32(-i), Z: 0.5, Intensity: float32(40 + i), Ring: uint16(i % 2), TimeNs: uint32(i) * 55_297, Ray: uint32(i), Return: 1}
		x, y, z := float64(p.X), float64(p.Y), float64(p.Z)
		p.Distance = float32(math.Sqrt(x*x + y*y + z*z))
		p.Azimuth, p.Elevation = float32(math.Atan2(y, x)), float32(math.Atan2(z, math.Hypot(x, y)))
		m.Points = append(m.Points, p)
	}
	return m
}

// TestCloudsComeBack: what a layout has comes back, and to equal bytes.
func TestCloudsComeBack(t *testing.T) {
	for layout, lose := range map[sample.PointLayout]func(m *sample.PointCloud){
		sample.LayoutXYZIRCAEDT: func(*sample.PointCloud) {},
		sample.LayoutXYZIRT: func(m *sample.PointCloud) {
			for i := range m.Points {
				m.Points[i].Return = 0
			}
		},
		sample.LayoutXYZI: func(m *sample.PointCloud) {
			m.Rings = 1
			for i := range m.Points {
				m.Points[i].Return, m.Points[i].Ring, m.Points[i].TimeNs = 0, 0, 0
			}
		},
		sample.LayoutSVL: func(m *sample.PointCloud) {
			m.Rings = 1
			for i := range m.Points {
				m.Points[i].Return, m.Points[i].Ring = 0, 0
			}
		},
		sample.LayoutCARLASemantic: func(m *sample.PointCloud) {
			m.Rings = 1
			for i := range m.Points {
				m.Points[i].Return, m.Points[i].Ring, m.Points[i].TimeNs, m.Points[i].Intensity = 0, 0, 0, 0
				m.Points[i].CosIncidence, m.Points[i].Instance, m.Points[i].Tag = 0.5, uint32(i), 14
			}
		},
	} {
		want := scan(layout)
		lose(want)
		var message ros.PointCloud2
		require.NoError(t, rossample.PointCloud2(&message, want))
		data := encode.CDR.Encoder().Append(nil, &message)
		var received ros.PointCloud2
		require.NoError(t, encode.CDR.Decoder().Decode(data, &received))
		back, err := rossample.FromPointCloud2(&received)
		require.NoError(t, err)
		assert.Equal(t, want, back, layout)
		var again ros.PointCloud2
		require.NoError(t, rossample.PointCloud2(&again, back.(*sample.PointCloud)))
		assert.Equal(t, data, encode.CDR.Encoder().Append(nil, &again), layout)
	}
}

func TestOrganizedCloudsComeBack(t *testing.T) {
	for _, layout := range []sample.PointLayout{sample.LayoutXYZIRCAEDT, sample.LayoutXYZIRT, sample.LayoutXYZI} {
		want := scan(layout)
		want.Organized, want.Columns = true, 3
		nan := float32(math.NaN())
		want.Points[3].X, want.Points[3].Y, want.Points[3].Z = nan, nan, nan
		var message ros.PointCloud2
		require.NoError(t, rossample.PointCloud2(&message, want))
		data := encode.CDR.Encoder().Append(nil, &message)
		var received ros.PointCloud2
		require.NoError(t, encode.CDR.Decoder().Decode(data, &received))
		back, err := rossample.FromPointCloud2(&received)
		require.NoError(t, err)
		cloud := back.(*sample.PointCloud)
		assert.True(t, cloud.Organized)
		assert.Equal(t, []int{2, 3}, []int{cloud.Rings, cloud.Columns})
		for i := range cloud.Points {
			assert.Equal(t, want.Points[i].Ring, cloud.Points[i].Ring, "%s %d", layout, i)
		}
		assert.Equal(t, want.Points[4].X, cloud.Points[4].X)
		var again ros.PointCloud2
		require.NoError(t, rossample.PointCloud2(&again, cloud))
		assert.Equal(t, data, encode.CDR.Encoder().Append(nil, &again), layout)
	}
}

// foreign makes a cloud of one point of others' drivers.
func foreign(order binary.AppendByteOrder, values []any, names ...string) *ros.PointCloud2 {
	m := &ros.PointCloud2{Header: ros.Header{Stamp: ros.Time{Sec: 100}}, Height: 1, Width: 1, IsBigendian: order.String() == "BigEndian"}
	for i, v := range values {
		f := ros.PointField{Name: names[i], Offset: uint32(len(m.Data.Data)), Count: 1}
		switch v := v.(type) {
		case float32:
			f.Datatype = ros.PointFieldFloat32
			m.Data.Data = order.AppendUint32(m.Data.Data, math.Float32bits(v))
		case float64:
			f.Datatype = ros.PointFieldFloat64
			m.Data.Data = order.AppendUint64(m.Data.Data, math.Float64bits(v))
		case uint32:
			f.Datatype = ros.PointFieldUint32
			m.Data.Data = order.AppendUint32(m.Data.Data, v)
		case int32:
			f.Datatype = ros.PointFieldInt32
			m.Data.Data = order.AppendUint32(m.Data.Data, uint32(v))
		case int16:
			f.Datatype = ros.PointFieldInt16
			m.Data.Data = order.AppendUint16(m.Data.Data, uint16(v))
		case uint16:
			f.Datatype = ros.PointFieldUint16
			m.Data.Data = order.AppendUint16(m.Data.Data, v)
		case uint8:
			f.Datatype = ros.PointFieldUint8
			m.Data.Data = append(m.Data.Data, v)
		}
		m.PointFields = append(m.PointFields, f)
	}
	m.PointStep = uint32(len(m.Data.Data))
	m.RowStep = m.PointStep
	return m
}

func TestCloudsOfOtherDrivers(t *testing.T) {
	x, y, z := float32(3), float32(4), float32(0)
	for name, c := range map[string]struct {
		cloud  *ros.PointCloud2
		ring   uint16
		stamp  uint32
		layout sample.PointLayout
	}{
		"Ouster": {foreign(binary.LittleEndian, []any{x, y, z, float32(9), uint32(5000), uint16(800), uint8(7), float32(5000)},
			"x", "y", "z", "intensity", "t", "reflectivity", "ring", "ambient"), 7, 5000, sample.LayoutXYZIRT},
		"Hesai": {foreign(binary.LittleEndian, []any{x, y, z, float32(9), float64(100.25), uint16(7)},
			"x", "y", "z", "intensity", "timestamp", "ring"), 7, 250_000_000, sample.LayoutXYZIRT},
		"signed numbers": {foreign(binary.BigEndian, []any{int16(3), int32(4), z, float32(9), int32(5000), int16(7)},
			"x", "y", "z", "intensity", "t", "ring"), 7, 5000, sample.LayoutXYZIRT},
		"before the stamp, and no ring": {foreign(binary.LittleEndian, []any{x, y, z, float32(9), int32(-5000), int16(-7)},
			"x", "y", "z", "intensity", "t", "ring"), 0, 0, sample.LayoutXYZIRT},
		"later than fits": {foreign(binary.LittleEndian, []any{x, y, z, float32(9), float32(5)},
			"x", "y", "z", "intensity", "time"), 0, math.MaxUint32, sample.LayoutXYZI},
		"Autoware's fields in another order": {foreign(binary.LittleEndian, []any{float32(0.5), float32(0.25), uint16(7), x, y, z, float32(9)},
			"azimuth", "elevation", "channel", "x", "y", "z", "intensity"), 7, 0, sample.LayoutXYZIRCAEDT},
		"CARLA's fields with an intensity": {foreign(binary.LittleEndian, []any{x, y, z, float32(9), uint32(5), uint32(14)},
			"x", "y", "z", "intensity", "ObjIdx", "ObjTag"), 0, 0, sample.LayoutCARLASemantic},
		"big endian, float64": {foreign(binary.BigEndian, []any{3.0, 4.0, 0.0, float32(9)},
			"x", "y", "z", "intensity"), 0, 0, sample.LayoutXYZI},
	} {
		back, err := rossample.FromPointCloud2(c.cloud)
		require.NoError(t, err, name)
		cloud := back.(*sample.PointCloud)
		assert.Equal(t, c.layout, cloud.Layout, name)
		require.Len(t, cloud.Points, 1)
		p := cloud.Points[0]
		assert.Equal(t, []float32{3, 4, 0, 5, 9}, []float32{p.X, p.Y, p.Z, p.Distance, p.Intensity}, name)
		assert.Equal(t, c.ring, p.Ring, name)
		assert.Equal(t, c.stamp, p.TimeNs, name)
	}
}

func TestUnknownLaneMarksAreOthers(t *testing.T) {
	var got sample.LaneInvasion
	require.NoError(t, rossample.FromCarlaLaneInvasionEvent(&got, &ros.CarlaLaneInvasionEvent{CrossedLaneMarkings: []int32{-1, 99, int32(sample.LaneMarkSolid)}}))
	assert.Equal(t, []sample.CrossedMark{{Type: sample.LaneMarkOther}, {Type: sample.LaneMarkOther}, {Type: sample.LaneMarkSolid}}, got.Marks)
}

func TestTypesWithoutAMirror(t *testing.T) {
	for of, want := range map[reflect.Type]string{
		reflect.TypeFor[sample.Image](): "sample.Image is not a pointer with a method Captured() simtime.Stamp",
		reflect.TypeFor[*int]():         "*int is not a pointer with a method Captured() simtime.Stamp",
		reflect.TypeFor[*struct {
			sample.Header
			C chan int
		}](): "chan int",
	} {
		_, err := rossample.MirrorReading(of)
		assert.ErrorIs(t, err, ros.ErrMirror, of)
		assert.ErrorContains(t, err, want, of)
	}
}

// A double has a quarter of a microsecond at the times of today. No firing falls before the
// stamp for that, nor is off by more.
func TestTimesInSeconds(t *testing.T) {
	for _, stamp := range []int64{1, 100_000_001, 544_852_075_306, stamp, 1_138_499_401_221_168_324} {
		want := &sample.PointCloud{Header: header("lidar"), Layout: sample.LayoutSVL, UnitIntensity: true}
		want.Stamp = simtime.Stamp(stamp)
		for i := range uint32(1000) {
			want.Points = append(want.Points, sample.Point{X: 1, TimeNs: 100_003 * i})
		}
		var sent, received ros.PointCloud2
		require.NoError(t, rossample.PointCloud2(&sent, want))
		require.NoError(t, encode.CDR.Decoder().Decode(encode.CDR.Encoder().Append(nil, &sent), &received))
		back, err := rossample.FromPointCloud2(&received)
		require.NoError(t, err)
		for i, p := range back.(*sample.PointCloud).Points {
			require.InDelta(t, want.Points[i].TimeNs, p.TimeNs, 500, "stamp %d, point %d", stamp, i)
		}
	}
	// SVL leaves the field 0.
	back, err := rossample.FromPointCloud2(foreign(binary.LittleEndian, []any{float32(1), float32(2), float32(3), 0.0}, "x", "y", "z", "timestamp"))
	require.NoError(t, err)
	assert.Zero(t, back.(*sample.PointCloud).Points[0].TimeNs)
}

func TestCloudsThatMakeNoSense(t *testing.T) {
	good := func() *ros.PointCloud2 {
		return foreign(binary.LittleEndian, []any{float32(1), float32(2), float32(3)}, "x", "y", "z")
	}
	for name, c := range map[string]struct {
		spoil func(m *ros.PointCloud2)
		want  error
	}{
		"no z":            {func(m *ros.PointCloud2) { m.PointFields = m.PointFields[:2] }, rossample.ErrLayout},
		"unknown type":    {func(m *ros.PointCloud2) { m.PointFields[0].Datatype = 9 }, rossample.ErrLayout},
		"field outside":   {func(m *ros.PointCloud2) { m.PointFields[2].Offset = 9 }, rossample.ErrLayout},
		"too wide":        {func(m *ros.PointCloud2) { m.Width = 2 }, rossample.ErrSize},
		"too high":        {func(m *ros.PointCloud2) { m.Height = math.MaxUint32 }, rossample.ErrSize},
		"no step":         {func(m *ros.PointCloud2) { m.PointStep, m.RowStep = 0, 0 }, rossample.ErrSize},
		"row without end": {func(m *ros.PointCloud2) { m.RowStep = math.MaxUint32 }, rossample.ErrSize},
	} {
		m := good()
		c.spoil(m)
		_, err := rossample.FromPointCloud2(m)
		assert.ErrorIs(t, err, c.want, name)
	}
	empty := good()
	empty.Height, empty.Width, empty.RowStep, empty.Data.Data = math.MaxUint32, 0, 0, nil
	_, err := rossample.FromPointCloud2(empty)
	assert.NoError(t, err, "no points in any number of rows")
	_, err = rossample.FromPointCloud2(&ros.PointCloud2{Height: 2, Width: 3})
	assert.Error(t, err)
}

func TestPicturesThatMakeNoSense(t *testing.T) {
	var s sample.Image
	assert.ErrorIs(t, rossample.FromImage(&s, &ros.Image{Height: 2, Step: 3}), rossample.ErrSize)
	assert.ErrorIs(t, rossample.FromImage(&s, &ros.Image{IsBigendian: 1, Encoding: "16UC1"}), rossample.ErrByteOrder)
	assert.NoError(t, rossample.FromImage(&s, &ros.Image{IsBigendian: 1, Encoding: "rgb8"}))
}

func FuzzReadings(f *testing.F) {
	list := rossample.Readings()
	for _, s := range carried() {
		for _, pub := range rossample.Standard() {
			if pub.Sample != reflect.TypeOf(s) {
				continue
			}
			message, err := pub.Converter()(s)
			require.NoError(f, err)
			for i, r := range list {
				if r.Type == pub.Type {
					f.Add(uint8(i), encode.CDR.Encoder().Append(nil, message))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		r := list[int(which)%len(list)]
		m := r.New()
		if encode.CDR.Decoder().Decode(data, m) != nil {
			return
		}
		s, err := r.From(m)
		if err == nil && s == nil {
			t.Error("neither a sample nor an error")
		}
	})
}
