package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStream(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := measureStream(ctx, streamConfig{Width: 64, Height: 48, Frames: 5, Runs: 3})
	require.NoError(t, err)
	assert.Equal(t, 3, c.Runs)
	assert.Positive(t, c.Ratio)
	assert.InEpsilon(t, 64*48*4, c.Stream.BytesPerSecond/c.Stream.FramesPerSecond, 1e-9)
	assert.Positive(t, c.TCP.FramesPerSecond)
	assert.Positive(t, c.SmallTCP.FramesPerSecond)
	assert.Positive(t, c.SmallRatio)
}

// BenchmarkStream1080p sends pictures through server and client; ratio is its rate over
// that of a bare TCP connection in the same run.
func BenchmarkStream1080p(b *testing.B) {
	c, err := measureStream(b.Context(), streamConfig{Frames: max(b.N, 20), Runs: 5})
	require.NoError(b, err)
	b.ReportMetric(c.Ratio, "ratio")
	b.ReportMetric(c.Stream.FramesPerSecond, "frames/s")
	b.ReportMetric(c.TCP.FramesPerSecond, "tcp_frames/s")
	b.ReportMetric(c.SmallRatio, "small_buffer_ratio")
	b.ReportMetric(c.Stream.AllocsPerFrame, "process_allocs/frame")
}

// BenchmarkSend counts the allocations of the whole way in steady state.
func BenchmarkStreamSend(b *testing.B) {
	image := streamImage(1920, 1080)
	p, err := openStream(b.Context(), image)
	require.NoError(b, err)
	defer p.Close()
	require.NoError(b, p.Send(b.Context(), 20))
	b.SetBytes(int64(len(image.Data)))
	b.ReportAllocs()
	b.ResetTimer()
	require.NoError(b, p.Send(b.Context(), b.N))
}

// From the publisher to the callback: serializing, queueing, writing, reading and
// opening a message takes no new memory once the buffers are there.
func TestStreamAllocatesNothing(t *testing.T) {
	p, err := openStream(t.Context(), streamImage(320, 240))
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Send(t.Context(), 20))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := p.Send(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}))
}
