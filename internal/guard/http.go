package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
)

// Server is an HTTP server behind a guard and a gate.
type Server struct {
	http.Server
	config Config
	gate   *Gate
}

// Config says how a server is guarded.
type Config struct {
	Guard *Guard
	// Connections is how many may have shaken hands at a time; half of them may be of one
	// address of another machine.
	Connections int
	// Body is how large a request's body may be, in bytes. As much of it is read before the
	// request counts as a client's, so that a slow body takes nobody's place. The handler gets
	// the whole body, and refuses what is larger.
	Body int64
	// Late are paths whose handler takes the connection over, and calls Enter when the client has said who it is.
	// Until then it is a handshake and takes nobody's place.
	Late []string
	// Answer writes the answer to a request that is refused, whose status Status tells.
	Answer func(http.ResponseWriter, error)
	// Refused is told of each request and connection that was refused, an error that wraps a
	// *Refusal. Any goroutine may call it.
	Refused func(error)
}

// NewServer returns a server that answers by the handler what its guard lets through. Its
// fields may be changed before Serve.
func NewServer(handler http.Handler, c Config) *Server {
	s := &Server{config: c, gate: NewGate(c.Connections, c.Connections/2)}
	s.Server = http.Server{
		Handler:           s.guarded(handler),
		ReadHeaderTimeout: RequestTime, // the gate is faster, and says why
		ReadTimeout:       RequestTime,
		WriteTimeout:      RequestTime,
		IdleTimeout:       IdleTime,
		MaxHeaderBytes:    HeaderBytes,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, passKey{}, conn.(*gated).pass)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateIdle {
				conn.(*gated).pass.Rest()
			}
		},
	}
	return s
}

// passKey is where a request's context has its connection's *Pass.
type passKey struct{}

// Serve answers what comes by a listener until the server is closed.
func (s *Server) Serve(l net.Listener) error { return s.Server.Serve(&listener{l, s}) }

// Shutdown is http.Server's, and waits for nobody who hasn't asked for anything.
func (s *Server) Shutdown(ctx context.Context) error {
	s.gate.dismiss()
	return s.Server.Shutdown(ctx)
}

// guarded refuses what isn't to be answered.
func (s *Server) guarded(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pass := r.Context().Value(passKey{}).(*Pass)
		err := s.config.Guard.Check(r)
		if err == nil {
			s.readBody(r)
			if slices.Contains(s.config.Late, r.URL.Path) {
				err = pass.vacancy()
			} else {
				err = pass.Enter()
			}
		}
		if pass.Cut() != nil {
			return // Close tells of it
		}
		if err != nil {
			s.config.Refused(fmt.Errorf("refuse request of %s: %w", r.RemoteAddr, err))
			if Status(err) == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			w.Header().Set("Connection", "close")
			s.config.Answer(w, err)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// Enter makes the connection of a request for one of Config.Late a client. Errors are Pass.Enter's; it is nil for a
// request that no Server has let in.
func Enter(r *http.Request) error {
	if pass, ok := r.Context().Value(passKey{}).(*Pass); ok {
		return pass.Enter()
	}
	return nil
}

// readBody reads the body, or as much of it as may be there. An error is left to the handler,
// which meets it again.
func (s *Server) readBody(r *http.Request) {
	text, _ := io.ReadAll(io.LimitReader(r.Body, s.config.Body))
	r.Body = readFirst{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
}

// readFirst is a body whose beginning was read.
type readFirst struct {
	io.Reader
	io.Closer
}

// Status is the status of the answer to a request that was refused.
func Status(err error) int {
	refusal := &Refusal{}
	errors.As(err, &refusal)
	switch refusal.Rule {
	case BadHost, BadOrigin:
		return http.StatusForbidden
	case BadToken:
		return http.StatusUnauthorized
	default:
		return http.StatusServiceUnavailable
	}
}

// listener admits connections to the gate.
type listener struct {
	net.Listener
	server *Server
}

// Accept waits for the next connection. On a UNIX socket it passes over those of other users.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := checkUser(conn); err != nil {
			l.server.config.Refused(fmt.Errorf("end connection of another user: %w", err))
			_ = conn.Close()
			continue
		}
		return &gated{Conn: conn, server: l.server, pass: l.server.gate.Admit(conn)}, nil
	}
}

// checkUser refuses a connection of a UNIX socket whose other end is neither this process's
// user nor root.
func checkUser(conn net.Conn) error {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	user, err := userOf(local)
	if err != nil {
		return refuse(BadUser, "the user who connected isn't known: %v", err)
	}
	if !admits(user, os.Geteuid()) {
		return refuse(BadUser, "the user %d may not use this server", user)
	}
	return nil
}

// admits reports whether a user may use the UNIX socket of another.
func admits(user, own int) bool { return user == own || user == 0 }

// gated is a connection that leaves the gate when it is closed.
type gated struct {
	net.Conn
	server *Server
	pass   *Pass
}

// Read reads, and notes that a request begins.
func (c *gated) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.pass.Ask()
	}
	return n, err
}

// NetConn returns the connection that is guarded, for what only its own type can do. It is not
// to be closed.
func (c *gated) NetConn() net.Conn { return c.Conn }

// Close closes the connection, and tells of it if the gate has ended it.
func (c *gated) Close() error {
	if err := c.pass.Cut(); c.pass.Leave() && err != nil {
		c.server.config.Refused(fmt.Errorf("end connection of %s: %w", c.RemoteAddr(), err))
	}
	return c.Conn.Close()
}

// CloseWrite lets the server end its side first, so that a refusal arrives whose request
// wasn't read.
func (c *gated) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
