//go:build cgo

package ranging_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// ball is a scene of one ball, 0.2 m in radius, whose middle is at (x, y, z).
func ball(x, y, z float64) *scene.Scene {
	b := scenetest.NewBuilder("ball")
	b.Put("ball", scenetest.Sphere(0.2, 64), scenetest.Matte("ball", 1, 1, 1), scenetest.At(x, y, z, scene.TagStatic))
	return b.Scene
}

func measure(t *testing.T, s *scene.Scene, attributes map[string]any) *sample.Range {
	t.Helper()
	h := sensortest.New(t, ranging.UltrasonicDefinition, sensortest.Options{Scene: s, GL: gputest.Thread(t), Attributes: attributes})
	h.Fire(100_000_000)
	return sensortest.Last[*sample.Range](h, "range")
}

// TestUltrasonicDistanceOfTheNearestPoint: of the default's cone of 40 degrees up and down and
// 84.6 across.
func TestUltrasonicDistanceOfTheNearestPoint(t *testing.T) {
	set := func(name string, value any) map[string]any { return map[string]any{name: value} }
	for name, c := range map[string]struct {
		x, y, z, want float64
		attributes    map[string]any
	}{
		"ahead":               {1.5, 0, 0, 1.3, nil},
		"at the side":         {1, 0.8, 0, math.Sqrt(1.64) - 0.2, nil},
		"above":               {1.2, 0, 0.3, math.Hypot(1.2, 0.3) - 0.2, nil},
		"behind":              {-1, 0, 0, math.Inf(1), nil},
		"beside the cone":     {0.5, 1.2, 0, math.Inf(1), nil},
		"above the cone":      {1, 0, 0.8, math.Inf(1), nil},
		"too far":             {2.3, 0, 0, math.Inf(1), nil},
		"too near":            {0.45, 0, 0, math.Inf(-1), nil},
		"at the shortest end": {0.51, 0, 0, 0.31, nil},

		"in a longer range":     {2.3, 0, 0, 2.1, set("range", 3.0)},
		"in a shorter range":    {1.5, 0, 0, math.Inf(1), set("range", 1.25)},
		"nearer than it can be": {1.5, 0, 0, math.Inf(-1), set("range_min", 1.4)},
		"in a higher cone":      {1, 0, 0.8, math.Sqrt(1.64) - 0.2, set("vertical_fov", 80.0)},
		"beside a narrow cone":  {1, 0.8, 0, math.Inf(1), set("image_size_x", 160)},
		"in a wide cone":        {0.5, 1.2, 0, 1.1, set("image_size_x", 1200)},
		// Cells stay square: fewer rows of as many columns are a wider picture.
		"in a lower picture": {0.5, 1.2, 0, 1.1, set("image_size_y", 40)},
	} {
		t.Run(name, func(t *testing.T) {
			m := measure(t, ball(c.x, c.y, c.z), c.attributes)
			if math.IsInf(c.want, 0) {
				assert.Equal(t, float32(c.want), m.Range)
				return
			}
			assert.InDelta(t, c.want, m.Range, 1e-3)
			assert.Equal(t, simtime.Stamp(100_000_000), m.Stamp, "the instant of the rays, not of their return")
		})
	}
}

// TestUltrasonicDefaults are SVL's, and the cone follows from them.
func TestUltrasonicDefaults(t *testing.T) {
	o := sensors.DefaultsOf[ranging.Ultrasonic]()
	assert.Equal(t, []int{400, 160}, []int{o.Columns, o.Rows})
	assert.Equal(t, []float64{40, 0.3, 2}, []float64{o.VerticalFOV, o.RangeMin, o.Range})
	assert.Equal(t, "15", ranging.UltrasonicDefinition.Rate.String())
	m := measure(t, ball(1, 0, 0), nil)
	assert.InDelta(t, 2*math.Atan(2.5*math.Tan(20*math.Pi/180)), m.FieldOfView, 1e-6)
	assert.Equal(t, []float32{0.3, 2}, []float32{m.MinRange, m.MaxRange})
	assert.EqualValues(t, sample.RadiationUltrasound, m.RadiationType)
}

// TestUltrasonicRaysStayAsTheyWere: they are brought to the GPU once, and the ball is seen where
// it is at each firing.
func TestUltrasonicRaysStayAsTheyWere(t *testing.T) {
	s := ball(1.5, 0, 0)
	h := sensortest.New(t, ranging.UltrasonicDefinition, sensortest.Options{
		Scene: s, GL: gputest.Thread(t), Ego: scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{1, 0, 0}},
	})
	for k := range int64(3) {
		h.Fire(simtime.Stamp((1 + k) * 100_000_000))
		assert.InDelta(t, 1.2-0.1*float64(k), sensortest.Last[*sample.Range](h, "range").Range, 1e-3)
	}
}

// TestUltrasonicThePictureMayBeLarge: it is made when it is needed, not when it is looked at.
func TestUltrasonicThePictureMayBeLarge(t *testing.T) {
	s := ranging.UltrasonicDefinition.NewSettings()
	require.NoError(t, s.Set("image_size_x", 1920))
	require.NoError(t, s.Set("image_size_y", 1080))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ranging.UltrasonicDefinition.New(sensors.Spec{Definition: ranging.UltrasonicDefinition, Settings: s, Rate: simtime.Hz(15)})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	m := measure(t, ball(1.5, 0, 0), map[string]any{"image_size_x": 1920, "image_size_y": 1080})
	assert.InDelta(t, 1.3, m.Range, 1e-4)
}

func TestUltrasonicRangesMustBeInOrder(t *testing.T) {
	s := ranging.UltrasonicDefinition.NewSettings()
	require.NoError(t, s.Set("range_min", 3.0))
	_, err := ranging.UltrasonicDefinition.New(sensors.Spec{Definition: ranging.UltrasonicDefinition, Settings: s, Rate: simtime.Hz(15)})
	require.ErrorIs(t, err, sensors.ErrValue)
}
