package stream

import (
	"sync/atomic"

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
	over     chan struct{}   // closed when no call of this one, or of those before, runs or comes any more
	stopped  atomic.Bool

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
		before: c.ending[stream], over: make(chan struct{}),
		queue: flow.NewQueue(c.options.Queue, func(r received, _ flow.Cause) { r.buf.Release() }),
	}
	c.ending[stream] = l.over
	return l
}

// run calls the callback for each message until the queue is closed, once the stream's listener
// before is over.
func (l *listener) run() {
	defer close(l.over)
	if l.ready() {
		each(l.queue, l.deliver)
		return
	}
	<-l.before
}

// ready waits for the stream's listener before; false if this one is stopped first.
func (l *listener) ready() bool {
	if l.before == nil {
		return true
	}
	for {
		select {
		case <-l.before:
			return true
		case <-l.queue.Ready():
			if l.queue.Finished() {
				return false
			}
		}
	}
}

// stop lets no call begin any more, and run end.
func (l *listener) stop() {
	l.stopped.Store(true)
	l.queue.Close()
}

func (l *listener) deliver(r received) {
	if l.stopped.Load() { // after it was taken from the queue
		r.buf.Release()
		return
	}
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
