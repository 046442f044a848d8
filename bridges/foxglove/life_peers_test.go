//go:build peers

package foxglove_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// tick is how often a test looks.
const tick = 2 * time.Millisecond

// The newer subprotocol, by a client that knows nothing but the specification.
func TestSdkSubprotocol(t *testing.T) {
	b := connected(t, "")
	publish := publisher[*sample.Image](t, b, bridges.Topic{Name: "/image"})
	clock := publisher[*sample.Clock](t, b, bridges.Topic{Name: "/clock"})
	peer := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/raw.mjs", address(b)))
	assert.JSONEq(t, `{"protocol":"foxglove.sdk.v1"}`, peer.Expect(t, "protocol"))
	peer.Expect(t, `"op":"serverInfo"`)
	assert.JSONEq(t, `{"subscribed":["/image","/clock"]}`, peer.Expect(t, "subscribed"))
	require.Eventually(t, func() bool { return b.Listening("/image") }, bridgetest.Patience, tick)
	require.NoError(t, publish(t.Context(), bridgetest.Image(7)))
	got := line(t, peer.Expect(t, `"/image"`))
	assert.Equal(t, "700000000", got["time"])
	require.NoError(t, clock(t.Context(), &sample.Clock{Stamp: 5_000_000_001}))
	assert.JSONEq(t, `{"clock":"5000000001"}`, peer.Expect(t, `"clock"`))
	require.NoError(t, b.Close(t.Context()))
	peer.Expect(t, "closed 1001")
}

func TestFoxglovesClientSpeaks(t *testing.T) {
	b := connected(t, "")
	velocities := subscribed[*sample.VelocityCommand](t, b, "/cmd_vel")
	var speed atomic.Value
	speed.Store(1.0)
	require.NoError(t, bridges.AddParameter(b, bridges.Parameter{
		Name: "/speed", Get: speed.Load, Set: func(v any) error { speed.Store(v); return nil },
	}))
	require.NoError(t, bridges.AddService(b, "/pause", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{Success: r.Data, Message: "paused"}, nil
	}))
	peer := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/speaker.mjs", address(b)))
	for _, want := range []float64{1, 2, 3} { // in JSON, CDR and ROS 1's encoding
		got := next(t, velocities)
		assert.Equal(t, []float64{want, -want}, []float64{got.Twist.Linear[0], got.Twist.Angular[2]})
	}
	assert.JSONEq(t, `{"service":"/pause","type":"std_srvs/srv/SetBool",`+pauseSchemas+`}`, peer.Expect(t, `"/pause"`))
	for _, want := range []string{
		`{"values":{"op":"parameterValues","parameters":[{"name":"/raybridge/seed","value":42,"type":"float64"},{"name":"/raybridge/scene","value":"city"}],"id":"read"}}`,
		`{"values":{"op":"parameterValues","parameters":[{"name":"/speed","value":2.5,"type":"float64"}],"id":"write"}}`,
	} {
		id := want[strings.LastIndex(want, `"id"`):]
		assert.JSONEq(t, want, peer.Expect(t, strings.TrimSuffix(id, "}}")))
	}
	assert.Equal(t, 2.5, speed.Load())
	speed.Store(4.0)
	bridges.ParameterChanged(b, "/speed")
	peer.Expect(t, `"value":4`)
	answer := `{"response":{"callId":9,"encoding":"json","data":{"success":true,"message":"paused"}}}`
	require.Eventually(t, func() bool { return strings.Contains(peer.Output(), answer) }, bridgetest.Patience, tick, "an answer, before or after the value")
	assert.Zero(t, b.Diagnosis().Malformed)
	assert.NotContains(t, peer.Output(), `"status"`)
}

// pauseSchemas are those of std_srvs/SetBool, in the fields of today and in the deprecated ones.
const (
	setBool      = `{\"type\":\"object\",\"properties\":{\"data\":{\"type\":\"boolean\"}}}`
	result       = `{\"type\":\"object\",\"properties\":{\"success\":{\"type\":\"boolean\"},\"message\":{\"type\":\"string\"}}}`
	pauseSchemas = `"request":{"encoding":"json","schemaName":"std_srvs/srv/SetBool_Request","schemaEncoding":"jsonschema","schema":"` + setBool + `"},` +
		`"response":{"encoding":"json","schemaName":"std_srvs/srv/SetBool_Response","schemaEncoding":"jsonschema","schema":"` + result + `"},` +
		`"older":["` + setBool + `","` + result + `"]`
)

// counted returns how many messages of a topic a viewer has counted.
func counted(t *testing.T, viewer *bridgetest.Process, topic string) int {
	t.Helper()
	var line struct{ Counts map[string]int }
	require.NoError(t, json.Unmarshal([]byte(viewer.Expect(t, `"counts"`)), &line))
	return line.Counts[topic]
}

// A viewer is stopped in its tracks: another continues and misses nothing. The first is told
// what it lost, or was disconnected; killed and started again it is served again.
func TestViewersStallAndDie(t *testing.T) {
	b := connected(t, "?messages=8")
	publish := publisher[*sample.Image](t, b, bridges.Topic{Name: "/image"})
	count := func() *bridgetest.Process {
		before := b.Diagnosis().Connections
		p := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/viewer.mjs", address(b), "count"))
		p.Expect(t, "subscribed")
		require.Eventually(t, func() bool { return b.Diagnosis().Connections > before }, bridgetest.Patience, tick)
		return p
	}
	fast := count()
	require.Eventually(t, func() bool { return b.Listening("/image") }, bridgetest.Patience, tick)
	slow := count()
	image := &sample.Image{Width: 1024, Height: 1024, Step: 1024, Encoding: sample.EncodingMono8, Data: make([]byte, 1<<20)}
	sent := 0
	send := func(messages int) {
		for range messages {
			require.NoError(t, publish(t.Context(), image))
			sent++
			// The one that reads has it before the next is sent.
			require.Equal(t, sent, counted(t, fast, "/image"))
		}
	}
	send(5)
	slow.Stall()
	send(60)
	assert.Positive(t, b.Statistics().Topics[0].Drops[flow.CausePeerSlow])
	slow.Resume()
	slow.Expect(t, "this client reads too slowly")
	slow.Expect(t, `"removed":["raybridge/dropped"]`)

	slow.Kill()
	slow = count()
	for end := time.Now().Add(bridgetest.Patience); !strings.Contains(slow.Output(), `"counts"`); { // its subscription is on its way
		require.True(t, time.Now().Before(end), "it is served anew")
		send(1)
	}
	send(4)
	for n := range 5 {
		assert.Equal(t, n+1, counted(t, slow, "/image"))
	}
}

func TestRubbishOfAPeer(t *testing.T) {
	b := connected(t, "")
	publish := publisher[*sample.Image](t, b, bridges.Topic{Name: "/image"})
	peer := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/raw.mjs", address(b), "rubbish"))
	for range 8 { // all but the service's, which has an answer of its own, are told as a status
		peer.Expect(t, `"op":"status","level":2`)
	}
	require.Eventually(t, func() bool { return b.Diagnosis().Malformed == 9 }, bridgetest.Patience, tick)
	require.NoError(t, publish(t.Context(), bridgetest.Image(0)))
	peer.Expect(t, `"topic":"/image"`)
}
