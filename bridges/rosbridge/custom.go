package rosbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
)

// own is a message of a type from outside: its JSON, and what that says.
type own struct {
	json   []byte
	object map[string]any
}

// append appends the message in a form other than Raw.
func (o *own) append(dst []byte, form rosbridgev2.Form) []byte {
	switch form {
	case rosbridgev2.BSON:
		return rosbridgev2.AppendBSON(dst, o.object)
	case rosbridgev2.CBOR:
		data, err := cbor.Marshal(o.object)
		if err != nil { // it is made of what JSON has
			panic(fmt.Sprintf("rosbridge: %v", err))
		}
		return append(dst, data...)
	default:
		return append(dst, o.json...)
	}
}

// fullName returns "package/msg/Type" for either name of a message type.
func fullName(wire string) string {
	if strings.Contains(wire, "/msg/") {
		return wire
	}
	return strings.Replace(wire, "/", "/msg/", 1)
}

// RegPublisher lets the bridge publish messages of a type of one's own, which the ROS behind
// the server must have: wire is its name, "package/Type". encode appends msg to dst as a
// JSON object of the type's fields, as rosbridge has it, and returns the result; it is
// called by one goroutine at a time for each topic, and keeps no hold of msg. With bson=1,
// and for clients of the server mode that want CBOR, the object is turned into these;
// nobody can have it as cbor-raw.
func RegPublisher[T any](p *bridges.Plugin, wire string, encode func(dst []byte, msg T) ([]byte, error)) error {
	if err := bridges.AddType[T](p, wire); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t, err := i.(*instance).addForeign(info, fullName(wire))
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			var stampNs int64
			if s, ok := any(msg).(bridges.Stamped); ok {
				stampNs = s.Stamp()
			}
			return t.sendOwn(ctx, stampNs, func(dst []byte) ([]byte, error) { return encode(dst, msg) })
		}, nil
	})
}

// sendOwn encodes and sends a message of a type from outside.
func (t *topic) sendOwn(ctx context.Context, stampNs int64, encode func(dst []byte) ([]byte, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := encode(t.own.json[:0])
	if err == nil {
		t.own.json, t.own.object = text, nil
		err = bridges.CheckSize(int64(len(text)), t.instance.limit)
	}
	if err == nil {
		err = json.Unmarshal(text, &t.own.object)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	return t.dispatch(ctx, stampNs)
}

// RegSubscriber lets the bridge subscribe to messages of a type of one's own. decode makes
// a message of its JSON object, which is good only until it returns. The server is asked
// for JSON, whatever the connection string says; with bson=1 there is none, and messages
// are counted as malformed.
func RegSubscriber[T any](p *bridges.Plugin, wire string, decode func(object []byte) (T, error)) error {
	if err := bridges.AddType[T](p, wire); err != nil && !errors.Is(err, bridges.ErrDuplicate) {
		return err // a type that is published too is declared already
	}
	return bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(T)) error {
		return i.(*instance).subscribe(&rosbridgev2.Subscription{
			Topic: topic.Name, Type: fullName(wire), Plain: true,
			Receive: func(_ *rosbridgev2.Config, form rosbridgev2.Form, data []byte) error {
				if form != rosbridgev2.JSON {
					return fmt.Errorf("%w: %s is read from JSON alone", bridges.ErrConvert, wire)
				}
				msg, err := decode(data)
				if err != nil {
					return err
				}
				deliver(msg)
				return nil
			},
		})
	})
}
