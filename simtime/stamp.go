package simtime

import "sync/atomic"

// Stamp is an instant of simulation time, in nanoseconds. Messages bear the one at which
// their data was true.
type Stamp int64

// Stamped is a message that knows when its data was captured. Every sample is one.
type Stamped interface {
	Captured() Stamp
}

// AtomicStamp is a Stamp that any goroutine may read and set. The zero value is 0.
type AtomicStamp struct{ ns atomic.Int64 }

// Load returns the stamp.
func (s *AtomicStamp) Load() Stamp { return Stamp(s.ns.Load()) }

// Store sets the stamp.
func (s *AtomicStamp) Store(at Stamp) { s.ns.Store(int64(at)) }

// Swap sets the stamp and returns the one before.
func (s *AtomicStamp) Swap(at Stamp) Stamp { return Stamp(s.ns.Swap(int64(at))) }
