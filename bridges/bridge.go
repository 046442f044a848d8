package bridges

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/raybridge/raybridge/flow"
)

// Topic names a stream of messages of one type.
type Topic struct {
	// Name is the topic's full name, such as "/points".
	Name string
	// Sensor names the sensor that publishes, for protocols that carry it; it
	// may be empty.
	Sensor string
	// SensorType is the id of that sensor's type, SensorNumber its number in wire
	// formats, and Output the output's place in the type's definition; all zero for
	// a topic that is no sensor's.
	SensorType   string
	SensorNumber uint16
	Output       int
	// QoS is what a publisher offers or a subscriber asks for.
	QoS flow.QoS
	// Policy is what the full queue of a network connection does with the topic's
	// messages: by default the oldest is dropped. Files don't look at it.
	Policy flow.Policy
}

// PublishedTopic is a topic as a bridge's publisher creator is given it.
type PublishedTopic struct {
	Topic
	// Wire is the message type's name in the bridge's protocol.
	Wire string

	goType    reflect.Type
	publisher any // the wrapped Publisher[T]
	renamed   atomic.Pointer[string]
	counter   counter
}

// Sent counts a message of so many encoded bytes as delivered. The bridge calls
// it once for each message that it has written or sent.
func (t *PublishedTopic) Sent(bytes int) { t.counter.sent(bytes) }

// Lost moves messages that were counted by Sent to the drops: data that a full
// disk or a dead connection swallowed afterwards.
func (t *PublishedTopic) Lost(messages int, bytes int64, cause flow.Cause) {
	t.counter.lost(messages, bytes, cause)
}

// Dropped counts a message that was taken, but was dropped before it was sent.
// Errors that a publisher returns are counted by themselves.
func (t *PublishedTopic) Dropped(cause flow.Cause) { t.counter.dropped(cause) }

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
	connection string
	instance   Instance
	opened     time.Time

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
	lastStatus atomic.Pointer[Status]

	mu            sync.Mutex
	published     map[string]*PublishedTopic // guarded by mu
	order         []*PublishedTopic          // guarded by mu: the order of addition
	subscriptions map[string]any             // guarded by mu: *subscription[T] by topic
	subscribed    []*subscribedTopic         // guarded by mu: in the order of addition
	services      map[string]bool            // guarded by mu: those that are offered
}

func newBridge(p *Plugin, connection string, env Env) (*Bridge, error) {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	instance, err := p.factory.NewInstance(env)
	if err != nil {
		return nil, fmt.Errorf("open bridge %q: %w", p.info.Name, err)
	}
	return &Bridge{
		plugin: p, connection: connection, instance: instance, opened: time.Now(),
		published: map[string]*PublishedTopic{}, subscriptions: map[string]any{}, services: map[string]bool{},
	}, nil
}

// Info returns the description of the bridge's factory.
func (b *Bridge) Info() Info { return b.plugin.info }

// Types lists the message types that the bridge carries, as its plugin does.
func (b *Bridge) Types() []TypeInfo { return b.plugin.Types() }

// Connection returns the connection string that Connect passes on.
func (b *Bridge) Connection() string { return b.connection }

// Status returns the state of the connection.
func (b *Bridge) Status() Status {
	s := b.instance.Status()
	if s == Connected && !b.everConnected.Load() {
		b.everConnected.Store(true)
	}
	return s
}

// EverConnected reports whether the bridge was connected at some time since it
// was opened; with a peer that speaks its protocol, where it can tell (Reacher).
func (b *Bridge) EverConnected() bool {
	if r, ok := b.instance.(Reacher); ok {
		return r.Reached()
	}
	b.Status()
	return b.everConnected.Load() || b.Diagnosis().Connections > 0
}

// StatusAtEnd returns the state of the connection when Close was called, which tells
// whether the peer was there to the end; before, the state now.
func (b *Bridge) StatusAtEnd() Status {
	if s := b.lastStatus.Load(); s != nil {
		return *s
	}
	return b.Status()
}

// Connect begins to connect; it doesn't wait for a peer: Await does. After Close it
// returns ErrClosed.
func (b *Bridge) Connect(ctx context.Context) error {
	b.connecting.Lock()
	defer b.connecting.Unlock()
	if b.closed.Load() {
		return b.failed("connect", ErrClosed)
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
// then return ErrClosed. A Connect that is under way ends first. Closing again returns the
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
// ErrWriteFailed if data was lost; what had been written before stays readable.
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
	subscribed := b.subscribed[:len(b.subscribed):len(b.subscribed)]
	b.mu.Unlock()
	s := Statistics{Status: b.Status(), Drops: flow.Drops{}, Topics: make([]TopicStatistics, len(topics))}
	for i, t := range topics {
		row := &s.Topics[i]
		row.Topic, row.Type = t.Name, t.wire()
		t.counter.fill(row)
		s.Messages += row.Messages
		s.Bytes += row.Bytes
		for cause, n := range row.Drops {
			s.Drops[cause] += n
		}
	}
	for _, t := range subscribed {
		row := TopicStatistics{Topic: t.name, Type: t.wire}
		t.counter.fill(&row)
		s.Received = append(s.Received, row)
	}
	return s
}

// Listening reports whether anybody would receive a message on a topic now: the
// bridge is connected and, where it knows its receivers one by one, one of them
// wants the topic.
func (b *Bridge) Listening(topic string) bool {
	if b.Status() != Connected {
		return false
	}
	a, ok := b.instance.(Audience)
	return !ok || a.Listening(topic)
}

// Receivers counts those who would receive a message on a topic now: none while the bridge
// isn't connected, and none of a file. A peer that doesn't tell what it receives counts as
// one receiver of every topic.
func (b *Bridge) Receivers(topic string) int {
	if b.Info().Kind == KindFile || b.Status() != Connected {
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
		return ErrClosed
	}
	if b.Status() == Connected {
		return nil
	}
	if err := b.Err(); err != nil {
		return err
	}
	return ErrNotConnected
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
	if create, ok := known.publisher.(PublisherCreator[T]); ok {
		return addTopic(b, reflect.TypeFor[T](), known.wire, topic, create)
	}
	if !known.fallback {
		return nil, fmt.Errorf("bridge %q doesn't publish %v: %w", b.plugin.info.Name, reflect.TypeFor[T](), ErrNoConverter)
	}
	erased, err := known.erase(b, topic) // a fallback's
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, msg T) error { return erased(ctx, msg) }, nil
}

// addTopic adds a topic whose publisher create makes, or returns the one that was
// added with the same type.
func addTopic[T any](b *Bridge, goType reflect.Type, wire string, topic Topic, create PublisherCreator[T]) (Publisher[T], error) {
	if err := checkTopicName(topic.Name); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, ok := b.published[topic.Name]; ok {
		if publish, ok := t.publisher.(Publisher[T]); ok && t.goType == goType {
			return publish, nil
		}
		return nil, fmt.Errorf("bridge %q: topic %q is published as %v, not %v: %w",
			b.plugin.info.Name, topic.Name, t.goType, goType, ErrTopicType)
	}
	t := &PublishedTopic{Topic: topic, Wire: wire, goType: goType}
	t.QoS = topic.QoS.OrDefault()
	t.counter.opened = b.opened
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

// countErrors makes a publisher of one that the bridge made: it sends only while
// the bridge is connected and ctx goes on, and counts what isn't sent.
func countErrors[T any](b *Bridge, t *PublishedTopic, publish Publisher[T]) Publisher[T] {
	return func(ctx context.Context, msg T) error {
		err := b.ready()
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = publish(ctx, msg)
		}
		if err != nil {
			t.counter.dropped(flow.CauseOf(err))
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
