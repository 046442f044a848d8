package dispatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

func TestSubscriber(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	handled := make(chan int, 10)
	handle := func(_ context.Context, n int) error {
		if n < 0 {
			return errors.New("negative")
		}
		handled <- n
		return nil
	}
	for _, sync := range []bool{true, false} {
		s := dispatch.NewSubscriber(d, "/in", handle, dispatch.SubscriberConfig{Sync: sync})
		require.NoError(t, s.Err())
		assert.True(t, s.Deliver(1))
		assert.Equal(t, 1, <-handled)
		assert.Equal(t, !sync, s.Deliver(-1), "an asynchronous one only says that it was taken")
		d.Pause()
		assert.False(t, s.Deliver(2))
		d.Resume()
		require.NoError(t, d.Drain(context.Background()))
		s.Close()
		assert.False(t, s.Deliver(3))
		stats := s.Stats()
		assert.EqualValues(t, 1, stats.Sent)
		assert.Equal(t, flow.Drops{
			flow.CausePaused: 1, flow.CauseConvertFailed: 1, flow.CauseClosed: 1,
		}, stats.Dropped)
	}
}

// Synchronous and asynchronous subscribers follow the same rules: tokens,
// callbacks, panics.
func TestSubscribersFollowTheSameRules(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	for _, sync := range []bool{true, false} {
		started, hold := make(chan struct{}, 9), make(chan struct{})
		s := dispatch.NewSubscriber(d, "/in", func(_ context.Context, n int) error {
			started <- struct{}{}
			if n == 0 {
				panic(errVerdict)
			}
			<-hold
			return nil
		}, dispatch.SubscriberConfig{Sync: sync})
		assert.Equal(t, "/in", s.Name())
		var f fates
		task := dispatch.Task{Token: "steer", Done: f.done}
		assert.Equal(t, !sync, s.DeliverTask(0, task))
		require.NoError(t, d.Drain(context.Background()))
		require.Len(t, f.all(), 1)
		assert.ErrorIs(t, f.all()[0], errVerdict)
		assert.True(t, isPanic(f.all()[0]))
		<-started

		delivered := make(chan bool)
		again := make(chan bool, 1)
		go func() {
			delivered <- s.DeliverTask(1, dispatch.Task{Token: "steer", Done: func(err error) {
				f.done(err)
				again <- s.DeliverTask(2, dispatch.Task{Token: "steer"}) // the token is free (law D4)
			}})
		}()
		<-started
		assert.False(t, s.DeliverTask(3, task), "the token is in use")
		assert.Equal(t, dispatch.ErrTokenBusy, f.all()[1])
		close(hold)
		assert.True(t, <-again)
		assert.True(t, <-delivered)
		require.NoError(t, d.Drain(context.Background()))
		assert.Equal(t, []error{dispatch.ErrTokenBusy, nil}, f.all()[1:])
		assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1, flow.CauseTokenBusy: 1}, s.Stats().Dropped)
		s.Close()
		assert.False(t, s.DeliverTask(4, task))
		assert.Equal(t, flow.ErrClosed, f.all()[3])
	}
}

func TestBadSubscribers(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	for name, s := range map[string]*dispatch.Subscriber[*cloud]{
		"no handler":       dispatch.NewSubscriber[*cloud](d, "/in", nil, dispatch.SubscriberConfig{}),
		"no dispatcher":    dispatch.NewSubscriber(nil, "/in", nothing[*cloud], dispatch.SubscriberConfig{}),
		"depth":            dispatch.NewSubscriber(d, "/in", nothing[*cloud], dispatch.SubscriberConfig{TopicConfig: dispatch.TopicConfig{Depth: -1}}),
		"sync and ordered": dispatch.NewSubscriber(d, "/in", nothing[*cloud], dispatch.SubscriberConfig{Sync: true, TopicConfig: dispatch.TopicConfig{Ordered: true}}),
		"sync and gated":   dispatch.NewSubscriber(d, "/in", nothing[*cloud], dispatch.SubscriberConfig{Sync: true, TopicConfig: dispatch.TopicConfig{Gated: true}}),
		"sync in a lane":   dispatch.NewSubscriber(d, "/in", nothing[*cloud], dispatch.SubscriberConfig{Sync: true, TopicConfig: dispatch.TopicConfig{Lane: dispatch.NewLane(d)}}),
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, s.Err(), dispatch.ErrConfig)
			var f fates
			assert.False(t, s.DeliverTask(&cloud{}, dispatch.Task{Done: f.done}))
			require.Len(t, f.all(), 1)
			assert.ErrorIs(t, f.all()[0], dispatch.ErrConfig)
		})
	}
}
