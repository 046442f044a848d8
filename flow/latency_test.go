package flow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
)

// Quantiles against the sorted durations themselves: never too short, and at
// most a thirty-second too long, or a unit of the buckets.
func TestLatencyQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l flow.Latency
	var all []time.Duration
	var total time.Duration
	for range 10_000 {
		d := time.Duration(math.Exp(r.Float64() * math.Log(float64(90*time.Second))))
		l.Add(d)
		all = append(all, d)
		total += d
	}
	slices.Sort(all)
	for _, q := range []float64{0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[int(math.Ceil(q*float64(len(all))))-1]
		got := l.Quantile(q)
		require.GreaterOrEqual(t, got, want, "quantile %v", q)
		require.LessOrEqual(t, got, want+max(want/32, 16), "quantile %v", q)
	}
	from, before := 0, time.Duration(-1)
	for end, n := range l.Buckets() {
		require.Greater(t, end, before, "shortest first")
		to := sort.Search(len(all), func(i int) bool { return all[i] > end })
		require.EqualValues(t, to-from, n, "durations of over %v, up to %v", before, end)
		from, before = to, end
	}
	require.Equal(t, len(all), from)
	require.Equal(t, all[len(all)-1], l.Max)
	require.Equal(t, total, l.Total)
}

// TestHistogram: its counts are those of the durations themselves, also of those that are as long as a bound.
func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var l, second flow.Latency
	var all []time.Duration
	add := func(to *flow.Latency, d time.Duration) {
		to.Add(d)
		all = append(all, d)
	}
	bound := 500 * time.Microsecond
	for i := range flow.HistogramBounds {
		require.Equal(t, bound, flow.HistogramBound(i))
		for _, d := range []time.Duration{bound - 1, bound, bound + 1} {
			add(&l, d)
		}
		bound *= 2
	}
	for _, d := range []time.Duration{-time.Second, 0, 1, time.Hour, math.MaxInt64 / 8} {
		add(&l, d)
	}
	for range 10_000 {
		add(&second, time.Duration(math.Exp(r.Float64()*math.Log(float64(90*time.Second)))))
	}
	merged, sum := l, l.Histogram()
	merged.Merge(&second)
	more := second.Histogram()
	sum.Merge(&more)
	var total, longest time.Duration
	for _, d := range all {
		total, longest = total+d, max(longest, d)
	}
	require.Equal(t, longest, merged.Max)
	h := merged.Histogram()
	require.Equal(t, h, sum)
	require.EqualValues(t, len(all), h.Count)
	require.Equal(t, total, h.Total)
	for i, n := range h.Within {
		want := 0
		for _, d := range all {
			if d <= flow.HistogramBound(i) {
				want++
			}
		}
		require.EqualValues(t, want, n, "up to %v", flow.HistogramBound(i))
	}
}

func TestLatencyLimits(t *testing.T) {
	var none flow.Latency
	require.Zero(t, none.Quantile(0.5))
	for _, d := range []time.Duration{0, 1, 31, 32, 63, 64, 65, time.Hour, -time.Second, math.MaxInt64 / 2} {
		var l flow.Latency
		l.Add(d)
		l.Add(d)
		require.Equal(t, max(d, 0), max(l.Quantile(0.5), 0), "alone, %v is its own median", d)
	}
}

// TestManyDurations: no count falls however many durations there are.
func TestManyDurations(t *testing.T) {
	var l flow.Latency
	l.Add(time.Millisecond)
	before := l.Histogram()
	for range 40 {
		other := l
		l.Merge(&other)
		h := l.Histogram()
		for i, n := range h.Within {
			require.GreaterOrEqual(t, n, before.Within[i])
		}
		before = h
	}
	require.EqualValues(t, 1<<40, l.Count)
	require.Equal(t, l.Count, before.Within[flow.HistogramBounds-1])
	require.Equal(t, time.Millisecond, l.Quantile(0.5))
}

// The buckets of a histogram, shortest durations first.
func ExampleLatency_Buckets() {
	var sending flow.Latency
	for _, d := range []time.Duration{time.Microsecond, time.Millisecond, time.Microsecond} {
		sending.Add(d)
	}
	for longest, count := range sending.Buckets() {
		fmt.Println(count, "of at most", longest)
	}
	fmt.Println("half of them within", sending.Quantile(0.5), "- 99 % within", sending.Quantile(0.99))
	// Output:
	// 2 of at most 1.007µs
	// 1 of at most 1ms
	// half of them within 1.007µs - 99 % within 1ms
}
