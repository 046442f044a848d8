// Package roscbor has messages as CBOR (RFC 8949), as rosbridge's compression "cbor" does:
// a message is a map, with ROS 1's or ROS 2's names, uint8[] is a byte string, arrays of
// numbers are typed arrays (RFC 8746) of little-endian elements. Scalars are as short as
// can be for integers, and of the field's own width for floats, NaN and infinities
// included. What isn't UTF-8 in a string is written as U+FFFD.
//
// A message's bytes are a whole data item, so they can stand as they are where a map has
// one.
package roscbor

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Major types (RFC 8949, section 3.1), in their place in the initial byte.
const (
	majorUnsigned = 0 << 5
	majorNegative = 1 << 5
	majorBytes    = 2 << 5
	majorText     = 3 << 5
	majorArray    = 4 << 5
	majorMap      = 5 << 5
	majorTag      = 6 << 5
	majorSimple   = 7 << 5
)

// Initial bytes of simple values and floats (section 3.3).
const (
	simpleFalse     = majorSimple | 20
	simpleTrue      = majorSimple | 21
	simpleNull      = majorSimple | 22
	simpleUndefined = majorSimple | 23
	float16         = majorSimple | 25
	float32Bits     = majorSimple | 26
	float64Bits     = majorSimple | 27
	breakCode       = majorSimple | 31
)

// Encoder encodes messages. The zero value is ready, for ROS 2; one goroutine uses it at
// a time. Encoding into a large enough buffer allocates nothing.
type Encoder struct {
	Version ros.Version

	buf     []byte
	members int       // of the map that is being written
	names   ros.Names // of the same map
	err     error
}

var _ ros.SeqVisitor = (*Encoder)(nil)

// Append appends m as a map to dst and returns the result.
func (e *Encoder) Append(dst []byte, m ros.Message) []byte {
	e.buf, e.err = dst, nil
	e.object("", m)
	out := e.buf
	e.buf = nil
	return out
}

// Err returns ros.ErrBeforeEpoch if the last message had such a time and Version is
// ROS1; it was written as 0, and the message isn't to be sent.
func (e *Encoder) Err() error { return e.err }

// object appends a map, whose size is known when its fields were visited.
func (e *Encoder) object(name string, m ros.Message) {
	if t, ok := m.(*ros.Time); ok && e.Version == ros.ROS1 && t.Sec < 0 {
		if e.err == nil {
			e.err = fmt.Errorf("encode %s of %d s: %w", name, t.Sec, ros.ErrBeforeEpoch)
		}
		m = &zero
	}
	outer, outerNames := e.members, e.names
	e.members, e.names = 0, e.Version.Names(m)
	start := len(e.buf)
	e.buf = append(e.buf, majorMap)
	m.Fields(e)
	switch {
	case e.members < 24:
		e.buf[start] |= byte(e.members)
	case e.members <= math.MaxUint8:
		e.buf[start] |= 24
		e.buf = slices.Insert(e.buf, start+1, byte(e.members))
	default:
		e.buf[start] |= 25
		e.buf = slices.Insert(e.buf, start+1, byte(e.members>>8), byte(e.members))
	}
	e.members, e.names = outer, outerNames
}

// zero stands for times that can't be written; nobody changes it.
var zero ros.Time

// head appends the initial byte and the argument of a data item.
func (e *Encoder) head(major byte, n uint64) {
	switch {
	case n < 24:
		e.buf = append(e.buf, major|byte(n))
	case n <= math.MaxUint8:
		e.buf = append(e.buf, major|24, byte(n))
	case n <= math.MaxUint16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, major|25), uint16(n))
	case n <= math.MaxUint32:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, major|26), uint32(n))
	default:
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, major|27), n)
	}
}

// name begins a member.
func (e *Encoder) name(name string) {
	e.members++
	name = e.names.Of(name)
	e.head(majorText, uint64(len(name)))
	e.buf = append(e.buf, name...)
}

func (e *Encoder) integer(name string, v int64) {
	e.name(name)
	if v < 0 {
		e.head(majorNegative, uint64(-1-v))
		return
	}
	e.head(majorUnsigned, uint64(v))
}

// HeaderSeq appends "seq" of ROS 1.
func (e *Encoder) HeaderSeq(v *uint32) {
	if e.Version == ros.ROS1 {
		e.Value("seq", ros.Of(v))
	}
}

// Value appends true, false, an integer, or a float of the field's size.
func (e *Encoder) Value(name string, v ros.Ref) {
	switch v.Kind() {
	case ros.KindBool:
		e.name(name)
		e.bool(v.Bool())
	case ros.KindFloat32:
		e.name(name)
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, float32Bits), math.Float32bits(float32(v.Float())))
	case ros.KindFloat64:
		e.name(name)
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, float64Bits), math.Float64bits(v.Float()))
	case ros.KindUint64:
		e.name(name)
		e.head(majorUnsigned, v.Uint())
	default:
		e.integer(name, v.Int())
	}
}

func (e *Encoder) bool(v bool) {
	b := byte(simpleFalse)
	if v {
		b = simpleTrue
	}
	e.buf = append(e.buf, b)
}

// String appends a text string.
func (e *Encoder) String(name string, v *string) {
	e.name(name)
	e.text(*v)
}

func (e *Encoder) text(text string) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	e.head(majorText, uint64(len(text)))
	e.buf = append(e.buf, text...)
}

// Bytes appends a byte string, which its source writes in place.
func (e *Encoder) Bytes(name string, v *ros.Bytes) {
	n := v.Len()
	e.name(name)
	e.head(majorBytes, uint64(n))
	start := len(e.buf)
	e.buf = slices.Grow(e.buf, n)[:start+n]
	v.Put(e.buf[start:])
}

// typedArrays are the tags of typed arrays (RFC 8746, section 2.1) of little-endian
// elements, as rosbridge has them.
var typedArrays = [...]uint64{
	ros.KindInt8: 72, ros.KindInt16: 77, ros.KindUint16: 69, ros.KindInt32: 78, ros.KindUint32: 70,
	ros.KindInt64: 79, ros.KindUint64: 71, ros.KindFloat32: 85, ros.KindFloat64: 86,
}

// Array appends a typed array of numbers, a byte string of uint8's, or an array of bools or
// of strings.
func (e *Encoder) Array(name string, v ros.Array) {
	n := v.Len()
	e.name(name)
	switch v.Kind() {
	case ros.KindBool:
		e.head(majorArray, uint64(n))
		for _, b := range ros.Elements[bool](v) {
			e.bool(b)
		}
	case ros.KindString:
		e.head(majorArray, uint64(n))
		for _, text := range ros.Elements[string](v) {
			e.text(text)
		}
	case ros.KindUint8:
		e.head(majorBytes, uint64(n))
		e.buf = v.AppendBinary(e.buf)
	default:
		e.head(majorTag, typedArrays[v.Kind()])
		e.head(majorBytes, uint64(n)*uint64(v.Kind().Size()))
		e.buf = v.AppendBinary(e.buf)
	}
}

// Message appends a map.
func (e *Encoder) Message(name string, v ros.Message) {
	e.name(name)
	e.object(name, v)
}

// Messages appends an array of maps.
func (e *Encoder) Messages(name string, v ros.Messages) {
	n := v.Len()
	e.name(name)
	e.head(majorArray, uint64(n))
	for i := range n {
		e.object(name, v.At(i))
	}
}
