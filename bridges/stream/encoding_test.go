package stream_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// samples returns one of each type, with a value of its own in every field.
func samples() []simtime.Stamped {
	var list []simtime.Stamped
	for _, empty := range []simtime.Stamped{
		&sample.Clock{}, &sample.Image{}, &sample.CompressedImage{}, &sample.CameraInfo{}, &sample.PointCloud{},
		&sample.LaserScan{}, &sample.Radar{}, &sample.Range{}, &sample.DvsEvents{}, &sample.Imu{}, &sample.GnssFix{},
		&sample.Odometry{}, &sample.Transforms{}, &sample.Detections2D{}, &sample.Detections3D{}, &sample.RadarObjects{},
		&sample.Signals{}, &sample.Collision{}, &sample.Obstacle{}, &sample.LaneInvasion{}, &sample.LaneMarks{}, &sample.LaneLines{},
		&sample.Speed{}, &sample.CanBus{},
		&sample.VehicleOdometry{}, &sample.GpsOdometry{}, &sample.InsStatus{}, &sample.Snapshot{}, &sample.Comfort{}, &sample.Destination{},
	} {
		msg := bridgetest.Filled(reflect.TypeOf(empty))
		switch m := msg.(type) {
		case *sample.Transforms:
			m.Static = false
		case interface{ SampleHeader() *sample.Header }:
			h := m.SampleHeader()
			h.Seq, h.Frame, h.Pose.Orientation = 1<<40, 1<<41, mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.25, -0.5, 1}}
		}
		list = append(list, msg)
	}
	return list
}

// carried is a sample as it arrives: without what the ROS message hasn't got.
func carried(msg simtime.Stamped) simtime.Stamped {
	switch m := msg.(type) {
	case *sample.Image:
		c := *m
		c.FovDeg, c.Shutter = 0, sample.Shutter{}
		return &c
	case *sample.CameraInfo: // ROS's message has no room for the shutter
		c := *m
		c.Shutter = sample.Shutter{}
		return &c
	case *sample.PointCloud:
		c := *m
		c.HorizontalAngle, c.UnitIntensity, c.Layout = 0, false, ""
		if !c.Organized {
			c.Columns, c.Rings = 0, 0
			for _, p := range c.Points {
				c.Rings = max(c.Rings, int(p.Ring)+1)
			}
		}
		return &c
	case *sample.Transforms:
		c := *m
		c.Transforms = nil
		for _, t := range m.Transforms {
			t.Seq, t.Frame, t.Pose = 0, 0, spatial.Identity()
			c.Transforms = append(c.Transforms, t)
		}
		return &c
	}
	return msg
}

func encodingOf(t testing.TB, msg simtime.Stamped) *stream.Encoding {
	t.Helper()
	e, err := stream.EncodingOf(reflect.TypeOf(msg))
	require.NoError(t, err)
	return e
}

// messageOf is a sample's message with its envelope.
func messageOf(t testing.TB, msg simtime.Stamped) []byte {
	t.Helper()
	b, err := encodingOf(t, msg).Append(nil, 5, msg, stream.MaxSize)
	require.NoError(t, err)
	return b
}

// dataOf is a message of a stream of such samples, as it is received.
func dataOf(e *stream.Encoding, b []byte) (*stream.Data, error) {
	return stream.Open(&stream.Info{Schema: e.Schema}, b)
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, msg := range samples() {
		e, b := encodingOf(t, msg), messageOf(t, msg)
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			if _, err := e.Append(b[:0], 5, msg, stream.MaxSize); err != nil {
				t.Fatal(err)
			}
		}), "%T", msg)
	}
}

func TestReadersAllocateNothing(t *testing.T) {
	readsInPlace[sample.LaserScan](t)
	readsInPlace[sample.CompressedImage](t)
	readsInPlace[sample.Imu](t)
	readsInPlace[sample.Range](t)
	readsInPlace[sample.CanBus](t)
	readsInPlace[sample.Radar](t)
}

func readsInPlace[T any](t *testing.T) {
	t.Helper()
	msg := bridgetest.Filled(reflect.TypeFor[*T]())
	d, err := dataOf(encodingOf(t, msg), messageOf(t, msg))
	require.NoError(t, err)
	var r stream.Reader[T]
	first, err := r.Read(d)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		again, err := r.Read(d)
		if err != nil || again != first {
			t.Fatal(err)
		}
	}), "%T", msg)
}

// Every message that is cut anywhere is refused, and nothing panics.
func TestMalformedMessagesAreRefused(t *testing.T) {
	for _, msg := range samples() {
		e, b := encodingOf(t, msg), messageOf(t, msg)
		for n := range b {
			d, err := dataOf(e, b[:n])
			if err == nil {
				_, err = d.Sample()
			}
			require.Error(t, err, "%T: %d of %d bytes", msg, n, len(b))
		}
	}
}

// FuzzSample reads anything as the message of a sample. What can be read comes to the same
// bytes after it was encoded and read again.
func FuzzSample(f *testing.F) {
	list := samples()
	for i, msg := range list {
		f.Add(uint8(i), messageOf(f, msg))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		e := encodingOf(t, list[int(which)%len(list)])
		d, err := dataOf(e, b)
		if err != nil {
			return
		}
		first, err := d.Sample()
		if err != nil || reflect.TypeOf(first) != reflect.TypeOf(list[int(which)%len(list)]) {
			return // a cloud may be of another sensor's points
		}
		again, err := e.Append(nil, int64(d.Logged()), first, stream.MaxSize)
		if err != nil {
			return // its shape makes no sense
		}
		d, err = dataOf(e, again)
		require.NoError(t, err)
		second, err := d.Sample()
		require.NoError(t, err)
		third, err := e.Append(nil, int64(d.Logged()), second, stream.MaxSize)
		require.NoError(t, err)
		require.Equal(t, again, third) // bytes, since NaN isn't equal to itself
	})
}

func TestWhatHasNoMessage(t *testing.T) {
	type unexported struct {
		sample.Header
		jerk float64
	}
	type wide struct {
		sample.Header
		Any map[string]int
	}
	_ = unexported{}.jerk
	for _, msg := range []any{1, sample.Speed{}, &unexported{}, &wide{}, new(int)} {
		_, err := stream.EncodingOf(reflect.TypeOf(msg))
		assert.ErrorIs(t, err, ros.ErrMirror, "%T", msg)
	}
	_, err := encodingOf(t, &sample.Speed{}).Append(nil, 0, &sample.Speed{Header: sample.Header{Stamp: 1 << 62}}, stream.MaxSize)
	assert.ErrorIs(t, err, ros.ErrStampRange)
	_, err = encodingOf(t, &sample.Speed{}).Append(nil, 0, &sample.Speed{Header: sample.Header{FrameID: strings.Repeat("x", 1<<16)}}, stream.MaxSize)
	assert.ErrorIs(t, err, stream.ErrTooLarge)
}
