package all_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/apimaster"
	"github.com/bluenviron/goroslib/v2/pkg/apiparam"
	"github.com/bluenviron/goroslib/v2/pkg/apislave"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/geometry_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/nav_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/rosgraph_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/sensor_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/std_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/tf2_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/protocommon"
	"github.com/bluenviron/goroslib/v2/pkg/xmlrpc"
	"github.com/coder/websocket"
	"github.com/foxglove/mcap/go/mcap"
	"github.com/fxamacker/cbor/v2"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
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
		require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: r.spec}), r.spec)
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
		if topic == bridgetest.TransformsTopic {
			var transforms []struct {
				Frame   string
				Time    json.Number
				StampNs int64
			}
			require.NoError(t, json.Unmarshal(m.Data, &transforms))
			m.Time, m.StampNs, a.frame = transforms[0].Time, transforms[0].StampNs, transforms[0].Frame
		}
		if topic == bridgetest.ClockTopic {
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
		_, err := io.WriteString(conn, "RBSTREAM\x02\x00\x00\x00\x05\x00\x00\x00"+"\x01\x00"+"\x01\x00*")
		require.NoError(t, err)
		done.Go(func() { r.in.readStream(conn) })
	}
	return r
}

// readStream reads bridgetest.Frames of the stream protocol by docs/stream-protocol.md.
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
		rest = rest[8:]
		for i := range 6 {
			size := 2 + int(binary.LittleEndian.Uint16(rest))
			if i == 0 {
				topics[id] = string(rest[2:size])
			}
			rest = rest[size:]
		}
		rest = rest[4+binary.LittleEndian.Uint32(rest):] // the definition
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
	if len(m) < 92 {
		return arrival{}, fmt.Errorf("%s: bad message", topic)
	}
	a := arrival{topic: topic, stamp: int64(binary.LittleEndian.Uint64(m[16:]))}
	n := int(binary.LittleEndian.Uint16(m[90:]))
	a.frame = string(m[92 : 92+n])
	cdr := m[92+(n+7)/8*8+4:]
	switch topic {
	case bridgetest.ImageTopic: // stamp, frame id, height, width, encoding, bigendian, step, data
		at := 12 + binary.LittleEndian.Uint32(cdr[8:])
		at = (at+3)/4*4 + 8
		at += 4 + binary.LittleEndian.Uint32(cdr[at:]) + 1
		at = (at+3)/4*4 + 4
		a.picture = sha256.Sum256(cdr[at+4:][:binary.LittleEndian.Uint32(cdr[at:])])
	case bridgetest.TransformsTopic:
		a.frame = ""
	}
	return a, nil
}

// carlaTopics are those that CARLA has messages for.
var carlaTopics = []string{bridgetest.ImageTopic, bridgetest.PointsTopic, bridgetest.ImuTopic, bridgetest.FixTopic}

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

// readCARLA reads bridgetest.Frames of one stream by docs/carla-streams.md.
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
			if topic == bridgetest.ImageTopic {
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
func rosbridgeServer(kind, options string, config peers.RosbridgeConfig) func(*testing.T, string) *receiver {
	return func(t *testing.T, _ string) *receiver {
		t.Helper()
		in := &inbox{}
		config := config
		config.Keep = 1
		config.Published = func(topic string, m peers.RosbridgeMessage) {
			in.add(func() (arrival, error) { return describe(topic, m.Values) })
		}
		s := peers.NewRosbridge(config)
		require.NoError(t, s.Start())
		t.Cleanup(func() { assert.Empty(t, s.Statuses()); s.Kill() })
		return &receiver{spec: kind + ":ws://" + s.Addr() + "?messages=4096&retry=50ms" + options, in: in}
	}
}

func lgsvlServer(t *testing.T, _ string) *receiver {
	t.Helper()
	in := &inbox{}
	s := peers.NewLGSVL(peers.LGSVLConfig{Published: func(m peers.LGSVLMessage) {
		in.add(func() (arrival, error) { return describe(m.Topic, m.Value) })
	}})
	require.NoError(t, s.Start())
	t.Cleanup(func() { assert.Empty(t, s.Log()); s.Kill() })
	return &receiver{spec: "ros2lgsvl:" + s.Addr() + "?messages=4096&retry=50ms", in: in}
}

// cyberTopics are those that Apollo has messages for.
var cyberTopics = []string{bridgetest.ImageTopic, bridgetest.PointsTopic, bridgetest.ImuTopic, bridgetest.OdometryTopic, bridgetest.FixTopic, bridgetest.ClockTopic}

func cyberServer(t *testing.T, _ string) *receiver {
	t.Helper()
	in := &inbox{}
	types := map[string]protoreflect.MessageDescriptor{} // of the decoding goroutine
	var s *peers.Cyber
	s = peers.NewCyber(peers.CyberConfig{Received: func(channel string, message []byte) {
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
	require.NoError(t, s.Start())
	t.Cleanup(func() { assert.Empty(t, s.Log()); s.Kill() })
	return &receiver{spec: "cyber:" + s.Addr() + "?messages=4096&retry=50ms", in: in}
}

// arrival is what a receiver has decoded of a message. Libraries of others decode it, or code
// from the description of the protocol, never a bridge's code.
type arrival struct {
	topic string
	// stamp is when the data is of, nanoseconds, rounded from what the protocol has.
	stamp int64
	// exact are further stamps of the same message, nanoseconds in integers.
	exact []int64
	// measured is Apollo's measurement_time, rounded likewise, 0 where there is none.
	measured int64
	frame    string
	// picture is the hash of an uncompressed picture's bytes, rgb8.
	picture [sha256.Size]byte
}

// nanoseconds rounds seconds, whose value is exactly f, to the nearest nanosecond.
func nanoseconds(f float64) int64 {
	exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(f), big.NewRat(1e9, 1))
	half := big.NewRat(1, 2)
	if exact.Sign() < 0 {
		half.Neg(half)
	}
	exact.Add(exact, half)
	return new(big.Int).Quo(exact.Num(), exact.Denom()).Int64()
}

// child returns what lies at a path in a decoded message; numbers choose from lists.
func child(v any, path ...string) any {
	for _, name := range path {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[name]
		case peers.Value:
			v = parent[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}

// integer returns a whole number of any type.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}

// number returns a double, which in JSON is the nearest to the decimals.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, true
	}
	return 0, false
}

// moment returns the time in a message that has it in two numbers.
func moment(v any) (int64, bool) {
	for _, names := range [][2]string{{"sec", "nanosec"}, {"secs", "nsecs"}, {"seconds", "nanos"}} {
		seconds, ok := integer(child(v, names[0]))
		nanos, also := integer(child(v, names[1]))
		if ok && also {
			return seconds*1e9 + nanos, true
		}
	}
	return 0, false
}

// describe finds in a decoded message, by the names that ROS, Foxglove and Apollo have
// for it, what an arrival says.
func describe(topic string, m any) (arrival, error) {
	a := arrival{topic: topic}
	var err error
	if a.stamp, err = stampOf(m); err != nil {
		return a, fmt.Errorf("%s: %w", topic, err)
	}
	if seconds, ok := number(child(m, "measurement_time")); ok {
		a.measured = nanoseconds(seconds)
	}
	for _, name := range []string{"lidar_timestamp", "camera_timestamp", "radar_timestamp"} {
		if n, ok := integer(child(m, "header", name)); ok {
			a.exact = append(a.exact, n)
		}
	}
	for _, path := range [][]string{{"header", "frame_id"}, {"frame_id"}, {"transforms", "0", "header", "frame_id"}, {"transforms", "0", "parent_frame_id"}} {
		if name, ok := child(m, path...).(string); ok && a.frame == "" {
			a.frame = name
		}
	}
	if child(m, "encoding") == "rgb8" {
		var data []byte
		switch v := child(m, "data").(type) {
		case []byte:
			data = v
		case string:
			if data, err = base64.StdEncoding.DecodeString(v); err != nil {
				return a, err
			}
		default:
			return a, fmt.Errorf("%s: a picture of %T", topic, v)
		}
		a.picture = sha256.Sum256(data)
	}
	return a, nil
}

func stampOf(m any) (int64, error) {
	for _, path := range [][]string{
		{"header", "stamp"}, {"clock"}, {"transforms", "0", "header", "stamp"}, {"timestamp"}, {"transforms", "0", "timestamp"},
	} {
		if t, ok := moment(child(m, path...)); ok {
			return t, nil
		}
	}
	if seconds, ok := number(child(m, "header", "timestamp_sec")); ok {
		return nanoseconds(seconds), nil
	}
	if t, ok := integer(child(m, "clock")); ok {
		return t, nil
	}
	return 0, fmt.Errorf("no stamp in %v", m)
}

// decode takes a message apart by the schema that came with it.
func decode(encoding, schemaName string, schema, data []byte) (any, error) {
	switch encoding {
	case "cdr":
		return decodeCDR(schemaName, string(schema), data)
	case "protobuf":
		return decodeProtobuf(schemaName, schema, data)
	}
	return nil, fmt.Errorf("no decoder of %q", encoding)
}

// definition reads a schema of encoding ros2msg: the message's definition, and those that
// it is made of after lines of 80 equal signs.
func definition(name, schema string) (*peers.Definition, error) {
	short := func(name string) string { return strings.Replace(name, "/msg/", "/", 1) }
	texts := map[string]string{}
	for i, part := range strings.Split(schema, strings.Repeat("=", 80)+"\n") {
		head := "MSG: " + name
		if i > 0 {
			head, part, _ = strings.Cut(part, "\n")
		}
		texts[short(strings.TrimPrefix(head, "MSG: "))] = part
	}
	return peers.LoadDefinition(short(name), func(name string) (string, error) {
		text, ok := texts[name]
		if !ok {
			return "", fmt.Errorf("schema without %s", name)
		}
		return text, nil
	})
}

func decodeCDR(name, schema string, data []byte) (any, error) {
	d, err := definition(name, schema)
	if err != nil {
		return nil, err
	}
	if len(data) < 4 || data[0] != 0 || data[1] != 1 {
		return nil, fmt.Errorf("%s is not plain CDR, little endian: %x", name, data[:min(len(data), 4)])
	}
	r := &cdrReader{data: data[4:]}
	v := r.message(d)
	return v, r.err
}

// cdrReader reads plain CDR (OMG DDSI-RTPS 2.3, section 10) by a definition.
type cdrReader struct {
	data []byte
	at   int
	err  error
}

func (r *cdrReader) message(d *peers.Definition) map[string]any {
	m := map[string]any{}
	for i := range d.Fields {
		f := &d.Fields[i]
		n := f.Array
		switch {
		case f.Array == peers.Single:
			m[f.Name] = r.element(f)
			continue
		case f.Array == peers.Sequence:
			n = int(binary.LittleEndian.Uint32(r.take(4, 4)))
		}
		if f.Type == "uint8" {
			m[f.Name] = r.take(1, n)
			continue
		}
		list := []any{}
		for range n {
			if r.err == nil {
				list = append(list, r.element(f))
			}
		}
		m[f.Name] = list
	}
	return m
}

func (r *cdrReader) element(f *peers.Field) any {
	if f.Message != nil {
		return r.message(f.Message)
	}
	switch f.Type {
	case "bool", "int8", "uint8", "byte", "char":
		return r.take(1, 1)[0]
	case "int16", "uint16":
		return binary.LittleEndian.Uint16(r.take(2, 2))
	case "int32":
		return int32(binary.LittleEndian.Uint32(r.take(4, 4)))
	case "uint32":
		return binary.LittleEndian.Uint32(r.take(4, 4))
	case "float32":
		return math.Float32frombits(binary.LittleEndian.Uint32(r.take(4, 4)))
	case "int64", "uint64":
		return binary.LittleEndian.Uint64(r.take(8, 8))
	case "float64":
		return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8, 8)))
	}
	n := int(binary.LittleEndian.Uint32(r.take(4, 4)))
	return strings.TrimSuffix(string(r.take(1, n)), "\x00")
}

// take returns the next bytes from a multiple of align on, zeros where there are none.
func (r *cdrReader) take(align, n int) []byte {
	r.at = (r.at + align - 1) / align * align
	if n > len(r.data)-r.at {
		r.err = io.ErrUnexpectedEOF
		return make([]byte, 8)
	}
	b := r.data[r.at : r.at+n]
	r.at += n
	return b
}

func decodeProtobuf(name string, schema, data []byte) (any, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(schema, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	return decodeDynamic(d.(protoreflect.MessageDescriptor), data)
}

func decodeDynamic(d protoreflect.MessageDescriptor, data []byte) (any, error) {
	m := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(data, m); err != nil {
		return nil, err
	}
	return plain(m), nil
}

// plain is a message as a map; fields of times are there also where they are 0.
func plain(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		switch v := m.Get(f); {
		case f.IsList():
			list := []any{}
			for k := range v.List().Len() {
				list = append(list, plainValue(f, v.List().Get(k)))
			}
			out[string(f.Name())] = list
		default:
			out[string(f.Name())] = plainValue(f, v)
		}
	}
	return out
}

func plainValue(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	if f.Message() != nil {
		return plain(v.Message())
	}
	return v.Interface()
}

const (
	patience = time.Minute
	tick     = 2 * time.Millisecond
)

// caller is a WebSocket client of a bridge that listens.
type caller struct {
	t    *testing.T
	conn *websocket.Conn
}

// call connects, and has bridgetest.Frames given to take until the connection ends, on one
// goroutine.
func call(t *testing.T, address, subprotocol string, take func(c *caller, kind websocket.MessageType, data []byte)) *caller {
	t.Helper()
	var options websocket.DialOptions
	if subprotocol != "" {
		options.Subprotocols = []string{subprotocol}
	}
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address, &options) //nolint:bodyclose // the library closes it
	require.NoError(t, err)
	conn.SetReadLimit(-1)
	c := &caller{t, conn}
	ctx := t.Context()
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			kind, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			take(c, kind, data)
		}
	})
	t.Cleanup(func() {
		_ = conn.CloseNow()
		reading.Wait()
	})
	return c
}

// say sends a text; a connection that has ended is told by what doesn't come.
func (c *caller) say(format string, args ...any) {
	_ = c.conn.Write(c.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...))
}

// rosbridgeClient subscribes to the bridge in its server mode, in a compression of
// rosbridge's.
func rosbridgeClient(compression string) func(*testing.T, string) *receiver {
	return func(*testing.T, string) *receiver {
		r := &receiver{spec: "rosbridge:listen=127.0.0.1:0?messages=4096", in: &inbox{}}
		r.visit = func(t *testing.T, endpoints []bridges.Endpoint) {
			t.Helper()
			c := call(t, endpoints[0].Address, "", func(_ *caller, kind websocket.MessageType, data []byte) {
				r.in.add(func() (arrival, error) { return describeRosbridge(kind, data) })
			})
			for _, topic := range append([]string{bridgetest.ClockTopic}, bridgetest.DataTopics...) {
				c.say(`{"op":"subscribe","topic":%q,"compression":%q}`, topic, compression)
			}
		}
		return r
	}
}

func describeRosbridge(kind websocket.MessageType, data []byte) (arrival, error) {
	var m struct {
		Op    string         `json:"op"`
		Topic string         `json:"topic"`
		Msg   map[string]any `json:"msg"`
	}
	if kind == websocket.MessageText {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			return arrival{}, err
		}
	} else {
		mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode()
		if err != nil {
			return arrival{}, err
		}
		if err := mode.Unmarshal(data, &m); err != nil {
			return arrival{}, err
		}
	}
	if m.Op != "publish" {
		return arrival{}, fmt.Errorf("the server says %q", data)
	}
	return describe(m.Topic, m.Msg)
}

// foxgloveChannel is one that the bridge advertises.
type foxgloveChannel struct {
	ID                                                  uint32
	Topic, Encoding, SchemaName, Schema, SchemaEncoding string
}

// foxgloveClient subscribes to every channel, under a number of its own, and decodes
// messages by the channels' schemas.
func foxgloveClient(*testing.T, string) *receiver {
	r := &receiver{spec: "foxglove:127.0.0.1:0?messages=4096", in: &inbox{}}
	r.visit = func(t *testing.T, endpoints []bridges.Endpoint) {
		t.Helper()
		channels := map[uint32]foxgloveChannel{} // by subscription; the reading goroutine's
		call(t, endpoints[0].Address, "foxglove.websocket.v1", func(c *caller, kind websocket.MessageType, data []byte) {
			if kind == websocket.MessageText {
				var m struct {
					Op       string
					Channels []foxgloveChannel
				}
				if err := json.Unmarshal(data, &m); err != nil || m.Op == "status" {
					r.in.add(func() (arrival, error) { return arrival{}, fmt.Errorf("the server says %q", data) })
				}
				for _, channel := range m.Channels {
					channels[100+channel.ID] = channel
					c.say(`{"op":"subscribe","subscriptions":[{"id":%d,"channelId":%d}]}`, 100+channel.ID, channel.ID)
				}
				return
			}
			r.in.addFoxglove(channels, data)
		})
	}
	return r
}

func (b *inbox) addFoxglove(channels map[uint32]foxgloveChannel, data []byte) {
	if len(data) == 9 && data[0] == 2 { // Time
		b.add(func() (arrival, error) {
			return arrival{topic: timeTopic, stamp: int64(binary.LittleEndian.Uint64(data[1:]))}, nil
		})
		return
	}
	channel := channels[binary.LittleEndian.Uint32(data[1:])]
	b.add(func() (arrival, error) {
		schema := []byte(channel.Schema)
		if channel.SchemaEncoding == "protobuf" {
			var err error
			if schema, err = base64.StdEncoding.DecodeString(channel.Schema); err != nil {
				return arrival{}, err
			}
		}
		m, err := decode(channel.Encoding, channel.SchemaName, schema, data[13:])
		if err != nil {
			return arrival{}, fmt.Errorf("%s: %w", channel.Topic, err)
		}
		a, err := describe(channel.Topic, m)
		a.exact = append(a.exact, int64(binary.LittleEndian.Uint64(data[5:])))
		return a, err
	})
}

// timeTopic stands for Foxglove's operation Time, which is of no topic.
const timeTopic = "(time)"

// master is as much of a ROS 1 master as nodes need that find each other's topics
// (ROS wiki, "Master API"), upon goroslib's XML-RPC.
type master struct {
	server *xmlrpc.Server

	mu    sync.Mutex
	nodes map[string]string            // guarded by mu: name to URI
	pubs  map[string]map[string]string // guarded by mu: topic, then node to URI
	subs  map[string]map[string]string
}

func newMaster(t *testing.T) *master {
	t.Helper()
	m := &master{nodes: map[string]string{}, pubs: map[string]map[string]string{}, subs: map[string]map[string]string{}}
	var err error
	m.server, err = xmlrpc.NewServer("127.0.0.1:0", 5*time.Second)
	require.NoError(t, err)
	m.server.Serve(m.answer)
	t.Cleanup(m.server.Close)
	return m
}

func (m *master) address(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(m.server.URL(net.IPv4(127, 0, 0, 1), ""))
	require.NoError(t, err)
	return "127.0.0.1:" + u.Port()
}

func (m *master) answer(raw *xmlrpc.RequestRaw) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch raw.Method {
	case "getPid":
		var r struct{ Caller string }
		if raw.Decode(&r) == nil {
			return apislave.ResponseGetPid{Code: 1, Pid: 1}
		}
	case "hasParam":
		var r struct{ Caller, Name string }
		if raw.Decode(&r) == nil {
			return apiparam.ResponseHasParam{Code: 1, KeyOut: r.Name}
		}
	case "lookupNode":
		var r struct{ Caller, Name string }
		if raw.Decode(&r) == nil && m.nodes[r.Name] != "" {
			return apimaster.ResponseLookup{Code: 1, URL: m.nodes[r.Name]}
		}
		return apimaster.ResponseLookup{Code: -1, StatusMessage: "unknown node"}
	case "registerPublisher", "registerSubscriber":
		var r apimaster.RequestRegister
		if raw.Decode(&r) == nil {
			return m.register(raw.Method, r)
		}
	case "unregisterPublisher", "unregisterSubscriber":
		var r apimaster.RequestUnregister
		if raw.Decode(&r) == nil {
			delete(m.pubs[r.Topic], r.CallerID+raw.Method[len("unregister"):])
			delete(m.subs[r.Topic], r.CallerID+raw.Method[len("unregister"):])
			return apimaster.ResponseUnregister{Code: 1, NumUnregistered: 1}
		}
	case "registerService": // nobody calls one
		return apimaster.ResponseRegisterService{Code: 1}
	case "unregisterService":
		return apimaster.ResponseServiceUnregister{Code: 1, NumUnregistered: 1}
	}
	return xmlrpc.ErrorRes{}
}

// register notes a topic's node and tells those that it concerns; mu must be held.
func (m *master) register(method string, r apimaster.RequestRegister) apimaster.ResponseRegister {
	m.nodes[r.CallerID] = r.CallerURL
	mine, others := m.pubs, m.subs
	if method == "registerSubscriber" {
		mine, others = m.subs, m.pubs
	}
	if mine[r.Topic] == nil {
		mine[r.Topic] = map[string]string{}
	}
	mine[r.Topic][r.CallerID+method[len("register"):]] = r.CallerURL
	if method == "registerPublisher" {
		publishers := slices.Collect(maps.Values(m.pubs[r.Topic]))
		for _, uri := range m.subs[r.Topic] {
			if u, err := url.Parse(uri); err == nil {
				api := apislave.NewClient(u.Host, "/master", &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
				go func() { _ = api.PublisherUpdate(r.Topic, publishers) }()
			}
		}
	}
	return apimaster.ResponseRegister{Code: 1, URIs: slices.Collect(maps.Values(others[r.Topic]))}
}

// node returns a node of goroslib's, an implementation of ROS 1 by others.
func (m *master) node(t *testing.T) *goroslib.Node {
	t.Helper()
	n, err := goroslib.NewNode(goroslib.NodeConf{
		Name: "receiver", MasterAddress: m.address(t), Host: "127.0.0.1", LogDestinations: goroslib.LogDestinationCallback,
	})
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

func ros1Node(t *testing.T, _ string) *receiver {
	t.Helper()
	m := newMaster(t)
	r := &receiver{spec: "ros1:" + m.address(t) + "?messages=4096&retry=50ms&host=127.0.0.1", in: &inbox{}}
	r.visit = func(t *testing.T, _ []bridges.Endpoint) {
		t.Helper()
		n := m.node(t)
		subscribe[sensor_msgs.Image](t, n, r.in, bridgetest.ImageTopic)
		subscribe[sensor_msgs.CameraInfo](t, n, r.in, bridgetest.InfoTopic)
		subscribe[sensor_msgs.PointCloud2](t, n, r.in, bridgetest.PointsTopic)
		subscribe[sensor_msgs.Imu](t, n, r.in, bridgetest.ImuTopic)
		subscribe[nav_msgs.Odometry](t, n, r.in, bridgetest.OdometryTopic)
		subscribe[sensor_msgs.NavSatFix](t, n, r.in, bridgetest.FixTopic)
		subscribe[tf2_msgs.TFMessage](t, n, r.in, bridgetest.TransformsTopic)
		subscribe[rosgraph_msgs.Clock](t, n, r.in, bridgetest.ClockTopic)
	}
	return r
}

func subscribe[M any](t *testing.T, n *goroslib.Node, in *inbox, topic string) {
	t.Helper()
	s, err := goroslib.NewSubscriber(goroslib.SubscriberConf{Node: n, Topic: topic, Callback: func(m *M) {
		in.add(func() (arrival, error) { return describeROS(topic, m) })
	}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
}

// rosTime is a time of goroslib's, which has 0 as the year 1.
func rosTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// describeROS is describe of goroslib's messages.
func describeROS(topic string, m any) (arrival, error) {
	a := arrival{topic: topic}
	of := func(h std_msgs.Header) { a.stamp, a.frame = rosTime(h.Stamp), h.FrameId }
	switch m := m.(type) {
	case *sensor_msgs.Image:
		of(m.Header)
		a.picture = sha256.Sum256(m.Data)
	case *sensor_msgs.CameraInfo:
		of(m.Header)
	case *sensor_msgs.PointCloud2:
		of(m.Header)
	case *sensor_msgs.Imu:
		of(m.Header)
	case *nav_msgs.Odometry:
		of(m.Header)
	case *sensor_msgs.NavSatFix:
		of(m.Header)
	case *tf2_msgs.TFMessage:
		of(append(m.Transforms, geometry_msgs.TransformStamped{})[0].Header)
	case *rosgraph_msgs.Clock:
		a.stamp = rosTime(m.Clock)
	default:
		return a, fmt.Errorf("%s: a %T", topic, m)
	}
	return a, nil
}

// newROS makes goroslib's message of a name of ROS 1.
func newROS(name string) any {
	switch name {
	case "sensor_msgs/Image":
		return &sensor_msgs.Image{}
	case "sensor_msgs/CameraInfo":
		return &sensor_msgs.CameraInfo{}
	case "sensor_msgs/PointCloud2":
		return &sensor_msgs.PointCloud2{}
	case "sensor_msgs/Imu":
		return &sensor_msgs.Imu{}
	case "nav_msgs/Odometry":
		return &nav_msgs.Odometry{}
	case "sensor_msgs/NavSatFix":
		return &sensor_msgs.NavSatFix{}
	case "tf2_msgs/TFMessage":
		return &tf2_msgs.TFMessage{}
	case "rosgraph_msgs/Clock":
		return &rosgraph_msgs.Clock{}
	}
	return nil
}

// describeROS1 decodes the bytes of a ROS 1 message with goroslib.
func describeROS1(topic, name string, data []byte) (arrival, error) {
	m := newROS(name)
	if m == nil {
		return arrival{}, fmt.Errorf("%s: no message %s", topic, name)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(data))) // as goroslib reads it from a connection
	if err := protocommon.MessageDecode(bytes.NewReader(append(head, data...)), m); err != nil {
		return arrival{}, fmt.Errorf("%s: %w", topic, err)
	}
	return describeROS(topic, m)
}
