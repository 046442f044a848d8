//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// What makes "ros2 node list" and "ros2 topic info -v" show the node: its name and its
// endpoints on ros_discovery_info, and what participant and endpoints say of themselves.
func TestNodeIsAnnounced(t *testing.T) {
	domain := freeDomain(t)
	s := cycloneSubscriber(t, domain, "subscribe")
	b := connect(t, domain, "node=sim&namespace=/vehicle")
	qos := flow.QoS{Reliability: flow.Reliable, History: flow.KeepLast, Depth: 3, Deadline: int64(2 * time.Second)}
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu", QoS: qos})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))

	p := s.await("the participant", func(e event) bool { return e.Event == "participant" && e.UserData != "" })
	assert.Equal(t, "enclave=/;", p.UserData)
	w := s.await("the writer of /imu", func(e event) bool { return e.Event == "writer" && e.Topic == "rt/imu" })
	assert.Equal(t, int64(2*time.Second), w.DeadlineNs)
	assert.True(t, w.Reliable)
	c := s.await("the writer of /clock", func(e event) bool { return e.Event == "writer" && e.Topic == "rt/clock" })
	assert.False(t, c.Reliable)
	g := s.await("the graph's writer", func(e event) bool { return e.Event == "writer" && e.Topic == "ros_discovery_info" })
	assert.True(t, g.Reliable && g.TransientLocal)

	last := func(text string) event {
		return s.await("the graph with "+text, func(e event) bool {
			return e.Event == "message" && e.Topic == "ros_discovery_info" && strings.Contains(string(e.Value), text)
		})
	}
	e := last(`"readers":["` + p.GUID[:24])
	assert.Contains(t, string(e.Value), `"gid":"`+p.GUID+`"`)
	assert.Contains(t, string(e.Value), `"namespace":"/vehicle","name":"sim"`)
	assert.Contains(t, string(e.Value), `"writers":["`+c.GUID+`","`+w.GUID+`"]`)
	require.NoError(t, b.Disconnect(t.Context()))
	last(`"nodes":[]`)
}

// Commands and the clock arrive from a program on Cyclone's own types.
func TestCommandsArrive(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	var mu sync.Mutex
	var clock []int64
	var velocity *sample.VelocityCommand
	var control *sample.VehicleControl
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS}, func(m *sample.Clock) {
		mu.Lock()
		defer mu.Unlock()
		clock = append(clock, m.StampNs)
	}))
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) {
		mu.Lock()
		defer mu.Unlock()
		velocity = m
	}))
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(m *sample.VehicleControl) {
		mu.Lock()
		defer mu.Unlock()
		control = m
	}))
	process.Start(t, process.Program(cyclonePeer(t), strconv.Itoa(domain), "publish").With("CYCLONEDDS_URI="+peerSettings))
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(clock) >= 3 && velocity != nil && control != nil
	}, patience, 5*time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	for i, stamp := range clock {
		assert.Equal(t, int64(500_000_000), stamp%1_000_000_000)
		if i > 0 {
			assert.Greater(t, stamp, clock[i-1])
		}
	}
	assert.Equal(t, 2.5, velocity.Twist.Linear[0])
	assert.Equal(t, -0.25, velocity.Twist.Angular[2])
	assert.Equal(t, 0.5, control.Acceleration)
	assert.Zero(t, b.Diagnosis().Malformed)
}

// A reader that is stopped holds up neither other readers nor other topics, even where
// all messages are kept for it.
func TestStalledReaderStopsNobodyElse(t *testing.T) {
	domain := freeDomain(t)
	stalled, healthy := cycloneSubscriber(t, domain, "count"), cycloneSubscriber(t, domain, "count")
	b := connect(t, domain, "messages=1000")
	keepLast := flow.QoS{Reliability: flow.Reliable, History: flow.KeepLast, Depth: 200}
	imu, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu", QoS: keepLast})
	require.NoError(t, err)
	keepAll := keepLast
	keepAll.History = flow.KeepAll
	images, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: keepAll})
	require.NoError(t, err)
	for _, s := range []*subscriber{stalled, healthy} {
		arrives(t, s, "/imu", func() error { return imu(t.Context(), &sample.Imu{}) })
		arrives(t, s, "/image", func() error { return images(t.Context(), bridgetest.Image(0)) })
	}
	message := &sample.Imu{Header: sample.Header{StampNs: 1}}
	count := func(s *subscriber) func() bool {
		before := s.count("/imu")
		return func() bool { return s.count("/imu") >= before+200 }
	}
	healthyHasAll, stalledHasAll := count(healthy), count(stalled)
	stalled.process.Stall()
	image := bridgetest.Image(0)
	image.Width, image.Height, image.Step, image.Data = 1000, 1000, 3000, make([]byte, 3_000_000)
	for n := range 200 {
		require.NoError(t, imu(t.Context(), message))
		if n < 10 {
			require.NoError(t, images(t.Context(), image))
		}
	}
	require.Eventually(t, healthyHasAll, patience, 5*time.Millisecond, "the other reader gets everything")
	require.Eventually(t, func() bool { return b.Statistics().Drops[flow.CausePeerSlow] > 0 }, patience, 5*time.Millisecond,
		"what the history has no room for is dropped")
	stalled.process.Resume()
	require.Eventually(t, stalledHasAll, patience, 5*time.Millisecond, "and later the stalled one too")
}
