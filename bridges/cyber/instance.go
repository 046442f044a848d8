package cyber

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/apollo"
	"github.com/raybridge/raybridge/bridges/internal/link"
)

// instance is one connection to a cyber_bridge.
type instance struct {
	link.Client
	env   bridges.Env
	limit int64                      // of a message that is published, bytes
	at    atomic.Pointer[apollo.Map] // of the last Connect

	mu sync.Mutex
	// layout is that of the first Connect, and early what was published before it.
	layout  *apollo.Layout          // guarded by mu
	early   []writer                // guarded by mu
	inboxes map[string]apollo.Inbox // guarded by mu: by channel
}

// writer is a channel with the type of its messages.
type writer struct {
	channel string
	message protoreflect.MessageDescriptor
}

// Check reads a connection string as Connect does.
func (c *instance) Check(connection string) error {
	_, err := parse(connection)
	return err
}

// Connect begins to connect. The layout of the first call's connection string holds: in
// it the channels are registered.
func (c *instance) Connect(ctx context.Context, connection string) error {
	o, err := parse(connection)
	if err != nil {
		return err
	}
	if err := c.settle(o.layout); err != nil {
		return err
	}
	if o.origin == nil {
		o.origin = c.env.Origin
	}
	c.at.Store(newMap(o.origin))
	tcp := link.TCP{Size: frameSize, Limit: frameLimit}
	return c.Open(ctx, link.Config{
		Dial:   func(ctx context.Context) (link.Conn, error) { return tcp.Dial(ctx, o.address) },
		Handle: c.handle, Retry: o.retry, Queue: o.queue, Log: c.env.Log,
	})
}

// Map returns where the map frame is on the earth, nil if that isn't known.
func (c *instance) Map() *apollo.Map { return c.at.Load() }

// settle fixes the layout and registers what waited for it.
func (c *instance) settle(layout apollo.Layout) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.layout != nil && *c.layout != layout {
		return fmt.Errorf("%w: channels are registered in another layout already: apollo= can't change", bridges.ErrConnectionString)
	}
	c.layout = &layout
	for _, w := range c.early {
		c.register(w)
	}
	c.early = nil
	return nil
}

// announce registers a channel that will be published on, now or at the first Connect.
func (c *instance) announce(channel string, message protoreflect.MessageDescriptor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := writer{channel, message}
	if c.layout == nil {
		c.early = append(c.early, w)
		return
	}
	c.register(w)
}

// register sends a channel's descriptors and its writer on each connection; mu must be
// held, and the layout known.
func (c *instance) register(w writer) {
	files := apollo.Files(w.message, *c.layout)
	c.Register(writerFrame(w.channel, apollo.FullName(w.message), files))
}

// subscribe adds a reader on each connection.
func (c *instance) subscribe(channel string, message protoreflect.MessageDescriptor, in apollo.Inbox) {
	c.mu.Lock()
	c.inboxes[channel] = in
	c.mu.Unlock()
	c.Register(readerFrame(channel, apollo.FullName(message)))
}

// handle takes a message from the server. Those of channels that nobody subscribed to
// are thrown away.
func (c *instance) handle(frame []byte) error {
	channel, data := splitFrame(frame)
	c.mu.Lock()
	in, ok := c.inboxes[string(channel)]
	c.mu.Unlock()
	if !ok {
		return nil
	}
	m := in.New()
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("message on %q is no %s: %w", channel, m.ProtoReflect().Descriptor().FullName(), err)
	}
	if err := in.Deliver(m); err != nil {
		return fmt.Errorf("message on %q: %w", channel, err)
	}
	return nil
}
