package transport

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
)

// WebSocketSession speaks a protocol with one client, by messages of WebSocket.
type WebSocketSession interface {
	// Open is called once, after the handshake: what it posts is sent first.
	Open() error
	// Message is given each message that the client sends, good until it returns. An
	// error that wraps ErrProtocol, ErrRefused or ErrControl ends the connection; any other
	// is counted as malformed, and logged, ever more rarely.
	Message(kind Opcode, data []byte) error
	// Beat is called about once a second, on the client's writing goroutine, between two
	// messages.
	Beat()
	// Closed is called once after Open, when the client has gone: its subscriptions have
	// ended.
	Closed()
}

// Leaver is a WebSocketSession with something to say last, before the server closes the connection.
type Leaver interface {
	// Goodbye returns that message. It runs on the writing goroutine.
	Goodbye() (kind Opcode, data []byte)
}

// WebSocketConfig has a server speak WebSocket (RFC 6455). The zero value of a field stands
// for its default.
type WebSocketConfig struct {
	// Name is what the server calls itself towards those who aren't its clients.
	Name string
	// Subprotocols are those that the server speaks, the best first. A client that offers
	// none of them is refused. None at all means that no subprotocol is asked for.
	Subprotocols []string
	// Accept makes the session of a client. It doesn't wait.
	Accept func(*WebSocket) WebSocketSession
	// Origins are web pages that may connect beside those of package internal/guard, as its
	// Guard.Pages has them: "viewer.example", "https://viewer.example", "null". "*" lets
	// every page in.
	Origins []string
	// ReadLimit bounds a message of a client, bytes; guard.MessageBytes by default.
	ReadLimit int64
	// Late makes a connection a client when its session calls Enter, with what the client says first, in place of
	// the end of the WebSocket's handshake.
	Late bool
	// Idle is the time between two pings, also while data flows. Patience is how long nothing
	// may come from a client, answers to pings included. The defaults are guard.PingInterval
	// and guard.SilenceLimit.
	Idle, Patience time.Duration
}

func (c WebSocketConfig) orDefaults() WebSocketConfig {
	c.Name = cmp.Or(c.Name, "raybridge")
	c.ReadLimit = cmp.Or(max(c.ReadLimit, 0), guard.MessageBytes)
	c.Idle = cmp.Or(max(c.Idle, 0), guard.PingInterval)
	c.Patience = cmp.Or(max(c.Patience, 0), guard.SilenceLimit)
	return c
}

// upgrade is what a server that speaks WebSocket has for all its clients.
type upgrade struct {
	WebSocketConfig
	guard guard.Guard
}

func newUpgrade(config WebSocketConfig) *upgrade {
	u := &upgrade{WebSocketConfig: config.orDefaults()}
	u.guard = guard.Guard{Pages: u.Origins, NameOption: "origins=", PageOption: "origins="}
	return u
}

// WebSocket is one client's connection, for the session that speaks with it.
type WebSocket struct {
	upgrade     *upgrade
	conn        *Conn
	session     WebSocketSession
	subprotocol string
	request     *http.Request // that somebody else has read and let in; nil where the connection begins with it
	buf         []byte        // owned by the reading goroutine

	begun time.Time
	stood atomic.Int64 // of the time since begun, nanoseconds: in which this process was stopped
	heard atomic.Int64 // when the client last sent something, as age has it
	busy  atomic.Bool  // the session has a message of the client's, so nothing is read
	mute  atomic.Bool  // it was disconnected because it was silent
	shook atomic.Bool  // hands: frames may be sent
	ready atomic.Bool  // the session is open
	ended atomic.Bool  // a close frame was posted

	// Owned by the writing goroutine.
	pinged time.Duration // when it last wrote a ping, as age has it
	asked  time.Duration // when it wrote the first one that the client hasn't answered by any frame, likewise
	beaten time.Duration // the last beat, since begun
}

var _ Session = (*WebSocket)(nil)

func newWebSocket(u *upgrade, c *Conn) *WebSocket {
	return &WebSocket{upgrade: u, conn: c, begun: time.Now()}
}

// Remote returns the client's address.
func (c *WebSocket) Remote() string { return c.conn.Conn().RemoteAddr().String() }

// Subprotocol returns the one that was agreed on, empty where none was asked for.
func (c *WebSocket) Subprotocol() string { return c.subprotocol }

// Post has a message written before all those that wait. It is copied. ErrControl says
// that the client doesn't read what it asked for: it is being disconnected.
func (c *WebSocket) Post(kind Opcode, data []byte) error { return c.post(whole(kind, data)) }

// Greet is Post for what a client is told first: MaxControl doesn't bound it. The session's Open calls it.
func (c *WebSocket) Greet(kind Opcode, data []byte) { c.conn.Greet(whole(kind, data)) }

// Tell is Post for remarks, which a client that doesn't read misses: nothing else comes of it.
func (c *WebSocket) Tell(kind Opcode, data []byte) { _ = c.conn.Post(whole(kind, data)) }

// whole returns a frame that is a message.
func whole(kind Opcode, data []byte) []byte {
	frame := make([]byte, 0, MaxHeader+len(data))
	return append(AppendHeader(frame, byte(kind), len(data)), data...)
}

func (c *WebSocket) post(frame []byte) error {
	err := c.conn.Post(frame)
	if err != nil {
		_ = c.conn.Conn().Close() // ends Serve
	}
	return err
}

// Subscribe sends the client a stream's messages from now on, as frames of that kind; prefix,
// at most 16 bytes, comes before each message's body. A latched stream sends its last one
// first. r.Prefix is the frame's header. It reports whether the client is new to the stream.
func (c *WebSocket) Subscribe(stream *Stream, kind Opcode, prefix []byte, r Receiver) bool {
	r.Prefix = func(dst []byte, frame int) []byte {
		return append(AppendHeader(dst, byte(kind), len(prefix)+frame), prefix...)
	}
	return stream.SubscribeWith(c.conn, r)
}

// Unsubscribe ends a subscription. It reports whether there was one.
func (c *WebSocket) Unsubscribe(stream *Stream) bool { return stream.Unsubscribe(c.conn) }

// SetForm has another form of a stream sent from now on, and reports whether the client receives it.
func (c *WebSocket) SetForm(stream *Stream, form int) bool { return stream.SetForm(c.conn, form) }

// Grant lets so many messages more of a stream be queued, where the client subscribed with Receiver.Credits.
func (c *WebSocket) Grant(stream *Stream, n int) { stream.Grant(c.conn, n) }

// Enter makes the connection a client, of a server with WebSocketConfig.Late, and of the HTTP server that has read its
// request. Errors are Conn.Enter's.
func (c *WebSocket) Enter() error {
	if c.request != nil {
		if err := guard.Enter(c.request); err != nil {
			return err
		}
	}
	return c.conn.Enter()
}

// Counts returns the counts of the streams that the client receives, in the order of
// subscription. It reuses dst's memory.
func (c *WebSocket) Counts(dst []StreamCounts) []StreamCounts { return c.conn.Counts(dst) }

// Serve shakes hands and reads.
func (c *WebSocket) Serve(context.Context) error {
	conn, err := c.handshake()
	if err != nil {
		if errors.Is(err, errVisitor) {
			c.conn.counted = true // it isn't a failure
		}
		c.conn.fails(err)
		c.conn.Part()
		return err
	}
	// The library's connection is a cycle with a finalizer, which the collector never frees.
	defer func() { _ = conn.CloseNow() }() // says that it is closed already
	defer c.session.Closed()
	err = c.run(conn)
	switch code := websocket.CloseStatus(err); {
	case fatal(err) || errors.Is(err, flow.ErrTooLarge):
		c.conn.fails(err)
		c.endFor(err)
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
	c.conn.fails(err)
	return err
}

// endOfWriting says why the connection was closed on this side: the client has gone, is
// silent, or takes nothing.
func (c *WebSocket) endOfWriting() error {
	if c.mute.Load() {
		return fmt.Errorf("%w: client %s was silent for %v", flow.ErrPeerSlow, c.Remote(), c.upgrade.Patience)
	}
	if err := c.conn.Failed(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("client %s is gone: %w", c.Remote(), err)
	}
	return fmt.Errorf("%w: client %s took no more messages", flow.ErrPeerSlow, c.Remote())
}

// run opens the session and hands it what the client sends.
func (c *WebSocket) run(conn *websocket.Conn) error {
	if err := c.session.Open(); err != nil {
		return err
	}
	c.conn.Welcome()
	c.ready.Store(true)
	for {
		// What ends the reading is the connection's deadline or end, not a context.
		kind, r, err := conn.Reader(context.Background())
		if err != nil {
			return readError(err)
		}
		message, err := readAll(r, c.buf, c.upgrade.ReadLimit)
		if err != nil {
			return readError(err)
		}
		c.keep(message)
		c.busy.Store(true)
		err = c.session.Message(Opcode(kind), message)
		c.hear()
		c.busy.Store(false)
		if fatal(err) {
			return err
		} else if err != nil {
			c.malformed(err)
		}
	}
}

// keep takes the memory for the next message, unless it is much.
func (c *WebSocket) keep(buf []byte) {
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
		return fmt.Errorf("%w: %w", flow.ErrTooLarge, err)
	}
	if op := new(net.OpError); errors.As(err, &op) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrProtocol, err)
}

// endFor closes the connection of a client that isn't let in, or broke the protocol.
func (c *WebSocket) endFor(err error) {
	if errors.Is(err, ErrRefused) {
		c.end(websocket.StatusPolicyViolation, strings.TrimPrefix(err.Error(), ErrRefused.Error()+": "))
		return
	}
	c.end(websocket.StatusProtocolError, err.Error())
}

// end posts a close frame (RFC 6455, section 5.5.1), unless one was posted before.
func (c *WebSocket) end(code websocket.StatusCode, reason string) {
	if c.ended.Swap(true) {
		return
	}
	_ = c.conn.Post(appendClose(nil, code, reason))
}

func appendClose(dst []byte, code websocket.StatusCode, reason string) []byte {
	const most = 123
	reason = reason[:min(most, len(reason))]
	for len(reason) > 0 && reason[len(reason)-1] >= 0x80 { // cut between characters
		reason = reason[:len(reason)-1]
	}
	dst = AppendHeader(dst, OpClose, 2+len(reason))
	return append(binary.BigEndian.AppendUint16(dst, uint16(code)), reason...)
}

// Beat lets the session speak, pings the client and disconnects one that is silent. It runs
// on the writing goroutine, between two messages: while one is being written, the server's time
// limit for writing holds.
func (c *WebSocket) Beat(dst []byte, _ bool) []byte {
	c.discountStop()
	if !c.ready.Load() {
		return dst // the time for the handshake is bounded
	}
	c.session.Beat()
	config := &c.upgrade.WebSocketConfig
	now := c.age()
	heard := min(time.Duration(c.heard.Load()), now)
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
		return AppendHeader(dst, OpPing, 0)
	}
	return dst
}

// discountStop leaves out of the client's time that by which a beat is late: this process was stopped, and the
// client perhaps, too.
func (c *WebSocket) discountStop() {
	now := time.Since(c.begun)
	if late := now - c.beaten - 2*c.conn.server.config.Beat; late > 0 {
		c.stood.Add(int64(late))
	}
	c.beaten = now
}

// age is how long the connection has been there and this process has run.
func (c *WebSocket) age() time.Duration {
	return time.Since(c.begun) - time.Duration(c.stood.Load())
}

// Goodbye says that the server goes away.
func (c *WebSocket) Goodbye(dst []byte) []byte {
	if !c.shook.Load() || c.ended.Swap(true) {
		return dst
	}
	if leaver, ok := c.session.(Leaver); ok && c.ready.Load() {
		kind, data := leaver.Goodbye()
		dst = append(dst, whole(kind, data)...)
	}
	return appendClose(dst, websocket.StatusGoingAway, "")
}

// Hold notes that the session keeps n bytes more for the client. An error wraps ErrHeld:
// they would be more than guard.KeptBytes with all else, and nothing is noted. What is held ends
// with Release, or with the client.
func (c *WebSocket) Hold(n int) error {
	if err := c.conn.Hold(n); err != nil {
		return fmt.Errorf("%w: %d MiB", err, c.conn.server.config.MaxControl>>20)
	}
	return nil
}

// Release notes that n bytes aren't kept any more.
func (c *WebSocket) Release(n int) { c.conn.Release(n) }

// malformed counts a message that made no sense, and logs it, ever more rarely.
func (c *WebSocket) malformed(err error) {
	c.conn.server.journal.Note(TroubleUnread, "can't read what a client sent", brief(err), "server", c.upgrade.Name, "client", c.Remote())
}

// fatal reports whether an error of a session ends the connection.
func fatal(err error) bool {
	return errors.Is(err, ErrProtocol) || errors.Is(err, ErrControl) || errors.Is(err, ErrRefused)
}

// brief returns an error that says what err does, and no more than guard.ReasonBytes of it.
func brief(err error) error {
	text := err.Error()
	if len(text) <= guard.ReasonBytes {
		return err
	}
	return errors.New(guard.Excerpt(text, guard.ReasonBytes))
}

// firstRead is how much memory reading a message begins with.
const firstRead = 4 << 10

// readAll reads a message into buf's memory. It takes less than twice the limit for it,
// and has less than the limit besides while it grows.
func readAll(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			// One byte more than the limit, so that the end is found without growing.
			larger := min(max(2*cap(buf), firstRead), max(int(limit)+1, cap(buf)+bytes.MinRead))
			buf = append(make([]byte, 0, larger), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// errVisitor is a request that wants no WebSocket: a browser, a health check.
var errVisitor = errors.New("request wants no WebSocket")

// handshake reads the client's request and answers it (RFC 6455, section 4.2). The server ends
// one that takes too long.
func (c *WebSocket) handshake() (*websocket.Conn, error) {
	wire := &pipe{client: c, left: guard.HeaderBytes}
	answer := &response{client: c, header: http.Header{}, wire: wire, in: bufio.NewReader(wire)}
	request := c.request
	if request == nil {
		var err error
		if request, err = answer.readRequest(); err != nil {
			if cut := c.conn.Cut(); cut != nil {
				err = fmt.Errorf("client %s: %w", c.Remote(), cut)
			}
			return nil, err
		}
	}
	wire.left = -1
	if err := answer.admit(request); err != nil {
		return nil, err
	}
	conn, err := websocket.Accept(answer, request, &websocket.AcceptOptions{
		Subprotocols: c.upgrade.Subprotocols, InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		answer.finish()
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	conn.SetReadLimit(c.upgrade.ReadLimit)
	c.subprotocol = conn.Subprotocol()
	c.session = c.upgrade.Accept(c)
	c.hear()
	c.shook.Store(true)
	return conn, nil
}

// tlsHandshake is the first byte of what a client of TLS says (RFC 8446, section 5.1).
const tlsHandshake = 22

// readRequest reads what the answer is for.
func (r *response) readRequest() (*http.Request, error) {
	if first, err := r.in.Peek(1); err == nil && first[0] == tlsHandshake {
		// Clients say of an answer without TLS that it has the wrong version.
		r.refuse(http.StatusBadRequest, "this server doesn't speak TLS: connect with ws://")
		return nil, fmt.Errorf("%w: client %s speaks TLS, this server doesn't: connect with ws://, or give the server cert= and key=", ErrTLS, r.client.Remote())
	}
	request, err := http.ReadRequest(r.in)
	if err != nil {
		return nil, r.client.badRequest(err)
	}
	return request, nil
}

// admit refuses a client that isn't to be let in, and says why.
func (r *response) admit(request *http.Request) error {
	server, remote := r.client.upgrade, r.client.Remote()
	if r.client.request == nil {
		if err := server.guard.Check(r.local(request)); err != nil {
			r.refuse(guard.Status(err), err.Error())
			return fmt.Errorf("refuse client %s: %w", remote, err)
		}
	}
	if !strings.EqualFold(request.Header.Get("Upgrade"), "websocket") {
		r.refuse(http.StatusUpgradeRequired, server.Name+" speaks WebSocket here: "+server.want())
		return errVisitor
	}
	offered := strings.Join(request.Header.Values("Sec-WebSocket-Protocol"), ", ")
	if !server.speaks(offered) {
		r.refuse(http.StatusBadRequest, server.want())
		return fmt.Errorf("%w: client %s offers the subprotocols %q: %s", ErrProtocol, remote, offered, server.want())
	}
	if server.Late {
		return nil
	}
	if err := r.client.conn.Enter(); err != nil {
		r.refuse(guard.Status(err), err.Error())
		return fmt.Errorf("refuse client %s: %w", remote, err)
	}
	return nil
}

// local returns the request with what http.Server says of its connection.
func (r *response) local(request *http.Request) *http.Request {
	conn := r.client.conn.Conn()
	if encrypted, ok := conn.(*tls.Conn); ok {
		state := encrypted.ConnectionState()
		request.TLS = &state
	}
	return request.WithContext(context.WithValue(request.Context(), http.LocalAddrContextKey, conn.LocalAddr()))
}

// notEncrypted answers those who speak HTTP where TLS is spoken.
const notEncrypted = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" +
	"this server speaks TLS: connect with wss://\n"

// badRequest names what is wrong with bytes that are no request.
func (c *WebSocket) badRequest(err error) error {
	if c.conn.server.config.TLS != nil {
		var plain tls.RecordHeaderError
		if errors.As(err, &plain) && plain.Conn != nil && bytes.HasPrefix(plain.RecordHeader[:], []byte("GET /")) {
			_ = plain.Conn.SetWriteDeadline(time.Now().Add(guard.HandshakeTime))
			_, _ = io.WriteString(plain.Conn, notEncrypted) // the client is wrong already
			return fmt.Errorf("%w: client %s speaks no TLS, this server does: connect with wss://", ErrTLS, c.Remote())
		}
		if errors.Is(err, io.EOF) { // Node's way of refusing a certificate
			return fmt.Errorf("%w: client %s left before its request: does it trust the certificate?", ErrTLS, c.Remote())
		}
		return fmt.Errorf("%w: client %s: %w", ErrTLS, c.Remote(), err)
	}
	return fmt.Errorf("%w: client %s: read request: %w", ErrProtocol, c.Remote(), err)
}

// hear notes that the client is alive.
func (c *WebSocket) hear() { c.heard.Store(int64(c.age())) }

// speaks reports whether one of the offered subprotocols is the server's.
func (u *upgrade) speaks(offered string) bool {
	if len(u.Subprotocols) == 0 {
		return true
	}
	for _, name := range strings.Split(offered, ",") {
		for _, ours := range u.Subprotocols {
			if strings.EqualFold(strings.TrimSpace(name), ours) {
				return true
			}
		}
	}
	return false
}

// want says what a client must offer.
func (u *upgrade) want() string {
	if len(u.Subprotocols) == 0 {
		return "connect with a WebSocket client"
	}
	return "connect with a WebSocket client that offers the subprotocol " + strings.Join(u.Subprotocols, " or ")
}

// pipe is the connection as the WebSocket library sees it. Reading is the connection's, and
// what is written goes before the messages that wait, whole frames at a time. Its end is the
// server's business.
type pipe struct {
	client *WebSocket
	left   int // of the request's bytes, -1 after it
}

// Read reads from the connection.
func (p *pipe) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, fmt.Errorf("request of over %d bytes", guard.HeaderBytes)
	}
	if p.left > 0 {
		b = b[:min(len(b), p.left)]
	}
	n, err := p.client.conn.Conn().Read(b)
	if p.left > 0 {
		p.left -= n
	} else if n > 0 {
		p.client.hear()
	}
	if p.left < 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the library would take half a message for a whole one
	}
	return n, err
}

// Write posts what the library has to say: an answer to a ping, or a close frame.
func (p *pipe) Write(b []byte) (int, error) {
	if IsClose(b) && p.client.ended.Swap(true) {
		return len(b), nil
	}
	if err := p.client.post(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close does nothing: Serve is about to return.
func (p *pipe) Close() error { return nil }

// The rest of net.Conn.

func (p *pipe) LocalAddr() net.Addr { return p.client.conn.Conn().LocalAddr() }

func (p *pipe) RemoteAddr() net.Addr { return p.client.conn.Conn().RemoteAddr() }

func (p *pipe) SetDeadline(time.Time) error { return nil }

func (p *pipe) SetReadDeadline(time.Time) error { return nil }

func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// response is the answer to the handshake's request.
type response struct {
	client *WebSocket
	header http.Header
	status int
	body   strings.Builder
	wire   *pipe
	in     *bufio.Reader
}

var _ http.Hijacker = (*response)(nil)

// Header returns the answer's header.
func (r *response) Header() http.Header { return r.header }

// WriteHeader keeps the status; that of an upgrade is sent at once.
func (r *response) WriteHeader(status int) {
	r.status = status
	if status == http.StatusSwitchingProtocols {
		r.send("")
	}
}

// Write adds to the body.
func (r *response) Write(b []byte) (int, error) { return r.body.Write(b) }

// Hijack gives the library the connection.
func (r *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return r.wire, bufio.NewReadWriter(r.in, bufio.NewWriter(r.wire)), nil
}

// refuse answers with a reason.
func (r *response) refuse(status int, reason string) {
	r.status = status
	r.header.Set("Content-Type", "text/plain; charset=utf-8")
	if status == http.StatusUpgradeRequired {
		r.header.Set("Upgrade", "websocket")
	}
	_, _ = io.WriteString(r, reason+"\n")
	r.finish()
}

// finish sends an answer that is the connection's last.
func (r *response) finish() {
	r.header.Set("Connection", "close")
	r.header.Set("Content-Length", fmt.Sprint(r.body.Len()))
	r.send(r.body.String())
}

func (r *response) send(body string) {
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", r.status, http.StatusText(r.status))
	_ = r.header.Write(&head) // a Builder takes everything
	_ = r.client.conn.Post([]byte(head.String() + "\r\n" + body))
}

// Opcode is what a WebSocket frame holds (RFC 6455, section 5.2).
type Opcode byte

// Opcodes of frames.
const (
	OpText   = 1
	OpBinary = 2
	OpClose  = 8
	OpPing   = 9
)

const (
	final  = 0x80 // the frame ends its message
	masked = 0x80 // the payload is XORed with a key
)

// MaxHeader is the length of the longest header without a key, bytes.
const MaxHeader = 10

// MaskKey is what a client masks its payload with (RFC 6455, section 5.3).
type MaskKey [4]byte

// AppendHeader appends the header of a server's frame, which isn't masked, that is a whole
// message of size bytes.
func AppendHeader(dst []byte, opcode byte, size int) []byte {
	return appendHeader(dst, opcode, size, 0)
}

// AppendMasked appends the header of a client's frame that is a whole message of size bytes,
// masked with the key.
func AppendMasked(dst []byte, opcode byte, size int, key MaskKey) []byte {
	return append(appendHeader(dst, opcode, size, masked), key[:]...)
}

func appendHeader(dst []byte, opcode byte, size int, mask byte) []byte {
	dst = append(dst, final|opcode)
	switch {
	case size < 126:
		return append(dst, mask|byte(size))
	case size < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, mask|126), uint16(size))
	default:
		return binary.BigEndian.AppendUint64(append(dst, mask|127), uint64(size))
	}
}

// IsClose reports whether what is about to be written begins with a close frame.
func IsClose(data []byte) bool { return len(data) > 0 && data[0] == final|OpClose }
