package flow

import "fmt"

// Status is the state of a bridge's connection.
type Status uint8

// States of a connection. Sensors publish only while it is Connected.
const (
	// Disconnected: not connected yet, or disconnected on purpose.
	Disconnected Status = iota
	// UnexpectedlyDisconnected: the connection was lost or refused.
	UnexpectedlyDisconnected
	// Connecting: Connect was called, the peer hasn't answered yet.
	Connecting
	// Connected: messages are taken.
	Connected
	// Disconnecting: what was taken is being delivered, nothing more is taken.
	Disconnecting
)

var statusNames = [...]string{
	Disconnected:             "disconnected",
	UnexpectedlyDisconnected: "unexpectedly_disconnected",
	Connecting:               "connecting",
	Connected:                "connected",
	Disconnecting:            "disconnecting",
}

// Better returns which of two states is nearer to taking messages.
func (s Status) Better(other Status) Status {
	rank := [...]int{Connected: 4, Connecting: 3, Disconnecting: 2, UnexpectedlyDisconnected: 1, Disconnected: 0}
	if rank[other] > rank[s] {
		return other
	}
	return s
}

// String returns the state in snake_case, as summaries print it.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// MarshalText returns the state's name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
