package foxglovebench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/foxglove/foxglovebench"
)

func TestRun(t *testing.T) {
	r, err := foxglovebench.Run(t.Context(), foxglovebench.Config{Topics: 3, Bytes: 10_000, RateHz: 100, Duration: 100 * time.Millisecond})
	require.NoError(t, err)
	assert.Positive(t, r.BareHz)
	assert.Positive(t, r.BridgeHz)
	assert.Positive(t, r.Ratio())
	assert.EqualValues(t, 30, r.Offered)
	assert.Equal(t, r.Offered, r.Sent+r.Dropped)
}

// BenchmarkBridge reports the rates of docs/bridges/foxglove.md.
func BenchmarkBridge(b *testing.B) {
	for b.Loop() {
		r, err := foxglovebench.Run(b.Context(), foxglovebench.Config{})
		require.NoError(b, err)
		b.ReportMetric(r.BareHz, "bare_Hz")
		b.ReportMetric(r.TunedHz, "tuned_Hz")
		b.ReportMetric(r.BridgeHz, "bridge_Hz")
		b.ReportMetric(r.Ratio(), "ratio")
		b.ReportMetric(float64(r.Dropped), "paced_dropped")
		b.ReportMetric(float64(r.Sent), "paced_sent")
	}
}
