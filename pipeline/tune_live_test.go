//go:build cgo

package pipeline_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// TestTuneOnTheGPU: a lidar's noise and range and a camera's exposure change from the firing
// after the call on, and not before.
func TestTuneOnTheGPU(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Sensors: sensorsall.Registry()})
	scan, err := p.AddSensor(sensors.Config{ID: "sensor.lidar.ray_cast", Name: "lidar", Rate: simtime.Hz(20), Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{
		"preset": "uniform", "channels": 4, "columns": 90, "range": 200.0, "rolling": false, "dropoff_general_rate": 0.0, "dropoff_zero_intensity": 0.0,
	}})
	require.NoError(t, err)
	var spread []float64 // of the ranges about a smooth wall, for each scan; NaN for an empty one
	_, err = pipeline.Listen(scan, "points", func(_ sensors.Tick, m *sample.PointCloud) { spread = append(spread, roughness(m.Points)) })
	require.NoError(t, err)
	echoes, err := p.AddSensor(sensors.Config{ID: "sensor.other.radar", Name: "radar", Rate: simtime.Hz(20), Pose: sensors.Pose{Z: 2}})
	require.NoError(t, err)
	var seen []int
	_, err = pipeline.Listen(echoes, "detections", func(_ sensors.Tick, m *sample.Radar) { seen = append(seen, len(m.Detections)) })
	require.NoError(t, err)
	assert.ErrorIs(t, echoes.Tune(pipeline.Tuning{Rate: simtime.Hz(10)}), pipeline.ErrRateFixed)
	picture, err := p.AddSensor(sensors.Config{ID: "sensor.camera.rgb", Name: "camera", Rate: simtime.Hz(20), Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{
		"image_size_x": 16, "image_size_y": 16,
	}})
	require.NoError(t, err)
	var light []float64
	_, err = pipeline.Listen(picture, "image", func(_ sensors.Tick, m *sample.Image) { light = append(light, mean(m.Data)) })
	require.NoError(t, err)

	step := func() { require.NoError(t, p.Step(t.Context(), 5)) } // one firing of both
	step()
	require.NoError(t, scan.Tune(pipeline.Tuning{Attributes: map[string]any{"noise_stddev": 0.5}}))
	require.NoError(t, picture.Tune(pipeline.Tuning{Attributes: map[string]any{"exposure_compensation": -3.0}}))
	require.NoError(t, echoes.Tune(pipeline.Tuning{Attributes: map[string]any{"range": 5.0}}))
	step()
	require.NoError(t, echoes.Tune(pipeline.Tuning{Attributes: map[string]any{"range": 100.0}}))
	require.NoError(t, scan.Tune(pipeline.Tuning{Attributes: map[string]any{"range": 1.0, "range_min": 0.5}}))
	require.NoError(t, picture.Tune(pipeline.Tuning{Attributes: map[string]any{"exposure_compensation": 0.0}}))
	step()
	require.NoError(t, scan.Tune(pipeline.Tuning{Attributes: map[string]any{"range": 200.0, "noise_stddev": 0.0}}))
	step()
	require.Len(t, spread, 4)
	assert.Less(t, spread[0], 0.05)
	assert.Greater(t, spread[1], 0.2)
	assert.True(t, math.IsNaN(spread[2]), "nothing is within a metre")
	assert.InDelta(t, spread[0], spread[3], 0.05)
	require.Len(t, seen, 4)
	assert.Greater(t, seen[0], 10)
	assert.Zero(t, seen[1], "the floor is further away")
	assert.Greater(t, seen[2], 10)
	require.Len(t, light, 4)
	assert.Less(t, light[1], 0.8*light[0])
	assert.InDelta(t, light[0], light[2], 0.02*light[0])
}

// roughness is the mean difference of the ranges of neighbours in a ring, metres, jumps left out.
func roughness(points []sample.Point) float64 {
	sum, n, before := 0.0, 0, map[uint16]float64{}
	for i := range points {
		p := &points[i]
		r := math.Sqrt(float64(p.X)*float64(p.X) + float64(p.Y)*float64(p.Y) + float64(p.Z)*float64(p.Z))
		if last, known := before[p.Ring]; known && math.Abs(r-last) < 3 {
			sum, n = sum+math.Abs(r-last), n+1
		}
		before[p.Ring] = r
	}
	return sum / float64(n)
}

func mean(data []byte) (sum float64) {
	for _, b := range data {
		sum += float64(b)
	}
	return sum / float64(len(data))
}
