package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cocoSet writes a set of one picture without annotations, of a run, and returns its folder.
func cocoSet(t *testing.T, dir, run string) string {
	t.Helper()
	for name, text := range map[string]string{
		"images/" + run + ".jpg": run,
		"raybridge/journal.jsonl": `{"format":"coco","version":"1","options":{"keyframes":"2","panoptic":"off"}}` + "\n" +
			`{"scene":{"run":"` + run + `","number":0,"data":{}}}` + "\n" +
			`{"frame":{"number":0,"files":["images/` + run + `.jpg"],"data":{"pictures":[{"name":"` + run + `","Width":4,"Height":3,"annotations":[]}]}}}` + "\n",
	} {
		file := filepath.Join(dir, run, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return filepath.Join(dir, run)
}

func TestDatasetMerge(t *testing.T) {
	dir := t.TempDir()
	a, b := cocoSet(t, dir, "aaa"), cocoSet(t, dir, "bbb")
	out := filepath.Join(dir, "all")
	got := call(t, "dataset", "merge", b, a, "-o", out)
	require.Zero(t, got.code, got.err)
	assert.Equal(t, out+": 2 runs, 2 scenes, 2 key frames\n", got.out)
	text, err := os.ReadFile(filepath.Join(out, "annotations", "instances.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"images":[{"id":1,"width":4,"height":3,"file_name":"aaa.jpg"`)

	split := filepath.Join(dir, "split")
	got = call(t, "dataset", "merge", out, "-o", split, "--split", "train=1,val=1")
	require.Zero(t, got.code, got.err)
	assert.Equal(t, split+": 2 runs, 2 scenes, 2 key frames, train with 1 scene, val with 1 scene\n", got.out)
	assert.FileExists(t, filepath.Join(split, "annotations", "instances_val.json"))

	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no output":  {[]string{a}, "name the folder of the new set: -o DIR"},
		"no set":     {[]string{t.TempDir(), "-o", filepath.Join(dir, "x")}, "not a set that raybridge wrote"},
		"nothing":    {[]string{"-o", filepath.Join(dir, "x")}, "give the folders of data sets"},
		"not there":  {[]string{filepath.Join(dir, "gone"), "-o", filepath.Join(dir, "x")}, "no such file"},
		"a full one": {[]string{a, "-o", out}, "has files already"},
		"bad shares": {[]string{a, "-o", filepath.Join(dir, "x"), "--split", "train"}, "such as train=0.8,val=0.2"},
	} {
		got := call(t, append([]string{"dataset", "merge"}, c.args...)...)
		assert.Equal(t, exitUsage, got.code, name)
		assert.Contains(t, got.err, c.want, name)
	}
}
