package dispatch_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

func nothing[T any](context.Context, T) error { return nil }

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

func TestTopicClose(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	lane := dispatch.NewLane(d)
	started, hold := make(chan struct{}), make(chan struct{})
	publish := func(_ context.Context, n int) error {
		if n == 0 {
			close(started)
		}
		<-hold
		return nil
	}
	a := dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Lane: lane})
	b := dispatch.NewTopic(d, "b", publish, dispatch.TopicConfig{Lane: lane})
	var fatesA, fatesB fates
	require.True(t, a.TryQueueTask(0, dispatch.Task{Done: fatesA.done}))
	<-started
	require.True(t, b.TryQueueTask(1, dispatch.Task{Done: fatesB.done}))
	require.True(t, a.TryQueueTask(2, dispatch.Task{Done: fatesA.done, Token: "x"}))
	a.Close()
	a.Close()
	assert.Equal(t, []error{dispatch.ErrClosed}, fatesA.all(), "the waiting one; the other is being sent")
	assert.False(t, a.TryQueueTask(3, dispatch.Task{Done: fatesA.done}))
	assert.True(t, b.TryQueueTask(4, dispatch.Task{Done: fatesB.done, Token: "x"}), "the token is free again")
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, []error{dispatch.ErrClosed, dispatch.ErrClosed, nil}, fatesA.all())
	assert.Equal(t, []error{nil, nil}, fatesB.all())
	require.Len(t, d.Stats().Topics, 1)
	assert.Equal(t, "b", d.Stats().Topics[0].Name)
	assert.EqualValues(t, 1, a.Stats().Sent, "a closed topic keeps its counts")
}

func TestPublishFollowsTheRules(t *testing.T) {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	broken := errors.New("broken")
	topic := dispatch.NewTopic(d, "a", func(_ context.Context, n int) error {
		switch n {
		case 1:
			return broken
		case 2:
			panic(broken)
		case 3:
			runtime.Goexit()
		}
		return nil
	}, dispatch.TopicConfig{})
	ctx := context.Background()
	assert.NoError(t, topic.Publish(ctx, 0))
	assert.Equal(t, broken, topic.Publish(ctx, 1))
	var panicked *dispatch.PanicError
	assert.ErrorAs(t, topic.Publish(ctx, 2), &panicked)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = topic.Publish(ctx, 3)
	}()
	<-ended
	require.NoError(t, d.Drain(ctx))
	require.NoError(t, d.Close(ctx))
	assert.ErrorIs(t, topic.Publish(ctx, 0), dispatch.ErrClosed)
	s := topic.Stats()
	assert.EqualValues(t, 1, s.Sent)
	assert.EqualValues(t, 3, s.Failed)
	assert.Equal(t, map[flow.Cause]uint64{flow.CauseConvertFailed: 3, flow.CauseClosed: 1}, s.Dropped)
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
		var panicked *dispatch.PanicError
		assert.ErrorAs(t, err, &panicked)
	}
	assert.Len(t, f.all(), 10)
	assert.True(t, topic.TryQueueTask(&cloud{}, dispatch.Task{Token: 1}))
	require.NoError(t, d.Drain(context.Background()))
	assert.Zero(t, hollow.Stats().Pool.Lent)
}

// hollow panics while it is copied.
type hollow struct{ n int }

func (h *hollow) CopyToCache(dst *hollow) { dst.n = h.n }
func (h *hollow) CacheKey() uint64        { return 0 }

func TestDrainAndCloseEndWithTheirContext(t *testing.T) {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	started, hold := make(chan struct{}), make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
		close(started)
		<-hold
		return nil
	}, dispatch.TopicConfig{})
	require.True(t, topic.TryQueue(1))
	<-started
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, d.Drain(ended), context.Canceled)
	assert.ErrorIs(t, d.Close(ended), context.Canceled, "its publisher doesn't heed the context")
	select {
	case <-d.Closed():
		t.Error("closed while a publisher runs")
	default:
	}
	close(hold)
	<-d.Closed()
	require.NoError(t, d.Close(context.Background()))
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
		assert.Equal(t, []error{dispatch.ErrClosed, dispatch.ErrClosed}, f.all())
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
		assert.Equal(t, []error{dispatch.ErrClosed}, ofClosed.all())
		assert.Empty(t, ofHolder.all())
		close(hold)
		synctest.Wait()
		assert.Equal(t, []error{nil}, ofHolder.all())
		require.NoError(t, d.Close(context.Background()))
	})
}

// The histograms hold what was timed: all of the first messages, then a sample.
func TestStatsTellTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		took := 5 * time.Millisecond
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(took)
			return nil
		}, dispatch.TopicConfig{})
		for i := range 3 {
			require.True(t, topic.TryQueue(i))
		}
		synctest.Wait()
		s := topic.Stats()
		assert.Equal(t, []int{1, 2}, []int{s.InFlight, s.Waiting})
		require.NoError(t, d.Drain(context.Background()))
		s = topic.Stats()
		for i, queued := range []time.Duration{1, 5 * time.Millisecond, 10 * time.Millisecond} {
			assert.InEpsilon(t, int64(queued), s.QueueTime.ValueAtQuantile(float64(100*(i+1))/3), 0.01)
		}
		assert.InEpsilon(t, int64(took), s.PublishTime.Min(), 0.01)
		assert.InEpsilon(t, int64(took), s.PublishTime.Max(), 0.01)

		took = 0
		for i := range 997 {
			require.True(t, topic.TryQueue(i))
		}
		require.NoError(t, d.Drain(context.Background()))
		assert.EqualValues(t, 256+(1000-256)/16, topic.Stats().QueueTime.TotalCount())
		require.NoError(t, d.Close(context.Background()))
	})
}
