//go:build cgo

package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
)

// keysRig is an SVL vehicle that commands and keys may drive.
const keysRig = `[
	{"type": "Vehicle Control", "name": "commands"},
	{"type": "Keyboard Control", "name": "keys"},
	{"type": "Vehicle Odometry", "name": "odometry", "params": {"Topic": "/odometry", "Frequency": 20}}
]`

// TestKeysDriveARigsVehicle holds W in the window of a run whose rig has SVL's
// keyboard.
func TestKeysDriveARigsVehicle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	screen := gputest.Display(t)
	dir := t.TempDir()
	write(t, dir, "rig.json", keysRig)
	config := write(t, dir, "run.yaml", "scene: {city: true, triangles: 40000}\nrig: rig.json")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		err := until(ctx, "a window", func() error { _, err := screen.Picture(); return err })
		result <- errors.Join(err, screen.MoveMouse(100, 100), screen.Hold('w'))
	}()

	var stdout, stderr strings.Builder
	root := newRoot(&stdout, &stderr)
	root.SetArgs([]string{"run", "--window", "--realtime", "--config", config, "--duration", "2s", "--bridge", "logging:drive", "--out", dir})
	err := root.ExecuteContext(ctx)
	if exitCode(err) == exitNoOpenGL && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no OpenGL in a window: %v", err)
	}
	cancel() // a user whose run has failed waits no longer
	require.NoError(t, errors.Join(err, <-result), stderr.String())
	assert.NotContains(t, stderr.String(), "it stands until they come", "the keys win")

	speeds := loggedSpeeds(t, filepath.Join(dir, "drive.txt.gz"))
	require.NotEmpty(t, speeds)
	assert.Less(t, speeds[0], 0.5, "it sets off")
	assert.Greater(t, speeds[len(speeds)-1], 0.5)
	assert.IsNonDecreasing(t, speeds)
}

// loggedSpeeds are those of /odometry.
func loggedSpeeds(t *testing.T, path string) (speeds []float64) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for odometry := false; lines.Scan(); odometry = strings.HasSuffix(lines.Text(), " /odometry") {
		if !odometry {
			continue
		}
		var message struct{ Speed float64 }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &message))
		speeds = append(speeds, message.Speed)
	}
	require.NoError(t, lines.Err())
	return speeds
}
