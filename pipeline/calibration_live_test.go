//go:build cgo

package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestACalibrationKeepsItsTurn: a camera of which nothing else is listened to
// publishes between the sensors beside it, in the order of the rig (law T5).
func TestACalibrationKeepsItsTurn(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Sensors: all.Registry()})
	before := add(t, p, pipeline.SensorConfig{ID: "sensor.other.imu", Name: "before"})
	camera := add(t, p, pipeline.SensorConfig{ID: "sensor.camera.rgb", Name: "camera", Rate: "100", Attributes: map[string]any{"image_size_x": 16, "image_size_y": 16}})
	after := add(t, p, pipeline.SensorConfig{ID: "sensor.other.imu", Name: "after"})
	var order []string // callbacks of a stepped run come one at a time
	listen(t, before, "imu", func(sensors.Tick, *sample.Imu) { order = append(order, "before") })
	listen(t, camera, "camera_info", func(sensors.Tick, *sample.CameraInfo) { order = append(order, "camera") })
	listen(t, after, "imu", func(sensors.Tick, *sample.Imu) { order = append(order, "after") })
	require.NoError(t, p.Run(context.Background(), time.Second))
	require.Len(t, order, 300)
	for i, name := range order {
		require.Equal(t, []string{"before", "camera", "after"}[i%3], name, "message %d", i)
	}
	assert.EqualValues(t, 100, p.Summary().Sensors[2].Messages+p.Summary().Sensors[3].Messages)
}
