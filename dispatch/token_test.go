package dispatch_test

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

// D4: one task per token; the token is free when the callback runs.
func TestExclusiveToken(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error { <-hold; return nil }, dispatch.TopicConfig{})
	again := make(chan bool, 1)
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Token: "lidar", Done: func(error) {
		again <- topic.TryQueueTask(3, dispatch.Task{Token: "lidar"})
	}}))
	var f fates
	assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: "lidar", Done: f.done}))
	assert.Equal(t, []error{dispatch.ErrTokenBusy}, f.all())
	assert.True(t, topic.TryQueueTask(2, dispatch.Task{Token: "camera"}), "another token is another matter")
	assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: []int{1}, Done: f.done}))
	assert.ErrorIs(t, f.all()[1], dispatch.ErrToken)
	assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: [1]any{func() {}}, Done: f.done}))
	assert.ErrorIs(t, f.all()[2], dispatch.ErrToken)
	// What isn't equal to itself can't be in use.
	for i, token := range []any{math.NaN(), [2]float64{0, math.NaN()}, struct{ x any }{math.NaN()}} {
		assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: token, Done: f.done}))
		assert.ErrorIs(t, f.all()[3+i], dispatch.ErrToken)
	}
	close(hold)
	assert.True(t, <-again)
	require.NoError(t, d.Drain(context.Background()))
}

func TestWaitForToken(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	var running, most atomic.Int32
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
		most.Store(max(most.Load(), running.Add(1)))
		runtime.Gosched()
		running.Add(-1)
		return nil
	}, dispatch.TopicConfig{WaitForToken: true})
	for i := range 200 {
		require.True(t, topic.TryQueueTask(i, dispatch.Task{Token: "only"}))
	}
	require.NoError(t, d.Drain(context.Background()))
	assert.EqualValues(t, 1, most.Load())
	assert.EqualValues(t, 200, topic.Stats().Sent)
}

// TestExclusivePolicy: under it the topic is the token of what has none, queued or
// published at once.
func TestExclusivePolicy(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	hold, started := make(chan struct{}), make(chan struct{}, 1)
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
		started <- struct{}{}
		<-hold
		return nil
	}, dispatch.TopicConfig{Policy: flow.Exclusive})
	require.True(t, topic.TryQueue(0))
	<-started
	var f fates
	assert.False(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	require.Len(t, f.all(), 1)
	assert.ErrorIs(t, f.all()[0], dispatch.ErrTokenBusy)
	assert.ErrorIs(t, topic.Publish(t.Context(), 2), dispatch.ErrTokenBusy)
	close(hold)
	require.NoError(t, d.Drain(t.Context()))
	require.NoError(t, topic.Publish(t.Context(), 3))
	assert.EqualValues(t, 2, topic.Stats().Dropped[flow.CauseTokenBusy])
}

// The end ends the waits for tokens, of queued messages and of synchronous ones.
func TestCloseEndsWaitForToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		d := dispatch.New(dispatch.Config{Context: ctx, Logger: quiet})
		wait := dispatch.TopicConfig{WaitForToken: true}
		publish := func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }
		topic := dispatch.NewTopic(d, "a", publish, wait)
		subscriber := dispatch.NewSubscriber(d, "b", publish, dispatch.SubscriberConfig{Sync: true, TopicConfig: wait})
		var f fates
		task := dispatch.Task{Token: "x", Done: f.done}
		require.True(t, topic.TryQueueTask(1, dispatch.Task{Token: "x"}))
		go topic.TryQueueTask(2, task)
		go subscriber.DeliverTask(3, task)
		synctest.Wait()
		require.Empty(t, f.all())
		cancel()
		synctest.Wait()
		assert.Equal(t, []error{flow.ErrClosed, flow.ErrClosed}, f.all())
		<-d.Closed()
	})
}

// The end of a topic ends its own waits for tokens, and no others.
func TestTopicCloseEndsWaitForToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet})
		wait := dispatch.TopicConfig{WaitForToken: true}
		hold := make(chan struct{})
		holder := dispatch.NewTopic(d, "holder", func(context.Context, int) error { <-hold; return nil }, wait)
		closed := dispatch.NewTopic(d, "closed", nothing[int], wait)
		var ofHolder, ofClosed fates
		require.True(t, holder.TryQueueTask(1, dispatch.Task{Token: "x"}))
		go closed.TryQueueTask(2, dispatch.Task{Token: "x", Done: ofClosed.done})
		go holder.TryQueueTask(3, dispatch.Task{Token: "x", Done: ofHolder.done})
		synctest.Wait()
		closed.Close()
		synctest.Wait()
		assert.Equal(t, []error{flow.ErrClosed}, ofClosed.all())
		assert.Empty(t, ofHolder.all())
		close(hold)
		synctest.Wait()
		assert.Equal(t, []error{nil}, ofHolder.all())
		require.NoError(t, d.Close(context.Background()))
	})
}
