package scene_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// ahead goes along x at 1 m/s.
type ahead struct{}

func (ahead) PoseAt(tNs int64) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{float64(tNs) / 1e9, 0, 0}, 0, 0, 0)
}

// TestKeepTakesWhatIsThere grows a history whose ring has turned.
func TestKeepTakesWhatIsThere(t *testing.T) {
	h := scene.NewHistory(&scene.Scene{Ego: spatial.Identity()}, ahead{}, 4)
	for k := range int64(6) {
		h.Record(k * 1e9)
	}
	h.Keep(7)
	h.Keep(3) // never fewer
	for k := int64(6); k < 9; k++ {
		h.Record(k * 1e9)
	}
	oldest, newest, ok := h.Span()
	require.True(t, ok)
	assert.EqualValues(t, 2e9, oldest)
	assert.EqualValues(t, 8e9, newest)
	for k := int64(2); k < 9; k++ {
		pose, _ := h.Pose(scene.EgoID, k*1e9)
		assert.InDelta(t, float64(k), pose.Position[0], 1e-12)
	}
}
