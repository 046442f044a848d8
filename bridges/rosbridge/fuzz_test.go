package rosbridge_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// FuzzServer sends frames of any content to the server mode, with topics, a subscription and
// services. What it answers is JSON, and it answers the next call all the same.
func FuzzServer(f *testing.F) {
	for _, text := range []string{
		`{"op":"subscribe","id":7,"topic":"/imu","type":"sensor_msgs/Imu","compression":"cbor-raw","throttle_rate":1e300,"queue_length":-1}`,
		`{"op":"unsubscribe","topic":"/imu"}`, `{"op":"advertise","topic":"/x","type":"a/B"}`, `{"op":"unadvertise","topic":"/x"}`,
		`{"op":"publish","topic":"/cmd_vel","msg":{"linear":{"x":1}}}`, `{"op":"publish","topic":"/cmd_vel","msg":[]}`,
		`{"op":"call_service","service":"/light","args":[true]}`, `{"op":"call_service","service":"/light","args":{"data":1},"id":{"a":[null]}}`,
		`{"op":"call_service","service":"/rosapi/topic_type","args":{"topic":"/imu"}}`, `{"op":"call_service","service":"/rosapi/topics_and_raw_types","args":"x"}`,
		`{"op":"fragment","id":"a","num":0,"total":1,"data":"{\"op\":\"fragment\",\"id\":\"a\",\"num\":0,\"total\":1,\"data\":\"{\"}"}`,
		`{"op":"set_level","level":"none"}`, `{"op":"status","msg":3}`, `{"op":7}`, "}", "[]", "\xff",
	} {
		f.Add([]byte(text), true)
	}
	for _, m := range []map[string]any{
		{"op": "publish", "topic": "/cmd_vel", "msg": map[string]any{"linear": map[string]any{"x": 1.5}}},
		{"op": "call_service", "service": "/reset", "id": "an id"},
		{"op": "call_service", "service": "/rosapi/nodes", "id": []byte{0xff}, "args": map[string]any{}},
		{"op": "call_service", "service": "/none", "id": 300},
	} {
		data, err := cbor.Marshal(m)
		require.NoError(f, err)
		f.Add(data, false)
	}
	b := listening(f, "")
	_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(f, err)
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	offerAll(f, b)
	f.Fuzz(func(t *testing.T, data []byte, text bool) {
		c := visit(t, b)
		kind := websocket.MessageBinary
		if text {
			kind = websocket.MessageText
		}
		require.NoError(t, c.conn.Write(t.Context(), kind, data))
		c.send(`{"op":"call_service","id":"still there","service":"/rosapi/nodes"}`)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for answered := false; !answered; {
			_, frame, err := c.conn.Read(ctx)
			require.NoError(t, err)
			var m map[string]any
			require.NoError(t, json.Unmarshal(frame, &m), "%q", frame)
			answered = m["id"] == "still there"
		}
		require.NoError(t, c.conn.CloseNow())
	})
}
