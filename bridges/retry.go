package bridges

import (
	"fmt"
	"strconv"
	"time"
)

// Retry says when a bridge that lost its peer, or didn't find it, tries again.
// The zero value is every 3 s without end.
type Retry struct {
	// Interval is the time before the first new attempt; default 3 s.
	Interval time.Duration
	// Backoff multiplies the interval after each attempt that failed, up to Longest
	// (default 30 s); below 1 it is 1, every attempt after the same interval.
	Backoff float64
	Longest time.Duration
	// Attempts is after how many attempts in a row the bridge gives up; 0 is never.
	Attempts int
}

const (
	retryInterval = 3 * time.Second
	retryLongest  = 30 * time.Second
)

// RetryOptions are the options of connection strings that ParseRetry reads.
var RetryOptions = []Option{
	{Key: "retry", Value: "TIME", Default: "3s", Meaning: "time before a new attempt to connect"},
	{Key: "backoff", Value: "FACTOR", Default: "1", Meaning: "by which that time grows with each attempt that failed, 1 to 10"},
	{Key: "longest", Value: "TIME", Default: "30s", Meaning: "that it grows to"},
	{Key: "attempts", Value: "N", Default: "0", Meaning: "failed attempts after which the bridge gives up; 0 is never"},
}

// ParseRetry reads the options of a connection string that say when to connect again:
// "retry=3s&backoff=2&longest=30s&attempts=0". Other options are ignored. Errors wrap
// ErrConnectionString.
func ParseRetry(options map[string]string) (Retry, error) {
	var r Retry
	bad := func(key, want string) error {
		return fmt.Errorf("%w: %s=%q: want %s", ErrConnectionString, key, options[key], want)
	}
	for key, at := range map[string]*time.Duration{"retry": &r.Interval, "longest": &r.Longest} {
		if text, ok := options[key]; ok {
			d, err := time.ParseDuration(text)
			if err != nil || d <= 0 {
				return Retry{}, bad(key, "a time above 0, such as 3s")
			}
			*at = d
		}
	}
	if text, ok := options["backoff"]; ok {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 1 && f <= 10) {
			return Retry{}, bad("backoff", "a factor from 1 to 10")
		}
		r.Backoff = f
	}
	if text, ok := options["attempts"]; ok {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return Retry{}, bad("attempts", "a whole number; 0 is without end")
		}
		r.Attempts = int(n)
	}
	return r, nil
}

// Wait returns how long to wait after the given number of failures in a row (from 1
// on), and false when it is time to give up.
func (r Retry) Wait(failures int) (time.Duration, bool) {
	if r.Attempts > 0 && failures >= r.Attempts {
		return 0, false
	}
	wait, longest := r.Interval, r.Longest
	if wait <= 0 {
		wait = retryInterval
	}
	if longest <= 0 {
		longest = max(retryLongest, wait)
	}
	for range failures - 1 {
		if r.Backoff <= 1 || wait >= longest {
			break
		}
		if float64(wait)*r.Backoff >= float64(longest) {
			return longest, true
		}
		wait = time.Duration(float64(wait) * r.Backoff)
	}
	return min(wait, longest), true
}
