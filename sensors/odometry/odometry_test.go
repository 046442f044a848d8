package odometry_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/odometry"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// northward goes along the map's y and looks that way.
type northward struct{}

func (northward) PoseAt(tNs int64) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{3, 2 * float64(tNs) / 1e9, 0}, 0, 0, 90)
}

func TestTwistIsInTheChildFrame(t *testing.T) {
	h := sensortest.New(t, odometry.Definition, sensortest.Options{Ego: northward{}})
	h.Fire(2e9)
	m := sensortest.Last[*sample.Odometry](h, "odometry")
	assert.InDeltaSlice(t, []float64{3, 4, 0}, m.BodyPose.Position[:], 1e-9)
	assert.InDeltaSlice(t, []float64{2, 0, 0}, m.Twist.Linear[:], 1e-6)
	assert.Equal(t, odometry.OdomFrame, m.FrameID)
	assert.Equal(t, "base_link", m.ChildFrameID)
}

func TestConformance(t *testing.T) {
	sensortest.Run(t, odometry.Definition, sensortest.Suite{Changed: map[string]any{"child_frame": "rear"}})
}
