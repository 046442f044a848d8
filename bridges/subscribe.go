package bridges

import (
	"fmt"
	"reflect"
	"sync"
)

// subscription is one topic that the instance subscribed to, and those that
// want its messages.
type subscription[T any] struct {
	counter *counter

	mu        sync.RWMutex
	callbacks []func(T) // guarded by mu
}

func (s *subscription[T]) deliver(msg T) {
	s.counter.sent(0)
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, callback := range s.callbacks {
		callback(msg)
	}
}

// AddSubscriber calls callback with each message of type T that arrives on a
// topic, one at a time, on a goroutine of the bridge; callback doesn't block,
// and doesn't add subscribers. The message is the callbacks' to read. Several
// callbacks of one topic share its subscription, in the order of their addition;
// one of another type than the first is ErrTopicType. ErrNoConverter says that
// the bridge can't subscribe to T.
func AddSubscriber[T any](b *Bridge, topic Topic, callback func(msg T)) error {
	known, err := b.plugin.lookup(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	create, ok := known.subscriber.(SubscriberCreator[T])
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
	row := &subscribedTopic{name: topic.Name, wire: known.wire, counter: counter{opened: b.opened}}
	s := &subscription[T]{callbacks: []func(T){callback}, counter: &row.counter}
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
	counter    counter
}
