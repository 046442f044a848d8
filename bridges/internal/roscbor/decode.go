package roscbor

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
// seq, and times before the epoch. Numbers may be of any of CBOR's types, arrays plain or
// typed of any type but float128, lengths indefinite. Tags are ignored but for typed
// arrays. Package rostree says what becomes of members and fields without a partner, and
// has the errors. What it sets holds no reference to the data, and never takes more memory
// than a small multiple of the data's size.
type Decoder struct {
	Version ros.Version

	tree   rostree.Decoder
	syntax syntax
}

// Decode sets m from a map, which is all there is. On an error m is set in part.
func (d *Decoder) Decode(data []byte, m ros.Message) error {
	d.syntax.data = data
	defer func() { d.syntax.data = nil }()
	end, err := d.tree.Decode(rostree.Source{Syntax: &d.syntax, Size: len(data), Version: d.Version}, m)
	if err != nil {
		return err
	}
	if end < len(data) {
		return fmt.Errorf("decode %s: %d bytes follow the map: %w", m.TypeName(), len(data)-end, rostree.ErrMalformed)
	}
	return nil
}

// syntax is CBOR. The Kind of a value or of a cursor is the tag of the typed array that it
// is an element of, else 0.
type syntax struct {
	data    []byte
	scratch []byte // a string of indefinite length
}

var _ rostree.Syntax = (*syntax)(nil)

// item is the head of a data item.
type item struct {
	tag        byte // of a typed array, else 0
	major      byte
	info       byte // the lower five bits of the initial byte
	indefinite bool
	arg        uint64
	next       int // behind the head
}

// maxTags is how many tags may stand before an item.
const maxTags = 8

// head reads the head of the item at pos and the tags before it.
func (s *syntax) head(pos int) (item, error) {
	var tag byte
	for range maxTags + 1 {
		h, err := s.one(pos)
		if err != nil || h.major != majorTag {
			h.tag = tag
			return h, err
		}
		tag = 0
		if h.arg >= tagUint8 && h.arg <= tagFloat128LE {
			tag = byte(h.arg)
		}
		pos = h.next
	}
	return item{}, fmt.Errorf("more than %d tags at byte %d: %w", maxTags, pos, rostree.ErrMalformed)
}

// one reads one head (RFC 8949, section 3).
func (s *syntax) one(pos int) (item, error) {
	if pos >= len(s.data) {
		return item{}, rostree.ErrTruncated
	}
	h := item{major: s.data[pos] &^ 31, info: s.data[pos] & 31, next: pos + 1}
	switch {
	case h.info < 24:
		h.arg = uint64(h.info)
	case h.info < 28:
		size := 1 << (h.info - 24)
		b, err := s.take(h.next, uint64(size))
		if err != nil {
			return item{}, err
		}
		var wide [8]byte
		copy(wide[8-size:], b)
		h.arg, h.next = binary.BigEndian.Uint64(wide[:]), h.next+size
		if h.major == majorSimple && size == 1 && h.arg < 32 {
			return item{}, fmt.Errorf("simple value %d of two bytes at byte %d: %w", h.arg, pos, rostree.ErrMalformed)
		}
	case h.info == 31 && h.major != majorUnsigned && h.major != majorNegative && h.major != majorTag:
		h.indefinite = true
	default:
		return item{}, fmt.Errorf("initial byte 0x%02x at byte %d: %w", s.data[pos], pos, rostree.ErrMalformed)
	}
	return h, nil
}

// take returns n bytes.
func (s *syntax) take(pos int, n uint64) ([]byte, error) {
	if pos > len(s.data) || n > uint64(len(s.data)-pos) {
		return nil, fmt.Errorf("%d bytes at byte %d: %w", n, pos, rostree.ErrTruncated)
	}
	return s.data[pos : pos+int(n)], nil
}

func wrongType(pos int, want string) error {
	return fmt.Errorf("item at byte %d is not %s: %w", pos, want, rostree.ErrType)
}

// cursor enters a map or an array; its N counts down what is left, from -1 if that isn't
// known.
func cursor(h item) rostree.Cursor {
	n := int(min(h.arg, math.MaxInt)) // the data ends before that
	if h.indefinite {
		n = -1
	}
	return rostree.Cursor{Pos: h.next, N: n}
}

// Object enters a map.
func (s *syntax) Object(v rostree.Value) (rostree.Cursor, error) {
	h, err := s.head(v.Pos)
	if err == nil && (h.major != majorMap || v.Kind != 0) {
		err = wrongType(v.Pos, "a map")
	}
	return cursor(h), err
}

// Member steps to the next member of a map.
func (s *syntax) Member(c *rostree.Cursor) ([]byte, rostree.Value, bool, error) {
	more, err := s.next(c)
	if err != nil || !more {
		return nil, rostree.Value{}, false, err
	}
	h, err := s.head(c.Pos)
	if err != nil {
		return nil, rostree.Value{}, false, err
	}
	name := []byte(nil) // what isn't text is the name of no field
	if h.major == majorText {
		name, c.Pos, err = s.bytes(h)
	} else {
		c.Pos, err = s.skip(c.Pos, 0)
	}
	if err == nil && c.Pos >= len(s.data) {
		err = rostree.ErrTruncated
	}
	return name, rostree.Value{Pos: c.Pos}, true, err
}

// next reports whether there is another member or element, and steps over the break that
// ends indefinite lengths.
func (s *syntax) next(c *rostree.Cursor) (bool, error) {
	switch {
	case c.N > 0:
		c.N--
		return true, nil
	case c.N == 0:
		return false, nil
	case c.Pos >= len(s.data):
		return false, rostree.ErrTruncated
	case s.data[c.Pos] == breakCode:
		c.Pos++
		return false, nil
	}
	return true, nil
}

// Array enters an array, plain or typed.
func (s *syntax) Array(v rostree.Value) (rostree.Cursor, error) {
	h, err := s.head(v.Pos)
	if err != nil {
		return rostree.Cursor{}, err
	}
	if v.Kind == 0 && h.major == majorArray {
		return cursor(h), nil
	}
	if v.Kind != 0 || h.major != majorBytes || h.indefinite || h.tag == 0 {
		return rostree.Cursor{}, wrongType(v.Pos, "an array")
	}
	size := elementSize(h.tag)
	if size == 0 || h.arg%uint64(size) != 0 {
		return rostree.Cursor{}, fmt.Errorf("typed array of tag %d has %d bytes: %w", h.tag, h.arg, rostree.ErrType)
	}
	if _, err := s.take(h.next, h.arg); err != nil {
		return rostree.Cursor{}, err
	}
	return rostree.Cursor{Pos: h.next, N: int(h.arg) / size, Kind: h.tag}, nil
}

// Element steps to the next element of an array.
func (s *syntax) Element(c *rostree.Cursor) (rostree.Value, bool, error) {
	more, err := s.next(c)
	return rostree.Value{Pos: c.Pos, Kind: c.Kind}, more, err
}

// Skip returns the end of an item.
func (s *syntax) Skip(v rostree.Value) (int, error) { return s.skip(v.Pos, 0) }

func (s *syntax) skip(pos, depth int) (int, error) {
	h, err := s.head(pos)
	if err != nil {
		return 0, err
	}
	switch h.major {
	case majorBytes, majorText:
		_, end, err := s.bytes(h)
		return end, err
	case majorArray, majorMap:
		if depth == rostree.MaxDepth {
			return 0, fmt.Errorf("byte %d: %w", pos, rostree.ErrDepth)
		}
		return s.skipAll(h, depth+1)
	}
	if h.indefinite {
		return 0, fmt.Errorf("break at byte %d: %w", pos, rostree.ErrMalformed)
	}
	return h.next, nil
}

// skipAll steps over the content of an array or a map.
func (s *syntax) skipAll(h item, depth int) (int, error) {
	c := cursor(h)
	items := 1
	if h.major == majorMap {
		items = 2
	}
	for {
		more, err := s.next(&c)
		if err != nil || !more {
			return c.Pos, err
		}
		for range items {
			if c.Pos, err = s.skip(c.Pos, depth); err != nil {
				return 0, err
			}
		}
	}
}

// bytes reads a string, whose chunks it joins if its length is indefinite.
func (s *syntax) bytes(h item) ([]byte, int, error) {
	if !h.indefinite {
		b, err := s.take(h.next, h.arg)
		return b, h.next + len(b), err
	}
	s.scratch = s.scratch[:0]
	c := cursor(h)
	for {
		more, err := s.next(&c)
		if err != nil || !more {
			return s.scratch, c.Pos, err
		}
		chunk, err := s.one(c.Pos)
		if err == nil && (chunk.major != h.major || chunk.indefinite) {
			err = fmt.Errorf("chunk at byte %d is of another type: %w", c.Pos, rostree.ErrMalformed)
		}
		if err != nil {
			return nil, 0, err
		}
		b, err := s.take(chunk.next, chunk.arg)
		if err != nil {
			return nil, 0, err
		}
		s.scratch = append(s.scratch, b...)
		c.Pos = chunk.next + len(b)
	}
}

// Null reports whether an item is null or undefined.
func (s *syntax) Null(v rostree.Value) (int, bool) {
	if v.Kind != 0 || v.Pos >= len(s.data) {
		return 0, false
	}
	return v.Pos + 1, s.data[v.Pos] == simpleNull || s.data[v.Pos] == simpleUndefined
}

// Bool reads true or false.
func (s *syntax) Bool(v rostree.Value) (bool, int, error) {
	h, err := s.head(v.Pos)
	if err != nil {
		return false, 0, err
	}
	initial := h.major | h.info
	if initial != simpleFalse && initial != simpleTrue {
		return false, 0, wrongType(v.Pos, "true or false")
	}
	return initial == simpleTrue, h.next, nil
}

// Text reads a text string.
func (s *syntax) Text(v rostree.Value) ([]byte, int, error) {
	h, err := s.head(v.Pos)
	if err != nil {
		return nil, 0, err
	}
	if h.major != majorText {
		return nil, 0, wrongType(v.Pos, "a text string")
	}
	text, end, err := s.bytes(h)
	if err == nil && !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return text, end, err
}

// Bytes reads a byte string, which may be tagged as a typed array of uint8.
func (s *syntax) Bytes(dst []byte, v rostree.Value) ([]byte, int, bool, error) {
	h, err := s.head(v.Pos)
	if err != nil {
		return dst, 0, true, err
	}
	if h.major != majorBytes || h.tag != 0 && h.tag != tagUint8 && h.tag != tagUint8Clamped {
		return dst, 0, false, nil
	}
	data, end, err := s.bytes(h)
	if err != nil {
		return dst, 0, true, err
	}
	return append(dst, data...), end, true, nil
}
