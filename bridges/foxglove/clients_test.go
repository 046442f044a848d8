package foxglove_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// subscribed has a bridge's messages of a topic delivered to a channel.
func subscribed[T any](t *testing.T, b *bridges.Bridge, topic string) <-chan T {
	t.Helper()
	messages := make(chan T, 16)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: topic}, func(m T) { messages <- m }))
	return messages
}

func next[T any](t *testing.T, messages <-chan T) T {
	t.Helper()
	select {
	case m := <-messages:
		return m
	case <-time.After(30 * time.Second):
		require.Fail(t, "nothing arrived")
	}
	panic("unreachable")
}

// publish sends a message on a channel of the client's.
func (c *client) publish(channel uint32, content []byte) {
	c.t.Helper()
	c.send(append(binary.LittleEndian.AppendUint32([]byte{1}, channel), content...)...)
}

// Commands arrive in all encodings, under both ways of naming a type.
func TestClientsPublishCommands(t *testing.T) {
	b := connected(t, "")
	velocities := subscribed[*sample.VelocityCommand](t, b, "/cmd_vel")
	controls := subscribed[*sample.VehicleControl](t, b, "/control")
	drives := subscribed[*sample.AckermannDrive](t, b, "/drive")
	c, _, _ := dial(t, b)
	twist := &ros.Twist{Linear: ros.Vector3{X: 2.5}, Angular: ros.Vector3{Z: -0.25}}
	json := `{"linear":{"x":2.5,"y":0,"z":0},"angular":{"x":0,"y":0,"z":-0.25}}`
	for id, e := range []struct {
		encoding, schema string
		content          []byte
	}{
		{"json", "geometry_msgs/Twist", []byte(json)},
		{"json", "geometry_msgs/msg/Twist", []byte(json)},
		{"cdr", "geometry_msgs/msg/Twist", encode.CDR.Encoder().Append(nil, twist)},
		{"ros1", "geometry_msgs/Twist", encode.ROS1.Encoder().Append(nil, twist)},
	} {
		c.say(`{"op":"advertise","channels":[{"id":%d,"topic":"/cmd_vel","encoding":%q,"schemaName":%q}]}`, id, e.encoding, e.schema)
		c.publish(uint32(id), e.content)
		got := next(t, velocities)
		assert.Equal(t, mgl64.Vec3{2.5, 0, 0}, got.Twist.Linear, e.encoding)
		assert.Equal(t, mgl64.Vec3{0, 0, -0.25}, got.Twist.Angular, e.encoding)
	}
	c.say(`{"op":"advertise","channels":[{"id":10,"topic":"/control","encoding":"cdr","schemaName":"lgsvl_msgs/msg/VehicleControlData"},` +
		`{"id":11,"topic":"/drive","encoding":"cdr","schemaName":"ackermann_msgs/msg/AckermannDriveStamped"}]}`)
	c.publish(10, encode.CDR.Encoder().Append(nil, &ros.VehicleControlData{AccelerationPct: 0.5, BrakingPct: 0.25}))
	control := next(t, controls)
	assert.Equal(t, []float64{0.5, 0.25}, []float64{control.Acceleration, control.Braking})
	drive := &ros.AckermannDriveStamped{Header: ros.Header{Stamp: ros.Time{Sec: 3, Nanosec: 4}}}
	drive.Drive.Speed = 7
	c.publish(11, encode.CDR.Encoder().Append(nil, drive))
	got := next(t, drives)
	assert.EqualValues(t, 7, got.Speed)
	assert.EqualValues(t, simtime.Stamp(3_000_000_004), got.Stamp)
	c.say(`{"op":"unadvertise","channelIds":[10,12]}`)
	assert.Equal(t, "channel 12 of the client is not advertised", c.text("status")["message"])
	assert.Zero(t, b.Diagnosis().Malformed)
}

// What a client does wrong it is told, and it counts; the connection stays.
func TestBadCommands(t *testing.T) {
	b := connected(t, "")
	velocities := subscribed[*sample.VelocityCommand](t, b, "/cmd_vel")
	c, _, _ := dial(t, b)
	told := func(want string) {
		t.Helper()
		assert.Contains(t, c.text("status")["message"], want)
	}
	c.publish(3, nil)
	told("message on channel 3, which is not advertised")
	c.say(`{"op":"advertise","channels":[{"id":1,"topic":"/cmd_vel","encoding":"protobuf","schemaName":"geometry_msgs/Twist"}]}`)
	told(`encoding "protobuf" is unknown: want one of [json cdr ros1]`)
	c.say(`{"op":"advertise","channels":[{"id":1,"topic":"/cmd_vel","encoding":"json","schemaName":"std_msgs/String"}]}`)
	told("topic /cmd_vel has messages of geometry_msgs/msg/Twist, not of std_msgs/String")
	c.publish(1, []byte(`{}`))
	told("topic /cmd_vel has messages of geometry_msgs/msg/Twist")
	c.say(`{"op":"advertise","channels":[{"id":1,"topic":"/cmd_vel","encoding":"json","schemaName":"geometry_msgs/Twist"}]}`)
	told("channel 1 of the client is advertised already")
	c.say(`{"op":"advertise","channels":[{"id":2,"topic":"/other","encoding":"json","schemaName":"geometry_msgs/Twist"}]}`)
	before := b.Diagnosis()
	c.synced() // and told nothing: viewers advertise all that their panels could publish
	c.publish(2, []byte(`{}`))
	told("nobody subscribes to /other; subscribed to are: /cmd_vel (geometry_msgs/msg/Twist)")
	c.publish(2, []byte(`{}`))
	c.synced() // it is told once
	assert.Equal(t, before, b.Diagnosis(), "what it publishes there is ignored, and not malformed")
	c.say(`{"op":"advertise","channels":[{"id":4,"topic":"/cmd_vel","encoding":"cdr","schemaName":"geometry_msgs/Twist"}]}`)
	c.publish(4, []byte{1, 2, 3})
	told("topic /cmd_vel: decode geometry_msgs/msg/Twist")
	c.publish(4, encode.CDR.Encoder().Append(nil, &ros.Twist{Linear: ros.Vector3{X: math.NaN()}}))
	told("command makes no sense")
	for _, text := range []string{"{", `"text"`, `{}`, `{"op":"fetchAsset"}`} {
		c.say("%s", text)
		c.text("status")
	}
	c.send(9)
	told("unknown opcode 9")
	c.synced()
	d := b.Diagnosis()
	assert.EqualValues(t, 9, d.Malformed)
	assert.Zero(t, d.Failures)
	assert.Empty(t, velocities)
}

func TestParameters(t *testing.T) {
	b := connected(t, "")
	var speed atomic.Value
	speed.Store(1.0)
	require.NoError(t, bridges.AddParameter(b, bridges.Parameter{
		Name: "/speed", Get: speed.Load,
		Set: func(v any) error {
			f, ok := v.(float64)
			if !ok {
				return errors.New("want a number")
			}
			speed.Store(f)
			return nil
		},
	}))
	require.NoError(t, bridges.AddParameter(b, bridges.Parameter{Name: "/nan", Get: func() any { return math.NaN() }}))
	err := bridges.AddParameter(b, bridges.Parameter{Name: "/speed"})
	assert.ErrorIs(t, err, bridges.ErrDuplicate)
	c, _, _ := dial(t, b)
	watcher, _, _ := dial(t, b)
	value := func(name string, v any) map[string]any {
		m := map[string]any{"name": name, "value": v}
		if _, ok := v.(float64); ok {
			m["type"] = "float64"
		}
		return m
	}
	c.say(`{"op":"getParameters","parameterNames":[],"id":"all"}`)
	all := c.text("parameterValues")
	assert.Equal(t, "all", all["id"])
	assert.Equal(t, []any{
		value("/raybridge/version", "1.2.3"), value("/raybridge/scene", "city"), value("/raybridge/rig", "car"), value("/raybridge/device", "host"), value("/raybridge/seed", 42.0),
		value("/speed", 1.0), map[string]any{"name": "/nan"},
	}, all["parameters"])

	watcher.say(`{"op":"subscribeParameterUpdates","parameterNames":["/speed"]}`)
	assert.Equal(t, []any{value("/speed", 1.0)}, watcher.text("parameterValues")["parameters"])
	c.say(`{"op":"setParameters","parameters":[{"name":"/speed","value":3}],"id":"set"}`)
	assert.Equal(t, []any{value("/speed", 3.0)}, c.text("parameterValues")["parameters"])
	assert.Equal(t, []any{value("/speed", 3.0)}, watcher.text("parameterValues")["parameters"])
	assert.Equal(t, 3.0, speed.Load())

	c.say(`{"op":"setParameters","parameters":[{"name":"/raybridge/seed","value":7},{"name":"/no","value":1},{"name":"/speed","value":"fast"}],"id":"bad"}`)
	assert.Equal(t, "parameter /raybridge/seed: parameter can't be changed", c.text("status")["message"])
	assert.Equal(t, "parameter /no: there is none of this name", c.text("status")["message"])
	assert.Equal(t, "parameter /speed: want a number", c.text("status")["message"])
	assert.Equal(t, []any{value("/raybridge/seed", 42.0), value("/speed", 3.0)}, c.text("parameterValues")["parameters"], "as they are")

	speed.Store(4.0)
	bridges.ParameterChanged(b, "/speed")
	assert.Equal(t, []any{value("/speed", 4.0)}, watcher.text("parameterValues")["parameters"])
	watcher.say(`{"op":"unsubscribeParameterUpdates","parameterNames":[]}`)
	watcher.synced()
	bridges.ParameterChanged(b, "/speed")
	watcher.synced()
}

// A seed that a JSON number can't hold exactly is told as text.
func TestLargeSeeds(t *testing.T) {
	b := open(t, "127.0.0.1:0", bridges.Env{Run: bridges.Run{Seed: math.MaxUint64}})
	require.NoError(t, b.Connect(t.Context()))
	c, _, _ := dial(t, b)
	c.say(`{"op":"getParameters","parameterNames":["/raybridge/seed"]}`)
	assert.Equal(t, []any{map[string]any{"name": "/raybridge/seed", "value": "18446744073709551615"}}, c.text("parameterValues")["parameters"])
}

// call calls a service and reads the response, or the reason of the failure.
func (c *client) call(service, call uint32, encoding, request string) {
	c.t.Helper()
	data := binary.LittleEndian.AppendUint32([]byte{2}, service)
	data = binary.LittleEndian.AppendUint32(data, call)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(encoding)))
	c.send(append(append(data, encoding...), request...)...)
}

func TestServices(t *testing.T) {
	b := connected(t, "")
	early, _, _ := dial(t, b)
	require.NoError(t, bridges.AddService(b, "/pause", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		if !r.Data {
			return sample.SetBoolResponse{}, errors.New("not paused")
		}
		return sample.SetBoolResponse{Success: true, Message: "paused"}, nil
	}))
	assert.ErrorIs(t, bridges.AddService(b, "/pause", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		return sample.EmptyResponse{}, nil
	}), bridges.ErrService)
	offered := early.text("advertiseServices")["services"].([]any)[0].(map[string]any)
	const input, output = `{"type":"object","properties":{"data":{"type":"boolean"}}}`,
		`{"type":"object","properties":{"success":{"type":"boolean"},"message":{"type":"string"}}}`
	assert.Equal(t, map[string]any{
		"id": 1.0, "name": "/pause", "type": "std_srvs/srv/SetBool",
		"request":       map[string]any{"encoding": "json", "schemaName": "std_srvs/srv/SetBool_Request", "schemaEncoding": "jsonschema", "schema": input},
		"response":      map[string]any{"encoding": "json", "schemaName": "std_srvs/srv/SetBool_Response", "schemaEncoding": "jsonschema", "schema": output},
		"requestSchema": input, "responseSchema": output, // deprecated
	}, offered)
	c, _, _ := dial(t, b)
	assert.Equal(t, offered, c.text("advertiseServices")["services"].([]any)[0])

	c.call(1, 55, "json", `{"data":true}`)
	response := c.read(websocket.MessageBinary)
	assert.Equal(t, "\x03\x01\x00\x00\x00\x37\x00\x00\x00\x04\x00\x00\x00json"+`{"success":true,"message":"paused"}`, string(response))
	for _, bad := range []struct {
		service           uint32
		encoding, request string
		want              string
	}{
		{1, "json", `{"data":false}`, "not paused"},
		{1, "json", `{"data":`, "read request"},
		{1, "cdr", "", `service /pause takes json, not "cdr"`},
		{2, "json", "", "service 2 is not there"},
	} {
		c.call(bad.service, 56, bad.encoding, bad.request)
		failure := c.text("serviceCallFailure")
		assert.Contains(t, failure["message"], bad.want)
		assert.Equal(t, 56.0, failure["callId"])
	}
}
