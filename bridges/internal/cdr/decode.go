package cdr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Errors of Decode.
var (
	// ErrRepresentation: the encapsulation header isn't CDR_LE's.
	ErrRepresentation = errors.New("data is not little-endian CDR version 1")
	// ErrTruncated: the data ends inside a field.
	ErrTruncated = fmt.Errorf("data is too short: %w", io.ErrUnexpectedEOF)
	// ErrMalformed: a string without its NUL, a boolean above 1, or bytes left
	// over.
	ErrMalformed = errors.New("data is malformed")
)

// Decoder decodes messages. The zero value is ready; one goroutine uses it at a
// time. What it sets holds no reference to the data, and never takes more
// memory than a small multiple of the data's size.
type Decoder struct {
	src []byte
	pos int
	err error
}

var _ ros.Visitor = (*Decoder)(nil)

// Decode sets m from data that begins with an encapsulation header. Up to three
// bytes of padding may follow the message (RTPS pads payloads to four). On an
// error m is set in part.
func (d *Decoder) Decode(data []byte, m ros.Message) error {
	if len(data) < len(header) {
		return fmt.Errorf("decode %s: header: %w", m.TypeName(), ErrTruncated)
	}
	if data[0] != header[0] || data[1] != header[1] {
		return fmt.Errorf("decode %s: representation %#02x%02x: %w", m.TypeName(), data[0], data[1], ErrRepresentation)
	}
	*d = Decoder{src: data[len(header):]}
	d.Message("message", m)
	if d.err == nil && len(d.src)-d.pos > 3 {
		d.fail("end", fmt.Errorf("%d bytes left over: %w", len(d.src)-d.pos, ErrMalformed))
	}
	err := d.err
	*d = Decoder{}
	if err != nil {
		return fmt.Errorf("decode %s: %w", m.TypeName(), err)
	}
	return nil
}

// fail keeps the first error with the field's name.
func (d *Decoder) fail(name string, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%s at byte %d: %w", name, d.pos, err)
	}
}

// take aligns to align and returns the next n bytes, or nil after a failure.
func (d *Decoder) take(name string, align, n int) []byte {
	if d.err != nil {
		return nil
	}
	start := (d.pos + align - 1) &^ (align - 1)
	if start > len(d.src) || n > len(d.src)-start {
		d.fail(name, ErrTruncated)
		return nil
	}
	d.pos = start + n
	return d.src[start:d.pos]
}

func (d *Decoder) byte(name string) byte {
	if b := d.take(name, 1, 1); b != nil {
		return b[0]
	}
	return 0
}

func (d *Decoder) uint16(name string) uint16 {
	if b := d.take(name, 2, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *Decoder) uint32(name string) uint32 {
	if b := d.take(name, 4, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *Decoder) uint64(name string) uint64 {
	if b := d.take(name, 8, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// length reads the length of a sequence whose elements take size bytes or more.
func (d *Decoder) length(name string, size int) int {
	n := d.uint32(name)
	if d.err == nil && int64(n)*int64(size) > int64(len(d.src)-d.pos) {
		d.fail(name, fmt.Errorf("length %d: %w", n, ErrTruncated))
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// Value reads a number, aligned to its size. A bool is 0 or 1.
func (d *Decoder) Value(name string, v ros.Ref) {
	b := d.take(name, v.Size(), v.Size())
	if b == nil {
		v.Clear()
		return
	}
	if v.Kind() == ros.KindBool {
		d.checkBool(name, b[0])
	}
	v.SetBinary(b)
}

func (d *Decoder) checkBool(name string, b byte) {
	if b > 1 {
		d.fail(name, fmt.Errorf("boolean of %d: %w", b, ErrMalformed))
	}
}

// String reads a length, as many bytes and their NUL. A length of 0, which some
// write for the empty string, is taken for it.
func (d *Decoder) String(name string, v *string) {
	*v = ""
	n := d.length(name, 1)
	if d.err != nil || n == 0 {
		return
	}
	b := d.take(name, 1, n)
	if b == nil {
		return
	}
	if b[n-1] != 0 {
		d.fail(name, fmt.Errorf("string without NUL: %w", ErrMalformed))
		return
	}
	*v = string(b[:n-1])
}

// Bytes reads a length and as many bytes, which it copies.
func (d *Decoder) Bytes(name string, v *ros.Bytes) {
	n := d.length(name, 1)
	v.Source = nil
	v.Data = append(v.Data[:0], d.take(name, 1, n)...)
}

// Array reads a length, unless the type has it, and as many elements, which are aligned to
// their size. It makes a sequence only as long as the data bears it out.
func (d *Decoder) Array(name string, v ros.Array) {
	kind := v.Kind()
	n, fixed := v.Fixed()
	if !fixed {
		n = d.length(name, max(kind.Size(), 4)) // a string has its length at least
	}
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
	b := d.take(name, kind.Size(), n*kind.Size())
	if kind == ros.KindBool {
		for _, value := range b {
			d.checkBool(name, value)
		}
	}
	if b != nil {
		v.SetBinary(b)
	}
}

// Message reads the nested message's fields, or the byte of one without fields
// (structure_needs_at_least_one_member of rosidl).
func (d *Decoder) Message(name string, v ros.Message) {
	start := d.pos
	v.Fields(d)
	if d.pos == start {
		d.byte(name)
	}
}

// Messages reads a length, unless the type has it, and as many messages. It grows the
// array only as the data bears it out.
func (d *Decoder) Messages(name string, v ros.Messages) {
	if v.Fixed() {
		for i := range v.Len() {
			d.Message(name, v.At(i))
		}
		return
	}
	n := d.length(name, 1)
	v.Clear()
	for range n {
		d.Message(name, v.Append())
		if d.err != nil {
			return
		}
	}
}
