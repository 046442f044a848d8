package bridges

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

// String returns the state in snake_case, as summaries print it.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// MarshalText returns the state's name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Kind says what a bridge writes to; the dispatcher's policy depends on it.
type Kind uint8

const (
	// KindFile bridges write files: a publisher may wait for the disk, nothing
	// is dropped.
	KindFile Kind = iota
	// KindNetwork bridges queue for a peer: when the queue is full the oldest
	// message is dropped.
	KindNetwork
)

// String returns "file" or "network".
func (k Kind) String() string {
	if k == KindFile {
		return "file"
	}
	return "network"
}
