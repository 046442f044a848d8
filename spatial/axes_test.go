package spatial_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/spatial"
)

// conversion is what all conversions can.
type conversion interface {
	Out(mgl64.Vec3) mgl64.Vec3
	In(mgl64.Vec3) mgl64.Vec3
	OutAxial(mgl64.Vec3) mgl64.Vec3
	OutRotation(mgl64.Quat) mgl64.Quat
	OutSize(mgl64.Vec3) mgl64.Vec3
}

// A camera's axes, x right, y down and z forward, and the world's north, east and down.
var (
	optical = spatial.NewAxesRotation(mgl64.Vec3{0, -1, 0}, mgl64.Vec3{0, 0, -1}, mgl64.Vec3{1, 0, 0})
	ned     = spatial.NewAxesRotation(mgl64.Vec3{0, 1, 0}, mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 0, -1})
)

// table says of each conversion where (1, 2, 3) lies in the other axes, and their hand. That is
// one forward, two left and three up.
var table = []struct {
	name string
	conversion
	point mgl64.Vec3
	hand  float64
}{
	{"Unity", spatial.UnityAxes, mgl64.Vec3{-2, 3, 1}, -1},
	{"Unreal", spatial.UnrealAxes, mgl64.Vec3{1, -2, 3}, -1},
	{"optical", optical, mgl64.Vec3{-2, -3, 1}, 1},
	{"RFU", spatial.RFUAxes, mgl64.Vec3{-2, 1, 3}, 1},
	{"NED", ned, mgl64.Vec3{2, 1, -3}, 1},
}

type random struct{ *rand.Rand }

func (r random) vector() mgl64.Vec3 {
	return mgl64.Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
}

func (r random) rotation() mgl64.Quat {
	return mgl64.Quat{W: r.NormFloat64(), V: r.vector()}.Normalize()
}

// each runs a property for each conversion on many random values.
func each(t *testing.T, property func(t *testing.T, c conversion, hand float64, r random)) {
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			r := random{rand.New(rand.NewPCG(1, 2))}
			for range 200 {
				property(t, row.conversion, row.hand, r)
			}
		})
	}
}

func near(t *testing.T, want, got mgl64.Vec3, what string) {
	t.Helper()
	assert.InDeltaSlice(t, want[:], got[:], 1e-12, what)
}

func TestWhereAPointLies(t *testing.T) {
	for _, row := range table {
		assert.Equal(t, row.point, row.Out(mgl64.Vec3{1, 2, 3}), row.name)
		assert.Equal(t, mgl64.Vec3{1, 2, 3}, row.In(row.point), row.name)
		x, y, z := row.Out(mgl64.Vec3{1, 0, 0}), row.Out(mgl64.Vec3{0, 1, 0}), row.Out(mgl64.Vec3{0, 0, 1})
		assert.Equal(t, row.hand, x.Cross(y).Dot(z), "%s: hand", row.name)
	}
}

func TestRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, c conversion, _ float64, r random) {
		v := r.vector()
		assert.Equal(t, v, c.In(c.Out(v)))
		assert.Equal(t, v, c.Out(c.In(v)))
	})
}

// A vector that is turned and then converted is the converted one, turned by the
// converted rotation.
func TestRotationsCommute(t *testing.T) {
	each(t, func(t *testing.T, c conversion, _ float64, r random) {
		v, q := r.vector(), r.rotation()
		near(t, c.Out(q.Rotate(v)), c.OutRotation(q).Rotate(c.Out(v)), "rotation")
	})
}

// A cross product is axial, in whatever axes it is computed.
func TestCrossProductsAreAxial(t *testing.T) {
	each(t, func(t *testing.T, c conversion, hand float64, r random) {
		a, b := r.vector(), r.vector()
		near(t, c.OutAxial(a.Cross(b)), c.Out(a).Cross(c.Out(b)), "cross product")
		near(t, c.Out(a.Cross(b)).Mul(hand), c.OutAxial(a.Cross(b)), "the hand is the difference")
		// The velocity of a point of a turning body is a vector again.
		near(t, c.Out(a.Cross(b)), c.OutAxial(a).Cross(c.Out(b)), "velocity")
	})
}

func TestLengthsAndSizesStay(t *testing.T) {
	each(t, func(t *testing.T, c conversion, _ float64, r random) {
		v, q := r.vector(), r.rotation()
		assert.InDelta(t, v.Len(), c.Out(v).Len(), 1e-12)
		assert.InDelta(t, v.Len(), c.OutAxial(v).Len(), 1e-12)
		assert.InDelta(t, 1, c.OutRotation(q).Len(), 1e-12)
		size := mgl64.Vec3{math.Abs(v[0]), math.Abs(v[1]), math.Abs(v[2])}
		out := c.Out(size)
		near(t, mgl64.Vec3{math.Abs(out[0]), math.Abs(out[1]), math.Abs(out[2])}, c.OutSize(size), "size")
	})
}

func TestZerosHaveNoSign(t *testing.T) {
	for _, row := range table {
		for _, zero := range []float64{0, math.Copysign(0, -1)} {
			v := mgl64.Vec3{zero, zero, zero}
			for _, got := range []mgl64.Vec3{row.Out(v), row.In(v), row.OutAxial(v)} {
				for _, component := range got {
					assert.False(t, math.Signbit(component), row.name)
				}
			}
		}
	}
	got := spatial.UnityAngles.Out(spatial.Angles{})
	assert.False(t, math.Signbit(got.Roll) || math.Signbit(got.Pitch) || math.Signbit(got.Yaw))
}

// A body's attitude turns the coordinates that it has in its own axes, whatever these are
// called, into the same direction of the world.
func TestAttitudes(t *testing.T) {
	r := random{rand.New(rand.NewPCG(3, 4))}
	for name, c := range map[string]spatial.AxesRotation{"optical": optical, "RFU": spatial.RFUAxes, "NED": ned} {
		for range 100 {
			q, v := r.rotation(), r.vector()
			near(t, q.Rotate(v), c.OutAttitude(q).Rotate(c.Out(v)), name)
		}
	}
	half := math.Sqrt2 / 2
	rfu := spatial.RFUAxes.OutAttitude(mgl64.QuatIdent())
	assert.InDelta(t, half, rfu.W, 1e-15)
	assert.InDelta(t, -half, rfu.V[2], 1e-15, "a car that looks to the east, in Apollo")
	body := spatial.OpticalInBody()
	near(t, body.Rotate(mgl64.Vec3{1, 2, 3}), optical.In(mgl64.Vec3{1, 2, 3}), "as package spatial has it")
	static := optical.OutAttitude(mgl64.QuatIdent()) // of REP-103's usual static transform
	assert.InDeltaSlice(t, []float64{-0.5, 0.5, -0.5, 0.5}, []float64{static.V[0], static.V[1], static.V[2], static.W}, 1e-15)
}

// unityMatrix is a rotation in Unity's axes, written out: yaw turns z towards x, pitch
// turns z towards -y, roll turns x towards y.
func unityMatrix(a spatial.Angles) mgl64.Mat3 {
	sr, cr := math.Sincos(a.Roll * math.Pi / 180)
	sp, cp := math.Sincos(a.Pitch * math.Pi / 180)
	sy, cy := math.Sincos(a.Yaw * math.Pi / 180)
	turnY := mgl64.Mat3FromCols(mgl64.Vec3{cy, 0, -sy}, mgl64.Vec3{0, 1, 0}, mgl64.Vec3{sy, 0, cy})
	turnX := mgl64.Mat3FromCols(mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, cp, sp}, mgl64.Vec3{0, -sp, cp})
	turnZ := mgl64.Mat3FromCols(mgl64.Vec3{cr, sr, 0}, mgl64.Vec3{-sr, cr, 0}, mgl64.Vec3{0, 0, 1})
	return turnY.Mul3(turnX).Mul3(turnZ)
}

// unrealMatrix has the turned axes as Unreal Engine's FRotationMatrix gives them.
func unrealMatrix(a spatial.Angles) mgl64.Mat3 {
	sr, cr := math.Sincos(a.Roll * math.Pi / 180)
	sp, cp := math.Sincos(a.Pitch * math.Pi / 180)
	sy, cy := math.Sincos(a.Yaw * math.Pi / 180)
	return mgl64.Mat3FromCols(
		mgl64.Vec3{cp * cy, cp * sy, sp},
		mgl64.Vec3{sr*sp*cy - cr*sy, sr*sp*sy + cr*cy, -sr * cp},
		mgl64.Vec3{-(cr*sp*cy + sr*sy), cy*sr - cr*sp*sy, cr * cp},
	)
}

func TestAngles(t *testing.T) {
	r := random{rand.New(rand.NewPCG(5, 6))}
	for _, c := range []struct {
		name   string
		angles spatial.AngleMirror
		axes   spatial.AxesMirror
		matrix func(spatial.Angles) mgl64.Mat3
	}{
		{"Unity", spatial.UnityAngles, spatial.UnityAxes, unityMatrix},
		{"Unreal", spatial.UnrealAngles, spatial.UnrealAxes, unrealMatrix},
	} {
		for range 100 {
			a := spatial.Angles{Roll: r.Float64()*360 - 180, Pitch: r.Float64()*180 - 90, Yaw: r.Float64()*360 - 180}
			ours := c.angles.In(a)
			assert.Equal(t, a, c.angles.Out(ours))
			q := spatial.FromRPY(mgl64.Vec3{}, ours.Roll, ours.Pitch, ours.Yaw).Orientation
			v := r.vector()
			near(t, c.axes.In(c.matrix(a).Mul3x1(v)), q.Rotate(c.axes.In(v)), c.name)
		}
	}
}

func TestHeadings(t *testing.T) {
	for _, c := range []struct{ yaw, heading float64 }{
		{90, 0}, {0, 90}, {-90, 180}, {180, 270}, {45, 45}, {-179, 269}, {91, 359},
	} {
		assert.InDelta(t, c.heading, spatial.HeadingOfYaw(c.yaw), 1e-12)
	}
	for yaw := -1000.0; yaw < 1000; yaw += 0.37 {
		heading := spatial.HeadingOfYaw(yaw)
		assert.True(t, heading >= 0 && heading < 360, "%v", heading)
		sin, cos := math.Sincos(yaw * math.Pi / 180) // east and north
		east, north := math.Sincos(heading * math.Pi / 180)
		assert.InDelta(t, cos, east, 1e-12)
		assert.InDelta(t, sin, north, 1e-12)
	}
	assert.Zero(t, spatial.HeadingOfYaw(math.Nextafter(90, 91)), "not 360")
	near(t, mgl64.Vec3{180, 0, 0}, spatial.Degrees(mgl64.Vec3{math.Pi, 0, 0}), "degrees")
}

func TestAxesOfOnesOwn(t *testing.T) {
	up := spatial.NewAxesRotation(mgl64.Vec3{0, 0, 1}, mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 1, 0})
	assert.Equal(t, mgl64.Vec3{3, 1, 2}, up.Out(mgl64.Vec3{1, 2, 3}))
	assert.Equal(t, mgl64.Vec3{1, 2, 3}, up.In(mgl64.Vec3{3, 1, 2}))
	for _, bad := range [][3]mgl64.Vec3{
		{{1, 0, 0}, {0, 1, 0}, {0, 0, -1}}, {{1, 0, 0}, {1, 0, 0}, {0, 0, 1}}, {{1, 1, 0}, {0, 1, 0}, {0, 0, 1}},
		{{2, 0, 0}, {0, 1, 0}, {0, 0, 0.5}}, {},
	} {
		assert.Panics(t, func() { spatial.NewAxesRotation(bad[0], bad[1], bad[2]) }, "%v", bad)
	}
}

// CARLA's and SVL's users find a lamp ten metres ahead and two to the left.
func Example() {
	lamp := mgl64.Vec3{10, 2, 5}
	fmt.Println("CARLA", spatial.UnrealAxes.Out(lamp))
	fmt.Println("SVL", spatial.UnityAxes.Out(lamp))
	fmt.Println("Apollo", spatial.RFUAxes.Out(lamp))
	fmt.Println("turning left", spatial.UnrealAxes.OutAxial(mgl64.Vec3{0, 0, 1}))
	// Output:
	// CARLA [10 -2 5]
	// SVL [-2 5 10]
	// Apollo [-2 10 5]
	// turning left [0 0 -1]
}
