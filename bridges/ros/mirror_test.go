package ros_test

import (
	"reflect"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// gear is a number under a name of its own.
type gear int8

type Wheel struct {
	Label   string
	Axle    mgl64.Vec3
	Spokes  []float32
	TurnsPS float64
}

// Truck has a field of each kind that a mirror takes.
type Truck struct {
	sample.Header
	Gear      gear
	Doors     int
	Mounted   spatial.Pose
	Moves     spatial.Twist
	Turned    mgl64.Quat
	Plates    []string
	Cargo     []byte
	Pressures [4]uint16
	Spare     Wheel
	Wheels    []Wheel
	Route     []mgl64.Vec3
	HasABS    bool
}

func truck() *Truck {
	return &Truck{
		Header: sample.Header{Stamp: 1_500_000_000, FrameID: "truck"}, Gear: -1, Doors: -2,
		Mounted: spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.Quat{W: 4, V: mgl64.Vec3{5, 6, 7}}},
		Moves:   spatial.Twist{Linear: mgl64.Vec3{8, 9, 10}, Angular: mgl64.Vec3{11, 12, 13}},
		Turned:  mgl64.Quat{W: 14, V: mgl64.Vec3{15, 16, 17}}, Plates: []string{"a", ""}, Cargo: []byte{1, 2, 3},
		Pressures: [4]uint16{18, 19, 20, 21}, Spare: Wheel{Label: "spare"},
		Wheels: []Wheel{{"left", mgl64.Vec3{22}, []float32{23, 24}, 25}, {"right", mgl64.Vec3{}, nil, 26}},
		Route:  []mgl64.Vec3{{27, 28, 29}, {30, 31, 32}}, HasABS: true,
	}
}

func newMirror(t *testing.T, of any) *ros.Mirror {
	t.Helper()
	m, err := ros.NewMirror(reflect.TypeOf(of).Elem())
	require.NoError(t, err)
	return m
}

// The definition follows from the structure, and what is encoded through one mirror is decoded
// through another.
func TestMirror(t *testing.T) {
	m, other := newMirror(t, &Truck{}), newMirror(t, &Truck{})
	require.NoError(t, ros.Declare(m))
	text, err := ros.MessageFile("raybridge_msgs/Truck")
	require.NoError(t, err)
	assert.Equal(t, "std_msgs/Header header\nint8 gear\nint64 doors\ngeometry_msgs/Pose mounted\ngeometry_msgs/Twist moves\n"+
		"geometry_msgs/Quaternion turned\nstring[] plates\nuint8[] cargo\nuint16[4] pressures\nraybridge_msgs/Wheel spare\n"+
		"raybridge_msgs/Wheel[] wheels\ngeometry_msgs/Vector3[] route\nbool has_abs\n", text)
	text, err = ros.MessageFile("raybridge_msgs/Wheel")
	require.NoError(t, err)
	assert.Equal(t, "string label\ngeometry_msgs/Vector3 axle\nfloat32[] spokes\nfloat64 turns_ps\n", text)
	for _, format := range []encode.Binary{encode.CDR, encode.ROS1} {
		require.NoError(t, m.Show(truck()))
		b := format.Encoder().Append(nil, m)
		got := &Truck{Wheels: make([]Wheel, 3), Cargo: make([]byte, 9)} // with memory of before
		other.Fill(got)
		require.NoError(t, format.Decoder().Decode(b, other))
		assert.Same(t, got, other.Value())
		assert.Equal(t, truck(), got)
	}
	require.ErrorIs(t, m.Show(&Truck{Header: sample.Header{Stamp: 1 << 62}}), ros.ErrStampRange)
}

// To show a value only reads it, so that several may do so at once: the race detector sees it.
func TestMirrorsOfOneValue(t *testing.T) {
	shared, done := truck(), make(chan []byte)
	for range 2 {
		m := newMirror(t, shared)
		go func() {
			_ = m.Show(shared)
			done <- encode.CDR.Encoder().Append(nil, m)
		}()
	}
	assert.Equal(t, <-done, <-done)
}

func TestWhatHasNoMirror(t *testing.T) {
	type inner struct{ Lists [][]int32 }
	type self struct{ Parts []self }
	for name, of := range map[string]any{
		"a number": new(int), "a map": &struct{ sample.Header }{}, "lists of lists": &inner{}, "itself": &self{},
		"a pointer": &struct{ At *int }{}, "fixed structures": &[2]Wheel{},
	} {
		_, err := ros.NewMirror(reflect.TypeOf(of).Elem())
		assert.ErrorIs(t, err, ros.ErrMirror, name)
	}
}
