package carla

import (
	"encoding/binary"
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// The few kinds of MessagePack (msgpack/spec.md) that CARLA's bodies have.

func packArray(dst []byte, n int) []byte { return append(dst, 0x90|byte(n)) } // n < 16

func packF32(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0xca), math.Float32bits(float32(v)))
}

func packF64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v))
}

func packUint(dst []byte, v uint32) []byte {
	switch {
	case v < 1<<7:
		return append(dst, byte(v))
	case v < 1<<8:
		return append(dst, 0xcc, byte(v))
	case v < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(v))
	default:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), v)
	}
}

// packString writes up to 255 bytes of s.
func packString(dst []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	if len(s) < 32 {
		return append(append(dst, 0xa0|byte(len(s))), s...)
	}
	return append(append(dst, 0xd9, byte(len(s))), s...)
}

// packBin writes up to 255 bytes of b.
func packBin(dst []byte, b []byte) []byte {
	return append(append(dst, 0xc4, byte(len(b))), b...)
}

func packVec(dst []byte, v mgl64.Vec3) []byte {
	dst = packArray(dst, 3)
	for _, x := range v {
		dst = packF32(dst, x)
	}
	return dst
}
