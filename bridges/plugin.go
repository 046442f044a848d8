package bridges

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// Publisher sends one message. It returns when the message was written or
// queued, and may read msg only until then. Its error wraps one of this
// package's; the message counts as dropped under CauseOf of it. ctx ends what
// it waits for; a bridge's own publisher isn't called with one that has ended.
type Publisher[T any] func(ctx context.Context, msg T) error

// publisherCreator makes the publisher of one topic on an instance of its own bridge.
type publisherCreator[T any] func(instance Instance, topic *PublishedTopic) (Publisher[T], error)

// subscriberCreator subscribes an instance of its own bridge to a topic.
type subscriberCreator[T any] func(instance Instance, topic Topic, deliver func(msg T)) error

// Plugin is the table of message types that one bridge carries. The factory
// fills it in Register; others may add their own types at any time before they
// make publishers of them. All its functions may be called from any goroutine.
type Plugin struct {
	factory Factory
	info    Info

	mu       sync.RWMutex
	types    map[reflect.Type]*messageType // guarded by mu
	services map[serviceKey]serviceType    // guarded by mu
	fallback func(reflect.Type) error      // guarded by mu: adds a type, nil for none
}

// messageType is what a plugin knows of one Go type. The creators hold a
// publisherCreator[T] and a subscriberCreator[T], or an OpenSample of a type that is known at
// run time only. They are guarded by the plugin's mu, wire, erase and subscribe never change.
type messageType struct {
	wire       string
	publisher  any
	subscriber any
	erase      func(*Bridge, Topic) (Publisher[any], error)
	subscribe  func(*Bridge, Topic, func(any)) error // nil for a type that is known at run time only
}

// TypeInfo describes one message type of a bridge.
type TypeInfo struct {
	// Go is the message's type in Go, such as "*sample.Image".
	Go string `json:"go"`
	// Wire is its name in the bridge's protocol.
	Wire string `json:"wire"`
	// Publishes and Subscribes say in which directions it is carried.
	Publishes  bool `json:"publishes"`
	Subscribes bool `json:"subscribes"`
}

func newPlugin(f Factory) *Plugin {
	return &Plugin{factory: f, info: f.Info(), types: map[reflect.Type]*messageType{}, services: map[serviceKey]serviceType{}}
}

// Factory returns the factory that the plugin belongs to.
func (p *Plugin) Factory() Factory { return p.factory }

// Info returns what the factory said of itself.
func (p *Plugin) Info() Info { return p.info }

// KindOf returns what a bridge with the connection string writes to.
func (p *Plugin) KindOf(connection string) Kind {
	if f, ok := p.factory.(KindChooser); ok {
		return f.KindOf(connection)
	}
	return p.info.Kind
}

// Types lists the message types by their names in the protocol.
func (p *Plugin) Types() []TypeInfo {
	p.mu.RLock()
	defer p.mu.RUnlock()
	list := make([]TypeInfo, 0, len(p.types))
	for t, m := range p.types {
		list = append(list, TypeInfo{
			Go: t.String(), Wire: m.wire,
			Publishes: m.publisher != nil, Subscribes: m.subscriber != nil,
		})
	}
	slices.SortFunc(list, func(a, b TypeInfo) int {
		return cmp.Or(strings.Compare(a.Wire, b.Wire), strings.Compare(a.Go, b.Go))
	})
	return list
}

// RegPublisher declares that the bridge publishes messages of type T, by the name that its
// protocol has for them. I is the type of the bridge's own instances. The first publisher of a
// type stays, and so does its name, also one that RegSubscriber gave it; another one is
// ErrDuplicate.
func RegPublisher[T any, I Instance](p *Plugin, wire string, create func(instance I, topic *PublishedTopic) (Publisher[T], error)) error {
	return declare[T](p, wire, "publisher", publisherCreator[T](func(instance Instance, topic *PublishedTopic) (Publisher[T], error) {
		i, err := own[I](p, instance)
		if err != nil {
			return nil, err
		}
		return create(i, topic)
	}))
}

// RegSubscriber is RegPublisher for the other direction. The bridge calls deliver for each
// message, one at a time, on a goroutine of its own; deliver doesn't block.
func RegSubscriber[T any, I Instance](p *Plugin, wire string, create func(instance I, topic Topic, deliver func(msg T)) error) error {
	return declare[T](p, wire, "subscriber", subscriberCreator[T](func(instance Instance, topic Topic, deliver func(msg T)) error {
		i, err := own[I](p, instance)
		if err != nil {
			return err
		}
		return create(i, topic, deliver)
	}))
}

// declare adds the creator of one direction of a type.
func declare[T any](p *Plugin, wire, direction string, creator any) error {
	t := reflect.TypeFor[T]()
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.types[t]
	if !ok {
		known = &messageType{wire: wire, erase: erase[T], subscribe: subscribe[T]}
		p.types[t] = known
	}
	if known.wire != wire {
		return p.duplicate(t, known)
	}
	place := &known.publisher
	if direction == "subscriber" {
		place = &known.subscriber
	}
	if *place != nil {
		return fmt.Errorf("bridge %q: %s of %v: %w", p.info.Name, direction, t, ErrDuplicate)
	}
	*place = creator
	return nil
}

// duplicate is the error of a type that is declared already.
func (p *Plugin) duplicate(t reflect.Type, known *messageType) error {
	return fmt.Errorf("bridge %q: type %v is %s: %w", p.info.Name, t, known.wire, ErrDuplicate)
}

// wireOf returns the name that a type was declared with, else the given one.
func (p *Plugin) wireOf(t reflect.Type, wire string) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if known, ok := p.types[t]; ok {
		return known.wire
	}
	return wire
}

// own returns an instance as what the bridge made it.
func own[I Instance](p *Plugin, instance Instance) (I, error) {
	i, ok := instance.(I)
	if !ok {
		return i, fmt.Errorf("bridge %q: an instance is a %T, its messages are for %v", p.info.Name, instance, reflect.TypeFor[I]())
	}
	return i, nil
}

// SetFallback declares how the bridge comes to publish types that nobody declared. register is
// given one when a publisher of it is first added. It declares the type, by a row of
// [PublishAny] for instance, or returns why the bridge can't carry it. It may be called from any
// goroutine. A second call of SetFallback changes nothing and returns ErrDuplicate.
func SetFallback(p *Plugin, register func(t reflect.Type) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fallback != nil {
		return fmt.Errorf("bridge %q: fallback: %w", p.info.Name, ErrDuplicate)
	}
	p.fallback = register
	return nil
}

// Publishes returns the name that the bridge's protocol has for the messages of a type, and
// nil. Else the error says why it doesn't publish them, and wraps ErrNoConverter.
func (p *Plugin) Publishes(t reflect.Type) (wire string, err error) {
	known, err := p.lookup(t)
	if err == nil && known.publisher == nil {
		err = fmt.Errorf("bridge %q doesn't publish %v: %w", p.info.Name, t, ErrNoConverter)
	}
	return known.wire, err
}

// lookup returns a type's entry as it stands now, once the fallback has had a try.
func (p *Plugin) lookup(t reflect.Type) (messageType, error) {
	known, fallback := p.entry(t)
	if known.erase != nil {
		return known, nil
	}
	err := fmt.Errorf("bridge %q: unknown type %v: %w", p.info.Name, t, ErrNoConverter)
	if reason := p.info.Gap(t); reason != "" {
		err = fmt.Errorf("%w: %s", err, reason)
	}
	if fallback == nil {
		return known, err
	}
	refused := fallback(t) // an error too where another goroutine was first
	if known, _ = p.entry(t); known.erase != nil {
		return known, nil
	}
	return known, errors.Join(err, refused)
}

// entry returns a type's entry, a zero one for a type that isn't known, and the fallback.
func (p *Plugin) entry(t reflect.Type) (messageType, func(reflect.Type) error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if known, ok := p.types[t]; ok {
		return *known, p.fallback
	}
	return messageType{}, p.fallback
}

// AddPublisherOf is AddPublisher for callers that know the message type only as
// a reflect.Type, such as a pipeline that connects any sensor with any bridge.
// The publisher takes messages of that type alone; another one is ErrConvert.
func AddPublisherOf(b *Bridge, t reflect.Type, topic Topic) (Publisher[any], error) {
	known, err := b.plugin.lookup(t)
	if err != nil {
		return nil, err
	}
	return known.erase(b, topic)
}

// AddSubscriberOf is AddSubscriber for callers that know the message type only as a
// reflect.Type. callback is given messages of that type alone.
func AddSubscriberOf(b *Bridge, t reflect.Type, topic Topic, callback func(msg any)) error {
	known, err := b.plugin.lookup(t)
	if err != nil {
		return err
	}
	if known.subscriber == nil {
		return fmt.Errorf("bridge %q doesn't subscribe to %v: %w", b.plugin.info.Name, t, ErrNoConverter)
	}
	return known.subscribe(b, topic, callback)
}

// subscribe adds a subscriber of T and hides T.
func subscribe[T any](b *Bridge, topic Topic, callback func(msg any)) error {
	return AddSubscriber(b, topic, func(msg T) { callback(msg) })
}

// addErased is RegPublisher for a type that is known at run time only.
func (p *Plugin) addErased(t reflect.Type, wire string, open OpenSample) error {
	erase := func(b *Bridge, topic Topic) (Publisher[any], error) {
		return addTopic(b, t, wire, topic, func(i Instance, info *PublishedTopic) (Publisher[any], error) {
			send, err := open(i, info)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, msg any) error {
				if reflect.TypeOf(msg) != t {
					return fmt.Errorf("%w: topic %q carries %v, not %T", ErrConvert, info.Name, t, msg)
				}
				return send(ctx, msg.(simtime.Stamped))
			}, nil
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.types[t]; ok {
		return p.duplicate(t, known)
	}
	p.types[t] = &messageType{wire: wire, publisher: open, erase: erase}
	return nil
}

// erase adds a publisher of T and hides T.
func erase[T any](b *Bridge, topic Topic) (Publisher[any], error) {
	publish, err := AddPublisher[T](b, topic)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	tally := &b.published[topic.Name].Tally
	b.mu.Unlock()
	return func(ctx context.Context, msg any) error {
		m, ok := msg.(T)
		if !ok {
			tally.Dropped(flow.CauseConvertFailed)
			return fmt.Errorf("%w: topic %q carries %v, not %T", ErrConvert, topic.Name, reflect.TypeFor[T](), msg)
		}
		return publish(ctx, m)
	}, nil
}
