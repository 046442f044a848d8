package control

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/metrics"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/page"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// openAPI describes the routes.
//
//go:embed openapi.yaml
var openAPI string

// Clock is the simulation clock that the API drives: *simtime.Clock, with its
// errors.
type Clock interface {
	Now() simtime.Stamp
	Pace() simtime.Stamp
	Paused() bool
	State() simtime.State
	Set(sec int64, nanosec uint32) error
	Select(source string) error
	SetScale(simtime.Scale) error
	Pause()
	Resume()
	Step(ns int64) error
	Halt()
}

// Run is what the API drives.
type Run struct {
	Clock Clock
	// Step is the length of one step.
	Step time.Duration
	// StepWait is how long the answer to a number of steps waits for them, unless the client asks
	// for another time. A frame's waits as long as its client does.
	StepWait time.Duration
	// StepTo steps the run, as pipeline.Pipeline's StepRunning does.
	StepTo func(context.Context, *world.Frame) (world.StepResult, error)
	// Port is the bridge that serves connections which ask for the stream protocol. (optional)
	Port *stream.Port
	// View is the live page. (optional)
	View *View
	// Pipeline is the run's, whose sensors and actors the API shows and changes.
	Pipeline *pipeline.Pipeline
	// Build names the program, for its metrics.
	Build metrics.Build
	// Profiles: Go's profiles of the program are served, see net/http/pprof. Server.Local tells whether that is wise.
	Profiles bool
	// Memory is what pictures are taken from that are kept for clients; nil for no limit.
	Memory *memory.Budget
	// Tune changes a sensor by its name while it runs. Its errors are those of
	// pipeline.Pipeline.Sensor, simtime.ParseRate and pipeline.Sensor.Tune.
	Tune func(sensor, rate string, attributes map[string]any) error
	// Status returns what GET /v1/status answers, for encoding/json. It is called
	// by many goroutines.
	Status func() any
}

// View is the live page: its files, and the bridge that serves its data.
type View struct {
	Files *page.Files
	Port  *stream.PagePort
}

// Time is the answer to all requests that change something.
type Time struct {
	Source  string  `json:"source"`
	Scale   float64 `json:"scale"`
	Paused  bool    `json:"paused"`
	Sec     int64   `json:"sec"`
	Nanosec uint32  `json:"nanosec"`
}

// timeOf returns the clock's time now.
func timeOf(c Clock) Time {
	s := c.State()
	now := instantOf(s.Now)
	return Time{Source: s.Source, Scale: s.Scale.Float64(), Paused: s.Paused, Sec: now.Sec, Nanosec: now.Nanosec}
}

// handler answers the API's requests.
type handler struct {
	run      Run
	mux      *http.ServeMux
	stepping chan struct{} // has room for the one who makes a number of steps
	large    chan struct{} // has room for requests whose body is large
	decoding sync.Mutex    // held while a step is decoded
	pictures pictures
	metrics  http.Handler
}

// NewHandler returns the API of a run. It answers every request; the server's guard comes
// before it. Its methods may be called from any goroutine.
func NewHandler(run Run) http.Handler {
	h := &handler{run: run, mux: http.NewServeMux(), stepping: make(chan struct{}, 1), large: make(chan struct{}, largeBodies)}
	h.pictures = pictures{run: &h.run, kept: map[*pipeline.Sensor]*kept{}}
	h.metrics = metrics.Handler(run.Pipeline, run.Build)
	var known []string
	methods := map[string][]string{}
	for _, r := range h.routes() {
		known = append(known, r.method+" "+r.path)
		methods[r.path] = append(methods[r.path], r.method)
		h.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, request *http.Request) {
			answer, err := r.serve(w, request)
			reply(w, answer, err)
		})
	}
	for path, allowed := range methods {
		h.mux.HandleFunc(path, func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			reply(w, nil, refuse(http.StatusMethodNotAllowed, "%s takes %s, not %s", path, strings.Join(allowed, " and "), request.Method))
		})
	}
	if run.Port != nil {
		run.Port.Drive(&stepper{h: h})
		known = append(known, "GET "+stream.UpgradePath)
		h.mux.HandleFunc("GET "+stream.UpgradePath, h.upgrade)
	}
	if run.View != nil {
		for _, path := range run.View.Files.Paths() {
			if path == "/" {
				path = "/{$}"
			}
			h.mux.Handle(path, run.View.Files)
		}
		h.mux.HandleFunc("GET "+stream.PagePath, h.socket)
	}
	if run.Profiles {
		h.serveProfiles()
		known = append(known, "GET "+profilesPath)
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, request *http.Request) {
		reply(w, nil, refuse(http.StatusNotFound, "nothing at %q; there is %s", request.URL.Path, strings.Join(known, ", ")))
	})
	return h
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path.Clean("/"+r.URL.Path) != r.URL.Path && r.URL.Path != profilesPath { // the mux would send the client elsewhere
		reply(w, nil, refuse(http.StatusNotFound, "nothing at %q", r.URL.Path))
		return
	}
	h.mux.ServeHTTP(w, r)
}

// requestError is an answer that is not 200.
type requestError struct {
	status  int
	message string
	reasons []string // where there may be several
}

func (e *requestError) Error() string { return e.message }

func refuse(status int, format string, args ...any) error {
	return &requestError{status: status, message: fmt.Sprintf(format, args...)}
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
	for _, s := range statuses {
		if slices.ContainsFunc(s.errors, is) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// statuses are those of errors that aren't the server's fault. The first that fits counts.
var statuses = []struct {
	status int
	errors []error
}{
	{http.StatusNotFound, []error{pipeline.ErrNoSensor, scene.ErrNoActor, scene.ErrAbsent, world.ErrUnknownActor, world.ErrUnknownSignal}},
	{http.StatusConflict, []error{
		simtime.ErrNotSettable, simtime.ErrNotPaused, simtime.ErrNotSteppable, sensors.ErrFixed, motion.ErrNotDriven,
		world.ErrMode, world.ErrBusy, world.ErrTime, world.ErrEnded, pipeline.ErrTopic, pipeline.ErrMounted, pipeline.ErrClosed, memory.ErrExceeded,
	}},
	{http.StatusBadRequest, []error{
		simtime.ErrDuration, simtime.ErrScale, simtime.ErrUnknownSource, simtime.ErrRate, sensors.ErrValue, sensors.ErrUnknownAttribute, spatial.ErrBeyondMap,
		sensors.ErrUnknownSensor, rig.ErrName, rig.ErrFrame, rig.ErrParent, rig.ErrTopic, rig.ErrOutput,
		world.ErrValue, world.ErrDuplicate, world.ErrFull,
	}},
	{http.StatusServiceUnavailable, []error{context.Canceled, context.DeadlineExceeded}},
}

// failure is the answer to a request that isn't done.
type failure struct {
	Error string `json:"error"`
	// Applied: it was a step whose frame was applied all the same. Spawned are those who came, and Stamp is
	// where time stands.
	Applied bool     `json:"applied,omitempty"`
	Spawned []uint32 `json:"spawned,omitempty"`
	Stamp   *instant `json:"stamp,omitempty"`
	// Reasons are those of a run that isn't ready, one by one.
	Reasons []string `json:"reasons,omitempty"`
}

// errorBytes bounds an error's text, which may tell again what a client has sent.
const errorBytes = 4096

func failureOf(err error) failure {
	f := failure{Error: guard.Excerpt(err.Error(), errorBytes), Applied: errors.Is(err, world.ErrUnfinished)}
	if unfinished := new(unfinishedError); errors.As(err, &unfinished) {
		stamp := instantOf(unfinished.stamp)
		f.Spawned, f.Stamp = unfinished.spawned, &stamp
	}
	if refused := new(requestError); errors.As(err, &refused) {
		f.Reasons = refused.reasons
	}
	return f
}

// underWay is the answer to what is not done yet, and continues.
type underWay struct{ Time }

// answered is an answer that has been written.
type answered struct{}

// document is an answer that is not JSON.
type document struct{ kind, text string }

// reply writes an answer, or the error's.
func reply(w http.ResponseWriter, answer any, err error) {
	status, kind := http.StatusOK, "application/json"
	var text []byte
	switch a := answer.(type) {
	case answered:
		return
	case document:
		kind, text = a.kind, []byte(a.text)
	case pngFile:
		kind, text = "image/png", a
	case underWay:
		status = http.StatusAccepted
	}
	if err == nil && text == nil {
		text, err = json.Marshal(answer)
	}
	if err != nil {
		status, kind = statusOf(err), "application/json"
		text, _ = json.Marshal(failureOf(err)) // it can be written
	}
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if kind != "image/png" {
		text = append(text, '\n')
	}
	_, _ = w.Write(text) // a client that has gone can't be told
}

// route is one request of the API.
type route struct {
	method, path string
	serve        func(http.ResponseWriter, *http.Request) (answer any, err error)
}

func (h *handler) routes() []route {
	return []route{
		{http.MethodPut, "/v1/time", change(h, `{"sec": 12, "nanosec": 500000000}`, h.set)},
		{http.MethodPut, "/v1/time/source", change(h, `{"source": "simulation"}`, h.selectSource)},
		{http.MethodPut, "/v1/time/scale", change(h, `{"scale": 0.5}`, h.scale)},
		{http.MethodPut, "/v1/sensor", change(h, `{"sensor": "front", "rate": "5", "attributes": {"exposure_compensation": -1}}`, h.tune)},
		{http.MethodPost, "/v1/pause", change(h, "", func(nothing) error {
			h.run.Clock.Pause()
			h.run.Clock.Halt() // the end of a step that somebody has left
			return nil
		})},
		{http.MethodPost, "/v1/resume", change(h, "", func(nothing) error {
			h.run.Clock.Resume()
			return nil
		})},
		{http.MethodPost, "/v1/step", h.step},
		{http.MethodPost, "/v1/reset", withBody(`{"seed": 7}`, h.reset)},
		{http.MethodGet, "/v1/status", func(http.ResponseWriter, *http.Request) (any, error) { return h.run.Status(), nil }},
		{http.MethodGet, "/v1/openapi.yaml", func(http.ResponseWriter, *http.Request) (any, error) {
			return document{"application/yaml", openAPI}, nil
		}},
		{http.MethodGet, "/v1/models", h.models},
		{http.MethodGet, "/v1/spawn_points", h.spawnPoints},
		{http.MethodGet, "/v1/actors", h.actors},
		{http.MethodPost, "/v1/actors", h.spawn},
		{http.MethodDelete, "/v1/actors/{actor}", withBody("", h.remove)},
		{http.MethodGet, "/v1/weather", h.weather},
		{http.MethodPut, "/v1/weather", withBody(weatherExample, h.setWeather)},
		{http.MethodPost, "/v1/ego/control", change(h, `{"throttle": 0.3, "brake": 0, "steering": -0.1}`, h.drive)},
		{http.MethodGet, "/v1/sensors", h.sensors},
		{http.MethodPost, "/v1/sensors", withBody(sensorExample, h.addSensor)},
		{http.MethodDelete, "/v1/sensors/{sensor}", withBody("", h.endSensor)},
		{http.MethodGet, "/v1/sensors/{sensor}/image.png", h.newestPicture},
		{http.MethodGet, healthPath, func(http.ResponseWriter, *http.Request) (any, error) { return health{"ok"}, nil }},
		{http.MethodGet, readyPath, h.ready},
		{http.MethodGet, "/metrics", func(w http.ResponseWriter, r *http.Request) (any, error) {
			h.metrics.ServeHTTP(w, r)
			return answered{}, nil
		}},
	}
}

// Paths for programs that watch over this one. They need no token.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// health is the answer to those who only ask whether the run is well.
type health struct {
	Status string `json:"status"`
}

// ready tells whether the run has begun, and all of its bridges are connected.
func (h *handler) ready(http.ResponseWriter, *http.Request) (any, error) {
	if reasons := h.run.Pipeline.NotReady(); reasons != nil {
		return nil, &requestError{http.StatusServiceUnavailable, "not ready: " + strings.Join(reasons, "; "), reasons}
	}
	return health{"ok"}, nil
}

// withBody serves a request with a body of type T, such as the example.
func withBody[T any](example string, serve func(http.ResponseWriter, *http.Request, T) (any, error)) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(w http.ResponseWriter, r *http.Request) (answer any, err error) {
		var request T
		if err = read(w, r, &request); err == nil {
			answer, err = serve(w, r, request)
		}
		return answer, advise(err, example)
	}
}

// change serves a request that changes the run, and answers with the time after it.
func change[T any](h *handler, example string, apply func(T) error) func(http.ResponseWriter, *http.Request) (any, error) {
	return withBody(example, func(_ http.ResponseWriter, _ *http.Request, request T) (any, error) {
		err := apply(request)
		return timeOf(h.run.Clock), err
	})
}

// sensorExample is a sensor as it is sent.
const sensorExample = `{"type": "sensor.camera.rgb", "name": "rear", "pose": {"x": -1, "z": 1.4, "yaw": 180}, "rate": 5, "attributes": {"image_size_x": 640}}`

// advise adds an example to an error about what was sent.
func advise(err error, example string) error {
	var refused *requestError
	if errors.As(err, &refused) && refused.status == http.StatusBadRequest && example != "" {
		refused.message += "; send JSON such as " + example
	}
	return err
}

// Bodies of requests. Pointers tell what was left out.
type (
	timeRequest struct {
		Sec     *int64  `json:"sec"`
		Nanosec *uint32 `json:"nanosec"`
	}
	sourceRequest struct {
		Source *string `json:"source"`
	}
	scaleRequest struct {
		Scale *float64 `json:"scale"`
	}
	tuneRequest struct {
		Sensor     *string        `json:"sensor"`
		Rate       any            `json:"rate"`
		Attributes map[string]any `json:"attributes"`
	}
	resetRequest struct {
		Seed *uint64 `json:"seed"`
	}
	nothing struct{}
)

func missing(what string) error { return refuse(http.StatusBadRequest, "%s is missing", what) }

func (h *handler) set(r timeRequest) error {
	switch {
	case r.Sec == nil:
		return missing("sec")
	case r.Nanosec == nil:
		return missing("nanosec")
	}
	return h.run.Clock.Set(*r.Sec, *r.Nanosec)
}

func (h *handler) selectSource(r sourceRequest) error {
	if r.Source == nil {
		return missing("source")
	}
	return h.run.Clock.Select(*r.Source)
}

func (h *handler) scale(r scaleRequest) error {
	if r.Scale == nil {
		return missing("scale")
	}
	if !(*r.Scale >= config.MinScale && *r.Scale <= config.MaxScale) {
		return refuse(http.StatusBadRequest, "scale is %v, the range is %v to %v; POST /v1/pause stops time",
			*r.Scale, config.MinScale, config.MaxScale)
	}
	scale, err := simtime.ScaleOf(*r.Scale)
	if err != nil {
		return err
	}
	return h.run.Clock.SetScale(scale)
}

// tune changes a sensor. Its rate is a number, or a text such as "10/3".
func (h *handler) tune(r tuneRequest) error {
	rate, err := rateOf(r.Rate)
	if err != nil {
		return err
	}
	switch {
	case r.Sensor == nil:
		return missing("sensor")
	case rate == "" && len(r.Attributes) == 0:
		return refuse(http.StatusBadRequest, "neither rate nor attributes are given")
	}
	return h.run.Tune(*r.Sensor, rate, r.Attributes)
}

// rateOf returns the text of a rate, "" for none.
func rateOf(rate any) (string, error) {
	switch v := rate.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	default:
		return "", refuse(http.StatusBadRequest, "rate has to be a number or a text")
	}
}

// read decodes a request's body, which may be empty, and nothing but one JSON value
// of the request's fields.
func read(w http.ResponseWriter, r *http.Request, request any) error {
	text, err := body(w, r, bodyLimit)
	if err != nil {
		return err
	}
	return decode(text, request)
}

// decode is read for a body that is there.
func decode(text []byte, request any) error {
	if len(text) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		return malformed(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "something follows the JSON value")
	}
	return nil
}

// body returns a request's body of so many bytes at most. What has one says that it is JSON, which a
// browser lets no page of another site do unasked.
func body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", large.Limit)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "read the body: %v", err)
	case len(text) == 0:
		return nil, nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, refuse(http.StatusUnsupportedMediaType, "the body needs the header Content-Type: application/json (curl --json, or -H with it and -d)")
	}
	return text, nil
}

// malformed says in the client's words what encoding/json found.
func malformed(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return refuse(http.StatusBadRequest, "the JSON ends early")
		}
		return refuse(http.StatusBadRequest, "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	need := "an object"
	switch kind := wrong.Type.Kind(); kind {
	case reflect.String:
		need = "a text"
	case reflect.Float64:
		need = "a number"
	case reflect.Bool:
		need = "true or false"
	case reflect.Slice:
		need = "a list"
	case reflect.Int64, reflect.Uint32, reflect.Uint64:
		need = fmt.Sprintf("a whole number (%v)", kind)
	}
	field := strings.ReplaceAll(wrong.Field, ".state.", ".") // which is embedded, and not the client's
	if field == "" {
		field = "the body"
	}
	if number, ok := strings.CutPrefix(wrong.Value, "number "); ok && wrong.Type.Kind() == reflect.Float64 {
		return refuse(http.StatusBadRequest, "%s is %s, which is too large", field, number)
	}
	return refuse(http.StatusBadRequest, "%s has to be %s, not %s", field, need, wrong.Value)
}
