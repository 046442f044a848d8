package all_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// TestNothingComesFromOwnersThatAreNotThere: sensors that need no GPU say nothing of
// an actor that is to come at the next instant.
func TestNothingComesFromOwnersThatAreNotThere(t *testing.T) {
	for id, output := range map[string]string{
		"sensor.other.imu": "imu", "sensor.other.gnss": "fix", "sensor.other.gps_odometry": "gps_odometry",
		"sensor.other.ins_status": "ins_status", "sensor.other.odometry": "odometry", "sensor.other.transform": "tf",
		"sensor.other.can_bus": "can_bus", "sensor.other.vehicle_odometry": "vehicle_odometry",
		"sensor.other.speedometer": "speed", "sensor.other.signals": "signals",
	} {
		d, err := all.Registry().Get(id)
		require.NoError(t, err)
		world := &scene.Scene{Ego: spatial.Identity()}
		world.Reserve(&scene.Actor{Name: "bus", TypeID: "vehicle.bus"}, 1)
		h := sensortest.New(t, d, sensortest.Options{Scene: world, Owner: 1})
		h.Fire(100_000_000)
		bus, err := h.Env.History.Spawn("vehicle.bus", nil)
		require.NoError(t, err)
		require.Equal(t, h.Env.Owner, bus.ID)
		assert.Empty(t, h.Messages[output], id)
		h.Env.Owner = scene.EgoID
		h.Fire(200_000_000)
		assert.Len(t, h.Messages[output], 1, id)
	}
}
