package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// Pipeline is a running simulation's sensors. See the package documentation for
// who may call what when.
type Pipeline struct {
	config     Config
	log        *slog.Logger // whose lines bridges get, too
	geometry   *scene.Geometry
	gl         *gpu.Thread
	resident   *scene.Resident
	dispatcher *dispatch.Dispatcher
	bridges    *carry.Bridges
	waiting    waiting
	failure    failure

	scenery *scenery
	roster  *roster
	loop    *loop
	runner  *runner
	stepper *stepper
}

// New builds the scene, opens OpenGL and uploads the scene. The error of a
// machine without usable OpenGL is gpu.ErrNotSupported to errors.Is. Close it in
// the end.
func New(ctx context.Context, config Config) (*Pipeline, error) {
	begun := time.Now()
	if err := config.setDefaults(); err != nil {
		return nil, err
	}
	lines := carry.NewLines(config.Log)
	p := &Pipeline{config: config, log: lines.Logger()}
	p.waiting.log = p.log
	var err error
	if p.loop, err = newLoop(&config); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	info := p.gl.Info()
	p.config.Run.Device = info.Class()
	// Publishers end by Close, after what was queued has been sent.
	p.dispatcher = dispatch.New(dispatch.Config{Context: context.WithoutCancel(ctx), Logger: config.Log})
	p.bridges = carry.New(carry.Config{
		Registry: config.Bridges, Env: bridges.Env{OutDir: config.OutDir, Run: p.config.Run, Map: config.Scene.Map},
		Dispatcher: p.dispatcher, Lines: lines, Clock: p.loop.clock, Step: config.Step,
		Stepped: config.Mode == Stepped, HasClock: p.loop.clockDue != nil, Fail: p.failure.fail, Await: p.waiting.await,
	})
	p.join()
	p.loop.elapsed.start(begun)
	return p, nil
}

// build makes the world, the scenery and everything on the GL thread.
func (p *Pipeline) build(ctx context.Context) error {
	c := &p.config
	done := flow.TellLong(c.Log, "building the hierarchy of scene "+c.Scene.Name)
	var err error
	p.geometry, err = scene.Build(ctx, c.Scene, scene.BuildOptions{CacheDir: c.CacheDir, Memory: c.Memory})
	done()
	if err != nil {
		return err
	}
	history := scene.NewHistory(c.Scene, c.Ego, 0)
	if err := history.BeginWeather(c.Weather); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	p.scenery = &scenery{scene: c.Scene, history: history, stage: stage.New(p.geometry, history, c.Capacity, p.log)}
	// The run tells that the GL thread failed; the log has the details.
	thread := gpu.Config{Log: c.Log, OnError: func(err error) { p.log.Error("work on the gl thread failed", "error", err) }}
	if c.Memory != nil {
		thread.Memory = c.Memory
	}
	done = flow.TellLong(c.Log, "opening the device")
	p.gl, err = thread.Start(c.Open)
	done()
	if err != nil {
		return err
	}
	done = flow.TellLong(c.Log, "copying the scene to the device")
	err = p.gl.Do(ctx, func(c *gpu.Ctx) (err error) {
		p.resident, err = p.geometry.Upload(c)
		return err
	})
	done()
	if err != nil {
		return errors.Join(err, p.gl.Close())
	}
	return nil
}

// join joins the parts: each knows those that it builds on.
func (p *Pipeline) join() {
	c := &p.config
	p.roster = &roster{
		registry: c.Sensors, defaults: c.Defaults, wants: c.Wants, scenery: p.scenery, bridges: p.bridges,
		env: sensors.Env{
			GL: p.gl, Geometry: p.geometry, Resident: p.resident, History: p.scenery.history, Scene: c.Scene, Map: c.Scene.Map,
			DeviceTimeout: c.DeviceTimeout, Log: p.log,
		},
	}
	p.roster.vehicle, _ = c.Ego.(*scene.Driven)
	p.roster.seed.Store(c.Seed)
	captures := newCaptures(p.gl, p.roster, c.DeviceTimeout, p.failure.fail)
	p.roster.env.Completed = captures.completed
	p.loop.roster, p.loop.scenery, p.loop.metrics = p.roster, p.scenery, newMetrics(c.Scene, p.scenery.history)
	p.loop.rest = newRest(p.loop.clock, p.dispatcher, captures.idle)
	p.runner = &runner{
		turn: make(chan struct{}, 1), loop: p.loop, captures: captures, roster: p.roster, bridges: p.bridges, dispatcher: p.dispatcher,
		waiting: &p.waiting, failure: &p.failure, log: c.Log,
	}
	if due := p.loop.clockDue; due != nil && c.Mode == Realtime {
		p.runner.clock = &clockOutput{
			clock: p.loop.clock, rate: due.Rate(), bridges: p.bridges, dispatcher: p.dispatcher, log: p.log, last: math.MinInt64,
		}
	}
	p.stepper = newStepper(p.runner)
}

// AddBridge opens a bridge and connects every sensor's outputs with it, those of
// sensors that are added later too. It comes before the first Run or Step; on an
// error the bridge is closed and nothing is connected. Errors of the connection
// string wrap bridges.ErrConnectionString or bridges.ErrUnknownBridge.
func (p *Pipeline) AddBridge(ctx context.Context, config carry.BridgeConfig) error {
	p.roster.mu.Lock()
	defer p.roster.mu.Unlock()
	if p.roster.started {
		return fmt.Errorf("add bridge %s: %w", config.Spec, ErrStarted)
	}
	return p.bridges.Add(ctx, config)
}

// Receivers counts those who would receive messages now, of a topic or of a network bridge, see
// carry.Bridges. Any goroutine may call it.
func (p *Pipeline) Receivers(name string) (int, error) { return p.bridges.Receivers(name) }

// GPU returns the description of the OpenGL context.
func (p *Pipeline) GPU() gpu.Info { return p.gl.Info() }

// GL returns the GL thread, for what shares the pipeline's context, such as a
// window. It is closed by Close.
func (p *Pipeline) GL() *gpu.Thread { return p.gl }

// Geometry returns the scene as the sensors see it.
func (p *Pipeline) Geometry() *scene.Geometry { return p.geometry }

// History returns the recorded motion of everything that moves, and the weather, which programs set there.
func (p *Pipeline) History() *scene.History { return p.scenery.history }

// Ego returns the motion that the vehicle follows: a *scene.Guided from the first frame on that
// moves it (StepTo), nil for one that stands. Any goroutine may ask.
func (p *Pipeline) Ego() scene.Motion {
	motion, _ := p.scenery.history.Motion(scene.EgoID)
	return motion
}

// Clock returns the simulation clock: pause, resume, step and scale it there.
func (p *Pipeline) Clock() *simtime.Clock { return p.loop.clock }

// Close ends the sensors, sends what is queued for as long as ctx allows,
// completes the recordings and ends the GL thread. It is called once, after Run
// or Step has returned, and what was adding sensors has; calling it again returns nil.
func (p *Pipeline) Close(ctx context.Context) error {
	if p.roster.close() {
		return nil
	}
	p.bridges.Stop()
	p.dispatcher.ReleaseAll() // sensors that are ending wait for what they published to be sent
	errs := []error{p.roster.awaitEndings(ctx), p.roster.endAll()}
	p.dispatcher.ReleaseAll()
	errs = append(errs,
		wrap("send what was queued", p.dispatcher.Drain(ctx)),
		wrap("close the dispatcher", p.dispatcher.Close(ctx)),
		p.bridges.Close(ctx))
	p.resident.Close()
	return errors.Join(append(errs, wrap("close the gl thread", p.gl.Close()))...)
}
