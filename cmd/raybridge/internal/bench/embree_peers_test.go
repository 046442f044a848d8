//go:build peers

package bench

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEmbreeProgram: the program of Embree finds raybridge's ranges, with and without instances.
func TestEmbreeProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "embree_check")
	out, err := exec.Command("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-o", program, "testdata/embree_check.c", "-lembree3", "-lm").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, prepare := range map[string]string{"200 of them move": ``, "0 of them move": `rm "$1/triangle_movers.u8"`} {
		c := besideSoup(t, script(t, prepare+`
"`+program+`" "$@" | tee "$1/said" && grep -q "600 triangles, `+name+`" "$1/said"`), "VelodyneVLS128_still_100000")
		var r Report
		require.NoError(t, Embree(t.Context(), c, &r), name)
		require.Len(t, r.Results, 7)
		assert.Equal(t, "embree.agree_percent", r.Results[1].Name)
		assert.Greater(t, r.Results[1].Median(), 99.5, name)
		assert.Equal(t, "embree.difference_um", r.Results[2].Name)
		assert.Less(t, r.Results[2].Median(), 1000.0, name)
	}
}
