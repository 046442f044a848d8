// Package raybridge opens a simulation with one call: a scene, a vehicle that carries
// sensors, and bridges to those who receive their data. The raybridge program stands on
// it, and so do programs of your own:
//
//	sim, err := raybridge.Open(ctx, raybridge.Config{})
//	front, err := sim.Add(camera.RGB{Width: 1280, Height: 720}, "front", raybridge.At(1.5, 0, 1.4))
//	pictures, err := raybridge.Listen(front, func(m *sample.Image) { ... })
//	err = sim.Run(ctx, 10*time.Second)
//	err = sim.Close(ctx)
//
// A Sim is a pipeline.Pipeline. That package says who may call what when, in which order
// data comes, and what fails how.
//
// The package builds without cgo, too. Open then finds no OpenGL, and its error says what is
// missing.
package raybridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Config says what Open makes. Its zero value is the procedural city and a vehicle that
// follows the city's route, stepped as fast as the machine goes.
type Config struct {
	// Run is what a run's file says: scene, clock, vehicle, sensors and bridges. A
	// config.Reader reads one. Nil is config.Default().
	Run *config.Config
	// Scene is what the sensors see, in place of Run's. It must not be changed afterwards.
	Scene *scene.Scene
	// Realtime follows the host's clock.
	Realtime bool
	// GPU is the name of the device, as Device takes it, and Host how the host device computes.
	GPU  string
	Host hostdev.Options
	// Open opens the OpenGL context, in place of that of GPU. (optional)
	Open gpu.Opener
	// DeviceTimeout is how long the device may take for a capture, as pipeline.Config has it.
	DeviceTimeout time.Duration
	// Memory is what files, the scene and the GPU's objects are taken from. (optional; nil
	// for no limit)
	Memory *memory.Budget
	// Sensors and Bridges are your own types, beside the built-in ones.
	Sensors []*sensors.Definition
	Bridges []bridges.Factory
	// TimeSources are your own sources of time, as pipeline.Config has them; Run's
	// time.source names one.
	TimeSources map[string]func() simtime.Source
	// OutDir is where bridges put files with relative names, "" for the working directory.
	OutDir string
	// About is what recordings and the summary say of the run. Open fills in the scene and the
	// seed, and where they are empty the version and the id.
	About bridges.Run
	// Log receives warnings; nil discards them.
	Log *slog.Logger
	// OnProgress is called by the frame loop now and then. (optional)
	OnProgress func(pipeline.Progress)
}

// Sim is an open simulation. Run or Step it, and Close it in the end.
type Sim struct {
	*pipeline.Pipeline
}

// Sensor is one sensor of a Sim.
type Sensor = pipeline.Sensor

// ConfigError says that a simulation can't be opened as it is configured. Its text is
// Err's.
type ConfigError struct {
	// Key is the key of the run's file that has the fault: scene, ego, weather, sensors or bridges.
	Key string
	Err error
}

// Error returns the text of Err.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// Open makes the scene, opens OpenGL, and adds the sensors and bridges of the
// configuration, with a sensor that publishes the rig's frames on /tf. An error is a
// *ConfigError where the configuration is at fault, and wraps gpu.ErrNotSupported where
// the machine has no usable OpenGL.
func Open(ctx context.Context, c Config) (*Sim, error) {
	own, err := c.pipeline()
	if err != nil {
		return nil, err
	}
	run := c.Run
	if run == nil {
		run = config.Default()
	}
	if own.Scene == nil {
		var warnings []string
		done := flow.TellLong(own.Log, "making "+about(&run.Scene))
		own.Scene, warnings, err = SceneOf(ctx, run, c.Memory)
		done()
		if err != nil {
			return nil, &ConfigError{"scene", err}
		}
		for _, w := range warnings {
			own.Log.Warn(w)
		}
	}
	var astray string
	if own.Ego, astray, err = EgoOf(run, own.Scene); err != nil {
		return nil, &ConfigError{"ego", err}
	}
	if astray != "" {
		own.Log.Warn(astray)
	}
	own.Step, own.ClockRate, own.TimeSource, own.Scale = run.Time.Step, run.Time.ClockRate, run.Time.Source, run.Time.Scale
	own.Seed, own.Capacity, own.WeatherReport = run.Seed, run.World.Capacity, &weatherReport
	if run.Weather != nil {
		if own.Weather, err = run.Weather.State(); err != nil {
			return nil, &ConfigError{"weather", err}
		}
		text, _ := json.Marshal(own.Weather) // its numbers are finite
		own.Run.Weather = string(text)
	}
	own.Run.Version = cmp.Or(own.Run.Version, Version())
	own.Run.Scene, own.Run.Seed = own.Scene.Name, run.Seed
	if own.Run.ID == "" {
		if own.Run.ID, err = runID(run, own); err != nil {
			return nil, &ConfigError{"sensors", err}
		}
	}
	own.Defaults, own.Wants = defaults(run, own.Bridges), Wants(run, own.Bridges)
	p, err := pipeline.New(ctx, own)
	if err != nil {
		return nil, err
	}
	s := &Sim{p}
	if err := s.connect(ctx, run); err != nil {
		return nil, errors.Join(err, p.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// pipeline returns what the configuration says beside its run.
func (c *Config) pipeline() (p pipeline.Config, err error) {
	p = pipeline.Config{
		Scene: c.Scene, Open: c.Open, DeviceTimeout: c.DeviceTimeout, Memory: c.Memory, Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(),
		TimeSources: c.TimeSources, OutDir: c.OutDir, Run: c.About, Log: c.Log, OnProgress: c.OnProgress,
	}
	if c.Realtime {
		p.Mode = pipeline.Realtime
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Open == nil {
		if p.Open, err = c.device(p.Log); err != nil {
			return p, fmt.Errorf("choose the GPU %w", err)
		}
	}
	if c.Sensors != nil {
		if p.Sensors, err = sensors.NewRegistry(slices.Concat(sensorsall.Definitions(), c.Sensors)...); err != nil {
			return p, err
		}
	}
	if c.Bridges != nil {
		if p.Bridges, err = bridges.NewRegistry(slices.Concat(bridgesall.Factories(), c.Bridges)...); err != nil {
			return p, err
		}
	}
	p.CacheDir, _ = scene.CacheDir() // without one, the scene is built and not kept
	return p, nil
}

// addWeather adds the sensor that publishes the weather, where the run's file has one, unless the rig has the sensor. In other
// runs it comes with the first weather that is set.
func (s *Sim) addWeather(run *config.Config) error {
	if run.Weather == nil {
		return nil
	}
	if err := s.AddOnce(weatherReport); err != nil {
		return fmt.Errorf("the run's weather is reported by a sensor of its own; mount %s in the rig to choose its topic: %w", weatherReport.ID, err)
	}
	return nil
}

// weatherReport is the sensor that a run with a weather brings.
var weatherReport = sensors.Config{ID: groundtruth.WeatherID, Name: "weather", Frame: spatial.FrameBaseLink, Topic: "/weather"}

// connect adds the sensors and bridges of a run.
func (s *Sim) connect(ctx context.Context, run *config.Config) error {
	if _, err := s.AddRig(&rig.Rig{Sensors: run.Sensors}); err != nil {
		return &ConfigError{"sensors", err}
	}
	if err := errors.Join(s.AddTransforms(), s.AddCommands(commands(run)), s.addWeather(run), s.AddWanted()); err != nil {
		return &ConfigError{"sensors", err}
	}
	for _, b := range run.Bridges {
		c := carry.BridgeConfig{Spec: b.Type + ":" + b.Connection, Policy: b.Policy, QoS: map[string]flow.QoS{}}
		for _, q := range b.QoS {
			c.QoS[q.Topic] = q.QoS()
		}
		if err := s.AddBridge(ctx, c); err != nil {
			return &ConfigError{"bridges", err}
		}
	}
	return nil
}

// At is a place in the frame of what carries a sensor: metres forward, to the left and up.
// The pose's angles are 0; they are degrees.
func At(x, y, z float64) sensors.Pose { return sensors.Pose{X: x, Y: y, Z: z} }

// Add adds a sensor to the vehicle. Options is a struct of the sensor's package, such as
// camera.RGB or lidar.RayCast; what is zero in it has its default. The rate is the type's
// default. AddSensor sets everything else.
//
// Any goroutine may call it up to Close, also during a run: see pipeline.Pipeline.AddSensor.
// Errors wrap sensors.ErrUnknownSensor or sensors.ErrValue.
func (s *Sim) Add(options any, name string, at sensors.Pose) (*Sensor, error) {
	return s.AddSensor(sensors.Config{Options: options, Name: name, Pose: at})
}

// Listen calls call with every message of the sensor's output that has messages of type M,
// until the listener is stopped. The message belongs to the simulation: it may be read until call
// returns, and must not be changed. Otherwise it is pipeline.Listen, which takes an
// output's name where several have that type.
func Listen[M any](s *Sensor, call func(message M)) (*pipeline.Listener, error) {
	var outputs []string
	for _, out := range s.Outputs() {
		if out.Type == reflect.TypeFor[M]() {
			outputs = append(outputs, out.Name)
		}
	}
	if len(outputs) > 1 {
		return nil, fmt.Errorf("listen to %s as %v: %w: outputs %s have that type, name one with pipeline.Listen",
			s.Name(), reflect.TypeFor[M](), pipeline.ErrOutput, strings.Join(outputs, ", "))
	}
	return pipeline.Listen(s, strings.Join(outputs, ""), func(_ sensors.Tick, message M) { call(message) })
}

// WritePNG writes an image to a file as people see it: depth, ids, normals and optical
// flow in colours.
func WritePNG(file string, m *sample.Image) error {
	kind, err := picture.KindOf(m, "")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return errors.Join(png.Encode(f, kind.Paint(nil, m)), f.Close())
}
