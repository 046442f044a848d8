package encode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
)

// Errors of messages that BSON can't have.
var (
	// ErrSize says that a message is beyond the 2 GiB of a document; it is flow.ErrTooLarge.
	ErrSize = fmt.Errorf("%w: a BSON document has less than 2 GiB", flow.ErrTooLarge)
	// errBSONRange says that a number is beyond an int64, BSON's largest integer. It was written
	// as 0.
	errBSONRange = errors.New("number is too large for BSON")
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

// integerType is that of an int32 or, beyond its range, of an int64.
func integerType(v int64) byte {
	if v == int64(int32(v)) {
		return typeInt32
	}
	return typeInt64
}

// bsonForm writes BSON.
type bsonForm struct{ *TreeEncoder }

// Value appends a boolean, an integer or a double. An integer beyond an int64's range is
// errBSONRange.
func (e bsonForm) Value(name string, v ros.Ref) {
	switch v.Kind() {
	case ros.KindBool:
		e.member(typeBool, name)
		e.bool(v.Bool())
	case ros.KindFloat32, ros.KindFloat64:
		e.member(typeDouble, name)
		e.float(v.Float(), 0)
	case ros.KindUint64:
		n, _ := e.unsigned(name, v.Uint())
		e.member(integerType(n), name)
		e.int(n)
	default:
		n := v.Int()
		e.member(integerType(n), name)
		e.int(n)
	}
}

func (e bsonForm) member(typ byte, name string) {
	e.buf = append(append(e.buf, typ), e.names.Of(name)...)
	e.buf = append(e.buf, 0)
}

func (e bsonForm) element(typ byte, i int) {
	e.buf = strconv.AppendUint(append(e.buf, typ), uint64(i), 10)
	e.buf = append(e.buf, 0)
}

func (e bsonForm) open(_ byte, _ int) int {
	e.buf = append(e.buf, 0, 0, 0, 0)
	return len(e.buf) - 4
}

func (e bsonForm) close(_ byte, start int) {
	e.buf = append(e.buf, 0)
	e.fits("document", 0)
	binary.LittleEndian.PutUint32(e.buf[start:], uint32(len(e.buf)-start))
}

// fits reports whether n more bytes are within the limit; if not, the message has failed.
func (e bsonForm) fits(name string, n int) bool {
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

func (e bsonForm) bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	e.buf = append(e.buf, b)
}

func (e bsonForm) int(n int64) {
	if integerType(n) == typeInt32 {
		e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n))
		return
	}
	e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(n))
}

func (bsonForm) large(uint64) { panic("bson has no integers beyond an int64's") }

func (e bsonForm) float(f float64, _ int) {
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(f))
}

func (e bsonForm) text(text string) {
	text = valid(text)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(len(text)+1))
	e.buf = append(append(e.buf, text...), 0)
}

// valid returns text as UTF-8.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// bytes appends binary.
func (e bsonForm) bytes(name string, v *ros.Bytes) {
	n := v.Len()
	if !e.fits(name, n) {
		n = 0
	}
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n))
	e.buf = append(e.buf, 0) // the generic subtype
	if n > 0 {
		e.put(v)
	}
}

// put has a source write its bytes in place.
func (e *TreeEncoder) put(v *ros.Bytes) {
	start, n := len(e.buf), v.Len()
	e.buf = slices.Grow(e.buf, n)[:start+n]
	v.Put(e.buf[start:])
}

func (bsonForm) numbers(string, ros.Array) bool { return false }

// bsonSyntax reads BSON. A value's Kind is the type of its element.
type bsonSyntax struct{ data []byte }

var _ syntax = (*bsonSyntax)(nil)

// take returns n bytes of a value.
func (s *bsonSyntax) take(pos, n int) ([]byte, error) {
	if n < 0 || n > len(s.data)-pos {
		return nil, fmt.Errorf("%d bytes at byte %d: %w", n, pos, ErrTruncated)
	}
	return s.data[pos : pos+n], nil
}

// length reads a length, an int32 of least or more.
func (s *bsonSyntax) length(pos, least int) (int, error) {
	b, err := s.take(pos, 4)
	if err != nil {
		return 0, err
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < least {
		return 0, fmt.Errorf("length of %d at byte %d: %w", n, pos, ErrMalformed)
	}
	return n, nil
}

func wrongElement(v node, want string) error {
	return fmt.Errorf("element of type 0x%02x at byte %d is not %s: %w", v.Kind, v.Pos, want, ErrType)
}

// enter enters a document; the cursor's N is where it ends.
func (s *bsonSyntax) enter(v node) (cursor, error) {
	n, err := s.length(v.Pos, 5)
	if err != nil {
		return cursor{}, err
	}
	b, err := s.take(v.Pos, n)
	if err != nil {
		return cursor{}, err
	}
	if b[n-1] != 0 {
		return cursor{}, fmt.Errorf("document at byte %d doesn't end in 0: %w", v.Pos, ErrMalformed)
	}
	return cursor{Pos: v.Pos + 4, N: v.Pos + n}, nil
}

// Object enters a document.
func (s *bsonSyntax) Object(v node) (cursor, error) {
	if v.Kind != typeDocument {
		return cursor{}, wrongElement(v, "a document")
	}
	return s.enter(v)
}

// Array enters an array.
func (s *bsonSyntax) Array(v node) (cursor, error) {
	if v.Kind != typeArray {
		return cursor{}, wrongElement(v, "an array")
	}
	return s.enter(v)
}

// Member steps to the next element of a document.
func (s *bsonSyntax) Member(c *cursor) ([]byte, node, bool, error) {
	if c.Pos == c.N-1 {
		c.Pos = c.N
		return nil, node{}, false, nil
	}
	if c.Pos >= c.N {
		return nil, node{}, false, fmt.Errorf("value ends at byte %d, behind its document: %w", c.Pos, ErrMalformed)
	}
	kind, name := s.data[c.Pos], s.data[c.Pos+1:c.N-1]
	n := bytes.IndexByte(name, 0)
	if n < 0 {
		return nil, node{}, false, fmt.Errorf("name at byte %d has no end: %w", c.Pos+1, ErrMalformed)
	}
	c.Pos += n + 2
	return name[:n], node{Pos: c.Pos, Kind: kind}, true, nil
}

// Element steps to the next element of an array; its name, which is its number, isn't
// looked at.
func (s *bsonSyntax) Element(c *cursor) (node, bool, error) {
	_, v, more, err := s.Member(c)
	return v, more, err
}

// sizes has the types of a fixed size: with undefined, ObjectId, date, null, timestamp,
// decimal128, the least and the greatest key.
var sizes = map[byte]int{
	typeDouble: 8, typeUndefined: 0, 0x07: 12, typeBool: 1, 0x09: 8, typeNull: 0,
	typeInt32: 4, 0x11: 8, typeInt64: 8, 0x13: 16, 0xff: 0, 0x7f: 0,
}

// Skip returns the end of a value.
func (s *bsonSyntax) Skip(v node) (int, error) {
	size, fixed := sizes[v.Kind]
	var err error
	switch {
	case fixed:
	case v.Kind == 0x0b: // a regular expression: two strings that end in 0
		end := v.Pos
		for range 2 {
			n := bytes.IndexByte(s.data[end:], 0)
			if n < 0 {
				return 0, ErrTruncated
			}
			end += n + 1
		}
		return end, nil
	default:
		if size, err = s.variable(v); err != nil {
			return 0, err
		}
	}
	_, err = s.take(v.Pos, size)
	return v.Pos + size, err
}

// variable returns the size of a value that begins with it.
func (s *bsonSyntax) variable(v node) (int, error) {
	switch v.Kind {
	case typeDocument, typeArray, 0x0f: // code with its scope
		return s.length(v.Pos, 5)
	case typeString, 0x0d, 0x0e: // code, symbol
		n, err := s.length(v.Pos, 1)
		return 4 + n, err
	case 0x0c: // pointer into a database
		n, err := s.length(v.Pos, 1)
		return 4 + n + 12, err
	case typeBinary:
		n, err := s.length(v.Pos, 0)
		return 5 + n, err
	}
	return 0, fmt.Errorf("element at byte %d has the type 0x%02x: %w", v.Pos, v.Kind, ErrMalformed)
}

// Null reports whether a value is null or undefined.
func (s *bsonSyntax) Null(v node) (int, bool) {
	return v.Pos, v.Kind == typeNull || v.Kind == typeUndefined
}

// Bool reads a boolean.
func (s *bsonSyntax) Bool(v node) (bool, int, error) {
	if v.Kind != typeBool {
		return false, 0, wrongElement(v, "a boolean")
	}
	b, err := s.take(v.Pos, 1)
	if err != nil {
		return false, 0, err
	}
	if b[0] > 1 {
		return false, 0, fmt.Errorf("boolean of %d at byte %d: %w", b[0], v.Pos, ErrMalformed)
	}
	return b[0] == 1, v.Pos + 1, nil
}

// Integer reads an int32, an int64, or a double without a fraction: JavaScript has no
// other numbers.
func (s *bsonSyntax) Integer(v node) (integer, int, error) {
	switch v.Kind {
	case typeInt32:
		b, err := s.take(v.Pos, 4)
		if err != nil {
			return integer{}, 0, err
		}
		return signedInteger(int64(int32(binary.LittleEndian.Uint32(b)))), v.Pos + 4, nil
	case typeInt64:
		b, err := s.take(v.Pos, 8)
		if err != nil {
			return integer{}, 0, err
		}
		return signedInteger(int64(binary.LittleEndian.Uint64(b))), v.Pos + 8, nil
	case typeDouble:
		f, end, err := s.Float(v, 64)
		if err != nil {
			return integer{}, 0, err
		}
		n, err := toInteger(f)
		return n, end, err
	}
	return integer{}, 0, wrongElement(v, "a number")
}

// Float reads a number; null is NaN.
func (s *bsonSyntax) Float(v node, bits int) (float64, int, error) {
	if end, null := s.Null(v); null {
		return math.NaN(), end, nil
	}
	if v.Kind != typeDouble {
		n, end, err := s.Integer(v)
		return n.float64(), end, err
	}
	b, err := s.take(v.Pos, 8)
	if err != nil {
		return 0, 0, err
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if bits == 32 {
		f, err = toFloat32(f)
	}
	return f, v.Pos + 8, err
}

// Text reads a string.
func (s *bsonSyntax) Text(v node) ([]byte, int, error) {
	if v.Kind != typeString {
		return nil, 0, wrongElement(v, "a string")
	}
	n, err := s.length(v.Pos, 1)
	if err != nil {
		return nil, 0, err
	}
	text, err := s.take(v.Pos+4, n)
	if err != nil {
		return nil, 0, err
	}
	if text[n-1] != 0 {
		return nil, 0, fmt.Errorf("string at byte %d doesn't end in 0: %w", v.Pos, ErrMalformed)
	}
	if text = text[:n-1]; !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return text, v.Pos + 4 + n, nil
}

// Bytes reads binary.
func (s *bsonSyntax) Bytes(dst []byte, v node) ([]byte, int, bool, error) {
	if v.Kind != typeBinary {
		return dst, 0, false, nil
	}
	n, err := s.length(v.Pos, 0)
	if err != nil {
		return dst, 0, true, err
	}
	data, err := s.take(v.Pos+5, n)
	if err != nil {
		return dst, 0, true, err
	}
	return append(dst, data...), v.Pos + 5 + n, true, nil
}
