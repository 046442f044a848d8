// Package sensortest drives sensors outside a pipeline, and holds the
// conformance suite that every sensor type runs with one call.
package sensortest

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// Options is what a sensor under test works with; the zero value is usable for
// a sensor that needs no GPU.
type Options struct {
	// Attributes are set over the definition's defaults.
	Attributes map[string]any
	// Mount is the sensor's pose in base_link; the zero value is the identity.
	Mount spatial.Pose
	// Owner is the actor that carries the sensor; 0 is the ego.
	Owner uint32
	// Ego moves the vehicle; nil stands at the scene's Ego pose.
	Ego scene.Motion
	// Seed is the sensor's seed.
	Seed uint64
	// Scene is what sensors see, those of the GPU on GL's thread.
	Scene *scene.Scene
	GL    *gpu.Thread
	// Weather is that of the whole test, unless Env.History gets another.
	Weather weather.State
	// StepNs is the interval of the recorded poses; 0 means 10 ms.
	StepNs int64
}

// Harness is one begun sensor with its messages collected. It belongs to the
// test's goroutine.
type Harness struct {
	Sensor sensors.Sensor
	Env    *sensors.Env
	// Messages are deep copies of what was published, by output.
	Messages map[string][]any
	// Drops counts lost captures by cause.
	Drops map[flow.Cause]int

	tb    testing.TB
	each  bool // it fires each frame
	life  *sensors.Life
	step  int64
	now   simtime.Stamp
	seq   uint64
	ended bool
}

// New makes and begins a sensor; it is ended with the test.
func New(tb testing.TB, d *sensors.Definition, o Options) *Harness {
	tb.Helper()
	h, err := prepare(tb, d, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := h.life.Begin(context.Background(), h.Env); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.End)
	return h
}

// prepare makes a sensor and all that it begins with.
func prepare(tb testing.TB, d *sensors.Definition, o Options) (*Harness, error) {
	tb.Helper()
	h := &Harness{tb: tb, each: d.EachFrame, Messages: map[string][]any{}, Drops: map[flow.Cause]int{}, step: o.StepNs, now: -1}
	if h.step == 0 {
		h.step = 10_000_000
	}
	spec, err := o.spec(d)
	if err != nil {
		return nil, err
	}
	h.life = sensors.NewLife(d)
	if err := h.life.Set(spec); err != nil {
		return nil, err
	}
	h.Sensor, h.Env = h.life.Sensor(), h.env(d, o)
	return h, h.life.SetOwner(h.owner())
}

// spec is what the sensor is made of.
func (o *Options) spec(d *sensors.Definition) (sensors.Spec, error) {
	s := sensors.Spec{
		Name: "under_test", FrameID: "under_test", ParentFrame: "base_link",
		Mount: o.Mount, Rate: simtime.Hz(10), Settings: d.NewSettings(),
	}
	if s.Mount == (spatial.Pose{}) {
		s.Mount = spatial.Identity()
	}
	for name, value := range o.Attributes {
		if err := s.Settings.Set(name, value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Tune lets the sensor take over o's attributes before its next firing, as pipeline.Sensor.Tune does.
func (h *Harness) Tune(d *sensors.Definition, o Options) {
	h.tb.Helper()
	spec, err := o.spec(d)
	if err != nil {
		h.tb.Fatal(err)
	}
	fresh, err := d.New(spec)
	if err != nil {
		h.tb.Fatal(err)
	}
	tune := func(*gpu.Ctx) error { return h.life.Tune(fresh) }
	if _, ok := h.Sensor.(sensors.Capturer); ok {
		err = h.Env.GL.Do(context.Background(), tune)
	} else {
		err = tune(nil)
	}
	if err != nil {
		h.tb.Fatal(err)
	}
}

// owner describes the actor that carries the sensor.
func (h *Harness) owner() sensors.Owner {
	o := sensors.Owner{ID: h.Env.Owner, TypeID: scene.EgoTypeID}
	if a := h.Env.Scene.Actor(o.ID); a != nil {
		o.TypeID = a.TypeID
	}
	o.Box, _ = h.Env.History.Box(o.ID)
	return o
}

func (h *Harness) env(d *sensors.Definition, o Options) *sensors.Env {
	s := o.Scene
	if s == nil {
		s = &scene.Scene{Ego: spatial.Identity()}
	}
	env := &sensors.Env{
		GL: o.GL, History: scene.NewHistory(s, o.Ego, 0), Scene: s, Owner: o.Owner, Shared: &sensors.Shared{}, Seed: o.Seed,
		Frames:    func() []sample.Transform { return nil },
		Dropped:   func(_ sensors.Tick, cause flow.Cause) { h.Drops[cause]++ },
		Completed: func() {}, Map: s.Map, Log: slog.New(slog.DiscardHandler),
	}
	if err := env.History.BeginWeather(o.Weather); err != nil {
		h.tb.Fatal(err)
	}
	if o.GL != nil || len(s.Actors) > 0 {
		h.build(env, s)
	}
	for i := range d.Outputs {
		spec := &d.Outputs[i]
		port := spec.Open()
		port.Connect(&collector{h, spec})
		env.Ports = append(env.Ports, port)
	}
	return env
}

// build builds the scene and puts it on the GPU, if there is one, for the time of the test.
func (h *Harness) build(env *sensors.Env, s *scene.Scene) {
	geometry, err := scene.Build(context.Background(), s, scene.BuildOptions{})
	if err != nil && !(env.GL == nil && errors.Is(err, scene.ErrEmptyScene)) {
		h.tb.Fatal(err)
	}
	if env.Geometry = geometry; env.GL == nil {
		return
	}
	err = env.GL.Do(context.Background(), func(c *gpu.Ctx) (err error) {
		env.Resident, err = geometry.Upload(c)
		return err
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(env.Resident.Close)
}

// Fire records poses up to stamp and fires the sensor there, with a period of 100 ms. For a
// sensor that fires each frame this is the frame after the one fired before. A Capturer's data
// is awaited.
func (h *Harness) Fire(stamp simtime.Stamp) {
	h.tb.Helper()
	if h.now < 0 && stamp > 0 {
		h.Env.History.Record(0)
		h.now = 0
	}
	period := int64(100_000_000)
	if h.each {
		period = int64(stamp - max(h.now, 0))
	}
	for ; h.now+simtime.Stamp(h.step) < stamp; h.now += simtime.Stamp(h.step) {
		h.Env.History.Record(h.now + simtime.Stamp(h.step))
	}
	h.now = stamp
	at := sensors.Tick{Due: stamp, PeriodNs: period, Seq: h.seq, Frame: h.seq}
	h.seq++
	if err := h.life.PreTick(at); err != nil {
		h.tb.Fatal(err)
	}
	h.Env.History.Record(stamp)
	if err := h.life.Tick(at); err != nil {
		h.tb.Fatal(err)
	}
	if c, ok := h.Sensor.(sensors.Capturer); ok {
		h.capture(c, at)
	}
}

func (h *Harness) capture(s sensors.Capturer, at sensors.Tick) {
	h.tb.Helper()
	err := h.Env.GL.Do(context.Background(), func(c *gpu.Ctx) error {
		_, err := s.Capture(c, at)
		return errors.Join(err, c.Finish())
	})
	for err == nil && s.Pending() > 0 {
		err = h.Env.GL.Do(context.Background(), func(c *gpu.Ctx) error {
			s.Poll(c)
			return nil
		})
		s.Process(at.Due)
	}
	if err != nil {
		h.tb.Fatal(err)
	}
}

// End ends the sensor and what it shared; again is a no-op.
func (h *Harness) End() {
	if h.ended {
		return
	}
	h.ended = true
	if err := errors.Join(h.life.End(), h.Env.Shared.Close()); err != nil {
		h.tb.Error(err)
	}
}

// collector is the sink that copies messages into the harness.
type collector struct {
	h    *Harness
	spec *sensors.OutputSpec
}

func (c *collector) Listening() bool { return true }

func (c *collector) Status() flow.Status { return flow.Connected }

func (c *collector) TryQueue(_ sensors.Tick, message any) bool {
	kept := c.spec.New()
	c.spec.Copy(kept, message)
	c.h.Messages[c.spec.Name] = append(c.h.Messages[c.spec.Name], kept)
	return true
}

func (c *collector) Publish(_ context.Context, at sensors.Tick, message any) error {
	c.TryQueue(at, message)
	return nil
}

// Last returns the newest message of an output as its type.
func Last[M any](h *Harness, output string) M {
	h.tb.Helper()
	list := h.Messages[output]
	if len(list) == 0 {
		h.tb.Fatalf("output %s has published nothing; drops %v", output, h.Drops)
	}
	return list[len(list)-1].(M)
}
