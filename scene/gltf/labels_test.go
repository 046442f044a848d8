package gltf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
)

func label(t *testing.T, r *gltf.Rules, name string, extras ...map[string]any) gltf.Label {
	t.Helper()
	l, err := r.Label(name, extras...)
	require.NoError(t, err)
	return l
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		match    []string
		mismatch []string
	}{
		{"building_*", []string{"building_", "building_A", "Building_a.001", "building_\n"}, []string{"building", "old_building_A", "xbuilding_A"}},
		{"*", []string{"", "anything"}, nil},
		{"wheel?", []string{"wheel1", "wheelé"}, []string{"wheel", "wheel12"}},
		{"a.b", []string{"a.b"}, []string{"aXb"}},
		{"re:^car_.*", []string{"car_", "car_sedan"}, []string{"Car_sedan", "a car_"}},
		{"re:(?i)lamp", []string{"StreetLAMP"}, []string{"light"}},
		{"word:traffic light", []string{"TrafficLight", "traffic_light_03", "big traffic-light pole", "LODTrafficLight2"}, []string{"trafficlight", "traffic", "light traffic", "traffic red light"}},
		{"word:bus|Bus Stop", []string{"bus", "Bus.001", "bus_stop", "city2bus3"}, []string{"bush", "business", "minibus"}},
	} {
		r, err := gltf.NewRules(gltf.RulesConfig{Rules: []gltf.Rule{{Match: c.pattern, Tag: "other"}}, Defaults: new(bool)})
		require.NoError(t, err, c.pattern)
		for _, name := range c.match {
			assert.Equal(t, scene.TagOther, label(t, r, name).Tag, "%s on %q", c.pattern, name)
		}
		for _, name := range c.mismatch {
			assert.Equal(t, scene.TagUnlabeled, label(t, r, name).Tag, "%s on %q", c.pattern, name)
		}
	}
}

func TestFirstRuleWinsAndDefaultsFollow(t *testing.T) {
	r, err := gltf.ParseRules("f.yaml", []byte(`
rules:
  - {match: "car_taxi*", tag: bus}
  - {match: "re:^car_.*", tag: Truck, actor: true}
`))
	require.NoError(t, err)
	assert.Equal(t, gltf.Label{Tag: scene.TagBus}, label(t, r, "car_taxi_wheel"))
	assert.Equal(t, gltf.Label{Tag: scene.TagTruck, Actor: true}, label(t, r, "car_sedan"))
	assert.Equal(t, gltf.Label{Tag: scene.TagVegetation, Actor: true}, label(t, r, "bush"), "a built-in rule")

	r, err = gltf.ParseRules("f.yaml", []byte("defaults: false\n"))
	require.NoError(t, err)
	assert.Equal(t, gltf.Label{}, label(t, r, "bush"))
}

func TestDefaultRules(t *testing.T) {
	for name, want := range map[string]scene.Tag{
		"building_A_withoutBase": scene.TagBuilding, "watertower": scene.TagBuilding, "road_corner_curved": scene.TagRoads,
		"car_taxi": scene.TagCar, "car_police_wheel_front_left": scene.TagCar, "streetlight": scene.TagPole,
		"trafficlight_B": scene.TagTrafficLight, "TrafficLightPole.002": scene.TagTrafficLight, "StreetSign": scene.TagTrafficSign,
		"bush": scene.TagVegetation, "bench": scene.TagStatic, "firehydrant": scene.TagStatic, "dumpster": scene.TagDynamic,
		"trash_A": scene.TagDynamic, "box_B": scene.TagDynamic, "base": scene.TagGround, "SideWalk_3": scene.TagSidewalks,
		"Bus_01": scene.TagBus, "bus_stop": scene.TagStatic, "carpet": scene.TagUnlabeled, "Cube.001": scene.TagUnlabeled,
		"guardrail": scene.TagGuardRail, "lane_marking_2": scene.TagRoadLine, "lane_2": scene.TagRoads,
	} {
		assert.Equal(t, want.String(), label(t, gltf.DefaultRules(), name).Tag.String(), name)
	}
	assert.True(t, label(t, gltf.DefaultRules(), "car_taxi").Actor)
	assert.False(t, label(t, gltf.DefaultRules(), "road_straight").Actor)
}

func TestExtrasComeBeforeRules(t *testing.T) {
	r := gltf.DefaultRules()
	extras := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	assert.Equal(t, gltf.Label{Tag: scene.TagBus, Actor: true}, label(t, r, "car", extras("semantic_tag", "bus")))
	assert.Equal(t, gltf.Label{Tag: scene.TagTrain, Actor: false}, label(t, r, "car", extras("semantic_tag", 17.0, "semantic_actor", false)))
	assert.Equal(t, gltf.Label{Tag: scene.TagCar, Actor: true}, label(t, r, "car", extras("other", 1.0), nil))
	assert.Equal(t, scene.TagBus, label(t, r, "x", extras("semantic_tag", "bus"), extras("semantic_tag", "car")).Tag, "the node's before the mesh's")
	assert.Equal(t, gltf.Label{Actor: true}, label(t, r, "x", nil, extras("semantic_actor", 1.0)))

	r, err := gltf.ParseRules("f.yaml", []byte("extras: klass\nactor_extras: thing\n"))
	require.NoError(t, err)
	assert.Equal(t, gltf.Label{Tag: scene.TagBus, Actor: true}, label(t, r, "x", extras("klass", "bus", "thing", true, "semantic_tag", "car")))
}

func TestWrongExtrasAreNamed(t *testing.T) {
	for _, c := range []struct {
		key  string
		v    any
		want string
	}{
		{"semantic_tag", "buss", `extras.semantic_tag: unknown semantic tag "buss": did you mean bus?`},
		{"semantic_tag", 29.0, "extras.semantic_tag: unknown semantic tag 29: give a whole number from 0 to 28, or a name"},
		{"semantic_tag", 1.5, "extras.semantic_tag: unknown semantic tag 1.5"},
		{"semantic_tag", -1.0, "extras.semantic_tag: unknown semantic tag -1"},
		{"semantic_tag", 1e300, "extras.semantic_tag: unknown semantic tag 1e+300"},
		{"semantic_tag", []any{}, "extras.semantic_tag: unknown semantic tag: give a tag's name or number"},
		{"semantic_actor", "yes", "extras.semantic_actor: want true or false"},
	} {
		_, err := gltf.DefaultRules().Label("x", map[string]any{c.key: c.v})
		assert.ErrorContains(t, err, c.want)
		if c.key == "semantic_tag" {
			assert.ErrorIs(t, err, scene.ErrUnknownTag)
		}
	}
}

func TestParseErrorsSayWhere(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"rules: [{match: a, tag: car}, {match: b, tag: biulding}]", `f.yaml: rules[1].tag: unknown semantic tag "biulding": did you mean building?`},
		{"rules: [{match: 're:(', tag: car}]", "rules[0].match: error parsing regexp: missing closing )"},
		{"rules: [{tag: car}]", "rules[0].match: empty pattern"},
		{"rules: [{match: 'word:a||b', tag: car}]", "rules[0].match: word: needs at least one letter"},
		{"rules: [{match: a}]", `rules[0].tag: unknown semantic tag ""`},
		{"rules:\n  - {match: a, tag: car, actr: true}", "f.yaml:2:26: rules[0].actr: unknown key, did you mean actor?"},
		{"rules: 5", "f.yaml:1:8: rules: wrong kind of value: need a list"},
		{"rules: [", "f.yaml:1:8: not valid YAML"},
		{strings.Repeat("#", 1<<20+1), "at most 1048576 bytes are read"},
	} {
		_, err := gltf.ParseRules("f.yaml", []byte(c.yaml))
		if assert.Error(t, err, c.yaml) {
			assert.Contains(t, err.Error(), c.want)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

func TestLoadRules(t *testing.T) {
	name := filepath.Join(t.TempDir(), "street.labels.yaml")
	_, err := gltf.LoadRules(name)
	assert.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte("rules: [{match: a*, tag: wall}]"), 0o600))
	r, err := gltf.LoadRules(name)
	require.NoError(t, err)
	assert.Equal(t, scene.TagWall, label(t, r, "abc").Tag)
	require.NoError(t, os.WriteFile(name, []byte("rules: [{match: a*, tag: wal}]"), 0o600))
	_, err = gltf.LoadRules(name)
	assert.ErrorContains(t, err, name)
}

func TestTagsInPlaceOfRules(t *testing.T) {
	for _, value := range []string{"! 0", "!!int a", "!!binary x", "!!set {a}", "!a &b c", "!<x> y", "&a !!int b"} {
		_, err := gltf.ParseRules("f.yaml", []byte("rules: "+value+"\n"))
		assert.ErrorContains(t, err, "f.yaml:1:8: rules: wrong kind of value: need a list", value)
	}
}

func TestDeepYAMLIsRefused(t *testing.T) {
	_, err := gltf.ParseRules("f.yaml", []byte("rules: "+strings.Repeat("[", 100_000)))
	assert.ErrorIs(t, err, doc.ErrTooDeep)
}

func FuzzRules(f *testing.F) {
	f.Add([]byte("rules: ! 0"), "a")
	f.Add([]byte("rules: [{match: \"a*\", tag: car, actor: true}]\nextras: k\n"), "TrafficLight_03")
	f.Add([]byte("rules: [{match: \"re:^a\", tag: 7}]\n"), "a b")
	f.Add([]byte("defaults: false\nrules:\n- match: word:bus stop|x\n  tag: bus\n"), "xBus")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		r, err := gltf.ParseRules("f.yaml", data)
		if err != nil {
			return
		}
		l, err := r.Label(name)
		if err != nil {
			t.Fatalf("a name without extras: %v", err)
		}
		if l.Tag >= scene.TagCount {
			t.Fatalf("tag %d", l.Tag)
		}
	})
}

func ExampleParseRules() {
	rules, err := gltf.ParseRules("f.yaml", []byte(`
rules:
  - {match: "facade_*", tag: building}
  - {match: "re:^npc_car", tag: car, actor: true}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"facade_north", "npc_car_7", "TrafficLight_02"} {
		l, _ := rules.Label(name)
		fmt.Println(name, l.Tag, l.Actor)
	}
	l, _ := rules.Label("Cube.001", map[string]any{"semantic_tag": "wall"})
	fmt.Println("Cube.001", l.Tag)
	// Output:
	// facade_north building false
	// npc_car_7 car true
	// TrafficLight_02 traffic_light true
	// Cube.001 wall
}
