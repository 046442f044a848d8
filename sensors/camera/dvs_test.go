//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// passing is a scene in which a dark box passes before a bright wall.
func passing() *scene.Scene {
	b := scenetest.NewBuilder("passing")
	b.Put("wall", scenetest.Box(1, 60, 40), scenetest.Matte("white", 0.8, 0.8, 0.8), scenetest.At(20, 0, 0, scene.TagWall))
	b.Put("box", scenetest.Box(1, 3, 3), scenetest.Matte("black", 0.05, 0.02, 0.1), scene.Placement{
		Motion: scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{8, 0, 0}, 0, 0, 0), Velocity: mgl64.Vec3{0, -6, 0}}, Tag: scene.TagCar,
	})
	return b.Scene
}

// TestEventsFollowThePicture predicts each pixel's events from the colours that
// another camera shows at the same instants.
func TestEventsFollowThePicture(t *testing.T) {
	r := newRig(t, passing(), nil,
		mounted{camera.DVSDefinition, forward(0), size(64, 48)},
		mounted{camera.RGBDefinition, forward(0), size(64, 48)})
	gray := func(m *sample.Image, u, v int) float64 {
		p := pixelAt(m, u, v)
		return math.Log(0.001 + (0.2989*float64(p[0])+0.587*float64(p[1])+0.114*float64(p[2]))/255)
	}
	r.fire(0)
	require.Empty(t, r.messages[0][camera.OutputEvents])
	before := r.picture(1)
	r.fire(simtime.Stamp(period))
	after := r.picture(1)
	got := map[[2]int]int{}
	m := last[*sample.DvsEvents](r, 0, camera.OutputEvents)
	for _, e := range m.Events {
		require.Greater(t, e.TimeNs, simtime.Stamp(0))
		require.LessOrEqual(t, e.TimeNs, simtime.Stamp(period))
		if e.Polarity {
			got[[2]int{int(e.X), int(e.Y)}]++
		} else {
			got[[2]int{int(e.X), int(e.Y)}]--
		}
	}
	want, brighter, darker := map[[2]int]int{}, 0, 0
	for v := range 48 {
		for u := range 64 {
			n := int((gray(after, u, v) - gray(before, u, v)) / 0.3)
			if n == 0 {
				continue
			}
			want[[2]int{u, v}] = n
			if n > 0 {
				brighter++
			} else {
				darker++
			}
		}
	}
	assert.Equal(t, want, got)
	assert.Greater(t, brighter, 20, "the box leaves")
	assert.Greater(t, darker, 20, "the box comes")
	assert.Equal(t, simtime.Stamp(period), m.Stamp)
	assert.Equal(t, "camera_optical", m.FrameID)
	assert.Equal(t, [2]int{64, 48}, [2]int{m.Width, m.Height})
	assert.InDelta(t, 90, m.FovDeg, 1e-9)
	info := last[*sample.CameraInfo](r, 0, camera.OutputInfo)
	assert.Equal(t, m.Header, info.Header)
}

func TestNothingIsPublishedOfAStillScene(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(15, 0), nil, mounted{camera.DVSDefinition, forward(1), size(64, 48)})
	for k := range int64(4) {
		r.fire(simtime.Stamp(k * period))
	}
	assert.Empty(t, r.messages[0][camera.OutputEvents])
	assert.Len(t, r.messages[0][camera.OutputInfo], 4, "the calibration goes on")
	assert.Empty(t, r.drops)
}

func TestDVSDefaultsAreCARLAs(t *testing.T) {
	s := camera.DVSDefinition.NewSettings()
	for name, want := range map[string]any{
		"positive_threshold": 0.3, "negative_threshold": 0.3, "sigma_positive_threshold": 0.0, "sigma_negative_threshold": 0.0,
		"refractory_period_ns": int64(0), "use_log": true, "log_eps": 0.001,
	} {
		assert.Equal(t, want, s.Value(name), name)
	}
}
