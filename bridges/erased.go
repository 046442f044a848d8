package bridges

import (
	"context"
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/flow"
)

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

// erase returns what adds publishers of a type that the fallback carries.
func (f *Fallback) erase(t reflect.Type, wire string) func(*Bridge, Topic) (Publisher[any], error) {
	return func(b *Bridge, topic Topic) (Publisher[any], error) {
		return addTopic(b, t, wire, topic, func(i Instance, info *PublishedTopic) (Publisher[any], error) {
			publish, err := f.Publisher(i, info)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, msg any) error {
				if reflect.TypeOf(msg) != t {
					return fmt.Errorf("%w: topic %q carries %v, not %T", ErrConvert, info.Name, t, msg)
				}
				return publish(ctx, msg)
			}, nil
		})
	}
}

// erase adds a publisher of T and hides T.
func erase[T any](b *Bridge, topic Topic) (Publisher[any], error) {
	publish, err := AddPublisher[T](b, topic)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	counter := &b.published[topic.Name].counter
	b.mu.Unlock()
	return func(ctx context.Context, msg any) error {
		m, ok := msg.(T)
		if !ok {
			counter.dropped(flow.CauseConvertFailed)
			return fmt.Errorf("%w: topic %q carries %v, not %T", ErrConvert, topic.Name, reflect.TypeFor[T](), msg)
		}
		return publish(ctx, m)
	}, nil
}
