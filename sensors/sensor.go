// Package sensors is the contract of a sensor: its definition with typed
// attributes, the registry of definitions, its life, and the outputs it
// publishes on. Each type of sensor is a folder of its own; sensors/all lists
// them.
//
// # Life
//
// A Life takes one sensor through it and enforces the order. Definition.New makes a sensor from
// a Spec (Life.Set), and SetOwner tells one that is Owned what it rides on. Begin gives it an
// Env. At each firing, PreTick comes before the scene moves, where a sensor is a PreTicker, and
// Tick after. End releases it. Sensors that generate data on the GPU are Capturers: after Tick,
// Capture runs on the GL thread, and Process publishes what came back. A Hearer is told when
// its first listener comes and its last one goes; while nobody listens nothing of this happens
// but Begin and End.
package sensors

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// Tick is one firing of one sensor on its time grid (law T3).
type Tick struct {
	// Due is the due instant in simulation nanoseconds: a camera shows
	// it, a rolling scan ends at it.
	Due simtime.Stamp
	// PeriodNs is the time since the sensor's previous grid instant.
	PeriodNs int64
	// Seq counts the sensor's firings from 0.
	Seq uint64
	// Frame is the number of the world's frame at Due, see sample.Header.
	Frame uint64
	// Started is the host's monotonic time when the capture was begun; latencies
	// are measured from it. It never enters a message.
	Started time.Time
}

// Header returns the header of a message that shows the due instant: pose is that
// of the sensor, in the map frame.
func (t Tick) Header(frameID string, pose spatial.Pose) sample.Header {
	return sample.Header{Stamp: t.Due, Seq: t.Seq, Frame: t.Frame, FrameID: frameID, Pose: pose}
}

// Spec is what a sensor is made of: a Config that a rig has resolved.
type Spec struct {
	Definition *Definition
	// Config is what it was resolved from; nil for a sensor that is made alone.
	Config *Config
	// Name is unique in the rig. FrameID is the frame that the data's headers name (of cameras
	// see OpticalFrame), ParentFrame the frame it is mounted in.
	Name, FrameID, ParentFrame string
	// Frame is the sensor's own frame, the child of ParentFrame; "" where it is FrameID.
	Frame string
	// Mount is the sensor's body frame in its owner's frame (the ego's base_link),
	// parents composed; Relative is the one in ParentFrame.
	Mount, Relative spatial.Pose
	// Rate is how often it fires; zero for a type that fires each frame.
	Rate     simtime.Rate
	Settings *Settings
	// Topic is absolute, without a trailing slash. Topics are the absolute topics of single
	// outputs and inputs by their names; the others begin with Topic.
	Topic  string
	Topics map[string]string
}

// BodyFrame returns the name of the sensor's own frame, which the rig places in
// ParentFrame.
func (s *Spec) BodyFrame() string {
	if s.Frame != "" {
		return s.Frame
	}
	return s.FrameID
}

// ChildFrame returns the name of the frame whose motion an odometry publishes. It is the given
// one. Where that is empty it is the parent's, if the sensor lies in its owner's origin, else
// the sensor's own.
func (s *Spec) ChildFrame(given string) string {
	switch {
	case given != "":
		return given
	case s.Mount == spatial.Identity():
		return s.ParentFrame
	default:
		return s.BodyFrame()
	}
}

// OpticalFrame returns the name of the frame in which a camera's data is (REP-103). It is its
// own frame's with _optical, or the one that the rig gives its headers, whatever it is.
func (s *Spec) OpticalFrame() string {
	if s.BodyFrame() != s.FrameID || s.Config != nil && s.Config.FrameID != "" {
		return s.FrameID
	}
	return s.FrameID + spatial.SuffixOptical
}

// Env is what a sensor works with while it lives. Its fields are set before
// Begin and don't change.
type Env struct {
	// GL is the GL thread, nil in a pipeline without GPU sensors.
	GL *gpu.Thread
	// Scene is what the sensor is in: its actors, lane marks and signals.
	Scene *scene.Scene
	// Geometry and Resident are the scene on the host and on the GPU.
	Geometry *scene.Geometry
	Resident *scene.Resident
	// History has the recorded poses of everything that moves, the ego
	// too, over at least the longest scan.
	History *scene.History
	// Owner is the id of the actor that the sensor rides on, scene.EgoID for the
	// ego: Spec.Mount is in its frame.
	Owner uint32
	// Ports are the open outputs, in the definition's order.
	Ports []Port
	// Inlets are the open inputs, in the definition's order.
	Inlets []Inlet
	// Shared holds what sensors of one pipeline have in common.
	Shared *Shared
	// Seed is the sensor's own, derived from the run's seed and its name.
	Seed uint64
	// Frames returns the fixed frames of the sensors on the owner, parents before
	// children: an equal list until sensors come or go. It is not to be changed.
	Frames func() []sample.Transform
	// Dropped counts a firing of which an output lacks its message, by cause. Any goroutine may
	// call it.
	Dropped func(at Tick, cause flow.Cause)
	// Completed must be called from Poll's or the pool's notification when a capture became
	// ready for Process. It never blocks and may be called from any goroutine.
	Completed func()
	// DeviceTimeout is how long the GPU may take for a capture, as readback.Config's Timeout.
	DeviceTimeout time.Duration
	// Map is where the map frame lies on the earth.
	Map spatial.MapFrame
	Log *slog.Logger
}

// Pose returns where a body frame mounted on the owner was at stamp, in the map frame.
func (e *Env) Pose(mount spatial.Pose, stamp simtime.Stamp) spatial.Pose {
	p, _ := e.History.Pose(e.Owner, stamp)
	return p.Compose(mount)
}

// Weather returns the weather at a time, which is that of a capture: Tick.Due, also for a scan that takes time. A sensor
// leaves all as it is in the zero State.
func (e *Env) Weather(stamp simtime.Stamp) weather.State { return e.History.Weather().At(stamp) }

// Sensor is the life of one sensor: Begin once, Tick whenever it is due, End
// once (again is a no-op). The pipeline enforces the order.
type Sensor interface {
	// Begin makes what the sensor needs; on an error the sensor holds nothing.
	Begin(ctx context.Context, env *Env) error
	// Tick does the work of one firing that needs no GPU, and publishes it.
	// It is called on one goroutine at a time, never on the GL thread, and
	// must not wait. A Capturer uses it to announce the capture that
	// follows on the GL thread, so that sensors can share work.
	Tick(at Tick) error
	// End releases everything, after the last Tick, Capture and Process.
	End() error
}

// Capturer is a sensor whose data is generated on the GPU and read back.
type Capturer interface {
	Sensor
	// Capture issues the GPU work of the firing that Tick announced. GL thread;
	// it must not wait. issued is true if Process will have the capture; a
	// capture for which there was no room is counted (Env.Dropped), not an
	// error. An error ends the run.
	Capture(c *gpu.Ctx, at Tick) (issued bool, err error)
	// Poll moves finished readbacks on. GL thread; it must not wait.
	Poll(c *gpu.Ctx)
	// Process publishes captures that Poll found finished, oldest first, up
	// to and including the capture stamped through (its due instant), and
	// returns how many. Called on one goroutine at a time, never on the GL thread.
	Process(through simtime.Stamp) int
	// Pending returns how many captures were issued and not yet processed.
	// Any goroutine.
	Pending() int
}

// Owner is the actor that a sensor rides on.
type Owner struct {
	ID     uint32 // scene.EgoID for the ego
	TypeID string // "vehicle.sedan"
	// Box bounds the actor in its own frame.
	Box scene.Box
	// Vehicle obeys commands and moves the actor; nil for one that moves otherwise.
	Vehicle *scene.Driven
}

// Owned is a sensor that depends on the actor it is attached to. SetOwner is called
// once, after the sensor was made and before Begin.
type Owned interface {
	SetOwner(Owner) error
}

// PreTicker is a sensor that works before the scene moves too. PreTick is called at each
// instant at which the sensor is due, when actors still are where they were at the instant
// before. Tick follows when they have moved. Frame loop; it must not wait.
type PreTicker interface {
	PreTick(at Tick) error
}

// Tuner is a sensor that takes other values of its Live attributes, and another rate, while it
// runs. Tune takes them over from fresh, a sensor of its type that was made of them and never
// begins. It is called before a firing, where Tick is. A Capturer's is called on the GL thread,
// ahead of all captures of the instant. It must not wait.
type Tuner interface {
	Tune(fresh Sensor) error
}

// Hearer is a sensor that is told when the first listener comes and when the last has
// gone. Frame loop; it must not wait.
type Hearer interface {
	Heard(listening bool)
}

// Selective is a sensor whose settings leave out some of the declared outputs:
// those get no topic. It is asked once, before Begin.
type Selective interface {
	Publishes(output string) bool
}

// Framer is a sensor that defines frames below its own body frame. It is asked
// at any time after Begin.
type Framer interface {
	Frames() []sample.Transform
}

// FieldOfView is what of its surroundings a sensor sees, about its x axis; angles in degrees.
type FieldOfView struct {
	// Horizontal is the width. Vertical is the height, of pictures and cones; 0 where the rays lie between the elevations Lower and Upper.
	Horizontal, Vertical float64
	Lower, Upper         float64
	// Range is how far it sees, metres; 0 for no end.
	Range float64
}

// Viewer is a Sensor with a field of view. It may be asked before Begin, by any goroutine, up to then.
type Viewer interface {
	FieldOfView() FieldOfView
}

// Deriver is a Sensor of which some attributes follow from others while they aren't set, such as a lidar's
// range from its preset. Derived returns these by name, in their attributes' Go types. It may be asked before
// Begin, by any goroutine, up to then.
type Deriver interface {
	Derived() map[string]any
}

// Reading is what sensors with one kind of message share. They embed it, fill in Message and call
// Publish: at a Tick, or at Process where the message is made of a capture. It makes them a Sensor
// together with their Tick; a sensor with more to do at Begin has its own, which calls Reading's.
// After Begin it belongs to the frame loop, or to Process where that publishes.
type Reading[E any] struct {
	Spec    Spec // given by the sensor's constructor
	Env     *Env // from Begin on
	Message E    // used again at each Tick: outputs copy what they keep
	out     *Output[*E]
}

// Begin opens the output: the first of the definition.
func (r *Reading[E]) Begin(_ context.Context, env *Env) (err error) {
	r.Env = env
	r.out, err = OutputOf[*E](env, r.Spec.Definition.Outputs[0].Name)
	return err
}

// Publish hands Message to the output's listeners. It doesn't wait.
func (r *Reading[E]) Publish(at Tick) { r.out.TryQueue(at, &r.Message) }

// End releases nothing: the sensor holds memory only.
func (r *Reading[E]) End() error { return nil }

// Shared keeps one instance of each resource that several sensors of a
// pipeline use together. Any goroutine may use it.
type Shared struct {
	mu    sync.Mutex
	items map[any]io.Closer // guarded by mu
	order []any             // guarded by mu
}

// Get returns the resource with that key and makes it the first time. The
// pipeline closes all of them, newest first, after the sensors have ended.
func (s *Shared) Get(key any, make func() (io.Closer, error)) (io.Closer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.items[key]; ok {
		return r, nil
	}
	r, err := make()
	if err != nil {
		return nil, err
	}
	if s.items == nil {
		s.items = map[any]io.Closer{}
	}
	s.items[key] = r
	s.order = append(s.order, key)
	return r, nil
}

// Close closes all resources, newest first.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for i := len(s.order) - 1; i >= 0; i-- {
		if err := s.items[s.order[i]].Close(); err != nil && first == nil {
			first = err
		}
	}
	s.items, s.order = nil, nil
	return first
}
