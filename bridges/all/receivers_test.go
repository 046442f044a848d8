package all_test

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all/alltest"
	"github.com/raybridge/raybridge/bridges/cyber/cybertest"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
	"github.com/raybridge/raybridge/bridges/rosbridge/rosbridgetest"
	"github.com/raybridge/raybridge/pipeline"
)

// receiver is the other side of one bridge.
type receiver struct {
	spec string // of the bridge
	in   *inbox
	// visit, where not nil, connects to the bridge, which listens.
	visit func(t *testing.T, endpoints []bridges.Endpoint)
	// read, where not nil, reads the file that the bridge has written and closed.
	read func(t *testing.T) []arrival
}

func (r *receiver) file() bool { return r.read != nil }

// inbox keeps what has arrived, in its order.
type inbox struct {
	mu   sync.Mutex
	raw  []func() (arrival, error) // guarded by mu: what isn't decoded yet
	list []arrival                 // guarded by mu
}

// add keeps a message that is decoded when somebody asks for it.
func (b *inbox) add(decode func() (arrival, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.raw = append(b.raw, decode)
}

// arrivals returns what has arrived so far; what can't be decoded fails the test.
func (b *inbox) arrivals(t *testing.T) []arrival {
	t.Helper()
	b.mu.Lock()
	raw := b.raw
	b.raw = nil
	b.mu.Unlock()
	var list []arrival
	for _, decode := range raw {
		a, err := decode()
		require.NoError(t, err)
		list = append(list, a)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, list...)
	return slices.Clone(b.list)
}

// attach adds the receivers' bridges to a pipeline, and connects those that come to a
// bridge.
func attach(t *testing.T, p *pipeline.Pipeline, receivers ...*receiver) {
	t.Helper()
	for _, r := range receivers {
		require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: r.spec}), r.spec)
	}
	for i, row := range p.Summary().Bridges {
		if visit := receivers[i].visit; visit != nil {
			visit(t, row.Endpoints)
		}
	}
}

func mcapFile(profile string) func(*testing.T, string) *receiver {
	return func(_ *testing.T, dir string) *receiver {
		return &receiver{spec: "mcap:" + profile + ".mcap?profile=" + profile, read: func(t *testing.T) []arrival {
			return readMCAP(t, filepath.Join(dir, profile+".mcap"))
		}}
	}
}

// readMCAP reads a recording with the format's own library.
func readMCAP(t *testing.T, path string) (list []arrival) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	reader, err := mcap.NewReader(f)
	require.NoError(t, err)
	defer reader.Close()
	messages, err := reader.Messages(mcap.UsingIndex(true), mcap.InOrder(mcap.FileOrder))
	require.NoError(t, err)
	require.NoError(t, mcap.Range(messages, func(s *mcap.Schema, c *mcap.Channel, m *mcap.Message) error {
		var a arrival
		if c.MessageEncoding == "ros1" {
			if a, err = describeROS1(c.Topic, s.Name, m.Data); err != nil {
				return err
			}
		} else {
			v, err := decode(c.MessageEncoding, s.Name, s.Data, m.Data)
			if err != nil {
				return err
			}
			if a, err = describe(c.Topic, v); err != nil {
				return err
			}
		}
		a.exact = append(a.exact, int64(m.PublishTime))
		list = append(list, a)
		return nil
	}))
	return list
}

func loggingFile(_ *testing.T, dir string) *receiver {
	return &receiver{spec: "logging:drive", read: func(t *testing.T) []arrival {
		return readLog(t, filepath.Join(dir, "drive.txt.gz"))
	}}
}

// readLog reads pairs of lines: a type and a topic, then a JSON object, whose Time is
// seconds in decimals.
func readLog(t *testing.T, path string) (list []arrival) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewReader(unpacked)
	for {
		head, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		body, err := lines.ReadString('\n')
		require.NoError(t, err)
		var m struct {
			Frame       string
			Time, Clock json.Number
			StampNs     int64
			Encoding    string
			Bytes       string
			Data        json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(body), &m))
		_, topic, _ := strings.Cut(strings.TrimSpace(head), " ")
		a := arrival{topic: topic, frame: m.Frame}
		if topic == alltest.TransformsTopic {
			var transforms []struct {
				Frame   string
				Time    json.Number
				StampNs int64
			}
			require.NoError(t, json.Unmarshal(m.Data, &transforms))
			m.Time, m.StampNs, a.frame = transforms[0].Time, transforms[0].StampNs, transforms[0].Frame
		}
		if topic == alltest.ClockTopic {
			m.Time = m.Clock
		}
		seconds, decimals, _ := strings.Cut(m.Time.String(), ".")
		require.Len(t, decimals, 9, body)
		a.stamp, err = json.Number(seconds + decimals).Int64()
		require.NoError(t, err, body)
		a.exact = []int64{m.StampNs}
		if m.Encoding == "rgb8" {
			data, err := base64.StdEncoding.DecodeString(m.Bytes)
			require.NoError(t, err)
			a.picture = sha256.Sum256(data)
		}
		list = append(list, a)
	}
}

// connectTo dials a bridge that listens; the connection ends with the test.
func connectTo(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func streamClient(*testing.T, string) *receiver {
	r := &receiver{spec: "stream:127.0.0.1:0?messages=4096", in: &inbox{}}
	r.visit = func(t *testing.T, endpoints []bridges.Endpoint) {
		t.Helper()
		var done sync.WaitGroup
		t.Cleanup(done.Wait)
		conn := connectTo(t, endpoints[0].Address)
		_, err := io.WriteString(conn, "RBSTREAM\x01\x00\x00\x00\x05\x00\x00\x00"+"\x01\x00"+"\x01\x00*")
		require.NoError(t, err)
		done.Go(func() { r.in.readStream(conn) })
	}
	return r
}

// readStream reads alltest.Frames of the stream protocol by docs/stream-protocol.md.
func (b *inbox) readStream(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	next := func(n uint32) []byte {
		data := make([]byte, n)
		if _, err := io.ReadFull(in, data); err != nil {
			return nil
		}
		return data
	}
	greeting := next(16)
	if greeting == nil {
		return
	}
	topics := map[uint16]string{}
	rest := next(binary.LittleEndian.Uint32(greeting[12:]))
	rest = rest[2+2+4+4+8:] // no reason, options, longest, beat, instance
	n := binary.LittleEndian.Uint16(rest)
	rest = rest[2:]
	for range n {
		id := binary.LittleEndian.Uint16(rest)
		rest = rest[12:]
		for i := range 4 {
			size := 2 + int(binary.LittleEndian.Uint16(rest))
			if i == 0 {
				topics[id] = string(rest[2:size])
			}
			rest = rest[size:]
		}
	}
	for {
		head := next(16)
		if head == nil {
			return
		}
		message := next(binary.LittleEndian.Uint32(head))
		_, _ = conn.Write([]byte("\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00")) // alive
		if id := binary.LittleEndian.Uint16(head[4:]); id != 0 && message != nil {
			topic := topics[id]
			b.add(func() (arrival, error) { return describeStream(topic, message) })
		}
	}
}

func describeStream(topic string, m []byte) (arrival, error) {
	if len(m) < 112 || string(m[:4]) != "RBMS" {
		return arrival{}, fmt.Errorf("%s: bad message", topic)
	}
	a := arrival{topic: topic, stamp: int64(binary.LittleEndian.Uint64(m[32:]))}
	n := int(binary.LittleEndian.Uint16(m[14:]))
	a.frame = string(m[112 : 112+n])
	body := m[112+(n+7)/8*8:]
	switch binary.LittleEndian.Uint16(m[8:]) {
	case 2: // an Image: 32 bytes, the encoding's name, the data
		size := int(binary.LittleEndian.Uint32(body[12:]))
		data := body[32+(size+7)/8*8:]
		a.picture = sha256.Sum256(data[:binary.LittleEndian.Uint32(body[24:])])
	case 13: // Transforms
		a.frame = ""
	}
	return a, nil
}

// carlaTopics are those that CARLA has messages for.
var carlaTopics = []string{alltest.ImageTopic, alltest.PointsTopic, alltest.ImuTopic, alltest.FixTopic}

func carlaClient(*testing.T, string) *receiver {
	r := &receiver{spec: "carla:127.0.0.1:0?messages=4096", in: &inbox{}}
	r.visit = func(t *testing.T, endpoints []bridges.Endpoint) {
		t.Helper()
		var done sync.WaitGroup
		t.Cleanup(done.Wait)
		for _, e := range endpoints {
			conn := connectTo(t, e.Address)
			_, err := conn.Write(binary.LittleEndian.AppendUint32(nil, e.Stream))
			require.NoError(t, err)
			done.Go(func() { r.in.readCARLA(e.Topic, conn) })
		}
	}
	return r
}

// readCARLA reads alltest.Frames of one stream by docs/carla-streams.md.
func (b *inbox) readCARLA(topic string, in net.Conn) {
	defer in.Close()
	var length [4]byte
	for {
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return
		}
		frame := make([]byte, binary.LittleEndian.Uint32(length[:]))
		if _, err := io.ReadFull(in, frame); err != nil {
			return
		}
		b.add(func() (arrival, error) {
			a := arrival{topic: topic, stamp: nanoseconds(math.Float64frombits(binary.LittleEndian.Uint64(frame[16:])))}
			if topic == alltest.ImageTopic {
				var rgb []byte
				for p := frame[48+12:]; len(p) >= 4; p = p[4:] { // after width, height and field of view: BGRA
					rgb = append(rgb, p[2], p[1], p[0])
				}
				a.picture = sha256.Sum256(rgb)
			}
			return a, nil
		})
	}
}

// rosbridgeServer is what bridges rosbridge and rosapollo connect to.
func rosbridgeServer(kind, options string, config rosbridgetest.Config) func(*testing.T, string) *receiver {
	return func(t *testing.T, _ string) *receiver {
		t.Helper()
		in := &inbox{}
		config := config
		config.Keep = 1
		config.Published = func(topic string, m rosbridgetest.Message) {
			in.add(func() (arrival, error) { return describe(topic, m.Values) })
		}
		s := rosbridgetest.New(config)
		require.NoError(t, s.Start())
		t.Cleanup(func() { assert.Empty(t, s.Statuses()); s.Kill() })
		return &receiver{spec: kind + ":ws://" + s.Addr() + "?messages=4096&retry=50ms" + options, in: in}
	}
}

func lgsvlServer(t *testing.T, _ string) *receiver {
	t.Helper()
	in := &inbox{}
	s := lgsvltest.New(lgsvltest.Config{Published: func(m lgsvltest.Message) {
		in.add(func() (arrival, error) { return describe(m.Topic, m.Value) })
	}})
	require.NoError(t, s.Start())
	t.Cleanup(func() { assert.Empty(t, s.Log()); s.Kill() })
	return &receiver{spec: "ros2lgsvl:" + s.Address() + "?messages=4096&retry=50ms", in: in}
}

// cyberTopics are those that Apollo has messages for.
var cyberTopics = []string{alltest.ImageTopic, alltest.PointsTopic, alltest.ImuTopic, alltest.OdometryTopic, alltest.FixTopic, alltest.ClockTopic}

func cyberServer(t *testing.T, _ string) *receiver {
	t.Helper()
	in := &inbox{}
	types := map[string]protoreflect.MessageDescriptor{} // of the decoding goroutine
	var s *cybertest.Server
	s = cybertest.New(cybertest.Config{Received: func(channel string, message []byte) {
		data := slices.Clone(message)
		in.add(func() (arrival, error) {
			if types[channel] == nil {
				last, err := s.Last(channel)
				if err != nil {
					return arrival{}, err
				}
				types[channel] = last.Descriptor()
			}
			m, err := decodeDynamic(types[channel], data)
			if err != nil {
				return arrival{}, err
			}
			return describe(channel, m)
		})
	}})
	require.NoError(t, s.Start("127.0.0.1:0"))
	t.Cleanup(func() { assert.Empty(t, s.Log()); s.Kill() })
	return &receiver{spec: "cyber:" + s.Addr() + "?messages=4096&retry=50ms", in: in}
}
