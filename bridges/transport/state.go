package transport

import (
	"sync/atomic"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
)

// State is a Status for instances to embed: they then have the method Status. The zero value
// is Disconnected. Any goroutine may use it; it takes no lock.
type State struct{ status atomic.Uint32 }

// Status returns the state of the connection.
func (s *State) Status() flow.Status { return flow.Status(s.status.Load()) }

// SetStatus changes it; the instance alone calls it.
func (s *State) SetStatus(status flow.Status) { s.status.Store(uint32(status)) }

// Diagnosis is how a bridge's connections fared since it was opened.
type Diagnosis struct {
	// Connections were made, Failures are attempts and connections that failed.
	Connections, Failures int64
	// Malformed counts what peers sent that couldn't be read.
	Malformed int64
	// Complaints counts what peers said that they can't do, such as a type that they don't
	// have, where the protocol lets them say so.
	Complaints int64
	// Refused counts those who weren't let in, by cause: the causes of package
	// internal/guard, such as "bad_origin". Each is one of Failures too.
	Refused map[string]int64
	// Altered counts messages of which numbers were replaced that the peer can't be sent,
	// such as infinities.
	Altered int64
	// LastError is what failed last, nil for nothing; it stays when all is well again.
	LastError error
}

// Add returns how two connections fared together, e being the later one.
func (d Diagnosis) Add(e Diagnosis) Diagnosis {
	d.Connections += e.Connections
	d.Failures += e.Failures
	d.Malformed += e.Malformed
	d.Complaints += e.Complaints
	d.Refused = guard.Merge(d.Refused, e.Refused)
	d.Altered += e.Altered
	if e.LastError != nil {
		d.LastError = e.LastError
	}
	return d
}

// Fail counts a connection that failed, and by its cause one that wasn't let in.
func (d *Diagnosis) Fail(err error) {
	d.Failures++
	d.LastError = err
	d.Refused = guard.Count(d.Refused, err)
}
