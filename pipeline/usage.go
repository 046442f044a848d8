package pipeline

import "sync"

// usage counts who works with something that ends while a run goes on, so that
// nobody works with it once it has ended. Any goroutine may use it.
type usage struct {
	mu      sync.Mutex
	users   int           // guarded by mu
	closing bool          // guarded by mu: no new work
	over    bool          // guarded by mu: no user any more
	gone    chan struct{} // closed when over
}

func (u *usage) init() { u.gone = make(chan struct{}) }

// begin counts a user with new work and reports whether it may: not any more once
// the end has begun.
func (u *usage) begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closing {
		return false
	}
	u.users++
	return true
}

// enter counts a user that finishes work of before; it may while others do.
func (u *usage) enter() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return false
	}
	u.users++
	return true
}

// isClosing reports whether the end has begun.
func (u *usage) isClosing() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.closing
}

// exit says that a user has done its work.
func (u *usage) exit() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users--
	u.settleLocked()
}

// close lets no new work begin, and returns a channel that is closed when all of it
// is done.
func (u *usage) close() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closing = true
	u.settleLocked()
	return u.gone
}

// settleLocked ends the use when nobody is left; mu must be held.
func (u *usage) settleLocked() {
	if u.closing && u.users == 0 && !u.over {
		u.over = true
		close(u.gone)
	}
}
