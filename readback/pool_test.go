package readback_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

// meta is the caller's data of the test captures.
type meta struct{ id int }

// arrival is what a completion saw.
type arrival struct {
	id    int
	stamp int64
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
	r.got = append(r.got, arrival{k.Data.id, k.StampNs(), l.AppendTo(nil), err})
	if err == nil {
		require.Equal(r.t, k.Elements(), l.Len())
	}
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
		k, err := r.pool.Start(c, src, int64(id)*10)
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
	<-r.pool.Closed()
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
	var p *readback.PanicError
	require.ErrorAs(t, reported[0], &p)
	require.ErrorIs(t, reported[0], boom)
	require.EqualValues(t, 2, r.pool.Stats().Panics)
}
