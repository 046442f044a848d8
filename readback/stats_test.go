package readback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

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
