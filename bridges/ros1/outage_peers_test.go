//go:build peers

package ros1_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// current publishes clouds at 100 Hz until the test ends.
type current struct {
	bridge *bridges.Bridge
	topic  string
	cloud  bridges.Publisher[*sample.PointCloud]
	seq    int
}

func newCurrent(t *testing.T, b *bridges.Bridge, topic string) *current {
	t.Helper()
	publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: topic})
	require.NoError(t, err)
	return &current{bridge: b, topic: topic, cloud: publish}
}

// until publishes until a program prints another message of the topic.
func (f *current) until(t *testing.T, subscriber *process.Process) {
	t.Helper()
	seen := strings.Count(subscriber.Output(), f.topic)
	require.Eventually(t, func() bool {
		m := bridgetest.PointCloud(f.seq)
		m.Seq = uint64(f.seq)
		f.seq++
		_ = f.cloud(t.Context(), m) // counted by the bridge
		return strings.Count(subscriber.Output(), f.topic) > seen
	}, patience, 10*time.Millisecond, "messages arrive on %s", f.topic)
}

func TestTheMasterIsStartedAnew(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "?retry=200ms", nil)
	out := newCurrent(t, b, "/points")
	commands := make(chan sample.VelocityCommand, 1000)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { commands <- *m }))
	before := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, before)
	pub := r.run(t, "/usr/bin/rostopic", "pub", "-r", "20", "/cmd_vel", "geometry_msgs/Twist", "{linear: {x: 2.5}}")
	assert.Equal(t, 2.5, receive(t, commands).Twist.Linear[0])

	r.master.Kill()
	awaitStatus(t, b, bridges.UnexpectedlyDisconnected)
	assert.ErrorIs(t, out.cloud(t.Context(), bridgetest.PointCloud(0)), bridges.ErrNotConnected)
	r.start(t)
	awaitStatus(t, b, bridges.Connected)
	out.until(t, before) // its connection stood all the time
	after := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, after)
	for len(commands) > 0 {
		<-commands
	}
	receive(t, commands) // the publisher's connection stands too, though the master doesn't list it
	pub.Kill()
	again := r.run(t, "/usr/bin/rostopic", "pub", "-r", "20", "/cmd_vel", "geometry_msgs/Twist", "{linear: {x: 3.5}}")
	require.Eventually(t, func() bool { return receive(t, commands).Twist.Linear[0] == 3.5 }, patience, time.Millisecond)
	again.Kill()
	d := b.Diagnosis()
	assert.GreaterOrEqual(t, d.Connections, int64(2))
	assert.Positive(t, d.Failures)
	assert.Error(t, d.LastError)
}

func TestASubscriberIsKilledAndComesAgain(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	out := newCurrent(t, b, "/points")
	other := r.script(t, "subscriber.py", "--count", "/points")
	first := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, first)
	first.Kill()
	out.until(t, other)
	second := r.script(t, "subscriber.py", "--count", "/points")
	out.until(t, second)
	assert.Equal(t, bridges.Connected, b.Status())
}

func TestAStalledSubscriberCostsOthersNothing(t *testing.T) {
	const messages = 150
	r := startRos(t)
	b := r.connected(t, "?bytes=8388608", nil)
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	stalled := r.script(t, "subscriber.py", "--count", "/image")
	healthy := r.script(t, "subscriber.py", "--count", "/image")
	image := &sample.Image{Width: 512, Height: 512, Step: 2048, Encoding: sample.Encoding32FC1, Data: make([]byte, 1<<20)}
	offered := 0
	send := func() {
		image.Seq, image.StampNs = uint64(offered), int64(offered)
		offered++
		require.NoError(t, publish(t.Context(), image))
	}
	awaitListening(t, b, "/image")
	for _, p := range []*process.Process{stalled, healthy} {
		require.Eventually(t, func() bool { send(); return strings.Contains(p.Output(), `"topic"`) }, patience, 20*time.Millisecond)
	}
	paced := func() { // one after the other, so that the load on the machine doesn't matter
		send()
		healthy.Expect(t, fmt.Sprintf(`"seq": %d}`, offered-1))
	}
	stalled.Stall()
	for range messages {
		paced()
	}
	stalled.Resume()
	resumed := offered
	for parseLine(t, stalled.Expect(t, `"topic"`)).Seq < resumed { // it goes on with what is new
		paced()
	}
	require.NoError(t, b.Close(t.Context()))
	row := b.Statistics().Topics[0]
	assert.Positive(t, row.Drops[flow.CausePeerSlow], "what the stalled one lost is counted")
	had := map[int]bool{}
	for _, p := range []*process.Process{stalled, healthy} {
		for text := range strings.Lines(p.Output()) {
			if strings.HasPrefix(text, `{"topic"`) && strings.HasSuffix(text, "}\n") {
				had[parseLine(t, text).Seq] = true
			}
		}
	}
	assert.EqualValues(t, len(had), row.Messages, "what somebody had is counted")
	assert.GreaterOrEqual(t, len(had), messages)
}

func TestServicesOfRos(t *testing.T) {
	r := startRos(t)
	b := r.connected(t, "", nil)
	on := make(chan bool, 10)
	require.NoError(t, bridges.AddService(b, "/raybridge/lights", func(_ context.Context, request sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		on <- request.Data
		return sample.SetBoolResponse{Success: true, Message: "the lights are <on>"}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/raybridge/fail", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{}, errors.New("no such luck")
	}))
	require.NoError(t, bridges.AddService(b, "/raybridge/nothing", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		return sample.EmptyResponse{}, nil
	}))
	require.Eventually(t, func() bool {
		return strings.Contains(r.run(t, "/usr/bin/rosservice", "list").Wait(t), "/raybridge/nothing")
	}, patience, 50*time.Millisecond)
	assert.Contains(t, r.run(t, "/usr/bin/rosservice", "type", "/raybridge/lights").Wait(t), "std_srvs/SetBool")
	answer := r.run(t, "/usr/bin/rosservice", "call", "/raybridge/lights", "data: true").Wait(t)
	assert.Contains(t, answer, "success: True")
	assert.Contains(t, answer, "the lights are <on>")
	assert.True(t, receive(t, on))
	r.run(t, "/usr/bin/rosservice", "call", "/raybridge/nothing").Wait(t)
	failing := r.run(t, "/usr/bin/rosservice", "call", "/raybridge/fail")
	failing.Expect(t, "no such luck")
}

func TestTwoNodesAndRosnodeKill(t *testing.T) {
	r := startRos(t)
	first := r.connected(t, "?retry=200ms", nil)
	newCurrent(t, first, "/first")
	list := func() string { return r.run(t, "/usr/bin/rosnode", "list").Wait(t) }
	require.Eventually(t, func() bool { return strings.Contains(list(), "/raybridge") }, patience, 50*time.Millisecond)
	second := r.connected(t, "?retry=200ms", nil)
	out := newCurrent(t, second, "/second")
	require.Eventually(t, func() bool { return strings.Contains(list(), "/raybridge_2") }, patience, 50*time.Millisecond)
	named := openBridge(t, r.address()+"?retry=200ms&node=raybridge", nil)
	require.NoError(t, named.Connect(t.Context()))
	require.Eventually(t, func() bool { return named.Diagnosis().Failures > 0 }, patience, 10*time.Millisecond)
	assert.ErrorContains(t, named.Diagnosis().LastError, "another node is /raybridge")
	assert.Equal(t, bridges.Connecting, named.Status())
	assert.Equal(t, bridges.Connected, first.Status())
	require.NoError(t, first.Close(t.Context()))
	awaitStatus(t, named, bridges.Connected)

	before := second.Diagnosis().Connections
	r.run(t, "/usr/bin/rosnode", "kill", "/raybridge_2").Wait(t)
	require.Eventually(t, func() bool { return second.Diagnosis().Connections > before }, patience, 10*time.Millisecond, "it comes again")
	subscriber := r.script(t, "subscriber.py", "--count", "/second")
	out.until(t, subscriber)
	require.NoError(t, second.Close(t.Context()))
	require.NoError(t, named.Close(t.Context()))
	assert.NotContains(t, list(), "/raybridge", "nothing stays behind at the master")
}
