package bridges

import "github.com/raybridge/raybridge/internal/guard"

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

// Diagnoser is an Instance that can tell how its connections fared. Any goroutine may
// ask.
type Diagnoser interface {
	Diagnosis() Diagnosis
}

// Diagnosis returns how the bridge's connections fared; zero for a bridge that has
// nothing to tell.
func (b *Bridge) Diagnosis() Diagnosis {
	if d, ok := b.instance.(Diagnoser); ok {
		return d.Diagnosis()
	}
	return Diagnosis{}
}

// Reacher is an Instance that knows better than by having been Connected whether it has
// reached its peer: one whose protocol acknowledges nothing, so that a server of another
// protocol seems to be the peer until it ends the connection. Any goroutine may ask.
type Reacher interface {
	// Reached may take back what it said of a connection that still was there; once the
	// instance has disconnected it doesn't change.
	Reached() bool
}
