package camera_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// between returns a random number.
func between(rng *rand.Rand, low, high float64) float64 { return low + (high-low)*rng.Float64() }

// randomLenses are makers of random lenses as real cameras have them, by their models' names.
var randomLenses = map[string]func(*rand.Rand, camera.Lens) (camera.Lens, error){
	"pinhole": func(_ *rand.Rand, l camera.Lens) (camera.Lens, error) { return l, nil },
	"plumb_bob": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) {
		return l.PlumbBob(between(rng, -0.4, 0.3), between(rng, -0.1, 0.2), between(rng, -2e-3, 2e-3), between(rng, -2e-3, 2e-3), between(rng, -0.05, 0.05))
	},
	"rational":   func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) { return l.Rational(randomRational(rng, 8)) },
	"thin_prism": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) { return l.Rational(randomRational(rng, 12)) },
	"equidistant": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) {
		return l.Equidistant([4]float64{between(rng, -0.1, 0.1), between(rng, -0.05, 0.05), between(rng, -0.01, 0.01), between(rng, -0.003, 0.003)})
	},
	"mei": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) {
		return l.Mei(between(rng, 0, 2), between(rng, -0.3, 0.2), between(rng, -0.1, 0.1), between(rng, -2e-3, 2e-3), between(rng, -2e-3, 2e-3))
	},
	"f_theta to angles": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) {
		f := camera.FTheta{Polynomial: randomFTheta(rng, 1/between(rng, 200, 900), 1e3), ToAngle: true, Linear: [3]float64{between(rng, 0.98, 1.02), between(rng, -0.01, 0.01), between(rng, -0.01, 0.01)}}
		return l.FTheta(f)
	},
	"f_theta to pixels": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) {
		return l.FTheta(camera.FTheta{Polynomial: randomFTheta(rng, between(rng, 200, 900), 2), MaxAngle: between(rng, 1.5, math.Pi)})
	},
	"double_sphere": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) {
		return l.DoubleSphere(between(rng, -0.4, 0.6), between(rng, 0.3, 0.75))
	},
	"table": func(rng *rand.Rand, l camera.Lens) (camera.Lens, error) {
		of, err := l.Equidistant([4]float64{between(rng, 0, 0.1), between(rng, 0, 0.02)})
		if err != nil {
			return l, err
		}
		return l.Table(directions(of))
	},
}

// directions are those of the pixels of a lens.
func directions(l camera.Lens) (list []mgl64.Vec3) {
	for v := range l.Height {
		for u := range l.Width {
			list = append(list, l.Ray(float64(u), float64(v)))
		}
	}
	return list
}

func randomRational(rng *rand.Rand, n int) []float64 {
	d := []float64{between(rng, -0.3, 2), between(rng, -0.2, 0.5), between(rng, -2e-3, 2e-3), between(rng, -2e-3, 2e-3), between(rng, -0.05, 0.1)}
	d = append(d, d[0]+between(rng, 0, 0.4), d[1]+between(rng, -0.05, 0.3), d[4]+between(rng, 0, 0.05))
	for len(d) < n {
		d = append(d, between(rng, -3e-3, 3e-3))
	}
	return d
}

// randomFTheta is nearly linear up to far.
func randomFTheta(rng *rand.Rand, slope, far float64) []float64 {
	c := []float64{0, slope}
	for power := 2.0; power <= 5; power++ {
		c = append(c, between(rng, -0.05, 0.05)*slope/math.Pow(far, power-1))
	}
	return c
}

// randomLens is a lens of a model, for a picture of a size. Its pixels aren't square, it has a skew, and the
// axis isn't in the middle.
func randomLens(t *testing.T, model string, k, width, height int) camera.Lens {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(k), 7))
	l := lens(t, width, height, between(rng, 50, 120))
	l.Fy *= between(rng, 0.97, 1.03)
	l.Cx, l.Cy = l.Cx+between(rng, -20, 20), l.Cy+between(rng, -20, 20)
	if k%2 == 1 {
		l.Skew = between(rng, -2, 2)
	}
	l, err := randomLenses[model](rng, l)
	require.NoError(t, err)
	return l
}

// TestRaysOfEveryModelInvertItsProjection takes 10^5 points of 50 lenses of each.
func TestRaysOfEveryModelInvertItsProjection(t *testing.T) {
	for model := range randomLenses {
		t.Run(model, func(t *testing.T) {
			width, height, points := 1280, 960, 2000
			if model == "table" {
				width, height, points = 96, 72, 100
			}
			worst, seen := 0.0, 0
			for k := range 50 {
				l := randomLens(t, model, k, width, height)
				rng := rand.New(rand.NewPCG(uint64(k), 8))
				for range points {
					u, v := between(rng, -0.5, float64(width)-0.5), between(rng, -0.5, float64(height)-0.5)
					ray := l.Ray(u, v)
					if math.IsNaN(ray[0]) {
						continue
					}
					seen++
					gotU, gotV, ok := l.Project(ray.Mul(between(rng, 0.1, 50)))
					require.True(t, ok, "lens %d, %+v: what %v, %v sees appears somewhere", k, l, u, v)
					worst = math.Max(worst, math.Hypot(gotU-u, gotV-v))
				}
			}
			t.Logf("%d of %d points are seen, at most %.2g pixels off", seen, 50*points, worst)
			assert.LessOrEqual(t, worst, 1e-6, "pixels")
			assert.Greater(t, seen, 25*points)
		})
	}
}

// TestNoDirectionIsSeenTwice: what lies beyond the valid range appears nowhere. A direction that is seen at a
// pixel is seen there alone.
func TestNoDirectionIsSeenTwice(t *testing.T) {
	for model := range randomLenses {
		if model == "table" {
			continue
		}
		for k := range 50 {
			l := randomLens(t, model, k, 1280, 960)
			rng := rand.New(rand.NewPCG(uint64(k), 9))
			for range 200 {
				p := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64() + 0.5}.Normalize()
				u, v, ok := l.Project(p)
				if !ok || math.Abs(u) > 4000 || math.Abs(v) > 4000 {
					continue
				}
				ray := l.Ray(u, v)
				if math.IsNaN(ray[0]) { // the very end
					continue
				}
				require.InDelta(t, 1, ray.Normalize().Dot(p), 1e-9, "%s %d: %v appears at %v, %v, which sees %v", model, k, p, u, v, ray)
			}
		}
	}
}

// TestFoldsAreKnown has lenses that turn back at an angle that can be worked out by hand.
func TestFoldsAreKnown(t *testing.T) {
	square := lens(t, 800, 800, 130)
	for name, c := range map[string]struct {
		lens camera.Lens
		end  float64 // degrees from the axis
	}{
		// r (1 - 0.3 r²) turns at r = 1 / sqrt(0.9).
		"rational":   {must(square.Rational([]float64{-0.3, 0, 0, 0, 0, 0, 0, 0})), math.Atan(1/math.Sqrt(0.9)) * 180 / math.Pi},
		"thin_prism": {must(square.Rational(make([]float64, 12))), 0},
		// a (1 - 0.1 a²) turns at a = 1 / sqrt(0.3).
		"equidistant": {must(lens(t, 800, 800, 80).Equidistant([4]float64{-0.25})), math.Sqrt(1/0.75) * 180 / math.Pi},
		"f_theta":     {must(lens(t, 800, 800, 80).FTheta(camera.FTheta{Polynomial: []float64{0, 300, 0, -50}})), math.Sqrt2 * 180 / math.Pi},
		"f_theta end": {must(lens(t, 800, 800, 80).FTheta(camera.FTheta{Polynomial: []float64{0, 0.01}, ToAngle: true, MaxAngle: 1.5})), 1.5 * 180 / math.Pi},
		// m² = 1 / (xi² - 1), where cos a = -1 / xi; and likewise at m² = 1 / (2 alpha - 1).
		"mei":           {must(lens(t, 800, 800, 130).Mei(1.5, 0, 0, 0, 0)), math.Acos(-1/1.5) * 180 / math.Pi},
		"double_sphere": {must(lens(t, 800, 800, 130).DoubleSphere(0, 0.75)), math.Acos(-1./3) * 180 / math.Pi},
	} {
		t.Run(name, func(t *testing.T) { assert.InDelta(t, c.end, c.lens.Span().End, 2e-3) })
	}
}

// TestSpansAreWhatALensSees: of fisheyes whose angles are known.
func TestSpansAreWhatALensSees(t *testing.T) {
	l := lens(t, 640, 480, 90)
	l.Fx, l.Fy = 200, 200
	degrees := func(pixels float64) float64 { return 2 * pixels / 200 * 180 / math.Pi }
	assert.InDelta(t, 90, lens(t, 640, 480, 90).Span().Horizontal, 1e-9)
	s := must(l.Equidistant([4]float64{})).Span()
	assert.InDelta(t, degrees(320), s.Horizontal, 1e-9)
	assert.InDelta(t, degrees(240), s.Vertical, 1e-9)
	assert.InDelta(t, degrees(400), s.Diagonal, 1e-9)
	assert.Zero(t, s.End)
	l.Fx, l.Fy = 100, 100 // the picture's corners are beyond 180 degrees from the axis
	s = must(l.Equidistant([4]float64{})).Span()
	assert.InDelta(t, 360, s.Horizontal, 1e-5)
	assert.InDelta(t, 180, s.End, 1e-5)
}

func TestLensesThatCannotBeAreRefusedByName(t *testing.T) {
	l := lens(t, 8, 6, 90)
	rays := directions(l)
	naught := append([]mgl64.Vec3{{}}, rays[1:]...)
	blind := make([]mgl64.Vec3, len(rays))
	for i := range blind {
		blind[i] = mgl64.Vec3{math.NaN(), 0, 0}
	}
	for want, make := range map[string]func() (camera.Lens, error){
		"of 14 numbers":     func() (camera.Lens, error) { return l.Rational(make([]float64, 14)) },
		"finite numbers":    func() (camera.Lens, error) { return l.Rational([]float64{0, 0, math.NaN(), 0, 0, 0, 0, 0}) },
		"[NaN 0 0 0]":       func() (camera.Lens, error) { return l.Equidistant([4]float64{math.NaN()}) },
		"a xi of -1":        func() (camera.Lens, error) { return l.Mei(-1, 0, 0, 0, 0) },
		"[+Inf 0 0 0 0]":    func() (camera.Lens, error) { return l.Mei(math.Inf(1), 0, 0, 0, 0) },
		"an alpha of 1.5":   func() (camera.Lens, error) { return l.DoubleSphere(0, 1.5) },
		"[NaN 0]":           func() (camera.Lens, error) { return l.DoubleSphere(math.NaN(), 0) },
		"polynomial of 1":   func() (camera.Lens, error) { return l.FTheta(camera.FTheta{Polynomial: []float64{0}}) },
		"begins with 1, 2":  func() (camera.Lens, error) { return l.FTheta(camera.FTheta{Polynomial: []float64{1, 2}}) },
		"begins with 0, -2": func() (camera.Lens, error) { return l.FTheta(camera.FTheta{Polynomial: []float64{0, -2}}) },
		"[0 1; 1 1]": func() (camera.Lens, error) {
			return l.FTheta(camera.FTheta{Polynomial: []float64{0, 2}, Linear: [3]float64{0, 1, 1}})
		},
		"ends at 4 radians":  func() (camera.Lens, error) { return l.FTheta(camera.FTheta{Polynomial: []float64{0, 2}, MaxAngle: 4}) },
		"a focal length of":  func() (camera.Lens, error) { return l.FTheta(camera.FTheta{Polynomial: []float64{0, 1e-300}}) },
		"a table of 2 rays":  func() (camera.Lens, error) { return l.Table(rays[:2]) },
		"sees nothing":       func() (camera.Lens, error) { return l.Table(blind) },
		"pixel 0, 0 is [0 0": func() (camera.Lens, error) { return l.Table(naught) },
	} {
		_, err := make()
		require.ErrorIs(t, err, camera.ErrLens, want)
		assert.ErrorContains(t, err, want)
	}
}

// TestEqualTablesAreOneLens: their cameras share a view then.
func TestEqualTablesAreOneLens(t *testing.T) {
	l := lens(t, 32, 24, 100)
	of := must(l.Equidistant([4]float64{0.01}))
	assert.True(t, must(l.Table(directions(of))) == must(l.Table(directions(of))))
	other := must(l.Equidistant([4]float64{0.011}))
	assert.False(t, must(l.Table(directions(of))) == must(l.Table(directions(other))))
}

// TestATableIsTheLensThatItWasMadeOf: between its pixels, too.
func TestATableIsTheLensThatItWasMadeOf(t *testing.T) {
	of := must(lens(t, 320, 240, 80).Equidistant([4]float64{0.02, -0.01}))
	l := must(lens(t, 320, 240, 90).Table(directions(of)))
	assert.InDelta(t, of.Fx, l.Fx, 0.1)
	assert.InDelta(t, of.Cx, l.Cx, 1e-3)
	assert.InDelta(t, of.Cy, l.Cy, 1e-3)
	for v := -0.4; v < 239.5; v += 7.3 {
		for u := -0.4; u < 319.5; u += 9.7 {
			gotU, gotV, ok := of.Project(l.Ray(u, v))
			require.True(t, ok)
			assert.Less(t, math.Hypot(gotU-u, gotV-v), 1e-3)
		}
	}
	_, _, ok := l.Project(mgl64.Vec3{0, 0, -1})
	assert.False(t, ok)
	assert.True(t, math.IsNaN(l.Ray(-2, 0)[0]), "it has no rays beside the picture")
}

// TestCameraInfoHasTangentialTermsWhereAModelHasThem: of a lens that is narrow: wider ones have other terms.
func TestCameraInfoHasTangentialTermsWhereAModelHasThem(t *testing.T) {
	l := lens(t, 640, 480, 60)
	l.Fx, l.Fy = 1300, 1290
	for name, c := range map[string]struct {
		lens  camera.Lens
		model string
	}{
		"mei":      {must(l.Mei(0.9, -0.2, 0.08, 1e-3, -2e-3)), "plumb_bob"},
		"straight": {must(l.Mei(1.2, -0.05, 0.01, 0, 0)), "equidistant"},
	} {
		info := &sample.CameraInfo{}
		off := c.lens.Info(camera.CenterOrigin, info)
		assert.Equal(t, c.model, info.DistortionModel, name)
		assert.Positive(t, off, name)
		assert.LessOrEqual(t, off, 0.4, name)
	}
}

// TestCameraInfoOfEveryModel: its readers find what the picture has within half a pixel, and its own
// numbers to the digit.
func TestCameraInfoOfEveryModel(t *testing.T) {
	exact := map[string]string{"pinhole": "plumb_bob", "plumb_bob": "plumb_bob", "rational": "rational_polynomial", "thin_prism": "rational_polynomial", "equidistant": "equidistant"}
	for model := range randomLenses {
		t.Run(model, func(t *testing.T) {
			described, read := 0, 0.0
			for k := 0; k < 6; k += 2 { // those without skew, which no model has
				l := randomLens(t, model, k, 640, 480)
				info := &sample.CameraInfo{}
				off := l.Info(camera.CornerOrigin, info)
				if want := exact[model]; want != "" {
					assert.Equal(t, want, info.DistortionModel)
					assert.Zero(t, off)
				}
				if info.K[0] == 0 {
					continue
				}
				described++
				if model == "thin_prism" {
					assert.Len(t, info.D, 12)
					continue
				}
				for v := 0.0; v < 480; v += 13 {
					for u := 0.0; u < 640; u += 17 {
						ray := l.Ray(u, v)
						if math.IsNaN(ray[0]) {
							continue
						}
						gotU, gotV := readByOpenCV(t, info, ray)
						worst := math.Hypot(gotU-0.5-u, gotV-0.5-v)
						read = math.Max(read, worst)
						require.LessOrEqual(t, worst, math.Max(off+0.1, 1e-6), fmt.Sprint(l))
					}
				}
			}
			t.Logf("%d of 3 described, at most %.2g pixels off", described, read)
			assert.LessOrEqual(t, read, 0.5)
			if model != "f_theta to angles" && model != "mei" { // K can't have the matrix, nor a wide lens's model p1 and p2
				assert.GreaterOrEqual(t, described, 2)
			}
		})
	}
}
