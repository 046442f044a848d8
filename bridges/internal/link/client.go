package link

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// Client is the part of a client bridge's instance that outlives its links: what was
// registered and published goes to the link of each Connect. An instance that embeds one
// has all of bridges.Instance but Connect, which parses the connection string and calls
// Open. The zero value is ready; all methods may be called from any goroutine.
type Client struct {
	link atomic.Pointer[Link] // nil while disconnected

	opening sync.Mutex // held while links are exchanged

	mu            sync.Mutex
	registrations [][]byte          // guarded by mu
	topics        []*Way            // guarded by mu
	before        bridges.Diagnosis // guarded by mu: of links that were closed
	reached       bool              // guarded by mu: one of them has reached its peer
}

// Open disconnects, and begins to connect by a new link.
func (c *Client) Open(ctx context.Context, config Config) error {
	c.opening.Lock()
	defer c.opening.Unlock()
	if err := c.close(ctx); err != nil {
		return err
	}
	l := New(config)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, frame := range c.registrations {
		l.Register(frame)
	}
	for _, w := range c.topics {
		w.out.Store(l.NewTopic(w.info))
	}
	c.link.Store(l)
	l.Start()
	return nil
}

// Disconnect is Link.Close; without a connection it does nothing.
func (c *Client) Disconnect(ctx context.Context) error {
	c.opening.Lock()
	defer c.opening.Unlock()
	return c.close(ctx)
}

// close ends the link; opening must be held.
func (c *Client) close(ctx context.Context) error {
	l := c.link.Load()
	if l == nil {
		return nil
	}
	err := l.Close(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before, c.reached = c.before.Add(l.Diagnosis()), c.reached || l.Reached()
	for _, w := range c.topics {
		w.out.Store(nil)
	}
	c.link.Store(nil)
	return err
}

// Status is the link's; Disconnected without one.
func (c *Client) Status() bridges.Status {
	if l := c.link.Load(); l != nil {
		return l.Status()
	}
	return bridges.Disconnected
}

// Err is the link's: nil, or that it has given up.
func (c *Client) Err() error {
	if l := c.link.Load(); l != nil {
		return l.Err()
	}
	return nil
}

// Diagnosis tells how all links fared together.
func (c *Client) Diagnosis() bridges.Diagnosis {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.link.Load(); l != nil {
		return c.before.Add(l.Diagnosis())
	}
	return c.before
}

// Reached reports whether a link has reached its peer; see Link.Reached.
func (c *Client) Reached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.link.Load(); l != nil {
		return c.reached || l.Reached()
	}
	return c.reached
}

// Register has a frame written first on each connection of each link; see Link.Register.
func (c *Client) Register(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registrations = append(c.registrations, frame)
	if l := c.link.Load(); l != nil {
		l.Register(frame)
	}
}

// Post queues a frame that no topic counts; see Link.Post.
func (c *Client) Post(frame []byte) error {
	if l := c.link.Load(); l != nil {
		return l.Post(frame)
	}
	return bridges.ErrNotConnected
}

// Way is a topic's way to the peer by whatever link there is.
type Way struct {
	info *bridges.PublishedTopic
	out  atomic.Pointer[Topic] // nil while disconnected
}

// NewWay returns the way of a topic's messages, which are counted at info.
func (c *Client) NewWay(info *bridges.PublishedTopic) *Way {
	w := &Way{info: info}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topics = append(c.topics, w)
	if l := c.link.Load(); l != nil {
		w.out.Store(l.NewTopic(info))
	}
	return w
}

// Buffer is Topic.Buffer.
func (w *Way) Buffer(size int) flow.Buffer {
	if out := w.out.Load(); out != nil {
		return out.Buffer(size)
	}
	return flow.Buffer{}
}

// Send is Topic.Send.
func (w *Way) Send(ctx context.Context, frame flow.Buffer) error {
	if out := w.out.Load(); out != nil {
		return out.Send(ctx, frame)
	}
	frame.Release()
	return bridges.ErrNotConnected
}
