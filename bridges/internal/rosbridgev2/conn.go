package rosbridgev2

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/fault"
)

const (
	// maxFrame bounds what is read in one frame.
	maxFrame = 64 << 20
	// frameTimeout is how long a frame may take from its head to its last byte. There is
	// no limit on the time between frames.
	frameTimeout = 10 * time.Second
)

// conn is a WebSocket as a transport.FrameConn.
type conn struct {
	ws     *websocket.Conn
	tcp    net.Conn
	frames *frameConn
	opcode byte   // of what is sent: a text, or binary data
	buf    []byte // the reading goroutine's
	limit  time.Duration
	split  *splitter // of frames that are too large for the server; nil for no limit

	mu  sync.Mutex
	bye chan struct{} // guarded by mu: closed when the closing handshake is over; nil before it
}

// dial makes a connection, handshakes included.
func dial(ctx context.Context, c Config) (*conn, error) {
	// The HTTP client is given a connection: those that it dials itself outlive ctx.
	var dialer net.Dialer
	tcp, err := dialer.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	transport.Tune(tcp)
	scheme, frames := "ws", &frameConn{Conn: tcp}
	if c.TLS != nil {
		scheme, frames.batch = "wss", &batchConn{Conn: tcp}
		if frames.Conn, err = encrypt(ctx, frames.batch, c); err != nil {
			return nil, err
		}
	}
	dialled := func(context.Context, string, string) (net.Conn, error) { return frames, nil }
	transport := &http.Transport{DialContext: dialled, DialTLSContext: dialled, DisableKeepAlives: true}
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport, CheckRedirect: refuseRedirect}}
	ws, response, err := websocket.Dial(ctx, scheme+"://"+c.Address+"/", options) //nolint:bodyclose // the library closes it
	if err != nil {
		_ = frames.Close() // the first error is the one to tell
		return nil, c.refusal(ctx, response, err)
	}
	frames.shook.Store(true)
	ws.SetReadLimit(maxFrame)
	out := &conn{ws: ws, tcp: tcp, frames: frames, opcode: byte(websocket.MessageText), limit: frameTimeout}
	if c.Form == BSON {
		out.opcode = byte(websocket.MessageBinary)
	} else if c.MaxMessageSize > 0 {
		out.split = newSplitter(c.MaxMessageSize)
	}
	return out, nil
}

func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// encrypt makes TLS's handshake.
func encrypt(ctx context.Context, tcp net.Conn, c Config) (net.Conn, error) {
	config := c.TLS.Clone()
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, err
	}
	config.ServerName = host
	encrypted := tls.Client(tcp, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = tcp.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %s: %w%s", transport.ErrTLS, c.Address, fault.NetReason(err), adviceFor(err))
	}
	return encrypted, nil
}

// adviceFor says what helps against a certificate that is not trusted, or against a server
// without TLS; "" where it is neither.
func adviceFor(err error) string {
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain):
		return "; write ws:// before the host"
	case errors.As(err, &unknown):
		return "; give ca=FILE with the certificate that signed it, or insecure=1 to trust any"
	case errors.As(err, &other):
		return "; connect to a name that it is for, or give insecure=1 to trust any"
	case errors.As(err, &untrusted):
		return "; insecure=1 trusts any"
	default:
		return ""
	}
}

// refusal says why a dial failed: with a response or with anything that isn't HTTP the
// peer is not a WebSocket server. A peer that says nothing may have gone, or want TLS.
func (c *Config) refusal(ctx context.Context, response *http.Response, err error) error {
	var network *net.OpError
	if call := new(url.Error); errors.As(err, &call) {
		err = call.Err // what was called is known
	}
	switch {
	case response != nil:
		return fmt.Errorf("%w: no WebSocket server, it answers %s%s", transport.ErrProtocol, response.Status, reason(response))
	case !c.encrypted() && strings.Contains(err.Error(), tlsAlert):
		return fmt.Errorf("%w: %s speaks TLS: write wss:// before the host", transport.ErrTLS, c.Address)
	case !c.encrypted() && errors.Is(err, io.EOF):
		return fmt.Errorf("closed without an answer (does it want wss://?): %w", err)
	case ctx.Err() != nil, errors.As(err, &network),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrDeadlineExceeded):
		return err
	default:
		return fmt.Errorf("%w: no WebSocket server: %w", transport.ErrProtocol, err)
	}
}

// tlsAlert is how net/http quotes what a TLS server answers to a request that isn't
// encrypted: an alert (RFC 8446, section 5.1).
const tlsAlert = `"\x15\x03`

// encrypted reports whether the connection is to have TLS.
func (c *Config) encrypted() bool { return c.TLS != nil }

// reason is the first line of an answer in plain text, which says more than its status.
func reason(response *http.Response) string {
	if kind := response.Header.Get("Content-Type"); kind != "" && !strings.HasPrefix(kind, "text/plain") {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // what has come is enough
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return ""
	}
	return fmt.Sprintf(": %q", line)
}

// Write sends one frame, in fragments if it is too large. The Client's watchdog keeps the
// time limit, by Close.
func (c *conn) Write(_ context.Context, frame []byte) error {
	if c.split == nil || len(frame) <= c.split.limit {
		return c.frames.writeFrame(c.opcode, frame)
	}
	return c.split.split(frame, func(fragment []byte) error { return c.frames.writeFrame(c.opcode, fragment) })
}

// Read returns the next frame, text or binary.
func (c *conn) Read(context.Context) ([]byte, error) {
	_, r, err := c.ws.Reader(context.Background())
	if err != nil {
		return nil, readError(err)
	}
	// Setting a deadline fails on a connection that has ended, as reading does then.
	_ = c.tcp.SetReadDeadline(time.Now().Add(c.limit))
	defer func() { _ = c.tcp.SetReadDeadline(time.Time{}) }()
	c.buf = c.buf[:0]
	for {
		if len(c.buf) == cap(c.buf) {
			c.buf = slices.Grow(c.buf, max(4096, len(c.buf)))
		}
		n, err := r.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+n]
		if errors.Is(err, io.EOF) {
			return c.buf, nil
		}
		if err != nil {
			return nil, readError(err)
		}
	}
}

// goodbye is the close frame by which the other side ended a connection (RFC 6455, section
// 7.4), said for people.
type goodbye struct{ websocket.CloseError }

func (g goodbye) Error() string {
	text := fmt.Sprintf("the other side closed the connection with code %d", g.Code)
	if meaning := closeCodes[g.Code]; meaning != "" {
		text += " (" + meaning + ")"
	}
	if g.Reason != "" {
		text += fmt.Sprintf(": %q", g.Reason)
	}
	return text
}

func (g goodbye) Unwrap() error { return g.CloseError }

// closeCodes says what codes of close frames mean (RFC 6455, section 7.4.1).
var closeCodes = map[websocket.StatusCode]string{
	websocket.StatusNormalClosure: "normal", websocket.StatusGoingAway: "it goes away",
	websocket.StatusProtocolError: "protocol error", websocket.StatusUnsupportedData: "unsupported data",
	websocket.StatusNoStatusRcvd: "no reason given", websocket.StatusPolicyViolation: "against its policy",
	websocket.StatusMessageTooBig: "message too big", websocket.StatusInternalError: "its internal error",
}

// readError makes ErrProtocol of what breaks RFC 6455: the library then tells the peer so,
// with a close status of its own.
func readError(err error) error {
	var closed websocket.CloseError
	var network *net.OpError
	switch {
	case errors.As(err, &closed):
		return goodbye{closed}
	case errors.As(err, &network): // without the library's words around it
		return network
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, net.ErrClosed):
		return err
	default:
		return fmt.Errorf("%w: %w", transport.ErrProtocol, err)
	}
}

// CloseWrite begins the closing handshake, which the reading goroutine notices the end of.
func (c *conn) CloseWrite() error {
	bye := make(chan struct{})
	c.mu.Lock()
	c.bye = bye
	c.mu.Unlock()
	go func() {
		defer close(bye)
		_ = c.ws.Close(websocket.StatusNormalClosure, "") // an unanswered goodbye isn't our fault
	}()
	return nil
}

// Close ends the connection at once.
func (c *conn) Close() error {
	err := c.tcp.Close()
	_ = c.ws.CloseNow() // says that it is closed already
	c.mu.Lock()
	bye := c.bye
	c.mu.Unlock()
	if bye != nil {
		<-bye
	}
	return err
}

// piece is how much of a frame is masked, and then written, at a time. It is in the processor's
// cache still when the system copies it.
const piece = 128 << 10

// frameConn is a connection on which two write: the WebSocket library control frames, one
// with each call of Write, and writeFrame messages between them. The library would copy a
// message once more, and write it 4 KiB at a time.
type frameConn struct {
	net.Conn
	batch *batchConn  // below TLS; nil without
	shook atomic.Bool // the handshake is over

	mu      sync.Mutex
	closing bool   // guarded by mu: a close frame was sent, after which nothing may follow
	block   []byte // guarded by mu: a piece that is masked
	mask    []byte // guarded by mu: the key, again and again
}

// Read makes the end of the connection another error than the end of a message is. The library
// has one for both.
func (f *frameConn) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	if f.shook.Load() && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Write writes what the library has to say.
func (f *frameConn) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if transport.IsClose(p) {
		f.closing = true
	}
	return f.Conn.Write(p)
}

// writeFrame writes a message as one frame (RFC 6455, sections 5.2 and 5.3).
func (f *frameConn) writeFrame(opcode byte, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return net.ErrClosed
	}
	if f.block == nil {
		f.block, f.mask = make([]byte, 0, piece), make([]byte, 4<<10)
	}
	var key transport.MaskKey
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	for i := 0; i < min(len(data), len(f.mask)); i += len(key) {
		copy(f.mask[i:], key[:])
	}
	if f.batch != nil {
		f.batch.begin()
	}
	err := f.writeMasked(transport.AppendMasked(f.block[:0], opcode, len(data), key), data)
	if f.batch != nil {
		if flushed := f.batch.flush(); err == nil {
			err = flushed
		}
	}
	return err
}

// writeMasked writes a header and the data after it; mu must be held.
func (f *frameConn) writeMasked(block, data []byte) error {
	for {
		n := min(len(data), (cap(block)-len(block))&^3) // the key begins again with each piece
		for at := 0; at < n; at += len(f.mask) {
			end := len(block)
			block = block[:end+min(n-at, len(f.mask))]
			subtle.XORBytes(block[end:], data[at:n], f.mask)
		}
		data = data[n:]
		if _, err := f.Conn.Write(block); err != nil || len(data) == 0 {
			return err
		}
		block = f.block[:0]
	}
}

// batchConn collects what TLS writes between begin and flush, record by record, to write it
// in large pieces. What another goroutine has to say goes with it, or at once when there is
// none.
type batchConn struct {
	net.Conn

	mu       sync.Mutex
	batching bool   // guarded by mu
	pending  []byte // guarded by mu
	err      error  // guarded by mu: a piece couldn't be written
}

func (b *batchConn) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batching = true
	if b.pending == nil {
		b.pending = make([]byte, 0, piece)
	}
}

// Write collects, or writes.
func (b *batchConn) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.batching {
		return b.Conn.Write(p)
	}
	if len(b.pending)+len(p) > cap(b.pending) {
		b.writePending()
	}
	if b.err != nil {
		return 0, b.err
	}
	if len(p) > cap(b.pending) {
		return b.Conn.Write(p)
	}
	b.pending = append(b.pending, p...)
	return len(p), nil
}

// writePending writes what is collected; mu must be held.
func (b *batchConn) writePending() {
	if len(b.pending) > 0 && b.err == nil {
		_, b.err = b.Conn.Write(b.pending)
	}
	b.pending = b.pending[:0]
}

// flush writes the rest.
func (b *batchConn) flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batching = false
	b.writePending()
	return b.err
}
