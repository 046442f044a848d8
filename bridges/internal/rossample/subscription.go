package rossample

import (
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
)

// Subscription is a ROS message with the type of sample that is made of it.
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
	New func() rosmsg.Message
	// Deliver hands one on, which is the inbox's from then on. It is called by one
	// goroutine at a time and doesn't block. An error says that the message makes
	// no sense.
	Deliver func(rosmsg.Message) error
}

// Register declares the sample's type on a bridge, if it isn't declared yet, and how it
// is subscribed to.
func (sub Subscription) Register(p *bridges.Plugin, wire string, listen Listen) error {
	return sub.declare(p, wire, listen)
}

// Subscribe makes the Subscription of a conversion from outside, and declares its message
// as it is registered.
func Subscribe[M any, P messageOf[M], S any](convert func(*S, P) error) Subscription {
	sub := subscription(convert)
	declare := sub.declare
	sub.declare = func(p *bridges.Plugin, wire string, listen Listen) error {
		if err := declareMessage(P(new(M))); err != nil {
			return err
		}
		return declare(p, wire, listen)
	}
	return sub
}

// subscription makes the Subscription of a conversion.
func subscription[M any, P messageOf[M], S any](convert func(*S, P) error) Subscription {
	name := P(new(M)).TypeName()
	return Subscription{Type: name, declare: func(p *bridges.Plugin, wire string, listen Listen) error {
		if !p.Knows(reflect.TypeFor[*S]()) {
			if err := bridges.AddType[*S](p, wire); err != nil {
				return err
			}
		}
		return bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(*S)) error {
			return listen(i, topic, name, Inbox{
				New: func() rosmsg.Message { return P(new(M)) },
				Deliver: func(m rosmsg.Message) error {
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
