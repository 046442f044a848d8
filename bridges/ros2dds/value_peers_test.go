//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
)

// valueOf is a message as the peers print it, decoded from JSON: see testdata/peers/print.h.
func valueOf(m rosmsg.Message) map[string]any {
	v := values{}
	m.Fields(v)
	return v
}

type values map[string]any

func (v values) Bool(name string, b *bool)             { v[name] = *b }
func (v values) Int8(name string, n *int8)             { v[name] = float64(*n) }
func (v values) Uint8(name string, n *uint8)           { v[name] = float64(*n) }
func (v values) Uint16(name string, n *uint16)         { v[name] = float64(*n) }
func (v values) Int32(name string, n *int32)           { v[name] = float64(*n) }
func (v values) Uint32(name string, n *uint32)         { v[name] = float64(*n) }
func (v values) Float32(name string, f *float32)       { v[name] = number(float64(*f)) }
func (v values) Float64(name string, f *float64)       { v[name] = number(*f) }
func (v values) String(name string, s *string)         { v[name] = *s }
func (v values) Message(name string, m rosmsg.Message) { v[name] = valueOf(m) }

func (v values) Bytes(name string, b *rosmsg.Bytes) {
	data := make([]byte, b.Len())
	b.Put(data)
	v[name] = map[string]any{"bytes": float64(len(data)), "hash": fmt.Sprintf("%016x", hashOctets(data))}
}

func (v values) Int16(name string, n *int16)   { v[name] = float64(*n) }
func (v values) Int64(name string, n *int64)   { v[name] = float64(*n) }
func (v values) Uint64(name string, n *uint64) { v[name] = float64(*n) }

func (v values) Array(name string, a rosmsg.Array) {
	switch a.Kind() {
	case rosmsg.KindInt32:
		v[name] = numbers(rosmsg.Elements[int32](a))
	case rosmsg.KindFloat32:
		v[name] = numbers(rosmsg.Elements[float32](a))
	case rosmsg.KindFloat64:
		v[name] = numbers(rosmsg.Elements[float64](a))
	default:
		panic("no type of the bridge has an array of " + a.Kind().String())
	}
}

func (v values) Messages(name string, list rosmsg.Messages) {
	all := make([]any, list.Len())
	for i := range all {
		all[i] = valueOf(list.At(i))
	}
	v[name] = all
}

func numbers[T float64 | float32 | int32](list []T) []any {
	all := make([]any, len(list))
	for i, n := range list {
		all[i] = number(float64(n))
	}
	return all
}

func number(f float64) any {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return fmt.Sprintf("%sinf", map[bool]string{true: "-"}[f < 0])
	}
	return f
}

// hashOctets is print.h's.
func hashOctets(p []byte) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for ; len(p) >= 8; p = p[8:] {
		h = (h ^ binary.NativeEndian.Uint64(p)) * prime
	}
	for _, b := range p {
		h = (h ^ uint64(b)) * prime
	}
	return h
}
