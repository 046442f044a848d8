// Package bridgetest is the conformance suite of bridges. A bridge's tests call
// [Run] once:
//
//	func TestConformance(t *testing.T) {
//		bridgetest.Run(t, bridgetest.Suite{
//			Factory:        mine.Factory{},
//			Connection:     "out.mine",
//			BadConnections: []string{""},
//			Count:          countMessages,
//		})
//	}
//
// It checks what package bridges promises to those who use a bridge: states, errors, counts,
// and that messages are delivered and left as they were. A network bridge brings a [Peer],
// which is killed, stalled and made to send rubbish. That of a bridge that subscribes is a
// [Sender] too, which the subscriptions are tested with.
//
// # Programs of others
//
// Bridges are tested against software that nobody here wrote, or small programs that use
// it. A [Process] ends with its test:
//
//	p := bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/subscriber.py", "/points"))
//	p.Expect(t, "ready")           // waits for a line with this text
//	...
//	fmt.Println(p.Wait(t))         // the whole output, once it has ended with status 0
//
// Scripts print what they saw as lines, mostly of JSON, and flush each.
//
// # Samples
//
// [Filled] makes a sample of any type, for tests that send every type. [ApolloSamples] has
// one for each of Apollo's messages. [EveryMessage] has a ROS message of each type, which
// [FillMessage] fills. A [FullDisk] is a file for tests of recordings.
//
// # Pipelines
//
// [NewPipeline] has a camera, a lidar, an IMU, odometry, a GNSS receiver and transforms that
// make up what they publish. Package peers has servers that bridges connect to.
package bridgetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Suite says how to test one bridge.
type Suite struct {
	Factory bridges.Factory
	// Connection is a connection string that works; a file's name in it is
	// relative. A suite with a Peer has none.
	Connection string
	// BadConnections are connection strings that must be ErrConnectionString.
	BadConnections []string
	// Count returns how many messages of each topic arrived or lie below outDir after the
	// bridge was closed. It reads them with other means than the bridge's own. Topics without
	// messages may be left out. A suite with a Peer has none, and neither has one of a data set, whose
	// files don't tell single messages: the bridge's own counts are all that is looked at there.
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
	t.Run("TopicsComeAndGo", s.withdraws)
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
	first := f.publisher(known[0], "/shared")
	again := f.publisher(known[0], "/shared") // a topic may be added twice
	for _, other := range known[1:] {
		_, err := other.add(b, "/shared")
		assert.ErrorIs(t, err, bridges.ErrTopicType, other.name)
	}
	f.await("/shared")
	require.NoError(t, first(t.Context(), 0))
	require.NoError(t, again(t.Context(), 1))
	f.sent("/shared", 2)
	_, err := known[0].add(b, "")
	assert.ErrorIs(t, err, bridges.ErrTopicName)
	_, err = known[0].add(b, "/with space")
	assert.ErrorIs(t, err, bridges.ErrTopicName)
}

// withdraws takes topics back: nothing is left of them but what they sent, and their names are free.
func (s Suite) withdraws(t *testing.T) {
	const many = 300
	f := s.connect(t)
	b, known := f.bridge, f.carried()
	publish := f.publisher(known[0], "/passing")
	f.await("/passing")
	require.NoError(t, publish(t.Context(), 0))
	require.NoError(t, publish(t.Context(), 1))
	f.sent("/passing", 2)
	b.Withdraw("/passing")
	b.Withdraw("/passing") // changes nothing
	assert.ErrorIs(t, publish(t.Context(), 2), flow.ErrClosed)
	for i := range many {
		topic := fmt.Sprintf("/passing_%d", i)
		f.publisher(known[i%len(known)], topic)
		b.Withdraw(topic)
	}
	for _, e := range b.Endpoints() {
		assert.Empty(t, e.Topic)
	}
	sum := b.Statistics()
	assert.EqualValues(t, 2, sum.Messages)
	assert.EqualValues(t, 1, sum.Drops.Total(), "what came too late")
	if f.peer != nil {
		assert.Empty(t, sum.Topics)
	}
	for _, st := range known {
		f.publisher(st, "/passing") // where one of another type was
		b.Withdraw("/passing")
	}
	stays := f.publisher(known[0], "/stays")
	f.await("/stays")
	require.NoError(t, stays(t.Context(), 0))
	require.NoError(t, b.Close(t.Context()))
	f.received("/stays", 1)
	f.received("/passing", 2)
	assert.EqualValues(t, 3, b.Statistics().Messages)
}

func (s Suite) badConnections(t *testing.T) {
	require.NotEmpty(t, s.BadConnections)
	for _, connection := range s.BadConnections {
		b := s.openAt(t, connection).bridge
		refusal := b.Connect(t.Context())
		assert.ErrorIs(t, refusal, bridges.ErrConnectionString, "%q", connection)
		assert.EqualError(t, b.Check(), refusal.Error(), "Check and Connect agree on %q", connection)
		assert.ErrorIs(t, b.Await(t.Context()), bridges.ErrConnectionString, "nothing is awaited of %q", connection)
		assert.Contains(t, []flow.Status{flow.Disconnected, flow.UnexpectedlyDisconnected}, b.Status())
		assert.False(t, b.EverConnected())
	}
}

func (s Suite) statuses(t *testing.T) {
	f := s.open(t)
	b := f.bridge
	assert.NoError(t, b.Check())
	assert.Equal(t, flow.Disconnected, b.Status(), "Check connects nothing")
	assert.False(t, b.EverConnected())
	assert.ErrorIs(t, b.Await(t.Context()), flow.ErrNotConnected, "nobody has called Connect")
	require.NoError(t, b.Disconnect(t.Context()), "without a connection it does nothing")
	f.start()
	require.NoError(t, b.Connect(t.Context()))
	f.connected()
	assert.True(t, b.EverConnected())
	require.NoError(t, b.Connect(t.Context()), "connecting again reconnects")
	f.connected()
	assert.NoError(t, b.Check(), "while it is connected too")
	require.NoError(t, b.Disconnect(t.Context()))
	assert.Equal(t, flow.Disconnected, b.Status())
	assert.ErrorIs(t, b.Await(t.Context()), flow.ErrNotConnected)
	assert.True(t, b.EverConnected())
	assert.NoError(t, b.Err())
}

func (s Suite) publishesOnlyWhileConnected(t *testing.T) {
	f := s.open(t)
	b := f.bridge
	publish := f.publisher(f.carried()[0], "/topic")
	assert.ErrorIs(t, publish(t.Context(), 0), flow.ErrNotConnected)
	f.start()
	require.NoError(t, b.Connect(t.Context()))
	f.await("/topic")
	require.NoError(t, publish(t.Context(), 1))
	require.NoError(t, b.Disconnect(t.Context()))
	f.received("/topic", 1)
	assert.ErrorIs(t, publish(t.Context(), 2), flow.ErrNotConnected)
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
			publishers["/probe/"+st.name] = f.publisher(st, "/probe/"+st.name)
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
		assert.True(t, row.Bytes > 0 || s.Peer == nil && s.Count == nil, topic)
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
		f.publisher(st, topic)
		f.await(topic)
		unchanged, err := st.publishedUnchanged(f.bridge, topic)
		require.NoError(t, err, st.name)
		assert.True(t, unchanged, "%s was changed (law S4)", st.name)
	}
}

func (s Suite) cancelled(t *testing.T) {
	f := s.connect(t)
	publish := f.publisher(f.carried()[0], "/topic")
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
			publish := f.publisher(st, topic)
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
	publish := f.publisher(f.carried()[0], "/topic")
	f.await("/topic")
	require.NoError(t, publish(t.Context(), 0))
	require.NoError(t, b.Close(t.Context()))
	require.NoError(t, b.Close(t.Context()))
	assert.Equal(t, flow.Disconnected, b.Status())
	assert.ErrorIs(t, b.Await(t.Context()), flow.ErrClosed)
	f.received("/topic", 1)
	assert.ErrorIs(t, publish(t.Context(), 1), flow.ErrClosed)
	assert.ErrorIs(t, b.Connect(t.Context()), flow.ErrClosed)
	assert.Equal(t, flow.Drops{flow.CauseClosed: 1}, topicStatistics(t, b, "/topic").Drops)
}

func (s Suite) independent(t *testing.T) {
	first, second := s.connect(t), s.connect(t)
	st := first.carried()[0]
	toFirst, toSecond := first.publisher(st, "/topic"), second.publisher(st, "/topic")
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
	publish := f.publisher(f.carried()[0], "/topic")
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
	assert.Equal(t, flow.Connected, f.bridge.Status())
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
	return rowOf(t, b.Statistics().Topics, topic)
}

func rowOf(t *testing.T, rows []bridges.TopicStatistics, topic string) bridges.TopicStatistics {
	t.Helper()
	i := slices.IndexFunc(rows, func(row bridges.TopicStatistics) bool { return row.Topic == topic })
	require.GreaterOrEqual(t, i, 0, "statistics of %s", topic)
	return rows[i]
}

// Peer is the other side of a network bridge in the conformance suite. It is the server that
// the bridge dials, or a client of the server that the bridge is. It counts what arrives by
// means of its own, never by the bridge's code. The suite uses it from one goroutine; what it
// counts it may count on others.
type Peer interface {
	// Connection is the connection string that leads the bridge to the peer, or makes it listen
	// where the peer comes to. What waits for the peer is bounded by 4096 messages and 8 MiB,
	// and the bridge tries again after 50 ms. A bridge with these options has
	// "messages=4096&bytes=8388608&retry=50ms". It is the same for the peer's life.
	Connection() string
	// Start lets the peer run, or run again after Kill, at the same address. It wants
	// every topic, now and as they come, doesn't wait for the bridge, and comes again
	// when the bridge ended the connection.
	Start(t *testing.T)
	// Kill ends the peer without a goodbye.
	Kill(t *testing.T)
	// Stall lets the peer read nothing more until Resume, with its connection open.
	Stall(t *testing.T)
	Resume(t *testing.T)
	// Rubbish sends the bridge what isn't of the protocol.
	Rubbish(t *testing.T)
	// Ready reports whether the peer would be sent messages on a topic now.
	Ready(topic string) bool
	// Received returns how many messages of each topic have arrived since the peer was
	// made.
	Received() map[string]int
}

// Gate is Stall and Resume of a Peer, which embeds it and passes it before it reads. The zero Gate is open.
type Gate struct {
	mu   sync.Mutex
	shut chan struct{} // guarded by mu: not nil while shut, closed by Resume
}

// Stall lets nobody pass until Resume.
func (g *Gate) Stall(*testing.T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

// Resume lets everybody pass.
func (g *Gate) Resume(*testing.T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// Pass waits until the gate is open. The error is ctx's.
func (g *Gate) Pass(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return nil
	}
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sender is the Peer of a bridge that subscribes. It sends messages of the type that the
// protocol has for *sample.VehicleControl, encoded by means of its own.
type Sender interface {
	Peer
	// Subscriptions returns how often the bridge that is connected now has subscribed to a
	// topic, 0 while there is none. A client of a server isn't told: it returns 1 while
	// it is connected and could send.
	Subscriptions(topic string) int
	// Send sends one message whose Acceleration is a fraction of 1 that a float32 has
	// exactly. Without a subscription the message is lost.
	Send(t *testing.T, topic string, acceleration float64)
	// SendUnreadable sends one message on a topic whose content isn't of the topic's type,
	// or makes no sense, in the right frame.
	SendUnreadable(t *testing.T, topic string)
}

// EmptySender is a Sender whose protocol has messages without a byte, in the right frame.
// Where the type has fields, such a message can't be read either.
type EmptySender interface {
	Sender
	SendEmpty(t *testing.T, topic string)
}

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
		require.Equal(f.t, flow.Connected, f.bridge.Status())
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
		if f.suite.Count != nil {
			assert.Equal(f.t, messages, f.suite.Count(f.t, f.dir)[topic], topic)
		}
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

// publisher adds a topic of a stream that the bridge carries.
func (f *fixture) publisher(st stream, topic string) func(ctx context.Context, seq int) error {
	f.t.Helper()
	publish, err := st.add(f.bridge, topic)
	require.NoError(f.t, err, "a %s on %s", st.name, topic)
	return publish
}

// Period is the simulation time between two messages of one topic, nanoseconds.
const Period = 100_000_000

// stream publishes the samples of one type.
type stream struct {
	// name is the sample's type.
	name string
	// add makes a publisher, which is given the message's number from 0.
	add func(b *bridges.Bridge, topic string) (func(ctx context.Context, seq int) error, error)
	// publishedUnchanged publishes one message and reports whether it is the
	// same afterwards.
	publishedUnchanged func(b *bridges.Bridge, topic string) (bool, error)
}

// streamOf makes the stream of a type: each message is Filled, with a header of its own.
func streamOf[T simtime.Stamped]() stream {
	t := reflect.TypeFor[T]()
	make := func(seq int) T {
		msg := Filled(t)
		switch m := msg.(type) {
		case interface{ SampleHeader() *sample.Header }:
			*m.SampleHeader() = header(seq)
		case *sample.Clock:
			m.Stamp = header(seq).Stamp
		case *sample.Transforms:
			m.Stamp = header(seq).Stamp
		}
		return msg.(T)
	}
	return stream{
		name: t.Elem().Name(),
		add: func(b *bridges.Bridge, topic string) (func(context.Context, int) error, error) {
			publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic, Sensor: "probe", QoS: flow.SensorDataQoS})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, seq int) error { return publish(ctx, make(seq)) }, nil
		},
		publishedUnchanged: func(b *bridges.Bridge, topic string) (bool, error) {
			publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic})
			if err != nil {
				return false, err
			}
			msg := make(3)
			err = publish(context.Background(), msg)
			return assert.ObjectsAreEqual(make(3), msg), err
		},
	}
}

// streams has one stream for each type of package sample.
var streams = []stream{
	streamOf[*sample.Clock](), streamOf[*sample.Image](), streamOf[*sample.CompressedImage](), streamOf[*sample.CameraInfo](),
	streamOf[*sample.PointCloud](), streamOf[*sample.Imu](), streamOf[*sample.GnssFix](), streamOf[*sample.Odometry](),
	streamOf[*sample.Transforms](), streamOf[*sample.LaserScan](), streamOf[*sample.Range](), streamOf[*sample.Radar](),
	streamOf[*sample.RadarObjects](), streamOf[*sample.DvsEvents](), streamOf[*sample.Speed](), streamOf[*sample.CanBus](),
	streamOf[*sample.VehicleOdometry](), streamOf[*sample.GpsOdometry](), streamOf[*sample.InsStatus](),
	streamOf[*sample.Detections2D](), streamOf[*sample.Detections3D](), streamOf[*sample.Signals](), streamOf[*sample.Collision](),
	streamOf[*sample.Obstacle](), streamOf[*sample.LaneInvasion](), streamOf[*sample.LaneMarks](), streamOf[*sample.LaneLines](),
	streamOf[*sample.Snapshot](),
}

func header(seq int) sample.Header {
	return sample.Header{Stamp: simtime.Stamp(int64(seq) * Period), Seq: uint64(seq), FrameID: "probe", Pose: spatial.Identity()}
}

// Image returns the seq-th picture of a series: 4 x 2, rgb8.
func Image(seq int) *sample.Image {
	m := &sample.Image{Header: header(seq), Width: 4, Height: 2, Step: 12, Encoding: sample.EncodingRGB8}
	for i := range m.Step * m.Height {
		m.Data = append(m.Data, byte(i+seq))
	}
	return m
}

// PointCloud returns the seq-th scan of a series: 64 returns of 4 rings.
func PointCloud(seq int) *sample.PointCloud {
	m := &sample.PointCloud{Header: header(seq), Rings: 4, Columns: 16}
	for i := range 64 {
		m.Points = append(m.Points, sample.Point{
			X: float32(i), Y: float32(seq), Z: 1, Intensity: float32(i), Distance: float32(i),
			Ring: uint16(i % 4), TimeNs: uint32(i) * 1000, Ray: uint32(i),
		})
	}
	return m
}

// Dual returns a cloud of one return a firing with a second one, 10 m farther and of less intensity, behind each other point. The
// others are the only ones of their firings.
func Dual(m *sample.PointCloud) *sample.PointCloud {
	dual := *m
	dual.Points, dual.Returns = nil, sample.DualReturns
	for i, p := range m.Points {
		weak := p
		weak.Distance, weak.X, weak.Intensity, weak.Return = p.Distance+10, p.X+10, p.Intensity/2, sample.ReturnWeakLast
		hit, second := p.X == p.X, i%2 == 1
		switch {
		case !hit || !second:
			weak.X, weak.Distance, weak.Return = float32(math.NaN()), float32(math.Inf(1)), sample.ReturnUnknown
			if hit {
				p.Return = sample.ReturnOnly
			}
		default:
			p.Return = sample.ReturnStrongestFirst
		}
		dual.Points = append(dual.Points, p)
		if m.Organized || weak.X == weak.X {
			dual.Points = append(dual.Points, weak)
		}
	}
	return &dual
}

// carried returns the streams that the bridge has converters for.
func carried(b *bridges.Bridge) []stream {
	var list []stream
	for _, s := range streams {
		if _, err := s.add(b, "/carried/"+s.name); !errors.Is(err, bridges.ErrNoConverter) {
			list = append(list, s)
		}
	}
	return list
}

// Limit is the limit of messages, bytes, of the bridge that TooLarge tests.
const Limit = 64 << 10

// TooLarge checks what becomes of messages above a protocol's limit. The suite's bridge is one
// whose limit is Limit, in place of the gigabytes that the protocol allows. Such a message is
// flow.ErrTooLarge and costs no memory, and its topic counts it as too_large. Messages before
// and after it are delivered, on its topic and on others.
func TooLarge(t *testing.T, s Suite) {
	t.Helper()
	f := s.connect(t)
	large, other := f.sizes("/large"), f.sizes("/other")
	f.await("/large")
	f.await("/other")
	require.NoError(t, large(Limit-1<<10))
	const size = 32 << 20
	before := Allocated()
	err := large(size)
	assert.Less(t, Allocated()-before, uint64(size/8), "bytes that were allocated for it")
	require.ErrorIs(t, err, flow.ErrTooLarge)
	assert.ErrorContains(t, err, "the most are 65536")
	assert.ErrorIs(t, large(Limit), flow.ErrTooLarge, "with its header it is above")
	require.NoError(t, large(Limit-1<<10))
	require.NoError(t, other(100))
	f.received("/large", 2)
	f.received("/other", 1)
	assert.Equal(t, flow.Drops{flow.CauseTooLarge: 2}, topicStatistics(t, f.bridge, "/large").Drops)
	assert.Empty(t, topicStatistics(t, f.bridge, "/other").Drops)
}

// sizes returns a function that publishes images of so many bytes.
func (f *fixture) sizes(topic string) func(size int) error {
	f.t.Helper()
	publish, err := bridges.AddPublisher[*sample.Image](f.bridge, bridges.Topic{Name: topic})
	require.NoError(f.t, err)
	return func(size int) error {
		return publish(f.t.Context(), &sample.Image{Header: header(1), Width: size, Height: 1, Step: size, Encoding: sample.EncodingMono8, Data: pixels[:size]})
	}
}

// pixels are all images' content.
var pixels = make([]byte, 32<<20)

// Allocated returns how many bytes this process has allocated so far.
func Allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// Await waits until done returns true, which it asks for every millisecond. It is for what a
// peer or a bridge tells nobody of, such as a subscription. It returns an error that wraps
// ctx.Err() if ctx ends before. Tests wait with require.Eventually; examples, and programs that
// try a bridge out, with this.
func Await(ctx context.Context, done func() bool) error {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("await: %w", ctx.Err())
		case <-again.C:
		}
	}
	return nil
}
