//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
)

// planner is a log of two actors, of whom one is of no known model and leaves.
const planner = `time,id,model,x,y,yaw
0.0,a,vehicle.sedan,10,0,0
0.0,b,vehicle.ufo,14,3,90
0.1,a,vehicle.sedan,11,0,0
0.1,b,vehicle.ufo,14,4,90
0.25,a,vehicle.sedan,12,0,0
`

const worldRig = `sensors:
  - {id: sensor.lidar.ray_cast, name: roof, rate: 20, pose: {z: 2}, channels: 8, points_per_second: 20000}
  - {id: sensor.camera.instance_segmentation, name: eye, rate: 20, pose: {z: 1.5}, image_size_x: 64, image_size_y: 48}
  - {id: sensor.ground_truth.boxes_3d, name: boxes, rate: 20, pose: {z: 2}}
  - {id: sensor.other.snapshot, name: world}
`

// TestAWorldFromOutside runs a planner's log twice: equal bytes, and what the summary says of it.
func TestAWorldFromOutside(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	log, rig := write(t, dir, "planner.csv", planner), write(t, dir, "rig.yaml", worldRig)
	run := func(name string, more ...string) (recording []byte, summary pipeline.Summary, o outcome) {
		out := filepath.Join(dir, name)
		o = call(t, append([]string{"run", "--step", "--scene", "plane", "--world", "csv:" + log, "--rig", rig, "--bridge", "mcap:a.mcap",
			"--out", out, "--summary", filepath.Join(dir, name+".json")}, more...)...)
		require.Equal(t, exitDone, o.code, o.err)
		recording, err := os.ReadFile(filepath.Join(out, "a.mcap"))
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, name+".json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &summary))
		return recording, summary, o
	}
	first, summary, o := run("first")
	again, _, _ := run("second")
	assert.True(t, bytes.Equal(first, again), "the recordings differ")
	require.NotNil(t, summary.World)
	want := pipeline.WorldSummary{Kind: "csv", Frames: 3}
	want.Actors.Now, want.Actors.Most = 1, 2
	assert.Equal(t, want, *summary.World)
	assert.InDelta(t, 0.25, summary.SimS, 1e-9)
	assert.Contains(t, o.err, "model=vehicle.ufo")
	assert.NotContains(t, o.err, "model=vehicle.sedan")

	// Half of it.
	_, summary, _ = run("short", "--duration", "100ms")
	assert.EqualValues(t, 2, summary.World.Frames)

	// A configuration says the same, with its models beside it.
	config := write(t, dir, "drive.yaml", "scene: {plane: true}\nworld: {source: 'csv:"+log+"', capacity: 1}\n"+worldRig)
	o = call(t, "run", "--step", "--config", config, "--bridge", "mcap:b.mcap", "--out", filepath.Join(dir, "config"))
	assert.Equal(t, exitFailed, o.code)
	assert.Contains(t, o.err, `planner.csv:3: step to 0 s: spawn[1] (actor "b"): no room for another actor: it is for 1`)
}

// worldPage is docs/world.md.
func worldPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/world.md")
	require.NoError(t, err)
	return string(page)
}

// worldRuns are the commands of docs/world.md by their world or their configuration, without the program's name.
func worldRuns(t *testing.T) map[string]string {
	t.Helper()
	runs := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^raybridge (run .*--(?:world|config) '?(\S+?)[ '?].*)$`).FindAllStringSubmatch(worldPage(t), -1) {
		runs[m[2]] = strings.ReplaceAll(m[1], "'", "") // no shell reads it
	}
	require.ElementsMatch(t, []string{
		"overtake.yaml", "osi:drive.osi", "osi:udp:48198", "sumo:docs/examples/crossing/crossing.sumocfg", "docs/examples/crossing/drive.yaml",
	}, slices.Collect(maps.Keys(runs)))
	return runs
}

// runTwice runs a command of the page twice in a folder, with a small rig of its own. It returns what the summary
// says of the world, and holds the recordings against each other. No line of a log may be left out.
func runTwice(t *testing.T, dir, line string) pipeline.WorldSummary {
	t.Helper()
	write(t, dir, "rig.yaml", worldRig)
	var recordings [2][]byte
	var summary pipeline.Summary
	for i := range recordings {
		cmd := command(t, append(strings.Fields(line), "--rig", "rig.yaml", "--summary", "s.json")...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		assert.NotContains(t, string(out), "the lines of the id ego are left out", line)
		written, err := filepath.Glob(filepath.Join(dir, "out", "*.mcap"))
		require.NoError(t, err)
		require.Len(t, written, 1)
		recordings[i], err = os.ReadFile(written[0])
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, "s.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &summary))
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "out")))
	}
	assert.True(t, bytes.Equal(recordings[0], recordings[1]), "the recordings differ")
	require.NotNil(t, summary.World)
	return *summary.World
}

// TestWorldPageCommands: the commands of docs/world.md for files run as they stand. That of SUMO needs SUMO, and
// is a test of its own.
func TestWorldPageCommands(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	runs := worldRuns(t)
	t.Run("csv", func(t *testing.T) {
		dir := t.TempDir()
		log, err := os.ReadFile("../../world/csv/testdata/overtake.csv") // which the page shows
		require.NoError(t, err)
		write(t, dir, "overtake.csv", string(log))
		config := regexp.MustCompile("(?s)```yaml\n([^`]*csv:overtake.csv[^`]*)```").FindStringSubmatch(worldPage(t))
		require.NotNil(t, config)
		write(t, dir, "overtake.yaml", config[1])
		world := runTwice(t, dir, runs["overtake.yaml"])
		assert.EqualValues(t, 4, world.Frames)
		assert.Equal(t, 2, world.Actors.Most)
	})
	t.Run("osi", func(t *testing.T) {
		dir := t.TempDir()
		trace, err := os.ReadFile("../../../shared/assets/maps/example_sv_trace.osi")
		if err != nil {
			t.Skip("no ../shared/assets/maps beside the checkout; package osi has traces of its own")
		}
		write(t, dir, "drive.osi", string(trace))
		world := runTwice(t, dir, runs["osi:drive.osi"])
		assert.EqualValues(t, 547, world.Frames)
		assert.Equal(t, 1, world.Actors.Most)
	})
}

// TestAWorldKnowsTheScenesLights: a trace of OSI may switch the lights of the city. Of those that a scene
// doesn't have the log tells once.
func TestAWorldKnowsTheScenesLights(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a city; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	var trace []byte
	for second := range byte(3) { // a red bulb that is lit, in messages of OSI after their lengths
		name := "traffic.traffic_light_0001"
		source := append([]byte{0x1a, byte(len(name))}, name...)
		light := append([]byte{0x0a, 2, 0x08, 1, 0x1a, 4, 0x08, 2, 0x18, 3, 0x2a, byte(len(source))}, source...)
		message := append([]byte{0x12, 2, 0x08, second, 0x3a, byte(len(light))}, light...)
		trace = append(append(trace, byte(len(message)), 0, 0, 0), message...)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.osi"), trace, 0o600))
	rig := write(t, dir, "rig.yaml", "sensors: [{id: sensor.other.imu, name: imu}]\n")
	for scene, unknown := range map[string]int{"city": 0, "plane": 1} {
		o := call(t, "run", "--step", "--scene", scene, "--world", "osi:"+filepath.Join(dir, "drive.osi"), "--rig", rig, "--bridge", "mcap:a.mcap", "--out", filepath.Join(dir, scene))
		require.Equal(t, exitDone, o.code, o.err)
		assert.Equal(t, unknown, strings.Count(o.err, "the scene doesn't have a traffic light"), "%s: %s", scene, o.err)
	}
}

// TestARunWhoseWorldIsLateCanBeEnded: Ctrl-C while it waits for a simulator is not a fault.
func TestARunWhoseWorldIsLateCanBeEnded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close()) // nobody listens there
	ctx, cancel := context.WithCancel(t.Context())
	out, errOut := newTranscript(), newTranscript()
	ended := make(chan int, 1)
	go func() {
		ended <- program(ctx, []string{"run", "--scene", "plane", "--world", "sumo:" + address, "--bridge", "mcap:a.mcap", "--out", t.TempDir()}, out, errOut)
	}()
	require.Eventually(t, func() bool { return strings.Contains(errOut.String(), "SUMO doesn't listen yet") }, 20*time.Second, time.Millisecond)
	cancel()
	assert.Equal(t, exitDone, <-ended, errOut)
	assert.NotContains(t, errOut.String(), "canceled")
}

// TestARunSaysThatItWaits: where nothing comes of its world the terminal and the status say what is missing. What
// comes ends that.
func TestARunSaysThatItWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits two seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	address := c.LocalAddr().String()
	require.NoError(t, c.Close())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errOut := newTranscript(), newTranscript()
	ended := make(chan int, 1)
	go func() {
		ended <- program(ctx, []string{"run", "--scene", "plane", "--world", "osi:udp:" + address, "--api", "0", "--rig", write(t, t.TempDir(), "rig.yaml", worldRig), "--bridge", "foxglove:127.0.0.1:0"}, out, errOut)
	}()
	want := "an OSI message at udp:" + address
	require.Eventually(t, func() bool { return strings.Contains(errOut.String(), want) }, 60*time.Second, 10*time.Millisecond)
	api := regexp.MustCompile(`http://\S+`).FindString(errOut.String())
	waits := func() string {
		var status pipeline.Summary
		answer, err := http.Get(api + "/v1/status")
		require.NoError(t, err)
		defer answer.Body.Close()
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&status))
		return status.WaitingFor
	}
	assert.Contains(t, waits(), want)
	ready, err := http.Get(api + "/readyz")
	require.NoError(t, err)
	defer ready.Body.Close()
	reasons, err := io.ReadAll(ready.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusServiceUnavailable, ready.StatusCode)
	assert.Contains(t, string(reasons), "the run waits for its world")
	assert.NotContains(t, string(reasons), address, "it needs no token, and tells no address")
	cancel()
	assert.Equal(t, exitDone, <-ended, errOut)
	assert.Equal(t, 1, strings.Count(errOut.String(), want))
}

// TestWorldsAreRefused: wrong use of --world exits with 2, and says what to give.
func TestWorldsAreRefused(t *testing.T) {
	dir := t.TempDir()
	log := write(t, dir, "planner.csv", planner)
	for name, c := range map[string]struct {
		args []string
		text string
	}{
		"unknown kind": {[]string{"--world", "cvs:x"}, `world "cvs:x": need KIND:ADDRESS, did you mean csv?`},
		"csv alone":    {[]string{"--world", "a/b.csv"}, `world "a/b.csv": need KIND:ADDRESS, did you mean csv:a/b.csv?`},
		"osi alone":    {[]string{"--world", "b.osi"}, "did you mean osi:b.osi?"},
		"mcap alone":   {[]string{"--world", "b.mcap"}, "did you mean osi:b.mcap?"},
		"sumo alone":   {[]string{"--world", "b.sumocfg"}, "did you mean sumo:b.sumocfg?"},
		"gzip alone":   {[]string{"--world", "b.osi.gz"}, "did you mean osi:b.osi.gz?"},
		"capitals":     {[]string{"--world", "B.CSV"}, "did you mean csv:B.CSV?"},
		"scenario":     {[]string{"--world", "b.xosc"}, `world "b.xosc": it is an OpenSCENARIO file: let esmini play it, with --world osi:udp:`},
		"of esmini":    {[]string{"--world", "esmini:b.xosc"}, `world "esmini:b.xosc": it is an OpenSCENARIO file: let esmini`},
		"as a table":   {[]string{"--world", "csv:" + write(t, dir, "b.xosc", "<OpenSCENARIO a=\"1\"/>\n")}, "it is an OpenSCENARIO file: let esmini play it, with --world osi:udp:"},
		"net":          {[]string{"--world", "a.net.xml"}, `world "a.net.xml": it is a file of SUMO: name the .sumocfg that it belongs to by --world sumo:FILE.sumocfg`},
		"net of SUMO":  {[]string{"--world", "sumo:" + write(t, dir, "a.net.xml", "<net/>")}, `it is a file of SUMO: name the .sumocfg that it belongs to by --world sumo:FILE.sumocfg`},
		"scene":        {[]string{"--world", "a.glb"}, `world "a.glb": it is a glTF scene: --scene takes it`},
		"map":          {[]string{"--world", "a.xodr"}, `world "a.xodr": it is an OpenDRIVE map, which is not a world: need KIND:ADDRESS, known are csv, osi, sumo`},
		"recording":    {[]string{"--world", "a.bag"}, `world "a.bag": it is a recording: raybridge replay sends it`},
		"datagrams":    {[]string{"--world", "udp:127.0.0.1:48198"}, "need KIND:ADDRESS, did you mean osi:udp:127.0.0.1:48198?"},
		"TraCI":        {[]string{"--world", "localhost:8813"}, "need KIND:ADDRESS, did you mean sumo:localhost:8813?"},
		"other file":   {[]string{"--world", "b.json"}, "known are csv, osi, sumo"},
		"no address":   {[]string{"--world", "csv"}, `world "csv": need csv:FILE`},
		"no file":      {[]string{"--world", "csv:absent.csv"}, "world csv: absent.csv: no such file"},
		"paused":       {[]string{"--world", "csv:" + log, "--paused", "--control", "0"}, "--paused: a world lets time pass by itself"},
		"host's time":  {[]string{"--world", "csv:" + log, "--time-source", "system"}, "time.source: time is the world's"},
		"time":         {[]string{"--world", "csv:" + log, "--time-source", "ss2", "--control", "0"}, "time.source: time is the world's"},
	} {
		t.Run(name, func(t *testing.T) {
			o := call(t, append([]string{"run", "--scene", "plane", "--bridge", "mcap:a.mcap", "--out", filepath.Join(dir, "out")}, c.args...)...)
			assert.Equal(t, exitUsage, o.code, o.err)
			assert.Contains(t, o.err, c.text)
		})
	}
}
