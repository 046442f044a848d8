// Package lograte keeps lines about what happens again and again from filling a log.
package lograte

import "time"

// The time between two lines.
const (
	first = time.Second
	most  = time.Minute
)

// Rate says of one kind of line when it is to be logged: the first at once, then after 1, 2,
// 4 seconds and so on up to a minute, and at once again after two minutes without any. The
// zero value is ready. It isn't safe for several goroutines.
type Rate struct {
	told   time.Time     // when a line was logged
	quiet  time.Duration // from then on until the next one is
	untold int64
}

// Tell reports whether a line is to be logged now, and how many weren't since the last.
func (r *Rate) Tell(now time.Time) (untold int64, ok bool) {
	switch waited := now.Sub(r.told); {
	case r.told.IsZero() || waited >= 2*most:
		r.quiet = first
	case waited < r.quiet:
		r.untold++
		return 0, false
	default:
		r.quiet = min(2*r.quiet, most)
	}
	untold = r.untold
	r.told, r.untold = now, 0
	return untold, true
}
