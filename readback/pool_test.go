package readback_test

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/require"
)

// meta is the caller's data of the test captures.
type meta struct{ id int }

// arrival is what a completion saw.
type arrival struct {
	id    int
	stamp simtime.Stamp
	data  []uint32
	err   error
}

// rig is a pool on a fake device that records its completions.
type rig struct {
	t      testing.TB
	fake   *gputest.Fake
	thread *gpu.Thread
	pool   *readback.Pool[meta, uint32]
	got    []arrival
	onDone func(*readback.Capture[meta, uint32], readback.Lease[uint32], error) // instead of recording and releasing
}

func newRig(t testing.TB, cfg readback.Config) *rig {
	t.Helper()
	return newRigWith(t, cfg, func(*gpu.Info) {})
}

// newRigWith is newRig on a device that says of itself what describe changes.
func newRigWith(t testing.TB, cfg readback.Config, describe func(*gpu.Info)) *rig {
	t.Helper()
	r := &rig{t: t, fake: gputest.NewFake()}
	info := r.fake.Info()
	describe(&info)
	r.fake.SetInfo(info)
	r.thread = r.fake.Start(t)
	if cfg.MaxElements == 0 {
		cfg.MaxElements = 4
	}
	if cfg.CopyMode == readback.CopyAuto {
		cfg.CopyMode = readback.CopyBeforeFence
	}
	var err error
	r.pool, err = readback.New(cfg, r.completed)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.pool.Close()) })
	return r
}

func (r *rig) completed(k *readback.Capture[meta, uint32], l readback.Lease[uint32], err error) {
	r.got = append(r.got, arrival{k.Data.id, k.Stamp(), l.AppendTo(nil), err})
	if r.onDone != nil {
		r.onDone(k, l, err)
		return
	}
	l.Release()
}

func (r *rig) do(f func(c *gpu.Ctx) error) {
	r.t.Helper()
	require.NoError(r.t, r.thread.Do(context.Background(), f))
}

// buffer makes a source that holds the values.
func (r *rig) buffer(values ...uint32) *gpu.Buffer {
	r.t.Helper()
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, v)
	}
	var b *gpu.Buffer
	r.do(func(c *gpu.Ctx) (err error) {
		b, err = c.NewBuffer(gpu.BufferDesc{Label: "source", Size: len(data), Data: data})
		return err
	})
	r.t.Cleanup(b.Close)
	return b
}

// start begins a capture with the id as data and the stamp 10 times the id.
func (r *rig) start(src readback.Source, id int) error {
	return r.thread.Do(context.Background(), func(c *gpu.Ctx) error {
		k, err := r.pool.Start(c, src, simtime.Stamp(int64(id)*10))
		if err == nil {
			k.Data.id = id
		}
		return err
	})
}

func (r *rig) poll() (n int) {
	r.t.Helper()
	require.NoError(r.t, r.thread.Do(context.Background(), func(c *gpu.Ctx) error {
		n = r.pool.Poll(c)
		return nil
	}))
	return n
}

func (r *rig) ids() (ids []int) {
	for _, a := range r.got {
		ids = append(ids, a.id)
	}
	return ids
}

func TestCaptureComesBackWithItsData(t *testing.T) {
	for _, mode := range []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence} {
		t.Run(mode.String(), func(t *testing.T) {
			r := newRig(t, readback.Config{CopyMode: mode})
			src := r.buffer(1, 2, 3, 4)
			require.NoError(t, r.start(readback.Buffer(src), 7))
			require.Equal(t, 1, r.pool.Pending())
			require.Equal(t, 0, r.pool.Process(), "nothing is ready before a poll")
			require.Equal(t, 1, r.poll())
			require.Empty(t, r.got, "no completion on the gl thread")
			require.Equal(t, 1, r.pool.Process())
			require.Equal(t, []arrival{{id: 7, stamp: 70, data: []uint32{1, 2, 3, 4}}}, r.got)
			require.Zero(t, r.pool.Pending())
		})
	}
}

func TestOrderIsThatOfStart(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 4})
	r.fake.SetFences(gputest.FenceScript{Hold: true})
	src := r.buffer(1)
	for id := range 4 {
		require.NoError(t, r.start(readback.Buffer(src), id))
	}
	for _, fence := range []int{3, 1, 2} {
		r.fake.Signal(fence)
		require.Zero(t, r.poll())
	}
	r.fake.Signal(0)
	require.Equal(t, 4, r.poll())
	require.Equal(t, 4, r.pool.Process())
	require.Equal(t, []int{0, 1, 2, 3}, r.ids())
}

func TestFullPoolAnswersErrFull(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 2, Label: "lidar"})
	var leases []readback.Lease[uint32]
	r.onDone = func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
		leases = append(leases, l)
	}
	src := r.buffer(5)
	require.NoError(t, r.start(readback.Buffer(src), 0))
	require.NoError(t, r.start(readback.Buffer(src), 1))
	err := r.start(readback.Buffer(src), 2)
	require.ErrorIs(t, err, readback.ErrFull)
	require.ErrorContains(t, err, "lidar")

	require.Equal(t, 2, r.poll())
	require.Equal(t, 2, r.pool.Process())
	require.ErrorIs(t, r.start(readback.Buffer(src), 2), readback.ErrFull, "lent slots are not free")
	leases[1].Release()
	leases[1].Release()
	require.NoError(t, r.start(readback.Buffer(src), 2))
	require.ErrorIs(t, r.start(readback.Buffer(src), 3), readback.ErrFull)
	require.EqualValues(t, 3, r.pool.Stats().Full)
	leases[0].Release()
}

func TestCloseFailsTheRestInOrder(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 4})
	r.fake.SetFences(gputest.FenceScript{Hold: true})
	src := r.buffer(1)
	for id := range 4 {
		require.NoError(t, r.start(readback.Buffer(src), id))
	}
	r.fake.Signal(0)
	r.fake.Signal(1)
	require.Equal(t, 2, r.poll())
	require.NoError(t, r.pool.Close())
	require.Equal(t, []int{0, 1, 2, 3}, r.ids())
	for _, a := range r.got {
		require.ErrorIs(t, a.err, readback.ErrClosed)
	}
	require.ErrorIs(t, r.start(readback.Buffer(src), 4), readback.ErrClosed)
	require.ErrorIs(t, r.pool.Resize(9), readback.ErrClosed)
	require.NoError(t, r.pool.Close())
	require.NoError(t, r.pool.Drain(context.Background()))
	require.Zero(t, r.poll())
}

func TestLostContextFailsAllInOrder(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 3})
	r.fake.SetFences(gputest.FenceScript{Hold: true})
	src := r.buffer(1)
	for id := range 3 {
		require.NoError(t, r.start(readback.Buffer(src), id))
	}
	r.fake.Lose()
	polled := 0
	err := r.thread.Do(context.Background(), func(c *gpu.Ctx) error { polled = r.pool.Poll(c); return nil })
	require.ErrorIs(t, err, gpu.ErrContextLost)
	require.Equal(t, 3, polled)
	r.pool.Process()
	require.Equal(t, []int{0, 1, 2}, r.ids())
	for _, a := range r.got {
		require.ErrorIs(t, a.err, gpu.ErrContextLost)
	}
	require.ErrorIs(t, r.start(readback.Buffer(src), 4), gpu.ErrContextLost)
	require.EqualValues(t, 3, r.pool.Stats().Failed.ContextLost)
}

func TestPanicStopsNothing(t *testing.T) {
	var reported []error
	r := newRig(t, readback.Config{Slots: 3, OnError: func(err error) { reported = append(reported, err) }})
	boom := errors.New("boom")
	r.onDone = func(k *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
		if k.Data.id == 1 {
			panic(boom)
		}
		l.Release()
	}
	src := r.buffer(1)
	for range 2 {
		for id := range 3 {
			require.NoError(t, r.start(readback.Buffer(src), id), "the panicked completion's slot is free again")
		}
		require.Equal(t, 3, r.poll())
		require.Equal(t, 3, r.pool.Process())
	}
	require.Equal(t, []int{0, 1, 2, 0, 1, 2}, r.ids())
	require.Len(t, reported, 2)
	var p *flow.PanicError
	require.ErrorAs(t, reported[0], &p)
	require.ErrorIs(t, reported[0], boom)
	require.EqualValues(t, 2, r.pool.Stats().Panics)
}

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

// A completion may call Process: the one under way continues, in order.
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
			require.NoError(t, r.pool.Close())
		} else {
			require.Equal(t, 1, r.pool.Process())
			require.Zero(t, r.pool.Stats().Held)
		}
		require.Equal(t, []int{0, 1}, r.ids())
		require.Zero(t, r.pool.Pending())
	}
}

func TestNotify(t *testing.T) {
	notified := 0
	r := newRig(t, readback.Config{Notify: func() { notified++ }})
	r.fake.SetFences(gputest.FenceScript{Polls: 1})
	src := r.buffer(1)
	require.NoError(t, r.start(readback.Buffer(src), 0))
	require.Zero(t, r.poll())
	require.Zero(t, notified)
	require.Equal(t, 1, r.poll())
	require.NoError(t, r.start(readback.Buffer(src), 1))
	r.poll()
	require.Equal(t, 1, r.poll())
	require.Equal(t, 2, notified)
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
	ready := make(chan struct{}, 1)
	notify := func() {
		select {
		case ready <- struct{}{}:
		default:
		}
	}
	pool, err := readback.New(readback.Config{Slots: 4, MaxElements: 16, CopyMode: readback.CopyAfterFence, Notify: notify},
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
			case <-ready:
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
				if _, err := pool.Start(c, readback.Buffer(src), simtime.Stamp(i)); err != nil {
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

// Everything of a closed pool answers at once, with ErrClosed where an error is
// answered.
func TestUseAfterClose(t *testing.T) {
	for _, used := range []bool{false, true} {
		r := newRig(t, readback.Config{Label: "camera", Tick: func() simtime.Stamp { return 5 }})
		src := readback.Buffer(r.buffer(1))
		if used {
			require.NoError(t, r.start(src, 0))
			require.Equal(t, 1, r.poll())
		}
		require.NoError(t, r.pool.Close())
		before := r.pool.Stats()
		for name, call := range map[string]func(c *gpu.Ctx) error{
			"Begin":     r.pool.Begin,
			"Prepare":   r.pool.Prepare,
			"Start":     func(c *gpu.Ctx) error { _, err := r.pool.Start(c, src, 1); return err },
			"StartTick": func(c *gpu.Ctx) error { _, err := r.pool.StartTick(c, src); return err },
			"Resize":    func(*gpu.Ctx) error { return r.pool.Resize(2) },
		} {
			err := r.thread.Do(t.Context(), call)
			require.ErrorIs(t, err, readback.ErrClosed, name)
			require.ErrorContains(t, err, `"camera"`, name)
		}
		after := r.pool.Stats()
		require.Equal(t, before.Refused+3, after.Refused, "Begin, Start and StartTick lost a capture each")
		require.Equal(t, before.Started, after.Started)
		require.Zero(t, r.poll())
		require.Zero(t, r.pool.Process())
		require.Zero(t, r.pool.ProcessThrough(9))
		require.Zero(t, r.pool.Pending())
		require.NoError(t, r.pool.Drain(context.Background()))
		require.NoError(t, r.pool.Close())
		require.Equal(t, readback.CopyBeforeFence, r.pool.CopyMode())
	}
}

// A nil token is a dead one.
func TestNilToken(t *testing.T) {
	r := newRig(t, readback.Config{Tick: func() simtime.Stamp { return 5 }})
	src := readback.Buffer(r.buffer(1))
	require.ErrorIs(t, r.pool.Begin(nil), gpu.ErrDeadCtx)
	require.ErrorIs(t, r.pool.Prepare(nil), gpu.ErrDeadCtx)
	_, err := r.pool.Start(nil, src, 0)
	require.ErrorIs(t, err, gpu.ErrDeadCtx)
	_, err = r.pool.StartTick(nil, src)
	require.ErrorIs(t, err, gpu.ErrDeadCtx)
	require.Zero(t, r.pool.Poll(nil))
	require.ErrorIs(t, readback.Probe(nil).Err, gpu.ErrDeadCtx)
	require.False(t, r.pool.Holds(nil))
	require.EqualValues(t, 3, r.pool.Stats().Refused)
}

// The thread's end takes the mapped memory: a capture that is completed
// afterwards fails, and a lease lends nothing any more.
func TestUseAfterTheThreadsEnd(t *testing.T) {
	for _, checking := range []bool{false, true} {
		thread, err := gpu.Start(gputest.NewFake().Open)
		require.NoError(t, err)
		var errs []error
		var lease readback.Lease[uint8]
		pool, err := readback.New(readback.Config{MaxElements: 2},
			func(_ *readback.Capture[meta, uint8], l readback.Lease[uint8], err error) {
				if err == nil {
					lease = l
				}
				errs = append(errs, err)
			})
		require.NoError(t, err)
		pool.SetChecking(checking)
		var src *gpu.Buffer
		start := func(c *gpu.Ctx) error {
			_, err := pool.Start(c, readback.Buffer(src), 0)
			pool.Poll(c)
			return err
		}
		require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
			if src, err = c.NewBuffer(gpu.BufferDesc{Label: "source", Size: 2, Data: []byte{1, 2}}); err != nil {
				return err
			}
			return start(c)
		}))
		require.Equal(t, 1, pool.Process())
		require.Equal(t, []uint8{1, 2}, lease.Slice())
		require.NoError(t, thread.Do(t.Context(), start))

		require.NoError(t, thread.Close())
		require.Nil(t, lease.Slice())
		require.Nil(t, lease.AppendTo(nil))
		require.Equal(t, 1, pool.Process())
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], gpu.ErrObjectClosed)
		require.EqualValues(t, 1, pool.Stats().Failed.Other)
		lease.Release()
		require.NoError(t, pool.Close())
		src.Close()
	}
}

// texture makes a 4x2 RGBA8 source with a second level.
func (r *rig) texture() *gpu.Texture {
	r.t.Helper()
	var texture *gpu.Texture
	r.do(func(c *gpu.Ctx) (err error) {
		texture, err = c.NewTexture(gpu.TextureDesc{Label: "picture", Format: gpu.FormatRGBA8, Width: 4, Height: 2, Levels: 2})
		return err
	})
	r.t.Cleanup(texture.Close)
	return texture
}

// Each kind of source gets its own barrier and copy; the rest of the sequence
// depends on the copy mode alone.
func TestCallSequence(t *testing.T) {
	sources := []struct {
		name    string
		source  func(r *rig) readback.Source
		barrier string
		copy    string
	}{
		{"buffer", func(r *rig) readback.Source { return readback.Buffer(r.buffer(1, 2, 3)) },
			"Barrier buffer update", `CopyBuffer "staging"[0:12] <- "source"[0:12]`},
		{"buffer range", func(r *rig) readback.Source { return readback.BufferRange(r.buffer(1, 2, 3), 4, 8) },
			"Barrier buffer update", `CopyBuffer "staging"[0:8] <- "source"[4:12]`},
		{"texture", func(r *rig) readback.Source { return readback.Texture(r.texture()) },
			"Barrier texture update|pixel buffer|framebuffer", `CopyTextureToBuffer "staging"[0:32] <- "picture" level 0 RGBA8`},
		{"texture level and format", func(r *rig) readback.Source { return readback.TextureLevel(r.texture(), 1, gpu.FormatR32F) },
			"Barrier texture update|pixel buffer|framebuffer", `CopyTextureToBuffer "staging"[0:8] <- "picture" level 1 R32F`},
	}
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			for _, m := range []struct {
				mode        readback.CopyMode
				start, poll []string
			}{
				{readback.CopyBeforeFence,
					[]string{"Timestamp", s.barrier, s.copy, "Timestamp", "CreateFence 0", "Flush"},
					[]string{"PollFence 0 = signaled", "Clock", "QueryResult ready=true", "QueryResult ready=true"}},
				{readback.CopyAfterFence,
					[]string{"Timestamp", "Timestamp", "CreateFence 0", "Flush"},
					[]string{"PollFence 0 = signaled", "Clock", "QueryResult ready=true", "QueryResult ready=true",
						s.barrier, s.copy, "CreateFence 1", "Delete fence fence", "Flush", "PollFence 1 = signaled"}},
			} {
				t.Run(m.mode.String(), func(t *testing.T) {
					r := newRig(t, readback.Config{Label: "staging", MaxElements: 8, CopyMode: m.mode})
					src := s.source(r)
					r.do(r.pool.Prepare)
					r.fake.ClearLog()
					require.NoError(t, r.start(src, 0))
					require.Equal(t, m.start, r.fake.Log())
					r.fake.ClearLog()
					require.Equal(t, 1, r.poll())
					require.Equal(t, m.poll, r.fake.Log())
					r.fake.ClearLog()
					r.pool.Process()
					require.Empty(t, r.fake.Log(), "completing is not GPU work")
				})
			}
		})
	}
}

// TestTargetNeedsNoCopy: what is written into a slot's own memory comes back from there, whole or
// in part. What an earlier lease still has isn't the target.
func TestTargetNeedsNoCopy(t *testing.T) {
	r := newRig(t, readback.Config{Label: "staging", MaxElements: 3, Slots: 2})
	target := func() (b *gpu.Buffer) {
		r.do(func(c *gpu.Ctx) (err error) {
			b, err = r.pool.Target(c)
			return err
		})
		return b
	}
	require.Nil(t, target(), "a GPU with memory of its own")
	info := r.fake.Info()
	info.HostMemory = true
	r.fake.SetInfo(info)
	var leases []readback.Lease[uint32]
	r.onDone = func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], err error) {
		require.NoError(t, err)
		leases = append(leases, l)
	}
	r.fake.ClearLog()
	for id := range 2 {
		b := target()
		require.Same(t, b, target(), "until Start")
		r.do(func(c *gpu.Ctx) error {
			return c.WriteBuffer(b, 0, gpu.BytesOf([]uint32{uint32(10 * id), uint32(10*id + 1), uint32(10*id + 2)}))
		})
		require.ErrorIs(t, r.start(readback.BufferRange(b, 2, 4), id), readback.ErrSize)
		require.NoError(t, r.pool.Resize(3+id), "for later targets")
		require.NoError(t, r.start([]readback.Source{readback.Buffer(b), readback.BufferRange(b, 4, 4)}[id], id))
	}
	require.Equal(t, 2, r.poll())
	r.pool.Process()
	r.pool.Process()
	require.Equal(t, [][]uint32{{0, 1, 2}, {11}}, [][]uint32{r.got[0].data, r.got[1].data})
	require.NotContains(t, strings.Join(r.fake.Log(), "\n"), "Copy")
	require.ErrorIs(t, r.thread.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := r.pool.Target(c)
		return err
	}), readback.ErrFull)
	leases[1].Release()
	require.NotNil(t, target())
	leases[0].Release()
}

// A slot used again makes no object but its fence, which replaces the old one.
func TestSlotsAreUsedAgain(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1, Label: "staging"})
	src := readback.Buffer(r.buffer(1))
	require.NoError(t, r.start(src, 0))
	r.poll()
	r.pool.Process()
	r.fake.ClearLog()
	require.NoError(t, r.start(src, 1))
	require.Equal(t, []string{"Timestamp", "Barrier buffer update", `CopyBuffer "staging"[0:4] <- "source"[0:4]`,
		"Timestamp", "CreateFence 1", "Delete fence fence", "Flush"}, r.fake.Log())
}

// Begin marks where the GPU work begins; without timestamps nothing is marked.
func TestBeginMarksTheBeginning(t *testing.T) {
	r := newRig(t, readback.Config{Label: "staging"})
	src := r.buffer(1)
	r.do(r.pool.Prepare)
	r.fake.ClearLog()
	r.do(func(c *gpu.Ctx) error {
		if err := r.pool.Begin(c); err != nil {
			return err
		}
		if err := c.WriteBuffer(src, 0, []byte{9, 0, 0, 0}); err != nil {
			return err
		}
		_, err := r.pool.Start(c, readback.Buffer(src), 0)
		return err
	})
	require.Equal(t, []string{"Timestamp", `WriteBuffer "source"[0:4]`, "Barrier buffer update",
		`CopyBuffer "staging"[0:4] <- "source"[0:4]`, "Timestamp", "CreateFence 0", "Flush"}, r.fake.Log())

	none := newRig(t, readback.Config{NoTimers: true})
	source := none.buffer(1)
	none.do(none.pool.Begin)
	require.NoError(t, none.start(readback.Buffer(source), 0))
	none.poll()
	for _, call := range none.fake.Log() {
		require.NotContains(t, []string{"CreateQuery", "Timestamp", "Clock"}, call)
	}
}

// A Start that fails uses up the mark of its Begin: a later capture must not
// seem to have begun then.
func TestFailedStartForgetsBegin(t *testing.T) {
	r := newRig(t, readback.Config{MaxElements: 1})
	big, small := r.buffer(1, 2), r.buffer(1)
	r.do(r.pool.Begin)
	require.ErrorIs(t, r.start(readback.Buffer(big), 0), readback.ErrSize)
	r.fake.ClearLog()
	require.NoError(t, r.start(readback.Buffer(small), 1))
	require.Equal(t, "Timestamp", r.fake.Log()[0])
}

func TestBeginAnswersErrFullBeforeTheWork(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1})
	src := r.buffer(1)
	r.do(r.pool.Begin)
	require.NoError(t, r.start(readback.Buffer(src), 0), "the slot that Begin reserved is Start's")
	err := r.thread.Do(t.Context(), r.pool.Begin)
	require.ErrorIs(t, err, readback.ErrFull)
	require.EqualValues(t, 1, r.pool.Stats().Full)
}

// With the copy before the fence the bytes are those of Start. With the copy after it, a write
// before the copy is the caller's mistake, which shows.
func TestSourceIsHeldUntilItsCopy(t *testing.T) {
	overwrite := func(r *rig, b *gpu.Buffer) {
		r.do(func(c *gpu.Ctx) error { return c.WriteBuffer(b, 0, []byte{0, 0, 0, 0}) })
	}
	t.Run("before fence", func(t *testing.T) {
		r := newRig(t, readback.Config{CopyMode: readback.CopyBeforeFence})
		src := r.buffer(42)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		require.False(t, r.pool.Holds(src))
		overwrite(r, src)
		r.poll()
		r.pool.Process()
		require.Equal(t, []uint32{42}, r.got[0].data)
	})
	t.Run("after fence", func(t *testing.T) {
		r := newRig(t, readback.Config{CopyMode: readback.CopyAfterFence})
		src := r.buffer(42)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		require.True(t, r.pool.Holds(src))
		overwrite(r, src)
		require.Len(t, r.fake.Faults(), 1)
		r.fake.ClearFaults()
		r.poll()
		require.False(t, r.pool.Holds(src))
		overwrite(r, src)
		require.Empty(t, r.fake.Faults())
	})
}

// A pool with copies after the fence issues all copies whose source is
// finished, also behind an older copy that the GPU is still making.
func TestCopiesDontWaitForOlderCopies(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 2, CopyMode: readback.CopyAfterFence})
	r.fake.SetFences(hold)
	a, b := r.buffer(1), r.buffer(2)
	require.NoError(t, r.start(readback.Buffer(a), 0))
	require.NoError(t, r.start(readback.Buffer(b), 1))
	r.fake.Signal(0)
	require.Zero(t, r.poll(), "the copy of the first makes fence 2")
	r.fake.Signal(1)
	require.Zero(t, r.poll(), "the copy of the second makes fence 3")
	require.Equal(t, 4, r.fake.Fences())
	r.fake.Signal(3)
	require.Zero(t, r.poll())
	r.fake.Signal(2)
	require.Equal(t, 2, r.poll())
	r.pool.Process()
	require.Equal(t, []int{0, 1}, r.ids())
}

func TestResizeIsForLaterCaptures(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 2, MaxElements: 2})
	r.fake.SetFences(hold)
	small, big := r.buffer(1, 2), r.buffer(1, 2, 3, 4)
	require.NoError(t, r.start(readback.Buffer(small), 0))
	require.ErrorIs(t, r.start(readback.Buffer(big), 1), readback.ErrSize)
	require.NoError(t, r.pool.Resize(4))
	require.NoError(t, r.start(readback.Buffer(big), 1))
	r.fake.Signal(0)
	r.fake.Signal(1)
	require.Equal(t, 2, r.poll())
	r.pool.Process()
	require.Equal(t, []uint32{1, 2}, r.got[0].data)
	require.Equal(t, []uint32{1, 2, 3, 4}, r.got[1].data)

	r.do(r.pool.Prepare)
	r.do(func(*gpu.Ctx) error { return nil }) // deletes what was closed
	r.fake.ClearLog()
	require.NoError(t, r.pool.Resize(4))
	r.do(r.pool.Prepare)
	require.Empty(t, r.fake.Log(), "the same size again makes nothing")
	require.ErrorIs(t, r.pool.Resize(0), readback.ErrSize)
	require.ErrorIs(t, r.pool.Resize(-1), readback.ErrSize)
}

func TestStartTickTakesTheTicksTime(t *testing.T) {
	r := newRig(t, readback.Config{Tick: func() simtime.Stamp { return 1234 }})
	src := r.buffer(1)
	r.do(func(c *gpu.Ctx) error {
		_, err := r.pool.StartTick(c, readback.Buffer(src))
		return err
	})
	r.poll()
	r.pool.Process()
	require.EqualValues(t, simtime.Stamp(1234), r.got[0].stamp)

	none := newRig(t, readback.Config{})
	err := none.thread.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := none.pool.StartTick(c, readback.Buffer(src))
		return err
	})
	require.ErrorIs(t, err, readback.ErrConfig)
	require.EqualValues(t, 1, none.pool.Stats().Refused)
}

// Data is a fresh value in each capture of a slot.
func TestDataIsZeroAtStart(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1})
	src := r.buffer(1)
	for range 2 {
		var data meta
		r.do(func(c *gpu.Ctx) error {
			k, err := r.pool.Start(c, readback.Buffer(src), 0)
			if err == nil {
				data, k.Data.id = k.Data, 5
			}
			return err
		})
		require.Zero(t, data)
		r.poll()
		r.pool.Process()
	}
	require.Equal(t, []int{5, 5}, r.ids())
}
