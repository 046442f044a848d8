package bridgetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

const (
	// patience is how long the suite waits for what happens soon; tick how often it looks.
	patience = 30 * time.Second
	tick     = 2 * time.Millisecond
	// atOnce is long for what waits for nobody, and shorter than the time limits of writes.
	atOnce = 8 * time.Second
)

// fixture is one bridge with the other side that the suite looks at.
type fixture struct {
	t      *testing.T
	suite  Suite
	bridge *bridges.Bridge
	dir    string
	peer   Peer // nil for a file
}

// open returns a new bridge with a peer that isn't started, or one that writes below a
// new folder.
func (s Suite) open(t *testing.T) *fixture {
	t.Helper()
	if s.Peer == nil {
		return s.openAt(t, s.Connection)
	}
	peer := s.Peer(t)
	f := s.openAt(t, peer.Connection())
	f.peer = peer
	return f
}

func (s Suite) openAt(t *testing.T, connection string) *fixture {
	t.Helper()
	registry, err := bridges.NewRegistry(s.Factory)
	require.NoError(t, err)
	dir := t.TempDir()
	b, err := registry.Open(s.Factory.Info().Name+":"+connection, bridges.Env{OutDir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return &fixture{t: t, suite: s, bridge: b, dir: dir}
}

// connect opens, starts the peer and connects.
func (s Suite) connect(t *testing.T) *fixture {
	t.Helper()
	f := s.open(t)
	f.start()
	require.NoError(t, f.bridge.Connect(t.Context()))
	f.connected()
	return f
}

func (f *fixture) start() {
	f.t.Helper()
	if f.peer != nil {
		f.peer.Start(f.t)
	}
}

// connected waits for a peer; a file is Connected at once.
func (f *fixture) connected() {
	f.t.Helper()
	if f.peer == nil {
		require.Equal(f.t, bridges.Connected, f.bridge.Status())
	}
	Connected(f.t, f.bridge)
}

// Connected waits until a bridge is connected, as long as any test would, and ends the test
// if it isn't by then.
func Connected(t testing.TB, b *bridges.Bridge) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, b.Await(ctx))
}

// await waits until messages on a topic would arrive.
func (f *fixture) await(topic string) {
	f.t.Helper()
	f.connected()
	if f.peer != nil {
		require.Eventually(f.t, func() bool { return f.peer.Ready(topic) && f.bridge.Listening(topic) }, patience, tick, "the peer wants %s", topic)
	}
}

// received checks how many messages have arrived, and waits for those of a peer.
func (f *fixture) received(topic string, messages int) {
	f.t.Helper()
	if f.peer == nil {
		assert.Equal(f.t, messages, f.suite.Count(f.t, f.dir)[topic], topic)
		return
	}
	require.Eventually(f.t, func() bool { return f.peer.Received()[topic] >= messages }, patience, tick, "%d messages on %s", messages, topic)
	assert.Equal(f.t, messages, f.peer.Received()[topic], topic)
}

// sent checks how many messages the bridge counts as sent, and waits for a network's.
func (f *fixture) sent(topic string, messages int) {
	f.t.Helper()
	if f.peer == nil {
		assert.EqualValues(f.t, messages, topicStatistics(f.t, f.bridge, topic).Messages, topic)
		return
	}
	require.Eventually(f.t, func() bool { return topicStatistics(f.t, f.bridge, topic).Messages == int64(messages) }, patience, tick,
		"%d messages counted on %s", messages, topic)
}

// carried returns the streams that the bridge has converters for, found out with a
// bridge of their own, which never connects.
func (f *fixture) carried() []stream {
	f.t.Helper()
	list := carried(f.suite.openAt(f.t, f.suite.Connection).bridge)
	require.NotEmpty(f.t, list)
	return list
}
