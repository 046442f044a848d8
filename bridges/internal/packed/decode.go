package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Errors of Decode.
var (
	// ErrTruncated: the data ends inside a field.
	ErrTruncated = fmt.Errorf("data is too short: %w", io.ErrUnexpectedEOF)
	// ErrMalformed: bytes are left over, the size of an array isn't that of its type,
	// or a time is beyond what ROS 2 has (2038).
	ErrMalformed = errors.New("data is malformed")
)

// Decoder decodes messages of one format. One goroutine uses it at a time. What it sets
// holds no reference to the data, and never takes more memory than a small multiple of
// the data's size.
type Decoder struct {
	Format Format

	src []byte
	pos int
	err error
}

var _ ros.SeqVisitor = (*Decoder)(nil)

// Decode sets m from data, all of it. On an error m is set in part.
func (d *Decoder) Decode(data []byte, m ros.Message) error {
	*d = Decoder{Format: d.Format, src: data}
	d.Message("message", m)
	if d.err == nil && d.pos < len(d.src) {
		d.fail("end", fmt.Errorf("%d bytes left over: %w", len(d.src)-d.pos, ErrMalformed))
	}
	err := d.err
	*d = Decoder{Format: d.Format}
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

// take returns the next n bytes, or nil after a failure.
func (d *Decoder) take(name string, n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.src)-d.pos {
		d.fail(name, ErrTruncated)
		return nil
	}
	b := d.src[d.pos : d.pos+n]
	d.pos += n
	return b
}

func (d *Decoder) byte(name string) byte {
	if b := d.take(name, 1); b != nil {
		return b[0]
	}
	return 0
}

func (d *Decoder) uint16(name string) uint16 {
	if b := d.take(name, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *Decoder) uint32(name string) uint32 {
	if b := d.take(name, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *Decoder) uint64(name string) uint64 {
	if b := d.take(name, 8); b != nil {
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

// HeaderSeq reads four bytes where the format has them.
func (d *Decoder) HeaderSeq(v *uint32) {
	*v = 0
	if d.Format.ROS1 {
		*v = d.uint32("seq")
	}
}

// Value reads a number; all bytes but 0 are a true bool, as ROS has it.
func (d *Decoder) Value(name string, v ros.Ref) {
	if b := d.take(name, v.Size()); b != nil {
		v.SetBinary(b)
	} else {
		v.Clear()
	}
}

// String reads a length and as many bytes.
func (d *Decoder) String(name string, v *string) { *v = string(d.take(name, d.length(name, 1))) }

// Bytes reads a length and as many bytes, which it copies.
func (d *Decoder) Bytes(name string, v *ros.Bytes) {
	n := d.length(name, 1)
	v.Source = nil
	v.Data = append(v.Data[:0], d.take(name, n)...)
}

// Array reads a length, where the format has it, and as many elements. It makes a sequence
// only as long as the data bears it out.
func (d *Decoder) Array(name string, v ros.Array) {
	kind := v.Kind()
	n, fixed := v.Fixed()
	n = d.count(name, n, fixed, max(kind.Size(), 4)) // a string has its length at least
	if kind == ros.KindString {
		list := ros.Resize[string](v, n)
		for i := range list {
			d.String(name, &list[i])
		}
		return
	}
	v.Clear()
	if b := d.take(name, n*kind.Size()); n > 0 && b != nil {
		v.SetBinary(b)
	}
}

// count returns the number of elements, which it reads where the format has it; those of a
// sequence take size bytes each or more.
func (d *Decoder) count(name string, size int, fixed bool, element int) int {
	if !fixed {
		return d.length(name, element)
	}
	if d.Format.CountedArrays {
		if n := d.uint32(name); d.err == nil && int64(n) != int64(size) {
			d.fail(name, fmt.Errorf("array of %d has %d elements: %w", size, n, ErrMalformed))
		}
	}
	return size
}

// Message reads the nested message's fields.
func (d *Decoder) Message(name string, v ros.Message) {
	start := d.pos
	v.Fields(d)
	if d.pos == start && !d.Format.ROS1 {
		d.byte(name)
	}
	if t, ok := v.(*ros.Time); ok && d.Format.ROS1 && t.Sec < 0 {
		d.fail(name, fmt.Errorf("time of %d s: %w", uint32(t.Sec), ErrMalformed))
	}
}

// Messages reads a length, where the format has it, and as many messages. It grows the
// array only as the data bears it out.
func (d *Decoder) Messages(name string, v ros.Messages) {
	if v.Fixed() {
		for i := range d.count(name, v.Len(), true, 1) {
			d.Message(name, v.At(i))
		}
		return
	}
	n := d.length(name, 1)
	for range n {
		d.Message(name, v.Append())
		if d.err != nil {
			return
		}
	}
}
