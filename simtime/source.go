package simtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Source produces simulation time. The five built-in ones are chosen by name; Config.Sources
// adds others. A source follows the time scale and pauses if it is a Scaler, and can be stepped
// if it is a Stepper. The Clock shows a frozen value of others while paused.
//
// The Clock calls all methods one at a time, with its lock held. They need no lock of their
// own, and must not call the Clock.
type Source interface {
	// Now returns the simulation time in nanoseconds.
	Now() Stamp
}

// Scaler is a Source that follows the time scale.
type Scaler interface {
	Source
	// SetScale makes time pass at the given scale from this instant on; zero
	// stands for a pause.
	SetScale(scale Scale)
}

// Stepper is a Source that can be moved on by hand while its scale is zero.
type Stepper interface {
	Scaler
	// Step adds d, in nanoseconds and not negative, to the source's time.
	Step(d int64)
}

// Names of the built-in sources.
const (
	// Engine is advanced by the frame loop, starts at 0 and follows the time
	// scale. Alias: unity.
	Engine = "engine"
	// SS2 shows the time that was last set from outside, 0 before that; it
	// doesn't follow the time scale. Alias: external.
	SS2 = "ss2"
	// System starts at the UNIX epoch's time and follows the host's monotonic
	// clock, by the time scale. Alias: dotnet_system.
	System = "system"
	// Simulation starts at 0 and follows the host's monotonic clock, by the time
	// scale. Alias: dotnet_simulation.
	Simulation = "simulation"
	// ROS2 follows a ROS clock, by default the time since the UNIX epoch; it
	// doesn't follow the time scale.
	ROS2 = "ros2"
)

var aliases = map[string]string{
	"unity":             Engine,
	"external":          SS2,
	"dotnet_system":     System,
	"dotnet_simulation": Simulation,
}

// Errors of choosing a source.
var (
	// ErrUnknownSource says that there is no time source of a name.
	ErrUnknownSource = errors.New("unknown time source")
	// ErrBadSource says that a source in Config.Sources can't be one. Its name is empty or a
	// built-in source's, or its function is nil or made nil.
	ErrBadSource = errors.New("bad time source")
)

// ParseSource returns the built-in source's name that the given name, an alias
// perhaps and in any case of letters, stands for. The error wraps
// ErrUnknownSource and lists the known names.
func ParseSource(name string) (string, error) { return resolveSource(name, nil) }

func resolveSource(name string, more map[string]func() Source) (string, error) {
	lower := strings.ToLower(strings.TrimSpace(name))
	if target, ok := aliases[lower]; ok {
		return target, nil
	}
	known := []string{Engine, SS2, System, Simulation, ROS2}
	if slices.Contains(known, lower) {
		return lower, nil
	}
	for _, own := range slices.Sorted(maps.Keys(more)) {
		if strings.ToLower(strings.TrimSpace(own)) == lower {
			return own, nil
		}
		known = append(known, own)
	}
	return "", fmt.Errorf("%w %q (known: %s, and unity for engine)", ErrUnknownSource, name, strings.Join(known, ", "))
}

// checkSources looks at a user's sources before any is needed.
func checkSources(more map[string]func() Source) error {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		lower := strings.ToLower(strings.TrimSpace(name))
		_, err := resolveSource(name, nil)
		other, twice := seen[lower]
		switch {
		case lower == "":
			return fmt.Errorf("%w: it has no name", ErrBadSource)
		case err == nil:
			return fmt.Errorf("%w %q: the name is a built-in source's", ErrBadSource, name)
		case twice:
			return fmt.Errorf("%w %q: it is named %q, too", ErrBadSource, name, other)
		case more[name] == nil:
			return fmt.Errorf("%w %q: no function to make it", ErrBadSource, name)
		}
		seen[lower] = name
	}
	return nil
}

// running is the source behind system and simulation: a line over host time. Like all sources
// it is guarded by the Clock's mu.
type running struct {
	host func() int64
	line mapping
}

func newRunning(host func() int64, start Stamp, scale Scale) *running {
	return &running{host: host, line: mapping{t0: host(), s0: start, scale: scale}}
}

// Now reads the line at the host's time.
func (r *running) Now() Stamp { return r.line.at(r.host()) }

// SetScale bends the line here.
func (r *running) SetScale(scale Scale) { r.line = r.line.rescale(r.host(), scale) }

// Step shifts the line.
func (r *running) Step(d int64) { r.line.s0 += Stamp(d) }

// reach returns how long the host takes to bring the source to t; false if it
// doesn't.
func (r *running) reach(t Stamp) (time.Duration, bool) {
	at, ok := r.line.reaches(t)
	return time.Duration(at - r.host()), ok
}

// engine is the source that the frame loop advances. Its pace, a line over host
// time, says how far the loop may go; its time is where the loop is.
type engine struct {
	pace *running
	time Stamp // guarded by the Clock's mu
}

func newEngine(host func() int64, scale Scale) *engine {
	return &engine{pace: newRunning(host, 0, scale)}
}

// Now is where the loop is.
func (e *engine) Now() Stamp { return e.time }

// SetScale changes the pace.
func (e *engine) SetScale(scale Scale) { e.pace.SetScale(scale) }

// Step lets the loop go on by d.
func (e *engine) Step(d int64) { e.pace.Step(d) }

// external is the source that is set from outside.
type external struct{ time Stamp } // guarded by the Clock's mu

// Now is the time last set.
func (e *external) Now() Stamp { return e.time }

// following is the source that asks another clock.
type following struct{ ask func() Stamp }

// Now asks the other clock.
func (f *following) Now() Stamp { return f.ask() }

var (
	_ Stepper = (*running)(nil)
	_ Stepper = (*engine)(nil)
)
