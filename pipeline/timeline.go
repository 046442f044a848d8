package pipeline

import (
	"context"
	"sync"

	"github.com/raybridge/raybridge/simtime"
)

// timeline ends a context when the clock jumps, or an instant comes in between, however the loop is
// occupied then. A wait that began before would be for an instant without meaning, or too late.
type timeline struct {
	parent      context.Context
	unsubscribe func()

	mu     sync.Mutex
	ctx    context.Context    // guarded by mu
	cancel context.CancelFunc // guarded by mu
}

func newTimeline(parent context.Context, clock *simtime.Clock) *timeline {
	l := &timeline{parent: parent}
	l.renew()
	l.unsubscribe = clock.Subscribe(func(c simtime.Change) {
		if c.Jump() {
			l.interrupt()
		}
	})
	return l
}

// interrupt ends the context: what the loop waits for is chosen again. Any goroutine may call it,
// also when the run has ended.
func (l *timeline) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
}

// renew begins a new stretch of time; its caller reads the clock afterwards.
func (l *timeline) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
	l.ctx, l.cancel = context.WithCancel(l.parent)
}

func (l *timeline) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

func (l *timeline) end() {
	l.unsubscribe()
	l.interrupt()
}
