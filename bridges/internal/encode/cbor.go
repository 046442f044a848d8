package encode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
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

// cborForm writes CBOR.
type cborForm struct{ *TreeEncoder }

// head appends the initial byte and the argument of a data item.
func (e *TreeEncoder) head(major byte, n uint64) {
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

// Value appends true, false, an integer, or a float of the field's size.
func (e cborForm) Value(name string, v ros.Ref) {
	e.member(0, name)
	switch v.Kind() {
	case ros.KindBool:
		e.bool(v.Bool())
	case ros.KindFloat32, ros.KindFloat64:
		e.float(v.Float(), 8*v.Size())
	case ros.KindUint64:
		e.large(v.Uint())
	default:
		e.int(v.Int())
	}
}

func (e cborForm) member(_ byte, name string) {
	e.members++
	name = e.names.Of(name)
	e.head(majorText, uint64(len(name)))
	e.buf = append(e.buf, name...)
}

func (cborForm) element(byte, int) {}

// open begins an array, or a map, whose size is known when its fields were visited.
func (e cborForm) open(typ byte, n int) int {
	if typ == typeArray {
		e.head(majorArray, uint64(n))
		return 0
	}
	e.buf = append(e.buf, majorMap)
	return len(e.buf) - 1
}

func (e cborForm) close(typ byte, start int) {
	switch {
	case typ == typeArray:
	case e.members < 24:
		e.buf[start] |= byte(e.members)
	case e.members <= math.MaxUint8:
		e.buf[start] |= 24
		e.buf = slices.Insert(e.buf, start+1, byte(e.members))
	default:
		e.buf[start] |= 25
		e.buf = slices.Insert(e.buf, start+1, byte(e.members>>8), byte(e.members))
	}
}

func (e cborForm) bool(v bool) {
	b := byte(simpleFalse)
	if v {
		b = simpleTrue
	}
	e.buf = append(e.buf, b)
}

func (e cborForm) int(n int64) {
	if n < 0 {
		e.head(majorNegative, uint64(-1-n))
		return
	}
	e.head(majorUnsigned, uint64(n))
}

func (e cborForm) large(n uint64) { e.head(majorUnsigned, n) }

func (e cborForm) float(f float64, bits int) {
	if bits == 32 {
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, float32Bits), math.Float32bits(float32(f)))
		return
	}
	e.buf = binary.BigEndian.AppendUint64(append(e.buf, float64Bits), math.Float64bits(f))
}

func (e cborForm) text(text string) {
	text = valid(text)
	e.head(majorText, uint64(len(text)))
	e.buf = append(e.buf, text...)
}

// bytes appends a byte string.
func (e cborForm) bytes(_ string, v *ros.Bytes) {
	e.head(majorBytes, uint64(v.Len()))
	e.put(v)
}

// typedArrays are the tags of typed arrays (RFC 8746, section 2.1) of little-endian
// elements, as rosbridge has them.
var typedArrays = [...]uint64{
	ros.KindInt8: 72, ros.KindInt16: 77, ros.KindUint16: 69, ros.KindInt32: 78, ros.KindUint32: 70,
	ros.KindInt64: 79, ros.KindUint64: 71, ros.KindFloat32: 85, ros.KindFloat64: 86,
}

// numbers appends a typed array.
func (e cborForm) numbers(_ string, v ros.Array) bool {
	if v.Kind() == ros.KindBool || v.Kind() == ros.KindString {
		return false
	}
	e.head(majorTag, typedArrays[v.Kind()])
	e.head(majorBytes, uint64(v.Len())*uint64(v.Kind().Size()))
	e.buf = v.AppendBinary(e.buf)
	return true
}

// cborSyntax reads CBOR. The Kind of a value or of a cursor is the tag of the typed array that it
// is an element of, else 0.
type cborSyntax struct {
	data    []byte
	scratch []byte // a string of indefinite length
}

var _ syntax = (*cborSyntax)(nil)

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
func (s *cborSyntax) head(pos int) (item, error) {
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
	return item{}, fmt.Errorf("more than %d tags at byte %d: %w", maxTags, pos, ErrMalformed)
}

// one reads one head (RFC 8949, section 3).
func (s *cborSyntax) one(pos int) (item, error) {
	if pos >= len(s.data) {
		return item{}, ErrTruncated
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
			return item{}, fmt.Errorf("simple value %d of two bytes at byte %d: %w", h.arg, pos, ErrMalformed)
		}
	case h.info == 31 && h.major != majorUnsigned && h.major != majorNegative && h.major != majorTag:
		h.indefinite = true
	default:
		return item{}, fmt.Errorf("initial byte 0x%02x at byte %d: %w", s.data[pos], pos, ErrMalformed)
	}
	return h, nil
}

// take returns n bytes.
func (s *cborSyntax) take(pos int, n uint64) ([]byte, error) {
	if pos > len(s.data) || n > uint64(len(s.data)-pos) {
		return nil, fmt.Errorf("%d bytes at byte %d: %w", n, pos, ErrTruncated)
	}
	return s.data[pos : pos+int(n)], nil
}

func wrongItem(pos int, want string) error {
	return fmt.Errorf("item at byte %d is not %s: %w", pos, want, ErrType)
}

// enterItem enters a map or an array; its N counts down what is left, from -1 if that isn't
// known.
func enterItem(h item) cursor {
	n := int(min(h.arg, math.MaxInt)) // the data ends before that
	if h.indefinite {
		n = -1
	}
	return cursor{Pos: h.next, N: n}
}

// Object enters a map.
func (s *cborSyntax) Object(v node) (cursor, error) {
	h, err := s.head(v.Pos)
	if err == nil && (h.major != majorMap || v.Kind != 0) {
		err = wrongItem(v.Pos, "a map")
	}
	return enterItem(h), err
}

// Member steps to the next member of a map.
func (s *cborSyntax) Member(c *cursor) ([]byte, node, bool, error) {
	more, err := s.next(c)
	if err != nil || !more {
		return nil, node{}, false, err
	}
	h, err := s.head(c.Pos)
	if err != nil {
		return nil, node{}, false, err
	}
	name := []byte(nil) // what isn't text is the name of no field
	if h.major == majorText {
		name, c.Pos, err = s.bytes(h)
	} else {
		c.Pos, err = s.skip(c.Pos, 0)
	}
	if err == nil && c.Pos >= len(s.data) {
		err = ErrTruncated
	}
	return name, node{Pos: c.Pos}, true, err
}

// next reports whether there is another member or element, and steps over the break that
// ends indefinite lengths.
func (s *cborSyntax) next(c *cursor) (bool, error) {
	switch {
	case c.N > 0:
		c.N--
		return true, nil
	case c.N == 0:
		return false, nil
	case c.Pos >= len(s.data):
		return false, ErrTruncated
	case s.data[c.Pos] == breakCode:
		c.Pos++
		return false, nil
	}
	return true, nil
}

// Array enters an array, plain or typed.
func (s *cborSyntax) Array(v node) (cursor, error) {
	h, err := s.head(v.Pos)
	if err != nil {
		return cursor{}, err
	}
	if v.Kind == 0 && h.major == majorArray {
		return enterItem(h), nil
	}
	if v.Kind != 0 || h.major != majorBytes || h.indefinite || h.tag == 0 {
		return cursor{}, wrongItem(v.Pos, "an array")
	}
	size := elementSize(h.tag)
	if size == 0 || h.arg%uint64(size) != 0 {
		return cursor{}, fmt.Errorf("typed array of tag %d has %d bytes: %w", h.tag, h.arg, ErrType)
	}
	if _, err := s.take(h.next, h.arg); err != nil {
		return cursor{}, err
	}
	return cursor{Pos: h.next, N: int(h.arg) / size, Kind: h.tag}, nil
}

// Element steps to the next element of an array.
func (s *cborSyntax) Element(c *cursor) (node, bool, error) {
	more, err := s.next(c)
	return node{Pos: c.Pos, Kind: c.Kind}, more, err
}

// Skip returns the end of an item.
func (s *cborSyntax) Skip(v node) (int, error) { return s.skip(v.Pos, 0) }

func (s *cborSyntax) skip(pos, depth int) (int, error) {
	h, err := s.head(pos)
	if err != nil {
		return 0, err
	}
	switch h.major {
	case majorBytes, majorText:
		_, end, err := s.bytes(h)
		return end, err
	case majorArray, majorMap:
		if depth == maxDepth {
			return 0, fmt.Errorf("byte %d: %w", pos, ErrDepth)
		}
		return s.skipAll(h, depth+1)
	}
	if h.indefinite {
		return 0, fmt.Errorf("break at byte %d: %w", pos, ErrMalformed)
	}
	return h.next, nil
}

// skipAll steps over the content of an array or a map.
func (s *cborSyntax) skipAll(h item, depth int) (int, error) {
	c := enterItem(h)
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
func (s *cborSyntax) bytes(h item) ([]byte, int, error) {
	if !h.indefinite {
		b, err := s.take(h.next, h.arg)
		return b, h.next + len(b), err
	}
	s.scratch = s.scratch[:0]
	c := enterItem(h)
	for {
		more, err := s.next(&c)
		if err != nil || !more {
			return s.scratch, c.Pos, err
		}
		chunk, err := s.one(c.Pos)
		if err == nil && (chunk.major != h.major || chunk.indefinite) {
			err = fmt.Errorf("chunk at byte %d is of another type: %w", c.Pos, ErrMalformed)
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
func (s *cborSyntax) Null(v node) (int, bool) {
	if v.Kind != 0 || v.Pos >= len(s.data) {
		return 0, false
	}
	return v.Pos + 1, s.data[v.Pos] == simpleNull || s.data[v.Pos] == simpleUndefined
}

// Bool reads true or false.
func (s *cborSyntax) Bool(v node) (bool, int, error) {
	h, err := s.head(v.Pos)
	if err != nil {
		return false, 0, err
	}
	initial := h.major | h.info
	if initial != simpleFalse && initial != simpleTrue {
		return false, 0, wrongItem(v.Pos, "true or false")
	}
	return initial == simpleTrue, h.next, nil
}

// Text reads a text string.
func (s *cborSyntax) Text(v node) ([]byte, int, error) {
	h, err := s.head(v.Pos)
	if err != nil {
		return nil, 0, err
	}
	if h.major != majorText {
		return nil, 0, wrongItem(v.Pos, "a text string")
	}
	text, end, err := s.bytes(h)
	if err == nil && !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return text, end, err
}

// Bytes reads a byte string, which may be tagged as a typed array of uint8.
func (s *cborSyntax) Bytes(dst []byte, v node) ([]byte, int, bool, error) {
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

// Tags of typed arrays (RFC 8746, section 2.1). Their lower five bits are f s e ll: of
// floats, of signed integers, little-endian, and how wide.
const (
	tagUint8        = 64
	tagUint8Clamped = 68
	tagFloat128LE   = 87

	tagFloatBit  = 1 << 4
	tagSignedBit = 1 << 3
	tagLittleBit = 1 << 2
)

// elementSize returns the bytes of an element of a typed array, 0 for those that aren't
// read: float128, and a tag that is reserved.
func elementSize(tag byte) int {
	if tag&tagFloatBit == 0 {
		if tag == 76 {
			return 0
		}
		return 1 << (tag & 3)
	}
	if tag&3 == 3 {
		return 0
	}
	return 2 << (tag & 3)
}

// element returns an element of a typed array, as many bytes as it is wide.
func (s *cborSyntax) element(v node) (bits uint64, end int, err error) {
	size := elementSize(v.Kind)
	b, err := s.take(v.Pos, uint64(size))
	if err != nil {
		return 0, 0, err
	}
	var wide [8]byte
	if v.Kind&tagLittleBit != 0 {
		copy(wide[:], b)
		return binary.LittleEndian.Uint64(wide[:]), v.Pos + size, nil
	}
	copy(wide[8-size:], b)
	return binary.BigEndian.Uint64(wide[:]), v.Pos + size, nil
}

// Integer reads an integer, or a float without a fraction.
func (s *cborSyntax) Integer(v node) (integer, int, error) {
	if v.Kind != 0 && v.Kind&tagFloatBit == 0 {
		bits, end, err := s.element(v)
		if v.Kind&tagSignedBit != 0 {
			shift := 64 - 8*elementSize(v.Kind)
			return signedInteger(int64(bits<<shift) >> shift), end, err
		}
		return integer{Magnitude: bits}, end, err
	}
	if v.Kind == 0 {
		h, err := s.head(v.Pos)
		if err != nil {
			return integer{}, 0, err
		}
		if h.major == majorUnsigned || h.major == majorNegative {
			n, err := integerOf(h)
			return n, h.next, err
		}
	}
	if _, null := s.Null(v); null {
		return integer{}, 0, wrongItem(v.Pos, "an integer")
	}
	f, end, err := s.Float(v, 64)
	if err != nil {
		return integer{}, 0, err
	}
	n, err := toInteger(f)
	return n, end, err
}

// integerOf returns the number that a head is: a negative one is -1 - arg.
func integerOf(h item) (integer, error) {
	if h.major == majorUnsigned {
		return integer{Magnitude: h.arg}, nil
	}
	if h.arg > math.MaxInt64 {
		return integer{}, fmt.Errorf("-1 - %d for an integer: %w", h.arg, ErrRange)
	}
	return integer{Negative: true, Magnitude: h.arg + 1}, nil
}

// Float reads a number; null is NaN.
func (s *cborSyntax) Float(v node, bits int) (float64, int, error) {
	if end, null := s.Null(v); null {
		return math.NaN(), end, nil
	}
	f, end, err := s.float(v)
	if err == nil && bits == 32 {
		f, err = toFloat32(f)
	}
	return f, end, err
}

func (s *cborSyntax) float(v node) (float64, int, error) {
	if v.Kind != 0 {
		if v.Kind&tagFloatBit == 0 {
			n, end, err := s.Integer(v)
			return n.float64(), end, err
		}
		bits, end, err := s.element(v)
		return fromBits(bits, elementSize(v.Kind)), end, err
	}
	h, err := s.head(v.Pos)
	if err != nil {
		return 0, 0, err
	}
	switch h.major | h.info {
	case float16:
		return fromBits(h.arg, 2), h.next, nil
	case float32Bits:
		return fromBits(h.arg, 4), h.next, nil
	case float64Bits:
		return fromBits(h.arg, 8), h.next, nil
	}
	if h.major == majorUnsigned || h.major == majorNegative {
		n, err := integerOf(h)
		return n.float64(), h.next, err
	}
	return 0, 0, wrongItem(v.Pos, "a number")
}

// fromBits returns the float of size bytes (IEEE 754) with these bits.
func fromBits(bits uint64, size int) float64 {
	switch size {
	case 8:
		return math.Float64frombits(bits)
	case 4:
		return float64(math.Float32frombits(uint32(bits)))
	}
	sign := 1.0
	if bits&0x8000 != 0 {
		sign = -1
	}
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	switch {
	case exponent == 31: // an infinity, or NaN with its bits
		return math.Float64frombits(bits>>15<<63 | 0x7ff<<52 | bits&1023<<42)
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
