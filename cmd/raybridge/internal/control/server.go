// Package control is the HTTP API that drives a run from outside: `raybridge run --api`.
// Requests and answers are JSON; docs/api.md is their page, and openapi.yaml has all of their
// fields.
//
//	PUT    /v1/time            {"sec": 12, "nanosec": 500000000}   set the time; source ss2
//	PUT    /v1/time/source     {"source": "simulation"}            select another source
//	PUT    /v1/time/scale      {"scale": 0.5}                      change the time scale
//	POST   /v1/pause                                               stop time
//	POST   /v1/resume                                              let it go on
//	POST   /v1/step            {"steps": 10}                       move a paused run on; 1 without a body
//	POST   /v1/step            {"until": ..., "actors": [...]}     move a paused run and a world on
//	POST   /v1/reset           {"seed": 7}                         take a paused run back to its beginning
//	GET    /v1/status                                              what the run did so far
//	GET    /v1/openapi.yaml                                        this list, with all fields, as OpenAPI has it
//	GET    /v1/models                                              what actors may look like
//	GET    /v1/spawn_points                                        where actors may begin
//	GET    /v1/actors                                              who is there
//	POST   /v1/actors          {"model": ..., "position": ...}     let one come in the next step
//	DELETE /v1/actors/ACTOR                                        let one go in the next step
//	POST   /v1/ego/control     {"throttle": 0.3}                   steer the ego
//	GET    /v1/sensors                                             the sensors
//	POST   /v1/sensors         {"type": ..., "name": ...}          add one
//	PUT    /v1/sensor          {"sensor": "front", "rate": 5}      change one
//	DELETE /v1/sensors/SENSOR                                      end one
//	GET    /v1/sensors/SENSOR/image.png                            a camera's newest picture
//	GET    /healthz, /readyz                                       whether it lives, and has begun
//	GET    /v1/stream, /ws                                         the run's data, by an upgrade
//	GET    /, ...                                                  the files of the live page, which /ws is for
//
// A request that changes something is answered with the [Time] after it. A wrong request gets
// the status 400, and one that the run's state doesn't allow 409; every error has {"error":
// "..."}.
//
// Any program that reaches the API may use it, unless the server has a token. It listens on the
// loopback interface unless told otherwise, and beyond that needs one. Package internal/guard
// says which browsers' pages may use it, which users a UNIX socket lets in, and how many
// connections there are at a time.
package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/guard"
)

// Errors of addresses; callers test them with errors.Is.
var (
	// ErrAddress says that an address to listen on isn't valid.
	ErrAddress = errors.New("bad address")
	// ErrToken says that an address that other machines reach needs a token.
	ErrToken = errors.New("other machines reach this address, so that it needs a token")
)

// Address is where a Server listens.
type Address struct {
	Host string // "127.0.0.1" where none was named
	Port uint16 // 0 for any free one
	Path string // of a UNIX socket, in place of both; "" for TCP
}

// unixPrefix begins the address of a UNIX socket.
const unixPrefix = "unix:"

// longestPath is how long the path of a UNIX socket may be, in bytes: unix(7).
const longestPath = 107

// ParseAddress reads PORT, :PORT, HOST:PORT or unix:PATH. Errors wrap ErrAddress.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, unixPrefix); ok {
		if path == "" || len(path) > longestPath {
			return Address{}, fmt.Errorf("%w %q: the path has %d bytes, the range is 1 to %d", ErrAddress, text, len(path), longestPath)
		}
		return Address{Path: path}, nil
	}
	host, port := "", text
	if _, err := strconv.ParseUint(text, 10, 64); err != nil {
		if host, port, err = net.SplitHostPort(text); err != nil {
			return Address{}, fmt.Errorf("%w %q: need PORT, HOST:PORT or unix:PATH, such as 8080", ErrAddress, text)
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

// Network returns the network and the address as package net takes them.
func (a Address) Network() (network, address string) {
	switch ip := net.ParseIP(a.Host); {
	case a.Path != "":
		return "unix", a.Path
	case ip != nil && ip.To4() != nil:
		network = "tcp4" // 0.0.0.0 is all of IPv4, not of IPv6 as well
	default:
		network = "tcp"
	}
	return network, net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

// String returns what ParseAddress reads.
func (a Address) String() string {
	network, address := a.Network()
	if network == "unix" {
		return unixPrefix + address
	}
	return address
}

// Bounds of what a client may make the server wait for or keep, beside the guard's.
const (
	bodyLimit    = 64 << 10
	closingLimit = 2 * time.Second
	endingLimit  = time.Second // for steps to see that the run is over, and be answered
)

// Server listens from Listen on and answers from Serve on. Serve and Close are one
// goroutine's, one after the other.
type Server struct {
	listener net.Listener
	guard    guard.Guard // Serve completes it
	http     *guard.Server
	ending   func()        // ends what requests wait for
	served   chan struct{} // closed when Serve's goroutine has ended; nil before Serve
	log      *slog.Logger  // set by Serve

	mu      sync.Mutex
	refused map[string]int64 // guarded by mu: never changed, but replaced
	rate    flow.Journal     // guarded by mu: of lines about those who were refused
}

// originsFlag is the flag whose hosts Listen is given.
const originsFlag = "--api-origins"

// pagesOf returns the hosts under which page and API are reached as package internal/guard takes them, which are patterns.
// One without a port is meant with any. Errors wrap ErrAddress.
func pagesOf(origins []string) (pages []string, err error) {
	for _, origin := range origins {
		host, port := origin, ""
		if name, number, err := net.SplitHostPort(origin); err == nil {
			if _, err := strconv.ParseUint(number, 10, 16); err == nil {
				host, port = name, number
			}
		}
		ip := net.ParseIP(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
		switch {
		case host == "" || ip == nil && strings.ContainsAny(host, "*?[]\\/@# \t:"):
			return nil, fmt.Errorf("%w %q: want the names of hosts between commas, such as robot or robot:7741", ErrAddress, origin)
		case ip != nil && ip.To4() == nil:
			host = `\[` + ip.String() + `\]` // as browsers write it
		case ip != nil:
			host = ip.String()
		}
		if port != "" {
			pages = append(pages, host+":"+port)
		} else {
			pages = append(pages, host, host+":*")
		}
	}
	return pages, nil
}

// Listen takes an address. Clients that connect already wait for Serve. Close ends
// it. With a token each request has to have it, except those to /healthz and /readyz. Without one, an address that isn't this
// machine's alone is refused with ErrToken. Origins are hosts, perhaps with ports, under which page and API are reached beside
// those that nobody else can have.
//
// A UNIX socket has the mode 0600. The file of one that nobody listens at any more is replaced.
func Listen(ctx context.Context, at Address, token string, origins ...string) (*Server, error) {
	pages, err := pagesOf(origins)
	if err != nil {
		return nil, err
	}
	network, address := at.Network()
	if network == "unix" {
		if err := clearStale(ctx, address); err != nil {
			return nil, fmt.Errorf("listen on %v: %w", at, err)
		}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("listen on %v: %w", at, fault.NetReason(err))
	}
	s := &Server{listener: listener, guard: guard.Guard{
		Names: []string{at.Host}, Pages: pages, NameOption: originsFlag, PageOption: originsFlag, Token: token, Open: []string{healthPath, readyPath},
	}}
	switch {
	case network == "unix":
		err = os.Chmod(address, 0o600)
	case token == "" && !s.Local():
		err = ErrToken
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %v: %w", at, err), listener.Close())
	}
	return s, nil
}

// clearStale removes the file of a UNIX socket that nobody listens at. What isn't a socket
// stays.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.File(err)
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("the file is there and isn't a socket: choose another path")
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return errors.Join(errors.New("address already in use: end the program that has it, or choose another path"), conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	default:
		return fault.NetReason(err)
	}
}

// Addr returns where the server listens, with the port that was picked, as ParseAddress reads
// it.
func (s *Server) Addr() string {
	if tcp, ok := s.listener.Addr().(*net.TCPAddr); ok {
		return tcp.String()
	}
	return unixPrefix + s.listener.Addr().String()
}

// Local reports whether this machine alone can connect.
func (s *Server) Local() bool {
	tcp, ok := s.listener.Addr().(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// Listener is the address that the server listens on.
func (s *Server) Listener() net.Addr { return s.listener.Addr() }

// Serve begins to answer requests on a goroutine of the server's own; log receives
// what goes wrong there.
func (s *Server) Serve(run Run, log *slog.Logger) {
	handler := NewHandler(run)
	var late []string
	if run.View != nil { // the page's files hold nothing secret, and its WebSocket is given the token in another way
		s.guard.Open = append(append(s.guard.Open, stream.PagePath), run.View.Files.Paths()...)
		late = []string{stream.PagePath}
		handler = s.usable(handler)
	}
	s.answer(handler, late, log)
}

// ServeHandler is Serve for a handler of the caller's, behind the same guard.
func (s *Server) ServeHandler(handler http.Handler, log *slog.Logger) { s.answer(handler, nil, log) }

// answer answers requests. On late paths a connection is taken over.
func (s *Server) answer(handler http.Handler, late []string, log *slog.Logger) {
	ctx, cancel := context.WithCancel(context.Background())
	s.ending = cancel
	s.log = log
	s.http = guard.NewServer(handler, guard.Config{
		Guard:       &s.guard,
		Connections: guard.ControlConnections,
		Body:        bodyLimit,
		Late:        late,
		Answer:      func(w http.ResponseWriter, err error) { reply(w, nil, err) },
		Refused:     s.bar,
	})
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	s.http.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the API has ended", "error", err)
		}
	}()
}

// usable refuses the live page where a browser has loaded it under a host whose pages may not use the API.
func (s *Server) usable(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			if err := s.guard.CheckPage(r); err != nil {
				err = fmt.Errorf("refuse page: %w", err)
				s.bar(err)
				reply(w, nil, err)
				return
			}
		}
		handler.ServeHTTP(w, r)
	})
}

// Admit judges the token that a live page gives, and counts one that isn't right.
func (s *Server) Admit(token string) error {
	err := s.guard.CheckToken(token)
	if err != nil {
		s.bar(fmt.Errorf("refuse page: %w", err))
	}
	return err
}

// bar counts somebody who wasn't let in, and tells of it ever more rarely.
func (s *Server) bar(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = guard.Count(s.refused, err)
	if untold, tell := s.rate.Tell(time.Now()); tell {
		s.log.Warn("the API refused a client", "error", err, "more_since", untold)
	}
}

// Refused returns how many requests and connections weren't let in, by cause; nil for none. It
// may be called from any goroutine.
func (s *Server) Refused() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// Close stops listening, and lets requests that are being answered come to their end for two
// seconds. A step of a run that is over is answered; what waits for other things waits no longer than a second. It returns when the server's goroutines have ended.
func (s *Server) Close() error {
	if s.http == nil {
		return s.listener.Close()
	}
	ending := time.AfterFunc(endingLimit, s.ending)
	defer s.ending()
	defer ending.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), closingLimit)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil { // somebody is slow
		err = s.http.Close()
	}
	<-s.served
	return err
}
