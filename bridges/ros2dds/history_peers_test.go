//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A history of depth 3 keeps the last three messages for whoever comes late.
func TestLateJoinerGetsAsManyAsTheDepth(t *testing.T) {
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			domain := freeDomain(t)
			b := connect(t, domain, "")
			qos := flow.QoS{Reliability: flow.Reliable, Durability: flow.TransientLocal, History: flow.KeepLast, Depth: 3}
			publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: qos})
			require.NoError(t, err)
			for n := range int64(5) {
				require.NoError(t, publish(t.Context(), &sample.Clock{StampNs: n * 1e9}))
			}
			s := implementation.start(t, domain, "subscribe")
			require.Eventually(t, func() bool { return b.Listening("/clock") && s.ready("/clock") && s.count("/clock") >= 3 }, patience, 5*time.Millisecond)
			require.NoError(t, publish(t.Context(), &sample.Clock{StampNs: 5 * 1e9}))
			var seconds []int64
			require.Eventually(t, func() bool {
				seconds = nil
				for _, e := range s.find(func(e event) bool { return e.Event == "message" && e.Topic == "rt/clock" }) {
					var m struct{ Clock struct{ Sec int64 } }
					require.NoError(t, json.Unmarshal(e.Value, &m))
					seconds = append(seconds, m.Clock.Sec)
				}
				return len(seconds) > 0 && seconds[len(seconds)-1] == 5
			}, patience, 5*time.Millisecond)
			assert.Equal(t, []int64{2, 3, 4, 5}, seconds)
		})
	}
}
