package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completions asks as a shell's script does. What ends with a colon and a number is the
// directive for the shell, a sum. 1 is error, 2 no space, 4 no files, 8 files of these kinds.
func completions(t *testing.T, words ...string) (list []string, directive string) {
	t.Helper()
	o := call(t, append([]string{"__completeNoDesc"}, words...)...)
	require.Equal(t, exitDone, o.code, o.err)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words     []string
		want      []string
		directive string
	}{
		{[]string{"run", "--bridge", "ros"}, []string{"ros1:", "ros2dds:", "ros2lgsvl:", "rosapollo:", "rosbridge:"}, ":6"},
		{[]string{"replay", "a.mcap", "--bridge", "mc"}, []string{"mcap:"}, ":6"},
		{[]string{"run", "--bridge", "zork:"}, []string{}, ":4"},
		{[]string{"run", "--bridge", "mcap:"}, []string{}, ":6"}, // it needs a path
		{[]string{"run", "--bridge", "mcap:a?compr"}, []string{"mcap:a?compression="}, ":6"},
		{[]string{"run", "--bridge", "mcap:a?chunk=1&compression="}, []string{
			"mcap:a?chunk=1&compression=", "mcap:a?chunk=1&compression=zstd", "mcap:a?chunk=1&compression=lz4", "mcap:a?chunk=1&compression=none",
		}, ":6"},
		{[]string{"run", "--bridge", "mcap:a?split=1GB&split"}, []string{"mcap:a?split=1GB&split_time="}, ":6"},
		{[]string{"run", "--bridge", "mcap:a?split="}, []string{"mcap:a?split="}, ":6"},
		{[]string{"run", "--bridge", "stream:1?zstd=o"}, []string{"stream:1?zstd=on", "stream:1?zstd=off"}, ":6"},
		{[]string{"bridges", "show", "c"}, []string{"carla", "coco", "cyber"}, ":4"},
		{[]string{"bridges", "show", "cyber", "c"}, []string{}, ":4"},
		{[]string{"run", "--policy", ""}, []string{"block", "drop_newest", "drop_oldest", "exclusive"}, ":4"},
		{[]string{"replay", "--policy", ""}, []string{"block", "drop_newest", "drop_oldest", "exclusive"}, ":4"},
		{[]string{"run", "--time-source", ""}, []string{"engine", "ss2", "system", "simulation", "ros2"}, ":4"},
		{[]string{"run", "--scene", "c"}, []string{"city"}, ":4"},
		{[]string{"run", "--scene", "p"}, []string{"plane"}, ":4"},
		{[]string{"bench", "lidar", "--scene", "c"}, []string{"city"}, ":4"},
		{[]string{"ctl", "s"}, []string{"sensors", "signal", "spawn", "status", "step"}, ":4"},
		{[]string{"ctl", "remove", ""}, []string{}, ":4"},
		{[]string{"run", "--scene", "nowhere/"}, []string{"gltf", "glb"}, ":8"},
	} {
		list, directive := completions(t, c.words...)
		assert.Equal(t, c.want, list, c.words)
		assert.Equal(t, c.directive, directive, c.words)
	}
	list, _ := completions(t, "run", "--bridge", "stream:")
	assert.Contains(t, list, "stream:127.0.0.1:7740")
	assert.Contains(t, list, "stream:?zstd=")
}

// TestCompletionOfScenes: files of both kinds, but no others.
func TestCompletionOfScenes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"yard.glb", "yard.gltf", "yard.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	list, directive := completions(t, "run", "--scene", filepath.Join(dir, "y"))
	assert.Equal(t, []string{filepath.Join(dir, "yard.gltf"), filepath.Join(dir, "yard.glb")}, list)
	assert.Equal(t, ":4", directive)
}

// TestCompletionsAreDescribed: shells that show descriptions have them.
func TestCompletionsAreDescribed(t *testing.T) {
	t.Parallel()
	o := call(t, "__complete", "run", "--bridge", "logging")
	assert.Contains(t, o.out, "logging:\twrites every message as a line of JSON")
}
