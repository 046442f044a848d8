package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// TopicStats is a topic's state at one instant. Once the topic is idle, Queued = Sent + Failed +
// the messages pushed out or discarded after they were queued. Dropped counts these among its
// queue_full and closed.
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
	Dropped flow.Drops
	// Undelivered are those of Dropped that no publisher answered for: it never had them,
	// or it panicked. It may be nil.
	Undelivered flow.Drops
	// InFlight is how many messages are being published, their callbacks
	// included.
	InFlight int
	// Waiting and WaitingBytes are what stands in the queue.
	Waiting      int
	WaitingBytes int64
	// Blocked is how many callers wait for room in the queue.
	Blocked int
	// QueueTime is the time from queueing to the publisher's start, PublishTime that of the
	// publisher's run (conversion and sending). Of a topic's first 256 messages all are timed,
	// then one in 16.
	QueueTime, PublishTime flow.Latency
	// Pool is what the topic keeps for reuse.
	Pool PoolStats
}

// PoolStats tells what a topic's pool of messages holds. It has no more idle ones than its
// queue's Depth and MaxBytes and the workers allow, or than were under way at once. It has
// fewer when they are unused.
type PoolStats struct {
	// Idle messages wait for use, Lent ones are being copied, queued or running.
	Idle, Lent int
	// Keys is the number of cache keys that have messages, or had lately.
	Keys int
	// IdleBytes and LentBytes are what these messages hold, for Sized types. A pooled instance
	// counts with the largest message it has held, since it may keep the memory. An idle
	// message whose type is not ThreadCached holds nothing.
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
		InFlight: t.running,
		Waiting:  t.queued, WaitingBytes: t.bytes, Blocked: t.waiters.len, Pool: t.stock.usage(),
	}
	s.Dropped, s.Undelivered = t.dropsLocked()
	t.d.mu.Unlock()
	s.QueueTime, s.PublishTime = t.times.snapshot()
	return s
}

// Drops returns Dropped and Undelivered of the topic's Stats, which costs less than all of
// them. It stays available after Close.
func (t *topic) Drops() (dropped, undelivered flow.Drops) {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	return t.dropsLocked()
}

func (t *topic) dropsLocked() (dropped, undelivered flow.Drops) {
	dropped, undelivered = maps.Clone(t.drops), maps.Clone(t.drops)
	for cause, n := range t.answered {
		if undelivered[cause] -= n; undelivered[cause] == 0 {
			delete(undelivered, cause)
		}
	}
	return dropped, undelivered
}

// counts are a topic's counters, guarded by d.mu.
type counts struct {
	accepted uint64
	sent     uint64
	failures uint64
	drops    flow.Drops
	answered flow.Drops // those of drops that a publisher returned
}

func (c *counts) countResult(err error) {
	if err == nil {
		c.sent++
		return
	}
	c.failures++
	cause := flow.CauseOf(err)
	c.drops.Add(cause, 1)
	if _, panicked := err.(*flow.PanicError); !panicked { //nolint:errorlint // one that a publisher returns is its answer
		c.answered.Add(cause, 1)
	}
}

const (
	timedAtFirst = 256
	timedEvery   = 16
)

// timings are how long a topic's messages took.
type timings struct {
	mu      sync.Mutex
	queue   flow.Latency // guarded by mu
	publish flow.Latency // guarded by mu
}

// sample reports whether a topic's n-th message is to be timed.
func (t *timings) sample(n uint64) bool { return n <= timedAtFirst || n%timedEvery == 0 }

func (t *timings) observe(queue, publish time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue.Add(queue)
	t.publish.Add(publish)
}

func (t *timings) snapshot() (queue, publish flow.Latency) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue, t.publish
}

// logSafely logs a line. A panic of the logger's handler goes no further (law D7);
// slog's default logger tells of it, if that is another one.
func logSafely(logger *slog.Logger, level slog.Level, message string, attrs ...any) {
	defer func() {
		if v := recover(); v != nil && logger != slog.Default() {
			logSafely(slog.Default(), slog.LevelError, "dispatch: the logger panicked",
				"panic", v, "line", message, "stack", string(debug.Stack()))
		}
	}()
	logger.Log(context.Background(), level, message, attrs...)
}

// failureLog logs one kind of failure of a topic, as often as a flow.Journal says, with the
// number since the last line. Failures that are kept back are told with the next one that is
// logged, or when the topic closes.
type failureLog struct {
	logger  *slog.Logger
	level   slog.Level
	message string
	topic   string

	mu      sync.Mutex
	journal flow.Journal // guarded by mu
	pending int          // failures since the last line; guarded by mu
	err     error        // the youngest of them; guarded by mu
	closed  bool         // failures are logged at once; guarded by mu
}

func (l *failureLog) failed(err error) {
	l.mu.Lock()
	l.pending++
	l.err = err
	_, now := l.journal.Tell(time.Now())
	now = now || l.closed
	l.mu.Unlock()
	if now {
		l.flush()
	}
}

// flush logs the failures that were kept back. No lock is held while logging,
// since the logger may publish.
func (l *failureLog) flush() {
	l.mu.Lock()
	pending, err := l.pending, l.err
	l.pending, l.err = 0, nil
	l.mu.Unlock()
	if pending > 0 {
		logSafely(l.logger, l.level, l.message, "topic", l.topic, "failures", pending, "err", err)
	}
}

// close logs what was kept back and keeps nothing back any more.
func (l *failureLog) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.flush()
}

// logBlocked logs that callers have to wait (law D6), k's first, with what makes them.
// d.mu must be held; it is released while logging, since the logger may publish.
func (t *topic) logBlocked(k *task) {
	d := t.d
	attrs := []any{
		"topic", t.name, "waiting", t.queued, "bytes", t.bytes, "depth", t.cfg.Depth, "max_bytes", t.cfg.MaxBytes,
		"publish_time", time.Duration(t.cost), "running", t.running, "workers", d.workers, "max_workers", d.maxWorkers(),
	}
	d.mu.Unlock()
	returned := false
	defer func() {
		d.mu.Lock()
		if !returned {
			t.abort(k, admission{evicted: &taskList{}})
		}
	}()
	logSafely(d.cfg.Logger, slog.LevelWarn, "queue is full, the sender waits: lower the sensors' rates or choose a dropping policy", attrs...)
	returned = true
}
