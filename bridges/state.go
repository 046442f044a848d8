package bridges

import "sync/atomic"

// State is a Status for instances to embed: they then have the method Status. The zero value
// is Disconnected. Any goroutine may use it; it takes no lock.
type State struct{ status atomic.Uint32 }

// Status returns the state of the connection.
func (s *State) Status() Status { return Status(s.status.Load()) }

// SetStatus changes it; the instance alone calls it.
func (s *State) SetStatus(status Status) { s.status.Store(uint32(status)) }
