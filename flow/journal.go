package flow

import (
	"log/slog"
	"time"
)

// The time between two lines.
const (
	journalFirst = time.Second
	journalMost  = time.Minute
)

// Journal says of one kind of line when it is to be logged. It logs the first at once, then
// after 1, 2, 4 seconds and so on up to a minute. After two minutes without any it logs at once
// again. The zero value is ready. It isn't safe for several goroutines.
type Journal struct {
	told   time.Time     // when a line was logged
	quiet  time.Duration // from then on until the next one is
	untold int64
}

// Tell reports whether a line is to be logged now, and how many weren't since the last.
func (r *Journal) Tell(now time.Time) (untold int64, ok bool) {
	switch waited := now.Sub(r.told); {
	case r.told.IsZero() || waited >= 2*journalMost:
		r.quiet = journalFirst
	case waited < r.quiet:
		r.untold++
		return 0, false
	default:
		r.quiet = min(2*r.quiet, journalMost)
	}
	untold = r.untold
	r.told, r.untold = now, 0
	return untold, true
}

// longTold is how long something takes of which a terminal tells.
const longTold = time.Second

// TellLong logs that something is still being done, such as "reading scene.glb", if that takes longer than a second.
// Done ends it. The line depends on this machine's speed, so that the log isn't to be one that is recorded.
func TellLong(log *slog.Logger, what string) (done func()) {
	timer := time.AfterFunc(longTold, func() { log.Info("still " + what + " ...") })
	return func() { timer.Stop() }
}
