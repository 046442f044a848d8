package ros2lgsvl_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, connection string) *bridges.Bridge {
	t.Helper()
	b, err := bridges.MustRegistry(ros2lgsvl.Factory{}).Open("ros2lgsvl:"+connection, bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

func eventually(t *testing.T, condition func() bool, message string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond, message)
}

func connect(t *testing.T, b *bridges.Bridge) {
	t.Helper()
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
}

// recorder takes one connection and all that comes by it.
type recorder struct {
	listener net.Listener
	done     chan struct{}
	got      []byte // once done is closed
}

func record(t *testing.T) *recorder {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &recorder{listener: listener, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer listener.Close()
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r.got, _ = io.ReadAll(conn)
	}()
	t.Cleanup(func() { _ = listener.Close(); <-r.done })
	return r
}

// Every byte is what Python's struct packs from the protocol's description.
func TestGoldenFrames(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "wire", "ros2lgsvl")
	files, err := filepath.Glob(filepath.Join(dir, "*.bin"))
	require.NoError(t, err)
	require.Len(t, files, len(samples()), "a file for each sample")
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, s.name+".bin"))
			require.NoError(t, err)
			r := record(t)
			b := open(t, r.listener.Addr().String())
			connect(t, b)
			require.NoError(t, s.publish(t.Context(), b, "/test/"+s.name))
			require.NoError(t, b.Close(t.Context()))
			<-r.done
			assert.Equal(t, want, r.got)
			row := b.Statistics().Topics[0]
			assert.EqualValues(t, 1, row.Messages)
			assert.Contains(t, string(want), row.Type, "the type as statistics have it")
		})
	}
}

// Registrations come first and in the order of addition, also what was added before the
// connection.
func TestRegistrationsComeFirst(t *testing.T) {
	r := record(t)
	b := open(t, r.listener.Addr().String())
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(*sample.VehicleControl) {}))
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	connect(t, b)
	require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: 5_000_000_007}))
	require.NoError(t, b.Close(t.Context()))
	<-r.done
	assert.Equal(t, "\x01\x08\x00\x00\x00/control\x1d\x00\x00\x00lgsvl_msgs/VehicleControlData"+
		"\x02\x06\x00\x00\x00/clock\x13\x00\x00\x00rosgraph_msgs/Clock"+
		"\x03\x06\x00\x00\x00/clock\x08\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00", string(r.got))
}

func TestTopicNames(t *testing.T) {
	b := open(t, "localhost")
	for name, ok := range map[string]bool{
		"/points": true, "/lidar_front/points": true, "relative": true, "relative/below": true, "/a9": true,
		"/9a": false, "/a/9": false, "9": false, "/": false, "/a/": false, "//a": false, "/a-b": false, "/ä": false, "/a__b": false,
	} {
		_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: name})
		sub := bridges.AddSubscriber(b, bridges.Topic{Name: name}, func(*sample.VehicleControl) {})
		if ok {
			assert.NoError(t, errors.Join(err, sub), name)
			continue
		}
		assert.ErrorIs(t, err, bridges.ErrTopicName, name)
		assert.ErrorIs(t, sub, bridges.ErrTopicName, name)
	}
}

// serve starts a server and a bridge that is to be connected to it.
func serve(t *testing.T, options string) (*peers.LGSVL, *bridges.Bridge) {
	t.Helper()
	s := peers.NewLGSVL(peers.LGSVLConfig{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	return s, open(t, s.Addr()+options)
}

// inbox subscribes to a topic and waits for what comes.
func inbox[T any](t *testing.T, s *peers.LGSVL, b *bridges.Bridge, topic string) <-chan T {
	t.Helper()
	got := make(chan T, 10)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: topic}, func(m T) { got <- m }))
	eventually(t, func() bool { return s.Subscribed(topic) != "" }, "subscribed")
	return got
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// The server puts messages together by their definitions.
func TestSubscriptions(t *testing.T) {
	s, b := serve(t, "")
	connect(t, b)
	control := inbox[*sample.VehicleControl](t, s, b, "/control")
	state := inbox[*sample.VehicleState](t, s, b, "/state")
	velocity := inbox[*sample.VelocityCommand](t, s, b, "/cmd_vel")
	clock := inbox[*sample.Clock](t, s, b, "/clock")
	drive := inbox[*sample.AckermannDrive](t, s, b, "/drive")
	boxes := inbox[*sample.Detections2D](t, s, b, "/boxes")
	solids := inbox[*sample.Detections3D](t, s, b, "/solids")
	assert.Equal(t, "lgsvl_msgs/VehicleControlData", s.Subscribed("/control"))
	assert.Equal(t, "geometry_msgs/Twist", s.Subscribed("/cmd_vel"))

	stamp := peers.Value{"stamp": peers.Value{"sec": int32(5), "nanosec": uint32(7)}, "frame_id": "map"}
	vector := func(x, y, z float64) peers.Value { return peers.Value{"x": x, "y": y, "z": z} }
	s.Publish("/control", peers.Value{
		"header": stamp, "acceleration_pct": float32(0.5), "braking_pct": float32(0.25), "target_wheel_angle": float32(-0.125), "target_gear": uint8(2),
	})
	c := receive(t, control)
	assert.Equal(t, []float64{0.5, 0.25, 0.125}, []float64{c.Acceleration, c.Braking, c.SteeringAngle})
	assert.EqualValues(t, simtime.Stamp(5_000_000_007), c.Stamp)
	assert.EqualValues(t, sample.GearReverse, c.Gear)
	s.Publish("/state", peers.Value{"blinker_state": uint8(3), "horn_active": true})
	v := receive(t, state)
	assert.EqualValues(t, sample.BlinkerHazard, v.Blinker)
	assert.True(t, v.Horn)
	s.Publish("/cmd_vel", peers.Value{"linear": vector(1.5, 0, 0), "angular": vector(0, 0, -0.25)})
	twist := receive(t, velocity).Twist
	assert.Equal(t, []float64{1.5, -0.25}, []float64{twist.Linear[0], twist.Angular[2]})
	s.Publish("/clock", peers.Value{"clock": stamp["stamp"]})
	assert.EqualValues(t, 5_000_000_007, receive(t, clock).Stamp)
	s.Publish("/drive", peers.Value{"drive": peers.Value{"speed": float32(3)}})
	assert.InDelta(t, 3, receive(t, drive).Speed, 0)
	s.Publish("/boxes", peers.Value{"header": stamp, "detections": []any{peers.Value{"id": uint32(9), "label": "Bus"}}})
	assert.Equal(t, "Bus", receive(t, boxes).Boxes[0].Label)
	s.Publish("/solids", peers.Value{"detections": []any{peers.Value{"id": uint32(9)}, peers.Value{"id": uint32(10)}}})
	assert.Len(t, receive(t, solids).Boxes, 2)
	assert.Empty(t, s.Log())
	assert.Zero(t, b.Diagnosis().Malformed)
}

// publishFrame is op 3 as the server sends it.
func publishFrame(topic, body string) []byte {
	f := binary.LittleEndian.AppendUint32([]byte{3}, uint32(len(topic)))
	f = binary.LittleEndian.AppendUint32(append(f, topic...), uint32(len(body)))
	return append(f, body...)
}

// What can't be read is counted; only what isn't of the protocol ends the connection.
func TestWhatCantBeRead(t *testing.T) {
	s, b := serve(t, "?retry=10ms")
	connect(t, b)
	clock := inbox[*sample.Clock](t, s, b, "/clock")
	for n, bad := range map[string][]byte{
		"nobody subscribed": publishFrame("/other", "x"), "too short": publishFrame("/clock", "1234"),
		"left over": publishFrame("/clock", "123456789"), "no topic": publishFrame("", ""),
	} {
		before := b.Diagnosis().Malformed
		s.Send(bad)
		eventually(t, func() bool { return b.Diagnosis().Malformed == before+1 }, n)
		assert.Error(t, b.Diagnosis().LastError)
	}
	s.Publish("/clock", peers.Value{"clock": peers.Value{"sec": int32(1)}})
	assert.EqualValues(t, 1_000_000_000, receive(t, clock).Stamp)
	assert.Equal(t, 1, s.Accepted())
	for n, rubbish := range []string{"\x01", "\x00\x00", "\x03\xff\xff\xff\xff", "\x03\x01\x00\x00\x00a\xff\xff\xff\xff"} {
		s.Send([]byte(rubbish))
		eventually(t, func() bool { return s.Accepted() == n+2 && s.Subscribed("/clock") != "" }, "it connects again")
		assert.ErrorIs(t, b.Diagnosis().LastError, transport.ErrProtocol)
	}
	eventually(t, func() bool { return s.Publish("/clock", peers.Value{}) == 1 }, "subscribed")
	receive(t, clock)
}

// A server that isn't there is dialled as often as the connection string says.
func TestGivesUp(t *testing.T) {
	s, b := serve(t, "?retry=1ms&attempts=3")
	s.Kill()
	require.NoError(t, b.Connect(t.Context()))
	eventually(t, func() bool { return b.Err() != nil }, "it gives up")
	assert.ErrorIs(t, b.Err(), flow.ErrNotConnected)
	assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
	assert.EqualValues(t, 3, b.Diagnosis().Failures)
	require.NoError(t, s.Start())
	connect(t, b)
	assert.NoError(t, b.Err())
}

// comfort is a type from outside.
type comfort struct{ jolt float64 }

func (*comfort) Captured() simtime.Stamp { return 0 }

// Types from outside go in both directions.
func TestTypesOfOnesOwn(t *testing.T) {
	registry := bridges.MustRegistry(ros2lgsvl.Factory{})
	plugin, err := registry.Plugin("ros2lgsvl")
	require.NoError(t, err)
	codec := bridges.Codec[*comfort]{
		Schema: bridges.Schema{Name: "my_msgs/msg/Comfort", MessageEncoding: "lgsvl"},
		Append: func(dst []byte, m *comfort) ([]byte, error) {
			if m.jolt < 0 {
				return nil, errors.New("no such jolt")
			}
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(m.jolt)), nil
		},
		Read: func(_ string, body []byte) (*comfort, error) {
			if len(body) != 8 {
				return nil, io.ErrUnexpectedEOF
			}
			return &comfort{math.Float64frombits(binary.LittleEndian.Uint64(body))}, nil
		},
	}
	require.NoError(t, codec.Register(plugin))
	require.ErrorIs(t, codec.Register(plugin), bridges.ErrDuplicate)
	s := peers.NewLGSVL(peers.LGSVLConfig{Definition: func(string) (string, error) { return "float64 jolt", nil }})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	b, err := registry.Open("ros2lgsvl:"+s.Addr(), bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	connect(t, b)
	got := inbox[*comfort](t, s, b, "/comfort")
	publish, err := bridges.AddPublisher[*comfort](b, bridges.Topic{Name: "/comfort"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &comfort{0.5}), "the server sends it back to its subscriber")
	assert.Equal(t, &comfort{0.5}, receive(t, got))
	assert.ErrorIs(t, publish(t.Context(), &comfort{-1}), bridges.ErrConvert)
	s.Send(publishFrame("/comfort", "short"))
	eventually(t, func() bool { return b.Diagnosis().Malformed == 1 }, "counted")
}

// A message costs no memory once its buffers are there.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s, b := serve(t, "")
	connect(t, b)
	publish, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	s.Stall() // what the server allocates isn't the bridge's
	ctx, imu := t.Context(), &sample.Imu{Header: header}
	send := func() {
		if err := publish(ctx, imu); err != nil {
			t.Error(err)
		}
	}
	for range 200 {
		send()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, send))
}

func TestRegistration(t *testing.T) {
	plugin, err := bridges.MustRegistry(ros2lgsvl.Factory{}).Plugin("ros2lgsvl")
	require.NoError(t, err)
	var wires []string
	for _, typ := range plugin.Types() {
		assert.NotContains(t, typ.Wire, "/msg/")
		assert.Equal(t, 1, strings.Count(typ.Wire, "/"), typ.Wire)
		wires = append(wires, typ.Wire)
	}
	for _, want := range []string{"lgsvl_msgs/Detection2DArray", "lgsvl_msgs/Ultrasonic", "sensor_msgs/PointCloud2", "lgsvl_msgs/VehicleStateData"} {
		assert.Contains(t, wires, want)
	}
}

// A bridge dials an address of IPv6 in brackets.
func TestIPv6(t *testing.T) {
	s := peers.NewLGSVL(peers.LGSVLConfig{Address: "[::1]:0"})
	if err := s.Start(); err != nil {
		t.Skipf("this machine has no loopback address of IPv6: %v", err)
	}
	t.Cleanup(s.Kill)
	require.True(t, strings.HasPrefix(s.Addr(), "[::1]:"), s.Addr())
	b := open(t, s.Addr())
	connect(t, b)
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &sample.Clock{}))
	eventually(t, func() bool { return s.Received()["/clock"] == 1 }, "it arrives")
	assert.NoError(t, b.Err())
}

func TestFrameSize(t *testing.T) {
	frame := publishFrame("/a", "body")
	for n, want := range []int{1, 5, 5, 5, 5, 11, 11, 11, 11, 11, 11, 15, 15, 15, 15, 15} {
		got, err := ros2lgsvl.FrameSize(frame[:n])
		require.NoError(t, err)
		assert.Equal(t, want, got, "of %d bytes", n)
	}
	for _, op := range []byte{0, 1, 2, 4, 'H', 0xff} {
		_, err := ros2lgsvl.FrameSize([]byte{op})
		assert.ErrorIs(t, err, transport.ErrProtocol, "at the first byte")
	}
	_, err := ros2lgsvl.FrameSize([]byte{3, 1, 16, 0, 0})
	assert.ErrorIs(t, err, transport.ErrProtocol, "a topic of 4097 bytes")
}

// Whatever comes, the reader neither panics nor makes frames of what isn't one; frames
// put together again are the bytes that came.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(publishFrame("/points", "body"))
	f.Add(append(publishFrame("", ""), publishFrame("/a", "b")...))
	f.Add(publishFrame("/a", "b")[:7])
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add([]byte{3, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs := net.Pipe()
		conn := transport.TCP{Size: ros2lgsvl.FrameSize, Limit: 1 << 20}.Conn(ours)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = theirs.Write(data)
			_ = theirs.Close()
		}()
		var again []byte
		for {
			frame, err := conn.Read(t.Context())
			if err != nil {
				break
			}
			topic, body := ros2lgsvl.SplitPublish(frame)
			again = append(again, publishFrame(string(topic), string(body))...)
		}
		require.NoError(t, conn.Close())
		<-done
		require.True(t, bytes.HasPrefix(data, again))
	})
}
