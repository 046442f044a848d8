package sweep_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// TestVersionOf: two builds that aren't a release's differ by their programs, whatever they are called.
func TestVersionOf(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"one": "1", "two": "2"})
	of := func(version, program string) string {
		v, err := sweep.VersionOf(version, filepath.Join(dir, program))
		require.NoError(t, err)
		return v
	}
	for _, version := range []string{"dev", "v0.2.0+dirty", "v0.1.1-0.20261122153000-1a2b3c4d5e6f", "v0.2.0-dev.20261122153000.1a2b3c4d5e6f", "1a2b3c4d5e6f"} {
		assert.Regexp(t, ` sha256:[0-9a-f]{64}$`, of(version, "one"))
		assert.NotEqual(t, of(version, "one"), of(version, "two"), version)
	}
	assert.Equal(t, of("v0.2.0", "one"), of("v0.2.0", "two"))
	assert.Contains(t, of("v0.2.0", "one"), "v0.2.0 "+runtime.Version())
	_, err := sweep.VersionOf("dev", filepath.Join(dir, "three"))
	assert.ErrorContains(t, err, "no such file")
}
