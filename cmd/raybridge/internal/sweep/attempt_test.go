package sweep_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

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
