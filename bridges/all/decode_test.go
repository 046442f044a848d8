package all_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
)

// arrival is what a receiver has decoded of a message: by libraries of others, or from the
// description of the protocol, never by a bridge's code.
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
		case lgsvltest.Value:
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
func definition(name, schema string) (*lgsvltest.Definition, error) {
	short := func(name string) string { return strings.Replace(name, "/msg/", "/", 1) }
	texts := map[string]string{}
	for i, part := range strings.Split(schema, strings.Repeat("=", 80)+"\n") {
		head := "MSG: " + name
		if i > 0 {
			head, part, _ = strings.Cut(part, "\n")
		}
		texts[short(strings.TrimPrefix(head, "MSG: "))] = part
	}
	return lgsvltest.Load(short(name), func(name string) (string, error) {
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

func (r *cdrReader) message(d *lgsvltest.Definition) map[string]any {
	m := map[string]any{}
	for i := range d.Fields {
		f := &d.Fields[i]
		n := f.Array
		switch {
		case f.Array == lgsvltest.Single:
			m[f.Name] = r.element(f)
			continue
		case f.Array == lgsvltest.Sequence:
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

func (r *cdrReader) element(f *lgsvltest.Field) any {
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
