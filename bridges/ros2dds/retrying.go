//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/bridges"
)

// reminder is the time between two log lines of an outage that goes on.
const reminder = time.Minute

// retrying is a goroutine that goes on trying to take part in a domain.
type retrying struct {
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended
}

// tryAgain starts it after a first attempt that failed with err; end ends it.
func (i *instance) tryAgain(s settings, err error) *retrying {
	ctx, stop := context.WithCancel(context.Background())
	r := &retrying{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		i.keepTrying(ctx, s, err)
	}()
	return r
}

// end tries no longer; an attempt that is under way ends first.
func (r *retrying) end() {
	r.stop()
	<-r.done
}

// keepTrying connects as settings.retry says, until it is connected, gives up or ctx
// ends. It logs the first failure, those that say something else than the one before,
// and otherwise one a minute.
func (i *instance) keepTrying(ctx context.Context, s settings, err error) {
	began := time.Now()
	var lastTold time.Time
	told := ""
	for failures := 1; ; failures++ {
		wait, again := s.retry.Wait(failures)
		if !again {
			i.giveUp(failures, err)
			return
		}
		if now := time.Now(); err.Error() != told || now.Sub(lastTold) >= reminder {
			i.log.Warn("ros2dds: can't take part in the domain; will try again", "error", err, "attempts", failures)
			told, lastTold = err.Error(), now
		}
		if !pause(ctx, wait) {
			return
		}
		if err = i.attempt(ctx, s); err == nil {
			i.log.Info("ros2dds: takes part in the domain", "domain", s.domain, "after", time.Since(began).Round(time.Millisecond), "attempts", failures+1)
			return
		}
	}
}

// pause reports whether the time is over, not ctx.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (i *instance) giveUp(attempts int, err error) {
	i.log.Error("ros2dds: gave up taking part in the domain", "attempts", attempts, "error", err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.gaveUp = fmt.Errorf("%w: gave up after %d attempts: %w", bridges.ErrNotConnected, attempts, err)
}

// Err returns nil, or that the attempts to take part in the domain have come to their
// end.
func (i *instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.gaveUp
}
