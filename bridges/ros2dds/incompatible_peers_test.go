//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/bridges/ros2dds"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// peerPrograms are the peers with other modes than reading everything.
var peerPrograms = map[string]func(*testing.T) process.Command{
	"cyclone": func(t *testing.T) process.Command {
		return process.Program(cyclonePeer(t)).With("CYCLONEDDS_URI=" + peerSettings)
	},
	"fastdds": func(t *testing.T) process.Command { return process.Program(fastPeer(t)) },
}

// policies are those of DDS by which the peers and the bridge don't match, with the
// numbers that DDS gives them (DDS 1.4, section 2.3.3, QosPolicyId_t).
var policies = map[string]struct {
	id                     int
	readersAsk, writersAre string
}{
	"reliability": {11, "readers ask for reliable, best_effort is offered", "writers offer best_effort, reliable is asked for"},
	"durability":  {2, "readers ask for transient_local, volatile is offered", "writers offer volatile, transient_local is asked for"},
	"deadline":    {4, "readers ask for a deadline shorter than 2s, which is offered", "writers offer no deadline of 1s or less, which is asked for"},
}

// A reader that asks for more than is offered gets nothing. It knows why, and so does the
// bridge's user.
func TestIncompatibleReadersAreTold(t *testing.T) {
	for name, program := range peerPrograms {
		for policy, want := range policies {
			t.Run(name+"/"+policy, func(t *testing.T) {
				domain := freeDomain(t)
				b, log := logged(t, domain)
				offered := flow.QoS{Reliability: flow.BestEffort, History: flow.KeepLast, Depth: 1, Deadline: int64(2 * time.Second)}
				_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: offered})
				require.NoError(t, err)
				command := program(t)
				command.Args = []string{strconv.Itoa(domain), "ask", "rt/clock", policy}
				start(t, command).await("the incompatibility", func(e event) bool {
					return e.Event == "incompatible" && e.Topic == "rt/clock" && e.Policy == want.id
				})
				told(t, b, log, policy, want.readersAsk)
				assert.False(t, b.Listening("/clock"))
			})
		}
	}
}

// And so it is with writers that offer less than the bridge asks for.
func TestIncompatibleWritersAreTold(t *testing.T) {
	for name, program := range peerPrograms {
		for policy, want := range policies {
			t.Run(name+"/"+policy, func(t *testing.T) {
				domain := freeDomain(t)
				b, log := logged(t, domain)
				asked := flow.QoS{Reliability: flow.BestEffort, History: flow.KeepLast, Depth: 1}
				switch policy {
				case "reliability":
					asked.Reliability = flow.Reliable
				case "durability":
					asked.Durability = flow.TransientLocal
				case "deadline":
					asked.Deadline = int64(time.Second)
				}
				require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock", QoS: asked}, func(*sample.Clock) {}))
				command := program(t)
				command.Args = []string{strconv.Itoa(domain), "offer", "rt/clock"}
				process.Start(t, command)
				told(t, b, log, policy, want.writersAre)
			})
		}
	}
}

// logged returns a connected bridge and its log.
func logged(t *testing.T, domain int) (*bridges.Bridge, *journal) {
	t.Helper()
	log := &journal{}
	b := open(t, domain, "", log.logger())
	require.NoError(t, b.Connect(t.Context()))
	require.Equal(t, bridges.Connected, b.Status())
	return b, log
}

// told waits until the log and the diagnosis say what they shall.
func told(t *testing.T, b *bridges.Bridge, log *journal, policy, why string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(log.lines("level=WARN")) > 0 }, patience, 5*time.Millisecond)
	lines := log.lines("level=WARN")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "topic=/clock policy="+policy+` why="`+why+`"`)
	assert.ErrorIs(t, b.Diagnosis().LastError, ros2dds.ErrIncompatibleQoS)
	assert.ErrorContains(t, b.Diagnosis().LastError, "/clock: policy "+policy+": "+why)
}
