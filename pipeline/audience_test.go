package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
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

	c, err := client.Dial(t.Context(), address, client.Options{Queue: queue.Config{Policy: queue.Block}})
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
