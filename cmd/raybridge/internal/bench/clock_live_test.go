//go:build cgo

package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

// The load renders, too, and all of it ends with the bench.
func TestClockBesideACamera(t *testing.T) {
	c := config(t, "loaded", "loaded_1kHz")
	c.ClockTime = 50 * time.Millisecond
	var r bench.Report
	require.NoError(t, bench.Clock(context.Background(), c, &r))
	require.Len(t, r.Scenes, 1)
	require.NotEmpty(t, r.Results)
	if c.GL.Info().Software {
		assert.Contains(t, r.Results[0].Note, "software GL rendering")
	} else {
		assert.Contains(t, r.Results[0].Note, "the camera is the GPU's load")
	}
}
