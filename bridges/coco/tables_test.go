package coco

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
)

// weatherOf has the weathers of runs that have one.
var weatherOf = map[string]string{"b": `{"rain":5,"cloud":1}`}

// testSet writes a set of one scene with two key frames of one camera, and an annotation in each, and returns its folder.
func testSet(t *testing.T, run string, own ...category) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name string, data []byte) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, data, 0o666))
	}
	var journal []byte
	row := func(v any) {
		line, err := json.Marshal(v)
		require.NoError(t, err)
		journal = append(append(journal, line...), '\n')
	}
	data := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return text
	}
	row(dataset.Head{Format: "coco", Version: "1.2.3", Options: map[string]string{"min_pixels": "7"}})
	row(dataset.Row{Scene: &dataset.SceneRow{Run: run, Data: data(sceneRow{own, json.RawMessage(weatherOf[run])})}})
	for i := range 2 {
		p := pictureRow{
			Name: run + string(rune('0'+i)), Camera: "front", Width: 4, Height: 3,
			Annotations: []annotation{{Category: 3, Box: [4]float64{1, 1, 2, 2}, Area: 4, Segmentation: json.RawMessage(`{"size":[3,4],"counts":"4211115"}`), Actor: 9}},
			Segments:    []segment{{ID: 1, Category: 3, Area: 4, Box: [4]int{1, 1, 2, 2}, Actor: 9}},
		}
		if i == 1 {
			p.Annotations, p.Segments = []annotation{}, nil
		}
		files := []string{"images/" + p.Name + ".jpg", "panoptic/" + p.Name + ".png"}
		for _, f := range files {
			write(f, []byte(f))
		}
		row(dataset.Row{Frame: &dataset.FrameRow{Number: i, Files: files, Data: data(frameRow{Pictures: []pictureRow{p}})}})
	}
	write(dataset.JournalFile, journal)
	return dir
}

type file struct {
	Info   struct{ Options map[string]string }
	Images []struct {
		ID, Width, Height int
		FileName          string `json:"file_name"`
		Weather           *struct{ Rain, Cloud float64 }
	}
	Categories  []category
	Annotations []struct {
		ID           int
		Image        int    `json:"image_id"`
		FileName     string `json:"file_name"`
		Category     int    `json:"category_id"`
		Segmentation struct{ Counts string }
		Segments     []segment `json:"segments_info"`
	}
}

func read(t *testing.T, dir, name string) (f file) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "annotations", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &f))
	return f
}

// TestMergedTables numbers the pictures and annotations of three runs again, in the order of the runs.
func TestMergedTables(t *testing.T) {
	dirs := []string{testSet(t, "c"), testSet(t, "a"), testSet(t, "b", category{ID: 1001, Name: "van", IsThing: 1})}
	out := filepath.Join(t.TempDir(), "out")
	_, err := dataset.Merge(t.Context(), []dataset.Format{Format}, out, dirs, nil)
	require.NoError(t, err)
	f := read(t, out, "instances.json")
	assert.Equal(t, map[string]string{"min_pixels": "7"}, f.Info.Options)
	var names []string
	for i, image := range f.Images {
		assert.Equal(t, i+1, image.ID)
		assert.Equal(t, [2]int{4, 3}, [2]int{image.Width, image.Height})
		names = append(names, image.FileName)
		assert.FileExists(t, filepath.Join(out, "images", image.FileName))
	}
	for i, image := range f.Images { // each has its run's
		require.Equal(t, i/2 == 1, image.Weather != nil, image.FileName)
		if image.Weather != nil {
			assert.Equal(t, []float64{5, 1}, []float64{image.Weather.Rain, image.Weather.Cloud})
		}
	}
	assert.Equal(t, []string{"a0.jpg", "a1.jpg", "b0.jpg", "b1.jpg", "c0.jpg", "c1.jpg"}, names)
	require.Len(t, f.Annotations, 3)
	for i, a := range f.Annotations {
		assert.Equal(t, [3]int{i + 1, 2*i + 1, 3}, [3]int{a.ID, a.Image, a.Category})
		assert.Equal(t, "4211115", a.Segmentation.Counts)
	}
	assert.Contains(t, f.Categories, category{ID: 1001, Name: "van", IsThing: 1})

	p := read(t, out, "panoptic.json")
	assert.Equal(t, f.Images, p.Images)
	require.Len(t, p.Annotations, 6)
	for i, a := range p.Annotations {
		assert.Equal(t, i+1, a.Image)
		assert.NotNil(t, a.Segments, "COCO's programs want a list")
		assert.Len(t, a.Segments, 1-i%2)
		assert.FileExists(t, filepath.Join(out, "panoptic", a.FileName))
	}
}

// TestSplitTables has a file for each split. A picture has one id, whichever file it is in, and annotations count from 1.
func TestSplitTables(t *testing.T) {
	dirs := []string{testSet(t, "a"), testSet(t, "b"), testSet(t, "c"), testSet(t, "d")}
	out := filepath.Join(t.TempDir(), "out")
	shares, err := dataset.ParseShares("train=3,val=1")
	require.NoError(t, err)
	_, err = dataset.Merge(t.Context(), []dataset.Format{Format}, out, dirs, shares)
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(out, "annotations", "instances.json"))
	seen := map[int]bool{}
	for split, scenes := range map[string]int{"train": 3, "val": 1} {
		f, p := read(t, out, "instances_"+split+".json"), read(t, out, "panoptic_"+split+".json")
		assert.Len(t, f.Images, 2*scenes)
		assert.Equal(t, f.Images, p.Images)
		for _, image := range f.Images {
			assert.False(t, seen[image.ID])
			seen[image.ID] = true
		}
		for i, a := range f.Annotations {
			assert.Equal(t, i+1, a.ID)
		}
	}
	assert.Len(t, seen, 8)
}

func TestTablesRefuseOtherCategories(t *testing.T) {
	dirs := []string{testSet(t, "a", category{ID: 1001, Name: "van"}), testSet(t, "b", category{ID: 1001, Name: "tank"})}
	_, err := dataset.Merge(t.Context(), []dataset.Format{Format}, filepath.Join(t.TempDir(), "out"), dirs, nil)
	require.ErrorIs(t, err, dataset.ErrCategory)
}
