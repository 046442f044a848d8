package carla_test

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/carla"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestStreamsAreNumberedInTheRigsOrder: the snapshot's is 1 whenever it is added.
func TestStreamsAreNumberedInTheRigsOrder(t *testing.T) {
	b, addr := open(t)
	add := func(topic, sensor string) {
		_, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: topic, Sensor: topic[1:], SensorType: sensor})
		require.NoError(t, err)
	}
	add("/front", "sensor.camera.rgb")
	add("/depth", "sensor.camera.depth")
	_, err := bridges.AddPublisher[*sample.Snapshot](b, bridges.Topic{Name: "/snapshot", SensorType: "sensor.other.snapshot"})
	require.NoError(t, err)
	add("/rear", "sensor.camera.rgb")
	var topics []string
	for i, e := range b.Endpoints() {
		topics = append(topics, e.Topic)
		assert.EqualValues(t, i+1, e.Stream)
		assert.Equal(t, addr, e.Address)
		raw, err := hex.DecodeString(e.Token)
		require.NoError(t, err)
		token, err := carla.ParseToken(raw)
		require.NoError(t, err)
		assert.Equal(t, carla.Token{Stream: e.Stream, Address: netip.MustParseAddrPort(addr)}, token)
	}
	assert.Equal(t, []string{"/snapshot", "/front", "/depth", "/rear"}, topics)
	before := b.Endpoints()
	require.NoError(t, b.Close(context.Background()))
	assert.Equal(t, before, b.Endpoints(), "a closed bridge still says where they were")
}

func TestMessagesThatCARLAHasNot(t *testing.T) {
	b, _ := open(t)
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.ErrorIs(t, err, bridges.ErrNoConverter)
}

func TestPicturesThatCannotBeSent(t *testing.T) {
	b, addr := open(t)
	for name, m := range map[string]*sample.Image{
		"encoding": image("yuv422", 2, 2, 8, 60, make([]byte, 16)),
		"too few":  image("rgb8", 4, 4, 12, 60, make([]byte, 47)),
	} {
		topic := "/" + name[:3]
		send := publish(m)(t, b, bridges.Topic{Name: topic, SensorType: "sensor.camera.rgb"})
		endpoints := b.Endpoints()
		dial(t, addr, endpoints[len(endpoints)-1].Stream)
		require.Eventually(t, func() bool { return b.Listening(topic) }, 10*time.Second, time.Millisecond)
		require.ErrorIs(t, send(), bridges.ErrConvert, name)
	}
}

// TestClientsThatMisbehave: those are disconnected or ignored, and another receives on.
func TestClientsThatMisbehave(t *testing.T) {
	b, addr := open(t)
	m := image("bgra8", 1, 1, 4, 60, []byte{1, 2, 3, 4})
	send := publish(m)(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	good := dial(t, addr, 2)
	require.Eventually(t, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)

	unknown := dial(t, addr, 77)
	_, err := unknown.Read(make([]byte, 1))
	require.Error(t, err, "a stream that there isn't ends the connection")
	half, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	_, err = half.Write([]byte{2, 0})
	require.NoError(t, err)
	require.NoError(t, half.Close())
	rubbish := dial(t, addr, 2)
	_, err = rubbish.Write(make([]byte, 1<<16))
	require.NoError(t, err)

	for range 3 {
		require.NoError(t, send())
		frame := make([]byte, 4+48+12+4)
		_, err := io.ReadFull(good, frame)
		require.NoError(t, err)
		assert.Equal(t, []byte{1, 2, 3, 4}, frame[64:])
	}
}

// TestAStalledClientChangesNothing: one reads nothing, the other gets every frame.
func TestAStalledClientChangesNothing(t *testing.T) {
	b, addr := open(t)
	const frames, side = 200, 256
	m := image("bgra8", side, side, 4*side, 60, make([]byte, 4*side*side))
	send := publish(m)(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	dial(t, addr, 2) // never reads
	good := dial(t, addr, 2)
	require.Eventually(t, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)
	frame := make([]byte, 4+48+12+4*side*side)
	for k := range frames {
		m.Frame = uint64(k)
		require.NoError(t, send())
		if k == 0 { // both are subscribed once the first has come
			_, err := io.ReadFull(good, frame)
			require.NoError(t, err)
			continue
		}
		_, err := io.ReadFull(good, frame)
		require.NoError(t, err)
		require.Equal(t, byte(k), frame[12], "frame %d", k)
	}
}

// TestReconnectGivesTheSameStreams: ids outlive a disconnection.
func TestReconnectGivesTheSameStreams(t *testing.T) {
	b, addr := open(t)
	m := image("mono8", 1, 1, 4, 60, []byte{14, 0, 0, 0})
	send := publish(m)(t, b, bridges.Topic{Name: "/tags", SensorType: "sensor.camera.semantic_segmentation"})
	require.ErrorIs(t, send(), bridges.ErrNotConnected, "nobody reads")
	conn := dial(t, addr, 2)
	require.Eventually(t, func() bool { return b.Listening("/tags") }, 10*time.Second, time.Millisecond)
	require.NoError(t, b.Disconnect(context.Background()))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	assert.Equal(t, bridges.Disconnected, b.Status())
	require.ErrorIs(t, send(), bridges.ErrNotConnected)
	require.NoError(t, b.Connect(t.Context()))
	got := receive(t, b, b.Endpoints()[0].Address, 2, "/tags", send, 68)
	assert.Equal(t, []byte{0, 0, 14, 255}, got[64:])
}

func TestConnectionStrings(t *testing.T) {
	r, err := bridges.NewRegistry(carla.Factory{})
	require.NoError(t, err)
	for _, s := range []string{"carla:nowhere", "carla:127.0.0.1:0?policy=sometimes", "carla:127.0.0.1:0?messages=0", "carla:127.0.0.1:0?bytes=x", "carla:127.0.0.1:0?color=red"} {
		b, err := r.Open(s, bridges.Env{})
		require.NoError(t, err)
		assert.ErrorIs(t, b.Connect(t.Context()), bridges.ErrConnectionString, s)
		require.NoError(t, b.Close(context.Background()))
	}
}
