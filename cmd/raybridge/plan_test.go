package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// planOf reads the flags of a run and decides what it is to do, without doing it.
func planOf(t *testing.T, args ...string) (pl *plan, errOut string) {
	t.Helper()
	var f runFlags
	var out bytes.Buffer
	cmd := &cobra.Command{Use: "run"}
	f.register(cmd)
	cmd.SetErr(&out)
	require.NoError(t, cmd.ParseFlags(args))
	pl, err := newPlan(cmd, &f)
	require.NoError(t, err)
	return pl, out.String()
}

const wholeRun = `
seed: 7
duration: 20s
scene: {file: wall.gltf}
time: {step: 5ms}
sensors: [{id: sensor.other.imu, name: own}]
bridges: [{type: mcap, connection: own.mcap, policy: drop_oldest}]
`

func TestFlagsWinOverTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "run.yaml", wholeRun)
	rig := write(t, dir, "small.yaml", smallRig)

	own, _ := planOf(t, "--config", file)
	assert.EqualValues(t, 7, own.config.Seed)
	assert.Equal(t, 20*time.Second, own.config.Duration)
	assert.Equal(t, filepath.Join(dir, "wall.gltf"), own.config.Scene.File)
	assert.Equal(t, 5*time.Millisecond, own.config.Time.Step)
	require.Len(t, own.config.Sensors, 1)
	assert.Equal(t, "run.yaml", own.rigName())

	flagged, _ := planOf(t, "--config", file, "--seed", "9", "--duration", "3s", "--scene", "city", "--rig", rig,
		"--bridge", "logging:more", "--policy", "block")
	assert.EqualValues(t, 9, flagged.config.Seed)
	assert.Equal(t, 3*time.Second, flagged.config.Duration)
	assert.True(t, flagged.config.Scene.City)
	assert.Empty(t, flagged.config.Scene.File)
	assert.Equal(t, 5*time.Millisecond, flagged.config.Time.Step, "what no flag says stays")
	assert.Len(t, flagged.config.Sensors, 8)
	assert.Equal(t, "small.yaml", flagged.rigName())
	assert.Equal(t, []config.Bridge{
		{Type: "mcap", Connection: "own.mcap", Policy: "block"}, {Type: "logging", Connection: "more", Policy: "block"},
	}, flagged.config.Bridges)

	zero, _ := planOf(t, "--config", file, "--duration", "0")
	assert.Zero(t, zero.config.Duration, "a flag that is given wins with its zero too")
}

func TestWithoutArgumentsItIsTheDemo(t *testing.T) {
	t.Parallel()
	pl, _ := planOf(t, "--control", "0")
	assert.Equal(t, "demo", pl.rigName())
	assert.Equal(t, config.Default().Scene, pl.config.Scene)
	var names []string
	for _, s := range pl.config.Sensors {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"front", "front_depth", "front_semantic", "lidar", "imu", "gnss", "odom"}, names)
}

// TestWhoMayRunAlone: nobody listens to what computes always, and its user wants it so.
func TestWhoMayRunAlone(t *testing.T) {
	t.Parallel()
	rig := write(t, t.TempDir(), "rig.yaml", "sensors:\n  - {id: sensor.other.imu, name: a, always: true}\n")
	for _, args := range [][]string{{"--rig", rig}, {"--control", "0"}, {"--window"}, {"--report"}} {
		_, errOut := planOf(t, args...)
		assert.Empty(t, errOut, "%v", args)
	}
}

func TestWhomARunWaitsFor(t *testing.T) {
	t.Parallel()
	pl, _ := planOf(t, "--bridge", "foxglove:", "--wait-for", "/lidar/points=3", "--wait-for", "foxglove")
	assert.Equal(t, []audience{{"/lidar/points", 3}, {"foxglove", 1}}, pl.audience)
	there := map[string]int{"/lidar/points": 2}
	receivers := func(name string) (int, error) { return there[name], nil }
	missing, err := missingOf(pl.audience, receivers)
	require.NoError(t, err)
	assert.Equal(t, "3 receivers of /lidar/points, 2 there; 1 receiver of foxglove, 0 there", missing)
	there["/lidar/points"], there["foxglove"] = 4, 1
	missing, err = missingOf(pl.audience, receivers)
	require.NoError(t, err)
	assert.Empty(t, missing)
}

func TestRecordingStepsUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want pipeline.Mode
	}{
		{[]string{"--control", "0"}, pipeline.Realtime},
		{[]string{"--control", "0", "--step"}, pipeline.Stepped},
		{[]string{"--bridge", "mcap:a"}, pipeline.Stepped},
		{[]string{"--bridge", "logging:a"}, pipeline.Stepped},
		{[]string{"--bridge", "mcap:a", "--realtime"}, pipeline.Realtime},
		{[]string{"--report"}, pipeline.Stepped},
		{[]string{"--bridge", "mcap:a", "--time-source", "system"}, pipeline.Stepped},
		// These can't be stepped.
		{[]string{"--bridge", "mcap:a", "--time-source", "external"}, pipeline.Realtime},
		{[]string{"--report", "--time-source", "ROS2"}, pipeline.Realtime},
	} {
		pl, _ := planOf(t, c.args...)
		assert.Equal(t, c.want, pl.mode, "%v", c.args)
	}
}

func TestASteppedRunSaysThatItDropsNothing(t *testing.T) {
	t.Parallel()
	_, errOut := planOf(t, "--bridge", "mcap:a", "--policy", "drop_newest")
	assert.Contains(t, errOut, "a stepped run drops nothing")
	for _, args := range [][]string{
		{"--bridge", "mcap:a", "--policy", "block"},
		{"--bridge", "mcap:a", "--policy", "drop_newest", "--realtime"},
		{"--bridge", "mcap:a", "--policy", "drop_newest", "--quiet"},
	} {
		_, errOut := planOf(t, args...)
		assert.Empty(t, errOut, "%v", args)
	}
}

func TestTimeFlagsWinOverTheFile(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "run.yaml", "time: {source: simulation, scale: 0.5}")
	pl, _ := planOf(t, "--config", file, "--realtime", "--report")
	assert.Equal(t, "simulation", pl.config.Time.Source)
	assert.InDelta(t, 0.5, pl.config.Time.Scale, 0)
	pl, _ = planOf(t, "--config", file, "--realtime", "--time-source", "Unity", "--time-scale", "2", "--report")
	assert.Equal(t, "Unity", pl.config.Time.Source)
	assert.InDelta(t, 2, pl.config.Time.Scale, 0)
}

func TestWhatTimeFlagsHaveNoEffect(t *testing.T) {
	t.Parallel()
	listener := []string{"--bridge", "logging:a"}
	for _, c := range []struct {
		args []string
		want string // of the warning, "" for none
	}{
		{[]string{"--time-source", "ss2"}, "the time source is ss2 and nothing sets it"},
		{[]string{"--time-source", "ss2", "--control", "0"}, ""},
		{[]string{"--time-scale", "2", "--step"}, "the time scale counts with --realtime"},
		{[]string{"--time-scale", "2", "--realtime"}, ""},
	} {
		_, errOut := planOf(t, append(c.args, listener...)...)
		if c.want == "" {
			assert.Empty(t, errOut, "%v", c.args)
		} else {
			assert.Contains(t, errOut, c.want, "%v", c.args)
		}
	}
}

// TestNothingListensUnasked, and whoever asks decides where.
func TestNothingListensUnasked(t *testing.T) {
	t.Parallel()
	pl, _ := planOf(t, "--report")
	assert.Nil(t, pl.control)
	pl, _ = planOf(t, "--control", ":8080")
	assert.Equal(t, &control.Address{Host: "127.0.0.1", Port: 8080}, pl.control)
}

func TestKeysNeedAWindow(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "run.yaml", "ego: {driver: keys}")
	_, errOut := planOf(t, "--config", file, "--report")
	assert.Contains(t, errOut, "the vehicle stands")
	_, errOut = planOf(t, "--config", file, "--window")
	assert.Empty(t, errOut)
}

func TestTheTableListsDropsByCause(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printSummary(&out, &pipeline.Summary{
		SimS: 2, WallS: 1, RealTimeFactor: 2, GPU: pipeline.GPUSummary{Renderer: "paper"},
		Sensors: []pipeline.SensorSummary{
			{Topic: "/a", Messages: 19, RateWantedHz: 10, RateHz: 9.5, LatencyP50Ms: 1.25, LatencyP99Ms: 20, Drops: flow.Drops{"readback_full": 1, "queue_full": 2}},
			{Topic: "/b", RateWantedHz: 10, Idle: true},
			{Topic: "/collision", Type: "sensor.other.collision", Messages: 2},
			{Topic: "/tf", Type: "sensor.other.transform", Messages: 100, RateWantedHz: 50},
			{Topic: "/tf_static", Type: "sensor.other.transform", Messages: 1, RateWantedHz: 50},
		},
		Bridges: []pipeline.BridgeSummary{
			{Name: "mcap", Connection: "a.mcap", Status: "disconnected", EverConnected: true, Sent: 17, Bytes: 2_500_000, Drops: flow.Drops{"queue_full": 2}},
			{Name: "mcap", Type: "another", Connection: "b.mcap", Status: "disconnected", EverConnected: true, Drops: flow.Drops{}},
			{Name: "mcap", Connection: "c.mcap", Status: "disconnected"},
			{Name: "mcap", Connection: "d.mcap", Status: "unexpectedly_disconnected", EverConnected: true},
			{Name: "stream", Status: "disconnected", StatusAtEnd: "connected", EverConnected: true},
			{Name: "cyber", Status: "disconnected", StatusAtEnd: "unexpectedly_disconnected", EverConnected: true},
			{Name: "ros1", Status: "disconnected", StatusAtEnd: "connected"},
			{Name: "ros2lgsvl", Status: "disconnected", StatusAtEnd: "connected", Connections: 2},
		},
	})
	rows := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rows[name] = strings.Join(strings.Fields(rest), " ")
	}
	for name, want := range map[string]string{
		"/b": "idle 10 -", "/collision": "2 each frame 0", "/tf": "100 50 0", "/tf_static": "1 - 0",
		"mcap:a.mcap": "disconnected 17", "mcap:b.mcap": "written 0", "mcap:c.mcap": "never connected 0", "mcap:d.mcap": "unexpectedly_disconnected 0",
		"stream:": "ended 0", "cyber:": "lost 0", "ros1:": "never connected 0", "ros2lgsvl:": "refused 0",
	} {
		assert.True(t, strings.HasPrefix(rows[name], want), "%s: %s", name, rows[name])
	}
	for _, want := range []string{
		"/a", "queue_full 2, readback_full 1", "idle", "mcap:a.mcap", "2.5", "2.00 s simulated in 1.00 s: real-time factor 2.00", "paper",
	} {
		assert.Contains(t, out.String(), want)
	}
}

// TestTheTableTellsWhatSensorsDidNotTake: and nothing of those that took all.
func TestTheTableTellsWhatSensorsDidNotTake(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printSummary(&out, &pipeline.Summary{Inputs: []pipeline.InputSummary{
		{Name: "follower", Topic: "/follower/lane", Drops: flow.Drops{"queue_full": 6}},
		{Name: "swift", Topic: "/swift/lane", Drops: flow.Drops{}},
	}})
	assert.Contains(t, out.String(), "sensor follower did not take messages of /follower/lane: queue_full 6\n")
	assert.NotContains(t, out.String(), "swift")
}

// TestEndpointsWithoutEmptyColumns: streams have numbers and tokens with carla alone.
func TestEndpointsWithoutEmptyColumns(t *testing.T) {
	t.Parallel()
	streams := pipeline.BridgeSummary{Name: "stream", Endpoints: []bridges.Endpoint{{Address: "a:1", Topic: "/t"}}}
	carla := pipeline.BridgeSummary{Name: "carla", Endpoints: []bridges.Endpoint{{Address: "a:2", Topic: "/t", Stream: 2, Token: "ff"}}}
	several := pipeline.BridgeSummary{Name: "foxglove", Endpoints: []bridges.Endpoint{{Address: "a:3", Topic: "/t", Stream: 1}, {Address: "a:3", Topic: "/u", Stream: 2}}}
	for want, list := range map[string][]pipeline.BridgeSummary{
		"": {{Name: "mcap"}},
		"receivers connect to bridge topic\na:3 foxglove all 2\n":                                {several},
		"receivers connect to bridge topic\na:1 stream /t\n":                                     {streams},
		"receivers connect to bridge stream topic token\na:2 carla 2 /t ff\n":                    {carla},
		"receivers connect to bridge stream topic token\na:1 stream - /t -\na:2 carla 2 /t ff\n": {streams, carla},
	} {
		var out, got bytes.Buffer
		printEndpoints(&out, list)
		for line := range strings.Lines(out.String()) {
			got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
		assert.Equal(t, want, got.String())
	}
}

func TestInFile(t *testing.T) {
	t.Parallel()
	cause := errors.New("bad")
	assert.EqualError(t, inFile("run.yaml", cause), "run.yaml: bad")
	assert.Equal(t, cause, inFile("", cause), "flags have no file")
	require.NoError(t, inFile("run.yaml", nil))
	_, placed := config.Reader{}.Parse("c.yaml", []byte("sceen: 1"))
	assert.Equal(t, placed, inFile("run.yaml", placed))
}

// The summary may lie where the output folder, which isn't there yet, brings its
// parent along; a folder that nobody makes is refused before the run.
func TestSummaryMayLieAboveTheOutputFolder(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out", "demo")
	pl := &plan{flags: &runFlags{out: out, summary: filepath.Join(dir, "out", "demo.json"), report: true}, config: config.Default()}
	require.NoError(t, pl.makeOut())
	require.DirExists(t, out)

	pl.flags.summary = filepath.Join(dir, "elsewhere", "demo.json")
	require.ErrorContains(t, pl.makeOut(), "--summary")
}

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
