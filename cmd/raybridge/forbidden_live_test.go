//go:build linux

package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestARigWithForbiddenTopicsRuns, and is recorded by the names that ROS allows.
func TestARigWithForbiddenTopicsRuns(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	rig := write(t, dir, "rig.yaml", "sensors:\n  - {id: sensor.other.imu, name: imu-1, topic: /3d/imu-1}\n")
	o := call(t, "run", "--scene", sceneFile(t, dir), "--rig", rig, "--duration", "100ms", "--bridge", "mcap:bag", "--out", dir)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "ROS forbids the topic /3d/imu-1")
	assert.Len(t, byTopic(readRecording(t, filepath.Join(dir, "bag/bag_0.mcap")))["/n3d/imu_1/data"], 10)
}
