package flow

import "sync/atomic"

// Usage counts who works with something that ends during a run, so that nobody works with it
// once it has ended. NewUsage makes one; any goroutine may use it.
type Usage struct {
	state atomic.Int64  // the number of users, with the flags below
	gone  chan struct{} // closed when over
}

const (
	closing = int64(1) << 61 // no new work begins
	over    = int64(1) << 62 // and nobody is left
)

// NewUsage returns a count of nobody.
func NewUsage() *Usage { return &Usage{gone: make(chan struct{})} }

// Begin counts a user with new work and reports whether it may: not any more once
// the end has begun.
func (u *Usage) Begin() bool { return u.count(closing) }

// Enter counts a user that finishes work of before; it may while others do.
func (u *Usage) Enter() bool { return u.count(over) }

// count adds a user unless a flag is set.
func (u *Usage) count(unless int64) bool {
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

// Closing reports whether the end has begun.
func (u *Usage) Closing() bool { return u.state.Load()&closing != 0 }

// Idle reports whether there is no user.
func (u *Usage) Idle() bool { return u.state.Load()&^(closing|over) == 0 }

// Exit says that a user has done its work.
func (u *Usage) Exit() {
	u.state.Add(-1)
	u.settle()
}

// Close lets no new work begin, and returns a channel that is closed when all of it
// is done.
func (u *Usage) Close() <-chan struct{} {
	u.state.Or(closing)
	u.settle()
	return u.gone
}

// settle ends the use when nobody is left.
func (u *Usage) settle() {
	if u.state.CompareAndSwap(closing, closing|over) {
		close(u.gone)
	}
}
