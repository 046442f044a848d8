// Package cdr encodes and decodes messages as ROS 2 puts them on the wire:
// plain CDR, little endian, version 1 (OMG DDSI-RTPS 2.3, section 10; CORBA
// 3.3 part 2, section 9.3), after a four-byte encapsulation header.
//
// A value of n bytes, up to 8, starts at a multiple of n from the end of the
// header. A string is its length with the closing NUL as uint32, its bytes and
// the NUL; a sequence is its length as uint32 and its elements, of which an
// empty one has none and no padding before them; an array is its elements.
package cdr

import (
	"encoding/binary"
	"slices"

	"github.com/raybridge/raybridge/bridges/ros"
)

// header is the encapsulation: representation CDR_LE (0x0001), no options.
var header = [4]byte{0, 1, 0, 0}

// Encoder encodes messages. The zero value is ready; one goroutine uses it at a
// time. Encoding into a large enough buffer allocates nothing.
type Encoder struct {
	buf    []byte
	origin int // where alignment counts from: the end of the header
}

var _ ros.Visitor = (*Encoder)(nil)

// Append appends the encapsulation header and m to dst and returns the result.
func (e *Encoder) Append(dst []byte, m ros.Message) []byte {
	e.buf = append(dst, header[:]...)
	e.origin = len(e.buf)
	e.Message("", m)
	out := e.buf
	e.buf = nil
	return out
}

// align pads to a multiple of n, a power of two.
func (e *Encoder) align(n int) {
	var zeros [8]byte
	e.buf = append(e.buf, zeros[:-(len(e.buf)-e.origin)&(n-1)]...)
}

// Value aligns to the number's size and appends it.
func (e *Encoder) Value(_ string, v ros.Ref) {
	e.align(v.Size())
	e.buf = v.AppendBinary(e.buf)
}

func (e *Encoder) uint32(v uint32) {
	e.align(4)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, v)
}

func (e *Encoder) uint64(v uint64) {
	e.align(8)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, v)
}

// String appends the length with the NUL, the bytes and the NUL.
func (e *Encoder) String(_ string, v *string) {
	e.uint32(uint32(len(*v) + 1))
	e.buf = append(e.buf, *v...)
	e.buf = append(e.buf, 0)
}

// Bytes appends the length and the bytes, which their source writes in place.
func (e *Encoder) Bytes(_ string, v *ros.Bytes) {
	n := v.Len()
	e.uint32(uint32(n))
	start := len(e.buf)
	e.buf = slices.Grow(e.buf, n)[:start+n]
	v.Put(e.buf[start:])
}

// Array appends the length, unless the type has it, and the elements, which are aligned to
// their size.
func (e *Encoder) Array(name string, v ros.Array) {
	n := v.Len()
	if _, fixed := v.Fixed(); !fixed {
		e.uint32(uint32(n))
	}
	if v.Kind() == ros.KindString {
		list := ros.Elements[string](v)
		for i := range list {
			e.String(name, &list[i])
		}
		return
	}
	if n > 0 {
		e.align(v.Kind().Size())
		e.buf = v.AppendBinary(e.buf)
	}
}

// Message appends the nested message's fields; one without fields is a byte
// (structure_needs_at_least_one_member of rosidl).
func (e *Encoder) Message(_ string, v ros.Message) {
	start := len(e.buf)
	v.Fields(e)
	if len(e.buf) == start {
		e.buf = append(e.buf, 0)
	}
}

// Messages appends the length, unless the type has it, and each message's fields.
func (e *Encoder) Messages(name string, v ros.Messages) {
	n := v.Len()
	if !v.Fixed() {
		e.uint32(uint32(n))
	}
	for i := range n {
		e.Message(name, v.At(i))
	}
}
