//go:build cgo && linux && peers

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPeerTakesTheFirstBatch: the commands of docs/datasets.md lead from the program to a batch of PyTorch's DataLoader.
func TestPeerTakesTheFirstBatch(t *testing.T) {
	here, err := filepath.Abs("../..")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(blocks(t, "datasets.md", "sh")[0]), "\n")
	require.Len(t, lines, 5)
	require.Equal(t, "make build", lines[0])
	require.Contains(t, lines[1], "apt-get install")
	script := strings.NewReplacer("bin/raybridge", self, "docs/", here+"/docs/", "python/", here+"/python/", "PYTHONPATH=python", "PYTHONPATH="+here+"/python",
		"--duration 5s", "--duration 2s").Replace(strings.Join(lines[2:], "\n"))
	base := python(t, ".", "-c", "")
	run := exec.CommandContext(t.Context(), "bash", "-euxc", script)
	run.Dir, run.Env = t.TempDir(), append(base.Env, "PATH=/usr/bin"+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `\n1 \(12, 3, 900, 1600\) \[\d+, \d+\] `, string(out))
}
