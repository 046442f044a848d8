package pipeline_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/simtime"
)

// heap is what is in use, bytes.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestThousandsOfSensorsComeAndGo: of sensors that have ended nothing is left but sums, and clients
// of bridges find those that there are.
func TestThousandsOfSensorsComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	to := &peer{kind: bridges.KindNetwork}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(to, stream.Factory{}), ClockRate: simtime.Hz(100)})
	addScripted(t, p, plainID, "stays", "100")
	to.attach(t, p, "")
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "stream:127.0.0.1:0"}))
	require.NoError(t, p.Step(t.Context(), 1))
	passed := 0
	pass := func(n int, run bool) {
		for range n {
			s := addScripted(t, p, plainID, fmt.Sprintf("episode_%d", passed), "100")
			if passed++; run {
				require.NoError(t, p.Step(t.Context(), 3))
			}
			destroy(t, s)
		}
	}
	const measured = 120 // more than have rows of their own
	pass(measured, true)
	pass(880, false)
	before := heap()
	pass(2000, false)
	assert.Less(t, heap()-before, int64(2<<20), "bytes for two thousand sensors")

	delivered := int64(0)
	for _, d := range to.deliveries() {
		if strings.HasPrefix(d.topic, "/episode_") {
			delivered++
		}
	}
	summary := p.Summary()
	counted, others := int64(0), 0
	for _, row := range summary.Sensors {
		if row.Ended {
			counted += row.Messages
			others += max(row.Others, 1)
		}
	}
	assert.GreaterOrEqual(t, delivered, int64(measured))
	assert.Equal(t, delivered, counted)
	assert.Equal(t, passed, others)
	assert.Less(t, len(summary.Sensors), 120)

	endpoints := summary.Bridges[1].Endpoints
	require.Len(t, endpoints, 2, "the clock's and that of the one that stays")
	c, err := stream.Dial(t.Context(), endpoints[0].Address, stream.Options{})
	require.NoError(t, err)
	defer c.Close()
	assert.Len(t, c.Streams(), 2)
}

// TestATopicIsFreeForAnotherType: when its sensor has gone, at each bridge.
func TestATopicIsFreeForAnotherType(t *testing.T) {
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: gputest.NewFake().Open, Bridges: bridges.MustRegistry(stream.Factory{}),
		Sensors: sensors.Must(sensors.NewRegistry(motion.IMUDefinition, motion.GNSSDefinition)), Mode: pipeline.Stepped,
	})
	require.NoError(t, err)
	defer p.Close(t.Context())
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "stream:127.0.0.1:0"}))
	c, err := stream.Dial(t.Context(), p.Summary().Bridges[0].Endpoints[0].Address, stream.Options{})
	require.NoError(t, err)
	defer c.Close()
	types := make(chan string, 100)
	output := map[string]string{"sensor.other.imu": "imu", "sensor.other.gnss": "fix"}
	for i, id := range []string{"sensor.other.imu", "sensor.other.gnss", "sensor.other.imu"} {
		s, err := p.AddSensor(sensors.Config{ID: id, Name: "front", Rate: simtime.Hz(100), Topics: map[string]string{output[id]: "/front"}})
		require.NoError(t, err)
		if i == 0 {
			require.Eventually(t, func() bool { return len(c.Streams()) == 1 }, 10*time.Second, time.Millisecond)
			require.NoError(t, c.Listen(t.Context(), c.Streams()[0].Name, func(d *stream.Data) { types <- d.Stream.SensorType }))
		}
		topic := s.Topics()[0]
		require.Eventually(t, func() bool { n, err := p.Receivers(topic); return err == nil && n == 1 }, 10*time.Second, time.Millisecond, "the client stays")
		require.NoError(t, p.Step(t.Context(), 3))
		require.Eventually(t, func() bool { return <-types == id }, 10*time.Second, time.Millisecond, "behind what is on its way of the one before")
		destroy(t, s)
	}
}
