// Package bench measures how fast sensors are generated and scenes are made ready. It writes
// down what was measured, so that others can compare their own programs.
//
// # What is measured
//
// The scene stands still at time 0. Sensors are driven as a pipeline drives them, with two
// captures under way. Each is announced, dispatched, fenced, read back to host memory with all
// its fields, and handed to a listener, which throws it away. A run is many complete captures;
// its rate is their number over the wall time from the first dispatch to the last delivery. A
// figure is the median of several runs. Shaders are compiled and buffers made before the first
// run.
//
// # Readback
//
// Readback drives the same sensors by two frame loops. Stamps begin at 0 in each run, so that
// the data of both is bit-equal. A frame has one capture and 4 ms of computation. That is as
// many rounds of a generator as the shortest of several tries says. It ends when the loop may
// begin the next. The blocking loop dispatches, finishes, copies, finishes, and hands on what
// came back. The asynchronous one asks for the capture and never waits. A run is a burst, which
// another goroutine makes two at a time, as a stepped pipeline does. It hands on the data, and
// the run ends when everything is published. A case whose name ends in hz is paced instead:
// frames begin at a steady beat, and some of them have a capture.
//
// Behind both lies the same way: a dispatcher with an ordered topic for each output. Its
// workers encode the message as the mcap bridge does, uncompressed, into a recording that is
// thrown away. Then they take a sum of it, which no latency has in it. The loops run on an OS
// thread that goes first where the system allows it (simtime.TakeThread). Go's scheduler has
// more processors than there are cores.
//
// The asynchronous figures count if every capture arrived once, in order, with the bytes of the
// blocking loop's. The loop must also make at least 0.9 of the blocking loop's captures per
// second. That is the median of the shares of runs that were made one after the other.
//
// A bench uses the whole machine: what runs beside it lowers the figures, so a
// Report says how busy the machine was before and after.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
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
	// Open opens the devices of Kernels and RealTime, and of the runs that World and Python step.
	Open gpu.Opener
	// Threads opens the device with so many threads; nil where they can't be chosen.
	Threads func(threads int) gpu.Opener
	// Program is this program, whose whole runs Demo makes, on a device as --gpu takes it. The
	// demo's run is one, each rig of a file another. "" leaves the device to the program.
	Program, Device string
	RigFiles        []string
	// DemoRig is the demo's rig, of View's runs.
	DemoRig string
	// Beside is the program of Embree (testdata/embree_check.c).
	Beside string
	// Runs is how many runs a figure is the median of; 0 means 5.
	Runs int
	// RunTime is how long a run of a sensor lasts at least; 0 means one second.
	RunTime time.Duration
	// ClockTime is how long a run that follows the host's clock lasts. 0 means ten seconds of Clock
	// and a minute of RealTime, with Quick one second and two.
	ClockTime time.Duration
	// Quick leaves out the larger cases of most benches and shortens their runs, for a first look.
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
	c.Runs, c.RunTime = cmp.Or(c.Runs, defaultRuns), cmp.Or(c.RunTime, defaultRunTime)
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

// measured is a case of a benchmark.
type measured interface{ title() string }

// named is the name of a case.
type named struct{ name string }

func (n named) title() string { return n.name }

// wanted returns those of a benchmark's cases that are to be measured, in their order. The
// error names a case that isn't there, and those that are.
func wanted[K measured](c *Config, cases []K) (list []K, err error) {
	var known []string
	for i := range cases {
		known = append(known, cases[i].title())
		if len(c.Cases) == 0 || slices.Contains(c.Cases, known[i]) {
			list = append(list, cases[i])
		}
	}
	for _, name := range c.Cases {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: no case %q, %s", ErrConfig, name, fault.Hint(name, known))
		}
	}
	return list, nil
}

// begin checks a configuration, and returns it with those of a benchmark's cases that are to be
// measured.
func begin[K measured](config Config, cases []K) (c Config, list []K, err error) {
	if c, err = config.checked(); err == nil {
		list, err = wanted(&c, cases)
	}
	return c, list, err
}

// caseBench is a benchmark whose cases share nothing but the configuration.
type caseBench[K measured] struct {
	name  string
	cases []K
	// measure returns the figures of a case.
	measure func(*Config, K) ([]Result, error)
	method  string // says what the figures mean
}

// run measures all cases that are wanted, and appends to the report.
func (b *caseBench[K]) run(config Config, report *Report) error {
	cfg, cases, err := begin(config, b.cases)
	if err != nil {
		return err
	}
	err = measureCases(&cfg, b.name, cases, func(k K) error {
		rows, err := b.measure(&cfg, k)
		report.addFigures(rows)
		return err
	})
	if err == nil {
		report.explain(b.method)
	}
	return err
}

// ifQuick returns brief for a quick bench, else full.
func ifQuick[T any](quick bool, brief, full T) T {
	if quick {
		return brief
	}
	return full
}

// measureCases measures one case after the other, up to the first error.
func measureCases[K measured](c *Config, bench string, cases []K, measure func(K) error) error {
	for _, k := range cases {
		fmt.Fprintf(c.Progress, "%s %s\n", bench, k.title())
		if err := measure(k); err != nil {
			return fmt.Errorf("%s %s: %w", bench, k.title(), err)
		}
	}
	return nil
}
