package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// Clock is the simulation clock that the API drives: *simtime.Clock, with its
// errors.
type Clock interface {
	Now() int64
	Pace() int64
	Paused() bool
	State() simtime.State
	Set(sec int64, nanosec uint32) error
	Select(source string) error
	SetScale(simtime.Scale) error
	Pause()
	Resume()
	Step(ns int64) error
}

// Run is what the API drives.
type Run struct {
	Clock Clock
	// Step is the length of one step.
	Step time.Duration
	// StepWait is how long the answer to a step may wait for the run to have come
	// there. (optional; default not at all)
	StepWait time.Duration
	// Status returns what GET /v1/status answers, for encoding/json. It is called
	// by many goroutines.
	Status func() any
}

// Time is the answer to all requests that change something.
type Time struct {
	Source  string  `json:"source"`
	Scale   float64 `json:"scale"`
	Paused  bool    `json:"paused"`
	Sec     int64   `json:"sec"`
	Nanosec uint32  `json:"nanosec"`
}

// TimeOf returns the clock's time now.
func TimeOf(c Clock) Time {
	s := c.State()
	sec, rest := s.NowNs/int64(time.Second), s.NowNs%int64(time.Second)
	if rest < 0 {
		sec, rest = sec-1, rest+int64(time.Second)
	}
	return Time{Source: s.Source, Scale: s.Scale.Float64(), Paused: s.Paused, Sec: sec, Nanosec: uint32(rest)}
}

// handler answers the API's requests.
type handler struct {
	run      Run
	host     string
	mux      *http.ServeMux
	origins  *http.CrossOriginProtection
	stepping sync.Mutex // held while a step's length is found and told
}

// NewHandler returns the API of a run. host is the name that the API's address has
// beside names without a dot and IP addresses, which are always good. Its methods
// may be called from any goroutine.
func NewHandler(run Run, host string) http.Handler {
	h := &handler{run: run, host: host, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection()}
	var known []string
	for _, r := range h.routes() {
		known = append(known, r.method+" "+r.path)
		h.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, request *http.Request) {
			answer, err := r.serve(w, request)
			reply(w, answer, err)
		})
		h.mux.HandleFunc(r.path, func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Allow", r.method)
			reply(w, nil, refuse(http.StatusMethodNotAllowed, "%s takes %s, not %s", r.path, r.method, request.Method))
		})
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, request *http.Request) {
		reply(w, nil, notFound(request, known))
	})
	return h
}

func notFound(r *http.Request, known []string) error {
	return refuse(http.StatusNotFound, "nothing at %q; there is %s", r.URL.Path, strings.Join(known, ", "))
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.guard(r); err != nil {
		reply(w, nil, err)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// guard refuses what a browser sends in the name of another site's page: requests
// to a name that somebody made point to this machine (DNS rebinding), and those that
// change something and come from elsewhere (cross-site request forgery). What a
// page could send without a browser's telling so has no JSON body: see body.
func (h *handler) guard(r *http.Request) error {
	if !h.own(r.Host) {
		return refuse(http.StatusForbidden, "the host %q is not this API's: use its IP address, or name it in --control", r.Host)
	}
	if err := h.origins.Check(r); err != nil {
		return refuse(http.StatusForbidden, "other sites' pages may not use this API: %v", err)
	}
	if path.Clean("/"+r.URL.Path) != r.URL.Path { // the mux would send the client elsewhere
		return refuse(http.StatusNotFound, "nothing at %q", r.URL.Path)
	}
	return nil
}

// own reports whether a Host header names this server. An IP address can't be made
// to point elsewhere, and a name without a dot is one of this machine, its network or
// its containers, which nobody outside gives out.
func (h *handler) own(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return !strings.Contains(host, ".") || net.ParseIP(host) != nil || strings.EqualFold(host, h.host)
}

// requestError is an answer that is not 200.
type requestError struct {
	status  int
	message string
}

func (e *requestError) Error() string { return e.message }

func refuse(status int, format string, args ...any) error {
	return &requestError{status, fmt.Sprintf(format, args...)}
}

// statusOf is the answer's status for an error.
func statusOf(err error) int {
	var e *requestError
	if errors.As(err, &e) {
		return e.status
	}
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case slices.ContainsFunc([]error{simtime.ErrNotSettable, simtime.ErrNotPaused, simtime.ErrNotSteppable}, is):
		return http.StatusConflict
	case slices.ContainsFunc([]error{simtime.ErrDuration, simtime.ErrScale, simtime.ErrUnknownSource}, is):
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError
	}
}

// reply writes an answer, or the error's.
func reply(w http.ResponseWriter, answer any, err error) {
	status := http.StatusOK
	var text []byte
	if err == nil {
		text, err = json.Marshal(answer)
	}
	if err != nil {
		status = statusOf(err)
		text, _ = json.Marshal(map[string]string{"error": err.Error()}) // a string can be written
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that has gone is none to tell
}
