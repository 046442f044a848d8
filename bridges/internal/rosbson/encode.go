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
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Errors of messages that BSON can't have.
var (
	// ErrSize says that a message is beyond the 2 GiB of a document; it is bridges.ErrTooLarge.
	ErrSize = fmt.Errorf("%w: a BSON document has less than 2 GiB", bridges.ErrTooLarge)
	// ErrRange says that a number is beyond an int64, BSON's largest integer. It was written
	// as 0.
	ErrRange = errors.New("number is too large for BSON")
)

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
	Version ros.Version
	// Limit is how long the buffer may get, bytes; by default, and at the most, 2 GiB less
	// one, since a document's length is an int32. Bytes beyond are given no memory.
	Limit int

	buf   []byte
	names ros.Names // of the document that is being written
	err   error
}

var _ ros.SeqVisitor = (*Encoder)(nil)

// Append appends m as a document to dst and returns the result.
func (e *Encoder) Append(dst []byte, m ros.Message) []byte {
	e.buf, e.err = dst, nil
	e.document("", m)
	out := e.buf
	e.buf = nil
	return out
}

// Err returns what of the last message couldn't be written: ErrSize, ErrRange or, if Version
// is ROS1, ros.ErrBeforeEpoch. The message isn't to be sent then.
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

func (e *Encoder) document(name string, m ros.Message) {
	start := e.open()
	if t, ok := m.(*ros.Time); ok && e.Version == ros.ROS1 && t.Sec < 0 {
		e.fail(name, fmt.Errorf("time of %d s: %w", t.Sec, ros.ErrBeforeEpoch))
		m = &zero
	}
	outer := e.names
	e.names = e.Version.Names(m)
	m.Fields(e)
	e.names = outer
	e.close(start)
}

// zero stands for times that can't be written; nobody changes it.
var zero ros.Time

// name begins an element.
func (e *Encoder) name(typ byte, name string) {
	e.buf = append(e.buf, typ)
	e.buf = append(e.buf, e.names.Of(name)...)
	e.buf = append(e.buf, 0)
}

// index begins an element of an array.
func (e *Encoder) index(typ byte, i int) {
	e.buf = append(e.buf, typ)
	e.buf = strconv.AppendUint(e.buf, uint64(i), 10)
	e.buf = append(e.buf, 0)
}

// integer appends a number: an int32 or, beyond its range, an int64.
func (e *Encoder) integer(name string, v int64) {
	e.name(integerType(v), name)
	e.integerValue(v)
}

func integerType(v int64) byte {
	if v == int64(int32(v)) {
		return typeInt32
	}
	return typeInt64
}

func (e *Encoder) integerValue(v int64) {
	if integerType(v) == typeInt32 {
		e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(v))
		return
	}
	e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(v))
}

// signed returns a number as BSON has it, whose integers have a sign.
func (e *Encoder) signed(name string, v uint64) int64 {
	if v > math.MaxInt64 {
		e.fail(name, fmt.Errorf("%d: %w", v, ErrRange))
		return 0
	}
	return int64(v)
}

// HeaderSeq appends "seq" of ROS 1.
func (e *Encoder) HeaderSeq(v *uint32) {
	if e.Version == ros.ROS1 {
		e.Value("seq", ros.Of(v))
	}
}

// Value appends a boolean, an integer or a double; an integer beyond an int64's range is
// ErrRange.
func (e *Encoder) Value(name string, v ros.Ref) {
	switch v.Kind() {
	case ros.KindBool:
		e.name(typeBool, name)
		e.bool(v.Bool())
	case ros.KindFloat32, ros.KindFloat64:
		e.name(typeDouble, name)
		e.double(v.Float())
	case ros.KindUint64:
		e.integer(name, e.signed(name, v.Uint()))
	default:
		e.integer(name, v.Int())
	}
}

func (e *Encoder) bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	e.buf = append(e.buf, b)
}

func (e *Encoder) double(v float64) {
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(v))
}

// String appends a string.
func (e *Encoder) String(name string, v *string) {
	e.name(typeString, name)
	e.text(*v)
}

func (e *Encoder) text(text string) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(len(text)+1))
	e.buf = append(e.buf, text...)
	e.buf = append(e.buf, 0)
}

// Bytes appends binary, which its source writes in place.
func (e *Encoder) Bytes(name string, v *ros.Bytes) {
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

// Message appends a document.
func (e *Encoder) Message(name string, v ros.Message) {
	e.name(typeDocument, name)
	e.document(name, v)
}

// Messages appends an array of documents.
func (e *Encoder) Messages(name string, v ros.Messages) {
	e.name(typeArray, name)
	start := e.open()
	for i := range v.Len() {
		e.index(typeDocument, i)
		e.document(name, v.At(i))
	}
	e.close(start)
}
