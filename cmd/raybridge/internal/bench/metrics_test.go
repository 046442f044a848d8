package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
)

// TestMetrics: the run has the topics of the case, each with its series.
func TestMetrics(t *testing.T) {
	fake := gputest.NewFake()
	fake.StopLog()
	cfg, err := Config{Open: fake.Open, Runs: 2}.checked()
	require.NoError(t, err)
	c := topicCounts[0]
	rows, err := c.measure(t.Context(), &cfg, 3)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	for _, r := range rows {
		require.Len(t, r.Runs, 2, r.Name)
		assert.Positive(t, r.Median(), r.Name)
		assert.Equal(t, "30_topics", r.Case)
	}
	assert.Greater(t, rows[2].Median(), 30*17*40.0, "a histogram of each topic")
	assert.ErrorIs(t, Metrics(t.Context(), Config{Cases: []string{"7_topics"}}, &Report{}), ErrConfig)
}
