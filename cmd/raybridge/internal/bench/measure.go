package bench

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
)

// batch is one run of messages.
type batch struct {
	messages int
	took     time.Duration
	allocs   uint64 // of the whole process
}

func (b batch) rate() float64             { return float64(b.messages) / b.took.Seconds() }
func (b batch) nsPerMessage() float64     { return float64(b.took) / float64(b.messages) }
func (b batch) allocsPerMessage() float64 { return float64(b.allocs) / float64(b.messages) }

// timed times what sends messages and returns when they have arrived.
func timed(send func() (messages int, err error)) (b batch, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	b.messages, err = send()
	b.took = time.Since(begun)
	runtime.ReadMemStats(&after)
	b.allocs = after.Mallocs - before.Mallocs
	return b, err
}

// byTurns makes so many runs of each way, one way after the other, so that what the
// machine does besides falls on all. Before them each has a run that doesn't count, in
// which buffers and congestion windows grow. It returns the runs of each way.
func byTurns(runs int, ways ...func() (messages int, err error)) ([][]batch, error) {
	list := make([][]batch, len(ways))
	for run := range runs + 1 {
		for i, send := range ways {
			b, err := timed(send)
			if err != nil {
				return nil, fmt.Errorf("measure way %d of %d: %w", i+1, len(ways), err)
			}
			if run > 0 {
				list[i] = append(list[i], b)
			}
		}
	}
	return list, nil
}

// each returns one value of each run.
func each[R any](runs []R, value func(R) float64) []float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = value(r)
	}
	return list
}

// times returns the values times a factor.
func times(factor float64, list []float64) []float64 {
	return each(list, func(v float64) float64 { return factor * v })
}

// ratios divides run by run: what slows the whole machine down for a while leaves them
// alone.
func ratios(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] / b[i]
	}
	return list
}

// median returns the middle value, or the mean of the two middle ones; NaN of none.
func median(list []float64) float64 {
	n := len(list)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile returns the least of the values, in any order, that a share q of them, 0 to 1,
// doesn't exceed (nearest rank). It returns 0 of none.
func quantile[T ~int64](list []T, q float64) T {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// percentile is quantile in milliseconds, and NaN of none.
func percentile(list []time.Duration, q float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	return milliseconds(quantile(list, q))
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// byteSize writes a size as cases do: 64KiB, 8MiB.
func byteSize(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}

// classes divide times by equal ratios: so many classes to a factor of ten, from first
// milliseconds on.
type classes struct {
	aDecade int
	first   float64
}

// of returns the class of a time in milliseconds; the first one has all that are shorter,
// too.
func (c classes) of(ms float64) int {
	return int(math.Floor(float64(c.aDecade)*math.Log10(max(ms, c.first)/c.first) + 1e-9))
}

// steps draws the share of each class in percent, by the classes' lower edges; the last
// edge closes the steps.
func (c classes) steps(name string, counts map[int]int64) chart.Series {
	s := chart.Series{Name: name, Kind: chart.Steps}
	least, most, total := math.MaxInt, 0, int64(0)
	for class, n := range counts {
		least, most, total = min(least, class), max(most, class), total+n
	}
	for class := least; class <= most+1; class++ {
		s.X = append(s.X, c.first*math.Pow(10, float64(class)/float64(c.aDecade)))
		s.Y = append(s.Y, 100*float64(counts[class])/float64(total))
	}
	return s
}

// discarded is a file that takes everything and keeps nothing.
type discarded struct{}

func (discarded) Write(p []byte) (int, error)         { return len(p), nil }
func (discarded) Seek(at int64, _ int) (int64, error) { return at, nil }
func (discarded) Truncate(int64) error                { return nil }
func (discarded) Close() error                        { return nil }

// discard opens it.
func discard(string) (bridges.Target, error) { return discarded{}, nil }
