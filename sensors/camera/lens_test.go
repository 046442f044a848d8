package camera_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unproject returns the point of the optical frame that appears at (u, v) at a planar depth
// (along z) in metres.
func unproject(l camera.Lens, u, v, depth float64) mgl64.Vec3 {
	ray := l.Ray(u, v)
	return ray.Mul(depth / ray[2])
}

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
		// Between the outer edges of the first and the last pixels.
		left, right := l.Ray(-0.5, l.Cy), l.Ray(float64(c.width)-0.5, l.Cy)
		top, bottom := l.Ray(l.Cx, -0.5), l.Ray(l.Cx, float64(c.height)-0.5)
		assert.InDelta(t, c.fov, mgl64.RadToDeg(math.Atan(right[0])-math.Atan(left[0])), 1e-9)
		assert.InDelta(t, c.vertical, mgl64.RadToDeg(math.Atan(bottom[1])-math.Atan(top[1])), 1e-2, "%dx%d", c.width, c.height)
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

func TestRayInvertsProject(t *testing.T) {
	l, err := camera.NewLens(1280, 720, 70)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		want := mgl64.Vec3{rng.NormFloat64() * 20, rng.NormFloat64() * 20, rng.Float64()*200 + 0.01}
		u, v, ok := l.Project(want)
		require.True(t, ok)
		got := unproject(l, u, v, want[2])
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

// distorted is a lens under test.
type distorted struct {
	name       string
	lens       camera.Lens
	attributes []any // that make the same lens of a 90 degree camera
}

// distortedLenses returns lenses of every model, from mild to those that see behind themselves.
// They are for a picture of a size and a field of view of 90 degrees.
func distortedLenses(t *testing.T, width, height int) []distorted {
	t.Helper()
	pinhole, err := camera.NewLens(width, height, 90)
	require.NoError(t, err)
	var list []distorted
	add := func(name string, l camera.Lens, err error, attributes ...any) {
		t.Helper()
		require.NoError(t, err, name)
		list = append(list, distorted{name, l, attributes})
	}
	for name, k := range map[string][]float64{
		"barrel":     {-0.28, 0.07, 0.0008, -0.0004, 0},
		"pincushion": {0.12, 0.02, -0.001, 0.002, 0.001},
		"tangential": {-0.05, 0, 0.02, -0.015, 0.002},
		"mustache":   {-0.25, 0.22, 0, 0, -0.04},
		"short":      {-0.6, 0, 0.001, 0, 0}, // turns back within the picture
	} {
		l, err := pinhole.PlumbBob(k[0], k[1], k[2], k[3], k[4])
		add("plumb_bob "+name, l, err, "lens", "plumb_bob", "distortion", k)
	}
	rational := []float64{0.3, 0.05, 0.001, -0.001, 0.01, 0.6, 0.1, 0.02}
	l, err := pinhole.Rational(rational)
	add("rational", l, err, "lens", "rational", "distortion", rational)
	l, err = pinhole.Mei(1.4, -0.05, 0.004, 0, 0)
	add("mei", l, err, "lens", "mei", "distortion", []float64{-0.05, 0.004, 0, 0}, "xi", 1.4)
	for name, a := range map[string][4]float64{
		"barrel":     {-0.08, 0.01, -0.001, 0.0001},
		"pincushion": {0.06, -0.004, 0.0006, 0},
	} {
		l, err := pinhole.SVL(a)
		add("svl "+name, l, err, "lens", "svl", "distortion", a[:])
		for xi, name := range map[float64]string{0: "flat", 0.6: "wide", 1: "parabola", 1.4: "behind"} {
			l, err := pinhole.SVLFisheye(a, xi)
			add("svl_fisheye "+name, l, err, "lens", "svl_fisheye", "distortion", a[:], "xi", xi)
		}
	}
	return list
}

func TestDistortedRaysInvertProjection(t *testing.T) {
	for _, c := range distortedLenses(t, 640, 480) {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			seen, behind := 0, 0
			for range 5_000 {
				u, v := rng.Float64()*640-0.5, rng.Float64()*480-0.5
				ray := c.lens.Ray(u, v)
				if math.IsNaN(ray[0]) {
					continue
				}
				seen++
				if ray[2] < 0 {
					behind++
				}
				p := ray.Mul(0.1 + 40*rng.Float64())
				u1, v1, ok := c.lens.Project(p)
				require.True(t, ok, "what %v, %v sees appears somewhere", u, v)
				assert.InDelta(t, u, u1, 1e-8)
				assert.InDelta(t, v, v1, 1e-8)
				back := c.lens.Ray(u1, v1).Normalize()
				want := p.Normalize()
				require.InDeltaSlice(t, want[:], back[:], 1e-9)
			}
			assert.Greater(t, seen, 1_000)
			t.Logf("%d of 5000 points are seen, %d of them behind the camera", seen, behind)
		})
	}
}

// TestPlumbBobIsOpenCVs compares with the formulas as OpenCV's documentation writes
// them, in the order k1 k2 p1 p2 k3.
func TestPlumbBobIsOpenCVs(t *testing.T) {
	const k1, k2, p1, p2, k3 = -0.21, 0.06, 0.003, -0.002, -0.004
	pinhole, err := camera.NewLens(800, 600, 80)
	require.NoError(t, err)
	l, err := pinhole.PlumbBob(k1, k2, p1, p2, k3)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		p := mgl64.Vec3{rng.Float64()*1.6 - 0.8, rng.Float64()*1.2 - 0.6, 1}.Mul(1 + 9*rng.Float64())
		x, y := p[0]/p[2], p[1]/p[2]
		r2 := x*x + y*y
		radial := 1 + k1*r2 + k2*math.Pow(r2, 2) + k3*math.Pow(r2, 3)
		u, v, ok := l.Project(p)
		require.True(t, ok)
		assert.InDelta(t, l.Fx*(x*radial+2*p1*x*y+p2*(r2+2*x*x))+399.5, u, 1e-9)
		assert.InDelta(t, l.Fy*(y*radial+p1*(r2+2*y*y)+2*p2*x*y)+299.5, v, 1e-9)
	}
}

// TestSVLIsAsItsShaderLooksUp follows a distorted pixel through SVL's steps: texture
// coordinates, its enlargement about the middle, its frustum, its polynomial.
func TestSVLIsAsItsShaderLooksUp(t *testing.T) {
	a := [4]float64{-0.09, 0.012, -0.002, 0.0003}
	const width, height, xi = 640, 480, 0.9
	pinhole, err := camera.NewLens(width, height, 75)
	require.NoError(t, err)
	l, err := pinhole.SVL(a)
	require.NoError(t, err)
	fisheye, err := pinhole.SVLFisheye(a, xi)
	require.NoError(t, err)

	frustumWidth := 2 * math.Tan(75./2*math.Pi/180)
	frustumHeight := frustumWidth * height / width
	r2 := (frustumWidth*frustumWidth + frustumHeight*frustumHeight) / 4
	factor := a[0]*r2 + a[1]*r2*r2 + a[2]*r2*r2*r2 + a[3]*r2*r2*r2*r2
	b := [4]float64{
		-a[0], 3*math.Pow(a[0], 2) - a[1], 8*a[0]*a[1] - 12*math.Pow(a[0], 3) - a[2],
		55*math.Pow(a[0], 4) + 10*a[0]*a[2] - 55*a[0]*a[0]*a[1] + 5*a[1]*a[1] - a[3],
	}
	straight := func(u, v float64) (x, y float64) {
		x, y = (u-0.5)*frustumWidth, (v-0.5)*frustumHeight
		r2 := x*x + y*y
		k := 1 + b[0]*r2 + b[1]*r2*r2 + b[2]*r2*r2*r2 + b[3]*r2*r2*r2*r2
		return x * k, y * k
	}
	for pv := 0.0; pv < height; pv += 37 {
		for pu := 0.0; pu < width; pu += 29 {
			u, v := (pu+0.5)/width, (pv+0.5)/height
			x, y := straight((1+factor)*u-factor/2, (1+factor)*v-factor/2)
			ray := l.Ray(pu, pv)
			assert.InDeltaSlice(t, []float64{x, y, 1}, ray[:], 1e-12)
			x, y = straight(u, v)
			s := x*x + y*y
			lambda := (xi + math.Sqrt(1+(1-xi*xi)*s)) / (s + 1)
			ray = fisheye.Ray(pu, pv)
			assert.InDeltaSlice(t, []float64{lambda * x, lambda * y, lambda - xi}, ray[:], 1e-12)
			assert.InDelta(t, 1, ray.Len(), 1e-12)
		}
	}
	// The corner of the picture is the corner of the field of view, to the series'
	// last term, and the a polynomial leads back.
	corner := l.Ray(-0.5, -0.5)
	assert.InDelta(t, -frustumWidth/2, corner[0], 0.004)
	u, v, ok := l.Project(mgl64.Vec3{0.2, 0.1, 1})
	require.True(t, ok)
	s := 0.05
	k := (1 + a[0]*s + a[1]*s*s + a[2]*s*s*s + a[3]*s*s*s*s) / (1 + factor)
	assert.InDelta(t, pinhole.Fx*0.2*k+pinhole.Cx, u, 1e-3)
	assert.InDelta(t, pinhole.Fy*0.1*k+pinhole.Cy, v, 1e-3)
}

// TestPixelsBeyondTheLensSeeNothing has lenses whose polynomial turns back within the
// picture, and a sphere that ends there.
func TestPixelsBeyondTheLensSeeNothing(t *testing.T) {
	wide, err := camera.NewLens(400, 300, 140)
	require.NoError(t, err)
	plumb, err := wide.PlumbBob(-0.3, 0, 0, 0, 0)
	require.NoError(t, err)
	// x (1 - 0.3 x²) grows up to x = 1.054, where it is 0.7027.
	edge := plumb.Cx + plumb.Fx*2/3*math.Sqrt(1/0.9)
	assert.False(t, math.IsNaN(plumb.Ray(edge-0.01, plumb.Cy)[0]))
	assert.True(t, math.IsNaN(plumb.Ray(edge+0.01, plumb.Cy)[0]))
	_, _, ok := plumb.Project(mgl64.Vec3{1.06, 0, 1})
	assert.False(t, ok, "it would be seen twice")
	_, _, ok = plumb.Project(mgl64.Vec3{1.05, 0, 1})
	assert.True(t, ok)

	sphere, err := wide.SVLFisheye([4]float64{}, 1.25)
	require.NoError(t, err)
	edge = sphere.Cx + sphere.Fx/0.75 // m² = 1 / (ξ² - 1)
	assert.False(t, math.IsNaN(sphere.Ray(edge-0.01, sphere.Cy)[0]))
	assert.True(t, math.IsNaN(sphere.Ray(edge+0.01, sphere.Cy)[0]))
	assert.InDelta(t, -1/1.25, sphere.Ray(edge-1e-9, sphere.Cy)[2], 1e-3, "as far back as it sees")
	_, _, ok = sphere.Project(mgl64.Vec3{0, 0.1, -1})
	assert.False(t, ok)
}

func TestDistortionsThatCannotBe(t *testing.T) {
	l, err := camera.NewLens(640, 480, 90)
	require.NoError(t, err)
	for name, make := range map[string]func() (camera.Lens, error){
		"nan":             func() (camera.Lens, error) { return l.PlumbBob(math.NaN(), 0, 0, 0, 0) },
		"infinite":        func() (camera.Lens, error) { return l.SVL([4]float64{math.Inf(1)}) },
		"no picture":      func() (camera.Lens, error) { return l.SVL([4]float64{-2}) },
		"below a pixel":   func() (camera.Lens, error) { return l.SVL([4]float64{1e6}) },
		"negative xi":     func() (camera.Lens, error) { return l.SVLFisheye([4]float64{}, -0.1) },
		"xi not a number": func() (camera.Lens, error) { return l.SVLFisheye([4]float64{}, math.NaN()) },
	} {
		_, err := make()
		assert.ErrorIs(t, err, camera.ErrLens, name)
	}
}

func TestInfoOfDistortedLenses(t *testing.T) {
	pinhole, err := camera.NewLens(640, 480, 90)
	require.NoError(t, err)
	plumb, err := pinhole.PlumbBob(-0.1, 0.2, 0.003, 0.004, 0.05)
	require.NoError(t, err)
	svl, err := pinhole.SVL([4]float64{-0.08, 0.01, -0.001, 0.0001})
	require.NoError(t, err)
	fisheye, err := pinhole.SVLFisheye([4]float64{-0.08, 0.01, -0.001, 0.0001}, 0.7)
	require.NoError(t, err)
	s := 1 + 0.75*0.75
	factor := 1 - 0.08*s + 0.01*s*s - 0.001*s*s*s + 0.0001*s*s*s*s
	for _, c := range []struct {
		lens  camera.Lens
		model string
		d     []float64
		f     float64
	}{
		{plumb, "plumb_bob", []float64{-0.1, 0.2, 0.003, 0.004, 0.05}, 320},
		// The series' first terms, not exactly.
		{svl, "plumb_bob", []float64{-0.08, 0.01, 0, 0, -0.001}, 320 / factor},
		// `sin a / (cos a + xi) = a / (1 + xi) (1 + a² (1 / (2 (1 + xi)) - 1/6) + ...)`, and
		// the -0.08 of the square of that.
		{fisheye, "equidistant", []float64{1/3.4 - 1./6 - 0.08/(1.7*1.7)}, 320 / 1.7},
	} {
		var info sample.CameraInfo
		c.lens.Info(camera.CenterOrigin, &info)
		assert.Equal(t, c.model, info.DistortionModel)
		assert.InDeltaSlice(t, c.d, info.D[:len(c.d)], 3e-3)
		assert.InDelta(t, c.f, info.K[0], 1e-3*c.f)
		assert.InDelta(t, c.f, info.K[4], 1e-3*c.f)
		assert.Equal(t, 319.5, info.K[2])
	}
	assert.Equal(t, plumb, must(pinhole.PlumbBob(-0.1, 0.2, 0.003, 0.004, 0.05)), "equal lenses share a view")
	assert.True(t, plumb == must(pinhole.PlumbBob(-0.1, 0.2, 0.003, 0.004, 0.05)))
}

func must(l camera.Lens, err error) camera.Lens {
	if err != nil {
		panic(err)
	}
	return l
}

// FuzzPlumbBob has any numbers make a lens that is refused, or whose rays project back
// to their pixels.
func FuzzPlumbBob(f *testing.F) {
	f.Add(-0.28, 0.07, 0.0008, -0.0004, 0.0)
	f.Add(1e300, -1e300, 1e200, 0.0, 1e-300)
	f.Add(-1e-9, 0.0, 5.0, -5.0, -40.0)
	f.Add(math.Inf(1), 0.0, 0.0, 0.0, 0.0)
	f.Fuzz(func(t *testing.T, k1, k2, p1, p2, k3 float64) {
		pinhole, err := camera.NewLens(64, 48, 90)
		require.NoError(t, err)
		l, err := pinhole.PlumbBob(k1, k2, p1, p2, k3)
		if err != nil {
			require.ErrorIs(t, err, camera.ErrLens)
			return
		}
		for _, p := range [][2]float64{{0, 0}, {31.5, 23.5}, {63, 47}, {5, 40}} {
			ray := l.Ray(p[0], p[1])
			if math.IsNaN(ray[0]) {
				continue
			}
			u, v, ok := l.Project(ray)
			require.True(t, ok)
			require.InDelta(t, p[0], u, 1e-6)
			require.InDelta(t, p[1], v, 1e-6)
		}
	})
}

func lens(t *testing.T, width, height int, fov float64) camera.Lens {
	t.Helper()
	l, err := camera.NewLens(width, height, fov)
	require.NoError(t, err)
	return l
}

// readByOpenCV projects a point of the optical frame as a reader of CameraInfo does, with the
// formulas of OpenCV's documentation. They are projectPoints (k1 k2 p1 p2 k3 k4 k5 k6) and
// fisheye::projectPoints (k1 k2 k3 k4), the latter's angle taken up to 180 degrees.
func readByOpenCV(t *testing.T, info *sample.CameraInfo, p mgl64.Vec3) (u, v float64) {
	t.Helper()
	var k [8]float64
	copy(k[:], info.D)
	x, y := p[0]/p[2], p[1]/p[2]
	switch info.DistortionModel {
	case "plumb_bob":
		require.Len(t, info.D, 5)
	case "rational_polynomial":
		require.Len(t, info.D, 8)
	case "equidistant":
		require.Len(t, info.D, 4)
		side := math.Hypot(p[0], p[1])
		if side == 0 {
			return info.K[2], info.K[5]
		}
		theta := math.Atan2(side, p[2])
		distorted := theta * (1 + k[0]*math.Pow(theta, 2) + k[1]*math.Pow(theta, 4) + k[2]*math.Pow(theta, 6) + k[3]*math.Pow(theta, 8))
		return info.K[0]*distorted*p[0]/side + info.K[2], info.K[4]*distorted*p[1]/side + info.K[5]
	default:
		t.Fatalf("no reader knows the model %q", info.DistortionModel)
	}
	r2 := x*x + y*y
	radial := (1 + k[0]*r2 + k[1]*r2*r2 + k[4]*r2*r2*r2) / (1 + k[5]*r2 + k[6]*r2*r2 + k[7]*r2*r2*r2)
	return info.K[0]*(x*radial+2*k[2]*x*y+k[3]*(r2+2*x*x)) + info.K[2],
		info.K[4]*(y*radial+k[2]*(r2+2*y*y)+2*k[3]*x*y) + info.K[5]
}

// TestCameraInfoDescribesItsPicture projects what the pixels see through K and D, as
// its readers do, and holds the places against the pixels: to the corners.
func TestCameraInfoDescribesItsPicture(t *testing.T) {
	type described struct {
		lens  camera.Lens
		model string
	}
	lenses := map[string]described{}
	for _, c := range distortedLenses(t, 640, 480) {
		lenses[c.name] = described{lens: c.lens}
	}
	for _, fov := range []float64{40, 60, 90, 110, 140} {
		pinhole := lens(t, 1920, 1080, fov)
		lenses[fmt.Sprintf("pinhole %v", fov)] = described{pinhole, "plumb_bob"}
		lenses[fmt.Sprintf("svl without numbers %v", fov)] = described{must(pinhole.SVL([4]float64{})), "plumb_bob"}
		if fov <= 90 {
			lenses[fmt.Sprintf("fisheye 1.2 %v", fov)] = described{must(pinhole.SVLFisheye([4]float64{}, 1.2)), "equidistant"}
		}
	}
	full := lens(t, 1920, 1080, 90)
	lenses["mild barrel"] = described{must(full.SVL([4]float64{-0.08, 0.01, -0.001, 0.0001})), "plumb_bob"}
	lenses["strong barrel"] = described{must(full.SVL([4]float64{-0.3, 0.1, 0, 0})), "plumb_bob"}
	lenses["wide barrel"] = described{must(lens(t, 1920, 1080, 120).SVL([4]float64{-0.08, 0.01, -0.001, 0.0001})), "plumb_bob"}
	lenses["wide and strong"] = described{must(lens(t, 1920, 1080, 120).SVL([4]float64{-0.2, 0.03, 0, 0})), "rational_polynomial"}
	lenses["flat fisheye"] = described{must(lens(t, 1920, 1080, 140).SVLFisheye([4]float64{}, 0)), "plumb_bob"}
	lenses["nearly flat fisheye"] = described{must(lens(t, 1920, 1080, 120).SVLFisheye([4]float64{}, 0.3)), "equidistant"}
	lenses["tall"] = described{must(lens(t, 480, 1920, 30).SVL([4]float64{-0.2, 0.03, 0, 0})), ""}
	lenses["a pixel"] = described{must(lens(t, 1, 1, 90).SVLFisheye([4]float64{-0.1}, 1)), "equidistant"}
	// Docs: two of a fisheye's examples.
	lenses["from corner to corner"] = described{must(lens(t, 640, 640, 93.6).SVLFisheye([4]float64{}, 1.2)), "equidistant"}
	lenses["a circle"] = described{must(lens(t, 640, 640, 112.8).SVLFisheye([4]float64{}, 1.2)), "equidistant"}
	for name, c := range lenses {
		t.Run(name, func(t *testing.T) {
			for origin, shift := range map[camera.PrincipalPoint]float64{camera.CenterOrigin: 0, camera.CornerOrigin: 0.5} {
				info := &sample.CameraInfo{D: []float64{9, 9, 9, 9, 9, 9, 9, 9, 9}}
				c.lens.Info(origin, info)
				assert.Equal(t, [2]int{c.lens.Width, c.lens.Height}, [2]int{info.Width, info.Height})
				if c.model != "" {
					assert.Equal(t, c.model, info.DistortionModel)
				}
				k := info.K
				assert.Equal(t, [9]float64{k[0], 0, c.lens.Cx + shift, 0, k[4], c.lens.Cy + shift, 0, 0, 1}, k)
				assert.Equal(t, [12]float64{k[0], 0, k[2], 0, 0, k[4], k[5], 0, 0, 0, 1, 0}, info.P, "the rectified picture's")
				assert.Equal(t, [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, info.R)
				worst, seen := 0.0, 0
				const steps = 60
				for i := range steps + 1 {
					for j := range steps + 1 {
						u := float64(c.lens.Width)*float64(i)/steps - 0.5
						v := float64(c.lens.Height)*float64(j)/steps - 0.5
						ray := c.lens.Ray(u, v)
						if math.IsNaN(ray[0]) {
							continue
						}
						seen++
						gotU, gotV := readByOpenCV(t, info, ray.Mul(7))
						worst = math.Max(worst, math.Hypot(gotU-shift-u, gotV-shift-v))
					}
				}
				t.Logf("%s: at most %.4f pixels off", info.DistortionModel, worst)
				assert.Positive(t, seen)
				assert.LessOrEqual(t, worst, 0.5, "pixels off")
			}
		})
	}
}

// TestALensThatNoModelDrawsIsUncalibrated: sensor_msgs says that by zeros, and readers
// refuse to rectify.
func TestALensThatNoModelDrawsIsUncalibrated(t *testing.T) {
	for name, l := range map[string]camera.Lens{
		"turns back within the picture": must(lens(t, 1920, 1080, 90).SVL([4]float64{0.2, 0.1, 0, 0})),
		"nearly half a turn":            must(lens(t, 1920, 1080, 120).SVL([4]float64{-0.3, 0.1, 0, 0})),
		"a fisheye of it":               must(lens(t, 1920, 1080, 120).SVLFisheye([4]float64{-0.3, 0.1, 0, 0}, 0.6)),
	} {
		info := &sample.CameraInfo{DistortionModel: "plumb_bob", D: make([]float64, 5), K: [9]float64{1}, R: [9]float64{1}, P: [12]float64{1}}
		l.Info(camera.CenterOrigin, info)
		assert.Equal(t, &sample.CameraInfo{Width: 1920, Height: 1080, D: []float64{}}, info, name)
	}
}
