package groundtruth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// definitions are all sensors of the package.
var definitions = []*sensors.Definition{groundtruth.Boxes2DDefinition, groundtruth.Boxes3DDefinition}

func TestASensorNeedsAGLThread(t *testing.T) {
	for _, d := range definitions {
		s, err := d.New(sensors.Spec{Definition: d, Settings: d.NewSettings()})
		require.NoError(t, err)
		assert.ErrorIs(t, s.Begin(t.Context(), &sensors.Env{}), gpu.ErrNotSupported)
		assert.NoError(t, s.End())
	}
}

// TestASensorThatCannotBeginLeavesNothing runs out of each GPU object in turn.
func TestASensorThatCannotBeginLeavesNothing(t *testing.T) {
	for _, d := range definitions {
		t.Run(d.ID, func(t *testing.T) {
			sensortest.BeginFails(t, d, sensortest.Options{Scene: scenetest.MovingWall(20, 1)})
		})
	}
}
