package safedistance

import "github.com/raybridge/raybridge/sensors/sample"

// Event lists the vehicles that are too close.
type Event struct {
	sample.Header
	Actors []uint32 // ids, rising; never empty
}

// CopyToCache makes dst a deep copy, reusing dst's slice where it is large enough.
func (m *Event) CopyToCache(dst *Event) {
	actors := append(dst.Actors[:0], m.Actors...)
	*dst = *m
	dst.Actors = actors
}

// CacheKey groups all events in one pool.
func (m *Event) CacheKey() uint64 { return 0 }
