package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/guard"
)

// Errors of connections. The errors of messages that were not delivered are flow's.
var (
	// ErrNoSubscribers: nobody receives the stream. It is flow.ErrNotConnected to errors.Is.
	ErrNoSubscribers = fmt.Errorf("%w: no client has subscribed to the topic", flow.ErrNotConnected)
	// ErrProtocol: the peer speaks another protocol, or another version of it.
	ErrProtocol = errors.New("peer does not speak the protocol")
	// ErrRefused: the client of a WebSocket isn't let in. The connection is closed with the status 1008 (RFC 6455) and
	// the error's text.
	ErrRefused = errors.New("client refused")
	// ErrTLS: the encrypted connection could not be made; the message says whose
	// certificate was refused and why.
	ErrTLS = errors.New("tls failed")
	// ErrListen: the address can't be listened on: the port is in use, or the system
	// doesn't permit it.
	ErrListen = errors.New("can't listen")
	// ErrListening: the server listens already.
	ErrListening = errors.New("stream server listens already")
)

// Session speaks a protocol with one client.
type Session interface {
	// Serve answers the client and reads what it sends, until the client goes or ctx
	// ends; the client is then disconnected. It calls Conn.Enter when the client has said
	// what it wants; a connection for which that takes too long is ended. Reading is the
	// session's alone, in the time that Conn.ExtendRead gives it. It runs on a goroutine of the client.
	Serve(ctx context.Context) error
	// Beat is called about once in Config.Beat, on the client's writing goroutine. It appends
	// control frames that are to be written now, such as a sign of life. idle tells that
	// nothing else was written since the beat before.
	Beat(dst []byte, idle bool) []byte
	// Goodbye appends what is to be written last when the server closes the
	// connection by itself. It runs on the writing goroutine.
	Goodbye(dst []byte) []byte
}

// Config says how a server treats its clients. The zero value of a field stands for
// its default.
type Config struct {
	// Accept makes the session of a new client. It reads and writes nothing.
	Accept func(*Conn) Session
	// WebSocket has clients upgrade to WebSocket first; its Accept makes their sessions, and
	// the one above isn't called. Nil serves plain TCP.
	WebSocket *WebSocketConfig
	// Unread are the errors of sessions that say that what a client sent can't be read. A
	// connection that ends with one counts as malformed, too. What is wrong in a message of a
	// WebSocket is counted message by message.
	Unread []error
	// Left is told of each client whose connection has ended: nil where the client has gone or
	// Close ended it, else why it failed. It runs on the client's goroutine, before Close
	// returns. It may be nil.
	Left func(c *Conn, failure error)
	// Queue bounds what waits for one client: by default 64 messages, 64 MiB, the
	// oldest dropped.
	Queue flow.QueueConfig
	// MaxClients is the number of clients at a time, 16 by default. A connection is a client
	// once its session has called Conn.Enter; before, package internal/guard's limits for
	// handshakes hold, in number and in time.
	MaxClients int
	// PerAddress is how many clients may come from one address of another machine; with 0,
	// MaxClients alone bounds them.
	PerAddress int
	// Stall is how long a client may take nothing while something is being written
	// to it; 10 s by default.
	Stall time.Duration
	// Beat is the period of Session.Beat; 1 s by default.
	Beat time.Duration
	// MaxControl bounds the control frames that a client leaves unread, and what its session
	// keeps for it (Conn.Hold), bytes. The default is 1 MiB, with WebSocket guard.KeptBytes.
	MaxControl int
	// TLS encrypts the connections; nil doesn't.
	TLS *tls.Config
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger
}

const (
	defaultMaxClients = 16
	// linger is how long a connection is kept after the last frame was written, for
	// the client to read it and to close its side.
	linger = time.Second
)

func (c Config) orDefaults() Config {
	c.MaxClients = cmp.Or(max(c.MaxClients, 0), defaultMaxClients)
	c.Stall = cmp.Or(max(c.Stall, 0), 10*time.Second)
	c.Beat = cmp.Or(max(c.Beat, 0), time.Second)
	switch {
	case c.MaxControl > 0:
	case c.WebSocket != nil:
		c.MaxControl = guard.KeptBytes
	default:
		c.MaxControl = 1 << 20
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Server accepts clients and brings them messages.
type Server struct {
	config Config
	gate   *guard.Gate
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	upgrade *upgrade // nil for plain TCP
	journal ConnectionLog

	mu       sync.Mutex
	listener net.Listener   // guarded by mu
	clients  map[*Conn]bool // guarded by mu
	streams  []*Stream      // guarded by mu
	closed   bool           // guarded by mu
}

// New returns a server that doesn't listen yet.
func New(config Config) *Server {
	s := &Server{config: config.orDefaults(), clients: map[*Conn]bool{}}
	s.journal.Begin(s.config.Log, Words{}) // it has no lines of one connection
	s.gate = guard.NewGate(s.config.MaxClients, s.config.PerAddress)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if w := s.config.WebSocket; w != nil {
		s.upgrade = newUpgrade(*w)
		s.config.Accept = func(c *Conn) Session { return newWebSocket(s.upgrade, c) }
	}
	return s
}

// Listen accepts clients on a TCP address, HOST:PORT, until Close; port 0 lets the
// system choose one, which Addr tells. Errors wrap ErrListen, flow.ErrClosed or ErrListening.
func (s *Server) Listen(address string) error {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4" // 0.0.0.0 is all of IPv4, not of IPv6 as well
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return fmt.Errorf("%w: listen on %s: %w", ErrListen, address, fault.NetReason(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.Join(flow.ErrClosed, listener.Close())
	case s.listener != nil:
		return errors.Join(ErrListening, listener.Close())
	}
	if host, _, err := net.SplitHostPort(address); err == nil && s.upgrade != nil {
		s.upgrade.guard.Names = []string{host} // nobody is served yet
	}
	s.listener = listener
	s.wg.Go(func() { s.accept(listener) })
	return nil
}

// Addr returns the address that the server listens on, nil while it doesn't.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// accept runs until the listener is closed. Other errors, such as too many open
// files, pass: it tries again, ever more slowly.
func (s *Server) accept(listener net.Listener) {
	const least, most = 5 * time.Millisecond, time.Second
	pause := least
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			pause = least
			s.Admit(conn)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		s.config.Log.Warn("accept stream client", "error", err, "again in", pause)
		if !Pause(s.ctx, pause) {
			return
		}
		pause = min(2*pause, most)
	}
}

// LoopbackBuffer is the size of the send buffer towards a client on this machine, which the
// kernel doubles. Left alone it grows to megabytes. What is on its way then falls out of the
// processor's cache before the client reads it. Large frames then take up to twice as long.
// Over a real network the kernel's own choice holds.
const LoopbackBuffer = 256 << 10

// Tune gives a connection to this machine a send buffer of that size, for either end;
// any other is left alone.
func Tune(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if peer, ok := tcp.RemoteAddr().(*net.TCPAddr); ok && peer.IP.IsLoopback() {
		_ = tcp.SetWriteBuffer(LoopbackBuffer) // else it is slower, no more
	}
}

// Admit makes a client of a connection, which the server closes. Listen's are admitted by
// themselves.
func (s *Server) Admit(conn net.Conn) { s.admit(conn, nil) }

// AdmitRequest is Admit for a connection on which an HTTP server has read the request to upgrade to WebSocket. It
// was let in there: the server's own rules for pages and hosts don't hold.
func (s *Server) AdmitRequest(conn net.Conn, request *http.Request) { s.admit(conn, request) }

func (s *Server) admit(conn net.Conn, request *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return
	}
	Tune(conn)
	pass := s.gate.Admit(conn)
	if s.config.TLS != nil {
		conn = tls.Server(conn, s.config.TLS)
	}
	c := newConn(s, conn, pass)
	c.session = s.config.Accept(c)
	if socket, ok := c.session.(*WebSocket); ok {
		socket.request = request
	}
	s.clients[c] = true
	s.wg.Go(c.run)
}

func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

// Clients returns the connections that have entered, in no order.
func (s *Server) Clients() []*Conn {
	return slices.DeleteFunc(s.all(), func(c *Conn) bool { return !c.pass.Inside() })
}

// all returns those that shake hands too.
func (s *Server) all() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.clients))
}

// MaxClients returns how many clients the server takes at a time.
func (s *Server) MaxClients() int { return s.config.MaxClients }

// Streams returns the streams in the order in which they were made.
func (s *Server) Streams() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[:len(s.streams):len(s.streams)]
}

// Close stops listening, delivers what waits for as long as ctx allows and the
// clients take it, and disconnects them. It returns when all of the server's
// goroutines have ended; later messages are settled as closed. Closing again waits
// for the same.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	var err error
	if !s.closed {
		s.closed = true
		if s.listener != nil {
			err = s.listener.Close()
		}
	}
	for c := range s.clients {
		c.finish(flow.CauseClosed)
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		s.cancel()
		for _, c := range s.all() {
			c.abort()
		}
	})
	s.wg.Wait()
	stop()
	s.cancel()
	for _, stream := range s.Streams() {
		stream.close()
	}
	if n := s.Outstanding(); n > 0 {
		s.config.Log.Error("stream buffers were not given back", "buffers", n)
	}
	return err
}

// Hasten bounds how long a sender waits for the clients that there are, with policy block: limit,
// where the time was longer.
func (s *Server) Hasten(limit time.Duration) {
	for _, c := range s.all() {
		c.queue.Hasten(limit)
	}
}

// Diagnosis tells how the clients' connections fared.
func (s *Server) Diagnosis() Diagnosis { return s.journal.Diagnosis() }

// failed counts a connection that failed, or wasn't let in.
func (s *Server) failed(err error) {
	kinds := []Trouble{TroubleFailed}
	if slices.ContainsFunc(s.config.Unread, func(unread error) bool { return errors.Is(err, unread) }) {
		kinds = append(kinds, TroubleUnread)
	}
	s.journal.counted(err, kinds...)
}

// Outstanding returns the number of buffers of all streams that are lent.
func (s *Server) Outstanding() int {
	n := 0
	for _, stream := range s.Streams() {
		n += stream.pool.Stats().Outstanding
	}
	return n
}
