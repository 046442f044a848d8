// Package schema states the byte layouts of raybridge's messages, in one list. The
// serializers and data objects of package wire and the tables of
// docs/stream-protocol.md are generated from it ([Code], [Tables]).
package schema

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Wire types of fields. A list is "[]" and a record's name, f32 or f64; a fixed array
// is "f64[N]". All are little-endian.
const (
	U8     = "u8"
	U16    = "u16"
	U32    = "u32"
	U64    = "u64"
	I8     = "i8"
	I32    = "i32"
	I64    = "i64"
	F32    = "f32"
	F64    = "f64"
	Bool   = "bool"   // u8: 0 or 1
	Vec3   = "vec3"   // 3 f64: x, y, z
	Quat   = "quat"   // 4 f64: x, y, z, w
	Pose   = "pose"   // vec3 position, quat orientation
	Twist  = "twist"  // vec3 linear, vec3 angular
	String = "string" // UTF-8
	Bytes  = "bytes"
)

// Field is one field of a message or record.
type Field struct {
	// Name is the field's in the sample's Go type.
	Name string
	Type string
	Doc  string
}

// Record is the element of a list: of fixed size, its strings kept apart.
type Record struct {
	Name   string
	Go     reflect.Type
	Fields []Field
}

// Message is the body of one kind.
type Message struct {
	Kind    uint16
	Version uint16
	Name    string
	Doc     string
	Go      reflect.Type
	// Headed messages have a sample.Header, the others a stamp alone.
	Headed bool
	Fields []Field
}

// Place is where a field lies.
type Place struct {
	Field
	// Offset is from the start of the record or of the body. A field of variable size
	// has the u32 number of its elements there; a record's string has two u32, offset
	// and length in the message's text.
	Offset int
	// Size is the number of bytes at Offset.
	Size int
}

// Variable reports whether the field's data follows the fixed part of a message.
func (f Field) Variable() bool {
	return f.Type == String || f.Type == Bytes || strings.HasPrefix(f.Type, "[]")
}

// Element returns what a list or fixed array holds, "u8" for strings and bytes.
func (f Field) Element() string {
	switch {
	case f.Type == String, f.Type == Bytes:
		return U8
	case strings.HasPrefix(f.Type, "[]"):
		return f.Type[2:]
	}
	element, _, _ := strings.Cut(f.Type, "[")
	return element
}

var scalarSizes = map[string]int{
	U8: 1, U16: 2, U32: 4, U64: 8, I8: 1, I32: 4, I64: 8, F32: 4, F64: 8, Bool: 1,
	Vec3: 24, Quat: 32, Pose: 56, Twist: 48,
}

// extent returns a fixed field's size and alignment.
func (f Field) extent() (size, align int) {
	if count, ok := f.count(); ok {
		return 8 * count, 8
	}
	size = scalarSizes[f.Type]
	if size == 0 {
		panic(fmt.Sprintf("schema: field %s has unknown type %q", f.Name, f.Type))
	}
	return size, min(size, 8)
}

// count returns the length of a fixed array.
func (f Field) count() (int, bool) {
	text, ok := strings.CutPrefix(f.Type, "f64[")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "]"))
	if err != nil {
		panic(err)
	}
	return n, true
}

func align(offset, to int) int { return (offset + to - 1) / to * to }

// Layout places a record's fields in order, each at a multiple of its alignment, and
// returns its stride.
func (r *Record) Layout() (places []Place, stride int) {
	widest := 1
	for _, f := range r.Fields {
		size, to := 8, 4
		if f.Type != String {
			size, to = f.extent()
		}
		stride = align(stride, to)
		places = append(places, Place{f, stride, size})
		stride += size
		widest = max(widest, to)
	}
	return places, align(stride, widest)
}

// HasText reports whether the record has strings.
func (r *Record) HasText() bool {
	for _, f := range r.Fields {
		if f.Type == String {
			return true
		}
	}
	return false
}

// Layout places the fixed part of a message and returns its size, a multiple of 8.
// A message with a list whose records have strings ends its fixed part with the u32
// length of the text (textAt; -1 without).
func (m *Message) Layout() (places []Place, textAt, size int) {
	textAt = -1
	for _, f := range m.Fields {
		n, to := 4, 4
		if !f.Variable() {
			n, to = f.extent()
		}
		size = align(size, to)
		places = append(places, Place{f, size, n})
		size += n
	}
	if m.HasText() {
		textAt = align(size, 4)
		size = textAt + 4
	}
	return places, textAt, align(size, 8)
}

// HasText reports whether records of the message have strings.
func (m *Message) HasText() bool {
	for _, f := range m.Fields {
		if r := RecordOf(f); r != nil && r.HasText() {
			return true
		}
	}
	return false
}

// RecordOf returns the record that a list holds, nil for other fields.
func RecordOf(f Field) *Record {
	if !strings.HasPrefix(f.Type, "[]") {
		return nil
	}
	for _, r := range Records {
		if r.Name == f.Element() {
			return r
		}
	}
	return nil
}

// Alias reports whether the record lies in memory as it does on the wire, on a
// little-endian machine, and any bytes are a valid value.
func (r *Record) Alias() bool {
	places, stride := r.Layout()
	if int(r.Go.Size()) != stride || r.Go.NumField() != len(places) {
		return false
	}
	for i, p := range places {
		f := r.Go.Field(i)
		scalar := f.Type.Kind() >= reflect.Int8 && f.Type.Kind() <= reflect.Float64
		if !scalar || f.Name != p.Name || int(f.Offset) != p.Offset || int(f.Type.Size()) != p.Size {
			return false
		}
	}
	return true
}

// Pure reports whether the record is an Alias without padding.
func (r *Record) Pure() bool {
	places, stride := r.Layout()
	sum := 0
	for _, p := range places {
		sum += p.Size
	}
	return r.Alias() && sum == stride
}

// Tables returns the layouts as Markdown.
func Tables() string {
	var b strings.Builder
	for _, m := range Messages {
		places, textAt, size := m.Layout()
		fmt.Fprintf(&b, "\n### %d: %s\n\n%s. Version %d, fixed part of %d bytes.\n", m.Kind, m.Name, capital(m.Doc), m.Version, size)
		if len(places) > 0 {
			b.WriteString("\n| offset | type | field | |\n|---|---|---|---|\n")
		}
		for _, p := range places {
			typ, doc := p.Type, p.Doc
			if p.Variable() {
				typ = "u32"
				if doc = "number of " + elements(p.Field); p.Doc != "" {
					doc += ": " + p.Doc
				}
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", p.Offset, typ, p.Name, doc)
		}
		if textAt >= 0 {
			fmt.Fprintf(&b, "| %d | u32 | - | number of bytes of text |\n", textAt)
		}
		if parts := partNames(m); len(parts) > 0 {
			fmt.Fprintf(&b, "\nThen %s.\n", strings.Join(parts, ", "))
		}
	}
	b.WriteString("\n## Records\n")
	for _, r := range Records {
		places, stride := r.Layout()
		fmt.Fprintf(&b, "\n### %s\n\n%d bytes each.\n\n| offset | type | field | |\n|---|---|---|---|\n", r.Name, stride)
		for _, p := range places {
			typ := p.Type
			if typ == String {
				typ = "text"
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", p.Offset, typ, p.Name, p.Doc)
		}
	}
	return b.String()
}

// elements says what a variable field counts.
func elements(f Field) string {
	if e := f.Element(); e != U8 {
		return e
	}
	return "bytes"
}

func partNames(m *Message) []string {
	var parts []string
	for _, f := range m.Fields {
		if f.Variable() {
			parts = append(parts, f.Name)
		}
	}
	if m.HasText() {
		parts = append(parts, "the text")
	}
	return parts
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

const (
	begin = "<!-- The rest is generated from sensors/stream/wire/schema: make generate. -->\n"
)

// Insert returns the document with its tables as they are now.
func Insert(page []byte) ([]byte, error) {
	head, _, ok := strings.Cut(string(page), begin)
	if !ok {
		return nil, fmt.Errorf("insert layouts: the document lacks the line %q", begin)
	}
	return []byte(head + begin + Tables()), nil
}
