package scene_test

import (
	"fmt"
	"image/color"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
)

func TestTagNamesRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for tag := range scene.Tag(scene.TagCount) {
		name := tag.String()
		assert.False(t, seen[name], name)
		seen[name] = true
		got, err := scene.ParseTag(name)
		require.NoError(t, err)
		assert.Equal(t, tag, got)
	}
	assert.Equal(t, "tag(29)", scene.Tag(29).String())
}

// The spellings are those of CARLA's documentation of its semantic camera.
func TestParseTagTakesCarlasSpellings(t *testing.T) {
	for name, want := range map[string]scene.Tag{
		"Unlabeled": 0, "Roads": 1, "SideWalks": 2, "Building": 3, "TrafficLight": 7, "Traffic Sign": 8,
		"Vegetation": 9, "Pedestrian": 12, "Car": 14, "Bicycle": 19, "RoadLine": 24, "road-line": 24, "GuardRail": 28,
	} {
		got, err := scene.ParseTag(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

func TestParseTagNamesWhatMayBeMeant(t *testing.T) {
	for name, hint := range map[string]string{
		"biulding": "did you mean building?", "road": "did you mean roads?", "trafficlgiht": "did you mean traffic_light?", "pedestrians": "did you mean pedestrian?",
		"dragon": "known are unlabeled, roads, ", strings.Repeat("y", 1<<20): "known are unlabeled, roads, ",
	} {
		_, err := scene.ParseTag(name)
		require.ErrorIs(t, err, scene.ErrUnknownTag)
		assert.ErrorContains(t, err, fmt.Sprintf("%q", name[:min(len(name), 64)]))
		assert.ErrorContains(t, err, hint)
		assert.Less(t, len(err.Error()), 600, "a long name is cut")
	}
}

func TestTagColors(t *testing.T) {
	seen := map[color.NRGBA]scene.Tag{}
	for tag := range scene.Tag(scene.TagCount) {
		c := tag.Color()
		assert.NotContains(t, seen, c)
		seen[c] = tag
	}
	assert.Equal(t, color.NRGBA{0, 0, 142, 255}, scene.TagCar.Color())
	assert.Equal(t, color.NRGBA{70, 70, 70, 255}, scene.TagBuilding.Color())
	assert.Equal(t, scene.TagRoads.Color(), scene.Tag(30).Color(), "colours repeat modulo 29, as CARLA's do")
}

func TestRoadUsersMoveThemselves(t *testing.T) {
	for tag, want := range map[scene.Tag]bool{
		scene.TagPedestrian: true, scene.TagRider: true, scene.TagCar: true, scene.TagTrain: true, scene.TagBicycle: true,
		scene.TagRoads: false, scene.TagTrafficLight: false, scene.TagBuilding: false, 0: false, scene.TagCount: false,
	} {
		assert.Equal(t, want, tag.RoadUser(), tag)
	}
}

// TestPaletteIsCityScapes holds every tag against CARLA 0.9.14's table.
func TestPaletteIsCityScapes(t *testing.T) {
	table := []struct {
		name    string
		r, g, b uint8
	}{
		{"Unlabeled", 0, 0, 0},
		{"Roads", 128, 64, 128},
		{"SideWalks", 244, 35, 232},
		{"Building", 70, 70, 70},
		{"Wall", 102, 102, 156},
		{"Fence", 190, 153, 153},
		{"Pole", 153, 153, 153},
		{"TrafficLight", 250, 170, 30},
		{"TrafficSign", 220, 220, 0},
		{"Vegetation", 107, 142, 35},
		{"Terrain", 152, 251, 152},
		{"Sky", 70, 130, 180},
		{"Pedestrian", 220, 20, 60},
		{"Rider", 255, 0, 0},
		{"Car", 0, 0, 142},
		{"Truck", 0, 0, 70},
		{"Bus", 0, 60, 100},
		{"Train", 0, 80, 100},
		{"Motorcycle", 0, 0, 230},
		{"Bicycle", 119, 11, 32},
		{"Static", 110, 190, 160},
		{"Dynamic", 170, 120, 50},
		{"Other", 55, 90, 80},
		{"Water", 45, 60, 150},
		{"RoadLine", 157, 234, 50},
		{"Ground", 81, 0, 81},
		{"Bridge", 150, 100, 100},
		{"RailTrack", 230, 150, 140},
		{"GuardRail", 180, 165, 180},
	}
	require.Len(t, table, scene.TagCount)
	for i, want := range table {
		tag, err := scene.ParseTag(want.name)
		require.NoError(t, err)
		assert.EqualValues(t, i, tag, want.name)
		assert.Equal(t, color.NRGBA{want.r, want.g, want.b, 255}, tag.Color(), want.name)
	}
}

func ExampleParseTag() {
	tag, err := scene.ParseTag("TrafficLight")
	fmt.Println(tag, uint8(tag), tag.Color(), err)
	_, err = scene.ParseTag("vegitation")
	fmt.Println(err)
	// Output:
	// traffic_light 7 {250 170 30 255} <nil>
	// unknown semantic tag "vegitation": did you mean vegetation?
}
