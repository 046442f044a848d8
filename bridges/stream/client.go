package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// Errors of clients; test them with errors.Is.
var (
	// ErrListening: the stream has a callback already; Stop it first.
	ErrListening = errors.New("already listening")
	// ErrNotListening: the stream has no callback.
	ErrNotListening = errors.New("not listening")
	// ErrClientClosed: the client was closed, or its context ended.
	ErrClientClosed = errors.New("stream client closed")
)

// Client receives streams of one server over one connection, which it makes again
// whenever it breaks. Its methods may be called from any goroutine, and all but Wait from its
// callbacks.
type Client struct {
	address string
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	events  *flow.Queue[Event]
	done    chan struct{} // closed when all goroutines have ended

	mu        sync.Mutex
	link      *link                 // guarded by mu: nil while not connected
	listeners map[string]*listener  // guarded by mu
	pools     map[string]*flow.Pool // guarded by mu: by stream
	// ending has, for each stream that had a listener, when the last one is over: the
	// next one's calls begin then. Guarded by mu.
	ending map[string]<-chan struct{}
	closed bool           // guarded by mu
	wg     sync.WaitGroup // listeners; added to under mu while not closed
}

// Dial connects to a server: HOST:PORT, or http://HOST:PORT or unix:PATH of a run's API, whose
// clients may Step. ctx is the client's life: when it ends, so do the
// connection and all callbacks. The first connection's failure is returned, such as ErrVersion
// with the server's reason, unless Options.Wait is set. Then Dial returns a client that isn't
// connected yet. In either case it returns after one attempt; later the client connects by
// itself.
func Dial(ctx context.Context, address string, options Options) (*Client, error) {
	c := newClient(ctx, address, options)
	first, err := c.connect()
	if err != nil && !c.options.Wait {
		c.cancel()
		return nil, fmt.Errorf("connect to stream server %s: %w", address, err)
	}
	if first != nil {
		first.attach()
	}
	go c.live(first, err)
	return c, nil
}

func newClient(ctx context.Context, address string, options Options) *Client {
	c := &Client{
		address: address, options: options.orDefaults(), done: make(chan struct{}),
		listeners: map[string]*listener{}, pools: map[string]*flow.Pool{}, ending: map[string]<-chan struct{}{},
		events: flow.NewQueue(flow.QueueConfig{Messages: 256}, func(Event, flow.Cause) {}),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// steady is how long a connection has to last for the next attempts to begin again.
const steady = time.Second

// live keeps the connection until the context ends. Dial has made the first attempt: first is
// its connection, or err why there is none.
func (c *Client) live(first *link, err error) {
	defer close(c.done)
	var events sync.WaitGroup
	events.Go(func() { each(c.events, c.options.Events) })
	var instance uint64
	next := func() (*link, error) { return first, err }
	again := func() (*link, error) {
		l, err := c.connect()
		if l != nil {
			l.attach()
		}
		return l, err
	}
	retry := transport.Retry{Interval: c.options.MinBackoff, Backoff: 2, Longest: c.options.MaxBackoff, Scatter: true}
	_ = transport.Keep(c.ctx, retry, func() (bool, error) { // it never gives up
		l, err := next()
		if next, first = again, nil; l == nil {
			return false, err
		}
		c.event(Event{Kind: EventConnected, Restarted: instance != 0 && instance != l.welcome.instance})
		instance = l.welcome.instance
		begun := time.Now()
		err = fault.NetReason(l.run())
		c.event(Event{Kind: EventDisconnected, Err: err})
		return time.Since(begun) > steady, err
	}, func(loss transport.Loss) { c.event(Event{Kind: EventRetry, Err: loss.Err, Delay: loss.Wait}) })
	if first != nil {
		_ = first.run() // which the context's end ends
	}
	c.end()
	c.events.Finish()
	events.Wait()
}

// end stops all listeners and waits for them.
func (c *Client) end() {
	c.mu.Lock()
	c.closed = true
	for _, l := range c.listeners {
		l.queue.Close()
	}
	clear(c.listeners)
	c.mu.Unlock()
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pool := range c.pools {
		pool.Close()
	}
}

// event queues an event; a user who doesn't take them loses the oldest.
func (c *Client) event(e Event) {
	if c.options.Events != nil {
		c.events.TryPush(e, 0)
	}
}

// each calls take for what comes from a queue, until that is closed.
func each[T any](q *flow.Queue[T], take func(T)) {
	for {
		element, ok := q.Pop()
		switch {
		case ok:
			take(element)
		case q.Finished():
			return
		default:
			<-q.Ready()
		}
	}
}

// Streams returns the server's streams as it has told so far, in the order of their
// making; nil while the client isn't connected.
func (c *Client) Streams() []Info {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.infos()
}

// Connected reports whether a connection stands.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link != nil
}

// Listen has the callback called with each message of a stream from now on, one after the other
// on a goroutine of the stream. Callbacks of different streams run concurrently. It returns
// when the server has answered: ErrUnknownStream names the streams there are. While the
// connection is broken it returns at once, and asks when it stands again (EventRefused). A
// second Listen on one stream is ErrListening; Stop comes first. The new callback waits for the
// last call of the old one, also where that call listens. If ctx ends before the answer, nothing
// is listened to. A call may be under way even so, for which Wait waits. A callback may listen to
// another stream, but with policy block only under a ctx that ends. The answer may wait behind
// messages for that same callback.
func (c *Client) Listen(ctx context.Context, stream string, callback func(*Data)) error {
	c.mu.Lock()
	switch {
	case c.closed || c.ctx.Err() != nil:
		c.mu.Unlock()
		return ErrClientClosed
	case c.listeners[stream] != nil:
		c.mu.Unlock()
		return fmt.Errorf("listen to %s: %w", stream, ErrListening)
	}
	l := newListenerLocked(c, stream, callback)
	c.listeners[stream] = l
	c.wg.Go(l.run)
	current := c.link
	if current == nil {
		c.mu.Unlock()
		return nil
	}
	q := current.ask(controlSubscribe, stream, make(chan error, 1)) // under mu, so that requests have the listeners' order
	c.mu.Unlock()
	err := current.wait(ctx, q)
	if err == nil {
		return nil
	}
	c.mu.Lock()
	if c.listeners[stream] == l {
		delete(c.listeners, stream)
		current.request(controlUnsubscribe, stream)
	}
	c.mu.Unlock()
	l.stop()
	return fmt.Errorf("listen to %s: %w", stream, err)
}

// IsListening reports whether the stream has a callback.
func (c *Client) IsListening(stream string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listeners[stream] != nil
}

// Listening returns the names of the streams that have callbacks, sorted.
func (c *Client) Listening() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := slices.AppendSeq([]string{}, maps.Keys(c.listeners))
	slices.Sort(names)
	return names
}

// Stop ends a stream's callback: no call begins any more once it has returned, and what waits for
// one is dropped. It doesn't wait for a call that is under way, so that callbacks may stop any
// stream; Wait does. ErrNotListening says that there is none.
func (c *Client) Stop(stream string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listeners[stream]
	if l == nil {
		return fmt.Errorf("stop %s: %w", stream, ErrNotListening)
	}
	delete(c.listeners, stream)
	if c.link != nil {
		c.link.request(controlUnsubscribe, stream)
	}
	l.stop()
	return nil
}

// Wait waits until no callback of the stream runs that was ended by Stop, or whose Listen failed. Their
// memory may be freed then. Callbacks must not call Wait, which would wait for the callback itself.
func (c *Client) Wait(stream string) {
	c.mu.Lock()
	over := c.ending[stream]
	if l := c.listeners[stream]; l != nil {
		over = l.before
	}
	c.mu.Unlock()
	if over != nil {
		<-over
	}
}

// Close ends the connection and all callbacks. It waits for none, so that callbacks may call it:
// calls may still begin until Done is closed. It may be called again.
func (c *Client) Close() { c.cancel() }

// Done is closed when the client has ended, after Close or with its context, and all its goroutines
// with it. A callback must not wait for it.
func (c *Client) Done() <-chan struct{} { return c.done }

// Outstanding returns the number of received buffers that are held: by callbacks that
// are running, and by data that was kept and not released.
func (c *Client) Outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, pool := range c.pools {
		n += pool.Stats().Outstanding
	}
	return n
}

// poolLocked returns the pool of a stream's buffers.
func (c *Client) poolLocked(stream string) *flow.Pool {
	pool := c.pools[stream]
	if pool == nil {
		pool = flow.NewPool(flow.PoolConfig{})
		c.pools[stream] = pool
	}
	return pool
}

// forget gives up the memory of a stream that has ended, unless somebody listens to it or holds some.
func (c *Client) forget(stream string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pool := c.pools[stream]
	if pool == nil || c.listeners[stream] != nil || pool.Stats().Outstanding > 0 {
		return
	}
	select {
	case <-c.ending[stream]: // its last callback has returned
	default:
		return
	}
	pool.Close()
	delete(c.pools, stream)
	delete(c.ending, stream)
}

// Options says how a client behaves. The zero value of a field stands for its default.
type Options struct {
	// Zstd asks the server to compress what gets shorter by it.
	Zstd bool
	// MaxFrame is the length of the longest message that is taken, 256 MiB by default.
	MaxFrame int
	// Queue holds what waits for a callback, for each stream: by default 4 messages, 64 MiB,
	// the oldest dropped. With policy block a callback that is too slow makes the client stop
	// reading, which holds up its other streams too. The server then drops by its own policy.
	Queue flow.QueueConfig
	// Patience is how long the server may be silent, of the time in which this process runs; five
	// of its beats by default. More is for a server that may be stopped for longer, such as in a
	// debugger. One whose machine is gone is then noticed later.
	Patience time.Duration
	// MinBackoff and MaxBackoff bound the time between attempts to connect again, 100 ms and 10
	// s by default. The time doubles with each, and half of it is random.
	MinBackoff, MaxBackoff time.Duration
	// Wait has Dial return a client where the first attempt to connect fails too, without
	// waiting for a second one. The client continues to try until its context ends. It tells
	// Events when it has connected, and asks then for what Listen was called for meanwhile.
	Wait bool
	// Events is told what happens to the connection, one event after the other on a
	// goroutine of its own; it may call the client. Nil for nobody.
	Events func(Event)
	// Token is what an API beyond this machine asks for.
	Token string
	// Dial opens the connection; by default a TCP one, or an API's.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

func (o Options) orDefaults() Options {
	if o.MaxFrame <= 0 || o.MaxFrame > MaxSize {
		o.MaxFrame = MaxSize
	}
	o.Queue.Messages = cmp.Or(max(o.Queue.Messages, 0), 4)
	if o.Queue.Policy == flow.Block && o.Queue.BlockLimit <= 0 {
		o.Queue.BlockLimit = 1<<63 - 1
	}
	o.MinBackoff = cmp.Or(max(o.MinBackoff, 0), 100*time.Millisecond)
	if o.MaxBackoff < o.MinBackoff {
		o.MaxBackoff = max(10*time.Second, o.MinBackoff)
	}
	if o.Dial == nil {
		o.Dial = o.dial
	}
	return o
}

// EventKind says what an Event tells.
type EventKind uint8

// Kinds of events.
const (
	// EventConnected: a connection stands. Restarted tells that it isn't the server
	// of the connection before.
	EventConnected EventKind = iota
	// EventDisconnected: the connection ended, Err says why; the client tries again.
	EventDisconnected
	// EventRetry: an attempt failed for Err; the next follows after Delay.
	EventRetry
	// EventGap: messages of Stream are missing before the one that came now: Missed of
	// them if Known. What was missed over a restart of the server nobody knows. LastNs
	// and NextNs are the capture times around the gap.
	EventGap
	// EventLosses: the server has dropped messages of Stream for this client, Missed
	// since it subscribed; Reason says mostly why: peer_slow, not_connected or closed.
	EventLosses
	// EventStream: the server has the new stream Stream.
	EventStream
	// EventGone: the server's stream Stream has ended. A listener stays, and receives another one of
	// the name.
	EventGone
	// EventRefused: the server doesn't serve Stream, for Err; it was asked again after the
	// client had connected again.
	EventRefused
)

var eventNames = [...]string{"connected", "disconnected", "retry", "gap", "losses", "stream", "gone", "refused"}

// String returns the kind's name.
func (k EventKind) String() string { return eventNames[k] }

// Event is something that happened to a client's connection or streams.
type Event struct {
	Kind      EventKind
	Stream    string
	Err       error
	Delay     time.Duration
	Restarted bool
	// Missed counts messages, if Known.
	Missed         uint64
	Known          bool
	LastNs, NextNs int64
	Reason         string
}
