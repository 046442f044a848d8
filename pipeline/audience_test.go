package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	client "github.com/raybridge/raybridge/sensors/stream"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// TestWhatNobodySubscribedToIsNotPublished: a bridge that knows its receivers is sent
// neither samples nor clocks that nobody wants, and who wants samples alone gets them
// without a clock.
func TestWhatNobodySubscribedToIsNotPublished(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(stream.Factory{}), ClockHz: 100})
	addScripted(t, p, plainID, "heard", "100")
	addScripted(t, p, plainID, "unheard", "100")
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "stream:127.0.0.1:0?policy=block"}))
	address := p.Summary().Bridges[0].Endpoints[0].Address
	require.NoError(t, p.Run(t.Context(), 50*time.Millisecond))

	c, err := client.Dial(t.Context(), address, client.Options{Queue: queue.Config{Policy: flow.Block}})
	require.NoError(t, err)
	defer c.Close()
	stamps := make(chan int64, 100)
	require.NoError(t, c.Listen(t.Context(), "/heard", func(d *client.Data) { stamps <- d.CaptureNs() }))
	require.NoError(t, p.Run(t.Context(), 50*time.Millisecond))
	for i := range 5 {
		assert.EqualValues(t, 60_000_000+i*10_000_000, <-stamps)
	}
	summary := p.Summary()
	require.Len(t, summary.Bridges, 1)
	assert.EqualValues(t, 5, summary.Bridges[0].Sent)
	assert.Empty(t, summary.Bridges[0].Drops)
}

// TestReceiversAreCounted by topic and by bridge, of which the topic counts that has most.
func TestReceiversAreCounted(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(stream.Factory{}), ClockHz: 100})
	addScripted(t, p, plainID, "one", "100")
	addScripted(t, p, plainID, "two", "100")
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "stream:127.0.0.1:0"}))
	address := p.Summary().Bridges[0].Endpoints[0].Address
	for _, topics := range [][]string{{"/one"}, {"/one", "/two"}} {
		c, err := client.Dial(t.Context(), address, client.Options{})
		require.NoError(t, err)
		defer c.Close()
		for _, topic := range topics {
			require.NoError(t, c.Listen(t.Context(), topic, func(*client.Data) {}))
		}
	}
	for name, want := range map[string]int{"/one": 2, "/two": 1, "/clock": 0, "stream": 2} {
		require.Eventually(t, func() bool {
			n, err := p.Receivers(name)
			return err == nil && n == want
		}, 10*time.Second, time.Millisecond, name)
	}
	_, err := p.Receivers("/tow")
	require.ErrorIs(t, err, pipeline.ErrNoTopic)
	assert.ErrorContains(t, err, "did you mean /two?")
}
