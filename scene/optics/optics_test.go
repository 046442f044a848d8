package optics_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/optics"
)

func TestAFileIsOverTheDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "materials.yaml")
	require.NoError(t, os.WriteFile(path, []byte("classes: {vegetation: {reflectance_905: 0.25}}\nmaterials: {door: {retro: 12}}\n"), 0o600))
	got, err := optics.Read(path)
	require.NoError(t, err)
	leaves := got.Classes[scene.TagVegetation]
	assert.Equal(t, 0.25, *leaves.Reflectance905)
	assert.Equal(t, 0.242, *leaves.Reflectance1550, "the default's")
	assert.Equal(t, 0.25, *got.Given[scene.TagVegetation].Reflectance905)
	assert.Nil(t, got.Given[scene.TagVegetation].Reflectance1550)
	assert.NotContains(t, got.Given, scene.TagRoads)
	assert.Equal(t, 12.0, *got.Materials["door"].Retro)
	assert.Nil(t, got.Materials["door"].Reflectance905)
	assert.Equal(t, 0.554, *optics.Defaults().Classes[scene.TagVegetation].Reflectance905, "defaults stay")
	none, err := optics.Read("")
	require.NoError(t, err)
	assert.Equal(t, optics.Defaults(), none)
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"classes: {tree: {reflectance_905: 0.2}}":     "unknown semantic tag",
		"classes: {roads: {reflectance_905: 1.5}}":    "m.yaml:1",
		"classes: {roads: {reflectance_905: .nan}}":   "m.yaml:1",
		"classes: {roads: {reflectance_900: 0.5}}":    "reflectance_905",
		"materials: {door: {beads: 1}}":               "give a material its retro",
		"surfaces: {}":                                "unknown key",
		"classes: [1]":                                "m.yaml:1",
		"classes: {roads: {retro: -1}}":               "m.yaml:1",
		"materials: {door: {temperature: [1, 2, 3]}}": "m.yaml:1",
	} {
		_, err := optics.Parse("m.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
		require.ErrorAs(t, err, new(*doc.Error), text)
	}
	_, err := optics.Read(filepath.Join(t.TempDir(), "absent.yaml"))
	assert.True(t, errors.Is(err, os.ErrNotExist))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("classes: {roads: {reflectance_905: 0.2}}\nmaterials: {a: {retro: 1}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := optics.Parse("m.yaml", text)
		if err != nil {
			return
		}
		for _, o := range got.Classes {
			for _, v := range []*float64{o.Reflectance905, o.Reflectance1550} {
				assert.True(t, v == nil || *v >= 0 && *v <= 1)
			}
		}
	})
}

// The table of docs/materials.md has the defaults.
func TestThePageHasTheDefaults(t *testing.T) {
	page, err := os.ReadFile("../../docs/materials.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## Defaults")
	require.True(t, found)
	seen := map[scene.Tag]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || !strings.Contains(cells[1], "`") {
			continue
		}
		var want [3]float64
		for i := range want {
			want[i], err = strconv.ParseFloat(strings.TrimSpace(cells[2+i]), 64)
			require.NoError(t, err, line)
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			tag, err := scene.ParseTag(strings.Trim(name, "` "))
			require.NoError(t, err)
			s := optics.Defaults().Classes[tag]
			assert.Equal(t, want, [3]float64{*s.Reflectance905, *s.Reflectance1550, *s.Retro}, name)
			assert.Equal(t, tag == scene.TagRoadLine, *s.Beads == 0.1, name)
			seen[tag] = true
		}
	}
	assert.Len(t, seen, len(optics.Defaults().Classes))
}
