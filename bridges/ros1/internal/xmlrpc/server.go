package xmlrpc

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a server: the time for one call, for an idle connection, and the connections
// at a time.
const (
	callLimit      = 10 * time.Second
	idleLimit      = time.Minute
	maxConnections = 256
)

// Server answers calls over HTTP.
type Server struct {
	http *http.Server
	addr *net.TCPAddr
	done chan struct{}

	mu    sync.Mutex
	conns int // guarded by mu
}

// Listen begins to answer on a TCP address, HOST:PORT; port 0 is any free one.
func Listen(address string, handler http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for calls on %s: %w", address, err)
	}
	s := &Server{addr: listener.Addr().(*net.TCPAddr), done: make(chan struct{})}
	s.http = &http.Server{
		Handler: handler, ReadTimeout: callLimit, WriteTimeout: callLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: 16 << 10, ConnState: s.state,
		ErrorLog: log.New(io.Discard, "", 0), // a caller's failures are the caller's
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	}()
	return s, nil
}

// state counts the connections, and ends those that are too many.
func (s *Server) state(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		if s.conns++; s.conns > maxConnections {
			_ = conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.conns--
	}
}

// Port is the port that the server listens on.
func (s *Server) Port() int { return s.addr.Port }

// Close ends all connections at once, and returns when nothing more is accepted.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}
