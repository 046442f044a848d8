package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

// settable has an item of every kind that a setting's key can name.
const settable = `
scene:
  plane: true
  place: [{file: street.gltf, pose: {x: 4, yaw: 90}}]
  label_rules: [{match: "*", tag: car}]
ego: {pose: {x: 1, y: 2}}
actors:
  - {file: models/bus.glb, speed: 3}
  - {file: car.glb, name: first, type: vehicle.car}
  - {file: car.glb, name: second, type: vehicle.car, waypoints: [{x: 0, y: 0}, {x: 10, y: 0}, {x: 10, y: 10}]}
world: {models: [tram.glb]}
sensors:
  - {id: sensor.lidar.ray_cast, name: lidar, range: 80, rate: 10, topics: {points: /cloud}}
  - {id: sensor.camera.rgb, name: front}
  - {id: sensor.camera.rgb, name: front.left, image_size_x: 64}
bridges:
  - {type: mcap, connection: a.mcap, qos: [{topic: /cloud, depth: 2}]}
  - {type: foxglove, connection: ":0"}
  - {type: foxglove, connection: ":1"}
`

func readSettable(t testing.TB) *config.Config {
	c, err := config.Reader{}.Parse("run/c.yaml", []byte(settable))
	require.NoError(t, err)
	return c
}

// leavesOf are a configuration's leaves by their keys.
func leavesOf(t testing.TB, c *config.Config) map[string]string {
	list, err := c.Leaves(sensorsall.Registry())
	require.NoError(t, err)
	leaves := map[string]string{}
	for _, l := range list {
		require.NotContains(t, leaves, l.Key)
		leaves[l.Key] = l.Value
	}
	return leaves
}

// TestSet: a setting changes the leaves that it names, and no other.
func TestSet(t *testing.T) {
	for _, k := range []struct {
		key, value string
		changed    map[string]string
	}{
		{"seed", "18446744073709551615", map[string]string{"seed": "18446744073709551615"}},
		{"duration", "90s", map[string]string{"duration": "1m30s"}},
		{"duration", "1.5", map[string]string{"duration": "1.5s"}},
		{"scene.seed", "5", map[string]string{"scene.seed": "5"}},
		{"scene.offset.x", "1e5", map[string]string{"scene.offset": "", "scene.offset.x": "100000", "scene.offset.y": "0", "scene.offset.z": "0"}},
		{"scene.projection", "EPSG:32756", map[string]string{"scene.projection": "utm56s"}},
		{"scene.place.street.pose.yaw", "-0.0", map[string]string{"scene.place[0].pose.yaw": "-0.0"}},
		{"scene.label_rules.*.tag", "truck", map[string]string{"scene.label_rules[0].tag": "truck"}},
		{"ego.speed", "5", map[string]string{"ego.speed": "5"}},
		{"ego.pose.x", "0.1", map[string]string{"ego.pose.x": "0.1"}},
		{"ego.pose", "{x: 7}", map[string]string{"ego.pose.x": "7"}},
		{"ego.driver", "waypoints", map[string]string{}},
		{"ego.commands.control", `""`, map[string]string{"ego.commands.control": `""`}},
		{"ego.commands.velocity", "/a-b", map[string]string{"ego.commands.velocity": "/a_b"}},
		{"time.clock_hz", "0", map[string]string{"time.clock_hz": "0"}},
		{"time.step", "5ms", map[string]string{"time.step": "5ms"}},
		{"actors.bus.speed", "4", map[string]string{"actors[0].speed": "4"}},
		{"actors.second.waypoints[2].y", "11", map[string]string{"actors[2].waypoints[2].y": "11"}},
		{"actors[1].pose.z", "2", map[string]string{"actors[1].pose.z": "2"}},
		{"world.models[0]", "a b.glb", map[string]string{"world.models[0]": "a b.glb"}},
		{"world.models", "[]", map[string]string{"world.models": "[]", "world.models[0]": ""}},
		{"sensors.lidar.range", "50", map[string]string{"sensors[0].range": "50"}},
		{"sensors.sensor.lidar.ray_cast.range", `"5e1"`, map[string]string{"sensors[0].range": "50"}},
		{"sensors.lidar.channels", "16", map[string]string{"sensors[0].channels": "16"}},
		{"sensors.lidar.rate", "10/3", map[string]string{"sensors[0].rate": "10/3"}},
		{"sensors.lidar.pose.z", "1.75", map[string]string{"sensors[0].pose.z": "1.75"}},
		{"sensors.lidar.qos.depth", "3", map[string]string{"sensors[0].qos.depth": "3"}},
		{"sensors.lidar.topics.points", "/other", map[string]string{"sensors[0].topics.points": "/other"}},
		{"sensors.front.left.image_size_x", "32", map[string]string{"sensors[2].image_size_x": "32"}},
		{"sensors.front.image_size_x", "32", map[string]string{"sensors[1].image_size_x": "32"}},
		{"sensors.front.left", "{fov: 60, always: true}", map[string]string{"sensors[2].fov": "60", "sensors[2].always": "true"}},
		{"bridges.mcap.policy", "block", map[string]string{"bridges[0].policy": "block"}},
		{"bridges.mcap.qos./cloud.depth", "9", map[string]string{"bridges[0].qos[0].depth": "9"}},
	} {
		t.Run(k.key+"="+k.value, func(t *testing.T) {
			base := readSettable(t)
			before, c := leavesOf(t, base), *base
			require.NoError(t, c.Set(k.key, k.value))
			require.NoError(t, c.Validate())
			after := leavesOf(t, &c)
			changed := map[string]string{}
			for key := range after {
				if before[key] != after[key] {
					changed[key] = after[key]
				}
			}
			for key := range before {
				if _, still := after[key]; !still {
					changed[key] = ""
				}
			}
			assert.Equal(t, k.changed, changed)
			assert.Equal(t, readSettable(t), base, "a copy is set alone")
		})
	}
}

func TestSetFaults(t *testing.T) {
	for _, k := range []struct {
		key, value, message string
		is                  error
	}{
		{"sed", "1", "sed: unknown key, did you mean seed?", doc.ErrUnknownKey},
		{"", "1", "unknown key, known are seed, duration, scene, time, ego, actors, sensors, rig, bridges, rig_bridges, world, weather", doc.ErrUnknownKey},
		{"ego.sped", "1", "ego.sped: unknown key, did you mean speed?", doc.ErrUnknownKey},
		{"ego[0]", "1", "ego[0]: unknown key, known are driver, waypoints, speed, pose, commands", doc.ErrUnknownKey},
		{"seed.x", "1", "seed.x: unknown key, there are none", doc.ErrUnknownKey},
		{"ego.", "1", "ego.: unknown key, known are driver, waypoints, speed, pose, commands", doc.ErrUnknownKey},
		{"ego.pose.w", "1", "ego.pose.w: unknown key, known are x, y, z, roll, pitch, yaw", doc.ErrUnknownKey},
		{"ego.speed", "500", "ego.speed: out of range: 500, the range is 0.01 to 100", doc.ErrRange},
		{"ego.speed", "fast", "ego.speed: wrong kind of value: fast, need a number", doc.ErrType},
		{"ego.speed", "", `ego.speed: wrong kind of value: give a value; the empty text is "", the empty list []`, doc.ErrType},
		{"ego.driver", "key", `ego.driver: unknown value: "key", did you mean keys?`, doc.ErrValue},
		{"ego.speed", "[1", "ego.speed: not valid YAML: did not find expected ',' or ']'", nil},
		{"actors.buss.speed", "1", "actors.buss: unknown key, did you mean bus?", doc.ErrUnknownKey},
		{"actors.vehicle.car.speed", "1", "actors.vehicle.car: ambiguous key: 2 items are vehicle.car: give the name or the index of one, such as actors[1]", nil},
		{"actors[3].speed", "1", "actors[3]: unknown key: the list has 3 items, the first is [0]", doc.ErrUnknownKey},
		{"actors[x].speed", "1", "actors[x]: unknown key: want the index of an item in brackets", doc.ErrUnknownKey},
		{"actors.bus.sped", "1", "actors.bus.sped: unknown key, did you mean speed?", doc.ErrUnknownKey},
		{"actors", "[{file: a.glb, speed: 0}]", "actors[0].speed: out of range: 0, the range is 0.01 to 100", doc.ErrRange},
		{"sensors.lidr.range", "1", "sensors.lidr: unknown key, did you mean lidar?", doc.ErrUnknownKey},
		{"sensors.sensor.camera.rgb.fov", "1", "sensors.sensor.camera.rgb: ambiguous key: 2 items are sensor.camera.rgb: give the name or the index of one, such as sensors[1]", nil},
		{"sensors.lidar[0]", "1", "sensors.lidar[0]: unknown key, known are id, name, parent, frame, frame_id, topic, topics, qos, rate, always, pose", doc.ErrUnknownKey},
		{"sensors.lidar.pose.w", "1", "sensors.lidar.pose.w: unknown key, known are x, y, z, roll, pitch, yaw", doc.ErrUnknownKey},
		{"sensors.lidar.rate", "20000000000", "", nil},
		{"bridges.foxglove.policy", "block", "bridges.foxglove: ambiguous key: 2 items are foxglove: give the name or the index of one, such as bridges[1]", nil},
		{"bridges.mcap.policy", "drop", `bridges.mcap.policy: unknown value: "drop", known are block, drop_newest, drop_oldest, exclusive`, doc.ErrValue},
		{"rig", "absent.yaml", "", os.ErrNotExist},
	} {
		c := readSettable(t)
		err := c.Set(k.key, k.value)
		var placed *doc.Error
		require.ErrorAs(t, err, &placed, "%s=%s", k.key, k.value)
		if k.message != "" {
			assert.EqualError(t, err, k.message)
		}
		if k.is != nil {
			require.ErrorIs(t, err, k.is)
		}
		assert.Equal(t, readSettable(t), c, "%s=%s: a fault changes nothing", k.key, k.value)
	}
}

// TestSetFaultsOfAttributes: their types know them, so they are found with the key's path when the sensor is resolved.
func TestSetFaultsOfAttributes(t *testing.T) {
	for _, k := range []struct {
		key, value, message string
		is                  error
	}{
		{"sensors.lidar.rnge", "1", `sensors.lidar.rnge: unknown attribute "rnge" of sensor.lidar.ray_cast, did you mean range?`, sensors.ErrUnknownAttribute},
		{"sensors.lidar.range", "-1", "", sensors.ErrValue},
		{"sensors.lidar.range.x", "1", "", sensors.ErrValue},
		{"sensors.lidar.id", "sensor.lidar.ray_casd", "", sensors.ErrUnknownSensor},
	} {
		c := readSettable(t)
		require.NoError(t, c.Set(k.key, k.value))
		_, err := c.Leaves(sensorsall.Registry())
		require.ErrorIs(t, err, k.is, k.key)
		if k.message != "" {
			assert.EqualError(t, err, k.message)
		}
	}
}

// TestValidateAfterSet: what no single key shows.
func TestValidateAfterSet(t *testing.T) {
	c := readSettable(t)
	require.NoError(t, c.Set("scene.city", "true"))
	assert.EqualError(t, c.Validate(), "scene: give only one of city, plane and file")
	require.NoError(t, c.Set("scene.plane", "false"))
	require.NoError(t, c.Validate())
	require.NoError(t, c.Set("actors", "[{file: a.glb, waypoints: [{x: 0}, {x: 1}, {y: 1}]}]"))
	require.NoError(t, c.Validate())
	assert.Equal(t, []float64{1, 5}, []float64{c.Actors[0].Scale, c.Actors[0].Speed}, "defaults are filled in")
}

// TestSetRig: another rig takes the place of the sensors, and later settings are of its.
func TestSetRig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my rig.yaml")
	require.NoError(t, os.WriteFile(file, []byte("drivers: [external]\nsensors: [{id: sensor.lidar.ray_cast, name: top}]"), 0o600))
	c := readSettable(t)
	require.NoError(t, c.Set("rig", file))
	require.NoError(t, c.Set("sensors.top.range", "42"))
	require.NoError(t, c.Validate())
	require.Len(t, c.Sensors, 1)
	assert.Equal(t, map[string]any{"range": uint64(42)}, c.Sensors[0].Attributes)
	assert.Equal(t, "external", leavesOf(t, c)["drivers[0]"])
	c.ChooseDriver(false)
	assert.Equal(t, config.DriverExternal, c.Ego.Driver)
}

// TestASetDriverStays: as one that the file gives.
func TestASetDriverStays(t *testing.T) {
	for key, value := range map[string]string{"ego.driver": "waypoints", "ego": "{driver: waypoints}", "ego.waypoints": "[{x: 0}, {x: 1}, {y: 1}]"} {
		c := config.Default()
		c.Drivers = []string{"external"}
		require.NoError(t, c.Set(key, value))
		c.ChooseDriver(false)
		assert.Equal(t, config.DriverWaypoints, c.Ego.Driver, key)
	}
}

// TestLeavesAreSettable: each can be set to what it is, which changes nothing. So none has lost a digit, a sign or a
// quote.
func TestLeavesAreSettable(t *testing.T) {
	c := readSettable(t)
	for key, value := range map[string]string{
		"ego.pose.x": "0.1", "ego.pose.y": "-0.0", "ego.pose.z": "1e-7", "ego.pose.roll": "123456789.12345679", "sensors.front.name": "\"yes: 'a' \\\"b\\\"\"",
		"time.step": "1234567ns", "sensors[0].rate": "1/3", "seed": "18446744073709551615", "scene.projection": "utm32n",
		"sensors[0].firing_table": "run/firings.csv",
	} {
		require.NoError(t, c.Set(key, value), key)
	}
	leaves, err := c.Leaves(sensorsall.Registry())
	require.NoError(t, err)
	require.Greater(t, len(leaves), 100)
	paths := map[string]string{}
	for _, l := range leaves {
		if l.Path {
			paths[l.Key] = l.Value
		}
		if l.Value == "null" || l.Path && l.Value == "" {
			continue // not given
		}
		require.NoError(t, c.Set(l.Key, l.Value), l.Key)
	}
	again, err := c.Leaves(sensorsall.Registry())
	require.NoError(t, err)
	assert.Equal(t, leaves, again)
	assert.Equal(t, map[string]string{
		"scene.file": "", "scene.labels": "", "scene.place[0].file": "run/street.gltf", "world.models[0]": "run/tram.glb",
		"actors[0].file": "run/models/bus.glb", "actors[1].file": "run/car.glb", "actors[2].file": "run/car.glb",
		"sensors[0].firing_table": "run/firings.csv", "sensors[0].materials": "",
	}, paths)
}

func BenchmarkLeaves(b *testing.B) {
	c := readSettable(b)
	for b.Loop() {
		if _, err := c.Leaves(sensorsall.Registry()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	base := readSettable(b)
	for b.Loop() {
		c := *base
		if err := c.Set("sensors.lidar.range", "50"); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzSet(f *testing.F) {
	for _, k := range [][2]string{
		{"scene.seed", "5"}, {"sensors.lidar.range", "1e3"}, {"sensors.front.left.pose.x", "-1"}, {"actors[2].waypoints[0].x", "3"}, {"actors.bus", "{speed: 3}"},
		{"bridges", "[]"}, {"ego", "{pose: {x: 1}, driver: external}"}, {"sensors.lidar.topics.a.b", "/x"}, {"scene.label_rules.*.tag", "a"}, {"ego.pose", "&a [*a]"},
		{"sensors[", "1"}, {"sensors.[0]", "1"}, {"..", "1"}, {"actors.[", "1"}, {"ego.commands.control", "a b"},
	} {
		f.Add(k[0], k[1])
	}
	base := readSettable(f)
	f.Fuzz(func(t *testing.T, key, value string) {
		if key == "rig" {
			t.Skip("reads any file")
		}
		c := *base
		if err := c.Set(key, value); err == nil {
			if c.Validate() == nil {
				_, _ = c.Leaves(sensorsall.Registry())
			}
		}
		require.Equal(t, readSettable(t), base, "a copy is set alone")
	})
}
