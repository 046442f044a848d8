//go:build cgo && ros2dds

package ros2dds_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Two nodes in one program: one publishes the time, the other follows it.
func TestTwoNodesOfOneProgram(t *testing.T) {
	domain := freeDomain(t)
	from, to := connect(t, domain, "node=from"), connect(t, domain, "node=to")
	publish, err := bridges.AddPublisher[*sample.Clock](from, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	require.NoError(t, err)
	var got atomic.Int64
	require.NoError(t, bridges.AddSubscriber(to, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS}, func(m *sample.Clock) { got.Store(m.StampNs) }))
	require.Eventually(t, func() bool {
		_ = publish(t.Context(), &sample.Clock{StampNs: 1_500_000_001}) // there may be no reader yet
		return got.Load() == 1_500_000_001
	}, patience, time.Millisecond)
}

func TestTopicNames(t *testing.T) {
	b := connect(t, freeDomain(t), "")
	for _, name := range []string{"points", "/", "/a/", "/9", "/a__b", "/a-b", "/ä"} {
		_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: name})
		assert.ErrorIs(t, err, bridges.ErrTopicName, name)
		assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: name}, func(*sample.Clock) {}), bridges.ErrTopicName, name)
	}
}

// A topic without readers is not listened to, and its messages go nowhere.
func TestNobodyListens(t *testing.T) {
	b := connect(t, freeDomain(t), "")
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	require.NoError(t, err)
	assert.False(t, b.Listening("/clock"))
	assert.False(t, b.Listening("/other"))
	assert.ErrorIs(t, publish(t.Context(), &sample.Clock{}), bridges.ErrNotConnected)
	assert.Equal(t, flow.Drops{flow.CauseNotConnected: 1}, b.Statistics().Drops)
}

// raw is a participant that isn't the bridge's, with an endpoint on a topic.
func raw(t *testing.T, domain int) *cyclone.Participant {
	t.Helper()
	p, err := cyclone.Join(cyclone.Config{Domain: uint32(domain)})
	require.NoError(t, err)
	t.Cleanup(p.Leave)
	return p
}

// Messages that can't be read are counted, and those after them are read.
func TestMalformedMessages(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	var got atomic.Int64
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock"}, func(m *sample.Clock) { got.Store(m.StampNs) }))
	p := raw(t, domain)
	var events cyclone.Events
	w, err := p.NewWriter("rt/clock", "rosgraph_msgs::msg::dds_::Clock_", cyclone.EndpointQoS{Reliable: true, Depth: 10}, &events)
	require.NoError(t, err)
	defer w.Close()
	require.Eventually(t, func() bool { return events.Matched() == 1 }, patience, time.Millisecond)
	for _, message := range []string{"\x00\x01\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02", "\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"} {
		s := w.Sample(0)
		w.Set(&s, []byte(message))
		require.NoError(t, w.Write(s))
	}
	require.Eventually(t, func() bool { return got.Load() == 1_000_000_002 }, patience, time.Millisecond)
	assert.EqualValues(t, 2, b.Diagnosis().Malformed)
	assert.ErrorContains(t, b.Diagnosis().LastError, "/clock")
}

// A topic whose messages come faster than they are delivered holds up neither other
// topics nor the end.
func TestATopicThatIsNeverSilent(t *testing.T) {
	p := raw(t, freeDomain(t))
	var readers, writers [2]cyclone.Events
	qos := cyclone.EndpointQoS{Reliable: true, Depth: 1}
	var write [2]func()
	for i, topic := range []string{"rt/busy", "rt/quiet"} {
		w, err := p.NewWriter(topic, "rosgraph_msgs::msg::dds_::Clock_", qos, &writers[i])
		require.NoError(t, err)
		defer w.Close()
		write[i] = func() {
			s := w.Sample(0)
			w.Set(&s, []byte("\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"))
			if err := w.Write(s); err != nil {
				t.Error(err)
			}
		}
	}
	var busy, quiet atomic.Int64
	_, err := p.NewReader("rt/busy", "rosgraph_msgs::msg::dds_::Clock_", qos, &readers[0], func([]byte, cyclone.Origin) {
		busy.Add(1)
		write[0]() // so that there is always one more
	})
	require.NoError(t, err)
	_, err = p.NewReader("rt/quiet", "rosgraph_msgs::msg::dds_::Clock_", qos, &readers[1], func([]byte, cyclone.Origin) { quiet.Add(1) })
	require.NoError(t, err)
	require.Eventually(t, func() bool { return writers[0].Matched() == 1 && writers[1].Matched() == 1 }, patience, time.Millisecond)
	write[0]()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		for p.Read() {
		}
	}()
	require.Eventually(t, func() bool { return busy.Load() > 100 }, patience, time.Millisecond)
	write[1]()
	assert.Eventually(t, func() bool { return quiet.Load() == 1 }, patience, time.Millisecond)
	p.Wake()
	select {
	case <-reading:
	case <-time.After(patience):
		t.Fatal("the reading goroutine doesn't end")
	}
}

// A message costs no memory of Go's once the blocks are there.
func TestPublishingAllocatesNothing(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	p := raw(t, domain)
	var events cyclone.Events
	_, err = p.NewReader("rt/image", "sensor_msgs::msg::dds_::Image_", cyclone.EndpointQoS{Depth: 1}, &events, func([]byte, cyclone.Origin) {})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Listening("/image") }, patience, time.Millisecond)
	image := &sample.Image{Width: 100, Height: 100, Step: 300, Encoding: sample.EncodingRGB8, Data: make([]byte, 30_000)}
	image.FrameID = "camera"
	send := func() {
		if err := publish(t.Context(), image); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		send()
	}
	// The test's own context costs nothing; the queue's ring grows at most now and then.
	assert.Less(t, testing.AllocsPerRun(1000, send), 1.0)
}
