package rosbridge_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// early is a time that ROS 1 can't express.
var early = &sample.Clock{Stamp: -1}

// refusesEarly publishes an early time, which is refused and counted, and one that isn't.
func refusesEarly(t *testing.T, b *bridges.Bridge, out bridges.Publisher[*sample.Clock]) {
	t.Helper()
	err := out(t.Context(), early)
	require.ErrorIs(t, err, bridges.ErrConvert)
	assert.ErrorIs(t, err, ros.ErrBeforeEpoch)
	require.NoError(t, out(t.Context(), &sample.Clock{Stamp: 1_500_000_000}))
	eventually(t, "counted", func() bool { return b.Statistics().Messages == 1 })
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, b.Statistics().Drops)
}

// A time that ROS 1 can't express is an error, and not the time 0.
func TestTimesBeforeTheEpoch(t *testing.T) {
	for _, options := range []string{"", "?bson=1"} {
		s := started(t, peers.RosbridgeConfig{BSONOnly: options != ""})
		b := opened(t, s.Addr()+options)
		out, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/x"})
		require.NoError(t, err)
		connected(t, b)
		refusesEarly(t, b, out)
		eventually(t, "arrived", func() bool { return s.Received()["/x"] > 0 })
		assert.Equal(t, "1", fmt.Sprint(at(s.Messages("/x")[0].Values, "clock.secs")))
	}
}

func TestTimesBeforeTheEpochServed(t *testing.T) {
	for _, compression := range []string{"none", "cbor", "cbor-raw"} {
		b := listening(t, "")
		out, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
		require.NoError(t, err)
		c := visit(t, b)
		c.send(fmt.Sprintf(`{"op":"subscribe","topic":"/clock","type":"rosgraph_msgs/Clock","compression":%q}`, compression))
		c.values("nodes", "{}")
		refusesEarly(t, b, out)
		assert.Equal(t, "publish", c.next()["op"], "of the second time")
		c.values("nodes", "{}") // nothing else
	}
}

func TestROS2HasTimesBeforeTheEpoch(t *testing.T) {
	s := started(t, peers.RosbridgeConfig{})
	m := publish(t, s, opened(t, s.Addr()+"?ros=2"), early)
	assert.Equal(t, "-1 999999999", fmt.Sprint(at(m.Values, "clock.sec"), " ", at(m.Values, "clock.nanosec")))
}
