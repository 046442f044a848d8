package dispatch_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

// D6, with a publisher that is held so that the queue fills.
func TestPolicyWhenFull(t *testing.T) {
	type outcome struct {
		sent    []int
		refused []int
		evicted []int
	}
	tests := []struct {
		policy flow.Policy
		want   outcome
	}{
		{flow.DropNewest, outcome{sent: []int{0, 1, 2}, refused: []int{3, 4}}},
		{flow.DropOldest, outcome{sent: []int{0, 3, 4}, evicted: []int{1, 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.policy.String(), func(t *testing.T) {
			d := newDispatcher(t, dispatch.Config{})
			hold, started := make(chan struct{}), make(chan struct{}, 10)
			var got outcome
			topic := dispatch.NewTopic(d, "a", func(_ context.Context, n int) error {
				started <- struct{}{}
				<-hold
				got.sent = append(got.sent, n)
				return nil
			}, dispatch.TopicConfig{Policy: tt.policy, Ordered: true, Depth: 2})
			for i := range 5 {
				ok := topic.TryQueueTask(i, dispatch.Task{Done: func(err error) {
					if err != nil && i < 3 {
						assert.Equal(t, flow.ErrFull, err)
						got.evicted = append(got.evicted, i)
					}
				}})
				if !ok {
					got.refused = append(got.refused, i)
				}
				if i == 0 {
					<-started
				}
			}
			close(hold)
			require.NoError(t, d.Drain(context.Background()))
			assert.Equal(t, tt.want, got)
			assert.Equal(t, flow.Drops{flow.CauseQueueFull: 2}, topic.Stats().Dropped)
		})
	}
}

// MaxBytes bounds the queue; a message beyond it by itself is let in alone.
func TestMaxBytes(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	started, hold := make(chan struct{}, 9), make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error {
		started <- struct{}{}
		<-hold
		return nil
	}, dispatch.TopicConfig{Policy: flow.DropNewest, MaxBytes: 100})
	offer := func(points int) bool { return topic.TryQueue(&cloud{points: make([]float32, points)}) }
	require.True(t, offer(1))
	<-started
	assert.True(t, offer(1000), "4000 bytes into an empty queue")
	assert.False(t, offer(1))
	hold <- struct{}{}
	<-started
	assert.True(t, offer(20))
	assert.False(t, offer(6))
	assert.True(t, offer(5))
	assert.EqualValues(t, 100, topic.Stats().WaitingBytes)
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.EqualValues(t, 4, topic.Stats().Sent)
}

func TestCopyPanicIsTheMessagesFate(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	topic := dispatch.NewTopic(d, "a", nothing[*cloud], dispatch.TopicConfig{Depth: 1})
	var f fates
	for range 5 { // no room is lost by it
		assert.False(t, topic.TryQueueTask(nil, dispatch.Task{Done: f.done, Token: 1}))
	}
	hollow := dispatch.NewTopic(d, "b", nothing[*hollow], dispatch.TopicConfig{Depth: 1})
	for range 5 {
		assert.False(t, hollow.TryQueueTask(nil, dispatch.Task{Done: f.done, Token: 1}))
	}
	for _, err := range f.all() {
		var panicked *flow.PanicError
		assert.ErrorAs(t, err, &panicked)
	}
	assert.Len(t, f.all(), 10)
	assert.True(t, topic.TryQueueTask(&cloud{}, dispatch.Task{Token: 1}))
	require.NoError(t, d.Drain(context.Background()))
	assert.Zero(t, hollow.Stats().Pool.Lent)
}

// D2, D7: a message whose own methods end the goroutine that offers it is refused and told so.
// It keeps neither its room nor its token, nor what it pushed out.
func TestGoexitInAMessagesMethods(t *testing.T) {
	for _, method := range []string{"copy", "key", "size", "stamp"} {
		for _, policy := range []flow.Policy{flow.Block, flow.DropNewest, flow.DropOldest} {
			t.Run(method+" "+policy.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { goexitWhileOffering(t, method, policy) })
			})
		}
	}
}

// The room of a message whose copy ends its goroutine goes to a sender that waits.
func TestGoexitInACopyLeavesItsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, *waiting) error { return nil }, dispatch.TopicConfig{Depth: 1})
		hold := make(chan struct{})
		go topic.TryQueue(&waiting{hold: hold, quit: true})
		synctest.Wait() // it is being copied, and has the room
		var f fates
		go topic.TryQueueTask(&waiting{}, dispatch.Task{Done: f.done})
		synctest.Wait()
		require.Equal(t, 1, topic.Stats().Blocked)
		close(hold)
		synctest.Wait()
		assert.Equal(t, []error{nil}, f.all())
		require.NoError(t, d.Close(context.Background()))
	})
}

// The callback of a message that is refused runs although one that it pushes out
// ends the goroutine in its own.
func TestGoexitInACallbackOfTheEvicted(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	started, hold := make(chan struct{}), make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, *quitter) error {
		started <- struct{}{}
		<-hold
		return nil
	}, dispatch.TopicConfig{Policy: flow.DropOldest, Depth: 1})
	require.True(t, topic.TryQueue(&quitter{}))
	<-started
	require.True(t, topic.TryQueueTask(&quitter{}, dispatch.Task{Done: func(error) { runtime.Goexit() }}))
	var f fates
	onGoroutine(func() { topic.TryQueueTask(&quitter{in: "copy"}, dispatch.Task{Done: f.done}) })
	assert.Len(t, f.all(), 1)
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
}
