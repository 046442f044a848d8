//go:build cgo

package lidar_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// A rolling scan has an actor from the moment at which it was spawned, within the
// scan, and up to the one at which it was removed.
func TestSpawnedActorIsInTheScanAtOnce(t *testing.T) {
	b := scenetest.NewBuilder("reserve")
	b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	// A ball around the sensor: whatever time it is, rays look at it.
	b.Put("ball", scenetest.Sphere(6, 12), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "static.ball", Tag: scene.TagWall, Reserved: true})
	ball := b.Scene.Actors[1]
	h := sensortest.New(t, lidar.RayCast, sensortest.Options{
		Scene: b.Scene, GL: gputest.Thread(t), Mount: mast, Attributes: map[string]any{"noise_stddev": 0.0},
	})
	seen := func() (first, last uint32, n int) {
		m := sensortest.Last[*sample.PointCloud](h, "points")
		for i := range m.Points {
			if p := &m.Points[i]; p.Instance == ball.ID {
				if n++; n == 1 {
					first, last = p.TimeNs, p.TimeNs
				}
				first, last = min(first, p.TimeNs), max(last, p.TimeNs)
			}
		}
		return first, last, n
	}
	h.Fire(scanPeriod)
	_, _, n := seen()
	assert.Zero(t, n)
	h.Fire(3 * scanPeriod / 2) // the next scan begins before the spawn
	_, err := h.Env.History.Spawn("static.ball", scene.Standing(spatial.FromRPY(mgl64.Vec3{0, 0, height}, 0, 0, 0)))
	require.NoError(t, err)
	h.Fire(2 * scanPeriod)
	first, last, n := seen()
	assert.Positive(t, n)
	assert.InDelta(t, scanPeriod/2+10e6, first, 1e6, "spawned at the tick after")
	assert.InDelta(t, scanPeriod, last, 1e6)
	require.NoError(t, h.Env.History.Remove(ball.ID))
	h.Fire(3 * scanPeriod)
	first, last, n = seen()
	assert.Positive(t, n)
	assert.InDelta(t, 0, first, 1e6)
	assert.InDelta(t, 10e6, last, 1e6, "removed at the tick after")
	h.Fire(4 * scanPeriod)
	_, _, n = seen()
	assert.Zero(t, n)
}
