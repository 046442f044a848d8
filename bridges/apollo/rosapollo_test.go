package apollo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRosApolloConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:        apollo.RosApollo{},
		BadConnections: []string{"", "robot?bson=1", "robot?subscribe=cbor", "robot?ros=1", "tcp://robot", "listen=9090"},
		Peer:           newPeer,
	})
}

func TestRosApolloMessagesAboveTheLimit(t *testing.T) {
	bridgetest.TooLarge(t, bridgetest.Suite{Factory: apollo.LimitedRos(bridgetest.Limit), Peer: newPeer})
}

func TestApollosMessagesAboveTheLimit(t *testing.T) {
	s := peers.NewRosbridge(peers.RosbridgeConfig{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	b, err := bridges.MustRegistry(apollo.LimitedRos(100)).Open("rosapollo:"+s.Addr(), bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	publish, err := bridges.AddPublisher[*sample.RadarObjects](b, bridges.Topic{Name: "/radar"})
	require.NoError(t, err)
	connect(t, b)
	require.NoError(t, publish(t.Context(), &sample.RadarObjects{}))
	require.ErrorIs(t, publish(t.Context(), &sample.RadarObjects{Objects: make([]sample.RadarObject, 10)}), flow.ErrTooLarge)
	assert.Equal(t, flow.Drops{flow.CauseTooLarge: 1}, b.Statistics().Drops)
}

func newPeer(t *testing.T) bridgetest.Peer {
	t.Helper()
	s := peers.NewRosbridge(peers.RosbridgeConfig{Address: fmt.Sprintf("127.0.0.1:%d", bridgetest.FreePort(t)), Keep: 1})
	t.Cleanup(s.Kill)
	return peer{s}
}

type peer struct{ server *peers.Rosbridge }

func (p peer) Connection() string {
	return "ws://" + p.server.Addr() + "?messages=4096&bytes=8388608&retry=50ms"
}

func (p peer) Start(t *testing.T) { require.NoError(t, p.server.Start()) }

func (p peer) Kill(*testing.T) { p.server.Kill() }

func (p peer) Stall(*testing.T) { p.server.Stall() }

func (p peer) Resume(*testing.T) { p.server.Resume() }

func (p peer) Rubbish(*testing.T) { p.server.Rubbish() }

func (p peer) Received() map[string]int { return p.server.Received() }

func (p peer) Ready(topic string) bool {
	_, ok := p.server.Advertised()[topic]
	return ok
}

func (p peer) Subscriptions(topic string) int { return p.server.Subscriptions(topic) }

// Send publishes a pb_msgs/ControlCommand, whose throttle is in percent.
func (p peer) Send(_ *testing.T, topic string, acceleration float64) {
	p.server.Publish(topic, peers.Outgoing{Values: map[string]any{"throttle": 100 * acceleration}})
}

func (p peer) SendUnreadable(_ *testing.T, topic string) {
	p.server.Publish(topic, peers.Outgoing{Values: map[string]any{"throttle": "much"}})
}

// SendEmpty publishes a message in which nothing is set: in protobuf, one of no bytes.
func (p peer) SendEmpty(_ *testing.T, topic string) {
	p.server.Publish(topic, peers.Outgoing{Values: map[string]any{}})
}

// opened returns a bridge to a server that records.
func opened(t *testing.T) (*bridges.Bridge, *peers.Rosbridge) {
	t.Helper()
	s := peers.NewRosbridge(peers.RosbridgeConfig{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	b, err := bridges.MustRegistry(apollo.RosApollo{}).Open("rosapollo:"+s.Addr(), bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b, s
}

func connect(t *testing.T, b *bridges.Bridge) {
	t.Helper()
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
}

// recorded publishes each of Apollo's samples and returns what the server has of it, by
// the sample's name.
func recorded(t *testing.T) map[string]peers.RosbridgeMessage {
	t.Helper()
	b, s := opened(t)
	connect(t, b)
	channels := map[string]string{}
	for _, in := range bridgetest.ApolloSamples() {
		channel := in.Channel
		publish, err := bridges.AddPublisherOf(b, reflect.TypeOf(in.Value), bridges.Topic{Name: channel})
		if err != nil {
			assert.ErrorIs(t, err, bridges.ErrNoConverter)
			continue
		}
		require.NoError(t, publish(t.Context(), in.Value))
		channels[in.Name] = channel
	}
	messages := map[string]peers.RosbridgeMessage{}
	for name, channel := range channels {
		require.Eventually(t, func() bool { return s.Received()[channel] > 0 }, patience, tick, channel)
		messages[name] = s.Messages(channel)[0]
	}
	assert.Empty(t, s.Statuses())
	return messages
}

func TestRosApolloTypes(t *testing.T) {
	got := map[string]string{}
	for name, m := range recorded(t) {
		got[name] = m.Type
	}
	assert.Equal(t, map[string]string{
		"clock": "rosgraph_msgs/Clock", "image": "sensor_msgs/Image", "compressed_image": "sensor_msgs/CompressedImage",
		"point_cloud": "sensor_msgs/PointCloud2", "point_cloud_organized": "sensor_msgs/PointCloud2", "laser_scan": "sensor_msgs/LaserScan",
		"gnss_fix": "pb_msgs/GnssBestPose", "gps_odometry": "pb_msgs/Gps", "imu": "pb_msgs/Imu", "corrected_imu": "pb_msgs/CorrectedImu",
		"odometry": "nav_msgs/Odometry", "can_bus": "pb_msgs/Chassis", "radar_objects": "pb_msgs/ContiRadar",
		"detections_2d": "lgsvl_msgs/Detection2DArray", "detections_3d": "pb_msgs/PerceptionObstacles", "signals": "pb_msgs/TrafficLightDetection",
		"ins_status": "raybridge_msgs/InsStatus", "lane_lines": "raybridge_msgs/LaneLines",
	}, got)
}

func TestRosApolloChassis(t *testing.T) {
	m := recorded(t)["can_bus"]
	assert.True(t, json.Valid(m.Frame))
	assert.Equal(t, json.Number("25"), m.Values["throttle_percentage"])
	assert.Equal(t, json.Number("-75"), m.Values["steering_percentage"])
	assert.Equal(t, json.Number("4"), m.Values["gear_location"], "an enumeration is a number")
	assert.Equal(t, true, m.Values["parking_brake"])
	assert.Equal(t, json.Number("1700000000.1234567"), m.Values["header"].(map[string]any)["timestamp_sec"])
	obstacles := recorded(t)["detections_3d"]
	assert.Equal(t, json.Number("1700000000123456789"), obstacles.Values["header"].(map[string]any)["lidar_timestamp"], "no text")
}

// ROS 1 can't express a time before the epoch; the message is refused, not sent with 0.
func TestRosApolloTimesBeforeTheEpoch(t *testing.T) {
	b, s := opened(t)
	out, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	connect(t, b)
	assert.ErrorIs(t, out(t.Context(), &sample.Clock{Stamp: -1}), ros.ErrBeforeEpoch)
	require.NoError(t, out(t.Context(), &sample.Clock{Stamp: 2e9}))
	require.Eventually(t, func() bool { return b.Statistics().Messages == 1 }, patience, tick)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, b.Statistics().Drops)
	require.Eventually(t, func() bool { return s.Received()["/clock"] > 0 }, patience, tick)
	assert.Equal(t, json.Number("2"), s.Messages("/clock")[0].Values["clock"].(map[string]any)["secs"])
}

func TestRosApolloCommands(t *testing.T) {
	b, s := opened(t)
	got := make(chan *sample.VehicleControl, 1)
	boxes := make(chan *sample.Detections3D, 1)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/apollo/control"}, func(c *sample.VehicleControl) { got <- c }))
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/boxes"}, func(d *sample.Detections3D) { boxes <- d }))
	assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/1st"}, func(*sample.VehicleControl) {}), bridges.ErrTopicName)
	connect(t, b)
	require.Eventually(t, func() bool { return len(s.Subscribed()) == 2 }, patience, tick)
	assert.Equal(t, map[string]string{"/apollo/control": "pb_msgs/ControlCommand none", "/boxes": "lgsvl_msgs/Detection3DArray none"}, s.Subscribed())
	values := map[string]any{
		"header": map[string]any{"timestamp_sec": 12.5, "sequence_num": 7}, "throttle": 25.0, "brake": 12.5, "steering_target": 40.0,
		"gear_location": 2, "of another version": true,
	}
	s.Publish("/apollo/control", peers.Outgoing{Values: values})
	c := <-got
	assert.Equal(t, []any{0.25, 0.125, -0.4, int8(sample.GearReverse), simtime.Stamp(12_500_000_000)},
		[]any{c.Acceleration, c.Braking, c.Steering, c.Gear, c.Stamp})
	values["gear_location"], values["throttle"] = "GEAR_DRIVE", "100" // protobuf's own form
	s.Publish("/apollo/control", peers.Outgoing{Values: values})
	c = <-got
	assert.Equal(t, []any{1.0, int8(sample.GearDrive)}, []any{c.Acceleration, c.Gear})
	// Python writes what isn't finite as words, also in fields that nobody reads here.
	s.SendFrame(false, []byte(`{"op":"publish","topic":"/apollo/control","msg":{"throttle":50,"speed":NaN,"acceleration":-Infinity}}`))
	assert.Equal(t, 0.5, (<-got).Acceleration)
	values["throttle"] = "much"
	s.Publish("/apollo/control", peers.Outgoing{Values: values})
	require.Eventually(t, func() bool { return b.Diagnosis().Malformed == 1 }, patience, tick)
	s.SendFrame(true, []byte("\xa3\x62op\x67publish\x65topic\x6f/apollo/control\x63msg\xa0"))
	require.Eventually(t, func() bool { return b.Diagnosis().Malformed == 2 }, patience, tick, "CBOR wasn't asked for")
	s.Publish("/boxes", peers.Outgoing{Values: map[string]any{"detections": []map[string]any{{
		"id": 1, "bbox": map[string]any{"size": map[string]any{"x": 4.0, "y": 2.0, "z": 1.5}},
	}}}})
	assert.Equal(t, mgl64.Vec3{4, 2, 1.5}, (<-boxes).Boxes[0].Size)
}

func TestRosApolloServices(t *testing.T) {
	b, s := opened(t)
	require.NoError(t, bridges.AddService(b, "/light", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{Success: r.Data, Message: "on"}, nil
	}))
	connect(t, b)
	require.Eventually(t, func() bool { return len(s.Services()) == 1 }, patience, tick)
	r, err := s.Call(t.Context(), "/light", map[string]any{"data": true})
	require.NoError(t, err)
	assert.Equal(t, peers.Response{Result: true, Values: map[string]any{"success": true, "message": "on"}}, r)
	r, err = s.Call(t.Context(), "/light", map[string]any{"data": 7})
	require.NoError(t, err)
	assert.False(t, r.Result)
	// A list of arguments, which rosbridge's protocol has too.
	conn, _, err := websocket.Dial(t.Context(), "ws://"+s.Addr(), nil)
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"op":"call_service","service":"/light","args":[true]}`)))
	_, answer, err := conn.Read(t.Context())
	require.NoError(t, err)
	assert.Contains(t, string(answer), `"result":true`)
	assert.Contains(t, string(answer), `"message":"on"`)
}

// FuzzRosApolloCommands has a server send any text as a command. What arrives of it is finite and
// within its limits, and the next command arrives all the same.
func FuzzRosApolloCommands(f *testing.F) {
	for _, text := range []string{
		`{"throttle":25.0,"brake":12.5,"steering_target":40.0,"gear_location":2}`, `{"throttle":"1e400","gear_location":"GEAR_DRIVE"}`,
		`{"header":{"timestamp_sec":"NaN","sequence_num":-1}}`, `{"steering_target":"-Infinity"}`, `{"throttle":null,"of another":[{}]}`, "{}", "[]", `"`, "",
	} {
		f.Add(text)
	}
	s := peers.NewRosbridge(peers.RosbridgeConfig{})
	require.NoError(f, s.Start())
	f.Cleanup(s.Kill)
	b, err := bridges.MustRegistry(apollo.RosApollo{}).Open("rosapollo:"+s.Addr(), bridges.Env{})
	require.NoError(f, err)
	f.Cleanup(func() { assert.NoError(f, b.Close(context.Background())) })
	got := make(chan *sample.VehicleControl, 10)
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(c *sample.VehicleControl) { got <- c }))
	require.NoError(f, b.Connect(f.Context()))
	require.Eventually(f, func() bool { return len(s.Subscribed()) == 1 }, patience, tick)
	f.Fuzz(func(t *testing.T, text string) {
		const last = `{"header":{"sequence_num":4711},"throttle":50}`
		for _, msg := range []string{text, last} {
			s.SendFrame(false, fmt.Appendf(nil, `{"op":"publish","topic":"/control","msg":%s}`, msg))
		}
		for {
			c := <-got
			assert.True(t, c.Acceleration >= 0 && c.Acceleration <= 1 && c.Braking >= 0 && c.Braking <= 1 && math.Abs(c.Steering) <= 1, "%+v", c)
			if c.Seq == 4711 {
				return
			}
		}
	})
}
