package dispatch

import (
	"maps"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/raybridge/raybridge/flow"
)

// TopicStats is a topic's state at one instant. Once the topic is idle,
// Queued = Sent + Failed + the messages pushed out or discarded after they were
// queued, which Dropped counts among its queue_full and closed.
type TopicStats struct {
	Name string
	// Queued counts the messages taken: TryQueue returned true, or Publish ran.
	Queued uint64
	// Sent counts the messages whose publisher returned without error.
	Sent uint64
	// Failed counts those whose publisher returned an error or panicked. Each is
	// also in Dropped, under the error's cause.
	Failed uint64
	// Dropped counts the messages not sent, refused ones included, by cause. It
	// has no entries of zero and may be nil.
	Dropped map[flow.Cause]uint64
	// InFlight is how many messages are being published, their callbacks
	// included.
	InFlight int
	// Waiting and WaitingBytes are what stands in the queue.
	Waiting      int
	WaitingBytes int64
	// Blocked is how many callers wait for room in the queue.
	Blocked int
	// QueueTime and PublishTime are histograms, in nanoseconds, of the time from
	// queueing to the publisher's start and of the publisher's run (conversion
	// and sending). Of a topic's first 256 messages all are timed, then one in 16.
	QueueTime, PublishTime *hdrhistogram.Histogram
	// Pool is what the topic keeps for reuse.
	Pool PoolStats
}

// PoolStats tells what a topic's pool of messages holds: no more idle ones than
// its queue's Depth and MaxBytes and the workers allow, or than were under way at
// once, and fewer when they go unused.
type PoolStats struct {
	// Idle messages wait for use, Lent ones are being copied, queued or running.
	Idle, Lent int
	// Keys is the number of cache keys that have messages, or had lately.
	Keys int
	// IdleBytes and LentBytes are what these messages hold, for Sized types: a pooled
	// instance counts with the largest message it has held, since it may keep the
	// memory. An idle message whose type is not ThreadCached holds nothing.
	IdleBytes, LentBytes int64
}

// Stats is a dispatcher's state at one instant.
type Stats struct {
	// Workers is the number of worker goroutines, Idle those that wait for work.
	Workers, Idle int
	// Outstanding is the number of messages taken whose callback has not
	// returned.
	Outstanding int
	Topics      []TopicStats
}

// Stats returns the state of the dispatcher and of its topics that are not
// closed, in the order in which they were made.
func (d *Dispatcher) Stats() Stats {
	d.mu.Lock()
	s := Stats{Workers: d.workers, Idle: len(d.idle), Outstanding: d.outstanding}
	if d.lingerer != nil {
		s.Idle++
	}
	topics := append([]*topic(nil), d.topics...)
	d.mu.Unlock()
	for _, t := range topics {
		s.Topics = append(s.Topics, t.Stats())
	}
	return s
}

// Stats returns the topic's state. It stays available after Close.
func (t *topic) Stats() TopicStats {
	t.d.mu.Lock()
	s := TopicStats{
		Name: t.name, Queued: t.accepted, Sent: t.sent, Failed: t.failures,
		Dropped: maps.Clone(t.drops), InFlight: t.running,
		Waiting: t.queued, WaitingBytes: t.bytes, Blocked: t.waiters.len, Pool: t.stock.usage(),
	}
	t.d.mu.Unlock()
	s.QueueTime, s.PublishTime = t.times.snapshot()
	return s
}
