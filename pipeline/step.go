package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// StepResult is what became of a step.
type StepResult struct {
	// Frame is the number of the step's last instant, and Stamp its time, the step's end. Of a step that
	// did not end Stamp is where the next one begins.
	Frame uint64
	Stamp simtime.Stamp
	// Spawned are the handles of those who came, in the order of the frame's Spawn.
	Spawned []uint32
	// Boxed are the models of those who came for which a box stands: the scene doesn't have them, or none
	// nearly as long.
	Boxed []string
	// Deliveries are the firings of the step, as StepSensors returns them. They are nil where the
	// step didn't wait, and where it did not end.
	Deliveries []Delivery
	// Ego is the vehicle that carries the sensors, at Stamp: by its rear axle on the ground, in the
	// map frame.
	Ego world.State
}

// stepping is what a pipeline knows of the steps of a world. The one who steps uses it, except where a field says
// otherwise.
type stepping struct {
	turn     chan struct{} // has room for the one who steps
	account  barrier       // of the latest step
	result   StepResult    // of the latest step
	look     *time.Timer   // of arrive
	atStart  bool          // no instant has been yet: the step begins the run
	followed string        // guarded by the pipeline's moving: the kind of the source that frames come from, "" for none
	follows  atomic.Bool   // frames come from it now
	end      simtime.Stamp // of what follows
	pace     pace          // of what follows, read by the frame loop
	gaps     atomic.Int64  // of that source
}

func (s *stepping) open() {
	s.turn, s.look = make(chan struct{}, 1), time.NewTimer(0)
}

// MostSteps is how many steps of the clock a frame of a world, or of a client, may go ahead: some hours.
const MostSteps = 1_000_000

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
func (p *Pipeline) StepTo(ctx context.Context, f *world.Frame) (StepResult, error) {
	return p.stepOnce(ctx, f, p.stepAlone)
}

// StepRunning is StepTo for those who don't own the pipeline, such as a client of its server. It
// steps a run that is under way and paused. Where nobody runs the pipeline, the error wraps
// world.ErrMode before the first run, and world.ErrEnded afterwards.
func (p *Pipeline) StepRunning(ctx context.Context, f *world.Frame) (StepResult, error) {
	return p.stepOnce(ctx, f, func(context.Context, *world.Frame, *barrier, *StepResult) error {
		if p.hasStarted() {
			return world.ErrEnded
		}
		return fmt.Errorf("%w: it has not begun", world.ErrMode)
	})
}

// Running reports whether a run or a step is under way. Any goroutine may ask.
func (p *Pipeline) Running() bool { return len(p.turn) > 0 }

// stepper makes a step and keeps the barrier's account of it.
type stepper func(context.Context, *world.Frame, *barrier, *StepResult) error

// stepOnce is StepTo with what steps a pipeline that nobody runs.
func (p *Pipeline) stepOnce(ctx context.Context, f *world.Frame, alone stepper) (StepResult, error) {
	select {
	case p.stepping.turn <- struct{}{}:
		defer func() { <-p.stepping.turn }()
	default:
		return StepResult{}, fmt.Errorf("step to %s: %w", endOf(f), p.busy())
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
		return p.stepBy(ctx, f, alone)
	default: // somebody runs it
		return p.stepBy(ctx, f, p.stepAmong)
	}
}

// busy says who steps.
func (p *Pipeline) busy() error {
	if !p.stepping.follows.Load() {
		return world.ErrBusy
	}
	p.moving.Lock()
	defer p.moving.Unlock()
	return fmt.Errorf("%w: the world %s moves the actors and time", world.ErrBusy, p.stepping.followed)
}

// egoNow returns the vehicle that carries the sensors, at the present time.
func (p *Pipeline) egoNow() world.State {
	p.moving.Lock()
	defer p.moving.Unlock()
	return p.stage.Ego(p.simNs.Load())
}

// stepBy makes a step for the one who steps.
func (p *Pipeline) stepBy(ctx context.Context, f *world.Frame, step stepper) (StepResult, error) {
	b, result := &p.stepping.account, &p.stepping.result
	b.reset()
	*result = StepResult{Stamp: f.Until}
	err := step(ctx, f, b, result)
	if err != nil {
		err = fmt.Errorf("step to %s: %w", endOf(f), err)
	}
	switch {
	case errors.Is(err, world.ErrUnfinished):
		result.Frame = p.lastFrame.Load()
	case err != nil && !errors.Is(err, ErrUndelivered):
		return StepResult{}, err
	case f.Wait != world.None:
		result.Deliveries = b.result(nil)
	}
	state, _ := p.history.State(scene.EgoID, result.Stamp)
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
func (p *Pipeline) timed(f *world.Frame, now simtime.Stamp, result *StepResult) (*world.Frame, error) {
	if f.To == "" {
		return f, nil
	}
	s, err := p.Sensor(f.To)
	if err != nil {
		return nil, err
	}
	until := s.nextFrom(p.nextInstant())
	if ahead := (until - now) / simtime.Stamp(p.config.Step); ahead > MostSteps {
		return nil, fmt.Errorf("%w: it is %d steps of %v ahead, the most is %d", world.ErrTime, ahead, p.config.Step, MostSteps)
	}
	timed := *f
	timed.Until, result.Stamp = until, until
	return &timed, nil
}

// stepAlone steps a pipeline that nobody runs.
func (p *Pipeline) stepAlone(ctx context.Context, f *world.Frame, b *barrier, result *StepResult) error {
	if p.config.Mode == Realtime {
		return fmt.Errorf("%w: step a pipeline of mode Stepped, or one whose run is paused", world.ErrMode)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	p.follow() // a clock may have a time of its own from the start
	begin := p.simNs.Load()
	f, err := p.timed(f, begin, result)
	if err != nil {
		return err
	}
	p.stepping.atStart = p.frame == 0 && p.stage.Counts().Frames == 0
	err = p.applyAt(f, result, begin)
	p.stepping.atStart = false
	if err != nil {
		return err
	}
	if f.Until == begin { // the first instant, which was recorded without the frame
		p.moveScene(begin, (*scene.History).Record)
		result.Frame = p.lastFrame.Load()
		return nil
	}
	if !p.stepping.follows.Load() && p.clock.Paused() { // otherwise the run itself lets time pass
		if err := p.pass(f, begin); err != nil {
			result.Stamp = begin
			return unfinished(err)
		}
	}
	if f.Wait != world.None && !p.stepping.follows.Load() { // else nobody asks for an account
		p.barrier.Store(b)
		defer p.barrier.Store(nil)
	}
	patience := ctx
	if f.Wait != world.Delivered {
		patience = noTime
	}
	until := f.Until
	if p.stepping.follows.Load() {
		until = min(until, p.stepping.end)
	}
	err = p.runInTurn(ctx, patience, func() simtime.Stamp { return until })
	result.Frame = p.lastFrame.Load()
	switch {
	case p.simNs.Load() < until:
		result.Stamp = p.simNs.Load()
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

// stepAmong steps a pipeline whose run is another's, and paused.
func (p *Pipeline) stepAmong(ctx context.Context, f *world.Frame, b *barrier, result *StepResult) error {
	if err := p.stand(ctx, world.Captured); err != nil {
		return err
	}
	if f.Wait != world.None {
		p.barrier.Store(b)
		defer p.barrier.Store(nil)
	}
	begin := p.clock.Pace()
	f, err := p.timed(f, begin, result)
	if err != nil {
		return err
	}
	if err := p.applyAt(f, result, begin); err != nil {
		return err
	}
	err = p.pass(f, begin)
	if err == nil && f.Wait != world.None {
		err = p.arrive(ctx, f.Until, f.Wait)
		result.Frame = p.lastFrame.Load()
	}
	if err == nil || errors.Is(err, ErrUndelivered) {
		return err
	}
	result.Stamp = p.clock.Pace()
	if errors.Is(err, world.ErrEnded) {
		result.Stamp = p.simNs.Load() // the run's end, which the clock was to pass
	}
	return unfinished(err)
}

// stand waits until a paused run has done all that it was told.
func (p *Pipeline) stand(ctx context.Context, wait world.Wait) error {
	if err := p.clock.Steppable(); err != nil {
		if errors.Is(err, simtime.ErrNotPaused) {
			err = fmt.Errorf("%w: pause it first", err)
		}
		return fmt.Errorf("%w: %w", world.ErrMode, err)
	}
	return p.arrive(ctx, p.clock.Pace(), wait)
}

// pass has a paused clock go to the end of a frame that was applied. One that was resumed meanwhile gets there
// by itself.
func (p *Pipeline) pass(f *world.Frame, now simtime.Stamp) error {
	err := p.clock.Step(int64(f.Until - now))
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
func (p *Pipeline) arrive(ctx context.Context, at simtime.Stamp, wait world.Wait) error {
	look := p.stepping.look
	defer look.Stop()
	for p.simNs.Load() < at || p.jumps.Load() != p.clock.Jumps() || p.rest.underway.Load() > 0 || p.issuing.Load() > 0 || p.pending() > 0 {
		look.Reset(pollPause)
		select {
		case <-look.C:
		case <-p.rest.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if len(p.turn) == 0 {
			return errors.Join(world.ErrEnded, p.failed())
		}
		if pace := p.clock.Pace(); pace < at && p.clock.Paused() {
			return fmt.Errorf("%w: somebody else has changed it, and it stands at %s", world.ErrMode, fault.Seconds(int64(pace)))
		}
	}
	if wait != world.Delivered {
		return nil
	}
	if p.dispatcher.Drain(noTime) == nil { // most often
		return nil
	}
	ctx, cancel := flow.WithPatience(ctx, deliveryLimit)
	defer cancel()
	if err := p.dispatcher.Drain(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	return nil
}

// applyAt checks a frame and applies it. now is the time at which the step begins. The frame loop
// doesn't move the scene meanwhile.
func (p *Pipeline) applyAt(f *world.Frame, result *StepResult, now simtime.Stamp) error {
	p.moving.Lock()
	defer p.moving.Unlock()
	if err := p.checkTime(f, now); err != nil {
		return &refusal{err}
	}
	plan, err := p.stage.Check(f, now)
	if err != nil {
		return &refusal{err}
	}
	sooner := f.Until < p.nextInstant()
	p.goal.Store(f.Until)
	result.Spawned, result.Boxed = p.stage.Apply(plan)
	if line := p.line.Load(); sooner && line != nil { // the loop waits for a later instant
		line.interrupt()
	}
	return nil
}

// checkTime refuses a frame that ends at no time to step to.
func (p *Pipeline) checkTime(f *world.Frame, now simtime.Stamp) error {
	if f.Until < now || f.Until == now && !p.stepping.atStart {
		return fmt.Errorf("%w: it is %s already", world.ErrTime, fault.Seconds(int64(now)))
	}
	if ahead := (f.Until - now) / simtime.Stamp(p.config.Step); ahead > MostSteps && p.stepping.follows.Load() {
		return fmt.Errorf("%w: it is %d steps of %v ahead, the most is %d: is a time of another clock, or in another unit?", world.ErrTime, ahead, p.config.Step, MostSteps)
	}
	return nil
}
