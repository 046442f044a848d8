package cyber

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/apollo"
)

// Factory is the bridge "cyber": a client of Apollo's cyber_bridge.
type Factory struct{ limit int64 } // of a message, bytes; 0 for maxMessage

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "cyber", Type: "cyber", Kind: bridges.KindNetwork,
		Summary:    "client of Apollo's cyber_bridge: Cyber RT channels over TCP",
		Connection: "HOST[:9090]", Options: known,
	}
}

// Register declares all of Apollo's messages that samples can be or come from.
func (Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, pub := range apollo.Publications() {
		errs = append(errs, pub.Register(p, apollo.FullName, open))
	}
	for _, sub := range apollo.Subscriptions() {
		errs = append(errs, sub.Register(p, apollo.FullName, listen))
	}
	return errors.Join(errs...)
}

// NewInstance makes an unconnected instance.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	return &instance{env: env, limit: cmp.Or(f.limit, maxMessage), inboxes: map[string]apollo.Inbox{}}, nil
}

// open is an apollo.Open.
func open(i bridges.Instance, topic *bridges.PublishedTopic, message protoreflect.MessageDescriptor) (apollo.Send, error) {
	c := i.(*instance)
	c.announce(topic.Name, message)
	way := c.NewWay(topic)
	return func(ctx context.Context, m apollo.Message, _ int64) error {
		if err := checkSize(m, c.limit); err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
		b := way.Buffer(messageRoom(topic.Name, m))
		frame, err := appendMessage(b.Bytes()[:0], topic.Name, m)
		b.Adopt(frame)
		if err != nil {
			b.Release()
			return err
		}
		return way.Send(ctx, b)
	}, nil
}

// listen is an apollo.Listen.
func listen(i bridges.Instance, topic bridges.Topic, message protoreflect.MessageDescriptor, in apollo.Inbox) error {
	i.(*instance).subscribe(topic.Name, message, in)
	return nil
}
