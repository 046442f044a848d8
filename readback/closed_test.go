package readback_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

// Everything of a closed pool answers at once, with ErrClosed where an error is
// answered.
func TestUseAfterClose(t *testing.T) {
	for _, used := range []bool{false, true} {
		r := newRig(t, readback.Config{Label: "camera", Tick: func() int64 { return 5 }})
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
		require.Equal(t, 4, r.pool.MaxElements())
		require.Equal(t, readback.CopyBeforeFence, r.pool.CopyMode())
		<-r.pool.Closed()
	}
}

// A nil token is a dead one.
func TestNilToken(t *testing.T) {
	r := newRig(t, readback.Config{Tick: func() int64 { return 5 }})
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
		require.Zero(t, lease.CopyTo(make([]uint8, 2)))
		require.Equal(t, 1, pool.Process())
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], gpu.ErrObjectClosed)
		require.EqualValues(t, 1, pool.Stats().Failed.Other)
		lease.Release()
		require.NoError(t, pool.Close())
		src.Close()
	}
}
