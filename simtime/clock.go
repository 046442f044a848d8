package simtime

import (
	"errors"
	"fmt"
	"math"
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
	ROSClock func() int64
	// Sources are further sources by name, in any case of letters; each function
	// makes a new one, when it is selected. (optional)
	Sources map[string]func() Source
	// JumpLimit is how far a source that is set or follows another clock may get
	// ahead of the host's clock between two readings before that counts as a
	// jump. (optional; default 1 s)
	JumpLimit time.Duration
}

// Clock is the one simulation clock of a run (law T1): int64 nanoseconds from a
// Source that can be changed while it runs, with scale, pause and step. All
// methods may be called from any goroutine.
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
	frozen   int64    // the time shown while it stands, unless the source is a Scaler
	limit    int64    // how far Advance may go when stepped
	steps    interval // what Step last moved a clock on by, unless it is stepped
	last     int64    // the last reading, for sources that may jump
	lastHost int64    // host time of that reading
	jumps    uint64
	changed  chan struct{} // closed, and replaced, at every change
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
	c := &Clock{cfg: cfg, start: time.Now(), scale: cfg.Scale, limit: math.MaxInt64, steps: noInterval, changed: make(chan struct{})}
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

// unixTime is the host's time since the UNIX epoch, monotonic from the clock's
// start on, so that a correction of the host's clock doesn't move simulation
// time.
func (c *Clock) unixTime() int64 { return c.start.UnixNano() + c.host() }

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
	if c.standsLocked() || c.cfg.Stepped {
		return Scale{}
	}
	return c.scale
}

// Now returns the simulation time in nanoseconds. For the engine it is where
// the loop is.
func (c *Clock) Now() int64 {
	if now, ok := c.readWithOthers(); ok {
		return now
	}
	c.mu.Lock()
	defer c.unlockAndTell()
	return c.observeLocked()
}

// readWithOthers reads the time together with other readers; false where that
// might miss a jump.
func (c *Clock) readWithOthers() (now int64, ok bool) {
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
func (c *Clock) readLocked() int64 {
	if c.standsLocked() && !c.followsPauseLocked() {
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
func (c *Clock) observeLocked() int64 {
	now := c.readLocked()
	if c.steadyLocked() {
		return now
	}
	if !c.standsLocked() && c.jumpsLocked(now) {
		c.recordLocked(Change{Kind: Jumped, From: c.last, To: now})
	}
	c.noteLocked(now)
	return now
}

// jumpsLocked reports whether a source that shows now has jumped since the time
// last noted: gone back, or ahead of what the host's clock, and the scale if it
// follows that, account for.
func (c *Clock) jumpsLocked(now int64) bool {
	passed := c.host() - c.lastHost
	if _, ok := c.source.(Scaler); ok {
		passed = c.sourceScaleLocked().Apply(passed)
	}
	return now < c.last || now-c.last-int64(c.cfg.JumpLimit) > passed
}

func (c *Clock) noteLocked(now int64) { c.last, c.lastHost = now, c.host() }

// Pace returns how far the loop may Advance: for the engine the time that the
// host's clock and the scale have come to, for other sources Now. A stepped
// clock has no limit until it is paused.
func (c *Clock) Pace() int64 {
	c.mu.Lock()
	defer c.unlockAndTell()
	return c.paceLocked()
}

// paceLocked is Pace; mu must be held for writing.
func (c *Clock) paceLocked() int64 {
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
func (c *Clock) Advance(to int64) error {
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
		c.source.(Stepper).Step(to - now)
		c.noteLocked(to)
	}
	return nil
}

// DropLag sets the engine's pace back to where the loop is and returns the
// simulated nanoseconds left out: what a loop calls that can't keep up, so that
// it doesn't run ever further behind. For other sources it does nothing.
func (c *Clock) DropLag() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.source.(*engine)
	if !ok || c.cfg.Stepped {
		return 0
	}
	lag := e.pace.Now() - e.time
	if lag <= 0 {
		return 0
	}
	e.pace.Step(-lag)
	return lag
}

// State is what a Clock shows at one instant.
type State struct {
	NowNs  int64  // simulation time
	Source string // name of the source
	Scale  Scale
	Paused bool
}

// State returns all of the clock's state, read at once.
func (c *Clock) State() State {
	c.mu.Lock()
	s := State{NowNs: c.observeLocked(), Source: c.name, Scale: c.scale, Paused: c.paused}
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

// Stepped reports whether the clock is detached from the host.
func (c *Clock) Stepped() bool { return c.cfg.Stepped }
