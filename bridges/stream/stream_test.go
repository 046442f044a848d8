package stream_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	client "github.com/raybridge/raybridge/sensors/stream"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: stream.Factory{},
		BadConnections: []string{
			"localhost", "127.0.0.1:0?policy=newest", "127.0.0.1:0?zstd=yes", "127.0.0.1:0?clients=0", "?messages=-1",
			"?bytes=many", "?colour=red", "?zstd=on&zstd=on", "127.0.0.1:99999", "127.0.0.1:http",
		},
		Peer: func(t *testing.T) bridgetest.Peer { return newReceiver(t) },
	})
}

func TestMessagesAboveTheLimit(t *testing.T) {
	bridgetest.TooLarge(t, bridgetest.Suite{
		Factory: stream.Limited(bridgetest.Limit),
		Peer:    func(t *testing.T) bridgetest.Peer { return newReceiver(t) },
	})
}

const limit = 10 * time.Second

func connect(t *testing.T, env bridges.Env, connection string) *bridges.Bridge {
	t.Helper()
	registry, err := bridges.NewRegistry(stream.Factory{})
	require.NoError(t, err)
	b, err := registry.Open("stream:"+connection, env)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	require.NoError(t, b.Connect(t.Context()))
	return b
}

// A port alone is one of this machine's loopback interface.
func TestListensOnAPort(t *testing.T) {
	b := connect(t, bridges.Env{}, "0?clients=1")
	host, _, err := net.SplitHostPort(b.Endpoints()[0].Address)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", host)
}

func dial(t *testing.T, b *bridges.Bridge) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), b.Endpoints()[0].Address, client.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// The diagnosis outlives the server.
func TestDiagnosis(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b := connect(t, bridges.Env{}, "127.0.0.1:0?clients=1")
	assert.Zero(t, b.Diagnosis())
	dial(t, b)
	_, err := client.Dial(t.Context(), b.Endpoints()[0].Address, client.Options{})
	require.ErrorIs(t, err, client.ErrTooManyClients)
	require.Eventually(t, func() bool { return b.Diagnosis().Failures == 1 }, limit, time.Millisecond)
	require.NoError(t, b.Connect(t.Context()), "another server")
	conn, err := net.Dial("tcp", b.Endpoints()[0].Address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Diagnosis().Failures == 2 }, limit, time.Millisecond)
	require.NoError(t, b.Close(t.Context()))
	d := b.Diagnosis()
	assert.ErrorIs(t, d.LastError, client.ErrMagic)
	assert.ErrorContains(t, d.LastError, "client "+conn.LocalAddr().String())
	d.LastError = nil
	assert.Equal(t, bridges.Diagnosis{Connections: 1, Failures: 2, Malformed: 1, Refused: map[string]int64{"too_many_connections": 1}}, d)
}

// Every sample that the plugin lists comes out as it went in, with the topic's sensor.
func TestEverySampleIsCarried(t *testing.T) {
	b := connect(t, bridges.Env{Now: func() int64 { return 77 }}, "127.0.0.1:0?policy=block")
	samples := []any{
		&sample.Clock{}, &sample.Image{}, &sample.CompressedImage{}, &sample.CameraInfo{}, &sample.PointCloud{},
		&sample.LaserScan{}, &sample.Radar{}, &sample.Range{}, &sample.DvsEvents{}, &sample.Imu{}, &sample.GnssFix{},
		&sample.Odometry{}, &sample.Transforms{}, &sample.Detections2D{}, &sample.Detections3D{}, &sample.RadarObjects{},
		&sample.Signals{}, &sample.Collision{}, &sample.Obstacle{}, &sample.LaneInvasion{}, &sample.Speed{}, &sample.CanBus{},
		&sample.VehicleOdometry{}, &sample.GpsOdometry{}, &sample.InsStatus{}, &sample.Snapshot{},
	}
	registry := bridges.MustRegistry(stream.Factory{})
	plugin, err := registry.Plugin("stream")
	require.NoError(t, err)
	require.Len(t, plugin.Types(), len(samples))
	publishers := map[string]bridges.Publisher[any]{}
	for i, msg := range samples {
		v := reflect.ValueOf(msg).Elem()
		if h, ok := msg.(interface{ SampleHeader() *sample.Header }); ok {
			*h.SampleHeader() = sample.Header{StampNs: int64(i), Seq: 3, Frame: 4, FrameID: "frame"}
		} else {
			v.FieldByName("StampNs").SetInt(int64(i))
		}
		name := "/" + v.Type().Name()
		topic := bridges.Topic{Name: name, Sensor: "it", SensorType: "sensor.other.it", SensorNumber: uint16(i), Output: 2}
		publishers[name], err = bridges.AddPublisherOf(b, reflect.TypeOf(msg), topic)
		require.NoError(t, err)
	}
	c := dial(t, b)
	require.Len(t, c.Streams(), len(samples))
	for i, msg := range samples {
		info := c.Streams()[i]
		assert.Equal(t, "sensor.other.it", info.SensorType)
		assert.Equal(t, "/"+info.Message, info.Name)
		assert.False(t, b.Listening(info.Name))
		assert.ErrorIs(t, publishers[info.Name](t.Context(), msg), bridges.ErrNotConnected, "nobody hears it")
		got := make(chan any, 1)
		require.NoError(t, c.Listen(t.Context(), info.Name, func(d *client.Data) {
			assert.EqualValues(t, i, d.Type().Number())
			assert.Equal(t, 2, d.Type().Output())
			assert.EqualValues(t, 77, d.PublishNs())
			v, err := wire.Decode(d.Message)
			assert.NoError(t, err)
			got <- v
		}))
		assert.True(t, b.Listening(info.Name))
		require.NoError(t, publishers[info.Name](t.Context(), msg))
		assert.Equal(t, msg, take(t, got))
	}
	assert.False(t, b.Listening("/nothing"))
}

func take[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		require.Fail(t, "nothing came")
		panic("unreachable")
	}
}

// comfort is a type of somebody else, which nobody registers.
type comfort struct {
	sample.Header
	jerk uint16
}

func (*comfort) SchemaVersion() uint16 { return 9 }

func (c *comfort) AppendBinary(b []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint16(b, c.jerk), nil
}

// other is the same under another name.
type other struct{ comfort }

func TestTypesFromOutsideNeedNoRegistration(t *testing.T) {
	b := connect(t, bridges.Env{}, "127.0.0.1:0?policy=block")
	publish, err := bridges.AddPublisher[*comfort](b, bridges.Topic{Name: "/comfort", SensorNumber: 40000})
	require.NoError(t, err)
	erased, err := bridges.AddPublisherOf(b, reflect.TypeFor[*comfort](), bridges.Topic{Name: "/comfort"})
	require.NoError(t, err, "the same topic")
	_, err = bridges.AddPublisher[*other](b, bridges.Topic{Name: "/comfort"})
	assert.ErrorIs(t, err, bridges.ErrTopicType)
	_, err = bridges.AddPublisher[*struct{}](b, bridges.Topic{Name: "/nothing"})
	assert.ErrorIs(t, err, bridges.ErrNoConverter)

	c := dial(t, b)
	got := make(chan uint16, 2)
	require.NoError(t, c.Listen(t.Context(), "/comfort", func(d *client.Data) {
		assert.Equal(t, wire.KindForeign, d.Kind())
		assert.EqualValues(t, 9, d.SchemaVersion())
		assert.Equal(t, wire.NewTypeID(40000, 0), d.Type())
		assert.EqualValues(t, 5, d.PublishNs(), "the stamp, without a clock")
		assert.Equal(t, "*stream_test.comfort", d.Stream.Message)
		got <- binary.LittleEndian.Uint16(d.Body())
	}))
	require.NoError(t, publish(t.Context(), &comfort{Header: sample.Header{StampNs: 5}, jerk: 300}))
	require.NoError(t, erased(t.Context(), &comfort{Header: sample.Header{StampNs: 5}, jerk: 400}))
	assert.EqualValues(t, 300, take(t, got))
	assert.EqualValues(t, 400, take(t, got))
	assert.ErrorIs(t, erased(t.Context(), &other{}), bridges.ErrConvert)
	require.NoError(t, b.Close(t.Context()))
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, 2, row.Messages)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, row.Drops)
}

func TestWhatIsLatchedReachesThoseWhoComeLate(t *testing.T) {
	b := connect(t, bridges.Env{}, "127.0.0.1:0")
	publish, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	got := make(chan int64, 4)
	listen := func(d *client.Data) { got <- d.CaptureNs() }
	require.NoError(t, publish(t.Context(), &sample.Transforms{StampNs: 3}), "it is kept for the first who comes")
	require.NoError(t, dial(t, b).Listen(t.Context(), "/tf_static", listen))
	assert.EqualValues(t, 3, take(t, got))
	require.NoError(t, publish(t.Context(), &sample.Transforms{StampNs: 4}))
	assert.EqualValues(t, 4, take(t, got))
	require.NoError(t, dial(t, b).Listen(t.Context(), "/tf_static", listen))
	assert.EqualValues(t, 4, take(t, got), "although it was sent before")
}

func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	registry := bridges.MustRegistry(stream.Factory{})
	b, err := registry.Open("stream:"+taken.Addr().String(), bridges.Env{})
	require.NoError(t, err)
	err = b.Connect(t.Context())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.ErrorIs(t, err, bridges.ErrListen)
	require.ErrorContains(t, err, ": address already in use: end the program that has it, or choose another port, or 0 for any free one")
	assert.Equal(t, bridges.UnexpectedlyDisconnected, b.Status())
	assert.Nil(t, b.Endpoints())
	require.NoError(t, b.Close(t.Context()))
}

// A client that takes nothing loses messages, counted under peer_slow, and the other
// goes on.
func TestSlowClientIsCounted(t *testing.T) {
	b := connect(t, bridges.Env{}, "127.0.0.1:0?messages=2&bytes=5000000")
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	assert.Equal(t, "/image", b.Endpoints()[0].Topic)
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	slow, lively := dial(t, b), dial(t, b)
	require.NoError(t, slow.Listen(t.Context(), "/image", func(*client.Data) { <-release }))
	got := make(chan uint64, 1)
	require.NoError(t, lively.Listen(t.Context(), "/image", func(d *client.Data) { got <- d.Sequence() }))
	image := &sample.Image{Data: make([]byte, 1<<20)}
	const messages = 60
	for i := range messages {
		image.Seq = uint64(i)
		require.NoError(t, publish(t.Context(), image))
		require.EqualValues(t, i, take(t, got))
	}
	require.Eventually(t, func() bool { return b.Statistics().Topics[0].Messages == messages }, limit, time.Millisecond)
	assert.Positive(t, b.Statistics().Topics[0].Drops[flow.CausePeerSlow])
	free()
}

func Example() {
	registry := bridges.MustRegistry(stream.Factory{})
	bridge, err := registry.Open("stream:127.0.0.1:0", bridges.Env{})
	check(err)
	defer bridge.Close(context.Background())
	publish, err := bridges.AddPublisher[*sample.Speed](bridge, bridges.Topic{Name: "/speed", Sensor: "speedometer"})
	check(err)
	check(bridge.Connect(context.Background()))

	c, err := client.Dial(context.Background(), bridge.Endpoints()[0].Address, client.Options{})
	check(err)
	defer c.Close()
	done := make(chan struct{})
	check(c.Listen(context.Background(), "/speed", func(d *client.Data) {
		speed, err := wire.AsSpeed(d.Message)
		check(err)
		fmt.Printf("%s at %v: %g m/s\n", d.Stream.Sensor, time.Duration(speed.CaptureNs()), speed.MetresPerSecond())
		close(done)
	}))
	check(publish(context.Background(), &sample.Speed{Header: sample.Header{StampNs: 1.5e9}, MetresPerSecond: 13}))
	<-done
	// Output: speedometer at 1.5s: 13 m/s
}

func check(err error) {
	if err != nil {
		panic(strings.TrimSpace(err.Error()))
	}
}
