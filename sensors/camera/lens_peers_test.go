//go:build peers

package camera_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/camera/calibration"
)

// measured are the numbers of a camera, as testdata/peers/opencv.py reads them.
type measured struct {
	Model         string
	Width, Height int
	K             [9]float64
	D             []float64
	Xi, Alpha     float64
	Polynomial    []float64
	ToAngle       bool
	Linear        [3]float64
}

// lens makes the lens of the numbers.
func (m *measured) lens(t *testing.T) camera.Lens {
	t.Helper()
	l := lens(t, m.Width, m.Height, 90)
	l.Fx, l.Skew, l.Cx, l.Fy, l.Cy = m.K[0], m.K[1], m.K[2], m.K[4], m.K[5]
	d := append(append([]float64{}, m.D...), 0) // k3 where there is none
	var err error
	switch m.Model {
	case "plumb_bob":
		l, err = l.PlumbBob(d[0], d[1], d[2], d[3], d[4])
	case "rational", "thin_prism":
		l, err = l.Rational(m.D)
	case "equidistant":
		l, err = l.Equidistant([4]float64(d))
	case "mei":
		l, err = l.Mei(m.Xi, d[0], d[1], d[2], d[3])
	case "double_sphere":
		l, err = l.DoubleSphere(m.Xi, m.Alpha)
	case "f_theta":
		l, err = l.FTheta(camera.FTheta{Polynomial: m.Polynomial, ToAngle: m.ToAngle, Linear: m.Linear})
	}
	require.NoError(t, err)
	return l
}

// measuredLenses are makers of the numbers of random lenses.
var measuredLenses = map[string]func(*rand.Rand, *measured){
	"pinhole": func(_ *rand.Rand, m *measured) { m.Model = "pinhole" },
	"plumb_bob of 4": func(rng *rand.Rand, m *measured) {
		m.Model, m.D = "plumb_bob", []float64{between(rng, -0.4, 0.3), between(rng, -0.1, 0.2), between(rng, -2e-3, 2e-3), between(rng, -2e-3, 2e-3)}
	},
	"plumb_bob of 5": func(rng *rand.Rand, m *measured) {
		m.Model, m.D = "plumb_bob", []float64{between(rng, -0.4, 0.3), between(rng, -0.1, 0.2), between(rng, -2e-3, 2e-3), between(rng, -2e-3, 2e-3), between(rng, -0.05, 0.05)}
	},
	"rational":   func(rng *rand.Rand, m *measured) { m.Model, m.D = "rational", randomRational(rng, 8) },
	"thin_prism": func(rng *rand.Rand, m *measured) { m.Model, m.D = "thin_prism", randomRational(rng, 12) },
	"equidistant": func(rng *rand.Rand, m *measured) {
		m.K[0], m.K[4] = 0.6*m.K[0], 0.6*m.K[4] // it sees behind itself, too
		m.Model, m.D = "equidistant", []float64{between(rng, -0.1, 0.1), between(rng, -0.05, 0.05), between(rng, -0.01, 0.01), between(rng, -0.003, 0.003)}
	},
	"mei": func(rng *rand.Rand, m *measured) {
		m.Model, m.Xi = "mei", between(rng, 0, 2)
		m.D = []float64{between(rng, -0.3, 0.2), between(rng, -0.1, 0.1), between(rng, -2e-3, 2e-3), between(rng, -2e-3, 2e-3)}
	},
	"double_sphere": func(rng *rand.Rand, m *measured) {
		m.Model, m.Xi, m.Alpha = "double_sphere", between(rng, -0.4, 0.6), between(rng, 0.3, 0.75)
	},
	"f_theta to angles": func(rng *rand.Rand, m *measured) {
		m.Model, m.Polynomial, m.ToAngle = "f_theta", randomFTheta(rng, 1/between(rng, 200, 900), 1e3), true
		m.Linear, m.K[1] = [3]float64{between(rng, 0.98, 1.02), between(rng, -0.01, 0.01), between(rng, -0.01, 0.01)}, 0
	},
	"f_theta to pixels": func(rng *rand.Rand, m *measured) {
		m.Model, m.Polynomial = "f_theta", randomFTheta(rng, between(rng, 200, 900), 2)
		m.Linear, m.K[1] = [3]float64{between(rng, 0.98, 1.02), between(rng, -0.01, 0.01), between(rng, -0.01, 0.01)}, 0
	},
}

// measuredLens returns the numbers of a random lens. Every other one has a skew.
func measuredLens(model string, k int) measured {
	const width, height = 1280, 960
	rng := rand.New(rand.NewPCG(uint64(k), 17))
	f := between(rng, 350, 1300)
	m := measured{Width: width, Height: height}
	m.K = [9]float64{f, 0, width/2 + between(rng, -20, 20), 0, f * between(rng, 0.97, 1.03), height/2 + between(rng, -20, 20), 0, 0, 1}
	if k%2 == 1 {
		m.K[1] = between(rng, -2, 2)
	}
	measuredLenses[model](rng, &m)
	return m
}

// openCV has Debian's OpenCV do something with lenses in a folder.
func openCV(t *testing.T, what, folder string, lenses []measured) {
	t.Helper()
	text, err := json.Marshal(lenses)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "lenses.json"), text, 0o600))
	out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/peers/opencv.py", what, folder).CombinedOutput()
	require.NoError(t, err, "%s\nmake setup-peers installs OpenCV", out)
}

// TestPeerOpenCVProjectsLikeLenses: of 10^5 points of 50 lenses of each model OpenCV or, where it has none, numpy by the
// paper's formula says that they appear where the lens has them, and where the lens saw their rays.
func TestPeerOpenCVProjectsLikeLenses(t *testing.T) {
	const lenses, points = 50, 2000
	for model := range measuredLenses {
		t.Run(model, func(t *testing.T) {
			var list []measured
			var made []camera.Lens
			var seen []mgl64.Vec3
			var at []mgl64.Vec2
			behind := 0
			for k := range lenses {
				m := measuredLens(model, k)
				l := m.lens(t)
				list, made = append(list, m), append(made, l)
				rng := rand.New(rand.NewPCG(uint64(k), 18))
				for tries := 0; len(seen) < (k+1)*points; tries++ {
					require.Less(t, tries, 10*points, "lens %d sees next to nothing: %+v", k, m)
					u, v := between(rng, -0.5, float64(m.Width)-0.5), between(rng, -0.5, float64(m.Height)-0.5)
					ray := l.Ray(u, v)
					if math.IsNaN(ray[0]) {
						continue
					}
					if ray[2] <= 0 {
						behind++
					}
					seen, at = append(seen, ray.Mul(between(rng, 0.1, 50))), append(at, mgl64.Vec2{u, v})
				}
			}
			folder := t.TempDir()
			buffer := &bytes.Buffer{}
			require.NoError(t, binary.Write(buffer, binary.LittleEndian, seen))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "points.f64"), buffer.Bytes(), 0o600))
			openCV(t, "project", folder, list)
			data, err := os.ReadFile(filepath.Join(folder, "pixels.f64"))
			require.NoError(t, err)
			theirs := make([]mgl64.Vec2, len(seen))
			_, err = binary.Decode(data, binary.LittleEndian, theirs)
			require.NoError(t, err)
			projected, looked := 0.0, 0.0
			for i, want := range theirs {
				u, v, ok := made[i/points].Project(seen[i])
				require.True(t, ok, "lens %d: %v", i/points, seen[i])
				require.False(t, math.IsNaN(want[0]) || math.IsNaN(want[1]), "lens %d: %v", i/points, seen[i])
				projected = math.Max(projected, math.Hypot(u-want[0], v-want[1]))
				looked = math.Max(looked, at[i].Sub(want).Len())
			}
			t.Logf("%d points, %d of them beside or behind the camera: projections %.2g, rays %.2g pixels off at most", len(seen), behind, projected, looked)
			assert.LessOrEqual(t, projected, 1e-6, "pixels")
			assert.LessOrEqual(t, looked, 1e-6, "pixels")
			switch list[0].Model {
			case "equidistant", "mei", "double_sphere", "f_theta":
				assert.Greater(t, behind, points)
			}
		})
	}
}

// TestPeerOpenCVsFilesToTheDigit: calibration files that OpenCV's FileStorage writes are read with all of their digits.
func TestPeerOpenCVsFilesToTheDigit(t *testing.T) {
	var list []measured
	for _, model := range []string{"pinhole", "plumb_bob of 4", "plumb_bob of 5", "rational", "thin_prism", "equidistant", "mei"} {
		for k := range 5 {
			list = append(list, measuredLens(model, k))
		}
	}
	folder := t.TempDir()
	openCV(t, "write", folder, list)
	for i, m := range list {
		for _, form := range []string{"yml", "json", "xml"} {
			name := fmt.Sprint(i, ".", form)
			text, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			c, err := calibration.Parse(name, text, "")
			require.NoError(t, err, "%s", text)
			assert.Equal(t, m.Model, c.Lens, name)
			assert.Equal(t, []int{m.Width, m.Height}, []int{c.Width, c.Height}, name)
			assert.Equal(t, m.K, c.Info.K, name)
			assert.Equal(t, m.D, c.D, name)
			assert.Equal(t, m.Xi, c.Xi, name)
		}
	}
}
