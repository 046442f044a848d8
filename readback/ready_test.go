package readback_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
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

// expectReadyAsSignalled lets the fences first, first+1 ... signal in the given
// order, one a poll, and requires that each poll makes ready all captures whose
// own and earlier fences have signalled by then.
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
