package bench_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

// clockUnits are the figures of each case.
var clockUnits = map[string]string{
	"clock.lateness_ms.p50": "ms", "clock.lateness_ms.p99": "ms", "clock.lateness_ms.max": "ms",
	"clock.missed": "ticks", "clock.late_by_period": "ticks", "clock.period_ms.p99": "ms", "clock.drift_us": "µs",
}

// Without GL the load is conversions alone; all else is as ever.
func TestClock(t *testing.T) {
	var r bench.Report
	c := bench.Config{ClockTime: 60 * time.Millisecond, Runs: 2}
	require.NoError(t, bench.Clock(context.Background(), c, &r))
	periods := map[string]float64{"idle": 10, "loaded": 10, "idle_1kHz": 1, "loaded_1kHz": 1, "goroutine_1kHz": 1}
	byCase := map[string]map[string]float64{}
	for _, f := range figures(t, &r) {
		assert.Equal(t, clockUnits[f.Name], f.Unit, f.Name)
		if byCase[f.Case] == nil {
			byCase[f.Case] = map[string]float64{}
		}
		byCase[f.Case][f.Name] = f.Value
	}
	require.Len(t, byCase, len(periods))
	for name, period := range periods {
		got := byCase[name]
		require.Len(t, got, len(clockUnits), name)
		assert.Positive(t, got["clock.lateness_ms.p50"], name)
		assert.GreaterOrEqual(t, got["clock.lateness_ms.p99"], got["clock.lateness_ms.p50"], name)
		assert.GreaterOrEqual(t, got["clock.lateness_ms.max"], got["clock.lateness_ms.p99"], name)
		// A message that is late is followed the sooner by the next.
		assert.Greater(t, got["clock.period_ms.p99"], period-got["clock.lateness_ms.max"], name)
	}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	for _, want := range []string{"100 Hz; thread: ", "1000 Hz", "workers converting, no OpenGL", "none of its own; no workers", "Drift is the median"} {
		assert.Contains(t, text.String(), want)
	}
	require.Len(t, r.Charts, 4, "lateness over time and its histogram, for two rates")
	for i := range r.Charts {
		require.Len(t, r.Charts[i].Series, 2+i/2, "idle and loaded, and at 1 kHz a goroutine")
		for _, s := range r.Charts[i].Series {
			assert.NotEmpty(t, s.X)
			assert.Len(t, s.Y, len(s.X))
		}
	}
	assert.Empty(t, r.Scenes)
}

func TestClockCases(t *testing.T) {
	var r bench.Report
	c := bench.Config{ClockTime: time.Millisecond, Runs: 1, Cases: []string{"idle_1kHz"}}
	require.NoError(t, bench.Clock(context.Background(), c, &r))
	for i := range r.Results {
		assert.Equal(t, "idle_1kHz", r.Results[i].Case)
		if r.Results[i].Name == "clock.missed" {
			assert.NotContains(t, r.Results[i].Note, "of 1,", "a run ends at its length or after it")
		}
	}
	assert.Len(t, r.Charts, 2)

	c.Cases = []string{"laden"}
	err := bench.Clock(context.Background(), c, &r)
	require.ErrorIs(t, err, bench.ErrConfig)
	assert.ErrorContains(t, err, "did you mean loaded")
	assert.ErrorIs(t, bench.Clock(context.Background(), bench.Config{ClockTime: -1}, &r), bench.ErrConfig)

	for _, name := range []string{"idle", "loaded"} {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		c := bench.Config{ClockTime: time.Hour, Runs: 1, Cases: []string{name}}
		assert.ErrorIs(t, bench.Clock(ended, c, &r), context.Canceled)
	}
}
