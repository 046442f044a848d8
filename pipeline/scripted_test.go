package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Scripted sensors and bridges: what tests of a pipeline's own work need,
// without OpenGL.
const (
	plainID = "sensor.test.plain"   // publishes in Tick
	laggyID = "sensor.test.capture" // publishes what comes back from the GPU
	eachID  = "sensor.test.each"    // plain, each frame
)

// script says what the scripted sensors do; nil fields do nothing.
type script struct {
	begin func(ctx context.Context, name string) error
	// began is given the output of a sensor that begins.
	began   func(name string, out *sensors.Output[*sample.Imu])
	tick    func(name string, at sensors.Tick) error
	capture func(name string, at sensors.Tick) error
	ended   func(name string)
	// lose names the cause for which a capture or a reading is lost, "" for none.
	lose    func(name string, at sensors.Tick) flow.Cause
	pretick func(name string, at sensors.Tick)
	heard   func(name string, listening bool)
	owner   func(name string, o sensors.Owner) error
	with    []*sensors.Definition // further types
}

func (s *script) registry() *sensors.Registry {
	define := func(id string, wrap func(*plain) sensors.Sensor) *sensors.Definition {
		return &sensors.Definition{
			ID: id, Doc: id, Rate: simtime.Hz(10),
			Outputs: []sensors.OutputSpec{sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})},
			New:     func(spec sensors.Spec) (sensors.Sensor, error) { return wrap(&plain{script: s, name: spec.Name}), nil },
		}
	}
	return sensors.Must(sensors.NewRegistry(append(s.with,
		define(plainID, s.compute),
		define(laggyID, func(p *plain) sensors.Sensor {
			if s.attentive() {
				return told{newLaggy(p), attentive{p}}
			}
			return newLaggy(p)
		}),
		eachFrame(define(eachID, s.compute)),
		motion.TransformDefinition, motion.ControlDefinition,
	)...))
}

func (s *script) attentive() bool { return s.pretick != nil || s.heard != nil }

func (s *script) compute(p *plain) sensors.Sensor {
	if s.attentive() {
		return attentive{p}
	}
	return p
}

func eachFrame(d *sensors.Definition) *sensors.Definition {
	d.EachFrame, d.Rate = true, simtime.Rate{}
	return d
}

type plain struct {
	script *script
	name   string
	env    *sensors.Env
	out    *sensors.Output[*sample.Imu]
}

func (s *plain) Begin(ctx context.Context, env *sensors.Env) (err error) {
	s.env = env
	if s.script.begin != nil {
		if err := s.script.begin(ctx, s.name); err != nil {
			return err
		}
	}
	s.out, err = sensors.OutputOf[*sample.Imu](env, "out")
	if err == nil && s.script.began != nil {
		s.script.began(s.name, s.out)
	}
	return err
}

func (s *plain) Tick(at sensors.Tick) error {
	if s.script.tick != nil {
		if err := s.script.tick(s.name, at); err != nil {
			return err
		}
	}
	if cause := s.lost(at); cause != "" {
		s.env.Dropped(at, cause)
		return nil
	}
	s.publish(at)
	return nil
}

func (s *plain) lost(at sensors.Tick) flow.Cause {
	if s.script.lose == nil {
		return ""
	}
	return s.script.lose(s.name, at)
}

func (s *plain) SetOwner(o sensors.Owner) error {
	if s.script.owner != nil {
		return s.script.owner(s.name, o)
	}
	return nil
}

// attentive is a plain that is told of more than it has to be.
type attentive struct{ *plain }

// told is a laggy that is told of its listeners.
type told struct {
	*laggy
	hearer sensors.Hearer
}

func (s told) Heard(listening bool) { s.hearer.Heard(listening) }

func (s attentive) PreTick(at sensors.Tick) error {
	if s.script.pretick != nil {
		s.script.pretick(s.name, at)
	}
	return nil
}

func (s attentive) Heard(listening bool) {
	if s.script.heard != nil {
		s.script.heard(s.name, listening)
	}
}

func (s *plain) publish(at sensors.Tick) {
	s.out.TryQueue(at, &sample.Imu{Header: sample.Header{Stamp: at.Due, Seq: at.Seq, Frame: at.Frame, FrameID: s.name}})
}

func (s *plain) End() error {
	if s.script.ended != nil {
		s.script.ended(s.name)
	}
	return nil
}

// laggy is a Capturer whose captures are back at the next poll.
type laggy struct {
	bridgetest.Captures
	*plain
}

func newLaggy(p *plain) *laggy {
	s := &laggy{plain: p}
	s.Publish = s.returned
	return s
}

func (s *laggy) Tick(sensors.Tick) error { return nil }

func (s *laggy) Capture(c *gpu.Ctx, at sensors.Tick) (bool, error) {
	if s.script.capture != nil {
		if err := s.script.capture(s.name, at); err != nil {
			return false, err
		}
	}
	if s.lost(at) == flow.CauseReadbackFull {
		s.env.Dropped(at, flow.CauseReadbackFull)
		return false, nil
	}
	return s.Captures.Capture(c, at)
}

func (s *laggy) returned(at sensors.Tick) {
	if cause := s.lost(at); cause != "" {
		s.env.Dropped(at, cause)
		return
	}
	s.publish(at)
}

// newScripted makes a pipeline of scripted sensors on a GPU that is Go memory; it
// is closed with the test.
func newScripted(t testing.TB, s *script, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	if c.ClockRate.IsZero() {
		c.ClockRate = simtime.Hz(100)
	}
	return newScriptedIn(t, scenetest.MovingWall(30, 5), s, c)
}

// newUnclocked is newScripted without /clock.
func newUnclocked(t testing.TB, s *script, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	return newScriptedIn(t, scenetest.MovingWall(30, 5), s, c)
}

// newScriptedIn is newScripted in a scene.
func newScriptedIn(t testing.TB, in *scene.Scene, s *script, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	fake := gputest.NewFake()
	fake.StopLog()
	c.Scene, c.Open, c.Sensors = in, fake.Open, s.registry()
	p, err := pipeline.New(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close(context.Background()) }) // tests that expect no error close it themselves
	return p
}

func addScripted(t testing.TB, p *pipeline.Pipeline, id, name, rate string) *pipeline.Sensor {
	t.Helper()
	c := sensors.Config{ID: id, Name: name}
	if rate != "" {
		c.Rate = simtime.MustRate(rate)
	}
	s, err := p.AddSensor(c)
	require.NoError(t, err)
	return s
}

// destroy ends a sensor and waits until it is gone.
func destroy(t testing.TB, s *pipeline.Sensor) {
	t.Helper()
	require.NoError(t, s.Destroy())
	require.NoError(t, s.Wait(t.Context()))
}

func hear(t testing.TB, s *pipeline.Sensor, call func(at sensors.Tick, m *sample.Imu)) (stop func()) {
	t.Helper()
	listener, err := pipeline.Listen(s, "out", call)
	require.NoError(t, err)
	return listener.Stop
}

// delivery is one message that a scripted bridge was given.
type delivery struct {
	topic      string
	stamp, log simtime.Stamp
}

// peer is a scripted bridge: the factory and its only instance. All methods may
// be called from any goroutine.
type peer struct {
	kind       bridges.Kind
	connectErr error
	late       bool // Connect doesn't reach the peer; only set does
	// publish, where not nil, comes before each delivery.
	publish func(ctx context.Context, topic string, stamp simtime.Stamp) error
	refuse  string // a topic that it doesn't take

	mu      sync.Mutex
	env     bridges.Env
	status  flow.Status
	qos     map[string]flow.QoS // of the topics it was told to publish
	got     []delivery
	arrived chan struct{} // closed, and replaced, with every delivery somebody awaits
	closed  int
}

func (p *peer) registry() *bridges.Registry { return bridges.MustRegistry(p) }

func (p *peer) Info() bridges.Info {
	return bridges.Info{Name: "test", Type: "test", Kind: p.kind, Summary: "scripted", Connection: "ANY"}
}

func (p *peer) Register(to *bridges.Plugin) error {
	return errors.Join(
		carries[*sample.Imu](to, "Imu"), carries[*sample.Clock](to, "Clock"), carries[*sample.Transforms](to, "Transforms"))
}

func carries[T simtime.Stamped](to *bridges.Plugin, wire string) error {
	return bridges.RegPublisher(to, wire, func(i *peer, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		if i.refuse != "" && i.refuse == topic.Name {
			return nil, bridges.ErrTopicName
		}
		i.offer(topic)
		return func(ctx context.Context, m T) error { return i.deliver(ctx, topic, m.Captured()) }, nil
	})
}

func (p *peer) offer(topic *bridges.PublishedTopic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.qos == nil {
		p.qos = map[string]flow.QoS{}
	}
	p.qos[topic.Name] = topic.QoS
}

func (p *peer) deliver(ctx context.Context, topic *bridges.PublishedTopic, stamp simtime.Stamp) error {
	if p.publish != nil {
		if err := p.publish(ctx, topic.Name, stamp); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, delivery{topic.Name, stamp, p.env.HandedOver(stamp)})
	if p.arrived != nil {
		close(p.arrived)
		p.arrived = nil
	}
	topic.Sent(1)
	return nil
}

// await waits until what was delivered fulfils a wish.
func (p *peer) await(t testing.TB, what string, fulfilled func([]delivery) bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		done := fulfilled(p.got)
		if p.arrived == nil {
			p.arrived = make(chan struct{})
		}
		arrived := p.arrived
		p.mu.Unlock()
		if done {
			return
		}
		select {
		case <-arrived:
		case <-limit:
			t.Fatalf("not delivered: %s", what)
		}
	}
}

// awaitStamp waits for a delivery on a topic with that stamp or a later one.
func (p *peer) awaitStamp(t testing.TB, topic string, stamp simtime.Stamp) {
	t.Helper()
	p.await(t, fmt.Sprintf("%s at %v", topic, time.Duration(stamp)), func(got []delivery) bool {
		return slices.ContainsFunc(got, func(d delivery) bool { return d.topic == topic && d.stamp >= stamp })
	})
}

func (p *peer) NewInstance(env bridges.Env) (bridges.Instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.env = env
	return p, nil
}

func (p *peer) Status() flow.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *peer) set(s flow.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = s
}

func (p *peer) Connect(context.Context, string) error {
	if p.connectErr != nil {
		return p.connectErr
	}
	p.set(flow.Connected)
	if p.late {
		p.set(flow.Connecting)
	}
	return nil
}

func (p *peer) Disconnect(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = flow.Disconnected
	p.closed++
	return nil
}

// deliveries returns what arrived so far.
func (p *peer) deliveries() []delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

// stamps returns the stamps of one topic's deliveries.
func (p *peer) stamps(topic string) []int64 {
	var list []int64
	for _, d := range p.deliveries() {
		if d.topic == topic {
			list = append(list, int64(d.stamp))
		}
	}
	return list
}

func (p *peer) attach(t testing.TB, to *pipeline.Pipeline, policy string) {
	t.Helper()
	require.NoError(t, to.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x", Policy: policy}))
}

// everyMs asserts that stamps are all multiples of a number of milliseconds, from
// the first to the last.
func everyMs(t testing.TB, ms int64, stamps []int64) {
	t.Helper()
	for i, s := range stamps {
		if !assert.Equal(t, int64(i+1)*ms*1_000_000, s, "message %d of %d", i, len(stamps)) {
			return
		}
	}
}

// lockedText is text that several goroutines write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
