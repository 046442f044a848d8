package judge_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/judge"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
)

// limitsOf reads a command line's limits.
func limitsOf(args ...string) (judge.Limits, error) {
	var f judge.Flags
	flags := pflag.NewFlagSet("check", pflag.ContinueOnError)
	f.Register(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return f.Limits()
}

// aRun is a summary with a row of each kind.
func aRun() *pipeline.Summary {
	return &pipeline.Summary{
		Schema: pipeline.SummarySchema, RealTimeFactor: 0.5, SimS: 10, WallS: 20,
		Lost: flow.Drops{flow.CausePeerSlow: 3, flow.CauseSkipped: 1}, Bridges: []carry.BridgeSummary{},
		Sensors: []carry.SensorSummary{
			{Name: "clock", Topic: "/clock", Messages: 1000, RateHz: 50},
			{Name: "roof", Topic: "/lidar/points", Messages: 100, RateHz: 10, LatencyP50Ms: 5, LatencyP99Ms: 20, Drops: flow.Drops{flow.CauseNoReturn: 9}},
			{Name: "tf", Topic: "/tf_static", Messages: 1, RateHz: 0.1},
			{Name: "eye", Topic: "/eye", Idle: true},
			{Name: "bump", Topic: "/collision"},
			{Name: "b", Topic: "/spawned", Messages: 30, RateHz: 3, LatencyP99Ms: 7},
			{Name: "a", Topic: "/spawned", Messages: 20, RateHz: 2, LatencyP99Ms: 9, Ended: true},
			{Name: "c", Topic: "/spawned", LatencyP99Ms: 90, Ended: true},
			{Type: "sensor.other.imu", Messages: 500, RateHz: 50, Ended: true, Others: 4},
		},
	}
}

// TestJudge holds a run against one limit at a time, just kept and just not.
func TestJudge(t *testing.T) {
	for flag, want := range map[string]string{
		"--min-rate=/lidar/points=10":      "held: 10",
		"--min-rate=/lidar/points=10.01":   "falls short: 10",
		"--min-rate=/clock=50":             "held: 50",
		"--min-rate=/tf_static=0.1":        "held: 0.1",
		"--min-rate=/tf_static=1":          "falls short: 0.1",
		"--min-rate=/eye=0.1":              "falls short: 0, idle: nobody listened",
		"--min-rate=/eye=0":                "held: 0, idle: nobody listened",
		"--min-rate=/collision=1":          "falls short: 0, no message came",
		"--min-rate=/spawned=5":            "held: 5",
		"--min-rate=/spawned=5.1":          "falls short: 5",
		"--min-rate=/lidar/point=0":        "falls short: no such topic, did you mean /lidar/points?; of 4 topics that ended the summary has no name",
		"--max-latency=/lidar/points=20":   "held: 20",
		"--max-latency=/lidar/points=19.9": "falls short: 20",
		"--max-latency=/spawned=9":         "held: 9",
		"--max-latency=/spawned=8":         "falls short: 9",
		"--max-latency=/eye=100":           "falls short: idle: nobody listened",
		"--max-latency=/collision=100":     "falls short: no message came",
		"--max-latency=/zork=100":          "falls short: no such topic, known are /clock, /lidar/points, /tf_static, /eye, /collision, /spawned; of 4 topics that ended the summary has no name",
		"--max-drops=4":                    "held: 4",
		"--max-drops=3":                    "falls short: 4",
		"--max-drops=peer_slow=3":          "held: 3",
		"--max-drops=peer_slow=2":          "falls short: 3",
		"--max-drops=write_failed=0":       "held: 0",
		"--min-realtime=0.5":               "held: 0.5",
		"--min-realtime=0.51":              "falls short: 0.5",
	} {
		limits, err := limitsOf(flag)
		require.NoError(t, err)
		require.Len(t, limits, 1, flag)
		assert.Equal(t, want, told(t, limits.Judge(aRun())), flag)
	}
}

// told is the verdict on one limit.
func told(t *testing.T, v judge.Verdict) string {
	t.Helper()
	require.Len(t, v.Checks, 1)
	c := v.Checks[0]
	assert.Equal(t, v.Held, c.Held)
	assert.Equal(t, v.Held, v.Err() == nil)
	var parts []string
	if c.Measured != nil {
		number, err := json.Marshal(c.Measured)
		require.NoError(t, err)
		parts = append(parts, string(number))
	}
	if c.Note != "" {
		parts = append(parts, c.Note)
	}
	return map[bool]string{true: "held: ", false: "falls short: "}[c.Held] + strings.Join(parts, ", ")
}

// TestARunOfNoTime keeps no limit on rates.
func TestARunOfNoTime(t *testing.T) {
	s := &pipeline.Summary{Sensors: []carry.SensorSummary{{Topic: "/a", Messages: 1, LatencyP99Ms: 2}}}
	for flag, want := range map[string]string{
		"--min-rate=/a=1":    "falls short: 0, the run took no time",
		"--min-realtime=0.1": "falls short: 0, the run took no time",
		"--max-latency=/a=3": "held: 2, the run took no time",
		"--max-drops=0":      "held: 0",
	} {
		limits, err := limitsOf(flag)
		require.NoError(t, err)
		assert.Equal(t, want, told(t, limits.Judge(s)), flag)
	}
}

// TestSumsOfFloats: 0.1 + 0.2 isn't 0.3, and doesn't make a rate fall short.
func TestSumsOfFloats(t *testing.T) {
	limits, err := limitsOf("--min-rate=/a=3.3")
	require.NoError(t, err)
	rate := 1.1
	s := &pipeline.Summary{SimS: 1, Sensors: []carry.SensorSummary{{Topic: "/a", Messages: 1, RateHz: 3*rate - 4e-10}}}
	assert.True(t, limits.Judge(s).Held)
	s.Sensors[0].RateHz = 3.2999
	assert.False(t, limits.Judge(s).Held)
}

// TestLimitsAreRead in lists and repeated, and refused where they mean nothing.
func TestLimitsAreRead(t *testing.T) {
	limits, err := limitsOf("--max-drops=0,peer_slow=5", "--min-rate", "/a=1,/b=2.5", "--min-rate", "/c=3")
	require.NoError(t, err)
	assert.Equal(t, judge.Limits{
		{Kind: "min-rate", Topic: "/a", Value: 1}, {Kind: "min-rate", Topic: "/b", Value: 2.5}, {Kind: "min-rate", Topic: "/c", Value: 3},
		{Kind: "max-drops"}, {Kind: "max-drops", Cause: "peer_slow", Value: 5},
	}, limits)
	require.NoError(t, limits.Known([]string{"/a", "/b", "/c"}))
	none, err := limitsOf()
	require.NoError(t, err)
	assert.Empty(t, none)
	least, err := limitsOf("--min-realtime=0")
	require.NoError(t, err)
	assert.Equal(t, judge.Limits{{Kind: "min-realtime"}}, least, "a limit that is 0 was given")
	require.EqualError(t, limits.Known([]string{"/a", "/bar", "/c"}), "--min-rate /b: the run has no such topic, did you mean /a?")

	for flag, want := range map[string]string{
		"--min-rate=/a":                           "want a topic and a number",
		"--min-rate=5":                            "want a topic and a number",
		"--min-rate==5":                           "want a topic and a number",
		"--min-rate=/a=":                          "want a topic and a number",
		"--min-rate=/a=x":                         "want a topic and a number",
		"--min-rate=/a=-1":                        "want a topic and a number that isn't negative",
		"--min-rate=/a=NaN":                       "want a topic and a number",
		"--min-rate=/a=+Inf":                      "want a topic and a number",
		"--min-rate=/a=1e999":                     "want a topic and a number",
		"--min-rate=/a=1,,/b=2":                   `--min-rate ""`,
		"--max-latency=/a=-0.1":                   `--max-latency "/a=-0.1"`,
		"--max-drops=":                            "want a whole number",
		"--max-drops=-1":                          "want a whole number",
		"--max-drops=1.5":                         "want a whole number",
		"--max-drops==1":                          `"" is not a cause of a loss`,
		"--max-drops=peer_slo=1":                  "did you mean peer_slow?",
		"--max-drops=no_return=1":                 `"no_return" is not a cause of a loss`,
		"--max-drops=idle=1":                      "known are readback_full, readback_failed, skipped, paused, token_busy, queue_full, callback_failed, convert_failed, too_large, not_connected, peer_slow, write_failed, closed",
		"--min-realtime=-1":                       "want a number that isn't negative",
		"--min-realtime=NaN":                      "want a number that isn't negative",
		"--min-realtime=+Inf":                     "want a number that isn't negative",
		"--max-drops=9" + strings.Repeat("0", 30): "want a whole number",
	} {
		_, err := limitsOf(flag)
		require.ErrorContains(t, err, want, flag)
	}
}

// TestTheVerdictIsWritten in each form.
func TestTheVerdictIsWritten(t *testing.T) {
	limits, err := limitsOf("--min-rate=/clock=1,/a|b=10", "--max-drops=0", "--min-realtime=0.5")
	require.NoError(t, err)
	s := aRun()
	s.Sensors[1].Topic, s.Sensors[1].RateHz = "/a|b", 9.99999
	v := limits.Judge(s)
	require.EqualError(t, v.Err(), "the run falls short: rate of /a|b: 9.99999 Hz, want at least 10 Hz; drops: 4, want at most 0")

	for form, want := range map[judge.Form]string{
		judge.Table: `check             limit          measured
rate of /clock    at least 1 Hz   50 Hz       held
rate of /a|b      at least 10 Hz  9.99999 Hz  falls short
drops             at most 0       4           falls short
real-time factor  at least 0.5    0.5         held
`,
		judge.Markdown: `| check | limit | measured |  |
|---|---|---|---|
| rate of /clock | at least 1 Hz | 50 Hz | held |
| rate of /a\|b | at least 10 Hz | 9.99999 Hz | **falls short** |
| drops | at most 0 | 4 | **falls short** |
| real-time factor | at least 0.5 | 0.5 | held |
`,
	} {
		var out bytes.Buffer
		require.NoError(t, v.Write(&out, form))
		head, meanings, _ := strings.Cut(out.String(), "\n\n")
		assert.Equal(t, strings.Join(strings.Fields(want), " "), strings.Join(strings.Fields(head), " "))
		for _, meaning := range []string{"messages in a simulated second", "/clock is that in a second of wall time", "Drops are what was lost"} {
			assert.Equal(t, 1, strings.Count(meanings, meaning), meaning)
		}
		assert.NotContains(t, meanings, "Latencies")
	}
	var out bytes.Buffer
	require.NoError(t, v.Write(&out, judge.JSON))
	assert.JSONEq(t, `{"held": false, "checks": [
		{"kind": "min-rate", "topic": "/clock", "limit": 1, "measured": 50, "held": true},
		{"kind": "min-rate", "topic": "/a|b", "limit": 10, "measured": 9.99999, "held": false},
		{"kind": "max-drops", "limit": 0, "measured": 4, "held": false},
		{"kind": "min-realtime", "limit": 0.5, "measured": 0.5, "held": true}]}`, out.String())
}

// TestCompare: what both runs have, what one has, and what changed.
func TestCompare(t *testing.T) {
	a, b := aRun(), aRun()
	a.Lost["of_later"] = 2 // a cause of another version
	b.RealTimeFactor, b.Lost, b.Sensors[1].RateHz, b.Sensors[2].Topic = 0.6, flow.Drops{flow.CauseSkipped: 1}, 9, "/new"
	a.Metrics, b.Metrics = map[string]float64{"ego.distance": 80, "collisions": 1, "min_ttc": 0.5}, map[string]float64{"ego.distance": 82, "collisions": 1}
	c := judge.Compare("a.json", "b.json", a, b)
	var out bytes.Buffer
	require.NoError(t, c.Write(&out, judge.Table))
	rows := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		rows[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{
		"a.json b.json change", "real-time factor 0.5 0.6 +0.1 (+20.0 %)", "drops 6 1 -5 (-83.3 %)", "drops by of_later 2 0 -2 (-100.0 %)", "drops by peer_slow 3 0 -3 (-100.0 %)", "drops by skipped 1 1",
		"rate of /lidar/points 10 Hz 9 Hz -1 Hz (-10.0 %)", "rate of /spawned 5 Hz 5 Hz", "rate of /new no such topic 0.1 Hz only in the second",
		"rate of /tf_static 0.1 Hz no such topic only in the first", "rate of /eye 0 Hz 0 Hz",
		"ego.distance 80 m 82 m +2 m (+2.5 %)", "collisions 1 1", "min_ttc 0.5 s none only in the first",
	} {
		assert.True(t, rows[want], "%s\n%s", want, &out)
	}
	assert.NotContains(t, out.String(), "write_failed", "nothing was lost by it")

	out.Reset()
	require.NoError(t, c.Write(&out, judge.JSON))
	var back judge.Comparison
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Equal(t, c, back)
	assert.Contains(t, out.String(), `"a": null`)
}

// TestRead reads what a run writes, and names what isn't that.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	require.NoError(t, aRun().WriteJSON(path))
	s, err := judge.Read(path)
	require.NoError(t, err)
	assert.InDelta(t, 10, s.Sensors[1].RateHz, 0)
	assert.Equal(t, aRun().Lost, s.Lost)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	_, err = judge.Read(file("more.json", strings.Replace(string(whole), "{", `{"of_a_later_version": 1,`, 1)))
	require.NoError(t, err)

	status, err := json.Marshal(control.RunStatus{Summary: *aRun()})
	require.NoError(t, err)
	s, err = judge.Read(file("status.json", string(status)))
	require.NoError(t, err, "what GET /v1/status answers")
	assert.Equal(t, aRun().Lost, s.Lost)

	with := func(old, text string) string {
		require.Contains(t, string(whole), old)
		return strings.Replace(string(whole), old, text, 1)
	}
	older := strings.Replace(with(`"lost"`, `"found"`), `"version": ""`, `"version": "v0.1.0"`, 1)
	lost := with(`"lost": {`, `"lost": null, "found": {`)
	for path, want := range map[string]string{
		dir:                           "is a folder: name a file",
		filepath.Join(dir, "rn.json"): "no such file, did you mean " + path,
		file("empty.json", ""):        "empty.json is empty: was the run that was to write it killed",
		file("cut.json", string(whole[:len(whole)/2])):                                     "cut.json ends in the middle",
		file("list.json", "[1, 2]"):                                                        "list.json is not a summary",
		file("null.json", "null"):                                                          `null.json is not a summary, since it has no number "schema"`,
		file("other.json", `{"schema": "1"}`):                                              "is not a summary",
		file("text.json", "messages: 5"):                                                   "text.json is not JSON",
		file("later.json", `{"schema": 2, "version": "v9"}`):                               "is a summary of schema 2: this raybridge reads 1: take the version that wrote it (v9)",
		file("replay.json", `{"schema": 1, "replayed_s": 1}`):                              "is not the summary of a run",
		file("older.json", older):                                                          "older.json was written by v0.1.0, which did not sum up losses: run again",
		file("unnamed.json", with(`"lost"`, `"found"`)):                                    "was written by an older raybridge, which did not sum up losses",
		file("no_sensors.json", with(`"sensors"`, `"topics"`)):                             `is not the summary of a run, since it has no "sensors"`,
		file("null_lost.json", lost):                                                       `is not a whole summary, since it has no "lost"`,
		file("null_sensors.json", with(`"sensors": [`, `"sensors": null, "others": [`)):    `since it has no "sensors"`,
		file("null_seed.json", with(`"seed": 0`, `"seed": null`)):                          `since it has no "seed"`,
		file("negative.json", with(`"peer_slow": 3`, `"peer_slow": -3`)):                   `the count of "peer_slow" in its "lost" is -3`,
		file("negative_messages.json", with(`"messages": 1000`, `"messages": -1`)):         `"messages" of topic "/clock" is -1`,
		file("negative_rate.json", with(`"rate_hz": 50`, `"rate_hz": -50`)):                `"rate_hz" of topic "/clock" is -50`,
		file("huge_rate.json", with(`"rate_hz": 50`, `"rate_hz": 1.7e308`)):                `"rate_hz" of topic "/clock" is 1.7e+308`,
		file("huge_latency.json", with(`"latency_p99_ms": 20`, `"latency_p99_ms": 1e300`)): `"latency_p99_ms" of topic "/lidar/points" is 1e+300`,
		file("negative_time.json", with(`"wall_s": 20`, `"wall_s": -20`)):                  `its "wall_s" is -20`,
		file("wrong.json", strings.Replace(string(whole), `"seed": 0`, `"seed": "x"`, 1)):  `wrong.json is not a summary, since its "seed" is string`,
	} {
		_, err := judge.Read(path)
		require.ErrorContains(t, err, want)
	}
}

// FuzzRead: whatever a file has, it is read and judged, or refused.
func FuzzRead(f *testing.F) {
	whole, err := json.Marshal(aRun())
	require.NoError(f, err)
	f.Add(whole)
	f.Add([]byte(`{"schema":1}`))
	huge := aRun()
	huge.Sensors = []carry.SensorSummary{{Topic: "/a", Messages: 1, RateHz: 1.7e308}, {Topic: "/a", Messages: 1, RateHz: 1.7e308}}
	whole, err = json.Marshal(huge)
	require.NoError(f, err)
	f.Add(whole)
	escapes := aRun()
	escapes.Sensors[0].Topic, escapes.Lost = "/\x1b[2J", flow.Drops{"\x1b[2J": 1}
	whole, err = json.Marshal(escapes)
	require.NoError(f, err)
	f.Add(whole)
	limits, err := limitsOf("--min-rate=/a=1", "--max-drops=0", "--min-realtime=1", "--max-latency=/a=1")
	require.NoError(f, err)
	path := filepath.Join(f.TempDir(), "summary.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		s, err := judge.Read(path)
		if err != nil {
			return
		}
		v := limits.Judge(s)
		for _, form := range []judge.Form{judge.Table, judge.Markdown, judge.JSON} {
			var out bytes.Buffer
			require.NoError(t, v.Write(&out, form))
			require.NoError(t, judge.Compare("a\x1b[2J", "b\nc", s, s).Write(&out, form))
			assert.NotContains(t, out.String(), "Inf ")
			if form != judge.JSON {
				assert.Equal(t, -1, strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }), "%q", &out)
			}
		}
	})
}
