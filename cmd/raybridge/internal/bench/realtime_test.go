package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/pipeline"
)

// TestDeliveredIsThatOfTheWorstSensor counts made-up messages against those that were due.
func TestDeliveredIsThatOfTheWorstSensor(t *testing.T) {
	sensor := func(rate float64, messages int) *received {
		return &received{rate, slices.Repeat([]time.Duration{20 * time.Millisecond}, messages)}
	}
	for _, c := range []struct {
		name    string
		sensors []*received
		percent float64
		latency bool
	}{
		{"all", []*received{sensor(10, 20), sensor(30, 60)}, 100, true},
		{"one more at the end", []*received{sensor(10, 21)}, 100, true},
		{"half of one", []*received{sensor(10, 20), sensor(30, 30)}, 50, true},
		{"none of one", []*received{sensor(10, 0), sensor(30, 30)}, 0, true},
		{"none", []*received{sensor(10, 0)}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := realtimeRun{vehicle: vehicles()[0], length: 2 * time.Second, sensors: c.sensors, summary: pipeline.Summary{RealTimeFactor: 0.5}}
			got := map[string]float64{}
			for _, row := range r.rows() {
				got[row.Name] = row.Median()
			}
			assert.InDelta(t, c.percent, got["realtime.delivered_percent"], 1e-9)
			assert.InDelta(t, 0.5, got["realtime.factor"], 1e-9)
			p99, measured := got["realtime.latency_ms.p99"]
			assert.Equal(t, c.latency, measured)
			if measured {
				assert.InDelta(t, 20, p99, 1e-9)
			}
		})
	}
}
