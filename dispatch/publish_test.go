package dispatch_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

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
	var panicked *flow.PanicError
	assert.ErrorAs(t, topic.Publish(ctx, 2), &panicked)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = topic.Publish(ctx, 3)
	}()
	<-ended
	require.NoError(t, d.Drain(ctx))
	require.NoError(t, d.Close(ctx))
	assert.ErrorIs(t, topic.Publish(ctx, 0), flow.ErrClosed)
	s := topic.Stats()
	assert.EqualValues(t, 1, s.Sent)
	assert.EqualValues(t, 3, s.Failed)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 3, flow.CauseClosed: 1}, s.Dropped)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 2, flow.CauseClosed: 1}, s.Undelivered, "a publisher answered for one")
	dropped, undelivered := topic.Drops()
	assert.Equal(t, s.Dropped, dropped)
	assert.Equal(t, s.Undelivered, undelivered)
}
