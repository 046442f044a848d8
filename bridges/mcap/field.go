package mcap

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	pb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/internal/fault"
)

// FieldDiff is a field of a message that differs in two recordings.
type FieldDiff struct {
	// Name is the field's as the schema has it, with the fields and the indexes that lead to it: pose.position.x,
	// transforms[2].child_frame_id, data[17]. A point's is points[17].intensity. Without a schema that can be read, or
	// where the field is the same and its encoding isn't, it is a byte's: byte 52.
	Name string
	// A and B are the values. Texts are quoted; of ones with more than 40 characters it is up to 40, from the first that
	// differs on, with … where something is left out.
	A, B string
}

// fieldDiff returns the first field in which two messages of a schema differ, whose bytes do.
func fieldDiff(schema *mcap.Schema, encoding string, a, b []byte) FieldDiff {
	var found *FieldDiff
	var err error
	switch {
	case encoding == "cdr" && schema.Encoding == "ros2msg", encoding == "ros1" && schema.Encoding == "ros1msg":
		found, err = rosDiff(schema, encoding, a, b)
	case encoding == "protobuf" && schema.Encoding == "protobuf":
		found, err = protoDiff(schema, a, b)
	}
	if err != nil || found == nil {
		return byteDiff(a, b)
	}
	return *found
}

// byteDiff names the first byte that differs.
func byteDiff(a, b []byte) FieldDiff {
	at := differsAt(a, b)
	value := func(data []byte) string {
		if at >= len(data) {
			return fault.Count(len(data), "byte")
		}
		return "0x" + hex.EncodeToString(data[at:at+1])
	}
	return FieldDiff{"byte " + strconv.Itoa(at), value(a), value(b)}
}

// differsAt is where two lists of bytes begin to differ.
func differsAt(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// differ names a field whose two values differ. Values that are written alike are told apart by their bytes.
func differ(name, a, b string, bytesA, bytesB []byte) *FieldDiff {
	if a == b {
		a, b = fmt.Sprintf("%s (0x%x)", a, bytesA), fmt.Sprintf("%s (0x%x)", b, bytesB)
	}
	return &FieldDiff{name, a, b}
}

// lengths names a list by how many elements it has.
func lengths(name string, a, b int) *FieldDiff {
	return &FieldDiff{name, fault.Count(a, "element"), fault.Count(b, "element")}
}

// errFields is why fields can't be read.
var errFields = errors.New("message is not as its schema has it")

// rosDiff returns the first field that differs of two ROS messages, by the definitions in their schema; nil where none does.
func rosDiff(schema *mcap.Schema, encoding string, a, b []byte) (*FieldDiff, error) {
	cdr := encoding == "cdr"
	if cdr {
		const header = 4
		for _, data := range [][]byte{a, b} {
			if len(data) < header || data[0] != 0 || data[1] != 1 { // CDR_LE, of RTPS 10.2.1.2
				return nil, errFields
			}
		}
		a, b = a[header:], b[header:]
	}
	root := strings.Replace(schema.Name, "/msg/", "/", 1)
	w := rosWalk{definitions: splitDefinitions(root, string(schema.Data)), fields: map[string][]ros.Field{}, cdr: cdr, a: rosBytes{data: a}, b: rosBytes{data: b}}
	found, err := w.message(root, "", 0)
	if err == nil && found != nil && strings.HasPrefix(found.Name, "data[") && root == "sensor_msgs/PointCloud2" {
		found = rosPoint(encoding, a, b, found)
	}
	return found, err
}

// splitDefinitions returns the definitions of a schema by the messages' names, such as std_msgs/Header (MCAP's registry,
// "ros2msg": parts stand below lines of = and MSG).
func splitDefinitions(root, text string) map[string]string {
	list, name := map[string]string{}, root
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "====") {
			list[name] = lines.String()
			lines.Reset()
			name = ""
			continue
		}
		if part, ok := strings.CutPrefix(line, "MSG:"); ok && name == "" {
			name = strings.Replace(strings.TrimSpace(part), "/msg/", "/", 1)
			continue
		}
		lines.WriteString(line)
	}
	list[name] = lines.String()
	return list
}

// rosBytes is a message that is being read. Alignment counts from the beginning of data.
type rosBytes struct {
	data []byte
	at   int
}

// take returns n bytes behind a place of an alignment.
func (r *rosBytes) take(n, align int) ([]byte, error) {
	at := (r.at + align - 1) / align * align
	if n < 0 || n > len(r.data)-at {
		return nil, errFields
	}
	r.at = at + n
	return r.data[at:r.at], nil
}

// rosWalk reads two messages at once, up to the first field that differs.
type rosWalk struct {
	definitions map[string]string
	fields      map[string][]ros.Field // by message, of the definitions that were read
	cdr         bool                   // else ROS 1, which aligns nothing
	a, b        rosBytes
	empty       int // messages without a byte that were read
}

// Definitions may be of anybody's making. Deepest is how many messages may stand in each other, and mostEmpty how many
// may have no byte, which data don't bound.
const (
	deepest   = 32
	mostEmpty = 1 << 16
)

// message reads the fields of a message pkg/Type, whose names follow a path.
func (w *rosWalk) message(name, path string, depth int) (*FieldDiff, error) {
	fields, err := w.fieldsOf(name)
	if err != nil || depth > deepest {
		return nil, errors.Join(errFields, err)
	}
	if len(fields) == 0 && w.cdr { // rosidl gives it a byte
		_, _, err := w.take(1, 1)
		return nil, err
	}
	before := w.a.at
	for _, f := range fields {
		found, err := w.field(f, path+f.Name, depth)
		if found != nil || err != nil {
			return found, err
		}
	}
	if w.a.at == before {
		if w.empty++; w.empty > mostEmpty {
			return nil, errFields
		}
	}
	return nil, nil
}

// fieldsOf reads a definition. ROS 1's Header has no package.
func (w *rosWalk) fieldsOf(name string) ([]ros.Field, error) {
	if list, known := w.fields[name]; known {
		return list, nil
	}
	text, there := w.definitions[name]
	if !there && strings.HasSuffix(name, "/Header") {
		text, there = w.definitions["std_msgs/Header"]
	}
	if !there {
		return nil, fmt.Errorf("there is no definition of %s", name)
	}
	lines, err := ros.Lines(name, text)
	if err != nil {
		return nil, err
	}
	list := []ros.Field{}
	for _, l := range lines {
		if !l.Constant {
			list = append(list, l.Field)
		}
	}
	w.fields[name] = list
	return list, nil
}

// take takes as many bytes of both.
func (w *rosWalk) take(n, align int) (a, b []byte, err error) {
	if !w.cdr {
		align = 1
	}
	if a, err = w.a.take(n, align); err == nil {
		b, err = w.b.take(n, align)
	}
	return a, b, err
}

// field reads a field, a list of several perhaps.
func (w *rosWalk) field(f ros.Field, name string, depth int) (*FieldDiff, error) {
	if f.Array == "" {
		return w.single(f, name, depth)
	}
	countA, countB, err := w.counts(f)
	if err != nil {
		return nil, err
	}
	least := min(countA, countB)
	if kind, ok := rosPrimitives[f.Type]; ok {
		return w.primitives(kind, name, countA, countB)
	}
	for i := range least {
		found, err := w.single(f, fmt.Sprintf("%s[%d]", name, i), depth)
		if found != nil || err != nil {
			return found, err
		}
	}
	if countA != countB {
		return lengths(name, countA, countB), nil
	}
	return nil, nil
}

// counts returns how many elements an array has. The data bear out what they say: each element but a message without
// fields has a byte.
func (w *rosWalk) counts(f ros.Field) (a, b int, err error) {
	if n, err := strconv.Atoi(strings.Trim(f.Array, "[]")); err == nil {
		if n > max(len(w.a.data), len(w.b.data)) {
			return 0, 0, errFields
		}
		return n, n, nil
	}
	textA, textB, err := w.take(4, 4)
	if err != nil {
		return 0, 0, err
	}
	countA, countB := binary.LittleEndian.Uint32(textA), binary.LittleEndian.Uint32(textB)
	if int64(countA) > int64(len(w.a.data)-w.a.at) || int64(countB) > int64(len(w.b.data)-w.b.at) {
		return 0, 0, errFields
	}
	return int(countA), int(countB), nil
}

// rosPrimitive is a type whose values have so many bytes.
type rosPrimitive struct {
	size int
	text func(b []byte) string
}

var rosPrimitives = map[string]rosPrimitive{
	"bool": {1, func(b []byte) string { return strconv.FormatBool(b[0] != 0) }},
	"byte": {1, unsigned}, "char": {1, unsigned}, "uint8": {1, unsigned}, "uint16": {2, unsigned}, "uint32": {4, unsigned}, "uint64": {8, unsigned},
	"int8": {1, signed}, "int16": {2, signed}, "int32": {4, signed}, "int64": {8, signed},
	"float32": {4, float}, "float64": {8, float},
}

func unsigned(b []byte) string { return strconv.FormatUint(little(b), 10) }

func signed(b []byte) string {
	shift := 64 - 8*len(b)
	return strconv.FormatInt(int64(little(b)<<shift)>>shift, 10)
}

func float(b []byte) string {
	if len(b) == 4 {
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(little(b)))), 'g', -1, 32)
	}
	return strconv.FormatFloat(math.Float64frombits(little(b)), 'g', -1, 64)
}

// little reads a number of up to eight bytes.
func little(b []byte) uint64 {
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:])
}

// primitives compares lists of numbers.
func (w *rosWalk) primitives(kind rosPrimitive, name string, countA, countB int) (*FieldDiff, error) {
	align := kind.size
	if !w.cdr || countA == 0 { // what is empty is not aligned
		align = 1
	}
	a, err := w.a.take(countA*kind.size, align)
	if err != nil {
		return nil, err
	}
	if align = kind.size; !w.cdr || countB == 0 {
		align = 1
	}
	b, err := w.b.take(countB*kind.size, align)
	if err != nil {
		return nil, err
	}
	i := differsAt(a, b) / kind.size
	switch {
	case i < min(countA, countB):
		a, b = a[i*kind.size:(i+1)*kind.size], b[i*kind.size:(i+1)*kind.size]
		return differ(fmt.Sprintf("%s[%d]", name, i), kind.text(a), kind.text(b), a, b), nil
	case countA != countB:
		return lengths(name, countA, countB), nil
	}
	return nil, nil
}

// single reads one value.
func (w *rosWalk) single(f ros.Field, name string, depth int) (*FieldDiff, error) {
	switch kind, known := rosPrimitives[f.Type]; {
	case known:
		a, b, err := w.take(kind.size, kind.size)
		if err != nil || bytes.Equal(a, b) {
			return nil, err
		}
		return differ(name, kind.text(a), kind.text(b), a, b), nil
	case f.Type == "string":
		return w.text(name)
	case f.Message:
		return w.message(strings.Replace(f.Type, "/msg/", "/", 1), name+".", depth+1)
	case !w.cdr && f.Type == "time", !w.cdr && f.Type == "duration": // seconds and nanoseconds
		a, b, err := w.take(8, 1)
		if err != nil || bytes.Equal(a, b) {
			return nil, err
		}
		return differ(name, rosTime(f.Type, a), rosTime(f.Type, b), a, b), nil
	}
	return nil, fmt.Errorf("%w: type %s", errFields, f.Type)
}

// rosTime is a time or a duration of ROS 1, in seconds: unsigned numbers, or signed ones.
func rosTime(typ string, b []byte) string {
	seconds, nanos := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if typ == "duration" {
		return fault.NineDecimals(int64(int32(seconds))*1e9 + int64(int32(nanos)))
	}
	return fault.NineDecimals(int64(seconds)*1e9 + int64(nanos))
}

// text compares strings.
func (w *rosWalk) text(name string) (*FieldDiff, error) {
	countA, countB, err := w.counts(ros.Field{})
	if err != nil {
		return nil, err
	}
	a, errA := w.a.take(countA, 1)
	b, errB := w.b.take(countB, 1)
	if err := errors.Join(errA, errB); err != nil || bytes.Equal(a, b) {
		return nil, err
	}
	shownA, shownB := a, b
	if w.cdr { // which ends it with a zero
		shownA, shownB = bytes.TrimSuffix(a, []byte{0}), bytes.TrimSuffix(b, []byte{0})
	}
	if bytes.Equal(shownA, shownB) { // the zero alone differs
		return &FieldDiff{name, fault.Count(len(a), "byte"), fault.Count(len(b), "byte")}, nil
	}
	return textDiff(name, shownA, shownB), nil
}

// mostShown is how many characters of a text are shown.
const mostShown = 40

// textDiff names a text whose two values differ. Of long ones it has what begins with the first character that differs.
func textDiff(name string, a, b []byte) *FieldDiff {
	from := 0
	if max(utf8.RuneCount(a), utf8.RuneCount(b)) > mostShown {
		from = differsAt(a, b)
	}
	within := func(text []byte) bool { return from < len(text) && !utf8.RuneStart(text[from]) }
	for range utf8.UTFMax - 1 {
		if from > 0 && (within(a) || within(b)) {
			from--
		}
	}
	return &FieldDiff{name, excerpt(a, from), excerpt(b, from)}
}

// excerpt quotes a text from a byte on.
func excerpt(text []byte, from int) string {
	end := from
	for range mostShown {
		_, n := utf8.DecodeRune(text[end:])
		end += n
	}
	quoted := strconv.Quote(string(text[from:end]))
	if from > 0 {
		quoted = "…" + quoted
	}
	if end < len(text) {
		quoted += "…"
	}
	return quoted
}

// protoDiff returns the first field that differs of two protobuf messages, by the descriptors in their schema; nil where
// none does.
func protoDiff(schema *mcap.Schema, a, b []byte) (*FieldDiff, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(schema.Data, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	found, err := files.FindDescriptorByName(protoreflect.FullName(schema.Name))
	if err != nil {
		return nil, err
	}
	descriptor, ok := found.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, errFields
	}
	both := [2]*dynamicpb.Message{}
	for i, data := range [][]byte{a, b} {
		both[i] = dynamicpb.NewMessage(descriptor)
		if err := proto.Unmarshal(data, both[i]); err != nil {
			return nil, err
		}
	}
	diff, err := new(protoWalk).message(both[0], both[1], "")
	if err == nil && diff != nil && strings.HasPrefix(diff.Name, "data[") && schema.Name == "foxglove.PointCloud" {
		diff = foxglovePoint(a, b, diff)
	}
	return diff, err
}

// protoWalk compares two messages, up to the first field that differs.
type protoWalk struct {
	depth int // how many messages the one at hand stands in, deepest at most
}

// message compares messages of one type, field by field in the order in which they are declared. It descends only where a
// message is there: a type may have itself as a field.
func (w *protoWalk) message(a, b protoreflect.Message, path string) (*FieldDiff, error) {
	if w.depth > deepest {
		return nil, errFields
	}
	w.depth++
	defer func() { w.depth-- }()
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := path + string(f.Name())
		if f.HasPresence() {
			if a.Has(f) != b.Has(f) {
				there := map[bool]string{true: "there", false: "not there"}
				return &FieldDiff{name, there[a.Has(f)], there[b.Has(f)]}, nil
			}
			if !a.Has(f) {
				continue
			}
		}
		if diff, err := w.field(f, a.Get(f), b.Get(f), name); diff != nil || err != nil {
			return diff, err
		}
	}
	return nil, nil
}

// field compares a field, a list or a map perhaps.
func (w *protoWalk) field(f protoreflect.FieldDescriptor, a, b protoreflect.Value, name string) (*FieldDiff, error) {
	switch {
	case f.IsMap() && a.Equal(b):
		return nil, nil
	case f.IsMap():
		return &FieldDiff{name, fault.Count(a.Map().Len(), "pair"), fault.Count(b.Map().Len(), "other pair")}, nil
	case f.IsList():
		return w.list(f, a.List(), b.List(), name)
	}
	return w.value(f, a, b, name)
}

func (w *protoWalk) list(f protoreflect.FieldDescriptor, a, b protoreflect.List, name string) (*FieldDiff, error) {
	for i := range min(a.Len(), b.Len()) {
		if diff, err := w.value(f, a.Get(i), b.Get(i), fmt.Sprintf("%s[%d]", name, i)); diff != nil || err != nil {
			return diff, err
		}
	}
	if a.Len() != b.Len() {
		return lengths(name, a.Len(), b.Len()), nil
	}
	return nil, nil
}

// value compares one value.
func (w *protoWalk) value(f protoreflect.FieldDescriptor, a, b protoreflect.Value, name string) (*FieldDiff, error) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return w.message(a.Message(), b.Message(), name+".")
	}
	return protoScalars(f, a, b, name), nil
}

// protoScalars compares values that aren't messages.
func protoScalars(f protoreflect.FieldDescriptor, a, b protoreflect.Value, name string) *FieldDiff {
	switch f.Kind() {
	case protoreflect.BytesKind:
		at := differsAt(a.Bytes(), b.Bytes())
		switch {
		case at < min(len(a.Bytes()), len(b.Bytes())):
			return &FieldDiff{fmt.Sprintf("%s[%d]", name, at), strconv.Itoa(int(a.Bytes()[at])), strconv.Itoa(int(b.Bytes()[at]))}
		case len(a.Bytes()) != len(b.Bytes()):
			return lengths(name, len(a.Bytes()), len(b.Bytes()))
		}
		return nil
	}
	if a.Equal(b) {
		return nil
	}
	if f.Kind() == protoreflect.StringKind {
		return textDiff(name, []byte(a.String()), []byte(b.String()))
	}
	value := func(v protoreflect.Value) string {
		switch f.Kind() {
		case protoreflect.FloatKind:
			return strconv.FormatFloat(v.Float(), 'g', -1, 32)
		case protoreflect.DoubleKind:
			return strconv.FormatFloat(v.Float(), 'g', -1, 64)
		case protoreflect.EnumKind:
			if d := f.Enum().Values().ByNumber(v.Enum()); d != nil {
				return string(d.Name())
			}
		}
		return v.String()
	}
	return &FieldDiff{name, value(a), value(b)}
}

// cloudBytes is a cloud of points, as both of its messages have it.
type cloudBytes struct {
	fields                   []ros.PointField
	pointStep, rowStep, wide int
	data                     []byte
}

// rosPoint names the point whose data differ, if it can.
func rosPoint(encoding string, a, b []byte, found *FieldDiff) *FieldDiff {
	var clouds [2]cloudBytes
	for i, data := range [][]byte{a, b} {
		var m ros.PointCloud2
		format := encode.ROS1
		if encoding == "cdr" {
			format, data = encode.CDR, append([]byte{0, 1, 0, 0}, data...)
		}
		if err := format.Decoder().Decode(data, &m); err != nil {
			return found
		}
		clouds[i] = cloudBytes{m.PointFields, int(m.PointStep), int(m.RowStep), int(m.Width), m.Data.Data}
	}
	return pointDiff(clouds[0], clouds[1], found)
}

// foxglovePoint is rosPoint of Foxglove's message, which has one row.
func foxglovePoint(a, b []byte, found *FieldDiff) *FieldDiff {
	var clouds [2]cloudBytes
	for i, data := range [][]byte{a, b} {
		var m pb.PointCloud
		if err := proto.Unmarshal(data, &m); err != nil {
			return found
		}
		c := cloudBytes{pointStep: int(m.PointStride), rowStep: len(m.Data), data: m.Data}
		for _, f := range m.Fields {
			c.fields = append(c.fields, ros.PointField{Name: f.Name, Offset: f.Offset, Datatype: datatypes[f.Type], Count: 1})
		}
		if c.pointStep > 0 {
			c.wide = len(m.Data) / c.pointStep
		}
		clouds[i] = c
	}
	return pointDiff(clouds[0], clouds[1], found)
}

// pointDiff names the first point that differs, and its field. It is found as it was where a byte between the points, or
// between fields of one, differs.
func pointDiff(a, b cloudBytes, found *FieldDiff) *FieldDiff {
	at := differsAt(a.data, b.data)
	if a.pointStep <= 0 || a.rowStep <= 0 || at >= min(len(a.data), len(b.data)) {
		return found
	}
	row, inRow := at/a.rowStep, at%a.rowStep
	column, inPoint := inRow/a.pointStep, inRow%a.pointStep
	start := at - inPoint
	for _, f := range a.fields {
		kind, known := rosPrimitives[pointTypes[f.Datatype]]
		offset := int64(f.Offset)
		if !known || int64(inPoint) < offset {
			continue
		}
		i := (int64(inPoint) - offset) / int64(kind.size)
		if i >= max(int64(f.Count), 1) || column >= a.wide {
			continue
		}
		from := start + int(offset+i*int64(kind.size))
		if from+kind.size > min(len(a.data), len(b.data)) {
			return found
		}
		name := fmt.Sprintf("points[%d].%s", row*a.wide+column, f.Name)
		if f.Count > 1 {
			name += fmt.Sprintf("[%d]", i)
		}
		valueA, valueB := a.data[from:from+kind.size], b.data[from:from+kind.size]
		return differ(name, kind.text(valueA), kind.text(valueB), valueA, valueB)
	}
	return found
}

// pointTypes are sensor_msgs/PointField's numbers.
var pointTypes = map[uint8]string{
	ros.PointFieldInt8: "int8", ros.PointFieldUint8: "uint8", ros.PointFieldInt16: "int16", ros.PointFieldUint16: "uint16",
	ros.PointFieldInt32: "int32", ros.PointFieldUint32: "uint32", ros.PointFieldFloat32: "float32", ros.PointFieldFloat64: "float64",
}
