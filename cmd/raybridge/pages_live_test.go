//go:build cgo

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shellBlock is a page's block of shell lines, with the reason why no test runs it, if there is one.
var shellBlock = regexp.MustCompile("(?ms)(?:^<!-- not run: ([^>]+) -->\n)?^```sh\n(.*?)^```$")

// TestShellLinesOfPages runs those of each page in their order, in one folder, as bash does in a job: the first line that
// fails fails the page.
func TestShellLinesOfPages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	for page, least := range map[string]int{"install.md": 0, "ci.md": 3, "watch.md": 1} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
			require.NoError(t, err)
			dir, ran := t.TempDir(), 0
			for _, block := range shellBlock.FindAllSubmatch(text, -1) {
				if len(block[1]) > 0 {
					continue
				}
				ran++
				out, err := shell(t, dir, string(block[2])).CombinedOutput()
				assert.NoError(t, err, "%s\n%s", block[2], out)
			}
			assert.GreaterOrEqual(t, ran, least)
		})
	}
}

// shell returns a process of bash, in which raybridge is this program.
func shell(t *testing.T, dir, script string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "raybridge"), fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", envProgram, self), 0o700))
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}
