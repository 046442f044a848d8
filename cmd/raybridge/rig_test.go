package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreignRigs are rigs of other simulators: our own small ones, and those that lie
// beside the checkout.
func foreignRigs(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../../rig/testdata/*.json", "../../../shared/assets/rigs/*/*.json"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.GreaterOrEqual(t, len(files), 3)
	return files
}

// TestRigConvert: what is written is a rig that loads, with the same sensors.
func TestRigConvert(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range foreignRigs(t) {
		before := call(t, "rig", "check", file)
		require.Equal(t, exitDone, before.code, before.err)
		out := filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".json")+".yaml")
		o := call(t, "rig", "convert", file, "-o", out)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Empty(t, o.out)
		printed := call(t, "rig", "convert", file)
		require.Equal(t, exitDone, printed.code, printed.err)
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		assert.Equal(t, printed.out, string(text))
		after := call(t, "rig", "check", out)
		require.Equal(t, exitDone, after.code, after.err)
		assert.Equal(t, strings.TrimPrefix(before.out, file), strings.TrimPrefix(after.out, out))
		for line := range strings.Lines(after.err) {
			assert.Regexp(t, "changes nothing|ROS forbids|usual|mount it higher", line, "all else that there was to say is in its comments")
		}
	}
}

// A camera that is as a real one was calibrated says what it sees.
func TestRigCheckSaysWhatALensSees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rig.yaml": "sensors:\n- {id: sensor.camera.rgb, name: front, pose: {z: 1}, calibration: front.yaml}\n- {id: sensor.camera.rgb, name: plain, pose: {z: 1}}\n" +
			"- {id: sensor.ground_truth.boxes_2d, name: boxes, pose: {z: 1}, calibration: front.yaml}\n",
		"front.yaml": "image_width: 640\nimage_height: 480\nK: [180, 0, 319.5, 0, 180, 239.5, 0, 0, 1]\ndistortion_model: equidistant\nD: [-0.1, 0, 0, 0]\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	o := call(t, "rig", "check", filepath.Join(dir, "rig.yaml"))
	require.Equal(t, exitDone, o.code, o.err)
	for _, name := range []string{"front", "boxes"} {
		assert.Regexp(t, "\n"+name+": lens equidistant, 640x480 pixels, sees [0-9.]+ degrees across, [0-9.]+ down and [0-9.]+ from corner to corner; it ends within the picture, from 104\\.6 degrees from its axis on\n", o.out)
	}
	assert.NotContains(t, o.out, "plain: ")
}

func TestRigNotices(t *testing.T) {
	t.Parallel()
	o := call(t, "rig", "check", "../../rig/testdata/svl_lidar.json")
	require.Equal(t, exitDone, o.code, o.err)
	lines := strings.Split(strings.TrimSpace(o.err), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, "warning: ../../rig/testdata/svl_lidar.json:5:45: superfluous comma", lines[0])

	_, warnings := planOf(t, "--report", "--rig", "../../rig/testdata/svl_lidar.json")
	assert.Equal(t, 3, strings.Count(warnings, "superfluous comma"))
}

// TestActorListIsPointedToTheSnapshot: CARLA's list of actors has no topic of its own.
func TestActorListIsPointedToTheSnapshot(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "o.json", `{"objects": [{"type": "sensor.pseudo.actor_list", "id": "actor_list"}]}`)
	o := call(t, "rig", "check", file)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "take sensor.other.snapshot, which has every actor at every frame")
}

// TestARigWithoutSensorsIsTold: it may be the wrong file.
func TestARigWithoutSensorsIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{write(t, dir, "empty.json", ""), write(t, dir, "none.json", "[]"), write(t, dir, "none.yaml", "sensors: []")} {
		_, warnings := planOf(t, "--report", "--rig", file)
		assert.Contains(t, warnings, "the rig has no sensors", file)
		o := call(t, "rig", "check", file)
		assert.Equal(t, exitDone, o.code, file)
		assert.Contains(t, o.err, "the rig has no sensors", file)
	}
	_, warnings := planOf(t, "--report")
	assert.NotContains(t, warnings, "the rig has no sensors")
}

// TestInertAttributesAreTold: what changes nothing here is told where it is given, and
// differs from the default.
func TestInertAttributesAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "o.json", `{"objects": [{"type": "vehicle.a", "id": "ego_vehicle", "sensors": [
{"type": "sensor.camera.rgb", "id": "a", "blade_count": 7, "min_fstop": 1.2, "spawn_point": {"z": 2}},
{"type": "sensor.camera.depth", "id": "b", "lens_k": 1, "fov": 80, "lens_kcube": 1, "spawn_point": {"z": 2}}]}]}`)
	o := call(t, "rig", "check", file)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Equal(t, 2, strings.Count(o.err, "warning: "), o.err)
	assert.Contains(t, o.err, "o.json:3:54: objects[0].sensors[1].lens_k: lens_k, lens_kcube change nothing: ", "for one reason")
	assert.Contains(t, o.err, "o.json:2:57: objects[0].sensors[0].blade_count: blade_count changes nothing: everything is in focus")
}

// TestLenient: unknown parameters, of other simulators' rigs and of ours.
func TestLenient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := write(t, dir, "v.json", `{"type": "Lidar", "name": "a", "params": {"Colour": 1, "LaserCount": 200}}`)
	own := write(t, dir, "r.yaml", "sensors:\n  - {id: sensor.other.imu, name: a, colour: 1}")
	config := write(t, dir, "c.yaml", "sensors:\n  - {id: sensor.other.imu, name: a, colour: 1}")
	byFile := write(t, dir, "d.yaml", "rig: v.json")
	for _, c := range []struct {
		args    []string
		message string
	}{
		{[]string{"rig", "check", foreign}, "v.json:1:43: params.Colour: unknown key"},
		{[]string{"rig", "convert", foreign}, "v.json:1:43: params.Colour: unknown key"},
		{[]string{"rig", "check", own}, `r.yaml:2:45: sensors[0].colour: unknown attribute "colour" of sensor.other.imu`},
		{[]string{"config", "check", config}, `c.yaml:2:45: sensors[0].colour: unknown attribute "colour" of sensor.other.imu`},
		{[]string{"config", "check", byFile}, "v.json:1:43: params.Colour: unknown key"},
	} {
		o := call(t, c.args...)
		require.Equal(t, exitUsage, o.code, "%v", c.args)
		assert.Contains(t, o.err, c.message, "%v", c.args)
		o = call(t, append(c.args, "--lenient")...)
		require.Equal(t, exitDone, o.code, "%v: %s", c.args, o.err)
		assert.Contains(t, o.err, "warning: ", "%v", c.args)
		assert.Contains(t, o.err, c.message, "%v", c.args)
	}
	pl, warnings := planOf(t, "--report", "--rig", foreign, "--lenient")
	assert.Len(t, pl.config.Sensors, 1)
	assert.Contains(t, warnings, "unknown key")
}

// TestTheRigsDriver: SVL's Vehicle Control leaves the vehicle to commands, its Keyboard Control
// to the keys where there is a window. What the configuration says counts more.
func TestTheRigsDriver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	both := write(t, dir, "both.json", `[{"type": "Vehicle Control", "name": "a"}, {"type": "Keyboard Control", "name": "b"}]`)
	keys := write(t, dir, "keys.json", `[{"type": "Manual", "name": "b"}]`)
	commands := write(t, dir, "commands.json", `[{"type": "Apollo Control", "name": "b"}]`)
	decided := write(t, dir, "decided.yaml", "ego: {driver: waypoints}\nrig: both.json")
	open := write(t, dir, "open.yaml", "ego: {speed: 3}\nrig: both.json")
	for _, c := range []struct {
		args             []string
		headless, window string
	}{
		{[]string{"--rig", both}, "external", "keys"},
		{[]string{"--rig", keys}, "waypoints", "keys"},
		{[]string{"--rig", commands}, "external", "external"},
		{[]string{"--config", decided}, "waypoints", "waypoints"},
		{[]string{"--config", open}, "external", "keys"},
		{[]string{"--config", open, "--rig", keys}, "waypoints", "keys"},
	} {
		pl, warnings := planOf(t, append(c.args, "--report")...)
		assert.Equal(t, c.headless, pl.config.Ego.Driver, "%v", c.args)
		assert.Equal(t, c.headless == "external", strings.Contains(warnings, "it stands still until they come"), "%v", c.args)
		pl, _ = planOf(t, append(c.args, "--window")...)
		assert.Equal(t, c.window, pl.config.Ego.Driver, "%v with a window", c.args)
	}
}
