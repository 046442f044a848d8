package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReplayOfParts: files given one by one are one recording, in whatever order.
func TestReplayOfParts(t *testing.T) {
	t.Parallel()
	path := replayable(t, "bag?split_time=300ms", true)
	part := func(number string) string { return filepath.Join(path, "bag_"+number+".mcap") }
	out := t.TempDir()
	o := call(t, "replay", part("2"), part("0"), part("3"), part("1"), part("2"), "--bridge", "mcap:b.mcap", "--out", out, "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Len(t, content(t, filepath.Join(out, "b.mcap")), 31)
	assert.Contains(t, o.out, "0.90 s of the recording in")
	assert.NotContains(t, o.err, "mixed")

	o = call(t, "replay", part("3"), part("0"), "--bridge", "mcap:gap.mcap", "--out", out, "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.out, "0.90 s of the recording in", "the gap stays")
	assert.Contains(t, o.out, "/points     4 ")

	o = call(t, "replay", part("0"), part("1"), "--bridge", "mcap:"+part("1"), "--out", out, "--fast")
	require.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "which is to be replayed")
}

// TestReplayTellsOfMixedRecordings: two runs begin at the same simulation time.
func TestReplayTellsOfMixedRecordings(t *testing.T) {
	t.Parallel()
	a, b := replayable(t, "a.mcap", true), replayable(t, "b.mcap", true)
	o := call(t, "replay", a, b, "--bridge", "mcap:c.mcap", "--out", t.TempDir(), "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "two files have messages of the same times")
	o = call(t, "replay", a, filepath.Join(t.TempDir(), "none.mcap"), "--bridge", "mcap:c.mcap")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "none.mcap: no such file in ")
}
