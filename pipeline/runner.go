package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/simtime"
)

// runner runs a pipeline, for one goroutine at a time: the one that has the turn.
type runner struct {
	turn       chan struct{} // has room for the one who runs
	loop       *loop
	captures   *captures
	roster     *roster
	bridges    *carry.Bridges
	dispatcher *dispatch.Dispatcher
	clock      *clockOutput // nil where samples don't wait for /clock
	waiting    *waiting
	failure    *failure
	log        *slog.Logger // that isn't published

	first  []*Sensor    // that were there when the first run began
	resets atomic.Int64 // any goroutine reads it
}

// run runs until the simulation time that until returns when time has begun. It then waits until all queued
// messages are sent, or patience ends.
func (x *runner) run(ctx, patience context.Context, until func() simtime.Stamp) error {
	select {
	case x.turn <- struct{}{}: // a step of StepTo may be under way
		defer func() { <-x.turn }()
		return x.runInTurn(ctx, patience, until)
	case <-ctx.Done():
		return x.failure.failed()
	}
}

// runInTurn is run for the one whose turn it is.
func (x *runner) runInTurn(ctx, patience context.Context, until func() simtime.Stamp) error {
	if ctx.Err() != nil && !x.roster.isClosed() {
		return x.failure.failed()
	}
	if err := x.start(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil // ended before it began
		}
		return err
	}
	for {
		again, err := x.stretch(ctx, patience, until)
		if again == nil {
			return err
		}
		if err == nil {
			err = x.restart(again.seed)
		}
		if again.done <- err; err != nil {
			return err
		}
	}
}

// start begins all sensors, once: where one can't, the pipeline stays without use.
func (x *runner) start(ctx context.Context) error {
	list, fresh, err := x.roster.start()
	if err != nil {
		return err
	}
	if !fresh {
		return x.failure.failed()
	}
	begun := time.Now()
	x.first = x.lasting(list)
	x.loop.keepHistory(list)
	for _, s := range list {
		if !s.users.Begin() { // somebody ends it
			continue
		}
		done := flow.TellLong(x.log, "preparing sensor "+s.spec.Name)
		err := s.begin(ctx)
		done()
		s.users.Exit()
		if err != nil {
			x.failure.fail(err)
			return err
		}
	}
	x.loop.elapsed.start(begun)
	return nil
}

// stretch is a run up to its end, or to a Reset, which it returns then.
func (x *runner) stretch(ctx, patience context.Context, until func() simtime.Stamp) (again *rewind, err error) {
	r, err := x.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer r.end()
	defer x.loop.elapsed.run()()

	if x.loop.realtime {
		err = x.runRealtime(r, until)
	} else {
		x.loop.beginAtClock()
		s := &stepped{run: r, loop: x.loop, captures: x.captures, bridges: x.bridges, log: x.log}
		err = errors.Join(s.runUntil(until()), x.captures.settle())
	}
	if err != nil {
		x.failure.fail(err) // and what is in flight is lost: the pipeline can't continue
	}
	return x.failure.end(x.drain(r.completion, patience))
}

// runRealtime makes a realtime run.
func (x *runner) runRealtime(r *run, until func() simtime.Stamp) error {
	x.bridges.AwaitClock()
	defer x.waiting.await("")
	// With workers on every processor a ticking clock would wait for its turn.
	defer simtime.ReserveProcs()()
	x.loop.releaseTime()
	defer func() { x.loop.releaseTime = x.loop.clock.Hold() }()
	rt := &realtime{run: r, loop: x.loop, captures: x.captures, dispatcher: x.dispatcher, clock: x.clock}
	return rt.runUntil(until)
}

// drain waits until everything queued has been sent or dropped.
func (x *runner) drain(ctx, patience context.Context) error {
	x.dispatcher.ReleaseAll()
	ctx, cancel := flow.WithPatience(ctx, deliveryLimit)
	defer cancel()
	defer context.AfterFunc(patience, cancel)()
	err := x.dispatcher.Drain(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	return wrap("send what was queued", err)
}

// run holds the contexts of one run. That of the frame loop ends with the caller's, that of the completion
// only when something failed, so that an interrupted run still publishes what it has captured.
// The line, below the loop's, ends when the clock jumps.
type run struct {
	ctx, completion context.Context
	line            *timeline
	cancel          func(error)
	watching        sync.WaitGroup
	unsubscribe     func() // from the clock's changes
}

// begin makes the contexts of a run and watches the GL thread.
func (x *runner) begin(ctx context.Context) (*run, error) {
	loop, cancelLoop := context.WithCancelCause(ctx)
	completion, cancelCompletion := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &run{ctx: loop, completion: completion}
	r.cancel = func(err error) {
		cancelLoop(err)
		cancelCompletion(err)
	}
	if err := x.failure.begin(r.cancel, cancelLoop); err != nil {
		r.cancel(nil)
		return nil, err
	}
	r.line = x.loop.beginLine(loop)
	r.unsubscribe = x.loop.clock.Subscribe(func(change simtime.Change) {
		x.loop.rest.clockChanged(change.Kind)
		x.bridges.TimeChanged(change)
	})
	r.watching.Go(func() { x.loop.rest.watch(completion) })
	r.watching.Go(func() {
		select {
		case <-x.captures.gl.Lost():
			x.failure.fail(x.captures.gl.Err())
		case <-completion.Done():
		}
	})
	return r, nil
}

// end stops watching.
func (r *run) end() {
	r.unsubscribe()
	r.cancel(nil)
	r.line.end()
	r.watching.Wait()
}

// running reports whether a run or a step is under way. Any goroutine may ask.
func (x *runner) running() bool { return len(x.turn) > 0 }
