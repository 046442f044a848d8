package simtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Errors of a Clock's methods.
var (
	// ErrBackward says that Advance was given a time before the clock's.
	ErrBackward = errors.New("time would go back")
	// ErrAhead says that Advance was given a time that the clock has not come to.
	ErrAhead = errors.New("time is not yet there")
	// ErrNotSteppable says that the time source is driven from outside and can't
	// be stepped.
	ErrNotSteppable = errors.New("time source can't be stepped")
	// ErrNotPaused says that Step was called while time was running.
	ErrNotPaused = errors.New("clock is not paused")
	// ErrNotSettable says that Set was called with another source than ss2.
	ErrNotSettable = errors.New("time source can't be set")
	// ErrDuration says that a step is zero or negative, or a time to set is not
	// a valid one.
	ErrDuration = errors.New("invalid duration or time")
	// ErrJumped says that the clock jumped during WaitUntil, so that the instant
	// waited for may have lost its meaning.
	ErrJumped = errors.New("clock jumped")
)

// Config configures a Clock. The zero value is the engine's clock in real time.
type Config struct {
	// Source names the time source, see ParseSource. (optional; default engine)
	Source string
	// Scale is the time scale. (optional; default RealTime, also for zero: what
	// starts at a standstill is paused)
	Scale Scale
	// Stepped detaches the clock from the host: only Advance moves it, as far as
	// its caller likes. The sources ss2 and ros2 can't be stepped.
	Stepped bool
	// ROSClock is what the ros2 source follows, in nanoseconds; Clock.FollowROS
	// changes it. (optional; default the time since the UNIX epoch)
	ROSClock func() Stamp
	// Sources are further sources by name, in any case of letters; each function
	// makes a new one, when it is selected. (optional)
	Sources map[string]func() Source
	// JumpLimit is for a source that is set or follows another clock. It says how far the
	// source may get ahead of the host's clock between two readings before that counts as a
	// jump. (optional; default 1 s)
	JumpLimit time.Duration
}

// Clock is the one simulation clock of a run (law T1). It gives int64 nanoseconds from a Source
// that can be changed while it runs, with scale, pause and step. All methods may be called from
// any goroutine.
//
// Readers never see time go back, nor move on while paused, except across a
// change that subscribers are told of.
type Clock struct {
	cfg   Config
	start time.Time

	mu sync.RWMutex
	// All below is guarded by mu.
	name     string
	source   Source
	scale    Scale
	paused   bool
	holds    int      // see Hold
	frozen   Stamp    // the time shown while it stands, unless the source is a Scaler
	limit    Stamp    // how far Advance may go when stepped
	steps    interval // what Step last moved a clock on by, unless it is stepped
	last     Stamp    // the last reading, for sources that may jump
	lastHost int64    // host time of that reading
	jumps    uint64
	waiting  []chan struct{} // of those in WaitUntil
	spare    []chan struct{} // of those who have waited
	watchers []*watcher
	pending  []Change // not yet delivered
	telling  bool     // a goroutine is delivering
}

// NewClock returns a running clock. Errors wrap ErrUnknownSource, ErrBadSource, or
// ErrNotSteppable for a stepped clock on a source from outside. A clock holds
// no resources and needs no end.
func NewClock(cfg Config) (*Clock, error) {
	if err := checkSources(cfg.Sources); err != nil {
		return nil, fmt.Errorf("make clock: %w", err)
	}
	if cfg.Source == "" {
		cfg.Source = Engine
	}
	if cfg.Scale.IsZero() {
		cfg.Scale = RealTime
	}
	if cfg.JumpLimit <= 0 {
		cfg.JumpLimit = time.Second
	}
	c := &Clock{cfg: cfg, start: time.Now(), scale: cfg.Scale, limit: math.MaxInt64, steps: noInterval}
	if c.cfg.ROSClock == nil {
		c.cfg.ROSClock = c.unixTime
	}
	name, source, err := c.makeSource(cfg.Source)
	if err != nil {
		return nil, fmt.Errorf("make clock: %w", err)
	}
	c.name, c.source = name, source
	c.noteLocked(source.Now())
	return c, nil
}

// host returns monotonic host time in nanoseconds.
func (c *Clock) host() int64 { return int64(time.Since(c.start)) }

// unixTime is the host's time since the UNIX epoch, monotonic from the clock's start on. So a
// correction of the host's clock doesn't move simulation time.
func (c *Clock) unixTime() Stamp { return Stamp(c.start.UnixNano() + c.host()) }

// makeSource makes a source as if just started; mu must be held unless c is not
// yet shared.
func (c *Clock) makeSource(name string) (string, Source, error) {
	name, err := resolveSource(name, c.cfg.Sources)
	if err != nil {
		return "", nil, err
	}
	scale := c.sourceScaleLocked()
	var source Source
	switch name {
	case Engine:
		source = newEngine(c.host, scale)
	case SS2:
		source = &external{}
	case System:
		source = newRunning(c.host, c.unixTime(), scale)
	case Simulation:
		source = newRunning(c.host, 0, scale)
	case ROS2:
		source = &following{ask: c.cfg.ROSClock}
	default:
		if source = c.cfg.Sources[name](); source == nil {
			return "", nil, fmt.Errorf("%w %q: its function made none", ErrBadSource, name)
		}
		if scaler, ok := source.(Scaler); ok {
			scaler.SetScale(scale)
		}
	}
	if _, ok := source.(Stepper); c.cfg.Stepped && !ok {
		return "", nil, fmt.Errorf("%w: %s is driven from outside", ErrNotSteppable, name)
	}
	return name, source, nil
}

// sourceScaleLocked is the scale at which a Scaler has to run now.
func (c *Clock) sourceScaleLocked() Scale {
	if c.stoppedLocked() || c.cfg.Stepped {
		return Scale{}
	}
	return c.scale
}

// Now returns the simulation time in nanoseconds. For the engine it is where
// the loop is.
func (c *Clock) Now() Stamp {
	if now, ok := c.readWithOthers(); ok {
		return now
	}
	c.mu.Lock()
	defer c.unlockAndTell()
	return c.observeLocked()
}

// readWithOthers reads the time together with other readers; false where that
// might miss a jump.
func (c *Clock) readWithOthers() (now Stamp, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.steadyLocked() {
		return 0, false
	}
	return c.readLocked(), true
}

// steadyLocked reports whether the source is one that readers can share, and that
// jumps only when it is told to.
func (c *Clock) steadyLocked() bool {
	switch c.source.(type) {
	case *engine, *running, *external:
		return true
	}
	return false
}

// readLocked returns the time to show, without looking for jumps.
func (c *Clock) readLocked() Stamp {
	if c.stoppedLocked() && !c.followsPauseLocked() {
		return c.frozen
	}
	return c.source.Now()
}

func (c *Clock) followsPauseLocked() bool {
	_, ok := c.source.(Scaler)
	return ok
}

// observeLocked reads the time and records a jump of the source itself. mu must
// be held for writing.
func (c *Clock) observeLocked() Stamp {
	now := c.readLocked()
	if c.steadyLocked() {
		return now
	}
	if !c.stoppedLocked() && c.jumpsLocked(now) {
		c.recordLocked(Change{Kind: Jumped, From: c.last, To: now})
	}
	c.noteLocked(now)
	return now
}

// jumpsLocked reports whether a source that shows now has jumped since the time last noted. It
// has gone back, or is ahead of what the host's clock, and the scale if it follows that,
// account for.
func (c *Clock) jumpsLocked(now Stamp) bool {
	passed := c.host() - c.lastHost
	if _, ok := c.source.(Scaler); ok {
		passed = c.sourceScaleLocked().Apply(passed)
	}
	return now < c.last || int64(now-c.last)-int64(c.cfg.JumpLimit) > passed
}

func (c *Clock) noteLocked(now Stamp) { c.last, c.lastHost = now, c.host() }

// Pace returns how far the loop may Advance. For the engine that is the time that the host's
// clock and the scale have come to, for other sources Now. A stepped clock has no limit until
// it is paused.
func (c *Clock) Pace() Stamp {
	c.mu.Lock()
	defer c.unlockAndTell()
	return c.paceLocked()
}

// paceLocked is Pace; mu must be held for writing.
func (c *Clock) paceLocked() Stamp {
	if c.cfg.Stepped {
		return c.limit
	}
	if e, ok := c.source.(*engine); ok {
		return e.pace.Now()
	}
	return c.observeLocked()
}

// Advance tells the clock that the loop has reached the simulation time to. The
// engine's time, and any source's on a stepped clock, becomes exactly that; other
// sources run by themselves. The error wraps ErrBackward if to is before Now,
// ErrAhead if it is beyond Pace.
func (c *Clock) Advance(to Stamp) error {
	c.mu.Lock()
	defer c.unlockAndTell()
	now, pace := c.observeLocked(), c.paceLocked()
	e, isEngine := c.source.(*engine)
	switch {
	case to > pace:
		return fmt.Errorf("advance clock to %d ns: %w: %d ns", to, ErrAhead, pace)
	case !isEngine && !c.cfg.Stepped:
		return nil
	case to < now:
		return fmt.Errorf("advance clock to %d ns: %w: it is %d ns", to, ErrBackward, now)
	case isEngine:
		e.time = to
	default:
		c.source.(Stepper).Step(int64(to - now))
		c.noteLocked(to)
	}
	return nil
}

// State is what a Clock shows at one instant.
type State struct {
	Now    Stamp  // simulation time
	Source string // name of the source
	Scale  Scale
	Paused bool
}

// State returns all of the clock's state, read at once.
func (c *Clock) State() State {
	c.mu.Lock()
	s := State{Now: c.observeLocked(), Source: c.name, Scale: c.scale, Paused: c.paused}
	c.unlockAndTell()
	return s
}

// Source returns the name of the current source.
func (c *Clock) Source() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.name
}

// Scale returns the time scale, which a pause doesn't change.
func (c *Clock) Scale() Scale {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.scale
}

// Paused reports whether the clock was paused; a Hold doesn't count.
func (c *Clock) Paused() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.paused
}

// ChangeKind says what changed in a Clock.
type ChangeKind uint8

// The kinds of change.
const (
	SourceChanged ChangeKind = iota + 1
	Jumped                   // the source's own time jumped
	ScaleChanged
	Paused
	Resumed
	Stepped
)

var changeNames = [...]string{
	SourceChanged: "source changed", Jumped: "jumped", ScaleChanged: "scale changed",
	Paused: "paused", Resumed: "resumed", Stepped: "stepped",
}

// String returns the kind in words.
func (k ChangeKind) String() string {
	if int(k) < len(changeNames) && changeNames[k] != "" {
		return changeNames[k]
	}
	return "unknown change"
}

// Change tells subscribers what happened to a Clock.
type Change struct {
	Kind ChangeKind
	// Source and Scale are the clock's after the change.
	Source string
	Scale  Scale
	// From and To are simulation time, in nanoseconds, before and after the change's instant.
	// They are equal if time continued without a gap.
	From, To Stamp
}

// Jump reports whether simulation time has a gap or went back here, so that what was planned by
// it has to be planned again. A step isn't a jump.
func (c Change) Jump() bool { return c.Kind != Stepped && c.From != c.To }

// Jumps returns how often the clock has jumped (Change.Jump), and checks whether its source has
// just done so. Two readings of the clock between which the number stays the same lie on one
// line of time. Subscribers may be told of a jump later than that.
func (c *Clock) Jumps() uint64 {
	c.mu.Lock()
	defer c.unlockAndTell()
	c.observeLocked()
	return c.jumps
}

type watcher struct{ notify func(Change) }

// Subscribe calls notify for every change from now on, in their order and one at a time. It
// runs on the goroutine that made the change or noticed the jump, or on another that is telling
// an earlier change. notify may call the Clock's methods. cancel ends the subscription; a call
// under way may still finish after it. A nil notify is told of nothing.
func (c *Clock) Subscribe(notify func(Change)) (cancel func()) {
	if notify == nil {
		return func() {}
	}
	w := &watcher{notify}
	c.mu.Lock()
	c.watchers = append(slices.Clone(c.watchers), w)
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watchers = slices.DeleteFunc(slices.Clone(c.watchers), func(other *watcher) bool { return other == w })
	}
}

// recordLocked queues a change for the subscribers and wakes WaitUntil;
// unlockAndTell delivers it.
func (c *Clock) recordLocked(change Change) {
	change.Source, change.Scale = c.name, c.scale
	if change.Jump() {
		c.jumps++
		c.steps = noInterval
	}
	c.pending = append(c.pending, change)
	c.announceLocked()
}

// announceLocked wakes those who wait in WaitUntil.
func (c *Clock) announceLocked() {
	for _, changed := range c.waiting {
		select {
		case changed <- struct{}{}:
		default: // it has one to see yet
		}
	}
}

// unlockAndTell unlocks mu and delivers the pending changes, unless another
// goroutine, or a caller further up in this one, is doing so already.
func (c *Clock) unlockAndTell() {
	if c.telling || len(c.pending) == 0 {
		c.mu.Unlock()
		return
	}
	c.telling = true
	defer func() {
		c.telling = false
		c.mu.Unlock()
	}()
	for len(c.pending) > 0 {
		change := c.pending[0]
		c.pending = slices.Delete(c.pending, 0, 1)
		c.tellUnlocked(change, c.watchers)
	}
}

// tellUnlocked delivers one change with mu released, and locks it again even if
// a subscriber panics.
func (c *Clock) tellUnlocked(change Change, watchers []*watcher) {
	c.mu.Unlock()
	defer c.mu.Lock()
	for _, w := range watchers {
		w.notify(change)
	}
}

// SetScale changes the time scale from this instant on (law T2). Scale zero is
// refused with an error that wraps ErrScale: that is what Pause is for. Sources
// from outside don't follow it.
func (c *Clock) SetScale(scale Scale) error {
	if scale.IsZero() {
		return fmt.Errorf("set time scale: %w: 0 (use pause)", ErrScale)
	}
	c.mu.Lock()
	defer c.unlockAndTell()
	c.observeLocked() // what passed until now did so at the old scale
	c.scale = scale
	if scaler, ok := c.source.(Scaler); ok {
		scaler.SetScale(c.sourceScaleLocked())
	}
	now := c.observeLocked()
	c.recordLocked(Change{Kind: ScaleChanged, From: now, To: now})
	return nil
}

// Pause stops time at this instant (law T2), whatever the source. Pausing a
// paused clock does nothing.
func (c *Clock) Pause() {
	c.mu.Lock()
	defer c.unlockAndTell()
	if !c.paused {
		now := c.stopLocked()
		c.paused = true
		c.recordLocked(Change{Kind: Paused, From: now, To: now})
	}
}

// Resume lets time continue from where it stands; a source from outside, which did not stand,
// jumps to its own time. Resuming a running clock does nothing.
func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.unlockAndTell()
	if c.paused {
		from := c.readLocked()
		c.paused = false
		c.recordLocked(Change{Kind: Resumed, From: from, To: c.continueLocked(from)})
	}
}

// Steppable returns the error that Step would return now, other than for a duration.
func (c *Clock) Steppable() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.steppableLocked()
}

func (c *Clock) steppableLocked() error {
	if !c.paused {
		return ErrNotPaused
	}
	if _, ok := c.source.(Stepper); !ok {
		return fmt.Errorf("%w: %s is driven from outside", ErrNotSteppable, c.name)
	}
	return nil
}

// Step moves a paused clock on by d nanoseconds. The engine's loop may then
// Advance that far; other sources' time changes at once. Errors wrap
// ErrNotPaused, ErrNotSteppable for a source from outside, or ErrDuration.
func (c *Clock) Step(d int64) error {
	c.mu.Lock()
	defer c.unlockAndTell()
	from := c.paceLocked()
	if err := c.steppableLocked(); err != nil {
		return fmt.Errorf("step clock: %w", err)
	}
	if d <= 0 || from > math.MaxInt64-Stamp(d) {
		return fmt.Errorf("step clock: %w: %d ns", ErrDuration, d)
	}
	if c.cfg.Stepped {
		c.limit += Stamp(d)
	} else {
		c.source.(Stepper).Step(d)
		c.steps.extend(from, from+Stamp(d))
	}
	c.recordLocked(Change{Kind: Stepped, From: from, To: from + Stamp(d)})
	return nil
}

// Halt has a paused clock stay where it is: what Step moved it on by, and the loop has not come to,
// is given up. The time of sources other than the engine has changed already, unless the clock
// is stepped. A running clock is left alone.
func (c *Clock) Halt() {
	c.mu.Lock()
	defer c.unlockAndTell()
	if !c.paused {
		return
	}
	if c.cfg.Stepped {
		c.limit = c.readLocked()
		return
	}
	if e, ok := c.source.(*engine); ok {
		e.pace.Step(int64(e.time - e.pace.Now()))
		c.steps.to = min(c.steps.to, e.time)
	}
}

// Select changes to another source, which starts at its start value; selecting
// the current one does nothing. Errors wrap ErrUnknownSource, or ErrNotSteppable
// for a source from outside on a stepped clock; then the source stays.
func (c *Clock) Select(name string) error {
	c.mu.Lock()
	defer c.unlockAndTell()
	resolved, err := resolveSource(name, c.cfg.Sources)
	if err == nil && resolved == c.name {
		return nil
	}
	return c.beginLocked(name, SourceChanged)
}

// Restart lets the source begin again at its start value, as it was when it was made. That is 0 of
// the engine and the simulation; what comes from outside shows its own time. A pause and the scale
// stay. The error is Select's, of a program's own source that can't be made again.
func (c *Clock) Restart() error {
	c.mu.Lock()
	defer c.unlockAndTell()
	return c.beginLocked(c.name, Jumped)
}

// beginLocked makes a source and shows its time, a change of a kind.
func (c *Clock) beginLocked(name string, kind ChangeKind) error {
	resolved, source, err := c.makeSource(name)
	if err != nil {
		return fmt.Errorf("select time source: %w", err)
	}
	from := c.readLocked()
	c.name, c.source = resolved, source
	c.noteLocked(source.Now())
	c.frozen, c.steps = c.last, noInterval
	if c.cfg.Stepped && c.stoppedLocked() {
		c.limit = c.last
	}
	c.recordLocked(Change{Kind: kind, From: from, To: c.last})
	return nil
}

// StampOf returns the stamp of sec seconds and nanosec nanoseconds. A nanosec of a second or more, as
// rounding makes it, counts on top. The error wraps ErrDuration for a time that is negative or too large.
func StampOf(sec int64, nanosec uint32) (Stamp, error) {
	if sec < 0 || sec >= math.MaxInt64/second-int64(nanosec/second) {
		return 0, fmt.Errorf("%w: %d s %d ns", ErrDuration, sec, nanosec)
	}
	return Stamp(sec*second + int64(nanosec)), nil
}

// Set sets the time of the ss2 source to sec seconds and nanosec nanoseconds,
// both at once. A step back, or one beyond the jump limit, is a jump. While
// paused, the time is shown after Resume. Errors wrap ErrNotSettable for another
// source, or ErrDuration for what StampOf refuses.
func (c *Clock) Set(sec int64, nanosec uint32) error {
	to, err := StampOf(sec, nanosec)
	if err != nil {
		return fmt.Errorf("set time: %w", err)
	}
	c.mu.Lock()
	defer c.unlockAndTell()
	source, ok := c.source.(*external)
	if !ok {
		return fmt.Errorf("set time: %w: the source is %s, not %s", ErrNotSettable, c.name, SS2)
	}
	from := source.time
	source.time = to
	if c.stoppedLocked() {
		return nil
	}
	if c.jumpsLocked(to) {
		c.recordLocked(Change{Kind: Jumped, From: from, To: to})
	}
	c.noteLocked(to)
	c.announceLocked()
	return nil
}

// FollowROS makes the ros2 source follow the given clock, in nanoseconds, from
// now on; nil stands for the time since the UNIX epoch. The function is called
// with the clock's lock held and must not call the Clock.
func (c *Clock) FollowROS(clock func() Stamp) {
	c.mu.Lock()
	defer c.unlockAndTell()
	if clock == nil {
		clock = c.unixTime
	}
	c.cfg.ROSClock = clock
	if source, ok := c.source.(*following); ok {
		source.ask = clock
		c.observeLocked()
	}
}

// Hold makes time stand still until release is called, whatever Pause and Resume do meanwhile.
// A pipeline holds the clock between its runs, and finds a pause that its user made before a
// run still there. Several holders each have their own; calling release again does nothing.
//
// Paused doesn't tell of it. No Change does, except one of the kind Jumped at the end if a
// source from outside continued by itself.
func (c *Clock) Hold() (release func()) {
	c.mu.Lock()
	defer c.unlockAndTell()
	c.stopLocked()
	c.holds++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.unlockAndTell()
		from := c.readLocked()
		c.holds--
		if to := c.continueLocked(from); to != from {
			c.recordLocked(Change{Kind: Jumped, From: from, To: to})
		} else {
			c.announceLocked()
		}
	})
}

// stoppedLocked reports whether time stands still.
func (c *Clock) stoppedLocked() bool { return c.paused || c.holds > 0 }

// stopLocked makes time stand from this instant on, if it doesn't yet, and
// returns where.
func (c *Clock) stopLocked() Stamp {
	if c.stoppedLocked() {
		return c.readLocked()
	}
	if scaler, ok := c.source.(Scaler); ok {
		scaler.SetScale(Scale{})
	}
	now := c.observeLocked()
	c.frozen = now
	if c.cfg.Stepped {
		c.limit = now
	}
	if e, ok := c.source.(*engine); ok {
		e.pace.Step(int64(now - e.pace.Now())) // what the loop had not yet reached waits
	}
	return now
}

// continueLocked lets the time, which stood at from, continue, unless something else makes it
// stand, and returns the time after that. A source from outside did not stand.
func (c *Clock) continueLocked(from Stamp) Stamp {
	if c.stoppedLocked() {
		return from
	}
	if c.cfg.Stepped {
		c.limit = math.MaxInt64
	}
	if scaler, ok := c.source.(Scaler); ok {
		scaler.SetScale(c.sourceScaleLocked())
		c.noteLocked(from)
		return from
	}
	c.noteLocked(c.source.Now())
	return c.last
}

// interval is the simulation time after from, up to and including to.
type interval struct{ from, to Stamp }

// noInterval contains no time.
var noInterval = interval{math.MinInt64, math.MinInt64}

// extend makes i reach to `to`; if from isn't i's end, i begins again at from.
func (i *interval) extend(from, to Stamp) {
	if from != i.to {
		i.from = from
	}
	i.to = to
}

// Lag returns by how many nanoseconds a loop is late that is about to Advance to
// t: how far Pace is beyond it. What Step moved the clock on by makes no loop
// late, however much it is: see Stepping. A stepped clock has no lag.
func (c *Clock) Lag(t Stamp) int64 {
	c.mu.Lock()
	defer c.unlockAndTell()
	if c.cfg.Stepped {
		return 0
	}
	pace := c.paceLocked()
	if t <= c.steps.to {
		pace = min(pace, c.steps.from)
	}
	return int64(max(0, pace-t))
}

// Stepping reports whether Step moved the clock on to or past t, which it otherwise would not
// have come to. A loop visits every instant for which that holds, also if the clock was resumed
// meanwhile. On a stepped clock, whose loop visits all of them, it is false.
func (c *Clock) Stepping(t Stamp) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.steps.from < t && t <= c.steps.to
}

// pollLimit bounds the sleep on a source whose pace is not known.
const pollLimit = 10 * time.Millisecond

// WaitUntil waits until the loop may Advance to t, in nanoseconds of simulation
// time: until Pace is at t or beyond. It follows changes of scale, pauses and
// steps. The error wraps ErrJumped if the clock jumped meanwhile, or ctx's error
// if ctx ended.
func (c *Clock) WaitUntil(ctx context.Context, t Stamp) error {
	jumps, changed := c.wait()
	defer c.leave(changed)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for simulation time: %w", context.Cause(ctx))
		}
		left := c.remaining(t)
		switch {
		case left.jumps != jumps:
			return fmt.Errorf("wait for simulation time: %w", ErrJumped)
		case left.reached:
			return nil
		}
		waitChange(ctx, changed, left.sleep)
	}
}

// wait returns a channel that tells of every change from now on, up to leave, and the jumps up to now.
func (c *Clock) wait() (jumps uint64, changed chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.spare); n > 0 {
		changed, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		changed = make(chan struct{}, 1)
	}
	c.waiting = append(c.waiting, changed)
	return c.jumps, changed
}

func (c *Clock) leave(changed chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.waiting, changed)
	c.waiting = slices.Delete(c.waiting, at, at+1)
	select {
	case <-changed:
	default:
	}
	c.spare = append(c.spare, changed) // so that the next wait allocates nothing
}

// remaining is what keeps a waiting loop from an instant.
type remaining struct {
	reached bool
	sleep   time.Duration // until then; negative where only a change can bring it
	jumps   uint64        // of the clock until now
}

// remaining looks at the clock once.
func (c *Clock) remaining(t Stamp) (left remaining) {
	c.mu.Lock()
	defer c.unlockAndTell()
	left.sleep, left.reached = c.sleepLocked(t)
	left.jumps = c.jumps
	return left
}

// waitChange returns at a change, at the end of ctx, or after sleep if that is
// not negative.
func waitChange(ctx context.Context, changed <-chan struct{}, sleep time.Duration) {
	var elapsed <-chan time.Time
	if sleep >= 0 {
		timer := time.NewTimer(sleep)
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-elapsed:
	}
}

// pollAfter is how long to sleep before a source is asked again that promises to
// be there in so many nanoseconds.
func pollAfter(left int64) time.Duration {
	return max(time.Millisecond/2, min(time.Duration(left), pollLimit))
}

// sleepLocked reports whether the pace has reached t, else how long it will take;
// negative where only a change can bring it there.
func (c *Clock) sleepLocked(t Stamp) (sleep time.Duration, reached bool) {
	const never = -1
	pace := c.paceLocked()
	if pace >= t {
		return 0, true
	}
	if c.cfg.Stepped || c.stoppedLocked() {
		return never, false
	}
	known := false
	switch source := c.source.(type) {
	case *engine:
		sleep, known = source.pace.reach(t)
	case *running:
		sleep, known = source.reach(t)
	case *external:
	case Scaler:
		left, _ := mapping{scale: c.scale}.reaches(t - pace)
		sleep, known = pollAfter(left), true
	default:
		sleep, known = pollAfter(int64(t-pace)), true
	}
	if !known {
		return never, false
	}
	return max(0, sleep), false
}
