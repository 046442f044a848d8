package ros

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/raybridge/raybridge/bridges"
)

// messageOf is a pointer to a message's structure.
type messageOf[M any] interface {
	*M
	Message
}

// Publication is a type that sensors publish, with the ROS message that carries it. It can
// be registered with any number of bridges and registries.
type Publication struct {
	// Type is the message's full name, such as "sensor_msgs/msg/Image".
	Type string
	// Sample is the type of sample, such as *sample.Image.
	Sample    reflect.Type
	declare   func(p *bridges.Plugin, wire string, open OpenSample) error
	converter func() Convert
}

// Open makes the way of one topic's messages, of the type with the given full name, on
// an instance of the bridge that registered it. It is called when a publisher is added.
type Open func(instance bridges.Instance, topic *bridges.PublishedTopic, typeName string) (Send, error)

// Send encodes and sends, or queues, one message, which is good only until it returns.
// stampNs is when it was captured. It is called by one goroutine at a time.
type Send func(ctx context.Context, message Message, stampNs int64) error

// Register declares the sample's type on a bridge, by the name that the bridge's
// protocol has for the message.
func (pub Publication) Register(p *bridges.Plugin, wire string, open Open) error {
	return pub.declare(p, wire, func(i bridges.Instance, topic *bridges.PublishedTopic) (SendSample, error) {
		send, err := open(i, topic, pub.Type)
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex // held while the topic's one message is in use
		convert := pub.converter()
		return func(ctx context.Context, sample bridges.Stamped) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			message, err := convert(sample)
			if err != nil {
				return err
			}
			return send(ctx, message, sample.Stamp())
		}, nil
	})
}

// OpenSample is Open for bridges whose connection decides on the message that carries a
// sample.
type OpenSample func(instance bridges.Instance, topic *bridges.PublishedTopic) (SendSample, error)

// SendSample converts, encodes and sends one sample of the publication's type, which it
// keeps no hold of. It is called from any goroutine.
type SendSample func(ctx context.Context, sample bridges.Stamped) error

// RegisterSample is Register for bridges that convert samples themselves.
func (pub Publication) RegisterSample(p *bridges.Plugin, wire string, open OpenSample) error {
	return pub.declare(p, wire, open)
}

// Convert makes the message of a sample of the publication's type; both are good until
// its next call. It is called by one goroutine at a time. Its errors are
// bridges.ErrConvert.
type Convert func(sample bridges.Stamped) (Message, error)

// Converter returns a conversion with a message of its own, which is reused: nothing is
// allocated for each sample.
func (pub Publication) Converter() Convert { return pub.converter() }

// Publish makes a Publication of samples T, mostly a pointer, as messages M. convert sets
// all of dst, which is used again for the topic's next sample; it keeps no hold of either,
// and is called by one goroutine at a time for each topic. An error drops the sample and
// counts it. The message is declared as the Publication is registered.
func Publish[M any, P interface {
	*M
	Message
}, T bridges.Stamped](convert func(dst P, src T) error) Publication {
	return Publication{
		Type: P(new(M)).TypeName(), Sample: reflect.TypeFor[T](), declare: declarePublisher[M, P, T],
		converter: func() Convert {
			message := P(new(M))
			return func(sample bridges.Stamped) (Message, error) {
				s, ok := sample.(T)
				if !ok {
					return nil, fmt.Errorf("%w: %s is made of %v, not of %T", bridges.ErrConvert, message.TypeName(), reflect.TypeFor[T](), sample)
				}
				if err := convert(message, s); err != nil {
					return nil, fmt.Errorf("%w: %w", bridges.ErrConvert, err)
				}
				return message, nil
			}
		},
	}
}

// declarePublisher declares a message, and how samples are published as it.
func declarePublisher[M any, P messageOf[M], T bridges.Stamped](p *bridges.Plugin, wire string, open OpenSample) error {
	if err := declareMessage(P(new(M))); err != nil {
		return err
	}
	if err := bridges.AddType[T](p, wire); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		send, err := open(i, topic)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, msg T) error { return send(ctx, msg) }, nil
	})
}

// declareMessage declares a message. Errors are bridges.ErrDuplicate where
// another definition has its name, else ErrDefinition.
func declareMessage(m Message) error {
	err := Declare(m)
	if errors.Is(err, ErrDeclared) {
		return fmt.Errorf("%w: %w", bridges.ErrDuplicate, err)
	}
	return err
}

// Subscription is a ROS message with the type that is made of it for those who subscribe.
type Subscription struct {
	// Type is the message's full name, such as "geometry_msgs/msg/Twist".
	Type    string
	declare func(p *bridges.Plugin, wire string, listen Listen) error
}

// Listen subscribes an instance of the bridge that registered it to a topic of messages
// of the type with the given full name.
type Listen func(instance bridges.Instance, topic bridges.Topic, typeName string, in Inbox) error

// Inbox takes the messages of one subscription.
type Inbox struct {
	// New returns a message to decode into.
	New func() Message
	// Deliver hands one on, which is the inbox's from then on. It is called by one
	// goroutine at a time and doesn't block. An error says that the message makes
	// no sense.
	Deliver func(Message) error
}

// Register declares the sample's type on a bridge, if it isn't declared yet, and how it
// is subscribed to.
func (sub Subscription) Register(p *bridges.Plugin, wire string, listen Listen) error {
	return sub.declare(p, wire, listen)
}

// Subscribe makes a Subscription to messages M as samples *S. Both are convert's own: dst
// is new and may share src's memory. An error says that the message makes no sense; it is
// counted as malformed. convert doesn't block. The message is declared as the Subscription
// is registered.
func Subscribe[M any, P interface {
	*M
	Message
}, S any](convert func(dst *S, src P) error) Subscription {
	name := P(new(M)).TypeName()
	return Subscription{Type: name, declare: func(p *bridges.Plugin, wire string, listen Listen) error {
		if err := declareMessage(P(new(M))); err != nil {
			return err
		}
		if !p.Knows(reflect.TypeFor[*S]()) {
			if err := bridges.AddType[*S](p, wire); err != nil {
				return err
			}
		}
		return bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(*S)) error {
			return listen(i, topic, name, Inbox{
				New: func() Message { return P(new(M)) },
				Deliver: func(m Message) error {
					s := new(S)
					if err := convert(s, m.(P)); err != nil {
						return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
					}
					deliver(s)
					return nil
				},
			})
		})
	}}
}

// Carrier is a bridges.Factory that carries ROS messages from outside.
type Carrier interface {
	// RegPublication adds a type that p's bridge publishes. A type that the plugin knows
	// already, or a message whose name has another definition, is
	// bridges.ErrDuplicate, and the first stays; ErrDefinition says what a message lacks.
	RegPublication(p *bridges.Plugin, pub Publication) error
}

// Receiver is a bridges.Factory that can subscribe to ROS messages from outside.
type Receiver interface {
	// RegSubscription adds a type that p's bridge subscribes to, under the rules of
	// RegPublication. A type that is published may be subscribed to as well.
	RegSubscription(p *bridges.Plugin, sub Subscription) error
}

// Register adds a Publication or a Subscription to the named bridges of a registry. Names
// that the registry hasn't got (bridges.ErrUnknownBridge), and bridges that don't carry ROS
// messages in that direction (bridges.ErrNoConverter), leave all as it was. Otherwise every
// bridge is tried; the error joins those that refused, as RegPublication does. Any
// goroutine may call it, before publishers are added.
func Register[C Publication | Subscription](registry *bridges.Registry, c C, names ...string) error {
	var todo []func() error
	var problems []error
	for _, name := range names {
		register, err := find(registry, c, name)
		problems = append(problems, err)
		todo = append(todo, register)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for _, register := range todo {
		problems = append(problems, register())
	}
	return errors.Join(problems...)
}

// find returns what registers c, a Publication or a Subscription, with one bridge.
func find(registry *bridges.Registry, c any, name string) (func() error, error) {
	p, err := registry.Plugin(name)
	if err != nil {
		return nil, err
	}
	switch c := c.(type) {
	case Publication:
		if f, ok := p.Factory().(Carrier); ok {
			return func() error { return f.RegPublication(p, c) }, nil
		}
		return nil, fmt.Errorf("bridge %q can't publish %s: it carries no ROS messages from outside: %w", name, c.Type, bridges.ErrNoConverter)
	case Subscription:
		if f, ok := p.Factory().(Receiver); ok {
			return func() error { return f.RegSubscription(p, c) }, nil
		}
		return nil, fmt.Errorf("bridge %q can't subscribe to %s: it brings no ROS messages from outside: %w", name, c.Type, bridges.ErrNoConverter)
	}
	panic(fmt.Sprintf("ros: %T", c)) // Register has no other types
}
