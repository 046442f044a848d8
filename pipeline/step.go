package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// MostSteps is how many steps of the clock a frame of a world, or of a client, may go ahead: some hours.
const MostSteps = 1_000_000

// stepper steps a pipeline from frame to frame. One goroutine at a time uses it, the one whose turn it is, except
// where it says otherwise.
type stepper struct {
	runner    *runner
	loop      *loop
	scenery   *scenery
	turn      chan struct{}    // has room for the one who steps
	account   barrier          // of the latest step
	result    world.StepResult // of the latest step
	look      *time.Timer      // of arrive
	following following
}

func newStepper(x *runner) *stepper {
	return &stepper{runner: x, loop: x.loop, scenery: x.loop.scenery, turn: make(chan struct{}, 1), look: time.NewTimer(0)}
}

// take takes a turn if it is free.
func take(turn chan struct{}) bool {
	select {
	case turn <- struct{}{}:
		return true
	default:
		return false
	}
}

// step makes a step, by alone if nobody runs the pipeline. Any goroutine.
func (s *stepper) step(ctx context.Context, f *world.Frame, alone func(context.Context, *world.Frame) error) (world.StepResult, error) {
	if !take(s.turn) {
		return world.StepResult{}, fmt.Errorf("step to %s: %w", endOf(f), s.following.busy())
	}
	defer func() { <-s.turn }()
	if !take(s.runner.turn) { // somebody runs it
		return s.stepBy(ctx, f, s.among)
	}
	defer func() { <-s.runner.turn }()
	return s.stepBy(ctx, f, alone)
}

// refuse refuses to step a pipeline that nobody runs.
func (s *stepper) refuse(context.Context, *world.Frame) error {
	if s.runner.roster.hasStarted() {
		return world.ErrEnded
	}
	return fmt.Errorf("%w: it has not begun", world.ErrMode)
}

// stepBy makes a step and keeps account of it.
func (s *stepper) stepBy(ctx context.Context, f *world.Frame, step func(context.Context, *world.Frame) error) (world.StepResult, error) {
	result := &s.result
	s.account.reset()
	*result = world.StepResult{Stamp: f.Until}
	err := step(ctx, f)
	if err != nil {
		err = fmt.Errorf("step to %s: %w", endOf(f), err)
	}
	switch {
	case errors.Is(err, world.ErrUnfinished):
		result.Frame = s.loop.lastFrame.Load()
	case err != nil && !errors.Is(err, ErrUndelivered):
		return world.StepResult{}, err
	case f.Wait != world.None:
		result.Deliveries = s.account.result(nil)
	}
	state, _ := s.scenery.history.State(scene.EgoID, result.Stamp)
	result.Ego = stage.StateOf(state)
	return *result, err
}

// endOf says where a frame's step ends.
func endOf(f *world.Frame) string {
	if f.To != "" {
		return "the next firing of " + f.To
	}
	return fault.Seconds(int64(f.Until))
}

// timed returns a frame that ends at a time: that of the next firing after now, where it has the name of a
// sensor. All that was to happen up to now has happened.
func (s *stepper) timed(f *world.Frame, now simtime.Stamp) (*world.Frame, error) {
	if f.To == "" {
		return f, nil
	}
	sensor, err := s.runner.roster.find(f.To)
	if err != nil {
		return nil, err
	}
	until := s.loop.nextOf(sensor, s.loop.next())
	if ahead := (until - now) / simtime.Stamp(s.loop.step); ahead > MostSteps {
		return nil, fmt.Errorf("%w: it is %d steps of %v ahead, the most is %d", world.ErrTime, ahead, s.loop.step, MostSteps)
	}
	timed := *f
	timed.Until, s.result.Stamp = until, until
	return &timed, nil
}

// alone steps a pipeline that nobody runs.
func (s *stepper) alone(ctx context.Context, f *world.Frame) error {
	if s.loop.realtime {
		return fmt.Errorf("%w: step a pipeline of mode Stepped, or one whose run is paused", world.ErrMode)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := s.runner.start(ctx); err != nil {
		return err
	}
	s.loop.beginAtClock() // a clock may have a time of its own from the start
	begin := s.loop.now.Load()
	f, err := s.timed(f, begin)
	if err != nil {
		return err
	}
	if err := s.apply(f, begin, s.loop.frame == 0); err != nil {
		return err
	}
	if f.Until == begin { // the first instant, which was recorded without the frame
		s.scenery.move(begin, (*scene.History).Record)
		s.result.Frame = s.loop.lastFrame.Load()
		return nil
	}
	if !s.following.active.Load() && s.loop.clock.Paused() { // otherwise the run itself lets time pass
		if err := s.pass(f, begin); err != nil {
			s.result.Stamp = begin
			return unfinished(err)
		}
	}
	return s.runTo(ctx, f)
}

// runTo runs to the end of a frame that was applied.
func (s *stepper) runTo(ctx context.Context, f *world.Frame) error {
	until := f.Until
	if s.following.active.Load() {
		until = min(until, s.following.end)
	} else if f.Wait != world.None { // somebody asks for an account
		s.runner.roster.barrier.Store(&s.account)
		defer s.runner.roster.barrier.Store(nil)
	}
	patience := ctx
	if f.Wait != world.Delivered {
		patience = noTime
	}
	err := s.runner.runInTurn(ctx, patience, func() simtime.Stamp { return until })
	s.result.Frame = s.loop.lastFrame.Load()
	switch {
	case s.loop.now.Load() < until:
		s.result.Stamp = s.loop.now.Load()
		if err == nil || errors.Is(err, ErrUndelivered) { // that is the lesser fault
			err = cmp.Or(context.Cause(ctx), err)
		}
		return unfinished(err)
	case errors.Is(err, ErrUndelivered) && f.Wait != world.Delivered:
		return nil
	case errors.Is(err, ErrUndelivered):
		return err
	}
	return unfinished(err)
}

// unfinished is the error of a step whose frame was applied; nil stays.
func unfinished(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", world.ErrUnfinished, err)
}

// among steps a pipeline whose run is another's, and paused.
func (s *stepper) among(ctx context.Context, f *world.Frame) error {
	if err := s.stand(ctx, world.Captured); err != nil {
		return err
	}
	if f.Wait != world.None {
		s.runner.roster.barrier.Store(&s.account)
		defer s.runner.roster.barrier.Store(nil)
	}
	begin := s.loop.clock.Pace()
	f, err := s.timed(f, begin)
	if err != nil {
		return err
	}
	if err := s.apply(f, begin, false); err != nil {
		return err
	}
	err = s.pass(f, begin)
	if err == nil && f.Wait != world.None {
		err = s.arrive(ctx, f.Until, f.Wait)
		s.result.Frame = s.loop.lastFrame.Load()
	}
	if err == nil || errors.Is(err, ErrUndelivered) {
		return err
	}
	s.result.Stamp = s.loop.clock.Pace()
	if errors.Is(err, world.ErrEnded) {
		s.result.Stamp = s.loop.now.Load() // the run's end, which the clock was to pass
	}
	return unfinished(err)
}

// stand waits until a paused run has done all that it was told.
func (s *stepper) stand(ctx context.Context, wait world.Wait) error {
	if err := s.loop.clock.Steppable(); err != nil {
		if errors.Is(err, simtime.ErrNotPaused) {
			err = fmt.Errorf("%w: pause it first", err)
		}
		return fmt.Errorf("%w: %w", world.ErrMode, err)
	}
	return s.arrive(ctx, s.loop.clock.Pace(), wait)
}

// pass has a paused clock go to the end of a frame that was applied. One that was resumed meanwhile gets there
// by itself.
func (s *stepper) pass(f *world.Frame, now simtime.Stamp) error {
	err := s.loop.clock.Step(int64(f.Until - now))
	if errors.Is(err, simtime.ErrNotPaused) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", world.ErrMode, err)
	}
	return nil
}

// noTime is a context that has ended.
var noTime = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// arrive waits until the run has come to a time and all that it began is done: captured, and
// delivered if asked for. It fails where the clock was changed and won't come there.
func (s *stepper) arrive(ctx context.Context, at simtime.Stamp, wait world.Wait) error {
	look := s.look
	defer look.Stop()
	for !s.loop.hasSettled(at) || !s.runner.captures.idle() {
		look.Reset(pollPause)
		select {
		case <-look.C:
		case <-s.loop.rest.underway.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !s.runner.running() {
			return errors.Join(world.ErrEnded, s.runner.failure.failed())
		}
		if pace := s.loop.clock.Pace(); pace < at && s.loop.clock.Paused() {
			return fmt.Errorf("%w: somebody else has changed it, and it stands at %s", world.ErrMode, fault.Seconds(int64(pace)))
		}
	}
	if wait != world.Delivered {
		return nil
	}
	return s.deliver(ctx)
}

// deliver waits until all messages are delivered.
func (s *stepper) deliver(ctx context.Context) error {
	if s.runner.dispatcher.Drain(noTime) == nil { // most often
		return nil
	}
	ctx, cancel := flow.WithPatience(ctx, deliveryLimit)
	defer cancel()
	if err := s.runner.dispatcher.Drain(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	return nil
}

// apply checks a frame and applies it. now is the time at which the step begins. The first frame may end there if
// there was no instant yet. The frame loop doesn't move the scene meanwhile.
func (s *stepper) apply(f *world.Frame, now simtime.Stamp, noInstant bool) error {
	s.scenery.mu.Lock()
	defer s.scenery.mu.Unlock()
	first := noInstant && !s.scenery.stage.Begun()
	if f.Until < now || f.Until == now && !first {
		return &refusal{fmt.Errorf("%w: it is %s already", world.ErrTime, fault.Seconds(int64(now)))}
	}
	if ahead := (f.Until - now) / simtime.Stamp(s.loop.step); ahead > MostSteps && s.following.active.Load() {
		return &refusal{fmt.Errorf("%w: it is %d steps of %v ahead, the most is %d: is a time of another clock, or in another unit?",
			world.ErrTime, ahead, s.loop.step, MostSteps)}
	}
	plan, err := s.scenery.stage.Check(f, now)
	if err != nil {
		return &refusal{err}
	}
	sooner := f.Until < s.loop.next()
	s.loop.goal.Store(f.Until)
	s.result.Spawned, s.result.Boxed = s.scenery.stage.Apply(plan)
	if line := s.loop.line.Load(); sooner && line != nil { // the loop waits for a later instant
		line.interrupt()
	}
	return nil
}
