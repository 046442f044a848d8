package pipeline_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// measuredOf returns the measures of the sensor with a name, and of its topic.
func measuredOf(t *testing.T, list []pipeline.SensorMeasures, name string) *pipeline.SensorMeasures {
	t.Helper()
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	require.Fail(t, "no measures", name)
	return nil
}

// sentOn adds up what bridges sent on a topic.
func sentOn(m *pipeline.Measures, topic string) (n int64) {
	for _, b := range m.Bridges {
		for _, tally := range b.Tallies {
			if tally.Topic == topic {
				n += tally.Messages
			}
		}
	}
	return n
}

// TestMeasures are the Summary's counts. A Reset takes nothing back, and a sensor that has ended leaves what it counted.
func TestMeasures(t *testing.T) {
	fake := gputest.NewFake()
	fake.StopLog()
	pr := &peer{kind: bridges.KindNetwork}
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: fake.Open, Sensors: sensorsall.Registry(), Bridges: pr.registry(), ClockRate: simtime.Hz(100),
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	imu := sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(100)}
	first, err := p.AddSensor(imu)
	require.NoError(t, err)
	camera, err := p.AddSensor(sensors.Config{ID: "sensor.camera.rgb", Name: "front", Rate: simtime.Hz(50), Attributes: map[string]any{"image_size_x": 12, "image_size_y": 8}})
	require.NoError(t, err)
	pr.attach(t, p, "")
	listener, err := pipeline.Listen(camera, camera.Outputs()[0].Name, func(sensors.Tick, *sample.Image) {})
	require.NoError(t, err)
	defer listener.Stop()

	topic := first.Topics()[0]
	for round := range int64(2) {
		require.NoError(t, p.Step(t.Context(), 10))
		m, s := p.Measures(), p.Summary()
		assert.Equal(t, 10*(round+1), m.Frames)
		assert.InDelta(t, s.SimS, m.SimulatedS, 1e-9)
		assert.Equal(t, 10*(round+1), sentOn(m, topic))
		assert.Equal(t, 10*(round+1), sentOn(m, "/clock"))
		assert.Equal(t, s.Bridges[0].Sent, sentOn(m, topic)+sentOn(m, "/clock"))
		front := measuredOf(t, m.Sensors, "front")
		assert.EqualValues(t, 5*(round+1), front.Readback.Completed)
		assert.EqualValues(t, 5*(round+1), front.Readback.Fence.Count)
		assert.EqualValues(t, 5*(round+1), front.Topics[0].Latency.Count)
		assert.Positive(t, front.Readback.Slots)
		assert.Positive(t, m.DeviceBytes)
		way := measuredOf(t, m.Sensors, "imu").Topics[0].Ways[0]
		assert.Equal(t, "test", way.Bridge)
		assert.EqualValues(t, 10*(round+1), way.Send.Count)
		assert.EqualValues(t, 10*(round+1), measuredOf(t, m.Sensors, "imu").Topics[0].Latency.Count)
		assert.Contains(t, p.Latencies(), latencyOf(t, p, "front", "fence", 5*(round+1)))
		if round == 0 {
			_, err := p.Reset(t.Context(), 7)
			require.NoError(t, err)
		}
	}

	pr.set(flow.Disconnected)
	destroy(t, first)
	m := p.Measures()
	gone := measuredOf(t, m.Ended, "imu")
	assert.False(t, gone.Ended.IsZero())
	assert.EqualValues(t, 20, gone.Topics[0].Latency.Count)
	second, err := p.AddSensor(imu)
	require.NoError(t, err)
	pr.set(flow.Connected)
	require.NoError(t, p.Step(t.Context(), 10))
	m = p.Measures()
	assert.NotEqual(t, gone.Serial, measuredOf(t, m.Sensors, second.Name()).Serial)
	assert.EqualValues(t, 20, measuredOf(t, m.Ended, "imu").Topics[0].Latency.Count)
	assert.False(t, m.Bridges[0].Network && !m.Bridges[0].Connected)
	for range 110 {
		s, err := p.AddSensor(sensors.Config{ID: "sensor.other.gnss", Name: "gnss"})
		require.NoError(t, err)
		destroy(t, s)
	}
	assert.Len(t, p.Measures().Ended, 100)
}

// latencyOf returns the part of the run's latencies that has a name, which must have happened n times.
func latencyOf(t *testing.T, p *pipeline.Pipeline, sensor, name string, n int64) (found pipeline.PartLatency) {
	t.Helper()
	for _, part := range p.Latencies() {
		if part.Sensor == sensor && part.Name == name {
			found = part
		}
	}
	assert.Equal(t, n, found.Count)
	return found
}
