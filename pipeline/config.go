package pipeline

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
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

	// Weather is that of the beginning, and after a Reset. History().Weather() changes it.
	Weather weather.State
	// WeatherReport is the sensor that the run brings, as AddOnce does, at the first instant of another weather. (optional)
	WeatherReport *sensors.Config

	// Capacity is how many actors StepTo may bring at a time. The scene has twice as many slots:
	// who leaves at an instant has one up to the next.
	Capacity int

	// Defaults are what attributes have that a sensor leaves out: those of the bridges that the
	// run will have (bridges.Info).
	Defaults []bridges.Default
	// Wants are the sensors that those bridges want (bridges.Info). A sensor that is wanted beside another comes and goes
	// with it; AddWanted adds the others.
	Wants []bridges.Want

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

const defaultStep = 10 * time.Millisecond

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
