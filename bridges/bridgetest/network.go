package bridgetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// source publishes on one topic and counts what it offered.
type source struct {
	f       *fixture
	topic   string
	publish func(context.Context, int) error
	offered int
}

func (f *fixture) source(topic string) *source {
	f.t.Helper()
	return &source{f: f, topic: topic, publish: f.publisher(f.carried()[0], topic)}
}

// offer publishes one message, whatever becomes of it.
func (s *source) offer() {
	_ = s.publish(s.f.t.Context(), s.offered) // counted by the bridge
	s.offered++
}

// arrives waits for the peer to want the topic, and publishes until one message more than now
// has arrived.
func (s *source) arrives() {
	s.f.t.Helper()
	s.f.await(s.topic)
	before := s.f.peer.Received()[s.topic]
	require.Eventually(s.f.t, func() bool {
		s.offer()
		return s.f.peer.Received()[s.topic] > before
	}, patience, 20*time.Millisecond, "messages arrive on %s", s.topic)
}

// settled closes the bridge and checks that each message was sent or dropped, once.
func (s *source) settled() {
	s.f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(s.f.t, s.f.bridge.Close(ctx))
	row := topicStatistics(s.f.t, s.f.bridge, s.topic)
	assert.EqualValues(s.f.t, s.offered, row.Messages+row.Drops.Total(), "%s: sent %d, dropped %v", s.topic, row.Messages, row.Drops)
}

func (s Suite) peerComesLate(t *testing.T) {
	f := s.open(t)
	out := f.source("/late")
	require.NoError(t, f.bridge.Connect(t.Context()))
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.bridge.Await(short); err != nil { // else a node or a server that needs no peer
		assert.ErrorIs(t, err, flow.ErrNotConnected)
		assert.ErrorIs(t, err, context.Canceled)
	}
	assert.Contains(t, []flow.Status{flow.Connecting, flow.UnexpectedlyDisconnected, flow.Connected}, f.bridge.Status())
	out.offer()
	f.start()
	out.arrives()
	out.settled()
}

func (s Suite) reconnects(t *testing.T) {
	f := s.connect(t)
	before := f.source("/before")
	before.arrives()
	f.peer.Kill(t)
	while := f.source("/while")
	for range 5 {
		before.offer()
		while.offer()
	}
	f.peer.Start(t)
	before.arrives()
	while.arrives()
	before.settled()
	while.settled()
}

// pictures is a source of pictures of 1 MiB.
func (f *fixture) pictures(topic string) *source {
	f.t.Helper()
	publish, err := bridges.AddPublisher[*sample.Image](f.bridge, bridges.Topic{Name: topic, Sensor: "probe", QoS: flow.SensorDataQoS})
	require.NoError(f.t, err)
	image := &sample.Image{Header: header(0), Width: 512, Height: 512, Step: 2048, Encoding: sample.Encoding32FC1, Data: make([]byte, 1<<20)}
	return &source{f: f, topic: topic, publish: func(ctx context.Context, seq int) error {
		image.Stamp, image.Seq = simtime.Stamp(int64(seq)*Period), uint64(seq)
		return publish(ctx, image)
	}}
}

// stalled connects, stalls the peer and offers far more than a queue of 8 MiB and the system's
// buffers hold.
func (s Suite) stalled(t *testing.T) (*fixture, *source) {
	t.Helper()
	f := s.connect(t)
	out := f.pictures("/large")
	out.arrives()
	f.peer.Stall(t)
	for range 64 {
		out.offer()
	}
	return f, out
}

func (s Suite) stalls(t *testing.T) {
	f, out := s.stalled(t)
	f.peer.Resume(t)
	out.arrives()
	out.settled()
}

// disconnects while much waits for a peer that takes nothing: the context ends it.
func (s Suite) disconnects(t *testing.T) {
	f, out := s.stalled(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f.bridge.Disconnect(ctx) }()
	require.Eventually(t, func() bool { return f.bridge.Status() == flow.Disconnecting || len(done) > 0 }, patience, time.Millisecond,
		"it says so while it delivers what waits")
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(atOnce):
		require.Fail(t, "Disconnect waits for a peer longer than its context allows")
	}
	assert.Equal(t, flow.Disconnected, f.bridge.Status())
	f.peer.Resume(t)
	require.NoError(t, f.bridge.Connect(t.Context()))
	out.arrives()
	out.settled()
}

func (s Suite) rubbish(t *testing.T) {
	f := s.connect(t)
	out := f.source("/topic")
	out.arrives()
	f.peer.Rubbish(t)
	out.arrives()
	out.settled()
}
