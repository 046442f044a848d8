package pipeline

import (
	"sync"

	"github.com/raybridge/raybridge/sensors"
)

// envelope is what the dispatcher queues: a message of any type with the
// capture it belongs to. Its copy owns the message, which the topic's pool
// keeps for the next one.
type envelope struct {
	at sensors.Tick
	// handedOver is the instant of a stepped run in which the message was queued,
	// nanoseconds: a recording's log time.
	handedOver int64
	stamp      int64
	spec       *sensors.OutputSpec
	message    any
}

// CopyToCache makes dst a deep copy (law D3).
func (e *envelope) CopyToCache(dst *envelope) {
	message := dst.message
	if message == nil {
		message = e.spec.New()
	}
	e.spec.Copy(message, e.message)
	*dst = *e
	dst.message = message
}

// CacheKey is the message's own.
func (e *envelope) CacheKey() uint64 { return e.spec.Key(e.message) }

// Stamp is the message's own stamp: what the clock gate compares (law T4).
func (e *envelope) Stamp() int64 { return e.stamp }

// SizeBytes is the size of the message's data, for bounds of queues in bytes.
func (e *envelope) SizeBytes() int64 {
	if s, ok := e.message.(interface{ SizeBytes() int64 }); ok {
		return s.SizeBytes()
	}
	return 256
}

// scratch lends envelopes for the time of one TryQueue call.
var scratch = sync.Pool{New: func() any { return new(envelope) }}

func borrowEnvelope(at sensors.Tick, spec *sensors.OutputSpec, message any) *envelope {
	e := scratch.Get().(*envelope)
	e.at, e.spec, e.message = at, spec, message
	e.stamp = at.TimeNs
	if s, ok := message.(interface{ Stamp() int64 }); ok {
		e.stamp = s.Stamp()
	}
	return e
}

func (e *envelope) giveBack() {
	*e = envelope{}
	scratch.Put(e)
}
