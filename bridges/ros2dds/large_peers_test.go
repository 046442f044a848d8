//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// cloud returns a scan whose message has about so many bytes.
func cloud(bytes int) *sample.PointCloud {
	m := &sample.PointCloud{Header: sample.Header{FrameID: "lidar"}, Rings: 4, Columns: 16}
	var message ros.PointCloud2
	m.Points = make([]sample.Point, 1)
	if err := rossample.PointCloud2(&message, m); err != nil {
		panic(err)
	}
	m.Points = make([]sample.Point, bytes/int(message.PointStep))
	for i := range m.Points {
		m.Points[i] = sample.Point{X: float32(i), Y: float32(i) / 2, Z: 1, Intensity: float32(i % 256), Ring: uint16(i % 64), TimeNs: uint32(i), Ray: uint32(i)}
	}
	m.Rings, m.Columns = 64, len(m.Points)/64+1
	return m
}

// Clouds of 8 MB arrive complete, every octet as it was sent.
func TestLargeClouds(t *testing.T) {
	const messages = 20
	for _, implementation := range implementations {
		for _, reliability := range []flow.Reliability{flow.Reliable, flow.BestEffort} {
			t.Run(fmt.Sprintf("%s/%v", implementation.name, reliability), func(t *testing.T) {
				domain := freeDomain(t)
				s := implementation.start(t, domain, "subscribe")
				b := connect(t, domain, "")
				publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.QoS{Reliability: reliability, History: flow.KeepLast, Depth: 5}})
				require.NoError(t, err)
				m := cloud(8_000_000)
				want := map[int64]any{}
				for n := range int64(messages) {
					m.StampNs, m.Points[n].X = n*1e9, -1
					var message ros.PointCloud2
					require.NoError(t, rossample.PointCloud2(&message, m))
					want[n] = valueOf(&message)["data"]
					again := n == 0 || reliability == flow.BestEffort // may be lost
					err := publish(t.Context(), m)
					require.True(t, again || err == nil, "%v", err)
					arrived := func() bool { return clouds(t, s)[n] != nil }
					for again && !eventually(arrived, time.Second) {
						_ = publish(t.Context(), m) // there may be no reader yet
					}
					require.Eventually(t, arrived, patience, time.Millisecond, "cloud %d arrives", n)
				}
				assert.Equal(t, want, clouds(t, s))
			})
		}
	}
}

// clouds returns the data of the clouds that have arrived on /points, by the second in
// their stamp.
func clouds(t *testing.T, s *subscriber) map[int64]any {
	t.Helper()
	got := map[int64]any{}
	for _, e := range s.find(func(e event) bool { return e.Topic == "rt/points" && e.Event == "message" }) {
		var m struct {
			Header struct{ Stamp struct{ Sec int64 } }
			Data   any
		}
		require.NoError(t, json.Unmarshal(e.Value, &m))
		got[m.Header.Stamp.Sec] = m.Data
	}
	return got
}

// eventually reports whether something is so within a time.
func eventually(is func() bool, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}
