package carla_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/carla"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		token, _ := carla.Token{Stream: e.Stream, Address: netip.MustParseAddrPort(addr)}.AppendBinary(nil)
		assert.Equal(t, hex.EncodeToString(token), e.Token)
	}
	assert.Equal(t, []string{"/snapshot", "/front", "/depth", "/rear"}, topics)
	before := b.Endpoints()
	require.NoError(t, b.Close(context.Background()))
	assert.Equal(t, before, b.Endpoints(), "a closed bridge still says where they were")
}

// A sensor that goes ends its clients' connections, and its number names nothing any more. That of
// the snapshot is the next snapshot's.
func TestAStreamEndsWithItsSensor(t *testing.T) {
	b, addr := open(t)
	for _, topic := range []string{"/snapshot", "/again"} {
		_, err := bridges.AddPublisher[*sample.Snapshot](b, bridges.Topic{Name: topic, SensorType: "sensor.other.snapshot"})
		require.NoError(t, err)
		conn := dial(t, addr, 1)
		require.Eventually(t, func() bool { return b.Receivers(topic) == 1 }, 30*time.Second, time.Millisecond)
		b.Withdraw(topic)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		_, err = conn.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
	}
	assert.Zero(t, b.Diagnosis().Failures)
	_, err := dial(t, addr, 1).Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "no such stream")
}

func TestMessagesThatCARLAHasNot(t *testing.T) {
	b, _ := open(t)
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.ErrorIs(t, err, bridges.ErrNoConverter)
}

// TestLaneMarksReachEachClientOnce: those who come later, too.
func TestLaneMarksReachEachClientOnce(t *testing.T) {
	b, addr := open(t)
	publish, err := bridges.AddPublisher[*sample.LaneMarks](b, bridges.Topic{Name: "/lane_marks", SensorType: "sensor.other.lane_marks", QoS: flow.StaticQoS})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &sample.LaneMarks{Header: header(), Marks: []sample.LaneMark{
		{ID: 7, Type: sample.LaneMarkSolid, Color: sample.LaneMarkYellow, Points: []mgl64.Vec3{{1, 2, 3}, {4, -5, 6}}}, {ID: 300},
	}}), "it is kept for those to come")
	for range 2 {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte{2, 0, 0, 0})
		require.NoError(t, err)
		var frame struct {
			Length           uint32
			TypeID, Frame    uint64
			Seconds          float64
			Pose             [6]float32
			Marks            uint32
			First            uint32
			Type, Color      uint8
			Count            uint32
			Points           [2][3]float32
			Second           uint32
			Other, Colorless uint8
			None             uint32
		}
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		require.NoError(t, binary.Read(conn, binary.LittleEndian, &frame))
		assert.EqualValues(t, binary.Size(frame)-4, frame.Length, "and no more")
		assert.EqualValues(t, 6, frame.TypeID, "CARLA's lane invasion")
		assert.Equal(t, []uint32{2, 7, 2, 300, 0}, []uint32{frame.Marks, frame.First, frame.Count, frame.Second, frame.None})
		assert.Equal(t, []uint8{2, 4, 0, 0}, []uint8{frame.Type, frame.Color, frame.Other, frame.Colorless})
		assert.Equal(t, [2][3]float32{{1, -2, 3}, {4, 5, 6}}, frame.Points, "to the right is positive")
	}
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

// TestAStalledClientChangesNothing: one reads nothing, the other gets every frame; what
// the one misses is counted.
func TestAStalledClientChangesNothing(t *testing.T) {
	b, addr := openWith(t, "messages=4")
	const frames, side = 60, 512
	m := image("bgra8", side, side, 4*side, 60, make([]byte, 4*side*side))
	send := publish(m)(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	good := dial(t, addr, 2)
	require.Eventually(t, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)
	dial(t, addr, 2) // never reads
	frame := make([]byte, 4+48+12+4*side*side)
	for k := range frames {
		m.Frame = uint64(k)
		require.NoError(t, send())
		_, err := io.ReadFull(good, frame)
		require.NoError(t, err)
		require.Equal(t, byte(k), frame[12], "frame %d", k)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, b.Close(ended))
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, frames, row.Messages, "one client has had each")
	assert.Positive(t, row.Drops[flow.CausePeerSlow], "of the other")
	assert.LessOrEqual(t, row.Drops.Total(), int64(frames))
}

// TestEveryMessageIsCountedOnce: with one client, which takes nothing, a message is sent
// or dropped, whatever becomes of it.
func TestEveryMessageIsCountedOnce(t *testing.T) {
	b, addr := openWith(t, "messages=4")
	const frames, side = 60, 512
	send := publish(image("bgra8", side, side, 4*side, 60, make([]byte, 4*side*side)))(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	require.ErrorIs(t, send(), flow.ErrNotConnected, "nobody reads")
	dial(t, addr, 2)
	require.Eventually(t, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)
	for range frames {
		require.NoError(t, send())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, b.Close(ended))
	require.ErrorIs(t, send(), flow.ErrClosed)
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, 1+frames+1, row.Messages+row.Drops.Total())
	assert.Positive(t, row.Drops[flow.CausePeerSlow])
	assert.EqualValues(t, 1, row.Drops[flow.CauseNotConnected])
	assert.Positive(t, row.Drops[flow.CauseClosed])
}

// TestClosingWhilePublishing: publishers on several goroutines, connections that come
// and go, and every message is sent or dropped.
func TestClosingWhilePublishing(t *testing.T) {
	b, _ := open(t)
	m := image("mono8", 64, 64, 64, 60, make([]byte, 64*64))
	topic := bridges.Topic{Name: "/tags", SensorType: "sensor.camera.semantic_segmentation"}
	const publishers, each = 4, 300
	var publishing, reading sync.WaitGroup
	for range publishers {
		send := publish(m)(t, b, topic)
		publishing.Go(func() {
			for range each {
				if err := send(); err != nil {
					assert.ErrorIs(t, err, flow.ErrNotConnected)
				}
				runtime.Gosched()
			}
		})
	}
	for range 5 {
		require.NoError(t, b.Disconnect(t.Context()))
		require.NoError(t, b.Connect(t.Context()))
		conn := dial(t, b.Endpoints()[0].Address, 2)
		reading.Go(func() {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		})
	}
	publishing.Wait()
	require.NoError(t, b.Close(t.Context()))
	reading.Wait()
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, publishers*each, row.Messages+row.Drops.Total(), "drops: %v", row.Drops)
}

// FuzzHandshake sends what a client might, and a good client continues.
func FuzzHandshake(f *testing.F) {
	b, addr := open(f)
	m := image("bgra8", 1, 1, 4, 60, []byte{1, 2, 3, 4})
	send := publish(m)(f, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	good := dial(f, addr, 2)
	require.Eventually(f, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)
	for _, seed := range []string{"", "\x02", "\x02\x00\x00\x00", "\x02\x00\x00\x00more", "\x01\x00\x00\x00", "\xff\xff\xff\xff", "GET / HTTP/1.1\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, hello []byte) {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		if _, err = conn.Write(hello); err == nil {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
		var timeout net.Error
		if _, err := io.Copy(io.Discard, conn); errors.As(err, &timeout) {
			assert.False(t, timeout.Timeout(), "the server ends the connection")
		}
		require.NoError(t, send())
		require.NoError(t, good.SetReadDeadline(time.Now().Add(20*time.Second)))
		frame := make([]byte, 4+48+12+4)
		_, err = io.ReadFull(good, frame)
		require.NoError(t, err)
		assert.Equal(t, []byte{1, 2, 3, 4}, frame[64:])
	})
}

func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	b, err := bridges.MustRegistry(carla.Factory{}).Open("carla:"+taken.Addr().String(), bridges.Env{})
	require.NoError(t, err)
	send := publish(imu())(t, b, bridges.Topic{Name: "/imu", SensorType: "sensor.other.imu"})
	err = b.Connect(t.Context())
	require.ErrorContains(t, err, "in use")
	require.NotErrorIs(t, err, bridges.ErrConnectionString, "the string is right")
	assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
	require.ErrorIs(t, send(), flow.ErrNotConnected)
	require.NoError(t, taken.Close())
	require.NoError(t, b.Connect(t.Context()))
	assert.Equal(t, flow.Connected, b.Status())
	require.NoError(t, b.Close(t.Context()))
}

// TestSendingAllocatesNothing: large pictures, in the steady state.
func TestSendingAllocatesNothing(t *testing.T) {
	b, addr := open(t)
	m := image("bgra8", 640, 480, 4*640, 60, make([]byte, 4*640*480))
	send := publish(m)(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	conn := dial(t, addr, 2)
	require.Eventually(t, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)
	frame := make([]byte, 4+48+12+len(m.Data))
	one := func() {
		if err := send(); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(conn, frame); err != nil {
			t.Error(err)
		}
	}
	for range 10 {
		one()
	}
	// The runtime's own goroutines allocate a little now and then.
	assert.Less(t, testing.AllocsPerRun(50, one), 1.0)
}

// TestReconnectGivesTheSameStreams: ids outlive a disconnection.
func TestReconnectGivesTheSameStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b, addr := open(t)
	m := image("mono8", 1, 1, 4, 60, []byte{14, 0, 0, 0})
	send := publish(m)(t, b, bridges.Topic{Name: "/tags", SensorType: "sensor.camera.semantic_segmentation"})
	require.ErrorIs(t, send(), flow.ErrNotConnected, "nobody reads")
	conn := dial(t, addr, 2)
	require.Eventually(t, func() bool { return b.Listening("/tags") }, 10*time.Second, time.Millisecond)
	require.NoError(t, b.Disconnect(context.Background()))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	assert.Equal(t, flow.Disconnected, b.Status())
	require.ErrorIs(t, send(), flow.ErrNotConnected)
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

// A picture above the limit is refused before there is memory for it; those before and
// after it arrive.
func TestMessagesAboveTheLimit(t *testing.T) {
	b, err := bridges.MustRegistry(carla.Limited(bridgetest.Limit)).Open("carla:127.0.0.1:0", bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	require.NoError(t, b.Connect(t.Context()))
	const most = bridgetest.Limit - 48 - 12 // without the header, and the picture's
	pixels := make([]byte, 32<<20)
	picture := func(bytes int) func() error {
		m := image("bgra8", bytes/4, 1, bytes, 60, pixels[:bytes])
		return publish(m)(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	}
	fits, above, far := picture(most), picture(most+4), picture(len(pixels))
	conn := dial(t, b.Endpoints()[0].Address, 2)
	require.Eventually(t, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)
	for _, send := range []func() error{above, far} {
		require.NoError(t, fits())
		_, err = io.ReadFull(conn, make([]byte, 4+bridgetest.Limit))
		require.NoError(t, err)
		before := bridgetest.Allocated()
		err = send()
		assert.Less(t, bridgetest.Allocated()-before, uint64(4<<20), "bytes that were allocated for it")
		require.ErrorIs(t, err, flow.ErrTooLarge)
		require.ErrorIs(t, err, bridges.ErrConvert)
		assert.ErrorContains(t, err, "the most are 65536")
	}
	counted := func() bool { return b.Statistics().Topics[0].Messages == 2 }
	require.Eventually(t, counted, 10*time.Second, time.Millisecond, "a frame counts when it was written, which its receiver may see before")
	assert.Equal(t, flow.Drops{flow.CauseTooLarge: 2}, b.Statistics().Topics[0].Drops)
}

// The diagnosis has clients that were refused, and those that said what makes no sense.
func TestDiagnosis(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b, addr := openWith(t, "clients=3")
	send := publish(image("bgra8", 1, 1, 4, 60, []byte{1, 2, 3, 4}))(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	require.Error(t, send())
	assert.Zero(t, b.Diagnosis())
	fares := func(want bridges.Diagnosis, text string) {
		t.Helper()
		require.Eventually(t, func() bool {
			d := b.Diagnosis()
			return d.Connections == want.Connections && d.Failures == want.Failures && d.Malformed == want.Malformed
		}, 10*time.Second, time.Millisecond, "%+v, not %+v", b.Diagnosis(), want)
		if text != "" {
			assert.ErrorContains(t, b.Diagnosis().LastError, text)
		}
	}
	good := dial(t, addr, 2)
	fares(bridges.Diagnosis{Connections: 1}, "")
	dial(t, addr, 77)
	fares(bridges.Diagnosis{Connections: 1, Failures: 1}, "no such stream: 77")
	half, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	_, err = half.Write([]byte{2, 0})
	require.NoError(t, err)
	require.NoError(t, half.Close())
	fares(bridges.Diagnosis{Connections: 1, Failures: 2, Malformed: 1}, "client "+half.LocalAddr().String()+": ")
	assert.ErrorIs(t, b.Diagnosis().LastError, transport.ErrProtocol)
	for range 3 { // the connection stays
		_, err = good.Write([]byte("more"))
		require.NoError(t, err)
	}
	fares(bridges.Diagnosis{Connections: 1, Failures: 2, Malformed: 2}, "more than a stream's id")
	second := dial(t, addr, 2)
	fares(bridges.Diagnosis{Connections: 2, Failures: 2, Malformed: 2}, "")
	third := dial(t, addr, 2)
	fares(bridges.Diagnosis{Connections: 3, Failures: 2, Malformed: 2}, "")
	surplus := dial(t, addr, 2)
	_, err = surplus.Read(make([]byte, 1))
	require.Error(t, err)
	fares(bridges.Diagnosis{Connections: 3, Failures: 3, Malformed: 2}, "too many clients")
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	before := b.Diagnosis()
	require.NoError(t, b.Close(t.Context()))
	assert.Equal(t, before, b.Diagnosis(), "an end in order is not a failure")
}

// Who only looks whether the port is open is not a failure.
func TestProbesAreNoFailures(t *testing.T) {
	b, addr := open(t)
	for range 5 {
		probe, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, probe.Close())
	}
	require.NoError(t, b.Close(t.Context())) // waits for all that were accepted
	assert.Zero(t, b.Diagnosis())
}
