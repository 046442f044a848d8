package ros1

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// maxMessage is the length of a message that roscpp still reads, bytes.
const maxMessage = 1_000_000_000

// messageType is a type as connection headers name it.
type messageType struct{ name, md5, definition string }

func newMessageType(typeName string) (messageType, error) {
	md5, err := ros.MD5(typeName)
	if err != nil {
		return messageType{}, err
	}
	definition, err := ros.ROS1.Definition(typeName)
	return messageType{ros.ROS1.TypeName(typeName), md5, definition}, err
}

// topic is a topic that the node publishes. It lasts as long as its instance; its stream
// is another one with each Connect.
type topic struct {
	bridges.Outlet[*transport.Stream]
	name  string // as the master knows it
	typ   messageType
	limit int64 // of a message, bytes

	// Owned by send and sendBytes, which one goroutine calls at a time.
	encoder *encode.BinaryEncoder
	size    int // of the last message
}

// openTopic is the bridges.Open of this bridge.
func openTopic(i bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	typ, err := newMessageType(typeName)
	if err != nil {
		return nil, err
	}
	t, err := newTopic(i, info, typ)
	if err != nil {
		return nil, err
	}
	return t.send, nil
}

func newTopic(i bridges.Instance, info *bridges.PublishedTopic, typ messageType) (*topic, error) {
	name, ok := globalName(info.Name)
	if !ok {
		return nil, badName(info.Name)
	}
	instance := i.(*instance)
	t := &topic{Outlet: bridges.Outlet[*transport.Stream]{Info: info}, encoder: encode.ROS1.Encoder(), name: name, typ: typ, limit: instance.limit}
	return t, instance.add(t)
}

func badName(name string) error {
	return fmt.Errorf("%w: %q: ROS 1 wants letters, digits and underscores between slashes, a letter first", bridges.ErrTopicName, name)
}

// open gives the topic its stream on a server.
func (t *topic) open(s *transport.Server) {
	t.SetStream(s.NewStream(bridges.Count(t.Info, transport.StreamConfig{Name: t.name, Latched: t.Latched()})))
}

// listening reports whether somebody would be sent a message now, or later. It takes no
// lock.
func (t *topic) listening() bool {
	out, ok := t.Stream()
	return ok && (t.Latched() || out.Subscribers() > 0)
}

// send encodes a message once and queues it for all who have subscribed.
func (t *topic) send(ctx context.Context, message ros.Message, _ simtime.Stamp) error {
	o, err := t.begin()
	if err != nil {
		return err
	}
	if err := bridges.CheckSize(t.encoder.Size(message), t.limit); err != nil {
		return t.finish(ctx, o, err)
	}
	o.frame = t.encoder.Append(o.frame, message)
	return t.finish(ctx, o, t.encoder.Err())
}

// sendBytes is send for a message that encode appends.
func (t *topic) sendBytes(ctx context.Context, encode func(dst []byte) ([]byte, error)) error {
	o, err := t.begin()
	if err != nil {
		return err
	}
	frame, err := encode(o.frame)
	if err == nil {
		o.frame = frame
	}
	return t.finish(ctx, o, err)
}

// outgoing is a message on its way to the stream. Its frame is its length, then its
// content (wiki.ros.org/ROS/TCPROS).
type outgoing struct {
	stream  *transport.Stream
	message *transport.Message
	frame   []byte
}

// begin takes memory for a message, with room for its length.
func (t *topic) begin() (outgoing, error) {
	out, ok := t.Stream()
	switch {
	case !ok:
		return outgoing{}, flow.ErrNotConnected
	case !t.listening():
		return outgoing{}, transport.ErrNoSubscribers
	}
	m := out.NewMessage()
	return outgoing{out, m, append(m.Frame(0, t.size).Bytes()[:0], 0, 0, 0, 0)}, nil
}

// finish sends the message, or gives it up because it couldn't be encoded.
func (t *topic) finish(ctx context.Context, o outgoing, err error) error {
	t.size = len(o.frame)
	o.message.Frame(0, t.size).Adopt(o.frame)
	length := len(o.frame) - 4
	if err == nil && length < 0 {
		err = errors.New("what was there before the message is gone")
	}
	if err == nil {
		err = bridges.CheckSize(int64(length), t.limit)
	}
	if err != nil {
		o.message.Discard()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	binary.LittleEndian.PutUint32(o.frame, uint32(length))
	return o.stream.Send(ctx, o.message)
}
