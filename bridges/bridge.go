package bridges

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Topic names a stream of messages of one type.
type Topic struct {
	// Name is the topic's full name, such as "/points".
	Name string
	// Sensor names the sensor that publishes, for protocols that carry it; it
	// may be empty.
	Sensor string
	// SensorType is the id of that sensor's type, SensorNumber its number in wire formats, and
	// Output the output's place in the type's definition. All are zero for a topic that isn't a
	// sensor's.
	SensorType   string
	SensorNumber uint16
	Output       int
	// Source is the sensor that publishes, for formats that need more of it than its messages tell; nil for a topic that isn't a
	// sensor's, or of a sensor that is made up.
	Source *Source
	// QoS is what a publisher offers or a subscriber asks for.
	QoS flow.QoS
	// Policy is what the full queue of a network connection does with the topic's
	// messages: by default the oldest is dropped. Files don't look at it.
	Policy flow.Policy
}

// Source is the sensor that publishes a topic, as it is in the rig. It doesn't change.
type Source struct {
	// Mount is the pose of the sensor's body frame in the frame of its owner, and Owner the owner's id, 0 for the ego.
	Mount spatial.Pose
	Owner uint32
	// Rate is how often it fires; zero for one that fires each frame.
	Rate simtime.Rate
	// Wanted says that it was added because a bridge wants it (Want): only the bridges that want its type carry the topic.
	Wanted bool
	// Beside is the name of the sensor that it was added beside (Want.Beside), and "" for all others.
	Beside string
	// Attribute returns an attribute's value, or its default, and false where the type has none of that name. Any goroutine may
	// call it.
	Attribute func(name string) (value any, ok bool)
}

// PublishedTopic is a topic as a bridge's publisher creator is given it.
type PublishedTopic struct {
	Topic
	// Wire is the message type's name in the bridge's protocol.
	Wire string

	goType    reflect.Type
	publisher any // the wrapped Publisher[T]
	renamed   atomic.Pointer[string]

	withdrawn atomic.Bool
	addition  uint64 // which one of the bridge's it is

	// Tally has the topic's statistics. The bridge calls Sent once for each message that it
	// has written or sent, and Dropped for one that it took and dropped before that. Errors
	// that a publisher returns are counted by themselves.
	flow.Tally
}

// GoType is the type of the messages.
func (t *PublishedTopic) GoType() reflect.Type { return t.goType }

// SetWire changes the message type's name in statistics, for a bridge whose connection
// string chooses between several messages of one type. Any goroutine may call it.
func (t *PublishedTopic) SetWire(wire string) { t.renamed.Store(&wire) }

// wire returns the message type's name as it is now.
func (t *PublishedTopic) wire() string {
	if name := t.renamed.Load(); name != nil {
		return *name
	}
	return t.Wire
}

// Bridge is an open bridge: an instance, its topics and their statistics. All
// its methods may be called from any goroutine.
type Bridge struct {
	plugin     *Plugin
	info       Info
	connection string
	instance   Instance

	everConnected atomic.Bool
	closed        atomic.Bool
	// connecting is held while the instance connects or disconnects: one comes after the
	// other.
	connecting sync.Mutex
	wanted     bool  // guarded by connecting: by a Connect that succeeded, until Disconnect
	refusal    error // guarded by connecting: of the last Connect
	closeOnce  sync.Once
	closeErr   error // written in closeOnce
	// lastEndpoints are those when Close was called, nil before.
	lastEndpoints atomic.Pointer[[]Endpoint]
	// lastStatus is that when Close was called, nil before.
	lastStatus atomic.Pointer[flow.Status]

	mu            sync.Mutex
	published     map[string]*PublishedTopic // guarded by mu
	order         []*PublishedTopic          // guarded by mu: the order of addition
	additions     uint64                     // guarded by mu: topics that were added
	former        former                     // guarded by mu: what was withdrawn
	subscriptions map[string]any             // guarded by mu: *subscription[T] by topic
	subscribed    []*subscribedTopic         // guarded by mu: in the order of addition
	services      map[string]bool            // guarded by mu: those that are offered
}

func newBridge(p *Plugin, connection string, env Env) (*Bridge, error) {
	env.Log = cmp.Or(env.Log, slog.New(slog.DiscardHandler))
	instance, err := p.factory.NewInstance(env)
	if err != nil {
		return nil, fmt.Errorf("open bridge %q: %w", p.info.Name, err)
	}
	info := p.info
	info.Kind = p.KindOf(connection)
	return &Bridge{
		plugin: p, info: info, connection: connection, instance: instance,
		published: map[string]*PublishedTopic{}, subscriptions: map[string]any{}, services: map[string]bool{},
	}, nil
}

// Info returns the description of the bridge's factory, with the kind that the bridge has by its connection string.
func (b *Bridge) Info() Info { return b.info }

// Types lists the message types that the bridge carries, as its plugin does.
func (b *Bridge) Types() []TypeInfo { return b.plugin.Types() }

// Connection returns the connection string that Connect passes on.
func (b *Bridge) Connection() string { return b.connection }

// Status returns the state of the connection.
func (b *Bridge) Status() flow.Status {
	s := b.instance.Status()
	if s == flow.Connected && !b.everConnected.Load() {
		b.everConnected.Store(true)
	}
	return s
}

// EverConnected reports whether the bridge was connected at some time since it was opened.
// Where it can tell (Reacher), that means with a peer that speaks its protocol.
func (b *Bridge) EverConnected() bool {
	if r, ok := b.instance.(Reacher); ok {
		return r.Reached()
	}
	b.Status()
	return b.everConnected.Load() || b.Diagnosis().Connections > 0
}

// StatusAtEnd returns the state of the connection when Close was called, which tells
// whether the peer was there to the end; before, the state now.
func (b *Bridge) StatusAtEnd() flow.Status {
	if s := b.lastStatus.Load(); s != nil {
		return *s
	}
	return b.Status()
}

// Connect begins to connect; it doesn't wait for a peer: Await does. After Close it
// returns flow.ErrClosed.
func (b *Bridge) Connect(ctx context.Context) error {
	b.connecting.Lock()
	defer b.connecting.Unlock()
	if b.closed.Load() {
		return b.failed("connect", flow.ErrClosed)
	}
	err := b.instance.Connect(ctx, b.connection)
	b.wanted, b.refusal = err == nil, err
	if err != nil {
		return b.failed("connect", err)
	}
	b.Status()
	return nil
}

// Disconnect ends the connection after delivering what was taken, for as long
// as ctx allows. Connect may follow; one that is under way ends first.
func (b *Bridge) Disconnect(ctx context.Context) error {
	b.connecting.Lock()
	defer b.connecting.Unlock()
	return b.disconnect(ctx)
}

// disconnect is Disconnect; connecting must be held.
func (b *Bridge) disconnect(ctx context.Context) error {
	b.wanted, b.refusal = false, nil
	if err := b.instance.Disconnect(ctx); err != nil {
		return b.failed("disconnect", err)
	}
	return nil
}

// Close disconnects for good; files are complete when it returns. Publishers
// then return flow.ErrClosed. A Connect that is under way ends first. Closing again returns the
// first call's error.
func (b *Bridge) Close(ctx context.Context) error {
	b.closeOnce.Do(func() {
		endpoints, status := b.Endpoints(), b.Status()
		b.lastStatus.Store(&status)
		b.lastEndpoints.Store(&endpoints)
		b.closed.Store(true)
		b.connecting.Lock()
		defer b.connecting.Unlock()
		b.closeErr = b.disconnect(ctx)
	})
	return b.closeErr
}

// Err returns nil, or the failure that ended the connection for good. It wraps
// flow.ErrWriteFailed if data was lost; what had been written before stays readable.
func (b *Bridge) Err() error {
	if err := b.failure(); err != nil {
		return b.failed("run", err)
	}
	return nil
}

// failure is the instance's Err.
func (b *Bridge) failure() error {
	if f, ok := b.instance.(Failer); ok {
		return f.Err()
	}
	return nil
}

// Statistics returns the counts up to now.
func (b *Bridge) Statistics() Statistics {
	b.mu.Lock()
	topics := b.order[:len(b.order):len(b.order)]
	withdrawn := b.former.counts()
	subscribed := b.subscribed[:len(b.subscribed):len(b.subscribed)]
	b.mu.Unlock()
	s := Statistics{
		Status: b.Status(), Messages: withdrawn.Messages, Bytes: withdrawn.Bytes, Drops: withdrawn.Drops, Topics: make([]TopicStatistics, len(topics)),
	}
	for i, t := range topics {
		row := &s.Topics[i]
		row.Topic, row.Type = t.Name, t.wire()
		row.Counts = t.Counts()
		s.Messages += row.Messages
		s.Bytes += row.Bytes
		s.Drops.Merge(row.Drops)
	}
	for _, t := range subscribed {
		s.Received = append(s.Received, TopicStatistics{Topic: t.name, Type: t.wire, Counts: t.tally.Counts()})
	}
	return s
}

// Tallies returns the counts of each topic, those of the last 256 that were withdrawn first. A topic that was withdrawn and
// added again may come twice.
func (b *Bridge) Tallies() []TopicTally {
	b.mu.Lock()
	topics := slices.Concat(b.former.last, b.order)
	b.mu.Unlock()
	list := make([]TopicTally, len(topics))
	for i, t := range topics {
		list[i] = TopicTally{Topic: t.Name, Addition: t.addition, Counts: t.Counts()}
	}
	return list
}

// Listening reports whether a message on a topic would be received now. The bridge is connected
// and, where it knows its receivers one by one, one of them wants the topic.
func (b *Bridge) Listening(topic string) bool {
	if b.Status() != flow.Connected {
		return false
	}
	a, ok := b.instance.(Audience)
	return !ok || a.Listening(topic)
}

// Receivers counts those who would receive a message on a topic now: none while the bridge
// isn't connected, and none of a file. A peer that doesn't tell what it receives counts as
// one receiver of every topic.
func (b *Bridge) Receivers(topic string) int {
	if b.info.Kind == KindFile || b.Status() != flow.Connected {
		return 0
	}
	if a, ok := b.instance.(Audience); ok {
		return a.Receivers(topic)
	}
	return 1
}

// failed adds the bridge and what it was doing to an error.
func (b *Bridge) failed(doing string, err error) error {
	return fmt.Errorf("%s bridge %q (%s): %w", doing, b.plugin.info.Name, b.connection, err)
}

// ready returns nil while messages can be taken, else why not.
func (b *Bridge) ready() error {
	if b.closed.Load() {
		return flow.ErrClosed
	}
	if b.Status() == flow.Connected {
		return nil
	}
	if err := b.Err(); err != nil {
		return err
	}
	return flow.ErrNotConnected
}

// AddPublisher returns the publisher of messages of type T on a topic. It may be
// called before Connect and while connected. A topic that was added before with
// the same type gives the same publisher, whose first Topic holds; with another
// type it is ErrTopicType. ErrNoConverter says that the bridge can't publish T.
func AddPublisher[T any](b *Bridge, topic Topic) (Publisher[T], error) {
	known, err := b.plugin.lookup(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	if create, ok := known.publisher.(publisherCreator[T]); ok {
		return addTopic(b, reflect.TypeFor[T](), known.wire, topic, create)
	}
	if _, ok := known.publisher.(OpenSample); !ok {
		return nil, fmt.Errorf("bridge %q doesn't publish %v: %w", b.plugin.info.Name, reflect.TypeFor[T](), ErrNoConverter)
	}
	erased, err := known.erase(b, topic)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, msg T) error { return erased(ctx, msg) }, nil
}

// addTopic adds a topic whose publisher create makes, or returns the one that was
// added with the same type.
func addTopic[T any](b *Bridge, goType reflect.Type, wire string, topic Topic, create publisherCreator[T]) (Publisher[T], error) {
	if err := checkTopicName(topic.Name); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, ok := b.published[topic.Name]; ok {
		if publish, ok := t.publisher.(Publisher[T]); ok && t.goType == goType {
			t.withdrawn.Store(false)
			return publish, nil
		}
		if !t.withdrawn.Load() {
			return nil, fmt.Errorf("bridge %q: topic %q is published as %v, not %v: %w",
				b.plugin.info.Name, topic.Name, t.goType, goType, ErrTopicType)
		}
		b.forget(t)
	}
	b.additions++
	t := &PublishedTopic{Topic: topic, Wire: wire, goType: goType, addition: b.additions}
	t.QoS = topic.QoS.OrDefault()
	publish, err := create(b.instance, t)
	if err != nil {
		return nil, fmt.Errorf("bridge %q: publish %q: %w", b.plugin.info.Name, topic.Name, err)
	}
	wrapped := countErrors(b, t, publish)
	t.publisher = wrapped
	b.published[topic.Name] = t
	b.order = append(b.order, t)
	return wrapped, nil
}

// Withdrawer is an Instance that takes topics back. Peers are told, where the protocol can. A topic of
// the name may be added again, of any type. Withdraw is called once for a topic, whose publishers
// aren't used any more. It may be called whether the instance is connected or not, on any goroutine,
// and waits for no peer. If an instance isn't a Withdrawer, such as a recording, the bridge keeps the
// topic. When it comes again with its type it has the same publisher, and with another type another.
type Withdrawer interface {
	Withdraw(topic *PublishedTopic)
}

// Withdraw takes a topic back that AddPublisher added: its publishers return flow.ErrClosed from then on.
// Its name is free for a topic of any type. Its counts of sent and lost messages stay in the bridge's sums.
func (b *Bridge) Withdraw(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.published[name]
	if !ok || t.withdrawn.Swap(true) {
		return
	}
	if w, ok := b.instance.(Withdrawer); ok {
		w.Withdraw(t)
		b.forget(t)
	}
}

// forget takes a topic out of the lists; mu must be held.
func (b *Bridge) forget(t *PublishedTopic) {
	delete(b.published, t.Name)
	b.order = slices.DeleteFunc(slices.Clone(b.order), func(other *PublishedTopic) bool { return other == t })
	b.former.add(t)
}

// former sums up what topics sent and lost that were withdrawn. Messages of theirs may be on their
// way: those of the last topics are counted still.
type former struct {
	last []*PublishedTopic
	sum  flow.Counts
}

// mostFormer is how many topics' messages are waited for, those that were withdrawn last.
const mostFormer = 256

func (f *former) add(t *PublishedTopic) {
	if f.last = append(f.last, t); len(f.last) > mostFormer {
		addCounts(&f.sum, f.last[0].Counts())
		f.last = slices.Delete(f.last, 0, 1)
	}
}

// counts returns the sum; the drops are the caller's.
func (f *former) counts() flow.Counts {
	all := flow.Counts{Drops: flow.Drops{}}
	addCounts(&all, f.sum)
	for _, t := range f.last {
		addCounts(&all, t.Counts())
	}
	return all
}

func addCounts(sum *flow.Counts, more flow.Counts) {
	sum.Messages += more.Messages
	sum.Bytes += more.Bytes
	sum.Drops.Merge(more.Drops)
}

// countErrors makes a publisher of one that the bridge made. It sends only while the bridge is
// connected and until ctx ends, and counts what isn't sent.
func countErrors[T any](b *Bridge, t *PublishedTopic, publish Publisher[T]) Publisher[T] {
	return func(ctx context.Context, msg T) error {
		err := b.ready()
		if err == nil && t.withdrawn.Load() {
			err = flow.ErrClosed
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = publish(ctx, msg)
		}
		if err != nil {
			t.Dropped(flow.CauseOf(err))
		}
		return err
	}
}

func checkTopicName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%w %q: want a name without spaces", ErrTopicName, name)
	}
	return nil
}

// subscription is one topic that the instance subscribed to, and those that
// want its messages.
type subscription[T any] struct {
	tally *flow.Tally

	mu        sync.RWMutex
	callbacks []func(T) // guarded by mu
}

func (s *subscription[T]) deliver(msg T) {
	s.tally.Sent(0)
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, callback := range s.callbacks {
		callback(msg)
	}
}

// AddSubscriber calls callback with each message of type T that arrives on a topic, one at a
// time, on a goroutine of the bridge. callback doesn't block, and doesn't add subscribers. The
// message is the callbacks' to read. Several callbacks of one topic share its subscription, in
// the order of their addition; one of another type than the first is ErrTopicType.
// ErrNoConverter says that the bridge can't subscribe to T.
func AddSubscriber[T any](b *Bridge, topic Topic, callback func(msg T)) error {
	known, err := b.plugin.lookup(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	create, ok := known.subscriber.(subscriberCreator[T])
	if !ok {
		return fmt.Errorf("bridge %q doesn't subscribe to %v: %w", b.plugin.info.Name, reflect.TypeFor[T](), ErrNoConverter)
	}
	if err := checkTopicName(topic.Name); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s := b.subscriptions[topic.Name].(type) {
	case *subscription[T]:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.callbacks = append(s.callbacks, callback)
		return nil
	case nil:
	default:
		return fmt.Errorf("bridge %q: topic %q is subscribed to with another type than %v: %w",
			b.plugin.info.Name, topic.Name, reflect.TypeFor[T](), ErrTopicType)
	}
	topic.QoS = topic.QoS.OrDefault()
	row := &subscribedTopic{name: topic.Name, wire: known.wire}
	s := &subscription[T]{callbacks: []func(T){callback}, tally: &row.tally}
	if err := create(b.instance, topic, s.deliver); err != nil {
		return fmt.Errorf("bridge %q: subscribe to %q: %w", b.plugin.info.Name, topic.Name, err)
	}
	b.subscriptions[topic.Name] = s
	b.subscribed = append(b.subscribed, row)
	return nil
}

// subscribedTopic counts what arrives on one topic.
type subscribedTopic struct {
	name, wire string
	tally      flow.Tally
}

// Checker is an Instance that tells of a connection string whether Connect can use it, without
// connecting. Both read it with one parser. Check returns nil or the error that Connect would,
// which wraps ErrConnectionString, or transport.ErrTLS for a certificate that can't be used. It may read
// files and the environment, changes nothing, and reaches no peer. Any goroutine may call it,
// connected or not.
type Checker interface {
	Check(connection string) error
}

// Check returns the error of a connection string that Connect couldn't use, the same that
// Connect gives, without connecting. An instance that isn't a Checker finds no fault.
func (b *Bridge) Check() error {
	c, ok := b.instance.(Checker)
	if !ok {
		return nil
	}
	if err := c.Check(b.connection); err != nil {
		return b.failed("connect", err)
	}
	return nil
}

// Check returns the error that opening "NAME:CONNECTION" gives, or that connecting would
// because of the connection string. It makes an instance and connects nothing: env holds what
// the string depends on, such as OutDir.
func (r *Registry) Check(spec string, env Env) error {
	b, err := r.Open(spec, env)
	if err != nil {
		return err
	}
	return b.Check()
}

// awaitPoll is how often Await looks at the status: instances tell nobody when it changes.
const awaitPoll = 2 * time.Millisecond

// Await waits until the bridge is Connected and returns nil, at once for a bridge to a file;
// it may be lost again by then. It ends early with an error that names the bridge and wraps
//
//   - flow.ErrClosed when the bridge is closed,
//   - the instance's failure when it has given up (Failer), or what Connect returned,
//   - flow.ErrNotConnected when nobody has called Connect, or Disconnect was called,
//   - flow.ErrNotConnected, ctx.Err() and the last failed attempt (Diagnosis) when ctx ends.
//
// A peer that isn't there, or is lost, ends it only when the instance tries no more. The
// status is looked at every 2 ms. Any goroutine may call it, several at once too.
func (b *Bridge) Await(ctx context.Context) error {
	poll := time.NewTicker(awaitPoll)
	defer poll.Stop()
	for b.Status() != flow.Connected {
		if err := b.cannotConnect(); err != nil {
			return b.failed("await", err)
		}
		select {
		case <-ctx.Done():
			if b.Status() == flow.Connected {
				return nil
			}
			return b.failed("await", b.waitError(ctx))
		case <-poll.C:
		}
	}
	return nil
}

// cannotConnect returns why the bridge won't be connected, nil while it may.
func (b *Bridge) cannotConnect() error {
	if b.closed.Load() {
		return flow.ErrClosed
	}
	if err := b.failure(); err != nil {
		return err
	}
	if !b.connecting.TryLock() {
		return nil // it connects or disconnects at this moment
	}
	defer b.connecting.Unlock()
	switch {
	case b.wanted || b.Status() == flow.Connected:
		return nil
	case b.refusal != nil:
		return b.refusal
	default:
		return fmt.Errorf("%w: call Connect first", flow.ErrNotConnected)
	}
}

// waitError is the error of a wait that its context ended.
func (b *Bridge) waitError(ctx context.Context) error {
	if last := b.Diagnosis().LastError; last != nil {
		return fmt.Errorf("%w: %w; the last attempt: %w", flow.ErrNotConnected, ctx.Err(), last)
	}
	return fmt.Errorf("%w: %w", flow.ErrNotConnected, ctx.Err())
}

// Endpoint is where receivers find a topic whose protocol has something else for it
// than its name.
type Endpoint struct {
	Topic string `json:"topic"`
	// Sensor is the name of the sensor that publishes the topic.
	Sensor string `json:"sensor,omitempty"`
	// Address is the server's, HOST:PORT.
	Address string `json:"address"`
	// Stream is the topic's number there, 0 for none, and Token what the protocol's
	// clients are given to find it, in hexadecimal digits.
	Stream uint32 `json:"stream,omitempty"`
	Token  string `json:"token,omitempty"`
}

// Directory is an Instance that receivers connect to. Endpoints lists its topics in the order
// of their numbers, with the addresses as they are while it is connected. A server without
// topics yet has one endpoint without a topic. Any goroutine may ask.
type Directory interface {
	Endpoints() []Endpoint
}

// Endpoints returns where receivers find the bridge's topics; nil for a bridge that
// receivers don't connect to. Of a closed bridge it is where they found them.
func (b *Bridge) Endpoints() []Endpoint {
	if last := b.lastEndpoints.Load(); last != nil {
		return *last
	}
	if d, ok := b.instance.(Directory); ok {
		return d.Endpoints()
	}
	return nil
}
