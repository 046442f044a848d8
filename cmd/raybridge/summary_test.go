package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
)

// summaryFile writes the summary of a run with one topic.
func summaryFile(t *testing.T, name string, rate float64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	s := pipeline.Summary{
		Schema: pipeline.SummarySchema, SimS: 1, WallS: 2, RealTimeFactor: 0.5, Lost: flow.Drops{flow.CausePeerSlow: 2},
		Sensors: []carry.SensorSummary{{Topic: "/points", Messages: 10, RateHz: rate, LatencyP99Ms: 4}}, Bridges: []carry.BridgeSummary{},
	}
	require.NoError(t, s.WriteJSON(path))
	return path
}

// TestSummaryCommands: their exit codes, and what they write where.
func TestSummaryCommands(t *testing.T) {
	t.Parallel()
	path, other := summaryFile(t, "run.json", 10), summaryFile(t, "again.json", 9)
	recording := write(t, t.TempDir(), "a.txt", "x")
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"check", path, "--min-rate", "/points=10", "--max-drops", "2,peer_slow=2", "--max-latency=/points=4", "--min-realtime=0.5"}, exitDone, "held", ""},
		{[]string{"check", path, "--max-drops", "1"}, exitFailed, "falls short", "the run falls short: drops: 2, want at most 1"},
		{[]string{"check", path, "--max-drops", "1", "--json"}, exitFailed, `"held": false`, "falls short"},
		{[]string{"check", path, "--max-drops", "1", "--markdown"}, exitFailed, "| **falls short** |", "falls short"},
		{[]string{"check", path, "--min-rate", "/point=1"}, exitFailed, "did you mean /points?", "no such topic"},
		{[]string{"check", path, "--max-drops", "1", "--markdown", "--json"}, exitUsage, "", "not both"},
		{[]string{"check", path, "--min-realtime", "0"}, exitDone, "at least 0", ""},
		{[]string{"check", path}, exitUsage, "", "nothing to check: give --min-rate"},
		{[]string{"check"}, exitUsage, "", "give a file that run --summary wrote"},
		{[]string{"check", path, "--max-drops", "zork=1"}, exitUsage, "", "is not a cause of a loss"},
		{[]string{"check", path, "--max-drops", ""}, exitUsage, "", "want a whole number"},
		{[]string{"check", recording, "--max-drops", "1"}, exitUsage, "", "is not JSON"},
		{[]string{"check", path + "x", "--max-drops", "1"}, exitUsage, "", "did you mean " + path},
		{[]string{"check", path, "--min-realtime", "x"}, exitUsage, "", "want a number"},
		{[]string{"diff", path, other}, exitDone, "-1 Hz (-10.0 %)", ""},
		{[]string{"diff", path, other, "--json"}, exitDone, `"topic": "/points"`, ""},
		{[]string{"diff", path, other, "--markdown"}, exitDone, "| rate of /points | 10 Hz | 9 Hz |", ""},
		{[]string{"diff", path, recording}, exitUsage, "", "is not JSON"},
		{[]string{"diff", path}, exitUsage, "", "give two files that run --summary wrote, not 1 argument"},
		{[]string{"diff", path, other, "--json", "--markdown"}, exitUsage, "", "not both"},
		{[]string{"chek"}, exitUsage, "", "did you mean check?"},
	} {
		o := call(t, append([]string{"summary"}, c.args...)...)
		assert.Equal(t, c.code, o.code, "%v: %s", c.args, o.err)
		assert.Contains(t, o.out, c.out, "%v", c.args)
		assert.Contains(t, o.err, c.err, "%v", c.args)
		if c.err == "" {
			assert.Empty(t, o.err, "%v", c.args)
		}
	}
}

// TestLimitsAreRefusedBeforeTheRun where it can be known that it won't keep them.
func TestLimitsAreRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag, want string
	}{
		{"--min-rate=/lidar/point=10", "--min-rate /lidar/point: the run has no such topic, did you mean /lidar/points?"},
		{"--max-latency=/zork=10", "--max-latency /zork: the run has no such topic"},
		{"--max-drops=-1", "want a whole number"},
		{"--min-rate=/lidar/points=NaN", "want a topic and a number"},
	} {
		o := call(t, "run", "--bridge", "mcap:a.mcap", "--out", t.TempDir(), c.flag)
		assert.Equal(t, exitUsage, o.code)
		assert.Contains(t, o.err, c.want)
	}
	pl, _ := planOf(t, "--bridge", "mcap:a.mcap", "--min-rate", "/clock=1,/lidar/points=2")
	assert.Len(t, pl.limits, 2)
	pl, _ = planOf(t, "--api", "0", "--min-rate", "/added/later=1")
	assert.Len(t, pl.limits, 1, "a client may add the sensor")
}

// TestARunIsJudged at its end, beside what else it lacks.
func TestARunIsJudged(t *testing.T) {
	t.Parallel()
	pl, _ := planOf(t, "--bridge", "mcap:a.mcap", "--max-drops", "1")
	var s pipeline.Summary
	out := newTranscript()
	require.NoError(t, pl.judge(out, &s))
	assert.Contains(t, out.String(), "held")

	s.Lost = flow.Drops{flow.CauseTooLarge: 2}
	out = newTranscript()
	err := pl.judge(out, &s)
	require.EqualError(t, err, "the run falls short: drops: 2, want at most 1")
	assert.Equal(t, exitIncomplete, exitCode(err))
	assert.Contains(t, out.String(), "falls short")

	pl.flags.quiet = true
	out = newTranscript()
	require.Error(t, pl.judge(out, &s))
	assert.Empty(t, out.String())

	pl, _ = planOf(t, "--bridge", "mcap:a.mcap")
	require.NoError(t, pl.judge(out, &s))
	assert.Empty(t, out.String(), "there is no limit")
}

// TestLimitsComplete: causes, and the topics that the run or the summary has.
func TestLimitsComplete(t *testing.T) {
	t.Parallel()
	path := summaryFile(t, "run.json", 10)
	rig := write(t, t.TempDir(), "rig.yaml", "sensors: [{id: sensor.other.imu, name: own}]")
	for _, c := range []struct {
		words, want []string
	}{
		{[]string{"run", "--rig", rig, "--min-rate", "/own"}, []string{"/own/data="}},
		{[]string{"run", "--rig", rig, "--max-latency", "/clock=1,/cl"}, []string{"/clock=1,/clock="}},
		{[]string{"run", "--rig", path, "--max-latency", "/"}, []string{}},
		{[]string{"run", "--max-drops", "read"}, []string{"readback_full=", "readback_failed="}},
		{[]string{"summary", "check", path, "--min-rate", ""}, []string{"/points="}},
		{[]string{"summary", "check", path + "x", "--min-rate", ""}, []string{}},
		{[]string{"summary", "check", "--min-rate", ""}, []string{}},
		{[]string{"summary", "check", path, "--max-drops", "0,peer"}, []string{"0,peer_slow="}},
	} {
		list, directive := completions(t, c.words...)
		assert.Equal(t, c.want, list, "%v", c.words)
		assert.Equal(t, ":6", directive)
	}
}

// TestTheSummaryOfAReplayIsNamed: it has other keys.
func TestTheSummaryOfAReplayIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "replay.json")
	sum := replaySummary{Schema: summarySchema}
	require.NoError(t, sum.write(path))
	o := call(t, "summary", "check", path, "--max-drops", "0")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "replay.json is not the summary of a run")
	_, err := os.Stat(path)
	require.NoError(t, err)
}
