package fanout

import (
	"log/slog"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// leftLog tells of clients that left with an error, ever more rarely, so that a client that
// comes and fails again and again fills no log. Any goroutine may use it.
type leftLog struct {
	mu   sync.Mutex
	rate flow.Journal // guarded by mu
}

func (l *leftLog) tell(log *slog.Logger, client string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if untold, ok := l.rate.Tell(time.Now()); ok {
		log.Info("client left", "client", client, "error", err, "more_since", untold)
	}
}
