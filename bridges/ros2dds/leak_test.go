//go:build cgo && ros2dds

package ros2dds_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclonetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Connections give back all that they took: entities of the library, memory of C's and
// goroutines; also those that have lost messages on their way, and those that failed.
func TestNothingIsLeftOfAConnection(t *testing.T) {
	domain := freeDomain(t)
	goroutines := runtime.NumGoroutine()
	require.Zero(t, cyclonetest.Entities(), "other tests have ended what they began")

	b := open(t, domain, "messages=4", nil)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	all := flow.DefaultQoS
	all.History = flow.KeepAll
	clock, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: all})
	require.NoError(t, err)
	transforms, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock_in"}, func(*sample.Clock) {}))
	require.NoError(t, bridges.AddService(b, "/set", func(context.Context, sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{}, nil
	}))
	message := &sample.Image{Width: 100, Height: 100, Step: 300, Encoding: sample.EncodingRGB8, Data: make([]byte, 30_000)}

	cycle := func(full bool) {
		require.NoError(t, b.Connect(t.Context()))
		require.Equal(t, bridges.Connected, b.Status())
		if full {
			cycleMessages(t, domain, b, func() {
				_ = image(t.Context(), message)
				_ = clock(t.Context(), &sample.Clock{StampNs: 1})
				_ = transforms(t.Context(), &sample.Transforms{})
			})
		}
		require.NoError(t, b.Disconnect(t.Context()))
		require.Zero(t, cyclonetest.Entities(), "all entities are gone")
		require.Zero(t, cyclone.Blocks(), "and all messages")
	}
	for range 5 { // pools, arenas and the library's own tables have their size then
		cycle(true)
	}
	before := cyclonetest.Bytes()
	const cycles = 40
	for n := range cycles {
		cycle(n%2 == 0)
	}
	// The allocator's own caches come and go with threads; blocks are counted to the last.
	assert.Less(t, cyclonetest.Bytes()-before, cycles*8192, "C memory stays as it was")

	t.Setenv("CYCLONEDDS_URI", nowhere)
	before = cyclonetest.Bytes()
	for range cycles {
		require.NoError(t, b.Connect(t.Context()))
		require.NoError(t, b.Disconnect(t.Context()))
	}
	assert.Less(t, cyclonetest.Bytes()-before, cycles*8192, "and of connections that failed")
	assert.Zero(t, cyclonetest.Entities())
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, patience, time.Millisecond, "goroutines end, but for the one that asks")
}

// cycleMessages has another participant exchange messages with the bridge.
func cycleMessages(t *testing.T, domain int, b *bridges.Bridge, publish func()) {
	t.Helper()
	p, err := cyclone.Join(cyclone.Config{Domain: uint32(domain)})
	require.NoError(t, err)
	defer p.Leave()
	var events [3]cyclone.Events
	reliable := cyclone.EndpointQoS{Reliable: true, Depth: 1}
	_, err = p.NewReader("rt/clock", clockType, reliable, &events[0], func([]byte, cyclone.Origin) {})
	require.NoError(t, err)
	_, err = p.NewReader("rt/image", "sensor_msgs::msg::dds_::Image_", cyclone.EndpointQoS{Depth: 1}, &events[1], func([]byte, cyclone.Origin) {})
	require.NoError(t, err)
	w, err := p.NewWriter("rt/clock_in", clockType, reliable, &events[2])
	require.NoError(t, err)
	defer w.Close()
	require.Eventually(t, func() bool {
		return b.Listening("/clock") && b.Listening("/image") && events[2].Matched() == 1
	}, patience, time.Millisecond)
	c := newClient(t, p, "/set", "clientid=1;", "clientid=1;")
	defer c.writer.Close()
	for range 20 {
		publish()
		c.call(requestHead + "01")
		s := w.Sample(0)
		w.Set(&s, []byte("\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"))
		require.NoError(t, w.Write(s))
		s = w.Sample(10_000) // and one that is never sent
		s.Release()
	}
}
