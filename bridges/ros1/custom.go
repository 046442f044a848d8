package ros1

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/raybridge/raybridge/bridges"
)

// Schema is a type of message of one's own, as ROS 1 nodes agree on it.
type Schema struct {
	// Name is "package/Type".
	Name string
	// MD5 is what "rosmsg md5" prints for it, Definition what "gendeps --cat" does: the
	// .msg file, and those of all messages that it is made of. rosbag and tools without
	// the class need the definition.
	MD5, Definition string
}

// RegPublisher lets the bridge publish messages of a type of one's own. encode appends msg
// to dst as ROS 1 serialises it and returns the result; it is called by one goroutine at a
// time for each topic, and keeps no hold of msg.
func RegPublisher[T any](p *bridges.Plugin, schema Schema, encode func(dst []byte, msg T) ([]byte, error)) error {
	if err := bridges.AddType[T](p, schema.Name); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t, err := newTopic(i, info, messageType{schema.Name, schema.MD5, schema.Definition})
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex // held while a message is encoded
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			return t.sendBytes(ctx, func(dst []byte) ([]byte, error) { return encode(dst, msg) })
		}, nil
	})
}

// RegSubscriber lets the bridge subscribe to messages of a type of one's own. decode makes
// a message of its bytes, which are good only until it returns.
func RegSubscriber[T any](p *bridges.Plugin, schema Schema, decode func(data []byte) (T, error)) error {
	if err := bridges.AddType[T](p, schema.Name); err != nil && !errors.Is(err, bridges.ErrDuplicate) {
		return err // a type that is published too is declared already
	}
	return bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(T)) error {
		return addSubscription(i, topic, messageType{schema.Name, schema.MD5, schema.Definition}, func(data []byte) error {
			msg, err := decode(data)
			if err != nil {
				return fmt.Errorf("%w: %w", bridges.ErrProtocol, err)
			}
			deliver(msg)
			return nil
		})
	})
}
