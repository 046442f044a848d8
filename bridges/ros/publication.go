package ros

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/simtime"
)

// Publication is a type that sensors publish, with the ROS message that carries it. Its
// Schema is the message's full name.
type Publication = bridges.Publication[Message, string]

// Send encodes and sends, or queues, one ROS message: see [bridges.Send].
type Send = bridges.Send[Message]

// Subscription is a ROS message with the type that is made of it for those who subscribe.
// Its Schema is the message's full name.
type Subscription = bridges.Subscription[Message, string]

// Inbox takes the ROS messages of one subscription.
type Inbox = bridges.Inbox[Message]

// Publish makes a Publication of samples T, mostly a pointer, as messages M; P is *M, a Message. convert sets all
// of dst, which is used again for the topic's next sample. It keeps no hold of either, and is
// called by one goroutine at a time for each topic. An error drops the sample and counts it.
// The message is declared as the Publication is registered.
func Publish[M any, P pointer[M], T simtime.Stamped](convert func(dst P, src T) error) Publication {
	name := P(new(M)).TypeName()
	pub := bridges.Publish(name, name, func(bridges.Instance) func(T) (Message, error) {
		message := P(new(M))
		return func(src T) (Message, error) { return message, convert(message, src) }
	})
	pub.Declare = func() error { return declareMessage(P(new(M))) }
	return pub
}

// Subscribe makes a Subscription to messages M as samples *S; P is *M, a Message. Both are convert's own: dst
// is new and may share src's memory. An error says that the message makes no sense; it is
// counted as malformed. convert doesn't block. The message is declared as the Subscription
// is registered.
func Subscribe[M any, P pointer[M], S any](convert func(dst *S, src P) error) Subscription {
	name := P(new(M)).TypeName()
	sub := bridges.Subscribe(name, name, func() Message { return P(new(M)) }, func(bridges.Instance) func(Message) (*S, error) {
		return func(m Message) (*S, error) {
			s := new(S)
			return s, convert(s, m.(P))
		}
	})
	sub.Declare = func() error { return declareMessage(P(new(M))) }
	return sub
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

// Carrier is a bridges.Factory that carries ROS messages from outside.
type Carrier interface {
	// RegPublication adds a type that p's bridge publishes. A type that the plugin knows
	// already, or a message whose name has another definition, is bridges.ErrDuplicate, and the
	// first stays. ErrDefinition says what a message lacks.
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
