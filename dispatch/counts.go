package dispatch

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/raybridge/raybridge/flow"
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
type dropCounts map[flow.Cause]uint64

func (c *dropCounts) count(err error) {
	if *c == nil {
		*c = dropCounts{}
	}
	(*c)[flow.CauseOf(err)]++
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
