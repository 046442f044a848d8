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
	rows, err := picture{64, 48}.measure(ctx, 3, 5)
	require.NoError(t, err)
	value := map[string][]float64{}
	for _, r := range rows {
		require.Len(t, r.Runs, 3, r.Name)
		value[r.Name] = r.Runs
		if r.Name != "stream.allocs_per_frame" {
			assert.Positive(t, r.Median(), r.Name)
		}
	}
	for run, rate := range value["stream.frames_per_s"] {
		assert.InEpsilon(t, 64*48*4*rate, value["stream.bytes_per_s"][run], 1e-9)
		assert.InEpsilon(t, value["stream.bytes_per_s"][run]/value["tcp.bytes_per_s"][run], value["stream.ratio"][run], 1e-9)
	}
}

// BenchmarkStream1080p sends pictures through server and client; stream.ratio is its rate
// over that of a bare TCP connection in the same run.
func BenchmarkStream1080p(b *testing.B) {
	rows, err := picture{1920, 1080}.measure(b.Context(), 5, max(b.N, 20))
	require.NoError(b, err)
	for _, r := range rows {
		b.ReportMetric(r.Median(), r.Name)
	}
}

// BenchmarkSend counts the allocations of the whole way in steady state.
func BenchmarkStreamSend(b *testing.B) {
	image := benchImage(1920, 1080)
	p, err := openStream(b.Context(), image)
	require.NoError(b, err)
	defer p.close()
	require.NoError(b, p.send(b.Context(), 20))
	b.SetBytes(int64(len(image.Data)))
	b.ReportAllocs()
	b.ResetTimer()
	require.NoError(b, p.send(b.Context(), b.N))
}

// From the publisher to the callback: serializing, queueing, writing, reading and
// opening a message takes no new memory once the buffers are there.
func TestStreamAllocatesNothing(t *testing.T) {
	p, err := openStream(t.Context(), benchImage(320, 240))
	require.NoError(t, err)
	defer p.close()
	require.NoError(t, p.send(t.Context(), 20))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := p.send(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}))
}
