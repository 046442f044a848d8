package raybridge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/scene"
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
