package readback_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

func TestDrainCompletesWhatPollFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{Slots: 3})
		r.fake.SetFences(hold)
		src := r.buffer(1)
		for id := range 3 {
			require.NoError(t, r.start(readback.Buffer(src), id))
		}
		drained := make(chan error, 1)
		go func() { drained <- r.pool.Drain(t.Context()) }()
		for fence := range 3 {
			synctest.Wait()
			require.Empty(t, drained)
			require.Equal(t, 3-fence, r.pool.Pending())
			r.fake.Signal(fence)
			require.Equal(t, 1, r.poll())
		}
		require.NoError(t, <-drained)
		require.Equal(t, []int{0, 1, 2}, r.ids())
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{Slots: 3, Label: "lidar"})
		r.fake.SetFences(hold)
		src := r.buffer(1)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := r.pool.Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `"lidar" with 1 captures left`)
		require.Equal(t, 1, r.pool.Pending())
	})
}

// Drain waits for what was started before it, not for what comes later.
func TestDrainDoesntChaseLaterCaptures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{Slots: 3})
		r.fake.SetFences(hold)
		src := r.buffer(1)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		drained := make(chan error, 1)
		go func() { drained <- r.pool.Drain(t.Context()) }()
		synctest.Wait()
		require.NoError(t, r.start(readback.Buffer(src), 1))
		r.fake.Signal(0)
		r.poll()
		require.NoError(t, <-drained)
		require.Equal(t, 1, r.pool.Pending())
	})
}

// Close wakes a Drain, whose captures have failed then.
func TestCloseEndsDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{})
		r.fake.SetFences(hold)
		src := r.buffer(1)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		drained := make(chan error, 1)
		go func() { drained <- r.pool.Drain(t.Context()) }()
		synctest.Wait()
		require.NoError(t, r.pool.Close())
		require.NoError(t, <-drained)
		require.ErrorIs(t, r.got[0].err, readback.ErrClosed)
	})
}

// Close waits for a completion that is running elsewhere, which then runs the
// rest, so that no two completions overlap.
func TestCloseWaitsForRunningCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{Slots: 2})
		inside, goOn := make(chan bool, 2), make(chan bool)
		r.onDone = func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
			inside <- true
			<-goOn
			l.Release()
		}
		src := r.buffer(1)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		require.NoError(t, r.start(readback.Buffer(src), 1))
		r.poll()
		go r.pool.Process()
		<-inside
		closed := make(chan error, 2)
		go func() { closed <- r.pool.Close() }()
		go func() { closed <- r.pool.Close() }()
		synctest.Wait()
		require.Empty(t, closed)
		require.Zero(t, r.pool.Process(), "one Process at a time")
		goOn <- true
		<-inside
		synctest.Wait()
		require.Empty(t, closed)
		goOn <- true
		require.NoError(t, <-closed)
		require.NoError(t, <-closed)
		require.Equal(t, []int{0, 1}, r.ids())
		require.NoError(t, r.got[0].err, "its completion had begun")
		require.ErrorIs(t, r.got[1].err, readback.ErrClosed)
	})
}

// A completion may call Process: the one under way goes on, in order.
func TestProcessInsideACompletion(t *testing.T) {
	r := newRig(t, readback.Config{})
	depth := 0
	r.onDone = func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
		depth++
		require.Equal(t, 1, depth)
		require.Zero(t, r.pool.Process())
		depth--
		l.Release()
	}
	src := r.buffer(1)
	for id := range 3 {
		require.NoError(t, r.start(readback.Buffer(src), id))
	}
	r.poll()
	require.Equal(t, 3, r.pool.ProcessThrough(0), "the nested call raises the limit")
	require.Equal(t, []int{0, 1, 2}, r.ids())
}

// A completion that ends its goroutine, as a test's FailNow does, costs the
// pool nothing.
func TestGoexitInACompletion(t *testing.T) {
	for _, closing := range []bool{false, true} {
		r := newRig(t, readback.Config{Slots: 2})
		src := r.buffer(1)
		r.onDone = func(k *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
			if k.Data.id == 0 {
				runtime.Goexit()
			}
			l.Release()
		}
		require.NoError(t, r.start(readback.Buffer(src), 0))
		require.NoError(t, r.start(readback.Buffer(src), 1))
		r.poll()
		ended := make(chan bool)
		go func() {
			defer close(ended)
			if closing {
				_ = r.pool.Close()
			} else {
				r.pool.Process()
			}
		}()
		<-ended
		if closing {
			<-r.pool.Closed()
		} else {
			require.Equal(t, 1, r.pool.Process())
			require.Zero(t, r.pool.Stats().Held)
		}
		require.Equal(t, []int{0, 1}, r.ids())
		require.Zero(t, r.pool.Pending())
	}
}

func TestReadyAndNotify(t *testing.T) {
	notified := 0
	r := newRig(t, readback.Config{Notify: func() { notified++ }})
	r.fake.SetFences(gputest.FenceScript{Polls: 1})
	src := r.buffer(1)
	require.NoError(t, r.start(readback.Buffer(src), 0))
	require.Zero(t, r.poll())
	require.Zero(t, notified)
	require.Empty(t, r.pool.Ready())
	require.Equal(t, 1, r.poll())
	require.NoError(t, r.start(readback.Buffer(src), 1))
	r.poll()
	require.Equal(t, 1, r.poll())
	require.Equal(t, 2, notified)
	require.Len(t, r.pool.Ready(), 1, "one value for both")
	<-r.pool.Ready()
	require.Equal(t, 2, r.pool.Process())
}

// Captures from one goroutine, completions on another, leases released on
// others, and closing at some moment: for the race detector, with R1 and R2.
func TestConcurrentUse(t *testing.T) {
	fake := gputest.NewFake()
	fake.StopLog()
	fake.SetFences(gputest.FenceScript{Polls: 2})
	thread := fake.Start(t)
	released := make(chan readback.Lease[uint32], 64)
	var next, failed atomic.Int64
	pool, err := readback.New(readback.Config{Slots: 4, MaxElements: 16, CopyMode: readback.CopyAfterFence},
		func(k *readback.Capture[meta, uint32], l readback.Lease[uint32], err error) {
			if int64(k.Data.id) != next.Add(1)-1 {
				t.Errorf("capture %d comes out of turn", k.Data.id)
			}
			if err != nil {
				failed.Add(1)
				return
			}
			if more, ok := l.Retain(); ok {
				released <- more
			}
			released <- l
		})
	require.NoError(t, err)

	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for l := range released {
				for i, v := range l.Slice() {
					if v != uint32(i) {
						t.Errorf("element %d is %d", i, v)
					}
				}
				l.Release()
			}
		})
	}
	stop := make(chan struct{})
	var completer sync.WaitGroup
	completer.Go(func() {
		for {
			select {
			case <-pool.Ready():
				pool.Process()
			case <-stop:
				return
			}
		}
	})

	var src *gpu.Buffer
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
		data := make([]byte, 64)
		for i := range 16 {
			data[4*i] = byte(i)
		}
		src, err = c.NewBuffer(gpu.BufferDesc{Label: "source", Size: 64, Data: data})
		return err
	}))
	started := 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for pool.Stats().Completed < 1000 {
		require.NoError(t, ctx.Err())
		require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
			pool.Poll(c)
			if k, err := pool.Start(c, readback.Buffer(src), 0); err == nil {
				k.Data.id = started
				started++
			}
			return nil
		}))
	}
	require.NoError(t, pool.Close())
	close(stop)
	completer.Wait()
	close(released)
	workers.Wait()
	src.Close()
	require.EqualValues(t, started, next.Load())
	s := pool.Stats()
	require.EqualValues(t, started, s.Started)
	require.EqualValues(t, failed.Load(), s.Failed.Closed)
	require.Zero(t, s.Held)
	t.Logf("%d started, %d completed, %d full", s.Started, s.Completed, s.Full)
}

// The whole way on a device whose fences come some polls late.
func TestDelayedDevice(t *testing.T) {
	fake := gputest.NewFake()
	thread, err := gpu.Start(gputest.Delay(fake.Open, 3))
	require.NoError(t, err)
	defer func() { require.NoError(t, thread.Close()) }()
	var got []uint32
	pool, err := readback.New(readback.Config{MaxElements: 1, CopyMode: readback.CopyBeforeFence},
		func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], err error) {
			defer l.Release()
			require.NoError(t, err)
			got = l.AppendTo(got)
		})
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	var src *gpu.Buffer
	var ready []int
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
		if src, err = c.NewBuffer(gpu.BufferDesc{Size: 4}); err != nil {
			return err
		}
		for i := range byte(11) {
			if i < 3 {
				if err := c.WriteBuffer(src, 0, []byte{i, 0, 0, 0}); err != nil {
					return err
				}
				if _, err := pool.Start(c, readback.Buffer(src), int64(i)); err != nil {
					return err
				}
			}
			ready = append(ready, pool.Poll(c))
		}
		return nil
	}))
	src.Close()
	require.Equal(t, 3, pool.Process())
	require.Equal(t, []uint32{0, 1, 2}, got)
	// Only the head is polled: the next fence's polls begin when it has gone.
	require.Equal(t, []int{0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0}, ready)
}
