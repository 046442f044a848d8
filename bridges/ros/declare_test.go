package ros_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
)

// made is a message from outside with a name and fields of the test's choice.
type made struct {
	name   string
	fields func(ros.Visitor)
}

func (m *made) TypeName() string     { return m.name }
func (m *made) Fields(v ros.Visitor) { m.fields(v) }

// defined says its definition itself.
type defined struct {
	made
	text string
}

func (m *defined) Definition() string { return m.text }

// tyre and car are messages in one another.
type tyre struct {
	Bar  float32
	Spot ros.Point
}

func (*tyre) TypeName() string { return "declare_msgs/msg/Tyre" }
func (m *tyre) Fields(v ros.Visitor) {
	v.Value("bar", ros.Of(&m.Bar))
	v.Message("spot", &m.Spot)
}

type car struct {
	Header ros.Header
	Tyres  []tyre
	Label  string
	Sum    [4]float64
	Rest   struct {
		flag  bool
		i8    int8
		u8    uint8
		u16   uint16
		i32   int32
		u32   uint32
		bytes ros.Bytes
		f64s  []float64
		f32s  []float32
		i32s  []int32
	}
}

func (*car) TypeName() string { return "declare_msgs/msg/Car" }

func (m *car) Fields(v ros.Visitor) {
	v.Message("header", &m.Header)
	v.Messages("tyres", ros.List(&m.Tyres))
	v.String("label", &m.Label)
	v.Array("sum", ros.Fixed(m.Sum[:]))
	r := &m.Rest
	v.Value("flag", ros.Of(&r.flag))
	v.Value("i8", ros.Of(&r.i8))
	v.Value("u8", ros.Of(&r.u8))
	v.Value("u16", ros.Of(&r.u16))
	v.Value("i32", ros.Of(&r.i32))
	v.Value("u32", ros.Of(&r.u32))
	v.Bytes("bytes", &r.bytes)
	v.Array("f64s", ros.Sequence(&r.f64s))
	v.Array("f32s", ros.Sequence(&r.f32s))
	v.Array("i32s", ros.Sequence(&r.i32s))
}

func TestDeclareWritesTheDefinition(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 { // again and again, and at once
		wg.Go(func() { assert.NoError(t, ros.Declare(&car{})) })
	}
	wg.Wait()
	text, err := ros.MessageFile("declare_msgs/Car")
	require.NoError(t, err)
	assert.Equal(t, `std_msgs/Header header
declare_msgs/Tyre[] tyres
string label
float64[4] sum
bool flag
int8 i8
uint8 u8
uint16 u16
int32 i32
uint32 u32
uint8[] bytes
float64[] f64s
float32[] f32s
int32[] i32s
`, text)
	schema, err := ros.ROS2.Definition("declare_msgs/msg/Car")
	require.NoError(t, err)
	assert.Contains(t, schema, "MSG: declare_msgs/Tyre\nfloat32 bar\ngeometry_msgs/Point spot\n")
	assert.Contains(t, schema, "MSG: geometry_msgs/Point\n")
	sum, err := ros.MD5("declare_msgs/msg/Car")
	require.NoError(t, err)
	assert.Equal(t, "c5d902f6851ec9d219b800361f5beda9", sum, "genpy's, which reads ros1.Definition")
	_, err = ros.TypeHash("declare_msgs/msg/Car")
	require.NoError(t, err)
}

// same is a message of the package's with a type of the test's.
type same struct{ ros.Message }

// TestDeclareFindsOurDefinitions: a message from outside may have the name and the fields of
// one of ours. Its outline is what the embedded file says, so that declaring it changes nothing.
func TestDeclareFindsOurDefinitions(t *testing.T) {
	for _, m := range bridgetest.EveryMessage() {
		if _, err := ros.Fields(m.TypeName()); err == nil && !strings.HasPrefix(m.TypeName(), "kinds_msgs/") {
			assert.NoError(t, ros.Declare(&same{m}), m.TypeName())
			assert.NoError(t, ros.Declare(m), m.TypeName())
		}
	}
}

func TestDeclareTakesDefinitionsWithConstants(t *testing.T) {
	m := &defined{made: made{"declare_msgs/msg/Mode", func(v ros.Visitor) { v.Value("mode", ros.Of(new(uint8))); v.Message("where", &ros.Point{}) }}}
	m.text = "# what it does\r\nuint8  OFF = 0  # nothing\nuint8 ON=1\n\nuint8\tmode 1\n  geometry_msgs/Point where\n"
	require.NoError(t, ros.Declare(m))
	text, err := ros.MessageFile("declare_msgs/Mode")
	require.NoError(t, err)
	assert.Equal(t, "uint8 OFF=0\nuint8 ON=1\nuint8 mode 1\ngeometry_msgs/Point where\n", text)
	sum, err := ros.MD5("declare_msgs/msg/Mode")
	require.NoError(t, err)
	assert.Equal(t, "63162f1861b6c62f68bf811a7194fa0a", sum, "genpy's")
	m.text = "uint8 OFF=0\nuint8 ON=2\nuint8 mode\ngeometry_msgs/Point where\n"
	require.ErrorIs(t, ros.Declare(m), ros.ErrDeclared)
	again, err := ros.MessageFile("declare_msgs/Mode")
	require.NoError(t, err)
	assert.Equal(t, text, again)
}

func TestDeclareRefuses(t *testing.T) {
	number := func(v ros.Visitor) { v.Value("n", ros.Of(new(uint8))) }
	with := func(name string) func(v ros.Visitor) {
		return func(v ros.Visitor) { v.Value(name, ros.Of(new(float64))) }
	}
	said := func(text string) *defined { return &defined{made{"declare_msgs/msg/Bad", number}, text} }
	nested := &made{name: "declare_msgs/msg/Nested"}
	nested.fields = func(v ros.Visitor) {
		v.Message("self", &made{"declare_msgs/msg/Between", func(v ros.Visitor) { v.Message("back", nested) }})
	}
	for want, m := range map[string]ros.Message{
		`not "declare_msgs/Bad"`:                        &made{"declare_msgs/Bad", number},
		`not "declare_msgs/msg/bad"`:                    &made{"declare_msgs/msg/bad", number},
		`not "declare_msgs/msg/../Bad"`:                 &made{"declare_msgs/msg/../Bad", number},
		"one element at least":                          &made{"declare_msgs/msg/Bad", func(v ros.Visitor) { v.Array("a", ros.Fixed([]int16{})) }},
		`field "a__b"`:                                  &made{"declare_msgs/msg/Bad", with("a__b")},
		`"n" in ROS 1 is not a name or another field's`: &renamed{},
		`field "Upper"`:                                 &made{"declare_msgs/msg/Bad", with("Upper")},
		`field "n" of declare_msgs/Bad: want`:           &made{"declare_msgs/msg/Bad", func(v ros.Visitor) { number(v); number(v) }},
		"is made of itself":                             nested,
		`can't read the line "uint8<=3 n"`:              said("uint8<=3 n"),
		"the code visits uint8 n as field 1":            said("int64 n"),
		"the code doesn't visit string s":               said("uint8 n\nstring s"),
		"the code visits uint8 n as field 1, its def":   said(""),
	} {
		err := ros.Declare(m)
		require.ErrorIs(t, err, ros.ErrDefinition, want)
		require.ErrorContains(t, err, want)
	}
	require.ErrorIs(t, ros.Declare(&made{"geometry_msgs/msg/Point", number}), ros.ErrDeclared)
	_, err := ros.MessageFile("declare_msgs/Bad")
	require.Error(t, err)
}

// renamed has a field that ROS 1 would call as another one.
type renamed struct{}

func (*renamed) TypeName() string { return "declare_msgs/msg/Bad" }
func (*renamed) Fields(v ros.Visitor) {
	v.Value("n", ros.Of(new(uint8)))
	v.Value("o", ros.Of(new(uint8)))
}
func (*renamed) ROS1Name(string) string { return "n" }

// TestNamesThatROS1SpellsOtherwiseAreFree: in messages of others they are as they are.
func TestNamesThatROS1SpellsOtherwiseAreFree(t *testing.T) {
	m := &made{"declare_msgs/msg/Colour", func(v ros.Visitor) {
		for _, name := range []string{"r", "p", "d", "k", "sec", "nanosec"} {
			v.Value(name, ros.Of(new(float32)))
		}
	}}
	require.NoError(t, ros.Declare(m))
	definition, err := ros.ROS1.Definition(m.name)
	require.NoError(t, err)
	assert.Equal(t, "float32 r\nfloat32 p\nfloat32 d\nfloat32 k\nfloat32 sec\nfloat32 nanosec\n", definition)
	assert.JSONEq(t, `{"r":0,"p":0,"d":0,"k":0,"sec":0,"nanosec":0}`, string((&encode.TreeEncoder{Version: ros.ROS1}).Append(nil, m)))
}
