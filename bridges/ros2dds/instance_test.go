//go:build cgo && ros2dds

package ros2dds_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nowhere asks for an interface that no machine has.
const nowhere = `<CycloneDDS><Domain id="any"><General><Interfaces><NetworkInterface name="nowhere0"/></Interfaces></General></Domain></CycloneDDS>`

// What the library can't use is told with its own words, and tried again until it can.
func TestTriesAgain(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		is             error
		says           string
	}{
		{"unknown element", "<CycloneDDS><Domain><Nonsense/></Domain></CycloneDDS>", ros2dds.ErrSettings, "Nonsense: unknown element"},
		{"no XML", "<CycloneDDS", ros2dds.ErrSettings, "CYCLONEDDS_URI"},
		{"no such file", "file:///no/such/file.xml", ros2dds.ErrSettings, "/no/such/file.xml"},
		{"no such interface", nowhere, ros2dds.ErrDomain, "nowhere0: does not match an available interface"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cyclonedds.xml")
			t.Setenv("CYCLONEDDS_URI", c.settings)
			var log journal
			domain := freeDomain(t)
			b := open(t, domain, "retry=5ms", log.logger())
			publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.StaticQoS})
			require.NoError(t, err)
			require.NoError(t, b.Connect(t.Context()))
			assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
			assert.ErrorIs(t, b.Diagnosis().LastError, c.is)
			assert.ErrorContains(t, b.Diagnosis().LastError, c.says)
			assert.ErrorIs(t, publish(t.Context(), &sample.Clock{}), flow.ErrNotConnected)
			require.Eventually(t, func() bool { return b.Diagnosis().Failures >= 3 }, patience, time.Millisecond)
			assert.NoError(t, b.Err(), "it goes on without end")
			assert.Len(t, log.lines("level=WARN"), 1, "one cause is told once")

			require.NoError(t, os.WriteFile(file, []byte(loopback), 0o600))
			t.Setenv("CYCLONEDDS_URI", "file://"+file)
			require.Eventually(t, func() bool { return b.Status() == flow.Connected }, patience, time.Millisecond)
			assert.EqualValues(t, 1, b.Diagnosis().Connections)
			require.Eventually(t, func() bool { return len(log.lines("ros2dds: takes part in the domain")) == 1 }, patience, time.Millisecond)
			assert.NoError(t, publish(t.Context(), &sample.Clock{}))
		})
	}
}

// After so many attempts the bridge has failed for good, until it is connected again.
func TestGivesUp(t *testing.T) {
	for attempts, options := range map[int64]string{1: "attempts=1", 3: "retry=1ms&attempts=3"} {
		t.Run(options, func(t *testing.T) {
			t.Setenv("CYCLONEDDS_URI", nowhere)
			b := open(t, freeDomain(t), options, nil)
			require.NoError(t, b.Connect(t.Context()))
			require.Eventually(t, func() bool { return b.Err() != nil }, patience, time.Millisecond)
			assert.ErrorIs(t, b.Err(), flow.ErrNotConnected)
			assert.ErrorIs(t, b.Err(), ros2dds.ErrDomain)
			assert.Equal(t, attempts, b.Diagnosis().Failures)
			assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
			t.Setenv("CYCLONEDDS_URI", loopback)
			require.NoError(t, b.Connect(t.Context()))
			assert.Equal(t, flow.Connected, b.Status())
			assert.NoError(t, b.Err())
		})
	}
}

// A bridge that waits for its next attempt ends at once.
func TestEndsWhileTryingAgain(t *testing.T) {
	t.Setenv("CYCLONEDDS_URI", nowhere)
	b := open(t, freeDomain(t), "retry=1h", nil)
	require.NoError(t, b.Connect(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Disconnect(t.Context()) }()
	select {
	case err := <-ended:
		assert.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("it doesn't end")
	}
	assert.Equal(t, flow.Disconnected, b.Status())
}

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
		_, err := p.NewReader("rt/out", clockType, qos, &events[n], func([]byte, cyclone.Sender) {})
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
