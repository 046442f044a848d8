package main

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/cyber/cybertest"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
	"github.com/raybridge/raybridge/bridges/rosbridge/rosbridgetest"
)

// TestReplayToNetworks: servers of several protocols get what was recorded, each message
// once, at its own time.
func TestReplayToNetworks(t *testing.T) {
	t.Parallel()
	ros, apollo := rosbridgetest.New(rosbridgetest.Config{}), rosbridgetest.New(rosbridgetest.Config{})
	var mu sync.Mutex
	taken := map[string]int{} // guarded by mu
	ros2 := lgsvltest.New(lgsvltest.Config{Published: func(m lgsvltest.Message) {
		mu.Lock()
		defer mu.Unlock()
		taken[m.Topic]++
	}})
	cyber := cybertest.New(cybertest.Config{})
	for _, start := range []func() error{ros.Start, apollo.Start, ros2.Start, func() error { return cyber.Start("127.0.0.1:0") }} {
		require.NoError(t, start())
	}
	for _, kill := range []func(){ros.Kill, apollo.Kill, ros2.Kill, cyber.Kill} {
		t.Cleanup(kill)
	}
	o := call(t, "replay", replayable(t, "a.mcap", true), "--quiet", "--out", t.TempDir(), "--topics", "/points,/imu",
		"--bridge", "rosbridge:"+ros.Addr(), "--bridge", "rosapollo:"+apollo.Addr(), "--bridge", "ros2lgsvl:"+ros2.Address(), "--bridge", "cyber:"+cyber.Addr())
	require.Equal(t, exitDone, o.code, o.err)
	for name, received := range map[string]func() map[string]int{
		"rosbridge": ros.Received, "rosapollo": apollo.Received, "cyber": cyber.Received,
		"ros2lgsvl": func() map[string]int {
			mu.Lock()
			defer mu.Unlock()
			return map[string]int{"/points": taken["/points"], "/imu": taken["/imu"]}
		},
	} {
		for _, topic := range []string{"/points", "/imu"} {
			require.Eventually(t, func() bool { return received()[topic] >= 10 }, time.Minute, 5*time.Millisecond, "%s: %s", name, topic)
			assert.Equal(t, 10, received()[topic], "%s: %s", name, topic)
		}
	}
	first, last := ros.Messages("/points")[0], ros.Messages("/points")[9]
	assert.NotEqual(t, first.Values["header"], last.Values["header"])
}
