// Package rosbson has messages as BSON 1.1 (bsonspec.org), as rosbridge uses it: a message
// is a document, with ROS 1's or ROS 2's names, uint8[] is binary of the generic subtype,
// floats are doubles, NaN and infinities included, integers are int32, and int64 where
// they don't fit. What isn't UTF-8 in a string is written as U+FFFD.
//
// A message's bytes are a whole document, so they can stand as they are where a document
// has another in it.
package rosbson

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
)

// ErrSize says that a message is beyond the 2 GiB of a document; it is bridges.ErrTooLarge.
var ErrSize = fmt.Errorf("%w: a BSON document has less than 2 GiB", bridges.ErrTooLarge)

// Types of elements (bsonspec.org/spec.html).
const (
	typeDouble    = 0x01
	typeString    = 0x02
	typeDocument  = 0x03
	typeArray     = 0x04
	typeBinary    = 0x05
	typeUndefined = 0x06
	typeBool      = 0x08
	typeNull      = 0x0a
	typeInt32     = 0x10
	typeInt64     = 0x12
)

// Encoder encodes messages. The zero value is ready, for ROS 2; one goroutine uses it at
// a time. Encoding into a large enough buffer allocates nothing.
type Encoder struct {
	Version rosmsg.Version
	// Limit is how long the buffer may get, bytes; by default, and at the most, 2 GiB less
	// one, since a document's length is an int32. Bytes beyond are given no memory.
	Limit int

	buf []byte
	err error
}

var _ rosmsg.SeqVisitor = (*Encoder)(nil)

// Append appends m as a document to dst and returns the result.
func (e *Encoder) Append(dst []byte, m rosmsg.Message) []byte {
	e.buf, e.err = dst, nil
	e.document("", m)
	out := e.buf
	e.buf = nil
	return out
}

// Err returns what of the last message couldn't be written: ErrSize, or, if Version is
// ROS1, rosmsg.ErrBeforeEpoch. The message isn't to be sent then.
func (e *Encoder) Err() error { return e.err }

func (e *Encoder) fail(name string, err error) {
	if e.err == nil {
		e.err = fmt.Errorf("encode %s: %w", name, err)
	}
}

// open begins a document or an array and returns where; close ends it.
func (e *Encoder) open() int {
	e.buf = append(e.buf, 0, 0, 0, 0)
	return len(e.buf) - 4
}

func (e *Encoder) close(start int) {
	e.buf = append(e.buf, 0)
	e.fits("document", 0)
	binary.LittleEndian.PutUint32(e.buf[start:], uint32(len(e.buf)-start))
}

// fits reports whether n more bytes are within the limit; if not, the message has failed.
func (e *Encoder) fits(name string, n int) bool {
	limit := math.MaxInt32
	if e.Limit > 0 {
		limit = min(limit, e.Limit)
	}
	if n <= limit-len(e.buf) {
		return true
	}
	e.fail(name, ErrSize)
	return false
}

func (e *Encoder) document(name string, m rosmsg.Message) {
	start := e.open()
	if t, ok := m.(*rosmsg.Time); ok && e.Version == rosmsg.ROS1 && t.Sec < 0 {
		e.fail(name, fmt.Errorf("time of %d s: %w", t.Sec, rosmsg.ErrBeforeEpoch))
		m = &zero
	}
	m.Fields(e)
	e.close(start)
}

// zero stands for times that can't be written; nobody changes it.
var zero rosmsg.Time

// name begins an element.
func (e *Encoder) name(typ byte, name string) {
	e.buf = append(e.buf, typ)
	e.buf = append(e.buf, e.Version.FieldName(name)...)
	e.buf = append(e.buf, 0)
}

// index begins an element of an array.
func (e *Encoder) index(typ byte, i int) {
	e.buf = append(e.buf, typ)
	e.buf = strconv.AppendUint(e.buf, uint64(i), 10)
	e.buf = append(e.buf, 0)
}

func (e *Encoder) int32(name string, v int32) {
	e.name(typeInt32, name)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(v))
}

// HeaderSeq appends "seq" of ROS 1.
func (e *Encoder) HeaderSeq(v *uint32) {
	if e.Version == rosmsg.ROS1 {
		e.Uint32("seq", v)
	}
}

// Bool appends a boolean.
func (e *Encoder) Bool(name string, v *bool) {
	e.name(typeBool, name)
	var b byte
	if *v {
		b = 1
	}
	e.buf = append(e.buf, b)
}

// Int8 appends an int32.
func (e *Encoder) Int8(name string, v *int8) { e.int32(name, int32(*v)) }

// Uint8 appends an int32.
func (e *Encoder) Uint8(name string, v *uint8) { e.int32(name, int32(*v)) }

// Uint16 appends an int32.
func (e *Encoder) Uint16(name string, v *uint16) { e.int32(name, int32(*v)) }

// Int32 appends an int32.
func (e *Encoder) Int32(name string, v *int32) { e.int32(name, *v) }

// Uint32 appends an int32 or, beyond its range, an int64.
func (e *Encoder) Uint32(name string, v *uint32) {
	if *v <= math.MaxInt32 {
		e.int32(name, int32(*v))
		return
	}
	e.name(typeInt64, name)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(*v))
}

// Float32 appends a double.
func (e *Encoder) Float32(name string, v *float32) {
	e.name(typeDouble, name)
	e.double(float64(*v))
}

// Float64 appends a double.
func (e *Encoder) Float64(name string, v *float64) {
	e.name(typeDouble, name)
	e.double(*v)
}

func (e *Encoder) double(v float64) {
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(v))
}

// String appends a string.
func (e *Encoder) String(name string, v *string) {
	text := *v
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	e.name(typeString, name)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(len(text)+1))
	e.buf = append(e.buf, text...)
	e.buf = append(e.buf, 0)
}

// Bytes appends binary, which its source writes in place.
func (e *Encoder) Bytes(name string, v *rosmsg.Bytes) {
	n := v.Len()
	e.name(typeBinary, name)
	if !e.fits(name, n) {
		n = 0
	}
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n))
	e.buf = append(e.buf, 0) // the generic subtype
	start := len(e.buf)
	if n > 0 {
		e.buf = slices.Grow(e.buf, n)[:start+n]
		v.Put(e.buf[start:])
	}
}

// Float64Array appends an array of doubles.
func (e *Encoder) Float64Array(name string, v []float64) {
	e.name(typeArray, name)
	start := e.open()
	for i, f := range v {
		e.index(typeDouble, i)
		e.double(f)
	}
	e.close(start)
}

// Float64Sequence appends an array of doubles.
func (e *Encoder) Float64Sequence(name string, v *[]float64) { e.Float64Array(name, *v) }

// Float32Sequence appends an array of doubles.
func (e *Encoder) Float32Sequence(name string, v *[]float32) {
	e.name(typeArray, name)
	start := e.open()
	for i, f := range *v {
		e.index(typeDouble, i)
		e.double(float64(f))
	}
	e.close(start)
}

// Int32Sequence appends an array of int32.
func (e *Encoder) Int32Sequence(name string, v *[]int32) {
	e.name(typeArray, name)
	start := e.open()
	for i, n := range *v {
		e.index(typeInt32, i)
		e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n))
	}
	e.close(start)
}

// Message appends a document.
func (e *Encoder) Message(name string, v rosmsg.Message) {
	e.name(typeDocument, name)
	e.document(name, v)
}

// Messages appends an array of documents.
func (e *Encoder) Messages(name string, v rosmsg.Messages) {
	e.name(typeArray, name)
	start := e.open()
	for i := range v.Len() {
		e.index(typeDocument, i)
		e.document(name, v.At(i))
	}
	e.close(start)
}
