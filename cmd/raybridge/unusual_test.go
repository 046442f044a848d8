package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// warnings are the lines of messages that are warnings.
func warnings(messages string) (list []string) {
	for line := range strings.Lines(messages) {
		if strings.HasPrefix(line, "warning: ") {
			list = append(list, line)
		}
	}
	return list
}

// TestCheckAndRunSayTheSame of topics that ROS forbids and of values that are unusual.
func TestCheckAndRunSayTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "rig.yaml", "drivers: [external]\ncontrol_topic: /ego-1/control\nsensors:\n  - {id: sensor.other.imu, name: imu-1, topic: /3d/imu-1}\n  - {id: sensor.lidar.ray_cast, name: roof, pose: {z: -50}}\n")
	check := call(t, "rig", "check", file)
	require.Equal(t, exitDone, check.code, check.err)
	told := warnings(check.err)
	require.Len(t, told, 3)
	assert.Contains(t, told[0], "warning: "+file+": control_topic: ROS forbids the topic /ego-1/control, /ego_1/control takes its place")
	assert.Contains(t, told[1], "rig.yaml:4:48: sensors[0].topic: ROS forbids the topic /3d/imu-1, /n3d/imu_1 takes its place")
	assert.Contains(t, told[2], "sensor roof is mounted 50 m under the ground")
	assert.Contains(t, check.out, "/n3d/imu_1/data")

	pl, planned := planOf(t, "--rig", file, "--bridge", "mcap:a", "--bridge", "ros1:localhost")
	assert.Equal(t, told, warnings(planned)[:3])
	assert.Equal(t, "/ego_1/control", pl.config.Ego.Commands.Control)

	config := write(t, dir, "run.yaml", "scene: {file: "+sceneFile(t, dir)+"}\nrig: rig.yaml\nego: {pose: {x: 500}, commands: {velocity: /2d/turn, ackermann: \"\"}}\n")
	o := call(t, "config", "check", config)
	require.Equal(t, exitDone, o.code, o.err)
	require.Len(t, warnings(o.err), 5)
	own := warnings(o.err)[0]
	assert.Contains(t, own, "run.yaml: ego.commands.velocity: ROS forbids the topic /2d/turn, /n2d/turn takes its place")
	assert.Equal(t, told, warnings(o.err)[1:4])
	assert.Contains(t, warnings(o.err)[4], "the vehicle begins at (500, 0, 0) m, outside of the scene, which reaches from (-30, -30, 0) to (30, 30, 6)")

	pl, planned = planOf(t, "--config", config, "--bridge", "ros1:localhost")
	assert.Equal(t, append([]string{own}, told...), warnings(planned)[:4])
	assert.Equal(t, "/n2d/turn", pl.config.Ego.Commands.Velocity)
	assert.Empty(t, pl.config.Ego.Commands.Ackermann)

	config = write(t, dir, "bare.yaml", "ego: {commands: {velocity: /2d/turn}}\n")
	_, planned = planOf(t, "--config", config, "--rig", file, "--bridge", "ros1:localhost")
	assert.Contains(t, warnings(planned)[0], "ego.commands.velocity")
	assert.Equal(t, told, warnings(planned)[1:4], "a rig by flag takes no warnings of the file away")
}
