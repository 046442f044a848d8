// Package packed encodes and decodes messages without alignment, as two protocols do
// that differ in little: ROS 1's serialisation and that of SVL Simulator's ROS 2 bridge.
// Their packages, ros1 and lgsvlwire, say in a [Format] what they have of their own.
//
// All numbers are little-endian. A bool is one byte; a string and a sequence begin with
// their length as uint32; a string has no NUL; nested messages lie in place.
package packed

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Format is what packed formats don't have in common.
type Format struct {
	// ROS1 is set if a header begins with its seq, a time's seconds are unsigned, and a
	// message without fields is nothing; in ROS 2 that is a byte
	// (structure_needs_at_least_one_member of rosidl).
	ROS1 bool
	// CountedArrays is set if an array of fixed size begins with its size as uint32.
	CountedArrays bool
}

// Encoder encodes messages of one format. One goroutine uses it at a time. Encoding into
// a large enough buffer allocates nothing.
type Encoder struct {
	Format Format

	buf []byte
	err error
}

var _ ros.SeqVisitor = (*Encoder)(nil)

// Append appends m to dst and returns the result.
func (e *Encoder) Append(dst []byte, m ros.Message) []byte {
	e.buf, e.err = dst, nil
	e.Message("", m)
	out := e.buf
	e.buf = nil
	return out
}

// Err says what of the last message the format couldn't express: ros.ErrBeforeEpoch,
// or nil.
func (e *Encoder) Err() error { return e.err }

// HeaderSeq appends four bytes where the format has them.
func (e *Encoder) HeaderSeq(v *uint32) {
	if e.Format.ROS1 {
		e.Value("seq", ros.Of(v))
	}
}

// Value appends the number.
func (e *Encoder) Value(_ string, v ros.Ref) { e.buf = v.AppendBinary(e.buf) }

func (e *Encoder) uint32(v uint32) { e.buf = binary.LittleEndian.AppendUint32(e.buf, v) }

func (e *Encoder) uint64(v uint64) { e.buf = binary.LittleEndian.AppendUint64(e.buf, v) }

// String appends the length and the bytes.
func (e *Encoder) String(_ string, v *string) {
	e.uint32(uint32(len(*v)))
	e.buf = append(e.buf, *v...)
}

// Bytes appends the length and the bytes, which their source writes in place.
func (e *Encoder) Bytes(_ string, v *ros.Bytes) {
	n := v.Len()
	e.uint32(uint32(n))
	start := len(e.buf)
	e.buf = slices.Grow(e.buf, n)[:start+n]
	v.Put(e.buf[start:])
}

// Array appends the length, where the format has it, and the elements.
func (e *Encoder) Array(name string, v ros.Array) {
	_, fixed := v.Fixed()
	e.count(v.Len(), fixed)
	if v.Kind() == ros.KindString {
		list := ros.Elements[string](v)
		for i := range list {
			e.String(name, &list[i])
		}
		return
	}
	e.buf = v.AppendBinary(e.buf)
}

// count appends the number of elements, where the format has it.
func (e *Encoder) count(n int, fixed bool) {
	if !fixed || e.Format.CountedArrays {
		e.uint32(uint32(n))
	}
}

// Message appends the nested message's fields. A time that the format can't express is
// written as 0 and kept as Err.
func (e *Encoder) Message(name string, v ros.Message) {
	if t, ok := v.(*ros.Time); ok && e.Format.ROS1 && t.Sec < 0 {
		if e.err == nil {
			e.err = fmt.Errorf("encode %s of %d s: %w", name, t.Sec, ros.ErrBeforeEpoch)
		}
		e.buf = append(e.buf, make([]byte, 8)...)
		return
	}
	start := len(e.buf)
	v.Fields(e)
	if len(e.buf) == start && !e.Format.ROS1 {
		e.buf = append(e.buf, 0)
	}
}

// Messages appends the length, where the format has it, and each message's fields.
func (e *Encoder) Messages(name string, v ros.Messages) {
	n := v.Len()
	e.count(n, v.Fixed())
	for i := range n {
		e.Message(name, v.At(i))
	}
}
