package camera

import (
	"slices"
	"sync"
)

// unseen are captures of which only the calibration is listened to: nothing is
// drawn, but they are published in their turn, by Process. Its methods may be called
// from any goroutine.
type unseen struct {
	mu       sync.Mutex
	expected []int64 // guarded by mu: instants of captures that Tick announced
	ready    []shot  // guarded by mu, oldest first
}

// expect says that the capture of an instant will have no picture.
func (u *unseen) expect(timeNs int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.expected) == maxAnnounced {
		u.expected = slices.Delete(u.expected, 0, 1)
	}
	u.expected = append(u.expected, timeNs)
}

// add keeps a capture for Process, if it was expected; earlier ones are not any more.
func (u *unseen) add(k shot) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	expected := slices.Contains(u.expected, k.at.TimeNs)
	u.expected = slices.DeleteFunc(u.expected, func(t int64) bool { return t <= k.at.TimeNs })
	if expected {
		u.ready = append(u.ready, k)
	}
	return expected
}

// take returns the oldest capture, if it is not later than an instant.
func (u *unseen) take(through int64) (shot, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ready) == 0 || u.ready[0].at.TimeNs > through {
		return shot{}, false
	}
	k := u.ready[0]
	u.ready = append(u.ready[:0], u.ready[1:]...)
	return k, true
}

func (u *unseen) pending() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ready)
}
