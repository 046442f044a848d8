package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/judge"
)

// TestMetricsOfARun: they are in its table and its summary, and those of equal runs are equal to the last bit, also where
// another sensor has another rate.
func TestMetricsOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig := write(t, dir, "rig.yaml", "sensors:\n  - {id: sensor.lidar.ray_cast, name: lidar, pose: {z: 2}, channels: 8, points_per_second: 8000}\n  - {id: sensor.other.imu, name: imu, rate: 50}\n")
	of := func(more ...string) map[string]float64 {
		file := filepath.Join(t.TempDir(), "run.json")
		args := []string{"run", "--gpu", "host", "--scene", "plane", "--rig", rig, "--duration", "500ms", "--bridge", "mcap:a", "--out", t.TempDir(), "--summary", file, "--set", "ego.waypoints=[{x: 0}, {x: 50}, {x: 50, y: 50}]"}
		o := call(t, append(args, more...)...)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Regexp(t, `(?m)^ego\.distance +3\.\d+ m$`, o.out)
		s, err := judge.Read(file)
		require.NoError(t, err)
		return s.Metrics
	}
	first := of()
	assert.Positive(t, first["sensors.lidar.points_mean"])
	assert.Zero(t, first["collisions"])
	assert.NotContains(t, first, "min_ttc")
	assert.Equal(t, first, of())
	assert.Equal(t, first, of("--set", "sensors.imu.rate=33.3"))
	assert.Less(t, of("--set", "sensors.lidar.points_per_second=4000")["sensors.lidar.points_mean"], first["sensors.lidar.points_mean"])
}
