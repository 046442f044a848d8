package simtime

import "slices"

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
	// From and To are simulation time, in nanoseconds, before and after the
	// change's instant. They are equal if time went on without a gap.
	From, To int64
}

// Jump reports whether simulation time has a gap or went back here, so that
// what was planned by it has to be planned anew. A step is none.
func (c Change) Jump() bool { return c.Kind != Stepped && c.From != c.To }

// Jumps returns how often the clock has jumped (Change.Jump), and looks whether its
// source has just done so: two readings of the clock between which the number stays the
// same lie on one line of time. Subscribers may be told of a jump later than that.
func (c *Clock) Jumps() uint64 {
	c.mu.Lock()
	defer c.unlockAndTell()
	c.observeLocked()
	return c.jumps
}

type watcher struct{ notify func(Change) }

// Subscribe calls notify for every change from now on, in their order and one
// at a time, on the goroutine that made the change or noticed the jump, or on
// another that is telling an earlier change. notify may call the Clock's methods.
// cancel ends the subscription; a call under way may still finish after it. A nil
// notify is told of nothing.
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
	close(c.changed)
	c.changed = make(chan struct{})
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
		c.pending = c.pending[1:]
		c.tellUnlocked(change, c.watchers)
	}
	c.pending = nil
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
