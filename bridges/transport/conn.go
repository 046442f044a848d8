package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/guard"
)

// Conn is one accepted connection, a client, with its queue.
type Conn struct {
	server  *Server
	conn    net.Conn
	pass    *guard.Pass
	session Session
	since   time.Time
	queue   *flow.Queue[delivery]
	paced   atomic.Int64 // bytes of messages that wait for their time, outside the queue

	mu            sync.Mutex
	control       []byte          // guarded by mu: frames that overtake the queue
	uncounted     int             // guarded by mu: bytes of those that MaxControl doesn't bound
	errand        errand          // guarded by mu: what else is to be written, nil for nothing
	ahead         int             // guarded by mu: bytes of control that are ahead of it
	writing       int             // guarded by mu: bytes of those that are being written
	held          int             // guarded by mu: what the session keeps, see Hold
	subscriptions []*subscription // guarded by mu, by time of subscription
	gone          bool            // guarded by mu: takes no more subscriptions
	cause         flow.Cause      // guarded by mu: why what is left is dropped
	failed        error           // guarded by mu: why nothing can be written any more
	// readBy and writeBy are when the connection ends at the latest, if they are set;
	// guarded by mu.
	readBy, writeBy time.Time

	counted bool // as failed; owned by the goroutine of the session

	// Owned by the writing goroutine.
	batch   [maxBatch]delivery
	batched int
	vectors net.Buffers
	list    [2*maxBatch + 1][]byte // what vectors are made of
	slices  [2*maxBatch + 1][]byte
	prefix  [maxBatch][maxPrefix]byte
	scratch []byte // control frames being written
}

const (
	// maxBatch messages, or batchBytes, are written with one call.
	maxBatch   = 16
	batchBytes = 1 << 20
	// chunk is how much of a large frame is written under one deadline. So a slow connection
	// counts as stalled only when it takes nothing.
	chunk = 1 << 20
	// looks is how often within its time a write is looked at, Config.Stall or ClientConfig.WriteTimeout. One
	// that ran out of time can't be taken up again with TLS, whose chunks are short.
	looks = 10
	// lastStall is how long a client may take nothing while it is being disconnected.
	lastStall = 2 * time.Second
	// maxPrefix is the memory for what a Receiver puts before a frame.
	maxPrefix = 32
)

// ErrControl says that a client asked for more than it read the answers of.
var ErrControl = errors.New("too many control frames wait for the client")

func newConn(s *Server, conn net.Conn, pass *guard.Pass) *Conn {
	c := &Conn{server: s, conn: conn, pass: pass, since: time.Now(), cause: flow.CauseNotConnected}
	c.queue = flow.NewQueue(s.config.Queue, func(d delivery, reason flow.Cause) {
		cause := flow.CausePeerSlow
		if reason == flow.CauseClosed {
			cause = c.causeOfEnd()
		}
		d.subscription.drop(d.message, cause)
		if credit := d.subscription.credit; credit != nil {
			credit.giveBack()
		}
	})
	return c
}

// Conn returns the connection, for the session to read from. Its deadlines are set by
// ExtendRead alone: any other would take back what ends the connection.
func (c *Conn) Conn() net.Conn { return c.conn }

// Enter makes the connection a client, whose handshake is over. The error, a *guard.Refusal,
// says that the server has as many as it takes, or has ended the connection: the session
// refuses it then.
func (c *Conn) Enter() error { return c.pass.Enter() }

// Cut returns why the server has ended the connection before it was a client, nil if it
// hasn't. By it a session whose reading fails knows that the client's protocol wasn't at
// fault.
func (c *Conn) Cut() error { return c.pass.Cut() }

// Welcome counts the connection: its peer speaks the protocol, and is served. The session
// calls it once.
func (c *Conn) Welcome() {
	c.server.journal.met()
}

// Malformed counts something that the client sent and that can't be read, where the connection
// stays.
func (c *Conn) Malformed(err error) { c.server.journal.counted(c.named(err), TroubleUnread) }

// named adds which client it was.
func (c *Conn) named(err error) error {
	return fmt.Errorf("client %s: %w", c.conn.RemoteAddr(), err)
}

// fails counts the connection as failed, at the first call.
func (c *Conn) fails(err error) {
	if !c.counted {
		c.counted = true
		c.server.failed(fault.NetReason(err))
	}
}

// Failed returns the error of the write that ended the connection, nil while there is none. A
// session whose reading fails as the connection is closed learns why from it.
func (c *Conn) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Since returns when the client connected, of the host's clock.
func (c *Conn) Since() time.Time { return c.since }

// Post has a control frame written before all messages that wait. It is copied. An
// error says that the client doesn't read: ErrControl; the session ends then.
func (c *Conn) Post(frame []byte) error {
	c.mu.Lock()
	if c.kept()+len(frame) > c.server.config.MaxControl {
		c.mu.Unlock()
		return ErrControl
	}
	c.control = append(c.control, frame...)
	c.mu.Unlock()
	c.queue.Wake()
	return nil
}

// Greet has the first frame written, or more of them, as Post does. MaxControl doesn't bound them:
// how much there is to tell isn't the client's doing.
func (c *Conn) Greet(frames []byte) {
	c.mu.Lock()
	c.control = append(c.control, frames...)
	c.uncounted += len(frames)
	c.mu.Unlock()
	c.queue.Wake()
}

// errand writes to the connection by itself.
type errand func() error

// Do has write called on the writing goroutine, for what isn't bytes alone. It comes behind what was
// posted before, and ahead of all messages and of what is posted later. It has Stall's time, and an error of it ends the connection.
// It isn't called if the connection ends before. There is one at a time: Do reports whether it is it.
func (c *Conn) Do(write func() error) bool {
	c.mu.Lock()
	free := c.errand == nil
	if free {
		c.errand, c.ahead = write, len(c.control)
	}
	c.mu.Unlock()
	c.queue.Wake()
	return free
}

// Drop ends the connection because of an error of the client's, from any goroutine. The session's
// reading then fails.
func (c *Conn) Drop(reason error) {
	c.mu.Lock()
	if c.failed == nil {
		c.failed = reason
	}
	c.mu.Unlock()
	_ = c.conn.Close()
}

// Finish ends the connection from the server's side: nothing more is sent to the client but what is
// queued, and it hasn't failed.
func (c *Conn) Finish() { c.finish(flow.CauseClosed) }

// Waiting returns what is queued for the client.
func (c *Conn) Waiting() (messages int, bytes int64) { return c.queue.Len() }

// Counts returns the counts of the streams that the client receives, in the order
// of subscription. It reuses dst's memory.
func (c *Conn) Counts(dst []StreamCounts) []StreamCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	dst = dst[:0]
	for _, s := range c.subscriptions {
		dst = append(dst, s.counts())
	}
	return dst
}

// add makes a subscription the client's, unless the client is gone.
func (c *Conn) add(s *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	c.subscriptions = append(c.subscriptions, s)
	return true
}

func (c *Conn) forget(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.subscriptions, s); i >= 0 {
		c.subscriptions = slices.Delete(c.subscriptions, i, i+1)
	}
}

// leave ends all subscriptions.
func (c *Conn) leave() {
	c.mu.Lock()
	c.gone = true
	list := slices.Clone(c.subscriptions)
	c.mu.Unlock()
	for _, s := range list {
		s.stream.Unsubscribe(c)
	}
}

// run is the client's life.
func (c *Conn) run() {
	ctx, unwritten := context.WithCancel(c.server.ctx) // a client that nothing reaches gets no more work done
	defer unwritten()
	written := make(chan struct{})
	go func() {
		defer close(written)
		if c.write(); c.Failed() != nil {
			unwritten()
		}
	}()
	failure := fault.NetReason(c.failure(c.session.Serve(ctx)))
	c.leave()
	c.finish(flow.CauseNotConnected)
	c.queue.Close()
	c.bound(time.Time{}, time.Now().Add(linger))
	<-written
	_ = c.conn.Close()
	c.pass.Leave()
	c.server.remove(c)
	if failure != nil {
		c.server.journal.left(c.conn.RemoteAddr().String(), failure)
		c.fails(c.named(failure))
	}
	if c.server.config.Left != nil {
		c.server.config.Left(c, failure)
	}
}

// failure returns why the connection failed whose session has just ended with err. It is nil
// where the client has gone, whether reading or writing was the first to notice, or the server
// has ended it. A connection that was closed on this side is explained by the write that
// failed.
func (c *Conn) failure(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cause == flow.CauseClosed:
		return nil
	case c.pass.Cut() != nil:
		return c.pass.Cut()
	case c.failed != nil && (errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)):
		err = c.failed
	}
	for _, gone := range []error{io.ErrClosedPipe, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, gone) {
			return nil
		}
	}
	return err
}

// finish lets nothing more into the queue; the writer ends when it has written what
// is there. The first cause holds.
func (c *Conn) finish(cause flow.Cause) {
	c.mu.Lock()
	if !c.queue.Finished() {
		c.cause = cause
	}
	c.mu.Unlock()
	c.queue.Finish()
}

// Finished reports whether nothing more is sent to the client: its connection has failed, or the
// server closes.
func (c *Conn) Finished() bool { return c.queue.Finished() }

func (c *Conn) causeOfEnd() flow.Cause {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// bound sets times after which nothing is read or written any more, whatever is
// extended later; a zero time changes nothing.
func (c *Conn) bound(read, write time.Time) {
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
func (c *Conn) ExtendRead(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := time.Now().Add(d)
	if earlier(c.readBy, t) {
		t = c.readBy
	}
	return c.conn.SetReadDeadline(t)
}

// look is how long a write may last before it is looked at.
func (c *Conn) look() time.Duration { return c.server.config.Stall / looks }

// extendWrite gives the next write its time: up to its end, or to the next look at how far it has come.
func (c *Conn) extendWrite(begun, moved time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := c.writeEnd(begun, moved)
	if look := time.Now().Add(c.look()); !c.encrypted() && look.Before(by) {
		by = look
	}
	return c.conn.SetWriteDeadline(by)
}

// writeTimedOut reports whether a write has ended for good that ran out of time.
func (c *Conn) writeTimedOut(begun, moved time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.encrypted() || !time.Now().Before(c.writeEnd(begun, moved))
}

// writeEnd is when a write ends that has begun at a time, and of which something was last taken at
// another; mu must be held.
func (c *Conn) writeEnd(begun, moved time.Time) time.Time {
	stall := c.server.config.Stall
	by := moved.Add(stall)
	if c.queue.Finished() {
		by = moved.Add(min(stall, lastStall))
		if end := begun.Add(stall); end.Before(by) {
			by = end
		}
	}
	if earlier(c.writeBy, by) {
		by = c.writeBy
	}
	return by
}

// abort ends everything that the client waits for.
func (c *Conn) abort() {
	past := time.Unix(1, 0)
	c.bound(past, past)
}

// Part ends the connection on the session's side: what was posted is written, and what is
// queued is dropped. What the client still sends is read and thrown away until it closes its
// side, a second has passed or it has sent too much. A connection that is closed while data of
// the client is unread loses what was written last, the reason of the refusal. The session
// returns after it.
func (c *Conn) Part() {
	c.leave()
	c.finish(flow.CauseNotConnected)
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

// ErrHeld says that the server keeps as much for the client as it may.
var ErrHeld = errors.New("the server keeps as much for this client as it may")

// spare says that one part in so many of MaxControl is left for control frames. So a client
// whose session keeps all that it may can be told so.
const spare = 16

// Hold notes that the session keeps n bytes more for the client, such as a registration or a
// message that isn't complete. Together with the control frames that the client leaves unread
// they are bounded by Config.MaxControl. ErrHeld says that they would be more, and nothing is
// noted. What is held ends with Release, or with the client.
func (c *Conn) Hold(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.server.config.MaxControl
	if c.kept()+n > most-most/spare {
		return ErrHeld
	}
	c.held += n
	return nil
}

// Release notes that n bytes aren't kept any more.
func (c *Conn) Release(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= n
}

// kept is what the client makes the server keep, bytes; mu must be held.
func (c *Conn) kept() int { return c.held + c.writing + len(c.control) - c.uncounted }

// maxIdleControl is how much memory for control frames a client keeps that isn't in use.
const maxIdleControl = 64 << 10

// takeControl takes the control frames that are to be written next, up to an errand; mu must be held.
func (c *Conn) takeControl() (errand errand) {
	free := c.scratch[:0]
	if cap(free) > maxIdleControl {
		free = nil
	}
	c.scratch, c.control = c.control, free
	if errand = c.errand; errand != nil {
		c.control = append(c.control, c.scratch[c.ahead:]...)
		c.scratch, c.errand = c.scratch[:c.ahead], nil
	}
	c.writing, c.uncounted = len(c.scratch)-c.uncounted, 0
	return errand
}
