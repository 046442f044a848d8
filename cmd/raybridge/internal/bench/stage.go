package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// stage is a scene on the GPU that stands still at time 0, for one case after
// another. It belongs to one goroutine.
type stage struct {
	gl       *gpu.Thread
	world    *scene.World
	resident *scene.Resident
	history  *scene.History
	ego      spatial.Pose // in the map frame
}

// openStage builds the scene and uploads it. Its default route says where the
// ego stands.
func openStage(ctx context.Context, gl *gpu.Thread, s *scene.Scene) (*stage, error) {
	world, err := scene.Build(ctx, s, scene.BuildOptions{})
	if err != nil {
		return nil, err
	}
	st := &stage{gl: gl, world: world, history: scene.NewHistory(s, s.Route, 1)}
	st.history.Record(0)
	st.ego, _ = st.history.Pose(scene.EgoID, 0)
	err = gl.Do(ctx, func(c *gpu.Ctx) (err error) {
		st.resident, err = world.Upload(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

func (st *stage) close() { st.resident.Close() }

// pose returns where a frame mounted on the ego stands, in the world frame.
func (st *stage) pose(mount spatial.Pose) spatial.Pose {
	return st.world.FromMap(st.ego.Compose(mount))
}

// triangles are the scene's at time 0, as the GPU has them.
func (st *stage) triangles() *triangles {
	w := st.world
	out := &triangles{}
	for i := range w.StaticCount {
		// The second corner's words end in the label; see shaders/lib/scene.glsl.
		out.add(st.world, i, mgl64.Ident4(), w.Attributes[3*i+1][3])
	}
	places := scene.NewPacker(w, st.history).Places(nil, 0)
	for k := range w.Movers {
		m := &w.Movers[k]
		if places[k].At(3, 3) == 0 { // held in reserve
			continue
		}
		label := m.Actor.ID&0xffff | uint32(m.Actor.Parts[m.Part].Tag)<<16
		for i := m.First; i < m.First+m.Count; i++ {
			out.add(st.world, i, places[k], label)
		}
	}
	return out
}

// triangles is a set of triangles in the world frame.
type triangles struct {
	corners   []float32 // 9 a triangle
	instances []uint32
	tags      []uint8
	cut       []uint8 // 1 where the surface may have holes
	holes     bool    // some surface may
}

// add appends one of the world's triangles, placed.
func (t *triangles) add(w *scene.World, i int, place mgl64.Mat4, label uint32) {
	for _, v := range w.Vertices[3*i : 3*i+3] {
		p := mgl64.TransformCoordinate(mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}, place)
		t.corners = append(t.corners, float32(p[0]), float32(p[1]), float32(p[2]))
	}
	t.instances = append(t.instances, label&0xffff)
	t.tags = append(t.tags, uint8(label>>16))
	cut := uint8(0)
	if w.Scene.Materials[w.Attributes[3*i][3]].AlphaMode != scene.AlphaOpaque {
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

// rigged is the sensors of one case, begun. It belongs to one goroutine, which
// also gets what they publish.
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

	now  int64 // the next capture's instant
	keep bool
	kept map[string]any // by sensor: the first output's last message while keep is set
}

// connector makes the sink of a sensor's output; first says that it is the
// sensor's first one.
type connector func(sensor string, spec *sensors.OutputSpec, first bool) (sensors.Sink, error)

// rigUp makes and begins the sensors of a case; what they publish is thrown away.
func (st *stage) rigUp(ctx context.Context, members []member) (*rigged, error) {
	return st.rigUpFor(ctx, members, nil)
}

// rigUpFor makes and begins the sensors of a case, and connects their outputs;
// nil throws away what they publish.
func (st *stage) rigUpFor(ctx context.Context, members []member, connect connector) (*rigged, error) {
	r := &rigged{gl: st.gl, wake: make(chan struct{}, 1), kept: map[string]any{}, connect: connect}
	r.pollHop = r.pollInTurn
	if connect == nil {
		r.connect = r.listen
	}
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
		Mount: m.mount, RateHz: 10, Settings: settings,
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
		GL: st.gl, World: st.world, Resident: st.resident, History: st.history, Scene: st.world.Scene, Owner: scene.EgoID,
		Shared: &r.shared, Frames: func() []sample.Transform { return nil },
		Dropped: r.lost.add, Completed: r.ping, Origin: st.world.Scene.Origin, Log: slog.New(slog.DiscardHandler),
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

// listen connects an output to a listener of the rig's.
func (r *rigged) listen(sensor string, spec *sensors.OutputSpec, first bool) (sensors.Sink, error) {
	return &listener{rig: r, sensor: sensor, spec: spec, first: first}, nil
}

// ping wakes who waits for a readback. It never blocks.
func (r *rigged) ping() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close ends the sensors, after whatever the GL thread still has of them.
func (r *rigged) close() error {
	err := r.gl.Do(context.Background(), func(*gpu.Ctx) error { return nil })
	for i := len(r.sensors) - 1; i >= 0; i-- {
		err = errors.Join(err, r.sensors[i].End())
	}
	return errors.Join(err, r.shared.Close())
}

// listener receives what an output publishes. Its methods run on the rig's
// goroutine.
type listener struct {
	rig    *rigged
	sensor string
	spec   *sensors.OutputSpec
	first  bool // it is the sensor's first output
}

var _ sensors.Sink = (*listener)(nil)

// Listening is always true.
func (l *listener) Listening() bool { return true }

// TryQueue throws the message away, or keeps a deep copy.
func (l *listener) TryQueue(_ sensors.Tick, message any) bool {
	if l.rig.keep && l.first {
		kept := l.spec.New()
		l.spec.Copy(kept, message)
		l.rig.kept[l.sensor] = kept
	}
	return true
}

// Publish is TryQueue.
func (l *listener) Publish(_ context.Context, at sensors.Tick, message any) error {
	l.TryQueue(at, message)
	return nil
}

// inFlight is how many captures are under way at a time, as in a stepped run of a
// pipeline: the GL thread works on one while the one before is read and published.
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

func (l *lostCaptures) add(cause flow.Cause, _ int) {
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

// frame is one firing of all sensors of a rig.
type frame struct {
	at     sensors.Tick
	issued chan struct{} // closed when the GL thread has issued the captures
	err    error         // written before issued is closed
}

// run makes complete frames and returns how long that took, from the first
// dispatch to the last delivery.
func (r *rigged) run(ctx context.Context, frames int) (time.Duration, error) {
	begun := time.Now()
	var open []*frame
	for done := 0; done < frames; done++ {
		for len(open) < inFlight && done+len(open) < frames {
			f, err := r.issue()
			if err != nil {
				return 0, err
			}
			open = append(open, f)
		}
		if err := r.await(ctx, open[0]); err != nil {
			return 0, err
		}
		open = open[1:]
	}
	return time.Since(begun), r.lost.err()
}

// issue announces a frame and hands it to the GL thread in one hop. Frames are a
// nanosecond apart: the poses stand still, and yet no sensor takes what it made
// for the instant before.
func (r *rigged) issue() (*frame, error) {
	f := &frame{
		at:     sensors.Tick{TimeNs: r.now, PeriodNs: period, Seq: uint64(r.now), Started: time.Now()},
		issued: make(chan struct{}),
	}
	r.now++
	for _, s := range r.sensors {
		if err := s.Tick(f.at); err != nil {
			return nil, err
		}
	}
	return f, r.gl.Go(func(c *gpu.Ctx) error {
		defer close(f.issued)
		for _, s := range r.sensors {
			// One that isn't issued is missed by await.
			_, err := s.Capture(c, f.at)
			f.err = errors.Join(f.err, err)
		}
		f.err = errors.Join(f.err, c.Flush())
		r.pollAll(c)
		return nil
	})
}

func (r *rigged) pollAll(c *gpu.Ctx) {
	for _, s := range r.sensors {
		s.Poll(c)
	}
}

// await returns when every sensor has published a frame.
func (r *rigged) await(ctx context.Context, f *frame) error {
	select {
	case <-f.issued:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.err != nil {
		return f.err
	}
	for i, s := range r.sensors {
		for s.Process(f.at.TimeNs) == 0 {
			if s.Pending() == 0 {
				return errors.Join(fmt.Errorf("%s has published nothing", r.names[i]), r.lost.err())
			}
			if err := r.poll(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// poll waits until a readback may have become ready, and has the GL thread look
// after them.
func (r *rigged) poll(ctx context.Context) error {
	if err := r.askForPoll(); err != nil {
		return err
	}
	select {
	case <-r.wake:
	case <-time.After(pollPause):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
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

// timing is what the runs of a case took.
type timing struct {
	frames int       // a run
	rates  []float64 // frames per second, one a run
}

// measure times several runs of whole frames.
func (r *rigged) measure(ctx context.Context, cfg *Config) (timing, error) {
	if _, err := r.run(ctx, warmUp); err != nil {
		return timing{}, err
	}
	took, err := r.run(ctx, calibrated)
	if err != nil {
		return timing{}, err
	}
	t := timing{frames: max(calibrated, int(cfg.RunTime*calibrated/max(took, 1)+1))}
	for range cfg.Runs {
		took, err := r.run(ctx, t.frames)
		if err != nil {
			return timing{}, err
		}
		t.rates = append(t.rates, float64(t.frames)/took.Seconds())
	}
	return t, nil
}

// snapshot makes one more frame and keeps it.
func (r *rigged) snapshot(ctx context.Context) error {
	r.keep = true
	_, err := r.run(ctx, 1)
	r.keep = false
	return err
}
