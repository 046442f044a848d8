// Package ros lets the bridges to ROS carry message types of your own. A message is
// written once, as a Go structure that visits its fields; its encodings (CDR, ROS 1, JSON,
// BSON, CBOR), its .msg definition, ROS 1's md5 sum and ROS 2's type hash follow from that.
//
//	type Comfort struct {
//		Header ros.Header
//		Jerk   float64
//	}
//
//	func (m *Comfort) TypeName() string { return "comfort_msgs/msg/Comfort" }
//
//	func (m *Comfort) Fields(v ros.Visitor) {
//		v.Message("header", &m.Header)
//		v.Float64("jerk", &m.Jerk)
//	}
//
// A conversion joins the message with the type that a sensor publishes, and Register tells
// bridges of it:
//
//	pub := ros.Publish(func(dst *Comfort, src *Measured) error { ... })
//	err := ros.Register(registry, pub, "mcap", "rosbridge", "ros1")
//
// A message has fields of all of ROS's types but wstring, alone or in arrays of any size or
// of a fixed one. A message with constants, with bounds, or with fields of the types byte and
// char has a Definition besides, its .msg file (see [Definer]); bounds are for whoever
// receives it to know, nothing here holds a message to them. ROS 1 has neither bounds nor
// default values: its definition leaves them out. BSON has no integers beyond an int64's.
// Where ROS 1 calls a field otherwise than ROS 2, the message is a [Renamer].
package ros

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
)

// Message is one ROS message structure; its pointer implements it.
type Message = rosmsg.Message

// Visitor is given every field of a message: encoders read them, decoders set them. The
// bridges implement it.
type Visitor = rosmsg.Visitor

// Definer is a Message with a Definition, its .msg file, which must have the fields that the
// message visits: a byte and a char are visited as uint8, a bound isn't visited.
type Definer = rosmsg.Definer

// Renamer is a Message some of whose fields have other names in ROS 1.
type Renamer = rosmsg.Renamer

// Messages is an array of nested messages; List and FixedList make one.
type Messages = rosmsg.Messages

// Bytes is the content of an uint8[] field, which may be written where an encoder wants it.
type Bytes = rosmsg.Bytes

// Array is an array of primitives; Sequence and Fixed make one.
type Array = rosmsg.Array

// Element is what an Array has: a primitive's type in Go.
type Element = rosmsg.Element

// Sequence makes a slice visitable, as in v.Array("name", ros.Sequence(&m.Name)).
func Sequence[T Element](slice *[]T) Array { return rosmsg.Sequence(slice) }

// Fixed makes an array of a fixed size visitable, as in v.Array("id", ros.Fixed(m.ID[:])).
func Fixed[T Element](array []T) Array { return rosmsg.Fixed(array) }

// List makes a slice of messages visitable, as in v.Messages("points", ros.List(&m.Points)).
func List[M any, P interface {
	*M
	Message
}](slice *[]M) Messages {
	return rosmsg.List[M, P](slice)
}

// FixedList makes an array of messages visitable whose type has a size, as in
// v.Messages("corners", ros.FixedList(m.Corners[:])).
func FixedList[M any, P interface {
	*M
	Message
}](array []M) Messages {
	return rosmsg.FixedList[M, P](array)
}

// ErrDefinition says that a message can't be used; the error's text says why.
var ErrDefinition = rosmsg.ErrDefinition

// Publication is a type that sensors publish, with the ROS message that carries it. It can
// be registered with any number of bridges and registries.
type Publication = rossample.Publication

// Subscription is a ROS message with the type that is made of it for those who subscribe.
type Subscription = rossample.Subscription

// Publish makes a Publication of samples T, mostly a pointer, as messages M. convert sets
// all of dst, which is used again for the topic's next sample; it keeps no hold of either,
// and is called by one goroutine at a time for each topic. An error drops the sample and
// counts it.
func Publish[M any, P interface {
	*M
	Message
}, T bridges.Stamped](convert func(dst P, src T) error) Publication {
	return rossample.Publish(convert)
}

// Subscribe makes a Subscription to messages M as samples *S. Both are convert's own: dst
// is new and may share src's memory. An error says that the message makes no sense; it is
// counted as malformed. convert doesn't block.
func Subscribe[M any, P interface {
	*M
	Message
}, S any](convert func(dst *S, src P) error) Subscription {
	return rossample.Subscribe(convert)
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
