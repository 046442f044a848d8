// Package rostest has all message types of package ros and one from outside, and fills them with values, for
// tests of encodings.
package rostest

import (
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Every returns an empty message of each type, those of services too, and those from
// outside that this package has, which it declares.
func Every() []ros.Message {
	list := standard()
	for _, m := range []ros.Message{&Kinds{}, &Nothing{}} {
		if err := ros.Declare(m); err != nil {
			panic(err)
		}
		list = append(list, m)
	}
	return list
}

// New returns an empty message of m's type.
func New(m ros.Message) ros.Message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(ros.Message)
}

// Fill sets every field of m, Seq too, to values that depend on seed alone: edge values
// now and then, infinities and NaN among them; times aren't before the epoch. All
// strings are valid UTF-8.
func Fill(m ros.Message, seed uint64) {
	(&filler{random: rand.New(rand.NewPCG(seed, 1))}).Message("", m)
}

// filler is the Visitor that sets fields.
type filler struct{ random *rand.Rand }

var _ ros.SeqVisitor = (*filler)(nil)

// pick returns one of the edges, or any number.
func pick[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64](f *filler, edges ...T) T {
	if n := f.random.IntN(2 * len(edges)); n < len(edges) {
		return edges[n]
	}
	return T(f.random.Uint64())
}

// nan is the NaN without a payload: others' encoders keep none.
var nan = math.Float64frombits(0x7ff8 << 48)

func (f *filler) float64() float64 {
	edges := [...]float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 1e-7, 123456789, 1e21, 1e22, math.Pi, math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), nan, math.MaxInt64, 1<<53 + 2,
	}
	if n := f.random.IntN(2 * len(edges)); n < len(edges) {
		return edges[n]
	}
	return f.random.NormFloat64() * 100
}

func (f *filler) float32() float32 {
	switch f.random.IntN(6) {
	case 0:
		return math.MaxFloat32
	case 1:
		return math.SmallestNonzeroFloat32
	case 2:
		return float32(f.random.NormFloat64())
	}
	v := float32(f.float64())
	return v
}

func (f *filler) text() string {
	texts := [...]string{
		"", "lidar_top", "a/b", "\"quoted\\\"", "\x00\x01\n\r\t\b\f\x1f\x7f", "Straße, 道路, 🚗", "<&>\u2028\u2029", "\ufffd", " ",
	}
	return texts[f.random.IntN(len(texts))]
}

// length is that of a sequence.
func (f *filler) length() int { return f.random.IntN(5) }

func (f *filler) HeaderSeq(v *uint32) { *v = pick[uint32](f, 0, math.MaxUint32) }

func (f *filler) bool() bool     { return f.random.IntN(2) == 1 }
func (f *filler) int8() int8     { return pick[int8](f, 0, math.MinInt8, math.MaxInt8) }
func (f *filler) uint8() uint8   { return pick[uint8](f, 0, 23, 24, math.MaxUint8) }
func (f *filler) int16() int16   { return pick[int16](f, 0, -1, math.MinInt16, math.MaxInt16) }
func (f *filler) uint16() uint16 { return pick[uint16](f, 0, 256, math.MaxUint16) }
func (f *filler) int32() int32   { return pick[int32](f, 0, math.MinInt32, math.MaxInt32) }
func (f *filler) uint32() uint32 {
	return pick[uint32](f, 0, 65536, math.MaxInt32, math.MaxInt32+1, math.MaxUint32)
}
func (f *filler) int64() int64 {
	return pick[int64](f, 0, -1, math.MinInt32-1, math.MaxUint32+1, 1<<53+1, math.MinInt64, math.MaxInt64)
}

// uint64 is within an int64's range, as BSON's numbers are.
func (f *filler) uint64() uint64 {
	return pick[uint64](f, 0, math.MaxUint32+1, 1<<53+1, math.MaxInt64) & math.MaxInt64
}

func (f *filler) Value(_ string, v ros.Ref) {
	switch v.Kind() {
	case ros.KindBool:
		v.SetBool(f.bool())
	case ros.KindInt8:
		v.SetInt(uint64(f.int8()))
	case ros.KindUint8:
		v.SetInt(uint64(f.uint8()))
	case ros.KindInt16:
		v.SetInt(uint64(f.int16()))
	case ros.KindUint16:
		v.SetInt(uint64(f.uint16()))
	case ros.KindInt32:
		v.SetInt(uint64(f.int32()))
	case ros.KindUint32:
		v.SetInt(uint64(f.uint32()))
	case ros.KindInt64:
		v.SetInt(uint64(f.int64()))
	case ros.KindUint64:
		v.SetInt(f.uint64())
	case ros.KindFloat32:
		v.SetFloat(float64(f.float32()))
	case ros.KindFloat64:
		v.SetFloat(f.float64())
	}
}

func (f *filler) String(_ string, v *string) { *v = f.text() }

func (f *filler) Bytes(_ string, v *ros.Bytes) {
	v.Data = make([]byte, f.random.IntN(300))
	for i := range v.Data {
		v.Data[i] = byte(f.random.Uint32())
	}
	v.Source = nil
	if f.random.IntN(2) == 0 {
		v.Source = source(v.Data)
		v.Data = nil
	}
}

// source are bytes that are written in place.
type source []byte

func (s source) Size() int      { return len(s) }
func (s source) Put(dst []byte) { copy(dst, s) }

func (f *filler) Array(_ string, v ros.Array) {
	switch v.Kind() {
	case ros.KindBool:
		fill(f, v, f.bool)
	case ros.KindInt8:
		fill(f, v, f.int8)
	case ros.KindUint8:
		fill(f, v, f.uint8)
	case ros.KindInt16:
		fill(f, v, f.int16)
	case ros.KindUint16:
		fill(f, v, f.uint16)
	case ros.KindInt32:
		fill(f, v, f.int32)
	case ros.KindUint32:
		fill(f, v, f.uint32)
	case ros.KindInt64:
		fill(f, v, f.int64)
	case ros.KindUint64:
		fill(f, v, f.uint64)
	case ros.KindFloat32:
		fill(f, v, f.float32)
	case ros.KindFloat64:
		fill(f, v, f.float64)
	case ros.KindString:
		fill(f, v, f.text)
	}
}

func fill[T ros.Element](f *filler, v ros.Array, value func() T) {
	list := ros.Resize[T](v, f.length())
	for i := range list {
		list[i] = value()
	}
}

func (f *filler) Message(_ string, v ros.Message) {
	if t, ok := v.(*ros.Time); ok {
		*t = ros.Time{Sec: f.random.Int32(), Nanosec: f.random.Uint32N(1e9)}
		return
	}
	v.Fields(f)
}

func (f *filler) Messages(_ string, v ros.Messages) {
	if v.Fixed() {
		for i := range v.Len() {
			f.Message("", v.At(i))
		}
		return
	}
	v.Clear()
	for range f.length() {
		f.Message("", v.Append())
	}
}
