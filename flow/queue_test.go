package flow_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
)

// record keeps what a queue drops.
type record struct {
	mu   sync.Mutex
	full []int
	late []int // dropped because the queue was closed
}

func (r *record) drop(v int, reason flow.Cause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch reason {
	case flow.CauseClosed:
		r.late = append(r.late, v)
	case flow.CauseQueueFull:
		r.full = append(r.full, v)
	}
}

func taken(q *flow.Queue[int]) []int {
	var list []int
	for {
		v, ok := q.Pop()
		if !ok {
			return list
		}
		list = append(list, v)
	}
}

func TestPoliciesWhenFull(t *testing.T) {
	for _, c := range []struct {
		name          string
		config        flow.QueueConfig
		sizes         []int64
		kept, dropped []int
	}{
		{"fits", flow.QueueConfig{Messages: 3}, []int64{1, 1, 1}, []int{0, 1, 2}, nil},
		{"oldest, by number", flow.QueueConfig{Messages: 3}, []int64{1, 1, 1, 1, 1}, []int{2, 3, 4}, []int{0, 1}},
		{"oldest, by bytes", flow.QueueConfig{Bytes: 10}, []int64{4, 4, 7, 1}, []int{2, 3}, []int{0, 1}},
		{"newest, by number", flow.QueueConfig{Messages: 3, Policy: flow.DropNewest}, []int64{1, 1, 1, 1, 1}, []int{0, 1, 2}, []int{3, 4}},
		{"newest, by bytes", flow.QueueConfig{Bytes: 10, Policy: flow.DropNewest}, []int64{4, 4, 7, 1}, []int{0, 1, 3}, []int{2}},
		{"exclusive", flow.QueueConfig{Messages: 3, Policy: flow.Exclusive}, []int64{1, 1, 1}, []int{0}, []int{1, 2}},
		{"larger than all, alone", flow.QueueConfig{Bytes: 10, Policy: flow.DropNewest}, []int64{11, 1}, []int{0}, []int{1}},
		{"larger than all, pushes all out", flow.QueueConfig{Bytes: 10}, []int64{5, 5, 11}, []int{2}, []int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r record
			q := flow.NewQueue(c.config, r.drop)
			for i, size := range c.sizes {
				q.Push(t.Context(), i, size)
			}
			assert.Equal(t, c.kept, taken(q))
			assert.Equal(t, c.dropped, r.full)
			n, bytes := q.Len()
			assert.Zero(t, n)
			assert.Zero(t, bytes)
		})
	}
}

// Senders that wait, and those to come, wait no longer than a queue is hastened to.
func TestHasten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r record
		q := flow.NewQueue(flow.QueueConfig{Messages: 1, Policy: flow.Block, BlockLimit: time.Hour}, r.drop)
		q.Push(t.Context(), 0, 1)
		begun := time.Now()
		var senders sync.WaitGroup
		for range 3 {
			senders.Go(func() { q.Push(t.Context(), 1, 1) })
		}
		time.Sleep(10 * time.Second)
		q.Hasten(time.Second)
		q.Hasten(time.Minute) // changes nothing
		senders.Wait()
		assert.Equal(t, 11*time.Second, time.Since(begun))
		assert.Equal(t, []int{1, 1, 1}, r.full)
		assert.Equal(t, []int{0}, taken(q))
		q.Push(t.Context(), 2, 1)
		begun = time.Now()
		q.Push(t.Context(), 3, 1)
		assert.Equal(t, time.Second, time.Since(begun))
		q.Close()
	})
}

func TestBlockWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r record
		q := flow.NewQueue(flow.QueueConfig{Messages: 1, Policy: flow.Block}, r.drop)
		q.Push(t.Context(), 0, 1)
		assert.False(t, q.TryPush(9, 1), "it is to be waited for")
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { q.Push(t.Context(), 1+i, 1) })
		}
		synctest.Wait()
		for range 4 {
			<-q.Ready()
			_, ok := q.Pop()
			assert.True(t, ok)
			synctest.Wait()
		}
		wg.Wait()
		assert.Empty(t, r.full)
	})
}

// A receiver that takes nothing costs one time limit, not one a message.
func TestBlockWaitsOnceForAStalledReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r record
		q := flow.NewQueue(flow.QueueConfig{Messages: 1, Policy: flow.Block, BlockLimit: time.Second}, r.drop)
		q.Push(t.Context(), 0, 1)
		begun := time.Now()
		for i := range 10 {
			q.Push(t.Context(), 1+i, 1)
		}
		assert.Equal(t, time.Second, time.Since(begun))
		assert.Len(t, r.full, 10)
		_, ok := q.Pop()
		require.True(t, ok)
		q.Push(t.Context(), 20, 1)
		q.Push(t.Context(), 21, 1)
		assert.Equal(t, 2*time.Second, time.Since(begun), "it took something, so it is waited for again")
		assert.Equal(t, []int{20}, taken(q))
	})
}

func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r record
		q := flow.NewQueue(flow.QueueConfig{Messages: 1, Policy: flow.Block, BlockLimit: time.Hour}, r.drop)
		q.Push(t.Context(), 0, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q.Push(ctx, 1, 1)
		assert.Equal(t, []int{1}, r.full)
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r record
		q := flow.NewQueue(flow.QueueConfig{Messages: 2, Policy: flow.Block, BlockLimit: time.Hour}, r.drop)
		q.Push(t.Context(), 0, 1)
		q.Push(t.Context(), 1, 1)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { q.Push(t.Context(), 2+i, 1) })
		}
		synctest.Wait()
		q.Close()
		wg.Wait()
		q.Push(t.Context(), 5, 1)
		q.Close()
		assert.ElementsMatch(t, []int{0, 1, 2, 3, 4, 5}, r.late, "each once")
		assert.True(t, q.Finished())
		<-q.Ready()
	})
}

// Messages of several kinds wait in one line, each under its own policy.
func TestOfferUnderAPolicyOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r record
		q := flow.NewQueue(flow.QueueConfig{Messages: 2, Policy: flow.Block, BlockLimit: time.Second}, r.drop)
		ctx := t.Context()
		require.NoError(t, q.Offer(ctx, 0, 1, flow.DropNewest))
		require.NoError(t, q.Offer(ctx, 1, 1, flow.Block))
		begun := time.Now()
		require.ErrorIs(t, q.Offer(ctx, 2, 1, flow.DropNewest), flow.ErrFull)
		require.NoError(t, q.Offer(ctx, 3, 1, flow.DropOldest))
		assert.Zero(t, time.Since(begun))
		require.ErrorIs(t, q.Offer(ctx, 4, 1, flow.Block), flow.ErrFull)
		require.ErrorIs(t, q.Offer(ctx, 5, 1, flow.Block), flow.ErrFull, "it has taken nothing since")
		assert.Equal(t, time.Second, time.Since(begun))
		assert.Equal(t, []int{0}, r.full, "refused messages stay the caller's")

		_, ok := q.Pop()
		require.True(t, ok)
		require.NoError(t, q.Offer(ctx, 6, 1, flow.Block))
		done := make(chan error)
		go func() { done <- q.Offer(ctx, 7, 1, flow.Block) }()
		synctest.Wait()
		q.Close()
		require.ErrorIs(t, <-done, flow.ErrClosed)
		require.ErrorIs(t, q.Offer(ctx, 8, 1, flow.DropOldest), flow.ErrClosed)
		assert.Equal(t, []int{3, 6}, r.late)
	})
}

func TestThePolicyCanBeSetLater(t *testing.T) {
	var r record
	q := flow.NewQueue(flow.QueueConfig{Messages: 1}, r.drop)
	q.Push(t.Context(), 0, 1)
	q.Push(t.Context(), 1, 1)
	assert.Equal(t, []int{0}, r.full, "the oldest")
	q.SetPolicy(flow.DropNewest)
	q.Push(t.Context(), 2, 1)
	assert.Equal(t, []int{0, 2}, r.full)
	q.SetPolicy(flow.Block)
	assert.False(t, q.TryPush(3, 1))
}

func TestFinishLetsTheRestBeTaken(t *testing.T) {
	var r record
	q := flow.NewQueue(flow.QueueConfig{}, r.drop)
	q.Push(t.Context(), 0, 1)
	q.Finish()
	q.Push(t.Context(), 1, 1)
	assert.Equal(t, []int{0}, taken(q))
	assert.Equal(t, []int{1}, r.late)
}

// Whatever the policy and the timing: every message is taken or dropped, once.
func TestNothingIsLostOrDoubled(t *testing.T) {
	for _, policy := range []flow.Policy{flow.DropOldest, flow.DropNewest, flow.Block} {
		t.Run(policy.String(), func(t *testing.T) {
			var r record
			q := flow.NewQueue(flow.QueueConfig{Messages: 3, Policy: policy, BlockLimit: time.Minute}, r.drop)
			const senders, each = 4, 500
			var got []int
			done := make(chan struct{})
			go func() {
				defer close(done)
				for !q.Finished() {
					<-q.Ready()
					got = append(got, taken(q)...)
				}
				got = append(got, taken(q)...)
			}()
			var wg sync.WaitGroup
			for s := range senders {
				wg.Go(func() {
					for i := range each {
						q.Push(t.Context(), s*each+i, 1)
					}
				})
			}
			wg.Wait()
			q.Finish()
			<-done
			seen := map[int]int{}
			last := map[int]int{}
			for _, v := range got {
				seen[v]++
				assert.GreaterOrEqual(t, v, last[v/each], "a sender's order is kept")
				last[v/each] = v
			}
			for _, v := range r.full {
				seen[v]++
			}
			for v := range senders * each {
				require.Equal(t, 1, seen[v], "message %d", v)
			}
			if policy == flow.Block {
				assert.Empty(t, r.full)
			}
		})
	}
}

func TestQueueAllocatesNothing(t *testing.T) {
	q := flow.NewQueue(flow.QueueConfig{Messages: 2, Policy: flow.DropOldest}, func(int, flow.Cause) {})
	for i := range 5 {
		q.Push(t.Context(), i, 1)
	}
	ctx := t.Context()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		q.Push(ctx, 1, 1)
		q.Push(ctx, 2, 1)
		q.Pop()
	}))
}

func ExampleQueue() {
	q := flow.NewQueue(flow.QueueConfig{Messages: 2, Policy: flow.DropOldest}, func(frame string, _ flow.Cause) {
		fmt.Println("dropped", frame)
	})
	for _, frame := range []string{"first", "second", "third"} {
		q.TryPush(frame, int64(len(frame)))
	}
	for frame, ok := q.Pop(); ok; frame, ok = q.Pop() {
		fmt.Println("taken", frame)
	}
	// Output:
	// dropped first
	// taken second
	// taken third
}
