package ros2lgsvl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/lgsvlwire"
	"github.com/raybridge/raybridge/bridges/internal/link"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
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
		Connection: "HOST[:9090]", Options: known,
	}
}

// Register declares SVL's messages in both directions.
func (f Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, pub := range rossample.SVL() {
		errs = append(errs, f.RegPublication(p, pub))
	}
	for _, sub := range rossample.SVLSubscriptions() {
		errs = append(errs, f.RegSubscription(p, sub))
	}
	return errors.Join(errs...)
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

// open makes the way of a topic's messages.
func open(b bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	t, err := b.(*instance).publish(info, wireName(typeName))
	if err != nil {
		return nil, err
	}
	var encoder lgsvlwire.Encoder
	return func(ctx context.Context, message ros.Message, _ int64) error {
		if err := bridges.CheckSize(encoder.Size(message), t.limit); err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
		return t.send(ctx, func(dst []byte) ([]byte, error) { return encoder.Append(dst, message), nil })
	}, nil
}

// listen subscribes to a topic.
func listen(b bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
	var decoder lgsvlwire.Decoder
	return b.(*instance).subscribe(topic.Name, wireName(typeName), func(body []byte) error {
		message := in.New()
		if err := decoder.Decode(body, message); err != nil {
			return err
		}
		return in.Deliver(message)
	})
}

// RegPublisher lets the bridge publish messages of a type of one's own, which the ROS 2
// workspace of ros2-lgsvl-bridge must have: wire is its name, "package/Name". encode
// appends msg to dst by the rules above and returns the result; it is called by one
// goroutine at a time for each topic, and keeps no hold of msg.
func RegPublisher[T any](p *bridges.Plugin, wire string, encode func(dst []byte, msg T) ([]byte, error)) error {
	if err := bridges.AddType[T](p, wire); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t, err := b.(*instance).publish(info, wire)
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
			return t.send(ctx, func(dst []byte) ([]byte, error) { return encode(dst, msg) })
		}, nil
	})
}

// RegSubscriber lets the bridge subscribe to messages of a type of one's own. decode makes
// a message of its body, which is good only until it returns.
func RegSubscriber[T any](p *bridges.Plugin, wire string, decode func(body []byte) (T, error)) error {
	if err := bridges.AddType[T](p, wire); err != nil && !errors.Is(err, bridges.ErrDuplicate) {
		return err // a type that is published too is declared already
	}
	return bridges.AddSubscriberCreator(p, func(b bridges.Instance, topic bridges.Topic, deliver func(T)) error {
		return b.(*instance).subscribe(topic.Name, wire, func(body []byte) error {
			msg, err := decode(body)
			if err != nil {
				return err
			}
			deliver(msg)
			return nil
		})
	})
}

// known are the options that parseConnection reads.
var known = slices.Concat(bridges.RetryOptions, bridges.QueueOptions)

// parseConnection reads a connection string. Every error is
// bridges.ErrConnectionString.
func parseConnection(connection string) (address string, config link.Config, err error) {
	target, options, err := bridges.SplitOptions(connection, known...)
	if err != nil {
		return "", config, err
	}
	if address, err = bridges.DialAddress(target, DefaultPort); err != nil {
		return "", config, err
	}
	if config.Queue, err = bridges.ParseQueue(options); err != nil {
		return "", config, err
	}
	if config.Retry, err = bridges.ParseRetry(options); err != nil {
		return "", config, err
	}
	return address, config, nil
}

// checkTopic checks a topic's name by ROS 2's rules: ros2-lgsvl-bridge would only log
// that it can't be used.
func checkTopic(name string) error {
	if ros.ValidTopic(name) || ros.ValidTopic("/"+name) {
		return nil
	}
	return fmt.Errorf("%w: %q: ROS 2 wants letters, digits and single underscores between slashes, and no digit after a slash", bridges.ErrTopicName, name)
}
