package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/window"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Environment of a test binary that is to be the program itself. It has the test's own build
// tags and race detector, and needs no second build.
const (
	envProgram = "RAYBRIDGE_TEST_PROGRAM"
	// envFileSize is the size in bytes at which files end as on a full disk.
	envFileSize = "RAYBRIDGE_TEST_FILE_SIZE"
)

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) != "" {
		limitFileSize()
		main() // exits
	}
	window.Main(func() { os.Exit(testMain(m)) })
}

func testMain(m *testing.M) int {
	// Where the tests run under nohup, programs that they start would ignore a hangup, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	cache, err := os.MkdirTemp("", "raybridge-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(cache)
	// Built scenes go where they leave nothing behind; compiled shaders and packages,
	// which take long, stay where the driver and Go keep them.
	if dir, err := os.UserCacheDir(); err == nil {
		for name, place := range map[string]string{"MESA_SHADER_CACHE_DIR": dir, "GOCACHE": filepath.Join(dir, "go-build")} {
			if os.Getenv(name) == "" {
				os.Setenv(name, place)
			}
		}
	}
	os.Setenv("XDG_CACHE_HOME", cache)
	if os.Getenv(gpuVariable) == "" { // OpenGL is the reference; tests of the host device name it
		os.Setenv(gpuVariable, "software")
	}
	return m.Run()
}

// limitFileSize makes writes beyond a size fail.
func limitFileSize() {
	size, err := strconv.ParseUint(os.Getenv(envFileSize), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
		fmt.Fprintln(os.Stderr, "limit the size of files:", err)
		os.Exit(exitFailed)
	}
}

// outcome is what one call of the program left.
type outcome struct {
	code     int
	out, err string
}

// call runs a command line in this process.
func call(t *testing.T, args ...string) outcome {
	t.Helper()
	out, errOut := newTranscript(), newTranscript() // the log of bridges is written beside what the command prints
	code := program(t.Context(), args, out, errOut)
	return outcome{code, out.String(), slow.ReplaceAllString(errOut.String(), "")}
}

// slow are the lines on what takes over a second, as everything may on a busy machine.
var slow = regexp.MustCompile(`(?m)^still .* \.\.\.\n`)

// command returns the program as a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), envProgram+"=1")
	return cmd
}

// finish waits for a process and returns what it left.
func finish(t *testing.T, cmd *exec.Cmd, out, errOut *bytes.Buffer) outcome {
	t.Helper()
	err := cmd.Wait()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// execute runs a process to its end.
func execute(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(t, cmd.Start())
	return finish(t, cmd, &out, &errOut)
}

var openGL = sync.OnceValue(func() error {
	thread, err := gpu.Start(eglctx.Open(eglctx.Options{}))
	if err != nil {
		return err
	}
	return thread.Close()
})

// needsOpenGL skips the test where there is none.
func needsOpenGL(t *testing.T) {
	t.Helper()
	if err := openGL(); err != nil {
		if os.Getenv("REQUIRE_GL") == "1" {
			t.Fatalf("no live OpenGL: %v", err)
		}
		t.Skipf("no live OpenGL: %v", err)
	}
}

// write writes a file into a folder and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// lastLine is what the program said last.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestWrongUse: whatever is wrong in the arguments or in a file is said before
// OpenGL is opened, so that none of this needs any.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string { return write(t, dir, name, text) }
	rig := func(name, entry string) []string {
		return []string{"run", "--headless", "--rig", file(name, "sensors:\n"+entry)}
	}
	config := func(name, text string) []string { return []string{"config", "check", file(name, text)} }
	imu := "  - {id: sensor.other.imu, name: a}\n"
	taken := file("taken", "a file where a folder should be")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	busy := listener.Addr().String()
	for _, c := range []struct {
		args    []string
		message string // part of the last line
	}{
		{[]string{"rum"}, `unknown command "rum" for "raybridge", did you mean run?`},
		{[]string{"rnu"}, `unknown command "rnu" for "raybridge", did you mean run?`},
		{[]string{"record"}, `unknown command "record" for "raybridge", known are `},
		{[]string{"scene", "inof"}, `unknown command "inof" for "raybridge scene", did you mean info?`},
		{[]string{"run"}, "there is no receiver, so sensors stay idle: give --bridge, --report, --view, --window or --api"},
		{[]string{"run", "--duration", "1s", "--step"}, "there is no receiver"},
		{[]string{"run", "--summary", filepath.Join(dir, "summary.json")}, "there is no receiver"},
		{[]string{"run", "--config", file("idle.yaml", "sensors:\n"+imu)}, "there is no receiver"},
		{[]string{"demo", "--view", "--out", "a"}, "--out: with --view nothing is recorded: leave one of them out"},
		{[]string{"run", "--paused", "--bridge", "mcap:a"}, "--paused: nothing could resume the run: give --api, --view or --window"},
		{[]string{"run", "--wait-for", "mcap", "--bridge", "mcap:a"}, "--wait-for: files have no receivers: give --bridge with one to a network"},
		{[]string{"run", "--wait-for", "foxglve", "--bridge", "foxglove:"}, "--wait-for foxglve: the run has no such topic or network bridge, did you mean foxglove?"},
		{[]string{"run", "--wait-for", "/lidar/point", "--bridge", "foxglove:"}, "did you mean /lidar/points?"},
		{[]string{"run", "--wait-for", "/snapshto", "--bridge", "carla:"}, "did you mean /snapshot?"},
		{[]string{"run", "--wait-for", "foxglove=0", "--bridge", "foxglove:"}, `--wait-for foxglove=0: "0": want a number of receivers, 1 or more`},
		{[]string{"run", "--wait-for", "--bridge", "foxglove:"}, `--wait-for "--bridge": want the name of a topic or of a bridge`},
		{[]string{"run", "--wait-for", "--bridge=foxglove:"}, `--wait-for "--bridge=foxglove:": want the name of a topic or of a bridge`},
		{[]string{"run", "--wait-for", "=2", "--bridge", "foxglove:"}, `--wait-for "=2": want the name of a topic or of a bridge`},
		{[]string{"run", "now"}, `run takes only flags: what is "now"?`},
		{[]string{"run", "--sceen", "city"}, "unknown flag --sceen, did you mean --scene?"},
		{[]string{"run", "--zork=1"}, "unknown flag --zork, see raybridge run --help"},
		{[]string{"run", "--duration", "soon"}, `--duration "soon": want a time with its unit, such as 1.5s`},
		{[]string{"run", "--duration", "1.5"}, `--duration "1.5": its unit is missing: want 1.5s, for seconds`},
		{[]string{"listen", "7740", "--duration", "2"}, `--duration "2": its unit is missing: want 2s`},
		{[]string{"run", "--duration", "-1s"}, "--duration -1s is negative"},
		{[]string{"run", "--seed", "-1"}, `--seed "-1": want a whole number from 0 to 18446744073709551615`},
		{[]string{"run", "--time-scale", "x"}, `--time-scale "x": want a number`},
		{[]string{"run", "--step=maybe"}, `--step "maybe": want true or false`},
		{[]string{"bench", "--runs", "x"}, `--runs "x": want a whole number`},
		{[]string{"run", "--step", "--realtime"}, "give either --step or --realtime, not both"},
		{[]string{"run", "--headless", "--window"}, "give either --headless or --window, not both"},
		{[]string{"run", "--headless", "--gpu", "fast", "--report", "--out", dir}, `--gpu "fast" isn't a number that raybridge gpu lists: want auto, software or host`},
		{[]string{"run", "--gpu", "host", "--isa", "mmx", "--report", "--out", dir}, `--gpu host: instruction set "mmx": want auto, `},
		{[]string{"gpu", "--gpu", "host", "--threads", "-1"}, "--gpu host: -1 threads: take 1 or more, or 0"},
		{[]string{"gpu", "--gpu", "software", "--threads", "2"}, `--gpu "software": the instruction set and the threads are the host device's: take host`},
		{[]string{"gpu", "--gpu", "sofware"}, "did you mean software?"},
		{[]string{"run", "--time-source", "moon"}, `--time-source: unknown time source "moon": want engine, ss2, system, simulation, ros2, unity or external`},
		{[]string{"run", "--time-source", "sytem"}, "did you mean system?"},
		{[]string{"run", "--time-scale", "0"}, "--time-scale 0: the range is 0.001 to 100"},
		{[]string{"run", "--time-scale", "NaN"}, "--time-scale NaN: the range is 0.001 to 100"},
		{[]string{"run", "--step", "--time-source", "SS2"}, "--step can't follow the time source ss2, which is driven from outside: give --realtime"},
		{[]string{"run", "--step", "--config", file("ros2.yaml", "TimeSource: ROS2")}, "--step can't follow the time source ros2"},
		{[]string{"run", "--log", "jsn"}, `--log "jsn": want text or json; did you mean json?`},
		{[]string{"replay", "x.mcap", "--log-level", "warm"}, `--log-level "warm": want debug, info, warn or error; did you mean warn?`},
		{[]string{"run", "--control", ""}, `--control: bad address "": need PORT, HOST:PORT or unix:PATH`},
		{[]string{"run", "--control", "here"}, `--control: bad address "here": need PORT, HOST:PORT or unix:PATH`},
		{[]string{"run", "--control", ":65536"}, "the port is a number from 0, for any free one, to 65535"},
		{[]string{"run", "--control", busy}, "--control: listen on " + busy + ": address already in use: end the program that has it, or choose another port"},
		{[]string{"run", "--control", "203.0.113.7:80"}, "--control: listen on 203.0.113.7:80"}, // TEST-NET-3, nobody's
		{[]string{"run", "--policy", "drop_newset"}, `unknown policy "drop_newset": want block, drop_newest, drop_oldest or exclusive; did you mean drop_newest?`},
		{[]string{"run", "--bridge", "mcap"}, `--bridge mcap: no colon after the bridge's name: want mcap:FILE.mcap|FOLDER`},
		{[]string{"run", "--bridge", "foxglov"}, "want foxglove:"},
		{[]string{"run", "--bridge", "zork"}, "need TYPE:CONNECTION"},
		{[]string{"run", "--bridge", "ros2:"}, `unknown bridge "ros2"; did you mean ros2dds?`},
		{[]string{"run", "--bridge", "mcpa:a"}, `unknown bridge "mcpa"; did you mean mcap?`},
		{[]string{"run", "--bridge", "zork:a"}, `unknown bridge "zork"; known are carla, `},
		{[]string{"run", "--bridge", "mcap:"}, `--bridge: connect bridge "mcap" (): bad connection string: no path; want FILE.mcap or a folder`},
		{[]string{"run", "--bridge", "mcap:a?zork=1"}, `unknown option "zork"; known are`},
		{[]string{"run", "--bridge", "mcap:a?compresion=zstd"}, `unknown option "compresion"; did you mean compression?`},
		{[]string{"run", "--bridge", "mcap:a.mcap?profile=ros3"}, "want ros2, ros1 or foxglove; did you mean ros2?"},
		{[]string{"run", "--bridge", "mcap:a?compression=zip"}, "want zstd, lz4 or none"},
		{[]string{"run", "--bridge", "logging:"}, "want NAME, for NAME.txt.gz"},
		{[]string{"run", "--bridge", "rosbridge:http://robot"}, "http:// is not spoken"},
		{[]string{"run", "--scene", "no.glb", "--bridge", "cyber:"}, "no host; want HOST or HOST:PORT"},
		{[]string{"run", "--bridge", "mcap:a", "--bridge", "mcap:a"}, "bridge mcap:a is given twice"},
		{[]string{"run", "--bridge", "mcap:a", "--bridge", "mcap:./a?metadata=9"}, "bridges mcap:a and mcap:./a?metadata=9 would write to the same place"},
		{[]string{"run", "--bridge", "foxglove:", "--bridge", "foxglove:"}, "bridge foxglove: is given twice"},
		{[]string{"replay", "x.mcap", "--bridge", "mcap:a", "--bridge", "mcap:a/"}, "bridges mcap:a and mcap:a/ would write to the same place"},
		{[]string{"run", "--headless", "--bridge", "mcap:a", "--out", taken}, "make output folder: " + taken + " is a file where a folder should be"},
		{[]string{"run", "--headless", "--report", "--out", filepath.Join(taken, "below")}, taken + " is a file where a folder should be"},
		{[]string{"run", "--headless", "--control", "0", "--summary", filepath.Join(dir, "no", "summary.json")}, "--summary: no folder " + filepath.Join(dir, "no") + ": make it"},
		{[]string{"run", "--headless", "--control", "0", "--scene", filepath.Join(dir, "no.glb")}, "raybridge: " + filepath.Join(dir, "no.glb") + ": no such file in " + dir},
		{[]string{"scene", "info", "cty"}, "cty: no such file, did you mean city?"},
		{[]string{"scene", "info", "Town03"}, ": a scene is city, plane, or a .gltf or .glb file"},
		{[]string{"run", "--headless", "--control", "0", "--scene", file("Town03.xodr", "<?xml version='1.0'?>\n<OpenDRIVE/>")}, "Town03.xodr: it is an OpenDRIVE map, which is not supported yet: export the place"},
		{[]string{"run", "--headless", "--control", "0", "--scene", file("broken.gltf", "{")}, "broken.gltf: line 1, column 1: the JSON ends early"},
		{[]string{"run", "--headless", "--control", "0", "--scene", file("broken.glb", "glTF")}, "broken.glb: the .glb header needs 12 bytes, the file has 4"},
		{[]string{"run", "--headless", "--control", "0", "--scene", file("circle.gltf", circle)}, "circle.gltf: nodes[0]: is its own ancestor"},
		{[]string{"run", "--headless", "--control", "0", "--scene", file("short.gltf", short)}, "accessors[0]: its 3 elements end at byte 36, bufferViews[0] has 4"},
		{[]string{"run", "--max-memory", "much"}, `--max-memory "much": want a size above 0, such as 500MB or 8GiB`},
		{[]string{"scene", "info", file("some.gltf", short), "--max-memory", "10B"}, "not enough memory: file some.gltf needs " + memory.Size(int64(len(short))) + ", the limit is 10 B: --max-memory raises it"},
		{[]string{"run", "--config", filepath.Join(dir, "no.yaml")}, "read config: " + filepath.Join(dir, "no.yaml") + ": no such file in " + dir},
		{[]string{"run", "--rig", filepath.Join(dir, "no.yaml")}, "read rig: "},
		{[]string{"run", "--rig", filepath.Join(dir, "takne")}, "did you mean " + taken},
		{[]string{"run", "--rig", dir}, dir + " is a folder: name a file"},
		{[]string{"config", "check"}, "give a configuration file"},
		{[]string{"rig", "check"}, "give a rig file"},
		{[]string{"rig", "convert", "a", "b"}, "give one only: "},
		{[]string{"scene", "info"}, "give a .gltf or .glb file, city, or plane"},
		{[]string{"scene", "info", filepath.Join(dir, "no.gltf")}, "no.gltf"},
		{[]string{"scene", "info", "city", "--triangles", "5"}, "triangles is 5, must be 40000 to 4000000"},
		{[]string{"sensors", "show", "sensor.camera.rbg"}, `unknown sensor type "sensor.camera.rbg", did you mean sensor.camera.rgb?`},
		{[]string{"sensors", "show", "sonar*"}, "no sensor matches sonar*"},
		{[]string{"sensors", "show", "imu2"}, "no sensor matches imu2, did you mean imu?"},
		{[]string{"sensors", "list", "camra"}, "no sensor matches camra, did you mean camera?"},
		{[]string{"bench", "lidr"}, `unknown command "lidr" for "raybridge bench", did you mean lidar?`},
		{[]string{"help", "runn"}, `unknown command "runn" for "raybridge", did you mean run?`},
		{[]string{"help", "rig", "chek"}, `unknown command "chek" for "raybridge rig", did you mean check?`},
		{[]string{"completion", "bsh"}, `unknown command "bsh" for "raybridge completion", did you mean bash?`},
		{[]string{"run", "--report", "--out", dir, "--summary", dir}, "--summary: " + dir + " is a folder: name a file"},
		{[]string{"bench", "lidar", "--json", dir}, "--json: " + dir + " is a folder: name a file"},
		{[]string{"sensors", "list", "sonar*"}, "no sensor matches sonar*"},
		{[]string{"sensors", "list", "a", "b"}, `list takes at most 1 argument: what is "b"?`},
		{[]string{"sensors", "show"}, "give the id of a sensor, such as sensor.camera.rgb"},
		{[]string{"bridges", "lst"}, "did you mean list?"},
		{[]string{"listen"}, "give the address of a stream bridge, such as 127.0.0.1:7740"},
		{[]string{"listen", "here"}, `bad address "here": need PORT or HOST:PORT, such as 127.0.0.1:7740`},
		{[]string{"listen", ":0"}, `bad address ":0": the port is a number from 1 to 65535`},
		{[]string{"listen", "carla:127.0.0.1:2001"}, "a carla bridge is for CARLA's own client code"},
		{[]string{"listen", "foxglove:"}, "listen is for stream bridges, and a bridge foxglove has receivers of its own"},
		{[]string{"listen", "strea:"}, "did you mean stream:?"},
		{[]string{"listen", "stream:", ""}, "the sensor is empty"},
		{[]string{"listen", "stream:", "[a"}, `bad pattern "[a": syntax error in pattern`},
		{[]string{"listen", "7740", "--duration", "-1s"}, "--duration -1s is negative"},
		{[]string{"listen", "7740", "--count", "-1"}, "--count -1 is negative"},
		{[]string{"listen", "7740", "--list", "--count", "1"}, "--list ends at once"},
		{[]string{"listen", "7740", "--format", "png"}, "--format says how to save: give --save DIR too"},
		{[]string{"listen", "7740", "--save", dir, "--format", "bmp"}, `--format: unknown format "bmp": want auto, png, pcd, ply or json`},
		{[]string{"listen", "7740", "--save", taken}, "make folder to save into: " + taken + " is a file where a folder should be"},

		{rig("type.yaml", "  - {id: sensor.camera.rbg, name: a}"), "type.yaml:2:5: sensors[0]: unknown sensor type \"sensor.camera.rbg\", did you mean sensor.camera.rgb?"},
		{rig("attribute.yaml", "  - id: sensor.camera.rgb\n    name: a\n    fow: 90"), "attribute.yaml:4:10: sensors[0].fow: unknown attribute \"fow\" of sensor.camera.rgb, did you mean fov?"},
		{rig("range.yaml", "  - {id: sensor.camera.rgb, name: a, fov: 200}"), "range.yaml:2:43: sensors[0].fov: bad attribute value: fov is 200, the range is 0.1 to 175 deg"},
		{rig("names.yaml", imu+imu), `names.yaml:3:5: sensors[1]: bad sensor name: two sensors are named "a"`},
		{rig("topics.yaml", "  - {id: sensor.camera.rgb, name: a, topic: /t}\n  - {id: sensor.camera.depth, name: b, topic: /t}"), "topics.yaml:3:47: sensors[1].topic: topic is used twice: /t/image_raw of sensor a"},
		{rig("rate.yaml", "  - {id: sensor.other.imu, name: a, rate: fast}"), `rate.yaml:2:43: sensors[0].rate: invalid rate: "fast" is not a decimal number`},
		{rig("clip.yaml", "  - {id: sensor.camera.rgb, name: a, near_clip: 5, far_clip: 1}"), "clip.yaml:2:5: sensors[0]: bad attribute value: far_clip is 1 m"},
		{rig("key.yaml", "  - {id: sensor.other.imu, name: a, pose: {yaww: 1}}"), "key.yaml:2:44: sensors[0].pose.yaww: unknown key, did you mean yaw?"},

		{config("syntax.yaml", "a: [1"), "syntax.yaml"},
		{config("unknown.yaml", "scne: {}"), "unknown.yaml:1:1: scne: unknown key, did you mean scene?"},
		{config("driver.yaml", "ego: {driver: waypoint}"), `driver.yaml:1:15: ego.driver: unknown value: "waypoint", did you mean waypoints?`},
		{config("policy.yaml", "bridges: [{type: mcap, connection: a, policy: drop}]"), "policy.yaml:1:47: bridges[0].policy: unknown value"},
		{config("bridge.yaml", "bridges: [{type: mcpa}]"), `bridge.yaml:1:18: bridges[0].type: unknown bridge "mcpa"; did you mean mcap?`},
		{config("connection.yaml", "bridges:\n  - type: logging\n    connection: a\n  - type: foxglove\n    connection: 8765?clients=0"),
			`connection.yaml:5:17: bridges[1].connection: connect bridge "foxglove" (8765?clients=0): bad connection string: clients="0": want a whole number`},
		{config("lacking.yaml", "bridges: [{type: mcap}]"), `lacking.yaml:1:11: bridges[0]: connection: connect bridge "mcap" (): bad connection string: no path; want FILE.mcap or a folder`},
		{[]string{"run", "--headless", "--config", file("bad.yaml", "scene: {file: no.glb}\nbridges: [{type: stream, connection: nowhere}]")},
			`bad.yaml:2:38: bridges[0].connection: connect bridge "stream" (nowhere): bad connection string`},
		{config("qos.yaml", "sensors:\n"+imu+"bridges: [{type: mcap, connection: a, qos: [{topic: /a/dat}]}]"), `qos.yaml:3:44: bridges[0].qos: bridge mcap: qos: no sensor publishes "/a/dat", did you mean /a/data?`},
		{config("source.yaml", "time: {source: moon}"), `source.yaml:1:16: time.source: unknown value: "moon", known are engine, unity, ss2`},
		{config("file.yaml", "scene: {file: no.glb}"), "no.glb"},
		{config("labels.yaml", "scene: {labels: no.yaml, place: [{file: no.glb}]}"), "no.yaml"},
		{config("sensor.yaml", "sensors: [{id: sensor.other.imu, name: a b}]"), `bad sensor name: "a b"`},
	} {
		o := call(t, c.args...)
		require.Equal(t, exitUsage, o.code, "%v: %s", c.args, o.err)
		assert.Contains(t, lastLine(o.err), c.message, "%v", c.args)
		assert.True(t, strings.HasPrefix(lastLine(o.err), "raybridge: "), o.err)
		assert.Empty(t, o.out, "%v", c.args)
	}
}

// TestChecksTellAllFaults, a line each, with their places; a run tells them, too.
func TestChecksTellAllFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "sensors:\n" +
		"  - {id: sensor.camera.rgb, name: front, fow: 90, image_size_x: wide}\n" +
		"  - {id: sensor.other.imo, name: imu}\n" +
		"  - {id: sensor.other.gnss, name: g p s}\n"
	faults := []string{
		`:2:47: sensors[0].fow: unknown attribute "fow"`, `:2:65: sensors[0].image_size_x: `,
		`:3:5: sensors[1]: unknown sensor type "sensor.other.imo"`, `:4:5: sensors[2]: bad sensor name: "g p s"`,
	}
	form := "seeds: 1\ntime: {stop: 1s, scale: fast}\nego: {driver: nobody}\n"
	formFaults := []string{`:1:1: seeds: unknown key`, `:2:8: time.stop: unknown key`, `:2:25: time.scale: `, `:3:15: ego.driver: unknown value`}
	for name, c := range map[string]struct {
		args []string
		text string
		want []string
	}{
		"rig check":     {[]string{"rig", "check"}, text, faults},
		"config check":  {[]string{"config", "check"}, text + "bridges: [{type: mcpa}, {type: mcap, connection: 'a?b=1'}]\nworld: {source: 'cvs:a'}\nscene: {file: none.glb}", append(faults, "unknown bridge", "unknown option", "did you mean csv?", "none.glb: no such file")},
		"a file's form": {[]string{"config", "check"}, form, formFaults},
		"form and meaning": {[]string{"config", "check"}, form + text + "bridges: [{type: mcpa}]", slices.Concat(formFaults, []string{
			`:5:47: sensors[0].fow: unknown attribute "fow"`, `:5:65: sensors[0].image_size_x: `, `:6:5: sensors[1]: `, `:7:5: sensors[2]: `, "unknown bridge"})},
		"a rig's form and meaning": {[]string{"rig", "check"}, "colour: red\n" + text, []string{`:1:1: colour: unknown key`, `:3:47: sensors[0].fow: `, `image_size_x`, `:4:5: `, `:5:5: `}},
		"run":                      {[]string{"run", "--bridge", "mcap:a", "--config"}, form, formFaults},
		"a rig beside":             {[]string{"run", "--bridge", "mcap:a", "--rig"}, text, faults},
		"SVL's": {[]string{"rig", "check"}, `[{"type": "Lidra", "name": "a"}, {"type": "IMU", "name": "b", "params": {"Topik": "/x"}},
{"type": "Lidar", "name": "c", "params": {"LaserCount": 4000}, "nam": 1}]`, []string{`SVL has no sensor "Lidra"`, "Topik: unknown key", "LaserCount: ", "nam: unknown key"}},
		"CARLA's": {[]string{"rig", "check"}, `{"objects": [{"type": "vehicle.a", "id": "ego_vehicle", "sensors": [
{"type": "sensor.camera.rbg", "id": "a"}, {"type": "sensor.camera.rgb", "id": "b", "fow": 90, "fov": "wide"}]}]}`, []string{`CARLA has no sensor "sensor.camera.rbg"`, "fow: unknown key", "fov: "}},
		"names and mounts": {[]string{"rig", "check"}, "sensors: [{id: sensor.other.imu, name: a, parent: b, frame: /c}, {id: sensor.other.imu, name: a}]", []string{"frame", "two sensors are named"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := call(t, append(c.args, write(t, dir, strings.ReplaceAll(name, " ", "_")+".yaml", c.text))...)
			assert.Equal(t, exitUsage, o.code, o.err)
			lines := strings.Split(strings.TrimSpace(o.err), "\n")
			assert.Len(t, lines, len(c.want), o.err)
			for _, want := range c.want {
				assert.Contains(t, o.err, want)
			}
		})
	}
}

// TestConfigCheckKnowsWhatARunRefuses: topics that the run itself has, and worlds.
func TestConfigCheckKnowsWhatARunRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := write(t, dir, "log.csv", "time,id,model,x,y,yaw\n0,a,vehicle.sedan,1,2,0\n")
	on := func(topic, more string) string {
		return "scene: {plane: true}\nsensors: [{id: sensor.other.imu, name: imu, topics: {imu: " + topic + "}}]\n" + more
	}
	for text, want := range map[string]string{
		on("/tf", ""):        "/tf of sensor tf",
		on("/tf_static", ""): "/tf_static of sensor tf",
		on("/clock", ""):     "/clock of sensor the pipeline's clock",
		on("/snapshot", ""):  "",
		on("/imu/data", "world: {source: 'csv:"+log+"'}"):                                      "",
		on("/imu/data", "world: {source: 'csv:"+log+"x'}"):                                     "no such file",
		on("/imu/data", "world: {source: 'sumo:127.0.0.1:1'}"):                                 "",
		on("/imu/data", "world: {source: 'osi:udp:48198'}"):                                    "",
		on("/imu/data", "world: {source: 'lgsvl:x'}"):                                          "need KIND:ADDRESS",
		on("/imu/data", "world: {source: 'csv:"+log+"'}\ntime: {source: ss2}"):                 "time.source: time is the world's",
		on("/snapshot", "bridges: [{type: stream}]"):                                           "/snapshot of sensor snapshot",
		on("/imu/data", "bridges: [{type: mcap, connection: a}, {type: mcap, connection: a}]"): "is given twice",
	} {
		file := write(t, dir, "run.yaml", text)
		o := call(t, "config", "check", file)
		if want == "" {
			assert.Equal(t, exitDone, o.code, "%s: %s", text, o.err)
			continue
		}
		assert.Equal(t, exitUsage, o.code, text)
		assert.Contains(t, o.err, want, text)
		if o = call(t, "run", "--config", file, "--bridge", "mcap:"+dir+"/x", "--gpu", "host", "--duration", "10ms", "--out", dir); assert.Equal(t, exitUsage, o.code, "%s: %s", text, o.err) {
			assert.Contains(t, o.err, want, text)
		}
	}
}

// circle has two nodes that are each other's children.
const circle = `{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
"nodes": [{"name": "a", "children": [1]}, {"name": "b", "children": [0]}]}`

// short has an accessor that is longer than its buffer.
const short = `{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
"accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 1]}],
"bufferViews": [{"buffer": 0, "byteLength": 4}], "buffers": [{"byteLength": 4, "uri": "data:application/octet-stream;base64,AAAAAA=="}]}`

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("disk full"), exitFailed},
		{gpu.ErrContextLost, exitFailed},
		{usage(errors.New("bad flag")), exitUsage},
		{fmt.Errorf("start: %w", &gpu.UnsupportedError{Feature: "OpenGL 4.5", Need: "a driver"}), exitNoOpenGL},
		{usage(&gpu.UnsupportedError{Feature: "window", Need: "a display"}), exitNoOpenGL},
		{&exitError{exitIncomplete, errors.New("lost")}, exitIncomplete},
		{errors.Join(usage(errors.New("bad rig")), errors.New("close")), exitUsage},
		{sceneFault(fmt.Errorf("build: %w", scene.ErrVertex)), exitUsage},
		{sceneFault(fmt.Errorf("new: %w", pipeline.ErrConfig)), exitUsage},
		{sceneFault(fmt.Errorf("upload: %w", gpu.ErrContextLost)), exitFailed},
	} {
		assert.Equal(t, c.want, exitCode(c.err), "%v", c.err)
	}
	require.NoError(t, usage(nil))
}

func TestHelpAndLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"run", "config", "rig", "scene", "gpu", "sensors", "bridges"}},
		{[]string{"scene"}, []string{"info"}},
		{[]string{"rig"}, []string{"check", "convert"}},
		{[]string{"run", "--help"}, []string{"A run needs a receiver: give --bridge, --report, --view, --window or --api.", "--config", "--scene", "--rig", "--duration", "--seed", "--headless", "--window", "--step", "--realtime", "--bridge", "--out", "--quiet", "--summary", "--report", "--gpu", "--policy"}},
		{[]string{"listen", "--help"}, []string{"--save", "--format", "auto, png, pcd, ply, json", "--duration", "--count", "--list", "--json", "over the last 5 s"}},
		{[]string{"--version"}, []string{"raybridge version " + raybridge.Version()}},
		{[]string{"version"}, []string{"raybridge version " + raybridge.Version() + "\n"}},
		{[]string{"sensors", "list"}, []string{"sensor.camera.rgb", "sensor.lidar.ray_cast", "sensor.other.imu"}},
		{[]string{"sensors", "show", "sensor.camera.rgb"}, []string{"image_size_x", "0.1 to 175; usually 5 to 170 deg", "sample.Image"}},
		{[]string{"sensors", "show", "sensor.camera.*"}, []string{"sensor.camera.rgb:", "sensor.camera.depth:"}},
		{[]string{"sensors", "show", "lidar"}, []string{"sensor.lidar.ray_cast:", "VelodyneVLP16"}},
		{[]string{"bridges", "list"}, []string{"logging:NAME", "mcap:FILE.mcap|FOLDER", "ros2lgsvl:HOST", "(type ROS2)"}},
	} {
		o := call(t, c.args...)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Empty(t, o.err)
		for _, want := range c.want {
			assert.Contains(t, o.out, want, "%v", c.args)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sceneFile(t, dir)
	write(t, dir, "small.yaml", smallRig)
	file := write(t, dir, "run.yaml", "scene: {file: wall.gltf}\nrig: small.yaml\nbridges: [{type: mcap, connection: a.mcap, qos: [{topic: /roof/points}]}, {type: stream, connection: '0', qos: [{topic: /snapshot}]}]\n")
	o := call(t, "config", "check", file)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Empty(t, o.err)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	assert.Equal(t, file+": good; 8 sensors, 2 bridges", lines[0])
	require.Len(t, lines, 9)
	assert.Equal(t, []string{"gnss", "sensor.other.gnss", "13.4", "Hz", "/gnss/fix"}, strings.Fields(lines[7]))
}

// TestPlacesOnTheEarth: at UTM's coordinates a satellite receiver is refused without the map's
// projection, by check and run alike. So is one outside of the projection's zone. Other
// sensors, which tell no place on the earth, are not.
func TestPlacesOnTheEarth(t *testing.T) {
	t.Parallel()
	const gnss, gps, other = "{id: sensor.other.gnss, name: gnss}", "{id: sensor.other.gps_odometry, name: gps}", "{id: sensor.other.imu, name: imu}, {id: sensor.other.odometry, name: odometry}"
	const utm = "ego: {pose: {x: 450000, y: 5400000, z: 100}}"
	dir := t.TempDir()
	sceneFile(t, dir)
	for name, c := range map[string]struct {
		scene, sensor, more string
		want                string // in the error, "" for none
	}{
		"flat":               {"", gnss, utm, "run.yaml:2:11: sensors[0]: sensor.other.gnss: no place on the earth: (450000, 5400000) is 5419 km from the map's origin"},
		"flat, GPS odometry": {"", gps, utm, "give scene.projection their zone, such as utm32n or EPSG:32632"},
		"flat with origin":   {", origin: {latitude: 48, longitude: 8}", gnss, utm, "scene.projection"},
		"no receiver":        {"", other, utm, ""},
		"zone":               {", projection: utm32n", gnss, utm, ""},
		"code":               {", projection: 32632", gps, utm, ""},
		"ETRS89":             {", projection: EPSG:25832", gps, utm, ""},
		"PROJ":               {", projection: '+proj=utm +zone=32 +datum=WGS84'", gps, utm, ""},
		"south":              {", projection: utm56s", gnss, "ego: {pose: {x: 334900, y: 6252288}}", ""},
		"not in the zone":    {", projection: utm32n", gnss, "", "easting 0, northing 0 is not in the zone of scene.projection, utm32n"},
		"told by the world":  {", projection: utm32n", gnss, "world: {ego: theirs}", ""},
		"around a place":     {", projection: utm32n, origin: {latitude: 48.75, longitude: 8.32}", gnss, "", ""},
		"another projection": {", projection: EPSG:3857", gnss, "", `run.yaml:1:38: scene.projection: projection "EPSG:3857": want a zone of UTM`},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, dir, strings.ReplaceAll(name, " ", "_")+"_run.yaml", "scene: {file: wall.gltf"+c.scene+"}\nsensors: ["+c.sensor+"]\n"+c.more+"\n")
			o := call(t, "config", "check", file)
			if c.want == "" {
				require.Equal(t, exitDone, o.code, o.err)
				return
			}
			assert.Equal(t, exitUsage, o.code)
			assert.Contains(t, o.err, c.want)
			ran := call(t, "run", "--config", file, "--gpu", "host", "--duration", "100ms", "--out", t.TempDir(), "--bridge", "logging:log")
			assert.Equal(t, exitUsage, ran.code)
			assert.Contains(t, ran.err, c.want)
		})
	}
}

// TestConfigCheckOfTheDemoRig: without sensors a run has the demo's.
func TestConfigCheckOfTheDemoRig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sceneFile(t, dir)
	demo, err := demoRig()
	require.NoError(t, err)
	file := write(t, dir, "run.yaml", "scene: {file: wall.gltf}\nbridges: [{type: mcap, connection: a.mcap, qos: [{topic: /lidar/points}]}]\n")
	o := call(t, "config", "check", file)
	require.Equal(t, exitDone, o.code, o.err)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	assert.Equal(t, fmt.Sprintf("%s: good; %d sensors of the demo rig, since the file has none, 1 bridge", file, len(demo.Sensors)), lines[0])
	assert.Len(t, lines, 1+len(demo.Sensors))
}

func TestSceneInfo(t *testing.T) {
	t.Parallel()
	o := call(t, "scene", "info", sceneFile(t, t.TempDir()))
	require.Equal(t, exitDone, o.code, o.err)
	for _, want := range []string{
		"scene wall.gltf", "triangles 4 (4 stored)", "bounds (-30.00, -30.00, 0.00) to (30.00, 30.00, 6.00) m",
		"1 roads 1 2", "3 building 1 2",
	} {
		assert.Contains(t, strings.Join(strings.Fields(o.out), " "), want)
	}
	o = call(t, "scene", "info", "city", "--seed", "5", "--triangles", "40000")
	require.Equal(t, exitDone, o.code, o.err)
	for _, want := range []string{"scene city", "building", "pedestrian", "vegetation", "40 of them move", "traffic light id place traffic.traffic_light_0001 1 ("} {
		assert.Contains(t, strings.Join(strings.Fields(o.out), " "), want)
	}
	o = call(t, "scene", "info", "plane")
	require.Equal(t, exitDone, o.code, o.err)
	for _, want := range []string{"scene plane", "instances 1, 0 of them move", "bounds (-2000.00, -2000.00, 0.00) to (2000.00, 2000.00, 0.00) m", "1 roads 1 12800"} {
		assert.Contains(t, strings.Join(strings.Fields(o.out), " "), want)
	}
}

// TestSensorsListSelects: by a pattern of the id, or a tag.
func TestSensorsListSelects(t *testing.T) {
	t.Parallel()
	for pattern, other := range map[string]string{"sensor.camera.*": "sensor.lidar.ray_cast", "sensor.lidar.ray_cast": "sensor.camera", "lidar": "sensor.camera.rgb"} {
		o := call(t, "sensors", "list", pattern)
		require.Equal(t, exitDone, o.code, o.err)
		assert.NotEmpty(t, o.out, pattern)
		assert.NotContains(t, o.out, other, pattern)
		for line := range strings.Lines(o.out) {
			assert.True(t, strings.HasPrefix(line, strings.TrimSuffix(pattern, "*")) || pattern == "lidar", line)
		}
	}
}

// wallDistance is how far before the map's origin the wall of sceneFile stands,
// metres.
const wallDistance = 10

// wallColor is the wall's emission, linear; it reflects nothing.
var wallColor = [3]float64{0.5, 0.05, 0}

type object = map[string]any

// sceneFile writes the model that most tests run: a floor, and a glowing wall
// wallDistance ahead of the vehicle, which stands at the origin. It is written by
// hand: no glTF library takes part.
func sceneFile(t *testing.T, dir string) string {
	t.Helper()
	// ROS (x, y, z) is glTF (z, x, y).
	points := [][3]float32{
		{-30, 0, -30}, {-30, 0, 30}, {30, 0, 30}, {30, 0, -30},
		{-8, 0, wallDistance}, {8, 0, wallDistance}, {8, 6, wallDistance}, {-8, 6, wallDistance},
	}
	var bin bytes.Buffer
	require.NoError(t, binary.Write(&bin, binary.LittleEndian, points))
	require.NoError(t, binary.Write(&bin, binary.LittleEndian, []uint16{0, 1, 2, 0, 2, 3, 4, 6, 5, 4, 7, 6}))
	quad := func(offset int) object {
		return object{"bufferView": 1, "byteOffset": offset, "componentType": 5123, "count": 6, "type": "SCALAR"}
	}
	mesh := func(indices, material int) object {
		return object{"primitives": []object{{"attributes": object{"POSITION": 0}, "indices": indices, "material": material}}}
	}
	document := object{
		"asset": object{"version": "2.0"}, "scene": 0, "scenes": []object{{"nodes": []int{0, 1}}},
		"nodes":  []object{{"name": "road", "mesh": 0}, {"name": "building_wall", "mesh": 1}},
		"meshes": []object{mesh(1, 0), mesh(2, 1)},
		"materials": []object{
			{"name": "asphalt", "doubleSided": true, "pbrMetallicRoughness": object{"baseColorFactor": []float64{0.2, 0.2, 0.2, 1}, "metallicFactor": 0}},
			{"name": "glow", "doubleSided": true, "emissiveFactor": wallColor, "pbrMetallicRoughness": object{"baseColorFactor": []float64{0, 0, 0, 1}, "metallicFactor": 1, "roughnessFactor": 1}},
		},
		"accessors": []object{
			{"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3", "min": []float64{-30, 0, -30}, "max": []float64{30, 6, 30}},
			quad(0), quad(12),
		},
		"bufferViews": []object{{"buffer": 0, "byteLength": 12 * len(points)}, {"buffer": 0, "byteOffset": 12 * len(points), "byteLength": 24}},
		"buffers":     []object{{"byteLength": bin.Len(), "uri": "data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(bin.Bytes())}},
	}
	text, err := json.Marshal(document)
	require.NoError(t, err)
	path := filepath.Join(dir, "wall.gltf")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return path
}

// smallRig has every kind of sensor, small.
const smallRig = `sensors:
  - {id: sensor.camera.rgb, name: eye, image_size_x: 64, image_size_y: 48, fov: 60, compressed: png, tone_curve: none, pose: {z: 1.5}}
  - {id: sensor.camera.rgb, name: film, frame: eye, image_size_x: 64, image_size_y: 48, fov: 60, compressed: jpeg, jpeg_quality: 95, tone_curve: none, pose: {z: 1.5}}
  - {id: sensor.camera.depth, name: depth, frame: eye, image_size_x: 64, image_size_y: 48, fov: 60, pose: {z: 1.5}}
  - {id: sensor.camera.semantic_segmentation, name: tags, frame: eye, image_size_x: 64, image_size_y: 48, fov: 60, pose: {z: 1.5}}
  - {id: sensor.lidar.ray_cast, name: roof, preset: VelodyneVLP16, columns: 180, noise_stddev: 0.01, pose: {z: 2}}
  - {id: sensor.other.imu, name: imu, noise_accel_stddev_x: 0.1}
  - {id: sensor.other.gnss, name: gnss, rate: 13.4}
  - {id: sensor.other.odometry, name: odom, topic: /odom, frame: base_link}
`

// recorded is one message of a recording, with the standard header of its CDR.
type recorded struct {
	topic, schema           string
	logTime, publishTime    int64
	stamp                   simtime.Stamp // of the header, or of the clock
	frame                   string
	body                    cdr // behind the header
	sequence                uint32
	schemaEncoding, content string
}

// readRecording reads a file with the official reader, in the file's order.
func readRecording(t *testing.T, path string) []recorded {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	reader, err := mcap.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer reader.Close()
	info, err := reader.Info()
	require.NoError(t, err, "the recording has no summary")
	require.Equal(t, "ros2", info.Header.Profile)
	messages, err := reader.Messages(mcap.UsingIndex(true), mcap.InOrder(mcap.FileOrder))
	require.NoError(t, err)
	var list []recorded
	require.NoError(t, mcap.Range(messages, func(s *mcap.Schema, c *mcap.Channel, m *mcap.Message) error {
		r := recorded{
			topic: c.Topic, schema: s.Name, logTime: int64(m.LogTime), publishTime: int64(m.PublishTime), sequence: m.Sequence,
			schemaEncoding: s.Encoding, content: string(m.Data),
		}
		r.body = cdr{t: t, data: bytes.Clone(m.Data)[4:]} // behind the encapsulation
		if s.Name == "tf2_msgs/msg/TFMessage" {
			r.body.u32() // the first transform's header stands for all
		}
		r.stamp = simtime.Stamp(int64(int32(r.body.u32()))*1e9 + int64(r.body.u32()))
		if s.Name != "rosgraph_msgs/msg/Clock" {
			r.frame = r.body.text()
		}
		list = append(list, r)
		return nil
	}))
	require.EqualValues(t, info.Statistics.MessageCount, len(list))
	return list
}

// byTopic groups messages.
func byTopic(list []recorded) map[string][]recorded {
	topics := map[string][]recorded{}
	for _, r := range list {
		topics[r.topic] = append(topics[r.topic], r)
	}
	return topics
}

// cdr reads little-endian CDR, version 1 (OMG CORBA 3.0 section 15.3): values are
// aligned to their size.
type cdr struct {
	t    *testing.T
	data []byte
	at   int
}

func (c *cdr) take(n, align int) []byte {
	c.t.Helper()
	c.at = (c.at + align - 1) / align * align
	require.LessOrEqual(c.t, c.at+n, len(c.data), "the message ends early")
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *cdr) u8() uint8 { return c.take(1, 1)[0] }

func (c *cdr) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4, 4)) }

// text reads a string, which ends with a zero.
func (c *cdr) text() string {
	n := int(c.u32())
	return string(c.take(n, 1)[:n-1])
}

// bytes reads a sequence of bytes.
func (c *cdr) bytes() []byte { return c.take(int(c.u32()), 1) }

// rawImage is a sensor_msgs/Image behind its header.
type rawImage struct {
	height, width int
	encoding      string
	step          int
	data          []byte
}

func (r *recorded) image() rawImage {
	c := r.body
	m := rawImage{height: int(c.u32()), width: int(c.u32()), encoding: c.text()}
	c.u8() // is_bigendian
	m.step, m.data = int(c.u32()), c.bytes()
	return m
}

// pixel returns a pixel's bytes, of the given number.
func (m *rawImage) pixel(u, v, size int) []byte {
	at := v*m.step + u*size
	return m.data[at : at+size]
}

// compressedImage is a sensor_msgs/CompressedImage behind its header.
func (r *recorded) compressedImage() (format string, data []byte) {
	c := r.body
	return c.text(), c.bytes()
}

// While a command runs, the heap is cleared near its limit of memory, unless the environment says
// otherwise. Then all is as before.
func TestTheHeapIsClearedNearTheLimit(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	for _, environment := range []string{"", "3GiB"} {
		t.Setenv("GOMEMLIMIT", environment)
		var limit memoryLimit
		var during int64
		cmd := &cobra.Command{Use: "hold", RunE: func(*cobra.Command, []string) error {
			during = debug.SetMemoryLimit(-1)
			return nil
		}}
		addMemoryLimit(cmd, &limit)
		cmd.SetArgs([]string{"--max-memory", "1GiB"})
		require.NoError(t, cmd.Execute())
		if environment == "" {
			assert.EqualValues(t, 1<<30+256<<20, during)
		} else {
			assert.Equal(t, was, during)
		}
		assert.Equal(t, was, debug.SetMemoryLimit(-1))
	}
}

// Ctrl-C while a scene is read isn't wrong use of the command.
func TestInterruptedReadingIsNotWrongUse(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := newRoot(io.Discard, io.Discard)
	root.SetArgs([]string{"scene", "info", filepath.Join("..", "..", "scene", "gltf", "testdata", "car.gltf")})
	err := root.ExecuteContext(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, exitInterrupted, exitCode(err))
}

// TestTheDefaultLimitSaysWhatHelps: a container has to have more, where nobody has given the limit.
func TestTheDefaultLimitSaysWhatHelps(t *testing.T) {
	t.Parallel()
	var unset memoryLimit
	err := refused(unset.budget().Take("a moon", 1<<62))
	assert.Equal(t, exitUsage, exitCode(err))
	assert.ErrorContains(t, err, "beside 128.0 MiB for the program itself: give the machine or the container more memory, or raise the limit by --max-memory")
	given := memoryLimit(1 << 30)
	err = refused(given.budget().Take("a moon", 1<<62))
	assert.ErrorContains(t, err, "the limit is 1.0 GiB: --max-memory raises it")
	assert.Equal(t, int64(1<<30+heapRoom), given.heap())
	assert.Equal(t, max(memory.Default(), leastHeap), unset.heap())
}
