package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

// benchWith calls the program with arguments and returns its exit code and output.
func benchWith(t *testing.T, arguments ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr strings.Builder
	root := newRoot(&stdout, &stderr)
	root.SetArgs(append([]string{"bench"}, arguments...))
	return exitCode(root.ExecuteContext(context.Background())), stdout.String()
}

func TestBenchRefusesWrongUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, arguments := range [][]string{
		{"radar"},
		{"bvh", "more"},
		{"bvh", "--fast"},
		{"bvh", "--runs", "-1"},
		{"bvh", "--triangles", "-5"},
		{"bvh", "--triangles", "7"},
		{"bvh", "--gpu", "second"},
		{"bvh", "--scene", "no/such/file.glb"},
		{"bvh", "--json", filepath.Join(file, "figures.json")},
		{"bvh", "--plot", filepath.Join(file, "page.html")},
		{"bvh", "--plot", "page.pdf"},
		{"readback", "--plot", "page"},
		{"bvh", "--plot", "page.png"},   // there is no chart of these
		{"lidar", "--plot", "page.svg"}, // figures
		{"lidar", "--dump", filepath.Join(file, "dump")},
	} {
		code, _ := benchWith(t, arguments...)
		assert.Equal(t, exitUsage, code, "%v", arguments)
	}
}

// TestBenchThatLeavesFiguresOut: a loop that was too slow beside another is told from data that was wrong.
func TestBenchThatLeavesFiguresOut(t *testing.T) {
	slow := fmt.Errorf("readback 640x480: %w: it made 0.50 of the blocking loop's captures", bench.ErrRefused)
	wrong := fmt.Errorf("readback 1280x720: %w: %w: 2 of 3 captures arrived", bench.ErrRefused, bench.ErrWrongData)
	assert.Equal(t, exitDone, exitCode(refusedFigures(nil)))
	assert.Equal(t, exitIncomplete, exitCode(refusedFigures(slow)))
	assert.Equal(t, exitFailed, exitCode(refusedFigures(wrong)))
	assert.Equal(t, exitFailed, exitCode(refusedFigures(errors.Join(slow, wrong))))
	assert.ErrorContains(t, refusedFigures(slow), "640x480")
}

func TestBenchWritesItsFigures(t *testing.T) {
	path, page := filepath.Join(t.TempDir(), "figures.json"), filepath.Join(t.TempDir(), "figures.html")
	code, out := benchWith(t, "bvh", "--triangles", "40000", "--runs", "1", "--json", path, "--plot", page)
	assert.Equal(t, exitDone, code)
	assert.Contains(t, out, "bvh.build_s")
	assert.Contains(t, out, "city_40000")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var list []struct {
		Name, Case, Unit string
		Value            float64
	}
	require.NoError(t, json.Unmarshal(data, &list))
	require.GreaterOrEqual(t, len(list), 2)
	assert.Equal(t, "bvh.load_s", list[1].Name)
	assert.Positive(t, list[1].Value)
	drawn, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(drawn), "<td>bvh.load_s</td><td>city_40000</td>")
}
