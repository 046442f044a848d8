package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestContests runs each once with few messages: what it measures is of no account here.
func TestContests(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	list := contests()
	assert.True(t, slices.IsSortedFunc(list, func(a, b contest) int { return strings.Compare(a.name, b.name) }))
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			rows, err := c.measure(t.Context(), 2, 1)
			require.NoError(t, err)
			require.Len(t, rows, 5)
			for _, row := range rows {
				assert.Equal(t, c.name, row.Case)
				require.Len(t, row.Runs, 2, row.Name)
				if row.Name != "bridge.allocs_per_message" {
					assert.Positive(t, row.Runs[0], row.Name)
				}
			}
		})
	}
}
