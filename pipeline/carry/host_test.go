package carry_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// host is a scripted run: its time is what the test says, and its sensors publish when told to.
type host struct {
	*carry.Bridges
	t          testing.TB
	clock      *simtime.Clock
	dispatcher *dispatch.Dispatcher
	logger     *slog.Logger // the run's
	log        lockedText   // of bridges too

	mu      sync.Mutex
	failed  []error  // guarded by mu
	awaited []string // guarded by mu
}

// newHost makes a run with bridges of the factories. It ends with the test.
func newHost(t testing.TB, stepped bool, factories ...bridges.Factory) *host {
	t.Helper()
	h := &host{t: t}
	var err error
	h.clock, err = simtime.NewClock(simtime.Config{Stepped: stepped})
	require.NoError(t, err)
	quiet := slog.New(slog.NewTextHandler(&h.log, nil))
	h.dispatcher = dispatch.New(dispatch.Config{Logger: quiet})
	lines := carry.NewLines(quiet)
	h.logger = lines.Logger()
	h.Bridges = carry.New(carry.Config{
		Registry: bridges.MustRegistry(factories...), Dispatcher: h.dispatcher, Lines: lines,
		Clock: h.clock, Step: 10 * time.Millisecond, Stepped: stepped, HasClock: true,
		Fail: func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.failed = append(h.failed, err)
		},
		Await: func(what string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.awaited = append(h.awaited, what)
		},
	})
	t.Cleanup(func() {
		h.Stop()
		_ = h.dispatcher.Close(context.Background())
		_ = h.Close(context.Background())
	})
	return h
}

func (h *host) attach(spec, policy string) {
	h.t.Helper()
	require.NoError(h.t, h.Add(h.t.Context(), carry.BridgeConfig{Spec: spec, Policy: policy}))
}

// drain waits until everything has been sent.
func (h *host) drain() {
	h.t.Helper()
	require.NoError(h.t, h.dispatcher.Drain(h.t.Context()))
}

// instant begins one of a stepped run, with its /clock.
func (h *host) instant(at simtime.Stamp) {
	h.SetInstant(at)
	h.QueueClock(at)
}

// probe is a sensor with an output and, if it has a message for it, an input.
type probe struct {
	topics *carry.Topics
	out    *sensors.Output[*sample.Imu]
	in     sensors.Inlet
}

// newProbe makes a sensor that hasn't joined.
func newProbe(name string) *probe {
	spec := sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})
	p := &probe{out: spec.Open().(*sensors.Output[*sample.Imu])}
	p.topics = &carry.Topics{Sensor: name, Type: "sensor.test.probe", Outlets: []*carry.Outlet{
		carry.NewOutlet(p.out, bridges.Topic{Name: "/" + name, Sensor: name, SensorType: "sensor.test.probe"}, nil),
	}}
	return p
}

// takes gives the sensor an input of messages M.
func takes[M any](p *probe, topic string, alternative bool) *probe {
	spec := sensors.DeclareInput[M](sensors.InputSpec{Name: strings.Trim(topic, "/"), Alternative: alternative})
	p.in = spec.Open()
	p.topics.Inlets = append(p.topics.Inlets, carry.NewInlet(topic, flow.DefaultQoS, p.in))
	return p
}

func (h *host) join(p *probe) *probe {
	h.t.Helper()
	require.NoError(h.t, h.Join([]*carry.Topics{p.topics}))
	return p
}

// publish publishes a message that was captured at the instant.
func (p *probe) publish(at simtime.Stamp) bool {
	return p.out.TryQueue(sensors.Tick{Due: at, Started: time.Now()}, &sample.Imu{Header: sample.Header{Stamp: at}})
}

// row is the sensor's in the summary.
func (p *probe) row() carry.SensorSummary { return p.topics.Outlets[0].Row(0) }

// delivery is one message that a scripted bridge was given.
type delivery struct {
	topic      string
	stamp, log simtime.Stamp
}

// peer is a scripted bridge: the factory and its only instance. It brings lanes and /clock, too.
type peer struct {
	name       string // "" for "test"
	kind       bridges.Kind
	connectErr error
	patience   time.Duration
	// publish, where not nil, comes before each delivery.
	publish func(topic string) error

	mu      sync.Mutex
	env     bridges.Env
	status  flow.Status          // guarded by mu
	deaf    bool                 // guarded by mu: it has no receivers
	got     []delivery           // guarded by mu
	closed  int                  // guarded by mu
	deliver map[string]func(any) // guarded by mu: by topic
	lines   []sample.Log         // guarded by mu
}

// lane is a message type from outside.
type lane struct{ offset float64 }

func (p *peer) Info() bridges.Info {
	name := p.name
	if name == "" {
		name = "test"
	}
	return bridges.Info{Name: name, Type: "test", Kind: p.kind, Summary: "scripted", Connection: "ANY", Patience: p.patience}
}

func (p *peer) Register(to *bridges.Plugin) error {
	return errors.Join(publishes[*sample.Imu](to, "Imu"), publishes[*sample.Clock](to, "Clock"),
		brings[*lane](to, "Lane"), brings[*sample.Clock](to, "Clock"),
		bridges.RegPublisher(to, "Log", func(i *peer, _ *bridges.PublishedTopic) (bridges.Publisher[*sample.Log], error) {
			return i.write, nil
		}))
}

func publishes[T simtime.Stamped](to *bridges.Plugin, wire string) error {
	return bridges.RegPublisher(to, wire, func(i *peer, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		return func(_ context.Context, m T) error { return i.take(topic, m.Captured()) }, nil
	})
}

func brings[T any](to *bridges.Plugin, wire string) error {
	return bridges.RegSubscriber(to, wire, func(i *peer, topic bridges.Topic, deliver func(T)) error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.deliver == nil {
			i.deliver = map[string]func(any){}
		}
		i.deliver[topic.Name] = func(m any) { deliver(m.(T)) }
		return nil
	})
}

func (p *peer) take(topic *bridges.PublishedTopic, stamp simtime.Stamp) error {
	if p.publish != nil {
		if err := p.publish(topic.Name); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, delivery{topic.Name, stamp, p.env.HandedOver(stamp)})
	topic.Sent(1)
	return nil
}

func (p *peer) write(_ context.Context, m *sample.Log) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, *m)
	return nil
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

// Listening reports whether the bridge has receivers.
func (p *peer) Listening(string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.deaf
}

// Receivers counts one, or none.
func (p *peer) Receivers(topic string) int {
	if p.Listening(topic) {
		return 1
	}
	return 0
}

func (p *peer) setDeaf(deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = deaf
}

func (p *peer) Connect(context.Context, string) error {
	if p.connectErr != nil {
		return p.connectErr
	}
	p.set(flow.Connected)
	return nil
}

func (p *peer) Disconnect(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = flow.Disconnected
	p.closed++
	return nil
}

// bring delivers a message if the topic has been subscribed to.
func (p *peer) bring(topic string, message any) bool {
	p.mu.Lock()
	deliver := p.deliver[topic]
	p.mu.Unlock()
	if deliver != nil {
		deliver(message)
	}
	return deliver != nil
}

func (p *peer) deliveries() []delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]delivery(nil), p.got...)
}

// stamps returns the stamps of one topic's deliveries.
func (p *peer) stamps(topic string) (list []simtime.Stamp) {
	for _, d := range p.deliveries() {
		if d.topic == topic {
			list = append(list, d.stamp)
		}
	}
	return list
}

func (p *peer) read() []sample.Log {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]sample.Log(nil), p.lines...)
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

// lines returns those that have a text.
func (l *lockedText) lines(text string) (list []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}
