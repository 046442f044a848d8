package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/simtime"
)

const whole = `
seed: 7
duration: 20s
scene:
  place:
    - {file: street.gltf, pose: {x: 4, yaw: 90}}
  origin: {latitude: 49.01, longitude: 8.4, altitude: 110}
time: {source: simulation, scale: 0.5, step: 5ms, clock_hz: 50}
ego: {driver: external, pose: {x: 1}}
actors:
  - {file: car.glb, waypoints: [{x: 0, y: 0}, {x: 10, y: 0}, {x: 10, y: 10}], speed: 3}
  - {file: van.glb, waypoints: [{x: 0, y: 0}, {x: 10, y: 0}, {x: 10, y: 10}]}
world: {models: [bus.glb, /models/tram.glb]}
rig: car.rig.yaml
bridges:
  - {type: mcap, connection: "drive.mcap?metadata=9", policy: block}
`

func TestReadResolvesFilesBesideIt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run.yaml")
	require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "car.rig.yaml"), []byte("sensors: [{id: sensor.camera.rgb, name: front}]"), 0o600))

	c, err := config.Reader{}.Read(file)
	require.NoError(t, err)
	assert.EqualValues(t, 7, c.Seed)
	assert.Equal(t, 20*time.Second, c.Duration)
	assert.Equal(t, filepath.Join(dir, "street.gltf"), c.Scene.Place[0].File)
	assert.Equal(t, 1.0, c.Scene.Place[0].Scale)
	assert.Equal(t, filepath.Join(dir, "car.glb"), c.Actors[0].File)
	assert.Equal(t, 3.0, c.Actors[0].Speed)
	assert.Equal(t, 5.0, c.Actors[1].Speed, "who moves has a speed")
	assert.Equal(t, []string{filepath.Join(dir, "bus.glb"), "/models/tram.glb"}, c.World.Models)
	assert.Equal(t, 5*time.Millisecond, c.Time.Step)
	assert.Equal(t, "simulation", c.Time.Source)
	assert.Equal(t, "drive.mcap?metadata=9", c.Bridges[0].Connection)
	require.Len(t, c.Sensors, 1)
	assert.Equal(t, "front", c.Sensors[0].Name)
}

func TestAMissingFileIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	_, err := config.Reader{}.Read(file)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "read config: ")
	assert.ErrorContains(t, err, file)
}

func TestAnEmptyFileIsTheDefault(t *testing.T) {
	c, err := config.Reader{}.Parse("c.yaml", nil)
	require.NoError(t, err)
	assert.Equal(t, config.Default(), c)
}

func TestFaults(t *testing.T) {
	for text, message := range map[string]string{
		"duratoin: 3":                           "c.yaml:1:1: duratoin: unknown key, did you mean duration?",
		"ego: {driver: waypoint}":               `c.yaml:1:15: ego.driver: unknown value: "waypoint", did you mean waypoints?`,
		"bridges: [{type: mcap, policy: drop}]": `c.yaml:1:32: bridges[0].policy: unknown value: "drop", known are block, drop_newest, drop_oldest, exclusive`,
		"bridges: [{type: mcap, qos: [{topic: /a, reliability: sure}]}]": `c.yaml:1:55: bridges[0].qos[0].reliability: unknown value: "sure", known are reliable, best_effort`,
		"scene: {city: true, file: a.glb}":                               "c.yaml: scene: give only one of city, plane and file",
		"scene: {plane: true, file: a.glb}":                              "c.yaml: scene: give only one of city, plane and file",
		"scene: {plane: true, city: true}":                               "c.yaml: scene: give only one of city, plane and file",
		"scene: {city: true, offset: {x: 1}}":                            "c.yaml: scene.offset: only a plane has an offset: give plane: true, or leave it out",
		"scene: {offset: {}}":                                            "c.yaml: scene.offset: only a plane has an offset: give plane: true, or leave it out",
		"scene: {plane: true, offset: {y: 2e7}}":                         "c.yaml:1:34: scene.offset.y: out of range: 2e+07, the range is -1e7 to 1e7",
		"scene: {plane: true, offset: {z: .nan}}":                        "c.yaml:1:34: scene.offset.z: out of range: NaN, the range is -1e7 to 1e7",
		"rig: a.yaml\nsensors: [{id: a, name: b}]":                       "c.yaml: rig: give either rig or sensors, not both",
		"scene: {labels: a.yaml, label_rules: [{match: a, tag: car}]}":   "c.yaml: scene.label_rules: give either labels or label_rules, not both",
		"time: {step: 2s}":                                               "c.yaml: time.step: out of range: 2s, the range is 100µs to 1s",
		"ego: {commands: {timeout: -1s}}":                                "c.yaml:1:27: ego.commands.timeout: out of range: -1s, a duration is not negative",
		"ego: {waypoints: [{x: 1}]}":                                     "c.yaml: ego.waypoints: a loop needs at least 3 points, it has 1",
		"actors: [{pose: {x: 1}}]":                                       "c.yaml: actors[0]: it needs a file",
		"scene: {triangles: 12}":                                         "c.yaml:1:20: scene.triangles: out of range: 12, the range is 40000 to 4000000",
		"ego: {speed: 0}":                                                "c.yaml:1:14: ego.speed: out of range: 0, the range is 0.01 to 100",
		"actors: [{file: a.glb, speed: 0}]":                              "c.yaml:1:31: actors[0].speed: out of range: 0, the range is 0.01 to 100",
		"weather: {preset: foog}":                                        `c.yaml:1:19: weather.preset: unknown value: "foog", did you mean fog?`,
		"weather: {visibility: 0}":                                       "c.yaml:1:23: weather.visibility: out of range: 0, the range is 1 to 1e9",
		"weather: {rain: -1}":                                            "c.yaml:1:17: weather.rain: out of range: -1, the range is 0 to 300",
		"weather: {snow: .nan}":                                          "c.yaml:1:17: weather.snow: out of range: NaN, the range is 0 to 20",
		"weather: {wetness: 2}":                                          "c.yaml:1:20: weather.wetness: out of range: 2, the range is 0 to 1",
		"weather: {wind: 3}":                                             "c.yaml:1:17: weather.wind: wrong kind of value: need key: value pairs",
		"weather: {wind: {x: 101}}":                                      "c.yaml:1:21: weather.wind.x: out of range: 101, the range is -100 to 100",
		"weather: fog":                                                   "c.yaml:1:10: weather: wrong kind of value: need key: value pairs",
		"bridges: [{connection: a}]":                                     "c.yaml: bridges[0]: a bridge needs a type",
		"scene: {origin: {latitude: 91}}":                                "c.yaml:1:28: scene.origin.latitude: out of range: 91, the range is -90 to 90",
		"time: {scale: -1}":                                              "c.yaml:1:15: time.scale: out of range: -1, the range is 0.001 to 100",
		"scene: {place: [{file: a.glb, scale: -1}]}":                     "c.yaml:1:38: scene.place[0].scale: out of range: -1, the range is 1e-6 to 1e6",
		"scene: {place: [{file: a, waypoints: [{}]}]}":                   "c.yaml: scene.place[0]: waypoints: a loop needs at least 3 points, it has 1",
		"time: {source: moon}":                                           `c.yaml:1:16: time.source: unknown value: "moon", known are engine, unity, ss2, external, system, dotnet_system, simulation, dotnet_simulation, ros2`,
		"time: {source: simulated}":                                      `c.yaml:1:16: time.source: unknown value: "simulated", did you mean simulation?`,
		"TimeSource: dotnet_sys":                                         `c.yaml:1:13: TimeSource: unknown value: "dotnet_sys", did you mean dotnet_system?`,
		"TimeScale: 101":                                                 "c.yaml:1:12: TimeScale: out of range: 101, the range is 0.001 to 100",
		"time: {scale: 1}\nTimeScale: 2":                                 "c.yaml:2:1: TimeScale: time.scale is given twice: TimeScale is another name of it",
		"TimeSource: ss2\ntimesource: ros2":                              "c.yaml:1:1: TimeSource: time.source is given twice: TimeSource is another name of it\nc.yaml:2:1: timesource: time.source is given twice: timesource is another name of it",
		"TimeSource: ss2\ntime: {source: engine}":                        "c.yaml:1:1: TimeSource: time.source is given twice: TimeSource is another name of it",
		"TimeSourceType: 5":                                              "c.yaml:1:17: TimeSourceType: out of range: 5, the range is 0 to 4",
		"TimeSourceType: 1\nTimeSource: ss2":                             "c.yaml:1:1: TimeSourceType: time.source is given twice: TimeSourceType is another name of it\nc.yaml:2:1: TimeSource: time.source is given twice: TimeSource is another name of it",
		"simulationConfiguration: {timeScale: 0}":                        "c.yaml:1:38: simulationConfiguration.timeScale: out of range: 0, the range is 0.001 to 100",
		"simulationConfiguration: {useTrafic: true}":                     "c.yaml:1:27: simulationConfiguration.useTrafic: unknown key, did you mean useTraffic?",
		"simulationConfiguration: 1":                                     "c.yaml:1:26: simulationConfiguration: wrong kind of value: need key: value pairs",
		"TimeScale: 2\nsimulationConfiguration: {timeScale: 1}":          "c.yaml:1:1: TimeScale: time.scale is given twice: TimeScale is another name of it\nc.yaml:2:27: simulationConfiguration.timeScale: time.scale is given twice: timeScale is another name of it",
	} {
		_, err := config.Reader{}.Parse("c.yaml", []byte(text))
		require.Error(t, err, text)
		assert.Equal(t, message, err.Error(), text)
	}
}

// TestChooseAScene: what a name stands for takes the place of all that the file has, but a
// plane keeps its offset.
func TestChooseAScene(t *testing.T) {
	offset := &config.Point{X: 300_000, Y: 4_000_000, Z: 50}
	placed := config.Scene{Place: []config.Place{{File: "a.glb"}}}
	plane := config.Scene{Plane: true, Offset: offset}
	for _, c := range []struct {
		from config.Scene
		name string
		want config.Scene
	}{
		{placed, "city", config.Scene{City: true}},
		{placed, "plane", config.Scene{Plane: true}},
		{placed, "b.gltf", config.Scene{File: "b.gltf"}},
		{plane, "plane", plane},
		{plane, "city", config.Scene{City: true}},
		{plane, "b.gltf", config.Scene{File: "b.gltf"}},
		{config.Scene{File: "b.gltf"}, "plane", config.Scene{Plane: true}},
	} {
		c.from.Choose(c.name)
		assert.Equal(t, c.want, c.from, c.name)
	}
}

// TestTimeSourceNames: those of simtime, which a run gives them to, and no others.
func TestTimeSourceNames(t *testing.T) {
	for name, want := range map[string]string{
		"engine": simtime.Engine, "Unity": simtime.Engine, "SS2": simtime.SS2, "external": simtime.SS2, "System": simtime.System,
		"DOTNET_SYSTEM": simtime.System, "simulation": simtime.Simulation, "dotnet_simulation": simtime.Simulation, "Ros2": simtime.ROS2,
	} {
		c, err := config.Reader{}.Parse("c.yaml", []byte("time: {source: "+name+"}"))
		require.NoError(t, err)
		source, err := simtime.ParseSource(c.Time.Source)
		require.NoError(t, err)
		assert.Equal(t, want, source)
	}
	field, ok := reflect.TypeFor[config.Time]().FieldByName("Source")
	require.True(t, ok)
	for name := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
		_, err := simtime.ParseSource(name)
		require.NoError(t, err)
	}
	_, err := simtime.ParseSource("none")
	for name := range strings.SplitSeq(regexp.MustCompile(`known: ([^)]*), and`).FindStringSubmatch(err.Error())[1], ", ") {
		_, err := config.Reader{}.Parse("c.yaml", []byte("time: {source: "+name+"}"))
		require.NoError(t, err, "simtime knows it")
	}
}

// TestAWSIMsKeys: a JSON file is YAML, too.
func TestAWSIMsKeys(t *testing.T) {
	for text, want := range map[string]config.Time{
		`{"TimeSource": "simulation", "TimeScale": 0.2}`: {Source: "simulation", Scale: 0.2, ClockRate: simtime.Hz(100)},
		"timesource: ss2": {Source: "ss2", Scale: 1, ClockRate: simtime.Hz(100)},
		"TIMESCALE: 2\ntime: {source: ros2, clock_hz: 50}":          {Source: "ros2", Scale: 2, ClockRate: simtime.Hz(50)},
		"time: {clock_hz: 50}\nTimeSource: Unity\ntimeScale: 0.001": {Source: "Unity", Scale: 0.001, ClockRate: simtime.Hz(50)},
		`{"TimeSource": "", "TimeScale": 0.5}`:                      {Source: "engine", Scale: 0.5, ClockRate: simtime.Hz(100)},
		`{"TimeSourceType": 3}`:                                     {Source: "dotnet_simulation", Scale: 1, ClockRate: simtime.Hz(100)},
		`{"TimeSourceType": "Ros2"}`:                                {Source: "Ros2", Scale: 1, ClockRate: simtime.Hz(100)},
		`{"simulationConfiguration": {"timeScale": 0.1}}`:           {Source: "engine", Scale: 0.1, ClockRate: simtime.Hz(100)},
	} {
		c, err := config.Reader{}.Parse("c.yaml", []byte(text))
		require.NoError(t, err, text)
		want.Step = 10 * time.Millisecond
		assert.Equal(t, want, c.Time, text)
	}
}

// TestAWSIMsFiles: whole files of AWSIM 1 and 2 and of AWSIM Labs are configurations. What
// has no counterpart is told, each with its place.
func TestAWSIMsFiles(t *testing.T) {
	const place = `"Position": {"x": 81380.7, "y": 49918.7, "z": 41.5}, "EulerAngles": {"x": 0, "y": 0, "z": 35}`
	for text, lost := range map[string][]string{
		`{"TimeScale": 0.2, "TimeSource": "simulation", "RandomTrafficSeed": 33, "MaxVehicleCount": 2, "G29DevicePath": "", "Ego": {` + place + `}}`: {
			"RandomTrafficSeed", "MaxVehicleCount", "G29DevicePath", "Ego",
		},
		`{"TimeScale": 0.2, "TimeSourceType": 3, "LogitechG29Settings": {"_devicePath": "/dev/input/event3"}, "EgoVehicleSettings": {"_maxAccelerationInput": 2}, "EgoPose": {` + place + `}}`: {
			"LogitechG29Settings", "EgoVehicleSettings", "EgoPose",
		},
		`{"mapConfiguration": {"mapName": "a"}, "simulationConfiguration": {"useTraffic": true, "timeScale": 0.2}, "egoConfiguration": {"egoPosition": {}}}`: {
			"mapConfiguration", "simulationConfiguration.useTraffic", "egoConfiguration",
		},
	} {
		c, err := config.Reader{}.Parse("awsim.json", []byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, 0.2, c.Time.Scale, text)
		var paths []string
		for _, n := range c.Notices {
			assert.True(t, n.Lost)
			assert.Regexp(t, `^awsim\.json:1:\d+: `+regexp.QuoteMeta(n.Path)+`: no counterpart: .`, n.String())
			paths = append(paths, n.Path)
		}
		assert.Equal(t, lost, paths)
	}
}

// TestAWSIMsUnknownKeys: a key that AWSIM's versions up to now don't have is refused, with the
// closest one. A lenient reader notes it. In our own files it is always refused.
func TestAWSIMsUnknownKeys(t *testing.T) {
	for text, message := range map[string]string{
		`{"TimeScale": 0.2, "RandomTrafficSeeds": 1}`:                                `RandomTrafficSeeds: unknown key, did you mean RandomTrafficSeed?`,
		`{"mapConfiguration": {}, "visuals": 1}`:                                     `visuals: unknown key, known are seed, `,
		`{"simulationConfiguration": {"timeScale": 0.2, "useTrafic": true}}`:         `simulationConfiguration.useTrafic: unknown key, did you mean useTraffic?`,
		`{"simulationConfiguration": {"timeScale": 0.2, "weather": {"rain": true}}}`: `simulationConfiguration.weather: unknown key, known are timeScale, `,
	} {
		_, err := config.Reader{}.Parse("a.json", []byte(text))
		require.ErrorIs(t, err, doc.ErrUnknownKey, text)
		assert.ErrorContains(t, err, message)
		c, err := config.Reader{Lenient: true}.Parse("a.json", []byte(text))
		require.NoError(t, err, text)
		require.NotEmpty(t, c.Notices)
		path, _, _ := strings.Cut(message, ":")
		last := c.Notices[len(c.Notices)-1]
		assert.Equal(t, path, last.Path)
		assert.Equal(t, "no counterpart: the key is unknown", last.Text)
	}
	_, err := config.Reader{Lenient: true}.Parse("c.yaml", []byte("seeds: 1"))
	assert.ErrorContains(t, err, "seeds: unknown key, did you mean seed?")
}

// TestNoTopicForCommands is docs/commands.md's row for Apollo: an empty topic means no topic,
// and the others keep their defaults.
func TestNoTopicForCommands(t *testing.T) {
	c, err := config.Reader{}.Parse("c.yaml", []byte(`ego: {driver: external, commands: {control: /apollo/control, ackermann: "", velocity: ""}}`))
	require.NoError(t, err)
	assert.Equal(t, config.Commands{Control: "/apollo/control", Timeout: 500 * time.Millisecond}, c.Ego.Commands)
	c, err = config.Reader{}.Parse("c.yaml", []byte(`ego: {commands: {velocity: ""}}`))
	require.NoError(t, err)
	assert.Equal(t, config.Commands{Control: "/vehicle_control", Ackermann: "/ackermann_cmd", Timeout: 500 * time.Millisecond}, c.Ego.Commands)
}

// TestARigTakesItsControlTopicAlong: another rig brings its own topic and its notice, or the
// default; a topic that the configuration gives stays.
func TestARigTakesItsControlTopicAlong(t *testing.T) {
	read := func(text string) *rig.Rig {
		r, err := rig.Parse("r.yaml", []byte(text+"sensors: []\n"))
		require.NoError(t, err)
		return r
	}
	first, second, none := read("control_topic: /first\n"), read("control_topic: /the-second\n"), read("")
	c := config.Default()
	for _, step := range []struct {
		carried *rig.Rig
		topic   string
		notices int
	}{{first, "/first", 0}, {second, "/the_second", 1}, {first, "/first", 0}, {none, "/vehicle_control", 0}, {second, "/the_second", 1}} {
		c.Carry(step.carried)
		assert.Equal(t, step.topic, c.Ego.Commands.Control)
		assert.Len(t, c.Notices, step.notices)
	}
	c = config.Default()
	c.Ego.Commands.Control = "/given"
	c.Carry(first)
	c.Carry(second)
	assert.Equal(t, "/given", c.Ego.Commands.Control)
	assert.Empty(t, c.Notices)
}

// The bridges of a rig come and leave with it, and with its sensors. They open none by themselves.
func TestBridgesOfTheRig(t *testing.T) {
	with, err := rig.Parse("r.yaml", []byte("bridges: [{type: velodyne, connection: robot}]\nsensors: [{id: sensor.other.imu}]\n"))
	require.NoError(t, err)
	c := config.Default()
	assert.True(t, c.OpenRigBridges)
	c.Carry(with)
	assert.Empty(t, c.Bridges)
	require.Len(t, c.RigBridges, 1)
	assert.Equal(t, "velodyne:robot", c.RigBridges[0].String())
	require.NoError(t, c.Set("sensors[0].name", "imu"))
	assert.Len(t, c.RigBridges, 1)
	require.NoError(t, c.Set("sensors", "[{id: sensor.other.gnss}]"))
	assert.Empty(t, c.RigBridges, "other sensors")
	c.Carry(with)
	c.Carry(&rig.Rig{})
	assert.Empty(t, c.RigBridges, "another rig")
	require.NoError(t, c.Set("rig_bridges", "false"))
	assert.False(t, c.OpenRigBridges)
}

func TestParseBridge(t *testing.T) {
	b, err := config.ParseBridge("foxglove:127.0.0.1:8765?x=1")
	require.NoError(t, err)
	assert.Equal(t, config.Bridge{Type: "foxglove", Connection: "127.0.0.1:8765?x=1"}, b)
	for _, bad := range []string{"mcap", ":x", ""} {
		_, err := config.ParseBridge(bad)
		assert.Error(t, err, bad)
	}
}

func TestQualities(t *testing.T) {
	for text, want := range map[string]flow.QoS{
		"":                                  {Reliability: flow.BestEffort, Durability: flow.Volatile, History: flow.KeepLast, Depth: 1},
		", reliability: reliable, depth: 7": {Reliability: flow.Reliable, Durability: flow.Volatile, History: flow.KeepLast, Depth: 7},
		", durability: transient_local, deadline: 20ms": {Reliability: flow.BestEffort, Durability: flow.TransientLocal, History: flow.KeepLast, Depth: 1, Deadline: 20_000_000},
	} {
		c, err := config.Reader{}.Parse("c.yaml", []byte("bridges: [{type: mcap, qos: [{topic: /a"+text+"}]}]"))
		require.NoError(t, err, text)
		assert.Equal(t, want, c.Bridges[0].QoS[0].QoS(), text)
	}
}

// The city's own traffic makes room for a world's, unless the file says otherwise.
func TestOwnTraffic(t *testing.T) {
	for text, want := range map[string]bool{
		"{}":                                true,
		"{traffic: none}":                   false,
		"{source: csv:a.csv}":               false,
		"{source: csv:a.csv, traffic: own}": true,
	} {
		c, err := config.Reader{}.Parse("c.yaml", []byte("world: "+text))
		require.NoError(t, err, text)
		assert.Equal(t, want, c.World.HasTraffic(), text)
	}
}

func TestErrorsOfBridgesHaveTheirPlace(t *testing.T) {
	c, err := config.Reader{}.Parse("c.yaml", []byte("bridges:\n  - {type: mcap, connection: a}\n  - type: logging\n"))
	require.NoError(t, err)
	c.Bridges = append(c.Bridges, config.Bridge{Type: "stream"}) // a flag's
	fault := errors.New("no such place")
	assert.EqualError(t, c.InBridge(0, "connection", fault), "c.yaml:2:30: bridges[0].connection: no such place")
	assert.EqualError(t, c.InBridge(1, "connection", fault), "c.yaml:3:5: bridges[1]: connection: no such place")
	assert.Equal(t, fault, c.InBridge(2, "connection", fault))
	placed := c.InBridge(0, "type", fault)
	require.ErrorIs(t, placed, fault)
	assert.Equal(t, placed, c.InBridge(1, "type", placed))
	assert.NoError(t, c.InBridge(0, "type", nil))
	assert.Equal(t, fault, config.Default().InBridge(0, "type", fault))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("ego: {pose: {x: .nan}}"))
	f.Add([]byte("TimeSource: ss2\ntime: {source: ros2}"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = config.Reader{}.Parse("c.yaml", data) // must not panic
	})
}

// TestChooseDriver: a rig's drivers count where the file leaves it open, keys only with
// a window.
func TestChooseDriver(t *testing.T) {
	for _, c := range []struct {
		text             string
		drivers          []string
		headless, window string
	}{
		{"", nil, config.DriverWaypoints, config.DriverWaypoints},
		{"", []string{rig.DriverExternal}, config.DriverExternal, config.DriverExternal},
		{"", []string{rig.DriverKeys}, config.DriverWaypoints, config.DriverKeys},
		{"ego: {pose: {x: 1}}", []string{rig.DriverExternal, rig.DriverKeys}, config.DriverExternal, config.DriverKeys},
		{"ego: {driver: waypoints}", []string{rig.DriverExternal}, config.DriverWaypoints, config.DriverWaypoints},
		{"ego: {waypoints: [{x: 1}, {x: 2}, {y: 1}]}", []string{rig.DriverExternal}, config.DriverWaypoints, config.DriverWaypoints},
	} {
		for window, want := range map[bool]string{false: c.headless, true: c.window} {
			cfg, err := config.Reader{}.Parse("c.yaml", []byte(c.text))
			require.NoError(t, err)
			cfg.Carry(&rig.Rig{Drivers: c.drivers})
			cfg.ChooseDriver(window)
			assert.Equal(t, want, cfg.Ego.Driver, "%q, %v, window %v", c.text, c.drivers, window)
		}
	}
}

func TestAHugeFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("#"), 4<<20+1), 0o600))
	_, err := config.Reader{}.Read(path)
	assert.ErrorIs(t, err, doc.ErrTooLarge)
}

// A file of another kind is named, with what takes it.
func TestFilesOfOtherKindsAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"a.gltf":      {`{"asset": {"version": "2.0"}}`, "it is a glTF scene: --scene takes it"},
		"cut-in.xosc": {"<OpenSCENARIO/>", "it is an OpenSCENARIO file: let esmini play it, with --world osi:udp:"},
		"a.sumocfg":   {"<configuration/>", "it is a file of SUMO: name the .sumocfg that it belongs to by --world sumo:FILE.sumocfg"},
		"drive":       {"\x89MCAP0\r\n", "it is a recording: raybridge replay sends it"},
		"a.urdf":      {"<robot/>", "it is a robot of URDF: docs/config.md has the keys of a configuration"},
		"spawn.py":    {"import carla\n", "it is a Python program: docs/config.md has the keys of a configuration"},
	} {
		_, err := config.Reader{}.Parse(name, []byte(c.content))
		assert.ErrorIs(t, err, doc.ErrType, name)
		assert.EqualError(t, err, name+": wrong kind of value: "+c.want, name)
	}
	path := filepath.Join(t.TempDir(), "drive.mcap")
	require.NoError(t, os.WriteFile(path, make([]byte, 5<<20), 0o600))
	_, err := config.Reader{}.Read(path)
	assert.EqualError(t, err, path+": wrong kind of value: it is a recording: raybridge replay sends it")
	_, err = config.Reader{}.Parse("a.py", []byte("seed: 1"))
	assert.NoError(t, err)
}
