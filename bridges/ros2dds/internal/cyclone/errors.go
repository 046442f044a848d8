// Package cyclone is the part of Cyclone DDS's C library (0.10) that the bridge ros2dds needs.
// It has participants of a domain, writers and readers of serialized messages, nothing of the
// messages themselves. It is the only package that calls the library. Unless the program is
// built with cgo and the tag ros2dds it has nothing but its errors.
//
// # Memory
//
// Messages lie in blocks of C memory that are serialized into and sent from without a copy.
// Writer.Sample lends a block, and Writer.Write gives it to the library. The library keeps it
// until all readers have it or history drops it, and then returns it to the writer's pool. A
// Reader delivers a view of the library's memory, valid during the call.
//
// # Goroutines
//
// A Writer's Sample and Sample.Release may be called from any goroutine, its other methods from
// one at a time. Participant.Read blocks the goroutine that calls it, on a thread of its
// own, until Wake. The library's threads never call into Go: they store counts in
// Events, which is pinned meanwhile.
package cyclone

import "errors"

// Errors of this package.
var (
	// ErrTimeout: a writer's history was full for longer than it waits.
	ErrTimeout = errors.New("no room in the writer's history in time")
	// ErrSettings: the library can't read its settings, those of CYCLONEDDS_URI mostly.
	ErrSettings = errors.New("settings that Cyclone DDS refuses")
	// ErrDomain: the domain can't be joined with the settings. An interface isn't there, a port
	// can't be bound, or there is no room for one more participant.
	ErrDomain = errors.New("can't take part in domain")
)
