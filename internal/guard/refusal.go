package guard

import (
	"errors"
	"fmt"
	"maps"
)

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

// Count returns counts by cause with one more for an error that wraps a *Refusal, and as they
// are for any other. It changes no map: copies of a count may be handed out.
func Count(counts map[string]int64, err error) map[string]int64 {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return counts
	}
	return Merge(counts, map[string]int64{string(refusal.Cause): 1})
}

// Merge returns the sum of two counts, and changes neither.
func Merge(a, b map[string]int64) map[string]int64 {
	if len(b) == 0 {
		return a
	}
	sum := make(map[string]int64, len(a)+len(b))
	maps.Copy(sum, a)
	for cause, n := range b {
		sum[cause] += n
	}
	return sum
}
