package stream_test

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
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

func TestBadConnectionStrings(t *testing.T) {
	registry := bridges.MustRegistry(stream.Factory{})
	for _, connection := range []string{"localhost", "127.0.0.1:99999", "127.0.0.1:0?zstd=yes", "127.0.0.1:0?policy=newest", "?colour=red"} {
		assert.ErrorIs(t, registry.Check("stream:"+connection, bridges.Env{}), bridges.ErrConnectionString, connection)
	}
	assert.NoError(t, registry.Check("stream:", bridges.Env{}))
}

// The name that stands for all topics is not a topic itself.
func TestNoTopicIsNamedAsAll(t *testing.T) {
	b := connect(t, bridges.Env{}, "127.0.0.1:0")
	_, err := bridges.AddPublisher[*sample.Speed](b, bridges.Topic{Name: stream.Wildcard})
	assert.ErrorIs(t, err, bridges.ErrTopicName)
}

func receiveFrom(t *testing.T, b *bridges.Bridge) *stream.Client {
	t.Helper()
	c, err := stream.Dial(t.Context(), b.Endpoints()[0].Address, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
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
	receiveFrom(t, b)
	_, err := stream.Dial(t.Context(), b.Endpoints()[0].Address, stream.Options{})
	require.ErrorIs(t, err, stream.ErrTooManyClients)
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
	assert.ErrorIs(t, d.LastError, stream.ErrMagic)
	assert.ErrorContains(t, d.LastError, "client "+conn.LocalAddr().String())
	d.LastError = nil
	assert.Equal(t, bridges.Diagnosis{Connections: 1, Failures: 2, Malformed: 1, Refused: map[string]int64{"too_many_connections": 1}}, d)
}

// Every type that the plugin lists comes out as it went in, with the topic's sensor.
func TestEverySampleIsCarried(t *testing.T) {
	b := connect(t, bridges.Env{Now: func() simtime.Stamp { return 77 }}, "127.0.0.1:0?policy=block")
	registry := bridges.MustRegistry(stream.Factory{})
	plugin, err := registry.Plugin("stream")
	require.NoError(t, err)
	all := samples()
	require.Len(t, plugin.Types(), len(all))
	publishers := map[string]bridges.Publisher[any]{}
	for i, msg := range all {
		name := fmt.Sprintf("/%T", msg)
		topic := bridges.Topic{Name: name, Sensor: "it", SensorType: "sensor.other.it", SensorNumber: uint16(i), Output: 2}
		publishers[name], err = bridges.AddPublisherOf(b, reflect.TypeOf(msg), topic)
		require.NoError(t, err)
	}
	c := receiveFrom(t, b)
	require.Len(t, c.Streams(), len(all))
	for i, msg := range all {
		info := c.Streams()[i]
		assert.Equal(t, "sensor.other.it", info.SensorType)
		assert.Equal(t, "ros2msg", info.Schema.Encoding)
		assert.NotEmpty(t, info.Schema.Data)
		assert.False(t, b.Listening(info.Name))
		assert.ErrorIs(t, publishers[info.Name](t.Context(), msg), flow.ErrNotConnected, "nobody hears it")
		got := make(chan any, 1)
		require.NoError(t, c.Listen(t.Context(), info.Name, func(d *stream.Data) {
			assert.EqualValues(t, i, d.Stream.Type.Number())
			assert.Equal(t, 2, d.Stream.Type.Output())
			assert.EqualValues(t, 77, d.Logged())
			v, err := d.Keep().Sample() // kept for the bytes of pictures
			assert.NoError(t, err)
			got <- v
		}))
		assert.True(t, b.Listening(info.Name))
		require.NoError(t, publishers[info.Name](t.Context(), msg))
		assert.Equal(t, carried(msg), take(t, got))
	}
	assert.False(t, b.Listening("/nothing"))
}

// seating is a type of somebody else, which nobody registers.
type seating struct {
	sample.Header
	Jerk  uint16
	Seats []seat
}

type seat struct {
	Label  string
	Heated bool
}

// other is another type of that form.
type other struct {
	sample.Header
	Jerk uint16
}

func TestTypesFromOutsideNeedNoRegistration(t *testing.T) {
	b := connect(t, bridges.Env{}, "127.0.0.1:0?policy=block")
	publish, err := bridges.AddPublisher[*seating](b, bridges.Topic{Name: "/seating", SensorNumber: 40000})
	require.NoError(t, err)
	erased, err := bridges.AddPublisherOf(b, reflect.TypeFor[*seating](), bridges.Topic{Name: "/seating"})
	require.NoError(t, err, "the same topic")
	_, err = bridges.AddPublisher[*other](b, bridges.Topic{Name: "/seating"})
	assert.ErrorIs(t, err, bridges.ErrTopicType)
	_, err = bridges.AddPublisher[*struct{}](b, bridges.Topic{Name: "/nothing"})
	assert.ErrorIs(t, err, bridges.ErrNoConverter)

	c := receiveFrom(t, b)
	got := make(chan seating, 2)
	require.NoError(t, c.Listen(t.Context(), "/seating", func(d *stream.Data) {
		assert.Equal(t, stream.NewTypeID(40000, 0), d.Stream.Type)
		assert.EqualValues(t, 5, d.Logged(), "the stamp, without a clock")
		assert.Equal(t, "raybridge_msgs/msg/Seating", d.Stream.Schema.Name)
		_, err := d.Sample()
		assert.ErrorIs(t, err, stream.ErrUnknownType)
		_, err = stream.Read[other](d)
		assert.ErrorIs(t, err, stream.ErrUnknownType)
		v, err := stream.Read[seating](d)
		if assert.NoError(t, err) {
			got <- *v
		}
	}))
	first := seating{Header: sample.Header{Stamp: 5, FrameID: "seat"}, Jerk: 300, Seats: []seat{{"left", true}, {"right", false}}}
	require.NoError(t, publish(t.Context(), &first))
	require.NoError(t, erased(t.Context(), &seating{Header: sample.Header{Stamp: 5}, Jerk: 400}))
	assert.Equal(t, first, take(t, got))
	assert.EqualValues(t, 400, take(t, got).Jerk)
	assert.ErrorIs(t, erased(t.Context(), &other{}), bridges.ErrConvert)
	require.NoError(t, b.Close(t.Context()))
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, 2, row.Messages)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, row.Drops)
}

// A type with a codec goes as that says, whatever its encoding is.
func TestTypesWithACodec(t *testing.T) {
	registry := bridges.MustRegistry(stream.Factory{})
	plugin, err := registry.Plugin("stream")
	require.NoError(t, err)
	require.NoError(t, bridges.Codec[*seating]{
		Schema: bridges.Schema{Name: "Comfort", Encoding: "jsonschema", Data: []byte("{}"), MessageEncoding: "json"},
		Append: func(dst []byte, m *seating) ([]byte, error) { return fmt.Appendf(dst, `{"jerk": %d}`, m.Jerk), nil },
	}.Register(plugin))
	b, err := registry.Open("stream:127.0.0.1:0?policy=block", bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	require.NoError(t, b.Connect(t.Context()))
	publish, err := bridges.AddPublisher[*seating](b, bridges.Topic{Name: "/seating"})
	require.NoError(t, err)
	c := receiveFrom(t, b)
	got := make(chan string, 1)
	require.NoError(t, c.Listen(t.Context(), "/seating", func(d *stream.Data) {
		assert.Equal(t, bridges.Schema{Name: "Comfort", Encoding: "jsonschema", Data: []byte("{}"), MessageEncoding: "json"}, d.Stream.Schema)
		_, err := stream.Read[seating](d)
		assert.ErrorIs(t, err, stream.ErrUnknownType)
		got <- d.FrameID() + string(d.Body())
	}))
	require.NoError(t, publish(t.Context(), &seating{Header: sample.Header{FrameID: "seat"}, Jerk: 7}))
	assert.Equal(t, `seat{"jerk": 7}`, take(t, got))
}

func TestWhatIsLatchedReachesThoseWhoComeLate(t *testing.T) {
	b := connect(t, bridges.Env{}, "127.0.0.1:0")
	publish, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	got := make(chan int64, 4)
	listen := func(d *stream.Data) { got <- int64(d.Stamp()) }
	require.NoError(t, publish(t.Context(), &sample.Transforms{Stamp: 3}), "it is kept for the first who comes")
	require.NoError(t, receiveFrom(t, b).Listen(t.Context(), "/tf_static", listen))
	assert.EqualValues(t, 3, take(t, got))
	require.NoError(t, publish(t.Context(), &sample.Transforms{Stamp: 4}))
	assert.EqualValues(t, 4, take(t, got))
	require.NoError(t, receiveFrom(t, b).Listen(t.Context(), "/tf_static", listen))
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
	require.ErrorIs(t, err, transport.ErrListen)
	require.ErrorContains(t, err, ": address already in use: end the program that has it, or choose another port, or 0 for any free one")
	assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
	assert.Nil(t, b.Endpoints())
	require.NoError(t, b.Close(t.Context()))
}

// A client that takes nothing loses messages, counted under peer_slow, and the other continues.
func TestSlowClientIsCounted(t *testing.T) {
	b := connect(t, bridges.Env{}, "127.0.0.1:0?messages=2&bytes=5000000")
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	assert.Equal(t, "/image", b.Endpoints()[0].Topic)
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	slow, lively := receiveFrom(t, b), receiveFrom(t, b)
	require.NoError(t, slow.Listen(t.Context(), "/image", func(*stream.Data) { <-release }))
	got := make(chan uint64, 1)
	require.NoError(t, lively.Listen(t.Context(), "/image", func(d *stream.Data) { got <- d.Sequence() }))
	image := &sample.Image{Height: 1, Step: 1 << 20, Data: make([]byte, 1<<20)}
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
