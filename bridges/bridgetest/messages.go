package bridgetest

import (
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/raybridge/raybridge/bridges/ros"
)

// EveryMessage returns an empty message of each type, those of services too, and those from
// outside that this package has, which it declares.
func EveryMessage() []ros.Message {
	list := standard()
	for _, m := range []ros.Message{&Kinds{}, &Nothing{}} {
		if err := ros.Declare(m); err != nil {
			panic(err)
		}
		list = append(list, m)
	}
	return list
}

// NewMessage returns an empty message of m's type.
func NewMessage(m ros.Message) ros.Message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(ros.Message)
}

// FillMessage sets every field of m, Seq too, to values that depend on seed alone. At times
// they are edge values, infinities and NaN among them; times aren't before the epoch. All
// strings are valid UTF-8.
func FillMessage(m ros.Message, seed uint64) {
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
		v.Source = octets(v.Data)
		v.Data = nil
	}
}

// octets are bytes that are written in place.
type octets []byte

func (s octets) Size() int      { return len(s) }
func (s octets) Put(dst []byte) { copy(dst, s) }

func (f *filler) Array(_ string, v ros.Array) {
	switch v.Kind() {
	case ros.KindBool:
		fillArray(f, v, f.bool)
	case ros.KindInt8:
		fillArray(f, v, f.int8)
	case ros.KindUint8:
		fillArray(f, v, f.uint8)
	case ros.KindInt16:
		fillArray(f, v, f.int16)
	case ros.KindUint16:
		fillArray(f, v, f.uint16)
	case ros.KindInt32:
		fillArray(f, v, f.int32)
	case ros.KindUint32:
		fillArray(f, v, f.uint32)
	case ros.KindInt64:
		fillArray(f, v, f.int64)
	case ros.KindUint64:
		fillArray(f, v, f.uint64)
	case ros.KindFloat32:
		fillArray(f, v, f.float32)
	case ros.KindFloat64:
		fillArray(f, v, f.float64)
	case ros.KindString:
		fillArray(f, v, f.text)
	}
}

func fillArray[T ros.Element](f *filler, v ros.Array, value func() T) {
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

// Kinds is a message from outside with fields of each type: alone, in a sequence and in an
// array of three.
type Kinds struct {
	Header   ros.Header
	One      kindsOf
	Any      kindsAny
	Three    kindsThree
	Took     ros.Duration
	Blob     ros.Bytes
	Nothing  Nothing
	Corners  [2]ros.Point
	Path     []ros.Point
	Gain     float32
	Sec      int16
	Tail     string
	Verdicts []string
}

type kindsOf struct {
	flag bool
	i8   int8
	u8   uint8
	i16  int16
	u16  uint16
	i32  int32
	u32  uint32
	i64  int64
	u64  uint64
	f32  float32
	f64  float64
	text string
}

type kindsAny struct {
	flag []bool
	i8   []int8
	u8   []uint8
	i16  []int16
	u16  []uint16
	i32  []int32
	u32  []uint32
	i64  []int64
	u64  []uint64
	f32  []float32
	f64  []float64
	text []string
}

type kindsThree struct {
	flag [3]bool
	i8   [3]int8
	u8   [3]uint8
	i16  [3]int16
	u16  [3]uint16
	i32  [3]int32
	u32  [3]uint32
	i64  [3]int64
	u64  [3]uint64
	f32  [3]float32
	f64  [3]float64
	text [3]string
}

// TypeName returns "kinds_msgs/msg/Kinds".
func (*Kinds) TypeName() string { return "kinds_msgs/msg/Kinds" }

// ROS1Name returns "Gain" for gain.
func (*Kinds) ROS1Name(field string) string {
	if field == "gain" {
		return "Gain"
	}
	return field
}

// Definition has what fields don't tell: constants, bounds, and types that are visited as
// others.
func (*Kinds) Definition() string {
	return `
std_msgs/Header header
byte OFF=0
int64 LEAST=-9223372036854775808
string WORD="two words"   # quoted in ROS 2 alone
bool flag
int8 i8
byte u8
int16 i16
uint16 u16
int32 i32
uint32 u32
int64 i64 -5
uint64 u64
float32 f32
float64 f64
string<=100 text "a default"
bool[] any_flag
int8[] any_i8
uint8[] any_u8
int16[<=9] any_i16
uint16[] any_u16
int32[] any_i32 [1, 2]
uint32[] any_u32
int64[] any_i64
uint64[] any_u64
float32[] any_f32
float64[] any_f64
string<=100[<=9] any_text
bool[3] three_flag
int8[3] three_i8
uint8[3] three_u8
int16[3] three_i16
uint16[3] three_u16
int32[3] three_i32
uint32[3] three_u32
int64[3] three_i64
uint64[3] three_u64
float32[3] three_f32
float64[3] three_f64
string[3] three_text
builtin_interfaces/Duration took
char[] blob
Nothing nothing
geometry_msgs/Point[2] corners
geometry_msgs/Point[<=9] path
float32 gain
int16 sec
string tail
string[] verdicts
`
}

// Fields visits the fields in order.
func (m *Kinds) Fields(v ros.Visitor) {
	v.Message("header", &m.Header)
	m.One.visit(v)
	m.Any.visit(v)
	m.Three.visit(v)
	v.Message("took", &m.Took)
	v.Bytes("blob", &m.Blob)
	v.Message("nothing", &m.Nothing)
	v.Messages("corners", ros.FixedList(m.Corners[:]))
	v.Messages("path", ros.List(&m.Path))
	v.Value("gain", ros.Of(&m.Gain))
	v.Value("sec", ros.Of(&m.Sec))
	v.String("tail", &m.Tail)
	v.Array("verdicts", ros.Sequence(&m.Verdicts))
}

func (k *kindsOf) visit(v ros.Visitor) {
	v.Value("flag", ros.Of(&k.flag))
	v.Value("i8", ros.Of(&k.i8))
	v.Value("u8", ros.Of(&k.u8))
	v.Value("i16", ros.Of(&k.i16))
	v.Value("u16", ros.Of(&k.u16))
	v.Value("i32", ros.Of(&k.i32))
	v.Value("u32", ros.Of(&k.u32))
	v.Value("i64", ros.Of(&k.i64))
	v.Value("u64", ros.Of(&k.u64))
	v.Value("f32", ros.Of(&k.f32))
	v.Value("f64", ros.Of(&k.f64))
	v.String("text", &k.text)
}

func (k *kindsAny) visit(v ros.Visitor) {
	v.Array("any_flag", ros.Sequence(&k.flag))
	v.Array("any_i8", ros.Sequence(&k.i8))
	v.Array("any_u8", ros.Sequence(&k.u8))
	v.Array("any_i16", ros.Sequence(&k.i16))
	v.Array("any_u16", ros.Sequence(&k.u16))
	v.Array("any_i32", ros.Sequence(&k.i32))
	v.Array("any_u32", ros.Sequence(&k.u32))
	v.Array("any_i64", ros.Sequence(&k.i64))
	v.Array("any_u64", ros.Sequence(&k.u64))
	v.Array("any_f32", ros.Sequence(&k.f32))
	v.Array("any_f64", ros.Sequence(&k.f64))
	v.Array("any_text", ros.Sequence(&k.text))
}

func (k *kindsThree) visit(v ros.Visitor) {
	v.Array("three_flag", ros.Fixed(k.flag[:]))
	v.Array("three_i8", ros.Fixed(k.i8[:]))
	v.Array("three_u8", ros.Fixed(k.u8[:]))
	v.Array("three_i16", ros.Fixed(k.i16[:]))
	v.Array("three_u16", ros.Fixed(k.u16[:]))
	v.Array("three_i32", ros.Fixed(k.i32[:]))
	v.Array("three_u32", ros.Fixed(k.u32[:]))
	v.Array("three_i64", ros.Fixed(k.i64[:]))
	v.Array("three_u64", ros.Fixed(k.u64[:]))
	v.Array("three_f32", ros.Fixed(k.f32[:]))
	v.Array("three_f64", ros.Fixed(k.f64[:]))
	v.Array("three_text", ros.Fixed(k.text[:]))
}

// Nothing is a message without fields.
type Nothing struct{}

// TypeName returns "kinds_msgs/msg/Nothing".
func (*Nothing) TypeName() string { return "kinds_msgs/msg/Nothing" }

// Fields visits no field.
func (*Nothing) Fields(ros.Visitor) {}
