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

// filling is how a field, and an array, of a kind is set.
type filling struct {
	value func(*filler, ros.Ref)
	array func(*filler, ros.Array)
}

func whole[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64](number func(*filler) T) filling {
	return filling{func(f *filler, v ros.Ref) { v.SetInt(uint64(number(f))) }, arrayOf(number)}
}

func floating[T float32 | float64](number func(*filler) T) filling {
	return filling{func(f *filler, v ros.Ref) { v.SetFloat(float64(number(f))) }, arrayOf(number)}
}

func arrayOf[T ros.Element](value func(*filler) T) func(*filler, ros.Array) {
	return func(f *filler, v ros.Array) {
		list := ros.Resize[T](v, f.length())
		for i := range list {
			list[i] = value(f)
		}
	}
}

var fillings = map[ros.Kind]filling{
	ros.KindBool: {func(f *filler, v ros.Ref) { v.SetBool(f.bool()) }, arrayOf((*filler).bool)},
	ros.KindInt8: whole((*filler).int8), ros.KindUint8: whole((*filler).uint8),
	ros.KindInt16: whole((*filler).int16), ros.KindUint16: whole((*filler).uint16),
	ros.KindInt32: whole((*filler).int32), ros.KindUint32: whole((*filler).uint32),
	ros.KindInt64: whole((*filler).int64), ros.KindUint64: whole((*filler).uint64),
	ros.KindFloat32: floating((*filler).float32), ros.KindFloat64: floating((*filler).float64),
	ros.KindString: {array: arrayOf((*filler).text)},
}

func (f *filler) Value(_ string, v ros.Ref)   { fillings[v.Kind()].value(f, v) }
func (f *filler) Array(_ string, v ros.Array) { fillings[v.Kind()].array(f, v) }

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
	flag     kind[bool]
	i8       kind[int8]
	u8       kind[uint8]
	i16      kind[int16]
	u16      kind[uint16]
	i32      kind[int32]
	u32      kind[uint32]
	i64      kind[int64]
	u64      kind[uint64]
	f32      kind[float32]
	f64      kind[float64]
	text     kind[string]
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

// kind has the fields of one type.
type kind[T ros.Element] struct {
	one   T
	any   []T
	three [3]T
}

// kindNames are the names of the single fields; those of arrays begin with "any_" and "three_".
var (
	kindNames  = [...]string{"flag", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "text"}
	anyNames   = prefixed("any_")
	threeNames = prefixed("three_")
)

func prefixed(prefix string) (names [len(kindNames)]string) {
	for i, name := range kindNames {
		names[i] = prefix + name
	}
	return names
}

// arrays is a kind of any type.
type arrays interface {
	visitAny(v ros.Visitor, name string)
	visitThree(v ros.Visitor, name string)
}

func (k *kind[T]) visitAny(v ros.Visitor, name string)   { v.Array(name, ros.Sequence(&k.any)) }
func (k *kind[T]) visitThree(v ros.Visitor, name string) { v.Array(name, ros.Fixed(k.three[:])) }

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
	v.Value("flag", ros.Of(&m.flag.one))
	v.Value("i8", ros.Of(&m.i8.one))
	v.Value("u8", ros.Of(&m.u8.one))
	v.Value("i16", ros.Of(&m.i16.one))
	v.Value("u16", ros.Of(&m.u16.one))
	v.Value("i32", ros.Of(&m.i32.one))
	v.Value("u32", ros.Of(&m.u32.one))
	v.Value("i64", ros.Of(&m.i64.one))
	v.Value("u64", ros.Of(&m.u64.one))
	v.Value("f32", ros.Of(&m.f32.one))
	v.Value("f64", ros.Of(&m.f64.one))
	v.String("text", &m.text.one)
	kinds := [len(kindNames)]arrays{&m.flag, &m.i8, &m.u8, &m.i16, &m.u16, &m.i32, &m.u32, &m.i64, &m.u64, &m.f32, &m.f64, &m.text}
	for i, k := range kinds {
		k.visitAny(v, anyNames[i])
	}
	for i, k := range kinds {
		k.visitThree(v, threeNames[i])
	}
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

// Nothing is a message without fields.
type Nothing struct{}

// TypeName returns "kinds_msgs/msg/Nothing".
func (*Nothing) TypeName() string { return "kinds_msgs/msg/Nothing" }

// Fields visits no field.
func (*Nothing) Fields(ros.Visitor) {}
