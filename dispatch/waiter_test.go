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

func TestBlockWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		}, dispatch.TopicConfig{Depth: 2})
		start := time.Now()
		for i := range 3 {
			require.True(t, topic.TryQueue(i))
			synctest.Wait()
		}
		assert.Zero(t, time.Since(start), "one runs, two wait: no blocking yet")
		require.True(t, topic.TryQueue(3))
		assert.Equal(t, time.Second, time.Since(start))
		require.NoError(t, d.Drain(context.Background()))
		assert.Equal(t, 4*time.Second, time.Since(start))
		require.NoError(t, d.Close(context.Background()))
	})
}

func TestBlockLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(time.Minute)
			return nil
		}, dispatch.TopicConfig{Depth: 1, BlockLimit: time.Second})
		require.True(t, topic.TryQueue(0))
		synctest.Wait()
		require.True(t, topic.TryQueue(1))
		start := time.Now()
		var f fates
		assert.False(t, topic.TryQueueTask(2, dispatch.Task{Done: f.done}))
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, []error{flow.ErrPeerSlow}, f.all())
		require.NoError(t, d.Drain(context.Background()))
		require.NoError(t, d.Close(context.Background()))
	})
}

// A sender that gives up lets those behind it proceed, for whom there was room all the
// time.
func TestBlockLimitOfTheFirstInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error {
			time.Sleep(5 * time.Second)
			return nil
		}, dispatch.TopicConfig{Depth: 9, MaxBytes: 100, BlockLimit: time.Second})
		of := func(bytes int) *cloud { return &cloud{points: make([]float32, bytes/4)} }
		require.True(t, topic.TryQueue(of(60)))
		synctest.Wait()
		require.True(t, topic.TryQueue(of(60)))
		start := time.Now()
		go func() { assert.False(t, topic.TryQueue(of(80))) }()
		time.Sleep(time.Second / 2)
		go func() { assert.False(t, topic.TryQueue(of(44))) }()
		time.Sleep(time.Second / 4)
		assert.True(t, topic.TryQueue(of(12)), "40 bytes were free")
		assert.Equal(t, 3*time.Second/2, time.Since(start), "when the second in line gave up, too")
		assert.True(t, topic.TryQueue(of(28)))
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 2}, topic.Stats().Dropped)
		require.NoError(t, d.Drain(context.Background()))
		require.NoError(t, d.Close(context.Background()))
	})
}

// The context's end discards what is queued and ends a blocked call.
func TestContextEndsBlockedCall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	d := newDispatcher(t, dispatch.Config{Context: ctx, MaxWorkers: 1})
	started := make(chan struct{}, 1)
	topic := dispatch.NewTopic(d, "a", func(ctx context.Context, _ int) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, dispatch.TopicConfig{Depth: 1})
	var f fates
	require.True(t, topic.TryQueueTask(0, dispatch.Task{Done: f.done}))
	<-started
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	blocked := make(chan bool)
	go func() { blocked <- topic.TryQueueTask(2, dispatch.Task{Done: f.done}) }()
	for topic.Stats().Blocked == 0 {
		runtime.Gosched()
	}
	cancel()
	assert.False(t, <-blocked)
	<-d.Closed()
	errs := f.all()
	require.Len(t, errs, 3)
	closed := 0
	for _, err := range errs {
		if errors.Is(err, flow.ErrClosed) {
			closed++
		} else {
			assert.ErrorIs(t, err, context.Canceled)
		}
	}
	assert.Equal(t, 2, closed)
	assert.Equal(t, flow.Drops{flow.CauseClosed: 3}, topic.Stats().Dropped)
}
