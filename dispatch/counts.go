package dispatch

import (
	"log/slog"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// counts are a topic's counters, guarded by d.mu.
type counts struct {
	accepted uint64
	sent     uint64
	failures uint64
	drops    dropCounts
}

func (c *counts) countResult(err error) {
	if err == nil {
		c.sent++
		return
	}
	c.failures++
	c.drops.count(err)
}

// dropCounts counts messages that were not sent, by cause.
type dropCounts map[Cause]uint64

func (c *dropCounts) count(err error) {
	if *c == nil {
		*c = dropCounts{}
	}
	(*c)[CauseOf(err)]++
}

const (
	timedAtFirst = 256
	timedEvery   = 16
	longestTimed = int64(time.Hour)
)

// timings are a topic's histograms.
type timings struct {
	mu      sync.Mutex
	queue   *hdrhistogram.Histogram // guarded by mu
	publish *hdrhistogram.Histogram // guarded by mu
}

// sample reports whether a topic's n-th message is to be timed.
func (t *timings) sample(n uint64) bool { return n <= timedAtFirst || n%timedEvery == 0 }

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longestTimed, 2) }

func (t *timings) observe(queue, publish time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue == nil {
		t.queue, t.publish = newHistogram(), newHistogram()
	}
	// Values are clamped to the range that the histograms hold.
	_ = t.queue.RecordValue(max(1, min(int64(queue), longestTimed)))
	_ = t.publish.RecordValue(max(1, min(int64(publish), longestTimed)))
}

// snapshot returns copies of the histograms.
func (t *timings) snapshot() (queue, publish *hdrhistogram.Histogram) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue, publish = newHistogram(), newHistogram()
	if t.queue != nil {
		queue.Merge(t.queue)
		publish.Merge(t.publish)
	}
	return queue, publish
}

// failureLog logs a topic's failing publisher, at most once a second.
type failureLog struct {
	logger *slog.Logger
	topic  string

	mu      sync.Mutex
	last    time.Time // of the last line; guarded by mu
	pending int       // failures since; guarded by mu
	err     error     // the youngest of them; guarded by mu
}

func (l *failureLog) failed(err error) {
	l.mu.Lock()
	l.pending++
	l.err = err
	now := time.Now()
	due := l.last.IsZero() || now.Sub(l.last) >= time.Second
	if due {
		l.last = now
	}
	l.mu.Unlock()
	if due {
		l.flush()
	}
}

// flush logs the failures that the limit has kept back. No lock is held while
// logging, since the logger may publish.
func (l *failureLog) flush() {
	l.mu.Lock()
	pending, err := l.pending, l.err
	l.pending, l.err = 0, nil
	l.mu.Unlock()
	if pending > 0 {
		l.logger.Warn("publish failed", "topic", l.topic, "failures", pending, "err", err)
	}
}

func (l *failureLog) callbackPanicked(err error) {
	l.logger.Error("callback panicked", "topic", l.topic, "err", err)
}

// logBlocked logs that callers have to wait (law D6). d.mu must be held; it is
// released while logging, since the logger may publish.
func (t *topic) logBlocked() {
	d, waiting, bytes, workers := t.d, t.queued, t.bytes, t.d.workers
	d.mu.Unlock()
	defer d.mu.Lock()
	d.cfg.Logger.Warn("queue is full, the sender waits: lower the sensors' rates or choose a dropping policy",
		"topic", t.name, "waiting", waiting, "bytes", bytes, "depth", t.cfg.Depth,
		"max_bytes", t.cfg.MaxBytes, "workers", workers, "max_workers", d.maxWorkers())
}
