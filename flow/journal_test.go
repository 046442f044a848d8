package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/flow"
)

// TestJournal: something happens four times a second, for ten minutes, then rests.
func TestJournal(t *testing.T) {
	var r flow.Journal
	begin := time.Unix(1000, 0)
	var told []int     // in seconds
	var untold []int64 // before each
	for k := range 4 * 600 {
		if n, ok := r.Tell(begin.Add(time.Duration(k) * time.Second / 4)); ok {
			told, untold = append(told, k/4), append(untold, n)
		}
	}
	assert.Equal(t, []int{0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423, 483, 543}, told)
	assert.Equal(t, []int64{0, 3, 7, 15, 31, 63, 127, 239}, untold[:8])
	_, ok := r.Tell(begin.Add(12 * time.Minute))
	assert.True(t, ok)
	_, ok = r.Tell(begin.Add(12*time.Minute + time.Second))
	assert.True(t, ok, "it was quiet for two minutes")
}
