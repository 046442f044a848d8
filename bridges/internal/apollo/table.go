// Package apollo turns samples into the messages of Baidu's Apollo, and Apollo's
// messages into samples, for all bridges that speak them: cyber as protobuf,
// rosapollo as JSON.
//
// # Usage
//
// A bridge registers the tables and says how one message goes out and how a channel is
// listened to:
//
//	for _, pub := range apollo.Publications() {
//		err = errors.Join(err, pub.Register(plugin, apollo.FullName, open))
//	}
//	for _, sub := range apollo.Subscriptions() {
//		err = errors.Join(err, sub.Register(plugin, apollo.FullName, listen))
//	}
//
// [Files] gives the descriptors of a message under the paths of either generation of
// Apollo. An instance that has a method Map is asked for the place of the map frame on
// the earth ([Mapped]).
//
// # Time
//
// header.timestamp_sec is the sample's stamp in seconds, and so is measurement_time of
// clouds, pictures and localization; nanoseconds stand exactly in lidar_timestamp,
// camera_timestamp, radar_timestamp and in each point. measurement_time of GnssBestPose
// and Imu is GPS time as Apollo wants it there: seconds since 1980-01-06 with 18 leap
// seconds, so that a stamp of 0 is -315964782. A stamp below 0 is [ErrStamp].
//
// # Axes and places
//
// Sensors' data stay in REP-103 axes, which are Apollo's forward, left and up. What
// Apollo calls a pose has the axes right, forward and up: its orientation is the
// sample's times (0, 0, -√½, √½). Headings count from the east to the north, radians,
// as Apollo reads them. Positions in the world are UTM where the map's place is known,
// else the map frame's; velocities and headings are those of the map's axes, which are
// true east and north at the origin: they aren't turned by the meridian's convergence.
//
// # Messages
//
// Folder apollopb has our own .proto files of the messages that raybridge speaks, with
// Apollo's packages, names, field numbers and, up to Apollo 7, folders ([Layout]). Fields
// that raybridge neither sends nor reads are left out; receivers with the full messages
// see them as unset. The Go code of all of them is one package.
//
// # Gaps
//
// A radar object has no orientation and an obstacle no tracking time, so those fields are
// unset. A control command's steering rate is in per cent of an angle that isn't known
// here, and is left out. perception.PerceptionLanes is
// made of sample.LaneLines, which no sensor of raybridge publishes yet.
package apollo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/apollo/apollopb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

//go:generate go run github.com/raybridge/raybridge/internal/gen protobuf apollopb apollopb

// Publication is a type of sample with the message that carries it. Its Schema is the
// message's descriptor.
type Publication = bridges.Publication[Message, protoreflect.MessageDescriptor]

// Send encodes and sends, or queues, one message: see [bridges.Send].
type Send = bridges.Send[Message]

// Subscription is a message with the type of sample that is made of it. Its Schema is the
// message's descriptor.
type Subscription = bridges.Subscription[proto.Message, protoreflect.MessageDescriptor]

// Inbox takes the messages of one subscription.
type Inbox = bridges.Inbox[proto.Message]

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

// publication makes the Publication of a converter.
func publication[T bridges.Stamped](c converter[T]) Publication {
	return bridges.Publish(string(c.descriptor.FullName()), c.descriptor, func(i bridges.Instance) func(T) (Message, error) {
		convert := c.make()
		return func(src T) (Message, error) { return convert(src, mapOf(i)) }
	})
}

// mapOf returns the place of an instance's map; nil is unknown.
func mapOf(i bridges.Instance) *Map {
	if mapped, ok := i.(Mapped); ok {
		return mapped.Map()
	}
	return nil
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
	return bridges.Subscribe(string(descriptor.FullName()), descriptor, func() proto.Message { return P(new(M)) }, func(i bridges.Instance) func(proto.Message) (*S, error) {
		return func(m proto.Message) (*S, error) {
			if presence && proto.Size(m) == 0 {
				return nil, fmt.Errorf("%s: %w", descriptor.FullName(), ErrEmpty)
			}
			s := new(S)
			return s, convert(s, m.(P), mapOf(i))
		}
	})
}

// correctedChannel is in the name of the channel that Apollo has for corrected
// measurements, "/apollo/sensor/gnss/corrected_imu", and in SVL's CorrectedTopic.
const correctedChannel = "corrected"

// Publications returns a Publication of each type of sample that Apollo has a message
// for. An Imu is a drivers.gnss.Imu, but a localization.CorrectedImu on a channel whose
// name has "corrected" in it.
func Publications() []Publication {
	measured, corrected := publication(converted(rawImu)), publication(converted(correctedImu))
	imu := func(channel string) Publication {
		return oneOf(strings.Contains(channel, correctedChannel), corrected, measured)
	}
	return []Publication{
		publication(converted(clock)), publication(converted(image)), publication(converted(compressedImage)),
		publication(clouds((*cloud).fromCloud)), publication(clouds((*cloud).fromScan)),
		publication(converted(gnssBestPose)), publication(converted(gps)), publication(converted(insStat)),
		measured.ByTopic(imu), publication(converted(localizationEstimate)),
		publication(converted(chassis)), publication(converted(contiRadar)),
		publication(converted(detection2DArray)), publication(converted(perceptionObstacles)),
		publication(converted(trafficLights)), publication(converted(perceptionLanes)),
	}
}

// Subscriptions returns a Subscription of each message that can become a sample.
func Subscriptions() []Subscription {
	return []Subscription{subscription(readControl), subscription(readDetection2DArray), subscription(readObstacles)}
}

// NewPublication makes a Publication of a type from outside. convert sets a message that
// is empty.
func NewPublication[M any, P interface {
	*M
	proto.Message
}, T bridges.Stamped](convert func(dst P, src T) error) Publication {
	return publication(converted(func(dst P, src T, _ *Map) error {
		proto.Reset(dst)
		return convert(dst, src)
	}))
}

// NewSubscription makes a Subscription of a message from outside.
func NewSubscription[M any, P interface {
	*M
	proto.Message
}, S any](convert func(dst *S, src P) error) Subscription {
	return subscription(func(dst *S, src P, _ *Map) error { return convert(dst, src) })
}
