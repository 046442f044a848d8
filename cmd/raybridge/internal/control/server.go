// Package control is the HTTP API that drives a run's time from outside:
// `raybridge run --control`. Requests and answers are JSON.
//
//	PUT  /v1/time         {"sec": 12, "nanosec": 500000000}   set the time; source ss2
//	PUT  /v1/time/source  {"source": "simulation"}            select another source
//	PUT  /v1/time/scale   {"scale": 0.5}                      change the time scale
//	POST /v1/pause                                            stop time
//	POST /v1/resume                                           let it go on
//	POST /v1/step         {"steps": 10}                       move a paused run on; 1 without a body
//	GET  /v1/status                                           what the run did so far
//
// All but the last are answered with the [Time] after it; a step when the run has
// come there, or after some time. What the client got wrong
// is answered with 400, what the run's state doesn't allow with 409, and every
// error with {"error": "..."}.
//
// Any program that reaches the API may use it, so that it listens on the loopback interface
// unless told otherwise. Package internal/guard says which browsers' pages may use it, and how
// many connections there are at a time.
package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/guard"
)

// ErrAddress says that an address to listen on isn't valid.
var ErrAddress = errors.New("bad address")

// Address is where a Server listens.
type Address struct {
	Host string // "127.0.0.1" where none was named
	Port uint16 // 0 for any free one
}

// ParseAddress reads PORT, :PORT or HOST:PORT. Errors wrap ErrAddress.
func ParseAddress(text string) (Address, error) {
	host, port := "", text
	if _, err := strconv.ParseUint(text, 10, 64); err != nil {
		if host, port, err = net.SplitHostPort(text); err != nil {
			return Address{}, fmt.Errorf("%w %q: need PORT or HOST:PORT, such as 8080", ErrAddress, text)
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Address{}, fmt.Errorf("%w %q: the port is a number from 0, for any free one, to 65535", ErrAddress, text)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return Address{Host: host, Port: uint16(n)}, nil
}

// Bounds of what a client may make the server wait for or keep, beside the guard's.
const (
	bodyLimit    = 64 << 10
	closingLimit = 2 * time.Second
)

// Server listens from Listen on and answers from Serve on. Serve and Close are one
// goroutine's, one after the other.
type Server struct {
	listener net.Listener
	host     string
	http     *guard.Server
	ending   func()        // ends what requests wait for
	served   chan struct{} // closed when Serve's goroutine has ended; nil before Serve
	log      *slog.Logger  // set by Serve

	mu      sync.Mutex
	refused map[string]int64 // guarded by mu: never changed, but replaced
	rate    flow.Journal     // guarded by mu: of lines about those who were refused
}

// Listen takes an address. Clients that connect already wait for Serve. Close ends
// it.
func Listen(ctx context.Context, at Address) (*Server, error) {
	var config net.ListenConfig
	address := net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	network := "tcp"
	if ip := net.ParseIP(at.Host); ip != nil && ip.To4() != nil {
		network = "tcp4" // 0.0.0.0 is all of IPv4, not of IPv6 as well
	}
	listener, err := config.Listen(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, fault.NetReason(err))
	}
	return &Server{listener: listener, host: at.Host}, nil
}

// Addr returns where the server listens, with the port that was picked.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Loopback reports whether only this machine reaches the server.
func (s *Server) Loopback() bool {
	tcp, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Serve begins to answer requests on a goroutine of the server's own; log receives
// what goes wrong there.
func (s *Server) Serve(run Run, log *slog.Logger) {
	ctx, cancel := context.WithCancel(context.Background())
	s.ending = cancel
	s.log = log
	s.http = guard.NewServer(NewHandler(run), guard.Config{
		Guard:       &guard.Guard{Names: []string{s.host}, NameOption: "--control"},
		Connections: guard.ControlConnections,
		Body:        bodyLimit,
		Answer:      func(w http.ResponseWriter, err error) { reply(w, nil, err) },
		Refused:     s.bar,
	})
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	s.http.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the control API has ended", "error", err)
		}
	}()
}

// bar counts somebody who wasn't let in, and tells of it ever more rarely.
func (s *Server) bar(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = guard.Count(s.refused, err)
	if untold, tell := s.rate.Tell(time.Now()); tell {
		s.log.Warn("the control API refused somebody", "error", err, "more_since", untold)
	}
}

// Refused returns how many requests and connections weren't let in, by cause; nil for none. It
// may be called from any goroutine.
func (s *Server) Refused() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// Close stops listening, ends the wait of steps, and lets requests that are being answered come to
// their end for two seconds. It returns when the server's goroutines have ended.
func (s *Server) Close() error {
	if s.http == nil {
		return s.listener.Close()
	}
	s.ending()
	ctx, cancel := context.WithTimeout(context.Background(), closingLimit)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil { // somebody is slow
		err = s.http.Close()
	}
	<-s.served
	return err
}
