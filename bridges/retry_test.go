package bridges_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
)

func TestRetryWaits(t *testing.T) {
	for name, c := range map[string]struct {
		retry bridges.Retry
		want  []time.Duration // after 1, 2, ... failures
	}{
		"zero value":  {bridges.Retry{}, []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}},
		"backing off": {bridges.Retry{Interval: time.Second, Backoff: 3, Longest: 10 * time.Second}, []time.Duration{1e9, 3e9, 9e9, 10e9, 10e9}},
		"up to 30 s":  {bridges.Retry{Backoff: 10}, []time.Duration{3e9, 30e9, 30e9}},
		"a long one":  {bridges.Retry{Interval: time.Hour, Backoff: 2}, []time.Duration{time.Hour, time.Hour}},
		"cut off":     {bridges.Retry{Interval: time.Hour, Longest: time.Minute}, []time.Duration{time.Minute, time.Minute}},
		"beyond what a duration holds": {
			bridges.Retry{Interval: math.MaxInt64 / 4, Backoff: 3, Longest: math.MaxInt64},
			[]time.Duration{math.MaxInt64 / 4, 3 * (math.MaxInt64 / 4), math.MaxInt64, math.MaxInt64},
		},
	} {
		for i, want := range c.want {
			wait, again := c.retry.Wait(i + 1)
			assert.True(t, again, name)
			assert.InEpsilon(t, want, wait, 1e-9, "%s: %d failures", name, i+1)
		}
	}
	_, again := bridges.Retry{Attempts: 3}.Wait(3)
	assert.False(t, again)
	_, again = bridges.Retry{Attempts: 3}.Wait(2)
	assert.True(t, again)
}
