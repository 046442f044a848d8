package stream

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"

	"github.com/raybridge/raybridge/flow"
)

// Data is one message as a callback is given it. It is valid until the callback
// returns; Keep makes it last.
type Data struct {
	Message
	// Stream describes where the message came from.
	Stream *Info
	// Missed is how many messages that the server published are missing before this one. They
	// were dropped for this client by the server, lost with a connection, or dropped by this
	// client's queue. What was missed over a restart of the server isn't known and not counted;
	// EventGap tells of it. A capture that the sensor lost was never published and isn't in it
	// either: the header's sequence jumps there.
	Missed uint64

	buf flow.Buffer
}

// Open returns a message of a stream as a callback is given it, from bytes that
// Message.Bytes has returned: those of a recording perhaps. They are the message's memory.
// Errors wrap ErrMalformed.
func Open(info *Info, b []byte) (*Data, error) {
	m, err := openMessage(b)
	if err != nil {
		return nil, err
	}
	return &Data{Message: m, Stream: info}, nil
}

// Keep returns the same message in the same memory, which stays valid until its
// Release is called, also after the client was closed.
func (d *Data) Keep() *Data {
	kept := *d
	kept.buf = d.buf.Share()
	return &kept
}

// Release gives kept data up; a second call does nothing. What a callback is given is
// released by itself.
func (d *Data) Release() {
	d.buf.Release()
	d.Message = Message{}
}

// received is a message on its way to the callback.
type received struct {
	message  Message
	info     *Info
	buf      flow.Buffer
	sequence uint32
	link     *link
}

// listener is one stream's callback with its goroutine and queue.
type listener struct {
	client   *Client
	stream   string
	callback func(*Data)
	queue    *flow.Queue[received]
	pool     *flow.Pool
	before   <-chan struct{} // the stream's listener before is over; or nil
	done     chan struct{}   // closed when no call runs or comes any more
	over     chan struct{}   // closed when that holds for the stream's listeners before too
	// waitsFor is what the callback stops at the moment, if anything; guarded by
	// client.mu.
	waitsFor *listener

	// Owned by run.
	data     Data
	link     *link // of the last message
	info     *Info // likewise
	sequence uint32
	lastNs   int64
}

func newListenerLocked(c *Client, stream string, callback func(*Data)) *listener {
	l := &listener{
		client: c, stream: stream, callback: callback, pool: c.poolLocked(stream),
		before: c.ending[stream], done: make(chan struct{}), over: make(chan struct{}),
		queue: flow.NewQueue(c.options.Queue, func(r received, _ flow.Cause) { r.buf.Release() }),
	}
	c.ending[stream] = l.over
	return l
}

// run calls the callback for each message until the queue is closed.
func (l *listener) run() {
	defer close(l.over)
	if l.ready() {
		l.call()
		return
	}
	close(l.done)
	<-l.before
}

// call is run's, once the stream's listener before is over.
func (l *listener) call() {
	defer l.client.callers.enter(l)()
	defer close(l.done)
	each(l.queue, l.deliver)
}

// ready waits for the stream's listener before; false if this one is stopped first.
func (l *listener) ready() bool {
	for l.before != nil {
		select {
		case <-l.before:
			l.before = nil
		case <-l.queue.Ready():
			if l.queue.Finished() {
				return false
			}
		}
	}
	return true
}

func (l *listener) deliver(r received) {
	missed := l.gap(&r)
	l.data = Data{Message: r.message, Stream: r.info, Missed: missed, buf: r.buf}
	l.callback(&l.data)
	l.data.Release()
}

// gap compares the message with the one before.
func (l *listener) gap(r *received) (missed uint64) {
	last, lastNs, link, info := l.sequence, l.lastNs, l.link, l.info
	l.sequence, l.lastNs, l.link, l.info = r.sequence, int64(r.message.Stamp()), r.link, r.info
	if link == nil || link == r.link && info != r.info { // the first one, or that of another stream of the name
		return 0
	}
	known := link.welcome.instance == r.link.welcome.instance
	if known {
		missed = uint64(r.sequence - last - 1)
		if missed > 1<<31 { // a latched message that came again
			missed = 0
		}
	}
	if missed > 0 || !known {
		l.client.event(Event{
			Kind: EventGap, Stream: l.stream, Missed: missed, Known: known, LastNs: lastNs, NextNs: l.lastNs,
		})
	}
	return missed
}

// callers is the set of goroutines that call a client's user. It tells whether a method of the
// client was called by one of its callbacks, which must not wait for itself. Goroutines have no
// identity that Go would tell, except the number at the head of a stack trace. It is asked for
// when a goroutine begins and by Stop and Close, never for a message.
type callers struct {
	mu  sync.Mutex
	set map[uint64]*listener // guarded by mu
}

// enter adds the calling goroutine, which is the listener's or, with nil, that of the
// events, until the result is called.
func (c *callers) enter(l *listener) (leave func()) {
	id := goroutine()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil {
		c.set = map[uint64]*listener{}
	}
	c.set[id] = l
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.set, id)
	}
}

// inside reports whether the calling goroutine is in the set.
func (c *callers) inside() bool {
	id := goroutine()
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.set[id]
	return ok
}

// current returns the listener whose callback is calling, nil for none.
func (c *callers) current() *listener {
	id := goroutine()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set[id]
}

// goroutine returns the number of the calling goroutine, which is never used again.
func goroutine() uint64 {
	var trace [64]byte
	head := bytes.TrimPrefix(trace[:runtime.Stack(trace[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(head, []byte(" "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("stream: a stack trace begins otherwise than expected: " + string(trace[:]))
	}
	return id
}
