//go:build cgo

package bench_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// readbackConfig measures a small scene as shortly as can be.
func readbackConfig(t *testing.T) bench.Config {
	t.Helper()
	return bench.Config{Source: soup(true), GL: gputest.Thread(t), Runs: 2, RunTime: 1}
}

// checkReadback says that the rows are there, with their units, and that values
// are what a measurement can give.
func checkReadback(t *testing.T, rows []bench.Result, name string) {
	t.Helper()
	units := map[string]string{}
	for i := range rows {
		r := &rows[i]
		assert.Equal(t, name, r.Case, r.Name)
		units[r.Name] = r.Unit
		switch r.Name {
		case "readback.dropped":
			assert.Zero(t, r.Median())
		case "readback.stage.copy_ms.p50", "readback.stage.copy_ms.p99":
			assert.GreaterOrEqual(t, r.Median(), 0.0)
		default:
			assert.Positive(t, r.Median(), r.Name)
		}
	}
	for want, unit := range map[string]string{
		"readback.blocking.frame_ms.p50": "ms", "readback.blocking.frame_ms.p99": "ms", "readback.blocking.frame_ms.max": "ms",
		"readback.async.frame_ms.p50": "ms", "readback.async.frame_ms.p99": "ms", "readback.async.frame_ms.max": "ms",
		"readback.blocking.captures_per_s": "captures/s", "readback.async.captures_per_s": "captures/s",
		"readback.async.ask_ms.p99": "ms", "readback.async.ask_ms.max": "ms",
		"readback.dropped": "captures", "readback.latency_ms.p50": "ms", "readback.latency_ms.p99": "ms",
		"readback.stage.hop_ms.p50": "ms", "readback.stage.fence_ms.p50": "ms", "readback.stage.copy_ms.p50": "ms",
		"readback.stage.hand_on_ms.p50": "ms", "readback.stage.queue_ms.p99": "ms", "readback.stage.convert_ms.p99": "ms",
	} {
		assert.Equal(t, unit, units[want], want)
	}
}

// The loops read back the same bytes, in order, however fast they are: refused
// says so.
func TestReadbackLoopsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, name := range []string{"640x480", "VelodyneVLP16"} {
		t.Run(name, func(t *testing.T) {
			rows, charts, refused, err := bench.MeasureReadback(context.Background(), readbackConfig(t), name)
			require.NoError(t, err)
			require.NoError(t, refused)
			checkReadback(t, rows, name)
			assert.Len(t, charts, 3)
		})
	}
}

// A slow machine may refuse the asynchronous loop; all else is there, and said.
func TestReadback(t *testing.T) {
	c := readbackConfig(t)
	c.Cases = []string{"VelodyneVLP16"}
	var r bench.Report
	err := bench.Readback(context.Background(), c, &r)
	if err != nil {
		require.ErrorIs(t, err, bench.ErrRefused)
		assert.Contains(t, r.Methods[len(r.Methods)-1], "left out")
	}
	names := map[string]bool{}
	for _, f := range figures(t, &r) {
		names[f.Name] = true
	}
	assert.True(t, names["readback.blocking.frame_ms.p50"])
	assert.Equal(t, err == nil, names["readback.async.frame_ms.p99"], "%v", err)
	assert.NotEmpty(t, r.Charts)
	assert.Len(t, r.Scenes, 1)
}

func TestReadbackOfBuffers(t *testing.T) {
	c := readbackConfig(t)
	c.RunTime = 10 * time.Millisecond
	rows, err := bench.MeasureBytes(context.Background(), &c)
	require.NoError(t, err)
	seen := map[string]int{}
	for i := range rows {
		r := &rows[i]
		assert.Positive(t, r.Median(), r.Name)
		seen[r.Name+" "+r.Case]++
		if strings.HasSuffix(r.Name, "bytes_per_s") {
			assert.Equal(t, "bytes/s", r.Unit)
			assert.Len(t, r.Runs, c.Runs)
		} else {
			assert.Equal(t, "readback.poll_us", r.Name)
			assert.Equal(t, "µs", r.Unit)
		}
	}
	for _, size := range []string{"64KiB", "1MiB", "8MiB", "32MiB"} {
		for _, name := range []string{"readback.bytes_per_s", "readback.copied_bytes_per_s", "memcpy.bytes_per_s"} {
			assert.Equal(t, 1, seen[name+" "+size], "%s of %s", name, size)
		}
	}
}
