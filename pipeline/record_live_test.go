//go:build cgo

package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/flow"
	sensorsall "github.com/raybridge/raybridge/sensors/all"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// recordingRig is one of each kind of sensor: cameras that share a pass, a lidar,
// and one that needs no GPU.
const recordingRig = `sensors:
  - {id: sensor.camera.rgb, name: cam, image_size_x: 48, image_size_y: 32, compressed: jpeg, pose: {z: 1.5}}
  - {id: sensor.camera.depth, name: depth, frame: cam, image_size_x: 48, image_size_y: 32, pose: {z: 1.5}}
  - {id: sensor.lidar.ray_cast, name: lidar, preset: VelodyneVLP16, columns: 90, noise_stddev: 0.02, pose: {z: 2}}
  - {id: sensor.other.imu, name: imu, rate: 13.4}
`

// recorder makes a pipeline that records the rig into a folder. The caller closes it.
func recorder(t *testing.T, open gpu.Opener, seed uint64, dir string) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: open, Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(),
		Seed: seed, OutDir: dir,
	})
	if errors.Is(err, errSkip) {
		t.Skip(err)
	}
	require.NoError(t, err)
	r, err := rig.Parse("r.yaml", []byte(recordingRig))
	require.NoError(t, err)
	_, err = p.AddRig(r)
	require.NoError(t, err)
	require.NoError(t, p.AddTransforms())
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "mcap:a.mcap?chunk=20000"}))
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "logging:a"}))
	return p
}

// record runs the rig for a second and returns the two recordings.
func record(t *testing.T, open gpu.Opener, seed uint64) (mcap, log []byte) {
	t.Helper()
	dir := t.TempDir()
	p := recorder(t, open, seed, dir)
	require.NoError(t, p.Run(t.Context(), time.Second))
	require.NoError(t, p.Close(t.Context()))
	var err error
	mcap, err = os.ReadFile(filepath.Join(dir, "a.mcap"))
	require.NoError(t, err)
	log, err = os.ReadFile(filepath.Join(dir, "a.txt.gz"))
	require.NoError(t, err)
	return mcap, log
}

// topicCounts reads a recording with the official reader.
func topicCounts(t *testing.T, data []byte) map[string]int {
	t.Helper()
	reader, err := foxglove.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer reader.Close()
	messages, err := reader.Messages(foxglove.UsingIndex(true))
	require.NoError(t, err)
	counts := map[string]int{}
	require.NoError(t, foxglove.Range(messages, func(_ *foxglove.Schema, c *foxglove.Channel, _ *foxglove.Message) error {
		counts[c.Topic]++
		return nil
	}))
	return counts
}

// TestSlowFencesGiveTheSameBytes runs the pipeline on a GPU whose fences signal
// several polls later than software OpenGL's: nothing of the data may depend on when
// it came back (law T5).
func TestSlowFencesGiveTheSameBytes(t *testing.T) {
	mcap, log := record(t, opener(t), 7)
	assert.Equal(t, 10, topicCounts(t, mcap)["/lidar/points"])
	for _, polls := range []int{1, 5} {
		slowMcap, slowLog := record(t, gputest.Delay(opener(t), polls), 7)
		assert.True(t, bytes.Equal(mcap, slowMcap), "%d polls: the MCAP differs", polls)
		assert.True(t, bytes.Equal(log, slowLog), "%d polls: the log differs", polls)
	}
	other, _ := record(t, opener(t), 8)
	assert.False(t, bytes.Equal(mcap, other), "the seed changes nothing")
}

// losing wraps an opener whose context is lost as soon as lost is set.
func losing(open gpu.Opener, lost *atomic.Bool) gpu.Opener {
	return func() (*gpu.Context, error) {
		c, err := open()
		if err != nil {
			return nil, err
		}
		wrapped := *c
		wrapped.Driver = &losingDriver{Driver: c.Driver, lost: lost}
		return &wrapped, nil
	}
}

type losingDriver struct {
	gpu.Driver
	lost *atomic.Bool
}

func (d *losingDriver) Reset() error {
	if d.lost.Load() {
		return gpu.ErrContextLost
	}
	return d.Driver.Reset()
}

// PollFence fails like a driver's whose context is gone.
func (d *losingDriver) PollFence(h gpu.Handle) gpu.FenceStatus {
	if d.lost.Load() {
		return gpu.FenceFailed
	}
	return d.Driver.PollFence(h)
}

func TestALostContextEndsTheRunAndKeepsTheRecording(t *testing.T) {
	for _, mode := range []string{"stepped", "realtime"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			lost := new(atomic.Bool)
			p, err := pipeline.New(t.Context(), pipeline.Config{
				Scene: scenetest.MovingWall(30, 5), Open: losing(opener(t), lost),
				Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(), OutDir: dir,
				Mode: map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime}[mode],
			})
			if errors.Is(err, errSkip) {
				t.Skip(err)
			}
			require.NoError(t, err)
			scanner := add(t, p, pipeline.SensorConfig{ID: "sensor.lidar.ray_cast", Name: "lidar", Rate: "20", Pose: rig.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16", "columns": 90}})
			require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "mcap:a.mcap"}))
			scans := 0
			listen(t, scanner, "points", func(sensors.Tick, *sample.PointCloud) {
				if scans++; scans == 5 {
					lost.Store(true)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.ErrorIs(t, p.Run(ctx, 0), gpu.ErrContextLost)
			require.NoError(t, ctx.Err(), "the run did not end by itself")
			require.ErrorIs(t, p.Run(ctx, time.Second), gpu.ErrContextLost, "and can't go on")
			_ = p.Close(ctx) // says again that the context is lost, or not
			data, err := os.ReadFile(filepath.Join(dir, "a.mcap"))
			require.NoError(t, err)
			counts := topicCounts(t, data)
			assert.GreaterOrEqual(t, counts["/lidar/points"], 5)
			assert.GreaterOrEqual(t, counts["/clock"], 20)
		})
	}
}

func TestRowsAreIdleOnlyWhereNobodyListened(t *testing.T) {
	p := recorder(t, opener(t), 1, t.TempDir())
	require.NoError(t, p.Run(t.Context(), 80*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	for _, row := range p.Summary().Sensors {
		assert.False(t, row.Idle, "%s was recorded, though it sent %d messages", row.Topic, row.Messages)
	}

	unheard := newPipeline(t, pipeline.Config{})
	add(t, unheard, pipeline.SensorConfig{ID: "sensor.other.imu", Name: "imu"})
	require.NoError(t, unheard.Run(t.Context(), 80*time.Millisecond))
	summary := unheard.Summary()
	require.Len(t, summary.Sensors, 2)
	for _, row := range summary.Sensors {
		assert.True(t, row.Idle, row.Topic)
	}
	assert.NotNil(t, summary.Bridges, "an empty list, not null")
}

func TestQualityOfServiceNamesATopicThatIsThere(t *testing.T) {
	p := recorder(t, opener(t), 1, t.TempDir())
	defer func() { assert.NoError(t, p.Close(context.Background())) }()
	err := p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "mcap:b.mcap", QoS: map[string]flow.QoS{"/nope": {}}})
	require.ErrorIs(t, err, pipeline.ErrNoTopic)
}

func TestAddTransformsFindsAFreeName(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	add(t, p, pipeline.SensorConfig{ID: "sensor.other.imu", Name: "tf", Topic: "/imu"})
	require.NoError(t, p.AddTransforms())
	assert.Equal(t, []string{"/tf", "/tf_static"}, p.Sensors()[1].Topics())
	require.NoError(t, p.AddTransforms(), "once is enough")
	assert.Len(t, p.Sensors(), 2)
}

// TestARecordingTakesSensorsThatComeAndGo: their channels are added to a file that is
// being written, and the fixed frames are recorded anew.
func TestARecordingTakesSensorsThatComeAndGo(t *testing.T) {
	dir := t.TempDir()
	p := recorder(t, opener(t), 1, dir)
	require.NoError(t, p.Step(t.Context(), 20))
	late, err := p.AddSensor(pipeline.SensorConfig{
		ID: "sensor.camera.depth", Name: "late", Rate: "100", Attributes: map[string]any{"image_size_x": 16, "image_size_y": 8},
	})
	require.NoError(t, err)
	require.NoError(t, p.Step(t.Context(), 10))
	require.NoError(t, late.Destroy(t.Context()))
	require.NoError(t, p.Step(t.Context(), 20))
	again, err := p.AddSensor(pipeline.SensorConfig{ID: "sensor.camera.depth", Name: "late", Rate: "50", Attributes: map[string]any{"image_size_x": 16, "image_size_y": 8}})
	require.NoError(t, err)
	require.NoError(t, p.Step(t.Context(), 10))
	assert.Equal(t, 50.0, again.RateHz())
	require.NoError(t, p.Close(t.Context()))
	data, err := os.ReadFile(filepath.Join(dir, "a.mcap"))
	require.NoError(t, err)
	counts := topicCounts(t, data)
	assert.Equal(t, 9+4, counts["/late/image_raw"])
	assert.Equal(t, 9+4, counts["/late/camera_info"])
	assert.Equal(t, 6, counts["/lidar/points"], "others go on")
	assert.Equal(t, 4, counts["/tf_static"], "with it, without, and with it again")
}
