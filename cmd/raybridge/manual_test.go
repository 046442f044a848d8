package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/manual"
)

func TestManPages(t *testing.T) {
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "man1")
	date := time.Unix(1700000000, 0)
	require.NoError(t, manual.Write(newRoot(io.Discard, io.Discard), date, first))
	require.NoError(t, manual.Write(newRoot(io.Discard, io.Discard), date.In(time.FixedZone("", -15*3600)), second))
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
	assert.NoFileExists(t, filepath.Join(first, "raybridge-help.1"), "it has no page of its own")
}
