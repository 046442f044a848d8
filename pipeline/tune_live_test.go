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

// TestRangesAndRatesOnTheGPU: what is published has the ranges and the number of rays that its
// firing had. The wall is some 30 m away, the floor 2 m below.
func TestRangesAndRatesOnTheGPU(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Sensors: sensorsall.Registry()})
	add := func(id string, attributes map[string]any) *pipeline.Sensor {
		s, err := p.AddSensor(sensors.Config{ID: id, Name: id, Rate: simtime.Hz(20), Pose: sensors.Pose{Z: 2}, Attributes: attributes})
		require.NoError(t, err)
		return s
	}
	plane := add("sensor.lidar.laser_scan", map[string]any{"rolling": false})
	var seen []int
	var limits []float32
	listen(t, plane, "scan", func(_ sensors.Tick, m *sample.LaserScan) {
		n := 0
		for _, r := range m.Ranges {
			if !math.IsInf(float64(r), 0) {
				n++
			}
		}
		seen, limits = append(seen, n), append(limits, m.RangeMax)
	})
	sonar := add("sensor.other.ultrasonic", nil)
	var distances, reach []float32
	listen(t, sonar, "range", func(_ sensors.Tick, m *sample.Range) {
		distances, reach = append(distances, m.Range), append(reach, m.MaxRange)
	})
	obstacle := add("sensor.other.obstacle", nil)
	var obstacles []simtime.Stamp
	listen(t, obstacle, "obstacle", func(_ sensors.Tick, m *sample.Obstacle) { obstacles = append(obstacles, m.Stamp) })
	radar := add("sensor.other.radar", nil)
	var echoes []int
	listen(t, radar, "detections", func(_ sensors.Tick, m *sample.Radar) { echoes = append(echoes, len(m.Detections)) })

	step := func(n int) { require.NoError(t, p.Step(t.Context(), n)) }
	set := func(s *pipeline.Sensor, name string, value float64) {
		require.NoError(t, s.Tune(pipeline.Tuning{Attributes: map[string]any{name: value}}))
	}
	step(5) // a firing of each
	set(plane, "range", 5)
	set(sonar, "range", 50)
	set(obstacle, "distance", 50)
	step(5)
	set(plane, "range", 100)
	set(sonar, "range", 1)
	set(obstacle, "distance", 5)
	require.NoError(t, radar.Tune(pipeline.Tuning{Rate: simtime.Hz(2)}))
	step(5)
	step(100)
	inf := float32(math.Inf(1))
	require.GreaterOrEqual(t, len(seen), 3)
	assert.Equal(t, []float32{100, 5, 100}, limits[:3])
	assert.Positive(t, seen[0])
	assert.Zero(t, seen[1])
	assert.Positive(t, seen[2])
	assert.Equal(t, []float32{2, 50, 1}, reach[:3])
	assert.Equal(t, []float32{inf, inf}, []float32{distances[0], distances[2]})
	assert.Less(t, distances[1], float32(50))
	assert.Equal(t, []simtime.Stamp{100e6}, obstacles, "only the longer way ends at the wall")
	require.GreaterOrEqual(t, len(echoes), 5)
	assert.Greater(t, echoes[4], 5*echoes[0], "a tenth of the rate is ten times the rays")
}

// TestScansLastAsLongAsTheRateSays: the times of a rolling scan's rays fill it, before a change
// of the rate and after it.
func TestScansLastAsLongAsTheRateSays(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Sensors: sensorsall.Registry()})
	plane, err := p.AddSensor(sensors.Config{ID: "sensor.lidar.laser_scan", Name: "plane", Rate: simtime.Hz(20), Pose: sensors.Pose{Z: 2}})
	require.NoError(t, err)
	cloud, err := p.AddSensor(sensors.Config{ID: "sensor.lidar.ray_cast", Name: "cloud", Rate: simtime.Hz(20), Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{
		"channels": 4, "columns": 360, "range": 200.0, "dropoff_general_rate": 0.0, "dropoff_zero_intensity": 0.0,
	}})
	require.NoError(t, err)
	var scan, rays []float64 // ms
	listen(t, plane, "scan", func(_ sensors.Tick, m *sample.LaserScan) {
		scan = append(scan, math.Round(1e3*float64(m.ScanTime)))
		rays = append(rays, math.Round(1e3*float64(m.TimeIncrement)*float64(len(m.Ranges))))
	})
	var last []float64 // of a cloud's points, ms
	listen(t, cloud, "points", func(_ sensors.Tick, m *sample.PointCloud) {
		latest := uint32(0)
		for i := range m.Points {
			latest = max(latest, m.Points[i].TimeNs)
		}
		last = append(last, math.Round(float64(latest)/1e6))
	})
	require.NoError(t, p.Step(t.Context(), 5))
	for _, s := range []*pipeline.Sensor{plane, cloud} {
		require.NoError(t, s.Tune(pipeline.Tuning{Rate: simtime.Hz(5)}))
	}
	require.NoError(t, p.Step(t.Context(), 40))
	assert.Equal(t, []float64{50, 50, 200, 200}, scan)
	assert.Equal(t, scan, rays)
	require.Len(t, last, len(scan))
	for i := range last {
		assert.InDelta(t, scan[i], last[i], 0.02*scan[i], "scan %d", i)
	}
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
