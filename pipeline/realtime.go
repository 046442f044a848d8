package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/simtime"
)

// realtime is one run that follows the clock. Three goroutines share its work and
// end with it: the frame loop, the clock's publisher, and the completion of
// readbacks.
type realtime struct {
	*run
	loop       *loop
	captures   *captures
	dispatcher *dispatch.Dispatcher
	clock      *clockOutput // nil where samples don't wait for /clock
}

// runUntil lets the scene follow the clock until the simulation time is until.
func (rt *realtime) runUntil(until func() simtime.Stamp) error {
	rt.loop.beginAtClock()
	var workers sync.WaitGroup
	stop, cancel := context.WithCancel(rt.completion)
	defer workers.Wait()
	defer cancel()

	if rt.clock != nil {
		if err := rt.clock.start(stop, &workers); err != nil {
			return err
		}
	}
	completed := make(chan struct{})
	drain := make(chan struct{})
	workers.Go(func() {
		defer close(completed)
		rt.captures.complete(stop, drain)
	})

	err := errors.Join(rt.runLoop(until()), rt.captures.settle())
	close(drain)
	select {
	case <-completed:
	case <-time.After(rt.captures.limit):
		err = errors.Join(err, errors.New("captures in flight did not come back"))
	}
	if rt.clock != nil {
		rt.clock.finish(stop)
	}
	return err
}

// runLoop is the frame loop. A loop that is late continues from where the clock is: sensors
// fire once for their latest due instant, and never catch up (law T3). The steps of a
// paused clock are gone through instant by instant.
func (rt *realtime) runLoop(until simtime.Stamp) error {
	for rt.ctx.Err() == nil {
		t, reached, err := rt.loop.advance(rt.ctx, until)
		switch {
		case err != nil || reached == ended:
			return err
		case reached == elsewhere:
			until = later(until, int64(rt.loop.realign(rt.leave)))
			continue
		case reached == nowhere:
			continue
		}
		if rt.clock != nil {
			rt.clock.reach(t)
		}
		i, err := rt.loop.beginInstant(rt.completion, t)
		switch {
		case err != nil:
		case rt.loop.clock.Stepping(t):
			err = rt.fireWhole(i)
		default:
			err = rt.fire(i)
		}
		i.release()
		if err != nil {
			return err
		}
		rt.loop.report(t)
	}
	return nil
}

// leave lets go out what was captured before a jump, with the clock that goes with it.
func (rt *realtime) leave() {
	if rt.clock != nil {
		rt.clock.jump(rt.ctx, rt.settle)
	}
}

// settle waits until all that was captured has been published and sent, unless the
// run ends before, or something takes too long.
func (rt *realtime) settle() {
	ctx, cancel := flow.WithPatience(rt.ctx, rt.captures.limit)
	defer cancel()
	for !rt.captures.idle() {
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return
		}
	}
	_ = rt.dispatcher.Drain(ctx) // what isn't sent by then is sent later
}

// fire publishes what needs no GPU and hands the captures to the GL thread, unless it is
// behind. Then they are dropped and counted (law R4).
func (rt *realtime) fire(i *instant) error {
	if err := i.tickPlain(); err != nil || !i.gpu {
		return err
	}
	if rt.captures.issuing.Load() >= maxCaptures {
		i.drop()
		return nil
	}
	i.announce()
	err := rt.captures.issue(i, func() { rt.issued(i) })
	if errors.Is(err, gpu.ErrBusy) {
		i.drop()
		i.failures(rt.captures.fail)
		return nil
	}
	return err
}

// fireWhole does all of an instant before it returns, as a stepped run does: time
// that is stepped has time, and loses nothing.
func (rt *realtime) fireWhole(i *instant) error {
	if rt.clock != nil && (i.clock || i.sensors) {
		rt.clock.tick(rt.ctx)
	}
	if err := i.tickPlain(); err != nil {
		return err
	}
	if i.gpu {
		if err := rt.captures.issuePatiently(rt.completion, i, func() { rt.issued(i) }); err != nil {
			return err
		}
	}
	if len(i.firings) > 0 {
		rt.settle()
	}
	return nil
}

// issued follows an instant's captures on the GL thread.
func (rt *realtime) issued(i *instant) {
	i.failures(rt.captures.fail)
	rt.captures.completed()
}
