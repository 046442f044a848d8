package weather

import (
	"sync"

	"github.com/raybridge/raybridge/simtime"
)

// History is the weather of a run over the latest ticks. It changes at ticks, and holds from one to the next: nothing
// lies between two weathers. One goroutine, the frame loop, records; any goroutine may set and ask.
type History struct {
	mu      sync.RWMutex
	first   State    // from which it begins, and begins again
	begin   *State   // guarded by mu: of the first tick, nil before it
	base    State    // guarded by mu: before changes
	changes []change // guarded by mu: oldest first
	coming  *State   // guarded by mu: from the next tick on
	count   int64    // guarded by mu: of changes since the first tick
}

// change is a weather from a tick on.
type change struct {
	from simtime.Stamp
	to   State
}

// NewHistory returns the history of a run that begins with a weather.
func NewHistory(first State) *History { return &History{first: first, base: first} }

// Set has the weather be another one from the next tick on, until it is set again. The error is Validate's, and
// then nothing changes.
func (h *History) Set(s State) error {
	if err := s.Validate(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.coming = &s
	return nil
}

// Record has the weather that was set hold from a tick on. Oldest is the oldest tick of which anybody may ask yet.
// If ticks begin again, as after a jump of the clock, it is the same tick: what holds then holds for all
// times before, too. Frame loop only.
func (h *History) Record(stamp, oldest simtime.Stamp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	newest := h.newestLocked()
	if h.coming != nil && *h.coming != newest {
		newest = *h.coming
		h.changes = append(h.changes, change{stamp, newest})
		if h.begin != nil {
			h.count++
		}
	}
	h.coming = nil
	if h.begin == nil {
		first := newest
		h.begin = &first
	}
	if oldest == stamp {
		h.base, h.changes = newest, h.changes[:0]
	}
	for len(h.changes) > 0 && h.changes[0].from <= oldest {
		h.base, h.changes = h.changes[0].to, h.changes[1:]
	}
}

// At returns the weather at a time. It is the oldest that is known for a time before that, and the newest for one after.
func (h *History) At(stamp simtime.Stamp) State {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for k := len(h.changes) - 1; k >= 0; k-- {
		if h.changes[k].from <= stamp {
			return h.changes[k].to
		}
	}
	return h.base
}

// Course returns the weather of the first tick and of the latest, and how often it changed in between. A Restart ends neither
// the course nor counts by itself. Before the first tick both are that which the history begins from.
func (h *History) Course() (begin, end State, changes int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	begin = h.first
	if h.begin != nil {
		begin = *h.begin
	}
	return begin, h.newestLocked(), h.count
}

// Coming returns the weather of the next tick.
func (h *History) Coming() State {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.coming != nil {
		return *h.coming
	}
	return h.newestLocked()
}

func (h *History) newestLocked() State {
	if n := len(h.changes); n > 0 {
		return h.changes[n-1].to
	}
	return h.base
}

// Restart takes the weather back to that which the history began from. Frame loop only.
func (h *History) Restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base, h.changes, h.coming = h.first, nil, nil
}
