package lidar_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

var definitions = []*sensors.Definition{lidar.RayCast, lidar.RayCastSemantic, lidar.LaserScan}

// TestALidarThatCannotBeginLeavesNothing runs out of each GPU object in turn.
func TestALidarThatCannotBeginLeavesNothing(t *testing.T) {
	for _, d := range definitions {
		t.Run(d.ID, func(t *testing.T) {
			sensortest.BeginFails(t, d, sensortest.Options{Scene: scenetest.MovingWall(20, 1)})
		})
	}
}

func TestALidarNeedsAGLThread(t *testing.T) {
	for _, d := range definitions {
		s, err := d.New(sensors.Spec{Definition: d, Settings: d.NewSettings(), RateHz: 10})
		require.NoError(t, err)
		env := &sensors.Env{Shared: &sensors.Shared{}}
		for i := range d.Outputs {
			env.Ports = append(env.Ports, d.Outputs[i].Open())
		}
		assert.ErrorIs(t, s.Begin(t.Context(), env), gpu.ErrNotSupported)
		assert.NoError(t, s.End())
	}
}
