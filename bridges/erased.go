package bridges

import (
	"context"
	"fmt"
	"reflect"
)

// AddPublisherOf is AddPublisher for callers that know the message type only as
// a reflect.Type, such as a pipeline that connects any sensor with any bridge.
// The publisher takes messages of that type alone; another one is ErrConvert.
func AddPublisherOf(b *Bridge, t reflect.Type, topic Topic) (Publisher[any], error) {
	b.plugin.mu.RLock()
	known, ok := b.plugin.types[t]
	b.plugin.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("bridge %q: unknown type %v: %w", b.plugin.info.Name, t, ErrNoConverter)
	}
	return known.erase(b, topic)
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
			counter.dropped(CauseConvertFailed)
			return fmt.Errorf("%w: topic %q carries %v, not %T", ErrConvert, topic.Name, reflect.TypeFor[T](), msg)
		}
		return publish(ctx, m)
	}, nil
}
