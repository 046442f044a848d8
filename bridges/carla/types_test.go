package carla_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/carla"
)

// registry is CARLA 0.9.15's list of sensors in its order: a place is a type id. Those
// that have no counterpart or send nothing are in brackets.
var registry = []string{
	"sensor.other.collision", "sensor.camera.depth", "sensor.camera.normals", "sensor.camera.dvs", "sensor.other.gnss",
	"sensor.other.imu", "(lane invasion)", "sensor.other.obstacle", "sensor.camera.optical_flow", "sensor.other.radar",
	"sensor.lidar.ray_cast_semantic", "sensor.lidar.ray_cast", "(RSS)", "sensor.camera.rgb",
	"sensor.camera.semantic_segmentation", "sensor.camera.instance_segmentation", "sensor.other.snapshot",
}

func TestTypeIDsAreCARLAs(t *testing.T) {
	want := map[string]uint64{}
	for id, sensor := range registry {
		if sensor[0] != '(' {
			want[sensor] = uint64(id)
		}
	}
	assert.Equal(t, want, maps.Clone(carla.TypeIDs))
}
