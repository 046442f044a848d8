//go:build cgo

package camera_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/spatial"
)

// steered is an ego that somebody outside drives: where it is doesn't follow from time.
type steered struct{ pose spatial.Pose }

func (s *steered) PoseAt(int64) spatial.Pose { return s.pose }

// TestTimeIsSetToTheSame has the ego elsewhere when an instant comes again.
func TestTimeIsSetToTheSame(t *testing.T) {
	ego := &steered{spatial.Identity()}
	r := newRig(t, scenetest.MovingWall(20, 0), ego, mounted{camera.Depth, forward(1), size(16, 16)})
	r.fire(second)
	before := depthAt(r.picture(0), 8, 4)
	ego.pose.Position = mgl64.Vec3{5, 0, 0}
	r.fire(second)
	assert.InDelta(t, before-5, depthAt(r.picture(0), 8, 4), 1e-3)
	assert.EqualValues(t, 2, camera.StatsOf(r.shared).Visibility)
}

// TestTimeIsSetBackBeforeACapture has an instant come again whose capture was announced,
// and never made.
func TestTimeIsSetBackBeforeACapture(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(20, 0), nil, mounted{camera.Depth, forward(1), size(16, 16)})
	require.NoError(t, r.cameras[0].Tick(sensors.Tick{TimeNs: 3 * second}))
	r.fire(second)
	r.fire(3 * second)
	assert.Len(t, r.messages[0][camera.OutputImage], 2)
	assert.EqualValues(t, 2, camera.StatsOf(r.shared).Shades, "once each")
	assert.Empty(t, r.drops)
}
