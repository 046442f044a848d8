package bridges

import (
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// State is a Status for instances to embed: they then have the method Status.
type State = transport.State

// Diagnosis is how a bridge's connections fared since it was opened.
type Diagnosis = transport.Diagnosis

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

// Reacher is an Instance that knows better than by having been Connected whether it has reached
// its peer. Its protocol acknowledges nothing, so that a server of another protocol seems to be
// the peer until it ends the connection. Any goroutine may ask.
type Reacher interface {
	// Reached may take back what it said of a connection that still was there; once the
	// instance has disconnected it doesn't change.
	Reached() bool
}

// TopicStatistics is what a bridge did with one topic.
type TopicStatistics struct {
	Topic string
	// Type is the message type's name in the bridge's protocol.
	Type string
	flow.Counts
}

// TopicTally is what a bridge did with one topic since it was added.
type TopicTally struct {
	Topic string
	// Addition is the number of the time that the bridge was given the topic, among all of its topics.
	Addition uint64
	flow.Counts
}

// Statistics is what a bridge did since it was opened.
type Statistics struct {
	Status flow.Status
	// Messages, Bytes and Drops are the sums over Topics.
	Messages, Bytes int64
	Drops           flow.Drops
	// Topics in the order in which they were added.
	Topics []TopicStatistics
	// Received are the topics that are subscribed to, in the order in which they were. Messages
	// counts those that could be read; Bytes and Drops are zero.
	Received []TopicStatistics
}
