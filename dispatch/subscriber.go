package dispatch

import (
	"context"
	"fmt"
)

// SubscriberConfig configures a Subscriber.
type SubscriberConfig struct {
	// Sync runs the handler on the goroutine that delivers. Otherwise messages
	// are queued for the workers.
	Sync bool
	// TopicConfig holds for the queue of an asynchronous subscriber. A synchronous one has no
	// queue. Ordered, Lane and Gated can't be kept and are refused, and of the rest only
	// WaitForToken and BlockLimit mean something.
	TopicConfig
}

// Subscriber takes messages that come in, from a bridge say, to a handler, by the rules of
// topics. Messages are refused while it is paused or closed, one for each exclusive token,
// called back and counted. Panics are contained. Messages are queued under a policy unless it
// is synchronous. All methods may be called from any goroutine.
type Subscriber[T any] struct {
	topic *Topic[T]
	sync  bool
}

// NewSubscriber returns a subscriber of d that calls handle. What NewTopic says
// of its publisher and configuration holds for handle and cfg.
func NewSubscriber[T any](d *Dispatcher, name string, handle func(context.Context, T) error, cfg SubscriberConfig) *Subscriber[T] {
	s := &Subscriber[T]{topic: NewTopic(d, name, handle, cfg.TopicConfig), sync: cfg.Sync}
	if s.topic.err == nil && cfg.Sync && (cfg.Ordered || cfg.Gated || cfg.Lane != nil) {
		s.topic.err = fmt.Errorf("subscriber %q: %w: a synchronous one has no queue to be ordered or gated", name, ErrConfig)
	}
	return s
}

// Deliver delivers a message without callback or token; see DeliverTask.
func (s *Subscriber[T]) Deliver(data T) bool { return s.DeliverTask(data, Task{}) }

// DeliverTask hands a message to the handler and reports whether it was taken, as TryQueueTask
// does. For a synchronous subscriber it reports whether the message was handled without error,
// and then task.Done has been called before the return.
func (s *Subscriber[T]) DeliverTask(data T, task Task) bool {
	if s.sync {
		return s.topic.publishTask(s.topic.d.ctx, data, task) == nil
	}
	return s.topic.TryQueueTask(data, task)
}

// Name returns the subscriber's name.
func (s *Subscriber[T]) Name() string { return s.topic.Name() }

// Err returns why the subscriber refuses all messages, an error that wraps
// ErrConfig, or nil.
func (s *Subscriber[T]) Err() error { return s.topic.Err() }

// Stats returns the subscriber's state; the handler counts as the publisher.
func (s *Subscriber[T]) Stats() TopicStats { return s.topic.Stats() }

// Close is Topic.Close.
func (s *Subscriber[T]) Close() { s.topic.Close() }
