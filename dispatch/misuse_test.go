package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
)

func TestPolicyNames(t *testing.T) {
	for _, name := range []string{"block", "drop_newest", "drop_oldest"} {
		var p dispatch.Policy
		require.NoError(t, p.UnmarshalText([]byte(name)))
		text, err := p.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
	}
	_, err := dispatch.ParsePolicy("drop")
	assert.ErrorIs(t, err, dispatch.ErrConfig)
	assert.ErrorContains(t, err, "drop_oldest")
	_, err = dispatch.Policy(7).MarshalText()
	assert.ErrorIs(t, err, dispatch.ErrConfig)
	assert.Equal(t, "Policy(7)", dispatch.Policy(7).String())
}

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
		want dispatch.Cause
	}{
		{nil, ""},
		{dispatch.ErrPaused, dispatch.CausePaused},
		{dispatch.ErrTokenBusy, dispatch.CauseTokenBusy},
		{dispatch.ErrFull, dispatch.CauseQueueFull},
		{dispatch.ErrClosed, dispatch.CauseClosed},
		{fmt.Errorf("send: %w", dispatch.ErrFull), dispatch.CauseQueueFull},
		{fmt.Errorf("send: %w", context.Canceled), dispatch.CauseClosed},
		{errors.New("any"), dispatch.CauseConvertFailed},
		{&dispatch.PanicError{Value: 1}, dispatch.CauseConvertFailed},
		{fmt.Errorf("send: %w", disconnected{}), dispatch.CauseNotConnected},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, dispatch.CauseOf(tt.err), "%v", tt.err)
	}
}

// disconnected is a bridge's error that names its cause.
type disconnected struct{}

func (disconnected) Error() string     { return "peer is gone" }
func (disconnected) DropCause() string { return "not_connected" }
