package rosbridge_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// listening returns a bridge that serves on a free port.
func listening(t testing.TB, options string) *bridges.Bridge {
	t.Helper()
	b := opened(t, "listen=0"+options)
	require.NoError(t, b.Connect(t.Context()))
	return b
}

func address(b *bridges.Bridge) string { return b.Endpoints()[0].Address }

// client is a client of the server that the bridge is.
type client struct {
	t    testing.TB
	conn *websocket.Conn
}

func visit(t testing.TB, b *bridges.Bridge) *client {
	t.Helper()
	return visitURL(t, "ws://"+address(b), nil)
}

func visitURL(t testing.TB, url string, options *websocket.DialOptions) *client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url, options) //nolint:bodyclose // the library closes it
	require.NoError(t, err)
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{t, conn}
}

func (c *client) send(frame string) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(c.t.Context(), websocket.MessageText, []byte(frame)))
}

// next returns the next frame as JSON or CBOR has it.
func (c *client) next() (m map[string]any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	kind, frame, err := c.conn.Read(ctx)
	require.NoError(c.t, err)
	if kind == websocket.MessageBinary {
		mode, err := cbor.DecOptions{DefaultMapType: nil}.DecMode()
		require.NoError(c.t, err)
		require.NoError(c.t, mode.Unmarshal(frame, &m))
	} else {
		require.NoError(c.t, json.Unmarshal(frame, &m))
	}
	return m
}

// call calls a service and returns its answer, which is the next frame: what was sent
// before has been worked off then.
func (c *client) call(service, args string) map[string]any {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"op":"call_service","id":"id of %[1]s","service":%[1]q,"args":%[2]s}`, service, args))
	m := c.next()
	require.Equal(c.t, "service_response", m["op"], "%v", m)
	return m
}

// values is what rosapi answers.
func (c *client) values(service, args string) map[string]any {
	c.t.Helper()
	m := c.call("/rosapi/"+service, args)
	require.Equal(c.t, true, m["result"], "%v", m)
	return m["values"].(map[string]any)
}

// refused sends a frame that the server complains of.
func (c *client) refused(frame, reason string) {
	c.t.Helper()
	c.send(frame)
	m := c.next()
	assert.Equal(c.t, "status error", fmt.Sprint(m["op"], " ", m["level"]), "%v", m)
	assert.Contains(c.t, m["msg"], reason)
}

func TestServerOfAllForms(t *testing.T) {
	b := listening(t, "")
	out, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	assert.ErrorIs(t, out(t.Context(), &sample.Clock{}), flow.ErrNotConnected, "nobody listens")
	assert.False(t, b.Listening("/clock"))
	clients := map[string]*client{"none": visit(t, b), "cbor": visit(t, b), "cbor-raw": visit(t, b)}
	for compression, c := range clients {
		c.send(fmt.Sprintf(`{"op":"subscribe","topic":"/clock","type":"rosgraph_msgs/Clock","compression":%q}`, compression))
		c.values("nodes", "{}")
	}
	assert.True(t, b.Listening("/clock"))
	assert.Equal(t, 3, b.Receivers("/clock"))
	require.NoError(t, out(t.Context(), &sample.Clock{Stamp: 1_500_000_000}))
	assert.Equal(t, map[string]any{"op": "publish", "topic": "/clock", "msg": map[string]any{
		"clock": map[string]any{"secs": 1.0, "nsecs": 500_000_000.0},
	}}, clients["none"].next())
	assert.Equal(t, map[string]any{"op": "publish", "topic": "/clock", "msg": map[any]any{
		"clock": map[any]any{"secs": uint64(1), "nsecs": uint64(500_000_000)},
	}}, clients["cbor"].next())
	assert.Equal(t, map[string]any{"op": "publish", "topic": "/clock", "msg": map[any]any{
		"secs": uint64(1), "nsecs": uint64(500_000_000), "bytes": []byte{1, 0, 0, 0, 0, 0x65, 0xcd, 0x1d},
	}}, clients["cbor-raw"].next())
	eventually(t, "counted once", func() bool { return b.Statistics().Messages == 1 })
	for _, c := range clients {
		c.send(`{"op":"unsubscribe","topic":"/clock"}`)
		c.values("nodes", "{}")
	}
	assert.False(t, b.Listening("/clock"))
	assert.Zero(t, b.Receivers("/clock"))
}

func TestServerOfROS2(t *testing.T) {
	b := listening(t, "?ros=2&gps=nmea")
	_, err := bridges.AddPublisher[*sample.GnssFix](b, bridges.Topic{Name: "/fix"})
	require.NoError(t, err)
	out, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	c := visit(t, b)
	assert.Equal(t, map[string]any{
		"topics": []any{"/clock", "/fix"}, "types": []any{"rosgraph_msgs/msg/Clock", "nmea_msgs/msg/Sentence"},
	}, c.values("topics", "{}"))
	c.send(`{"op":"subscribe","topic":"/clock","compression":"cbor-raw"}`)
	c.values("nodes", "{}")
	require.NoError(t, out(t.Context(), &sample.Clock{Stamp: 7_000_000_001}))
	assert.Equal(t, []byte{0, 1, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0}, c.next()["msg"].(map[any]any)["bytes"])
	assert.Equal(t, map[string]any{"time": map[string]any{"sec": 7.0, "nanosec": 1.0}}, c.values("get_time", "{}"))
}

func TestRosapi(t *testing.T) {
	b := listening(t, "")
	_, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	offerAll(t, b)
	c := visit(t, b)
	strings := func(s ...any) []any { return append([]any{}, s...) }
	for _, q := range []struct {
		service, args string
		want          map[string]any
	}{
		{"topics", "{}", map[string]any{"topics": strings("/cmd_vel", "/image"), "types": strings("geometry_msgs/Twist", "sensor_msgs/Image")}},
		{"topic_type", `{"topic":"/image"}`, map[string]any{"type": "sensor_msgs/Image"}},
		{"topic_type", `{"topic":"/none"}`, map[string]any{"type": ""}},
		{"topics_for_type", `{"type":"sensor_msgs/msg/Image"}`, map[string]any{"topics": strings("/image")}},
		{"topics_for_type", `{"type":"a/B"}`, map[string]any{"topics": strings()}},
		{"services", "[]", map[string]any{"services": strings("/light", "/reset", "/shoot")}},
		{"service_type", `{"service":"/light"}`, map[string]any{"type": "std_srvs/SetBool"}},
		{"services_for_type", `{"type":"std_srvs/Empty"}`, map[string]any{"services": strings("/reset")}},
		{"nodes", "null", map[string]any{"nodes": strings("/raybridge")}},
		{"node_details", `{"node":"/raybridge"}`, map[string]any{
			"publishing": strings("/image"), "subscribing": strings("/cmd_vel"), "services": strings("/light", "/reset", "/shoot"),
		}},
		{"publishers", `{"topic":"/image"}`, map[string]any{"publishers": strings("/raybridge")}},
		{"subscribers", `{"topic":"/image"}`, map[string]any{"subscribers": strings()}},
	} {
		assert.Equal(t, q.want, c.values(q.service, q.args), "%s %s", q.service, q.args)
	}
	raw := c.values("topics_and_raw_types", "{}")["typedefs_full_text"].([]any)
	assert.Contains(t, raw[0], "MSG: geometry_msgs/Vector3")
	for service, args := range map[string]string{"/rosapi/get_param": "{}", "/none": "{}", "/rosapi/topic_type": `{"topic":7}`} {
		m := c.call(service, args)
		assert.Equal(t, false, m["result"], service)
		assert.NotEmpty(t, m["values"])
		assert.Equal(t, "id of "+service, m["id"])
	}
	assert.Equal(t, map[string]any{"success": true, "message": `the "light"`}, c.call("/light", "[true]")["values"])
	assert.Equal(t, false, c.call("/light", "[true,false]")["result"])
	assert.Equal(t, true, c.call("/reset", "[]")["result"])
}

func TestServerRefuses(t *testing.T) {
	b := listening(t, "")
	_, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	got := make(chan *sample.VehicleControl, 1)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(v *sample.VehicleControl) { got <- v }))
	c := visit(t, b)
	for frame, reason := range map[string]string{
		"}": "not a rosbridge frame", `{"op":"dance"}`: "dance", `{"op":"png"}`: "png", `{"op":"auth"}`: "auth",
		`{"op":"subscribe","topic":"/image","compression":"png"}`:                  "compression",
		`{"op":"subscribe","topic":"/image","type":"sensor_msgs/Imu"}`:             "it is \"sensor_msgs/Image\"",
		`{"op":"subscribe","topic":"/none"}`:                                       "no such topic",
		`{"op":"subscribe","topic":"/1st","type":"a/B"}`:                           "bad topic name",
		`{"op":"advertise","topic":"/image","type":"sensor_msgs/Imu"}`:             "it is",
		`{"op":"publish","topic":"/none","msg":{}}`:                                "no such topic",
		`{"op":"publish","topic":"/control"}`:                                      "no msg",
		`{"op":"publish","topic":"/control","msg":{"acceleration_pct":"much"}}`:    "acceleration_pct",
		`{"op":"publish","topic":"/control","msg":{"target_gear":77}}`:             "target_gear",
		`{"op":"fragment","id":"a","num":0,"total":1,"data":"{\"op\":\"dance\"}"}`: "dance",
		`{"op":"advertise_service","type":"std_srvs/Empty","service":"/reset"}`:    "advertise_service",
	} {
		c.refused(frame, reason)
	}
	assert.Empty(t, got)
	assert.Eventually(t, func() bool { return b.Diagnosis().Malformed >= 15 }, 5*time.Second, time.Millisecond, "a refusal counts once it is answered")
	c.send(`{"op":"fragment","id":"a","num":1,"total":2,"data":"\"msg\":{\"acceleration_pct\":0.5}}"}`)
	c.send(`{"op":"fragment","id":"a","num":0,"total":2,"data":"{\"op\":\"publish\",\"topic\":\"/control\","}`)
	assert.InDelta(t, 0.5, (<-got).Acceleration, 1e-6)
	c.send(`{"op":"set_level","level":"none"}`)
	c.send(`{"op":"dance"}`)
	assert.NotEmpty(t, c.values("nodes", "{}"), "no status comes before")
	assert.Equal(t, flow.Connected, b.Status())
}

// TestLevels: a client is told as much as it asks for, with the operation's id.
func TestLevels(t *testing.T) {
	b := listening(t, "")
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(*sample.VehicleControl) {}))
	refused := []string{`{"op":"dance","id":"d"}`, `{"op":"subscribe","topic":"/none","id":7}`}
	without := []string{ // effect
		`{"op":"unadvertise","topic":"/control","id":"d"}`, `{"op":"unsubscribe","topic":"/clock","id":"d"}`,
		`{"op":"subscribe","topic":"/later","type":"a/B","id":"d"}`, `{"op":"advertise","topic":"/nobodys","type":"a/B","id":"d"}`,
	}
	done := []string{
		`{"op":"subscribe","topic":"/clock","id":"d"}`, `{"op":"unsubscribe","topic":"/clock","id":"d"}`, `{"op":"unsubscribe","topic":"/later","id":"d"}`,
		`{"op":"advertise","topic":"/control","type":"lgsvl_msgs/VehicleControlData","id":"d"}`, `{"op":"unadvertise","topic":"/control","id":"d"}`,
	}
	for level, want := range map[string][]int{"": {2, 0, 0}, "error": {2, 0, 0}, "none": {0, 0, 0}, "warning": {2, 4, 0}, "info": {2, 4, 5}} {
		c := visit(t, b)
		if level != "" {
			c.send(`{"op":"set_level","level":"` + level + `","id":"l"}`)
		}
		if level == "info" {
			assert.Equal(t, map[string]any{"op": "status", "level": "info", "msg": "level is info", "id": "l"}, c.next())
		}
		for i, frames := range [][]string{refused, without, done} {
			for _, frame := range frames {
				c.send(frame)
			}
			c.send(`{"op":"call_service","service":"/rosapi/nodes","id":"end"}`)
			got := 0
			for m := c.next(); m["op"] != "service_response"; m = c.next() {
				assert.Equal(t, []string{"error", "warning", "info"}[i], m["level"], "%v at %q", m, level)
				assert.Contains(t, []any{"d", 7.0}, m["id"])
				got++
			}
			assert.Equal(t, want[i], got, "of kind %d at level %q", i, level)
		}
	}
	c := visit(t, b)
	c.refused(`{"op":"set_level","level":"loud"}`, "want info, warning, error or none")
	c.refused(`{"op":"dance"}`, "dance") // it changed nothing
}

// TestInfinitiesForBrowsers: their JSON.parse refuses Python's words.
func TestInfinitiesForBrowsers(t *testing.T) {
	b := listening(t, "")
	c := visit(t, b)
	c.send(`{"op":"subscribe","topic":"/scan","type":"sensor_msgs/msg/LaserScan"}`)
	out, err := bridges.AddPublisher[*sample.LaserScan](b, bridges.Topic{Name: "/scan"})
	require.NoError(t, err)
	c.values("nodes", "{}")
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	require.NoError(t, out(t.Context(), &sample.LaserScan{AngleMax: 1, AngleIncrement: 0.25, RangeMax: 30, Ranges: []float32{1.5, inf, -inf, nan}}))
	assert.Equal(t, []any{1.5, nil, nil, nil}, at(c.next(), "msg.ranges"))
}

// TestNonFiniteCommands: clients in Python and in JavaScript write them differently.
func TestNonFiniteCommands(t *testing.T) {
	b := listening(t, "")
	got := make(chan *sample.Detections2D, 1)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/boxes"}, func(d *sample.Detections2D) { got <- d }))
	c := visit(t, b)
	for score, want := range map[string]float64{"NaN": math.NaN(), "null": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)} {
		c.send(`{"op":"publish","topic":"/boxes","msg":{"detections":[{"label":"x","score":` + score + `}]}}`)
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint((<-got).Boxes[0].Score), score)
	}
}

// Subscriptions come before their topics, and several of one client to one topic come to
// one.
func TestSubscriptionsOfAClient(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b := listening(t, "")
	c := visit(t, b)
	c.send(`{"op":"subscribe","id":"a","topic":"/clock","type":"rosgraph_msgs/msg/Clock","throttle_rate":1e300,"queue_length":1}`)
	c.send(`{"op":"subscribe","id":"wrong","topic":"/image","type":"a/B"}`)
	c.values("nodes", "{}")
	_, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	assert.Equal(t, "error", c.next()["level"], "its type is another")
	assert.False(t, b.Listening("/image"))
	out, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	send := func(ns int64) { require.NoError(t, out(t.Context(), &sample.Clock{Stamp: simtime.Stamp(ns)})) }
	nsecs := func(m map[string]any) any { return at(m, "msg.clock.nsecs") }
	send(1)
	assert.Equal(t, 1.0, nsecs(c.next()))
	send(2)
	send(3)
	c.send(`{"op":"subscribe","id":"b","topic":"/clock"}`) // without a limit
	c.values("nodes", "{}")
	send(4)
	assert.Equal(t, 4.0, nsecs(c.next()))
	c.send(`{"op":"unsubscribe","id":"b","topic":"/clock"}`)
	c.values("nodes", "{}")
	send(5)
	assert.Equal(t, 5.0, nsecs(c.next()), "a new time begins")
	send(6)
	c.send(`{"op":"unsubscribe","topic":"/clock"}`)
	c.values("nodes", "{}")
	assert.False(t, b.Listening("/clock"))
	require.NoError(t, b.Close(t.Context()))
	sum := b.Statistics()
	assert.EqualValues(t, 3, sum.Messages)
	assert.EqualValues(t, 3, sum.Drops.Total(), "those that nobody was due for")
}

// Topics that are transient local hand their last message to each client that comes.
func TestLateClients(t *testing.T) {
	b := listening(t, "")
	out, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	require.NoError(t, out(t.Context(), &sample.Clock{Stamp: 1}))
	require.NoError(t, out(t.Context(), &sample.Clock{Stamp: 2}))
	sum := b.Statistics()
	assert.EqualValues(t, 2, sum.Messages, "they are kept for those to come")
	assert.Positive(t, sum.Bytes)
	assert.Empty(t, sum.Drops)
	for _, compression := range []string{"none", "cbor", "cbor-raw"} {
		c := visit(t, b)
		c.send(fmt.Sprintf(`{"op":"subscribe","topic":"/static","compression":%q}`, compression))
		assert.Equal(t, "publish", c.next()["op"], compression)
	}
}

// A topic that goes leaves rosapi's lists. Its subscribers receive what comes under its
// name, unless that has another type than was asked for.
func TestTopicsComeAndGo(t *testing.T) {
	b := listening(t, "")
	add := func() bridges.Publisher[*sample.Image] {
		out, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/front"})
		require.NoError(t, err)
		return out
	}
	add()
	c := visit(t, b)
	c.send(`{"op":"subscribe","topic":"/front","type":"sensor_msgs/Image"}`)
	assert.Contains(t, c.values("topics", "{}")["topics"], "/front")
	b.Withdraw("/front")
	assert.NotContains(t, c.values("topics", "{}")["topics"], "/front")
	again := add()
	require.NoError(t, again(t.Context(), &sample.Image{Width: 1, Height: 1, Step: 1, Encoding: sample.EncodingMono8, Data: []byte{7}}))
	assert.Equal(t, "publish", c.next()["op"])
	b.Withdraw("/front")
	c.send(`{"op":"set_level","level":"error"}`)
	c.values("nodes", "{}")
	_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/front"})
	require.NoError(t, err)
	assert.Contains(t, c.next()["msg"], `"sensor_msgs/Imu"`)
}

// A message that one client has and another misses is sent, and dropped once more.
func TestWhatSomeClientsMissIsCounted(t *testing.T) {
	b := listening(t, "?messages=1")
	out, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	reads, stalls := visit(t, b), visit(t, b)
	for _, c := range []*client{reads, stalls} {
		c.send(`{"op":"subscribe","topic":"/image","compression":"cbor"}`)
		c.values("nodes", "{}")
	}
	image := &sample.Image{Width: 1 << 20, Height: 1, Step: 1 << 20, Encoding: sample.EncodingMono8, Data: make([]byte, 1<<20)}
	const messages = 30 // more than a connection's buffers and the queue hold
	for range messages {
		require.NoError(t, out(t.Context(), image))
		assert.Equal(t, "publish", reads.next()["op"])
	}
	eventually(t, "sent", func() bool { return b.Statistics().Messages == messages })
	sum := b.Statistics()
	assert.Greater(t, sum.Bytes, int64(messages<<20), "the length of what is sent")
	assert.Positive(t, sum.Drops[flow.CausePeerSlow])
}

func TestServerOfTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool := selfSigned(t, cert, key)
	b := listening(t, "?cert="+cert+"&key="+key)
	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	c := visitURL(t, "wss://"+address(b), &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}})
	assert.NotEmpty(t, c.values("nodes", "{}"))
	assert.Nil(t, opened(t, "listen=0").Endpoints(), "it doesn't listen yet")
	assert.ErrorIs(t, opened(t, "listen=0?cert="+key+"&key="+key).Connect(t.Context()), transport.ErrTLS)
}

func selfSigned(t *testing.T, certFile, keyFile string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	pool := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool.AddCert(parsed)
	return pool
}

func TestListenFailures(t *testing.T) {
	b := listening(t, "")
	other := opened(t, "listen="+address(b))
	assert.ErrorIs(t, other.Connect(t.Context()), transport.ErrListen)
	assert.Equal(t, flow.UnexpectedlyDisconnected, other.Status())
	_, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", Sensor: "camera"})
	require.NoError(t, err)
	assert.Equal(t, "camera", b.Endpoints()[0].Sensor)
	require.NoError(t, b.Disconnect(t.Context()))
	assert.Nil(t, b.Endpoints())
	require.NoError(t, b.Connect(t.Context()))
}
