package pipeline

import (
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/raybridge/raybridge/flow"
)

// Latencies are kept in microseconds up to ten minutes, to three digits.
const (
	maxLatencyUs  = 600_000_000
	latencyDigits = 3
)

// outputStats counts what became of one output's messages. Any goroutine may
// use it.
type outputStats struct {
	mu sync.Mutex
	// latency is from the capture's begin to the delivery, µs; nil before the first. It takes
	// 170 kB, which a rig of many sensors would cost where none of them is heard.
	latency *hdrhistogram.Histogram
	drops   flow.Drops
	// delivered has one counter a receiver: bridge or listener.
	delivered []*int64
	retired   int64 // the most that a receiver had that is gone
	listened  bool
}

func newOutputStats() *outputStats {
	return &outputStats{drops: flow.Drops{}}
}

// receiver adds a counter for one more receiver of the output.
func (s *outputStats) receiver() *int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := new(int64)
	s.delivered = append(s.delivered, n)
	return n
}

// retire lets a receiver go that gets no more messages; its count stays.
func (s *outputStats) retire(n *int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = max(s.retired, *n)
	s.delivered = slices.DeleteFunc(s.delivered, func(other *int64) bool { return other == n })
}

// heard notes whether somebody listens now, and reports whether anybody ever did.
func (s *outputStats) heard(now bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listened = s.listened || now
	return s.listened
}

// sent records that the receiver with that counter has a message.
func (s *outputStats) sent(receiver *int64, started time.Time) {
	us := min(max(time.Since(started).Microseconds(), 1), maxLatencyUs)
	s.mu.Lock()
	defer s.mu.Unlock()
	*receiver++
	if s.latency == nil {
		s.latency = hdrhistogram.New(1, maxLatencyUs, latencyDigits)
	}
	_ = s.latency.RecordValue(us) // clamped to its range above
}

// dropped counts n messages lost by a cause.
func (s *outputStats) dropped(cause flow.Cause, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops[cause] += int64(n)
}

// snapshot returns how many messages the best-served receiver got, the latency's
// median and 99th percentile in milliseconds, 0 where nothing was delivered, and
// the drops of all receivers by cause.
func (s *outputStats) snapshot() (delivered int64, p50, p99 float64, drops flow.Drops) {
	s.mu.Lock()
	defer s.mu.Unlock()
	drops = make(flow.Drops, len(s.drops))
	for cause, n := range s.drops {
		drops[cause] = n
	}
	if s.latency != nil {
		p50 = float64(s.latency.ValueAtQuantile(50)) / 1000
		p99 = float64(s.latency.ValueAtQuantile(99)) / 1000
	}
	delivered = s.retired
	for _, n := range s.delivered {
		delivered = max(delivered, *n)
	}
	return delivered, p50, p99, drops
}
