//go:build cgo

package pipeline_test

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bridgesall "github.com/raybridge/raybridge/bridges/all"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors/all"
)

// TestSoak runs the whole pipeline, recording included, for the wall time that
// the variable SOAK names, and watches memory and goroutines after a warm-up of
// a fifth of it. Without SOAK it runs two seconds, too short to judge memory.
func TestSoak(t *testing.T) {
	duration, judge := 2*time.Second, false
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		duration, err = time.ParseDuration(text)
		require.NoError(t, err)
		judge = duration >= 30*time.Second
	}
	p := newPipeline(t, pipeline.Config{Sensors: all.Registry(), Bridges: bridgesall.Registry(), OutDir: t.TempDir()})
	for _, c := range []pipeline.SensorConfig{
		{ID: "sensor.camera.rgb", Name: "rgb", Attributes: map[string]any{"image_size_x": 320, "image_size_y": 240}},
		{ID: "sensor.camera.depth", Name: "depth", Attributes: map[string]any{"image_size_x": 320, "image_size_y": 240}},
		{ID: "sensor.lidar.ray_cast", Name: "lidar", Pose: rig.Pose{Z: 2}, Attributes: map[string]any{"columns": 360}},
		{ID: "sensor.other.imu", Name: "imu"},
		{ID: "sensor.other.gnss", Name: "gnss"},
		{ID: "sensor.other.odometry", Name: "odom"},
	} {
		add(t, p, c)
	}
	require.NoError(t, p.AddTransforms())
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "mcap:" + t.TempDir() + "/soak.mcap"}))

	begun := time.Now()
	var warm usage
	for warmed := false; time.Since(begun) < duration; {
		require.NoError(t, p.Run(t.Context(), time.Second))
		if !warmed && time.Since(begun) > duration/5 {
			warm, warmed = measure(t, p), true
		}
	}
	end := measure(t, p)
	summary := p.Summary()
	t.Logf("%v simulated s in %v s; warm %+v, end %+v", summary.SimS, summary.WallS, warm, end)
	for _, row := range summary.Sensors {
		if row.Topic == "/tf_static" || row.Idle {
			continue
		}
		assert.InDelta(t, row.RateWantedHz*summary.SimS, float64(row.Messages), 1, "%s drifts", row.Topic)
		assert.Empty(t, row.Drops, row.Topic)
	}
	if judge {
		index := indexPerSecond * (end.simS - warm.simS)
		assert.LessOrEqual(t, end.goroutines, warm.goroutines+2, "goroutines grow")
		assert.LessOrEqual(t, float64(end.resident), 1.02*float64(warm.resident)+4e6+index, "resident memory grows")
	}
}

// indexPerSecond is what a recording may keep in memory until it is closed, in
// bytes a simulated second: an MCAP file ends with the index of its chunks, here
// some seven a second with a place for each of fourteen topics.
const indexPerSecond = 6e3

type usage struct {
	resident   int64 // bytes
	goroutines int
	simS       float64
}

// measure reads the process's own figures after a collection that gives back what
// is free: how much the runtime keeps in reserve varies more than what leaks.
func measure(t *testing.T, p *pipeline.Pipeline) usage {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	require.NoError(t, err)
	return usage{resident: pages * int64(os.Getpagesize()), goroutines: runtime.NumGoroutine(), simS: p.Summary().SimS}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		p := newPipeline(t, pipeline.Config{Sensors: all.Registry()})
		s := add(t, p, pipeline.SensorConfig{ID: "sensor.lidar.ray_cast", Name: "lidar", Always: true})
		require.NotNil(t, s)
		require.NoError(t, p.Run(t.Context(), 300*time.Millisecond))
		require.NoError(t, p.Close(context.Background()))
	}
	// Eventually asks on a goroutine of its own.
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 5*time.Second, 10*time.Millisecond)
}
