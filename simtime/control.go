package simtime

import (
	"fmt"
	"math"
)

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

// Resume lets time go on from where it stands; a source from outside, which did
// not stand, jumps to its own time. Resuming a running clock does nothing.
func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.unlockAndTell()
	if c.paused {
		from := c.readLocked()
		c.paused = false
		c.recordLocked(Change{Kind: Resumed, From: from, To: c.goOnLocked(from)})
	}
}

// Step moves a paused clock on by d nanoseconds. The engine's loop may then
// Advance that far; other sources' time changes at once. Errors wrap
// ErrNotPaused, ErrNotSteppable for a source from outside, or ErrDuration.
func (c *Clock) Step(d int64) error {
	c.mu.Lock()
	defer c.unlockAndTell()
	stepper, ok := c.source.(Stepper)
	from := c.paceLocked()
	switch {
	case !c.paused:
		return fmt.Errorf("step clock: %w", ErrNotPaused)
	case d <= 0 || from > math.MaxInt64-d:
		return fmt.Errorf("step clock: %w: %d ns", ErrDuration, d)
	case !ok:
		return fmt.Errorf("step clock: %w: %s is driven from outside", ErrNotSteppable, c.name)
	}
	if c.cfg.Stepped {
		c.limit += d
	} else {
		stepper.Step(d)
		c.steps.extend(from, from+d)
	}
	c.recordLocked(Change{Kind: Stepped, From: from, To: from + d})
	return nil
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
	resolved, source, err := c.makeSource(name)
	if err != nil {
		return fmt.Errorf("select time source: %w", err)
	}
	from := c.readLocked()
	c.name, c.source = resolved, source
	c.noteLocked(source.Now())
	c.frozen = c.last
	if c.cfg.Stepped && c.standsLocked() {
		c.limit = c.last
	}
	c.recordLocked(Change{Kind: SourceChanged, From: from, To: c.last})
	return nil
}

// Set sets the time of the ss2 source to sec seconds and nanosec nanoseconds,
// both at once. A step back, or one beyond the jump limit, is a jump. While
// paused, the time is shown after Resume. Errors wrap ErrNotSettable for another
// source, or ErrDuration for a negative time or a nanosec of a second or more.
func (c *Clock) Set(sec int64, nanosec uint32) error {
	if sec < 0 || sec > math.MaxInt64/second-1 || nanosec >= second {
		return fmt.Errorf("set time: %w: %d s %d ns", ErrDuration, sec, nanosec)
	}
	c.mu.Lock()
	defer c.unlockAndTell()
	source, ok := c.source.(*external)
	if !ok {
		return fmt.Errorf("set time: %w: the source is %s, not %s", ErrNotSettable, c.name, SS2)
	}
	from, to := source.time, sec*second+int64(nanosec)
	source.time = to
	if c.standsLocked() {
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
func (c *Clock) FollowROS(clock func() int64) {
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
