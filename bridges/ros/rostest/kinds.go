package rostest

import "github.com/raybridge/raybridge/bridges/ros"

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
