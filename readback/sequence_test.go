package readback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

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
					require.Empty(t, r.fake.Log(), "completing is no GPU work")
				})
			}
		})
	}
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

// With the copy before the fence the bytes are those of Start; with the copy
// after it, a write before the copy is the caller's mistake, which shows.
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
	require.Equal(t, 4, r.pool.MaxElements())
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
	r := newRig(t, readback.Config{Tick: func() int64 { return 1234 }})
	src := r.buffer(1)
	r.do(func(c *gpu.Ctx) error {
		_, err := r.pool.StartTick(c, readback.Buffer(src))
		return err
	})
	r.poll()
	r.pool.Process()
	require.EqualValues(t, 1234, r.got[0].stamp)

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
