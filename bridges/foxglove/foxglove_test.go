package foxglove_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// open returns a bridge that isn't connected.
func open(t testing.TB, connection string, env bridges.Env) *bridges.Bridge {
	t.Helper()
	return openOf(t, foxglove.Factory{}, connection, env)
}

func openOf(t testing.TB, factory foxglove.Factory, connection string, env bridges.Env) *bridges.Bridge {
	t.Helper()
	b, err := bridges.MustRegistry(factory).Open("foxglove:"+connection, env)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

// connected returns a bridge that listens on a free port.
func connected(t testing.TB, options string) *bridges.Bridge {
	t.Helper()
	b := open(t, "127.0.0.1:0"+options, bridges.Env{Run: bridges.Run{Version: "1.2.3", Scene: "city", Rig: "car", Device: "host", Seed: 42}})
	require.NoError(t, b.Connect(t.Context()))
	return b
}

// client is one connection of a test.
type client struct {
	t    testing.TB
	conn *websocket.Conn
}

// object is a JSON message.
type object map[string]any

// dial connects and reads what every client is sent first.
func dial(t testing.TB, b *bridges.Bridge) (c *client, info, advertised object) {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+b.Endpoints()[0].Address, &websocket.DialOptions{Subprotocols: []string{"foxglove.websocket.v1"}}) //nolint:bodyclose // it is the connection
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(1 << 30)
	c = &client{t, conn}
	return c, c.text("serverInfo"), c.text("advertise")
}

func (c *client) read(want websocket.MessageType) []byte {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	kind, data, err := c.conn.Read(ctx)
	require.NoError(c.t, err)
	require.Equal(c.t, want, kind, "%q", data)
	return data
}

// text reads a JSON message of an operation.
func (c *client) text(op string) object {
	c.t.Helper()
	var m object
	require.NoError(c.t, json.Unmarshal(c.read(websocket.MessageText), &m))
	require.Equal(c.t, op, m["op"], "%v", m)
	return m
}

func (c *client) say(format string, args ...any) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(c.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)))
}

func (c *client) send(data ...byte) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(c.t.Context(), websocket.MessageBinary, data))
}

// synced waits until the server has handled all that was said.
func (c *client) synced() {
	c.t.Helper()
	c.say(`{"op":"getParameters","parameterNames":["/raybridge/version"],"id":"sync"}`)
	c.text("parameterValues")
}

// message reads the data of a subscription, and its time.
func (c *client) message(subscription uint32) (data []byte, stamp simtime.Stamp) {
	c.t.Helper()
	data = c.read(websocket.MessageBinary)
	require.Equal(c.t, byte(1), data[0])
	require.Equal(c.t, subscription, binary.LittleEndian.Uint32(data[1:]))
	return data[13:], simtime.Stamp(binary.LittleEndian.Uint64(data[5:]))
}

func publisher[T any](t testing.TB, b *bridges.Bridge, topic bridges.Topic) bridges.Publisher[T] {
	t.Helper()
	publish, err := bridges.AddPublisher[T](b, topic)
	require.NoError(t, err)
	return publish
}

func channels(advertised object) map[string]object {
	byTopic := map[string]object{}
	for _, c := range advertised["channels"].([]any) {
		byTopic[c.(map[string]any)["topic"].(string)] = c.(map[string]any)
	}
	return byTopic
}

func TestFirstMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b := connected(t, "")
	_, info, advertised := dial(t, b)
	assert.Equal(t, "raybridge 1.2.3", info["name"])
	assert.Equal(t, []any{"clientPublish", "time", "parameters", "parametersSubscribe", "services"}, info["capabilities"])
	assert.Equal(t, []any{"json", "cdr", "ros1"}, info["supportedEncodings"])
	assert.Equal(t, map[string]any{"version": "1.2.3", "scene": "city", "rig": "car"}, info["metadata"])
	assert.NotEmpty(t, info["sessionId"])
	assert.Empty(t, advertised["channels"], "sent although there is none")

	_, again, _ := dial(t, b)
	assert.Equal(t, info["sessionId"], again["sessionId"], "the same server")
	require.NoError(t, b.Connect(t.Context()))
	_, other, _ := dial(t, b)
	assert.NotEqual(t, info["sessionId"], other["sessionId"], "another server")
}

// A channel says all that a reader needs: a message is decoded with the schema that was
// advertised, and nothing else.
func TestChannelsAreReadByTheirSchema(t *testing.T) {
	b := connected(t, "")
	publish := publisher[*sample.Image](t, b, bridges.Topic{Name: "/image"})
	publisher[*sample.Imu](t, b, bridges.Topic{Name: "/imu"})
	c, _, advertised := dial(t, b)
	byTopic := channels(advertised)
	imu := byTopic["/imu"]
	assert.Equal(t, []any{"cdr", "sensor_msgs/msg/Imu", "ros2msg"}, []any{imu["encoding"], imu["schemaName"], imu["schemaEncoding"]})
	assert.Contains(t, imu["schema"], "geometry_msgs/Vector3 angular_velocity")
	image := byTopic["/image"]
	assert.Equal(t, []any{"protobuf", "foxglove.RawImage", "protobuf"}, []any{image["encoding"], image["schemaName"], image["schemaEncoding"]})

	c.say(`{"op":"subscribe","subscriptions":[{"id":77,"channelId":%v}]}`, image["id"])
	c.synced()
	require.NoError(t, publish(t.Context(), bridgetest.Image(3)))
	data, at := c.message(77)
	assert.EqualValues(t, simtime.Stamp(3*bridgetest.Period), at, "the stamp, where no clock says otherwise")
	schema, err := base64.StdEncoding.DecodeString(image["schema"].(string))
	require.NoError(t, err)
	var set descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(schema, &set))
	files, err := protodesc.NewFiles(&set)
	require.NoError(t, err)
	descriptor, err := files.FindDescriptorByName("foxglove.RawImage")
	require.NoError(t, err)
	m := dynamicpb.NewMessage(descriptor.(protoreflect.MessageDescriptor))
	require.NoError(t, proto.Unmarshal(data, m))
	fields := m.Descriptor().Fields()
	assert.EqualValues(t, 4, m.Get(fields.ByName("width")).Uint())
	assert.Equal(t, bridgetest.Image(3).Data, m.Get(fields.ByName("data")).Bytes())
}

// The time of a message is when it was handed over, as the run's clock has it.
func TestMessagesHaveTheTimeOfTheHandOver(t *testing.T) {
	b := open(t, "127.0.0.1:0", bridges.Env{Now: func() simtime.Stamp { return 987_654_321_012 }})
	require.NoError(t, b.Connect(t.Context()))
	publish := publisher[*sample.Imu](t, b, bridges.Topic{Name: "/imu"})
	c, _, _ := dial(t, b)
	c.say(`{"op":"subscribe","subscriptions":[{"id":0,"channelId":1}]}`)
	c.synced()
	require.NoError(t, publish(t.Context(), &sample.Imu{}))
	_, at := c.message(0)
	assert.EqualValues(t, simtime.Stamp(987_654_321_012), at)
}

func TestTopicsThatComeLateAreAdvertised(t *testing.T) {
	b := connected(t, "")
	c, _, _ := dial(t, b)
	publish := publisher[*sample.Imu](t, b, bridges.Topic{Name: "/late"})
	late := channels(c.text("advertise"))["/late"]
	c.say(`{"op":"subscribe","subscriptions":[{"id":5,"channelId":%v}]}`, late["id"])
	c.synced()
	assert.True(t, b.Listening("/late"))
	assert.Equal(t, 1, b.Receivers("/late"))
	require.NoError(t, publish(t.Context(), &sample.Imu{}))
	c.message(5)
}

// A topic that goes is unadvertised, and ends its subscriptions. One of its name has another channel.
func TestTopicsThatGoAreUnadvertised(t *testing.T) {
	b := connected(t, "")
	publisher[*sample.Imu](t, b, bridges.Topic{Name: "/front"})
	c, _, _ := dial(t, b)
	c.say(`{"op":"subscribe","subscriptions":[{"id":5,"channelId":1}]}`)
	c.synced()
	b.Withdraw("/front")
	assert.Equal(t, []any{1.0}, c.text("unadvertise")["channelIds"])
	c.say(`{"op":"unsubscribe","subscriptionIds":[5]}`) // as viewers do
	publish := publisher[*sample.GnssFix](t, b, bridges.Topic{Name: "/front"})
	again := channels(c.text("advertise"))["/front"]
	assert.Equal(t, 2.0, again["id"])
	c.say(`{"op":"subscribe","subscriptions":[{"id":5,"channelId":1},{"id":5,"channelId":2}]}`)
	assert.Equal(t, "channel 1 is not there: subscription 5 is ignored", c.text("status")["message"], "the first that it is told")
	c.synced()
	require.NoError(t, publish(t.Context(), &sample.GnssFix{}))
	c.message(5)
}

func TestSubscriptions(t *testing.T) {
	b := connected(t, "")
	first := publisher[*sample.Imu](t, b, bridges.Topic{Name: "/first"})
	second := publisher[*sample.Imu](t, b, bridges.Topic{Name: "/second"})
	c, _, _ := dial(t, b)
	assert.False(t, b.Listening("/first"))
	assert.ErrorIs(t, first(t.Context(), &sample.Imu{}), flow.ErrNotConnected, "nobody wants it")

	c.say(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`)
	c.say(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":2}]}`)
	assert.Equal(t, "subscription 1 is in use: subscription to channel 2 is ignored", c.text("status")["message"])
	c.say(`{"op":"subscribe","subscriptions":[{"id":2,"channelId":1},{"id":3,"channelId":9}]}`)
	assert.Equal(t, "channel 1 is subscribed to as 1 already: subscription 2 is ignored", c.text("status")["message"])
	assert.Equal(t, "channel 9 is not there: subscription 3 is ignored", c.text("status")["message"])
	require.NoError(t, first(t.Context(), &sample.Imu{}))
	c.message(1)

	// The number may be used again once it is free.
	c.say(`{"op":"unsubscribe","subscriptionIds":[1,8]}`)
	assert.Equal(t, "subscription 8 is not there", c.text("status")["message"])
	c.say(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":2}]}`)
	c.synced()
	assert.False(t, b.Listening("/first"))
	require.NoError(t, second(t.Context(), &sample.Imu{}))
	c.message(1)
	d := b.Diagnosis()
	assert.Zero(t, d.Malformed+d.Failures, "none of this was malformed")
}

func TestLatchedTopics(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b := connected(t, "")
	publish := publisher[*sample.Transforms](t, b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	frames := func(name string) *sample.Transforms {
		return &sample.Transforms{Static: true, Transforms: []sample.Transform{{ChildFrameID: name, Relative: spatial.Identity()}}}
	}
	require.NoError(t, publish(t.Context(), frames("old")))
	require.NoError(t, publish(t.Context(), frames("new")))
	for range 2 { // also after a reconnection, which counts nothing twice
		for range 2 {
			c, _, _ := dial(t, b)
			c.say(`{"op":"subscribe","subscriptions":[{"id":4,"channelId":1}]}`)
			data, _ := c.message(4)
			assert.Contains(t, string(data), "new")
		}
		require.NoError(t, b.Connect(t.Context()))
	}
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, 2, row.Messages)
	assert.Empty(t, row.Drops)
}

// A clock is the protocol's time, to all clients, and a channel to those that want it.
func TestTime(t *testing.T) {
	b := connected(t, "")
	c, _, _ := dial(t, b)
	publish := publisher[*sample.Clock](t, b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	c.text("advertise")
	c.synced()
	assert.True(t, b.Listening("/clock"))
	require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: 123_456_789_012}))
	data := c.read(websocket.MessageBinary)
	require.Len(t, data, 9)
	assert.Equal(t, byte(2), data[0])
	assert.EqualValues(t, 123_456_789_012, binary.LittleEndian.Uint64(data[1:]))

	late, _, _ := dial(t, b)
	late.say(`{"op":"subscribe","subscriptions":[{"id":6,"channelId":1}]}`)
	late.synced()
	require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: 2_000_000_003}))
	content, _ := late.message(6)
	assert.Equal(t, []byte{0, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, content, "rosgraph_msgs/msg/Clock in CDR")
	assert.Equal(t, byte(2), late.read(websocket.MessageBinary)[0])
	require.Eventually(t, func() bool { return b.Statistics().Topics[0].Messages == 2 }, 10*time.Second, time.Millisecond, "each once")
}

func TestConnectingFails(t *testing.T) {
	first := connected(t, "")
	second := open(t, first.Endpoints()[0].Address, bridges.Env{})
	err := second.Connect(t.Context())
	assert.ErrorIs(t, err, transport.ErrListen)
	assert.ErrorContains(t, err, "end the program that has it, or choose another port")
	assert.Equal(t, flow.UnexpectedlyDisconnected, second.Status())
	assert.ErrorIs(t, open(t, "0?cert=none.pem&key=none.pem", bridges.Env{}).Connect(t.Context()), transport.ErrTLS)
}

func TestClientsOfAnotherProtocolAreRefused(t *testing.T) {
	b := connected(t, "")
	for _, subprotocol := range []string{"", "foxglove.websocket.v0"} {
		_, response, err := websocket.Dial(t.Context(), "ws://"+b.Endpoints()[0].Address, &websocket.DialOptions{Subprotocols: []string{subprotocol}})
		require.Error(t, err)
		assert.Equal(t, 400, response.StatusCode)
		_ = response.Body.Close()
	}
	require.Eventually(t, func() bool { return b.Diagnosis().Failures == 2 }, 10*time.Second, time.Millisecond)
	d := b.Diagnosis()
	assert.ErrorIs(t, d.LastError, transport.ErrProtocol)
	assert.ErrorContains(t, d.LastError, "foxglove.sdk.v1 or foxglove.websocket.v1")
}
