package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/config"
)

// packetsRig is an SVL vehicle whose two lidars send packets to two hosts.
const packetsRig = `[
	{"type": "Velodyne Lidar", "name": "roof", "params": {"HostName": "127.0.0.1", "UDPPortData": 2400, "UDPPortPosition": 2401}, "transform": {"y": 2}},
	{"type": "Velodyne Lidar", "name": "front", "params": {"HostName": "127.0.0.2", "Topic": "/points"}, "transform": {"y": 2, "z": 1}}
]`

// The bridges that packetsRig asks for.
const (
	roofPackets  = "velodyne:127.0.0.1:2400?position=2401&sensor=roof"
	frontPackets = "velodyne:127.0.0.2:2368?position=8308&sensor=front"
)

// A run that follows the host's clock opens what its rig asks for, unless it has a bridge for the sensor, or shall open none.
func TestARunOpensTheBridgesOfItsRig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "vehicle.json", packetsRig)
	own := write(t, dir, "own.yaml", "bridges: [{type: foxglove, connection: ''}]\nsensors: [{id: sensor.other.imu, name: imu}]\n")
	topic := write(t, dir, "topic.yaml", "bridges: [{type: velodyne, connection: a?sensor=/roof/points}]\nsensors: [{id: sensor.lidar.ray_cast, name: roof, pose: {z: 2}}]\n")
	with := write(t, dir, "run.yaml", "rig: vehicle.json\nrig_bridges: false\n")
	world := write(t, dir, "world.csv", "frame,time\n0,0\n")
	for name, c := range map[string]struct {
		args []string
		want []string
		says []string // parts of lines, one each
	}{
		"by itself":     {[]string{"--rig", file}, []string{roofPackets, frontPackets}, []string{"opens a bridge, unless rig_bridges: false (bridge=\"" + roofPackets, "opens a bridge, unless rig_bridges: false (bridge=\"" + frontPackets}},
		"policy":        {[]string{"--rig", file, "--policy", "block"}, []string{roofPackets, frontPackets}, []string{"opens", "opens"}},
		"as a world":    {[]string{"--rig", file, "--realtime", "--world", "csv:" + world}, []string{roofPackets, frontPackets}, []string{"opens", "opens"}},
		"a step":        {[]string{"--rig", file, "--step", "--report"}, nil, []string{"stays closed: a stepped run", "stays closed: a stepped run"}},
		"a recording":   {[]string{"--rig", file, "--bridge", "mcap:x"}, []string{"mcap:x"}, []string{"stays closed: a stepped run", "stays closed: a stepped run"}},
		"off":           {[]string{"--rig", file, "--report", "--realtime", "--set", "rig_bridges=false"}, nil, nil},
		"off in a file": {[]string{"--config", with, "--report", "--realtime"}, nil, nil},
		"other sensors": {[]string{"--rig", file, "--report", "--realtime", "--set", "sensors=[{id: sensor.other.imu, name: imu}]"}, nil, nil},
		"other address": {[]string{"--rig", file, "--bridge", "velodyne:robot?sensor=roof"}, []string{"velodyne:robot?sensor=roof", frontPackets}, []string{"another one takes the sensor's data (bridge=\"" + roofPackets, "opens"}},
		"by topic":      {[]string{"--rig", file, "--bridge", "velodyne:robot?sensor=/points"}, []string{"velodyne:robot?sensor=/points", roofPackets}, []string{"opens", "another one takes"}},
		"into a file":   {[]string{"--rig", file, "--realtime", "--bridge", "velodyne:x.pcap?sensor=front"}, []string{"velodyne:x.pcap?sensor=front", roofPackets}, []string{"opens", "another one takes"}},
		"another kind":  {[]string{"--rig", file, "--bridge", "foxglove:"}, []string{"foxglove:", roofPackets, frontPackets}, []string{"opens", "opens"}},
		"its topic":     {[]string{"--rig", topic, "--bridge", "velodyne:b?sensor=roof"}, []string{"velodyne:b?sensor=roof"}, []string{"another one takes"}},
		"our own form":  {[]string{"--rig", own}, []string{"foxglove:"}, []string{"opens a bridge"}},
	} {
		pl, warnings := planOf(t, c.args...)
		var got []string
		for _, b := range pl.config.Bridges {
			got = append(got, b.Type+":"+b.Connection)
			if name == "policy" {
				assert.Equal(t, "block", b.Policy)
			}
		}
		assert.Equal(t, c.want, got, name)
		var said []string
		for line := range strings.Lines(warnings) {
			if strings.Contains(line, "rig") {
				said = append(said, line)
			}
		}
		require.Len(t, said, len(c.says), "%s: %s", name, warnings)
		for i := range said {
			assert.Contains(t, said[i], c.says[i], name)
		}
	}
}

// A bridge that a rig asks for wrongly is an error with its place, of rig check, config check and run. A run that opens none doesn't mind.
func TestWrongBridgesOfRigs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	svl := func(params string) string {
		return fmt.Sprintf(`{"type": "Velodyne Lidar", "name": "roof", "params": {"HostName": "robot", %s}, "transform": {"y": 2}}`, params)
	}
	own := func(bridge string) string {
		return "bridges:\n- " + bridge + "\nsensors: [{id: sensor.lidar.ray_cast, name: roof, pose: {z: 2}}]\n"
	}
	for i, c := range []struct {
		text    string
		lenient bool
		want    string
	}{
		{svl(`"UDPPortData": 70000`), false, "r0:1:91: params.UDPPortData: out of range: 70000, the range is 1 to 65535"},
		{svl(`"UDPPortData": 70000`), true, "r1:1:67: params.HostName: connect bridge \"velodyne\" (robot:70000?position=8308&sensor=roof): bad connection string: bad address \"robot:70000\": the port is a number from 1 to 65535"},
		{svl(`"UDPPortPosition": 2368`), false, "position=2368 is the port of the data packets"},
		{own("{type: velodyne, connection: robot?sensor=rof}"), false, `r3:2:3: bridges[0]: bridge velodyne:robot?sensor=rof: bad connection string: sensor=rof: the rig has no sensor of that name; did you mean roof?`},
		{own("{type: veldyne, connection: robot}"), false, `r4:2:3: bridges[0]: `},
		{own("{type: mcap, connection: drive}"), false, "a rig's bridge writes no file"},
		{own("{type: velodyne, connection: robot}\n- {type: velodyne, connection: robot}"), false, "r6:3:3: bridges[1]: bridge velodyne:robot is given twice"},
	} {
		file := write(t, dir, fmt.Sprintf("r%d", i), c.text)
		file2 := write(t, dir, fmt.Sprintf("c%d.yaml", i), fmt.Sprintf("rig: r%d\nscene: {plane: true}\n", i))
		for _, args := range [][]string{{"rig", "check", file}, {"config", "check", file2}, {"run", "--rig", file}} {
			if c.lenient {
				args = append(args, "--lenient")
			}
			o := call(t, args...)
			assert.Equal(t, exitUsage, o.code, args)
			assert.Contains(t, o.err, c.want, args)
		}
	}
	o := call(t, "rig", "check", write(t, dir, "good.json", packetsRig))
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.out, "opens "+roofPackets+"\n")
	assert.Contains(t, o.out, "opens "+frontPackets+"\n")
	o = call(t, "config", "check", write(t, dir, "off.yaml", "rig: good.json\nrig_bridges: false\nscene: {plane: true}\n"))
	require.Equal(t, exitDone, o.code, o.err)
	assert.NotContains(t, o.out, "velodyne:")
	c, err := config.Reader{}.Read(write(t, dir, "lib.yaml", "rig: good.json\n"))
	require.NoError(t, err)
	assert.Empty(t, c.Bridges, "a program that reads the file opens none by that")
	assert.Len(t, c.RigBridges, 2)
}
