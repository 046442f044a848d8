package fanout

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// Client is one connection with its queue.
type Client struct {
	server  *Server
	conn    net.Conn
	session Session
	surplus bool
	since   time.Time
	queue   *queue.Queue[delivery]

	mu            sync.Mutex
	control       []byte          // guarded by mu: frames that overtake the queue
	subscriptions []*subscription // guarded by mu, by time of subscription
	gone          bool            // guarded by mu: takes no more subscriptions
	cause         Cause           // guarded by mu: why what is left is dropped
	// readBy and writeBy are when the connection ends at the latest, if they are set;
	// guarded by mu.
	readBy, writeBy time.Time

	// Owned by the writing goroutine.
	batch   [maxBatch]delivery
	batched int
	vectors net.Buffers
	slices  [maxBatch + 1][]byte
	scratch []byte // control frames being written
}

const (
	// maxBatch messages, or batchBytes, are written with one call.
	maxBatch   = 16
	batchBytes = 1 << 20
	// chunk is how much of a large frame is written under one deadline, so that a
	// slow connection counts as stalled only when it takes nothing.
	chunk = 1 << 20
	// maxControl bounds the control frames that a client leaves unread, bytes.
	maxControl = 1 << 20
)

// ErrControl says that a client asked for more than it read the answers of.
var ErrControl = errors.New("too many control frames wait for the client")

func newClient(s *Server, conn net.Conn, surplus bool) *Client {
	c := &Client{server: s, conn: conn, surplus: surplus, since: time.Now(), cause: CauseGone}
	c.queue = queue.New(s.config.Queue, func(d delivery, reason queue.Reason) {
		cause := CauseSlow
		if reason == queue.Closed {
			cause = c.causeOfEnd()
		}
		d.subscription.drop(d.message, cause)
	})
	return c
}

// Conn returns the connection, for the session to read from.
func (c *Client) Conn() net.Conn { return c.conn }

// Surplus reports whether the server had all its clients when this one came: its
// session refuses it.
func (c *Client) Surplus() bool { return c.surplus }

// Since returns when the client connected, of the host's clock.
func (c *Client) Since() time.Time { return c.since }

// Post has a control frame written before all messages that wait. It is copied. An
// error says that the client doesn't read: ErrControl; the session ends then.
func (c *Client) Post(frame []byte) error {
	c.mu.Lock()
	if len(c.control)+len(frame) > maxControl {
		c.mu.Unlock()
		return ErrControl
	}
	c.control = append(c.control, frame...)
	c.mu.Unlock()
	c.queue.Wake()
	return nil
}

// Waiting returns what is queued for the client.
func (c *Client) Waiting() (messages int, bytes int64) { return c.queue.Len() }

// Deliveries returns the counts of the streams that the client receives, in the order
// of subscription. It reuses dst's memory.
func (c *Client) Deliveries(dst []Delivery) []Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	dst = dst[:0]
	for _, s := range c.subscriptions {
		dst = append(dst, s.counts())
	}
	return dst
}

// add makes a subscription the client's, unless the client is gone.
func (c *Client) add(s *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	c.subscriptions = append(c.subscriptions, s)
	return true
}

func (c *Client) forget(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.subscriptions, s); i >= 0 {
		c.subscriptions = slices.Delete(c.subscriptions, i, i+1)
	}
}

// leave ends all subscriptions.
func (c *Client) leave() {
	c.mu.Lock()
	c.gone = true
	list := slices.Clone(c.subscriptions)
	c.mu.Unlock()
	for _, s := range list {
		s.stream.Unsubscribe(c)
	}
}

// run is the client's life.
func (c *Client) run() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()
	err := c.session.Serve(c.server.ctx)
	c.leave()
	c.finish(CauseGone)
	c.queue.Close()
	c.bound(time.Time{}, time.Now().Add(linger))
	<-written
	_ = c.conn.Close()
	c.server.remove(c)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.server.config.Log.Info("stream client left", "client", c.conn.RemoteAddr().String(), "error", err)
	}
}

// finish lets nothing more into the queue; the writer ends when it has written what
// is there. The first cause holds.
func (c *Client) finish(cause Cause) {
	c.mu.Lock()
	if !c.queue.Finished() {
		c.cause = cause
	}
	c.mu.Unlock()
	c.queue.Finish()
}

func (c *Client) causeOfEnd() Cause {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// bound sets times after which nothing is read or written any more, whatever is
// extended later; a zero time changes nothing.
func (c *Client) bound(read, write time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if earlier(read, c.readBy) {
		c.readBy = read
		_ = c.conn.SetReadDeadline(read)
	}
	if earlier(write, c.writeBy) {
		c.writeBy = write
		_ = c.conn.SetWriteDeadline(write)
	}
}

// earlier reports whether a is set, and before b if that is set too.
func earlier(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

// ExtendRead lets the session's reading fail after so much time from now, or earlier
// where the server is disconnecting the client.
func (c *Client) ExtendRead(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := time.Now().Add(d)
	if earlier(c.readBy, t) {
		t = c.readBy
	}
	return c.conn.SetReadDeadline(t)
}

// extendWrite gives the next write its time.
func (c *Client) extendWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := time.Now().Add(c.server.config.Stall)
	if earlier(c.writeBy, t) {
		t = c.writeBy
	}
	return c.conn.SetWriteDeadline(t)
}

// abort ends everything that the client waits for.
func (c *Client) abort() {
	past := time.Unix(1, 0)
	c.bound(past, past)
}

// write is the writing goroutine: control frames first, then messages, and a beat now
// and then.
func (c *Client) write() {
	beat := time.NewTicker(c.server.config.Beat)
	defer beat.Stop()
	idle, due := true, false
	for {
		c.collect()
		idle = idle && c.batched == 0 && len(c.scratch) == 0
		if due {
			c.scratch = c.session.Beat(c.scratch, idle)
			idle, due = true, false
		}
		if c.batched > 0 || len(c.scratch) > 0 {
			if err := c.flush(); err != nil {
				c.fail(err)
				return
			}
			select {
			case <-beat.C:
				due = true
			default:
			}
			continue
		}
		if c.queue.Finished() {
			c.end()
			return
		}
		select {
		case <-c.queue.Ready():
		case <-beat.C:
			due = true
		}
	}
}

// collect takes what is to be written next.
func (c *Client) collect() {
	c.mu.Lock()
	c.scratch = append(c.scratch[:0], c.control...)
	c.control = c.control[:0]
	c.mu.Unlock()
	total := len(c.scratch)
	for c.batched < maxBatch && total < batchBytes {
		d, ok := c.queue.Pop()
		if !ok {
			break
		}
		c.batch[c.batched] = d
		c.batched++
		total += len(d.frame())
	}
}

// flush writes scratch and the batch, and counts each message of it.
func (c *Client) flush() error {
	n, total := 0, len(c.scratch)
	if total > 0 {
		c.slices[0], n = c.scratch, 1
	}
	for _, d := range c.batch[:c.batched] {
		c.slices[n] = d.frame()
		total += len(c.slices[n])
		n++
	}
	var err error
	if total <= chunk {
		c.vectors = c.slices[:n]
		err = c.writeVectors()
	} else {
		for _, frame := range c.slices[:n] {
			if err = c.writeChunks(frame); err != nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	for i, d := range c.batch[:c.batched] {
		d.deliver()
		c.batch[i] = delivery{}
	}
	clear(c.slices[:n])
	c.batched, c.scratch = 0, c.scratch[:0]
	return nil
}

// writeVectors writes all of c.vectors.
func (c *Client) writeVectors() error {
	for {
		if err := c.extendWrite(); err != nil {
			return err
		}
		n, err := c.vectors.WriteTo(c.conn)
		if err == nil || !c.patient(n, err) {
			return err
		}
	}
}

func (c *Client) writeChunks(frame []byte) error {
	for len(frame) > 0 {
		if err := c.extendWrite(); err != nil {
			return err
		}
		n, err := c.conn.Write(frame[:min(chunk, len(frame))])
		if err != nil && !c.patient(int64(n), err) {
			return err
		}
		frame = frame[n:]
	}
	return nil
}

// patient reports whether a write that ran out of time goes on: the client has taken
// some of it, so it is slow and not stalled. While it is being disconnected it gets no
// more time.
func (c *Client) patient(written int64, err error) bool {
	return written > 0 && errors.Is(err, os.ErrDeadlineExceeded) && !c.queue.Finished()
}

// fail ends the connection after a failed write: what was being written and what waits
// counts as dropped.
func (c *Client) fail(err error) {
	cause := CauseGone
	switch {
	case c.server.ctx.Err() != nil:
		cause = CauseClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		cause = CauseSlow
		c.server.config.Log.Warn("stream client took nothing for too long, disconnected",
			"client", c.conn.RemoteAddr().String(), "limit", c.server.config.Stall)
	}
	c.finish(cause)
	for i, d := range c.batch[:c.batched] {
		d.subscription.drop(d.message, cause)
		c.batch[i] = delivery{}
	}
	c.batched = 0
	c.queue.Close()
	_ = c.conn.Close()
}

// end says goodbye and leaves the client a moment to close its side.
func (c *Client) end() {
	c.scratch = c.session.Goodbye(c.scratch[:0])
	now := time.Now()
	c.bound(now.Add(linger), now.Add(linger))
	if err := c.flush(); err != nil {
		_ = c.conn.Close()
		return
	}
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Part ends the connection on the session's side: what was posted is written, what is
// queued is dropped, and what the client still sends is read and thrown away until it
// closes its side, a second has passed or it has sent too much. A connection that is
// closed while data of the client is unread loses what was written last, the reason
// of the refusal. The session returns after it.
func (c *Client) Part() {
	c.leave()
	c.finish(CauseGone)
	c.queue.Close()
	by := time.Now().Add(linger)
	c.bound(by, by)
	const tooMuch = 1 << 20
	var scrap [4096]byte
	for n := 0; n < tooMuch; {
		k, err := c.conn.Read(scrap[:])
		if err != nil {
			return
		}
		n += k
	}
}
