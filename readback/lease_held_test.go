//go:build raybridge_checks || race

package readback_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/readback"
)

// A release is held at each of its statements while others use the slot, in all sequences of up
// to four steps. The steps are: capture and lend it again, release a further lease, retain one,
// close the pool. A holder of a lease then has its bytes; when nobody holds one, and the pool
// is closed, the memory is free.
func TestReleaseHeldAtEachStatement(t *testing.T) {
	others := map[string]func(*heldRelease){
		"capture": (*heldRelease).capture,
		"release": (*heldRelease).releaseOldest,
		"retain":  (*heldRelease).retain,
		"close":   func(h *heldRelease) { require.NoError(h.t, h.pool.Close()) },
	}
	for at := readback.HoldStep(0); at < readback.DropSteps; at++ {
		for names := range sequences([]string{"capture", "release", "retain", "close"}, 4) {
			for _, leases := range []int{1, 2} {
				t.Run(fmt.Sprintf("statement %d, %d leases, %v", at, leases, names), func(t *testing.T) {
					h := &heldRelease{rig: newRig(t, readback.Config{Slots: 1, Label: "staging"})}
					h.pool.SetChecking(at%2 == 0)
					h.capture()
					if leases == 2 {
						h.retain()
					}
					h.holdAt(at, func() {
						for _, name := range names {
							others[name](h)
							h.check()
						}
					})
					h.check()
					h.end()
				})
			}
		}
	}
}

// sequences yields all sequences of up to n of the names, in which the pool is closed once at most.
func sequences(names []string, n int) func(yield func([]string) bool) {
	var extend func(done []string, yield func([]string) bool) bool
	extend = func(done []string, yield func([]string) bool) bool {
		if !yield(done) {
			return false
		}
		if len(done) == n {
			return true
		}
		for _, name := range names {
			if name == "close" && slices.Contains(done, name) {
				continue
			}
			if !extend(append(slices.Clone(done), name), yield) {
				return false
			}
		}
		return true
	}
	return func(yield func([]string) bool) { extend(nil, yield) }
}

// heldRelease is a pool of one slot, and the leases that are out.
type heldRelease struct {
	*rig
	captures uint32
	leases   []lent
}

// lent is a lease and what its capture read.
type lent struct {
	readback.Lease[uint32]
	value uint32
}

// capture makes a capture, if the slot is free, and keeps its lease.
func (h *heldRelease) capture() {
	value := h.captures
	h.onDone = func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], err error) {
		if err == nil {
			h.leases = append(h.leases, lent{l, value})
		}
	}
	if h.start(readback.Buffer(h.buffer(value)), 0) != nil {
		return
	}
	h.captures++
	require.Equal(h.t, 1, h.poll())
	require.Equal(h.t, 1, h.pool.Process())
}

func (h *heldRelease) retain() {
	if len(h.leases) > 0 {
		if l, ok := h.leases[0].Retain(); ok {
			h.leases = append(h.leases, lent{l, h.leases[0].value})
		}
	}
}

func (h *heldRelease) releaseOldest() {
	if len(h.leases) > 0 {
		oldest := h.leases[0]
		h.leases = h.leases[1:]
		oldest.Release()
	}
}

// holdAt releases the oldest lease and does something while that is held at a statement.
func (h *heldRelease) holdAt(at readback.HoldStep, meanwhile func()) {
	readback.HoldAt(func(reached readback.HoldStep) {
		if reached == at {
			readback.HoldAt(nil)
			meanwhile()
		}
	})
	defer readback.HoldAt(nil)
	h.releaseOldest()
}

// The end of a slot is held between its look at the leases and its swap, while they are
// released and retained. The memory ends once, with the last of them.
func TestEndOfASlotHeldBesideReleases(t *testing.T) {
	for names := range sequences([]string{"release", "retain"}, 4) {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			h := &heldRelease{rig: newRig(t, readback.Config{Slots: 1, Label: "staging"})}
			h.capture()
			h.retain()
			readback.HoldAt(func(reached readback.HoldStep) {
				if reached != readback.GiveUpLoaded {
					return
				}
				readback.HoldAt(nil)
				for _, name := range names {
					if name == "release" {
						h.releaseOldest()
					} else {
						h.retain()
					}
					h.check()
				}
			})
			defer readback.HoldAt(nil)
			h.end()
		})
	}
}

// check makes sure that all leases that are out have their bytes.
func (h *heldRelease) check() {
	h.t.Helper()
	for i, l := range h.leases {
		require.Equal(h.t, []uint32{l.value}, l.Slice(), "lease %d of %d", i, len(h.leases))
	}
}

// end closes the pool and releases the rest, which leaves nothing.
func (h *heldRelease) end() {
	require.NoError(h.t, h.pool.Close())
	for len(h.leases) > 0 {
		h.check()
		require.Contains(h.t, h.thread.Live(), `buffer "staging"`)
		h.releaseOldest()
	}
	require.NotContains(h.t, h.thread.Live(), `buffer "staging"`)
	require.Zero(h.t, h.pool.Stats().Held)
}
