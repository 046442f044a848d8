package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/sensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSettings: they come after the file, the rig and the other flags, in their order.
func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "rig.yaml", "sensors:\n  - {id: sensor.lidar.ray_cast, name: roof, range: 80}\n")
	file := write(t, dir, "run.yaml", "seed: 3\nduration: 5s\nrig: rig.yaml\n")
	pl, _ := planOf(t, "--config", file, "--duration", "9s", "--bridge", "mcap:a", "--set", "duration=2", "--set", "sensors.roof.range=70", "--set=sensors.roof.range=60", "--set", "ego.commands.velocity=/a=b")
	assert.Equal(t, 2*time.Second, pl.config.Duration)
	assert.EqualValues(t, 3, pl.config.Seed)
	assert.EqualValues(t, 60, pl.config.Sensors[0].Attributes["range"])
	assert.Equal(t, "/a_b", pl.config.Ego.Commands.Velocity)

	pl, told := planOf(t, "--bridge", "mcap:a", "--set", "sensors.lidar.range=50", "--set", "ego.commands.velocity=/a b")
	i := slices.IndexFunc(pl.config.Sensors, func(c sensors.Config) bool { return c.Name == "lidar" })
	assert.EqualValues(t, 50, pl.config.Sensors[i].Attributes["range"], "of the demo's rig")
	assert.Equal(t, "warning: ego.commands.velocity: ROS forbids the topic /a b, /a_b takes its place\n", warnings(told)[0])
}

// TestSettingFaults: all of them are told before anything is opened, the same by run, demo and config check.
func TestSettingFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "run.yaml", "scene: {plane: true}\nsensors: [{id: sensor.lidar.ray_cast, name: lidar}]\n")
	for _, c := range []struct {
		settings []string
		want     []string
	}{
		{[]string{"ego.speed"}, []string{"--set ego.speed: want KEY=VALUE, such as ego.speed=5"}},
		{[]string{"ego.sped=1", "seed=x"}, []string{"--set: ego.sped: unknown key, did you mean speed?", "--set: seed: wrong kind of value: x, need a number"}},
		{[]string{"sensors.lidr.range=1"}, []string{"--set: sensors.lidr: unknown key, did you mean lidar?"}},
		{[]string{"sensors.lidar.rnge=1"}, []string{`sensors.lidar.rnge: unknown attribute "rnge" of sensor.lidar.ray_cast, did you mean range?`}},
		{[]string{"sensors.lidar.range=-1"}, []string{"sensors.lidar.range: bad attribute value: range is -1, the range is 0.01 to 2000 m"}},
		{[]string{"scene.city=true"}, []string{"scene: give only one of city, plane and file"}},
	} {
		var flags []string
		for _, s := range c.settings {
			flags = append(flags, "--set", s)
		}
		for _, args := range [][]string{{"config", "check", file}, {"run", "--config", file, "--bridge", "mcap:a"}} {
			o := call(t, append(args, flags...)...)
			assert.Equal(t, exitUsage, o.code, "%v %v", args, c.settings)
			for _, want := range c.want {
				assert.Contains(t, o.err, want, "%v", args)
			}
		}
	}
	o := call(t, "config", "check", file, "--set", "sensors.lidar.channels=16")
	require.Equal(t, exitDone, o.code, o.err)
	o = call(t, "demo", "--set", "ego.sped=1", "--out", dir)
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "did you mean speed?")
}

// TestConfigShow: what it prints are settings that give the same again.
func TestConfigShow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "rig.yaml", "sensors:\n  - {id: sensor.other.imu, name: imu, pose: {z: 0.1}}\n")
	file := write(t, dir, "run.yaml", "ego: {speed: 5}\nrig: rig.yaml\n")
	o := call(t, "config", "show", file, "--set", "sensors.imu.rate=10/3")
	require.Equal(t, exitDone, o.code, o.err)
	for _, want := range []string{"seed=1\n", "ego.speed=5\n", "ego.pose=null\n", "sensors[0].id=sensor.other.imu\n", "sensors[0].pose.z=0.1\n", "sensors[0].rate=10/3\n", "sensors[0].noise_seed=0\n"} {
		assert.Contains(t, o.out, want)
	}
	args := []string{"config", "show", file}
	for line := range strings.Lines(o.out) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); value != "" && value != "null" {
			args = append(args, "--set", key+"="+value)
		}
	}
	again := call(t, args...)
	require.Equal(t, exitDone, again.code, again.err)
	assert.Equal(t, o.out, again.out)

	o = call(t, "config", "show", file, "--set", "sensors.imu.nise_seed=0")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "did you mean noise_seed?")
}
