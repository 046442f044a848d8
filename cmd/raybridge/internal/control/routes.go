package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/simtime"
)

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
		{http.MethodPost, "/v1/pause", change(h, "", func(context.Context, nothing) error {
			h.run.Clock.Pause()
			return nil
		})},
		{http.MethodPost, "/v1/resume", change(h, "", func(context.Context, nothing) error {
			h.run.Clock.Resume()
			return nil
		})},
		{http.MethodPost, "/v1/step", change(h, `{"steps": 10}`, h.step)},
		{http.MethodGet, "/v1/status", func(http.ResponseWriter, *http.Request) (any, error) { return h.run.Status(), nil }},
	}
}

// change serves a request with a body of type T, such as the example, and answers
// with the time after it.
func change[T any](h *handler, example string, apply func(context.Context, T) error) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		var request T
		err := read(w, r, &request)
		if err == nil {
			err = apply(r.Context(), request)
		}
		var refused *requestError
		if errors.As(err, &refused) && refused.status == http.StatusBadRequest && example != "" {
			refused.message += "; send JSON such as " + example
		}
		return TimeOf(h.run.Clock), err
	}
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
	stepRequest struct {
		Steps *int64 `json:"steps"`
	}
	nothing struct{}
)

func missing(what string) error { return refuse(http.StatusBadRequest, "%s is missing", what) }

func (h *handler) set(_ context.Context, r timeRequest) error {
	switch {
	case r.Sec == nil:
		return missing("sec")
	case r.Nanosec == nil:
		return missing("nanosec")
	}
	return h.run.Clock.Set(*r.Sec, *r.Nanosec)
}

func (h *handler) selectSource(_ context.Context, r sourceRequest) error {
	if r.Source == nil {
		return missing("source")
	}
	return h.run.Clock.Select(*r.Source)
}

func (h *handler) scale(_ context.Context, r scaleRequest) error {
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

// maxSteps bounds one request's steps: some hours of simulated time.
const maxSteps = 1_000_000

// step moves a paused run on to the end of the n-th step from where it is told to
// go already, so that time lies on the grid of steps.
func (h *handler) step(ctx context.Context, r stepRequest) error {
	n := int64(1)
	if r.Steps != nil {
		n = *r.Steps
	}
	if n < 1 || n > maxSteps {
		return refuse(http.StatusBadRequest, "steps is %d, the range is 1 to %d", n, maxSteps)
	}
	to, err := h.tellSteps(n)
	if err == nil {
		h.awaitRun(ctx, to)
	}
	return err
}

// tellSteps tells the clock to go n steps, and returns where they end.
func (h *handler) tellSteps(n int64) (to int64, err error) {
	h.stepping.Lock()
	defer h.stepping.Unlock()
	clock, length := h.run.Clock, int64(h.run.Step)
	if !clock.Paused() {
		return 0, fmt.Errorf("step: %w: pause it first", simtime.ErrNotPaused)
	}
	from := clock.Pace()
	to = (from/length + n) * length
	return to, clock.Step(to - from)
}

// glance is how often awaitRun looks.
const glance = 2 * time.Millisecond

// awaitRun waits until the run has come to a time, for StepWait at most, or until
// ctx ends: a run that has not begun, or has much to do, is there later.
func (h *handler) awaitRun(ctx context.Context, to int64) {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	enough := time.After(h.run.StepWait)
	for h.run.Clock.Now() < to {
		select {
		case <-ticker.C:
		case <-enough:
			return
		case <-ctx.Done():
			return
		}
	}
}

// read decodes a request's body, which may be empty, and nothing but one JSON value
// of the request's fields.
func read(w http.ResponseWriter, r *http.Request, request any) error {
	text, err := body(w, r)
	if err != nil || len(text) == 0 {
		return err
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

// body returns a request's body. What has one says that it is JSON, which a
// browser lets no page of another site do unasked.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
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
	case reflect.Int64, reflect.Uint32:
		need = fmt.Sprintf("a whole number (%v)", kind)
	}
	if wrong.Field != "" {
		need = wrong.Field + " has to be " + need
	} else {
		need = "the body has to be " + need
	}
	return refuse(http.StatusBadRequest, "%s, not %s", need, wrong.Value)
}
