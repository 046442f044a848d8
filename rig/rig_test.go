package rig_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

type nothing struct{}

func (nothing) Begin(context.Context, *sensors.Env) error { return nil }
func (nothing) Tick(sensors.Tick) error                   { return nil }
func (nothing) End() error                                { return nil }

func registry() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(&sensors.Definition{
		ID: "sensor.test", Rate: simtime.Hz(10),
		Attributes: []sensors.Attribute{{Name: "fov", Type: sensors.Float, Min: 1, Max: 179, Unit: "deg", Default: 90.0}},
		Outputs: []sensors.OutputSpec{
			sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "data", Suffix: "/data"}),
			sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "more", Suffix: "/more"}),
		},
		New: func(sensors.Spec) (sensors.Sensor, error) { return nothing{}, nil },
	}))
}

func resolve(text string) ([]sensors.Spec, error) {
	r, err := rig.Parse("r.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return r.Resolve(registry())
}

func TestResolveComposesParents(t *testing.T) {
	list, err := resolve(`
sensors:
  - {id: sensor.test, name: eye, parent: mast, pose: {x: 1}, fov: 60, rate: 13.4}
  - {id: sensor.test, name: mast, pose: {z: 2, yaw: 90}, topic: top/}
`)
	require.NoError(t, err)
	require.Len(t, list, 2)
	eye := list[0]
	p := eye.Mount.Apply(mgl64.Vec3{})
	assert.InDeltaSlice(t, []float64{0, 1, 2}, p[:], 1e-12)
	assert.Equal(t, "mast", eye.ParentFrame)
	assert.Equal(t, "eye", eye.FrameID)
	assert.Equal(t, "/eye", eye.Topic)
	assert.Equal(t, "13.4", eye.Rate.String())
	assert.Equal(t, 60.0, eye.Settings.Value("fov"))
	assert.Equal(t, "/top", list[1].Topic)
	assert.Equal(t, "10", list[1].Rate.String())
	assert.Equal(t, 90.0, list[1].Settings.Value("fov"))
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{"sensors:\n  - {id: sensor.tst, name: a}", `r.yaml:2:5: sensors[0]: unknown sensor type "sensor.tst", did you mean sensor.test?`, sensors.ErrUnknownSensor},
		{"sensors:\n  - id: sensor.test\n    name: a\n    fow: 3", `r.yaml:4:10: sensors[0].fow: unknown attribute "fow" of sensor.test, did you mean fov?`, sensors.ErrUnknownAttribute},
		{"sensors:\n  - id: sensor.test\n    name: a\n    fov: 180", "r.yaml:4:10: sensors[0].fov: bad attribute value: fov is 180, the range is 1 to 179 deg", sensors.ErrValue},
		{"sensors:\n  - id: sensor.test\n    name: a\n    fov: wide", "r.yaml:4:10: sensors[0].fov: bad attribute value: fov is wide (string), need a float", sensors.ErrValue},
		{"sensors:\n  - {id: sensor.test, name: a}\n  - {id: sensor.test, name: a}", `r.yaml:3:5: sensors[1]: bad sensor name: two sensors are named "a"`, rig.ErrName},
		{"sensors:\n  - {id: sensor.test}", `r.yaml:2:5: sensors[0]: bad sensor name: "", need a word without spaces and slashes`, rig.ErrName},
		{"sensors:\n  - {id: sensor.test, name: a, parent: b}", `r.yaml:2:5: sensors[0]: bad parent frame: "b" is neither base_link nor a sensor's frame, known are a, base_link`, rig.ErrParent},
		{"sensors:\n  - {id: sensor.test, name: a, parent: bas_link}", `r.yaml:2:5: sensors[0]: bad parent frame: "bas_link" is neither base_link nor a sensor's frame, did you mean base_link?`, rig.ErrParent},
		{"sensors:\n  - {id: sensor.test, name: a, parent: b}\n  - {id: sensor.test, name: b, parent: a}", "r.yaml:2:5: sensors[0]: bad parent frame: the parents of \"a\" form a circle\nr.yaml:3:5: sensors[1]: bad parent frame: the parents of \"b\" form a circle", rig.ErrParent},
		{chain(102), `r.yaml:103:3: sensors[101]: bad parent frame: "s101" has 101 parents in a row, need at most 100`, rig.ErrParent},
		{"sensors:\n  - {id: sensor.test, name: a, pose: {yaww: 3}}", "r.yaml:2:39: sensors[0].pose.yaww: unknown key, did you mean yaw?", doc.ErrUnknownKey},
		{"sensors:\n  - {id: sensor.test, name: a, topic: a b}", `r.yaml:2:39: sensors[0].topic: bad topic "a b", need names without spaces between single slashes`, rig.ErrTopic},
		{"sensors:\n  - {id: sensor.test, name: a, topic: //a}", `r.yaml:2:39: sensors[0].topic: bad topic "//a", need names without spaces between single slashes`, rig.ErrTopic},
		{"sensors:\n  - {id: sensor.test, name: a, pose: {z: 1}}\n  - {id: sensor.test, name: b, frame: a}", `r.yaml:3:39: sensors[1].frame: bad frame "a": sensor a, which has the same, is mounted elsewhere`, rig.ErrFrame},
		{"sensors:\n  - {id: sensor.test, name: a, frame: /a}", `r.yaml:2:39: sensors[0].frame: bad frame "/a", need a name without spaces and leading slash`, rig.ErrFrame},
		{"sensors:\n  - {id: sensor.test, name: a, frame_id: a b}", `r.yaml:2:42: sensors[0].frame_id: bad frame "a b", need a name without spaces and leading slash`, rig.ErrFrame},
		{"sensors:\n  - {id: sensor.test, name: a, topics: {data: a b}}", `r.yaml:2:47: sensors[0].topics.data: bad topic "a b", need names without spaces between single slashes`, rig.ErrTopic},
		{"sensors:\n  - {id: sensor.test, name: a, topics: {dta: /a}}", `r.yaml:2:46: sensors[0].topics.dta: unknown output "dta" of sensor.test, did you mean data?`, rig.ErrOutput},
		{"sensors:\n  - {id: sensor.test, name: a, topics: {data: [1]}}", `r.yaml:2:47: sensors[0].topics.data: wrong kind of value: [1], need a topic`, doc.ErrType},
		{"sensors:\n  - {id: sensor.test, name: a, topics: /a}", `r.yaml:2:40: sensors[0].topics: wrong kind of value: need key: value pairs`, doc.ErrType},
		{"drivers: [me]", `r.yaml:1:11: drivers[0]: unknown value: "me", known are external, keys`, doc.ErrValue},
		{"sensor: []", "r.yaml:1:1: sensor: unknown key, did you mean sensors?", doc.ErrUnknownKey},
	} {
		_, err := resolve(c.text)
		require.ErrorIs(t, err, c.is, c.text)
		assert.Equal(t, c.message, err.Error(), c.text)
	}
}

// A sensor's messages may name another frame than its own, which alone is placed, and
// single outputs may have topics of their own.
// chain is a rig of n sensors, each mounted on the one before.
func chain(n int) string {
	text := "sensors:\n- {id: sensor.test, name: s0}\n"
	for i := 1; i < n; i++ {
		text += fmt.Sprintf("- {id: sensor.test, name: s%d, parent: s%d}\n", i, i-1)
	}
	return text
}

func TestResolveTellsNamesFromPlaces(t *testing.T) {
	list, err := resolve(`
sensors:
  - {id: sensor.test, name: front, frame_id: base_link, pose: {x: 1}, topic: /f, topics: {more: elsewhere/}}
  - {id: sensor.test, name: rear, frame_id: base_link, pose: {x: -1}}
`)
	require.NoError(t, err)
	for i, name := range []string{"front", "rear"} {
		assert.Equal(t, name, list[i].Frame)
		assert.Equal(t, name, list[i].BodyFrame())
		assert.Equal(t, "base_link", list[i].FrameID)
		assert.Equal(t, "base_link", list[i].OpticalFrame())
	}
	assert.Equal(t, "/f", list[0].Topic)
	assert.Equal(t, map[string]string{"more": "/elsewhere"}, list[0].Topics)
	assert.Empty(t, list[1].Topics)

	list, err = resolve("sensors: [{id: sensor.test, name: eye}, {id: sensor.test, name: ear, frame_id: ear}]")
	require.NoError(t, err)
	assert.Equal(t, "eye", list[0].FrameID)
	assert.Equal(t, "eye_optical", list[0].OpticalFrame())
	assert.Equal(t, "ear", list[1].OpticalFrame(), "what the rig says, though it is the body's")
}

func TestARateIsReadAtItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"0":     "r.yaml:2:38: sensors[0].rate: invalid rate: 0 Hz is outside (0, 1000000000]",
		"fast":  `r.yaml:2:38: sensors[0].rate: invalid rate: "fast" is not a decimal number of at most 9 decimals`,
		"true":  "r.yaml:2:38: sensors[0].rate: wrong kind of value: true, need a number or a text",
		"10001": "r.yaml:2:38: sensors[0].rate: invalid rate: 10001 Hz, a sensor fires 10000 times a second at most",
		"1/0.3": "",
	} {
		list, err := resolve("sensors:\n  - {id: sensor.test, name: a, rate: " + text + "}")
		if want != "" {
			require.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, simtime.MustRate("10/3"), list[0].Rate)
	}
}

func TestFaultNamesTheKeysPlace(t *testing.T) {
	list, err := resolve("sensors:\n  - {id: sensor.test, name: a, rate: 20}")
	require.NoError(t, err)
	cause := errors.New("no number")
	assert.EqualError(t, list[0].Config.Fault("rate", cause), "r.yaml:2:38: sensors[0].rate: no number")
	assert.EqualError(t, list[0].Config.Fault("topic", cause), "r.yaml:2:5: sensors[0]: topic: no number")
	assert.EqualError(t, list[0].Config.Fault("", cause), "r.yaml:2:5: sensors[0]: no number")
	assert.EqualError(t, list[0].Config.Fault("topics.data", cause), "r.yaml:2:5: sensors[0]: topic: no number")
	assert.ErrorIs(t, list[0].Config.Fault("rate", cause), cause)

	made := rig.Rig{Sensors: []sensors.Config{{ID: "sensor.test", Name: "a"}}}
	list, err = made.Resolve(registry())
	require.NoError(t, err)
	assert.EqualError(t, list[0].Config.Fault("rate", cause), "sensor a: rate: no number")
}

func TestReadNamesAMissingFile(t *testing.T) {
	_, err := rig.Reader{}.Read("no-such-rig.yaml")
	require.ErrorContains(t, err, "no-such-rig.yaml")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("sensors:\n  - {id: sensor.test, name: a, parent: a, fov: 60}"))
	f.Add([]byte("sensors: [{id: sensor.test, name: b, pose: {x: 1e999}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := rig.Parse("r.yaml", data)
		if err != nil {
			return
		}
		list, err := r.Resolve(registry())
		if err == nil && len(list) != len(r.Sensors) {
			t.Fatalf("%d sensors resolved of %d", len(list), len(r.Sensors))
		}
	})
}

// TestAWSIMsRig holds the ready rig to what AWSIM publishes: topics, rates and quality of
// service by AWSIM's tables.
func TestAWSIMsRig(t *testing.T) {
	r, err := rig.Reader{}.Read("../docs/examples/awsim.yaml")
	require.NoError(t, err)
	list, err := r.Resolve(all.Registry())
	require.NoError(t, err)
	topics, err := pipeline.RigTopics(r, all.Registry())
	require.NoError(t, err)
	best, sure := flow.BestEffort, flow.Reliable
	want := map[string]struct {
		reliability flow.Reliability
		depth       int
		rate, frame string
	}{
		"/sensing/camera/traffic_light/image_raw":          {best, 1, "10", "traffic_light_left_camera/camera_link"},
		"/sensing/camera/traffic_light/camera_info":        {best, 1, "10", "traffic_light_left_camera/camera_link"},
		"/sensing/lidar/top/pointcloud_raw_ex":             {best, 5, "10", "sensor_kit_base_link"},
		"/sensing/imu/tamagawa/imu_raw":                    {sure, 1000, "30", "tamagawa/imu_link"},
		"/sensing/gnss/ublox/nav_sat_fix":                  {sure, 1000, "1", "map"},
		"/awsim/ground_truth/localization/kinematic_state": {best, 1, "60", "base_link"},
		"/vehicle/status/can_bus":                          {sure, 1, "30", "base_link"},
		"/vehicle/status/speed":                            {sure, 1, "30", "base_link"},
	}
	for i, s := range list {
		for _, topic := range topics[i] {
			w, known := want[topic]
			require.True(t, known, topic)
			delete(want, topic)
			q := s.Config.QoS.Over(flow.StaticQoS)
			assert.Equal(t, flow.QoS{Reliability: w.reliability, Durability: flow.Volatile, History: flow.KeepLast, Depth: w.depth}, q, topic)
			assert.Equal(t, w.rate, s.Rate.String(), topic)
			named := s.FrameID
			if strings.HasPrefix(s.Definition.ID, "sensor.camera.") {
				named = s.OpticalFrame()
			}
			assert.Equal(t, w.frame, named, topic)
		}
	}
	assert.Empty(t, want)
}

// TestQualityOfService: what a rig gives replaces the type's own, and is written again.
func TestQualityOfService(t *testing.T) {
	r, err := rig.Parse("r.yaml", []byte("sensors:\n  - {id: sensor.other.imu, name: a, qos: {reliability: reliable, depth: 7}}\n  - {id: sensor.other.imu, name: b}\n"))
	require.NoError(t, err)
	own := flow.DefaultQoS
	assert.Equal(t, flow.QoS{Reliability: flow.Reliable, Durability: own.Durability, History: flow.KeepLast, Depth: 7}, r.Sensors[0].QoS.Over(own))
	assert.Equal(t, own, r.Sensors[1].QoS.Over(own))
	var text strings.Builder
	require.NoError(t, r.WriteYAML(&text))
	again, err := rig.Parse("r.yaml", []byte(text.String()))
	require.NoError(t, err)
	assert.Equal(t, r.Sensors[0].QoS, again.Sensors[0].QoS)
	_, err = rig.Parse("r.yaml", []byte("sensors:\n  - {id: sensor.other.imu, name: a, qos: {reliability: sure}}"))
	assert.EqualError(t, err, `r.yaml:2:56: sensors[0].qos.reliability: unknown value: "sure", known are reliable, best_effort`)
	_, err = rig.Parse("r.yaml", []byte("sensors:\n  - {id: sensor.other.imu, name: a, qos: {depth: 0}}"))
	assert.ErrorIs(t, err, doc.ErrRange)
}

// A file of another kind is named, with what to do, wherever the reader gave up.
func TestFilesOfOtherKindsAreNamed(t *testing.T) {
	const write = "write the sensors as YAML, whose keys docs/sensors.md has, or as CARLA's objects.json"
	for name, c := range map[string]struct{ content, want string }{
		"a.urdf":       {"<?xml version=\"1.0\"?>\n<robot name=\"r\"/>\n", "it is a robot of URDF: " + write},
		"a.xml":        {"<?xml version=\"1.0\"?>\n<robot name=\"r\"/>\n", "it is a robot of URDF: " + write},
		"a.xacro":      {"<a b='c: d'>", "it is a robot of URDF: " + write},
		"a.sdf":        {"<sdf/>", "it is a world of Gazebo: " + write},
		"spawn.py":     {"import carla\nx = {'a': 1}\n", "it is a Python program: " + write},
		"a.gltf":       {`{"asset": {"version": "2.0"}}`, "it is a glTF scene: --scene takes it"},
		"a.glb":        {"glTF\x02\x00\x00\x00", "it is a glTF scene: --scene takes it"},
		"cut-in.xosc":  {"<OpenSCENARIO/>", "it is an OpenSCENARIO file: let esmini play it, with --world osi:udp:"},
		"drive":        {"\x89MCAP0\r\n", "it is a recording: raybridge replay sends it"},
		"lidars.csv":   {"name,x,y\n", "it is a table: " + write},
		"vehicle.zip":  {"PK\x03\x04", "it is an archive: unpack it and name the file in it"},
		"Town03.xodr":  {"<OpenDRIVE/>", "it is an OpenDRIVE map: " + write},
		"unknown.toml": {"sensors = 1", ""},
	} {
		_, err := rig.Parse(name, []byte(c.content))
		require.Error(t, err, name)
		if c.want == "" {
			assert.NotErrorIs(t, err, rig.ErrFormat, name)
			continue
		}
		assert.ErrorIs(t, err, rig.ErrFormat, name)
		assert.Equal(t, name+": unknown kind of rig: "+c.want, err.Error(), name)
	}
	// A rig is one whatever its name is, and says of robots what it likes.
	for _, name := range []string{"a.urdf", "a.sdf"} {
		_, err := rig.Parse(name, []byte("# of <robot>\nsensors: []\n"))
		assert.NoError(t, err)
	}
	_, err := rig.Parse("rig", []byte("# of <robot>\nsensor: []\n"))
	assert.ErrorIs(t, err, doc.ErrUnknownKey)
}
