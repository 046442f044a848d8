package rosbson

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges/internal/rostree"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Decoder decodes messages. The zero value is ready, for ROS 2; one goroutine uses it at a
// time. It takes the names of both versions of ROS; Version decides whether there is a
// seq, and times before the epoch. Numbers may be of any of BSON's types, uint8[] binary
// of any subtype or an array of numbers. Package rostree says what becomes of members and
// fields without a partner, and has the errors. What it sets holds no reference to the
// data, and never takes more memory than a small multiple of the data's size.
type Decoder struct {
	Version ros.Version

	tree   rostree.Decoder
	syntax syntax
}

// Decode sets m from a document, which is all there is. On an error m is set in part.
func (d *Decoder) Decode(data []byte, m ros.Message) error {
	d.syntax.data = data
	defer func() { d.syntax.data = nil }()
	root := rostree.Value{Kind: typeDocument}
	end, err := d.tree.Decode(rostree.Source{Syntax: &d.syntax, Root: root, Size: len(data), Version: d.Version}, m)
	if err != nil {
		return err
	}
	if end < len(data) {
		return fmt.Errorf("decode %s: %d bytes follow the document: %w", m.TypeName(), len(data)-end, rostree.ErrMalformed)
	}
	return nil
}

// syntax is BSON. A value's Kind is the type of its element.
type syntax struct{ data []byte }

var _ rostree.Syntax = (*syntax)(nil)

// take returns n bytes of a value.
func (s *syntax) take(pos, n int) ([]byte, error) {
	if n < 0 || n > len(s.data)-pos {
		return nil, fmt.Errorf("%d bytes at byte %d: %w", n, pos, rostree.ErrTruncated)
	}
	return s.data[pos : pos+n], nil
}

// length reads a length, an int32 of least or more.
func (s *syntax) length(pos, least int) (int, error) {
	b, err := s.take(pos, 4)
	if err != nil {
		return 0, err
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < least {
		return 0, fmt.Errorf("length of %d at byte %d: %w", n, pos, rostree.ErrMalformed)
	}
	return n, nil
}

func wrongType(v rostree.Value, want string) error {
	return fmt.Errorf("element of type 0x%02x at byte %d is not %s: %w", v.Kind, v.Pos, want, rostree.ErrType)
}

// enter enters a document; the cursor's N is where it ends.
func (s *syntax) enter(v rostree.Value) (rostree.Cursor, error) {
	n, err := s.length(v.Pos, 5)
	if err != nil {
		return rostree.Cursor{}, err
	}
	b, err := s.take(v.Pos, n)
	if err != nil {
		return rostree.Cursor{}, err
	}
	if b[n-1] != 0 {
		return rostree.Cursor{}, fmt.Errorf("document at byte %d doesn't end in 0: %w", v.Pos, rostree.ErrMalformed)
	}
	return rostree.Cursor{Pos: v.Pos + 4, N: v.Pos + n}, nil
}

// Object enters a document.
func (s *syntax) Object(v rostree.Value) (rostree.Cursor, error) {
	if v.Kind != typeDocument {
		return rostree.Cursor{}, wrongType(v, "a document")
	}
	return s.enter(v)
}

// Array enters an array.
func (s *syntax) Array(v rostree.Value) (rostree.Cursor, error) {
	if v.Kind != typeArray {
		return rostree.Cursor{}, wrongType(v, "an array")
	}
	return s.enter(v)
}

// Member steps to the next element of a document.
func (s *syntax) Member(c *rostree.Cursor) ([]byte, rostree.Value, bool, error) {
	if c.Pos == c.N-1 {
		c.Pos = c.N
		return nil, rostree.Value{}, false, nil
	}
	if c.Pos >= c.N {
		return nil, rostree.Value{}, false, fmt.Errorf("value ends at byte %d, behind its document: %w", c.Pos, rostree.ErrMalformed)
	}
	kind, name := s.data[c.Pos], s.data[c.Pos+1:c.N-1]
	n := bytes.IndexByte(name, 0)
	if n < 0 {
		return nil, rostree.Value{}, false, fmt.Errorf("name at byte %d has no end: %w", c.Pos+1, rostree.ErrMalformed)
	}
	c.Pos += n + 2
	return name[:n], rostree.Value{Pos: c.Pos, Kind: kind}, true, nil
}

// Element steps to the next element of an array; its name, which is its number, isn't
// looked at.
func (s *syntax) Element(c *rostree.Cursor) (rostree.Value, bool, error) {
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
func (s *syntax) Skip(v rostree.Value) (int, error) {
	size, fixed := sizes[v.Kind]
	var err error
	switch {
	case fixed:
	case v.Kind == 0x0b: // a regular expression: two strings that end in 0
		end := v.Pos
		for range 2 {
			n := bytes.IndexByte(s.data[end:], 0)
			if n < 0 {
				return 0, rostree.ErrTruncated
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
func (s *syntax) variable(v rostree.Value) (int, error) {
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
	return 0, fmt.Errorf("element at byte %d has the type 0x%02x: %w", v.Pos, v.Kind, rostree.ErrMalformed)
}

// Null reports whether a value is null or undefined.
func (s *syntax) Null(v rostree.Value) (int, bool) {
	return v.Pos, v.Kind == typeNull || v.Kind == typeUndefined
}

// Bool reads a boolean.
func (s *syntax) Bool(v rostree.Value) (bool, int, error) {
	if v.Kind != typeBool {
		return false, 0, wrongType(v, "a boolean")
	}
	b, err := s.take(v.Pos, 1)
	if err != nil {
		return false, 0, err
	}
	if b[0] > 1 {
		return false, 0, fmt.Errorf("boolean of %d at byte %d: %w", b[0], v.Pos, rostree.ErrMalformed)
	}
	return b[0] == 1, v.Pos + 1, nil
}

// Integer reads an int32, an int64, or a double without a fraction: JavaScript has no
// other numbers.
func (s *syntax) Integer(v rostree.Value) (rostree.Integer, int, error) {
	switch v.Kind {
	case typeInt32:
		b, err := s.take(v.Pos, 4)
		if err != nil {
			return rostree.Integer{}, 0, err
		}
		return rostree.Signed(int64(int32(binary.LittleEndian.Uint32(b)))), v.Pos + 4, nil
	case typeInt64:
		b, err := s.take(v.Pos, 8)
		if err != nil {
			return rostree.Integer{}, 0, err
		}
		return rostree.Signed(int64(binary.LittleEndian.Uint64(b))), v.Pos + 8, nil
	case typeDouble:
		f, end, err := s.Float(v, 64)
		if err != nil {
			return rostree.Integer{}, 0, err
		}
		n, err := rostree.ToInteger(f)
		return n, end, err
	}
	return rostree.Integer{}, 0, wrongType(v, "a number")
}

// Float reads a number; null is NaN.
func (s *syntax) Float(v rostree.Value, bits int) (float64, int, error) {
	if end, null := s.Null(v); null {
		return math.NaN(), end, nil
	}
	if v.Kind != typeDouble {
		n, end, err := s.Integer(v)
		return n.Float64(), end, err
	}
	b, err := s.take(v.Pos, 8)
	if err != nil {
		return 0, 0, err
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if bits == 32 {
		f, err = rostree.ToFloat32(f)
	}
	return f, v.Pos + 8, err
}

// Text reads a string.
func (s *syntax) Text(v rostree.Value) ([]byte, int, error) {
	if v.Kind != typeString {
		return nil, 0, wrongType(v, "a string")
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
		return nil, 0, fmt.Errorf("string at byte %d doesn't end in 0: %w", v.Pos, rostree.ErrMalformed)
	}
	if text = text[:n-1]; !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return text, v.Pos + 4 + n, nil
}

// Bytes reads binary.
func (s *syntax) Bytes(dst []byte, v rostree.Value) ([]byte, int, bool, error) {
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
