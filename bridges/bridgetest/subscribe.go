package bridgetest

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

const (
	// numbers is what a message's Acceleration is multiplied with to give its number: every
	// protocol carries such fractions exactly.
	numbers = 1024
	// burst is how many messages the suite sends without waiting.
	burst = 200
)

// burstQoS lets each message of a burst be kept until it is read.
var burstQoS = flow.QoS{Reliability: flow.Reliable, History: flow.KeepLast, Depth: 2 * burst}

// subscribes reports whether a bridge takes the messages that the suite sends. One that
// subscribes to anything has to.
func (s Suite) subscribes(t *testing.T) bool {
	t.Helper()
	registry, err := bridges.NewRegistry(s.Factory)
	require.NoError(t, err)
	plugin, err := registry.Plugin(s.Factory.Info().Name)
	require.NoError(t, err)
	takes := func(name string) func(bridges.TypeInfo) bool {
		return func(i bridges.TypeInfo) bool { return i.Subscribes && (name == "" || i.Go == name) }
	}
	if !slices.ContainsFunc(plugin.Types(), takes("")) {
		return false
	}
	require.True(t, slices.ContainsFunc(plugin.Types(), takes("*sample.VehicleControl")), "it subscribes to the type that the suite sends")
	return true
}

// inbox is a subscriber that keeps the numbers of what it is given.
type inbox struct {
	f     *fixture
	topic string

	mu     sync.Mutex
	got    []int // guarded by mu: all but greetings
	greets int   // guarded by mu: how many messages with number 0 have come
}

func (f *fixture) inbox(topic string) *inbox {
	f.t.Helper()
	in := &inbox{f: f, topic: topic}
	require.NoError(f.t, bridges.AddSubscriber(f.bridge, bridges.Topic{Name: topic, QoS: burstQoS}, func(c *sample.VehicleControl) {
		in.mu.Lock()
		defer in.mu.Unlock()
		if n := int(math.Round(c.Acceleration * numbers)); n > 0 {
			in.got = append(in.got, n)
		} else {
			in.greets++
		}
	}))
	return in
}

func (in *inbox) numbers() []int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.got)
}

func (in *inbox) greetings() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.greets
}

// holds waits for the last of the wanted messages and checks that all came, each once and
// in their order. One that came twice would have come before it.
func (in *inbox) holds(want ...int) {
	in.f.t.Helper()
	require.Eventually(in.f.t, func() bool { return slices.Contains(in.numbers(), want[len(want)-1]) }, patience, tick,
		"message %d on %s", want[len(want)-1], in.topic)
	assert.Equal(in.f.t, want, in.numbers(), in.topic)
}

// counted checks that the bridge counts what the first subscriber of a topic was given.
func (in *inbox) counted() {
	in.f.t.Helper()
	row := rowOf(in.f.t, in.f.bridge.Statistics().Received, in.topic)
	assert.NotEmpty(in.f.t, row.Type, in.topic)
	assert.EqualValues(in.f.t, len(in.numbers())+in.greetings(), row.Messages, in.topic)
}

func (f *fixture) sender() Sender {
	f.t.Helper()
	sender, ok := f.peer.(Sender)
	require.True(f.t, ok, "the peer of a bridge that subscribes is a Sender")
	return sender
}

// subscribed waits until messages arrive. A peer knows of a subscription, but in DDS the bridge
// may not yet know of the peer. So message 0 is sent until it arrives.
func (f *fixture) subscribed(inboxes ...*inbox) {
	f.t.Helper()
	sender := f.sender()
	for _, in := range inboxes {
		require.Eventually(f.t, func() bool { return sender.Subscriptions(in.topic) > 0 }, patience, tick, "the bridge subscribes to %s", in.topic)
		before := in.greetings()
		require.Eventually(f.t, func() bool {
			f.send([]int{0}, in.topic)
			return in.greetings() > before
		}, patience, tick, "messages arrive on %s", in.topic)
	}
	f.connected()
}

// send sends messages with these numbers to each topic.
func (f *fixture) send(messages []int, topics ...string) {
	f.t.Helper()
	for _, n := range messages {
		for _, topic := range topics {
			f.sender().Send(f.t, topic, float64(n)/numbers)
		}
	}
}

// once checks that the bridge has subscribed to topics once, however many subscribers
// they have. A peer may take its time to forget a connection that was ended.
func (f *fixture) once(topics ...string) {
	f.t.Helper()
	for _, topic := range topics {
		assert.Eventually(f.t, func() bool { return f.sender().Subscriptions(topic) == 1 }, patience, tick, "one subscription to %s", topic)
	}
}

// upTo returns 1 ... n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// receives checks that each subscriber is given each message once, those that were added
// while the bridge was connected too.
func (s Suite) receives(t *testing.T) {
	f := s.open(t)
	first, second := f.inbox("/early"), f.inbox("/early")
	f.start()
	require.NoError(t, f.bridge.Connect(t.Context()))
	f.subscribed(first)
	third, late := f.inbox("/early"), f.inbox("/late")
	f.subscribed(late)
	f.send(upTo(burst), "/early", "/late")
	for _, in := range []*inbox{first, second, third, late} {
		in.holds(upTo(burst)...)
	}
	f.once("/early", "/late")
	first.counted()
	late.counted()
	assert.Len(t, f.bridge.Statistics().Received, 2, "a row for each topic")
	assert.Zero(t, f.bridge.Diagnosis().Malformed)
}

// resubscribes checks that a peer that comes again is told all subscriptions again, once.
func (s Suite) resubscribes(t *testing.T) {
	f := s.connect(t)
	before, beside := f.inbox("/before"), f.inbox("/before")
	f.subscribed(before)
	f.send([]int{1}, "/before")
	before.holds(1)
	f.peer.Kill(t)
	while := f.inbox("/while")
	f.peer.Start(t)
	f.subscribed(before, while)
	f.send([]int{2, 3}, "/before", "/while")
	before.holds(1, 2, 3)
	while.holds(2, 3)
	f.once("/before", "/while")
	beside.holds(1, 2, 3)
	before.counted()
	while.counted()
}

// unreadable checks that a message that can't be read is counted and costs no other.
func (s Suite) unreadable(t *testing.T) {
	f := s.connect(t)
	in, other := f.inbox("/in"), f.inbox("/other")
	f.subscribed(in, other)
	before := f.bridge.Diagnosis()
	f.send([]int{1}, "/in", "/other")
	f.sender().SendUnreadable(t, "/in")
	unreadable := int64(1)
	if empty, ok := f.peer.(EmptySender); ok {
		empty.SendEmpty(t, "/in")
		unreadable++
	}
	f.send([]int{2, 3}, "/in", "/other")
	in.holds(1, 2, 3)
	other.holds(1, 2, 3)
	after := f.bridge.Diagnosis()
	assert.Equal(t, unreadable, after.Malformed-before.Malformed, "messages that couldn't be read")
	assert.ErrorContains(t, after.LastError, "/in", "it says which topic")
	assert.Equal(t, before.Connections, after.Connections, "the connection stays")
	in.counted()
}

// late returns what came behind the messages of before, up to the one that ends a test. A slow peer
// writes the last ones of both bursts when the bridge is there again.
func (in *inbox) late(before []int) []int {
	in.f.t.Helper()
	require.Eventually(in.f.t, func() bool { return slices.Contains(in.numbers(), numbers) }, patience, tick, "message %d on %s", numbers, in.topic)
	came := in.numbers()[len(before):]
	came = came[:slices.Index(came, numbers)]
	all := upTo(2 * burst)
	assert.Equal(in.f.t, all[len(all)-len(came):], append([]int{}, came...), "what a slow peer sent late, in its order")
	return came
}

// silence checks that no callback comes after Disconnect, though messages were on their way and
// more are sent. It checks that one who connects again is subscribed again, once.
func (s Suite) silence(t *testing.T) {
	f := s.connect(t)
	in := f.inbox("/in")
	f.subscribed(in)
	f.send(upTo(burst), "/in")
	require.NoError(t, f.bridge.Disconnect(t.Context()))
	before := in.numbers()
	f.send(upTo(2 * burst)[burst:], "/in")
	assert.Equal(t, upTo(len(before)), append([]int{}, before...), "what came first, each once")
	assert.Equal(t, before, in.numbers(), "nothing comes while it is disconnected")
	require.NoError(t, f.bridge.Connect(t.Context()))
	f.subscribed(in)
	f.send([]int{numbers}, "/in")
	in.holds(append(before, append(in.late(before), numbers)...)...)
	f.once("/in")
	in.counted()
}
