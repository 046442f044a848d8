package guard

import "fmt"

// Cause names why somebody wasn't let in, as summaries have it.
type Cause string

// Causes of refusals.
const (
	// BadHost: the request names a host that isn't this server's.
	BadHost Cause = "bad_host"
	// BadOrigin: the request is a page's that may not use this server.
	BadOrigin Cause = "bad_origin"
	// SlowHandshake: a handshake took longer than HandshakeTime.
	SlowHandshake Cause = "slow_handshake"
	// Handshaking: there were too many handshakes, and it was the oldest.
	Handshaking Cause = "too_many_handshakes"
	// Connecting: the server had all the connections that it takes.
	Connecting Cause = "too_many_connections"
	// OfAddress: it had as many of that address as it takes.
	OfAddress Cause = "too_many_of_address"
)

// Refusal is why a request or a connection wasn't let in.
type Refusal struct {
	Cause Cause
	text  string
}

func (r *Refusal) Error() string { return r.text }

func refuse(cause Cause, format string, args ...any) *Refusal {
	return &Refusal{cause, fmt.Sprintf(format, args...)}
}
