package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// stage is a scene on the GPU that stands still at time 0, for one case after
// another. It belongs to one goroutine.
type stage struct {
	cfg      *Config
	gl       *gpu.Thread
	geometry *scene.Geometry
	resident *scene.Resident
	history  *scene.History
	ego      spatial.Pose // in the map frame
}

// openStage makes a scene, with about so many triangles where none were asked for, builds
// it and uploads it. Its default route says where the ego stands.
func openStage(ctx context.Context, cfg *Config, triangles int) (*stage, error) {
	s, err := cfg.load(ctx, triangles)
	if err != nil {
		return nil, err
	}
	geometry, err := scene.Build(ctx, s, scene.BuildOptions{})
	if err != nil {
		return nil, err
	}
	st := &stage{cfg: cfg, gl: cfg.GL, geometry: geometry, history: scene.NewHistory(s, s.Route, 1)}
	st.history.Record(0)
	st.ego, _ = st.history.Pose(scene.EgoID, 0)
	err = st.gl.Do(ctx, func(c *gpu.Ctx) (err error) {
		st.resident, err = geometry.Upload(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

func (st *stage) close() { st.resident.Close() }

// describe is the scene's line in a report.
func (st *stage) describe() string { return describeScene(st.cfg.Source.Name, st.geometry.Scene) }

// sensorBench measures how fast sensors make complete captures.
type sensorBench[K measured] struct {
	name    string
	cases   []K
	measure func(*stage, context.Context, K) (Result, error)
}

// run measures all cases that are wanted, and the memory that they take, and appends to
// the report.
func (b *sensorBench[K]) run(ctx context.Context, config Config, report *Report) error {
	cfg, cases, err := begin(config, b.cases)
	if err != nil {
		return err
	}
	memory := watchMemory()
	st, err := openStage(ctx, &cfg, sensorTriangles)
	if err != nil {
		return err
	}
	defer st.close()
	var results []Result
	err = measureCases(&cfg, b.name, cases, func(k K) error {
		result, err := b.measure(st, ctx, k)
		results = append(results, result)
		return err
	})
	if err == nil {
		report.add(st.describe(), append(results, memory.result(b.name)...))
	}
	return err
}

// pose returns where a frame mounted on the ego stands, in the world frame.
func (st *stage) pose(mount spatial.Pose) spatial.Pose {
	return st.geometry.FromMap(st.ego.Compose(mount))
}

// triangles are the scene's at time 0, as the GPU has them.
func (st *stage) triangles() *triangles {
	g := st.geometry
	out := &triangles{}
	for i := range g.StaticCount {
		// The second corner's words end in the label; see shaders/lib/scene.glsl.
		out.add(st.geometry, i, mgl64.Ident4(), g.Attributes[3*i+1][3])
	}
	out.movers = make([]uint8, len(out.tags))
	packer := scene.NewPacker(g, st.history)
	cast := packer.Cast(nil, 0)
	places := packer.Places(nil, cast, 0)
	for k := range cast {
		if places[k].At(3, 3) == 0 { // a copy of a shape
			continue
		}
		m := &g.Movers[cast[k].Mover]
		label := m.Actor.ID&0xffff | uint32(m.Actor.Parts[m.Part].Tag)<<16
		for i := m.First; i < m.First+m.Count; i++ {
			out.add(st.geometry, i, places[k], label)
			out.movers = append(out.movers, 1)
		}
	}
	return out
}

// triangles is a set of triangles in the world frame.
type triangles struct {
	corners   []float32 // 9 a triangle
	instances []uint32
	tags      []uint8
	movers    []uint8 // 1 where the actor or a part of it may move
	cut       []uint8 // 1 where the surface may have holes
	holes     bool    // some surface may
}

// add appends one of the world's triangles, placed.
func (t *triangles) add(g *scene.Geometry, i int, place mgl64.Mat4, label uint32) {
	for _, v := range g.Vertices[3*i : 3*i+3] {
		p := mgl64.TransformCoordinate(mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}, place)
		t.corners = append(t.corners, float32(p[0]), float32(p[1]), float32(p[2]))
	}
	t.instances = append(t.instances, label&0xffff)
	t.tags = append(t.tags, uint8(label>>16))
	cut := uint8(0)
	if g.Scene.Materials[g.Attributes[3*i][3]].AlphaMode != scene.AlphaOpaque {
		cut, t.holes = 1, true
	}
	t.cut = append(t.cut, cut)
}

// member is one sensor that a rig fires.
type member struct {
	name       string
	definition *sensors.Definition
	mount      spatial.Pose
	settings   map[string]any
}

// cameras are pictures of one camera, as the demo rig has it.
func cameras(width, height int, definitions ...*sensors.Definition) (list []member) {
	for _, d := range definitions {
		list = append(list, member{name: d.ID, definition: d, mount: cameraMount, settings: map[string]any{
			"image_size_x": width, "image_size_y": height, "fov": cameraFov,
		}})
	}
	return list
}

// rigged is the sensors of one case, begun, and the loop that has them make captures. It
// belongs to one goroutine, which also gets what they publish, unless a method says
// otherwise. A capture allocates nothing.
type rigged struct {
	gl      *gpu.Thread
	sensors []sensors.Capturer
	names   []string
	shared  sensors.Shared
	wake    chan struct{}        // pinged when a capture may be ready
	polling atomic.Bool          // a look at the readbacks waits for its turn on the GL thread
	pollHop func(*gpu.Ctx) error // that look, made once
	lost    lostCaptures
	connect connector

	asked  atomic.Int64  // captures that are wanted, so far
	wanted chan struct{} // pinged when asked has grown

	ticks      [2 * inFlight]sensors.Tick // of the latest captures, by number
	announced  int                        // captures
	issued     int                        // captures; GL thread only, as waits
	waits      []time.Duration            // from a capture's announcement to its turn
	glFailure  atomic.Pointer[error]      // of what the GL thread did
	captureHop func(*gpu.Ctx) error       // made once

	keep bool
	kept map[string]any // by sensor: the first output's last message while keep is set
}

// connector makes the sink of a sensor's output; first says that it is the
// sensor's first one.
type connector func(sensor string, spec *sensors.OutputSpec, first bool) (sensors.Sink, error)

// newRigged returns one without sensors, whose outputs connect will have; nil throws away
// what is published.
func newRigged(gl *gpu.Thread, connect connector) *rigged {
	r := &rigged{gl: gl, wake: make(chan struct{}, 1), wanted: make(chan struct{}, 1), kept: map[string]any{}, connect: connect}
	r.pollHop, r.captureHop = r.pollInTurn, r.capture
	if connect == nil {
		r.connect = r.listen
	}
	return r
}

// rigUp makes and begins the sensors of a case.
func (st *stage) rigUp(ctx context.Context, members []member, connect connector) (*rigged, error) {
	r := newRigged(st.gl, connect)
	for i := range members {
		if err := r.begin(ctx, st, &members[i]); err != nil {
			return nil, errors.Join(fmt.Errorf("begin %s: %w", members[i].definition.ID, err), r.close())
		}
	}
	return r, nil
}

func (r *rigged) begin(ctx context.Context, st *stage, m *member) error {
	settings := m.definition.NewSettings()
	for name, value := range m.settings {
		if err := settings.Set(name, value); err != nil {
			return err
		}
	}
	made, err := m.definition.New(sensors.Spec{
		Definition: m.definition, Name: m.name, FrameID: m.name, ParentFrame: "base_link",
		Mount: m.mount, Rate: simtime.Hz(10), Settings: settings,
	})
	if err != nil {
		return err
	}
	capturer, ok := made.(sensors.Capturer)
	if !ok {
		return fmt.Errorf("%w: it captures nothing on the GPU", ErrConfig)
	}
	env, err := r.env(st, m, made)
	if err != nil {
		return err
	}
	if err := capturer.Begin(ctx, env); err != nil {
		return err
	}
	r.sensors = append(r.sensors, capturer)
	r.names = append(r.names, m.name)
	return nil
}

// env is what a sensor works with; every output that its settings leave is
// listened to.
func (r *rigged) env(st *stage, m *member, made sensors.Sensor) (*sensors.Env, error) {
	env := &sensors.Env{
		GL: st.gl, Geometry: st.geometry, Resident: st.resident, History: st.history, Scene: st.geometry.Scene, Owner: scene.EgoID,
		Shared: &r.shared, Frames: func() []sample.Transform { return nil },
		Dropped: r.lost.add, Completed: r.ping, Map: st.geometry.Scene.Map, Log: slog.New(slog.DiscardHandler),
	}
	for i := range m.definition.Outputs {
		port := m.definition.Outputs[i].Open()
		env.Ports = append(env.Ports, port)
		if s, ok := made.(sensors.Selective); ok && !s.Publishes(m.definition.Outputs[i].Name) {
			continue
		}
		sink, err := r.connect(m.name, &m.definition.Outputs[i], i == 0)
		if err != nil {
			return nil, err
		}
		port.Connect(sink)
	}
	return env, nil
}

// listen throws messages away, or keeps a deep copy.
func (r *rigged) listen(sensor string, spec *sensors.OutputSpec, first bool) (sensors.Sink, error) {
	return sink(func(_ sensors.Tick, message any) bool {
		if r.keep && first {
			kept := spec.New()
			spec.Copy(kept, message)
			r.kept[sensor] = kept
		}
		return true
	}), nil
}

// ping wakes who waits for a readback. It never blocks.
func (r *rigged) ping() { ping(r.wake) }

func ping(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close ends the sensors, after whatever the GL thread still has of them.
func (r *rigged) close() error {
	err := r.settle()
	for i := len(r.sensors) - 1; i >= 0; i-- {
		err = errors.Join(err, r.sensors[i].End())
	}
	return errors.Join(err, r.shared.Close())
}

// sink takes what an output publishes, always at once. It runs on the rig's goroutine.
type sink func(at sensors.Tick, message any) bool

// Listening is always true.
func (s sink) Listening() bool { return true }

// Status is always Connected.
func (s sink) Status() flow.Status { return flow.Connected }

// TryQueue takes the message.
func (s sink) TryQueue(at sensors.Tick, message any) bool { return s(at, message) }

// Publish is TryQueue.
func (s sink) Publish(_ context.Context, at sensors.Tick, message any) error {
	s(at, message)
	return nil
}

// inFlight is how many captures are under way at a time, as in a stepped run of a pipeline. The
// GL thread works on one while the one before is read and published.
const inFlight = 2

// pollPause is how long the loop waits before it has a fence asked again.
const pollPause = 200 * time.Microsecond

// period is the sensors' nominal period.
const period = 100_000_000 // ns

// lostCaptures collects why captures were lost: a figure with a lost capture
// would be none. Any goroutine may add.
type lostCaptures struct {
	mu    sync.Mutex
	cause flow.Cause // guarded by mu
}

func (l *lostCaptures) add(_ sensors.Tick, cause flow.Cause) {
	if cause == flow.CauseNoReturn {
		return // a scan that saw nothing is complete
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause = cause
}

func (l *lostCaptures) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == "" {
		return nil
	}
	return fmt.Errorf("a capture was lost: %s", l.cause)
}

// reset makes ready for a run of so many captures. Every run has the same stamps, from 0:
// what moves its limbs moves them by the stamp. Captures are a nanosecond apart: the
// poses stand still, and yet no sensor takes what it made for the instant before.
func (r *rigged) reset(captures int) {
	r.announced, r.issued = 0, 0
	r.asked.Store(0)
	r.waits = make([]time.Duration, 0, captures)
}

// run makes complete captures and returns how long that took, from the first
// dispatch to the last delivery.
func (r *rigged) run(ctx context.Context, captures int) (time.Duration, error) {
	r.reset(captures)
	r.ask(captures)
	begun := time.Now()
	err := r.carry(ctx, captures)
	return time.Since(begun), errors.Join(err, r.settle(), r.failure())
}

// announce begins the next capture: the sensors are told of it.
func (r *rigged) announce() (*sensors.Tick, error) {
	at := &r.ticks[r.announced%len(r.ticks)]
	*at = sensors.Tick{Due: simtime.Stamp(r.announced), PeriodNs: period, Seq: uint64(r.announced), Started: time.Now()}
	r.announced++
	for _, s := range r.sensors {
		if err := s.Tick(*at); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// issue issues the next announced capture. GL thread.
func (r *rigged) issue(c *gpu.Ctx) error {
	at := &r.ticks[r.issued%len(r.ticks)]
	r.issued++
	r.waits = append(r.waits, time.Since(at.Started))
	for i, s := range r.sensors {
		// One that isn't issued is counted as lost.
		if _, err := s.Capture(c, *at); err != nil {
			return fmt.Errorf("%s: %w", r.names[i], err)
		}
	}
	return nil
}

// errCapture is what a capture leaves that ended the GL thread's function; the log
// has its panic.
var errCapture = errors.New("the capture panicked")

// capture issues a capture and looks at the fences. GL thread.
func (r *rigged) capture(c *gpu.Ctx) error {
	failure := errCapture
	defer func() {
		if failure != nil {
			r.glFailure.Store(&failure)
		}
	}()
	err := r.issue(c)
	r.pollAll(c)
	failure = err
	return nil // the loop reports it, not the thread
}

func (r *rigged) pollAll(c *gpu.Ctx) {
	for _, s := range r.sensors {
		s.Poll(c)
	}
}

// ask wants so many more captures. It doesn't wait, however many are not yet made. Any
// goroutine may ask.
func (r *rigged) ask(captures int) {
	r.asked.Add(int64(captures))
	ping(r.wanted)
}

// carry makes the captures that are asked for, in order, and hands on what comes back. It
// continues until that is all of the run, something failed, or ctx ended. As many captures are
// under way as in a stepped pipeline.
func (r *rigged) carry(ctx context.Context, captures int) error {
	done := make([]int, len(r.sensors))
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		completed := r.handOn(done)
		if completed >= captures {
			return nil
		}
		if err := cmp.Or(r.failure(), ctx.Err()); err != nil {
			return err
		}
		for r.announced < int(r.asked.Load()) && r.announced-completed < inFlight {
			if _, err := r.announce(); err != nil {
				return err
			}
			if err := r.gl.Go(r.captureHop); err != nil {
				return err
			}
		}
		if err := r.await(ctx, pause, r.announced > completed); err != nil {
			return err
		}
	}
}

// handOn hands on what has come back, counts it by sensor in done, and returns how
// many captures all sensors have handed on.
func (r *rigged) handOn(done []int) int {
	for i, s := range r.sensors {
		done[i] += s.Process(math.MaxInt64)
	}
	return slices.Min(done)
}

// await waits until there may be something to hand on or to make. While captures are
// under way it has the GL thread look at their fences.
func (r *rigged) await(ctx context.Context, pause *time.Timer, underWay bool) error {
	var elapsed <-chan time.Time
	if underWay {
		if err := r.askForPoll(); err != nil {
			return err
		}
		pause.Reset(pollPause)
		elapsed = pause.C
	}
	select {
	case <-r.wake:
	case <-r.wanted:
	case <-elapsed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// settle waits until whatever the GL thread still has of a run is over.
func (r *rigged) settle() error {
	return r.gl.Do(context.Background(), func(*gpu.Ctx) error { return nil })
}

// failure returns what went wrong with the captures.
func (r *rigged) failure() error {
	if err := r.glFailure.Load(); err != nil {
		return *err
	}
	return r.lost.err()
}

// askForPoll has the GL thread look after the readbacks, by one look that waits for
// its turn at a time.
func (r *rigged) askForPoll() error {
	if !r.polling.CompareAndSwap(false, true) {
		return nil
	}
	err := r.gl.Go(r.pollHop)
	if err != nil {
		r.polling.Store(false)
	}
	return err
}

// pollInTurn is askForPoll's look. GL thread.
func (r *rigged) pollInTurn(c *gpu.Ctx) error {
	r.polling.Store(false)
	r.pollAll(c)
	return nil
}

// Frames that are made before anything counts: the first compile shaders, the
// next tell how long a frame takes.
const (
	warmUp     = 3
	calibrated = 4
)

// measure times several runs of whole frames and returns frames per second, one value a
// run, and the frames of each.
func (r *rigged) measure(ctx context.Context, cfg *Config) (rates []float64, frames int, err error) {
	if _, err := r.run(ctx, warmUp); err != nil {
		return nil, 0, err
	}
	took, err := r.run(ctx, calibrated)
	if err != nil {
		return nil, 0, err
	}
	frames = max(calibrated, int(cfg.RunTime*calibrated/max(took, 1)+1))
	for range cfg.Runs {
		took, err := r.run(ctx, frames)
		if err != nil {
			return nil, 0, err
		}
		rates = append(rates, float64(frames)/took.Seconds())
	}
	return rates, frames, nil
}

// snapshot makes one more frame and keeps it.
func (r *rigged) snapshot(ctx context.Context) error {
	r.keep = true
	_, err := r.run(ctx, 1)
	r.keep = false
	return err
}
