//go:build cgo

package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
)

// TestRealTime: a run that a slow device can't keep up with has all its figures, too.
func TestRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	gputest.Thread(t)
	small := vehicles()[1]
	source := Source{Name: "city", Sized: true, Load: func(context.Context, int) (*scene.Scene, error) {
		return city.Generate(city.Options{Seed: 1, Triangles: 40_000})
	}}
	run, err := small.run(t.Context(), &Config{Source: source, Open: gputest.Opener(), ClockTime: time.Second})
	require.NoError(t, err)
	got := map[string]float64{}
	for _, r := range run.rows() {
		assert.Equal(t, "1_cameras_320x240_10hz_and_1_VelodyneVLP16", r.Case)
		got[r.Name] = r.Median()
	}
	require.Len(t, run.sensors, 2)
	for _, s := range run.sensors {
		assert.LessOrEqual(t, len(s.latencies), 10+1)
	}
	assert.Positive(t, got["realtime.factor"])
	assert.Positive(t, got["realtime.latency_ms.p50"])
	assert.GreaterOrEqual(t, got["realtime.latency_ms.p99"], got["realtime.latency_ms.p50"])
	assert.Contains(t, got, "realtime.lost")
}
