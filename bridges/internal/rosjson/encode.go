// Package rosjson has messages as JSON (RFC 8259), with the rules of rosbridge's protocol:
// uint8[] is base64, a time is {"secs":...,"nsecs":...} in ROS 1 and
// {"sec":...,"nanosec":...} in ROS 2. JSON has no NaN and no infinities: [NonFinite] says
// how they are written. Null and the words NaN, Infinity and -Infinity are read; null is
// NaN, so that a distance of +Inf becomes one that isn't known. Floats are the shortest
// text that reads back as the same number of their width. What isn't UTF-8 in a string is
// written as U+FFFD.
package rosjson

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Encoder encodes messages. The zero value is ready, for ROS 2; one goroutine uses it at
// a time. Encoding into a large enough buffer allocates nothing.
type Encoder struct {
	Version   ros.Version
	NonFinite NonFinite

	buf   []byte
	names ros.Names // of the object that is being written
	err   error
	// altered says that a number of the message was replaced.
	altered bool
	// made is what a source made for Bytes, kept between messages. It isn't made in buf: the
	// processor that sent what was in buf before has its lines still, and filling them at
	// memory's pace waits for each, while base64 is slow enough for them to come meanwhile.
	made []byte
}

var _ ros.SeqVisitor = (*Encoder)(nil)

// Append appends m as an object to dst and returns the result.
func (e *Encoder) Append(dst []byte, m ros.Message) []byte {
	e.buf, e.err, e.altered = dst, nil, false
	e.object("", m)
	out := e.buf
	e.buf = nil
	return out
}

// Err returns ros.ErrBeforeEpoch if the last message had such a time and Version is
// ROS1; it was written as 0, and the message isn't to be sent.
func (e *Encoder) Err() error { return e.err }

// Altered reports whether the last message had numbers that aren't finite, which were
// written as null or as finite ones.
func (e *Encoder) Altered() bool { return e.altered }

// NonFinite is how NaN and infinities are written.
type NonFinite uint8

// Ways of writing them.
const (
	// Null is what browsers' JSON.parse takes, and what rosbridge's server sends.
	Null NonFinite = iota
	// Words are NaN, Infinity and -Infinity: what Python's JSON modules write and read, and
	// rosbridge's server with them, which refuses null.
	Words
	// Max is the largest number of the float's width, with the infinity's sign. NaN is the
	// positive one, beyond every range.
	Max
)

func (e *Encoder) object(name string, m ros.Message) {
	if t, ok := m.(*ros.Time); ok && e.Version == ros.ROS1 && t.Sec < 0 {
		if e.err == nil {
			e.err = fmt.Errorf("encode %s of %d s: %w", name, t.Sec, ros.ErrBeforeEpoch)
		}
		e.buf = append(e.buf, `{"secs":0,"nsecs":0}`...)
		return
	}
	outer := e.names
	e.names = e.Version.Names(m)
	e.buf = append(e.buf, '{')
	m.Fields(e)
	e.buf = append(e.buf, '}')
	e.names = outer
}

// name begins a member. No value ends in a brace that opens.
func (e *Encoder) name(name string) {
	if e.buf[len(e.buf)-1] != '{' {
		e.buf = append(e.buf, ',')
	}
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, e.names.Of(name)...)
	e.buf = append(e.buf, '"', ':')
}

// HeaderSeq appends "seq" of ROS 1.
func (e *Encoder) HeaderSeq(v *uint32) {
	if e.Version == ros.ROS1 {
		e.Value("seq", ros.Of(v))
	}
}

// Value appends true, false or a number.
func (e *Encoder) Value(name string, v ros.Ref) {
	e.name(name)
	switch v.Kind() {
	case ros.KindBool:
		e.buf = strconv.AppendBool(e.buf, v.Bool())
	case ros.KindFloat32, ros.KindFloat64:
		e.buf = e.appendFloat(e.buf, v.Float(), 8*v.Size())
	case ros.KindUint64:
		e.buf = strconv.AppendUint(e.buf, v.Uint(), 10)
	default:
		e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	}
}

// appendFloat appends a float of so many bits.
func (e *Encoder) appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		dst, altered := e.NonFinite.Append(dst, f, bits)
		e.altered = e.altered || altered
		return dst
	}
	return appendFinite(dst, f, bits)
}

// Append appends a float of so many bits that isn't finite, and reports whether it reads
// back as another.
func (n NonFinite) Append(dst []byte, f float64, bits int) (out []byte, altered bool) {
	switch {
	case n == Words && math.IsNaN(f):
		return append(dst, "NaN"...), false
	case n == Words && f > 0:
		return append(dst, "Infinity"...), false
	case n == Words:
		return append(dst, "-Infinity"...), false
	case n == Null:
		return append(dst, "null"...), true
	}
	most := math.MaxFloat64
	if bits == 32 {
		most = math.MaxFloat32
	}
	if f < 0 {
		most = -most
	}
	return appendFinite(dst, most, bits), true
}

// appendFinite appends the shortest text for a float of so many bits: with an exponent
// only where it would be long else, as JavaScript writes numbers.
func appendFinite(dst []byte, f float64, bits int) []byte {
	if f == 0 && math.Signbit(f) {
		return append(dst, "-0.0"...) // many readers take -0 for an integer
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	// Go writes two digits of an exponent at least: 1e-07.
	if n := len(dst); format == 'e' && dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// String appends a string.
func (e *Encoder) String(name string, v *string) {
	e.name(name)
	e.buf = appendQuoted(e.buf, *v)
}

const hex = "0123456789abcdef"

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\' {
			i++
			continue
		}
		size := 1
		if b >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, b)
		i += size
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// appendEscape appends a byte that can't stand in a string as it is.
func appendEscape(dst []byte, b byte) []byte {
	switch {
	case b == '"' || b == '\\':
		return append(dst, '\\', b)
	case b == '\n':
		return append(dst, '\\', 'n')
	case b == '\r':
		return append(dst, '\\', 'r')
	case b == '\t':
		return append(dst, '\\', 't')
	case b >= utf8.RuneSelf:
		return append(dst, `\ufffd`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}

// Bytes appends base64.
func (e *Encoder) Bytes(name string, v *ros.Bytes) {
	e.name(name)
	data := v.Data
	if v.Source != nil {
		e.made = slices.Grow(e.made[:0], v.Len())[:v.Len()]
		v.Put(e.made)
		data = e.made
	}
	e.buf = append(e.buf, '"')
	e.buf = appendBase64(e.buf, data)
	e.buf = append(e.buf, '"')
}

// list appends an array of n elements.
func (e *Encoder) list(name string, n int, element func(i int)) {
	e.name(name)
	e.buf = append(e.buf, '[')
	for i := range n {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		element(i)
	}
	e.buf = append(e.buf, ']')
}

// Array appends an array of numbers, bools or strings; uint8's are base64.
func (e *Encoder) Array(name string, v ros.Array) {
	switch v.Kind() {
	case ros.KindBool:
		list := ros.Elements[bool](v)
		e.list(name, len(list), func(i int) { e.buf = strconv.AppendBool(e.buf, list[i]) })
	case ros.KindInt8:
		integers(e, name, ros.Elements[int8](v))
	case ros.KindUint8:
		e.Bytes(name, &ros.Bytes{Data: ros.Elements[uint8](v)})
	case ros.KindInt16:
		integers(e, name, ros.Elements[int16](v))
	case ros.KindUint16:
		integers(e, name, ros.Elements[uint16](v))
	case ros.KindInt32:
		integers(e, name, ros.Elements[int32](v))
	case ros.KindUint32:
		integers(e, name, ros.Elements[uint32](v))
	case ros.KindInt64:
		integers(e, name, ros.Elements[int64](v))
	case ros.KindUint64:
		list := ros.Elements[uint64](v)
		e.list(name, len(list), func(i int) { e.buf = strconv.AppendUint(e.buf, list[i], 10) })
	case ros.KindFloat32:
		list := ros.Elements[float32](v)
		e.list(name, len(list), func(i int) { e.buf = e.appendFloat(e.buf, float64(list[i]), 32) })
	case ros.KindFloat64:
		list := ros.Elements[float64](v)
		e.list(name, len(list), func(i int) { e.buf = e.appendFloat(e.buf, list[i], 64) })
	case ros.KindString:
		list := ros.Elements[string](v)
		e.list(name, len(list), func(i int) { e.buf = appendQuoted(e.buf, list[i]) })
	}
}

func integers[T int8 | int16 | uint16 | int32 | uint32 | int64](e *Encoder, name string, list []T) {
	e.list(name, len(list), func(i int) { e.buf = strconv.AppendInt(e.buf, int64(list[i]), 10) })
}

// Message appends an object.
func (e *Encoder) Message(name string, v ros.Message) {
	e.name(name)
	e.object(name, v)
}

// Messages appends an array of objects.
func (e *Encoder) Messages(name string, v ros.Messages) {
	e.list(name, v.Len(), func(i int) { e.object(name, v.At(i)) })
}
