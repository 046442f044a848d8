package wsserver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/wsframe"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

// ErrControl says that a client asked for more than it read the answers of.
var ErrControl = fanout.ErrControl

// Kind is what a message holds; the numbers are RFC 6455's opcodes.
type Kind byte

// Kinds of messages.
const (
	Text   Kind = wsframe.OpText
	Binary Kind = wsframe.OpBinary
)

// Client is one connection.
type Client struct {
	server      *Server
	conn        *fanout.Client
	session     Session
	subprotocol string
	buf         []byte // owned by the reading goroutine

	begun time.Time
	heard atomic.Int64 // when the client last sent something, since begun, nanoseconds
	busy  atomic.Bool  // the session has a message of the client's, so nothing is read
	mute  atomic.Bool  // it was disconnected because it was silent
	shook atomic.Bool  // hands: frames may be sent
	ready atomic.Bool  // the session is open
	ended atomic.Bool  // a close frame was posted

	// Owned by the writing goroutine: when it last wrote a ping, and the first one that the
	// client hasn't answered by any frame; both since begun.
	pinged, asked time.Duration
}

var _ fanout.Session = (*Client)(nil)

func newClient(s *Server, c *fanout.Client) *Client {
	return &Client{server: s, conn: c, begun: time.Now()}
}

// Remote returns the client's address.
func (c *Client) Remote() string { return c.conn.Conn().RemoteAddr().String() }

// Subprotocol returns the one that was agreed on, empty where none was asked for.
func (c *Client) Subprotocol() string { return c.subprotocol }

// Post has a message written before all those that wait. It is copied. ErrControl says
// that the client doesn't read what it asked for: it is being disconnected.
func (c *Client) Post(kind Kind, data []byte) error { return c.post(whole(kind, data)) }

// Tell is Post for remarks, which a client that doesn't read misses: nothing else comes of it.
func (c *Client) Tell(kind Kind, data []byte) { _ = c.conn.Post(whole(kind, data)) }

// whole returns a frame that is a message.
func whole(kind Kind, data []byte) []byte {
	frame := make([]byte, 0, wsframe.MaxHeader+len(data))
	return append(wsframe.AppendHeader(frame, byte(kind), len(data)), data...)
}

func (c *Client) post(frame []byte) error {
	err := c.conn.Post(frame)
	if err != nil {
		_ = c.conn.Conn().Close() // ends Serve
	}
	return err
}

// Receiver says how a client receives a stream.
type Receiver struct {
	Kind Kind
	// Prefix is what comes before each message's body, the same for all of them: at most
	// 16 bytes.
	Prefix []byte
	// Form is the form of the stream's messages, for protocols that have several; Exact
	// passes over messages that don't have it, which else are sent in form 0.
	Form  int
	Exact bool
	// Strict drops what waits when the subscription ends, for protocols that use the
	// prefix for something else then.
	Strict bool
	// Interval and Backlog hold the messages apart; see fanout.Receiver.
	Interval time.Duration
	Backlog  int
}

// Subscribe sends the client a stream's messages from now on; a latched stream sends its
// last one first. It reports whether the client is new to the stream.
func (c *Client) Subscribe(stream *fanout.Stream, r Receiver) bool {
	return stream.SubscribeWith(c.conn, fanout.Receiver{
		Form: r.Form, Exact: r.Exact, Strict: r.Strict, Interval: r.Interval, Backlog: r.Backlog,
		Prefix: func(dst []byte, frame int) []byte {
			return append(wsframe.AppendHeader(dst, byte(r.Kind), len(r.Prefix)+frame), r.Prefix...)
		},
	})
}

// Unsubscribe ends a subscription. It reports whether there was one.
func (c *Client) Unsubscribe(stream *fanout.Stream) bool { return stream.Unsubscribe(c.conn) }

// Deliveries returns the counts of the streams that the client receives, in the order of
// subscription. It reuses dst's memory.
func (c *Client) Deliveries(dst []fanout.Delivery) []fanout.Delivery { return c.conn.Deliveries(dst) }

// Serve shakes hands and reads.
func (c *Client) Serve(context.Context) error {
	conn, err := c.handshake()
	if err != nil {
		if !errors.Is(err, errVisitor) {
			c.server.failed(err)
		}
		c.conn.Part()
		return err
	}
	// The library's connection is a cycle with a finalizer, which the collector never frees.
	defer func() { _ = conn.CloseNow() }() // says that it is closed already
	defer c.server.leave(c)
	defer c.session.Closed()
	err = c.run(conn)
	switch code := websocket.CloseStatus(err); {
	case fatal(err) || errors.Is(err, bridges.ErrTooLarge):
		c.server.failed(err)
		c.end(websocket.StatusProtocolError, err)
		c.conn.Part()
		return err
	case code == websocket.StatusNormalClosure, code == websocket.StatusGoingAway, code == websocket.StatusNoStatusRcvd:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil // the client is gone
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe), errors.Is(err, os.ErrDeadlineExceeded):
		if c.ended.Load() {
			return nil // the server's own end
		}
		err = c.endOfWriting()
	}
	c.server.failed(err)
	return err
}

// endOfWriting says why the connection was closed on this side: the client has gone, is
// silent, or takes nothing.
func (c *Client) endOfWriting() error {
	if c.mute.Load() {
		return fmt.Errorf("%w: client %s was silent for %v", bridges.ErrPeerSlow, c.Remote(), c.server.config.Patience)
	}
	if err := c.conn.Failed(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("client %s is gone: %w", c.Remote(), err)
	}
	return fmt.Errorf("%w: client %s took no more messages", bridges.ErrPeerSlow, c.Remote())
}

// run opens the session and hands it what the client sends.
func (c *Client) run(conn *websocket.Conn) error {
	if err := c.session.Open(); err != nil {
		return err
	}
	c.server.enter(c)
	c.ready.Store(true)
	for {
		// What ends the reading is the connection's deadline or end, not a context.
		kind, r, err := conn.Reader(context.Background())
		if err != nil {
			return readError(err)
		}
		message, err := readAll(r, c.buf, c.server.config.ReadLimit)
		if err != nil {
			return readError(err)
		}
		c.keep(message)
		c.busy.Store(true)
		err = c.session.Message(Kind(kind), message)
		c.hear()
		c.busy.Store(false)
		if fatal(err) {
			return err
		} else if err != nil {
			c.server.malformed(c, err)
		}
	}
}

// keep takes the memory for the next message, unless it is much.
func (c *Client) keep(buf []byte) {
	const most = 1 << 20
	if c.buf = buf[:0]; cap(buf) > most {
		c.buf = nil
	}
}

// readError tells a client that broke the protocol from one that went.
func readError(err error) error {
	switch {
	case websocket.CloseStatus(err) != -1, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe), errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case errors.Is(err, websocket.ErrMessageTooBig):
		return fmt.Errorf("%w: %w", bridges.ErrTooLarge, err)
	}
	if op := new(net.OpError); errors.As(err, &op) {
		return err
	}
	return fmt.Errorf("%w: %w", bridges.ErrProtocol, err)
}

// end posts a close frame (RFC 6455, section 5.5.1), unless one was posted before.
func (c *Client) end(code websocket.StatusCode, reason error) {
	if c.ended.Swap(true) {
		return
	}
	_ = c.conn.Post(appendClose(nil, code, reason.Error()))
}

func appendClose(dst []byte, code websocket.StatusCode, reason string) []byte {
	const most = 123
	reason = reason[:min(most, len(reason))]
	for len(reason) > 0 && reason[len(reason)-1] >= 0x80 { // cut between characters
		reason = reason[:len(reason)-1]
	}
	dst = wsframe.AppendHeader(dst, wsframe.OpClose, 2+len(reason))
	return append(binary.BigEndian.AppendUint16(dst, uint16(code)), reason...)
}

// Beat lets the session speak, pings the client and disconnects one that is silent. It runs
// on the writing goroutine, between two messages: while one is being written, fanout's time
// limit for writing holds.
func (c *Client) Beat(dst []byte, _ bool) []byte {
	if !c.ready.Load() {
		return dst // the time for the handshake is bounded
	}
	c.session.Beat()
	config := &c.server.config
	now, heard := time.Since(c.begun), time.Duration(c.heard.Load())
	if c.busy.Load() {
		heard = now
	}
	// A ping may have been written late: the client has as long for its answer as usually lies
	// between a ping and the end.
	waited := c.asked > heard && now-c.asked >= config.Patience-config.Idle
	switch {
	case waited && now-heard >= config.Patience:
		c.mute.Store(true)
		_ = c.conn.Conn().Close() // ends Serve
	case now-c.pinged >= config.Idle:
		c.pinged = now
		if c.asked <= heard {
			c.asked = now
		}
		return wsframe.AppendHeader(dst, wsframe.OpPing, 0)
	}
	return dst
}

// Goodbye says that the server goes away.
func (c *Client) Goodbye(dst []byte) []byte {
	if !c.shook.Load() || c.ended.Swap(true) {
		return dst
	}
	return appendClose(dst, websocket.StatusGoingAway, "")
}
