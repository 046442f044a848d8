package camera_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

func TestLensSpansItsFieldOfView(t *testing.T) {
	for _, c := range []struct {
		width, height int
		fov, vertical float64
	}{
		{640, 480, 90, 73.739795},
		{801, 1, 60, 0.08259},
		{1920, 1080, 120, 88.51},
		{2, 2, 90, 90},
	} {
		l, err := camera.NewLens(c.width, c.height, c.fov)
		require.NoError(t, err)
		h, v := l.FieldOfView()
		assert.InDelta(t, c.fov, h, 1e-9)
		assert.InDelta(t, c.vertical, v, 1e-2, "%dx%d", c.width, c.height)
		// The left edge is half a pixel left of the first pixel's centre.
		edge := l.Ray(-0.5, l.Cy)
		assert.InDelta(t, -math.Tan(c.fov/2*math.Pi/180), edge[0], 1e-12)
	}
}

func TestLensAxesAreOptical(t *testing.T) {
	l, err := camera.NewLens(640, 480, 90)
	require.NoError(t, err)
	u, v, ok := l.Project(mgl64.Vec3{0, 0, 5})
	assert.True(t, ok)
	assert.Equal(t, [2]float64{319.5, 239.5}, [2]float64{u, v}, "the axis meets the picture's middle, between the pixels")
	u, v, _ = l.Project(mgl64.Vec3{1, 0.5, 2})
	assert.Equal(t, [2]float64{319.5 + 160, 239.5 + 80}, [2]float64{u, v}, "x is right, y is down")
	for _, p := range []mgl64.Vec3{{0, 0, 0}, {1, 1, -2}, {0, 0, math.NaN()}} {
		_, _, ok = l.Project(p)
		assert.False(t, ok, "%v is not in front", p)
	}
}

func TestUnprojectInvertsProject(t *testing.T) {
	l, err := camera.NewLens(1280, 720, 70)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		want := mgl64.Vec3{rng.NormFloat64() * 20, rng.NormFloat64() * 20, rng.Float64()*200 + 0.01}
		u, v, ok := l.Project(want)
		require.True(t, ok)
		got := l.Unproject(u, v, want[2])
		assert.InDeltaSlice(t, want[:], got[:], 1e-9*(1+want.Len()))
	}
}

func TestLensContainsItsPixels(t *testing.T) {
	l, err := camera.NewLens(4, 3, 90)
	require.NoError(t, err)
	for _, c := range []struct {
		u, v float64
		in   bool
	}{{0, 0, true}, {3, 2, true}, {-0.5, -0.5, true}, {3.5, 0, false}, {0, 2.5, false}, {-0.51, 0, false}, {math.NaN(), 0, false}} {
		assert.Equal(t, c.in, l.Contains(c.u, c.v), "%v, %v", c.u, c.v)
	}
}

func TestLensRefusesWhatCannotBe(t *testing.T) {
	for _, c := range []struct {
		width, height int
		fov           float64
	}{{0, 480, 90}, {640, -1, 90}, {20000, 10, 90}, {640, 480, 0}, {640, 480, 180}, {640, 480, math.NaN()}} {
		_, err := camera.NewLens(c.width, c.height, c.fov)
		assert.ErrorIs(t, err, camera.ErrLens, "%+v", c)
	}
}

func TestInfoWritesThePrincipalPointItIsAskedFor(t *testing.T) {
	l, err := camera.NewLens(800, 600, 90)
	require.NoError(t, err)
	var info sample.CameraInfo
	l.Info(camera.CenterOrigin, &info)
	assert.Equal(t, 800, info.Width)
	assert.Equal(t, 600, info.Height)
	assert.Equal(t, "plumb_bob", info.DistortionModel)
	assert.Equal(t, make([]float64, 5), info.D)
	f := 400 / math.Tan(math.Pi/4)
	assert.Equal(t, [9]float64{f, 0, 399.5, 0, f, 299.5, 0, 0, 1}, info.K)
	assert.Equal(t, [12]float64{f, 0, 399.5, 0, 0, f, 299.5, 0, 0, 0, 1, 0}, info.P)
	assert.Equal(t, [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, info.R)

	l.Info(camera.CornerOrigin, &info)
	assert.Equal(t, [9]float64{f, 0, 400, 0, f, 300, 0, 0, 1}, info.K, "CARLA's: W/2, H/2")
	assert.Len(t, info.D, 5)
}
