package xmlrpc

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/internal/netfault"
)

// Server answers calls over HTTP.
type Server struct {
	http *guard.Server
	addr *net.TCPAddr
	done chan struct{}
}

// Listen begins to answer on a TCP address, HOST:PORT; port 0 is any free one. Others call it by
// the name host, or by IP addresses. refused is told, on any goroutine, of those who weren't let
// in.
func Listen(address, host string, handler http.Handler, refused func(error)) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for calls on %s: %w", address, netfault.Reason(err))
	}
	s := &Server{addr: listener.Addr().(*net.TCPAddr), done: make(chan struct{})}
	s.http = guard.NewServer(handler, guard.Config{
		Guard:       &guard.Guard{Names: []string{host}, NameOption: "host="},
		Connections: guard.NodeCalls,
		Body:        MaxCall,
		Answer:      func(w http.ResponseWriter, err error) { http.Error(w, err.Error(), guard.Status(err)) },
		Refused:     refused,
	})
	s.http.ErrorLog = log.New(io.Discard, "", 0) // a caller's failures are the caller's
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	}()
	return s, nil
}

// Port is the port that the server listens on.
func (s *Server) Port() int { return s.addr.Port }

// Close ends all connections at once, and returns when nothing more is accepted.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}
