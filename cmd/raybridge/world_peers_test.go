//go:build cgo && peers

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPeerSUMOPageCommands: what docs/world.md shows of SUMO runs as it stands, twice with the same bytes.
func TestPeerSUMOPageCommands(t *testing.T) {
	needsOpenGL(t)
	if _, err := os.Stat("../../../shared/assets/maps/multi_intersections.sumocfg"); err != nil {
		t.Skip("no ../shared/assets/maps beside the checkout; package sumo has a net of its own")
	}
	if _, err := exec.LookPath("sumo"); err != nil {
		t.Fatalf("%v: run make setup-peers", err)
	}
	t.Run("beside them", func(t *testing.T) {
		world := runTwice(t, t.TempDir(), worldRuns(t)["sumo:.."])
		assert.EqualValues(t, 2001, world.Frames)
		assert.Equal(t, 100, world.Actors.Most)
	})
	t.Run("among them", func(t *testing.T) {
		page, err := os.ReadFile("../../docs/world.md")
		require.NoError(t, err)
		config := regexp.MustCompile("(?s)```yaml\n(scene: [^\n]*\nworld: {source: \"sumo:../shared(.*?)})\n```").FindStringSubmatch(string(page))
		require.NotNil(t, config)
		assets, err := filepath.Abs("../../../shared")
		require.NoError(t, err)
		dir := t.TempDir()
		write(t, dir, "drive.yaml", regexp.MustCompile(`\.\./shared`).ReplaceAllString(config[1], assets))
		world := runTwice(t, dir, "run --config drive.yaml --rig rig.yaml --duration 10s --bridge mcap:drive.mcap")
		assert.EqualValues(t, 1001, world.Frames)
		assert.Greater(t, world.Actors.Most, 50, "more come later")
	})
}
