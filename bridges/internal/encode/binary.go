package encode

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Binary is a binary format of ROS messages. In all of them numbers are little-endian, and a
// bool is one byte. A string and a sequence begin with their length as uint32, and nested
// messages lie in place.
type Binary uint8

const (
	// CDR is what ROS 2 puts on the wire, after a header of four bytes. It is plain CDR,
	// version 1 (OMG DDSI-RTPS 2.3, section 10; CORBA 3.3 part 2, section 9.3). A value of n
	// bytes, up to 8, starts at a multiple of n from the end of the header. An empty sequence
	// has no padding. A string ends with a NUL, which its length counts. A message without
	// fields is a byte (structure_needs_at_least_one_member of rosidl).
	CDR Binary = iota
	// ROS1 is ROS 1's serialisation (wiki.ros.org/msg, wiki.ros.org/ROS/Technical Overview).
	// Nothing is aligned. A header begins with its seq. The seconds of a time are unsigned:
	// times before the epoch can't be expressed, those from 2038 on can't be read. A message
	// without fields is nothing.
	ROS1
	// LGSVL is what SVL Simulator's ROS 2 bridge writes and ros2-lgsvl-bridge reads. Nothing
	// is aligned. An array of a fixed size begins with its size as uint32. A message without
	// fields is a byte.
	LGSVL
)

// Encoder returns an encoder of the format.
func (b Binary) Encoder() *BinaryEncoder { return &BinaryEncoder{Format: b} }

// Decoder returns a decoder of the format.
func (b Binary) Decoder() *BinaryDecoder { return &BinaryDecoder{Format: b} }

// Publication returns the row of pub's messages as bytes in the format, CDR or ROS1, which
// the definition of that ROS describes. It is an error if they have none: they are declared
// first.
func (b Binary) Publication(pub ros.Publication) (bridges.Publication[bridges.Append, bridges.Schema], error) {
	version, schema := ros.ROS2, bridges.Schema{Encoding: "ros2msg", MessageEncoding: "cdr"}
	var unknown error
	if b == ROS1 {
		version, schema = ros.ROS1, bridges.Schema{Encoding: "ros1msg", MessageEncoding: "ros1"}
		schema.MD5, unknown = ros.MD5(pub.Type)
	}
	text, err := version.Definition(pub.Type)
	schema.Name, schema.Data = version.TypeName(pub.Type), []byte(text)
	return bridges.PublishAs(pub, schema, func() func(ros.Message) bridges.Append {
		encoder := b.Encoder()
		return bridges.Appending(func(dst []byte, m ros.Message) ([]byte, error) {
			return encoder.Append(dst, m), encoder.Err()
		})
	}), cmp.Or(err, unknown)
}

// encapsulation is CDR's header: representation CDR_LE (0x0001), no options.
var encapsulation = [4]byte{0, 1, 0, 0}

// countSize is the size of a string's or a sequence's length.
const countSize = 4

// padding returns the number of bytes between at, which counts from the header's end, and a
// value of size bytes.
func (b Binary) padding(at, size int) int {
	if b != CDR {
		return 0
	}
	return -at & (size - 1)
}

// counted reports whether the number of an array's elements stands before them.
func (b Binary) counted(fixed bool) bool { return !fixed || b == LGSVL }

// empty is the size of a message without fields.
func (b Binary) empty() int {
	if b == ROS1 {
		return 0
	}
	return 1
}

// BinaryEncoder encodes messages in a binary format, CDR if none is set. One goroutine uses
// it at a time. Encoding into a large enough buffer allocates nothing.
type BinaryEncoder struct {
	Format Binary

	buf    []byte
	origin int // where alignment counts from: the end of the header
	err    error
	sizer  sizer
}

var _ ros.SeqVisitor = (*BinaryEncoder)(nil)

// Append appends m to dst, after CDR's header, and returns the result.
func (e *BinaryEncoder) Append(dst []byte, m ros.Message) []byte {
	if e.Format == CDR {
		dst = append(dst, encapsulation[:]...)
	}
	e.buf, e.origin, e.err = dst, len(dst), nil
	e.Message("", m)
	out := e.buf
	e.buf = nil
	return out
}

// Err returns ros.ErrBeforeEpoch if the last message had a time that ROS 1 can't express. The
// time was written as 0, and the message isn't to be sent.
func (e *BinaryEncoder) Err() error { return e.err }

// Size returns how many bytes Append appends for m, without writing them.
func (e *BinaryEncoder) Size(m ros.Message) int64 {
	e.sizer = sizer{format: e.Format}
	e.sizer.Message("", m)
	if e.Format == CDR {
		e.sizer.size += len(encapsulation)
	}
	return int64(e.sizer.size)
}

// align pads to where a value of size bytes may start.
func (e *BinaryEncoder) align(size int) {
	var zeros [8]byte
	e.buf = append(e.buf, zeros[:e.Format.padding(len(e.buf)-e.origin, size)]...)
}

func (e *BinaryEncoder) count(n int) {
	e.align(countSize)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n))
}

// HeaderSeq appends four bytes in ROS 1.
func (e *BinaryEncoder) HeaderSeq(v *uint32) {
	if e.Format == ROS1 {
		e.Value("seq", ros.Of(v))
	}
}

// Value aligns to the number's size and appends it.
func (e *BinaryEncoder) Value(_ string, v ros.Ref) {
	e.align(v.Size())
	e.buf = v.AppendBinary(e.buf)
}

// String appends the length and the bytes, with CDR's NUL.
func (e *BinaryEncoder) String(_ string, v *string) {
	if e.Format == CDR {
		e.count(len(*v) + 1)
		e.buf = append(append(e.buf, *v...), 0)
		return
	}
	e.count(len(*v))
	e.buf = append(e.buf, *v...)
}

// Bytes appends the length and the bytes, which their source writes in place.
func (e *BinaryEncoder) Bytes(_ string, v *ros.Bytes) {
	n := v.Len()
	e.count(n)
	start := len(e.buf)
	e.buf = slices.Grow(e.buf, n)[:start+n]
	v.Put(e.buf[start:])
}

// Array appends the length, where the format has it, and the elements, which are aligned to
// their size.
func (e *BinaryEncoder) Array(name string, v ros.Array) {
	n := v.Len()
	if _, fixed := v.Fixed(); e.Format.counted(fixed) {
		e.count(n)
	}
	switch {
	case v.Kind() == ros.KindString:
		list := ros.Elements[string](v)
		for i := range list {
			e.String(name, &list[i])
		}
	case n > 0:
		e.align(v.Kind().Size())
		e.buf = v.AppendBinary(e.buf)
	}
}

// Message appends the nested message's fields. A time that ROS 1 can't express is written as
// 0 and kept as Err.
func (e *BinaryEncoder) Message(name string, v ros.Message) {
	if t, ok := v.(*ros.Time); ok && e.Format == ROS1 && t.Sec < 0 {
		if e.err == nil {
			e.err = fmt.Errorf("encode %s of %d s: %w", name, t.Sec, ros.ErrBeforeEpoch)
		}
		e.buf = append(e.buf, make([]byte, 8)...)
		return
	}
	start := len(e.buf)
	v.Fields(e)
	if len(e.buf) == start {
		e.buf = append(e.buf, make([]byte, e.Format.empty())...)
	}
}

// Messages appends the length, where the format has it, and each message's fields.
func (e *BinaryEncoder) Messages(name string, v ros.Messages) {
	n := v.Len()
	if e.Format.counted(v.Fixed()) {
		e.count(n)
	}
	for i := range n {
		e.Message(name, v.At(i))
	}
}

// sizer adds up what an encoder of the same format writes after the header.
type sizer struct {
	format Binary
	size   int
}

var _ ros.SeqVisitor = (*sizer)(nil)

// add adds n elements of a size.
func (s *sizer) add(n, size int) {
	if n > 0 {
		s.size += s.format.padding(s.size, size) + n*size
	}
}

// sequence adds a length and as many bytes.
func (s *sizer) sequence(n int) {
	s.add(1, countSize)
	s.size += n
}

// HeaderSeq adds four bytes in ROS 1.
func (s *sizer) HeaderSeq(*uint32) {
	if s.format == ROS1 {
		s.size += 4
	}
}

// Value adds the number's size.
func (s *sizer) Value(_ string, v ros.Ref) { s.add(1, v.Size()) }

// String adds the length and the bytes, with CDR's NUL.
func (s *sizer) String(_ string, v *string) {
	s.sequence(len(*v))
	if s.format == CDR {
		s.size++
	}
}

// Bytes adds the length and the bytes.
func (s *sizer) Bytes(_ string, v *ros.Bytes) { s.sequence(v.Len()) }

// Array adds the elements, and their number where the format has it.
func (s *sizer) Array(name string, v ros.Array) {
	if _, fixed := v.Fixed(); s.format.counted(fixed) {
		s.add(1, countSize)
	}
	if v.Kind() == ros.KindString {
		list := ros.Elements[string](v)
		for i := range list {
			s.String(name, &list[i])
		}
		return
	}
	s.add(v.Len(), v.Kind().Size())
}

// Message adds the nested message's fields.
func (s *sizer) Message(_ string, v ros.Message) {
	start := s.size
	v.Fields(s)
	if s.size == start {
		s.size += s.format.empty()
	}
}

// Messages adds each message's fields, and their number where the format has it.
func (s *sizer) Messages(name string, v ros.Messages) {
	if s.format.counted(v.Fixed()) {
		s.add(1, countSize)
	}
	for i := range v.Len() {
		s.Message(name, v.At(i))
	}
}

// Errors of BinaryDecoder.Decode.
var (
	// ErrRepresentation: the encapsulation header isn't CDR_LE's.
	ErrRepresentation = errors.New("data is not little-endian CDR version 1")
	// ErrTruncated: the data ends inside a field.
	ErrTruncated = fmt.Errorf("data is too short: %w", io.ErrUnexpectedEOF)
	// ErrMalformed: bytes are left over, or a value isn't as the format has it.
	ErrMalformed = errors.New("data is malformed")
)

// BinaryDecoder decodes messages of a binary format, CDR if none is set. One goroutine uses
// it at a time. What it sets holds no reference to the data, unless it borrows, and never
// takes more memory than a small multiple of the data's size.
type BinaryDecoder struct {
	Format Binary
	// Borrow makes the content of an uint8[] the data's own memory, not a copy.
	Borrow bool

	src []byte
	pos int
	err error
}

var _ ros.SeqVisitor = (*BinaryDecoder)(nil)

// Decode sets m from data, which begins with CDR's header where the format is CDR. Up to
// three bytes of padding may follow a message in CDR (RTPS pads payloads to four), none
// otherwise. On an error m is set in part.
func (d *BinaryDecoder) Decode(data []byte, m ros.Message) error {
	spare := 0
	if d.Format == CDR {
		if len(data) < len(encapsulation) {
			return fmt.Errorf("decode %s: header: %w", m.TypeName(), ErrTruncated)
		}
		if data[0] != encapsulation[0] || data[1] != encapsulation[1] {
			return fmt.Errorf("decode %s: representation %#02x%02x: %w", m.TypeName(), data[0], data[1], ErrRepresentation)
		}
		data, spare = data[len(encapsulation):], 3
	}
	*d = BinaryDecoder{Format: d.Format, Borrow: d.Borrow, src: data}
	d.Message("message", m)
	if left := len(d.src) - d.pos; d.err == nil && left > spare {
		d.fail("end", fmt.Errorf("%d bytes left over: %w", left, ErrMalformed))
	}
	err := d.err
	*d = BinaryDecoder{Format: d.Format, Borrow: d.Borrow}
	if err != nil {
		return fmt.Errorf("decode %s: %w", m.TypeName(), err)
	}
	return nil
}

// fail keeps the first error with the field's name.
func (d *BinaryDecoder) fail(name string, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%s at byte %d: %w", name, d.pos, err)
	}
}

// take returns n elements of a size, which are aligned to it, or nil after a failure.
func (d *BinaryDecoder) take(name string, n, size int) []byte {
	if d.err != nil {
		return nil
	}
	start := d.pos + d.Format.padding(d.pos, size)
	if start > len(d.src) || n > (len(d.src)-start)/size {
		d.fail(name, ErrTruncated)
		return nil
	}
	d.pos = start + n*size
	return d.src[start:d.pos]
}

func (d *BinaryDecoder) uint32(name string) uint32 {
	if b := d.take(name, 1, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// length reads the length of a sequence whose elements take size bytes or more.
func (d *BinaryDecoder) length(name string, size int) int {
	n := d.uint32(name)
	if d.err == nil && int64(n)*int64(size) > int64(len(d.src)-d.pos) {
		d.fail(name, fmt.Errorf("length %d: %w", n, ErrTruncated))
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// count returns the number of an array's elements, which take size bytes each or more. It
// reads the number where the format has it.
func (d *BinaryDecoder) count(name string, n int, fixed bool, size int) int {
	if !fixed {
		return d.length(name, size)
	}
	if d.Format.counted(fixed) {
		if got := d.uint32(name); d.err == nil && int64(got) != int64(n) {
			d.fail(name, fmt.Errorf("array of %d has %d elements: %w", n, got, ErrMalformed))
		}
	}
	return n
}

// HeaderSeq reads four bytes in ROS 1.
func (d *BinaryDecoder) HeaderSeq(v *uint32) {
	*v = 0
	if d.Format == ROS1 {
		*v = d.uint32("seq")
	}
}

// Value reads a number, aligned to its size. A bool of CDR is 0 or 1; in the others all
// bytes but 0 are true, as ROS has it.
func (d *BinaryDecoder) Value(name string, v ros.Ref) {
	b := d.take(name, 1, v.Size())
	if b == nil {
		v.Clear()
		return
	}
	d.check(name, v.Kind(), b)
	v.SetBinary(b)
}

// check refuses the bools that CDR doesn't have.
func (d *BinaryDecoder) check(name string, kind ros.Kind, values []byte) {
	if kind != ros.KindBool || d.Format != CDR {
		return
	}
	for _, b := range values {
		if b > 1 {
			d.fail(name, fmt.Errorf("boolean of %d: %w", b, ErrMalformed))
		}
	}
}

// String reads a length and as many bytes, with CDR's NUL. There a length of 0, which some
// write for the empty string, is taken for it.
func (d *BinaryDecoder) String(name string, v *string) {
	text := d.take(name, d.length(name, 1), 1)
	if n := len(text); d.Format == CDR && n > 0 {
		if text[n-1] != 0 {
			d.fail(name, fmt.Errorf("string without NUL: %w", ErrMalformed))
			n = 1
		}
		text = text[:n-1]
	}
	if *v != string(text) { // one that is there already isn't allocated again
		*v = string(text)
	}
}

// Bytes reads a length and as many bytes, which it copies or borrows.
func (d *BinaryDecoder) Bytes(name string, v *ros.Bytes) {
	data := d.take(name, d.length(name, 1), 1)
	if v.Source = nil; d.Borrow {
		v.Data = data[:len(data):len(data)]
		return
	}
	v.Data = append(v.Data[:0], data...)
}

// Array reads a length, where the format has it, and as many elements, which are aligned to
// their size. It makes a sequence only as long as the data bears it out.
func (d *BinaryDecoder) Array(name string, v ros.Array) {
	kind := v.Kind()
	n, fixed := v.Fixed()
	n = d.count(name, n, fixed, max(kind.Size(), countSize)) // a string has its length at least
	if kind == ros.KindString {
		list := ros.Resize[string](v, n)
		for i := range list {
			d.String(name, &list[i])
		}
		return
	}
	v.Clear()
	if n == 0 {
		return
	}
	if b := d.take(name, n, kind.Size()); b != nil {
		d.check(name, kind, b)
		v.SetBinary(b)
	}
}

// Message reads the nested message's fields. A time from 2038 on, which ROS 2 doesn't have, is
// malformed.
func (d *BinaryDecoder) Message(name string, v ros.Message) {
	start := d.pos
	v.Fields(d)
	if d.pos == start {
		d.take(name, d.Format.empty(), 1)
	}
	if t, ok := v.(*ros.Time); ok && d.Format == ROS1 && t.Sec < 0 {
		d.fail(name, fmt.Errorf("time of %d s: %w", uint32(t.Sec), ErrMalformed))
	}
}

// Messages reads a length, where the format has it, and as many messages. It grows the array
// only as the data bears it out.
func (d *BinaryDecoder) Messages(name string, v ros.Messages) {
	fixed := v.Fixed()
	n := d.count(name, v.Len(), fixed, 1)
	if !fixed {
		v.Clear()
	}
	for i := range n {
		if fixed {
			d.Message(name, v.At(i))
			continue
		}
		if d.Message(name, v.Append()); d.err != nil {
			return
		}
	}
}
