package bridges

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/raybridge/raybridge/simtime"
)

// Publication is a row of a bridge's table: a type that sensors publish, with the message M
// that carries it. S describes the message in the words of a protocol: its name, a schema
// or a descriptor. A row can be registered with any number of bridges and registries.
type Publication[M, S any] struct {
	// Type is the message's full name, such as "sensor_msgs/msg/Image".
	Type string
	// Schema describes the message. It is shared and not to be changed.
	Schema S
	// Sample is the type of sample, such as *sample.Image.
	Sample reflect.Type
	// Declare is called at the start of each registration; its error refuses it (optional).
	Declare func() error

	register  func(p *Plugin, wire string, open OpenSample) error
	converter func(instance Instance) Convert[M]
	choose    func(topic string) Publication[M, S] // nil for always this row
}

// Convert makes the message of a sample of the publication's type; both are good until
// its next call. It is called by one goroutine at a time. Its errors are ErrConvert.
type Convert[M any] func(sample simtime.Stamped) (M, error)

// Open makes the way of one topic's messages, which schema describes, on an instance of
// the bridge that registered the row. It is called when a publisher is added.
type Open[M, S any] func(instance Instance, topic *PublishedTopic, schema S) (Send[M], error)

// Send encodes and sends, or queues, one message, which is good only until it returns.
// stamp is when it was captured. It is called by one goroutine at a time.
type Send[M any] func(ctx context.Context, message M, stamp simtime.Stamp) error

// OpenSample is Open for bridges whose connection decides on the message that carries a
// sample.
type OpenSample func(instance Instance, topic *PublishedTopic) (SendSample, error)

// SendSample converts, encodes and sends one sample of the publication's type, which it
// keeps no hold of. It is called from any goroutine.
type SendSample func(ctx context.Context, sample simtime.Stamped) error

// Publish makes a Publication of samples T, mostly a pointer, as messages M. converter returns
// a conversion with a message of its own, which is used again for the topic's next sample. The
// instance is nil for a conversion that no bridge asked for. The conversion keeps no hold of
// the sample, and is called by one goroutine at a time for each topic. An error drops the
// sample and counts it.
func Publish[T simtime.Stamped, M, S any](typeName string, schema S, converter func(instance Instance) func(T) (M, error)) Publication[M, S] {
	return publication(typeName, schema, converter)
}

// PublishAny is Publish for samples of a type t that is known at run time only. They are
// simtime.Stamped.
func PublishAny[M, S any](t reflect.Type, typeName string, schema S, converter func(instance Instance) func(simtime.Stamped) (M, error)) Publication[M, S] {
	pub := Publish(typeName, schema, converter)
	pub.Sample = t
	pub.register = func(p *Plugin, wire string, open OpenSample) error { return p.addErased(t, wire, open) }
	return pub
}

// publication is Publish for a T that is known to be simtime.Stamped at run time only.
func publication[T, M, S any](typeName string, schema S, converter func(instance Instance) func(T) (M, error)) Publication[M, S] {
	return Publication[M, S]{
		Type: typeName, Schema: schema, Sample: reflect.TypeFor[T](),
		register: func(p *Plugin, wire string, open OpenSample) error {
			return RegPublisher(p, wire, func(i Instance, topic *PublishedTopic) (Publisher[T], error) {
				send, err := open(i, topic)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context, msg T) error { return send(ctx, any(msg).(simtime.Stamped)) }, nil
			})
		},
		converter: func(instance Instance) Convert[M] {
			convert := converter(instance)
			return func(sample simtime.Stamped) (message M, err error) {
				src, ok := sample.(T)
				if !ok {
					return message, fmt.Errorf("%w: %s is made of %v, not of %T", ErrConvert, typeName, reflect.TypeFor[T](), sample)
				}
				if message, err = convert(src); err != nil {
					return message, fmt.Errorf("%w: %w", ErrConvert, err)
				}
				return message, nil
			}
		},
	}
}

// PublishAs makes a Publication of the same samples, whose messages box makes of the
// messages of pub. box returns a function for one topic.
func PublishAs[N, R, M, S any](pub Publication[M, S], schema R, box func() func(M) N) Publication[N, R] {
	return Publication[N, R]{
		Type: pub.Type, Schema: schema, Sample: pub.Sample, Declare: pub.Declare, register: pub.register,
		converter: func(instance Instance) Convert[N] {
			convert, boxed := pub.converter(instance), box()
			return func(sample simtime.Stamped) (message N, err error) {
				inner, err := convert(sample)
				if err != nil {
					return message, err
				}
				return boxed(inner), nil
			}
		},
	}
}

// ByTopic returns the row with another message on some topics: choose returns the row that
// a topic has, of the same type of sample.
func (pub Publication[M, S]) ByTopic(choose func(topic string) Publication[M, S]) Publication[M, S] {
	pub.choose = choose
	return pub
}

// Converter returns a conversion with a message of its own, which is reused: nothing is
// allocated for each sample.
func (pub Publication[M, S]) Converter() Convert[M] { return pub.converter(nil) }

// Register declares the sample's type on a bridge, by the name that the bridge's protocol
// has for the message. A second publication of the type is ErrDuplicate.
func (pub Publication[M, S]) Register(p *Plugin, wire string, open Open[M, S]) error {
	return pub.RegisterSample(p, wire, func(i Instance, topic *PublishedTopic) (SendSample, error) {
		row := pub
		if pub.choose != nil {
			row = pub.choose(topic.Name)
		}
		send, err := open(i, topic, row.Schema)
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex // held while the topic's one message is in use
		convert := row.converter(i)
		return func(ctx context.Context, sample simtime.Stamped) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			message, err := convert(sample)
			if err != nil {
				return err
			}
			return send(ctx, message, sample.Captured())
		}, nil
	})
}

// RegisterSample is Register for bridges that convert samples themselves.
func (pub Publication[M, S]) RegisterSample(p *Plugin, wire string, open OpenSample) error {
	if pub.Declare != nil {
		if err := pub.Declare(); err != nil {
			return err
		}
	}
	return pub.register(p, wire, open)
}

// Subscription is a row of a bridge's table. It has a message M, which S describes as in
// Publication, with the type that subscribers get made of it.
type Subscription[M, S any] struct {
	// Type is the message's full name, such as "geometry_msgs/msg/Twist".
	Type string
	// Schema describes the message. It is shared and not to be changed.
	Schema S
	// Declare is called at the start of each registration; its error refuses it (optional).
	Declare func() error

	register func(p *Plugin, wire string, listen Listen[M, S]) error
}

// Listen subscribes an instance of the bridge that registered the row to a topic of
// messages that schema describes.
type Listen[M, S any] func(instance Instance, topic Topic, schema S, in Inbox[M]) error

// Inbox takes the messages of one subscription.
type Inbox[M any] struct {
	// New returns a message to decode into.
	New func() M
	// Deliver hands one on, which is the inbox's from then on. It is called by one
	// goroutine at a time and doesn't block. An error, which is ErrConvert, says that the
	// message makes no sense.
	Deliver func(M) error
}

// Subscribe makes a Subscription to messages M, which message makes, as samples T. reader
// returns the conversion for one subscription: it owns its message, whose memory the sample
// may share, and doesn't block. Its error says that the message makes no sense, which is
// counted as malformed.
func Subscribe[T, M, S any](typeName string, schema S, message func() M, reader func(instance Instance) func(M) (T, error)) Subscription[M, S] {
	return Subscription[M, S]{Type: typeName, Schema: schema, register: func(p *Plugin, wire string, listen Listen[M, S]) error {
		return RegSubscriber(p, p.wireOf(reflect.TypeFor[T](), wire), func(i Instance, topic Topic, deliver func(T)) error {
			read := reader(i)
			return listen(i, topic, schema, Inbox[M]{New: message, Deliver: func(m M) error {
				sample, err := read(m)
				if err != nil {
					return fmt.Errorf("%w: %w", ErrConvert, err)
				}
				deliver(sample)
				return nil
			}})
		})
	}}
}

// Register declares the sample's type on a bridge, if it isn't declared yet, and how it is
// subscribed to. A second subscription of the type is ErrDuplicate.
func (sub Subscription[M, S]) Register(p *Plugin, wire string, listen Listen[M, S]) error {
	if sub.Declare != nil {
		if err := sub.Declare(); err != nil {
			return err
		}
	}
	return sub.register(p, wire, listen)
}

// Schema describes the messages of a type in the words of a recording or of a viewer's
// protocol. A bridge that needs less of it leaves the rest aside.
type Schema struct {
	// Name is the message type's full name, such as "std_msgs/msg/Float64".
	Name string
	// Encoding says what language Data is in: "ros2msg", "ros2idl", "protobuf" (a
	// FileDescriptorSet), "jsonschema"; empty for none.
	Encoding string
	Data     []byte
	// MessageEncoding is how messages are encoded: "cdr", "ros1", "lgsvl", "protobuf", "json".
	MessageEncoding string
	// MD5 is what "rosmsg md5" prints for the type. Bridge ros1 needs it, with Data as what
	// "gendeps --cat" prints; a recording has it beside the messages.
	MD5 string
}

// encodedAs returns ErrNoConverter for a schema of messages in another encoding.
func (s Schema) encodedAs(bridge, encoding string) error {
	if s.MessageEncoding != encoding {
		return fmt.Errorf("bridge %q carries messages encoded as %q, and %s as %q: %w", bridge, encoding, s.Name, s.MessageEncoding, ErrNoConverter)
	}
	return nil
}

// Codec is a message type of your own in one encoding. It lets a bridge carry the type
// without a change to that bridge.
type Codec[T any] struct {
	// Schema describes the messages. Its Data are kept and not to be changed.
	Schema Schema
	// Append appends the encoded message to dst and returns the result. It keeps no hold of
	// msg, and is called by one goroutine at a time for each topic. An error drops the message
	// and counts it as ErrConvert. It is nil for a type that isn't published; T is simtime.Stamped
	// otherwise.
	Append func(dst []byte, msg T) ([]byte, error)
	// Read makes a message of data, which is good only until it returns. encoding is the
	// sender's where its protocol tells it, else the schema's. It is called by one goroutine at
	// a time for each topic, and doesn't block. An error counts the message as malformed. It is
	// nil for a type that isn't subscribed to.
	Read func(encoding string, data []byte) (T, error)
}

// Append appends an encoded message to dst and returns the result.
type Append func(dst []byte) ([]byte, error)

// Encoded is a message as a peer has sent it. Its data are good until they were delivered.
type Encoded struct {
	Encoding string
	Data     []byte
}

// Appending returns a box for [PublishAs]: the Append of the message that it was given last.
// Nothing is allocated for each message.
func Appending[M any](encode func(dst []byte, message M) ([]byte, error)) func(M) Append {
	var last M
	appendLast := func(dst []byte) ([]byte, error) { return encode(dst, last) }
	return func(message M) Append {
		last = message
		return appendLast
	}
}

// CodecCarrier is a Factory that carries messages which a [Codec] encodes.
type CodecCarrier interface {
	// CodecEncoding is the Schema.MessageEncoding that the bridge carries, empty for any.
	CodecEncoding() string
	// RegCodec adds a type that p's bridge publishes. A type that the plugin knows already is
	// ErrDuplicate, and the first stays.
	RegCodec(p *Plugin, pub Publication[Append, Schema]) error
}

// CodecReceiver is a CodecCarrier that subscribes to such messages, too.
type CodecReceiver interface {
	CodecCarrier
	// RegReader adds a type that p's bridge subscribes to, under the rules of RegCodec. A type
	// that is published may be subscribed to as well.
	RegReader(p *Plugin, sub Subscription[Encoded, Schema]) error
}

// Register adds the type to a bridge, in the directions that the codec has. ErrNoConverter
// says that the bridge doesn't carry such messages in one of them; nothing is added then. A
// direction that is refused as ErrDuplicate leaves the other one added. Any goroutine may call
// it, before publishers are added.
func (c Codec[T]) Register(p *Plugin) error {
	name, goType := c.Schema.Name, reflect.TypeFor[T]()
	carrier, carries := p.Factory().(CodecCarrier)
	receiver, receives := p.Factory().(CodecReceiver)
	switch {
	case c.Append == nil && c.Read == nil:
		return fmt.Errorf("the codec of %s has neither Append nor Read: %w", name, ErrNoConverter)
	case !carries:
		return fmt.Errorf("bridge %q can't carry %s: it encodes messages itself: %w", p.info.Name, name, ErrNoConverter)
	case c.Read != nil && !receives:
		return fmt.Errorf("bridge %q can't subscribe to %s: it brings no messages: %w", p.info.Name, name, ErrNoConverter)
	case c.Append != nil && !goType.Implements(reflect.TypeFor[simtime.Stamped]()):
		return fmt.Errorf("%v can't be published: add a method Captured() simtime.Stamp: %w", goType, ErrNoConverter)
	}
	if want := carrier.CodecEncoding(); want != "" {
		if err := c.Schema.encodedAs(p.info.Name, want); err != nil {
			return err
		}
	}
	if c.Append != nil {
		if err := carrier.RegCodec(p, publication(name, c.Schema, func(Instance) func(T) (Append, error) {
			boxed := Appending(c.Append)
			return func(src T) (Append, error) { return boxed(src), nil }
		})); err != nil {
			return err
		}
	}
	if c.Read == nil {
		return nil
	}
	return receiver.RegReader(p, Subscribe(name, c.Schema, func() Encoded { return Encoded{} }, func(Instance) func(Encoded) (T, error) {
		return func(m Encoded) (T, error) { return c.Read(m.Encoding, m.Data) }
	}))
}
