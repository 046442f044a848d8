package foxglovemsg

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Schema describes the messages of a channel, in the words that MCAP and Foxglove's
// WebSocket protocol share.
type Schema struct {
	// Name is the message type's full name: "foxglove.PointCloud",
	// "sensor_msgs/msg/Imu".
	Name string
	// Encoding is the language of Data: "protobuf" (a FileDescriptorSet) or "ros2msg".
	Encoding string
	Data     []byte
	// MessageEncoding is how messages are encoded: "protobuf" or "cdr".
	MessageEncoding string
}

// Message is one message, good until the Send that it was given to returns.
type Message interface {
	// Size returns how many bytes Append adds: exactly in protobuf, about in CDR.
	Size() int
	// Append appends the encoded message to dst and returns the result.
	Append(dst []byte) ([]byte, error)
}

// Publication is a type of sample with the message that carries it.
type Publication struct {
	// Type is the message's full name, such as "foxglove.PointCloud".
	Type string
	// Schema describes the message. Its Data are shared and not to be changed.
	Schema Schema
	// Sample is the type of sample, such as *sample.PointCloud.
	Sample    reflect.Type
	declare   func(p *bridges.Plugin, wire string, open Open) error
	converter func() Convert
}

// Convert makes the message of a sample of the publication's type; both are good until
// its next call. It is called by one goroutine at a time. Its errors are
// bridges.ErrConvert.
type Convert func(sample bridges.Stamped) (Message, error)

// Converter returns a conversion with a message of its own, which is reused; nil for a
// ROS 2 message, which rossample's converter makes.
func (pub Publication) Converter() Convert {
	if pub.converter == nil {
		return nil
	}
	return pub.converter()
}

// Open makes the way of one topic's messages on an instance of the bridge that
// registered them. It is called when a publisher is added.
type Open func(instance bridges.Instance, topic *bridges.PublishedTopic, schema Schema) (Send, error)

// Send encodes and sends, or queues, one message, which is good only until it returns.
// stampNs is when it was captured. It is called by one goroutine at a time.
type Send func(ctx context.Context, message Message, stampNs int64) error

// Register declares the sample's type on a bridge, by the name that the bridge's
// protocol has for the message.
func (pub Publication) Register(p *bridges.Plugin, wire string, open Open) error {
	return pub.declare(p, wire, open)
}

// Publications returns all messages: Foxglove's own, then those of ROS 2.
func Publications() []Publication {
	list := foxglovePublications()
	own := map[reflect.Type]bool{}
	for _, pub := range list {
		own[pub.Sample] = true
	}
	for _, pub := range rossample.Standard() {
		if !own[pub.Sample] {
			list = append(list, rosPublication(pub))
		}
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
	// A converter has one message, so that nothing is allocated for each sample.
	converter := func() func(T) (Message, error) {
		message := P(new(M))
		return func(src T) (Message, error) {
			if err := convert(message, src); err != nil {
				return nil, fmt.Errorf("%w: %w", bridges.ErrConvert, err)
			}
			return message, nil
		}
	}
	return Publication{
		Type: schema.Name, Schema: schema, Sample: reflect.TypeFor[T](),
		converter: func() Convert {
			made := converter()
			return func(sample bridges.Stamped) (Message, error) {
				if src, ok := sample.(T); ok {
					return made(src)
				}
				return nil, fmt.Errorf("%w: %s is made of %v, not of %T", bridges.ErrConvert, schema.Name, reflect.TypeFor[T](), sample)
			}
		},
		declare: func(p *bridges.Plugin, wire string, open Open) error {
			if err := bridges.AddType[T](p, wire); err != nil {
				return err
			}
			return bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
				send, err := open(i, topic, schema)
				if err != nil {
					return nil, err
				}
				return publisher(converter(), send), nil
			})
		},
	}
}

// publisher converts and sends.
func publisher[T bridges.Stamped](convert func(T) (Message, error), send Send) bridges.Publisher[T] {
	var mu sync.Mutex // guards convert's message
	return func(ctx context.Context, src T) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		message, err := convert(src)
		if err != nil {
			return err
		}
		return send(ctx, message, src.Stamp())
	}
}

// rosPublication carries a sample as a ROS 2 message.
func rosPublication(pub ros.Publication) Publication {
	schema, err := rosSchema(pub.Type)
	if err != nil {
		panic(err) // the definitions are embedded
	}
	return Publication{
		Type: pub.Type, Schema: schema, Sample: pub.Sample,
		declare: func(p *bridges.Plugin, wire string, open Open) error {
			return pub.Register(p, wire, openROS(open))
		},
	}
}

// RegisterROS declares a sample's type on a bridge as a ROS 2 message.
func RegisterROS(p *bridges.Plugin, pub ros.Publication, open Open) error {
	return pub.Register(p, pub.Type, openROS(open))
}

// rosSchema describes a ROS 2 message.
func rosSchema(typeName string) (Schema, error) {
	text, err := ros.ROS2.Definition(typeName)
	return Schema{Name: typeName, Encoding: "ros2msg", Data: []byte(text), MessageEncoding: "cdr"}, err
}

// openROS makes the way of ROS 2 messages.
func openROS(open Open) ros.Open {
	return func(i bridges.Instance, topic *bridges.PublishedTopic, typeName string) (ros.Send, error) {
		schema, err := rosSchema(typeName)
		if err != nil {
			return nil, err
		}
		send, err := open(i, topic, schema)
		if err != nil {
			return nil, err
		}
		message := &rosMessage{}
		return func(ctx context.Context, m ros.Message, stampNs int64) error {
			message.message = m
			return send(ctx, message, stampNs)
		}, nil
	}
}

// rosMessage is a ROS 2 message as a Message.
type rosMessage struct {
	message ros.Message
	encoder encode.BinaryEncoder
	size    int // of the message before
}

// Size returns the size of the topic's message before this one.
func (m *rosMessage) Size() int { return m.size }

// Append appends the message in CDR.
func (m *rosMessage) Append(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst = m.encoder.Append(dst, m.message)
	m.size = len(dst) - begin
	return dst, nil
}
