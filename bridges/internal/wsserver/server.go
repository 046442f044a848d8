package wsserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

// Session speaks a protocol with one client.
type Session interface {
	// Open is called once, after the handshake: what it posts is sent first.
	Open() error
	// Message is given each message that the client sends, good until it returns. An
	// error that wraps bridges.ErrProtocol or ErrControl ends the connection; any other
	// is counted as malformed, and logged, ever more rarely.
	Message(kind Kind, data []byte) error
	// Beat is called about once a second, on the client's writing goroutine, between two
	// messages.
	Beat()
	// Closed is called once after Open, when the client has gone: its subscriptions have
	// ended.
	Closed()
}

// Config says how a server treats its clients. The zero value of a field stands for its
// default.
type Config struct {
	// Name is what the server calls itself towards those who aren't its clients.
	Name string
	// Subprotocols are those that the server speaks, the best first. A client that offers
	// none of them is refused. None at all means that no subprotocol is asked for.
	Subprotocols []string
	// Accept makes the session of a client. It doesn't wait.
	Accept func(*Client) Session
	// Queue bounds what waits for one client: by default 64 messages, 64 MiB, the oldest
	// dropped. Its policy is for streams that have none of their own.
	Queue flow.QueueConfig
	// MaxClients is the number of clients at a time, 16 by default.
	MaxClients int
	// Origins are web pages that may connect beside those of package internal/guard, as its
	// Guard.Pages has them: "viewer.example", "https://viewer.example", "null". "*" lets
	// every page in.
	Origins []string
	// MaxControl bounds what is kept for a client: what is posted and not yet written, and
	// what its session holds (Client.Hold), bytes; guard.KeptBytes by default.
	MaxControl int
	// ReadLimit bounds a message of a client, bytes; guard.MessageBytes by default.
	ReadLimit int64
	// Stall is how long a client may take nothing while something is being written to it;
	// 10 s by default.
	Stall time.Duration
	// Idle is the time between two pings, also while data flows. Patience is how long nothing
	// may come from a client, answers to pings included. The defaults are guard.PingInterval
	// and guard.SilenceLimit.
	Idle, Patience time.Duration
	// TLS encrypts the connections; nil doesn't.
	TLS *tls.Config
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger

	beat time.Duration // the period of Session.Beat; 1 s by default
}

func (c Config) orDefaults() Config {
	if c.Name == "" {
		c.Name = "raybridge"
	}
	if c.MaxControl <= 0 {
		c.MaxControl = guard.KeptBytes
	}
	if c.ReadLimit <= 0 {
		c.ReadLimit = guard.MessageBytes
	}
	if c.Idle <= 0 {
		c.Idle = guard.PingInterval
	}
	if c.Patience <= 0 {
		c.Patience = guard.SilenceLimit
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Server accepts clients and brings them messages.
type Server struct {
	config Config
	fan    *fanout.Server
	guard  guard.Guard

	mu        sync.Mutex
	clients   map[*Client]bool  // guarded by mu: those whose handshake is done
	diagnosis bridges.Diagnosis // guarded by mu
	unread    flow.Journal      // guarded by mu: of lines about malformed messages
}

// New returns a server that doesn't listen yet, so that streams can be made before the
// first client comes.
func New(config Config) *Server {
	s := &Server{config: config.orDefaults(), clients: map[*Client]bool{}}
	s.guard = guard.Guard{Pages: s.config.Origins, NameOption: "origins=", PageOption: "origins="}
	s.fan = fanout.New(fanout.Config{
		Accept: func(c *fanout.Client) fanout.Session { return newClient(s, c) },
		Queue:  s.config.Queue, MaxClients: s.config.MaxClients, MaxControl: s.config.MaxControl,
		Stall: s.config.Stall, Beat: s.config.beat, TLS: s.config.TLS, Log: s.config.Log,
	})
	return s
}

// Listen accepts clients on a TCP address, HOST:PORT, until Close. Errors wrap
// bridges.ErrListen.
func (s *Server) Listen(address string) error {
	if host, _, err := net.SplitHostPort(address); err == nil {
		s.guard.Names = []string{host} // nobody is served yet
	}
	if err := s.fan.Listen(address); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrListen, err)
	}
	return nil
}

// Addr returns the address that the server listens on, nil while it doesn't.
func (s *Server) Addr() net.Addr { return s.fan.Addr() }

// NewStream adds a stream; clients receive it that subscribe.
func (s *Server) NewStream(config fanout.StreamConfig) *fanout.Stream { return s.fan.NewStream(config) }

// Clients returns the clients whose handshake is done, in no order.
func (s *Server) Clients() []*Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Client, 0, len(s.clients))
	for c := range s.clients {
		list = append(list, c)
	}
	return list
}

// Outstanding returns the number of buffers of all streams that are lent.
func (s *Server) Outstanding() int { return s.fan.Outstanding() }

// Diagnosis tells how the connections fared.
func (s *Server) Diagnosis() bridges.Diagnosis {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.diagnosis
}

// Close stops listening, delivers what waits for as long as ctx allows and the clients
// take it, and disconnects them. All goroutines have ended when it returns.
func (s *Server) Close(ctx context.Context) error { return s.fan.Close(ctx) }

// enter counts a client whose handshake is done.
func (s *Server) enter(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c] = true
	s.diagnosis.Connections++
}

func (s *Server) leave(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

// failed counts a connection that failed, or a handshake.
func (s *Server) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diagnosis.Fail(err)
}

// malformed counts a message that made no sense.
func (s *Server) malformed(c *Client, err error) {
	s.mu.Lock()
	s.diagnosis.Malformed++
	err = brief(err)
	s.diagnosis.LastError = err
	untold, tell := s.unread.Tell(time.Now())
	s.mu.Unlock()
	if tell {
		s.config.Log.Warn("can't read what a client sent", "server", s.config.Name, "client", c.Remote(), "error", err, "more_since", untold)
	}
}

// fatal reports whether an error of a session ends the connection.
func fatal(err error) bool { return errors.Is(err, bridges.ErrProtocol) || errors.Is(err, ErrControl) }
