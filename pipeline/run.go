package pipeline

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Run runs the simulation for a duration of simulated time, 0 for without end,
// until ctx ends or something fails. It returns when everything that was
// captured has been published and sent. The end of ctx is not an error: what was recorded
// is complete. A run can be continued by another Run or Step.
func (p *Pipeline) Run(ctx context.Context, duration time.Duration) error {
	until := int64(math.MaxInt64)
	if duration > 0 {
		until = p.simNs + int64(duration)
	}
	return p.run(ctx, until)
}

// Step advances a Stepped pipeline by n steps and returns when everything of
// them has been published.
func (p *Pipeline) Step(ctx context.Context, n int) error {
	step := int64(p.config.Step)
	return p.run(ctx, (p.simNs/step+int64(n))*step)
}

func (p *Pipeline) run(ctx context.Context, until int64) error {
	if err := p.start(ctx); err != nil {
		return err
	}
	r, err := p.newRun(ctx)
	if err != nil {
		return err
	}
	defer r.end()

	begun := time.Now()
	if p.config.Mode == Realtime {
		err = p.runRealtime(r, until)
	} else {
		err = p.runStepped(r, until)
	}
	err = errors.Join(err, p.drain(r.completion))
	p.wall += time.Since(begun)
	return p.verdict(err)
}

// deliveryLimit bounds how long the end of a run waits for what is queued.
const deliveryLimit = 30 * time.Second

// drain waits until everything queued has been sent or dropped.
func (p *Pipeline) drain(ctx context.Context) error {
	p.dispatcher.ReleaseAll()
	ctx, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	return wrap("send what was queued", p.dispatcher.Drain(ctx))
}

// run holds the two contexts of one Run: the frame loop's ends with the
// caller's, the completion's only when something failed, so that an interrupted
// run still publishes what it has captured.
type run struct {
	loop, completion context.Context
	cancel           func(error)
	watching         chan struct{}
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
	r := &run{loop: loop, completion: completion, watching: make(chan struct{})}
	r.cancel = func(err error) {
		cancelLoop(err)
		cancelCompletion(err)
	}
	p.failure.cancel = r.cancel
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
	r.cancel(nil)
	<-r.watching
}

// verdict is what Run returns: the failure that ended the run, else the loop's
// own error, and nothing if the caller ended it.
func (p *Pipeline) verdict(err error) error {
	p.failure.Lock()
	defer p.failure.Unlock()
	p.failure.cancel = nil
	if p.failure.err != nil {
		return p.failure.err
	}
	return err
}
