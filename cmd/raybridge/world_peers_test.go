//go:build cgo && peers

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPeerSUMOPageCommands: what docs/world.md shows of SUMO runs as it stands, twice with the same bytes.
func TestPeerSUMOPageCommands(t *testing.T) {
	needsOpenGL(t)
	if _, err := exec.LookPath("sumo"); err != nil {
		t.Fatalf("%v: run make setup-peers", err)
	}
	docs, err := filepath.Abs("../../docs")
	require.NoError(t, err)
	runs := worldRuns(t)
	for name, run := range map[string]string{
		"beside them": runs["sumo:docs/examples/crossing/crossing.sumocfg"],
		"among them":  runs["docs/examples/crossing/drive.yaml"],
	} {
		t.Run(name, func(t *testing.T) {
			checkout := t.TempDir()
			require.NoError(t, os.Symlink(docs, filepath.Join(checkout, "docs")))
			world := runTwice(t, checkout, run)
			assert.EqualValues(t, 201, world.Frames, "20 s in steps of 0.1 s")
			assert.Greater(t, world.Actors.Most, 10)
		})
	}
}
