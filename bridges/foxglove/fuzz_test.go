package foxglove_test

import (
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// FuzzClientFrames sends frames of any content to a server with topics, subscriptions and
// a service: it answers the next question all the same.
func FuzzClientFrames(f *testing.F) {
	for _, text := range []string{
		`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`, `{"op":"unsubscribe","subscriptionIds":[1]}`,
		`{"op":"advertise","channels":[{"id":1,"topic":"/cmd_vel","encoding":"json","schemaName":"geometry_msgs/Twist"}]}`,
		`{"op":"advertise","channels":[{"id":2,"topic":"/cmd_vel","encoding":"cdr","schemaName":"geometry_msgs/msg/Twist"}]}`,
		`{"op":"unadvertise","channelIds":[1]}`, `{"op":"getParameters","parameterNames":[]}`,
		`{"op":"setParameters","parameters":[{"name":"/raybridge/seed","value":[1,{"a":null}],"type":"byte_array"}]}`,
		`{"op":"subscribeParameterUpdates","parameterNames":["/a"]}`, `{"op":"unsubscribeParameterUpdates","parameterNames":[]}`, `{"op":1}`, `[`,
	} {
		f.Add(true, []byte(text))
	}
	for _, data := range []string{
		"", "\x01\x01\x00\x00\x00{\"linear\":{\"x\":1}}", "\x01\x02\x00\x00\x00\x00\x01\x00\x00", "\x02\x01\x00\x00\x00\x07\x00\x00\x00\x04\x00\x00\x00json{}", "\x03", "\x02\xff",
	} {
		f.Add(false, []byte(data))
	}
	b := connected(f, "")
	publisher[*sample.Imu](f, b, bridges.Topic{Name: "/imu"})
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	f.Fuzz(func(t *testing.T, text bool, data []byte) {
		c, _, _ := dial(t, b)
		kind := websocket.MessageBinary
		if text {
			kind = websocket.MessageText
		}
		require.NoError(t, c.conn.Write(t.Context(), kind, data))
		c.say(`{"op":"getParameters","parameterNames":["/raybridge/version"],"id":"alive"}`)
		for {
			kind, data, err := c.conn.Read(t.Context())
			require.NoError(t, err)
			if kind == websocket.MessageText && string(data) ==
				`{"op":"parameterValues","parameters":[{"name":"/raybridge/version","value":"1.2.3"}],"id":"alive"}` {
				break
			}
		}
		require.NoError(t, c.conn.CloseNow())
	})
}
