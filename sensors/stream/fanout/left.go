package fanout

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// leftFirst and leftMost bound the time between two lines about clients that left.
	leftFirst = time.Second
	leftMost  = time.Minute
)

// leftLog tells of clients that left with an error: the first at once, then after 1, 2, 4
// seconds and so on up to a minute, so that a client that comes and fails again and again
// fills no log. Any goroutine may use it.
type leftLog struct {
	mu     sync.Mutex
	last   time.Time     // when one was told; guarded by mu
	quiet  time.Duration // from then on until the next one is; guarded by mu
	untold int           // guarded by mu
}

func (l *leftLog) tell(log *slog.Logger, client string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch waited := now.Sub(l.last); {
	case l.last.IsZero() || waited >= 2*leftMost:
		l.quiet = leftFirst
	case waited < l.quiet:
		l.untold++
		return
	default:
		l.quiet = min(2*l.quiet, leftMost)
	}
	log.Info("client left", "client", client, "error", err, "more_since", l.untold)
	l.last, l.untold = now, 0
}
