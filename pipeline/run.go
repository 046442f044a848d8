package pipeline

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Run runs the simulation for a duration of simulated time, 0 for without end, until ctx ends
// or something fails. It returns when everything that was captured has been published and sent.
// The end of ctx is not an error: what was recorded is complete, and another Run or Step
// continues from there without a gap. After a failure every later Run returns it again.
func (p *Pipeline) Run(ctx context.Context, duration time.Duration) error {
	switch {
	case duration < 0:
		return fmt.Errorf("%w: a run of %v", ErrConfig, duration)
	case duration == 0:
		return p.runner.run(ctx, context.Background(), func() simtime.Stamp { return math.MaxInt64 })
	}
	return p.runner.run(ctx, context.Background(), func() simtime.Stamp { return later(p.loop.now.Load(), int64(duration)) })
}

// Step advances a pipeline to the end of the n-th step from now and returns when everything up
// to there has been published. 0 or fewer do nothing.
func (p *Pipeline) Step(ctx context.Context, n int) error {
	return p.runner.run(ctx, context.Background(), func() simtime.Stamp { return p.loop.stepEnd(n) })
}

// StepSensors does what Step does, and is a barrier. It returns when every firing that was due
// in the steps has been delivered, or is declared missing with its cause. They come in the
// order in which they were due, up to MaxDeliveries. That a firing is missing is not an error. The errors are
// Step's, and ctx's, if it ends before the steps are made. One wraps ErrUndelivered if ctx
// ends, or two minutes pass, while a bridge that doesn't move still has messages. Those are
// missing as peer_slow, and are sent when it moves again.
func (p *Pipeline) StepSensors(ctx context.Context, n int) ([]world.Delivery, error) {
	b := &barrier{}
	b.reset()
	defer p.roster.barrier.CompareAndSwap(b, nil)
	target := simtime.Stamp(math.MaxInt64) // until time has begun
	err := p.runner.run(ctx, ctx, func() simtime.Stamp {
		p.roster.barrier.Store(b) // not before its turn: a step of StepTo may be under way
		target = p.loop.stepEnd(n)
		return target
	})
	if err == nil && ctx.Err() != nil && p.loop.now.Load() < target {
		err = fmt.Errorf("step sensors: %w", context.Cause(ctx))
	}
	return b.result(err), err
}

// StepTo moves the actors of a world, and simulated time to the frame's end. It is one barrier. By
// the frame's Wait it returns when every firing that was due on the way has been delivered, or is
// declared missing with its cause.
//
// All of the frame is checked before anything is applied: an error of it changes nothing, and time
// stands. Such errors wrap those of package world. Actors come and go at the first instant of the
// step, and move up to its last. The sensors see all of them on the way.
//
// A pipeline that nobody runs is stepped by the call itself, and Wait's None is as Captured there.
// One that somebody else runs has to be paused, or the error wraps world.ErrMode. A second step
// meanwhile gets world.ErrBusy at once.
//
// A step may fail after its frame was applied. Then the error wraps world.ErrUnfinished and the reason,
// and the result tells who came and where the next step begins. The reason is ctx's, or world.ErrMode where somebody
// else has changed the clock, or world.ErrEnded. A step of the call's own
// ends where it is, and the next one begins there. That of somebody else's run continues, unless its
// clock is halted, and the next one waits for it.
//
// The error wraps ErrUndelivered, and the result is whole, if ctx ends, or two minutes
// pass, while only a bridge still has messages. Any goroutine may call it, but a sensor's listener: the step
// waits for that.
func (p *Pipeline) StepTo(ctx context.Context, f *world.Frame) (world.StepResult, error) {
	return p.stepper.step(ctx, f, p.stepper.alone)
}

// StepRunning is StepTo for those who don't own the pipeline, such as a client of its server. It
// steps a run that is under way and paused. If nobody runs the pipeline, the error wraps
// world.ErrMode before the first run, and world.ErrEnded afterwards.
func (p *Pipeline) StepRunning(ctx context.Context, f *world.Frame) (world.StepResult, error) {
	return p.stepper.step(ctx, f, p.stepper.refuse)
}

// Follow steps the pipeline from frame to frame of a source. It returns nil when the source ends,
// the duration has passed, or ctx ends. Nobody else steps meanwhile: StepTo returns world.ErrBusy.
// A paused clock holds it up. Follow doesn't close the source.
func (p *Pipeline) Follow(ctx context.Context, w Following) error { return p.stepper.follow(ctx, w) }

// Running reports whether a run or a step is under way. Any goroutine may ask.
func (p *Pipeline) Running() bool { return p.runner.running() }

// NotReady says why those who watch over a run shouldn't count on it yet, or any more: none of its instants has been published, though
// time passes, it waits for something from outside, or a bridge isn't connected. The reasons have no addresses. It returns nil
// for a run that is ready, such as one that is paused and waits to be stepped. Any goroutine may ask.
func (p *Pipeline) NotReady() (reasons []string) {
	switch out := p.loop.instants.Load() - p.loop.rest.underway.count.Load(); {
	case !p.Running():
		reasons = append(reasons, "the run has not begun, or has ended")
	case out <= 0 && !p.loop.clock.Paused():
		reasons = append(reasons, "no frame is out yet")
	}
	if p.waiting.text() != "" { // which may have an address: the log and the Summary have it
		reasons = append(reasons, "the run waits for its world; the log says for what")
	}
	return append(reasons, p.bridges.Down()...)
}

// Reset takes the pipeline back to the beginning of its first run, with another seed of the
// sensors' noise. From then on it publishes what a fresh pipeline of that seed would. The time
// source begins again, and so do frames and sequence numbers. The scene is the same. The ego and the scene's own actors
// are where they were at first. Actors that came by SpawnActor or a frame are gone, and handles are given
// out again. The sensors are those that were there at first, as they were, also those that were destroyed
// since. Listeners and bridges stay. A recording continues, and its times go back.
//
// The scale and the pause of the clock stay, and so do the counts of the Summary. Before the
// first run only the seed changes.
//
// A pipeline that somebody runs has to be paused, or the error wraps world.ErrMode. It does, too,
// where frames come from a Source. While a step is under way the error wraps world.ErrBusy. If ctx ends
// before the reset begins, nothing has changed, and Reset returns its error. A sensor that can't
// begin again ends the pipeline. Any goroutine may call it, but a sensor's listener.
//
// The result has the time and the ego at the beginning.
func (p *Pipeline) Reset(ctx context.Context, seed uint64) (world.StepResult, error) {
	if err := p.stepper.reset(ctx, seed); err != nil {
		return world.StepResult{}, fmt.Errorf("reset: %w", err)
	}
	return world.StepResult{Stamp: p.loop.clock.Now(), Ego: p.scenery.ego(p.loop.now.Load())}, nil
}

// Seed returns the seed of the sensors' noise. Any goroutine may ask.
func (p *Pipeline) Seed() uint64 { return p.roster.seed.Load() }
