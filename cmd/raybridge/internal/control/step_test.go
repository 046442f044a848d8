package control_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// newRun opens a run of a plaza with a vehicle that obeys commands, without OpenGL.
func newRun(t testing.TB, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	fake := gputest.NewFake()
	fake.StopLog()
	vehicle, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	require.NoError(t, err)
	c.Scene, c.Open, c.Sensors, c.Ego = scenetest.Plaza(c.Capacity), fake.Open, sensorsall.Registry(), vehicle
	c.Scene.Signals = []scene.TrafficLight{{ID: 3, Name: "J7"}, {ID: 4, Name: "J8"}}
	p, err := pipeline.New(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	return p
}

// begin runs a pipeline, paused, until the test ends.
func begin(t testing.TB, p *pipeline.Pipeline) {
	t.Helper()
	p.Clock().Pause()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, 0) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
}

func runOf(p *pipeline.Pipeline) control.Run {
	return control.Run{
		Clock: p.Clock(), Step: 10 * time.Millisecond, StepWait: 20 * time.Second, StepTo: p.StepRunning, Pipeline: p,
		Status: func() any { return object{} },
	}
}

// paused is a run of each mode's that has begun and stands, and its API.
func paused(t testing.TB, capacity int) (*pipeline.Pipeline, http.Handler) {
	t.Helper()
	p := newRun(t, pipeline.Config{Capacity: capacity})
	begin(t, p)
	return p, control.NewHandler(runOf(p))
}

func hearIMU(t testing.TB, p *pipeline.Pipeline) {
	t.Helper()
	s, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(100)})
	require.NoError(t, err)
	listener, err := pipeline.Listen(s, s.Outputs()[0].Name, func(sensors.Tick, *sample.Imu) {})
	require.NoError(t, err)
	t.Cleanup(listener.Stop)
}

// TestAFrameMovesAWorld steps a run of either mode by frames.
func TestAFrameMovesAWorld(t *testing.T) {
	for _, mode := range []pipeline.Mode{pipeline.Stepped, pipeline.Realtime} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			p := newRun(t, pipeline.Config{Capacity: 4, Mode: mode})
			hearIMU(t, p)
			begin(t, p)
			h := control.NewHandler(runOf(p))
			status, answer := ask(t, h, "POST", "/v1/step", `{"until": {"sec": 0, "nanosec": 25000000},
				"spawn": [{"name": "a", "model": "vehicle.sedan", "reference": "front_bumper", "position": [10, 2, 0], "yaw": 0},
					{"name": "b", "model": "vehicle.tank", "size": [7, 3, 2], "reference": "box_centre", "position": [0, 20, 1], "orientation": [0, 0, 1, 1]}],
				"actors": [{"name": "a", "position": [12, 2, 0], "yaw": 0}], "ego": {"position": [1, 0, 0], "yaw": 90}}`)
			require.Equal(t, http.StatusOK, status, "%v", answer)
			assert.EqualValues(t, 25e6, answer["nanosec"])
			assert.Equal(t, true, answer["paused"])
			require.Len(t, answer["spawned"], 2)
			assert.Equal(t, []any{"vehicle.tank"}, answer["boxed"])
			deliveries := answer["deliveries"].([]any)
			require.Len(t, deliveries, 2, "at 10 and 20 ms")
			assert.Equal(t, object{"sensor": "imu", "seq": 1.0, "stamp": object{"sec": 0.0, "nanosec": 2e7}, "messages": 1.0}, deliveries[1])
			assert.InDeltaSlice(t, []any{1.0, 0.0, 0.0}, answer["ego"].(object)["position"], 1e-9)
			assert.InDeltaSlice(t, []any{0.0, 0.0, math.Sqrt(0.5), math.Sqrt(0.5)}, answer["ego"].(object)["orientation"], 1e-9)

			handle := answer["spawned"].([]any)[0].(float64)
			status, answer = ask(t, h, "POST", "/v1/step", fmt.Sprintf(`{"steps": 3, "actors": [{"handle": %v, "position": [12, 2, 0], "orientation": [0, 0, 0, 2],
				"velocity": [1, 0, 0], "angular_velocity": [0, 0, 0], "lights": ["brake", "left"]}], "remove": ["b"], "wait": "captured",
				"signals": [{"id": 3, "state": "green"}, {"name": "J8", "state": "yellow"}]}`, handle))
			require.Equal(t, http.StatusOK, status, "%v", answer)
			assert.EqualValues(t, 50e6, answer["nanosec"], "the grid's third point")
			state, _ := p.History().State(uint32(handle), 50e6)
			assert.Equal(t, world.LightBrake|world.LightLeft, state.Lights)
			for light, want := range []world.SignalState{world.SignalGreen, world.SignalYellow} {
				shown, _ := p.History().Signal(light, 50e6)
				assert.Equal(t, want, shown)
			}
			assert.Equal(t, []any{}, answer["spawned"])

			_, answer = ask(t, h, "GET", "/v1/actors", "")
			actors := answer["actors"].([]any)
			require.Len(t, actors, 1)
			a := actors[0].(object)
			assert.Equal(t, handle, a["handle"])
			assert.Equal(t, "a", a["name"])
			assert.Equal(t, "vehicle.sedan", a["model"])
			assert.InDelta(t, 10, a["position"].([]any)[0], 1e-9, "the middle of 4 m")

			status, answer = ask(t, h, "POST", "/v1/step", `{"until": {"sec": 0, "nanosec": 54000000}}`)
			require.Equal(t, http.StatusOK, status, "%v", answer)
			status, answer = ask(t, h, "POST", "/v1/step", `{"to": "imu"}`)
			require.Equal(t, http.StatusOK, status, "%v", answer)
			assert.EqualValues(t, 60e6, answer["nanosec"])
			assert.Len(t, answer["deliveries"], 1)
			status, answer = ask(t, h, "POST", "/v1/step", `{"to": "iu"}`)
			assert.Equal(t, http.StatusNotFound, status)
			assert.Equal(t, `step to the next firing of iu: no such sensor: "iu", did you mean imu?`, answer["error"])
			for _, both := range []string{`{"to": "imu", "steps": 2}`, `{"to": "imu", "until": {"sec": 1, "nanosec": 0}}`} {
				status, answer = ask(t, h, "POST", "/v1/step", both)
				assert.Equal(t, http.StatusBadRequest, status)
				assert.Contains(t, answer["error"], "give one of steps, until and to")
			}
			status, _ = ask(t, h, "POST", "/v1/step", `{"to": "`+strings.Repeat("n", 300)+`"}`)
			assert.Equal(t, http.StatusBadRequest, status)

			status, answer = ask(t, h, "POST", "/v1/step", `{"wait": "none"}`)
			require.Equal(t, http.StatusOK, status, "%v", answer)
			assert.Nil(t, answer["deliveries"])
			status, answer = ask(t, h, "POST", "/v1/step", `{"complete": true}`)
			require.Equal(t, http.StatusOK, status, "%v", answer)
			_, answer = ask(t, h, "GET", "/v1/actors", "")
			assert.Empty(t, answer["actors"])
		})
	}
}

// TestActorsComeAndGo one at a time.
func TestActorsComeAndGo(t *testing.T) {
	p, h := paused(t, 2)
	status, answer := ask(t, h, "POST", "/v1/actors", `{"name": "person/7 %", "model": "vehicle.sedan", "on_ground": true, "position": [1, 2, 3], "yaw": 0}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	assert.EqualValues(t, 1e7, answer["nanosec"], "it comes in a step")
	require.Len(t, answer["spawned"], 1)
	status, answer = ask(t, h, "POST", "/v1/actors", `{"model": "vehicle.sedan", "position": [1, 20, 3], "yaw": 0}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	second := answer["spawned"].([]any)[0]
	for _, ref := range []string{"person%2F7%20%25", fmt.Sprint(second)} {
		status, answer = ask(t, h, "DELETE", "/v1/actors/"+ref, "")
		assert.Equal(t, http.StatusOK, status, "%s: %v", ref, answer)
		status, answer = ask(t, h, "DELETE", "/v1/actors/"+ref, "")
		assert.Equal(t, http.StatusNotFound, status, ref)
		assert.Contains(t, answer["error"], "no such actor")
	}
	assert.EqualValues(t, 40_000_000, p.Clock().Now(), "what is refused takes no time")

	_, answer = ask(t, h, "GET", "/v1/models", "")
	assert.Contains(t, answer["models"], object{"name": "vehicle.sedan", "size": []any{4.0, 2.0, 1.5}, "paint": false, "joints": []any{}})
	assert.Contains(t, answer["models"], object{"name": "box", "size": []any{1.0, 1.0, 1.0}, "paint": true, "joints": []any{}})
}

// TestABadFrameChangesNothing: each is refused with its place, and time stands.
func TestABadFrameChangesNothing(t *testing.T) {
	p, h := paused(t, 2)
	status, answer := ask(t, h, "POST", "/v1/actors", `{"name": "a", "model": "vehicle.sedan", "position": [1, 2, 0], "yaw": 0}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	long := strings.Repeat("m", 1<<16)
	spawn := func(rest string) string {
		return `{"spawn": [{"name": "b", "model": "vehicle.sedan", "position": [0, 0, 0], "yaw": 0}, {` + rest + `}]}`
	}
	move := func(rest string) string {
		return `{"actors": [{"name": "a", "position": [0, 0, 0], "yaw": 0}, {` + rest + `}]}`
	}
	for _, c := range []struct {
		body    string
		status  int
		message string
	}{
		{`{"until": {"sec": 0, "nanosec": 10000000}}`, 409, "time is not ahead: it is 0.01 s already"},
		{`{"until": {"sec": 1}}`, 400, "until.nanosec is missing"},
		{`{"until": {"nanosec": 1}}`, 400, "until.sec is missing"},
		{`{"until": {"sec": -1, "nanosec": 0}}`, 400, "invalid duration or time: -1 s 0 ns"},
		{`{"until": {"sec": 9300000000, "nanosec": 0}}`, 400, "invalid duration or time"},
		{`{"until": {"sec": 10001, "nanosec": 0}}`, 400, "until is 1000099 steps ahead, the most is 1000000"},
		{`{"until": {"sec": 10000, "nanosec": 1000000000}}`, 400, "until is 1000099 steps ahead, the most is 1000000"},
		{`{"until": {"sec": 1, "nanosec": 0}, "steps": 1}`, 400, "give either steps or until, not both"},
		{`{"steps": 0, "complete": true}`, 400, "the range is 1 to 1000000"},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0, "lights": ["disco"]`), 400, `light "disco": want head, brake, left, right or reverse`},
		{`{"wait": "forever"}`, 400, `wait "forever": want delivered, captured or none`},
		{`{"until": 3}`, 400, "until has to be an object, not number"},
		{`{"actors": {}}`, 400, "actors has to be a list, not object"},
		{`{"complete": 1}`, 400, "complete has to be true or false, not number"},
		{`{"actor": []}`, 400, `unknown field "actor"`},
		{`{"actors": [{"Speed": 3}]}`, 400, `unknown field "Speed"`},
		{`{"until": {"sec": 1, "nanosec": 0, "ns": 0}}`, 400, `unknown field "ns"`},
		{`{"actors": [{"name": "a", "position": [NaN, 0, 0]}]}`, 400, "invalid character 'N'"},
		{`{"actors": [{"name": "a", "position": [1e999, 0, 0]}]}`, 400, "actors.position is 1e999, which is too large"},
		{`{"remove": [0]}`, 400, "a handle, a whole number from 1, or a name"},
		{`{"remove": [1.5]}`, 400, "a handle, a whole number from 1, or a name"},
		{`{"remove": [null]}`, 400, "a handle, a whole number from 1, or a name"},
		{`{"remove": ["a", "c"]}`, 404, `remove[1] (actor "c"): no such actor`},
		{`{"remove": [""]}`, 404, "remove[0]"},
		{`{"remove": ["a", "a"]}`, 400, `remove[1] (actor "a"): it is named twice`},
		{spawn(`"name": "c", "position": [0, 0, 0], "yaw": 0`), 400, `spawn[1] (actor "c"): value is not usable: model is missing`},
		{spawn(`"model": "x", "yaw": 0`), 400, "spawn[1]: value is not usable: position is missing"},
		{spawn(`"model": "x", "position": [0, 0], "yaw": 0`), 400, "position has 2 numbers, need 3"},
		{spawn(`"model": "x", "position": [0, 0, 0]`), 400, "give either yaw or orientation"},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0, "size": [1, 2, 3, 4]`), 400, "size has 4 numbers, need 3"},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0, "size": [-1, 2, 3]`), 400, "spawn[1]: value is not usable: size"},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0, "reference": "roof"`), 400, `reference "roof": want ground_centre`},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0, "color": "red"`), 400, `spawn[1]: value is not usable: color "red": want #rrggbb`},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0, "color": "1e90ff"`), 400, `color "1e90ff": want #rrggbb`},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0, "color": "#+1e90f"`), 400, `color "#+1e90f": want #rrggbb`},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0, "name": "b"`), 400, "spawn[1] (actor \"b\"): it is named twice"},
		{spawn(`"model": "x", "position": [0, 0, 0], "yaw": 0`), 400, "no room for another actor"},
		{move(`"name": "c", "position": [0, 0, 0], "yaw": 0`), 404, `actors[1] (actor "c"): no such actor`},
		{move(`"handle": 999, "position": [0, 0, 0], "yaw": 0`), 404, "actors[1] (actor 999): no such actor"},
		{move(`"position": [0, 0, 0], "yaw": 0`), 400, "actors[1]: value is not usable: give either handle or name"},
		{move(`"name": "a", "handle": 1, "position": [0, 0, 0], "yaw": 0`), 400, "give either handle or name"},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0`), 400, `actors[1] (actor "a"): it is named twice`},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0, "orientation": [0, 0, 0, 1]`), 400, "give either yaw or orientation"},
		{`{"actors": [{"name": "a", "position": [0, 0, 0], "yaw": 0, "joints": {"wing": 1}}]}`, 400, `actors[0] (actor "a"): value is not usable: no such joint`},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0, "joints": {"` + strings.Repeat("j", 257) + `": 1}`), 400, "a name has more than 256 bytes"},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0, "joints": [1]`), 400, "joints has to be an object"},
		{move(`"name": "a", "position": [0, 0, 0], "orientation": [0, 0, 1]`), 400, "orientation has 3 numbers, need 4: x, y, z, w"},
		{move(`"name": "a", "position": [0, 0, 0], "orientation": [0, 0, 0, 0]`), 400, "orientation [0 0 0 0] has no direction"},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0, "velocity": []`), 400, "velocity has 0 numbers"},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0, "angular_velocity": [1]`), 400, "angular_velocity has 1 numbers"},
		{move(`"name": "a", "position": [1e308, 0, 0], "yaw": 0`), 400, "position is 1e+308, the range is -1e+07 to 1e+07"},
		{move(`"name": "a", "position": [0, 0, 0], "yaw": 0, "velocity": [0, 0, -2e7]`), 400, "velocity is -2e+07"},
		{spawn(`"model": "` + strings.Repeat("m", 257) + `", "position": [0, 0, 0], "yaw": 0`), 400, "a name has more than 256 bytes"},
		{`{"ego": {"position": [0, 0, 0], "orientation": [1e308, 1e308, 1e308, 1e308]}}`, 400, "has no direction"},
		{`{"signals": [{"name": "J7", "state": "red"}, {"name": "J9", "state": "red"}]}`, 404, `signals[1] (light "J9"): no such traffic light`},
		{`{"signals": [{"id": 9, "state": "red"}]}`, 404, `signals[0] (light 9): no such traffic light`},
		{`{"signals": [{"name": "J7", "state": "red"}, {"id": 3, "state": "red"}]}`, 400, `signals[1] (light 3): it is named twice`},
		{`{"signals": [{"name": "J7", "state": "blue"}]}`, 400, `signals[0] (light "J7"): value is not usable: state "blue": want red, yellow, green or off`},
		{`{"signals": [{"name": "J7"}]}`, 400, `state "": want red`},
		{`{"signals": [{"name": "J7", "id": 3, "state": "red"}]}`, 400, "give either id or name"},
		{`{"signals": [{"state": "red"}]}`, 400, "signals[0]: value is not usable: give either id or name"},
		{`{"signals": {"J7": "red"}}`, 400, "signals has to be a list, not object"},
		{`{"signals": [{"name": "J7", "state": "` + long + `"}]}`, 400, `signals[0] (light "J7"): value is not usable: state "mmm`},
		{`{"signals": [{"name": "` + long + `", "state": "red"}]}`, 404, `mmm"): no such traffic light`},
		{move(`"name": "` + long + `", "position": [0, 0, 0], "yaw": 0`), 404, `mmm"): no such actor`},
		{`{"ego": {"yaw": 0}}`, 400, "ego: value is not usable: position is missing"},
	} {
		status, answer := ask(t, h, "POST", "/v1/step", c.body)
		assert.Equal(t, c.status, status, "%s: %v", c.body, answer)
		assert.Contains(t, answer["error"], c.message, c.body)
		assert.Less(t, len(answer["error"].(string)), 1<<13, "it isn't told again")
		assert.EqualValues(t, 10_000_000, p.Clock().Now(), "time stands")
	}
}

// TestWhatAFramesRunRefuses: time that passes by itself, a run that isn't there, and the end.
func TestWhatAFramesRunRefuses(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1, Mode: pipeline.Realtime})
	r := runOf(p)
	r.StepWait = time.Millisecond
	h := control.NewHandler(r)
	p.Clock().Pause()
	for _, body := range []string{"", `{"complete": true}`} {
		status, answer := ask(t, h, "POST", "/v1/step", body)
		assert.Equal(t, http.StatusConflict, status, "%s: %v", body, answer)
	}
	status, answer := ask(t, h, "GET", "/readyz", "")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, answer["error"], "has not begun")
	status, answer = ask(t, h, "GET", "/healthz", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, object{"status": "ok"}, answer)

	begin(t, p)
	require.Eventually(t, func() bool {
		status, _ := ask(t, h, "GET", "/readyz", "")
		return status == http.StatusOK
	}, 20*time.Second, time.Millisecond)
	p.Clock().Resume()
	for _, body := range []string{"", `{"complete": true}`, `{"until": {"sec": 1, "nanosec": 0}}`} {
		status, answer = ask(t, h, "POST", "/v1/step", body)
		assert.Equal(t, http.StatusConflict, status)
		assert.Equal(t, "step: the run follows a clock of its own: clock is not paused: pause it first", answer["error"])
	}
}

// TestWhoIsEarlyWaits for the run to begin, with a number of steps and with a frame.
func TestWhoIsEarlyWaits(t *testing.T) {
	for _, body := range []string{"", `{"until": {"sec": 0, "nanosec": 10000000}}`} {
		t.Run(body, func(t *testing.T) {
			p := newRun(t, pipeline.Config{Capacity: 1, Mode: pipeline.Realtime})
			h := control.NewHandler(runOf(p))
			p.Clock().Pause()
			asked, answered := make(chan struct{}), make(chan int, 1)
			go func() {
				close(asked)
				status, _ := ask(t, h, "POST", "/v1/step", body)
				answered <- status
			}()
			<-asked
			begin(t, p)
			assert.Equal(t, http.StatusOK, <-answered)
			assert.EqualValues(t, 10_000_000, p.Clock().Now())
		})
	}
}

// hold adds a sensor. Its first sample closes inside, and is delivered when leave is closed.
func hold(t *testing.T, p *pipeline.Pipeline) (inside, leave chan struct{}) {
	t.Helper()
	inside, leave = make(chan struct{}), make(chan struct{})
	s, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(100)})
	require.NoError(t, err)
	once := sync.OnceFunc(func() { close(inside); <-leave })
	listener, err := pipeline.Listen(s, s.Outputs()[0].Name, func(sensors.Tick, *sample.Imu) { once() })
	require.NoError(t, err)
	t.Cleanup(listener.Stop)
	return inside, leave
}

// TestTwoStep at once: a frame doesn't wait for another, numbers of steps take turns.
func TestTwoStep(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	inside, leave := hold(t, p)
	begin(t, p)
	h := control.NewHandler(runOf(p))
	var wg sync.WaitGroup
	wg.Go(func() {
		status, answer := ask(t, h, "POST", "/v1/step", `{"wait": "delivered"}`)
		assert.Equal(t, http.StatusOK, status, "%v", answer)
	})
	<-inside
	for _, body := range []string{`{"wait": "none"}`, `{"steps": 2}`} {
		status, answer := ask(t, h, "POST", "/v1/step", body)
		assert.Equal(t, http.StatusConflict, status, body)
		assert.Contains(t, answer["error"], "another step is under way")
	}
	close(leave)
	wg.Wait()
	for range 5 {
		wg.Go(func() {
			status, answer := ask(t, h, "POST", "/v1/step", `{"steps": 2}`)
			assert.Equal(t, http.StatusOK, status, "%v", answer)
		})
	}
	wg.Wait()
	assert.EqualValues(t, 110_000_000, p.Clock().Now(), "each counts")
}

// TestAStepThatCannotEnd tells that its frame was applied: somebody else resumes and pauses the clock, or
// chooses another one.
func TestAStepThatCannotEnd(t *testing.T) {
	for name, change := range map[string]func(c *simtime.Clock){
		"resumed and paused": func(c *simtime.Clock) { c.Resume(); c.Pause() },
		"another source":     func(c *simtime.Clock) { _ = c.Select("simulation"); _ = c.Select("engine") },
	} {
		t.Run(name, func(t *testing.T) {
			p, run := portedRun(t, 2)
			h, address := serveAPI(t, run)
			p.Clock().Subscribe(func(c simtime.Change) {
				if c.Kind == simtime.Stepped && c.To > 3e12 {
					go change(p.Clock())
				}
			})
			status, answer := ask(t, h, "POST", "/v1/step", `{"until": {"sec": 4000, "nanosec": 0},
				"spawn": [{"name": "a", "model": "vehicle.sedan", "position": [5, 0, 0], "yaw": 0}]}`)
			assert.Equal(t, http.StatusConflict, status)
			assert.Contains(t, answer["error"], "the frame was applied, but the step did not end")
			assert.Equal(t, true, answer["applied"])
			assert.Len(t, answer["spawned"], 1)
			readOpenAPI(t).check(t, "an error", readOpenAPI(t).Components.Schemas["Error"], answer)
			assert.Len(t, p.Actors("vehicle.*"), 2, "it is there")

			status, answer = ask(t, h, "POST", "/v1/step", `{"remove": ["b"]}`)
			assert.NotEqual(t, http.StatusOK, status)
			assert.NotContains(t, answer, "applied", "nothing was done")

			c, err := stream.Dial(t.Context(), address, stream.Options{})
			require.NoError(t, err)
			t.Cleanup(c.Close)
			r, err := c.Step(t.Context(), &world.Frame{Until: 5e12, Spawn: []world.Spawn{{Name: "b", Model: "vehicle.sedan", State: world.State{Pose: at(9)}}}})
			require.ErrorIs(t, err, world.ErrUnfinished)
			require.ErrorIs(t, err, world.ErrMode)
			assert.Len(t, r.Spawned, 1)
			assert.Less(t, r.Stamp, simtime.Stamp(5e12))
			status, _ = ask(t, h, "POST", "/v1/step", "")
			assert.Equal(t, http.StatusConflict, status, "the connection owns the run: it has stepped")
		})
	}
}

// TestAClientLeavesInAStep: the run stands at the step's end, and the next client steps on.
func TestAClientLeavesInAStep(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	inside, leave := hold(t, p)
	begin(t, p)
	server := listen(t)
	defer server.Close()
	server.Serve(runOf(p), slog.New(slog.DiscardHandler))

	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	body := `{"steps": 5, "wait": "delivered"}`
	_, err = fmt.Fprintf(conn, "POST /v1/step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	<-inside
	require.NoError(t, conn.Close())
	close(leave)
	require.Eventually(t, func() bool {
		response, err := http.Post("http://"+server.Addr()+"/v1/step", "application/json", strings.NewReader(`{"wait": "delivered"}`))
		if !assert.NoError(t, err) {
			return true
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode == http.StatusOK // busy until the server sees that the client is gone
	}, 20*time.Second, time.Millisecond)
	assert.EqualValues(t, 60_000_000, p.Clock().Now())
}

// TestALongStepIsAnswered although it takes longer than a request may otherwise.
func TestALongStepIsAnswered(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s; runs without -short")
	}
	p := newRun(t, pipeline.Config{Capacity: 1})
	s, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(100)})
	require.NoError(t, err)
	listener, err := pipeline.Listen(s, s.Outputs()[0].Name, func(sensors.Tick, *sample.Imu) { time.Sleep(guard.RequestTime + time.Second) })
	require.NoError(t, err)
	defer listener.Stop()
	begin(t, p)
	server := listen(t)
	defer server.Close()
	server.Serve(runOf(p), slog.New(slog.DiscardHandler))
	for _, body := range []string{`{"wait": "delivered"}`, ""} { // on one connection, whose next request has the usual time
		path := "/v1/step"
		if body == "" {
			path = "/v1/pause"
		}
		response, err := http.Post("http://"+server.Addr()+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	}
}

// TestLargeSteps: a step's body may be larger than others', up to a limit; what decodes to more
// than it is long is refused before that.
func TestLargeSteps(t *testing.T) {
	_, h := paused(t, 4096)
	var frame strings.Builder
	frame.WriteString(`{"spawn": [`)
	for i := range 4096 {
		if i > 0 {
			frame.WriteByte(',')
		}
		fmt.Fprintf(&frame, `{"name": "a%d", "model": "vehicle.sedan", "position": [%d, %d, 0], "yaw": 0}`, i, i%64, i/64)
	}
	frame.WriteString("]}")
	status, answer := ask(t, h, "POST", "/v1/step", frame.String())
	require.Equal(t, http.StatusOK, status, "%v", answer["error"])
	assert.Len(t, answer["spawned"], 4096)

	repeat := func(begin, each string) string {
		return begin + each + strings.Repeat(","+each, (4<<20-len(begin)-4)/(len(each)+1)-1) + "]}"
	}
	for _, c := range []struct {
		body    string
		status  int
		message string
	}{
		{`{"wait": "` + strings.Repeat("a", 4<<20) + `"}`, 413, "the body is larger than 4194304 bytes"},
		{repeat(`{"actors": [`, "{}"), 400, "the frame has more than 8192 entries"},
		{repeat(`{"remove": [`, "1"), 400, "the frame has more than 8192 entries"},
		{repeat(`{"ego": {"position": [`, "1") + "}", 400, "the frame has more than 8192 entries"},
		{strings.Repeat("[", 4<<20), 400, "exceeded max depth"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, answer := ask(t, h, "POST", "/v1/step", c.body)
		runtime.ReadMemStats(&after)
		assert.Equal(t, c.status, status, c.message)
		assert.Contains(t, answer["error"], c.message)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), c.message)
	}
}

// TestNoPathCrossesTheAPI: no attribute of a sensor that is added opens a file. Those that name one are refused, and those
// that have the content of one take no path.
func TestNoPathCrossesTheAPI(t *testing.T) {
	_, h := paused(t, 1)
	refused := 0
	for _, d := range sensorsall.Definitions() {
		for _, a := range d.Attributes {
			if a.Path || a.File {
				status, answer := ask(t, h, "POST", "/v1/sensors", fmt.Sprintf(`{"type": %q, "name": "reads", "attributes": {%q: "/etc/passwd"}}`, d.ID, a.Name))
				assert.Equal(t, http.StatusBadRequest, status, "%s of %s: %v", a.Name, d.ID, answer)
				assert.NotContains(t, answer["error"], "root:", "%s of %s", a.Name, d.ID)
				refused++
				continue
			}
			for _, word := range slices.Concat(strings.Split(a.Name, "_"), strings.Fields(a.Doc)) {
				assert.NotContains(t, []string{"file", "folder", "path", "directory"}, strings.Trim(word, ",.;:"), "%s of %s: say that it is a path or a file", a.Name, d.ID)
			}
		}
	}
	assert.Greater(t, refused, 3)
}

// TestTheEgoObeys pedals, while its driver is external.
func TestTheEgoObeys(t *testing.T) {
	p, h := paused(t, 1)
	for body, message := range map[string]string{
		`{"throttle": 1.5}`:  "throttle is 1.5, the range is 0 to 1; send JSON such as",
		`{"brake": -1}`:      "brake is -1",
		`{"steering": -1.1}`: "steering is -1.1, the range is -1 to 1",
		`{"gear": 1}`:        `unknown field "gear"`,
	} {
		status, answer := ask(t, h, "POST", "/v1/ego/control", body)
		assert.Equal(t, http.StatusBadRequest, status, body)
		assert.Contains(t, answer["error"], message)
	}
	status, answer := ask(t, h, "POST", "/v1/ego/control", `{"throttle": 1, "steering": -0.5}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	_, answer = ask(t, h, "POST", "/v1/step", `{"steps": 20, "wait": "delivered"}`)
	velocity := answer["ego"].(object)["velocity"].([]any)
	assert.InDelta(t, 0.8, mgl64.Vec2{velocity[0].(float64), velocity[1].(float64)}.Len(), 0.05, "4 m/s² for 0.2 s")
	assert.Positive(t, velocity[1], "to the left")

	status, answer = ask(t, h, "POST", "/v1/step", `{"ego": {"position": [0, 0, 0], "yaw": 0}}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	status, answer = ask(t, h, "POST", "/v1/ego/control", `{"throttle": 1}`)
	assert.Equal(t, http.StatusConflict, status)
	assert.Contains(t, answer["error"], "ego.driver has to be external, and no frame may have moved it")
	_ = p
}

// TestSensorsComeAndGo during a run.
func TestSensorsComeAndGo(t *testing.T) {
	p, h := paused(t, 1)
	_, answer := ask(t, h, "POST", "/v1/actors", `{"name": "a", "model": "vehicle.sedan", "position": [5, 0, 0], "yaw": 0}`)
	car := answer["spawned"].([]any)[0]
	status, answer := ask(t, h, "POST", "/v1/sensors", fmt.Sprintf(
		`{"type": "sensor.other.imu", "name": "imu", "pose": {"x": 1, "yaw": 90}, "rate": "20", "attributes": {"noise_accel_stddev_x": 0.5}, "attach_to": %v}`, car))
	require.Equal(t, http.StatusOK, status, "%v", answer)
	assert.Equal(t, "imu", answer["name"])
	assert.Equal(t, "20", answer["rate"])
	assert.Equal(t, car, answer["attached_to"])
	assert.Contains(t, answer["live"], "noise_accel_stddev_x")
	assert.InDelta(t, 0.5, answer["live"].(object)["noise_accel_stddev_x"], 0)
	s, err := p.Sensor("imu")
	require.NoError(t, err)
	assert.InDelta(t, 1, s.Mount().Position[0], 1e-9)

	status, answer = ask(t, h, "POST", "/v1/sensors", `{"type": "sensor.other.gnss", "name": "gnss", "parent": "imu"}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	_, answer = ask(t, h, "GET", "/v1/sensors", "")
	require.Len(t, answer["sensors"], 2)
	assert.Equal(t, "sensor.other.gnss", answer["sensors"].([]any)[1].(object)["type"])

	for body, want := range map[string]struct {
		status  int
		message string
	}{
		`{"name": "x"}`:                                                                       {400, "type is missing; send JSON such as"},
		`{"type": "sensor.other.imu"}`:                                                        {400, "name is missing"},
		`{"type": "sensor.other.imv", "name": "x"}`:                                           {400, "unknown sensor type"},
		`{"type": "sensor.other.imu", "name": "imu"}`:                                         {400, `two sensors are named "imu"`},
		`{"type": "sensor.other.imu", "name": "` + strings.Repeat("x", 257) + `"}`:            {400, "name has 257 bytes, the most is 256"},
		`{"type": "sensor.other.imu", "name": "../x"}`:                                        {400, "bad sensor name"},
		`{"type": "sensor.other.imu", "name": "x", "o": 1}`:                                   {400, `unknown field "o"`},
		`{"type": "sensor.other.imu", "name": "x", "rate": -1}`:                               {400, "rate"},
		`{"type": "sensor.other.imu", "name": "x", "pose": {"x": 1e300}}`:                     {400, "pose is beyond"},
		`{"type": "sensor.other.imu", "name": "x", "parent": "nobody"}`:                       {400, "parent"},
		`{"type": "sensor.other.imu", "name": "x", "attach_to": 999}`:                         {404, "no such actor"},
		`{"type": "sensor.other.imu", "name": "x", "attributes": {"zork": 1}}`:                {400, "zork"},
		`{"type": "sensor.camera.rgb", "name": "x", "attributes": {"image_size_x": 1000000}}`: {400, "image_size_x"},
	} {
		status, answer := ask(t, h, "POST", "/v1/sensors", body)
		assert.Equal(t, want.status, status, "%s: %v", body, answer)
		assert.Contains(t, answer["error"], want.message, body)
	}
	for _, c := range []struct {
		name    string
		status  int
		message string
	}{
		{"imu", 409, "other sensors are mounted on it: gnss"}, {"gnss", 200, ""}, {"imu", 200, ""}, {"imu", 404, "no such sensor"},
	} {
		status, answer := ask(t, h, "DELETE", "/v1/sensors/"+c.name, "")
		assert.Equal(t, c.status, status, "%s: %v", c.name, answer)
		if c.message != "" {
			assert.Contains(t, answer["error"], c.message)
		}
	}
	assert.Empty(t, p.Sensors())
	status, answer = ask(t, h, "DELETE", "/v1/actors/a", "")
	require.Equal(t, http.StatusOK, status, "%v", answer)
	status, answer = ask(t, h, "POST", "/v1/sensors", fmt.Sprintf(`{"type": "sensor.other.imu", "name": "imu", "attach_to": %v}`, car))
	assert.Equal(t, http.StatusNotFound, status, "who has left carries nothing")
	assert.Contains(t, answer["error"], "actor is not there")
}

// TestARunHasSoManySensors and no more by the API.
func TestARunHasSoManySensors(t *testing.T) {
	_, h := paused(t, 1)
	for i := range 256 {
		status, answer := ask(t, h, "POST", "/v1/sensors", fmt.Sprintf(`{"type": "sensor.other.imu", "name": "imu%d"}`, i))
		require.Equal(t, http.StatusOK, status, "%v", answer)
	}
	status, answer := ask(t, h, "POST", "/v1/sensors", `{"type": "sensor.other.imu", "name": "more"}`)
	assert.Equal(t, http.StatusConflict, status)
	assert.Contains(t, answer["error"], "the run has 256 sensors, and no room for another: remove one")
}

// served is a run's API over HTTP, and what posts to it.
func served(b *testing.B, capacity int) (post func(path, body string)) {
	b.Helper()
	p := newRun(b, pipeline.Config{Capacity: capacity})
	begin(b, p)
	s, err := control.Listen(b.Context(), control.Address{Host: "127.0.0.1"}, "")
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, s.Close()) })
	s.Serve(runOf(p), slog.New(slog.DiscardHandler))
	client := &http.Client{Transport: &http.Transport{}}
	b.Cleanup(client.CloseIdleConnections)
	return func(path, body string) {
		response, err := client.Post("http://"+s.Addr()+path, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		var text bytes.Buffer
		_, _ = text.ReadFrom(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			b.Fatal(text.String())
		}
	}
}

// BenchmarkSteps are whole requests over HTTP: an empty step, and those of many actors.
func BenchmarkSteps(b *testing.B) {
	measure := func(b *testing.B, post func(path, body string), body string) {
		var took []time.Duration
		for b.Loop() {
			begun := time.Now()
			post("/v1/step", body)
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	}
	b.Run("empty", func(b *testing.B) { measure(b, served(b, 1), `{"steps": 1}`) })
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			post := served(b, n)
			var spawn, actors []string
			for i := range n {
				spawn = append(spawn, fmt.Sprintf(`{"name": "actor%d", "model": "vehicle.sedan", "position": [%d, 0, 0], "yaw": 0}`, i, i))
				actors = append(actors, fmt.Sprintf(`{"name": "actor%d", "position": [%d.125, 1.25, 0], "yaw": 12.5, "velocity": [8.25, 1.5, 0]}`, i, i))
			}
			post("/v1/step", `{"spawn": [`+strings.Join(spawn, ",")+`]}`)
			measure(b, post, `{"actors": [`+strings.Join(actors, ",")+`]}`)
		})
	}
}

// FuzzStep: whatever is sent as a frame, the answer is JSON, and each actor of a frame is named.
func FuzzStep(f *testing.F) {
	f.Add([]byte(`{"until": {"sec": 1, "nanosec": 0}, "spawn": [{"name": "a", "model": "m", "size": [1,2,3], "reference": "rear_axle", "position": [1,2,3], "yaw": 4}]}`))
	f.Add([]byte(`{"remove": [1, "a"], "actors": [{"handle": 1, "position": [0,0,0], "orientation": [0,0,0,1], "velocity": [0,0,0], "jump": true}], "complete": true, "wait": "none"}`))
	f.Add([]byte(`{"ego": {"position": [1e308, -1e308, 1e-320], "yaw": 1e300, "angular_velocity": [1,1,1]}}`))
	f.Add([]byte(`{"steps": 9223372036854775807, "remove": [null, {}, []]}`))
	h := control.NewHandler(control.Run{
		Clock: newClock(f, simtime.Config{}), Step: 10 * time.Millisecond, StepWait: time.Minute,
		StepTo: func(_ context.Context, frame *world.Frame) (world.StepResult, error) {
			for _, a := range frame.Actors {
				if a.Handle == 0 && a.Name == "" {
					panic("an actor without a name")
				}
			}
			return world.StepResult{}, nil
		},
	})
	f.Fuzz(func(t *testing.T, body []byte) {
		status, answer := ask(t, h, "POST", "/v1/step", string(body))
		if message, ok := answer["error"].(string); (status != http.StatusOK) != (ok && message != "") {
			t.Fatalf("status %d: %v", status, answer)
		}
	})
}

// TestAPauseEndsAStep at an instant, also one that nobody waits for any more.
func TestAPauseEndsAStep(t *testing.T) {
	for _, c := range []struct {
		step   string
		status int
	}{
		{`{"steps": 1000000, "timeout": 60}`, http.StatusConflict},
		{`{"steps": 1000000, "timeout": 0.01}`, http.StatusAccepted},
		{`{"steps": 1000000, "wait": "delivered"}`, http.StatusConflict},
	} {
		p, h := paused(t, 1)
		hearIMU(t, p)
		stepped := make(chan object, 1)
		go func() {
			status, answer := ask(t, h, "POST", "/v1/step", c.step)
			assert.Equal(t, c.status, status, "%s: %v", c.step, answer)
			stepped <- answer
		}()
		if c.status == http.StatusAccepted {
			stepped <- <-stepped // it continues without its client
		}
		require.Eventually(t, func() bool { return p.Clock().Now() > 1e8 }, 20*time.Second, time.Millisecond)
		status, _ := ask(t, h, "POST", "/v1/pause", "")
		assert.Equal(t, http.StatusOK, status)
		answer := <-stepped
		if c.status == http.StatusConflict {
			assert.Equal(t, true, answer["applied"])
			assert.Contains(t, answer["stamp"], "nanosec")
		}
		status, _ = ask(t, h, "POST", "/v1/step", "")
		assert.Equal(t, http.StatusOK, status)
		stands := p.Clock().Now()
		assert.Less(t, stands, simtime.Stamp(1e13))
		status, _ = ask(t, h, "POST", "/v1/step", "")
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, stands+10_000_000, p.Clock().Now())
	}
}

// TestAStepAcrossTheRunsEnd is answered, with the time of the end.
func TestAStepAcrossTheRunsEnd(t *testing.T) {
	for range 4 {
		for _, body := range []string{`{"steps": 120}`, `{"until": {"sec": 1, "nanosec": 200000000}}`} {
			p := newRun(t, pipeline.Config{Capacity: 1})
			hearIMU(t, p)
			p.Clock().Pause()
			ended := make(chan error, 1)
			go func() { ended <- p.Run(t.Context(), time.Second) }()
			status, answer := ask(t, control.NewHandler(runOf(p)), "POST", "/v1/step", body)
			assert.Equal(t, http.StatusConflict, status, body)
			assert.Contains(t, answer["error"], "the run has ended", body)
			assert.Equal(t, true, answer["applied"], body)
			assert.Equal(t, object{"sec": 1.0, "nanosec": 0.0}, answer["stamp"], body)
			require.NoError(t, <-ended)
		}
	}
}
