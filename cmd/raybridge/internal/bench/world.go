// What it costs to step a world from outside is measured here. The ways are a call in Go, the stream
// protocol's frames, JSON over HTTP, and Python. The run has no sensors, or one whose pictures are
// ready, so that nothing but the steps themselves is in the figures.

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/bridges"
	streams "github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// crowd is a number of actors, all of which move in each step.
type crowd struct{ actors int }

func (c crowd) title() string { return fmt.Sprintf("%d_actors", c.actors) }

// crowds lists the cases; the last is left out with Quick.
var crowds = []crowd{{0}, {200}, {2000}}

// Steps of a run.
const (
	worldSteps      = 300
	quickWorldSteps = 50
	pythonTime      = "1.0"
	quickPythonTime = "0.2"
)

var worldMethod = strings.TrimSpace(`
world: steps of 10 ms in a paused run of a plane without sensors. In each every actor is given a pose and a velocity.
go is pipeline.StepTo, by handle. stream is the client of package bridges/stream on the API's UNIX socket, by handle. json is
POST /v1/step there, by name. A step is timed from its call to its answer; the figures are the median of a run's steps.`)

var pythonMethod = strings.TrimSpace(`
python: steps by the package of Python, in a program of its own beside the run. A run lasts a second. A step of 200 has a
pose for each. Pictures of 1280x720 are ready, one or eight are due in each
step, and each is looked at.`)

// World measures what a step of a world costs by each way in. It appends to the report.
func World(ctx context.Context, config Config, report *Report) error {
	cases, steps := ifQuick(config.Quick, crowds[:2], crowds), ifQuick(config.Quick, quickWorldSteps, worldSteps)
	b := caseBench[crowd]{"world", cases, func(cfg *Config, c crowd) ([]Result, error) {
		return c.measure(ctx, cfg, steps)
	}, worldMethod}
	return b.run(config, report)
}

// measure makes runs of each way in turns.
func (c crowd) measure(ctx context.Context, cfg *Config, steps int) (rows []Result, err error) {
	s, err := openSite(ctx, cfg, socket(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	frame, err := c.come(ctx, s)
	if err != nil {
		return nil, err
	}
	body := frameJSON(frame)
	client, err := streams.Dial(ctx, s.server.Addr(), streams.Options{})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ways := []struct {
		name, note string
		step       func() error
	}{
		{"go", "pipeline.StepTo", func() error {
			_, err := s.sim.StepTo(ctx, s.next(frame))
			return err
		}},
		{"json", "POST /v1/step on a UNIX socket", func() error { return s.post(ctx, body) }},
		{"stream", "a Step frame on a UNIX socket", func() error { // the last: who has stepped by it owns the run
			_, err := client.Step(ctx, s.next(frame))
			return err
		}},
	}
	for _, way := range ways {
		var took, allocs []float64
		for run := range cfg.Runs + 1 {
			ms, n, err := stepTimes(steps, way.step)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			if run > 0 { // buffers have grown in the first
				took, allocs = append(took, ms), append(allocs, n)
			}
		}
		rows = append(rows, Result{"world." + way.name + ".step_ms", c.title(), "ms", took, way.note})
		if way.name != "json" {
			rows = append(rows, Result{"world." + way.name + ".allocs_per_step", c.title(), "allocations", allocs, "of the whole process"})
		}
	}
	return rows, nil
}

// stepTimes returns the median of some steps in milliseconds, and the allocations of one.
func stepTimes(steps int, step func() error) (ms, allocs float64, err error) {
	list := make([]float64, steps)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range list {
		begun := time.Now()
		if err := step(); err != nil {
			return 0, 0, err
		}
		list[i] = milliseconds(time.Since(begun))
	}
	runtime.ReadMemStats(&after)
	return median(list), float64(after.Mallocs-before.Mallocs) / float64(steps), nil
}

// come spawns the actors and returns the frame that moves them all, by handle.
func (c crowd) come(ctx context.Context, s *site) (*world.Frame, error) {
	f := &world.Frame{}
	for i := range c.actors {
		f.Spawn = append(f.Spawn, world.Spawn{Model: "vehicle.sedan", Name: fmt.Sprintf("actor%d", i), State: world.State{
			Pose: spatial.FromRPY(mgl64.Vec3{float64(i % 50 * 6), float64(i / 50 * 3), 0}, 0, 0, 0),
		}})
	}
	result, err := s.sim.StepTo(ctx, s.next(f))
	if err != nil {
		return nil, err
	}
	moved := &world.Frame{}
	for i, id := range result.Spawned {
		at := f.Spawn[i].State
		at.Velocity, at.VelocityKnown = mgl64.Vec3{8.25, 1.5, 0}, true
		moved.Actors = append(moved.Actors, world.Actor{Ref: world.Ref{Handle: id, Name: f.Spawn[i].Name}, State: at})
	}
	return moved, nil
}

// frameJSON is a frame as POST /v1/step takes it, by name, with a length of one step.
func frameJSON(f *world.Frame) []byte {
	if len(f.Actors) == 0 {
		return []byte(`{"steps": 1}`)
	}
	var actors []string
	for _, a := range f.Actors {
		p := a.Pose.Position
		actors = append(actors, fmt.Sprintf(`{"name": %q, "position": [%v, %v, %v], "yaw": 12.5, "velocity": [8.25, 1.5, 0]}`, a.Name, p[0], p[1], p[2]))
	}
	return []byte(`{"actors": [` + strings.Join(actors, ",") + "]}")
}

// site is a paused run of a plane with the API on a socket, which only the bench steps.
type site struct {
	sim    *raybridge.Sim
	server *control.Server
	http   http.Client
	ended  chan error // of the run
	cancel func()
}

// siteStep is how far a step goes.
const siteStep = 10 * time.Millisecond

// openSite starts the run. The address is as --api takes it.
func openSite(ctx context.Context, cfg *Config, address string, rig []sensors.Config) (s *site, err error) {
	at, err := control.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	s = &site{ended: make(chan error, 1)}
	if s.server, err = control.Listen(ctx, at, ""); err != nil {
		return nil, err
	}
	port := streams.NewPort(s.server.Listener(), nil)
	run := config.Default()
	run.Scene.Choose(config.ScenePlane)
	run.Time.Step, run.Time.ClockRate, run.Sensors, run.World.Capacity = siteStep, simtime.Rate{}, rig, 2*crowds[len(crowds)-1].actors
	run.Bridges = []config.Bridge{{Type: streams.PortName}}
	s.sim, err = raybridge.Open(ctx, raybridge.Config{Run: run, Open: cfg.Open, Sensors: []*sensors.Definition{ready}, Bridges: []bridges.Factory{port}})
	if err != nil {
		return nil, errors.Join(err, s.server.Close())
	}
	network, path := at.Network()
	s.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, path)
	}}
	ctx, s.cancel = context.WithCancel(ctx)
	s.sim.Clock().Pause()
	go func() { s.ended <- s.sim.Run(ctx, 0) }()
	s.server.Serve(control.Run{
		Clock: s.sim.Clock(), Step: siteStep, StepWait: time.Minute, StepTo: s.sim.StepRunning, Pipeline: s.sim.Pipeline, Port: port,
		Status: func() any { return s.sim.Summary() },
	}, slog.New(slog.DiscardHandler))
	return s, nil
}

// next lets a frame end a step from now.
func (s *site) next(f *world.Frame) *world.Frame {
	f.Until = s.sim.Clock().Pace() + simtime.Stamp(siteStep)
	return f
}

// post makes a step over HTTP.
func (s *site) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/step", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the step was refused: %s", text)
	}
	return err
}

func (s *site) close() error {
	s.http.CloseIdleConnections()
	err := s.server.Close()
	s.cancel()
	return errors.Join(err, <-s.ended, s.sim.Close(context.Background()))
}

// readyOptions say how many pictures come in a step.
type readyOptions struct {
	Count int `attribute:"count" default:"1" min:"1" max:"64" doc:"pictures at each firing"`
}

// ready is a sensor whose pictures are ready.
var ready = sensors.Define(sensors.Definition{
	ID: "bench.ready", Number: 40000, Doc: "pictures that are ready", Rate: simtime.Hz(100),
	Outputs: sensors.OneOutput[sample.Image](sensors.OutputSpec{
		Name: "image", Doc: "the same picture again and again",
	}),
}, func(spec sensors.Spec, o readyOptions) (sensors.Sensor, error) {
	s := &readySensor{sensors.Reading[sample.Image]{Spec: spec}, o.Count}
	s.Message = sample.Image{Width: 1280, Height: 720, Step: 3 * 1280, Encoding: sample.EncodingRGB8, Data: make([]byte, 3*1280*720)}
	return s, nil
})

type readySensor struct {
	sensors.Reading[sample.Image]
	count int
}

// Tick publishes the pictures.
func (s *readySensor) Tick(at sensors.Tick) error {
	s.Message.Header = at.Header("ready", spatial.Identity())
	for range s.count {
		s.Publish(at)
	}
	return nil
}

// Python measures the package of Python on a UNIX socket and over TCP. It needs a python3 that has
// the package, or the error wraps ErrConfig.
func Python(ctx context.Context, config Config, report *Report) error {
	if out, err := exec.CommandContext(ctx, "python3", "-c", "import raybridge").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: python3 can't import raybridge: install a wheel of scripts/wheel.py, or set PYTHONPATH to the folder python: %w: %s",
			ErrConfig, err, out)
	}
	b := caseBench[named]{"python", []named{{"unix"}, {"tcp"}}, func(cfg *Config, way named) ([]Result, error) {
		return measurePython(ctx, cfg, way.name)
	}, pythonMethod}
	return b.run(config, report)
}

// measurePython has a program of Python measure one way: steps of a run without sensors, and pictures.
func measurePython(ctx context.Context, cfg *Config, way string) (rows []Result, err error) {
	for _, pictures := range []int{0, 1, 8} {
		more, err := runPython(ctx, cfg, way, pictures)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func runPython(ctx context.Context, cfg *Config, way string, pictures int) (rows []Result, err error) {
	address := "127.0.0.1:0"
	if way == "unix" {
		address = socket()
	}
	var rig []sensors.Config
	if pictures > 0 { // in each step
		rig = []sensors.Config{{ID: ready.ID, Name: "ready", Attributes: map[string]any{"count": pictures}}}
	}
	s, err := openSite(ctx, cfg, address, rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	seconds := ifQuick(cfg.Quick, quickPythonTime, pythonTime)
	cmd := exec.CommandContext(ctx, "python3", "-m", "raybridge._bench", s.server.Addr(), strconv.Itoa(cfg.Runs), seconds)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measure in python3: %w", err)
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		return nil, fmt.Errorf("read what python3 measured: %w", err)
	}
	for i := range rows {
		rows[i].Case = way
	}
	return rows, nil
}

// socket is the address of a UNIX socket of this process.
func socket() string {
	return "unix:" + filepath.Join(os.TempDir(), fmt.Sprintf("raybridge-bench-%d", os.Getpid()))
}
