//go:build cgo

package pipeline_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/gnss"
	"github.com/raybridge/raybridge/sensors/imu"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/odometry"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/transform"
)

func registry() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(imu.Definition, gnss.Definition, odometry.Definition, transform.Definition, lidar.RayCast))
}

func opener(t testing.TB) gpu.Opener {
	t.Helper()
	return func() (*gpu.Context, error) {
		c, err := eglctx.Open(eglctx.Options{Device: os.Getenv("GL_DEVICE"), Debug: true})()
		if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
			return nil, errSkip
		}
		return c, err
	}
}

var errSkip = errors.New("no live OpenGL")

// newPipeline makes a pipeline in front of a moving wall; it is closed with the test.
func newPipeline(t testing.TB, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	return newPipelineIn(t, scenetest.MovingWall(30, 5), c)
}

// newPipelineIn is newPipeline in a scene.
func newPipelineIn(t testing.TB, in *scene.Scene, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	c.Scene, c.Open = in, opener(t)
	if c.Sensors == nil {
		c.Sensors = registry()
	}
	p, err := pipeline.New(t.Context(), c)
	if errors.Is(err, errSkip) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	return p
}

func add(t testing.TB, p *pipeline.Pipeline, c pipeline.SensorConfig) *pipeline.Sensor {
	t.Helper()
	s, err := p.AddSensor(c)
	require.NoError(t, err)
	return s
}

func listen[M any](t testing.TB, s *pipeline.Sensor, output string, call func(sensors.Tick, M)) {
	t.Helper()
	_, err := pipeline.Listen(s, output, call)
	require.NoError(t, err)
}

func TestStepsPublishOnTheGrid(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	scanner := add(t, p, pipeline.SensorConfig{ID: lidar.ID, Name: "lidar", Pose: rig.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16"}})
	inertial := add(t, p, pipeline.SensorConfig{ID: "sensor.other.imu", Name: "imu", Rate: "13.4"})
	unheard := add(t, p, pipeline.SensorConfig{ID: "sensor.other.gnss", Name: "gnss"})
	var stamps, scans []int64
	listen(t, inertial, "imu", func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, m.StampNs) })
	listen(t, scanner, "points", func(at sensors.Tick, m *sample.PointCloud) {
		scans = append(scans, m.StampNs)
		assert.NotEmpty(t, m.Points)
		assert.Equal(t, m.StampNs+100_000_000, at.TimeNs)
	})
	require.NoError(t, p.Run(t.Context(), time.Second))

	require.Len(t, scans, 10)
	for i, s := range scans {
		assert.EqualValues(t, i*100_000_000, s)
	}
	require.Len(t, stamps, 13)
	for k, s := range stamps {
		assert.EqualValues(t, int64(k+1)*5_000_000_000/67, s)
	}
	summary := p.Summary()
	assert.Equal(t, 1.0, summary.SimS)
	assert.Positive(t, summary.RealTimeFactor)
	byTopic := map[string]pipeline.SensorSummary{}
	for _, row := range summary.Sensors {
		byTopic[row.Topic] = row
	}
	assert.EqualValues(t, 10, byTopic["/lidar/points"].Messages)
	assert.Positive(t, byTopic["/lidar/points"].LatencyP50Ms)
	assert.True(t, byTopic[unheard.Topics()[0]].Idle)
}

func TestStepAdvancesBySteps(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Step: 20 * time.Millisecond})
	s := add(t, p, pipeline.SensorConfig{ID: "sensor.other.odometry", Name: "odom", Rate: "50"})
	n := 0
	listen(t, s, "odometry", func(sensors.Tick, *sample.Odometry) { n++ })
	require.NoError(t, p.Step(t.Context(), 3))
	assert.Equal(t, 3, n)
	require.NoError(t, p.Step(t.Context(), 2))
	assert.Equal(t, 5, n)
}

func TestRealtimeFollowsTheClock(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Mode: pipeline.Realtime, Scale: 2})
	scanner := add(t, p, pipeline.SensorConfig{ID: lidar.ID, Name: "lidar", Pose: rig.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16", "columns": 180}})
	inertial := add(t, p, pipeline.SensorConfig{ID: "sensor.other.imu", Name: "imu", Rate: "20"})
	var stamps []int64
	scans := 0
	listen(t, inertial, "imu", func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, m.StampNs) })
	listen(t, scanner, "points", func(sensors.Tick, *sample.PointCloud) { scans++ })
	begun := time.Now()
	require.NoError(t, p.Run(t.Context(), time.Second))
	assert.GreaterOrEqual(t, time.Since(begun), 500*time.Millisecond)
	assert.NotEmpty(t, stamps)
	for _, s := range stamps {
		assert.Zero(t, s%50_000_000, "stamp %d is off the grid", s)
	}
	assert.Positive(t, scans)
}

func TestTheCallersEndIsNoError(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	s := add(t, p, pipeline.SensorConfig{ID: lidar.ID, Name: "lidar", Pose: rig.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16"}})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	listen(t, s, "points", func(sensors.Tick, *sample.PointCloud) {
		if n++; n == 3 {
			cancel()
		}
	})
	require.NoError(t, p.Run(ctx, 0))
	assert.GreaterOrEqual(t, n, 3)
}

func TestWrongUse(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	s := add(t, p, pipeline.SensorConfig{ID: "sensor.other.imu", Name: "imu"})
	_, err := p.AddSensor(pipeline.SensorConfig{ID: "sensor.other.imu", Name: "imu"})
	require.ErrorIs(t, err, rig.ErrName)
	_, err = p.AddSensor(pipeline.SensorConfig{ID: "sensor.other.gnss", Name: "gnss", Topic: "/imu", Rate: "0"})
	require.Error(t, err)
	_, err = p.AddSensor(pipeline.SensorConfig{ID: "sensor.other.imu", Name: "imu2", Topic: "/imu"})
	require.ErrorIs(t, err, pipeline.ErrTopic)
	_, err = pipeline.Listen(s, "imu", func(sensors.Tick, *sample.Image) {})
	require.ErrorIs(t, err, pipeline.ErrOutput)
	require.NoError(t, p.Step(t.Context(), 1))
	require.NoError(t, p.Close(t.Context()))
	_, err = p.AddSensor(pipeline.SensorConfig{ID: "sensor.other.gnss", Name: "late"})
	require.ErrorIs(t, err, pipeline.ErrClosed)
}
