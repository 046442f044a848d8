package foxglovemsg

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

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
}, T bridges.Stamped](convert func(dst P, src T) error) Publication {
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
		message := &rosMessage{}
		return func(encode bridges.Append) Message {
			message.encode = encode
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

// rosMessage is a ROS 2 message as a Message.
type rosMessage struct {
	encode bridges.Append
	size   int // of the message before
}

// Size returns the size of the topic's message before this one.
func (m *rosMessage) Size() int { return m.size }

// Append appends the message in CDR.
func (m *rosMessage) Append(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst, err := m.encode(dst)
	m.size = len(dst) - begin
	return dst, err
}
