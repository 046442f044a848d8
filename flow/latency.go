package flow

import (
	"iter"
	"math/bits"
	"time"
)

// Latency is a distribution of durations. A quantile is at most 1/32 too long. The zero
// value is empty. It isn't safe for several goroutines; a copy is a distribution of its own.
type Latency struct {
	Count      uint64
	Total, Max time.Duration
	buckets    [latencyBuckets]uint32
}

// Bucket i holds the durations whose bucketOf is i: 32 to an octave of nanoseconds, up to 2^37
// ns, over two minutes. The last one holds all longer ones, too.
const (
	latencyOctave  = 32
	latencyBuckets = 33 * latencyOctave
)

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < latencyOctave {
		return int(n)
	}
	shift := bits.Len64(n) - 6 // leaves 6 bits, the first of which is 1
	return min(shift*latencyOctave+int(n>>shift), latencyBuckets-1)
}

// bucketEnd returns the longest duration of a bucket.
func bucketEnd(i int) time.Duration {
	if i < 2*latencyOctave {
		return time.Duration(i)
	}
	shift := i/latencyOctave - 1
	return time.Duration((i%latencyOctave+latencyOctave+1)<<shift - 1)
}

// Add adds a duration. A negative one is in the bucket of 0.
func (l *Latency) Add(d time.Duration) {
	l.Count++
	l.Total += d
	l.Max = max(l.Max, d)
	l.buckets[bucketOf(d)]++
}

// Quantile returns the duration that the fraction q, 0 to 1, of all durations
// don't exceed, 0 of no durations.
func (l *Latency) Quantile(q float64) time.Duration {
	if l.Count == 0 {
		return 0
	}
	rest := q * float64(l.Count)
	for i, n := range l.buckets[:latencyBuckets-1] {
		if rest -= float64(n); n > 0 && rest <= 0 {
			return min(bucketEnd(i), l.Max)
		}
	}
	return l.Max
}

// Buckets returns the distribution for a histogram: the longest duration of each
// bucket that holds some, shortest first, and how many it holds. The last bucket,
// of over two minutes, holds all that are longer, too. Buckets don't move, so that
// the counts of an earlier time can be subtracted.
func (l *Latency) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range l.buckets {
			if n > 0 && !yield(bucketEnd(i), uint64(n)) {
				return
			}
		}
	}
}
