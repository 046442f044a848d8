package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

var _ control.Clock = (*simtime.Clock)(nil)

func newClock(t testing.TB, config simtime.Config) *simtime.Clock {
	t.Helper()
	c, err := simtime.NewClock(config)
	require.NoError(t, err)
	return c
}

// stepping steps a clock alone. It doesn't wait for those who follow it.
func stepping(clock control.Clock) func(context.Context, *world.Frame) (world.StepResult, error) {
	return func(_ context.Context, f *world.Frame) (world.StepResult, error) {
		return world.StepResult{}, clock.Step(int64(f.Until - clock.Pace()))
	}
}

// api serves a clock with steps of 10 ms.
func api(clock control.Clock) http.Handler {
	return control.NewHandler(control.Run{
		Clock: clock, Step: 10 * time.Millisecond, StepWait: time.Minute, StepTo: stepping(clock), Tune: tuneNothing,
		Status: func() any { return map[string]any{"sim_s": 1.5, "time": control.TimeOf(clock)} },
	})
}

type object = map[string]any

// ask sends one request and returns its status and decoded answer.
func ask(t testing.TB, h http.Handler, method, path, body string, headers ...string) (status int, answer object) {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), "%s", w.Body)
	return w.Code, answer
}

func TestRequestsDriveTheClock(t *testing.T) {
	clock := newClock(t, simtime.Config{Source: simtime.SS2})
	h := api(clock)
	for _, c := range []struct {
		request, body string
		want          object
	}{
		{"PUT /v1/time", `{"sec": 12, "nanosec": 500000000}`, object{"source": "ss2", "scale": 1.0, "paused": false, "sec": 12.0, "nanosec": 5e8}},
		{"PUT /v1/time", `{"sec": 12, "nanosec": 1000000000}`, object{"source": "ss2", "scale": 1.0, "paused": false, "sec": 13.0, "nanosec": 0.0}},
		{"PUT /v1/time", `{"nanosec": 1, "sec": 9000000000}`, object{"source": "ss2", "scale": 1.0, "paused": false, "sec": 9e9, "nanosec": 1.0}},
		{"PUT /v1/time/scale", `{"scale": 0.2}`, object{"source": "ss2", "scale": 0.2, "paused": false, "sec": 9e9, "nanosec": 1.0}},
		{"POST /v1/pause", "", object{"source": "ss2", "scale": 0.2, "paused": true, "sec": 9e9, "nanosec": 1.0}},
		{"PUT /v1/time/source", `{"source": "DOTNET_SIMULATION"}`, object{"source": "simulation", "scale": 0.2, "paused": true, "sec": 0.0, "nanosec": 0.0}},
		{"POST /v1/step", "", object{"source": "simulation", "scale": 0.2, "paused": true, "sec": 0.0, "nanosec": 1e7}},
		{"POST /v1/step", `{}`, object{"source": "simulation", "scale": 0.2, "paused": true, "sec": 0.0, "nanosec": 2e7}},
		{"POST /v1/step", `{"steps": 1000000}`, object{"source": "simulation", "scale": 0.2, "paused": true, "sec": 1e4, "nanosec": 2e7}},
		{"PUT /v1/time/source", `{"source": "engine"}`, object{"source": "engine", "scale": 0.2, "paused": true, "sec": 0.0, "nanosec": 0.0}},
		{"POST /v1/resume", "{}", object{"source": "engine", "scale": 0.2, "paused": false, "sec": 0.0, "nanosec": 0.0}},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		status, answer := ask(t, h, method, path, c.body)
		assert.Equal(t, http.StatusOK, status, "%s: %v", c.request, answer)
		assert.Equal(t, c.want, answer, c.request)
	}
	assert.Equal(t, "engine", clock.Source())
	assert.False(t, clock.Paused())

	status, answer := ask(t, h, "GET", "/v1/status", "")
	assert.Equal(t, http.StatusOK, status)
	assert.InDelta(t, 1.5, answer["sim_s"], 0)
	assert.Equal(t, "engine", answer["time"].(object)["source"])
}

// tuneNothing knows the sensor front alone, and refuses the rate 7 and the attribute fov.
func tuneNothing(sensor, rate string, attributes map[string]any) error {
	switch {
	case sensor != "front":
		return fmt.Errorf("%w: %q", pipeline.ErrNoSensor, sensor)
	case rate == "7":
		return fmt.Errorf("tune: %w", simtime.ErrRate)
	case attributes["fov"] != nil:
		return fmt.Errorf("tune: %w: fov", sensors.ErrFixed)
	case attributes["iso"] == 0.0:
		return fmt.Errorf("tune: %w: iso is 0", sensors.ErrValue)
	}
	return nil
}

func TestRequestsTuneSensors(t *testing.T) {
	h := api(newClock(t, simtime.Config{}))
	for body, want := range map[string]struct {
		status  int
		message string
	}{
		`{"sensor": "front", "rate": 5}`:                                  {200, ""},
		`{"sensor": "front", "rate": "10/3", "attributes": {"iso": 200}}`: {200, ""},
		`{"sensor": "front"}`:                                             {400, "neither rate nor attributes are given; send JSON such as"},
		`{"rate": 5}`:                                                     {400, "sensor is missing"},
		`{"sensor": "front", "rate": [5]}`:                                {400, "rate has to be a number or a text"},
		`{"sensor": "front", "rate": 7}`:                                  {400, "invalid rate"},
		`{"sensor": "front", "attributes": {"iso": 0}}`:                   {400, "iso is 0"},
		`{"sensor": "front", "attributes": {"fov": 5}}`:                   {409, "attribute can't be changed: fov"},
		`{"sensor": "rear", "rate": 5}`:                                   {404, `no such sensor: "rear"`},
	} {
		status, answer := ask(t, h, "PUT", "/v1/sensor", body)
		assert.Equal(t, want.status, status, body)
		if want.message != "" {
			assert.Contains(t, answer["error"], want.message, body)
		}
	}
}

// TestStepsEndOnTheGrid: also from between its points, and of several requests each
// counts.
func TestStepsEndOnTheGrid(t *testing.T) {
	for name, stepped := range map[string]bool{"stepped": true, "realtime": false} {
		t.Run(name, func(t *testing.T) {
			clock := newClock(t, simtime.Config{Stepped: stepped})
			require.NoError(t, clock.WaitUntil(context.Background(), 13_400_000))
			require.NoError(t, clock.Advance(13_400_000))
			clock.Pause()
			h := api(clock)
			var wg sync.WaitGroup
			for range 7 {
				wg.Go(func() {
					status, answer := ask(t, h, "POST", "/v1/step", `{"steps": 3}`)
					assert.Equal(t, http.StatusOK, status, "%v", answer)
				})
			}
			wg.Wait()
			assert.EqualValues(t, simtime.Stamp(220_000_000), clock.Pace())
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	const plain = "text/plain"
	for _, c := range []struct {
		name          string
		request, body string
		headers       []string
		status        int
		message       string
	}{
		{"no JSON", "PUT /v1/time", `{"sec": `, nil, 400, `the JSON ends early; send JSON such as {"sec": 12, "nanosec": 500000000}`},
		{"broken JSON", "PUT /v1/time", `{sec: 1}`, nil, 400, "invalid character 's' looking for beginning of object key string"},
		{"unknown field", "PUT /v1/time", `{"sec": 1, "nanosec": 0, "nsec": 2}`, nil, 400, `unknown field "nsec"`},
		{"trailing value", "PUT /v1/time/scale", `{"scale": 1} {"scale": 2}`, nil, 400, "something follows the JSON value"},
		{"trailing rubbish", "PUT /v1/time/scale", `{"scale": 1}]`, nil, 400, "something follows the JSON value"},
		{"empty body", "PUT /v1/time", "", nil, 400, "sec is missing"},
		{"half a time", "PUT /v1/time", `{"sec": 1}`, nil, 400, "nanosec is missing"},
		{"no source", "PUT /v1/time/source", `{}`, nil, 400, "source is missing"},
		{"no scale", "PUT /v1/time/scale", `{"scale": null}`, nil, 400, "scale is missing"},
		{"null", "PUT /v1/time/scale", `null`, nil, 400, "scale is missing"},
		{"text for a number", "PUT /v1/time", `{"sec": "1", "nanosec": 0}`, nil, 400, "sec has to be a whole number (int64), not string"},
		{"fraction", "PUT /v1/time", `{"sec": 1.5, "nanosec": 0}`, nil, 400, "sec has to be a whole number (int64), not number 1.5"},
		{"text for a scale", "PUT /v1/time/scale", `{"scale": "2"}`, nil, 400, "scale has to be a number, not string"},
		{"number for a source", "PUT /v1/time/source", `{"source": 2}`, nil, 400, "source has to be a text, not number"},
		{"list", "PUT /v1/time", `[1, 2]`, nil, 400, "the body has to be an object, not array"},
		{"negative nanosec", "PUT /v1/time", `{"sec": 1, "nanosec": -1}`, nil, 400, "nanosec has to be a whole number (uint32), not number -1"},
		{"negative sec", "PUT /v1/time", `{"sec": -1, "nanosec": 0}`, nil, 400, "invalid duration or time"},
		{"beyond int64 ns", "PUT /v1/time", `{"sec": 9300000000, "nanosec": 0}`, nil, 400, "invalid duration or time"},
		{"beyond int64", "PUT /v1/time", `{"sec": 1e30, "nanosec": 0}`, nil, 400, "not number 1e30"},
		{"scale zero", "PUT /v1/time/scale", `{"scale": 0}`, nil, 400, "scale is 0, the range is 0.001 to 100; POST /v1/pause stops time"},
		{"scale negative", "PUT /v1/time/scale", `{"scale": -1}`, nil, 400, "the range is"},
		{"scale large", "PUT /v1/time/scale", `{"scale": 100.5}`, nil, 400, "the range is"},
		{"scale tiny", "PUT /v1/time/scale", `{"scale": 1e-12}`, nil, 400, "the range is"},
		{"scale beyond float64", "PUT /v1/time/scale", `{"scale": 1e999}`, nil, 400, "scale is 1e999, which is too large"},
		{"unknown source", "PUT /v1/time/source", `{"source": "moon"}`, nil, 400, `unknown time source "moon" (known: engine, ss2, system, simulation, ros2`},
		{"no steps", "POST /v1/step", `{"steps": 0}`, nil, 400, "steps is 0, the range is 1 to 1000000; send JSON such as"},
		{"too many steps", "POST /v1/step", `{"steps": 1000001}`, nil, 400, "the range is 1 to 1000000"},
		{"a body that pause has not", "POST /v1/pause", `{"steps": 1}`, nil, 400, `unknown field "steps"`},

		{"time of another source", "PUT /v1/time", `{"sec": 1, "nanosec": 0}`, nil, 409, "time source can't be set: the source is engine, not ss2"},
		{"step while running", "POST /v1/step", "", nil, 409, "clock is not paused: pause it first"},

		{"unknown path", "GET /v1/stats", "", nil, 404, `nothing at "/v1/stats"; there is PUT /v1/time, PUT /v1/time/source`},
		{"another step", "PATCH /v1/sensors", "", nil, 405, "/v1/sensors takes GET and POST, not PATCH"},
		{"root", "GET /", "", nil, 404, "there is PUT /v1/time"},
		{"trailing slash", "GET /v1/status/", "", nil, 404, "nothing at"},
		{"path to be cleaned", "GET //v1/status", "", nil, 404, "nothing at"},
		{"path with dots", "POST /v1/x/../pause", "", nil, 404, "nothing at"},
		{"wrong method", "POST /v1/time", `{}`, nil, 405, "/v1/time takes PUT, not POST"},
		{"pausing by a link", "GET /v1/pause", "", nil, 405, "/v1/pause takes POST, not GET"},
		{"status can't be put", "PUT /v1/status", "", nil, 405, "/v1/status takes GET"},
		{"large body", "PUT /v1/time", `{"sec":` + strings.Repeat(" ", 65536) + "1}", nil, 413, "the body is larger than 65536 bytes"},
		{"form", "PUT /v1/time/scale", "scale=1", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "Content-Type: application/json (curl --json, or -H with it and -d)"},
		{"JSON as text", "POST /v1/step", "{}", []string{"Content-Type", plain}, 415, "Content-Type: application/json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock(t, simtime.Config{})
			var told []simtime.Change
			clock.Subscribe(func(change simtime.Change) { told = append(told, change) })
			method, path, _ := strings.Cut(c.request, " ")
			status, answer := ask(t, api(clock), method, path, c.body, c.headers...)
			assert.Equal(t, c.status, status)
			require.Len(t, answer, 1)
			assert.Contains(t, answer["error"], c.message)
			assert.Empty(t, told, "it changed something")
		})
	}
}

// TestAStepIsAnsweredWhenTheRunIsThere, or after a while.
func TestAStepIsAnsweredWhenTheRunIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock(t, simtime.Config{})
		clock.Pause()
		h := control.NewHandler(control.Run{Clock: clock, Step: 10 * time.Millisecond, StepWait: time.Second,
			StepTo: func(ctx context.Context, f *world.Frame) (world.StepResult, error) {
				result, err := stepping(clock)(ctx, f)
				for err == nil && clock.Now() < f.Until {
					select {
					case <-time.After(2 * time.Millisecond):
					case <-ctx.Done():
						err = context.Cause(ctx)
					}
				}
				return result, err
			}})
		go func() {
			assert.NoError(t, clock.WaitUntil(context.Background(), 20_000_000))
			time.Sleep(299 * time.Millisecond)
			assert.NoError(t, clock.Advance(20_000_000))
		}()
		begun := time.Now()
		_, answer := ask(t, h, "POST", "/v1/step", `{"steps": 2}`)
		assert.EqualValues(t, 2e7, answer["nanosec"])
		assert.Equal(t, 300*time.Millisecond, time.Since(begun))

		status, answer := ask(t, h, "POST", "/v1/step", "")
		assert.Equal(t, http.StatusAccepted, status)
		assert.EqualValues(t, 2e7, answer["nanosec"], "nobody goes on")
		assert.Equal(t, 1300*time.Millisecond, time.Since(begun))
		assert.EqualValues(t, 3e7, clock.Pace(), "but it is told")
		status, _ = ask(t, h, "POST", "/v1/step", `{"steps": 3, "timeout": 0.2}`)
		assert.Equal(t, http.StatusAccepted, status)
		assert.Equal(t, 1500*time.Millisecond, time.Since(begun))
		for _, timeout := range []string{"-1", "1e7"} {
			status, _ = ask(t, h, "POST", "/v1/step", `{"timeout": `+timeout+`}`)
			assert.Equal(t, http.StatusBadRequest, status)
		}
	})
}

// TestWhatTheRunsModeRefuses: sources from outside can't be stepped.
func TestWhatTheRunsModeRefuses(t *testing.T) {
	h := api(newClock(t, simtime.Config{Stepped: true}))
	for _, source := range []string{"ss2", "external", "ros2"} {
		status, answer := ask(t, h, "PUT", "/v1/time/source", `{"source": "`+source+`"}`)
		assert.Equal(t, http.StatusConflict, status)
		assert.Contains(t, answer["error"], "driven from outside")
	}
	clock := newClock(t, simtime.Config{Source: simtime.ROS2})
	clock.Pause()
	status, answer := ask(t, api(clock), "POST", "/v1/step", "")
	assert.Equal(t, http.StatusConflict, status)
	assert.Contains(t, answer["error"], "time source can't be stepped: ros2 is driven from outside")
}

func TestA405NamesTheMethod(t *testing.T) {
	w := httptest.NewRecorder()
	api(newClock(t, simtime.Config{})).ServeHTTP(w, httptest.NewRequest(http.MethodDelete, "http://localhost/v1/time", nil))
	assert.Equal(t, "PUT", w.Header().Get("Allow"))
}

// faulty is a clock whose errors nobody knows, and a status that can't be told.
type faulty struct{ *simtime.Clock }

func (faulty) SetScale(simtime.Scale) error { return errors.New("broken") }

func TestOtherErrorsAreTheServers(t *testing.T) {
	clock := faulty{newClock(t, simtime.Config{})}
	status, answer := ask(t, api(clock), "PUT", "/v1/time/scale", `{"scale": 1}`)
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.Equal(t, object{"error": "broken"}, answer)

	h := control.NewHandler(control.Run{Clock: clock, Step: 1, Status: func() any { return math.NaN() }})
	status, answer = ask(t, h, "GET", "/v1/status", "")
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.Contains(t, answer["error"], "NaN")
}

// atTime is a clock that shows any time.
type atTime struct {
	*simtime.Clock
	now int64
}

func (a atTime) State() simtime.State {
	s := a.Clock.State()
	s.Now = simtime.Stamp(a.now)
	return s
}

func TestTimeOf(t *testing.T) {
	clock := newClock(t, simtime.Config{})
	for now, want := range map[int64]control.Time{
		0:             {Sec: 0, Nanosec: 0},
		1_999_999_999: {Sec: 1, Nanosec: 999_999_999},
		-1:            {Sec: -1, Nanosec: 999_999_999},
		-2e9:          {Sec: -2, Nanosec: 0},
		math.MaxInt64: {Sec: 9_223_372_036, Nanosec: 854_775_807},
		math.MinInt64: {Sec: -9_223_372_037, Nanosec: 145_224_192},
	} {
		want.Source, want.Scale = "engine", 1
		assert.Equal(t, want, control.TimeOf(atTime{clock, now}))
	}
}

// FuzzRequests: whatever is sent, the answer is JSON with one of the API's statuses.
func FuzzRequests(f *testing.F) {
	paths := []string{"/v1/time", "/v1/time/source", "/v1/time/scale", "/v1/pause", "/v1/resume", "/v1/step", "/v1/status"}
	for i, path := range paths {
		f.Add(uint8(i), path, "127.0.0.1", "application/json", []byte(`{"sec": 1, "nanosec": 2, "source": "ss2", "scale": 2, "steps": 3}`))
	}
	f.Add(uint8(0), "/v1/time", "localhost:1", "application/json; charset=utf-8", []byte(`{"sec": 9223372036, "nanosec": 999999999}`))
	f.Add(uint8(0), "/v1/time/source", "[::1]", "application/json", []byte(`{"source": "SS2"}`))
	f.Add(uint8(1), "/v1/step", "", "application/json", []byte(`{"steps": 1000000}`))
	f.Add(uint8(1), "/v1/../v1/step", "a", "text/plain", []byte(`[[[[`))
	f.Add(uint8(2), "*", "[", ";", []byte{0xff})
	methods := []string{"PUT", "POST", "GET", "HEAD", "DELETE", "OPTIONS", "CONNECT"}
	f.Add(uint8(1), "/v1/sensors", "a", "application/json", []byte(`{"type": "sensor.other.imu", "name": "imu", "rate": 5, "attributes": {}}`))
	f.Add(uint8(1), "/v1/ego/control", "a", "application/json", []byte(`{"throttle": 1}`))
	f.Add(uint8(2), "/v1/actors", "a", "", []byte{})
	f.Add(uint8(4), "/v1/actors/7", "a", "", []byte{})
	run := runOf(newRun(f, pipeline.Config{}))
	run.StepWait, run.StepTo, run.Tune = time.Nanosecond, stepping(run.Clock), tuneNothing
	h := control.NewHandler(run)
	known := map[int]bool{200: true, 400: true, 403: true, 404: true, 405: true, 409: true, 413: true, 415: true, 503: true}
	f.Fuzz(func(t *testing.T, method uint8, path, host, kind string, body []byte) {
		r := httptest.NewRequest(methods[int(method)%len(methods)], "http://x/", io.NopCloser(strings.NewReader(string(body))))
		r.URL.Path, r.URL.RawPath, r.Host = path, "", host
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !known[w.Code] {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		var answer map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		if message, ok := answer["error"].(string); (w.Code != http.StatusOK) != (ok && message != "") {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	})
}

// TestMetrics has the run's counts in the text format, and only to read.
func TestMetrics(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	hearIMU(t, p)
	begin(t, p)
	h := control.NewHandler(runOf(p))
	status, answer := ask(t, h, http.MethodPost, "/v1/step", `{"steps": 3}`)
	require.Equal(t, http.StatusOK, status, answer)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "http://127.0.0.1/metrics", nil))
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Contains(t, w.Header().Get("Content-Type"), "text/plain")
		if method == http.MethodGet {
			assert.Contains(t, w.Body.String(), "\nraybridge_frames_total 3\n")
			assert.Contains(t, w.Body.String(), "\nraybridge_message_latency_seconds_count{topic=\"/imu/data\"} 3\n")
			assert.Contains(t, w.Body.String(), "\nraybridge_paused 1\n")
		}
	}
	status, _ = ask(t, h, http.MethodPost, "/metrics", "")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
}

// TestReady is a run whose first frame is out, and whose bridges are connected. A paused one is ready to be stepped.
func TestReady(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1, Mode: pipeline.Realtime, Bridges: bridgesall.Registry()})
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "rosbridge:127.0.0.1:1"}))
	h := control.NewHandler(runOf(p))
	ready := func() []any {
		status, answer := ask(t, h, http.MethodGet, "/readyz", "")
		require.Equal(t, http.StatusServiceUnavailable, status)
		assert.Contains(t, answer["error"], "not ready: ")
		return answer["reasons"].([]any)
	}
	down := func(reasons []any) {
		t.Helper()
		require.NotEmpty(t, reasons)
		assert.Contains(t, reasons[len(reasons)-1], "the bridge rosbridge is ")
		assert.NotContains(t, reasons[len(reasons)-1], "127.0.0.1", "who has no token learns no address")
	}
	reasons := ready()
	require.Len(t, reasons, 2)
	assert.Equal(t, "the run has not begun, or has ended", reasons[0])
	down(reasons)
	begin(t, p)
	require.Eventually(t, func() bool { return len(ready()) == 1 }, 20*time.Second, time.Millisecond)
	down(ready())
	p.Clock().Resume()
	require.Eventually(t, func() bool { return p.Measures().Frames > 1 }, 20*time.Second, time.Millisecond)
	reasons = ready()
	require.Len(t, reasons, 1)
	down(reasons)
}
