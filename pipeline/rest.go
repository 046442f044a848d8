package pipeline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// rest is the dispatcher's part in a pause. It is paused when time stands and all that was
// begun has been sent. What is offered then ignores the pause, and is counted as paused.
// /clock, the log and what comes in are exempt.
type rest struct {
	underway atomic.Int64  // instants that were begun and not yet released
	wanted   chan struct{} // pinged when time has come to stand
	left     chan struct{} // pinged when an instant was released

	mu    sync.Mutex
	begun uint64 // guarded by mu: instants
}

// follow tells it of a change of the clock. Any goroutine.
func (x *rest) follow(p *Pipeline, kind simtime.ChangeKind) {
	switch kind {
	case simtime.Paused:
		x.want()
	case simtime.Resumed:
		x.mu.Lock()
		defer x.mu.Unlock()
		p.dispatcher.Resume()
	}
}

func (x *rest) want() {
	select {
	case x.wanted <- struct{}{}:
	default: // the look that is under way, or follows, sees it
	}
}

// end lets the dispatcher take the messages of an instant that begins. Frame loop.
func (x *rest) end(p *Pipeline) {
	x.underway.Add(1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun++
	p.dispatcher.Resume()
	if p.clock.Paused() { // it is stepped, and stands again afterwards
		x.want()
	}
}

// keep pauses the dispatcher whenever time has come to stand, until ctx ends.
func (x *rest) keep(ctx context.Context, p *Pipeline) {
	if p.clock.Paused() {
		x.want() // it was paused before the run
	}
	look := time.NewTimer(pollPause)
	defer look.Stop()
	for {
		select {
		case <-x.wanted:
			x.begin(ctx, p, look)
		case <-ctx.Done():
			p.dispatcher.Resume()
			return
		}
	}
}

// begin waits until all that was begun has been sent and pauses the dispatcher, unless
// time passes again. Look is its timer.
func (x *rest) begin(ctx context.Context, p *Pipeline, look *time.Timer) {
	x.mu.Lock()
	begun := x.begun
	x.mu.Unlock()
	for x.underway.Load() > 0 || p.issuing.Load() > 0 || p.pending() > 0 {
		look.Reset(pollPause)
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if !p.clock.Paused() {
			return
		}
	}
	if p.dispatcher.Drain(ctx) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun == begun && p.clock.Paused() {
		p.dispatcher.Pause()
	}
}
