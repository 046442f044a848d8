package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/scene"
)

// ErrConfig is wrapped by the errors of a Config that can't work.
var ErrConfig = errors.New("bad bench configuration")

// Source makes the scenes that are measured on.
type Source struct {
	// Name goes into the names of cases: "city", or a file's name.
	Name string
	// Sized is true where Load heeds the number of triangles; a file has its own.
	Sized bool
	// Load makes the scene.
	Load func(ctx context.Context, triangles int) (*scene.Scene, error)
}

// Config says what to measure on, and how long.
type Config struct {
	Source Source
	// Triangles is how many a sized source makes; 0 means the bench's own number.
	Triangles int
	// GL is the thread that sensors run on; only BVH needs none. It stays the
	// caller's, who closes it.
	GL *gpu.Thread
	// Runs is how many runs a figure is the median of; 0 means 5.
	Runs int
	// RunTime is how long a run of a sensor lasts at least; 0 means one second.
	RunTime time.Duration
	// ClockTime is how long a run of the clock lasts; 0 means ten seconds, with Quick one.
	ClockTime time.Duration
	// Quick leaves out the larger cases of the benches of readback, dispatch and
	// clock, so that each ends within 20 seconds.
	Quick bool
	// Cases, where not empty, names the cases to measure; the others are left out.
	Cases []string
	// Dump is where the last capture of each case goes. (optional)
	Dump *Dump
	// Progress is told what is measured next, a line a case. (optional)
	Progress io.Writer
}

const (
	defaultRuns    = 5
	defaultRunTime = time.Second
)

// checked returns the configuration with its defaults filled in.
func (c Config) checked() (Config, error) {
	if c.Runs == 0 {
		c.Runs = defaultRuns
	}
	if c.RunTime == 0 {
		c.RunTime = defaultRunTime
	}
	if c.Runs < 0 || c.RunTime < 0 || c.Triangles < 0 {
		return c, fmt.Errorf("%w: %d runs of %v on %d triangles: none may be negative", ErrConfig, c.Runs, c.RunTime, c.Triangles)
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	return c, nil
}

// load makes the scene, with a bench's own number of triangles where none was
// asked for.
func (c *Config) load(ctx context.Context, triangles int) (*scene.Scene, error) {
	if c.Triangles > 0 {
		triangles = c.Triangles
	}
	s, err := c.Source.Load(ctx, triangles)
	if err != nil {
		return nil, fmt.Errorf("make scene %s: %w", c.Source.Name, err)
	}
	return s, nil
}

// sceneName names a scene of about so many triangles, as cases do: city_1000000.
func (c *Config) sceneName(s *scene.Scene, triangles int) string {
	switch {
	case !c.Source.Sized:
		triangles = s.Stats().Triangles
	case c.Triangles > 0:
		triangles = c.Triangles
	}
	return fmt.Sprintf("%s_%d", c.Source.Name, triangles)
}

// sensorTriangles is the size of the city that sensors are measured in: the
// default of a run.
const sensorTriangles = 100_000

// wants tells whether a case is to be measured.
func (c *Config) wants(name string) bool { return len(c.Cases) == 0 || slices.Contains(c.Cases, name) }

// checkCases names a case that isn't there, and those that are.
func (c *Config) checkCases(known []string) error {
	for _, name := range c.Cases {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%w: no case %q, %s", ErrConfig, name, closest.Hint(name, known))
		}
	}
	return nil
}
