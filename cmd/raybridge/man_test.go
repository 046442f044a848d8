package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "man1")
	for _, dir := range []string{first, second} {
		require.Equal(t, outcome{}, call(t, "man", dir))
	}
	var each func(*cobra.Command)
	each = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(first, name))
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(second, name))
		require.NoError(t, err)
		assert.Equal(t, string(page), string(again), "of one commit at one date")
		assert.Contains(t, string(page), "Nov 2023")
		if flag := c.LocalFlags().Lookup("duration"); flag != nil {
			assert.Contains(t, string(page), `--duration`)
		}
		for _, below := range c.Commands() {
			each(below)
		}
	}
	each(newRoot(io.Discard, io.Discard))
	assert.NoFileExists(t, filepath.Join(first, "raybridge-man.1"), "it is for packages")

	t.Setenv("SOURCE_DATE_EPOCH", "today")
	refused := call(t, "man", first)
	assert.Equal(t, exitUsage, refused.code)
	assert.Contains(t, refused.err, "give seconds since 1970")
}
