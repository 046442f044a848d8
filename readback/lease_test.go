package readback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/readback"
)

// lendOne completes one capture of the values and returns its lease.
func lendOne(t *testing.T, r *rig, values ...uint32) (lease readback.Lease[uint32]) {
	t.Helper()
	r.onDone = func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], err error) {
		require.NoError(t, err)
		lease = l
	}
	require.NoError(t, r.start(readback.Buffer(r.buffer(values...)), 0))
	require.Equal(t, 1, r.poll())
	require.Equal(t, 1, r.pool.Process())
	return lease
}

func TestZeroLeaseLendsNothing(t *testing.T) {
	var l readback.Lease[uint32]
	l.Release()
	require.Nil(t, l.Slice())
	require.Equal(t, []uint32{1}, l.AppendTo([]uint32{1}))
	_, ok := l.Retain()
	require.False(t, ok)
}

func TestLeaseCopies(t *testing.T) {
	r := newRig(t, readback.Config{})
	l := lendOne(t, r, 1, 2, 3)
	kept := l.AppendTo([]uint32{0})
	l.Release()
	require.Equal(t, []uint32{0, 1, 2, 3}, kept)
	require.Nil(t, l.AppendTo(nil))
}

// A lease that was released says so, also after its slot has a new capture.
func TestStaleLeaseHasNoPartInLaterCaptures(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1})
	old := lendOne(t, r, 1)
	old.Release()
	fresh := lendOne(t, r, 2)
	require.Nil(t, old.Slice())
	old.Release()
	require.Equal(t, []uint32{2}, fresh.Slice())
	require.Equal(t, 1, r.pool.Stats().Held)
	fresh.Release()
	require.Zero(t, r.pool.Stats().Held)
}

// A slot is free when the last of its leases is released, in any order.
func TestRetainedLeases(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1})
	leases := []readback.Lease[uint32]{lendOne(t, r, 7)}
	for range 30 {
		l, ok := leases[0].Retain()
		require.True(t, ok)
		leases = append(leases, l)
	}
	_, ok := leases[0].Retain()
	require.False(t, ok, "31 are out")
	leases[5].Release()
	leases[5].Release()
	leases[5], ok = leases[0].Retain()
	require.True(t, ok)
	for i, l := range leases {
		require.ErrorIs(t, r.start(readback.Buffer(r.buffer(1)), 1), readback.ErrFull, "%d leases are out", len(leases)-i)
		require.Equal(t, []uint32{7}, l.Slice())
		l.Release()
	}
	r.onDone = nil
	require.NoError(t, r.start(readback.Buffer(r.buffer(1)), 1))
}

// In checking builds the bytes are poison after the last release, for code that kept the slice,
// and don't become a later capture's.
func TestReleasedBytesArePoison(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1})
	r.pool.SetChecking(true)
	first := lendOne(t, r, 1, 2)
	second, _ := first.Retain()
	kept := first.Slice()
	first.Release()
	require.Equal(t, []uint32{1, 2}, kept, "a lease is out yet")
	second.Release()
	const p = readback.Poison * 0x01010101
	require.Equal(t, []uint32{p, p}, kept)
	later := lendOne(t, r, 3, 4)
	require.Equal(t, []uint32{3, 4}, later.Slice())
	require.Equal(t, []uint32{p, p}, kept)
	later.Release()
}

// Without checks the lease is the mapped memory itself.
func TestLeaseIsTheMappedMemory(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1})
	r.pool.SetChecking(false)
	first := lendOne(t, r, 1)
	at := &first.Slice()[0]
	first.Release()
	second := lendOne(t, r, 2)
	require.Same(t, at, &second.Slice()[0], "the slot has one buffer")
	second.Release()
}

// Closing the pool takes no lent bytes; their release frees the memory, which
// the fake's leak check at the end of the test sees.
func TestLeaseOutlivesThePool(t *testing.T) {
	for _, checking := range []bool{false, true} {
		r := newRig(t, readback.Config{Slots: 2, Label: "staging"})
		r.pool.SetChecking(checking)
		l := lendOne(t, r, 1, 2)
		more, _ := l.Retain()
		require.NoError(t, r.pool.Close())
		r.poll()
		require.Equal(t, []uint32{1, 2}, l.Slice())
		l.Release()
		require.Equal(t, []uint32{1, 2}, more.Slice())
		require.Contains(t, r.thread.Live(), `buffer "staging"`)
		more.Release()
		require.NotContains(t, r.thread.Live(), `buffer "staging"`)
	}
}

// The completion's own lease ends with its panic; one that it retained for
// somebody else doesn't.
func TestPanicKeepsRetainedLeases(t *testing.T) {
	r := newRig(t, readback.Config{Slots: 1, OnError: func(error) {}})
	var own, handed readback.Lease[uint32]
	r.onDone = func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) {
		own = l
		handed, _ = l.Retain()
		panic("after handing on")
	}
	require.NoError(t, r.start(readback.Buffer(r.buffer(5)), 0))
	r.poll()
	require.Equal(t, 1, r.pool.Process())
	require.Nil(t, own.Slice())
	require.Equal(t, []uint32{5}, handed.Slice())
	require.Equal(t, 1, r.pool.Stats().Held)
	handed.Release()
	require.Zero(t, r.pool.Stats().Held)
}
