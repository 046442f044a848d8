package flow_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
)

// ExampleBuffer_Reset is the snippet that shows how buffers work in the appendix of
// CARLA's tutorial on adding a sensor.
func ExampleBuffer_Reset() {
	var b flow.Buffer
	for _, size := range []int{1024, 512, 2048} {
		before := b.Cap()
		b.Reset(size)
		fmt.Println("size", b.Len(), "capacity", b.Cap(), "allocates", b.Cap() != before)
	}
	// Output:
	// size 1024 capacity 1024 allocates true
	// size 512 capacity 1024 allocates false
	// size 2048 capacity 2048 allocates true
}

// The same with a pool's buffers, whose memory serves the next one.
func TestResetOfPooledBuffers(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{})
	b := p.Get(0)
	b.Reset(1024)
	first := &b.Bytes()[0]
	b.Reset(512)
	assert.Equal(t, []int{512, 1024}, []int{b.Len(), b.Cap()})
	assert.Same(t, first, &b.Bytes()[0], "the same memory")
	b.Release()
	assert.True(t, b.IsZero())

	b = p.Get(1024)
	assert.Zero(t, b.Len(), "as lent")
	b.Reset(1000)
	assert.Same(t, first, &b.Bytes()[0], "out of the pool")
	b.Reset(2048)
	assert.Equal(t, []int{2048, 2048}, []int{b.Len(), b.Cap()})
	b.Release()
	s := p.Stats()
	assert.Zero(t, s.Outstanding)
	assert.EqualValues(t, 2, s.Lent)
	assert.EqualValues(t, 2, s.Allocated)
	assert.Equal(t, 1, s.Idle)
	assert.EqualValues(t, 2048, s.IdleBytes)
	assert.Zero(t, p.Close())
}

func TestSharedBuffersAreImmutable(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{})
	defer p.Close()
	b := p.Get(4)
	b.Reset(4)
	copy(b.Bytes(), "abcd")
	other := b.Share()
	b.Reset(4)
	copy(b.Bytes(), "WXYZ")
	assert.Equal(t, "abcd", string(other.Bytes()), "a shared block is left to its other holder")
	assert.Equal(t, 2, p.Stats().Outstanding)
	b.Release()
	assert.Equal(t, "abcd", string(other.Bytes()))
	other.Release()
	assert.Zero(t, p.Stats().Outstanding)
}

func TestReleasingTwice(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{})
	defer p.Close()
	b := p.Get(8)
	b.Reset(8)
	stale := b
	b.Release()
	b.Release() // the same variable: nothing
	assert.Zero(t, p.Stats().Misused)

	stale2 := stale
	stale.Release() // a copy
	assert.EqualValues(t, 1, p.Stats().Misused)
	next := p.Get(8)
	next.Reset(8)
	copy(next.Bytes(), "next one")
	stale2.Release() // after its block was lent again
	assert.EqualValues(t, 2, p.Stats().Misused)
	assert.Equal(t, 1, p.Stats().Outstanding)
	shared := next.Share()
	assert.Equal(t, "next one", string(shared.Bytes()), "it is the next holder's still")
	shared.Release()
	next.Release()
	shared = next.Share()
	assert.True(t, shared.IsZero(), "nothing to share")
	assert.Zero(t, p.Stats().Outstanding)
}

func TestAdoptTakesWhatAnAppendMoved(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{})
	b := p.Get(4)
	b.Reset(4)
	b.Adopt(append(b.Bytes()[:0], "abc"...)) // in place
	assert.Equal(t, "abc", string(b.Bytes()))
	assert.Equal(t, 4, b.Cap())
	b.Adopt(append(b.Bytes(), "defghijklmnop"...)) // moved
	assert.Equal(t, "abcdefghijklmnop", string(b.Bytes()))
	b.Release()
	b = p.Get(16)
	assert.GreaterOrEqual(t, b.Cap(), 16, "the moved memory is the pool's")
	b.Release()
	assert.Zero(t, p.Close())
	var loose flow.Buffer
	loose.Adopt([]byte("x"))
	assert.Equal(t, "x", string(loose.Bytes()))
}

func TestPoolIsBounded(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{MaxIdle: 3, MaxIdleBytes: 1000})
	lend := func(n, size int) {
		list := make([]flow.Buffer, n)
		for i := range list {
			list[i] = p.Get(size)
			list[i].Reset(size)
		}
		for i := range list {
			list[i].Release()
		}
	}
	lend(10, 100)
	assert.Equal(t, 3, p.Stats().Idle)
	lend(5, 400)
	assert.LessOrEqual(t, p.Stats().IdleBytes, int64(1000))
	lend(1, 1001)
	s := p.Stats()
	assert.LessOrEqual(t, s.IdleBytes, int64(1000), "too large to be kept at all")
	assert.Zero(t, s.Outstanding)
	assert.Zero(t, p.Close())
	assert.Zero(t, p.Stats().Idle)
	lend(1, 10)
	assert.Zero(t, p.Stats().Idle, "a closed pool keeps nothing")
	assert.Zero(t, p.Stats().Outstanding)
}

func TestOutliersAreNotKept(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{})
	defer p.Close()
	lend := func(size int) {
		b := p.Get(size)
		b.Reset(size)
		b.Release()
	}
	lend(1 << 20)
	held := p.Get(1 << 20) // keeps the large block out of the pool meanwhile
	for range 200 {
		lend(1000)
	}
	held.Release()
	assert.Less(t, p.Stats().IdleBytes, int64(10_000), "nobody has asked for so much in a long time")
}

func TestUnusedMemoryGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := flow.NewPool(flow.PoolConfig{IdleFor: time.Second})
		a, b := p.Get(1), p.Get(1)
		a.Reset(100)
		b.Reset(100)
		a.Release()
		time.Sleep(700 * time.Millisecond)
		b.Release()
		require.Equal(t, 2, p.Stats().Idle)
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 1, p.Stats().Idle, "the first, although the stream is silent")
		time.Sleep(700 * time.Millisecond)
		synctest.Wait()
		assert.Zero(t, p.Stats().Idle)
		p.Close()
	})
}

func TestBuffersFromManyGoroutines(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				b := p.Get(i)
				b.Reset(i + 1)
				b.Bytes()[i] = byte(g)
				var readers sync.WaitGroup
				for range 2 {
					share := b.Share()
					readers.Go(func() {
						assert.Equal(t, byte(g), share.Bytes()[i])
						share.Release()
					})
				}
				b.Release()
				readers.Wait()
			}
		})
	}
	wg.Wait()
	s := p.Stats()
	assert.Zero(t, s.Outstanding)
	assert.Zero(t, s.Misused)
	assert.Zero(t, p.Close())
}

func TestBuffersAllocateNothing(t *testing.T) {
	p := flow.NewPool(flow.PoolConfig{})
	defer p.Close()
	allocs := testing.AllocsPerRun(100, func() {
		b := p.Get(5000)
		b.Reset(5000)
		share := b.Share()
		b.Release()
		share.Release()
	})
	assert.Zero(t, allocs)
}
