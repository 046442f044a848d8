package ros

import (
	"encoding/binary"
	"math"
)

// AppendBinary appends the elements of an array of numbers or bools as CDR, ROS 1 and
// RFC 8746 have them alike: little-endian, a bool as one byte, nothing between them. Of an
// array of strings it appends nothing.
func (a Array) AppendBinary(dst []byte) []byte {
	switch a.kind {
	case KindBool:
		for _, b := range Elements[bool](a) {
			dst = append(dst, octet(b))
		}
	case KindInt8:
		for _, n := range Elements[int8](a) {
			dst = append(dst, byte(n))
		}
	case KindUint8:
		return append(dst, Elements[uint8](a)...)
	case KindInt16:
		return append16(dst, Elements[int16](a))
	case KindUint16:
		return append16(dst, Elements[uint16](a))
	case KindInt32:
		return append32(dst, Elements[int32](a))
	case KindUint32:
		return append32(dst, Elements[uint32](a))
	case KindInt64:
		return append64(dst, Elements[int64](a))
	case KindUint64:
		return append64(dst, Elements[uint64](a))
	case KindFloat32:
		for _, f := range Elements[float32](a) {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
		}
	case KindFloat64:
		for _, f := range Elements[float64](a) {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
		}
	}
	return dst
}

func octet(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func append16[T int16 | uint16](dst []byte, list []T) []byte {
	for _, n := range list {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
	}
	return dst
}

func append32[T int32 | uint32](dst []byte, list []T) []byte {
	for _, n := range list {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}

func append64[T int64 | uint64](dst []byte, list []T) []byte {
	for _, n := range list {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// SetBinary sets the elements to what AppendBinary made of them: a sequence's are as many
// as src has, an array of a fixed size takes as many bytes as it has. All bytes but 0 are
// true. An array of strings becomes empty.
func (a Array) SetBinary(src []byte) {
	switch a.kind {
	case KindBool:
		set(a, src, func(b []byte) bool { return b[0] != 0 })
	case KindInt8:
		set(a, src, func(b []byte) int8 { return int8(b[0]) })
	case KindUint8:
		copy(Resize[uint8](a, len(src)), src)
	case KindInt16:
		set(a, src, func(b []byte) int16 { return int16(binary.LittleEndian.Uint16(b)) })
	case KindUint16:
		set(a, src, binary.LittleEndian.Uint16)
	case KindInt32:
		set(a, src, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) })
	case KindUint32:
		set(a, src, binary.LittleEndian.Uint32)
	case KindInt64:
		set(a, src, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
	case KindUint64:
		set(a, src, binary.LittleEndian.Uint64)
	case KindFloat32:
		set(a, src, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) })
	case KindFloat64:
		set(a, src, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	case KindString:
		a.Clear()
	}
}

// set sets elements, each of as many bytes as its Kind has.
func set[T Element](a Array, src []byte, value func([]byte) T) {
	size := a.kind.Size()
	list := Resize[T](a, len(src)/size)
	for i := range list {
		list[i] = value(src[i*size:])
	}
}
