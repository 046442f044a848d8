package osi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/worldtest"
)

// encode writes the instants of a world as GroundTruths.
func encode(w worldtest.World) (list []message) {
	for _, now := range w.Instants {
		m := truthAt(int64(now.At))
		for _, a := range now.Actors {
			m = m.put(5, car(uint64(a.ID), base(a.X, a.Y, 0.75, a.Yaw)))
		}
		list = append(list, m)
	}
	return list
}

// write makes a file.
func write(t testing.TB, name string, content []byte) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// trace writes a world as a file of messages.
func traceOf(w worldtest.World) []byte {
	file := framed(encode(w)...)
	switch w.End {
	case worldtest.Garbage:
		file = append(file, "\x05\x00\x00\x00\xff\xff\xff\xff\xff"...)
	case worldtest.Dead:
		file = append(file, "\x05\x00\x00\x00\x12"...)
	}
	return file
}

func TestConformanceOfTraces(t *testing.T) {
	worldtest.Run(t, worldtest.Harness{Kind: Kind, Play: func(t *testing.T, w worldtest.World) string {
		return write(t, "drive.osi", traceOf(w))
	}})
}

func TestConformanceOfGzip(t *testing.T) {
	worldtest.Run(t, worldtest.Harness{Kind: Kind, Play: func(t *testing.T, w worldtest.World) string {
		return write(t, "drive.osi.gz", zip(t, traceOf(w)))
	}})
}

func zip(t testing.TB, content []byte) []byte {
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	_, err := z.Write(content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return file.Bytes()
}

func TestConformanceOfMCAP(t *testing.T) {
	worldtest.Run(t, worldtest.Harness{Kind: Kind, Play: func(t *testing.T, w worldtest.World) string {
		messages := encode(w)
		if w.End == worldtest.Garbage {
			messages = append(messages, message("\xff\xff\xff\xff\xff"))
		}
		file := recorded(t, mcap.CompressionZSTD, "osi3.GroundTruth", messages...)
		if w.End == worldtest.Dead {
			file = recorded(t, mcap.CompressionNone, "osi3.GroundTruth", messages...)
			file = file[:bytes.LastIndex(file, messages[2])+len(messages[2])]
		}
		return write(t, "drive.mcap", file)
	}})
}

// recorded writes messages as an MCAP file, each in a chunk, with a channel of something else.
func recorded(t testing.TB, compression mcap.CompressionFormat, schema string, messages ...message) []byte {
	var file bytes.Buffer
	w, err := mcap.NewWriter(&file, &mcap.WriterOptions{Chunked: compression != mcap.CompressionNone, ChunkSize: 1, Compression: compression, IncludeCRC: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcap.Header{}))
	require.NoError(t, w.WriteSchema(&mcap.Schema{ID: 1, Name: "osi3.SensorData", Encoding: "protobuf"}))
	require.NoError(t, w.WriteSchema(&mcap.Schema{ID: 2, Name: schema, Encoding: "protobuf"}))
	require.NoError(t, w.WriteChannel(&mcap.Channel{ID: 8, SchemaID: 1, Topic: "data", MessageEncoding: "protobuf"}))
	require.NoError(t, w.WriteChannel(&mcap.Channel{ID: 9, SchemaID: 2, Topic: "world", MessageEncoding: "protobuf"}))
	for k, m := range messages {
		require.NoError(t, w.WriteMessage(&mcap.Message{ChannelID: 8, LogTime: uint64(k), Data: []byte("else")}))
		require.NoError(t, w.WriteMessage(&mcap.Message{ChannelID: 9, LogTime: uint64(k), Data: m}))
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

// freePort returns a port that nobody has.
func freePort(t testing.TB) int {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// queued returns how many bytes wait in the socket of a port of this machine.
func queued(port int) (n int) {
	text, _ := os.ReadFile("/proc/net/udp")
	for line := range strings.Lines(string(text)) {
		field := strings.Fields(line) // number, local, remote, state, queues
		if len(field) > 4 && field[1] == fmt.Sprintf("0100007F:%04X", port) {
			var out int
			_, _ = fmt.Sscanf(field[4], "%x:%x", &out, &n)
		}
	}
	return n
}

// send sends datagrams to a port of this machine as soon as somebody listens there. It waits
// until each is read, so that none is lost.
func send(t *testing.T, port int, delay time.Duration, packets [][]byte) {
	at := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	done, stop := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-done })
	go func() {
		defer close(done)
		for {
			c, err := net.ListenUDP("udp", at)
			if err != nil { // somebody has it
				break
			}
			c.Close()
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
		time.Sleep(delay)
		c, err := net.DialUDP("udp", nil, at)
		if !assert.NoError(t, err) {
			return
		}
		defer c.Close()
		for _, p := range packets {
			if _, err := c.Write(p); err != nil {
				return
			}
			for queued(port) > 0 {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
				}
			}
		}
	}()
}

func TestConformanceOfDatagrams(t *testing.T) {
	worldtest.Run(t, worldtest.Harness{Kind: Kind, Live: true, Endless: true, Lossy: true, Play: func(t *testing.T, w worldtest.World) string {
		var packets [][]byte
		for _, m := range encode(w) {
			packets = append(packets, datagrams(m, mostData)...)
		}
		if w.End == worldtest.Garbage {
			packets = append(packets, datagrams(message("\xff\xff\xff\xff\xff"), mostData)...)
		}
		port := freePort(t)
		send(t, port, w.Delay, packets)
		return fmt.Sprintf("udp:%d", port)
	}})
}

func still() world.State { return world.State{Pose: spatial.Identity()} }

// read returns all frames of a file, and the error after them.
func read(t testing.TB, path string, o world.Options) ([]world.Frame, error) {
	return worldtest.Frames(t, Kind, path, o)
}

// drive is a SensorView trace: a host, a bus that brakes, a pedestrian, and a house in the first message.
func drive() (list []message) {
	for k := range 3 {
		x, at := float64(k), int64(k)*50_000_000
		host := car(1, base(x, 0, 0.75, 0)).put(5, message{}.vector(4, -1.4, 0, -0.4))
		bus := message{}.id(1, 2).number(3, kindVehicle).put(6, message{}.number(1, 12)).
			put(2, message{}.vector(1, 12, 2.5, 3).vector(2, 30+x/2, 4, 1.5).vector(3, 0.1, 0.2, 0.3).vector(4, 10, 1, 0).vector(6, 0, 0, 0.5))
		walker := message{}.id(1, 18).number(3, kindPedestrian).put(2, message{}.vector(1, 0.5, 0.6, 1.8).vector(2, 8, -5, 0.9))
		truth := truthAt(at).put(5, host).put(5, bus).put(5, walker)
		if k == 0 {
			truth = truth.put(4, message{}.id(1, 2).put(2, message{}.vector(1, 10, 8, 6).vector(2, 20, 20, 3).vector(3, 0, 0, 1).
				put(4, message{}.number(1, 1))))
		}
		list = append(list, viewOf(truth, at, 1))
	}
	return list
}

func TestSensorView(t *testing.T) {
	frames, err := read(t, write(t, "a.osi", framed(drive()...)), world.Options{Start: 2e9, EgoTheirs: true})
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, frames, 3)
	first := frames[0]
	assert.Equal(t, simtime.Stamp(2e9), first.Until)
	assert.Equal(t, simtime.Stamp(2_050_000_000), frames[1].Until)
	assert.True(t, first.Complete)
	assert.Equal(t, []world.Spawn{
		{Name: "static.2", Model: "box", Size: mgl64.Vec3{10, 8, 6}, Reference: world.BoxCentre,
			State: world.State{Pose: spatial.FromRPY(mgl64.Vec3{20, 20, 3}, 0, 0, mgl64.RadToDeg(1))}},
		{Name: "2", Model: "vehicle.bus", Size: mgl64.Vec3{12, 2.5, 3}, Reference: world.BoxCentre, State: world.State{
			Pose:     spatial.FromRPY(mgl64.Vec3{30, 4, 1.5}, mgl64.RadToDeg(0.1), mgl64.RadToDeg(0.2), mgl64.RadToDeg(0.3)),
			Velocity: mgl64.Vec3{10, 1, 0}, VelocityKnown: true, AngularVelocity: mgl64.Vec3{0, 0, 0.5}, AngularVelocityKnown: true,
		}},
		{Name: "18", Model: "walker.pedestrian.0003", Size: mgl64.Vec3{0.5, 0.6, 1.8}, Reference: world.BoxCentre,
			State: world.State{Pose: spatial.FromRPY(mgl64.Vec3{8, -5, 0.9}, 0, 0, 0)}},
	}, first.Spawn)
	require.Len(t, frames[1].Actors, 3, "the house stays")
	assert.Equal(t, "static.2", frames[1].Actors[0].Name)
	assert.False(t, frames[1].Actors[2].VelocityKnown)

	ego := frames[2].Ego
	require.NotNil(t, ego)
	assert.InDeltaSlice(t, []float64{-1.4, 0, 0}, first.Ego.Pose.Position[:], 1e-12, "its first place counts")
	assert.InDeltaSlice(t, []float64{2 - 1.4, 0, 0}, ego.Pose.Position[:], 1e-12, "below the rear axle, on the ground")
	assert.False(t, ego.VelocityKnown)
	assert.True(t, first.Ego.Jump)
	assert.False(t, ego.Jump)

	ours, err := read(t, write(t, "a.osi", framed(drive()...)), world.Options{})
	require.ErrorIs(t, err, io.EOF)
	assert.Nil(t, ours[0].Ego)
	assert.Equal(t, first.Spawn, ours[0].Spawn, "the host is left out")

	views, err := read(t, write(t, "a.mcap", recorded(t, mcap.CompressionLZ4, "osi3.SensorView", drive()...)), world.Options{Start: 2e9, EgoTheirs: true})
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, frames, views, "an MCAP file says the same")
}

// TestLights: a vehicle's light state says which of its lights are on.
func TestLights(t *testing.T) {
	for name, c := range map[string]struct {
		state message
		want  world.Lights
	}{
		"all off":  {message{}.number(1, 2).number(4, 2).number(5, 2).number(6, 2).number(7, 2), 0},
		"unknown":  {message{}.number(1, 0).number(7, 1), 0},
		"left":     {message{}.number(1, 3), world.LightLeft},
		"right":    {message{}.number(1, 4), world.LightRight},
		"warning":  {message{}.number(1, 5), world.LightLeft | world.LightRight},
		"braking":  {message{}.number(7, 4).number(4, 3), world.LightBrake | world.LightHead},
		"backward": {message{}.number(6, 3).number(5, 3), world.LightReverse | world.LightHead},
		"others":   {message{}.number(2, 3).number(9, 4).put(99, message{}.number(1, 1)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			moving := message{}.id(1, 5).put(2, base(1, 2, 0.75, 0)).number(3, kindVehicle).put(6, message{}.number(1, 4).put(2, c.state))
			frames, err := read(t, write(t, "a.osi", framed(truthAt(0).put(5, moving), truthAt(1e8).put(5, moving))), world.Options{})
			require.ErrorIs(t, err, io.EOF)
			assert.Equal(t, c.want, frames[1].Actors[0].Lights)
		})
	}
}

// lamp writes a TrafficLight: one bulb, with identifiers of its source.
func lamp(id, color, mode uint64, identifiers ...string) message {
	source := message{}
	for _, identifier := range identifiers {
		source = source.put(3, message(identifier))
	}
	m := message{}.id(1, id).put(2, base(1, 2, 3, 0)).put(3, message{}.number(1, color).number(3, mode))
	if len(identifiers) == 0 {
		return m
	}
	return m.put(5, source)
}

// TestTrafficLights: bulbs of one light make its state, and stay until they are told again. The
// light is one of the scene, by what its source calls it or by its id.
func TestTrafficLights(t *testing.T) {
	const off, on, flashing, red, yellow, green, blue = 2, 3, 4, 2, 3, 4, 5
	messages := []message{
		truthAt(0).put(7, lamp(10, red, on, "road:7", "traffic_light_id:J7")).put(7, lamp(11, yellow, off, "J7")).put(7, lamp(12, green, off, "J7")),
		truthAt(1e8).put(7, lamp(20, green, on)).put(7, lamp(21, green, on)).put(7, lamp(22, red, on, "J9")),
		truthAt(2e8).put(7, lamp(11, yellow, on)),
		truthAt(3e8).put(7, lamp(10, red, off)).put(7, lamp(11, yellow, flashing)).put(7, lamp(20, blue, on)),
		truthAt(4e8).put(7, lamp(11, yellow, 0)).put(7, lamp(12, green, on)),
		truthAt(5e8).put(7, lamp(12, green, off)),
		truthAt(6e8),
	}
	shows := func(j7, twenty world.SignalState) []world.Signal {
		return []world.Signal{{Ref: world.Ref{Name: "J7"}, State: j7}, {Ref: world.Ref{Name: "20"}, State: twenty}}
	}
	want := [][]world.Signal{
		{{Ref: world.Ref{Name: "J7"}, State: world.SignalRed}},
		shows(world.SignalRed, world.SignalGreen), shows(world.SignalRed, world.SignalGreen), // red and yellow is red
		shows(world.SignalYellow, world.SignalOff), shows(world.SignalGreen, world.SignalOff), shows(world.SignalOff, world.SignalOff), shows(world.SignalOff, world.SignalOff),
	}
	var told [][]any
	options := world.Options{Lights: func() []string { return []string{"other", "20", "J7"} }, Warn: func(_ string, args ...any) { told = append(told, args) }}
	frames, err := read(t, write(t, "a.osi", framed(messages...)), options)
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, frames, len(want))
	for i := range want {
		assert.Equal(t, want[i], frames[i].Signals, "frame %d", i)
	}
	assert.Equal(t, [][]any{{"id", uint64(21)}}, told, "what the scene doesn't have is told once")

	frames, err = read(t, write(t, "a.osi", framed(messages...)), world.Options{})
	require.ErrorIs(t, err, io.EOF)
	assert.Empty(t, frames[0].Signals)
	for text, bad := range map[string]message{
		"traffic light 1: value is not usable: it has no id":             message{}.put(5, message{}.put(3, message("J7"))),
		"traffic light 1: classification: it is damaged":                 message{}.id(1, 4).put(3, message("\x08")),
		"traffic lights: value is not usable: there are more than 65536": message(strings.Repeat("\x3a\x00", 1<<16+1)),
		"traffic light 1: source reference: it is damaged":               message{}.id(1, 4).put(5, message("\x1a\x05x")),
	} {
		with := truthAt(1e8).put(7, bad)
		if len(bad) > 1<<16 {
			with = append(truthAt(1e8), bad...)
		}
		_, err = read(t, write(t, "a.osi", framed(messages[0], with)), options)
		assert.ErrorContains(t, err, text)
	}
}

// TestProjection: the first projection that messages have is told, in a view, too, and not more of
// it than anyone reads.
func TestProjection(t *testing.T) {
	const utm = "+proj=utm +zone=32 +ellps=WGS84"
	for name, c := range map[string]struct {
		messages []message
		want     []string
	}{
		"unsaid":   {[]message{truthAt(0), truthAt(1e8)}, nil},
		"first":    {[]message{truthAt(0), truthAt(1e8).put(14, message(utm)), truthAt(2e8).put(14, message("+proj=merc"))}, []string{utm}},
		"esmini's": {[]message{truthAt(0).put(14, message(utm+";1.5")), truthAt(1e8)}, []string{utm}},
		"endless":  {[]message{truthAt(0).put(14, message(strings.Repeat("+", 1<<20))), truthAt(1e8)}, []string{strings.Repeat("+", 1<<10)}},
	} {
		for _, views := range []bool{false, true} {
			t.Run(fmt.Sprint(name, views), func(t *testing.T) {
				var told []string
				o := world.Options{Projected: func(proj string) { told = append(told, proj) }}
				var list []message
				for k, m := range c.messages {
					if views {
						m = viewOf(m, int64(k)*1e8, 1)
					}
					list = append(list, m)
				}
				_, err := read(t, write(t, "a.osi", framed(list...)), o)
				require.ErrorIs(t, err, io.EOF)
				assert.Equal(t, c.want, told)
			})
		}
	}
}

// TestColors: a description in RGB is the colour of a moving and of a stationary object.
func TestColors(t *testing.T) {
	rgb := message{}.vector(2, 1, 0.5, -0.1)
	moving := message{}.id(1, 5).put(2, base(1, 2, 0.75, 0)).number(3, kindVehicle).put(11, rgb)
	grey := message{}.id(1, 6).put(2, base(1, 9, 0.75, 0)).number(3, kindVehicle).put(11, message{}.vector(1, 0.5))
	standing := message{}.id(1, 7).put(2, base(9, 2, 0.75, 0)).put(6, rgb)
	truth := func(at int64) message { return truthAt(at).put(5, moving).put(5, grey).put(4, standing) }
	frames, err := read(t, write(t, "a.osi", framed(truth(0), truth(1e8))), world.Options{})
	require.ErrorIs(t, err, io.EOF)
	orange := world.Color{R: 255, G: 128, Known: true}
	for i, want := range []world.Color{orange, orange, {}} { // what stands comes first
		assert.Equal(t, want, frames[0].Spawn[i].Color, frames[0].Spawn[i].Name)
	}
}

// TestEgoThatTurns: a point behind the middle of a car that turns left moves to the right of it.
func TestEgoThatTurns(t *testing.T) {
	of := base(10, 20, 0.75, math.Pi/2).vector(4, 0, 5, 0).vector(6, 0, 0, 0.5)
	list := []message{truthAt(0).id(3, 1).put(5, car(1, of)), truthAt(1e8).put(5, car(1, of))}
	frames, err := read(t, write(t, "a.osi", framed(list...)), world.Options{EgoTheirs: true})
	require.ErrorIs(t, err, io.EOF)
	ego := frames[1].Ego
	require.NotNil(t, ego, "the host is named in the first message alone")
	assert.InDeltaSlice(t, []float64{10, 20 - 0.27*4, 0}, ego.Pose.Position[:], 1e-12)
	assert.True(t, ego.VelocityKnown)
	assert.InDeltaSlice(t, []float64{0.5 * 0.27 * 4, 5, 0}, ego.Velocity[:], 1e-12)
}

// TestSpin holds the angular velocity against the change of the orientation.
func TestSpin(t *testing.T) {
	const dt = 1e-6
	for _, o := range []object{
		{orientation: mgl64.Vec3{0.1, 0.2, 0.3}, rates: mgl64.Vec3{1, 0, 0}},
		{orientation: mgl64.Vec3{0.1, -0.7, 2}, rates: mgl64.Vec3{0.4, 2, -1}},
		{orientation: mgl64.Vec3{-1, 1.2, -3}, rates: mgl64.Vec3{0, 1, 1}},
	} {
		later := o
		later.orientation = o.orientation.Add(o.rates.Mul(dt))
		change := later.pose().Orientation.Mul(o.pose().Orientation.Conjugate())
		if change.W < 0 {
			change = change.Scale(-1)
		}
		want, got := change.V.Mul(2/dt), o.spin()
		assert.InDeltaSlice(t, want[:], got[:], 1e-5)
	}
}

func TestModels(t *testing.T) {
	for _, c := range []struct {
		kind, class uint64
		want        string
	}{
		{2, 0, "vehicle.sedan"}, {2, 3, "vehicle.hatchback"}, {2, 4, "vehicle.sedan"}, {2, 6, "vehicle.van"}, {2, 7, "vehicle.truck"},
		{2, 10, "vehicle.motorcycle"}, {2, 11, "vehicle.bicycle"}, {2, 12, "vehicle.bus"}, {2, 22, "box"}, {2, math.MaxUint64, "box"},
		{3, 0, "walker.pedestrian.0002"}, {0, 4, "box"}, {4, 0, "box"},
	} {
		o := object{id: 1, kind: c.kind, class: c.class}
		assert.Equal(t, c.want, o.model(), "type %d, class %d", c.kind, c.class)
	}
}

func TestFaults(t *testing.T) {
	one := truthAt(1e9).put(5, car(1, base(0, 0, 0, 0)))
	two := truthAt(2e9).put(5, car(1, base(1, 0, 0, 0)))
	with := func(in message) []byte { return framed(one, two, truthAt(3e9).put(5, in)) }
	at := fmt.Sprintf("message 3 at byte %d: ", len(framed(one, two)))
	whole := framed(one, two, two)
	for _, c := range []struct {
		name   string
		file   []byte
		want   string
		is     error
		frames int
	}{
		{"empty", nil, "a.osi: message 1 at byte 0: the world has fewer than two instants", nil, 0},
		{"one message", framed(one), "the world has fewer than two instants: want two or more, to move between", nil, 1},
		{"cut in a message", whole[:len(whole)-7], at + fmt.Sprintf("it is damaged: the file ends in it, after %d of %d bytes", len(two)-7, len(two)), ErrDamaged, 2},
		{"cut in a length", append(framed(one, two), 1, 2), at + "it is damaged: the file ends in it, after 2 of 4 bytes", io.ErrUnexpectedEOF, 2},
		{"long message", append(framed(one, two), 1, 0, 0, 4), at + "it is damaged: it says that it has 67108865 bytes, the limit is 67108864", ErrDamaged, 2},
		{"text", []byte("hello, world"), "message 1 at byte 0: it is damaged: it says that it has", ErrDamaged, 0},
		{"garbage", append(framed(one, two), framed(message("\x12\x03\x08\x01\x12\x05"))...), at + "timestamp: it is damaged, or it is not a message of OSI 3: in field 2: unexpected EOF", ErrDamaged, 2},
		{"another protocol", framed(one, two, message{}.number(2, 5)), at + "it is damaged, or it is not a message of OSI 3: field 2 has wire type 0, want 2", ErrDamaged, 2},
		{"no timestamp", framed(one, two, message{}.put(5, car(1, base(0, 0, 0, 0)))), at + "time is not ahead: it has no timestamp", world.ErrTime, 2},
		{"nanoseconds", framed(one, two, message{}.put(2, message{}.number(2, 1<<32))), at + "timestamp: time is not ahead: 0 s and 4294967296 ns", world.ErrTime, 2},
		{"seconds", framed(one, two, message{}.put(2, message{}.number(1, 4_611_686_017).number(2, 1e9))), at + "timestamp: time is not ahead: 4611686017 s and 1000000000 ns", world.ErrTime, 2},
		{"time goes back", framed(one, two, one), at + "time is not ahead: it goes back from 2 to 1 s", world.ErrTime, 2},
		{"NaN", with(car(1, base(0, math.NaN(), 0, 0))), at + "moving object 1: base: position: value is not usable: NaN", world.ErrValue, 2},
		{"infinite", with(car(1, base(0, 0, 0, math.Inf(-1)))), at + "moving object 1: base: orientation: value is not usable: -Inf", world.ErrValue, 2},
		{"no id", with(message{}.put(2, base(0, 0, 0, 0))), at + "moving object 1: value is not usable: it has no id", world.ErrValue, 2},
		{"no position", with(message{}.id(1, 6)), at + "moving object 1: value is not usable: id 6 has no position", world.ErrValue, 2},
		{"negative size", with(message{}.id(1, 6).put(2, message{}.vector(1, 1, -1, 1).vector(2, 0, 0, 0))), at + "moving object 1: value is not usable: id 6 has a negative dimension", world.ErrValue, 2},
		{"twice", framed(one, two, two[:len(two):len(two)].times(2, 3e9).put(5, car(1, base(0, 0, 0, 0)))), at + `actors[1] (actor "1"): it is named twice`, world.ErrDuplicate, 2},
		{"gzip cut", zip(t, whole)[:40], "it is damaged: the file ends in it", ErrDamaged, 0},
		{"gzip of nothing", []byte{0x1f, 0x8b, 8, 0}, "a.osi: it is damaged: gzip: unexpected EOF", ErrDamaged, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			frames, err := read(t, write(t, "a.osi", c.file), world.Options{})
			assert.ErrorContains(t, err, c.want)
			assert.NotErrorIs(t, err, io.EOF)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
			assert.Len(t, frames, c.frames)
		})
	}
}

// TestNanosBeyondASecond: writers that add up or round have nanos of a second or more. They count on
// top of the seconds.
func TestNanosBeyondASecond(t *testing.T) {
	var list []message
	var want []simtime.Stamp
	for _, at := range [][2]uint64{{0, 999_999_999}, {0, 1_000_000_000}, {0, 1_050_000_000}, {1, 100_000_000}, {1, 1_000_000_000}, {0, 4_294_967_295}, {3, 2_000_000_000}} {
		list = append(list, message{}.put(2, message{}.number(1, at[0]).number(2, at[1])).put(5, car(1, base(float64(at[0]), 0, 0, 0))))
		want = append(want, simtime.Stamp(at[0]*1e9+at[1]))
	}
	frames, err := read(t, write(t, "a.osi", framed(list...)), world.Options{})
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, frames, len(want))
	for i, f := range frames {
		assert.Equal(t, want[i]-want[0], f.Until)
	}
}

// TestSameInstant: what is said twice of an instant counts once. Its static objects count.
func TestSameInstant(t *testing.T) {
	house := truthAt(1e9).put(4, message{}.id(1, 5).put(2, base(0, 0, 0, 0)))
	list := []message{truthAt(1e9).put(5, car(1, base(0, 0, 0, 0))), house, truthAt(2e9).put(5, car(1, base(1, 0, 0, 0)))}
	frames, err := read(t, write(t, "a.osi", framed(list...)), world.Options{})
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, frames, 2)
	assert.Len(t, frames[1].Spawn, 1, "the house")
	assert.Len(t, frames[1].Actors, 1)
}

func TestMCAPFaults(t *testing.T) {
	file := recorded(t, mcap.CompressionZSTD, "osi3.GroundTruth", encode(worldtest.World{Instants: []worldtest.Instant{{At: 0}, {At: 1e9}, {At: 2e9}}})...)
	const compressed = "\x04\x00\x00\x00zstd"
	chunks := bytes.SplitAfter(file, []byte(compressed))
	require.Greater(t, len(chunks), 6, "each message has a chunk, and two come at a time")
	last := len(bytes.Join(chunks[:6], nil)) + 20 // in the one of the third message
	flipped := bytes.Clone(file)
	flipped[last] ^= 0xff
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"cut between records", "a.mcap: message 1: it is damaged: the file ends without an end record: unexpected EOF", []byte(magic)},
		{"cut", "a.mcap: message 3: it is damaged: ", file[:last]},
		{"flipped", "a.mcap: message 3: it is damaged: ", flipped},
		// The library copies a name of any length into 32 bytes.
		{"name of a compression", "a.mcap: message 1: it is damaged: ", bytes.ReplaceAll(file, []byte(compressed), []byte("\xff\xff\x00\x00zstd"))},
		{"nothing of a world", "a.mcap: message 1: the world has fewer than two instants", recorded(t, mcap.CompressionLZ4, "osi3.SensorData", message("else"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, write(t, "a.mcap", c.file), world.Options{})
			assert.ErrorContains(t, err, c.want)
			assert.NotErrorIs(t, err, io.EOF)
		})
	}
}

func TestMCAPChannels(t *testing.T) {
	var told []string
	_, err := read(t, write(t, "a.mcap", recorded(t, mcap.CompressionZSTD, "osi3.SensorView", drive()...)), world.Options{Warn: func(text string, args ...any) {
		told = append(told, text+fmt.Sprint(args))
	}})
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, []string{"a channel of the MCAP file is left out[topic data schema osi3.SensorData]",
		"the host vehicle of the OSI messages is left out: with ego: theirs it moves the vehicle with the sensors[]"}, told, "each is said once")
}

func TestNoHost(t *testing.T) {
	var told []string
	list := []message{truthAt(0), truthAt(1), truthAt(2)}
	frames, err := read(t, write(t, "a.osi", framed(list...)), world.Options{EgoTheirs: true, Warn: func(text string, _ ...any) { told = append(told, text) }})
	require.ErrorIs(t, err, io.EOF)
	assert.Nil(t, frames[0].Ego)
	assert.Len(t, told, 1)
}

func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	for address, want := range map[string]string{
		filepath.Join(dir, "nobody.osi"): "no such file",
		dir:                              "is not a file: name a trace, such as drive.osi",
		write(t, "20260101T000000Z_sd_370_3150_3_a.osi", nil): "by its name it has messages of type sd: want gt or sv",
		"udp:":                "want udp:PORT or udp:HOST:PORT; esmini sends to 48198",
		"udp:0":               "want udp:PORT",
		"udp:70000":           "want udp:PORT",
		"udp:1.2.3.4:48198":   "no interface of this machine has the address",
		"udp:127.0.0.1:1:2:3": "want udp:PORT",
	} {
		_, err := Kind.Open(context.Background(), address, world.Options{})
		assert.ErrorContains(t, err, want, address)
	}
}

// TestLoopback: without an address nobody from outside gets in.
func TestLoopback(t *testing.T) {
	r, err := listen(fmt.Sprint(freePort(t)), world.Options{})
	require.NoError(t, err)
	defer r.Close()
	assert.True(t, r.conn.LocalAddr().(*net.UDPAddr).IP.IsLoopback())
}

// TestParts: a message of which a datagram is missing is dropped and counted, and the next one is whole.
func TestParts(t *testing.T) {
	a, b := datagrams(message("aabbccd"), 2), datagrams(message("eeff"), 2)
	single := datagrams(message("x"), 2)
	cut := func(list [][]byte, without ...int) (out [][]byte) {
		for i, p := range list {
			if !strings.Contains(fmt.Sprint(without), fmt.Sprint(i)) {
				out = append(out, p)
			}
		}
		return out
	}
	for _, c := range []struct {
		name string
		sent [][][]byte
		want string
		lost int64
	}{
		{"all", [][][]byte{a, b, single, a}, "aabbccd eeff x aabbccd", 0},
		{"the last", [][][]byte{b, cut(a, 3), b}, "eeff eeff", 1},
		{"the middle", [][][]byte{b, cut(a, 1, 2), b}, "eeff eeff", 1},
		{"the first", [][][]byte{b, cut(a, 0), b}, "eeff eeff", 1},
		{"the first two", [][][]byte{b, cut(a, 0, 1), b}, "eeff eeff", 1},
		{"the last and the next's first", [][][]byte{b, cut(a, 3), cut(b, 0), b}, "eeff eeff", 2},
		{"the firsts of two", [][][]byte{b, cut(a, 0, 3), cut(b, 0), b}, "eeff eeff", 2},
		{"all but the ends", [][][]byte{b, cut(a, 0), cut(a, 0, 1, 2), single}, "eeff x", 2},
		{"a late receiver", [][][]byte{cut(a, 0), b}, "eeff", 0},
		{"a datagram twice", [][][]byte{single, a[:2], a[1:], b}, "x eeff", 1},
		{"none of esmini's", [][][]byte{{[]byte("short")}, a[:2], {make([]byte, 9000), make([]byte, 8), []byte("12345678901")}, a[2:]}, "aabbccd", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := parts{adrift: true}
			var got []string
			for _, list := range c.sent {
				for _, packet := range list {
					if m := p.add(packet); m != nil {
						got = append(got, string(m))
					}
				}
			}
			assert.Equal(t, c.want, strings.Join(got, " "))
			assert.Equal(t, c.lost, p.lost)
		})
	}
}

// TestGapsOverUDP: a lost datagram costs its message, and static objects stay.
func TestGapsOverUDP(t *testing.T) {
	messages := drive()
	messages = append(messages, viewOf(truthAt(1e9).put(5, car(2, base(0, 0, 0, 0))), 1e9, 1))
	var packets [][]byte
	for k, m := range messages {
		list := datagrams(m, 100)
		require.Greater(t, len(list), 1)
		if k == 1 {
			list = list[:len(list)-1]
		}
		packets = append(packets, list...)
	}
	port := freePort(t)
	send(t, port, 0, packets)
	var told []string
	source, err := Kind.Open(context.Background(), fmt.Sprintf("udp:127.0.0.1:%d", port), world.Options{Warn: func(text string, _ ...any) { told = append(told, text) }})
	require.NoError(t, err)
	defer source.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	f, err := source.Next(ctx, still())
	require.NoError(t, err)
	assert.Zero(t, f.Until)
	f, err = source.Next(ctx, still())
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(100_000_000), f.Until, "the second message is lost")
	f, err = source.Next(ctx, still())
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(1e9), f.Until)
	assert.Len(t, f.Actors, 2, "the house and a car")
	assert.EqualValues(t, 1, source.Gaps())
	assert.Len(t, told, 2, "of the gap, and of the host that is left out")
}

// TestHostileDatagrams: what anybody may send to the port is dropped, counted and told. The run continues
// with what the sender says, also of what stands there.
func TestHostileDatagrams(t *testing.T) {
	good := func(at int64) message {
		return truthAt(at).put(4, message{}.id(1, 5).put(2, base(9, 9, 1, 0))).put(5, car(1, base(float64(at)*1e-9, 0, 0, 0)))
	}
	house := message{}.id(1, 8).put(2, base(0, 0, 0, 0))
	list := []message{
		good(0),
		message("x"), message("\xff\xff\xff"),
		truthAt(1).put(5, car(1, base(math.NaN(), 0, 0, 0))),
		truthAt(2).put(5, car(1, base(0, 0, 0, 0))).put(5, car(1, base(0, 0, 0, 0))),
		truthAt(3).put(4, house).put(4, house),
		message{}.put(5, car(1, base(0, 0, 0, 0))),
		truthAt(-5e9),
		good(1e8), good(2e8),
	}
	var packets [][]byte
	for _, m := range list {
		packets = append(packets, datagrams(m, mostData)...)
	}
	port := freePort(t)
	send(t, port, 0, packets)
	var told [][]any
	source, err := Kind.Open(context.Background(), fmt.Sprintf("udp:%d", port), world.Options{Warn: func(_ string, args ...any) { told = append(told, args) }})
	require.NoError(t, err)
	defer source.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for k := range 3 {
		f, err := source.Next(ctx, still())
		require.NoError(t, err)
		assert.Equal(t, simtime.Stamp(k)*1e8, f.Until)
		assert.Len(t, append(f.Actors, make([]world.Actor, len(f.Spawn))...), 2)
	}
	assert.EqualValues(t, 7, source.Gaps())
	require.NotEmpty(t, told)
	assert.ErrorIs(t, told[0][1].(error), ErrDamaged)

	// A frame that the run refuses is taken back.
	assert.NoError(t, source.(world.Refuser).Refused(world.ErrFull))
	assert.EqualValues(t, 8, source.Gaps())
}

// TestSenderIsSetBack: the run follows a sender that begins again, once some of its messages fit to each other.
func TestSenderIsSetBack(t *testing.T) {
	l := &loop{lossy: true}
	for _, at := range []int64{4e18, 1e8, 2e8, 3e8, 4e8, 5e8} {
		l.messages = append(l.messages, truthAt(at).put(5, car(1, base(0, 0, 0, 0))))
	}
	source := newSource(l, world.Options{Start: 7, Warn: func(string, ...any) {}})
	var until []simtime.Stamp
	for {
		f, err := source.Next(context.Background(), still())
		if err != nil {
			break
		}
		until = append(until, f.Until)
	}
	assert.Equal(t, []simtime.Stamp{7, 1e8 + 7, 2e8 + 7}, until)
	assert.EqualValues(t, 3, source.Gaps(), "those by which it is known")
}

// TestEndlessMessage: datagrams that never end a message cost no more memory than one may have.
func TestEndlessMessage(t *testing.T) {
	p := parts{adrift: true}
	packet := make([]byte, header+mostData)
	binary.LittleEndian.PutUint32(packet[4:], mostData)
	for k := range uint32(2*mostMessage/mostData + 1) {
		binary.LittleEndian.PutUint32(packet, k+1)
		require.Nil(t, p.add(packet))
		require.LessOrEqual(t, cap(p.buffer.bytes), mostMessage)
	}
	assert.Zero(t, cap(p.buffer.bytes))
	assert.EqualValues(t, 1, p.lost)
	assert.Equal(t, "x", string(p.add(datagrams(message("x"), 2)[0])), "the next one is whole")
}

// TestMessagesAreOfTheRunsMemory: what a file or a sender has is taken from it, and given back.
func TestMessagesAreOfTheRunsMemory(t *testing.T) {
	budget := memory.New(8000)
	small, large := framed(truthAt(0), truthAt(1), truthAt(2)), framed(crowd(0), crowd(1))
	_, err := read(t, write(t, "a.osi", small), world.Options{Memory: budget})
	require.ErrorIs(t, err, io.EOF)
	_, err = read(t, write(t, "a.osi", large), world.Options{Memory: budget})
	require.ErrorIs(t, err, memory.ErrExceeded)
	assert.ErrorContains(t, err, "message 1 at byte 0: not enough memory: an OSI message needs")
	assert.Zero(t, budget.Held())

	p := parts{adrift: true, buffer: store{memory: budget}}
	for _, packet := range datagrams(crowd(0), 1000) {
		require.Nil(t, p.add(packet))
	}
	assert.EqualValues(t, 1, p.lost)
	assert.Equal(t, "x", string(p.add(datagrams(message("x"), 2)[0])))
	p.buffer.free()
	assert.Zero(t, budget.Held())
}

// TestRealTrace reads a trace that another program wrote: 547 SensorViews with a host and a car.
func TestRealTrace(t *testing.T) {
	const path = "../../../shared/assets/maps/example_sv_trace.osi"
	if _, err := os.Stat(path); err != nil {
		t.Skip("no ../shared/assets/maps beside the checkout; the other tests have our own traces")
	}
	frames, err := read(t, path, world.Options{EgoTheirs: true})
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, frames, 547)
	first, last := frames[0], frames[546]
	require.Len(t, first.Spawn, 1)
	assert.Equal(t, "2", first.Spawn[0].Name)
	assert.Equal(t, "vehicle.sedan", first.Spawn[0].Model)
	assert.Equal(t, mgl64.Vec3{4.953, 1.881, 1.419}, first.Spawn[0].Size)
	assert.Equal(t, mgl64.Vec3{-246.08026393222062, -44.259242380037904, 0.7095}, first.Spawn[0].State.Pose.Position)
	assert.InDelta(t, 1.0/30, float64(frames[1].Until)*1e-9, 1e-3)
	assert.InDelta(t, 546.0/30, float64(last.Until)*1e-9, 0.05)
	for k, f := range frames {
		require.NotNil(t, f.Ego)
		require.InDelta(t, 0, f.Ego.Pose.Position[2], 1e-9, "the host stands on the ground")
		require.Len(t, f.Actors, min(1, k))
	}
}

// crowd writes a message of 200 cars.
func crowd(at int64) message {
	m := truthAt(at).id(3, 1)
	for id := range uint64(200) {
		of := base(float64(id), float64(at)*1e-9, 0.75, 0.1).vector(4, 10, 0, 0).vector(6, 0, 0, 0.1)
		m = m.put(5, car(id+1, of).put(5, message{}.vector(4, -1.4, 0, -0.4)))
	}
	return m
}

// loop repeats a few messages, each later than the one before.
type loop struct {
	messages [][]byte
	k        int
	lossy    bool
	dropped  int64
}

func (l *loop) next(context.Context) ([]byte, error) {
	if l.k++; l.k > len(l.messages) {
		return nil, io.EOF
	}
	return l.messages[l.k-1], nil
}
func (l *loop) place() string { return "loop" }
func (l *loop) gaps() int64   { return l.dropped }
func (l *loop) Close() error  { return nil }
func (l *loop) drop(error) bool {
	l.dropped++
	return l.lossy
}

func TestFrameOf200AllocatesLittle(t *testing.T) {
	var file bytes.Buffer
	for k := range int64(40) {
		file.Write(framed(crowd(k * 1e7)))
	}
	source, err := Kind.Open(context.Background(), write(t, "a.osi", file.Bytes()), world.Options{EgoTheirs: true})
	require.NoError(t, err)
	defer source.Close()
	ctx, ego := context.Background(), still()
	step := func() {
		if f, err := source.Next(ctx, ego); err != nil || len(f.Actors) != 199 {
			t.Fatal(err, f)
		}
	}
	_, err = source.Next(ctx, ego) // they come
	require.NoError(t, err)
	step()
	assert.LessOrEqual(t, testing.AllocsPerRun(30, step), 1.0)
}

// BenchmarkFrame200 is the walk of 200 objects and their frame.
func BenchmarkFrame200(b *testing.B) {
	l := &loop{}
	for k := range int64(1000) {
		l.messages = append(l.messages, crowd(k*1e7))
	}
	ctx, ego := context.Background(), still()
	b.SetBytes(int64(len(l.messages[0])))
	b.ReportAllocs()
	var source world.Source
	for k := 0; b.Loop(); k++ {
		if k%(len(l.messages)-1) == 0 {
			l.k = 0
			source = newSource(l, world.Options{})
		}
		if _, err := source.Next(ctx, ego); err != nil {
			b.Fatal(err)
		}
	}
}

// sound checks frames of any input.
func sound(t *testing.T, frames []world.Frame, err error) {
	require.Error(t, err)
	until := simtime.Stamp(-1)
	for _, f := range frames {
		require.Greater(t, f.Until, until)
		until = f.Until
		require.LessOrEqual(t, len(f.Signals), 2)
		for _, s := range f.Signals {
			require.True(t, s.State.Known())
		}
		for _, a := range f.Actors {
			require.False(t, math.IsNaN(a.Pose.Position.Len()) || math.IsNaN(a.Pose.Orientation.Len()), "%+v", a)
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(framed(drive()...))
	f.Add(framed(truthAt(1).put(5, car(1, base(1, 2, 3, 4))), truthAt(2)))
	f.Add(zip(f, framed(drive()...)))
	f.Add(framed(truthAt(1).put(7, lamp(1, 2, 3, "J7")), truthAt(2).put(7, lamp(1, 3, 3)).put(7, lamp(20, 4, 3)), truthAt(3)))
	f.Fuzz(func(t *testing.T, file []byte) {
		frames, err := read(t, write(t, "a.osi", file), world.Options{EgoTheirs: true, Lights: func() []string { return []string{"J7", "20"} }})
		sound(t, frames, err)
	})
}

func FuzzMCAP(f *testing.F) {
	f.Add(recorded(f, mcap.CompressionNone, "osi3.SensorView", drive()...))
	f.Add(recorded(f, mcap.CompressionZSTD, "osi3.SensorView", drive()...))
	f.Add(recorded(f, mcap.CompressionLZ4, "osi3.GroundTruth", truthAt(1), truthAt(2)))
	f.Fuzz(func(t *testing.T, file []byte) {
		frames, err := read(t, write(t, "a.mcap", append([]byte(magic), file...)), world.Options{EgoTheirs: true})
		sound(t, frames, err)
	})
}

// FuzzDatagrams: what comes out whole is what was sent, whichever datagrams are lost or
// come twice.
func FuzzDatagrams(f *testing.F) {
	f.Add([]byte{1, 1, 0, 1, 2})
	f.Fuzz(func(t *testing.T, fates []byte) {
		p := parts{adrift: true}
		sent := map[string]bool{}
		for i := 0; i < len(fates); {
			m := message(fmt.Sprintf("message %d", i))
			sent[string(m)] = true
			for _, packet := range datagrams(m, 4) {
				times := byte(1)
				if i < len(fates) {
					times = fates[i] % 3
				}
				i++
				for range times {
					got := p.add(packet)
					require.True(t, got == nil || sent[string(got)], "%q", got)
				}
			}
		}
		require.LessOrEqual(t, p.lost, int64(len(sent))*4)
		if m := p.add(fates); m != nil {
			require.Len(t, fates, header+len(m))
		}
	})
}

// TestBomb: what a gzip file unpacks to has an end.
func TestBomb(t *testing.T) {
	file := framed(truthAt(0), truthAt(1), truthAt(2))
	endless := &fault.Bounded{Reader: bytes.NewReader(file), Left: int64(len(file)) - 3, Err: errBomb}
	source := newSource(&trace{path: "a.osi.gz", reader: bufio.NewReader(endless)}, world.Options{})
	for range 2 {
		_, err := source.Next(context.Background(), still())
		require.NoError(t, err)
	}
	_, err := source.Next(context.Background(), still())
	assert.ErrorIs(t, err, ErrDamaged)
	assert.ErrorContains(t, err, "it unpacks to more than 1073741824 bytes")
}
