package flow

import (
	"iter"
	"math/bits"
	"time"
)

// Latency is a distribution of durations. A quantile is at most 1/32 too long, or 16 ns. The zero
// value is empty. It isn't safe for several goroutines; a copy is a distribution of its own.
type Latency struct {
	Count      uint64
	Total, Max time.Duration
	buckets    [latencyBuckets]uint32
	octaves    [latencyOctaves]uint64 // what their buckets hold, beyond 2^32 too
}

// Durations are counted in units of 15,625/1,024 ns, so that 0.5 ms times a power of two is a whole octave of them.
// Bucket i holds those whose bucketOf is i: 32 to an octave, up to 2^33 units, over two minutes. The last one holds all
// longer ones, too.
const (
	unitNs, unitShift = 15625, 10
	latencyOctave     = 32
	latencyOctaves    = 29
	latencyBuckets    = latencyOctaves * latencyOctave
	longestNs         = unitNs << (33 - unitShift)
)

func bucketOf(d time.Duration) int {
	n := (uint64(min(max(d, 1), longestNs))<<unitShift - 1) / unitNs // the end of a unit is part of it
	if n < latencyOctave {
		return int(n)
	}
	shift := bits.Len64(n) - 6 // leaves 6 bits, the first of which is 1
	return min(shift*latencyOctave+int(n>>shift), latencyBuckets-1)
}

// bucketEnd returns the longest duration of a bucket.
func bucketEnd(i int) time.Duration {
	units := uint64(i) + 1
	if i >= 2*latencyOctave {
		shift := i/latencyOctave - 1
		units = uint64(i%latencyOctave+latencyOctave+1) << shift
	}
	return time.Duration(units * unitNs >> unitShift)
}

// Add adds a duration. A negative one is in the bucket of 0.
func (l *Latency) Add(d time.Duration) {
	l.Count++
	l.Total += d
	l.Max = max(l.Max, d)
	i := bucketOf(d)
	l.buckets[i]++
	l.octaves[i/latencyOctave]++
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
// the counts of an earlier time can be subtracted. A bucket counts up to 2^32, and then
// from 0 again; a Histogram continues.
func (l *Latency) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range l.buckets {
			if n > 0 && !yield(bucketEnd(i), uint64(n)) {
				return
			}
		}
	}
}

// Merge adds another distribution.
func (l *Latency) Merge(other *Latency) {
	if other.Count == 0 {
		return
	}
	l.Count += other.Count
	l.Total += other.Total
	l.Max = max(l.Max, other.Max)
	for i, n := range other.buckets {
		l.buckets[i] += n
	}
	for i, n := range other.octaves {
		l.octaves[i] += n
	}
}

// HistogramBounds is how many bounds a Histogram has: 0.5 ms, and twice as long each time, up to 4.096 s.
const HistogramBounds = 14

// HistogramBound returns the i-th bound of histograms, from 0 on.
func HistogramBound(i int) time.Duration { return time.Millisecond / 2 << i }

// Histogram is a distribution in the few classes that monitoring programs draw. The zero value is empty.
type Histogram struct {
	Count uint64
	Total time.Duration
	// Within counts the durations up to each HistogramBound, those of shorter bounds included.
	Within [HistogramBounds]uint64
}

// Histogram returns the distribution's histogram, whose counts are exact.
func (l *Latency) Histogram() Histogram {
	h := Histogram{Count: l.Count, Total: l.Total}
	// Each bound is the end of an octave: the first has 2^15 units.
	const first = 15 - 5
	var within uint64
	for i, n := range l.octaves[:first+HistogramBounds] {
		within += n
		if i >= first {
			h.Within[i-first] = within
		}
	}
	return h
}

// Merge adds another histogram.
func (h *Histogram) Merge(other *Histogram) {
	h.Count += other.Count
	h.Total += other.Total
	for i, n := range other.Within {
		h.Within[i] += n
	}
}
