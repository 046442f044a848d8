package foxglove

import (
	"context"
	"reflect"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
)

// Schema describes the messages of a type of one's own: its name, the schema's language
// ("protobuf", "ros2msg", "jsonschema") and text, and how messages are encoded ("protobuf",
// "cdr", "json"). A protobuf schema is a serialised FileDescriptorSet.
type Schema = foxglovemsg.Schema

// RegPublisher lets the bridge publish messages of a type of one's own. encode appends the
// encoded message to dst and returns the result; it is called from any goroutine and
// keeps no hold of msg.
func RegPublisher[T bridges.Stamped](p *bridges.Plugin, schema Schema, encode func(dst []byte, msg T) ([]byte, error)) error {
	if err := bridges.AddType[T](p, schema.Name); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		send, err := open(i, info, schema)
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex
		message := &foreign[T]{encode: encode} // guarded by mu
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			message.msg = msg
			return send(ctx, message, msg.Stamp())
		}, nil
	})
}

// foreign is a message of a type from outside.
type foreign[T any] struct {
	encode func([]byte, T) ([]byte, error)
	msg    T
	size   int // of the message before
}

// Size returns the size of the topic's message before this one.
func (m *foreign[T]) Size() int { return m.size }

// Append appends the encoded message.
func (m *foreign[T]) Append(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst, err := m.encode(dst, m.msg)
	m.size = len(dst) - begin
	return dst, err
}

// RegSubscriber lets clients publish messages of a type of one's own, under the given name
// ("pkg/Type" and "pkg/msg/Type" are the same). decode reads what a client sent in the
// encoding that it advertised; it is called by one goroutine at a time for each topic and
// keeps no hold of data. Its error is told to the client.
func RegSubscriber[T any](p *bridges.Plugin, typeName string, decode func(encoding string, data []byte) (T, error)) error {
	if !p.Knows(reflect.TypeFor[T]()) {
		if err := bridges.AddType[T](p, typeName); err != nil {
			return err
		}
	}
	return bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(T)) error {
		i.(*instance).inboxes.add(topic.Name, &inbox{typeName: fullName(typeName), anyEncoding: true, take: func(c *clientChannel, data []byte) error {
			msg, err := decode(c.encoding, data)
			if err != nil {
				return err
			}
			deliver(msg)
			return nil
		}})
		return nil
	})
}
