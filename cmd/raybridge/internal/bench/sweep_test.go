package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// sweptFolder is what a sweep of eight cases leaves: each took a second, and began 1.25 s after the one before.
func sweptFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "done")
	const config = "inputs/" + empty + "/drive.yaml"
	p := sweep.Plan{Schema: 1, Place: "/sweep.yaml", Base: "drive.yaml", Version: "v1", Class: "host/amd64", Device: "host", Keep: []string{"summary"}, Config: config}
	for i := range quickSweptCases {
		id := fmt.Sprintf("%032x", i)
		p.Cases = append(p.Cases, sweep.Case{ID: id, Seed: uint64(i)})
		writeJSON(t, sweep.Timing{Started: time.Unix(1e9, 0).Add(time.Duration(i) * 1250 * time.Millisecond), WallS: 1}, dir, "cases", id[:2], id, "timing.json")
	}
	p.Inputs = []sweep.Input{{Hash: empty, Files: []sweep.InputFile{{Name: "drive.yaml", SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}}}
	writeJSON(t, p, dir, "plan.json")
	return dir
}

// empty is the hash of an input whose one file, drive.yaml, is empty.
const empty = "af6ccf2aa3b08640ef872238b979c172ee209639c2abce72cc18df23c6f4c2d1"

func writeJSON(t *testing.T, v any, path ...string) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	name := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, text, 0o644))
}

// TestSweep: a program that copies the folder of a sweep stands for raybridge.
func TestSweep(t *testing.T) {
	dir := sweptFolder(t)
	coordinator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "# HELP\nraybridge_sweep_offers_total %d\n", queue.FewOffered)
	}))
	defer coordinator.Close()
	program := script(t, `
case "$*" in *--listen*) echo "metrics: `+coordinator.URL+`"; exec sleep 60;; esac
grep -q "device: host" "$3" || exit 2
case "$2 $*" in run*--out*) cp -r `+dir+` "$5";; plan*--out*) sleep 0.01;; *) exit 2;; esac`)
	var r Report
	require.NoError(t, Sweep(t.Context(), Config{Program: program, Runs: 2, Quick: true, Device: "host"}, &r))
	got := map[string][]float64{}
	for _, f := range r.Results {
		got[f.Name+" "+f.Case] = f.Runs
	}
	rate := 8 / 9.75 * 60
	assert.InDeltaSlice(t, []float64{rate, rate}, got["sweep.cases_per_min lidar_100ms"], 1e-9)
	assert.InDeltaSlice(t, []float64{rate, rate}, got["sweep.cases_per_min lidar_100ms_1job"], 1e-9)
	assert.InDeltaSlice(t, []float64{250, 250}, got["sweep.overhead_ms lidar_100ms_1job"], 1e-9)
	assert.NotContains(t, got, "sweep.overhead_ms lidar_100ms")
	require.Len(t, got["sweep.plan_s plan_100000"], 2)
	assert.Greater(t, got["sweep.plan_s plan_100000"][0], 0.01)
	assert.Greater(t, got["sweep.rss_bytes plan_100000"][0], 1e5)
	require.Len(t, got["sweep.handouts_per_s nats_1000workers"], 2)
	assert.Positive(t, got["sweep.handouts_per_s nats_1000workers"][0])
	require.Len(t, got["sweep.queue_rss_bytes nats_100000"], 1)
	assert.Greater(t, got["sweep.queue_rss_bytes nats_100000"][0], 1e5)
	assert.Equal(t, "host/amd64", r.Machine.Device)

	err := Sweep(t.Context(), Config{Program: script(t, "echo no room >&2; exit 4"), Quick: true, Device: "host"}, &r)
	assert.ErrorContains(t, err, "no room")
}
