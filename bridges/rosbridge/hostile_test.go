package rosbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/sensors/sample"
)

// attacks are what a hostile client sends again and again, by what it tries to have kept. n is
// the number of the message.
var attacks = map[string]func(n int) string{
	"long topics": func(n int) string {
		return fmt.Sprintf(`{"op":"advertise","topic":"/t%d%s","type":"a/B"}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"many topics": func(n int) string {
		return fmt.Sprintf(`{"op":"advertise","topic":"/t%d%s","type":"a/B"}`, n, bridgetest.Long(200))
	},
	"long types": func(n int) string {
		return fmt.Sprintf(`{"op":"subscribe","topic":"/t%d","type":"a/B%s"}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"long ids": func(n int) string {
		return fmt.Sprintf(`{"op":"subscribe","id":"%d%s","topic":"/clock"}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"many ids": func(n int) string {
		return fmt.Sprintf(`{"op":"subscribe","id":"%d%s","topic":"/t%d","type":"a/B"}`, n, bridgetest.Long(1000), n/64)
	},
	"fragments": func(n int) string {
		return fmt.Sprintf(`{"op":"fragment","id":"%d","num":0,"total":2,"data":"%s"}`, n%16, bridgetest.Long(bridgetest.HostilePart))
	},
	"fragments of one message": func(n int) string {
		return fmt.Sprintf(`{"op":"fragment","id":"a","num":%d,"total":200,"data":"%s"}`, n, bridgetest.Long(bridgetest.HostilePart))
	},
	"fragments to come": func(n int) string {
		return fmt.Sprintf(`{"op":"fragment","id":"%d","num":0,"total":65536,"data":"x%s"}`, n, bridgetest.Long(1000))
	},
	"calls": func(n int) string {
		return fmt.Sprintf(`{"op":"call_service","id":"%d","service":"/slow%d","args":{"x":"%s"}}`, n, n%20, bridgetest.Long(bridgetest.HostilePart))
	},
	"long operations": func(n int) string { return fmt.Sprintf(`{"op":"%s"}`, bridgetest.Long(bridgetest.HostilePart)) },
	"long levels": func(n int) string {
		return fmt.Sprintf(`{"op":"set_level","level":"%s"}`, bridgetest.Long(bridgetest.HostilePart))
	},
	"long names in publications": func(n int) string {
		return fmt.Sprintf(`{"op":"publish","topic":"/cmd_vel","msg":{"%s":1}}`, bridgetest.Long(bridgetest.HostilePart))
	},
}

// harmless are those that nothing is kept of: they aren't refused.
var harmless = []string{"long names in publications"}

// besieged returns a server that keeps bridgetest.HostileKept for a client, with services that
// answer when the test ends.
func besieged(t *testing.T) *bridges.Bridge {
	t.Helper()
	b := openedOf(t, rosbridge.Keeping(bridgetest.HostileKept), "listen=0")
	require.NoError(t, b.Connect(t.Context()))
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	for n := range 20 {
		require.NoError(t, bridges.AddService(b, fmt.Sprintf("/slow%d", n), func(ctx context.Context, _ sample.EmptyRequest) (sample.EmptyResponse, error) {
			<-ctx.Done()
			return sample.EmptyResponse{}, ctx.Err()
		}))
	}
	return b
}

// TestHostileClients: of ten times as much as the server keeps for a client, it keeps its limit
// at most. It tells the client, counts it, and serves the others.
func TestHostileClients(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 10 MiB of each thing")
	}
	for name, frame := range attacks {
		t.Run(name, func(t *testing.T) {
			b := besieged(t)
			h := bridgetest.DialHostile(t, address(b), "", false)
			h.Flood(func(n int) (byte, string) { return transport.OpText, frame(n) })
			if name != harmless[0] {
				assert.Positive(t, b.Diagnosis().Malformed)
				assert.Positive(t, h.Answer.Load(), "it is told")
				assert.Less(t, len(b.Diagnosis().LastError.Error()), 2000)
			}
			assert.NotEmpty(t, visit(t, b).values("nodes", "{}"), "others are served")
		})
	}
}

// TestRegistrationsOfAClient: a client may have so many topics and subscriptions to one, and no
// more, however little they take.
func TestRegistrationsOfAClient(t *testing.T) {
	c := visit(t, listening(t, ""))
	for _, op := range []string{"subscribe", "advertise"} {
		topic := func(n int) string { return fmt.Sprintf(`{"op":"%s","topic":"/t%d","type":"a/B"}`, op, n) }
		for n := range guard.ClientTopics {
			c.send(topic(n))
		}
		c.refused(topic(guard.ClientTopics), "4096 topics are enough for one client")
	}
	subscription := func(n int) string { return fmt.Sprintf(`{"op":"subscribe","topic":"/t0","type":"a/B","id":%d}`, n) }
	for n := range guard.TopicSubscriptions - 1 { // and one without an id
		c.send(subscription(n))
	}
	c.refused(subscription(guard.TopicSubscriptions), "64 subscriptions to one topic")
}

// TestDeafClients: one that asks and doesn't read is disconnected; nothing is kept of it.
func TestDeafClients(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 10 MiB")
	}
	b := besieged(t)
	before := bridgetest.Heap()
	h := bridgetest.DialHostile(t, address(b), "", true)
	var err error
	for sent := 0; sent < bridgetest.MuchSent && err == nil; {
		const question = `{"op":"call_service","service":"/rosapi/topics_and_raw_types"}`
		sent += len(question)
		err = h.Send(transport.OpText, []byte(question))
	}
	require.Error(t, err, "disconnected")
	assert.Less(t, bridgetest.Heap()-before, int64(bridgetest.MostKept))
	eventually(t, "counted", func() bool { return b.Diagnosis().Failures > 0 })
}

// TestLargeMessages: reading one takes ten times its size at the most, whatever it holds.
func TestLargeMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("sends messages of 4 MiB")
	}
	const size = bridgetest.LargeMessage
	twist := func(msg string) string { return `{"op":"publish","topic":"/cmd_vel","msg":` + msg + `}` }
	array := func(element string) string {
		return "[" + strings.Repeat(element+",", size/(len(element)+1)) + element + "]"
	}
	for name, message := range map[string]string{
		"a text":            twist(`{"frame":"` + bridgetest.Long(size) + `"}`),
		"escapes":           twist(`{"` + strings.Repeat(`\u0041`, size/6) + `":1}`),
		"numbers":           twist(`{"linear":` + array("0") + `}`),
		"objects":           twist(`{"linear":` + array("{}") + `}`),
		"many members":      twist(`{` + strings.Repeat(`"a":0,`, size/6) + `"b":0}`),
		"nested":            twist(`{"linear":` + strings.Repeat(`{"a":`, size/5)),
		"a fragment":        `{"op":"fragment","id":"a","num":0,"total":1,"data":"` + strings.Repeat(`\"`, size/2) + `"}`,
		"detections":        `{"op":"publish","topic":"/boxes","msg":{"detections":` + array("{}") + `}}`,
		"a topic":           `{"op":"advertise","topic":"` + bridgetest.Long(size) + `"}`,
		"an id":             `{"op":"call_service","service":"/reset","id":"` + bridgetest.Long(size) + `"}`,
		"arguments":         `{"op":"call_service","service":"/reset","args":` + array("[]") + `}`,
		"questions":         `{"op":"call_service","service":"/rosapi/topic_type","args":{"topic":"` + bridgetest.Long(size) + `"}}`,
		"no JSON":           strings.Repeat("[", size),
		"an unknown member": `{"op":"set_level","level":"none","other":` + array(`{"a":[]}`) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := listening(t, "")
			offerAll(t, b)
			require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
			require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/boxes"}, func(*sample.Detections3D) {}))
			h := bridgetest.DialHostile(t, address(b), "", false)
			h.Settle()
			h.SendLarge(transport.OpText, message)
		})
	}
}

// TestClientsThatGoLeaveNothing: a thousand clients subscribe, advertise, begin a message in
// fragments and call a service, and go by RST.
func TestClientsThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	b := listening(t, "?clients=1000")
	_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	said := []byte(bridgetest.Upgrade(""))
	for _, text := range []string{
		`{"op":"subscribe","topic":"/imu","throttle_rate":10,"queue_length":5}`,
		`{"op":"advertise","topic":"/a","type":"std_msgs/String"}`,
		`{"op":"fragment","id":"f","num":0,"total":2,"data":"` + strings.Repeat("x", 64<<10) + `"}`,
		`{"op":"call_service","service":"/rosapi/get_time","id":"done"}`,
	} {
		said = bridgetest.AppendFrame(said, 1, text)
	}
	bridgetest.Visits{Address: address(b), Said: said, Until: `"id":"done"`, Leave: bridgetest.Reset}.Run(t)
	assert.EqualValues(t, 1000, b.Diagnosis().Connections)
	assert.False(t, b.Listening("/imu"))
}

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
