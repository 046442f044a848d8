package bridgebench_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgebench"
)

// TestContests runs each once with few messages: what it measures is of no account here.
func TestContests(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	list := bridgebench.Contests()
	assert.True(t, slices.IsSortedFunc(list, func(a, b bridgebench.Contest) int { return strings.Compare(a.Name, b.Name) }))
	for _, c := range list {
		t.Run(c.Name, func(t *testing.T) {
			r, err := c.Run(t.Context(), bridgebench.Config{Runs: 2, Bytes: 1})
			require.NoError(t, err)
			assert.Positive(t, r.Size)
			for _, figures := range [][]float64{r.Bridge, r.Plain, r.Messages, r.Ratios} {
				require.Len(t, figures, 2)
				assert.Positive(t, figures[0])
			}
			assert.Len(t, r.Allocs, 2)
		})
	}
}
