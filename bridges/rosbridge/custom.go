package rosbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/simtime"
)

// CodecEncoding is JSON, as rosbridge has messages. It is turned into BSON with bson=1, and into
// CBOR for clients of the server mode that want it; nobody can have it as cbor-raw.
func (Factory) CodecEncoding() string { return "json" }

// RegCodec lets the bridge publish one more type, as a JSON object of its fields. The ROS behind
// the server must have the type.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return pub.Register(p, pub.Type, func(i bridges.Instance, info *bridges.PublishedTopic, schema bridges.Schema) (bridges.Send[bridges.Append], error) {
		t, err := i.(*instance).addForeign(info, fullName(schema.Name))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, encode bridges.Append, stamp simtime.Stamp) error {
			return t.sendOwn(ctx, stamp, encode)
		}, nil
	})
}

// RegReader lets the bridge subscribe to one more type. The server is asked for JSON, whatever
// the connection string says; with bson=1 there is none, and messages are counted as malformed.
func (Factory) RegReader(p *bridges.Plugin, sub bridges.Subscription[bridges.Encoded, bridges.Schema]) error {
	return sub.Register(p, sub.Type, func(i bridges.Instance, topic bridges.Topic, schema bridges.Schema, in bridges.Inbox[bridges.Encoded]) error {
		return i.(*instance).subscribe(&rosbridgev2.Subscription{
			Topic: topic.Name, Type: fullName(schema.Name), Plain: true,
			Receive: func(_ *rosbridgev2.Config, form rosbridgev2.Form, data []byte) error {
				if form != rosbridgev2.JSON {
					return fmt.Errorf("%w: %s is read from JSON alone", bridges.ErrConvert, schema.Name)
				}
				return in.Deliver(bridges.Encoded{Encoding: schema.MessageEncoding, Data: data})
			},
		})
	})
}

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

// sendOwn encodes and sends a message of a type from outside.
func (t *topic) sendOwn(ctx context.Context, stamp simtime.Stamp, encode bridges.Append) error {
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
	return t.dispatch(ctx, stamp)
}
