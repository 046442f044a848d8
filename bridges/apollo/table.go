// Package apollo has the bridges to Baidu's Apollo: [Cyber] speaks protobuf to cyber_bridge,
// [RosApollo] JSON to the rosbridge server of LG's ROS for Apollo. Both turn samples into
// Apollo's messages, and Apollo's messages into samples, by one table.
//
// # Time
//
// header.timestamp_sec is the sample's stamp in seconds, and so is measurement_time of clouds,
// pictures and localization. Nanoseconds stand exactly in lidar_timestamp, camera_timestamp,
// radar_timestamp and in each point. measurement_time of GnssBestPose and Imu is GPS time as
// Apollo wants it there. It is seconds since 1980-01-06 with 18 leap seconds, so that a stamp
// of 0 is -315964782. A stamp below 0 is an error.
//
// # Axes and places
//
// Sensors' data stay in REP-103 axes, which are Apollo's forward, left and up. Apollo's poses
// have the axes right, forward and up: their orientation is the sample's times (0, 0, -√½, √½).
// Headings count from the east to the north, radians, as Apollo reads them. Positions in the
// world are UTM where the map's place is known, else the map frame's. Velocities and headings
// are those of the map's axes, which are true east and north at the origin. They aren't turned
// by the meridian's convergence.
//
// # Messages
//
// Folder apollopb has our own .proto files of the messages that raybridge speaks, with
// Apollo's packages, names, field numbers and, up to Apollo 7, folders. Fields
// that raybridge neither sends nor reads are left out; receivers with the full messages
// see them as unset. The Go code of all of them is one package.
//
// # Gaps
//
// A radar object has no orientation and an obstacle no tracking time, so those fields are
// unset. A control command's steering rate is in per cent of an angle that isn't known
// here, and is left out. perception.PerceptionLanes is
// made of sample.LaneLines.
package apollo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

//go:generate go run github.com/raybridge/raybridge/internal/gen protobuf apollopb apollopb

// protoPublication is a type of sample with the message that carries it. Its Schema is the
// message's descriptor.
type protoPublication = bridges.Publication[protoMessage, protoreflect.MessageDescriptor]

// protoSend encodes and sends, or queues, one message: see [bridges.Send].
type protoSend = bridges.Send[protoMessage]

// protoSubscription is a message with the type of sample that is made of it. Its Schema is the
// message's descriptor.
type protoSubscription = bridges.Subscription[proto.Message, protoreflect.MessageDescriptor]

// protoInbox takes the messages of one subscription.
type protoInbox = bridges.Inbox[proto.Message]

// pointer is the pointer to a structure M which is a protobuf message.
type pointer[M any] interface {
	*M
	proto.Message
}

// converter makes messages of one type of samples, in the memory of the last one.
type converter[T any] struct {
	descriptor protoreflect.MessageDescriptor
	// make returns a new function that converts.
	make func() func(src T, at spatial.MapFrame) (protoMessage, error)
}

// converted is the converter to a structure.
func converted[M any, P pointer[M], T any](convert func(P, T, spatial.MapFrame) error) converter[T] {
	return converter[T]{
		descriptor: P(new(M)).ProtoReflect().Descriptor(),
		make: func() func(T, spatial.MapFrame) (protoMessage, error) {
			message := P(new(M))
			boxed := protoMessage(structure{message})
			return func(src T, at spatial.MapFrame) (protoMessage, error) { return boxed, convert(message, src, at) }
		},
	}
}

// clouds is the converter to a cloud.
func clouds[T any](convert func(*cloud, T, spatial.MapFrame) error) converter[T] {
	return converter[T]{
		descriptor: (*apollopb.PointCloud)(nil).ProtoReflect().Descriptor(),
		make: func() func(T, spatial.MapFrame) (protoMessage, error) {
			c := new(cloud)
			return func(src T, at spatial.MapFrame) (protoMessage, error) { return c, convert(c, src, at) }
		},
	}
}

// publication makes the protoPublication of a converter.
func publication[T simtime.Stamped](c converter[T]) protoPublication {
	return bridges.Publish(string(c.descriptor.FullName()), c.descriptor, func(i bridges.Instance) func(T) (protoMessage, error) {
		convert := c.make()
		return func(src T) (protoMessage, error) { return convert(src, mapOf(i)) }
	})
}

// mapOf returns where an instance's map lies.
func mapOf(i bridges.Instance) spatial.MapFrame {
	if mapped, ok := i.(mapped); ok {
		return mapped.Map()
	}
	return spatial.MapFrame{}
}

// errEmpty says that nothing is set in a message, so that it has no bytes. It doesn't
// command a vehicle to do nothing.
var errEmpty = errors.New("message is empty")

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

// subscription makes the protoSubscription of a conversion.
func subscription[M any, P pointer[M], S any](convert func(*S, P, spatial.MapFrame) error) protoSubscription {
	descriptor := P(new(M)).ProtoReflect().Descriptor()
	presence := tellsPresence(descriptor)
	return bridges.Subscribe(string(descriptor.FullName()), descriptor, func() proto.Message { return P(new(M)) }, func(i bridges.Instance) func(proto.Message) (*S, error) {
		return func(m proto.Message) (*S, error) {
			if presence && proto.Size(m) == 0 {
				return nil, fmt.Errorf("%s: %w", descriptor.FullName(), errEmpty)
			}
			s := new(S)
			return s, convert(s, m.(P), mapOf(i))
		}
	})
}

// correctedChannel is in the name of the channel that Apollo has for corrected
// measurements, "/apollo/sensor/gnss/corrected_imu", and in SVL's CorrectedTopic.
const correctedChannel = "corrected"

// none is why other samples aren't carried either: Apollo's readers need a .proto of their own for
// each message, so there are no mirrors.
const none = "Apollo has no message for it"

// gaps are the samples that Apollo has in another form.
func gaps() []bridges.Gap {
	const chassis = "Apollo has it in its Chassis, which is made of CanBus"
	return []bridges.Gap{
		bridges.Lacks[*sample.CameraInfo]("Apollo reads calibrations from its own files"),
		bridges.Lacks[*sample.Transforms]("Apollo reads fixed frames from its own files, and has the vehicle's place as LocalizationEstimate"),
		bridges.Lacks[*sample.Speed](chassis), bridges.Lacks[*sample.VehicleOdometry](chassis),
		bridges.Lacks[*sample.Radar]("Apollo has messages of a radar's objects, not of its returns"),
		bridges.Lacks[*sample.Range]("Apollo's Ultrasonic has the distances of all sensors in one message, a Range is one sensor's"),
		bridges.Lacks[*sample.Comfort](none + ", and SVL's sensor has none there"),
		bridges.Lacks[*sample.Destination]("Apollo's routing requests name lanes of its own map"),
		bridges.Lacks[*sample.LaneMarks]("Apollo reads lanes from its own map"),
		bridges.Lacks[*sample.Snapshot]("Apollo has the actors as PerceptionObstacles, made of 3-D boxes"),
	}
}

// publications returns a protoPublication of each type of sample that Apollo has a message
// for. An Imu is a drivers.gnss.Imu, but a localization.CorrectedImu on a channel whose
// name has "corrected" in it.
func publications() []protoPublication {
	measured, corrected := publication(converted(rawImu)), publication(converted(correctedImu))
	imu := func(channel string) protoPublication {
		return oneOf(strings.Contains(channel, correctedChannel), corrected, measured)
	}
	return []protoPublication{
		publication(converted(clock)), publication(converted(image)), publication(converted(compressedImage)),
		publication(clouds((*cloud).fromCloud)), publication(clouds((*cloud).fromScan)),
		publication(converted(gnssBestPose)), publication(converted(gps)), publication(converted(insStat)),
		measured.ByTopic(imu), publication(converted(localizationEstimate)),
		publication(converted(chassis)), publication(converted(contiRadar)),
		publication(converted(detection2DArray)), publication(converted(perceptionObstacles)),
		publication(converted(trafficLights)), publication(converted(perceptionLanes)),
	}
}

// subscriptions returns a protoSubscription of each message that can become a sample.
func subscriptions() []protoSubscription {
	return []protoSubscription{subscription(readControl), subscription(readDetection2DArray), subscription(readObstacles)}
}
