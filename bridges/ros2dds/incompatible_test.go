//go:build cgo && ros2dds

package ros2dds_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

const clockType = "rosgraph_msgs::msg::dds_::Clock_"

// Who asks for more than is offered gets nothing. The user is told of it once for each
// topic and policy, also if it happens again.
func TestIncompatibleEndpointsAreTold(t *testing.T) {
	offered := flow.QoS{Reliability: flow.BestEffort, History: flow.KeepLast, Depth: 1, Deadline: int64(2 * time.Second)}
	wanted := flow.QoS{Reliability: flow.Reliable, Durability: flow.TransientLocal, History: flow.KeepLast, Depth: 1, Deadline: int64(time.Second)}
	domain := freeDomain(t)
	var log journal
	b := open(t, domain, "", log.logger())
	require.NoError(t, b.Connect(t.Context()))
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/out", QoS: offered})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in", QoS: wanted}, func(*sample.Clock) {}))

	p := raw(t, domain)
	var events [7]cyclone.Events
	want := []struct{ topic, policy, why string }{
		{"/out", "reliability", "readers ask for reliable, best_effort is offered"},
		{"/out", "durability", "readers ask for transient_local, volatile is offered"},
		{"/out", "deadline", "readers ask for a deadline shorter than 2s, which is offered"},
		{"/in", "reliability", "writers offer best_effort, reliable is asked for"},
		{"/in", "durability", "writers offer volatile, transient_local is asked for"},
		{"/in", "deadline", "writers offer no deadline of 1s or less, which is asked for"},
	}
	for n, qos := range []cyclone.EndpointQoS{{Reliable: true}, {TransientLocal: true}, {Deadline: time.Second}, {Reliable: true}} {
		_, err := p.NewReader("rt/out", clockType, qos, &events[n], func([]byte, cyclone.Origin) {})
		require.NoError(t, err)
	}
	for n, qos := range []cyclone.EndpointQoS{{TransientLocal: true, Deadline: time.Second}, {Reliable: true, Deadline: time.Second}, {Reliable: true, TransientLocal: true}} {
		w, err := p.NewWriter("rt/in", clockType, qos, &events[4+n])
		require.NoError(t, err)
		defer w.Close()
	}
	require.Eventually(t, func() bool { return len(log.lines("level=WARN")) == len(want) }, patience, 5*time.Millisecond)
	fault := b.Diagnosis().LastError
	assert.ErrorIs(t, fault, ros2dds.ErrIncompatibleQoS)
	for _, w := range want {
		var told []string
		for _, line := range log.lines("policy=" + w.policy) {
			if strings.Contains(line, "topic="+w.topic+" ") {
				told = append(told, line)
			}
		}
		if assert.Len(t, told, 1, "%v", w) {
			assert.Contains(t, told[0], w.why)
		}
		assert.ErrorContains(t, fault, w.topic+": policy "+w.policy+": "+w.why)
	}
	assert.ErrorContains(t, fault, "best_effort is offered (2 times)")
	assert.False(t, b.Listening("/out"))

	// It is known again after the connection, and not told again.
	require.NoError(t, b.Connect(t.Context()))
	require.Eventually(t, func() bool {
		return strings.Contains(b.Diagnosis().LastError.Error(), "best_effort is offered (4 times)")
	}, patience, time.Millisecond)
	require.NoError(t, b.Disconnect(t.Context()))
	assert.Len(t, log.lines("level=WARN"), len(want))
}
