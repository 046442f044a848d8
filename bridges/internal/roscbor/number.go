package roscbor

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges/internal/rostree"
)

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
func (s *syntax) element(v rostree.Value) (bits uint64, end int, err error) {
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
func (s *syntax) Integer(v rostree.Value) (rostree.Integer, int, error) {
	if v.Kind != 0 && v.Kind&tagFloatBit == 0 {
		bits, end, err := s.element(v)
		if v.Kind&tagSignedBit != 0 {
			shift := 64 - 8*elementSize(v.Kind)
			return rostree.Signed(int64(bits<<shift) >> shift), end, err
		}
		return rostree.Integer{Magnitude: bits}, end, err
	}
	if v.Kind == 0 {
		h, err := s.head(v.Pos)
		if err != nil {
			return rostree.Integer{}, 0, err
		}
		if h.major == majorUnsigned || h.major == majorNegative {
			n, err := integer(h)
			return n, h.next, err
		}
	}
	if _, null := s.Null(v); null {
		return rostree.Integer{}, 0, wrongType(v.Pos, "an integer")
	}
	f, end, err := s.Float(v, 64)
	if err != nil {
		return rostree.Integer{}, 0, err
	}
	n, err := rostree.ToInteger(f)
	return n, end, err
}

// integer returns the number that a head is: a negative one is -1 - arg.
func integer(h item) (rostree.Integer, error) {
	if h.major == majorUnsigned {
		return rostree.Integer{Magnitude: h.arg}, nil
	}
	if h.arg > math.MaxInt64 {
		return rostree.Integer{}, fmt.Errorf("-1 - %d for an integer: %w", h.arg, rostree.ErrRange)
	}
	return rostree.Integer{Negative: true, Magnitude: h.arg + 1}, nil
}

// Float reads a number; null is NaN.
func (s *syntax) Float(v rostree.Value, bits int) (float64, int, error) {
	if end, null := s.Null(v); null {
		return math.NaN(), end, nil
	}
	f, end, err := s.float(v)
	if err == nil && bits == 32 {
		f, err = rostree.ToFloat32(f)
	}
	return f, end, err
}

func (s *syntax) float(v rostree.Value) (float64, int, error) {
	if v.Kind != 0 {
		if v.Kind&tagFloatBit == 0 {
			n, end, err := s.Integer(v)
			return n.Float64(), end, err
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
		n, err := integer(h)
		return n.Float64(), h.next, err
	}
	return 0, 0, wrongType(v.Pos, "a number")
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
