package bridgetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// Suite says how to test one bridge.
type Suite struct {
	Factory bridges.Factory
	// Connection is a connection string that works; a file's name in it is
	// relative. A suite with a Peer has none.
	Connection string
	// BadConnections are connection strings that must be ErrConnectionString.
	BadConnections []string
	// Count returns how many messages of each topic arrived or lie below outDir
	// after the bridge was closed, read with other means than the bridge's own.
	// Topics without messages may be left out. A suite with a Peer has none.
	Count func(t *testing.T, outDir string) map[string]int
	// Peer makes the other side of a network bridge, not yet started, which the test
	// ends at its end. It is a Sender if the bridge subscribes to any type.
	Peer func(t *testing.T) Peer
}

// Run runs the whole suite. A requirement that a bridge can't meet has no
// switch here: the contract is the same for all.
func Run(t *testing.T, s Suite) {
	t.Run("Info", s.info)
	t.Run("RegisteringTwiceChangesNothing", s.registeringTwice)
	t.Run("UnknownTypeIsNoConverter", s.unknownType)
	t.Run("OneTypePerTopic", s.oneTypePerTopic)
	t.Run("BadConnections", s.badConnections)
	t.Run("StatusFollowsTheConnection", s.statuses)
	t.Run("PublishesOnlyWhileConnected", s.publishesOnlyWhileConnected)
	t.Run("DeliversEveryTypeAndCountsIt", s.delivers)
	t.Run("SamplesStayAsTheyWere", s.samplesStay)
	t.Run("CancelledPublish", s.cancelled)
	t.Run("ConcurrentPublishers", s.concurrent)
	t.Run("CloseTwice", s.closeTwice)
	t.Run("InstancesAreIndependent", s.independent)
	t.Run("PauseKeepsTheConnection", s.pause)
	if s.Peer == nil {
		return
	}
	t.Run("ConnectDoesNotWaitForThePeer", s.peerComesLate)
	t.Run("ReconnectReplaysRegistrations", s.reconnects)
	t.Run("StalledPeerStopsNobody", s.stalls)
	t.Run("DisconnectDoesNotWaitForThePeer", s.disconnects)
	t.Run("RubbishIsSurvived", s.rubbish)
	if !s.subscribes(t) {
		return
	}
	t.Run("EverySubscriberReceivesOnce", s.receives)
	t.Run("ReconnectReplaysSubscriptions", s.resubscribes)
	t.Run("UnreadableMessagesAreCounted", s.unreadable)
	t.Run("DisconnectEndsCallbacks", s.silence)
}

func (s Suite) info(t *testing.T) {
	info := s.Factory.Info()
	assert.NotEmpty(t, info.Type)
	assert.NotEmpty(t, info.Summary)
	assert.NotEmpty(t, info.Connection)
	registry, err := bridges.NewRegistry(s.Factory)
	require.NoError(t, err, "the name is valid and the types register")
	plugin, err := registry.Plugin(info.Name)
	require.NoError(t, err)
	require.NotEmpty(t, plugin.Types())
	for _, typ := range plugin.Types() {
		assert.NotEmpty(t, typ.Wire, typ.Go)
		assert.True(t, typ.Publishes || typ.Subscribes, "%s goes in no direction", typ.Go)
	}
	_, err = bridges.NewRegistry(s.Factory, s.Factory)
	assert.ErrorIs(t, err, bridges.ErrDuplicate)
}

func (s Suite) registeringTwice(t *testing.T) {
	registry, err := bridges.NewRegistry(s.Factory)
	require.NoError(t, err)
	plugin, err := registry.Plugin(s.Factory.Info().Name)
	require.NoError(t, err)
	before := plugin.Types()
	assert.ErrorIs(t, s.Factory.Register(plugin), bridges.ErrDuplicate)
	assert.Equal(t, before, plugin.Types())
}

func (s Suite) unknownType(t *testing.T) {
	type unknown struct{}
	b := s.open(t).bridge
	_, err := bridges.AddPublisher[*unknown](b, bridges.Topic{Name: "/unknown"})
	assert.ErrorIs(t, err, bridges.ErrNoConverter)
	err = bridges.AddSubscriber(b, bridges.Topic{Name: "/unknown"}, func(*unknown) {})
	assert.ErrorIs(t, err, bridges.ErrNoConverter)
	assert.Empty(t, b.Statistics().Topics)
}

func (s Suite) oneTypePerTopic(t *testing.T) {
	f := s.connect(t)
	b, known := f.bridge, f.carried()
	require.NotEmpty(t, known)
	first, err := known[0].add(b, "/shared")
	require.NoError(t, err)
	again, err := known[0].add(b, "/shared")
	require.NoError(t, err, "a topic may be added twice")
	for _, other := range known[1:] {
		_, err := other.add(b, "/shared")
		assert.ErrorIs(t, err, bridges.ErrTopicType, other.name)
	}
	f.await("/shared")
	require.NoError(t, first(t.Context(), 0))
	require.NoError(t, again(t.Context(), 1))
	f.sent("/shared", 2)
	_, err = known[0].add(b, "")
	assert.ErrorIs(t, err, bridges.ErrTopicName)
	_, err = known[0].add(b, "/with space")
	assert.ErrorIs(t, err, bridges.ErrTopicName)
}

func (s Suite) badConnections(t *testing.T) {
	require.NotEmpty(t, s.BadConnections)
	for _, connection := range s.BadConnections {
		b := s.openAt(t, connection).bridge
		refusal := b.Connect(t.Context())
		assert.ErrorIs(t, refusal, bridges.ErrConnectionString, "%q", connection)
		assert.EqualError(t, b.Check(), refusal.Error(), "Check and Connect agree on %q", connection)
		assert.ErrorIs(t, b.Await(t.Context()), bridges.ErrConnectionString, "nothing is awaited of %q", connection)
		assert.Contains(t, []bridges.Status{bridges.Disconnected, bridges.UnexpectedlyDisconnected}, b.Status())
		assert.False(t, b.EverConnected())
	}
}

func (s Suite) statuses(t *testing.T) {
	f := s.open(t)
	b := f.bridge
	assert.NoError(t, b.Check())
	assert.Equal(t, bridges.Disconnected, b.Status(), "Check connects nothing")
	assert.False(t, b.EverConnected())
	assert.ErrorIs(t, b.Await(t.Context()), bridges.ErrNotConnected, "nobody has called Connect")
	require.NoError(t, b.Disconnect(t.Context()), "without a connection it does nothing")
	f.start()
	require.NoError(t, b.Connect(t.Context()))
	f.connected()
	assert.True(t, b.EverConnected())
	require.NoError(t, b.Connect(t.Context()), "connecting again reconnects")
	f.connected()
	assert.NoError(t, b.Check(), "while it is connected too")
	require.NoError(t, b.Disconnect(t.Context()))
	assert.Equal(t, bridges.Disconnected, b.Status())
	assert.ErrorIs(t, b.Await(t.Context()), bridges.ErrNotConnected)
	assert.True(t, b.EverConnected())
	assert.NoError(t, b.Err())
}

func (s Suite) publishesOnlyWhileConnected(t *testing.T) {
	f := s.open(t)
	b := f.bridge
	publish, err := f.carried()[0].add(b, "/topic")
	require.NoError(t, err)
	assert.ErrorIs(t, publish(t.Context(), 0), bridges.ErrNotConnected)
	f.start()
	require.NoError(t, b.Connect(t.Context()))
	f.await("/topic")
	require.NoError(t, publish(t.Context(), 1))
	require.NoError(t, b.Disconnect(t.Context()))
	f.received("/topic", 1)
	assert.ErrorIs(t, publish(t.Context(), 2), bridges.ErrNotConnected)
	require.NoError(t, b.Connect(t.Context()), "publishers outlive a connection")
	f.await("/topic")
	require.NoError(t, publish(t.Context(), 3))
	f.sent("/topic", 2)
	row := topicStatistics(t, b, "/topic")
	assert.Equal(t, flow.Drops{flow.CauseNotConnected: 2}, row.Drops)
}

func (s Suite) delivers(t *testing.T) {
	const messages = 12
	f := s.open(t)
	b, known := f.bridge, f.carried()
	publishers := map[string]func(context.Context, int) error{}
	add := func(list []stream) {
		for _, st := range list {
			publish, err := st.add(b, "/probe/"+st.name)
			require.NoError(t, err, st.name)
			publishers["/probe/"+st.name] = publish
		}
	}
	add(known[:len(known)/2])
	f.start()
	require.NoError(t, b.Connect(t.Context()))
	add(known[len(known)/2:])
	for topic := range publishers {
		f.await(topic)
	}
	for seq := range messages {
		for topic, publish := range publishers {
			require.NoError(t, publish(t.Context(), seq), topic)
		}
	}
	require.NoError(t, b.Close(t.Context()))
	var bytes int64
	for topic := range publishers {
		f.received(topic, messages)
		row := topicStatistics(t, b, topic)
		assert.EqualValues(t, messages, row.Messages, topic)
		assert.Positive(t, row.Bytes, topic)
		assert.Empty(t, row.Drops, topic)
		bytes += row.Bytes
	}
	sum := b.Statistics()
	assert.EqualValues(t, messages*len(publishers), sum.Messages)
	assert.Equal(t, bytes, sum.Bytes)
	assert.Zero(t, sum.Drops.Total())
}

func (s Suite) samplesStay(t *testing.T) {
	f := s.connect(t)
	for _, st := range f.carried() {
		topic := "/stay/" + st.name
		_, err := st.add(f.bridge, topic)
		require.NoError(t, err, st.name)
		f.await(topic)
		unchanged, err := st.publishedUnchanged(f.bridge, topic)
		require.NoError(t, err, st.name)
		assert.True(t, unchanged, "%s was changed (law S4)", st.name)
	}
}

func (s Suite) cancelled(t *testing.T) {
	f := s.connect(t)
	publish, err := f.carried()[0].add(f.bridge, "/topic")
	require.NoError(t, err)
	f.await("/topic")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, publish(ctx, 0), context.Canceled)
	require.NoError(t, f.bridge.Close(t.Context()))
	f.received("/topic", 0)
	assert.Equal(t, flow.Drops{flow.CauseClosed: 1}, topicStatistics(t, f.bridge, "/topic").Drops)
}

func (s Suite) concurrent(t *testing.T) {
	const messages = 25
	f := s.connect(t)
	b, known := f.bridge, f.carried()
	var wg sync.WaitGroup
	for _, st := range known {
		topic := "/many/" + st.name
		for range 2 { // two publishers of each topic
			publish, err := st.add(b, topic)
			require.NoError(t, err)
			f.await(topic)
			wg.Go(func() {
				for seq := range messages {
					assert.NoError(t, publish(t.Context(), seq))
					b.Statistics()
				}
			})
		}
	}
	wg.Wait()
	require.NoError(t, b.Close(t.Context()))
	for _, st := range known {
		f.received("/many/"+st.name, 2*messages)
	}
}

func (s Suite) closeTwice(t *testing.T) {
	f := s.connect(t)
	b := f.bridge
	publish, err := f.carried()[0].add(b, "/topic")
	require.NoError(t, err)
	f.await("/topic")
	require.NoError(t, publish(t.Context(), 0))
	require.NoError(t, b.Close(t.Context()))
	require.NoError(t, b.Close(t.Context()))
	assert.Equal(t, bridges.Disconnected, b.Status())
	assert.ErrorIs(t, b.Await(t.Context()), bridges.ErrClosed)
	f.received("/topic", 1)
	assert.ErrorIs(t, publish(t.Context(), 1), bridges.ErrClosed)
	assert.ErrorIs(t, b.Connect(t.Context()), bridges.ErrClosed)
	assert.Equal(t, flow.Drops{flow.CauseClosed: 1}, topicStatistics(t, b, "/topic").Drops)
}

func (s Suite) independent(t *testing.T) {
	first, second := s.connect(t), s.connect(t)
	st := first.carried()[0]
	toFirst, err := st.add(first.bridge, "/topic")
	require.NoError(t, err)
	toSecond, err := st.add(second.bridge, "/topic")
	require.NoError(t, err)
	first.await("/topic")
	second.await("/topic")
	require.NoError(t, toFirst(t.Context(), 0))
	require.NoError(t, first.bridge.Close(t.Context()))
	require.NoError(t, toSecond(t.Context(), 0))
	require.NoError(t, toSecond(t.Context(), 1))
	require.NoError(t, second.bridge.Close(t.Context()))
	first.received("/topic", 1)
	second.received("/topic", 2)
}

// pause leaves a topic silent until its rate has fallen to zero, and one that is subscribed
// to at the same time.
func (s Suite) pause(t *testing.T) {
	f := s.connect(t)
	publish, err := f.carried()[0].add(f.bridge, "/topic")
	require.NoError(t, err)
	f.await("/topic")
	var in *inbox
	if s.Peer != nil && s.subscribes(t) {
		in = f.inbox("/in")
		f.subscribed(in)
		f.send([]int{1}, "/in")
		require.Eventually(t, func() bool { return f.bridge.Statistics().Received[0].RateHz > 0 }, patience, tick, "what arrives has a rate")
	}
	require.NoError(t, publish(t.Context(), 0))
	f.sent("/topic", 1)
	assert.Positive(t, topicStatistics(t, f.bridge, "/topic").RateHz)
	require.Eventually(t, func() bool {
		rows := f.bridge.Statistics()
		return !slices.ContainsFunc(append(rows.Topics, rows.Received...), func(row bridges.TopicStatistics) bool { return row.RateHz != 0 })
	}, patience, tick, "the rate of a silent topic falls to 0")
	assert.Equal(t, bridges.Connected, f.bridge.Status())
	if in != nil {
		f.send([]int{2}, "/in")
		in.holds(1, 2)
		in.counted()
	}
	require.NoError(t, publish(t.Context(), 1))
	require.NoError(t, f.bridge.Close(t.Context()))
	f.received("/topic", 2)
}

func topicStatistics(t *testing.T, b *bridges.Bridge, topic string) bridges.TopicStatistics {
	t.Helper()
	for _, row := range b.Statistics().Topics {
		if row.Topic == topic {
			return row
		}
	}
	require.Fail(t, "no statistics", "topic %s", topic)
	return bridges.TopicStatistics{}
}
