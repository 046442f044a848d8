package dispatch

import "context"

// SubscriberConfig configures a Subscriber.
type SubscriberConfig struct {
	// Sync runs the handler on the goroutine that delivers. Otherwise messages
	// are queued for the workers.
	Sync bool
	// TopicConfig holds for the queue of an asynchronous subscriber.
	TopicConfig
}

// Subscriber takes messages that come in, from a bridge say, to a handler, by
// the rules of topics: refused while paused or closed, panics contained,
// counted, and queued under a policy unless it is synchronous. All methods may
// be called from any goroutine.
type Subscriber[T any] struct {
	topic *Topic[T]
	sync  bool
}

// NewSubscriber returns a subscriber of d that calls handle. What NewTopic says
// of its publisher and configuration holds for handle and cfg.
func NewSubscriber[T any](d *Dispatcher, name string, handle func(context.Context, T) error, cfg SubscriberConfig) *Subscriber[T] {
	return &Subscriber[T]{topic: NewTopic(d, name, handle, cfg.TopicConfig), sync: cfg.Sync}
}

// Deliver hands a message to the handler and reports whether it was taken; for
// a synchronous subscriber, whether it was handled without error.
func (s *Subscriber[T]) Deliver(data T) bool {
	if s.sync {
		return s.topic.Publish(s.topic.d.ctx, data) == nil
	}
	return s.topic.TryQueue(data)
}

// Err returns why the subscriber refuses all messages, an error that wraps
// ErrConfig, or nil.
func (s *Subscriber[T]) Err() error { return s.topic.Err() }

// Stats returns the subscriber's state; the handler counts as the publisher.
func (s *Subscriber[T]) Stats() TopicStats { return s.topic.Stats() }

// Close is Topic.Close.
func (s *Subscriber[T]) Close() { s.topic.Close() }
