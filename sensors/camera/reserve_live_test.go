//go:build cgo

package camera_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/spatial"
)

// An actor held in reserve is neither seen nor does it throw a shadow; once it is
// spawned it does both in the next picture, and neither in the one after its removal.
func TestSpawnedActorIsInThePictureAtOnce(t *testing.T) {
	b := scenetest.NewBuilder("reserve")
	b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	b.Put("box", scenetest.Box(2, 2, 2), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "vehicle.box", Tag: scene.TagCar, Reserved: true})
	box := b.Scene.Actors[1]
	down := spatial.FromRPY(mgl64.Vec3{0, 0, 12}, 0, 90, 0)
	r := newRig(t, b.Scene, nil, mounted{camera.Instance, down, size(64, 64)}, mounted{camera.RGB, down, size(64, 64)})
	count := func() (pixels int) {
		m := r.picture(0)
		for v := range 64 {
			for u := range 64 {
				if p := at(m, u, v, 2); uint32(p[0])|uint32(p[1])<<8 == box.ID {
					pixels++
				}
			}
		}
		return pixels
	}
	fire := func(tNs int64) []byte {
		r.fire(tNs)
		return r.picture(1).Data
	}

	empty := fire(100e6)
	assert.Zero(t, count())
	_, err := r.history.Spawn("vehicle.*", scene.Standing(spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 0, 30)))
	require.NoError(t, err)
	there := fire(200e6)
	seen := count()
	assert.InDelta(t, 64*64*4/(18*18.), seen, 12, "a roof of 4 m² from 9 m above, where 18 m are in view")
	changed := 0
	for i := 0; i < len(empty); i += 3 {
		if string(empty[i:i+3]) != string(there[i:i+3]) {
			changed++
		}
	}
	assert.Greater(t, changed, seen+5, "its shadow beside it")
	require.NoError(t, r.history.Remove(box.ID))
	assert.Equal(t, empty, fire(300e6))
	assert.Zero(t, count())
}
