package raybridge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// TestATickIsOneSubmission: whatever is due, a GPU gets its commands at once, with one fence a readback
// pool, and with a dispatch for a scan and for a picture.
func TestATickIsOneSubmission(t *testing.T) {
	fake := gputest.NewFake()
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(20, 1), Sensors: all.Registry(), Open: fake.Open, Step: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	scans, pictures := 0, 0
	for name, id := range map[string]string{"top": "sensor.lidar.ray_cast", "rear": "sensor.lidar.ray_cast", "radar": "sensor.other.radar"} {
		s, err := p.AddSensor(sensors.Config{ID: id, Name: name, Rate: simtime.Hz(10)})
		require.NoError(t, err)
		if id == "sensor.lidar.ray_cast" {
			receive(t, s, "points", func(*sample.PointCloud) { scans++ })
		} else {
			receive(t, s, "detections", func(*sample.Radar) { scans++ })
		}
	}
	for name, id := range map[string]string{"rgb": "sensor.camera.rgb", "depth": "sensor.camera.depth", "labels": "sensor.camera.semantic_segmentation"} {
		s, err := p.AddSensor(sensors.Config{ID: id, Name: name, Attributes: map[string]any{"image_size_x": 32, "image_size_y": 24}})
		require.NoError(t, err)
		receive(t, s, "image", func(*sample.Image) { pictures++ })
	}
	require.NoError(t, p.Step(t.Context(), 3)) // what is made once has been made
	scans, pictures = 0, 0
	fake.ClearLog()
	require.NoError(t, p.Step(t.Context(), 1))
	require.Equal(t, [2]int{3, 3}, [2]int{scans, pictures})
	count := map[string]int{}
	for _, call := range fake.Log() {
		word, _, _ := strings.Cut(call, " ")
		count[word]++
	}
	assert.Equal(t, 1, count["Flush"])
	assert.Equal(t, 6, count["CreateFence"])
	assert.Equal(t, 6, count["Dispatch"])
	assert.Equal(t, 6, count["Barrier"])
	assert.Equal(t, 6, count["CopyBuffer"])
}

func receive[E any](t *testing.T, s *pipeline.Sensor, output string, f func(*E)) {
	t.Helper()
	_, err := pipeline.Listen(s, output, func(_ sensors.Tick, m *E) { f(m) })
	require.NoError(t, err)
}
