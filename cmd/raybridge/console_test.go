package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shownOn is a printer on a console of so many columns, 0 for a log, at the end of each
// interval.
func shownOn(out *bytes.Buffer, total time.Duration, columns int) *progressPrinter {
	p := newProgressPrinter(&console{out: out, moves: columns > 0, columns: func() int { return columns }}, "simulated", total, false)
	at := time.Unix(0, 0)
	p.now = func() time.Time { at = at.Add(lineInterval); return at }
	p.shown = at
	return p
}

// at is a progress of so many simulated and real seconds.
func at(simulated, wall float64) pipeline.Progress {
	second := float64(time.Second)
	return pipeline.Progress{SimNs: 1e18, Simulated: time.Duration(simulated * second), Wall: time.Duration(wall * second)}
}

// TestTheStartCountsAsPeopleDo: without an s after 1.
func TestTheStartCountsAsPeopleDo(t *testing.T) {
	t.Parallel()
	one := &scene.Geometry{Scene: &scene.Scene{Name: "sign", Actors: []*scene.Actor{{}}}}
	var out bytes.Buffer
	shownOn(&out, 0, 0).start(gpu.Info{Renderer: "host device, avx2, 1 thread", Device: "host"}, one)
	assert.Equal(t, "scene sign: 0 triangles, 1 actor; on host device, avx2, 1 thread (host)\n", out.String())
}

// TestProgress: per cent, rate and the time left, as lines in a log and with a bar on a
// terminal.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total   time.Duration
		columns int
		want    string
	}{
		{10 * time.Second, 0, "50 %, 5.0 of 10.0 s simulated, real-time factor 2.50, 2s left\n"},
		{5250 * time.Millisecond, 0, "95 %, 5.0 of 5.2 s simulated, real-time factor 2.50, 1s left\n"},
		{0, 0, "5.0 s simulated, real-time factor 2.50\n"},
		{5 * time.Second, 0, "100 %, 5.0 of 5.0 s simulated, real-time factor 2.50\n"},
		{1e6 * time.Second, 0, "0 %, 5.0 of 1000000.0 s simulated, real-time factor 2.50, 111h6m38s left\n"},
		{10 * time.Second, 120, eraseLine + "[===============               ] 50 %, 5.0 of 10.0 s simulated, real-time factor 2.50, 2s left"},
		{10 * time.Second, 80, eraseLine + "[=======        ] 50 %, 5.0 of 10.0 s simulated, real-time factor 2.50, 2s left"},
		{10 * time.Second, 40, eraseLine + "50 %, 5.0 of 10.0 s simulated, real-tim"},
		{0, 80, eraseLine + "5.0 s simulated, real-time factor 2.50"},
	} {
		var out bytes.Buffer
		p := shownOn(&out, c.total, c.columns)
		p.update(at(5, 2))
		assert.Equal(t, c.want, out.String())
		for line := range strings.SplitSeq(strings.TrimPrefix(out.String(), eraseLine), "\n") {
			assert.True(t, c.columns == 0 || len(line) < c.columns, "it wraps: %q", line)
		}
		p.stop()
		assert.Equal(t, c.columns > 0, strings.HasSuffix(out.String(), eraseLine), "what moves goes, a log's lines stay")
	}
}

func TestProgressIsShownNowAndThen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgressPrinter(&out, "simulated", 10*time.Second, false)
	now := time.Unix(0, 0)
	p.now, p.shown = func() time.Time { return now }, now
	for range 100 {
		now = now.Add(lineInterval / 10)
		p.update(at(5, 2))
	}
	assert.Equal(t, 10, bytes.Count(out.Bytes(), []byte("\n")), "not a line a tick")
	out.Reset()
	p.quiet, now = true, now.Add(lineInterval)
	p.update(at(7, 3))
	p.stop()
	assert.Empty(t, out.String())
}

// TestTheTimeLeftFollowsTheRate: what was slow long ago counts no more.
func TestTheTimeLeftFollowsTheRate(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := shownOn(&out, 100*time.Second, 0)
	for wall := range 30 { // the first ten seconds as good as stand
		p.update(at(float64(max(0, wall-10)), float64(wall)))
	}
	assert.Contains(t, lastLine(out.String()), "19 %, 19.0 of 100.0 s simulated, real-time factor 1.00, 1m21s left")
}

// TestWarningsStandAboveTheBar: the line that moves stays the last, whatever else is written.
func TestWarningsStandAboveTheBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := shownOn(&out, 0, 80)
	p.update(at(1, 1))
	newLog(p.out, false).Warn("late")
	bar := "1.0 s simulated, real-time factor 1.00"
	assert.Equal(t, eraseLine+bar+eraseLine+"warning: late\n"+bar, out.String())
}

// TestNoColor: what a terminal's user has told all programs.
func TestNoColor(t *testing.T) {
	terminal, err := os.Open("/dev/ptmx")
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer terminal.Close()
	for _, c := range []struct {
		term, noColor  string
		moves, colours bool
	}{
		{"xterm", "", true, true}, {"xterm", "1", true, false}, {"dumb", "", false, false},
	} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.noColor)
		got := consoleOn(terminal)
		assert.Equal(t, []bool{c.moves, c.colours}, []bool{got.moves, got.colours}, "%v", c)
		assert.Same(t, got, consoleOn(got), "a console is made once")
	}
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	assert.False(t, consoleOn(null).moves)
}

// TestTheLogIsForPeople: one style, with colours on a terminal whose user wants them.
func TestTheLogIsForPeople(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := newLog(&out, false).With("bridge", "mcap:a b", "n", 2)
	log.Info("connected")
	log.Warn("slow", "waited", time.Second, "error", assert.AnError)
	log.WithGroup("peer").Error("gone", "name", "x", "empty", "")
	assert.Equal(t, `connected (bridge="mcap:a b" n=2)
warning: slow (bridge="mcap:a b" n=2 waited=1s error="assert.AnError general error for testing")
error: gone (bridge="mcap:a b" n=2 peer.name=x peer.empty="")
`, out.String())

	out.Reset()
	quiet := newLog(&out, true)
	quiet.Warn("slow")
	quiet.Error("gone")
	assert.Equal(t, "error: gone\n", out.String())

	out.Reset()
	newLog(&console{out: &out, colours: true}, false).Warn("slow")
	assert.Equal(t, yellow+"warning:"+plain+" slow\n", out.String())
}

// recordsOf reads a line of JSON each.
func recordsOf(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &record), "%s", line)
		assert.NotEmpty(t, record["time"])
		delete(record, "time")
		list = append(list, record)
	}
	return list
}

// TestJSONAlone: with --log json whatever is written is an object a line, and nothing moves.
func TestJSONAlone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &console{out: &out, moves: true, colours: true}
	c.writeJSON()
	p := newProgressPrinter(c, "simulated", 0, false)
	p.shown = time.Time{}
	p.update(at(1, 1))
	p.stop()
	fmt.Fprint(c, "bridge  to")
	fmt.Fprint(c, "pic\nmcap\n\n")
	log := newLog(c, false).With("bridge", "mcap:a b")
	log.Debug("not told")
	log.WithGroup("peer").Warn("slow", "n", 2)
	c.fail(errors.Join(io.EOF, io.ErrUnexpectedEOF))
	newLog(c, true).Warn("not told either")
	assert.Equal(t, []map[string]any{
		{"level": "INFO", "msg": "progress", "simulated_s": 1.0, "real_time_factor": 1.0},
		{"level": "INFO", "msg": "bridge  topic"},
		{"level": "INFO", "msg": "mcap"},
		{"level": "WARN", "msg": "slow", "bridge": "mcap:a b", "peer": map[string]any{"n": 2.0}},
		{"level": "ERROR", "msg": "EOF\nunexpected EOF"},
	}, recordsOf(t, out.String()))
}

// TestEndpointsInJSON are a record each, with every topic.
func TestEndpointsInJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &console{out: &out}
	c.writeJSON()
	list := []carry.BridgeSummary{
		{Name: "mcap"},
		{Name: "foxglove", Endpoints: []bridges.Endpoint{{Address: "a:3", Topic: "/t"}, {Address: "a:3", Topic: "/u"}}},
		{Name: "carla", Endpoints: []bridges.Endpoint{{Address: "a:2", Topic: "/t", Stream: 2, Token: "ff"}}},
	}
	printEndpoints(c, list)
	const message = "receivers connect here"
	assert.Equal(t, []map[string]any{
		{"level": "INFO", "msg": message, "address": "a:3", "bridge": "foxglove", "topic": "/t"},
		{"level": "INFO", "msg": message, "address": "a:3", "bridge": "foxglove", "topic": "/u"},
		{"level": "INFO", "msg": message, "address": "a:2", "bridge": "carla", "topic": "/t", "stream": 2.0, "token": "ff"},
	}, recordsOf(t, out.String()))
	out.Reset()
	warn := slog.LevelWarn
	c.level = &warn
	printEndpoints(c, list)
	assert.Empty(t, out.String())
}

// TestWrongUseInJSON: what is wrong with a command line is a record, too, where the line asks for JSON.
func TestWrongUseInJSON(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "--log", "json", "--nothing"}, {"run", "--nothing", "--log=json"}, {"run", "--log", "json", "--log-level", "loud"}} {
		var out, errOut bytes.Buffer
		assert.Equal(t, exitUsage, program(t.Context(), args, &out, &errOut))
		records := recordsOf(t, errOut.String())
		require.Len(t, records, 1)
		assert.Equal(t, "ERROR", records[0]["level"])
	}
	var out, errOut bytes.Buffer
	assert.Equal(t, exitUsage, program(t.Context(), []string{"run", "--nothing", "--", "--log", "json"}, &out, &errOut))
	assert.Contains(t, errOut.String(), "raybridge: ")
}

// TestLogLevels are those of the log alone in text, and of all that is written in JSON.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	for format, want := range map[string][]string{"text": {"note", "error: failed"}, "json": {"failed"}} {
		var out bytes.Buffer
		cmd := &cobra.Command{Use: "x", RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.ErrOrStderr(), "note")
			log := newLog(cmd.ErrOrStderr(), true)
			log.Warn("slow")
			log.Error("failed")
			return nil
		}}
		addLogFlags(cmd)
		cmd.SetErr(&out)
		cmd.SetArgs([]string{"--log", format, "--log-level", "error"})
		require.NoError(t, cmd.Execute())
		var got []string
		if format == "json" {
			for _, r := range recordsOf(t, out.String()) {
				got = append(got, r["msg"].(string))
			}
		} else {
			got = strings.Split(strings.TrimSpace(out.String()), "\n")
		}
		assert.Equal(t, want, got, format)
	}
}
