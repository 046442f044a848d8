package mcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// schemaOf is a message's schema as a file has it.
func schemaOf(s bridges.Schema) *mcap.Schema {
	return &mcap.Schema{ID: 1, Name: s.Name, Encoding: s.Encoding, Data: s.Data}
}

// TestFieldsAreNamed changes bytes all over a message of each type, one at a time. The decoder that the replay uses, which knows the
// type by its Go structure, is the reference: the field that is named, by the schema alone, is one that it reads otherwise. A
// byte is named where it reads the same, in the padding.
func TestFieldsAreNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	list := append(rossample.Standard(), rossample.SVL()...)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*sample.Snapshot](), reflect.TypeFor[*sample.Obstacle](), reflect.TypeFor[*sample.InsStatus](),
		reflect.TypeFor[*sample.LaneMarks](), reflect.TypeFor[*sample.LaneLines](),
	} {
		pub, err := ros.MirrorOf(typ)
		require.NoError(t, err)
		require.NoError(t, pub.Declare())
		list = append(list, pub)
	}
	for _, format := range []encode.Binary{encode.CDR, encode.ROS1} {
		named, clouds := 0, 0
		for _, pub := range list {
			row, err := format.Publication(pub)
			require.NoError(t, err)
			append_, err := row.Converter()(bridgetest.Filled(pub.Sample))
			require.NoError(t, err, pub.Type)
			whole, err := append_(nil)
			require.NoError(t, err)
			a, err := shown(pub, format, whole)
			require.NoError(t, err)
			at := 0
			if format == encode.CDR {
				at = 4 // behind the encapsulation
			}
			for ; at < len(whole); at += 1 + len(whole)/60 {
				changed := bytes.Clone(whole)
				changed[at] ^= 1
				b, errB := shown(pub, format, changed)
				d := fieldDiff(schemaOf(row.Schema), row.Schema.MessageEncoding, whole, changed)
				require.NotEqual(t, d.A, d.B, "%s %s", pub.Type, d.Name)
				switch {
				case errB != nil: // no message, such as one whose text is longer than it
				case reflect.DeepEqual(a, b):
					assert.Equal(t, "byte "+strconv.Itoa(at), d.Name, pub.Type)
				case strings.HasPrefix(d.Name, "points["):
					clouds++
				default:
					named++
					assert.NotEqual(t, valueAt(t, a, d.Name), valueAt(t, b, d.Name), "%s %s", pub.Type, d.Name)
				}
			}
		}
		assert.Greater(t, named, 1000)
		assert.Greater(t, clouds, 20)
	}
}

// shown is a message with all its fields by their names.
func shown(pub ros.Publication, format encode.Binary, data []byte) (map[string]any, error) {
	m, err := pub.Converter()(bridgetest.Filled(pub.Sample)) // any message of the type, which isn't a mirror
	if err != nil {
		return nil, err
	}
	if r, ok := readings()[pub.Type]; ok {
		m = r.New()
	}
	if err := format.Decoder().Decode(data, m); err != nil {
		return nil, err
	}
	form := bridgetest.Form{ROS1: format == encode.ROS1, Bytes: func(data []byte) any { return data }}
	form.Number = func(v float64, _ int) any { return fmt.Sprint(v) } // NaN is equal to itself
	return form.Tree(m), nil
}

// TestFieldsOfFoxglovesMessages changes bytes all over, one at a time: a field is named where the messages aren't equal.
func TestFieldsOfFoxglovesMessages(t *testing.T) {
	for _, pub := range foxglovemsg.Publications() {
		if pub.Schema.MessageEncoding != "protobuf" {
			continue
		}
		m, err := pub.Converter()(bridgetest.FoxgloveSample(pub.Sample))
		require.NoError(t, err)
		whole, err := m.Append(nil)
		require.NoError(t, err)
		kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(pub.Schema.Name))
		require.NoError(t, err)
		read := func(data []byte) (proto.Message, error) {
			m := kind.New().Interface()
			return m, proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
		}
		a, err := read(whole)
		require.NoError(t, err)
		named := 0
		for at := 0; at < len(whole); at += 1 + len(whole)/60 {
			changed := bytes.Clone(whole)
			changed[at] ^= 1
			d := fieldDiff(schemaOf(pub.Schema), "protobuf", whole, changed)
			require.NotEqual(t, d.A, d.B, d.Name)
			if b, err := read(changed); err == nil && !proto.Equal(a, b) {
				named++
				assert.NotContains(t, d.Name, "byte ", "%s byte %d", pub.Schema.Name, at)
			}
		}
		assert.Greater(t, named, 10, pub.Schema.Name)
	}
}

var step = regexp.MustCompile(`([A-Za-z]\w*)|\[(\d+)\]`)

// valueAt is the value of a field: a list where its length is told.
func valueAt(t *testing.T, tree any, path string) any {
	t.Helper()
	for _, s := range step.FindAllStringSubmatch(path, -1) {
		if s[1] != "" {
			fields, ok := tree.(map[string]any)
			require.True(t, ok, path)
			require.Contains(t, fields, s[1], path)
			tree = fields[s[1]]
			continue
		}
		i, err := strconv.Atoi(s[2])
		require.NoError(t, err)
		tree = reflect.ValueOf(tree).Index(i).Interface()
	}
	return tree
}

// recursive is the schema of message N { N child = 1; N other = 2; int32 x = 3; repeated N list = 4; string s = 5; }.
func recursive(tb testing.TB) *mcap.Schema {
	tb.Helper()
	field := func(number int32, name string, label descriptorpb.FieldDescriptorProto_Label, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Label: &label, Type: &kind}
		if kind == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
			f.TypeName = proto.String(".N")
		}
		return f
	}
	const (
		one, many = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		message   = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
		number    = descriptorpb.FieldDescriptorProto_TYPE_INT32
		text      = descriptorpb.FieldDescriptorProto_TYPE_STRING
	)
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("n.proto"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("N"), Field: []*descriptorpb.FieldDescriptorProto{
			field(1, "child", one, message), field(2, "other", one, message), field(3, "x", one, number), field(4, "list", many, message),
			field(5, "s", one, text),
		}}},
	}}})
	require.NoError(tb, err)
	return &mcap.Schema{ID: 1, Name: "N", Encoding: "protobuf", Data: data}
}

// TestATypeThatHasItself is compared as deep as its messages are. A message that is too deep is compared by its bytes.
func TestATypeThatHasItself(t *testing.T) {
	within := func(tag byte, depth int, data ...byte) []byte {
		for range depth {
			data = append(append([]byte{tag}, protowire.AppendVarint(nil, uint64(len(data)))...), data...)
		}
		return data
	}
	const child, list = 1<<3 | 2, 4<<3 | 2
	one, two := []byte{3 << 3, 1}, []byte{3 << 3, 2}
	s := recursive(t)
	assert.Equal(t, FieldDiff{"x", "1", "2"}, fieldDiff(s, "protobuf", one, two))
	assert.Equal(t, FieldDiff{"child.child.x", "1", "2"}, fieldDiff(s, "protobuf", within(child, 2, one...), within(child, 2, two...)))
	assert.Equal(t, FieldDiff{"list[0].list[0].x", "1", "2"}, fieldDiff(s, "protobuf", within(list, 2, one...), within(list, 2, two...)))
	assert.Equal(t, FieldDiff{"child.child", "there", "not there"}, fieldDiff(s, "protobuf", within(child, 2), within(child, 1)))
	a, b := within(child, 5000, one...), within(child, 5000, two...)
	assert.Equal(t, FieldDiff{"byte " + strconv.Itoa(len(a)-1), "0x01", "0x02"}, fieldDiff(s, "protobuf", a, b))
}

// TestLongTextsAreCutShort to where they begin to differ, between characters, in each encoding.
func TestLongTextsAreCutShort(t *testing.T) {
	long := strings.Repeat("x", 400_000)
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"on", "off", `"on"`, `"off"`},
		{strings.Repeat("x", 40), strings.Repeat("x", 39), `"` + strings.Repeat("x", 40) + `"`, `"` + strings.Repeat("x", 39) + `"`},
		{long + "a" + long, long + "b", `…"a` + long[:39] + `"…`, `…"b"`},
		{long, long + "y", `…""`, `…"y"`},
		{long, "y" + long, `"` + long[:40] + `"…`, `"y` + long[:39] + `"…`},
		{long + "é", long + "è", `…"é"`, `…"è"`},
		{long + "é\x1b[2J", long, `…"é\x1b[2J"`, `…""`},
	} {
		str := func(text string) []byte { // CDR's and ROS 1's
			return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
		}
		cdr := func(text string) []byte { return append([]byte{0, 1, 0, 0}, str(text+"\x00")...) }
		nested := func(text string) []byte {
			return protowire.AppendString(protowire.AppendTag(nil, 5, protowire.BytesType), text)
		}
		want := FieldDiff{"s", c.wantA, c.wantB}
		assert.Equal(t, want, fieldDiff(&mcap.Schema{Name: "a/A", Encoding: "ros1msg", Data: []byte("string s\n")}, "ros1", str(c.a), str(c.b)))
		assert.Equal(t, want, fieldDiff(&mcap.Schema{Name: "a/A", Encoding: "ros2msg", Data: []byte("string s\n")}, "cdr", cdr(c.a), cdr(c.b)))
		assert.Equal(t, want, fieldDiff(recursive(t), "protobuf", nested(c.a), nested(c.b)))
	}
	whole := append([]byte{0, 1, 0, 0, 0x80, 0x1a, 6, 0}, long...) // a length of 400 000
	d := fieldDiff(&mcap.Schema{Name: "a/A", Encoding: "ros2msg", Data: []byte("string s\n")}, "cdr", whole, append(append([]byte{0, 1, 0, 0, 0x81, 0x1a, 6, 0}, long...), 0))
	assert.Equal(t, FieldDiff{"s", "400000 bytes", "400001 bytes"}, d, "the zero at the end alone differs")
}

// FuzzFieldDiff compares messages by a definition, all of anybody's making: there is a name, and values that differ.
func FuzzFieldDiff(f *testing.F) {
	for _, format := range []encode.Binary{encode.CDR, encode.ROS1} {
		for _, pub := range rossample.Standard()[:6] {
			row, err := format.Publication(pub)
			require.NoError(f, err)
			append_, err := row.Converter()(bridgetest.Filled(pub.Sample))
			require.NoError(f, err)
			data, err := append_(nil)
			require.NoError(f, err)
			changed := bytes.Clone(data)
			changed[len(data)-1]++
			f.Add(format == encode.CDR, row.Schema.Name, row.Schema.Data, data, changed)
		}
	}
	f.Add(false, "a/A", []byte("B[99999] b\n====\nMSG: a/B\nC[99999] c\n====\nMSG: a/C\n"), bytes.Repeat([]byte{0}, 1000), bytes.Repeat([]byte{1}, 1000))
	f.Add(true, "a/A", []byte("A[] a\n"), []byte{0, 1, 0, 0, 1, 0, 0, 0}, []byte{0, 1, 0, 0, 2, 0, 0, 0, 0})
	f.Add(false, "N", recursive(f).Data, []byte{3 << 3, 1}, []byte{3 << 3, 2})
	f.Fuzz(func(t *testing.T, cdr bool, name string, schema, a, b []byte) {
		if bytes.Equal(a, b) {
			return
		}
		s := &mcap.Schema{ID: 1, Name: name, Encoding: "ros1msg", Data: schema}
		encoding := "ros1"
		if cdr {
			s.Encoding, encoding = "ros2msg", "cdr"
		}
		for _, encoding := range []string{encoding, "protobuf"} {
			if encoding == "protobuf" {
				s = &mcap.Schema{ID: 1, Name: name, Encoding: "protobuf", Data: schema}
			}
			d := fieldDiff(s, encoding, a, b)
			assert.NotEmpty(t, d.Name)
			assert.NotEqual(t, d.A, d.B, d.Name)
		}
	})
}
