package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/shaders"
)

// table returns the rows of a table of scripts/gpu-proof.sh, by their cells.
func table(t *testing.T, name string) (rows [][]string) {
	t.Helper()
	script, err := os.ReadFile("../scripts/gpu-proof.sh")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(script), "\n"+name+"='")
	require.True(t, found, name)
	text, _, found = strings.Cut(text, "'\n\n")
	require.True(t, found, name)
	for line := range strings.Lines(text) {
		rows = append(rows, strings.Split(strings.TrimSpace(line), "|"))
	}
	return rows
}

// TestTheProofTellsOfEachEntry: the script for machines with a GPU names a test that there is for each
// entry of the catalogue, once.
func TestTheProofTellsOfEachEntry(t *testing.T) {
	var entries []string
	for _, row := range table(t, "parity") {
		require.Len(t, row, 3)
		entries = append(entries, row[0])
		files, err := filepath.Glob(filepath.Join("..", row[1], "*_test.go"))
		require.NoError(t, err)
		written := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			written += strings.Count(string(text), "\nfunc "+row[2]+"(")
		}
		assert.Equal(t, 1, written, "%s in %s", row[2], row[1])
	}
	var want []string
	for _, e := range shaders.All() {
		want = append(want, e.Name)
	}
	assert.ElementsMatch(t, want, entries)
}

// TestThePageTellsOfEachTarget: a figure of a target is on the page of benchmarks, and measured.
func TestThePageTellsOfEachTarget(t *testing.T) {
	page, err := os.ReadFile("benchmarks.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "### On a machine with a GPU and without Go\n")
	require.True(t, found)
	var sources strings.Builder
	files, err := filepath.Glob("../cmd/raybridge/internal/bench/*.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if !strings.HasSuffix(file, "_test.go") {
			sources.Write(text)
		}
	}
	last := regexp.MustCompile(`\.p\d+$`)
	for _, row := range table(t, "targets") {
		require.Len(t, row, 6)
		assert.Contains(t, section, "`"+row[1]+"`", row[0])
		family, figure, _ := strings.Cut(last.ReplaceAllString(row[1], ""), ".")
		assert.Contains(t, sources.String(), figure, "%s of %s", figure, family)
	}
}
