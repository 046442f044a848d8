package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Run runs the simulation for a duration of simulated time, 0 for without end,
// until ctx ends or something fails. It returns when everything that was
// captured has been published and sent. The end of ctx is not an error: what was recorded
// is complete, and another Run or Step goes on from there without a gap. After
// a failure every later Run returns it again.
func (p *Pipeline) Run(ctx context.Context, duration time.Duration) error {
	switch {
	case duration < 0:
		return fmt.Errorf("%w: a run of %v", ErrConfig, duration)
	case duration == 0:
		return p.run(ctx, context.Background(), func() int64 { return math.MaxInt64 })
	}
	return p.run(ctx, context.Background(), func() int64 { return later(p.simNs.Load(), int64(duration)) })
}

// Step advances a pipeline to the end of the n-th step from now and returns
// when everything up to there has been published; 0 or fewer do nothing.
func (p *Pipeline) Step(ctx context.Context, n int) error {
	return p.run(ctx, context.Background(), func() int64 { return p.stepEnd(n) })
}

// stepEnd is the end of the n-th step from now.
func (p *Pipeline) stepEnd(n int) int64 {
	now, step := p.simNs.Load(), int64(p.config.Step)
	return max(now, (now/step+int64(n))*step)
}

// run runs until the simulation time that until returns when time has begun, and waits
// for what it has queued to be sent, as long as patience hasn't ended.
func (p *Pipeline) run(ctx, patience context.Context, until func() int64) error {
	if ctx.Err() != nil && !p.isClosed() {
		return p.failed()
	}
	if err := p.start(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil // ended before it began
		}
		return err
	}
	r, err := p.newRun(ctx)
	if err != nil {
		return err
	}
	defer r.end()
	defer p.elapsed.run()()

	if p.config.Mode == Realtime {
		err = p.runRealtime(r, until)
	} else {
		p.follow()
		err = p.runStepped(r, until())
		err = errors.Join(err, p.settle())
	}
	if err != nil {
		p.fail(err) // and what is in flight is lost: the pipeline can't go on
	}
	return p.verdict(p.drain(r.completion, patience))
}

// Bounds of what the end of a run waits for.
const (
	settleLimit   = 10 * time.Second // the GL thread to have issued everything, captures to come back
	deliveryLimit = 2 * time.Minute  // what is queued to be sent
)

// settle waits until the GL thread has done all that the loop gave it, so that
// nothing is captured after the run.
func (p *Pipeline) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
	defer cancel()
	err := p.gl.Do(ctx, func(*gpu.Ctx) error { return nil })
	if errors.Is(err, context.DeadlineExceeded) {
		return wrap("end the run", err)
	}
	return nil // a lost context is told by Lost
}

// drain waits until everything queued has been sent or dropped.
func (p *Pipeline) drain(ctx, patience context.Context) error {
	p.dispatcher.ReleaseAll()
	ctx, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	defer context.AfterFunc(patience, cancel)()
	err := p.dispatcher.Drain(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	return wrap("send what was queued", err)
}

// run holds the contexts of one Run: the frame loop's ends with the caller's,
// the completion's only when something failed, so that an interrupted run still
// publishes what it has captured. The line's, below the loop's, ends when the
// clock jumps.
type run struct {
	loop, completion context.Context
	line             *timeline
	cancel           func(error)
	watching         chan struct{}
	untell           func() // bridges' clients are no longer told of the time's changes
}

// newRun makes the contexts and watches the GL thread.
func (p *Pipeline) newRun(ctx context.Context) (*run, error) {
	p.failure.Lock()
	defer p.failure.Unlock()
	if p.failure.err != nil {
		return nil, p.failure.err
	}
	loop, cancelLoop := context.WithCancelCause(ctx)
	completion, cancelCompletion := context.WithCancelCause(context.WithoutCancel(ctx))
	p.jumps = p.clock.Jumps() // those of before don't concern the run
	r := &run{loop: loop, completion: completion, line: newTimeline(loop, p.clock), watching: make(chan struct{})}
	r.cancel = func(err error) {
		cancelLoop(err)
		cancelCompletion(err)
	}
	p.failure.cancel = r.cancel
	r.untell = p.clock.Subscribe(p.tellParameters)
	go func() {
		defer close(r.watching)
		select {
		case <-p.gl.Lost():
			p.fail(gpu.ErrContextLost)
		case <-completion.Done():
		}
	}()
	return r, nil
}

// end stops watching.
func (r *run) end() {
	r.untell()
	r.cancel(nil)
	r.line.end()
	<-r.watching
}

// verdict is what Run returns: the failure that ended the run, else the drain's
// error, and nothing if the caller ended it.
func (p *Pipeline) verdict(err error) error {
	p.failure.Lock()
	defer p.failure.Unlock()
	p.failure.cancel = nil
	if p.failure.err != nil {
		return p.failure.err
	}
	return err
}
