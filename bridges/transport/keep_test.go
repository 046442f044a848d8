package transport_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/transport"
)

var errAway = errors.New("away")

// Each attempt of the script makes a connection (c) or fails (f). After the last one there is
// nothing more to do, unless Keep has given up.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		retry  transport.Retry
		script string
		at     []int // seconds, when each attempt was made
		told   []transport.Loss
		gaveUp bool
	}{
		"at once": {script: "", at: []int{0}},
		"every 3 s": {script: "ff", at: []int{0, 3, 6}, told: []transport.Loss{
			{Err: errAway, Failures: 1, Wait: 3 * time.Second}, {Err: errAway, Failures: 2, Wait: 3 * time.Second},
		}},
		"a connection begins anew": {
			retry: transport.Retry{Interval: time.Second, Backoff: 2}, script: "ffcf", at: []int{0, 1, 3, 4, 5},
			told: []transport.Loss{
				{Err: errAway, Failures: 1, Wait: time.Second}, {Err: errAway, Failures: 2, Wait: 2 * time.Second},
				{Connected: true, Err: errAway, Wait: time.Second}, {Err: errAway, Failures: 1, Wait: time.Second},
			},
		},
		"losses aren't attempts": {
			retry: transport.Retry{Attempts: 2}, script: "cccff", at: []int{0, 3, 6, 9, 12}, gaveUp: true,
			told: []transport.Loss{
				{Connected: true, Err: errAway, Wait: 3 * time.Second}, {Connected: true, Err: errAway, Wait: 3 * time.Second},
				{Connected: true, Err: errAway, Wait: 3 * time.Second}, {Err: errAway, Failures: 1, Wait: 3 * time.Second},
				{Err: errAway, Failures: 2, Last: true},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				var at []int
				var told []transport.Loss
				err := transport.Keep(t.Context(), c.retry, func() (bool, error) {
					at = append(at, int(time.Since(begun).Seconds()))
					if len(at) > len(c.script) {
						return false, nil
					}
					return c.script[len(at)-1] == 'c', errAway
				}, func(l transport.Loss) { told = append(told, l) })
				assert.Equal(t, c.at, at)
				assert.Equal(t, c.told, told)
				if !c.gaveUp {
					assert.NoError(t, err)
					return
				}
				assert.ErrorIs(t, err, transport.ErrNotConnected)
				assert.ErrorIs(t, err, errAway)
			})
		})
	}
}

// The end of the context ends a wait, and an attempt that it ended isn't a loss.
func TestKeepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		told := 0
		begun := time.Now()
		assert.NoError(t, transport.Keep(ctx, transport.Retry{}, func() (bool, error) { return false, errAway }, func(transport.Loss) { told++ }))
		assert.Equal(t, 1, told)
		assert.Equal(t, time.Second, time.Since(begun), "in the middle of the wait")

		ctx, cancel = context.WithCancel(t.Context())
		assert.NoError(t, transport.Keep(ctx, transport.Retry{}, func() (bool, error) {
			cancel()
			return true, errAway
		}, func(transport.Loss) { told++ }))
		assert.Equal(t, 1, told)
	})
}

func TestWaitsHaveAnUpperEnd(t *testing.T) {
	for _, c := range []struct {
		retry transport.Retry
		want  []time.Duration // after 1, 2, 3 failures
	}{
		{transport.Retry{Interval: time.Second, Backoff: 10, Longest: 5 * time.Second}, []time.Duration{time.Second, 5 * time.Second, 5 * time.Second}},
		{transport.Retry{Interval: 10 * time.Second, Backoff: 2}, []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}},
		{transport.Retry{Interval: time.Minute, Backoff: 2}, []time.Duration{time.Minute, time.Minute, time.Minute}},
		{transport.Retry{Interval: 3 * time.Second, Longest: time.Second}, []time.Duration{time.Second, time.Second, time.Second}},
	} {
		for i, want := range c.want {
			wait, again := c.retry.Wait(i + 1)
			assert.True(t, again)
			assert.Equal(t, want, wait, "%+v after %d", c.retry, i+1)
		}
	}
}

func TestScatteredWaitsAreHalfAtLeast(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		wait, again := transport.Retry{Interval: time.Second, Scatter: true}.Wait(1)
		assert.True(t, again)
		assert.GreaterOrEqual(t, wait, time.Second/2)
		assert.LessOrEqual(t, wait, time.Second)
		seen[wait] = true
	}
	assert.Greater(t, len(seen), 1)
}
