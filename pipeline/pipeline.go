package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// Errors of this package; callers test them with errors.Is.
var (
	// ErrStarted: bridges must be added before the first step.
	ErrStarted = errors.New("pipeline has started")
	// ErrTopic: two outputs have one topic.
	ErrTopic = errors.New("topic is used twice")
	// ErrOutput: a sensor has no such output, or not of that type.
	ErrOutput = errors.New("no such output")
	// ErrClosed: the pipeline was closed.
	ErrClosed = errors.New("pipeline is closed")
	// ErrConfig: the configuration can't work.
	ErrConfig = errors.New("bad pipeline configuration")
)

// Mode says how simulation time passes.
type Mode uint8

const (
	// Stepped goes from instant to instant as fast as the machine can, and
	// gives the same bytes every time.
	Stepped Mode = iota
	// Realtime follows the host's clock, scaled.
	Realtime
)

// Config is what a Pipeline is made of.
type Config struct {
	// Scene is what the sensors see. It must not be changed afterwards.
	Scene *scene.Scene
	// Open opens the OpenGL context.
	Open gpu.Opener
	// Memory is what the world's tables are taken from, and the GPU's buffers and textures,
	// the world's and the sensors'. (optional; nil for no limit)
	Memory *memory.Budget
	// Sensors and Bridges are the types that the program knows; without
	// Bridges messages go to listeners only.
	Sensors *sensors.Registry
	Bridges *bridges.Registry

	Mode Mode
	// Step is the length of a step, 10 ms where it is 0.
	Step time.Duration
	// ClockRate is the rate of /clock; the zero Rate publishes none.
	ClockRate simtime.Rate
	// TimeSource names the source of the run's time ("engine" where it is empty), Scale
	// its speed, 1 where it is 0. A Stepped run needs a source that is a simtime.Stepper.
	TimeSource string
	Scale      float64
	// TimeSources are the program's own sources by name, beside the built-in ones. Each
	// function makes one when it is chosen, at the start or by Clock().Select.
	TimeSources map[string]func() simtime.Source
	// DeviceTimeout is how long the device may take for a capture, by the host's clock. What
	// isn't there by then counts as readback_failed. (optional; 0 is readback.DefaultTimeout
	// in mode Realtime. A Stepped run then waits for as long as it takes.)
	DeviceTimeout time.Duration
	// Seed is the seed of the sensors' noise.
	Seed uint64
	// Ego moves the vehicle, a *scene.Driven by its SetCommand, and by what bridges bring (see
	// AddCommands). If it is nil, the vehicle follows the scene's Route, or stands at the
	// scene's Ego pose.
	Ego scene.Motion

	// Capacity is how many actors StepTo may bring at a time. The scene has twice as many slots:
	// who leaves at an instant has one up to the next.
	Capacity int

	// InstanceCodes has cameras of instances publish CARLA's codes, the tag and the id, because
	// a bridge's receivers look for the tag. It does so where neither output nor encoding is set.
	InstanceCodes bool

	// OutDir is where bridges put files with relative names.
	OutDir string
	// CacheDir is where built scenes are kept, "" for nowhere.
	CacheDir string
	// Run is what recordings say of the run.
	Run bridges.Run
	// Log receives warnings; nil discards them.
	Log *slog.Logger
	// OnProgress, where not nil, is called by the frame loop now and then.
	OnProgress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	// SimNs is the simulation time, which need not begin at 0 and may jump.
	SimNs simtime.Stamp
	// Simulated is how much of it has passed while the pipeline ran, jumps left out; Wall
	// is how long that took.
	Simulated, Wall time.Duration
}

const (
	defaultStep = 10 * time.Millisecond
)

// Pipeline is a running simulation's sensors. See the package documentation for
// who may call what when.
type Pipeline struct {
	config Config
	log    *slog.Logger

	gl         *gpu.Thread
	world      *scene.World
	resident   *scene.Resident
	history    *scene.History
	shared     sensors.Shared
	dispatcher *dispatch.Dispatcher
	bridges    *carry.Bridges
	waiting    waiting
	clock      *simtime.Clock    // the one clock (law T1)
	letPass    func()            // lets time pass in a realtime run; it stands between runs
	clockDue   *simtime.Schedule // of /clock, nil without
	steps      *simtime.FixedLoop

	// change serialises what comes and goes: it guards those below.
	change  sync.Mutex
	started bool
	closed  bool
	rig     rig.Rig      // of members, in their order
	members []*Sensor    // all that were added and have not ended; replaced, never changed
	former  carry.Former // rows of those that ended

	roster  atomic.Pointer[[]*Sensor] // the members that the loops work with, see live
	fixed   frameLists                // their frames
	endings sync.WaitGroup            // of sensors that end before the pipeline
	coming  sync.RWMutex              // read by those who add sensors, written by a Reset
	barrier atomic.Pointer[barrier]   // of StepSensors or StepTo, nil otherwise

	// moving serialises what moves the scene: the frame loop's ticks, and actors that
	// come and go between them.
	moving sync.Mutex
	stage  *stage.Stage // what frames bring

	stepper *stepper
	pace    pace // of the world that is followed

	turn      chan struct{}            // has room for the one who runs
	goal      simtime.AtomicStamp      // the end of the latest StepTo, at which there is an instant
	lastFrame atomic.Uint64            // the number of the latest instant
	line      atomic.Pointer[timeline] // of the latest run, nil before the first
	seed      atomic.Uint64            // of the sensors' noise
	resets    atomic.Int64
	first     []*Sensor // that were there when the first run began; the one whose turn it is uses it

	simNs   simtime.AtomicStamp // the frame loop's instant
	frame   uint64              // the frame loop's: number of the next instant
	lastNs  simtime.Stamp       // the frame loop's: the latest instant, or where it jumped to
	jumps   atomic.Uint64       // the clock's jumps that the frame loop has followed; it alone stores them
	elapsed elapsed

	rest      rest                 // the dispatcher's part in a pause
	lastClock simtime.Stamp        // last published clock of the last realtime run
	wake      chan struct{}        // pinged when a capture may be ready
	issuing   atomic.Int32         // instants handed to the GL thread and not yet issued
	polling   atomic.Bool          // a look at the readbacks waits for its turn on the GL thread
	pollHop   func(*gpu.Ctx) error // pollInTurn, made once

	failure struct {
		sync.Mutex
		err    error
		cancel func(error) // ends the current run; nil between runs
		stop   func(error) // ends its loop alone
		again  *rewind     // what is to be done when it has ended; only while cancel isn't nil
	}
}

// New builds the scene, opens OpenGL and uploads the scene. The error of a
// machine without usable OpenGL is gpu.ErrNotSupported to errors.Is. Close it in
// the end.
func New(ctx context.Context, config Config) (*Pipeline, error) {
	begun := time.Now()
	if err := config.setDefaults(); err != nil {
		return nil, err
	}
	p := &Pipeline{config: config, lastClock: math.MinInt64, wake: make(chan struct{}, 1)}
	p.pollHop = p.pollInTurn
	p.seed.Store(config.Seed)
	p.rest.wanted, p.rest.left = make(chan struct{}, 1), make(chan struct{}, 1)
	p.stepper = newStepper(p)
	p.turn = make(chan struct{}, 1)
	p.goal.Store(math.MinInt64)
	lines := carry.NewLines(config.Log)
	p.log = lines.Logger()
	p.waiting.log = p.log
	if err := p.makeClock(); err != nil {
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
		Registry: p.config.Bridges, Env: bridges.Env{OutDir: p.config.OutDir, Run: p.config.Run, Map: p.config.Scene.Map},
		Dispatcher: p.dispatcher, Lines: lines, Clock: p.clock, Step: p.config.Step,
		Stepped: p.config.Mode == Stepped, HasClock: p.clockDue != nil, Fail: p.fail, Await: p.waiting.begin,
	})
	p.elapsed.start(begun)
	return p, nil
}

func (c *Config) setDefaults() error {
	if c.Scene == nil || c.Sensors == nil || c.Open == nil {
		return fmt.Errorf("%w: it needs a scene, an opener and a registry of sensors", ErrConfig)
	}
	if c.Step == 0 {
		c.Step = defaultStep
	}
	if c.Scale == 0 {
		c.Scale = 1
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Ego == nil {
		c.Ego = c.Scene.Route
	}
	switch {
	case c.Step < 0:
		return fmt.Errorf("%w: step %v is negative", ErrConfig, c.Step)
	case c.DeviceTimeout < 0:
		return fmt.Errorf("%w: device timeout %v is negative", ErrConfig, c.DeviceTimeout)
	case c.DeviceTimeout > 0:
	case c.Mode == Stepped:
		c.DeviceTimeout = readback.NoTimeout
	default:
		c.DeviceTimeout = readback.DefaultTimeout
	}
	return nil
}

func (p *Pipeline) makeClock() error {
	scale, err := simtime.ScaleOf(p.config.Scale)
	if err != nil {
		return err
	}
	p.clock, err = simtime.NewClock(simtime.Config{
		Source: p.config.TimeSource, Sources: p.config.TimeSources, Scale: scale, Stepped: p.config.Mode == Stepped,
	})
	if err != nil {
		return err
	}
	if p.config.Mode == Realtime {
		p.letPass = p.clock.Hold() // time passes in runs only
	}
	every, err := simtime.Every(p.config.Step)
	if err != nil {
		return fmt.Errorf("step: %w", err)
	}
	if p.steps, err = simtime.NewFixedLoop(every, 1); err != nil {
		return err
	}
	if !p.config.ClockRate.IsZero() {
		p.clockDue, err = simtime.NewSchedule(p.config.ClockRate, 1)
	}
	return err
}

// build makes the world, the history and everything on the GL thread.
func (p *Pipeline) build(ctx context.Context) error {
	done := flow.TellLong(p.config.Log, "building the hierarchy of scene "+p.config.Scene.Name)
	world, err := scene.Build(ctx, p.config.Scene, scene.BuildOptions{CacheDir: p.config.CacheDir, Memory: p.config.Memory})
	done()
	if err != nil {
		return err
	}
	p.world = world
	p.history = scene.NewHistory(p.config.Scene, p.config.Ego, 0)
	p.stage = stage.New(world, p.history, p.config.Capacity, p.log)
	// What fails on the GL thread is the run's to say; the log has the details.
	thread := gpu.Config{OnError: func(err error) { p.log.Error("work on the gl thread failed", "error", err) }}
	if p.config.Memory != nil {
		thread.Memory = p.config.Memory
	}
	done = flow.TellLong(p.config.Log, "opening the device")
	p.gl, err = thread.Start(p.config.Open)
	done()
	if err != nil {
		return err
	}
	done = flow.TellLong(p.config.Log, "copying the scene to the device")
	err = p.gl.Do(ctx, func(c *gpu.Ctx) (err error) {
		p.resident, err = world.Upload(c)
		return err
	})
	done()
	if err != nil {
		return errors.Join(err, p.gl.Close())
	}
	return nil
}

// AddBridge opens a bridge and connects every sensor's outputs with it, those of
// sensors that are added later too. It comes before the first Run or Step; on an
// error the bridge is closed and nothing is connected. Errors of the connection
// string wrap bridges.ErrConnectionString or bridges.ErrUnknownBridge.
func (p *Pipeline) AddBridge(ctx context.Context, config carry.BridgeConfig) error {
	p.change.Lock()
	defer p.change.Unlock()
	if p.started {
		return fmt.Errorf("add bridge %s: %w", config.Spec, ErrStarted)
	}
	return p.bridges.Add(ctx, config)
}

// Receivers counts those who would receive messages now, of a topic or of a network bridge, see
// carry.Bridges. Any goroutine may call it.
func (p *Pipeline) Receivers(name string) (int, error) { return p.bridges.Receivers(name) }

// GPU returns the description of the OpenGL context.
func (p *Pipeline) GPU() gpu.Info { return p.gl.Info() }

// World returns the scene as the sensors see it.
func (p *Pipeline) World() *scene.World { return p.world }

// History returns the recorded motion of everything that moves.
func (p *Pipeline) History() *scene.History { return p.history }

// gated reports whether samples wait for the clock (law T4): in a stepped run
// the step itself keeps the order.
func (p *Pipeline) gated() bool { return p.clockDue != nil && p.config.Mode == Realtime }

// fail ends the current run with err; the first one counts.
func (p *Pipeline) fail(err error) {
	p.failure.Lock()
	defer p.failure.Unlock()
	if p.failure.err == nil {
		p.failure.err = err
	}
	if p.failure.cancel != nil {
		p.failure.cancel(err)
	}
}

// failed returns what fail was given first.
func (p *Pipeline) failed() error {
	p.failure.Lock()
	defer p.failure.Unlock()
	return p.failure.err
}

// wakeCompletion tells the completing goroutine that a capture may be ready. It
// never blocks.
func (p *Pipeline) wakeCompletion() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// start begins all sensors, once: where one can't, the pipeline stays without use.
func (p *Pipeline) start(ctx context.Context) error {
	p.change.Lock()
	closed, started := p.closed, p.started
	p.started = true
	list := p.live()
	if !started && !closed {
		p.bridges.Start()
		for _, s := range list { // before others can ask when it fires
			s.joined.Store(true)
		}
	}
	p.change.Unlock()
	switch {
	case closed:
		return ErrClosed
	case started:
		return p.failed()
	}
	begun := time.Now()
	p.first = p.lasting(list)
	p.history.Keep(historyTicks(p.config.Step, p.clockDue, list))
	for _, s := range list {
		if !s.users.Begin() { // somebody ends it
			continue
		}
		done := flow.TellLong(p.config.Log, "preparing sensor "+s.spec.Name)
		err := s.begin(ctx)
		done()
		s.users.Exit()
		if err != nil {
			p.fail(err)
			return err
		}
	}
	p.elapsed.start(begun)
	return nil
}

// historyTicks is how many ticks' poses are needed. They are those of the instants that are
// begun and not yet published, and before them those of the longest scan.
func historyTicks(step time.Duration, clock *simtime.Schedule, list []*Sensor) int {
	perSecond, longest := 1/step.Seconds(), 0.0
	if clock != nil {
		perSecond += clock.Rate().Float64()
	}
	for _, s := range list {
		perSecond += s.Rate().Float64()
		if s.gpu && s.schedule != nil {
			longest = max(longest, 1/s.Rate().Float64())
		}
	}
	return maxInstants + maxCaptures + 2 + int(min(math.Ceil(perSecond*longest), maxScanTicks))
}

// maxScanTicks bounds the memory of the history: longer scans see the scene stand
// still at their beginning.
const maxScanTicks = 1 << 15

// Clock returns the simulation clock: pause, resume, step and scale it there.
func (p *Pipeline) Clock() *simtime.Clock { return p.clock }

func (p *Pipeline) hasStarted() bool {
	p.change.Lock()
	defer p.change.Unlock()
	return p.started
}

func (p *Pipeline) isClosed() bool {
	p.change.Lock()
	defer p.change.Unlock()
	return p.closed
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Close ends the sensors, sends what is queued for as long as ctx allows,
// completes the recordings and ends the GL thread. It is called once, after Run
// or Step has returned, and what was adding sensors has; calling it again returns nil.
func (p *Pipeline) Close(ctx context.Context) error {
	p.change.Lock()
	closed := p.closed
	p.closed = true
	p.change.Unlock()
	if closed {
		return nil
	}
	p.bridges.Stop()
	errs := []error{p.awaitEndings(ctx)}
	list := p.live()
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, list[i].endLife())
	}
	errs = append(errs, p.shared.Close())
	p.dispatcher.ReleaseAll()
	errs = append(errs, wrap("send what was queued", p.dispatcher.Drain(ctx)))
	errs = append(errs, wrap("close the dispatcher", p.dispatcher.Close(ctx)))
	errs = append(errs, p.bridges.Close(ctx), p.closeGPU())
	return errors.Join(errs...)
}

// awaitEndings waits for the sensors that were ending when the pipeline did.
func (p *Pipeline) awaitEndings(ctx context.Context) error {
	p.dispatcher.ReleaseAll() // they wait for what they published to be sent
	ended := make(chan struct{})
	go func() {
		p.endings.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end sensors: %w", context.Cause(ctx))
	}
}

func (p *Pipeline) closeGPU() error {
	if p.resident != nil {
		p.resident.Close()
	}
	return wrap("close the gl thread", p.gl.Close())
}

// GL returns the GL thread, for what shares the pipeline's context, such as a
// window. It is closed by Close.
func (p *Pipeline) GL() *gpu.Thread { return p.gl }

// Ego returns the motion that the vehicle follows: a *scene.Guided from the first frame on that
// moves it (StepTo), nil for one that stands. Any goroutine may ask.
func (p *Pipeline) Ego() scene.Motion {
	motion, _ := p.history.Motion(scene.EgoID)
	return motion
}
