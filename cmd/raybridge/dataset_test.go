package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// checkedSet writes a COCO set of one picture with one label, whose annotation has an id, and returns its folder.
func checkedSet(t *testing.T, id string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"annotations", "images"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o777))
	}
	text := `{"info": {}, "images": [{"id": 1, "width": 40, "height": 30, "file_name": "a.jpg"}], "categories": [{"id": 1, "name": "car", "supercategory": "vehicle"}],
		"annotations": [{"id": ` + id + `, "image_id": 1, "category_id": 1, "bbox": [1, 1, 3, 2], "area": 6, "iscrowd": 0, "segmentation": {"size": [30, 40], "counts": [31, 2, 28, 2, 28, 2, 1107]}}]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "annotations", "instances.json"), []byte(text), 0o600))
	file, err := os.Create(filepath.Join(dir, "images", "a.jpg"))
	require.NoError(t, err)
	require.NoError(t, jpeg.Encode(file, image.NewGray(image.Rect(0, 0, 40, 30)), nil))
	require.NoError(t, file.Close())
	return dir
}

func TestDatasetCheck(t *testing.T) {
	good := checkedSet(t, "1")
	page := filepath.Join(t.TempDir(), "page.html")
	got := call(t, "dataset", "check", good, "--report", page)
	require.Zero(t, got.code, got.out+got.err)
	assert.Contains(t, got.out, "coco: 0 errors, 0 warnings by ")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "data:image/jpeg")

	bad := checkedSet(t, "0") // which evaluations take for no match
	got = call(t, "dataset", "check", bad)
	assert.Equal(t, exitFailed, got.code)
	assert.Contains(t, got.out, "error record.annotation_id: annotations/instances.json")
	assert.Contains(t, got.err, "1 finding")
	got = call(t, "dataset", "check", bad, "--exclude", "record.annotation_id")
	assert.Zero(t, got.code, got.out+got.err)

	got = call(t, "dataset", "check", bad, "--json")
	assert.Equal(t, exitFailed, got.code)
	var result struct {
		Sets []struct {
			Format   string
			Errors   int
			Findings []struct{ Rule, Severity, File, Row, Message string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &result))
	require.Len(t, result.Sets, 1)
	assert.Equal(t, "coco", result.Sets[0].Format)
	assert.Equal(t, 1, result.Sets[0].Errors)
	assert.Equal(t, "record.annotation_id", result.Sets[0].Findings[0].Rule)
	assert.Equal(t, "error", result.Sets[0].Findings[0].Severity)

	for name, args := range map[string][]string{
		"no set":                                 {t.TempDir()},
		"no folder":                              {filepath.Join(good, "gone")},
		"a file":                                 {page},
		"no rule":                                {good, "--exclude", "record.who"},
		"no arguments":                           {},
		"a page where there is no folder for it": {good, "--report", filepath.Join(good, "gone", "page.html")},
	} {
		got := call(t, append([]string{"dataset", "check"}, args...)...)
		assert.Equal(t, exitUsage, got.code, name)
	}
	got = call(t, "dataset", "check", "--rules")
	require.Zero(t, got.code)
	for _, rule := range []string{"reference.chain", "record.annotation_id", "kitti"} {
		assert.Contains(t, got.out, rule)
	}
}

// TestFindingsOnATerminal: what a set says is text, and no command to the terminal.
func TestFindingsOnATerminal(t *testing.T) {
	found := check.NewFindings([]check.Rule{{ID: "record.name"}}, nil)
	found.Add("record.name", check.Place{File: "\x1b[1m", Row: "\x1b[2m"}, "the name is %s", "\x1b[31m")
	var out bytes.Buffer
	require.NoError(t, printResults(&out, []*check.Result{{Format: "coco", Name: "\x1b[3m", Findings: found}}))
	assert.NotContains(t, out.String(), "\x1b")
	assert.Contains(t, out.String(), `the name is \x1b[31m`)
}

func TestDatasetShow(t *testing.T) {
	set, out := checkedSet(t, "1"), filepath.Join(t.TempDir(), "shown")
	got := call(t, "dataset", "show", set, "3", "--out", out)
	require.Zero(t, got.code, got.err)
	files, err := filepath.Glob(filepath.Join(out, "000000_*.png"))
	require.NoError(t, err)
	assert.Len(t, files, 1)
	assert.Equal(t, files[0]+"\n", got.out)
	for name, args := range map[string][]string{"no set": {out}, "no number": {set, "many"}, "none": {set, "0"}, "too many arguments": {set, "1", "2"}} {
		got := call(t, append([]string{"dataset", "show"}, args...)...)
		assert.Equal(t, exitUsage, got.code, name)
	}
}
