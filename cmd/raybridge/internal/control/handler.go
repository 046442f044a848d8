package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/internal/guard"
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
	mux      *http.ServeMux
	stepping sync.Mutex // held while a step's length is found and told
}

// NewHandler returns the API of a run. It answers every request; the server's guard comes
// before it. Its methods may be called from any goroutine.
func NewHandler(run Run) http.Handler {
	h := &handler{run: run, mux: http.NewServeMux()}
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
	if path.Clean("/"+r.URL.Path) != r.URL.Path { // the mux would send the client elsewhere
		reply(w, nil, refuse(http.StatusNotFound, "nothing at %q", r.URL.Path))
		return
	}
	h.mux.ServeHTTP(w, r)
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
	if refusal := new(guard.Refusal); errors.As(err, &refusal) {
		return guard.Status(err)
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
