package flow

import (
	"maps"
	"sync"
	"time"
)

// Drops counts what was lost, by cause. It has no entries of zero.
type Drops map[Cause]int64

// Add counts n more of a cause, n > 0.
func (d *Drops) Add(cause Cause, n int64) {
	if *d == nil {
		*d = Drops{}
	}
	(*d)[cause] += n
}

// Merge adds the counts of other.
func (d *Drops) Merge(other Drops) {
	for cause, n := range other {
		d.Add(cause, n)
	}
}

// Total returns the sum over all causes.
func (d Drops) Total() int64 {
	var n int64
	for _, count := range d {
		n += count
	}
	return n
}

// Counts is what became of a topic's messages.
type Counts struct {
	// Messages and Bytes were sent or written, in the receiver's encoding.
	Messages, Bytes int64
	// RateHz is the number of messages a second of wall time over the last two seconds. It is
	// zero for a topic that has been silent that long.
	RateHz float64
	Drops  Drops
}

// Tally counts what becomes of one topic's messages at one receiver. The zero value is ready.
// Its methods may be called from any goroutine.
//
// In a pipeline a loss is counted at the sensor's output, for the sensor's row, and at the bridge
// that should have had the message. There the topic's Tally counts it once the bridge has it.
// Before that one Tally of the bridge does, for what never came as far.
type Tally struct {
	mu     sync.Mutex
	counts Counts // guarded by mu, except RateHz
	rate   rateWindow
}

// Sent counts a message of so many encoded bytes as delivered. It is called once for
// each message that was written or sent.
func (t *Tally) Sent(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Messages++
	t.counts.Bytes += int64(bytes)
	t.rate.add(time.Now())
}

// Lost moves messages that were counted by Sent to the drops: data that a full
// disk or a dead connection swallowed afterwards.
func (t *Tally) Lost(messages int, bytes int64, cause Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Messages -= int64(messages)
	t.counts.Bytes -= bytes
	t.counts.Drops.Add(cause, int64(messages))
}

// Dropped counts a message that was dropped before it was sent.
func (t *Tally) Dropped(cause Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Drops.Add(cause, 1)
}

// Counts returns the counts at this instant; the drops are the caller's.
func (t *Tally) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	counts.RateHz = t.rate.hz(time.Now())
	counts.Drops = maps.Clone(counts.Drops)
	return counts
}

const (
	rateBuckets = 8
	rateBucket  = 250 * time.Millisecond
)

// rateWindow counts the messages of the last two seconds in buckets of a quarter second. Times
// don't decrease, except for races between callers, which cost at most a bucket.
type rateWindow struct {
	buckets [rateBuckets]int64
	newest  int64     // number of the newest bucket since first
	first   time.Time // of the first message
}

func (r *rateWindow) add(now time.Time) {
	if r.first.IsZero() {
		r.first = now
	}
	r.advance(now.Sub(r.first))
	r.buckets[r.newest%rateBuckets]++
}

// advance empties the buckets between the newest and age's.
func (r *rateWindow) advance(age time.Duration) {
	bucket := int64(age / rateBucket)
	for empty := max(r.newest+1, bucket-rateBuckets+1); empty <= bucket; empty++ {
		r.buckets[empty%rateBuckets] = 0
	}
	r.newest = max(r.newest, bucket)
}

// hz divides by the time that the buckets cover: since the first message, at most the
// window, at least a bucket.
func (r *rateWindow) hz(now time.Time) float64 {
	if r.first.IsZero() {
		return 0
	}
	age := now.Sub(r.first)
	r.advance(age)
	var sum int64
	for _, n := range r.buckets {
		sum += n
	}
	windowStart := max(0, time.Duration(r.newest-rateBuckets+1)*rateBucket)
	covered := max(age-windowStart, rateBucket)
	return float64(sum) / covered.Seconds()
}
