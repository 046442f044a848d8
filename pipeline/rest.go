package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/simtime"
)

// rest is the dispatcher's part in a pause. It is paused when time stands and all that was
// begun has been sent. Messages that are offered then count as paused.
// /clock, the log and what comes in are exempt.
type rest struct {
	clock      *simtime.Clock
	dispatcher *dispatch.Dispatcher
	captured   func() bool // nothing is on its way from the device
	underway   underway
	wanted     chan struct{} // pinged when time has come to stand

	mu    sync.Mutex // guards that the dispatcher is paused, too
	begun uint64     // guarded by mu: instants
}

func newRest(clock *simtime.Clock, d *dispatch.Dispatcher, captured func() bool) *rest {
	x := &rest{clock: clock, dispatcher: d, captured: captured, wanted: make(chan struct{}, 1)}
	x.underway.left = make(chan struct{}, 1)
	return x
}

// clockChanged tells it of a change of the clock. Any goroutine.
func (x *rest) clockChanged(kind simtime.ChangeKind) {
	switch kind {
	case simtime.Paused:
		x.want()
	case simtime.Resumed:
		x.mu.Lock()
		defer x.mu.Unlock()
		x.dispatcher.Resume()
	}
}

func (x *rest) want() {
	select {
	case x.wanted <- struct{}{}:
	default: // the look that is under way, or follows, sees it
	}
}

// interrupt lets the dispatcher take the messages of an instant that begins. Frame loop.
func (x *rest) interrupt() {
	x.underway.count.Add(1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun++
	x.dispatcher.Resume()
	if x.clock.Paused() { // it is stepped, and stands again afterwards
		x.want()
	}
}

// watch pauses the dispatcher whenever time has come to stand, until ctx ends.
func (x *rest) watch(ctx context.Context) {
	if x.clock.Paused() {
		x.want() // it was paused before the run
	}
	look := time.NewTimer(pollPause)
	defer look.Stop()
	for {
		select {
		case <-x.wanted:
			x.begin(ctx, look)
		case <-ctx.Done():
			x.dispatcher.Resume()
			return
		}
	}
}

// begin waits until all that was begun has been sent and pauses the dispatcher, unless
// time passes again. Look is its timer.
func (x *rest) begin(ctx context.Context, look *time.Timer) {
	x.mu.Lock()
	begun := x.begun
	x.mu.Unlock()
	for x.underway.count.Load() > 0 || !x.captured() {
		look.Reset(pollPause)
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if !x.clock.Paused() {
			return
		}
	}
	if x.dispatcher.Drain(ctx) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun == begun && x.clock.Paused() {
		x.dispatcher.Pause()
	}
}
