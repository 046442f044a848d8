package rossample_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A stack that commands wheel angles in lgsvl_msgs compares what the vehicle reports with what
// it asked for. So the three messages have one sign, positive to the right.
func TestSteeringHasOneSign(t *testing.T) {
	for _, right := range []float32{0.25, 0, -0.5} {
		var asked sample.VehicleControl
		require.NoError(t, rossample.FromVehicleControlData(&asked, &ros.VehicleControlData{TargetWheelAngle: right}))
		assert.InDelta(t, -right, asked.SteeringAngle, 0, "a sample's is to the left")

		var told ros.VehicleOdometry
		require.NoError(t, rossample.VehicleOdometry(&told, &sample.VehicleOdometry{
			FrontWheelAngle: asked.SteeringAngle, RearWheelAngle: -asked.SteeringAngle,
		}))
		assert.Equal(t, right, told.FrontWheelAngle)
		assert.Equal(t, -right, told.RearWheelAngle)
		assert.False(t, right == 0 && (math.Signbit(float64(told.FrontWheelAngle)) || math.Signbit(asked.SteeringAngle)), "-0")

		var state ros.CanBusData
		require.NoError(t, rossample.CanBusData(&state, &sample.CanBus{Steering: float64(right)})) // to the right
		assert.Equal(t, right, state.SteerPct)
	}
}
