package dispatch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

func TestBadConfiguration(t *testing.T) {
	d, other := newDispatcher(t, dispatch.Config{}), newDispatcher(t, dispatch.Config{})
	publish := func(context.Context, int) error { return nil }
	tests := map[string]*dispatch.Topic[int]{
		"no publisher":  dispatch.NewTopic[int](d, "a", nil, dispatch.TopicConfig{}),
		"depth":         dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Depth: -1}),
		"policy":        dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Policy: 9}),
		"foreign lane":  dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Lane: dispatch.NewLane(other)}),
		"no dispatcher": dispatch.NewTopic(nil, "a", publish, dispatch.TopicConfig{}),
		"orphan lane":   dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Lane: dispatch.NewLane(nil)}),
		"without stamp": dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Gated: true}),
	}
	for name, topic := range tests {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, topic.Err(), dispatch.ErrConfig)
			var f fates
			assert.False(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
			require.Len(t, f.all(), 1)
			assert.ErrorIs(t, f.all()[0], dispatch.ErrConfig)
			assert.ErrorIs(t, topic.Publish(context.Background(), 1), dispatch.ErrConfig)
		})
	}
}

func TestUseAfterClose(t *testing.T) {
	d := dispatch.New(dispatch.Config{})
	publish := func(context.Context, int) error { return nil }
	topic := dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{})
	require.NoError(t, d.Close(context.Background()))
	require.NoError(t, d.Close(context.Background()))
	var f fates
	assert.False(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	late := dispatch.NewTopic(d, "b", publish, dispatch.TopicConfig{})
	assert.False(t, late.TryQueueTask(1, dispatch.Task{Done: f.done}))
	assert.Equal(t, []error{dispatch.ErrClosed, dispatch.ErrClosed}, f.all())
	assert.ErrorIs(t, topic.Publish(context.Background(), 1), dispatch.ErrClosed)
	for _, sync := range []bool{true, false} {
		s := dispatch.NewSubscriber(d, "/in", publish, dispatch.SubscriberConfig{Sync: sync})
		assert.False(t, s.DeliverTask(1, dispatch.Task{Done: f.done}))
		assert.ErrorIs(t, f.all()[len(f.all())-1], dispatch.ErrClosed)
	}
	assert.NoError(t, d.Drain(context.Background()))
	<-d.Closed()
	d.Pause()
	d.Resume()
	d.Release(1)
	d.ReleaseAll()
	topic.Close()
	late.Close()
	assert.Zero(t, d.Stats().Workers)
}

func TestErrorsNameTheirCause(t *testing.T) {
	tests := []struct {
		err  error
		want flow.Cause
	}{
		{nil, ""},
		{dispatch.ErrPaused, flow.CausePaused},
		{dispatch.ErrTokenBusy, flow.CauseTokenBusy},
		{dispatch.ErrFull, flow.CauseQueueFull},
		{dispatch.ErrClosed, flow.CauseClosed},
		{fmt.Errorf("send: %w", dispatch.ErrFull), flow.CauseQueueFull},
		{&dispatch.PanicError{Value: 1}, flow.CauseConvertFailed},
		{&dispatch.PanicError{Value: dispatch.ErrClosed}, flow.CauseConvertFailed},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, flow.CauseOf(tt.err), "%v", tt.err)
	}
}
