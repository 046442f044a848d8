package camera_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// TestACameraThatCannotBeginLeavesNothing runs out of each GPU object in turn, with a
// view that is rasterised and one that is traced.
func TestACameraThatCannotBeginLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		definition *sensors.Definition
		attributes map[string]any
	}{
		"pinhole": {camera.RGB, size(16, 12, "compressed", "jpeg")},
		"fisheye": {camera.DVS, size(16, 12, "lens", "svl_fisheye", "xi", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			sensortest.BeginFails(t, c.definition, sensortest.Options{Scene: scenetest.MovingWall(20, 1), Attributes: c.attributes})
		})
	}
}

// TestAViewIsDeletedWithItsLastUser has a camera and a Visibility look through one lens.
func TestAViewIsDeletedWithItsLastUser(t *testing.T) {
	r := newRigOn(t, gputest.NewFake().Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.Depth, forward(1), size(48, 32)})
	env := &sensors.Env{GL: r.thread, World: r.world, Resident: r.resident, History: r.history, Shared: r.shared}
	see := func(width int) *camera.Visibility {
		lens, err := camera.NewLens(width, 32, 90)
		require.NoError(t, err)
		v, err := camera.NewVisibility(t.Context(), env, camera.Sight{Mount: forward(1), Lens: lens, Near: 0.05, Far: 2000})
		require.NoError(t, err)
		return v
	}
	before := r.thread.Live()
	same := see(48)
	assert.ElementsMatch(t, before, r.thread.Live(), "what the camera sees")
	other := see(64)
	assert.Greater(t, len(r.thread.Live()), len(before))
	other.Close()
	assert.ElementsMatch(t, before, r.thread.Live())
	require.NoError(t, r.cameras[0].End())
	assert.Contains(t, r.thread.Live(), `texture "camera ids"`, "the other still looks")
	same.Close()
	assert.NotContains(t, r.thread.Live(), `texture "camera ids"`)
}
