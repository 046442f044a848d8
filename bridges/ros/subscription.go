package ros

import (
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/bridges"
)

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
