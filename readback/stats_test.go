package readback_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// Quantiles against the sorted durations themselves: never too short, and at
// most an eighth too long.
func TestLatencyQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l readback.Latency
	var all []time.Duration
	var total time.Duration
	for range 10_000 {
		d := time.Duration(math.Exp(r.Float64() * math.Log(float64(90*time.Second))))
		readback.AddLatency(&l, d)
		all = append(all, d)
		total += d
	}
	slices.Sort(all)
	for _, q := range []float64{0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[int(math.Ceil(q*float64(len(all))))-1]
		got := l.Quantile(q)
		require.GreaterOrEqual(t, got, want, "quantile %v", q)
		require.LessOrEqual(t, got, want+want/8, "quantile %v", q)
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

func TestLatencyLimits(t *testing.T) {
	var none readback.Latency
	require.Zero(t, none.Quantile(0.5))
	for _, d := range []time.Duration{0, 1, 7, 8, 15, 16, 17, time.Hour, -time.Second, math.MaxInt64 / 2} {
		var l readback.Latency
		readback.AddLatency(&l, d)
		readback.AddLatency(&l, d)
		require.Equal(t, max(d, 0), max(l.Quantile(0.5), 0), "alone, %v is its own median", d)
	}
}

// Stages on a clock that stands still except for the test's sleeps.
func TestStagesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{CopyMode: readback.CopyAfterFence})
		r.fake.SetFences(hold)
		src := r.buffer(1)
		var times readback.Times
		r.onDone = func(k *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
			times = k.Times()
			l.Release()
		}
		begun := time.Now()
		r.do(r.pool.Begin)
		time.Sleep(time.Millisecond)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		time.Sleep(2 * time.Millisecond)
		r.fake.Signal(0)
		r.poll()
		time.Sleep(4 * time.Millisecond)
		r.fake.Signal(1)
		r.poll()
		time.Sleep(8 * time.Millisecond)
		r.pool.Process()

		require.Equal(t, begun, times.Started)
		require.Equal(t, 3*time.Millisecond, times.FenceSeen.Sub(begun))
		require.Equal(t, 7*time.Millisecond, times.Ready.Sub(begun))
		require.Equal(t, 15*time.Millisecond, times.Completed.Sub(begun))
		// The fake GPU's clock began with the test and counts its timestamps.
		require.Equal(t, time.Microsecond, times.GPUEnd.Sub(times.GPUBegin))
		require.Equal(t, begun.Add(time.Microsecond), times.GPUBegin)

		s := r.pool.Stats()
		require.Equal(t, 3*time.Millisecond, s.Fence.Max)
		require.Equal(t, 4*time.Millisecond, s.Copy.Max)
		require.Equal(t, 8*time.Millisecond, s.Queue.Max)
		require.Equal(t, 15*time.Millisecond, s.Total.Max)
		require.Equal(t, time.Microsecond, s.GPU.Max)
	})
}

// The clocks are compared again after two seconds, not for every capture.
func TestClocksAreComparedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{})
		src := r.buffer(1)
		compared := func() (n int) {
			for _, line := range r.fake.Log() {
				if line == "Clock" {
					n++
				}
			}
			return n
		}
		capture := func() {
			require.NoError(t, r.start(readback.Buffer(src), 0))
			require.Equal(t, 1, r.poll())
			r.pool.Process()
		}
		capture()
		capture()
		require.Equal(t, 1, compared())
		time.Sleep(2*time.Second - 1)
		capture()
		require.Equal(t, 1, compared())
		time.Sleep(time.Millisecond)
		capture()
		require.Equal(t, 2, compared())
	})
}

// Without timestamps in the driver there are no GPU times, and no query is made.
func TestNoTimestamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigWith(t, readback.Config{}, func(info *gpu.Info) { info.TimestampBits = 0 })
		src := r.buffer(1)
		r.onDone = func(k *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
			require.Zero(t, k.Times().GPUBegin)
			require.Zero(t, k.Times().GPUEnd)
			l.Release()
		}
		require.NoError(t, r.start(readback.Buffer(src), 0))
		r.poll()
		require.Equal(t, 1, r.pool.Process())
		require.NotContains(t, r.fake.Log(), "CreateQuery")
		require.Zero(t, r.pool.Stats().GPU.Count)
	})
}
