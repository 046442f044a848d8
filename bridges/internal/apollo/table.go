package apollo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Name is the name that a bridge's protocol has for a message, such as [FullName].
type Name func(protoreflect.MessageDescriptor) string

// Publication is a type of sample with the message that carries it.
type Publication struct {
	// Type is the message's full name, such as "apollo.drivers.PointCloud".
	Type    string
	declare func(p *bridges.Plugin, name Name, open Open) error
}

// Open makes the way of one channel's messages, which are of the described type, on an
// instance of the bridge that registered it. It is called when a publisher is added.
type Open func(instance bridges.Instance, topic *bridges.PublishedTopic, message protoreflect.MessageDescriptor) (Send, error)

// Send encodes and sends, or queues, one message. stampNs is when it was captured. It is
// called by one goroutine at a time.
type Send func(ctx context.Context, message Message, stampNs int64) error

// Register declares the sample's type on a bridge, by the name that name gives the
// message.
func (pub Publication) Register(p *bridges.Plugin, name Name, open Open) error {
	return pub.declare(p, name, open)
}

// converter makes messages of one type of samples, in the memory of the last one.
type converter[T any] struct {
	descriptor protoreflect.MessageDescriptor
	// make returns a new function that converts.
	make func() func(src T, at *Map) (Message, error)
}

// converted is the converter to a structure.
func converted[M any, P interface {
	*M
	proto.Message
}, T any](convert func(P, T, *Map) error) converter[T] {
	return converter[T]{
		descriptor: P(new(M)).ProtoReflect().Descriptor(),
		make: func() func(T, *Map) (Message, error) {
			message := P(new(M))
			boxed := Message(structure{message})
			return func(src T, at *Map) (Message, error) { return boxed, convert(message, src, at) }
		},
	}
}

// clouds is the converter to a cloud.
func clouds[T any](convert func(*cloud, T, *Map) error) converter[T] {
	return converter[T]{
		descriptor: (*apollopb.PointCloud)(nil).ProtoReflect().Descriptor(),
		make: func() func(T, *Map) (Message, error) {
			c := new(cloud)
			return func(src T, at *Map) (Message, error) { return c, convert(c, src, at) }
		},
	}
}

// publication makes the Publication of the converter that choose picks for a channel.
func publication[T bridges.Stamped](usual converter[T], choose func(channel string) converter[T]) Publication {
	return Publication{Type: string(usual.descriptor.FullName()), declare: func(p *bridges.Plugin, name Name, open Open) error {
		if err := bridges.AddType[T](p, name(usual.descriptor)); err != nil {
			return err
		}
		return bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
			c := usual
			if choose != nil {
				c = choose(topic.Name)
				topic.SetWire(name(c.descriptor))
			}
			send, err := open(i, topic, c.descriptor)
			if err != nil {
				return nil, err
			}
			return publisher(i, c.make(), send), nil
		})
	}}
}

// publisher converts and sends.
func publisher[T bridges.Stamped](i bridges.Instance, convert func(T, *Map) (Message, error), send Send) bridges.Publisher[T] {
	var mu sync.Mutex // guards convert's memory
	mapped, _ := i.(Mapped)
	return func(ctx context.Context, msg T) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var at *Map
		if mapped != nil {
			at = mapped.Map()
		}
		mu.Lock()
		defer mu.Unlock()
		message, err := convert(msg, at)
		if err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
		return send(ctx, message, msg.Stamp())
	}
}

// Subscription is a message with the type of sample that is made of it.
type Subscription struct {
	// Type is the message's full name, such as "apollo.control.ControlCommand".
	Type    string
	declare func(p *bridges.Plugin, name Name, listen Listen) error
}

// Listen subscribes an instance of the bridge that registered it to a channel of
// messages of the described type.
type Listen func(instance bridges.Instance, topic bridges.Topic, message protoreflect.MessageDescriptor, in Inbox) error

// Inbox takes the messages of one subscription.
type Inbox struct {
	// New returns a message to decode into.
	New func() proto.Message
	// Deliver hands one on, which is the inbox's from then on. It is called by one
	// goroutine at a time and doesn't block. An error says that the message makes
	// no sense.
	Deliver func(proto.Message) error
}

// Register declares the sample's type on a bridge, if it isn't declared yet, and how it
// is subscribed to.
func (sub Subscription) Register(p *bridges.Plugin, name Name, listen Listen) error {
	return sub.declare(p, name, listen)
}

// ErrEmpty says that nothing is set in a message, so that it has no bytes. It doesn't
// command a vehicle to do nothing.
var ErrEmpty = errors.New("message is empty")

// tellsPresence reports whether a message's fields tell zero from not being there, as all of
// proto2's do. Where none does (proto3), a message of zeros has no bytes either.
func tellsPresence(m protoreflect.MessageDescriptor) bool {
	fields := m.Fields()
	for i := range fields.Len() {
		if fields.Get(i).HasPresence() {
			return true
		}
	}
	return false
}

// subscription makes the Subscription of a conversion.
func subscription[M any, P interface {
	*M
	proto.Message
}, S any](convert func(*S, P, *Map) error) Subscription {
	descriptor := P(new(M)).ProtoReflect().Descriptor()
	presence := tellsPresence(descriptor)
	return Subscription{Type: string(descriptor.FullName()), declare: func(p *bridges.Plugin, name Name, listen Listen) error {
		if !p.Knows(reflect.TypeFor[*S]()) {
			if err := bridges.AddType[*S](p, name(descriptor)); err != nil {
				return err
			}
		}
		return bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(*S)) error {
			mapped, _ := i.(Mapped)
			return listen(i, topic, descriptor, Inbox{
				New: func() proto.Message { return P(new(M)) },
				Deliver: func(m proto.Message) error {
					if presence && proto.Size(m) == 0 {
						return fmt.Errorf("%s: %w", descriptor.FullName(), ErrEmpty)
					}
					var at *Map
					if mapped != nil {
						at = mapped.Map()
					}
					s := new(S)
					if err := convert(s, m.(P), at); err != nil {
						return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
					}
					deliver(s)
					return nil
				},
			})
		})
	}}
}

// correctedChannel is in the name of the channel that Apollo has for corrected
// measurements, "/apollo/sensor/gnss/corrected_imu", and in SVL's CorrectedTopic.
const correctedChannel = "corrected"

// Publications returns a Publication of each type of sample that Apollo has a message
// for. An Imu is a drivers.gnss.Imu, but a localization.CorrectedImu on a channel whose
// name has "corrected" in it.
func Publications() []Publication {
	measured, corrected := converted(rawImu), converted(correctedImu)
	imu := func(channel string) converter[*sample.Imu] {
		return oneOf(strings.Contains(channel, correctedChannel), corrected, measured)
	}
	return []Publication{
		publication(converted(clock), nil), publication(converted(image), nil), publication(converted(compressedImage), nil),
		publication(clouds((*cloud).fromCloud), nil), publication(clouds((*cloud).fromScan), nil),
		publication(converted(gnssBestPose), nil), publication(converted(gps), nil), publication(converted(insStat), nil),
		publication(measured, imu), publication(converted(localizationEstimate), nil),
		publication(converted(chassis), nil), publication(converted(contiRadar), nil),
		publication(converted(detection2DArray), nil), publication(converted(perceptionObstacles), nil),
		publication(converted(trafficLights), nil), publication(converted(perceptionLanes), nil),
	}
}

// Subscriptions returns a Subscription of each message that can become a sample.
func Subscriptions() []Subscription {
	return []Subscription{subscription(readControl), subscription(readDetection2DArray), subscription(readObstacles)}
}
