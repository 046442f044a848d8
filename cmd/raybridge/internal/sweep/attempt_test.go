package sweep_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// TestSetAside: a half result makes room, a whole one that came in between stays.
func TestSetAside(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	id := p.Cases[0].ID
	want := results(t, s)
	require.ErrorIs(t, sweep.SetAside(s, id), fs.ErrExist)
	assert.Equal(t, want, results(t, s))
	assert.Empty(t, entries(t, s, "attempts"))
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), "cases", id[:2], id, "manifest.json")))
	require.NoError(t, sweep.SetAside(s, id))
	require.NoError(t, sweep.SetAside(s, id), "another was faster")
	assert.Empty(t, results(t, s))
}

// TestRunsSweepTheDead: each run does, a share's, too.
func TestRunsSweepTheDead(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	dir := filepath.Join(s.Dir(), "attempts", "old")
	require.NoError(t, os.Mkdir(dir, 0o755))
	at := time.Now().Add(-25 * time.Hour)
	require.NoError(t, os.Chtimes(dir, at, at))
	w, err := newWorker(s, p)
	require.NoError(t, err)
	_, err = (&sweep.Run{Store: s, Plan: p, Engine: local(t.Context(), t, w, 1), Shard: sweep.Shard{Index: 0, Count: 2}}).Run(t.Context())
	require.NoError(t, err)
	assert.NoDirExists(t, dir)
}
