// Package ros has ROS messages, and lets the bridges to ROS carry message types of your own.
//
// A message is written once, as a .msg file in folder msg. Its Go structure is generated;
// its method Fields visits the fields in the file's order. Every encoding (a [Visitor]: CDR,
// ROS 1, JSON, BSON, CBOR), every schema text, sum and hash follows from these two.
//
// The definitions are those of common_interfaces, geometry2 and rcl_interfaces as Humble to
// Rolling have them (Range as Humble has it), of vision_msgs 4, of carla_msgs, lgsvl_msgs,
// ackermann_msgs and nmea_msgs. ROS 1's differ in names alone, see [Version], except those
// of vision_msgs: ROS 1's package of that name has other fields.
//
// # Messages of your own
//
// A message of your own is a Go structure that visits its fields. Its definition, ROS 1's
// md5 sum and ROS 2's type hash follow from that.
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
// char has a Definition besides, its .msg file (see [Definer]); nothing here checks
// bounds, the receiver knows them. ROS 1 has neither bounds nor default values: its
// definition leaves them out. BSON has no integers beyond an int64's.
// Where ROS 1 calls a field otherwise than ROS 2, the message is a [Renamer].
package ros

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
)

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
