package bridges

import (
	"maps"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// TopicStatistics is what a bridge did with one topic.
type TopicStatistics struct {
	Topic string
	// Type is the message type's name in the bridge's protocol.
	Type string
	// Messages and Bytes were written or sent, in the bridge's encoding.
	Messages, Bytes int64
	// RateHz is the number of messages a second of wall time over the last two
	// seconds: zero for a topic that has been silent that long.
	RateHz float64
	Drops  flow.Drops
}

// Statistics is what a bridge did since it was opened.
type Statistics struct {
	Status Status
	// Messages, Bytes and Drops are the sums over Topics.
	Messages, Bytes int64
	Drops           flow.Drops
	// Topics in the order in which they were added.
	Topics []TopicStatistics
	// Received are the topics that are subscribed to, in the order in which they were:
	// Messages counts those that could be read; Bytes and Drops are none.
	Received []TopicStatistics
}

// counter counts one topic's messages. Its methods may be called from any
// goroutine.
type counter struct {
	opened time.Time

	mu       sync.Mutex
	messages int64
	bytes    int64
	drops    flow.Drops
	rate     rateWindow
}

func (c *counter) sent(bytes int) {
	age := time.Since(c.opened)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages++
	c.bytes += int64(bytes)
	c.rate.add(age)
}

func (c *counter) lost(messages int, bytes int64, cause flow.Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages -= int64(messages)
	c.bytes -= bytes
	c.drop(messages, cause)
}

func (c *counter) dropped(cause flow.Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(1, cause)
}

// drop counts n messages; mu must be held.
func (c *counter) drop(n int, cause flow.Cause) {
	if c.drops == nil {
		c.drops = flow.Drops{}
	}
	c.drops[cause] += int64(n)
}

// fill sets all of s but its names.
func (c *counter) fill(s *TopicStatistics) {
	age := time.Since(c.opened)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Messages, s.Bytes = c.messages, c.bytes
	s.RateHz = c.rate.hz(age)
	s.Drops = maps.Clone(c.drops)
}

const (
	rateBuckets = 8
	rateBucket  = 250 * time.Millisecond
)

// rateWindow counts the messages of the last two seconds in buckets of a
// quarter second. Times are ages, never decreasing but for races between
// callers, which cost at most a bucket.
type rateWindow struct {
	buckets [rateBuckets]int64
	newest  int64 // number of the newest bucket since age 0
	first   time.Duration
	begun   bool
}

func (r *rateWindow) add(age time.Duration) {
	if !r.begun {
		r.first, r.begun = age, true
	}
	r.advance(age)
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

// hz divides by the time that the buckets cover: since the first message, at
// most the window, at least a bucket.
func (r *rateWindow) hz(age time.Duration) float64 {
	if !r.begun {
		return 0
	}
	r.advance(age)
	var sum int64
	for _, n := range r.buckets {
		sum += n
	}
	windowStart := time.Duration(r.newest-rateBuckets+1) * rateBucket
	covered := max(age-max(windowStart, r.first), rateBucket)
	return float64(sum) / covered.Seconds()
}
