package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/raybridge/raybridge/internal/guard"
)

// errVisitor is a request that wants no WebSocket: a browser, a health check.
var errVisitor = errors.New("request wants no WebSocket")

// handshake reads the client's request and answers it (RFC 6455, section 4.2). The server ends
// one that takes too long.
func (c *WebSocket) handshake() (*websocket.Conn, error) {
	wire := &pipe{client: c, left: guard.HeaderBytes}
	answer := &response{client: c, header: http.Header{}, wire: wire, in: bufio.NewReader(wire)}
	request, err := answer.readRequest()
	if err != nil {
		if cut := c.conn.Cut(); cut != nil {
			err = fmt.Errorf("client %s: %w", c.Remote(), cut)
		}
		return nil, err
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
	if err := server.guard.Check(r.local(request)); err != nil {
		r.refuse(guard.Status(err), err.Error())
		return fmt.Errorf("refuse client %s: %w", remote, err)
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
func (c *WebSocket) hear() { c.heard.Store(int64(time.Since(c.begun))) }

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

// pipe is the connection as the WebSocket library sees it: reading is the connection's,
// what is written goes before the messages that wait, whole frames at a time. Its end is
// the server's business.
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

func (p *pipe) LocalAddr() net.Addr              { return p.client.conn.Conn().LocalAddr() }
func (p *pipe) RemoteAddr() net.Addr             { return p.client.conn.Conn().RemoteAddr() }
func (p *pipe) SetDeadline(time.Time) error      { return nil }
func (p *pipe) SetReadDeadline(time.Time) error  { return nil }
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
