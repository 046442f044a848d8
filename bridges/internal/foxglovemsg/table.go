// Package foxglovemsg makes the messages that Foxglove shows out of samples. They are those of
// Foxglove's own schemas, in protobuf, where there is one, and ROS 2 messages in CDR for the
// rest. Foxglove, and every reader of MCAP, takes both side by side.
//
// # Usage
//
// A bridge registers with the list of [Publications] instead of one of its own:
//
//	for _, pub := range foxglovemsg.Publications() {
//		err = errors.Join(err, pub.Register(plugin, pub.Type, open))
//	}
//
// open is told the [Schema] of a topic when its publisher is made. It returns a [Send] that is
// given each message to append to a buffer.
//
// # Schemas
//
// Folder foxglove has the .proto files: names, numbers and types are those of
// foxglove/foxglove-sdk's schemas/proto, the words are ours. Schema.Data of a protobuf
// message is a serialised FileDescriptorSet with all that the message's file imports,
// imports first.
//
// # Conversions
//
//	sample.PointCloud        foxglove.PointCloud         in its own point layout
//	sample.Image             foxglove.RawImage           encodings as they are; Foxglove shows all but 32SC1, 32FC2 and 32FC3
//	sample.CompressedImage   foxglove.CompressedImage
//	sample.CameraInfo        foxglove.CameraCalibration  "equidistant" is called "kannala_brandt"
//	sample.Transforms        foxglove.FrameTransforms
//	sample.LaserScan         foxglove.LaserScan
//	sample.GnssFix           foxglove.LocationFix        the status as metadata
//	sample.GpsOdometry       foxglove.LocationFix        with heading and velocity
//	sample.Odometry          foxglove.Odometry
//	sample.Detections3D      foxglove.SceneUpdate        a box and a text each; removes those of before
//	sample.Signals           foxglove.SceneUpdate        in the colour that the light shows
//	sample.Detections2D      foxglove.ImageAnnotations   a rectangle and a text each
//	Log                      foxglove.Log
//	all others of rossample.Standard                     ROS 2, in CDR with ros2msg
//
// A bridge has mirrors of the rest (ros.CarryMirrors), by RegisterROS.
//
// A SceneUpdate stands for itself: it first deletes all older entities of its topic. So a
// viewer that missed the one before, or jumped, shows no box twice and none too long. Its
// entities have no lifetime: they stay until the next update.
//
// # Memory
//
// Messages are made again in the same memory. Messages with large data (PointCloud, RawImage,
// CompressedImage) are appended by hand, straight from the sample, and allocate nothing.
package foxglovemsg

import (
	"reflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/simtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:generate go run github.com/raybridge/raybridge/internal/gen protobuf . foxglove

// schemaOf describes messages of m's type.
func schemaOf(m proto.Message) Schema {
	descriptor := m.ProtoReflect().Descriptor()
	var set descriptorpb.FileDescriptorSet
	addFile(&set, descriptor.ParentFile(), map[string]bool{})
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&set)
	if err != nil {
		panic(err) // descriptors of generated code
	}
	return Schema{Name: string(descriptor.FullName()), Encoding: "protobuf", Data: data, MessageEncoding: "protobuf"}
}

// addFile adds a file after those that it imports. What only Go's generator reads is left
// out.
func addFile(set *descriptorpb.FileDescriptorSet, file protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		addFile(set, imports.Get(i).FileDescriptor, seen)
	}
	described := protodesc.ToFileDescriptorProto(file)
	described.Options = nil
	set.File = append(set.File, described)
}

// Schema describes the messages of a channel, in the words that MCAP and Foxglove's
// WebSocket protocol share.
type Schema = bridges.Schema

// Message is one message, good until the Send that it was given to returns.
type Message interface {
	// Size returns how many bytes Append adds: exactly in protobuf, about in CDR.
	Size() int
	// Append appends the encoded message to dst and returns the result.
	Append(dst []byte) ([]byte, error)
}

// Publication is a type of sample with the message that carries it.
type Publication = bridges.Publication[Message, Schema]

// Open makes the way of one topic's messages: see [bridges.Open].
type Open = bridges.Open[Message, Schema]

// Send encodes and sends, or queues, one message: see [bridges.Send].
type Send = bridges.Send[Message]

// Publications returns all messages: Foxglove's own, then those of ROS 2.
func Publications() []Publication {
	list := foxglovePublications()
	own := map[reflect.Type]bool{}
	for _, pub := range list {
		own[pub.Sample] = true
	}
	for _, pub := range rossample.Standard() {
		if own[pub.Sample] {
			continue
		}
		row, err := rosPublication(pub)
		if err != nil {
			panic(err) // the definitions are embedded
		}
		list = append(list, row)
	}
	return list
}

// foxglovePublications returns the messages of Foxglove's schemas.
func foxglovePublications() []Publication {
	return []Publication{
		publication(setPointCloud), publication(setRawImage), publication(setCompressedImage),
		publication(setCameraCalibration), publication(setFrameTransforms), publication(setLaserScan),
		publication(setLocationFix), publication(setGpsLocationFix), publication(setOdometry),
		publication(setDetections), publication(setSignals), publication(setAnnotations), publication(setLog),
	}
}

// message is a Message that can be reused.
type message interface {
	Message
	// descriptor returns an empty message of the schema.
	descriptor() proto.Message
}

// publication makes the Publication of a conversion, which sets all of dst.
func publication[M any, P interface {
	*M
	message
}, T simtime.Stamped](convert func(dst P, src T) error) Publication {
	schema := schemaOf(P(new(M)).descriptor())
	return bridges.Publish(schema.Name, schema, func(bridges.Instance) func(T) (Message, error) {
		message := P(new(M))
		return func(src T) (Message, error) { return message, convert(message, src) }
	})
}

// rosPublication carries a sample as a ROS 2 message, which is declared.
func rosPublication(pub ros.Publication) (Publication, error) {
	row, err := encode.CDR.Publication(pub)
	return bridges.PublishAs(row, row.Schema, func() func(bridges.Append) Message {
		message := &Appended{}
		return func(encode bridges.Append) Message {
			message.Encode = encode
			return message
		}
	}), err
}

// RegisterROS declares a sample's type on a bridge as a ROS 2 message.
func RegisterROS(p *bridges.Plugin, pub ros.Publication, open Open) error {
	if pub.Declare != nil { // before that it has no schema
		if err := pub.Declare(); err != nil {
			return err
		}
	}
	row, err := rosPublication(pub)
	if err != nil {
		return err
	}
	return row.Register(p, pub.Type, open)
}

// Appended is a Message that a function appends.
type Appended struct {
	Encode bridges.Append
	size   int // of the message before
}

// Size returns the size of the topic's message before this one.
func (m *Appended) Size() int { return m.size }

// Append appends the message by Encode.
func (m *Appended) Append(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst, err := m.Encode(dst)
	m.size = len(dst) - begin
	return dst, err
}
