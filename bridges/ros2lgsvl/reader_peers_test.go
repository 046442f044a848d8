//go:build peers && ros2dds

package ros2lgsvl_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// What becomes of a subscriber behind the server is nothing to the bridge: all messages go
// to the server, and the subscriber has them all when it comes again or goes on.
func TestCycloneIsKilledStalledAndComesAgain(t *testing.T) {
	programs, domain := build(t), freeDomain(t)
	start := func() *process.Process {
		p := process.Start(t, process.Program(filepath.Join(programs, "dds_subscriber"),
			strconv.Itoa(domain), "rt/clock="+ddsType("rosgraph_msgs/Clock")).With(loopback))
		p.Expect(t, "ready")
		return p
	}
	subscriber := start()
	out := startGateway(t, filepath.Join(programs, "dds_gateway"), domain)
	server := lgsvltest.New(lgsvltest.Config{Published: out.write})
	require.NoError(t, server.Start())
	t.Cleanup(server.Kill)
	b := open(t, server.Address()+"?messages=4096")
	connect(t, b)
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	sent := 0
	send := func(messages int) {
		for range messages {
			sent++
			require.NoError(t, publish(t.Context(), &sample.Clock{StampNs: int64(sent) * 1e9}))
		}
		eventually(t, func() bool { return server.Received()["/clock"] == sent }, "the server has them all")
	}
	has := func(from int) { // in their order
		for n := from; n <= sent; n++ {
			subscriber.Expect(t, fmt.Sprintf(`"sec":%d,`, n))
		}
	}
	send(1)
	has(1)
	subscriber.Kill()
	send(100)
	subscriber = start()
	has(1)
	subscriber.Stall()
	send(100)
	subscriber.Resume()
	has(sent - 99)
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, sent, row.Messages)
	assert.Empty(t, row.Drops)
	assert.EqualValues(t, 1, b.Diagnosis().Connections)
	assert.Empty(t, server.Log())
}
