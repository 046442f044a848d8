package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
)

// TestWorld: each way makes the steps, and what Python is to measure is there.
func TestWorld(t *testing.T) {
	fake := gputest.NewFake()
	fake.StopLog()
	cfg, err := Config{Open: fake.Open, Runs: 2}.checked()
	require.NoError(t, err)
	for _, c := range []crowd{{0}, {3}} {
		rows, err := c.measure(t.Context(), &cfg, 4)
		require.NoError(t, err)
		require.Len(t, rows, 5)
		for _, r := range rows {
			require.Len(t, r.Runs, 2, r.Name)
			assert.Positive(t, r.Median(), r.Name)
			assert.Equal(t, c.title(), r.Case)
		}
	}
	assert.ErrorIs(t, World(t.Context(), Config{Cases: []string{"7_actors"}}, &Report{}), ErrConfig)
	t.Setenv("PATH", t.TempDir())
	assert.ErrorIs(t, Python(t.Context(), cfg, &Report{}), ErrConfig, "no python3")
}
