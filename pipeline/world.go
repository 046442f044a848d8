package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
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

// guest is an actor that came by a frame.
type guest struct {
	actor    *scene.Actor
	name     string
	motion   *scene.Guided
	offset   mgl64.Vec3 // of the actor's origin from its reference point, in its frame
	onGround bool
	joints   []scene.Joint // of its model
	ability  ability
	boxed    bool   // a box stands for its model
	told     uint64 // the last frame that told of it
}

// theWorld is what a pipeline knows of a world from outside. Its lists are of those who came by
// frames. It is guarded by the pipeline's moving, but stepping, which is its own guard.
type theWorld struct {
	stepping chan struct{} // has room for the one who steps
	guests   map[uint32]*guest
	names    map[string]*guest
	frame    uint64
	boxes    map[string]struct{} // models that a box stands for, up to knownBoxes
	boxLines flow.Journal        // of those beyond toldBoxes
	far      bool                // it was told that places are far from the scene
	ego      *scene.Guided       // nil until a frame moves the ego
	plan     plan                // scratch
	account  barrier             // of the latest step
	result   StepResult          // of the latest step
	look     *time.Timer         // of arrive
	most     int                 // guests at a time, so far
	steps    int64
	atStart  bool          // no instant has been yet, the one who steps begins the run
	followed string        // the kind of the source that frames come from, "" for none
	follows  atomic.Bool   // frames come from it now
	end      simtime.Stamp // of what follows; the one who steps uses it, and pace
	pace     pace
	gaps     atomic.Int64 // of that source
}

func (w *theWorld) open() {
	w.stepping, w.guests, w.names, w.boxes = make(chan struct{}, 1), map[uint32]*guest{}, map[string]*guest{}, map[string]struct{}{}
	w.look = time.NewTimer(0)
}

// MostSteps is how many steps of the clock a frame of a world, or of a client, may go ahead: some hours.
const MostSteps = 1_000_000

// plan is a frame that was checked and not yet applied.
type plan struct {
	leave []*guest
	come  []coming
	move  []moving
	shows []showing
}

// showing is what a traffic light of the scene is to show.
type showing struct {
	light int
	state scene.SignalState
}

type coming struct {
	guest  *guest
	model  *scene.Actor
	as     scene.Actor
	at     scene.Waypoint
	length float64      // of the actor
	misfit float64      // the model's length, where a box stands for it since that differs
	first  *world.State // at the step's beginning
	then   *world.State // where it is at the step's end; nil stays
}

type moving struct {
	guest *guest
	to    scene.Waypoint
	state *world.State
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
	case p.guests.stepping <- struct{}{}:
		defer func() { <-p.guests.stepping }()
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
	if !p.guests.follows.Load() {
		return world.ErrBusy
	}
	p.moving.Lock()
	defer p.moving.Unlock()
	return fmt.Errorf("%w: the world %s moves the actors and time", world.ErrBusy, p.guests.followed)
}

// Following says how a pipeline follows a world.
type Following struct {
	// Kind names the source's kind, for the summary.
	Kind   string
	Source world.Source
	// Duration ends it when so much simulated time has passed, also within a frame's step; 0 is
	// without end.
	Duration time.Duration
	// Scale is how many simulated seconds may pass in one of the host's; 0 sets no limit.
	Scale float64
}

// Follow steps the pipeline from frame to frame of a source. It returns nil when the source ends,
// the duration has passed, or ctx ends. Nobody else steps meanwhile: StepTo returns world.ErrBusy.
// A paused clock holds it up. Follow doesn't close the source.
func (p *Pipeline) Follow(ctx context.Context, w Following) error {
	select {
	case p.guests.stepping <- struct{}{}:
		defer func() { <-p.guests.stepping }()
	default:
		return fmt.Errorf("follow a world: %w", world.ErrBusy)
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	default:
		return fmt.Errorf("follow a world: %w: a run is under way", world.ErrBusy)
	}
	p.moving.Lock()
	p.guests.followed = w.Kind
	p.moving.Unlock()
	ego, start := p.egoNow(), p.simNs.Load()
	p.guests.end, p.guests.pace = math.MaxInt64, pace{time.Now(), start, w.Scale}
	p.guests.follows.Store(true)
	if w.Duration > 0 {
		p.guests.end = later(start, int64(w.Duration))
	}
	defer func() {
		p.guests.follows.Store(false)
		p.guests.pace = pace{}
	}()
	for ctx.Err() == nil && p.simNs.Load() < p.guests.end {
		p.waiting.begin(awaited(w))
		f, err := w.Source.Next(ctx, ego)
		p.waiting.end()
		p.guests.gaps.Store(w.Source.Gaps())
		switch {
		case errors.Is(err, io.EOF), err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("world %s: %w", w.Kind, err)
		}
		result, err := p.stepBy(ctx, f, p.stepAlone)
		if err == nil {
			ego = result.Ego
			continue
		}
		if ctx.Err() != nil {
			return p.failed()
		}
		if source, ok := w.Source.(world.Refuser); ok && errors.As(err, new(*refusal)) {
			err = source.Refused(err)
			p.guests.gaps.Store(w.Source.Gaps())
		}
		if err != nil {
			return fmt.Errorf("world %s: %w", w.Kind, err)
		}
	}
	return nil
}

// awaited says what a world's next frame comes from.
func awaited(w Following) string {
	if source, ok := w.Source.(interface{ Awaits() string }); ok {
		return source.Awaits()
	}
	return "the next frame of the world " + w.Kind
}

// refusal is the error of a frame of which nothing was applied.
type refusal struct{ error }

func (e *refusal) Unwrap() error { return e.error }

// pace is how fast simulated time may pass, from an instant of both clocks on. The zero pace has no limit.
type pace struct {
	begun time.Time
	start simtime.Stamp
	scale float64 // simulated seconds in one of the host's
}

// wait waits for the instant at which time may be t, or for ctx's end.
func (p *pace) wait(ctx context.Context, t simtime.Stamp) {
	if p.scale == 0 {
		return
	}
	d := time.Until(p.begun.Add(time.Duration(float64(t-p.start) / p.scale)))
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// stood makes up for a pause since a time: it isn't made good.
func (p *pace) stood(since time.Time) { p.begun = p.begun.Add(time.Since(since)) }

// egoNow returns the vehicle that carries the sensors, at the present time.
func (p *Pipeline) egoNow() world.State {
	p.moving.Lock()
	defer p.moving.Unlock()
	return worldState(p.egoAt(p.simNs.Load()))
}

// egoAt returns the state of that vehicle by its motion. The pipeline's moving must be held.
func (p *Pipeline) egoAt(now simtime.Stamp) scene.State {
	if m, _ := p.history.Motion(scene.EgoID); m != nil {
		return scene.StateOf(m, now)
	}
	return scene.State{Pose: p.config.Scene.Ego}
}

func worldState(s scene.State) world.State {
	return world.State{
		Pose: s.Pose, Velocity: s.Twist.Linear, AngularVelocity: s.Twist.Angular, VelocityKnown: true, AngularVelocityKnown: true,
	}
}

// stepBy makes a step for the one who steps.
func (p *Pipeline) stepBy(ctx context.Context, f *world.Frame, step stepper) (StepResult, error) {
	b, result := &p.guests.account, &p.guests.result
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
	result.Ego = worldState(state)
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
	p.guests.atStart = p.frame == 0 && p.guests.steps == 0
	err = p.applyAt(f, result, begin)
	p.guests.atStart = false
	if err != nil {
		return err
	}
	if f.Until == begin { // the first instant, which was recorded without the frame
		p.moveScene(begin, (*scene.History).Record)
		result.Frame = p.lastFrame.Load()
		return nil
	}
	if !p.guests.follows.Load() && p.clock.Paused() { // otherwise the run itself lets time pass
		if err := p.pass(f, begin); err != nil {
			result.Stamp = begin
			return unfinished(err)
		}
	}
	if f.Wait != world.None && !p.guests.follows.Load() { // else nobody asks for an account
		p.barrier.Store(b)
		defer p.barrier.Store(nil)
	}
	patience := ctx
	if f.Wait != world.Delivered {
		patience = noTime
	}
	until := f.Until
	if p.guests.follows.Load() {
		until = min(until, p.guests.end)
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
	look := p.guests.look
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
	if err := p.check(f, now); err != nil {
		return &refusal{err}
	}
	sooner := f.Until < p.nextInstant()
	p.goal.Store(f.Until)
	p.apply(f, now, result)
	if line := p.line.Load(); sooner && line != nil { // the loop waits for a later instant
		line.interrupt()
	}
	return nil
}

// check plans a frame without changing anything. The pipeline's moving must be held.
func (p *Pipeline) check(f *world.Frame, now simtime.Stamp) error {
	w, plan := &p.guests, &p.guests.plan
	plan.leave, plan.come, plan.move, plan.shows = plan.leave[:0], plan.come[:0], plan.move[:0], plan.shows[:0]
	if f.Until < now || f.Until == now && !w.atStart {
		return fmt.Errorf("%w: it is %s already", world.ErrTime, fault.Seconds(int64(now)))
	}
	if ahead := (f.Until - now) / simtime.Stamp(p.config.Step); ahead > MostSteps && w.follows.Load() {
		return fmt.Errorf("%w: it is %d steps of %v ahead, the most is %d: is a time of another clock, or in another unit?", world.ErrTime, ahead, p.config.Step, MostSteps)
	}
	if len(f.Spawn) > p.config.Capacity { // each is compared with the others
		return p.full(f, p.config.Capacity, len(w.guests))
	}
	w.frame++ // what a refused frame has told of is told of by no other
	for i, ref := range f.Remove {
		g, err := w.find(ref)
		if err == nil && g.told == w.frame {
			err = world.ErrDuplicate
		}
		if err != nil {
			return &world.ActorError{List: "remove", Index: i, Actor: ref, Err: err}
		}
		g.told = w.frame
		plan.leave = append(plan.leave, g)
	}
	comes := now
	if f.AtEnd {
		comes = f.Until
	}
	for i := range f.Spawn {
		if err := p.planSpawn(&f.Spawn[i], comes); err != nil {
			return &world.ActorError{List: "spawn", Index: i, Actor: world.Ref{Name: f.Spawn[i].Name}, Err: err}
		}
	}
	for i := range f.Actors {
		if err := p.planMove(&f.Actors[i], f.Until); err != nil {
			return &world.ActorError{List: "actors", Index: i, Actor: f.Actors[i].Ref, Err: err}
		}
	}
	for i := range f.Signals {
		if err := p.planSignal(&f.Signals[i]); err != nil {
			return &world.ActorError{List: world.ListSignals, Index: i, Actor: f.Signals[i].Ref, Err: err}
		}
	}
	if f.Complete {
		for _, g := range w.guests {
			if g.told != w.frame {
				plan.leave = append(plan.leave, g)
			}
		}
		slices.SortFunc(plan.leave, func(a, b *guest) int { return int(a.actor.ID) - int(b.actor.ID) })
	}
	if err := p.checkRoom(f); err != nil {
		return err
	}
	if f.Ego != nil {
		if _, err := waypoint(f.Ego, f.Until); err != nil {
			return &world.ActorError{List: "ego", Err: err}
		}
	}
	return nil
}

// checkRoom returns an error for the first who has no room.
func (p *Pipeline) checkRoom(f *world.Frame) error {
	come := len(p.guests.plan.come)
	stay := len(p.guests.guests) - len(p.guests.plan.leave)
	if room := p.config.Capacity - stay; come > max(room, 0) {
		return p.full(f, max(room, 0), stay)
	}
	if come > 0 { // SpawnActor's take slots, too
		if room := p.history.Room(); come > room {
			return noRoom(f, room, fmt.Errorf("%w: the scene has %d slots, and others have taken the rest", world.ErrFull, p.config.Scene.Slots))
		}
	}
	return nil
}

// full is the error for the first who is beyond the world's capacity, of which some stay.
func (p *Pipeline) full(f *world.Frame, first, stay int) error {
	return noRoom(f, first, fmt.Errorf("%w: it is for %d, of whom %d are there; world.capacity makes more", world.ErrFull, p.config.Capacity, stay))
}

func noRoom(f *world.Frame, first int, err error) error {
	return &world.ActorError{List: "spawn", Index: first, Actor: world.Ref{Name: f.Spawn[first].Name}, Err: err}
}

// forget takes out somebody who has left.
func (w *theWorld) forget(g *guest) {
	delete(w.guests, g.actor.ID)
	if w.names[g.name] == g {
		delete(w.names, g.name)
	}
}

// find returns the guest that is meant.
func (w *theWorld) find(ref world.Ref) (*guest, error) {
	g := w.names[ref.Name]
	if ref.Handle != 0 {
		g = w.guests[ref.Handle]
	}
	if g == nil {
		return nil, world.ErrUnknownActor
	}
	return g, nil
}

// planSpawn plans the coming of an actor.
func (p *Pipeline) planSpawn(s *world.Spawn, now simtime.Stamp) error {
	w := &p.guests
	if s.Name != "" {
		if g := w.names[s.Name]; g != nil && !slices.Contains(w.plan.leave, g) {
			return fmt.Errorf("%w: the name is taken", world.ErrDuplicate)
		}
		for i := range w.plan.come {
			if w.plan.come[i].guest.name == s.Name {
				return fmt.Errorf("%w: so is spawn[%d]", world.ErrDuplicate, i)
			}
		}
	}
	if err := near("size", s.Size); err != nil || min(s.Size[0], s.Size[1], s.Size[2]) < 0 {
		return cmp.Or(err, fmt.Errorf("%w: size %v", world.ErrValue, s.Size))
	}
	at, err := waypoint(&s.State, now)
	if err != nil {
		return err
	}
	c := coming{guest: &guest{name: s.Name, motion: &scene.Guided{}, onGround: s.OnGround, told: w.frame}, at: at}
	if err := p.body(&c, s); err != nil {
		return err
	}
	if err := c.guest.checkJoints(&s.State); err != nil {
		return err
	}
	c.guest.ability = abilityOf(s.Model, s.TopSpeed)
	c.first = &s.State
	w.plan.come = append(w.plan.come, c)
	return nil
}

// BoxModel is the model of those whose own isn't known: a box of a metre's sides.
const BoxModel = scene.BoxModel

// whichModels ends what is said of a model that isn't known.
const whichModels = "world.city_models and world.models say which there are"

// usualSize is the size in metres of a box of which nothing is known.
var usualSize = mgl64.Vec3{4.5, 1.8, 1.5}

// body finds the shape of somebody who comes.
func (p *Pipeline) body(c *coming, s *world.Spawn) error {
	c.as = scene.Actor{Name: s.Name, TypeID: s.Model}
	if s.Color.Known {
		c.as.Paint = &[3]uint8{s.Color.R, s.Color.G, s.Color.B}
	}
	c.model = p.config.Scene.Model(s.Model)
	size, usual := s.Size, usualSize
	var box scene.Box
	if c.model != nil && s.Model != BoxModel {
		box = p.history.ModelBox(c.model)
		usual = box.Half.Mul(2)
	}
	for i := range size {
		if size[i] == 0 {
			size[i] = usual[i]
		}
	}
	if longer := stretchOf(s.Model, size[0], usual[0]); c.model == nil || s.Model == BoxModel || !(longer >= 1/mostStretch && longer <= mostStretch) {
		if c.model != nil && s.Model != BoxModel {
			c.length, c.misfit = size[0], usual[0]
		}
		if c.model = p.config.Scene.Model(BoxModel); c.model == nil {
			return fmt.Errorf("%w: model %q: the scene has no such model, and no box either: %s", world.ErrUnknownActor, s.Model, whichModels)
		}
		c.as.Parts = scaled(c.model, size, tagOf(s.Model))
		c.guest.boxed = s.Model != BoxModel
		c.guest.offset = s.Reference.InBox(size).Mul(-1)
		return nil
	} else if longer != 1 {
		c.as.Stretch = longer
		box.Center[0] *= longer
	}
	c.guest.joints = c.model.Joints
	// The middles of both undersides are one.
	underside := mgl64.Vec3{box.Center[0], box.Center[1], box.Center[2] - box.Half[2]}
	c.guest.offset = s.Reference.InBox(size).Add(underside).Mul(-1)
	return nil
}

// mostStretch is how much longer or shorter than its model an actor may be and still look like it.
const mostStretch = 1.3

// stretchOf returns how many times as long as its model an actor is. People keep their shape: they are told by the
// room that they take. So does what differs by a centimetre.
func stretchOf(model string, length, own float64) float64 {
	if strings.HasPrefix(model, "walker.") || math.Abs(length-own) <= 0.01 {
		return 1
	}
	return length / own
}

// scaled returns the parts of a model of a metre's size at another size.
func scaled(model *scene.Actor, size mgl64.Vec3, tag scene.Tag) []scene.Part {
	parts := slices.Clone(model.Parts)
	scale := mgl64.Scale3D(size[0], size[1], size[2])
	for i := range parts {
		at := scale.Mul4(parts[i].Local)
		parts[i].Tag, parts[i].Local, parts[i].Joints = tag, at, func(simtime.Stamp) mgl64.Mat4 { return at }
	}
	return parts
}

// tagOf returns the semantic tag of a box that stands for a model.
func tagOf(model string) scene.Tag {
	for _, known := range []struct {
		prefix string
		tag    scene.Tag
	}{
		{"vehicle.truck", scene.TagTruck}, {"vehicle.bus", scene.TagBus}, {"vehicle.motorcycle", scene.TagMotorcycle},
		{"vehicle.bicycle", scene.TagBicycle}, {"vehicle.train", scene.TagTrain}, {"vehicle.", scene.TagCar}, {"walker.", scene.TagPedestrian},
		{"static.", scene.TagStatic},
	} {
		if strings.HasPrefix(model, known.prefix) {
			return known.tag
		}
	}
	return scene.TagDynamic
}

// planMove plans where somebody is at the step's end.
func (p *Pipeline) planMove(a *world.Actor, until simtime.Stamp) error {
	w := &p.guests
	to, err := waypoint(&a.State, until)
	if err != nil {
		return err
	}
	if a.Handle == 0 {
		for i := range w.plan.come {
			c := &w.plan.come[i]
			if c.guest.name != a.Name || a.Name == "" {
				continue
			}
			if c.then != nil {
				return world.ErrDuplicate
			}
			if err := c.guest.checkJoints(&a.State); err != nil {
				return err
			}
			c.then = &a.State
			return nil
		}
	}
	g, err := w.find(a.Ref)
	switch {
	case err != nil:
		return err
	case g.told == w.frame:
		return world.ErrDuplicate
	}
	if err := g.checkJoints(&a.State); err != nil {
		return err
	}
	g.told = w.frame
	w.plan.move = append(w.plan.move, moving{g, to, &a.State})
	return nil
}

// planSignal plans what a traffic light shows.
func (p *Pipeline) planSignal(s *world.Signal) error {
	plan := &p.guests.plan
	light, ok := p.history.Light(s.Handle, s.Name)
	switch {
	case !ok:
		return p.unknownSignal(s.Ref)
	case !s.State.Known():
		return fmt.Errorf("%w: %v", world.ErrValue, s.State)
	case slices.ContainsFunc(plan.shows, func(other showing) bool { return other.light == light }):
		return world.ErrDuplicate
	}
	plan.shows = append(plan.shows, showing{light, scene.SignalState(s.State)})
	return nil
}

// listedLights is how many traffic lights an error lists.
const listedLights = 20

// unknownSignal is the error for a traffic light that isn't there. It lists those that are, one of each actor.
func (p *Pipeline) unknownSignal(ref world.Ref) error {
	var names, known []string
	for i := range p.config.Scene.Signals {
		l := &p.config.Scene.Signals[i]
		if first, _ := p.history.Light(l.ID, ""); first != i {
			continue
		}
		names = append(names, l.Name)
		known = append(known, strings.TrimSpace(fmt.Sprintf("%s (id %d)", l.Name, l.ID)))
	}
	if known == nil {
		return fmt.Errorf("%w: the scene has none", world.ErrUnknownSignal)
	}
	text := "there are "
	if near := fault.Closest(ref.Name, names); ref.Handle == 0 && near != "" {
		text = "did you mean " + near + "? There are "
	}
	text += strings.Join(known[:min(len(known), listedLights)], ", ")
	if more := len(known) - listedLights; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%w: %s", world.ErrUnknownSignal, text)
}

// checkJoints says what is wrong with a state's values of joints. A box that stands for a model has
// none of them, and takes any.
func (g *guest) checkJoints(s *world.State) error {
	if named := len(s.JointNames); named > 0 && named != len(s.Joints) {
		return fmt.Errorf("%w: %s and %s of joints", world.ErrValue, fault.Count(len(s.Joints), "value"), fault.Count(named, "name"))
	}
	if len(s.Joints) > len(g.joints) && !g.boxed {
		return fmt.Errorf("%w: %s, the model has %s", world.ErrUnknownJoint, fault.Count(len(s.Joints), "value"), fault.Count(len(g.joints), "joint"))
	}
	for k, value := range s.Joints {
		if !(math.Abs(value) <= mostTurned) {
			return fmt.Errorf("%w: value %d of joints is %v, the range is %v to %v", world.ErrValue, k, value, -mostTurned, mostTurned)
		}
		if g.joint(s, k) < 0 && !g.boxed {
			return fmt.Errorf("%w: %q: want %s", world.ErrUnknownJoint, s.JointNames[k], strings.Join(g.jointNames(), ", "))
		}
	}
	return nil
}

func (g *guest) jointNames() (names []string) {
	for _, j := range g.joints {
		names = append(names, j.Name)
	}
	return names
}

// joint returns which joint a state's value is of, -1 for one that the model doesn't have.
func (g *guest) joint(s *world.State, value int) int {
	if len(s.JointNames) == 0 {
		return value
	}
	return slices.IndexFunc(g.joints, func(j scene.Joint) bool { return j.Name == s.JointNames[value] })
}

// lead moves a guest to where a state has it, and its joints.
func (g *guest) lead(from, to scene.Waypoint, s *world.State) {
	g.motion.Lead(from, to)
	for k, value := range s.Joints {
		if joint := g.joint(s, k); !g.boxed {
			g.motion.Turn(joint, value)
		}
	}
}

// waypoint checks a state and returns it.
func waypoint(s *world.State, at simtime.Stamp) (scene.Waypoint, error) {
	w := scene.Waypoint{
		Stamp: at, Pose: s.Pose, Velocity: s.Velocity, AngularVelocity: s.AngularVelocity,
		VelocityKnown: s.VelocityKnown, AngularVelocityKnown: s.AngularVelocityKnown, Lamps: scene.Lamps(s.Lights),
	}
	if !s.VelocityKnown {
		w.Velocity = mgl64.Vec3{}
	}
	if !s.AngularVelocityKnown {
		w.AngularVelocity = mgl64.Vec3{}
	}
	for _, v := range [...]struct {
		what string
		v    mgl64.Vec3
	}{{"position", w.Pose.Position}, {"velocity", w.Velocity}, {"angular velocity", w.AngularVelocity}} {
		if err := near(v.what, v.v); err != nil {
			return w, err
		}
	}
	length := w.Pose.Orientation.Len()
	if !(length > 1e-6) || math.IsInf(length, 0) {
		q := w.Pose.Orientation
		return w, fmt.Errorf("%w: orientation [%v %v %v %v] has no direction", world.ErrValue, q.V[0], q.V[1], q.V[2], q.W)
	}
	w.Pose.Orientation = w.Pose.Orientation.Scale(1 / length)
	return w, nil
}

// farthest is how far anything may be from the map's origin, along each axis, in metres: as in files. It bounds
// sizes and velocities, too.
const farthest = 1e7

// mostTurned bounds values of joints, radians or metres: wheels turn on and on.
const mostTurned = 1e9

// near refuses what is too far away, too large, or not a number.
func near(what string, v mgl64.Vec3) error {
	for _, x := range v {
		if !(math.Abs(x) <= farthest) {
			return fmt.Errorf("%w: %s is %v, the range is %v to %v", world.ErrValue, what, x, -farthest, farthest)
		}
	}
	return nil
}

// apply does what check has planned. Nothing of it can fail. The pipeline's moving must be held.
func (p *Pipeline) apply(f *world.Frame, now simtime.Stamp, result *StepResult) {
	w := &p.guests
	for _, g := range w.plan.leave {
		if f.AtEnd {
			g.motion.Coast(now, f.Until)
			_ = p.history.RemoveAt(g.actor.ID, f.Until) // it is there
		} else {
			_ = p.history.Remove(g.actor.ID)
		}
		w.forget(g)
	}
	stayed := len(w.plan.move) < len(w.guests)
	for i := range w.plan.come {
		p.applySpawn(&w.plan.come[i], f, result)
	}
	for i := range w.plan.move {
		m := &w.plan.move[i]
		m.guest.onGround = m.guest.onGround && !m.state.HeightKnown
		from := m.guest.motion.At(now)
		to := p.placed(m.guest, m.to, &from)
		if m.state.Jump || !m.guest.ability.reaches(m.guest.motion, &from, &to) {
			_ = p.history.Jumped(m.guest.actor.ID) // it is there
			to = p.placed(m.guest, m.to, nil)
			from = to
		}
		m.guest.lead(from, to, m.state)
	}
	if stayed {
		for _, g := range w.guests {
			if g.told != w.frame {
				g.motion.Stand(now, f.Until)
			}
		}
	}
	for _, s := range w.plan.shows {
		p.history.SetSignal(s.light, s.state)
	}
	p.applyEgo(f, now)
	w.most = max(w.most, len(w.guests))
	w.steps++
	clear(w.plan.come) // the frame is the caller's
	clear(w.plan.move)
}

// applySpawn lets an actor come.
func (p *Pipeline) applySpawn(c *coming, f *world.Frame, result *StepResult) {
	w, g := &p.guests, c.guest
	at := p.placed(g, c.at, nil)
	stays := at
	stays.Stamp = f.Until
	g.lead(stays, stays, c.first)
	if c.then != nil {
		to, _ := waypoint(c.then, f.Until) // it was checked
		g.onGround = g.onGround && !c.then.HeightKnown
		g.lead(at, p.placed(g, to, &at), c.then)
	}
	if f.AtEnd {
		c.as.Since = f.Until
	}
	g.actor, _ = p.history.SpawnActor(c.model, c.as, g.motion) // the room was counted
	g.name = g.actor.Name
	w.guests[g.actor.ID] = g
	if c.as.Name != "" || w.names[g.name] == nil { // a name of its model and a number may be another's
		w.names[g.name] = g
	}
	result.Spawned = append(result.Spawned, g.actor.ID)
	if g.boxed {
		p.tellOfBox(c)
		if !slices.Contains(result.Boxed, c.as.TypeID) {
			result.Boxed = append(result.Boxed, c.as.TypeID)
		}
	}
}

// Bounds of what is told of boxes that stand for a model.
const (
	toldBoxes  = 20      // models
	knownBoxes = 4 << 10 // models that are told apart
)

// tellOfBox tells once of each model that a box stands for. If they are many it tells their number now and then: a client
// may make up names without end.
func (p *Pipeline) tellOfBox(c *coming) {
	w := &p.guests
	key := fmt.Sprintf("%.256s", c.as.TypeID)
	if _, known := w.boxes[key]; known || len(w.boxes) == knownBoxes {
		return
	}
	w.boxes[key] = struct{}{}
	attributes := []any{"model", key, "actor", fmt.Sprintf("%.256s", c.guest.name)}
	switch {
	case len(w.boxes) > toldBoxes:
		if more, ok := w.boxLines.Tell(time.Now()); ok {
			p.log.Warn("further models of actors are boxes, too", append(attributes, "models", len(w.boxes), "more", more)...)
		}
	case c.misfit > 0:
		p.log.Warn("an actor is much longer or shorter than its model, so that it is a box", append(attributes, "length", c.length, "model_length", c.misfit)...)
	default:
		p.log.Warn("the model of an actor is not known, so that it is a box: "+whichModels, attributes...)
	}
}

// placed returns the waypoint of an actor's origin, given its reference point's. Where its angular velocity isn't
// known it turns as since another, which may be nil.
func (p *Pipeline) placed(g *guest, at scene.Waypoint, since *scene.Waypoint) scene.Waypoint {
	arm, spin := at.Pose.Rotate(g.offset), at.AngularVelocity
	if !at.AngularVelocityKnown && since != nil && at.Stamp > since.Stamp {
		spin = world.SpinBetween(since.Pose.Orientation, at.Pose.Orientation, at.Stamp-since.Stamp)
	}
	at.Pose.Position = at.Pose.Position.Add(arm)
	at.Velocity = at.Velocity.Add(spin.Cross(arm))
	if g.onGround {
		x := at.Pose.Position
		if z, ok := p.world.Ground(x[0], x[1], x[2]); ok {
			at.Pose.Position[2] = z
		}
	}
	p.tellFar(at.Pose.Position)
	return at
}

// coarse is the grain of the scene's numbers beyond which users are told, metres: it is more than
// 65 km away.
const coarse = 1.0 / 256

// tellFar warns, once, of a place that frames put far from the scene.
func (p *Pipeline) tellFar(at mgl64.Vec3) {
	w := &p.guests
	if grain := p.world.Grain(at); !w.far && grain > coarse {
		w.far = true
		p.log.Warn(fmt.Sprintf("(%.0f, %.0f, %.0f) is far from the scene, so that ranges and pictures are only exact to %s m there: "+
			"put the scene where the world is, such as a plane by scene.offset", at[0], at[1], at[2], fault.Number(grain, 2)))
	}
}

// applyEgo moves the vehicle that carries the sensors, if the frame does.
func (p *Pipeline) applyEgo(f *world.Frame, now simtime.Stamp) {
	w := &p.guests
	if f.Ego == nil {
		if w.ego != nil {
			w.ego.Stand(now, f.Until) // where the last frame put it
		}
		return
	}
	to, _ := waypoint(f.Ego, f.Until) // it was checked
	if w.ego == nil {
		own := worldState(p.egoAt(now))
		at, _ := waypoint(&own, now)
		w.ego = &scene.Guided{}
		w.ego.Lead(at, at)
		_ = p.history.SetMotion(scene.EgoID, w.ego) // the ego is there
	}
	p.tellFar(to.Pose.Position)
	from := w.ego.At(now)
	if f.Ego.Jump || !egoAbility.reaches(w.ego, &from, &to) {
		from = to
	}
	w.ego.Lead(from, to)
}

// WorldSummary is what came from outside.
type WorldSummary struct {
	Kind   string `json:"kind,omitempty"`
	Frames int64  `json:"frames"`
	Gaps   int64  `json:"gaps"`
	Actors struct {
		Now  int `json:"now"`
		Most int `json:"most"`
	} `json:"actors"`
}

// worldSummary returns what frames brought, nil before the first.
func (p *Pipeline) worldSummary() *WorldSummary {
	p.moving.Lock()
	defer p.moving.Unlock()
	w := &p.guests
	if w.steps == 0 && w.followed == "" {
		return nil
	}
	s := &WorldSummary{Kind: w.followed, Frames: w.steps, Gaps: w.gaps.Load()}
	s.Actors.Now, s.Actors.Most = len(w.guests), w.most
	return s
}
