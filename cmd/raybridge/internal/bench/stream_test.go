package bench_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

func TestStream(t *testing.T) {
	var r bench.Report
	require.NoError(t, bench.Stream(t.Context(), bench.Config{Quick: true, Runs: 1}, &r))
	var names []string
	for _, f := range figures(t, &r) {
		names = append(names, f.Name)
		assert.Equal(t, "1920x1080_rgba", f.Case)
		if f.Name != "stream.allocs_per_frame" {
			assert.Positive(t, f.Value, f.Name)
		}
	}
	assert.Equal(t, []string{
		"stream.frames_per_s", "stream.bytes_per_s", "tcp.bytes_per_s", "tcp_small_buffer.bytes_per_s",
		"stream.ratio", "stream.small_buffer_ratio", "stream.allocs_per_frame",
	}, names)
	assert.Len(t, r.Methods, 1)
	err := bench.Stream(t.Context(), bench.Config{Cases: []string{"8k"}}, &r)
	assert.ErrorIs(t, err, bench.ErrConfig)
	assert.ErrorContains(t, err, "known are 1920x1080_rgba, 640x480_rgba")
}
