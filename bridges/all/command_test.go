package all_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/msg"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/ackermann_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/geometry_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/std_msgs"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// What the tests command, each by the protocol's own sign of steering: to the left.
//
//	lgsvl_msgs/VehicleControlData        target_wheel_angle is radians, positive to the right, as SVL's
//	apollo.control.ControlCommand        steering_target is per cent, positive to the left
//	ackermann_msgs/AckermannDriveStamped steering_angle is radians, positive to the left (REP-103)
//	geometry_msgs/Twist                  angular.z is radians a second, positive to the left (REP-103)
const (
	controlTopic   = "/control"
	ackermannTopic = "/ackermann"
	velocityTopic  = "/cmd_vel"

	throttle = 0.5
	wheels   = 0.3 // radians
	speed    = 1.0 // m/s
	turn     = 0.2 // radians a second
)

// commands are the messages of ROS by topic, and their types.
var commands = map[string]map[string]any{
	controlTopic:   {"acceleration_pct": throttle, "braking_pct": 0.0, "target_wheel_angle": -wheels, "target_gear": 1},
	ackermannTopic: {"drive": map[string]any{"speed": speed, "steering_angle": wheels}},
	velocityTopic:  {"linear": map[string]any{"x": speed, "y": 0.0, "z": 0.0}, "angular": map[string]any{"x": 0.0, "y": 0.0, "z": turn}},
}

var commandTypes = map[string]string{
	controlTopic: "lgsvl_msgs/VehicleControlData", ackermannTopic: "ackermann_msgs/AckermannDriveStamped", velocityTopic: "geometry_msgs/Twist",
}

// wheel is the program that steers over a bridge.
type wheel struct {
	spec  string
	visit func(t *testing.T, endpoints []bridges.Endpoint)
	// send sends one command; it may not arrive while somebody isn't connected yet.
	send func(t *testing.T, topic string)
}

// steering has those of all bridges that receive but ros2dds, whose tests have it.
var steering = []struct {
	name   string
	topics []string
	open   func(t *testing.T) *wheel
}{
	{"rosbridge JSON", []string{controlTopic, ackermannTopic, velocityTopic}, rosbridgeWheel("rosbridge", "&subscribe=json", peers.RosbridgeConfig{})},
	{"rosbridge CBOR, ROS 2", []string{controlTopic, ackermannTopic, velocityTopic}, rosbridgeWheel("rosbridge", "&ros=2", peers.RosbridgeConfig{})},
	{"rosbridge BSON", []string{controlTopic, ackermannTopic, velocityTopic}, rosbridgeWheel("rosbridge", "&bson=1", peers.RosbridgeConfig{BSONOnly: true})},
	{"rosbridge's server", []string{controlTopic, ackermannTopic, velocityTopic}, rosbridgeClientWheel},
	{"rosapollo", []string{controlTopic, ackermannTopic, velocityTopic}, rosbridgeWheel("rosapollo", "", peers.RosbridgeConfig{})},
	{"ros2lgsvl", []string{controlTopic, ackermannTopic, velocityTopic}, lgsvlWheel},
	{"cyber", []string{controlTopic}, cyberWheel},
	{"foxglove", []string{controlTopic, ackermannTopic, velocityTopic}, foxgloveWheel},
	{"ros1", []string{controlTopic, ackermannTopic, velocityTopic}, ros1Wheel},
}

// TestCommandsOfAllBridgesMoveTheEgo: those of a second, sent again and again as drivers
// do, and what the bicycle model makes of them.
func TestCommandsOfAllBridgesMoveTheEgo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, by := range steering {
		for _, topic := range by.topics {
			t.Run(by.name+topic, func(t *testing.T) { driven(t, by.open(t), topic) })
		}
	}
}

func driven(t *testing.T, w *wheel, topic string) {
	t.Helper()
	ego, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	require.NoError(t, err)
	p := bridgetest.NewPipeline(t, simtime.Hz(10), pipeline.Config{Bridges: all.Registry(), Ego: ego})
	require.NoError(t, p.AddCommands(pipeline.Commands{Control: controlTopic, Ackermann: ackermannTopic, Velocity: velocityTopic}))
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: w.spec}))
	if w.visit != nil {
		w.visit(t, p.Summary().Bridges[0].Endpoints)
	}
	for range 10 {
		before := received(p, topic)
		// One that is counted is on its way to the vehicle; the next comes after it.
		require.Eventually(t, func() bool {
			w.send(t, topic)
			return received(p, topic) >= before+2
		}, patience, tick, "commands arrive")
		require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	}
	checkDriven(t, topic, ego.StateAt(p.Clock().Now()), ego.Vehicle())
}

// received returns how many messages of a topic the bridge has brought.
func received(p *pipeline.Pipeline, topic string) int64 {
	for _, row := range p.Summary().Bridges[0].Received {
		if row.Topic == topic {
			return row.Messages
		}
	}
	return 0
}

// checkDriven holds a vehicle that was driven for a second against the model.
func checkDriven(t *testing.T, topic string, s scene.State, limits scene.Vehicle) {
	t.Helper()
	forward := s.Pose.Orientation.Inverse().Rotate(s.Twist.Linear)[0]
	rate := s.Twist.Angular[2]
	switch topic {
	case controlTopic:
		assert.InDelta(t, throttle*limits.MaxAcceleration, forward, 1e-6, "m/s after a second")
		assert.InDelta(t, forward*math.Tan(wheels)/limits.Wheelbase, rate, 1e-6)
	case ackermannTopic:
		assert.InDelta(t, speed, forward, 1e-6)
		assert.InDelta(t, speed*math.Tan(wheels)/limits.Wheelbase, rate, 1e-6)
	case velocityTopic:
		assert.InDelta(t, speed, forward, 1e-6)
		assert.InDelta(t, turn, rate, 1e-6)
	}
	assert.Positive(t, s.Pose.Position[0], "forward")
	assert.Positive(t, s.Pose.Position[1], "to the left")
}

func rosbridgeWheel(kind, options string, config peers.RosbridgeConfig) func(*testing.T) *wheel {
	return func(t *testing.T) *wheel {
		t.Helper()
		s := peers.NewRosbridge(config)
		require.NoError(t, s.Start())
		t.Cleanup(s.Kill)
		return &wheel{spec: kind + ":ws://" + s.Addr() + "?retry=50ms" + options, send: func(_ *testing.T, topic string) {
			values := commands[topic]
			if kind == "rosapollo" && topic == controlTopic {
				values = map[string]any{"throttle": 100 * throttle, "brake": 0.0, "steering_target": 50.0, "gear_location": 1}
			}
			s.Publish(topic, peers.Outgoing{Values: values})
		}}
	}
}

func rosbridgeClientWheel(*testing.T) *wheel {
	var c *caller
	return &wheel{
		spec: "rosbridge:listen=127.0.0.1:0",
		visit: func(t *testing.T, endpoints []bridges.Endpoint) {
			t.Helper()
			c = call(t, endpoints[0].Address, "", func(*caller, websocket.MessageType, []byte) {})
			for topic, name := range commandTypes {
				c.say(`{"op":"advertise","topic":%q,"type":%q}`, topic, name)
			}
		},
		send: func(t *testing.T, topic string) {
			t.Helper()
			c.say(`{"op":"publish","topic":%q,"msg":%s}`, topic, jsonOf(t, commands[topic]))
		},
	}
}

func lgsvlWheel(t *testing.T) *wheel {
	t.Helper()
	s := peers.NewLGSVL(peers.LGSVLConfig{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	messages := map[string]peers.Value{
		controlTopic:   {"acceleration_pct": float32(throttle), "target_wheel_angle": float32(-wheels), "target_gear": uint8(1)},
		ackermannTopic: {"drive": peers.Value{"speed": float32(speed), "steering_angle": float32(wheels)}},
		velocityTopic:  {"linear": peers.Value{"x": speed}, "angular": peers.Value{"z": turn}},
	}
	return &wheel{spec: "ros2lgsvl:" + s.Addr() + "?retry=50ms", send: func(_ *testing.T, topic string) {
		if s.Subscribed(topic) != "" {
			s.Publish(topic, messages[topic])
		}
	}}
}

// cyberWheel writes Apollo's message by the numbers of its fields: 3 throttle, 7
// steering_target, 20 gear_location.
func cyberWheel(t *testing.T) *wheel {
	t.Helper()
	s := peers.NewCyber(peers.CyberConfig{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	var message []byte
	for field, percent := range map[protowire.Number]float64{3: 100 * throttle, 7: 50} {
		message = protowire.AppendTag(message, field, protowire.Fixed64Type)
		message = protowire.AppendFixed64(message, math.Float64bits(percent))
	}
	message = protowire.AppendTag(message, 20, protowire.VarintType)
	message = protowire.AppendVarint(message, 1)
	return &wheel{spec: "cyber:" + s.Addr() + "?retry=50ms", send: func(_ *testing.T, topic string) { s.Publish(topic, message) }}
}

func foxgloveWheel(*testing.T) *wheel {
	var c *caller
	channels := map[string]uint32{controlTopic: 1, ackermannTopic: 2, velocityTopic: 3}
	return &wheel{
		spec: "foxglove:127.0.0.1:0",
		visit: func(t *testing.T, endpoints []bridges.Endpoint) {
			t.Helper()
			c = call(t, endpoints[0].Address, "foxglove.websocket.v1", func(*caller, websocket.MessageType, []byte) {})
			for topic, id := range channels {
				c.say(`{"op":"advertise","channels":[{"id":%d,"topic":%q,"encoding":"json","schemaName":%q}]}`, id, topic, commandTypes[topic])
			}
		},
		send: func(t *testing.T, topic string) {
			t.Helper()
			frame := binary.LittleEndian.AppendUint32([]byte{1}, channels[topic])
			_ = c.conn.Write(t.Context(), websocket.MessageBinary, append(frame, jsonOf(t, commands[topic])...))
		},
	}
}

// vehicleControlData is lgsvl_msgs/VehicleControlData for goroslib, which computes its
// checksum.
type vehicleControlData struct {
	msg.Package            `ros:"lgsvl_msgs"`
	msg.Name               `ros:"VehicleControlData"`
	msg.Definitions        `ros:"uint8 GEAR_NEUTRAL=0,uint8 GEAR_DRIVE=1,uint8 GEAR_REVERSE=2,uint8 GEAR_PARKING=3,uint8 GEAR_LOW=4"`
	Header                 std_msgs.Header
	AccelerationPct        float32
	BrakingPct             float32
	TargetWheelAngle       float32
	TargetWheelAngularRate float32
	TargetGear             uint8
}

func ros1Wheel(t *testing.T) *wheel {
	t.Helper()
	m := newMaster(t)
	publishers := map[string]*goroslib.Publisher{}
	messages := map[string]any{
		controlTopic:   &vehicleControlData{AccelerationPct: throttle, TargetWheelAngle: -wheels, TargetGear: 1},
		ackermannTopic: &ackermann_msgs.AckermannDriveStamped{Drive: ackermann_msgs.AckermannDrive{Speed: speed, SteeringAngle: wheels}},
		velocityTopic:  &geometry_msgs.Twist{Linear: geometry_msgs.Vector3{X: speed}, Angular: geometry_msgs.Vector3{Z: turn}},
	}
	return &wheel{
		spec: "ros1:" + m.address(t) + "?retry=50ms&host=127.0.0.1",
		visit: func(t *testing.T, _ []bridges.Endpoint) {
			t.Helper()
			n := m.node(t)
			for topic, message := range messages {
				publisher, err := goroslib.NewPublisher(goroslib.PublisherConf{Node: n, Topic: topic, Msg: message})
				require.NoError(t, err)
				t.Cleanup(publisher.Close)
				publishers[topic] = publisher
			}
		},
		send: func(_ *testing.T, topic string) { publishers[topic].Write(messages[topic]) },
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}
