package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// slowClock is a bridge that takes a while for each clock, and heeds its context.
type slowClock struct{ clockWatch }

func (s *slowClock) Register(to *bridges.Plugin) error {
	if err := bridges.AddType[*sample.Clock](to, "Clock"); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(to, func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Clock], error) {
		return func(ctx context.Context, _ *sample.Clock) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(5 * time.Millisecond):
				return nil
			}
		}, nil
	})
}

func (s *slowClock) NewInstance(bridges.Env) (bridges.Instance, error) { return s, nil }

// A run may end while its clock is being published: that message isn't lost.
func TestTheEndOfARunLetsTheClockFinish(t *testing.T) {
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: gputest.NewFake().Open, Bridges: bridges.MustRegistry(&slowClock{}),
		Sensors: sensors.Must(sensors.NewRegistry()), Mode: pipeline.Realtime, ClockHz: 1000,
	})
	require.NoError(t, err)
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "watch:clock"}))
	for range 10 {
		require.NoError(t, p.Run(t.Context(), 10*time.Millisecond))
	}
	require.NoError(t, p.Close(t.Context()))
	summary := p.Summary()
	assert.Empty(t, summary.Bridges[0].Drops)
	assert.NotContains(t, summary.Sensors[0].Drops, "closed")
	assert.Positive(t, summary.Sensors[0].Messages)
}
