package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/mcap"
)

// TestDiffCommand: its exit codes and its rows.
func TestDiffCommand(t *testing.T) {
	t.Parallel()
	whole, bag := replayable(t, "a.mcap", true), replayable(t, "bag?split_time=300ms", true)
	o := call(t, "mcap", "diff", whole, bag)
	assert.Equal(t, exitDone, o.code, o.err)
	assert.Empty(t, o.err)
	assert.Equal(t, len(strings.Split(strings.TrimSpace(o.out), "\n"))-1, strings.Count(o.out, " equal\n"))

	other := replayable(t, "b.mcap", false) // without /clock
	o = call(t, "mcap", "diff", whole, other)
	assert.Equal(t, exitFailed, o.code)
	assert.Regexp(t, `(?m)^/clock +rosgraph_msgs/msg/Clock +\d+ +- +only in A$`, o.out)
	assert.Contains(t, o.err, "the recordings differ in 1 of ")
	o = call(t, "mcap", "diff", other, whole)
	assert.Regexp(t, `(?m)^/clock +rosgraph_msgs/msg/Clock +- +\d+ +only in B$`, o.out)

	data, err := os.ReadFile(whole)
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.mcap")
	require.NoError(t, os.WriteFile(cut, data[:len(data)-100], 0o600))
	o = call(t, "mcap", "diff", whole, cut)
	assert.Equal(t, exitDone, o.code, "it lacks the summary alone")
	assert.Contains(t, o.err, "the recording was not finished")

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{whole}, "give two MCAP files or rosbag2 folders, not 1 argument"},
		{[]string{whole, whole + "x"}, "no such file"},
		{[]string{whole, write(t, t.TempDir(), "a.txt", "text")}, "not an MCAP file"},
		{[]string{whole, whole, "--max-memory", "1"}, "--max-memory raises it"},
	} {
		o := call(t, append([]string{"mcap", "diff"}, c.args...)...)
		assert.Equal(t, exitUsage, o.code, c.args)
		assert.Contains(t, o.err, c.want)
	}
}

// TestRowsOfDifferences say what differs, and when.
func TestRowsOfDifferences(t *testing.T) {
	t.Parallel()
	points := &mcap.Topic{Name: "/points", Type: "T"}
	field := mcap.FieldDiff{Name: "points[17].intensity", A: "1", B: "2.5"}
	for want, d := range map[string]mcap.TopicDiff{
		"5|5|equal": {A: points, B: points, MessagesA: 5, MessagesB: 5},
		"5|4|message 4, at 0.400000000 s: missing in B": {A: points, B: points, MessagesA: 5, MessagesB: 4, First: &mcap.MessageDiff{Number: 4, InA: true, Stamp: 4e8}},
		"4|5|message 0, at 0.000000000 s: missing in A": {A: points, B: points, MessagesA: 4, MessagesB: 5, First: &mcap.MessageDiff{InB: true}},
		"5|-|only in A": {A: points, MessagesA: 5},
		"-|0|only in B": {B: points},
		"5|5|message 3, at 0.300000000 s: points[17].intensity is 1 in A, 2.5 in B": {
			A: points, B: points, MessagesA: 5, MessagesB: 5, First: &mcap.MessageDiff{Number: 3, InA: true, InB: true, Stamp: 3e8, FieldDiff: field},
		},
	} {
		assert.Equal(t, "/points|T|"+want, strings.ReplaceAll(differenceRow(&d), "\t", "|"))
	}
	escapes := mcap.TopicDiff{A: &mcap.Topic{Name: "/a\x1b[2J", Type: "T\tequal"}}
	assert.Equal(t, `"/a\x1b[2J"|"T\tequal"|0|-|only in A`, strings.ReplaceAll(differenceRow(&escapes), "\t", "|"))
}

// TestDiffOfADamagedRecording: its checksum tells, rather than a field.
func TestDiffOfADamagedRecording(t *testing.T) {
	t.Parallel()
	whole := replayable(t, "a.mcap?compression=none", true)
	data, err := os.ReadFile(whole)
	require.NoError(t, err)
	frame := bytes.Index(data, []byte("lidar\x00"))
	require.Positive(t, frame)
	data[frame] = 'L'
	changed := filepath.Join(t.TempDir(), "changed.mcap")
	require.NoError(t, os.WriteFile(changed, data, 0o600))
	o := call(t, "mcap", "diff", whole, changed)
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "changed.mcap")
	assert.Contains(t, o.err, "damaged")
}
