package camera_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

func lens(t *testing.T, width, height int, fov float64) camera.Lens {
	t.Helper()
	l, err := camera.NewLens(width, height, fov)
	require.NoError(t, err)
	return l
}

// readByOpenCV projects a point of the optical frame as a reader of CameraInfo does,
// with the formulas of OpenCV's documentation: projectPoints (k1 k2 p1 p2 k3 k4 k5 k6)
// and fisheye::projectPoints (k1 k2 k3 k4), the latter's angle taken up to 180 degrees.
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
