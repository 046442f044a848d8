package pipeline

import "sync/atomic"

// usage counts who works with something that ends while a run goes on, so that
// nobody works with it once it has ended. Any goroutine may use it.
type usage struct {
	state atomic.Int64  // the number of users, with the flags below
	gone  chan struct{} // closed when over
}

const (
	closing = int64(1) << 61 // no new work begins
	over    = int64(1) << 62 // and nobody is left
)

func (u *usage) init() { u.gone = make(chan struct{}) }

// begin counts a user with new work and reports whether it may: not any more once
// the end has begun.
func (u *usage) begin() bool { return u.count(closing) }

// enter counts a user that finishes work of before; it may while others do.
func (u *usage) enter() bool { return u.count(over) }

// count adds a user unless a flag is set.
func (u *usage) count(unless int64) bool {
	for {
		n := u.state.Load()
		if n&unless != 0 {
			return false
		}
		if u.state.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// isClosing reports whether the end has begun.
func (u *usage) isClosing() bool { return u.state.Load()&closing != 0 }

// exit says that a user has done its work.
func (u *usage) exit() {
	u.state.Add(-1)
	u.settle()
}

// close lets no new work begin, and returns a channel that is closed when all of it
// is done.
func (u *usage) close() <-chan struct{} {
	u.state.Or(closing)
	u.settle()
	return u.gone
}

// settle ends the use when nobody is left.
func (u *usage) settle() {
	if u.state.CompareAndSwap(closing, closing|over) {
		close(u.gone)
	}
}
