package raybridge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// model is a glTF model of one triangle in a node of that name; more is further
// JSON of the document.
func model(node, more string) string {
	return strings.NewReplacer("NODE", node, "MORE", more).Replace(`{"asset": {"version": "2.0"}, MORE
"scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"name": "NODE", "mesh": 0}],
"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
"accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
"bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"byteLength": 36,
"uri": "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]}`)
}

// read parses a configuration that lies in a folder of models.
func read(t *testing.T, text string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"house.gltf": model("building_A", ""), "thing.gltf": model("thing", ""),
		"odd.gltf":    model("thing", `"extensionsUsed": ["VENDOR_glitter"],`),
		"empty.gltf":  `{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"name": "empty"}]}`,
		"labels.yaml": `rules: [{match: "thing", tag: vegetation}]`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	c, err := config.Reader{}.Parse(filepath.Join(dir, "run.yaml"), []byte(text))
	require.NoError(t, err)
	return c
}

// placed is what a test says of an actor.
type placed struct {
	name string
	tag  scene.Tag
	at   mgl64.Vec3
}

func actors(s *scene.Scene) []placed {
	var list []placed
	for _, a := range s.Actors {
		at := a.Pose.Position
		if a.Motion != nil {
			at = mgl64.Vec3{} // wherever it is by then
		}
		list = append(list, placed{a.Name, a.Parts[0].Tag, at})
	}
	return list
}

func TestScenesOfFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []placed
	}{
		{"one file", "scene: {file: house.gltf}", []placed{{"house", scene.TagBuilding, mgl64.Vec3{}}}},
		{
			"placed twice, with names, tags and poses",
			"scene: {place: [{file: house.gltf, pose: {x: 4, y: -2}}, {file: house.gltf, name: shed, tag: wall, pose: {z: 1}}]}",
			[]placed{{"house", scene.TagBuilding, mgl64.Vec3{4, -2, 0}}, {"shed", scene.TagWall, mgl64.Vec3{0, 0, 1}}},
		},
		{"labels of a file", "scene: {file: thing.gltf, labels: labels.yaml}", []placed{{"thing", scene.TagVegetation, mgl64.Vec3{}}}},
		{"labels of its own", "scene: {file: thing.gltf, label_rules: [{match: thing, tag: fence}]}", []placed{{"thing", scene.TagFence, mgl64.Vec3{}}}},
		{
			"things on a plane", "scene: {plane: true, offset: {x: 300000, y: 4000000, z: 50}, place: [{file: house.gltf, pose: {x: 300004, y: 4000000, z: 50}}]}",
			[]placed{{"ground", scene.TagRoads, mgl64.Vec3{300_000, 4_000_000, 50}}, {"house", scene.TagBuilding, mgl64.Vec3{300_004, 4_000_000, 50}}},
		},
		{
			"actors come last", "scene: {file: house.gltf}\nactors: [{file: thing.gltf, tag: car, waypoints: [{x: 1}, {x: 9}, {x: 9, y: 9}], speed: 2}]",
			[]placed{{"house", scene.TagBuilding, mgl64.Vec3{}}, {"thing", scene.TagCar, mgl64.Vec3{}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, warnings, err := raybridge.SceneOf(t.Context(), read(t, c.text), nil)
			require.NoError(t, err)
			assert.Empty(t, warnings)
			assert.Equal(t, c.want, actors(s))
		})
	}
}

// TestActorsMayComeInEveryScene: they look like the city's vehicles and people, unless world.city_models says no.
func TestActorsMayComeInEveryScene(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ scene, world string }{
		"a file": {"{file: house.gltf}", ""}, "files": {"{place: [{file: house.gltf}]}", ""}, "the plane": {"{plane: true}", ""}, "the city": {"{triangles: 40000}", ""},
		"a file's own": {"{file: house.gltf}", ", city_models: false, models: [thing.gltf]"}, "the plane's own": {"{plane: true}", ", city_models: false, models: [thing.gltf]"},
		"the city's own": {"{triangles: 40000}", ", city_models: false, models: [thing.gltf]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, err := raybridge.SceneOf(t.Context(), read(t, "scene: "+c.scene+"\nworld: {capacity: 7"+c.world+"}"), nil)
			require.NoError(t, err)
			h := scene.NewHistory(s, nil, 0)
			h.Record(0)
			_, err = h.Spawn("vehicle.sedan", nil)
			if c.world == "" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, scene.ErrNoActor)
				assert.Len(t, s.Models, 2, "thing and the box")
			}
			for _, m := range s.Models {
				_, err = h.Spawn(m.TypeID, nil)
				assert.True(t, err == nil || errors.Is(err, scene.ErrReserveEmpty), m.TypeID)
			}
			assert.NotNil(t, s.Model(scene.BoxModel))
			assert.Equal(t, 14, s.Slots, "one leaves as another comes")
		})
	}
}

// TestTheEgoStandsOnThePlane: in the middle, wherever that is.
func TestTheEgoStandsOnThePlane(t *testing.T) {
	t.Parallel()
	c := read(t, "scene: {plane: true, offset: {x: 300000, y: 4000000, z: 50}}")
	s, _, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	ego, astray, err := raybridge.EgoOf(c, s)
	require.NoError(t, err)
	assert.Nil(t, ego)
	assert.Empty(t, astray)
	assert.Equal(t, mgl64.Vec3{300_000, 4_000_000, 50}, s.Ego.Position)

	c = read(t, "scene: {plane: true}\nego: {driver: external}")
	s, _, err = raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	ego, _, err = raybridge.EgoOf(c, s)
	require.NoError(t, err)
	assert.Equal(t, mgl64.Vec3{}, ego.PoseAt(0).Position)
}

func TestWhatIsLeftOutIsAWarning(t *testing.T) {
	t.Parallel()
	_, warnings, err := raybridge.SceneOf(t.Context(), read(t, "scene: {place: [{file: odd.gltf}, {file: odd.gltf}]}"), nil)
	require.NoError(t, err)
	require.Len(t, warnings, 1, "once a file")
	assert.Contains(t, warnings[0], "odd.gltf: ")
	assert.Contains(t, warnings[0], "VENDOR_glitter")
}

func TestTheCityTakesItsOwnSeedFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	const small = "scene: {triangles: 40000"
	make := func(text string) []placed {
		s, _, err := raybridge.SceneOf(t.Context(), read(t, text), nil)
		require.NoError(t, err)
		return actors(s)
	}
	seven := make("seed: 7\n" + small + "}")
	assert.Equal(t, seven, make("seed: 3\n"+small+", seed: 7}"))
	assert.NotEqual(t, seven, make("seed: 3\n"+small+"}"))
	assert.Len(t, make("seed: 7\n"+small+", city: true, place: [{file: house.gltf}]}"), len(seven)+1)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{"scene: {file: none.gltf}", "none.gltf", os.ErrNotExist},
		{"scene: {file: empty.gltf}", "scene empty.gltf: scene has no triangles", scene.ErrEmptyScene},
		{"scene: {place: [{file: house.gltf, tag: biulding}]}", `unknown semantic tag "biulding"`, scene.ErrUnknownTag},
		{"scene: {file: house.gltf, labels: none.yaml}", "none.yaml", os.ErrNotExist},
		{"scene: {file: house.gltf, label_rules: [{match: a, tag: biulding}]}", "scene.label_rules: rules[0].tag", scene.ErrUnknownTag},
		{"actors: [{file: house.gltf, waypoints: [{}, {}, {}]}]", "house.gltf", scene.ErrMotion},
	} {
		_, _, err := raybridge.SceneOf(t.Context(), read(t, c.text), nil)
		require.ErrorIs(t, err, c.is, c.text)
		assert.ErrorContains(t, err, c.message)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := raybridge.SceneOf(ended, read(t, "scene: {file: house.gltf}"), nil)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestEgo(t *testing.T) {
	t.Parallel()
	route, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {9, 0, 0}, {9, 9, 0}}, 1)
	require.NoError(t, err)
	s := scene.New("test")
	s.Route = route
	ego := func(text string) scene.Motion {
		m, _, err := raybridge.EgoOf(read(t, text), s)
		require.NoError(t, err)
		return m
	}
	assert.Equal(t, scene.Motion(route), ego(""), "the scene's own")

	loop := ego("ego: {waypoints: [{x: 5}, {x: 105}, {x: 105, y: 100}], speed: 4}")
	assert.InDelta(t, 0.4, loop.PoseAt(10_100e6).Position.Sub(loop.PoseAt(10e9).Position).Len(), 1e-9, "4 m/s")

	standing := ego("ego: {pose: {x: 3, yaw: 90}}")
	assert.Equal(t, mgl64.Vec3{3, 0, 0}, standing.PoseAt(0).Position)
	assert.Equal(t, standing.PoseAt(0), standing.PoseAt(5e9))

	for _, driver := range []string{"external", "keys"} {
		driven := ego("ego: {driver: " + driver + ", pose: {x: 3}}")
		require.IsType(t, &scene.Driven{}, driven)
		assert.Equal(t, mgl64.Vec3{3, 0, 0}, driven.PoseAt(0).Position)
	}

	for text, want := range map[string]time.Duration{
		"driver: external":                          scene.DefaultCommandTimeout,
		"driver: external, commands: {timeout: 2s}": 2 * time.Second,
		"driver: external, commands: {timeout: 0s}": -1,
		"driver: keys, commands: {timeout: 0s}":     scene.DefaultCommandTimeout,
	} {
		driven, ok := ego("ego: {" + text + "}").(*scene.Driven)
		require.True(t, ok)
		assert.Equal(t, want, driven.Vehicle().CommandTimeout, text)
	}

	for _, driver := range []string{"waypoints", "external"} {
		_, _, err = raybridge.EgoOf(read(t, "ego: {driver: "+driver+", waypoints: [{}, {}, {}]}"), s)
		require.ErrorIs(t, err, scene.ErrMotion, driver)
	}
}

// TestPoseBesideOthers: a pose counts with every driver, all of it. Beside waypoints it says where on them
// the vehicle begins, and a warning tells where that is elsewhere.
func TestPoseBesideOthers(t *testing.T) {
	t.Parallel()
	s := scene.New("test")
	for text, want := range map[string]struct {
		x, y, yaw float64
		warning   string
	}{
		"{x: 55, y: 1}":            {55, 0, 0, ""},
		"{x: 55, y: 1, yaw: 5}":    {55, 0, 0, ""},
		"{x: 103, y: 50, yaw: 90}": {105, 50, 90, ""},
		"{x: 55, y: 20}":           {55, 0, 0, "ego.pose: it is 20 m beside the waypoints, and the start is at (55, 0, 0) m, yaw 0"},
		"{x: 55, yaw: 170}":        {55, 0, 0, "ego.pose: it is turned by 170 degrees from the waypoints, and the start is at (55, 0, 0) m, yaw 0"},
		"{x: 55, pitch: 20}":       {55, 0, 0, "ego.pose: it is turned by 20 degrees from the waypoints, and the start is at (55, 0, 0) m, yaw 0"},
	} {
		ego, warning, err := raybridge.EgoOf(read(t, "ego: {waypoints: [{x: 5}, {x: 105}, {x: 105, y: 100}], speed: 4, pose: "+text+"}"), s)
		require.NoError(t, err)
		pose := ego.PoseAt(0)
		assert.InDeltaSlice(t, []float64{want.x, want.y, 0}, pose.Position[:], 1e-6, text)
		_, _, yaw := pose.RPY()
		assert.InDelta(t, want.yaw, yaw, 1e-6, text)
		assert.Equal(t, want.warning, warning, text)
		assert.InDelta(t, 4, ego.PoseAt(1e9).Position.Sub(pose.Position).Len(), 1e-6)
	}
	for _, driver := range []string{"external", "keys"} {
		driven, warning, err := raybridge.EgoOf(read(t, "ego: {driver: "+driver+", pose: {x: 3, z: 1, roll: 4, pitch: -8, yaw: 30}, waypoints: [{}, {x: 90}, {y: 90}]}"), s)
		require.NoError(t, err)
		assert.Empty(t, warning)
		assert.Equal(t, mgl64.Vec3{3, 0, 1}, driven.PoseAt(0).Position)
		roll, pitch, yaw := driven.PoseAt(0).RPY()
		assert.InDeltaSlice(t, []float64{4, -8, 30}, []float64{roll, pitch, yaw}, 1e-9)
	}
	c := read(t, "actors: [{file: house.gltf, pose: {x: 40, y: 30}, waypoints: [{x: 5}, {x: 105}, {x: 105, y: 100}]}]")
	made, warnings, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	last := made.Actors[len(made.Actors)-1]
	require.NotNil(t, last.Motion)
	at := last.Motion.PoseAt(0).Position
	assert.InDeltaSlice(t, []float64{37.5, 32.5, 0}, at[:], 1e-9)
	assert.Contains(t, strings.Join(warnings, "\n"), "house.gltf: pose: it is 3.5")
}

// TestWaypointsAreTheRoute: what drives an external driver's vehicle finds the file's waypoints
// as the scene's route, in a scene of files too. The vehicle starts there.
func TestWaypointsAreTheRoute(t *testing.T) {
	t.Parallel()
	c := read(t, "scene: {file: house.gltf}\nego: {driver: external, waypoints: [{x: 50, y: 7}, {x: 150, y: 7}, {x: 150, y: 107}]}")
	s, _, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	loop, ok := s.Route.(*scene.WaypointLoop)
	require.True(t, ok)
	on, along := loop.At(loop.Nearest(spatial.FromRPY(mgl64.Vec3{100, 8, 0}, 0, 0, 0), 0))
	assert.InDeltaSlice(t, []float64{100, 7, 0}, on[:], 1e-9)
	assert.InDeltaSlice(t, []float64{1, 0, 0}, along[:], 1e-9)
	ego, _, err := raybridge.EgoOf(c, s)
	require.NoError(t, err)
	require.IsType(t, &scene.Driven{}, ego)
	assert.Equal(t, loop.PoseAt(0).Position, ego.PoseAt(0).Position)
}
