//go:build cgo

package scene_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/spatial"
)

// Rays meet who is there at their own time: an actor that comes within the window,
// one that goes in it, and one that comes and goes; against the float64 tracer.
func TestRaysMeetWhoIsThereAtTheirTime(t *testing.T) {
	s, _, driving, reserved := garage(t)
	w := buildWorld(t, s)
	h := scene.NewHistory(s, nil, 0)
	wall := func(x, y float64) scene.Motion { return along(mgl64.Vec3{x, y, 1}, 3) }
	for at := int64(0); at <= 200e6; at += 10e6 {
		switch at {
		case 130e6:
			_, err := h.SpawnActor(reserved[0].ID, wall(6, 2))
			require.NoError(t, err)
		case 140e6:
			require.NoError(t, h.Remove(driving.ID))
			_, err := h.SpawnActor(reserved[1].ID, wall(8, -4))
			require.NoError(t, err)
		case 170e6:
			require.NoError(t, h.Remove(reserved[1].ID))
		}
		h.Record(at)
	}
	rays := randomRays(8, 6000, 12)
	hits := newCaster(t, w, h).cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}, 1)
	a := compare(scenetest.NewTracer(s, h.Pose), w, rays, hits, 100e6)
	assert.Zero(t, a.Wrong, a.String())
	assert.GreaterOrEqual(t, a.Share(), 0.9999)
	seen := map[uint32][2]float32{} // first and last time
	for i, hit := range hits {
		if hit.mover < 0 {
			continue
		}
		id, at := w.Movers[hit.mover].Actor.ID, rays[i].seconds
		span, ok := seen[id]
		if !ok {
			span = [2]float32{at, at}
		}
		seen[id] = [2]float32{min(span[0], at), max(span[1], at)}
	}
	for id, want := range map[uint32][2]float64{driving.ID: {0, 0.04}, reserved[0].ID: {0.03, 0.1}, reserved[1].ID: {0.04, 0.07}} {
		got := seen[id]
		assert.True(t, float64(got[0]) >= want[0]-1e-6 && float64(got[1]) <= want[1]+1e-6, "actor %d is seen from %v", id, got)
		assert.Greater(t, float64(got[1]-got[0]), 0.8*(want[1]-want[0]), "actor %d", id)
	}
}
