package transport

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// Retry says when to connect again to a peer that was lost, or wasn't found.
// The zero value is every 3 s without end.
type Retry struct {
	// Interval is the time before the first new attempt; default 3 s.
	Interval time.Duration
	// Backoff multiplies the interval after each attempt that failed, up to Longest (default 30
	// s). Below 1 it is 1: every attempt comes after the same interval.
	Backoff float64
	Longest time.Duration
	// Attempts is after how many attempts in a row to give up; 0 is never.
	Attempts int
	// Scatter makes half of each wait random, so that the many clients of a server that was
	// restarted don't come at once.
	Scatter bool
}

const (
	retryInterval = 3 * time.Second
	retryLongest  = 30 * time.Second
)

// Wait returns how long to wait after the given number of failures in a row (from 1 on). It
// returns false when it is time to give up.
func (r Retry) Wait(failures int) (time.Duration, bool) {
	if r.Attempts > 0 && failures >= r.Attempts {
		return 0, false
	}
	wait := cmp.Or(max(r.Interval, 0), retryInterval)
	longest := cmp.Or(max(r.Longest, 0), max(retryLongest, wait))
	for range failures - 1 {
		if r.Backoff <= 1 || wait >= longest {
			break
		}
		if float64(wait)*r.Backoff >= float64(longest) {
			wait = longest
			break
		}
		wait = time.Duration(float64(wait) * r.Backoff)
	}
	wait = min(wait, longest)
	if r.Scatter {
		wait = wait/2 + rand.N(wait/2+1)
	}
	return wait, true
}

// Loss is the end of a connection, or of an attempt to make one.
type Loss struct {
	// Connected tells that there was a connection, which was lost.
	Connected bool
	// Err is why.
	Err error
	// Failures is how many attempts in a row have failed; none where a connection was lost.
	Failures int
	// Wait is the time until the next attempt, unless Last says that there is none.
	Wait time.Duration
	Last bool
}

// Keep connects again and again, until ctx ends, connect has nothing more to do or retry gives
// up. connect makes a connection and serves it; it returns whether there was one, and why it
// ended. With a nil error Keep ends. lost is told of each end before the wait that follows,
// while ctx lasts. The error wraps flow.ErrNotConnected and the last failure: all attempts are used
// up, among which the loss of a connection isn't counted. Keep runs on the caller's goroutine.
func Keep(ctx context.Context, retry Retry, connect func() (connected bool, err error), lost func(Loss)) error {
	for failures := 0; ctx.Err() == nil; {
		connected, err := connect()
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the caller has ended it
		}
		now := retry
		if failures++; connected {
			failures, now.Attempts = 0, 0
		}
		wait, again := now.Wait(max(failures, 1))
		lost(Loss{Connected: connected, Err: err, Failures: failures, Wait: wait, Last: !again})
		if !again {
			return fmt.Errorf("%w: gave up after %d attempts: %w", flow.ErrNotConnected, failures, err)
		}
		Pause(ctx, wait)
	}
	return nil
}

// Pause waits for so long, or until ctx ends. It reports whether the time is over, not ctx.
func Pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
