package guard

import (
	"errors"
	"fmt"
	"maps"
)

// Rule names the rule by which somebody wasn't let in. In counts and summaries it is the cause.
type Rule string

// Rules that refuse.
const (
	// BadHost: the request names a host that isn't this server's.
	BadHost Rule = "bad_host"
	// BadOrigin: the request is a page's that may not use this server.
	BadOrigin Rule = "bad_origin"
	// SlowHandshake: a handshake took longer than HandshakeTime.
	SlowHandshake Rule = "slow_handshake"
	// Handshaking: there were too many handshakes, and it was the oldest.
	Handshaking Rule = "too_many_handshakes"
	// Connecting: the server had all the connections that it takes.
	Connecting Rule = "too_many_connections"
	// OfAddress: it had as many of that address as it takes.
	OfAddress Rule = "too_many_of_address"
)

// Refusal is why a request or a connection wasn't let in.
type Refusal struct {
	Rule Rule
	text string
}

func (r *Refusal) Error() string { return r.text }

func refuse(rule Rule, format string, args ...any) *Refusal {
	return &Refusal{rule, fmt.Sprintf(format, args...)}
}

// Count returns counts by rule with one more for an error that wraps a *Refusal, and as they
// are for any other. It changes no map: copies of a count may be handed out.
func Count(counts map[string]int64, err error) map[string]int64 {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return counts
	}
	return Merge(counts, map[string]int64{string(refusal.Rule): 1})
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
