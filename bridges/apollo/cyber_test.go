package apollo_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// patience is how long tests wait for what happens soon, tick how often they look.
const (
	patience = 30 * time.Second
	tick     = 2 * time.Millisecond
)

// open returns a bridge that isn't connected.
func open(t testing.TB, connection string) *bridges.Bridge {
	t.Helper()
	return openIn(t, connection, bridges.Env{})
}

func openIn(t testing.TB, connection string, env bridges.Env) *bridges.Bridge {
	t.Helper()
	b, err := bridges.MustRegistry(apollo.Cyber{}).Open("cyber:"+connection, env)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

// vector is a message that python3-protobuf has written.
func vector(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/wire/cyber", name+".bin"))
	require.NoError(t, err)
	return data
}

func TestFrames(t *testing.T) {
	assert.Equal(t, []byte("\x01\x02\x00\x00\x00\x01\x00\x00\x00A\x02\x00\x00\x00BC\x03\x02\x00\x00\x00/c\x01\x00\x00\x00T"),
		apollo.WriterFrame("/c", "T", [][]byte{[]byte("A"), []byte("BC")}))
	assert.Equal(t, []byte("\x02\x02\x00\x00\x00/c\x01\x00\x00\x00T"), apollo.ReaderFrame("/c", "T"))
}

// The server reads every message with what the bridge has registered, whose bytes are
// what python3-protobuf writes where nothing was computed.
func TestServerReadsEveryMessage(t *testing.T) {
	received := map[string][]byte{}
	server := newServer(t, peers.CyberConfig{Received: func(channel string, m []byte) { received[channel] = append([]byte(nil), m...) }})
	server.Start(t)
	b := open(t, server.Connection()+"&apollo=8")
	require.NoError(t, b.Connect(t.Context()))
	for _, s := range bridgetest.ApolloSamples() {
		publish, err := bridges.AddPublisherOf(b, reflect.TypeOf(s.Value), bridges.Topic{Name: "/" + s.Name})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return server.Ready("/"+s.Name) && b.Status() == flow.Connected }, patience, tick)
		require.NoError(t, publish(t.Context(), s.Value))
		require.Eventually(t, func() bool { return server.Received()["/"+s.Name] == 1 }, patience, tick, s.Name)
		m, err := server.Last("/" + s.Name)
		require.NoError(t, err, s.Name)
		for _, row := range b.Statistics().Topics {
			if row.Topic == "/"+s.Name {
				assert.Equal(t, string(m.Descriptor().FullName()), row.Type)
			}
		}
	}
	require.NoError(t, b.Close(t.Context()))
	server.Cyber.Kill()
	for _, name := range []string{"clock", "image", "point_cloud", "point_cloud_organized", "laser_scan", "radar_objects", "signals"} {
		assert.Equal(t, vector(t, name), received["/"+name], name)
	}
	assert.Empty(t, server.Log())
}

// Commands move a subscriber, messages of other types and rubbish in the right frames
// don't, and are counted.
func TestCommands(t *testing.T) {
	server := newServer(t, peers.CyberConfig{})
	server.Start(t)
	b := open(t, server.Connection())
	got := make(chan *sample.VehicleControl, 10)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/apollo/control"}, func(c *sample.VehicleControl) { got <- c }))
	require.NoError(t, b.Connect(t.Context()))
	require.Eventually(t, func() bool { return len(server.Readers()) == 1 }, patience, tick)
	assert.Equal(t, []string{"/apollo/control"}, server.Readers())

	server.Publish("/apollo/control", []byte{0xff})
	server.Publish("/apollo/control", []byte{0x19, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f})     // a throttle that is not a number
	server.Cyber.Send(append([]byte("\x04\x05\x00\x00\x00/else\x01\x00\x00\x00"), 0)) // nobody subscribed
	server.Publish("/apollo/control", vector(t, "control_command"))
	select {
	case c := <-got:
		assert.Equal(t, 0.25, c.Acceleration)
		assert.Equal(t, -0.4, c.Steering)
	case <-time.After(patience):
		require.Fail(t, "no command")
	}
	assert.EqualValues(t, 2, b.Diagnosis().Malformed)
	assert.EqualValues(t, 1, b.Diagnosis().Connections)
}

// A server that isn't cyber_bridge is told as what it is.
func TestOtherServers(t *testing.T) {
	for name, answer := range map[string]string{
		"web server":         "HTTP/1.1 400 Bad Request\r\n\r\n",
		"lgsvl bridge":       "\x03\x02\x00\x00\x00/c\x00\x00\x00\x00",
		"a length too large": "\x04\x02\x00\x00\x00/c\x01\x00\x00\x04",
		"a name too long":    "\x04\xff\xff\xff\xff",
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, peers.CyberConfig{})
			server.Start(t)
			b := open(t, server.Connection())
			require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/c"}, func(*sample.VehicleControl) {}))
			require.NoError(t, b.Connect(t.Context()))
			require.Eventually(t, func() bool { return len(server.Readers()) == 1 }, patience, tick)
			server.Cyber.Send([]byte(answer))
			require.Eventually(t, func() bool { return b.Diagnosis().LastError != nil }, patience, tick)
			assert.ErrorIs(t, b.Diagnosis().LastError, transport.ErrProtocol)
		})
	}
}

func TestOrigin(t *testing.T) {
	server := newServer(t, peers.CyberConfig{})
	server.Start(t)
	aachen := spatial.TangentMap(spatial.Geodetic{Latitude: 50.77535, Longitude: 6.08389, Altitude: 170})
	for name, c := range map[string]struct {
		at         spatial.MapFrame
		option     string
		x, y, z, d float64
	}{
		"unknown":     {spatial.MapFrame{}, "", 1, 2, 3, 0},
		"scene's":     {aachen, "", 294409, 5628898, 173, 3},
		"option's":    {spatial.MapFrame{}, "&origin=50.77535,6.08389,170", 294409, 5628898, 173, 3},
		"option wins": {spatial.TangentMap(spatial.Geodetic{}), "&origin=50.77535,6.08389", 294409, 5628898, 3, 3},
	} {
		b := openIn(t, server.Connection()+c.option, bridges.Env{Map: c.at})
		channel := "/" + strings.ReplaceAll(name, " ", "_")
		publish, err := bridges.AddPublisher[*sample.Odometry](b, bridges.Topic{Name: channel})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		require.Eventually(t, func() bool { return server.Ready(channel) && b.Status() == flow.Connected }, patience, tick)
		require.NoError(t, publish(t.Context(), &sample.Odometry{BodyPose: spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.QuatIdent()}}))
		require.Eventually(t, func() bool { return server.Received()[channel] == 1 }, patience, tick)
		m, err := server.Last(channel)
		require.NoError(t, err)
		pose := m.Get(m.Descriptor().Fields().ByName("pose")).Message()
		position := pose.Get(pose.Descriptor().Fields().ByName("position")).Message()
		for i, want := range []float64{c.x, c.y, c.z} {
			assert.InDelta(t, want, position.Get(position.Descriptor().Fields().Get(i)).Float(), c.d, name)
		}
	}
}

func TestBadConnectionStrings(t *testing.T) {
	registry := bridges.MustRegistry(apollo.Cyber{}, apollo.RosApollo{})
	const origin = "want LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,ALTITUDE in degrees and metres, such as 37.417,-122.016"
	for spec, want := range map[string]string{
		"cyber:host?origin=here": origin, "cyber:host?origin=1,2,3,4": origin, "cyber:host?origin=91,0": origin, "cyber:host?origin=0,181": origin,
		"cyber:host?origin=NaN,0": origin, "cyber:host?origin=1,north": origin,
		"cyber:host?apollo=6": "want 7, for Apollo up to 7, or 8, for those from 8 on", "cyber:host:port": "port", "cyber:": "",
		"rosapollo:robot?bson=1": "bson", "rosapollo:tcp://robot": "want ws://, wss:// or nothing before the host",
	} {
		err := registry.Check(spec, bridges.Env{})
		assert.ErrorIs(t, err, bridges.ErrConnectionString, spec)
		assert.ErrorContains(t, err, want, spec)
	}
	assert.NoError(t, registry.Check("cyber:host?origin=37.417,-122.016,5", bridges.Env{}))
}

// The layout of channels that are registered can't change.
func TestLayoutStays(t *testing.T) {
	i, err := apollo.Cyber{}.NewInstance(bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, i.Connect(t.Context(), "127.0.0.1:1"))
	assert.ErrorIs(t, i.Connect(t.Context(), "127.0.0.1:1?apollo=8"), bridges.ErrConnectionString)
	require.NoError(t, i.Connect(t.Context(), "127.0.0.1:1?apollo=7"))
	require.NoError(t, i.Disconnect(t.Context()))
}

// FuzzFrames reads frames as the client does.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x04\x02\x00\x00\x00/c\x03\x00\x00\x00abc"))
	f.Add([]byte("\x04\x00\x00\x00\x00\x00\x00\x00\x00\x04"))
	f.Add([]byte("\x04\xff\xff\xff\xff"))
	f.Add([]byte("\x03"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for head := 0; ; {
			size, err := apollo.FrameSize(data[:head])
			if err != nil {
				require.ErrorIs(t, err, transport.ErrProtocol)
				return
			}
			require.Positive(t, size)
			if size > head {
				if head = size; head > len(data) {
					return
				}
				continue
			}
			channel, message := apollo.SplitFrame(data[:size])
			require.Equal(t, size, 9+len(channel)+len(message))
			require.EqualValues(t, len(channel), binary.LittleEndian.Uint32(data[1:]))
			require.Equal(t, data[size-len(message):size], message)
			data, head = data[size:], 0
		}
	})
}

// jerk and goal are types that the bridge doesn't know.
type jerk struct {
	sample.Header
	value float64
}

type goal struct{ name string }

var errNegative = errors.New("a negative jerk")

func jerkAs(dst *wrapperspb.DoubleValue, src *jerk) error {
	if src.value < 0 {
		return errNegative
	}
	if src.value > 0 { // what isn't set stays empty
		dst.Value = src.value
	}
	return nil
}

func goalOf(dst *goal, src *wrapperspb.StringValue) error {
	if src.GetValue() == "" {
		return errors.New("a goal without a name")
	}
	dst.name = src.GetValue()
	return nil
}

// Types from outside go out with descriptors of their own, and come in.
func TestTypesOfOnesOwn(t *testing.T) {
	server := newServer(t, peers.CyberConfig{})
	server.Start(t)
	registry := bridges.MustRegistry(apollo.Cyber{})
	plugin, err := registry.Plugin("cyber")
	require.NoError(t, err)
	require.NoError(t, apollo.RegPublisher(plugin, jerkAs))
	require.NoError(t, apollo.RegSubscriber(plugin, goalOf))
	assert.ErrorIs(t, apollo.RegPublisher(plugin, jerkAs), bridges.ErrDuplicate)
	assert.ErrorIs(t, apollo.RegSubscriber(plugin, goalOf), bridges.ErrDuplicate)

	b, err := registry.Open("cyber:"+server.Connection(), bridges.Env{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close(context.Background())) }()
	publish, err := bridges.AddPublisher[*jerk](b, bridges.Topic{Name: "/comfort"})
	require.NoError(t, err)
	goals := make(chan *goal, 10)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/goal"}, func(g *goal) { goals <- g }))
	require.NoError(t, b.Connect(t.Context()))
	require.Eventually(t, func() bool {
		return b.Status() == flow.Connected && server.Ready("/comfort") && len(server.Readers()) == 1
	}, patience, tick)

	for n, value := range []float64{2.5, 0} {
		require.NoError(t, publish(t.Context(), &jerk{value: value}))
		require.Eventually(t, func() bool { return server.Received()["/comfort"] == n+1 }, patience, tick)
		m, err := server.Last("/comfort")
		require.NoError(t, err)
		assert.EqualValues(t, "google.protobuf.DoubleValue", m.Descriptor().FullName())
		assert.Equal(t, value, m.Get(m.Descriptor().Fields().ByName("value")).Float())
	}
	assert.ErrorIs(t, publish(t.Context(), &jerk{value: -1}), errNegative)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, b.Statistics().Drops)

	for _, name := range []string{"", "home"} {
		data, err := proto.Marshal(wrapperspb.String(name))
		require.NoError(t, err)
		server.Publish("/goal", data)
	}
	select {
	case g := <-goals:
		assert.Equal(t, goal{"home"}, *g)
	case <-time.After(patience):
		require.Fail(t, "nothing arrived")
	}
	assert.EqualValues(t, 1, b.Diagnosis().Malformed)
	assert.Empty(t, server.Log())
}
