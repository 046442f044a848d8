package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bridgesall "github.com/raybridge/raybridge/bridges/all"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// wait is how long what a test needs may take, on a machine that is busy otherwise.
const wait = time.Minute

// transcript keeps what a program writes, and tells when something was written.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // of one place
}

func newTranscript() *transcript { return &transcript{changed: make(chan struct{}, 1)} }

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until something was written, and returns all that was.
func (w *transcript) await(t *testing.T, part string) string {
	t.Helper()
	timeout := time.After(wait)
	for {
		if text := w.String(); strings.Contains(text, part) {
			return text
		}
		select {
		case <-w.changed:
		case <-timeout:
			t.Fatalf("%q was not written, but\n%s", part, w.String())
		}
	}
}

// calling is a call of the program that is still running.
type calling struct {
	out, errOut *transcript
	interrupt   context.CancelFunc // Ctrl-C
	code        chan int
}

// begin calls the program, and interrupts it when the test ends.
func begin(t *testing.T, args ...string) *calling {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &calling{newTranscript(), newTranscript(), cancel, make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.code <- program(ctx, args, c.out, c.errOut)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return c
}

// end waits until the program has ended by itself.
func (c *calling) end(t *testing.T) outcome {
	t.Helper()
	select {
	case code := <-c.code:
		return outcome{code, c.out.String(), c.errOut.String()}
	case <-time.After(wait):
		t.Fatalf("it doesn't end:\n%s%s", c.out, c.errOut)
		panic("unreachable")
	}
}

// summary ends the program's output as JSON.
func (c *calling) summary(t *testing.T) listenSummary {
	t.Helper()
	o := c.end(t)
	require.Equal(t, exitDone, o.code, o.err)
	var s listenSummary
	require.NoError(t, json.Unmarshal([]byte(o.out), &s), o.out)
	return s
}

// probe is a stream of a test's own server.
type probe struct {
	*stream.Stream
	t *testing.T
}

func serve(t *testing.T, address string) *stream.Server {
	t.Helper()
	s := stream.NewServer(stream.ServerConfig{Beat: 50 * time.Millisecond})
	require.NoError(t, s.Listen(address))
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

// add adds a stream of speeds.
func add(t *testing.T, s *stream.Server, name, sensor string) probe {
	t.Helper()
	return addOf[sample.Speed](t, s, stream.Info{Name: name, Sensor: sensor, SensorType: "sensor.other.speedometer"})
}

// addOf adds a stream of samples T.
func addOf[T any](t *testing.T, s *stream.Server, info stream.Info) probe {
	t.Helper()
	encoding, err := stream.EncodingOf(reflect.TypeFor[*T]())
	require.NoError(t, err)
	out, err := s.AddStream(info, encoding, nil, nil)
	require.NoError(t, err)
	return probe{out, t}
}

// heard waits until somebody listens.
func (p probe) heard() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.Subscribers() > 0 }, wait, time.Millisecond)
}

// send publishes a message 5 simulated milliseconds after its time.
func (p probe) send(msg simtime.Stamped) {
	p.t.Helper()
	require.NoError(p.t, p.Publish(context.Background(), int64(msg.Captured()+5_000_000), msg))
}

// speed is the k-th of ten messages a simulated second.
func speed(k int) *sample.Speed {
	return &sample.Speed{Header: sample.Header{Stamp: simtime.Stamp(int64(k) * 100_000_000), Seq: uint64(k), FrameID: "base_link"}, MetresPerSecond: float64(k)}
}

func TestListenCounts(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	fast, slow, other := add(t, server, "/car/speed", "car"), add(t, server, "/cart/speed", "cart"), add(t, server, "/walker/pace", "walker")
	c := begin(t, "listen", server.Addr().String(), "ca*/speed", "--count", "3", "--json")
	fast.heard()
	slow.heard()
	for k := range 3 {
		fast.send(speed(10 * k))
		slow.send(speed(k))
	}
	s := c.summary(t)
	assert.Zero(t, other.Subscribers())
	assert.Equal(t, server.Addr().String(), s.Address)
	assert.Equal(t, []int{1, 1, 0}, []int{s.Schema, s.Connections, s.Restarts})
	require.Len(t, s.Streams, 2)
	for i, want := range []streamSummary{
		{streamJSON: streamJSON{Topic: "/car/speed", Sensor: "car"}, RateSimHz: 1, LastStampNs: 2_000_000_000},
		{streamJSON: streamJSON{Topic: "/cart/speed", Sensor: "cart"}, RateSimHz: 10, LastStampNs: 200_000_000},
	} {
		got := s.Streams[i]
		assert.Positive(t, got.RateHz)
		want.SensorType, want.Message, want.Messages, want.RateHz = "sensor.other.speedometer", "raybridge_msgs/msg/Speed", 3, got.RateHz
		want.Bytes = 3 * 144 // envelope and frame id 108, CDR 36
		want.LatencyMeanMs, want.LatencyMaxMs = 5, 5
		assert.Equal(t, want, got)
	}
}

// TestListenSelects: a sensor, a topic with or without its slash, patterns of them and
// of the type.
func TestListenSelects(t *testing.T) {
	t.Parallel()
	info := stream.Info{Name: "/front/image_raw", Sensor: "front", SensorType: "sensor.camera.rgb"}
	for text, want := range map[string]bool{
		"front": true, "/front/image_raw": true, "front/image_raw": true, "*": true, "/front/*": true, "*/image_raw": true,
		"f*": true, "sensor.camera.*": true, "sensor.camera.rgb": true, "rear": false, "image_raw": false, "fron": false,
		"/front": true, "sensor.lidar.*": false, "?ront": true, "[a-e]*": false,
	} {
		s, err := parseSelection(text)
		require.NoError(t, err)
		assert.Equal(t, want, s.matches(&info), text)
	}
	s, err := parseSelection("*")
	require.NoError(t, err)
	assert.True(t, s.matches(&stream.Info{Name: "/clock"}), "which has no sensor")
}

func TestListenEndsWithCtrlC(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	p := add(t, server, "/car/speed", "car")
	c := begin(t, "listen", server.Addr().String())
	p.heard()
	p.send(speed(0))
	table := c.out.await(t, "0.000\n")
	lines := strings.Split(table[strings.LastIndex(table, "topic"):], "\n")
	assert.Equal(t, strings.Fields("topic type Hz messages MB/s missed dropped latency ms stamp s"), strings.Fields(lines[0]))
	row := strings.Fields(lines[1])
	assert.Equal(t, []string{"/car/speed", "raybridge_msgs/msg/Speed", "1", "0", "0", "5.0", "0.000"}, append(row[:2:2], row[3], row[5], row[6], row[7], row[8]))
	c.interrupt()
	o := c.end(t)
	assert.Equal(t, exitDone, o.code, o.err)
	assert.Regexp(t, `^[0-9.]+ s: 1 message of 1 stream, 0.0 MB; 0 missed, 0 dropped by the server$`, lastLine(o.out))
	assert.Equal(t, "connected to "+server.Addr().String()+": 1 stream\n", o.err)
}

// TestListenOutlivesTheServer: it says what happened, and continues when there is one again.
func TestListenOutlivesTheServer(t *testing.T) {
	t.Parallel()
	first := serve(t, "127.0.0.1:0")
	address := first.Addr().String()
	p := add(t, first, "/car/speed", "car")
	c := begin(t, "listen", address, "car", "--count", "3", "--json")
	p.heard()
	p.send(speed(0))
	require.NoError(t, first.Close(context.Background()))
	c.errOut.await(t, "disconnected: the stream server was closed")
	c.errOut.await(t, "no connection to "+address+": nobody listens there (connection refused): start the program, or check the address; next attempt in ")

	second := serve(t, address)
	add(t, second, "/walker/pace", "walker")
	c.errOut.await(t, "connected again to "+address+": the server was restarted, so what was missed isn't known")
	c.errOut.await(t, "/car/speed isn't served any more: unknown stream")
	p = add(t, second, "/car/speed", "car")
	p.heard()
	p.send(speed(7))
	p.send(speed(8))
	s := c.summary(t)
	assert.Equal(t, []int{2, 1}, []int{s.Connections, s.Restarts})
	assert.EqualValues(t, 3, s.Streams[0].Messages)
	assert.EqualValues(t, 800_000_000, s.Streams[0].LastStampNs)
	assert.Zero(t, s.Streams[0].Missed)
}

// TestListenTellsOfAttemptsNowAndThen: attempts that fail one after another are told ever more
// seldom, with their number; after a connection the first is told at once.
func TestListenTellsOfAttemptsNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errOut bytes.Buffer
		s := &listenSession{address: "robot:7740", screen: newScreen(&out, &errOut), flags: new(listenFlags)}
		fail := func(seconds int) int {
			errOut.Reset()
			for range seconds {
				s.retry(&stream.Event{Err: io.EOF, Delay: time.Second})
				time.Sleep(time.Second)
			}
			return strings.Count(errOut.String(), "no connection to robot:7740")
		}
		assert.Equal(t, 7, fail(120), "after 1, 3, 7, 15, 31 and 63 s")
		assert.Contains(t, errOut.String(), "next attempt in 1.0 s (3 attempts more since the last line)\n")
		assert.Equal(t, 60, fail(3600))
		s.client, s.connections = new(stream.Client), 1
		s.connected(t.Context(), false)
		assert.Equal(t, 1, fail(1))
		assert.NotContains(t, errOut.String(), "more since")
	})
}

// TestListenWaitsForTheServer: the receiver may be started first.
func TestListenWaitsForTheServer(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	c := begin(t, "listen", address, "--json", "--count", "1")
	c.errOut.await(t, "no connection to "+address)
	server := stream.NewServer(stream.ServerConfig{})
	p := add(t, server, "/car/speed", "car")
	require.NoError(t, server.Listen(address))
	t.Cleanup(func() { assert.NoError(t, server.Close(context.Background())) })
	p.heard()
	p.send(speed(0))
	assert.EqualValues(t, 1, c.summary(t).Streams[0].Messages)
}

// TestListenTakesWhatComesLater: streams that are added while it listens.
func TestListenTakesWhatComesLater(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	c := begin(t, "listen", server.Addr().String(), "--json", "--count", "1")
	c.errOut.await(t, "the server has no streams yet")
	p := add(t, server, "/car/speed", "car")
	p.heard()
	p.send(speed(0))
	assert.Equal(t, "/car/speed", c.summary(t).Streams[0].Topic)
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// refusing returns an address that refuses connections for the length of the test: a socket is
// bound to it, so that no other test is given it, and never listens.
func refusing(t *testing.T) string {
	t.Helper()
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Close(s)) })
	require.NoError(t, syscall.Bind(s, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(s)
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

func TestListenThatNeverConnects(t *testing.T) {
	t.Parallel()
	address := refusing(t)
	o := call(t, "listen", address, "--duration", "2s") // enough for an answer on a busy machine
	assert.Equal(t, exitIncomplete, o.code)
	assert.Equal(t, "raybridge: never connected to "+address+": nobody listens there (connection refused): start the program, or check the address", lastLine(o.err))
	assert.Empty(t, o.out)

	o = call(t, "listen", address, "--list")
	assert.Equal(t, exitIncomplete, o.code)
	assert.Equal(t, "raybridge: connect to stream server "+address+": nobody listens there (connection refused): start the program, or check the address", lastLine(o.err))

	web, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := web.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_, _ = conn.Read(make([]byte, 100)) // so that closing loses nothing
			_ = conn.Close()
		}
	})
	defer served.Wait()
	defer web.Close()
	o = call(t, "listen", web.Addr().String())
	assert.Equal(t, exitIncomplete, o.code, "it ends by itself: no later attempt would succeed")
	assert.Contains(t, lastLine(o.err), "the peer doesn't speak the stream protocol")
}

// TestListenToACarlaBridge: which closes the connections of those who don't ask for one
// of its streams.
func TestListenToACarlaBridge(t *testing.T) {
	t.Parallel()
	b, err := bridgesall.Registry().Open("carla:0", bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	require.NoError(t, b.Connect(t.Context()))
	o := call(t, "listen", b.Endpoints()[0].Address, "--list")
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, lastLine(o.err), "no greeting, it is perhaps no stream server")
}

func TestListenToWhatThereIsNot(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	address := server.Addr().String()
	o := call(t, "listen", address, "car")
	assert.Equal(t, exitUsage, o.code)
	assert.Equal(t, `raybridge: unknown sensor or topic "car": the server has no streams`, lastLine(o.err))
	add(t, server, "/car/speed", "car")
	add(t, server, "/walker/pace", "walker")
	for _, more := range [][]string{nil, {"--list"}} {
		o = call(t, append([]string{"listen", address, "wolker"}, more...)...)
		assert.Equal(t, exitUsage, o.code)
		assert.Equal(t, `raybridge: unknown sensor or topic "wolker", did you mean walker?`, lastLine(o.err))
		assert.Empty(t, o.out)
	}
	dir := t.TempDir()
	o = call(t, "listen", address, "--save", filepath.Join(dir, "a", "b"), "--format", "png")
	assert.Equal(t, exitUsage, o.code)
	assert.NoDirExists(t, filepath.Join(dir, "a"), "nothing was saved")
	assert.DirExists(t, dir)
	assert.Equal(t, "raybridge: --format png: nothing can be saved so of /car/speed, /walker/pace", lastLine(o.err))
}

func TestListenLists(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	add(t, server, "/car/speed", "car")
	addOf[sample.Clock](t, server, stream.Info{Name: "/clock", Latched: true})
	o := call(t, "listen", server.Addr().String(), "--list")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Equal(t, "topic       type                      sensor  sensor's type\n"+
		"/car/speed  raybridge_msgs/msg/Speed  car     sensor.other.speedometer\n"+
		"/clock      rosgraph_msgs/msg/Clock   -       -\n", o.out)
	o = call(t, "listen", server.Addr().String(), "--list", "--json")
	require.Equal(t, exitDone, o.code, o.err)
	assert.JSONEq(t, `[{"topic": "/car/speed", "sensor": "car", "sensor_type": "sensor.other.speedometer", "message": "raybridge_msgs/msg/Speed"},
		{"topic": "/clock", "message": "rosgraph_msgs/msg/Clock", "latched": true}]`, o.out)
}

func picture(k int) *sample.Image {
	return &sample.Image{
		Header: sample.Header{Stamp: simtime.Stamp(k), Seq: uint64(k)}, Width: 1, Height: 1, Step: 3, Encoding: sample.EncodingRGB8, Data: []byte{byte(k), 2, 3},
	}
}

func TestListenSaves(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	images := addOf[sample.Image](t, server, stream.Info{Name: "/eye/image_raw", Sensor: "eye"})
	speeds := add(t, server, "/car/speed", "car")
	dir := filepath.Join(t.TempDir(), "new")
	c := begin(t, "listen", server.Addr().String(), "--save", dir, "--count", "2")
	images.heard()
	speeds.heard()
	for k := range 2 {
		images.send(picture(k))
		speeds.send(speed(k))
	}
	o := c.end(t)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "saving /eye/image_raw in "+filepath.Join(dir, "eye/image_raw/*")+"\n")
	assert.Contains(t, o.err, "saving /car/speed in "+filepath.Join(dir, "car/speed.jsonl")+"\n")
	assert.Equal(t, "saved 4 messages, 0.0 MB, in "+dir, lastLine(o.out))
	for k, name := range []string{"00000000_0.000000000.png", "00000001_0.000000001.png"} {
		f, err := os.Open(filepath.Join(dir, "eye/image_raw", name))
		require.NoError(t, err)
		defer f.Close()
		m, err := png.Decode(f)
		require.NoError(t, err)
		r, _, _, _ := m.At(0, 0).RGBA()
		assert.EqualValues(t, k*0x101, r)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "car/speed.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, 2, bytes.Count(lines, []byte("\n")))
}

// TestListenSavesWhatTheFormatHolds: the rest is named, not received.
func TestListenSavesWhatTheFormatHolds(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	images := addOf[sample.Image](t, server, stream.Info{Name: "/eye/image_raw"})
	speeds := add(t, server, "/car/speed", "car")
	c := begin(t, "listen", server.Addr().String(), "--save", t.TempDir(), "--format", "PNG", "--count", "1", "--json")
	images.heard()
	c.errOut.await(t, "not saved, as --format PNG can't hold them: /car/speed")
	images.send(picture(1))
	s := c.summary(t)
	require.Len(t, s.Streams, 1)
	assert.Equal(t, 1, s.Streams[0].Saved)
	assert.Positive(t, s.Streams[0].SavedBytes)
	assert.Zero(t, speeds.Subscribers())
}

func TestListenThatCannotSave(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	images := addOf[sample.Image](t, server, stream.Info{Name: "/eye/image_raw"})
	c := begin(t, "listen", server.Addr().String(), "--save", t.TempDir(), "--count", "2")
	images.heard()
	strange := picture(1)
	strange.Encoding = "yuv"
	images.send(strange)
	images.send(picture(2))
	o := c.end(t)
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, o.err, `/eye/image_raw: can't save this message: can't show this image: unknown encoding "yuv"`+"\n")
	assert.Contains(t, lastLine(o.err), "raybridge: not saved: 1 message of /eye/image_raw: ")
	assert.Contains(t, lastLine(o.out), "saved 1 message,")

}

func TestListenWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0")
	images := addOf[sample.Image](t, server, stream.Info{Name: "/eye/image_raw"})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "eye"), nil, 0o644))
	c := begin(t, "listen", server.Addr().String(), "--save", dir)
	images.heard()
	images.send(picture(3))
	o := c.end(t)
	assert.Equal(t, exitFailed, o.code)
	assert.Contains(t, lastLine(o.err), "raybridge: save /eye/image_raw: ")
}

func TestListenFigures(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	data := func(stampMs, latencyMs int64, missed uint64) *stream.Data {
		encoding, err := stream.EncodingOf(reflect.TypeFor[*sample.Clock]())
		require.NoError(t, err)
		b, err := encoding.Append(nil, (stampMs+latencyMs)*1e6, &sample.Clock{Stamp: simtime.Stamp(stampMs * 1e6)}, stream.MaxSize)
		require.NoError(t, err)
		d, err := stream.Open(&stream.Info{}, b)
		require.NoError(t, err)
		d.Missed = missed
		return d
	}
	const clockBytes = 92 + 12 // envelope and CDR
	f := newFigures(at(0))
	recent := func(seconds, hz, latencyMs float64, heard bool) {
		t.Helper()
		r := f.recent(at(seconds))
		assert.InDelta(t, hz, r.hz, 1e-9)
		assert.InDelta(t, hz*clockBytes/1e6, r.megabytes, 1e-9)
		assert.InDelta(t, latencyMs, r.latencyMs, 1e-9)
		assert.Equal(t, heard, r.heard)
	}
	recent(0, 0, 0, false)
	f.add(at(0.5), data(100, 10, 0))
	f.add(at(0.6), data(200, 30, 4))
	recent(1, 2, 20, true)
	recent(2, 1, 20, true)
	for k := 3; k <= 5; k++ {
		recent(float64(k), 2/float64(k), 20, true)
	}
	recent(6, 0, 0, false) // the window has gone by
	recent(7, 0, 0, false)
	f.add(at(7.5), data(1100, 0, 0))
	recent(8, 0.2, 0, true)
	assert.LessOrEqual(t, len(f.marks), 7, "a mark a second of the window")

	assert.EqualValues(t, 4, f.missed)
	assert.EqualValues(t, 30e6, f.maxLatencyNs)
	assert.Equal(t, 2.0, rate(f.messages, time.Duration(f.stamp-f.firstNs)))
	assert.InDelta(t, 2/7.0, rate(f.messages, f.mark.at.Sub(f.firstAt)), 1e-9)
	assert.Zero(t, rate(1, time.Second))
	assert.Zero(t, rate(2, 0))

	assert.Equal(t, []string{"4", "0"}, []string{f.missedText(), f.droppedText()})
	f.lose(3, "peer_slow")
	f.lose(5, "peer_slow")
	f.reconnected()
	f.lose(2, "peer_slow")
	f.unknownGaps++
	assert.Equal(t, []string{"4+", "7 peer_slow"}, []string{f.missedText(), f.droppedText()})
}

// TestScreenReplacesTables: on a terminal, but not what was said in between.
func TestScreenReplacesTables(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := screen{out: &out, errOut: &out, terminal: true}
	s.table([]byte("a\nb\n"))
	s.table([]byte("c\n"))
	s.say("said %d", 1)
	s.table([]byte("d\n"))
	assert.Equal(t, "a\nb\n\x1b[2A\x1b[Jc\nsaid 1\nd\n", out.String())
}
