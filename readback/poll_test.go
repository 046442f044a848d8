package readback_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
	"github.com/stretchr/testify/require"
)

// The first poll after a fence, and after those of all older captures, makes
// the capture ready, whatever order the fences signal in.
func TestReadyWithinOnePollOfItsFence(t *testing.T) {
	const captures = 6
	random := rand.New(rand.NewPCG(7, 0))
	t.Run("copy before the fence", func(t *testing.T) {
		for range 20 {
			r := newRig(t, readback.Config{Slots: captures, CopyMode: readback.CopyBeforeFence})
			r.fake.SetFences(hold)
			src := r.buffer(1)
			for id := range captures {
				require.NoError(t, r.start(readback.Buffer(src), id))
			}
			r.expectReadyAsSignalled(random.Perm(captures), 0)
		}
	})
	t.Run("copy after the fence", func(t *testing.T) {
		for range 20 {
			r := newRig(t, readback.Config{Slots: captures, CopyMode: readback.CopyAfterFence})
			r.fake.SetFences(hold)
			for id := range captures {
				require.NoError(t, r.start(readback.Buffer(r.buffer(1)), id))
			}
			// The sources, in the order of the command stream: each poll issues
			// the copy of the source that is finished, and its fence.
			for fence := range captures {
				r.fake.Signal(fence)
				require.Zero(t, r.poll(), "its copy is still under way")
				require.Equal(t, captures+fence+1, r.fake.Fences(), "one poll issues the copy")
			}
			r.expectReadyAsSignalled(random.Perm(captures), captures)
		}
	})
}

// expectReadyAsSignalled lets the fences first, first+1 ... signal in the given order, one a
// poll. It requires that each poll makes ready all captures whose own and earlier fences have
// signalled by then.
func (r *rig) expectReadyAsSignalled(order []int, first int) {
	r.t.Helper()
	ready := 0
	for i, n := range order {
		r.fake.Signal(first + n)
		want := 0
		for slices.Contains(order[:i+1], want) {
			want++
		}
		require.Equal(r.t, want-ready, r.poll(), "signalled: %v", order[:i+1])
		ready = want
	}
	require.Equal(r.t, len(order), r.pool.Process())
	require.True(r.t, slices.IsSorted(r.ids()))
}

// Where the driver makes the copy within the call, the poll that sees the
// source's fence is also the one that makes the capture ready.
func TestReadyInThePollThatCopies(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 3, CopyMode: readback.CopyAfterFence})
	r.fake.SetFences(hold)
	for id := range 3 {
		require.NoError(t, r.start(readback.Buffer(r.buffer(uint32(id))), id))
	}
	r.fake.SetFences(gputest.FenceScript{}) // those behind the copies
	require.Zero(t, r.poll())
	r.fake.Signal(0)
	require.Equal(t, 1, r.poll())
	r.fake.Signal(1)
	r.fake.Signal(2)
	require.Equal(t, 2, r.poll())
	require.Equal(t, 3, r.pool.Process())
}

// hold is the script of fences that wait for Fake.Signal.
var hold = gputest.FenceScript{Hold: true}

func TestTimeoutAtItsInstant(t *testing.T) {
	for _, mode := range []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, readback.Config{Slots: 2, CopyMode: mode}) // Timeout: 5 s
				r.fake.SetFences(hold)
				a, b := r.buffer(1), r.buffer(2)
				require.NoError(t, r.start(readback.Buffer(a), 0))
				time.Sleep(readback.DefaultTimeout - 1)
				require.NoError(t, r.start(readback.Buffer(b), 1))
				r.fake.SetFences(gputest.FenceScript{})
				r.fake.Signal(1)
				require.Zero(t, r.poll(), "a nanosecond is left")
				time.Sleep(time.Nanosecond)
				require.Equal(t, 2, r.poll(), "the next one follows at once")
				require.Equal(t, 2, r.pool.Process())
				require.Equal(t, []int{0, 1}, r.ids())
				require.ErrorIs(t, r.got[0].err, readback.ErrTimeout)
				require.NoError(t, r.got[1].err)
				require.Equal(t, []uint32{2}, r.got[1].data)

				// The slot that timed out, and in the later copy its source,
				// belong to the GPU until it comes to the fence.
				require.Equal(t, mode == readback.CopyAfterFence, r.pool.Holds(a))
				require.Equal(t, 1, r.pool.Stats().Stuck)
				require.NoError(t, r.start(readback.Buffer(b), 2))
				require.ErrorIs(t, r.start(readback.Buffer(b), 3), readback.ErrFull)
				r.fake.Signal(0)
				require.Equal(t, 1, r.poll())
				require.Zero(t, r.pool.Stats().Stuck)
				require.False(t, r.pool.Holds(a))
				require.NoError(t, r.start(readback.Buffer(b), 3))
				require.EqualValues(t, 1, r.pool.Stats().Failed.Timeout)
			})
		})
	}
}

// A poll that comes late finds the fence before the deadline.
func TestLatePollIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, readback.Config{CopyMode: readback.CopyAfterFence, Timeout: time.Second})
		src := r.buffer(1)
		require.NoError(t, r.start(readback.Buffer(src), 0))
		time.Sleep(time.Minute)
		r.fake.SetFences(gputest.FenceScript{Polls: 1}) // of the copy
		require.Zero(t, r.poll(), "the copy has its own time")
		require.Equal(t, 1, r.poll())
		r.pool.Process()
		require.NoError(t, r.got[0].err)
	})
}

// The staging buffer of a capture whose fence failed may still be written: the
// next capture gets another.
func TestFailedFenceSpoilsItsBuffer(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1, Label: "staging"})
	r.fake.SetFences(gputest.FenceScript{Fail: true})
	src := r.buffer(1)
	require.NoError(t, r.start(readback.Buffer(src), 0))
	require.Equal(t, 1, r.poll())
	r.pool.Process()
	require.ErrorIs(t, r.got[0].err, readback.ErrFence)
	require.EqualValues(t, 1, r.pool.Stats().Failed.Fence)
	r.fake.SetFences(gputest.FenceScript{})
	r.fake.ClearLog()
	require.NoError(t, r.start(readback.Buffer(src), 1))
	require.Contains(t, r.fake.Log(), `CreateBuffer "staging" 16 bytes readback`)
	r.poll()
	r.pool.Process()
	require.Equal(t, []uint32{1}, r.got[1].data)
}

func TestSourceClosedBeforeItsCopy(t *testing.T) {
	r := newRig(t, readback.Config{CopyMode: readback.CopyAfterFence, Label: "camera"})
	gone, other := r.buffer(1), r.buffer(2)
	require.NoError(t, r.start(readback.Buffer(gone), 0))
	require.NoError(t, r.start(readback.Buffer(other), 1))
	gone.Close()
	require.Equal(t, 2, r.poll())
	r.pool.Process()
	require.Equal(t, []int{0, 1}, r.ids())
	require.ErrorIs(t, r.got[0].err, readback.ErrSource)
	require.ErrorIs(t, r.got[0].err, gpu.ErrObjectClosed)
	require.ErrorContains(t, r.got[0].err, `readback "camera": capture 0`)
	require.Equal(t, []uint32{2}, r.got[1].data)
	require.EqualValues(t, 1, r.pool.Stats().Failed.Source)

	before := newRig(t, readback.Config{CopyMode: readback.CopyBeforeFence})
	b := before.buffer(1)
	require.NoError(t, before.start(readback.Buffer(b), 0))
	b.Close()
	require.ErrorIs(t, before.start(readback.Buffer(b), 1), readback.ErrSource)
	require.Equal(t, 1, before.pool.Pending())
	require.Equal(t, 1, before.poll())
	before.pool.Process()
	require.Equal(t, []uint32{1}, before.got[0].data, "its copy was issued before")
}

// Staging memory that was unmapped, before or after the poll that found the capture finished,
// fails the capture in its turn. The next one gets a new buffer.
func TestUnmappedStaging(t *testing.T) {
	for _, ready := range []bool{false, true} {
		r := newRig(t, readback.Config{Slots: 2})
		src := readback.Buffer(r.buffer(8))
		for id := range 2 {
			require.NoError(t, r.start(src, id))
		}
		if ready {
			require.Equal(t, 2, r.poll())
		}
		r.pool.Unmap()
		if !ready {
			require.Equal(t, 2, r.poll())
		}
		require.Equal(t, 2, r.pool.Process())
		require.Equal(t, []int{0, 1}, r.ids())
		for _, a := range r.got {
			require.ErrorIs(t, a.err, gpu.ErrObjectClosed)
			require.Empty(t, a.data)
		}
		require.EqualValues(t, 2, r.pool.Stats().Failed.Other)
		require.NoError(t, r.start(src, 2))
		require.Equal(t, 1, r.poll())
		r.pool.Process()
		require.Equal(t, []uint32{8}, r.got[2].data)
	}
}

// Whichever GPU call fails, Start says so or the capture completes with the
// error; nothing leaks, and the next capture works.
func TestFailingCalls(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		call    string
		mode    readback.CopyMode
		start   bool // Start returns the error
		capture bool // the completion gets it
	}{
		{call: "CreateBuffer", start: true},
		{call: "MapBuffer", start: true},
		{call: "CreateQuery", start: true},
		{call: "Timestamp"},
		{call: "Barrier", start: true},
		{call: "CopyBuffer", start: true},
		{call: "CreateFence", start: true},
		{call: "Clock"},
		{call: "QueryResult"},
		{call: "Barrier", mode: readback.CopyAfterFence, capture: true},
		{call: "CopyBuffer", mode: readback.CopyAfterFence, capture: true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %v", test.call, test.mode), func(t *testing.T) {
			r := newRig(t, readback.Config{Slots: 1, CopyMode: test.mode})
			src := readback.Buffer(r.buffer(6))
			r.fake.Fail(test.call, broken)
			err := r.start(src, 0)
			if test.start {
				require.ErrorIs(t, err, broken)
				require.Zero(t, r.pool.Pending())
				require.Zero(t, r.poll())
				require.EqualValues(t, 1, r.pool.Stats().Refused)
			} else {
				require.NoError(t, err)
				require.Equal(t, 1, r.poll())
				r.pool.Process()
				if test.capture {
					require.ErrorIs(t, r.got[0].err, broken)
				} else {
					require.NoError(t, r.got[0].err)
				}
			}
			r.got = nil
			require.NoError(t, r.start(src, 1))
			require.Equal(t, 1, r.poll())
			r.pool.Process()
			require.Equal(t, []arrival{{id: 1, stamp: 10, data: []uint32{6}}}, r.got)
		})
	}
}

func TestFenceOfTheCopyCantBeMade(t *testing.T) {
	broken := errors.New("broken")
	r := newRig(t, readback.Config{Slots: 1, CopyMode: readback.CopyAfterFence, Label: "staging"})
	src := readback.Buffer(r.buffer(6))
	require.NoError(t, r.start(src, 0))
	r.fake.Fail("CreateFence", broken)
	require.Equal(t, 1, r.poll())
	r.pool.Process()
	require.ErrorIs(t, r.got[0].err, broken)
	r.fake.ClearLog()
	require.NoError(t, r.start(src, 1))
	require.Contains(t, r.fake.Log(), `CreateBuffer "staging" 16 bytes readback`, "the copy may still write the old one")
}

func TestBadSources(t *testing.T) {
	r := newRig(t, readback.Config{MaxElements: 8})
	buffer := r.buffer(1, 2, 3, 4)
	odd := r.buffer(1)
	var view, ids, depth, wide, array *gpu.Texture
	r.do(func(c *gpu.Ctx) (err error) {
		for _, x := range []struct {
			to   **gpu.Texture
			desc gpu.TextureDesc
		}{
			{&view, gpu.TextureDesc{Kind: gpu.TextureBuffer, Format: gpu.FormatR32UI, Buffer: buffer}},
			{&ids, gpu.TextureDesc{Format: gpu.FormatR32UI, Width: 2, Height: 2}},
			{&depth, gpu.TextureDesc{Format: gpu.FormatDepth32F, Width: 2, Height: 2}},
			{&wide, gpu.TextureDesc{Format: gpu.FormatR8, Width: 3, Height: 1}},
			{&array, gpu.TextureDesc{Kind: gpu.Texture2DArray, Format: gpu.FormatRGBA8, Width: 2, Height: 2, Layers: 3}},
		} {
			if *x.to, err = c.NewTexture(x.desc); err != nil {
				return err
			}
		}
		return nil
	})
	for _, texture := range []*gpu.Texture{view, ids, depth, wide, array} {
		defer texture.Close()
	}
	for name, test := range map[string]struct {
		source readback.Source
		want   error
	}{
		"zero source":           {readback.Source{}, readback.ErrSource},
		"nil buffer":            {readback.Buffer(nil), readback.ErrSource},
		"nil texture":           {readback.Texture(nil), readback.ErrSource},
		"negative offset":       {readback.BufferRange(buffer, -4, 4), readback.ErrSize},
		"negative size":         {readback.BufferRange(buffer, 0, -4), readback.ErrSize},
		"no bytes":              {readback.BufferRange(buffer, 4, 0), readback.ErrSize},
		"smaller than asked":    {readback.BufferRange(buffer, 8, 12), readback.ErrSize},
		"overflow":              {readback.BufferRange(buffer, 8, int(^uint(0)>>1)), readback.ErrSize},
		"part of an element":    {readback.BufferRange(odd, 0, 3), readback.ErrSize},
		"no whole elements":     {readback.Texture(wide), readback.ErrSize},
		"more than a slot":      {readback.Texture(array), readback.ErrSize},
		"no such level":         {readback.TextureLevel(ids, 1, gpu.FormatNone), readback.ErrSize},
		"negative level":        {readback.TextureLevel(ids, -1, gpu.FormatNone), readback.ErrSize},
		"unknown format":        {readback.TextureLevel(wide, 0, 200), readback.ErrSize},
		"view of a buffer":      {readback.Texture(view), readback.ErrSource},
		"integers as colour":    {readback.TextureLevel(ids, 0, gpu.FormatRGBA8), readback.ErrSource},
		"colour as integers":    {readback.TextureLevel(array, 0, gpu.FormatR32UI), readback.ErrSource},
		"depth as colour":       {readback.TextureLevel(depth, 0, gpu.FormatR32F), readback.ErrSource},
		"range of a nil buffer": {readback.BufferRange(nil, 0, 4), readback.ErrSource},
	} {
		t.Run(name, func(t *testing.T) {
			before := r.pool.Stats()
			err := r.start(test.source, 0)
			require.ErrorIs(t, err, test.want)
			require.Equal(t, before.Refused+1, r.pool.Stats().Refused)
			require.Zero(t, r.pool.Pending())
		})
	}
	require.NoError(t, r.start(readback.Texture(depth), 0), "depth as it is")
	require.NoError(t, r.start(readback.Texture(ids), 1), "integers as they are")
	require.Equal(t, 2, r.poll())
	require.Equal(t, 2, r.pool.Process())
}

func TestBadConfigs(t *testing.T) {
	done := func(*readback.Capture[meta, uint32], readback.Lease[uint32], error) {}
	for name, test := range map[string]struct {
		cfg  readback.Config
		done func(*readback.Capture[meta, uint32], readback.Lease[uint32], error)
		want error
	}{
		"no elements":       {readback.Config{}, done, readback.ErrSize},
		"negative elements": {readback.Config{MaxElements: -1}, done, readback.ErrSize},
		"too many elements": {readback.Config{MaxElements: int(^uint(0) >> 1)}, done, readback.ErrSize},
		"negative slots":    {readback.Config{MaxElements: 1, Slots: -1}, done, readback.ErrConfig},
		"too many slots":    {readback.Config{MaxElements: 1, Slots: readback.MaxSlots + 1}, done, readback.ErrConfig},
		"negative timeout":  {readback.Config{MaxElements: 1, Timeout: -1}, done, readback.ErrConfig},
		"unknown copy mode": {readback.Config{MaxElements: 1, CopyMode: 9}, done, readback.ErrConfig},
		"no completion":     {readback.Config{MaxElements: 1}, nil, readback.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			pool, err := readback.New(test.cfg, test.done)
			require.ErrorIs(t, err, test.want)
			require.Nil(t, pool)
		})
	}
	_, err := readback.New(readback.Config{MaxElements: 1}, func(*readback.Capture[meta, *int], readback.Lease[*int], error) {})
	require.ErrorIs(t, err, readback.ErrElement)
}

func TestDeadTokenIsRefused(t *testing.T) {
	r := newRig(t, readback.Config{})
	src := r.buffer(1)
	var kept *gpu.Ctx
	r.do(func(c *gpu.Ctx) error { kept = c; return nil })
	_, err := r.pool.Start(kept, readback.Buffer(src), 0)
	require.ErrorIs(t, err, gpu.ErrDeadCtx)
	require.ErrorIs(t, r.pool.Begin(kept), gpu.ErrDeadCtx)
	require.ErrorIs(t, r.pool.Prepare(kept), gpu.ErrDeadCtx)
	require.Zero(t, r.pool.Poll(kept))
	require.Zero(t, r.pool.Poll(nil))
}
