package readback_test

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// step does one random thing and compares.
func (m *model) step() {
	switch n := m.rand.IntN(100); {
	case n < 28:
		m.stepStart()
	case n < 50:
		m.stepFence()
	case n < 70:
		m.stepPoll()
	case n < 82:
		m.stepProcess()
	case n < 90:
		m.stepLease()
	case n < 94:
		time.Sleep(time.Duration(m.rand.Int64N(int64(modelTimeout) * 2 / 3)))
	case n < 96:
		m.room = 1 + m.rand.IntN(modelWords)
		require.NoError(m.t, m.pool.Resize(m.room))
	case n < 97 && m.rand.IntN(4) == 0:
		m.fake.Lose()
		m.lost = true
	case n < 98:
		m.stepCloseSource()
	case n < 99:
		m.stepDrain()
	}
	m.compare()
}

func (m *model) stepStart() {
	at := slices.IndexFunc(m.sources, func(s *modelSource) bool { return s.holds == 0 && !s.closed })
	if at < 0 {
		return
	}
	src := m.sources[at]
	id := m.nextID
	m.nextID++
	offset := m.rand.IntN(modelWords)
	n := 1 + m.rand.IntN(modelWords-offset)
	contents := make([]byte, 0, 4*modelWords)
	var words []uint32
	for i := range uint32(modelWords) {
		words = append(words, uint32(id)<<8|i)
		contents = binary.LittleEndian.AppendUint32(contents, words[i])
	}
	fence := m.fake.Fences()
	err := m.thread.Do(m.t.Context(), func(c *gpu.Ctx) error {
		if m.rand.IntN(3) == 0 {
			if err := m.pool.Begin(c); err != nil {
				return err
			}
		}
		if err := c.WriteBuffer(src.buffer, 0, contents); err != nil {
			return err
		}
		k, err := m.pool.Start(c, readback.BufferRange(src.buffer, 4*offset, 4*n), int64(id))
		if err == nil {
			k.Data.id = id
		}
		return err
	})
	switch {
	case m.lost:
		require.ErrorIs(m.t, err, gpu.ErrContextLost)
	case m.used() >= m.cfg.Slots:
		require.ErrorIs(m.t, err, readback.ErrFull)
	case n > m.room:
		require.ErrorIs(m.t, err, readback.ErrSize)
	default:
		require.NoError(m.t, err)
		k := &modelCapture{id: id, data: words[offset : offset+n], fence: fence, fencedAt: time.Now(), source: src, stage: atCopy}
		if m.cfg.CopyMode == readback.CopyAfterFence {
			k.stage = atSource
			src.holds++
		}
		m.flight = append(m.flight, k)
	}
}

// stepFence lets one of the fences that matter signal or fail, in any order.
func (m *model) stepFence() {
	var open []int
	for _, k := range slices.Concat(m.flight, m.stuck) {
		if k.stage != atFailed && m.fences[k.fence] == gpu.FencePending {
			open = append(open, k.fence)
		}
	}
	if len(open) == 0 {
		return
	}
	fence := open[m.rand.IntN(len(open))]
	if m.rand.IntN(2) == 0 {
		fence = slices.Min(open) // as a GPU does
	}
	if m.rand.IntN(12) == 0 {
		m.fake.FailFence(fence)
		m.fences[fence] = gpu.FenceFailed
		return
	}
	m.fake.Signal(fence)
	m.fences[fence] = gpu.FenceSignaled
}

func (m *model) stepPoll() {
	fences := m.fake.Fences()
	got := 0
	err := m.thread.Do(m.t.Context(), func(c *gpu.Ctx) error {
		got = m.pool.Poll(c)
		return nil
	})
	var want int
	if m.lost {
		require.ErrorIs(m.t, err, gpu.ErrContextLost)
		want = m.expectLoss()
	} else {
		require.NoError(m.t, err)
		want = m.expectPoll(fences)
	}
	require.Equal(m.t, want, got, "captures that a poll makes ready")
}

func (m *model) stepProcess() {
	m.keep, m.panics = m.rand.IntN(2) == 0, m.rand.IntN(10) == 0
	want := len(m.ready)
	m.got = nil
	if m.rand.IntN(3) == 0 && want > 0 {
		// Stamps are ids, so they grow.
		want = m.rand.IntN(want + 1)
		through := int64(m.ready[0].id) - 1
		if want > 0 {
			through = int64(m.ready[want-1].id)
		}
		require.Equal(m.t, want, m.pool.ProcessThrough(through))
	} else {
		require.Equal(m.t, want, m.pool.Process())
	}
	m.expectArrivals(m.ready[:want])
	m.ready = m.ready[want:]
}

// stepDrain drains with a context that ends soon: nobody polls meanwhile, so that
// what is ready completes and what is in flight stays (R6).
func (m *model) stepDrain() {
	m.got, m.keep, m.panics = nil, m.rand.IntN(2) == 0, false
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Nanosecond)
	defer cancel()
	err := m.pool.Drain(ctx)
	if len(m.flight) > 0 {
		require.ErrorIs(m.t, err, context.DeadlineExceeded)
	} else {
		require.NoError(m.t, err)
	}
	m.expectArrivals(m.ready)
	m.ready = nil
}

func (m *model) stepLease() {
	if len(m.leases) == 0 {
		return
	}
	at := m.rand.IntN(len(m.leases))
	l := m.leases[at]
	if m.rand.IntN(4) == 0 {
		more, ok := l.lease.Retain()
		require.True(m.t, ok)
		m.leases = append(m.leases, modelLease{more, l.owner, l.data})
		return
	}
	m.release(at)
}

func (m *model) release(at int) {
	l := m.leases[at].lease
	m.leases = slices.Delete(m.leases, at, at+1)
	l.Release()
	l.Release() // does nothing
	require.Nil(m.t, l.Slice())
	_, ok := l.Retain()
	require.False(m.t, ok)
}

// stepCloseSource closes a source, maybe while a copy of it is to come, and
// makes another.
func (m *model) stepCloseSource() {
	if m.lost {
		return
	}
	at := m.rand.IntN(len(m.sources))
	m.sources[at].buffer.Close()
	m.sources[at].closed = true
	m.sources[at] = &modelSource{buffer: m.buffer(make([]uint32, modelWords)...)}
}
