package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
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
		return p.run(ctx, context.Background(), func() simtime.Stamp { return math.MaxInt64 })
	}
	return p.run(ctx, context.Background(), func() simtime.Stamp { return later(p.simNs.Load(), int64(duration)) })
}

// Step advances a pipeline to the end of the n-th step from now and returns when everything up
// to there has been published. 0 or fewer do nothing.
func (p *Pipeline) Step(ctx context.Context, n int) error {
	return p.run(ctx, context.Background(), func() simtime.Stamp { return p.stepEnd(n) })
}

// stepEnd is the end of the n-th step from now.
func (p *Pipeline) stepEnd(n int) simtime.Stamp {
	now, grid := p.simNs.Load(), p.steps.Rate()
	return max(now, grid.At(grid.IndexAt(now)+int64(n)))
}

// run runs until the simulation time that until returns when time has begun. It waits for what
// it has queued to be sent, as long as patience hasn't ended.
func (p *Pipeline) run(ctx, patience context.Context, until func() simtime.Stamp) error {
	select {
	case p.turn <- struct{}{}: // a step of StepTo may be under way
		defer func() { <-p.turn }()
		return p.runInTurn(ctx, patience, until)
	case <-ctx.Done():
		return p.failed()
	}
}

// runInTurn is run for the one whose turn it is.
func (p *Pipeline) runInTurn(ctx, patience context.Context, until func() simtime.Stamp) error {
	if ctx.Err() != nil && !p.isClosed() {
		return p.failed()
	}
	if err := p.start(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil // ended before it began
		}
		return err
	}
	for {
		again, err := p.stretch(ctx, patience, until)
		if again == nil {
			return err
		}
		if err == nil {
			err = p.restart(again.seed)
		}
		if again.done <- err; err != nil {
			return err
		}
	}
}

// stretch is a run up to its end, or to a Reset, which it returns then.
func (p *Pipeline) stretch(ctx, patience context.Context, until func() simtime.Stamp) (again *rewind, err error) {
	r, err := p.newRun(ctx)
	if err != nil {
		return nil, err
	}
	defer r.end()
	defer p.elapsed.run()()

	if p.config.Mode == Realtime {
		p.bridges.AwaitClock()
		err = p.runRealtime(r, until)
		p.waiting.end()
	} else {
		p.follow()
		err = p.runStepped(r, until())
		err = errors.Join(err, p.settle())
	}
	if err != nil {
		p.fail(err) // and what is in flight is lost: the pipeline can't continue
	}
	return p.verdict(p.drain(r.completion, patience))
}

// Bounds of what the end of a run waits for.
const (
	settleLimit   = 10 * time.Second // the GL thread to have issued everything, captures to come back
	deliveryLimit = 2 * time.Minute  // what is queued to be sent
)

// settleLimit is how long the device may take to come to rest: for ever, where a capture may.
func (p *Pipeline) settleLimit() time.Duration {
	if p.config.DeviceTimeout > readback.NoTimeout/2 {
		return readback.NoTimeout
	}
	return max(settleLimit, 2*p.config.DeviceTimeout)
}

// settle waits until the GL thread has done all that the loop gave it, so that
// nothing is captured after the run.
func (p *Pipeline) settle() error {
	limit := p.settleLimit()
	ctx, cancel := flow.WithPatience(context.Background(), limit)
	defer cancel()
	err := p.gl.Do(ctx, func(*gpu.Ctx) error { return nil })
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("end the run: the device has not come to rest within %v: %w", limit, context.Cause(ctx))
	}
	return nil // a lost context is told by Lost
}

// drain waits until everything queued has been sent or dropped.
func (p *Pipeline) drain(ctx, patience context.Context) error {
	p.dispatcher.ReleaseAll()
	ctx, cancel := flow.WithPatience(ctx, deliveryLimit)
	defer cancel()
	defer context.AfterFunc(patience, cancel)()
	err := p.dispatcher.Drain(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	return wrap("send what was queued", err)
}

// run holds the contexts of one Run. The frame loop's ends with the caller's, the completion's
// only when something failed, so that an interrupted run still publishes what it has captured.
// The line's, below the loop's, ends when the clock jumps.
type run struct {
	loop, completion context.Context
	line             *timeline
	cancel           func(error)
	watching         sync.WaitGroup
	untell           func() // of the clock's changes
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
	p.jumps.Store(p.clock.Jumps()) // those of before don't concern the run
	r := &run{loop: loop, completion: completion, line: newTimeline(loop, p.clock)}
	r.cancel = func(err error) {
		cancelLoop(err)
		cancelCompletion(err)
	}
	p.failure.cancel, p.failure.stop = r.cancel, cancelLoop
	p.line.Store(r.line)
	r.untell = p.clock.Subscribe(func(change simtime.Change) {
		p.rest.follow(p, change.Kind)
		p.bridges.TimeChanged(change)
	})
	r.watching.Go(func() { p.rest.keep(completion, p) })
	r.watching.Go(func() {
		select {
		case <-p.gl.Lost():
			p.fail(gpu.ErrContextLost)
		case <-completion.Done():
		}
	})
	return r, nil
}

// end stops watching.
func (r *run) end() {
	r.untell()
	r.cancel(nil)
	r.line.end()
	r.watching.Wait()
}

// verdict is what Run returns: the failure that ended the run, else the drain's
// error, and nothing if the caller ended it. It returns the Reset that ended it, too.
func (p *Pipeline) verdict(err error) (again *rewind, _ error) {
	p.failure.Lock()
	defer p.failure.Unlock()
	again = p.failure.again
	p.failure.cancel, p.failure.stop, p.failure.again = nil, nil, nil
	if p.failure.err != nil {
		return again, p.failure.err
	}
	return again, err
}

// Bounds of what a stepped run has begun and not yet published. They let the GL thread work on
// one instant's captures while the one before is converted.
const (
	maxInstants = 256
	maxCaptures = 2
)

// firing is one sensor's tick at an instant.
type firing struct {
	sensor *Sensor // counted as in use until the instant's release
	at     sensors.Tick
	// captured and err are written on the GL thread before the instant's issued is
	// closed.
	captured bool
	err      error
	turnless bool // it failed before it had its turn
}

// instant is everything that happens at one moment of simulation time.
type instant struct {
	stamp   simtime.Stamp
	frame   uint64
	clock   bool // /clock is due
	sensors bool // so is a sensor, whether it is heard or not
	firings []firing
	gpu     bool          // some firing captures
	issued  chan struct{} // closed when the GL thread has issued the captures

	rest     *rest
	released bool // see release; the goroutine that has the instant uses it
}

// runStepped goes from instant to instant until the simulation time is `until`,
// and publishes each instant completely before the next (law T5). It returns
// when everything begun was published, or at the first error.
func (p *Pipeline) runStepped(r *run, until simtime.Stamp) error {
	for {
		begun := make(chan *instant, maxInstants)
		captures := make(chan struct{}, maxCaptures)
		done := make(chan error, 1)
		go func() {
			err := p.complete(r.completion, begun, captures)
			if err != nil {
				r.cancel(err)
			}
			for i := range begun {
				i.release() // of a run that has failed
			}
			done <- err
		}()
		jumped, err := p.begin(r, until, begun, captures)
		close(begun)
		err = errors.Join(<-done, err)
		if err != nil || !jumped {
			return err
		}
		// Only now: what was begun before the jump needs the history as it was.
		until = later(until, int64(p.realign(r, func() {})))
	}
}

// begin is the frame loop: it advances time and hands instants on. It waits only
// for room, and returns when time is at until, the run ends, or the clock has jumped.
func (p *Pipeline) begin(r *run, until simtime.Stamp, begun chan<- *instant, captures chan<- struct{}) (jumped bool, err error) {
	for r.loop.Err() == nil {
		t, reached, err := p.advance(r, until)
		switch {
		case err != nil || reached == ended:
			return false, err
		case reached == elsewhere:
			return true, nil
		case reached == nowhere:
			continue
		}
		i, err := p.beginInstant(r, t)
		if err == nil {
			err = p.handOn(r, i, begun, captures)
		} else {
			i.release()
		}
		if err != nil {
			return false, err
		}
		if p.config.OnProgress != nil {
			p.config.OnProgress(p.progress(t))
		}
	}
	return false, nil
}

// handOn issues an instant's captures and gives it to the completion. An instant
// that was begun is handed on whole, also when the caller ends the run: only a
// failure leaves it out.
func (p *Pipeline) handOn(r *run, i *instant, begun chan<- *instant, captures chan<- struct{}) error {
	if i.gpu {
		select {
		case captures <- struct{}{}:
		case <-r.completion.Done():
			i.release()
			return nil
		}
		if err := p.issuePatiently(r.completion, i, nil); err != nil {
			i.release()
			return err
		}
	}
	select {
	case begun <- i:
	case <-r.completion.Done():
		i.release()
	}
	return nil
}

// issuePatiently issues an instant's captures, see issue; where others keep the GL
// thread busy it waits, for what is stepped loses nothing.
func (p *Pipeline) issuePatiently(ctx context.Context, i *instant, after func()) error {
	announce(i)
	for {
		err := p.issue(i, after)
		if !errors.Is(err, gpu.ErrBusy) {
			return err
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return nil // the run has failed, and nobody waits for the instant
		}
	}
}

// errCapture is what a capture leaves that ended the GL thread's function; the
// log has its panic.
var errCapture = errors.New("the capture panicked")

// issue hands an instant's captures to the GL thread in one hop (law G2). after, if not nil, is
// called there when they are issued and must not wait. On an error nothing was handed over.
func (p *Pipeline) issue(i *instant, after func()) error {
	i.issued = make(chan struct{})
	p.issuing.Add(1)
	err := p.gl.Go(func(c *gpu.Ctx) error {
		returned := false
		defer func() {
			if !returned {
				i.fail(errCapture)
			}
			p.issuing.Add(-1)
			close(i.issued)
			if after != nil {
				after()
			}
		}()
		p.captureAll(c, i)
		returned = true
		return nil
	})
	if err != nil {
		p.issuing.Add(-1)
	}
	return err
}

// fail gives the captures that were not issued an error.
func (i *instant) fail(err error) {
	for k := range i.firings {
		if f := &i.firings[k]; f.sensor.gpu && !f.captured && f.err == nil {
			f.err = err
		}
	}
}

// captureAll issues an instant's captures. GL thread.
func (p *Pipeline) captureAll(c *gpu.Ctx, i *instant) {
	i.tune()
	for k := range i.firings {
		f := &i.firings[k]
		if !f.sensor.gpu || f.err != nil {
			continue
		}
		if !f.sensor.users.Enter() { // it was ended before its turn came
			f.sensor.dropped(f.at, flow.CauseClosed)
			continue
		}
		f.captured, f.err = f.sensor.life.Load().Capture(c, f.at)
		f.sensor.users.Exit()
	}
	if err := c.Flush(); err != nil {
		p.fail(err)
	}
	p.pollAll(c)
}

// pollAll moves all finished readbacks on. GL thread.
func (p *Pipeline) pollAll(c *gpu.Ctx) {
	for _, s := range p.live() {
		if s.gpu && s.users.Enter() {
			s.life.Load().Poll(c)
			s.users.Exit()
		}
	}
}

// complete publishes the instants in order.
func (p *Pipeline) complete(ctx context.Context, begun <-chan *instant, captures <-chan struct{}) error {
	for i := range begun {
		err := p.publish(ctx, i)
		i.release()
		if err != nil {
			return err
		}
		if i.gpu {
			<-captures
		}
	}
	return nil
}

// publish sends everything of one instant: the clock, then the sensors in the order they were
// added. Their instants have a clock of their own where none is due (law T4). That a sensor is
// heard doesn't matter: a recording has the same clocks with other listeners besides.
func (p *Pipeline) publish(ctx context.Context, i *instant) error {
	p.bridges.SetInstant(i.stamp)
	if i.clock || i.sensors {
		p.bridges.QueueClock(i.stamp)
	}
	for k := range i.firings {
		f := &i.firings[k]
		if !f.sensor.gpu {
			if err := f.tick(); err != nil {
				return wrap("sensor "+f.sensor.spec.Name, err)
			}
			continue
		}
		if err := p.publishCapture(ctx, i, f); err != nil {
			return wrap("sensor "+f.sensor.spec.Name, err)
		}
	}
	return nil
}

// publishCapture waits for a capture and publishes it.
func (p *Pipeline) publishCapture(ctx context.Context, i *instant, f *firing) error {
	var slow slowness
	for issued := false; !issued; {
		select {
		case <-i.issued:
			issued = true
		case <-slow.look(): // the GL thread itself waits for the driver
			slow.tell(p.config.Log, f.sensor)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if f.err != nil {
		return f.err
	}
	if !f.captured {
		return nil
	}
	for f.sensor.life.Load().Process(f.at.Due) == 0 {
		if f.sensor.life.Load().Pending() == 0 {
			return nil // it failed and was counted
		}
		if err := p.awaitReadback(ctx); err != nil {
			return err
		}
		slow.tell(p.config.Log, f.sensor)
	}
	return nil
}

// slowCapture is how long a capture that is waited for may take until that is told.
const slowCapture = 5 * time.Second

// slowness tells, ever more rarely, of a capture that a stepped run waits for. The zero value
// has yet to begin.
type slowness struct {
	begun time.Time
	next  time.Duration // after begun
}

// look returns when to tell.
func (s *slowness) look() <-chan time.Time {
	s.begin()
	return time.After(time.Until(s.begun.Add(s.next)))
}

func (s *slowness) begin() {
	if s.begun.IsZero() {
		s.begun, s.next = time.Now(), slowCapture
	}
}

// tell tells if it is time to. The line isn't published as those of the run's own log are: what a
// bridge sends would depend on the host's clock.
func (s *slowness) tell(log *slog.Logger, sensor *Sensor) {
	s.begin()
	if waited := time.Since(s.begun); waited >= s.next {
		s.next = 2 * waited
		log.Warn("the device has not finished a capture yet, and the run waits for it", "sensor", sensor.spec.Name, "waited", waited.Round(time.Second))
	}
}

// pollPause is how long a completion waits before it asks the GL thread again
// for a fence that hasn't signalled.
const pollPause = 200 * time.Microsecond

// awaitReadback waits until a capture may have become ready, and has the GL thread look after
// the readbacks. One such look waits for its turn at a time, for the GL thread may be busy with
// the next capture. What that finds ready isn't kept waiting.
func (p *Pipeline) awaitReadback(ctx context.Context) error {
	if p.polling.CompareAndSwap(false, true) {
		err := p.gl.Go(p.pollHop)
		if err != nil {
			p.polling.Store(false)
		}
		if err != nil && !errors.Is(err, gpu.ErrBusy) {
			return err
		}
	}
	select {
	case <-p.wake:
	case <-time.After(pollPause):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// pollInTurn is awaitReadback's look. GL thread.
func (p *Pipeline) pollInTurn(c *gpu.Ctx) error {
	p.polling.Store(false)
	p.pollAll(c)
	return nil
}

// nextInstant is the earliest of the next step, clock and due sensor, and of the end of a StepTo.
func (p *Pipeline) nextInstant() simtime.Stamp {
	next := p.steps.Next()
	if goal := p.goal.Load(); goal > p.simNs.Load() {
		next = min(next, goal)
	}
	if p.clockDue != nil {
		next = min(next, p.clockDue.Next())
	}
	for _, s := range p.live() {
		if s.joined.Load() && s.schedule != nil {
			next = min(next, s.schedule.Next())
		}
	}
	return next
}

// beginInstant lists what is due at t and moves the scene there. The instant has to be
// released, also on an error: a sensor's, or the run's end. Frame loop.
func (p *Pipeline) beginInstant(r *run, t simtime.Stamp) (*instant, error) {
	i := &instant{stamp: t, frame: p.frame, rest: &p.rest}
	p.lastFrame.Store(p.frame)
	p.frame++
	for range p.steps.Until(t) { // a late realtime loop passes over some
	}
	p.rest.end(p)
	list := p.live()
	p.joinAll(list, t)
	if p.clockDue != nil {
		_, i.clock = p.clockDue.Due(t)
	}
	for rank := range ranks {
		for _, s := range list {
			if s.rank != rank {
				continue
			}
			if err := i.list(r.completion, s, len(list)); err != nil {
				return i, err
			}
		}
	}
	p.moveTo(t)
	p.lastNs = t
	p.moveScene(t, (*scene.History).Record)
	i.leaveOrphans(p)
	return i, nil
}

// moveScene moves everything to a tick's time as record does, a method of History.
func (p *Pipeline) moveScene(t simtime.Stamp, record func(*scene.History, simtime.Stamp)) {
	p.moving.Lock()
	defer p.moving.Unlock()
	record(p.history, t)
}

// joinAll lets sensors join that were added since the instant before: each fires first
// a whole period from now.
func (p *Pipeline) joinAll(list []*Sensor, t simtime.Stamp) {
	grew := false
	for _, s := range list {
		if s.joined.Load() {
			continue
		}
		if s.schedule != nil {
			s.schedule.Realign(s.firstAfter(t))
		}
		s.joined.Store(true)
		grew = true
	}
	if grew {
		p.moving.Lock()
		defer p.moving.Unlock()
		p.history.Keep(historyTicks(p.config.Step, p.clockDue, list))
	}
}

// firstAfter returns the first instant of the sensor's grid that is a whole period
// after t, or more.
func (s *Sensor) firstAfter(t simtime.Stamp) simtime.Stamp {
	rate := s.schedule.Rate()
	k := rate.IndexAt(t)
	if rate.At(k) < t {
		k++
	}
	return rate.At(k + 1)
}

// list adds a sensor's firing to the instant, if it is due and heard, and does what
// comes before the scene moves.
func (i *instant) list(ctx context.Context, s *Sensor, room int) error {
	at, skipped, due := s.due(i)
	if !due && s.hearer == nil {
		return nil
	}
	if s.users.Closing() {
		return nil // it is ending: what would have been due is nobody's
	}
	i.sensors = i.sensors || due
	listening := s.listenedTo()
	if err := s.tell(ctx, listening); err != nil || !due {
		return err
	}
	if err := s.changeRate(at, listening); err != nil {
		return wrap("sensor "+s.spec.Name, err)
	}
	b := s.p.barrier.Load()
	if b != nil {
		b.expect(s, at, skipped)
	}
	if !listening {
		return missed(b, s, at.Seq, flow.CauseIdle)
	}
	if !s.users.Begin() {
		return missed(b, s, at.Seq, flow.CauseClosed)
	}
	if skipped > 0 {
		s.skip(skipped)
	}
	if i.firings == nil {
		i.firings = make([]firing, 0, room)
	}
	i.firings = append(i.firings, firing{sensor: s, at: at})
	i.gpu = i.gpu || s.gpu
	if err := s.takeTurn(ctx); err != nil {
		i.firings[len(i.firings)-1].turnless = true
		return err
	}
	if err := s.life.Load().PreTick(at); err != nil {
		return wrap("sensor "+s.spec.Name, err)
	}
	return nil
}

// missed tells a barrier, where there is one, that a firing comes to nothing; it returns
// nil, for who lists.
func missed(b *barrier, s *Sensor, seq uint64, cause flow.Cause) error {
	if b != nil {
		b.miss(s, seq, cause)
		b.handedOver(s, seq)
	}
	return nil
}

// due returns the sensor's firing at an instant, of the latest instant of its grid up to then
// that hasn't fired. It also returns how many before that were passed over.
func (s *Sensor) due(i *instant) (at sensors.Tick, skipped int, due bool) {
	at = sensors.Tick{Due: i.stamp, PeriodNs: int64(i.stamp - s.p.lastNs), Seq: s.seq, Frame: i.frame}
	if s.schedule != nil {
		before := s.schedule.Skipped()
		fired, due := s.schedule.Due(i.stamp)
		if !due {
			return sensors.Tick{}, 0, false
		}
		rate := s.schedule.Rate()
		at.Due, at.PeriodNs = fired, int64(fired-rate.At(rate.IndexAt(fired)-1))
		skipped = int(s.schedule.Skipped() - before)
	}
	s.seq++
	return at, skipped, true
}

// tell tells a sensor that wants to know it whether anybody listens, when that changes.
func (s *Sensor) tell(ctx context.Context, listening bool) error {
	if s.hearer == nil || s.heard == listening || !s.users.Begin() {
		return nil
	}
	defer s.users.Exit()
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	s.heard = listening
	s.hearer.Heard(listening)
	return nil
}

// takeTurn waits until the sensor's firing before has ticked. One that works before the scene
// moves, or is told of its listeners, isn't called from two goroutines at once. The loop does
// run ahead of what is published. It fails when ctx ends.
func (s *Sensor) takeTurn(ctx context.Context) error {
	if s.turn == nil {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Sensor) giveTurn() {
	if s.turn != nil {
		<-s.turn
	}
}

// leaveOrphans takes out the firings of sensors whose actor is not there any more, and
// lets those sensors end.
func (i *instant) leaveOrphans(p *Pipeline) {
	kept := i.firings[:0]
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.owner == scene.EgoID || p.history.Present(f.sensor.owner, i.stamp) {
			kept = append(kept, *f)
			continue
		}
		f.missed(flow.CauseClosed)
		f.release()
		p.orphan(f.sensor.owner)
	}
	i.firings = kept
}

// missed is the function missed for a firing that was listed.
func (f *firing) missed(cause flow.Cause) {
	_ = missed(f.sensor.p.barrier.Load(), f.sensor, f.at.Seq, cause)
}

// release says that the loops have done their part of a firing.
func (f *firing) release() {
	if !f.turnless {
		f.sensor.giveTurn()
	}
	if b := f.sensor.p.barrier.Load(); b != nil {
		b.handedOver(f.sensor, f.at.Seq)
	}
	f.sensor.users.Exit()
}

// release says that the loops have done their part of the instant's firings; again it
// does nothing.
func (i *instant) release() {
	if i.released {
		return
	}
	i.released = true
	for k := range i.firings {
		i.firings[k].release()
	}
	i.rest.underway.Add(-1)
	select {
	case i.rest.left <- struct{}{}:
	default: // who waits looks again for the one before
	}
}

// announce tells the sensors of an instant that their captures follow.
func announce(i *instant) {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.gpu {
			f.err = f.tick()
		}
	}
}

// tick calls the sensor's Tick for the firing.
func (f *firing) tick() error {
	f.at.Started = time.Now()
	if !f.sensor.gpu {
		if err := f.sensor.tune(f.at); err != nil {
			return err
		}
	}
	return f.sensor.life.Load().Tick(f.at)
}

// arrival says where advance has got to.
type arrival uint8

const (
	there     arrival = iota // at an instant at which something is due
	ended                    // at the run's end, or the caller ended it
	nowhere                  // paused or stepped meanwhile: try again
	elsewhere                // the clock has jumped, or another instant comes first
)

// advance waits for the next instant, at the latest until, and advances the clock to it. A
// realtime loop that is late continues where the clock is. It does visit every instant of the
// steps that a paused clock was told to go. Frame loop.
func (p *Pipeline) advance(r *run, until simtime.Stamp) (t simtime.Stamp, reached arrival, err error) {
	due := p.nextInstant()
	t = min(due, until)
	if reached := p.await(r, t); reached != there {
		return t, reached, nil
	}
	if p.config.Mode == Realtime {
		if lag := p.clock.Lag(t); lag > int64(p.config.Step) {
			t = min(t+simtime.Stamp(lag), until)
		}
	}
	if p.clock.Jumps() != p.jumps.Load() { // what looks like lateness is a jump nobody has told of yet
		return t, elsewhere, nil
	}
	err = p.clock.Advance(t)
	switch {
	case errors.Is(err, simtime.ErrAhead):
		return t, nowhere, nil
	case errors.Is(err, simtime.ErrBackward):
		p.jumps.Store(unknownJumps)
		return t, elsewhere, nil
	case err != nil:
		return t, ended, err
	case due > t:
		p.moveTo(t)
		return t, ended, nil
	}
	return t, there, nil
}

// await waits until the loop may advance to t.
func (p *Pipeline) await(r *run, t simtime.Stamp) arrival {
	if pace := &p.pace; pace.scale > 0 {
		pace.wait(r.line.context(), t)
		if p.clock.Paused() {
			defer pace.stood(time.Now())
		}
	}
	err := p.clock.WaitUntil(r.line.context(), t)
	switch {
	case r.loop.Err() != nil:
		return ended
	case err != nil: // it jumped, or the line was interrupted
		return elsewhere
	default:
		return there
	}
}

// moveTo sets the frame loop's instant.
func (p *Pipeline) moveTo(t simtime.Stamp) {
	p.elapsed.simulate(int64(t - p.simNs.Swap(t)))
}

// unknownJumps is not a number of jumps: the loop has to follow the clock in any case.
const unknownJumps = math.MaxUint64

// follow makes the loop begin where the clock is, if that has a time of its own:
// sensors first fire after it.
func (p *Pipeline) follow() {
	if now := p.clock.Now(); now != p.simNs.Load() {
		p.jumpTo(now, (now + 1))
	}
}

// realign continues from where the clock has jumped to, and returns how far that is. Of a jump
// that the loop has followed already it may be told once more: what has fired there doesn't
// fire again. before is called ahead of anything else.
func (p *Pipeline) realign(r *run, before func()) simtime.Stamp {
	r.line.renew()
	jumps := p.clock.Jumps()
	if jumps == p.jumps.Load() {
		return 0
	}
	before()
	from, now := p.simNs.Load(), p.clock.Now()
	p.jumpTo(now, now)
	p.jumps.Store(jumps) // of another jump meanwhile advance learns before anything fires
	return (now - from)
}

// jumpTo sets the loop's instant without simulating what lies between; schedules continue with
// their first instant from first on.
func (p *Pipeline) jumpTo(now, first simtime.Stamp) {
	p.simNs.Store(now)
	p.lastNs = now
	p.steps.Realign((now + 1))
	p.moveScene(now, (*scene.History).Jump)
	for _, s := range p.live() {
		if s.joined.Load() && s.schedule != nil {
			s.schedule.Realign(first)
		}
	}
	if p.clockDue != nil {
		p.clockDue.Realign(first)
	}
}

// later returns t moved by d, without overflow for a run without end.
func later(t simtime.Stamp, d int64) simtime.Stamp {
	if t == math.MaxInt64 || (d > 0 && t > math.MaxInt64-simtime.Stamp(d)) {
		return math.MaxInt64
	}
	return t + simtime.Stamp(d)
}

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

// elapsed adds up what a pipeline has spent. Any goroutine may use it.
type elapsed struct {
	mu        sync.Mutex
	startup   time.Duration
	wall      time.Duration // in finished runs, drain included
	running   time.Time     // when the current run began; zero between runs
	simulated int64         // nanoseconds, jumps of the clock left out
}

// start adds the time since begun to the start-up.
func (e *elapsed) start(begun time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.startup += time.Since(begun)
}

// run says that a run begins now; the returned function, that it has ended.
func (e *elapsed) run() (end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = time.Now()
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.wall += time.Since(e.running)
		e.running = time.Time{}
	}
}

// simulate adds simulated nanoseconds.
func (e *elapsed) simulate(ns int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.simulated += ns
}

// seconds returns what was spent up to now.
func (e *elapsed) seconds() (startup, wall, simulated float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	spent := e.wall
	if !e.running.IsZero() {
		spent += time.Since(e.running)
	}
	return e.startup.Seconds(), spent.Seconds(), float64(e.simulated) / 1e9
}
