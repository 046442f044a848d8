package rosbridge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

const (
	patience = 30 * time.Second
	tick     = 5 * time.Millisecond
)

// opened returns a bridge that connects when the test says so.
func opened(t testing.TB, connection string) *bridges.Bridge {
	t.Helper()
	return openedOf(t, rosbridge.Factory{}, connection)
}

func openedOf(t testing.TB, factory rosbridge.Factory, connection string) *bridges.Bridge {
	t.Helper()
	b, err := bridges.MustRegistry(factory).Open("rosbridge:"+connection, bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

func started(t testing.TB, config peers.RosbridgeConfig) *peers.Rosbridge {
	t.Helper()
	s := peers.NewRosbridge(config)
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	return s
}

func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, tick, what)
}

// connected connects a bridge and waits until it is.
func connected(t testing.TB, b *bridges.Bridge) {
	t.Helper()
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
}

// publish sends one sample and returns what the server has of it.
func publish[T any](t *testing.T, s *peers.Rosbridge, b *bridges.Bridge, msg T) peers.RosbridgeMessage {
	t.Helper()
	out, err := bridges.AddPublisher[T](b, bridges.Topic{Name: "/x"})
	require.NoError(t, err)
	connected(t, b)
	require.NoError(t, out(t.Context(), msg))
	eventually(t, "a message", func() bool { return s.Received()["/x"] > 0 })
	return s.Messages("/x")[0]
}

// publishRefused publishes a message that the server complains of.
func publishRefused[T any](t *testing.T, s *peers.Rosbridge, b *bridges.Bridge, msg T, why string) {
	t.Helper()
	out, err := bridges.AddPublisher[T](b, bridges.Topic{Name: "/x"})
	require.NoError(t, err)
	connected(t, b)
	require.NoError(t, out(t.Context(), msg))
	eventually(t, "a complaint", func() bool { return len(s.Statuses()) > 0 })
	assert.Contains(t, s.Statuses()[0], why)
}

// at returns a value inside of nested maps.
func at(m map[string]any, path string) any {
	var v any = m
	for name := range strings.SplitSeq(path, ".") {
		v = v.(map[string]any)[name]
	}
	return v
}

func TestImagesInJSON(t *testing.T) {
	for _, c := range []struct{ options, typ, secs, nsecs string }{
		{"", "sensor_msgs/Image", "secs", "nsecs"},
		{"?ros=2", "sensor_msgs/msg/Image", "sec", "nanosec"},
	} {
		s := started(t, peers.RosbridgeConfig{})
		image := bridgetest.Image(3)
		m := publish(t, s, opened(t, s.Addr()+c.options), image)
		assert.Equal(t, c.typ, m.Type)
		assert.True(t, strings.HasPrefix(string(m.Frame), `{"op":"publish","topic":"/x","msg":{"header":{`), "%s", m.Frame)
		assert.Equal(t, json.Number("300000000"), at(m.Values, "header.stamp."+c.nsecs))
		assert.Equal(t, json.Number("0"), at(m.Values, "header.stamp."+c.secs))
		assert.Equal(t, base64.StdEncoding.EncodeToString(image.Data), m.Values["data"])
		if c.options == "" {
			assert.Equal(t, json.Number("3"), at(m.Values, "header.seq"))
		} else {
			assert.NotContains(t, at(m.Values, "header"), "seq")
		}
	}
}

// What isn't finite goes to servers as the words that their JSON modules read, or as the option
// says, which is counted. BSON has all numbers.
func TestInfinities(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	scan := &sample.LaserScan{AngleMax: 1, AngleIncrement: 0.25, RangeMax: 30, Ranges: []float32{1.5, inf, -inf, nan}, Intensities: []float32{nan, 0, 0, 1}}
	const most = "3.4028235e+38"
	for options, want := range map[string][]any{
		"":                 {json.Number("1.5"), json.Number("Infinity"), json.Number("-Infinity"), json.Number("NaN")},
		"?nonfinite=words": {json.Number("1.5"), json.Number("Infinity"), json.Number("-Infinity"), json.Number("NaN")},
		"?nonfinite=max":   {json.Number("1.5"), json.Number(most), json.Number("-" + most), json.Number(most)},
		"?nonfinite=null":  nil,
		"?ros=2":           {json.Number("1.5"), json.Number("Infinity"), json.Number("-Infinity"), json.Number("NaN")},
	} {
		s := started(t, peers.RosbridgeConfig{})
		b := opened(t, s.Addr()+options)
		if want == nil { // the test server refuses null as rosbridge_suite does
			publishRefused(t, s, b, scan, "no field may be null")
		} else {
			assert.Equal(t, want, publish(t, s, b, scan).Values["ranges"], options)
		}
		altered := int64(0)
		if want == nil || want[1] == json.Number(most) {
			altered = 1
		}
		assert.Equal(t, altered, b.Diagnosis().Altered, options)
	}

	s := started(t, peers.RosbridgeConfig{BSONOnly: true})
	m := publish(t, s, opened(t, s.Addr()+"?bson=1"), scan)
	ranges := m.Values["ranges"].([]any)
	assert.Equal(t, []any{1.5, math.Inf(1), math.Inf(-1)}, ranges[:3])
	assert.True(t, math.IsNaN(ranges[3].(float64)))
}

// TestBSONIsNotForROS2: its server reads binary frames as text. The error says what to do.
func TestBSONIsNotForROS2(t *testing.T) {
	checker, err := rosbridge.Factory{}.NewInstance(bridges.Env{})
	require.NoError(t, err)
	for _, connection := range []string{"robot?ros=2&bson=1", "robot?bson=1&ros=2&retry=1s"} {
		err := checker.(bridges.Checker).Check(connection)
		require.ErrorIs(t, err, bridges.ErrConnectionString, connection)
		assert.ErrorContains(t, err, "published as JSON")
		assert.ErrorContains(t, err, "comes as CBOR")
	}
	for _, connection := range []string{"robot?ros=2", "robot?bson=1", "robot?ros=1&bson=1", "robot?ros=2&bson=0"} {
		assert.NoError(t, checker.(bridges.Checker).Check(connection), connection)
	}
}

// TestLatch: topics whose last message is for late subscribers are advertised and published
// so, others aren't. The test server refuses what is published otherwise than advertised.
func TestLatch(t *testing.T) {
	for _, options := range []string{"", "?ros=2", "?bson=1"} {
		s := started(t, peers.RosbridgeConfig{BSONOnly: options == "?bson=1"})
		b := opened(t, s.Addr()+options)
		static, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
		require.NoError(t, err)
		moving, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf"})
		require.NoError(t, err)
		connected(t, b)
		require.NoError(t, static(t.Context(), &sample.Transforms{}))
		require.NoError(t, moving(t.Context(), &sample.Transforms{}))
		eventually(t, "both", func() bool { return s.Received()["/tf_static"] == 1 && s.Received()["/tf"] == 1 })
		assert.True(t, s.Messages("/tf_static")[0].Latch, options)
		assert.False(t, s.Messages("/tf")[0].Latch, options)
		assert.Empty(t, s.Statuses())
	}
}

// TestMessagesAboveTheServersLimit: they arrive in fragments, or are dropped where these are
// off, or BSON, which can't be fragmented, has a limit. The connection lives on.
func TestMessagesAboveTheServersLimit(t *testing.T) {
	const limit = 100_000
	large := &sample.Image{Width: 300_000, Height: 1, Step: 300_000, Encoding: sample.EncodingMono8, Data: bytes.Repeat([]byte{1, 2, 3}, 100_000)}
	small := &sample.Image{Width: 3, Height: 1, Step: 3, Encoding: sample.EncodingMono8, Data: []byte{1, 2, 3}}
	for options, arrive := range map[string]bool{
		"?max_message_size=100000": true, "?max_message_size=100000&ros=2": true, "?max_message_size=100000&fragments=off": false,
		"?max_message_size=100000&bson=1": false,
	} {
		t.Run(options, func(t *testing.T) {
			s := started(t, peers.RosbridgeConfig{BSONOnly: strings.Contains(options, "bson"), MaxMessageSize: limit})
			b := opened(t, s.Addr()+options)
			out, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/x"})
			require.NoError(t, err)
			connected(t, b)
			require.NoError(t, out(t.Context(), small))
			drops, received := flow.Drops{}, 3
			if err := out(t.Context(), large); arrive {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, flow.ErrTooLarge)
				drops, received = flow.Drops{flow.CauseTooLarge: 1}, 2
			}
			require.NoError(t, out(t.Context(), small))
			eventually(t, "all messages", func() bool { return s.Received()["/x"] == received })
			assert.Equal(t, drops, b.Statistics().Drops)
			if arrive {
				assert.Equal(t, base64.StdEncoding.EncodeToString(large.Data), s.Messages("/x")[1].Values["data"])
			}
			assert.EqualValues(t, 1, b.Diagnosis().Connections)
			assert.Zero(t, b.Diagnosis().Failures)
			assert.Empty(t, s.Statuses())
		})
	}
}

func TestCloudsInBSON(t *testing.T) {
	s := started(t, peers.RosbridgeConfig{BSONOnly: true})
	m := publish(t, s, opened(t, s.Addr()+"?bson=1"), bridgetest.PointCloud(1))
	assert.Equal(t, "sensor_msgs/PointCloud2", m.Type)
	assert.True(t, m.Binary)
	data := m.Values["data"].([]byte)
	step := int(m.Values["point_step"].(int32))
	assert.Len(t, data, 64*step)
	assert.Equal(t, float32(63), math.Float32frombits(binary.LittleEndian.Uint32(data[63*step:])), "the last point's x")
}

func TestFixes(t *testing.T) {
	fix := &sample.GnssFix{Header: sample.Header{Stamp: 1_500_000_000, Seq: 7, FrameID: "gps", Pose: spatial.FromRPY(mgl64.Vec3{}, 0, 0, math.Pi/2)},
		Latitude: -1.5, Longitude: 8.25, Altitude: 116.5}
	s := started(t, peers.RosbridgeConfig{})
	b := opened(t, s.Addr())
	m := publish(t, s, b, fix)
	assert.Equal(t, "sensor_msgs/NavSatFix", m.Type)
	assert.Equal(t, json.Number("-1.5"), m.Values["latitude"])
	assert.Equal(t, "sensor_msgs/NavSatFix", b.Statistics().Topics[0].Type)

	s = started(t, peers.RosbridgeConfig{})
	b = opened(t, s.Addr()+"?gps=nmea")
	publish(t, s, b, fix)
	eventually(t, "two sentences", func() bool { return s.Received()["/x"] == 2 })
	for i, want := range []string{
		"$GPGGA,000001.500,0130.000000,S,00815.000000,E,1,10,0.01,116.500000,M,0.000000,M,,*",
		"QQ02C,INSATT,V,000001.500,0.000,0.000,0.000,@",
	} {
		m := s.Messages("/x")[i]
		assert.Equal(t, "nmea_msgs/Sentence", m.Type)
		assert.Equal(t, want, m.Values["sentence"].(string)[:len(want)])
		assert.Equal(t, json.Number([]string{"14", "15"}[i]), at(m.Values, "header.seq"))
		assert.Equal(t, "gps", at(m.Values, "header.frame_id"))
	}
	assert.Equal(t, "nmea_msgs/Sentence", b.Statistics().Topics[0].Type)
	out, err := bridges.AddPublisher[*sample.GnssFix](b, bridges.Topic{Name: "/x"})
	require.NoError(t, err)
	assert.ErrorIs(t, out(t.Context(), &sample.GnssFix{Latitude: math.NaN()}), bridges.ErrConvert)
}

func TestNamesOfTopics(t *testing.T) {
	b := opened(t, "robot")
	for _, name := range []string{"/1st", "/a/2b", "/a-b", "/a/"} {
		_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: name})
		assert.ErrorIs(t, err, bridges.ErrTopicName, name)
		assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: name}, func(*sample.Clock) {}), bridges.ErrTopicName, name)
		handle := func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
			return sample.EmptyResponse{}, nil
		}
		assert.ErrorIs(t, bridges.AddService(b, name, handle), bridges.ErrTopicName, name)
	}
}

// twist is a message of geometry_msgs/Twist in all forms.
func twist(ros2 bool) peers.Outgoing {
	raw := []byte{}
	if ros2 {
		raw = append(raw, 0, 1, 0, 0) // CDR's header
	}
	for _, v := range []float64{1.5, 0, 0, 0, 0, -0.25} {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return peers.Outgoing{Raw: raw, Values: map[string]any{
		"linear":  map[string]any{"x": 1.5, "y": 0.0, "z": 0.0},
		"angular": map[string]any{"x": 0.0, "y": 0.0, "z": -0.25},
	}}
}

func TestCommandsInAllForms(t *testing.T) {
	for options, want := range map[string]string{
		"subscribe=json": "none", "subscribe=cbor": "cbor", "subscribe=cbor-raw": "cbor-raw", "": "cbor", "bson=1": "none",
	} {
		for _, ros := range []string{"1", "2"} {
			if ros == "2" && options == "bson=1" {
				continue // refused
			}
			s := started(t, peers.RosbridgeConfig{BSONOnly: options == "bson=1"})
			b := opened(t, s.Addr()+"?ros="+ros+"&"+options)
			got := make(chan sample.VelocityCommand, 10)
			require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(c *sample.VelocityCommand) { got <- *c }))
			connected(t, b)
			eventually(t, "subscribed", func() bool { return len(s.Subscribed()) == 1 })
			typ := map[string]string{"1": "geometry_msgs/Twist ", "2": "geometry_msgs/msg/Twist "}[ros]
			assert.Equal(t, map[string]string{"/cmd_vel": typ + want}, s.Subscribed())
			require.Equal(t, 1, s.Publish("/cmd_vel", twist(ros == "2")))
			assert.Equal(t, sample.VelocityCommand{Twist: spatial.Twist{Linear: mgl64.Vec3{1.5, 0, 0}, Angular: mgl64.Vec3{0, 0, -0.25}}}, <-got, "%s ros=%s", options, ros)
			assert.EqualValues(t, 1, b.Statistics().Received[0].Messages)
			// What can't be decoded is counted, and the next one arrives.
			s.Publish("/cmd_vel", peers.Outgoing{Values: map[string]any{"linear": "fast"}, Raw: []byte{1, 2, 3}})
			eventually(t, "counted", func() bool { return b.Diagnosis().Malformed == 1 })
			malformed := int64(1)
			if options == "subscribe=cbor-raw" { // the form in which a message may have no bytes
				s.Publish("/cmd_vel", peers.Outgoing{Raw: []byte{}})
				malformed++
				eventually(t, "counted", func() bool { return b.Diagnosis().Malformed == malformed })
			}
			require.Equal(t, 1, s.Publish("/cmd_vel", twist(ros == "2")))
			<-got
			assert.Empty(t, got)
			assert.Equal(t, malformed, b.Diagnosis().Malformed)
		}
	}
}

func TestDetectionsArrive(t *testing.T) {
	s := started(t, peers.RosbridgeConfig{})
	b := opened(t, s.Addr())
	got := make(chan *sample.Detections3D, 1)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/seen"}, func(d *sample.Detections3D) { got <- d }))
	connected(t, b)
	eventually(t, "subscribed", func() bool { return len(s.Subscribed()) == 1 })
	zero := map[string]any{"x": 0.0, "y": 0.0, "z": 0.0}
	s.Publish("/seen", peers.Outgoing{Values: map[string]any{
		"header": map[string]any{"seq": 3, "stamp": map[string]any{"secs": 2, "nsecs": 500_000_000}, "frame_id": "map"},
		"detections": []map[string]any{{
			"id": 9, "label": "Sedan", "score": float32(0.5),
			"bbox": map[string]any{
				"position": map[string]any{"position": map[string]any{"x": 1.0, "y": 2.0, "z": 3.0}, "orientation": map[string]any{"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}},
				"size":     map[string]any{"x": 4.0, "y": 2.0, "z": 1.5},
			},
			"velocity": map[string]any{"linear": zero, "angular": zero},
		}},
	}})
	d := <-got
	assert.EqualValues(t, simtime.Stamp(2_500_000_000), d.Stamp)
	require.Len(t, d.Boxes, 1)
	assert.Equal(t, "Sedan", d.Boxes[0].Label)
	assert.Equal(t, mgl64.Vec3{1, 2, 3}, d.Boxes[0].Pose.Position)
}

// offerAll offers a service of each type.
func offerAll(t testing.TB, b *bridges.Bridge) {
	t.Helper()
	require.NoError(t, bridges.AddService(b, "/reset", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		return sample.EmptyResponse{}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/light", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{Success: r.Data, Message: `the "light"`}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/shoot", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{}, errors.New("no camera")
	}))
}

func TestServices(t *testing.T) {
	for _, options := range []string{"", "bson=1"} {
		s := started(t, peers.RosbridgeConfig{BSONOnly: options != ""})
		b := opened(t, s.Addr()+"?"+options)
		offerAll(t, b)
		connected(t, b)
		eventually(t, "offered", func() bool { return len(s.Services()) == 3 })
		assert.Equal(t, map[string]string{"/reset": "std_srvs/Empty", "/light": "std_srvs/SetBool", "/shoot": "std_srvs/Trigger"}, s.Services())
		r, err := s.Call(t.Context(), "/reset", nil)
		require.NoError(t, err)
		assert.Equal(t, peers.Response{Result: true, Values: map[string]any{}}, r)
		r, err = s.Call(t.Context(), "/light", map[string]any{"data": true})
		require.NoError(t, err)
		assert.Equal(t, peers.Response{Result: true, Values: map[string]any{"success": true, "message": `the "light"`}}, r)
		r, err = s.Call(t.Context(), "/shoot", map[string]any{})
		require.NoError(t, err)
		assert.Equal(t, peers.Response{Reason: "no camera"}, r)
		r, err = s.Call(t.Context(), "/light", map[string]any{"data": "maybe"})
		require.NoError(t, err)
		assert.False(t, r.Result)
		assert.Contains(t, r.Reason, "arguments")
	}
}
