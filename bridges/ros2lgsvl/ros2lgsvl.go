// Package ros2lgsvl is the bridge "ros2lgsvl": a client of ros2-lgsvl-bridge, the program
// by which SVL Simulator reached ROS 2. It speaks that program's protocol over TCP, byte
// by byte as SVL did, with SVL's faults left out.
//
// # Connection
//
//	ros2lgsvl:HOST[:9090][?messages=N][&bytes=N][&retry=3s][&backoff=F][&longest=30s][&attempts=N]
//
// The bridge dials, and dials again every retry when it is refused or the connection is lost.
// backoff multiplies that time up to longest. After attempts in vain, if it is above 0, the
// bridge gives up. Its queue holds so many messages and bytes (64 and 64 MiB); when it is full
// the topic's policy decides.
//
// # Protocol
//
// All numbers are little endian. Registrations go first on each connection:
//
//	1 AddSubscriber  u8 op, u32 length, topic, u32 length, type "package/Name"
//	2 AddPublisher   u8 op, u32 length, topic, u32 length, type
//	3 Publish        u8 op, u32 length, topic, u32 length, message
//
// and op 3 in both directions afterwards. A message is its fields in the definition's order,
// without padding. A string is its length as u32 and its bytes. Every array, also one of fixed
// size, is its length as u32 and its elements. Package bridges/internal/encode has the details.
//
// # Types
//
// Messages are those of package rossample's SVL table. They differ from SVL's in three places:
// CameraInfo has its height before its width, as the definition says; times are whole
// nanoseconds; a cloud's points have their time, and the padding between them is zero.
//
// A topic is a name that ROS 2 allows, with or without a leading slash;
// ros2-lgsvl-bridge puts one without into its own namespace, /lgsvl.
package ros2lgsvl

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/simtime"
)

// DefaultPort is the one that ros2-lgsvl-bridge listens on unless told otherwise.
const DefaultPort = 9090

// Factory is the bridge named "ros2lgsvl".
type Factory struct{ limit int64 } // of a message, bytes; 0 for maxMessage

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "ros2lgsvl", Type: "ROS2", Kind: bridges.KindNetwork,
		Summary:    "sends to ROS 2 by way of SVL Simulator's ros2-lgsvl-bridge",
		Connection: "HOST[:9090]", Options: bridges.OptionsOf(options{}),
	}
}

// Register declares SVL's messages in both directions.
func (f Factory) Register(p *bridges.Plugin) error {
	return rossample.Register(p, f, rossample.SVL(), rossample.SVLSubscriptions())
}

// RegPublication lets the bridge publish one more type, as a ROS message, which the ROS 2
// workspace of ros2-lgsvl-bridge must have.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, wireName(pub.Type), open)
}

// RegSubscription lets the bridge subscribe to one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, wireName(sub.Type), listen)
}

// NewInstance returns a client that isn't connected.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, cmp.Or(f.limit, maxMessage)), nil
}

// wireName turns "package/msg/Name" into "package/Name".
func wireName(typeName string) string { return strings.Replace(typeName, "/msg/", "/", 1) }

// open announces a topic and returns what sends its messages.
func open(b bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	t, err := b.(*instance).publish(info, wireName(typeName))
	if err != nil {
		return nil, err
	}
	encoder := encode.LGSVL.Encoder()
	return func(ctx context.Context, message ros.Message, _ simtime.Stamp) error {
		if err := bridges.CheckSize(encoder.Size(message), t.limit); err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
		return t.send(ctx, func(dst []byte) ([]byte, error) { return encoder.Append(dst, message), nil })
	}, nil
}

// listen subscribes to a topic.
func listen(b bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
	decoder := encode.LGSVL.Decoder()
	return b.(*instance).subscribe(topic.Name, wireName(typeName), func(body []byte) error {
		message := in.New()
		if err := decoder.Decode(body, message); err != nil {
			return err
		}
		return in.Deliver(message)
	})
}

// CodecEncoding is what ros2-lgsvl-bridge reads: the rules above.
func (Factory) CodecEncoding() string { return "lgsvl" }

// RegCodec lets the bridge publish one more type, encoded by the rules above, which the ROS 2
// workspace of ros2-lgsvl-bridge must have.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return pub.Register(p, wireName(pub.Type), func(b bridges.Instance, info *bridges.PublishedTopic, schema bridges.Schema) (bridges.Send[bridges.Append], error) {
		t, err := b.(*instance).publish(info, wireName(schema.Name))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, encode bridges.Append, _ simtime.Stamp) error { return t.send(ctx, encode) }, nil
	})
}

// RegReader lets the bridge subscribe to one more type.
func (Factory) RegReader(p *bridges.Plugin, sub bridges.Subscription[bridges.Encoded, bridges.Schema]) error {
	return sub.Register(p, wireName(sub.Type), func(b bridges.Instance, topic bridges.Topic, schema bridges.Schema, in bridges.Inbox[bridges.Encoded]) error {
		return b.(*instance).subscribe(topic.Name, wireName(schema.Name), func(body []byte) error {
			return in.Deliver(bridges.Encoded{Encoding: schema.MessageEncoding, Data: body})
		})
	})
}

// options are those of a connection string.
type options struct {
	bridges.RetryOptions
	bridges.QueueOptions
}

// parseConnection reads a connection string. Every error is
// bridges.ErrConnectionString.
func parseConnection(connection string) (address string, config transport.ClientConfig, err error) {
	var o options
	target, _, err := bridges.ReadOptions(connection, &o)
	if err != nil {
		return "", config, err
	}
	address, err = bridges.DialAddress(target, DefaultPort)
	config.Queue, config.Retry = o.Queue(), o.Retry()
	return address, config, err
}

// checkTopic checks a topic's name by ROS 2's rules: ros2-lgsvl-bridge would only log
// that it can't be used.
func checkTopic(name string) error {
	if ros.ValidTopic(name) || ros.ValidTopic("/"+name) {
		return nil
	}
	return fmt.Errorf("%w: %q: ROS 2 wants letters, digits and single underscores between slashes, and no digit after a slash", bridges.ErrTopicName, name)
}

// instance is one client. Its methods may be called from any goroutine.
type instance struct {
	transport.Client
	env   bridges.Env
	limit int64 // of a message that is published, bytes

	mu            sync.RWMutex
	announced     map[string][]byte                  // guarded by mu: registrations of publishers by topic
	subscriptions map[string]func(body []byte) error // guarded by mu: by topic
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Failer    = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int64) *instance {
	return &instance{env: env, limit: limit, announced: map[string][]byte{}, subscriptions: map[string]func([]byte) error{}}
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, _, err := parseConnection(connection)
	return err
}

// Connect begins to dial.
func (i *instance) Connect(ctx context.Context, connection string) error {
	address, config, err := parseConnection(connection)
	if err != nil {
		return err
	}
	config.Log = i.env.Log
	config.Handle = i.handle
	config.Dial = func(ctx context.Context) (transport.FrameConn, error) {
		return transport.TCP{Size: frameSize}.Dial(ctx, address)
	}
	i.Open(ctx, config)
	return nil
}

// topic sends one topic's messages.
type topic struct {
	outlet *transport.Outlet
	// head begins each frame: all that comes before the message's length.
	head  []byte
	limit int64 // of a message, bytes
	// size is that of the last frame, which the next one will have about.
	size atomic.Int64
}

// publish announces a topic.
func (i *instance) publish(info *bridges.PublishedTopic, wire string) (*topic, error) {
	if err := checkTopic(info.Name); err != nil {
		return nil, err
	}
	frame := appendText(appendText([]byte{opAddPublisher}, info.Name), wire)
	i.mu.Lock()
	i.announced[info.Name] = frame
	i.mu.Unlock()
	i.Register(frame)
	return &topic{outlet: i.NewOutlet(&info.Tally, info.Policy), limit: i.limit, head: appendText([]byte{opPublish}, info.Name)}, nil
}

// Withdraw takes a topic back. The protocol has no word for it: a server that is connected learns it
// with the next connection.
func (i *instance) Withdraw(info *bridges.PublishedTopic) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Unregister(i.announced[info.Name], nil)
	delete(i.announced, info.Name)
}

// send queues the message that encode appends.
func (t *topic) send(ctx context.Context, encode func(dst []byte) ([]byte, error)) error {
	b := t.outlet.Buffer(int(t.size.Load()))
	frame := append(b.Bytes()[:0], t.head...)
	frame = append(frame, 0, 0, 0, 0)
	body := len(frame)
	frame, err := encode(frame)
	if err != nil {
		b.Release()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	size := len(frame) - body
	if err := bridges.CheckSize(int64(size), t.limit); err != nil {
		b.Release()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	binary.LittleEndian.PutUint32(frame[body-4:], uint32(size))
	t.size.Store(int64(len(frame)))
	b.Adopt(frame)
	return t.outlet.Send(ctx, b)
}

// subscribe has deliver called with each message on a topic, on the reading goroutine.
func (i *instance) subscribe(name, wire string, deliver func(body []byte) error) error {
	if err := checkTopic(name); err != nil {
		return err
	}
	i.mu.Lock()
	i.subscriptions[name] = deliver
	i.mu.Unlock()
	i.Register(appendText(appendText([]byte{opAddSubscriber}, name), wire))
	return nil
}

var errNoSubscriber = errors.New("nothing was subscribed to on topic")

// handle takes a frame of the server.
func (i *instance) handle(frame []byte) error {
	name, body := splitPublish(frame)
	i.mu.RLock()
	deliver := i.subscriptions[string(name)]
	i.mu.RUnlock()
	if deliver == nil {
		return fmt.Errorf("%w %q", errNoSubscriber, name)
	}
	if err := deliver(body); err != nil {
		return fmt.Errorf("message on topic %q: %w", name, err)
	}
	return nil
}

// Operations.
const (
	opAddSubscriber = 1
	opAddPublisher  = 2
	opPublish       = 3
)

// maxMessage is the size of the largest message that is published, bytes. Its length, and those
// of its strings and arrays, are u32 on the wire.
const maxMessage = math.MaxUint32

// maxTopic is the length of the longest topic that is read, bytes. ROS 2 has names of 255
// at most.
const maxTopic = 4096

// appendText appends a length and a text.
func appendText(dst []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// frameSize tells how long a frame of the server is, as far as its head says: the length of
// the message comes after the topic. The server sends op 3 alone.
func frameSize(head []byte) (int, error) {
	switch {
	case len(head) == 0:
		return 1, nil
	case head[0] != opPublish:
		return 0, fmt.Errorf("%w: operation %d where only %d is sent; is this ros2-lgsvl-bridge?", transport.ErrProtocol, head[0], opPublish)
	case len(head) < 5:
		return 5, nil
	}
	topic := binary.LittleEndian.Uint32(head[1:])
	if topic > maxTopic {
		return 0, fmt.Errorf("%w: a topic of %d bytes", transport.ErrProtocol, topic)
	}
	body := 5 + int(topic) + 4
	if len(head) < body {
		return body, nil
	}
	return body + int(binary.LittleEndian.Uint32(head[body-4:])), nil
}

// splitPublish returns the topic and the message of a whole frame. Both lie in it.
func splitPublish(frame []byte) (topic, body []byte) {
	n := 5 + int(binary.LittleEndian.Uint32(frame[1:]))
	return frame[5:n], frame[n+4:]
}
