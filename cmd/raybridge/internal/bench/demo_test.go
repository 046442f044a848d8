package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script writes a program of the shell and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// TestDemo: a program that only writes down a summary stands for raybridge.
func TestDemo(t *testing.T) {
	program := script(t, `
all="$*"
while [ "$1" != --summary ]; do shift; done
case "$all" in *"--rig some/svl.json --bridge mcap:drive"*) factor=0.5;; *) factor=3;; esac
echo "{\"real_time_factor\": $factor, \"startup_s\": 0.25, \"gpu\": {\"renderer\": \"beads\", \"version\": \"$6\"},
\"sensors\": [{\"drops\": {\"congestion\": 2}}, {\"drops\": {}}]}" > "$2"`)
	c := Config{Program: program, RigFiles: []string{"some/svl.json"}, Runs: 2, Device: "software"}
	var r Report
	require.NoError(t, Demo(t.Context(), c, &r))
	got := map[string][]float64{}
	for _, f := range r.Results {
		got[f.Name+" "+f.Case] = f.Runs
	}
	assert.Equal(t, []float64{3, 3}, got["demo.real_time_factor city"])
	assert.Equal(t, []float64{0.5, 0.5}, got["demo.real_time_factor svl"])
	assert.Equal(t, []float64{0.25, 0.25}, got["demo.startup_s city"])
	assert.Equal(t, []float64{2, 2}, got["demo.lost city"])
	assert.Greater(t, got["demo.rss_bytes svl"][0], 1e5)
	assert.Contains(t, r.Machine.Device, "beads")

	c.Program = script(t, "echo no room; exit 3")
	assert.ErrorContains(t, Demo(t.Context(), c, &r), "no room")
	c.Cases = []string{"village"}
	assert.ErrorIs(t, Demo(t.Context(), c, &r), ErrConfig)
}
