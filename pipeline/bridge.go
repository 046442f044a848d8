package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// clockTopic is where the simulation time goes.
const clockTopic = "/clock"

// BridgeConfig is one bridge to be added.
type BridgeConfig struct {
	// Spec is "TYPE:CONNECTION".
	Spec string
	// Policy says what happens when a topic's queue is full: "block",
	// "drop_newest" or "drop_oldest"; empty: block for files, drop_oldest
	// for networks. Under "exclusive" there is no queue: while a topic's message is
	// under way, others of the topic are refused before they are copied. A stepped run
	// waits instead.
	Policy string
	// QoS overrides the sensors' quality of service, by topic.
	QoS map[string]flow.QoS
	// Without are topics that the bridge doesn't carry though it could.
	Without []string
}

// peerLimit is how long policy block waits for a network peer before a message
// counts as dropped. For a file it waits deliveryLimit, and in a stepped run for as long as it takes.
const peerLimit = time.Second

// attachedBridge is one bridge of a pipeline.
type attachedBridge struct {
	p           *Pipeline
	bridge      *bridges.Bridge
	topicConfig dispatch.TopicConfig
	qos         map[string]flow.QoS
	without     []string
	topics      map[string]bool
	// unknown are the topics of types that the bridge doesn't know, until its user is
	// told of them. The pipeline's change guards it.
	unknown []string
	// unknowns are the lines about them. The pipeline's change guards it.
	unknowns remarks
	// received are the topics that the bridge brings. The pipeline's change guards it.
	received map[string]*reception
	clock    atomic.Pointer[route] // nil where the bridge has no clock
	// bringsClock says that /clock comes from the bridge, so that it isn't published there.
	bringsClock atomic.Bool
	// clockless is set while the bridge is without connection: who connects
	// then gets a clock before any sample (law T4).
	clockless atomic.Bool
	// handedOver is the simulation time at which the message that is being
	// published was handed over, nanoseconds. A file publishes one message at
	// a time, under sending, so it belongs to that message.
	handedOver instantCell
	sending    sync.Mutex

	mu     sync.Mutex
	routes []*route   // guarded by mu
	former flow.Drops // guarded by mu: undelivered by routes that have ended
}

// AddBridge opens a bridge and connects every sensor's outputs with it, those of
// sensors that are added later too. It comes before the first Run or Step; on an
// error the bridge is closed and nothing is connected. Errors of the connection
// string wrap bridges.ErrConnectionString or bridges.ErrUnknownBridge.
func (p *Pipeline) AddBridge(ctx context.Context, config BridgeConfig) error {
	p.change.Lock()
	defer p.change.Unlock()
	switch {
	case p.started:
		return fmt.Errorf("add bridge %s: %w", config.Spec, ErrStarted)
	case p.config.Bridges == nil:
		return fmt.Errorf("add bridge %s: the pipeline was made without a registry of bridges", config.Spec)
	}
	log := p.config.Log.With("bridge", config.Spec)
	b := &attachedBridge{p: p, qos: config.QoS, without: config.Without, topics: map[string]bool{}, received: map[string]*reception{}, former: flow.Drops{}}
	b.topicConfig.Logger = log
	// The last receiver has gone, or the connection, of which the bridge tells.
	b.topicConfig.Expected = func(err error) bool { return errors.Is(err, bridges.ErrNotConnected) }
	var err error
	b.bridge, err = p.config.Bridges.Open(config.Spec, bridges.Env{
		OutDir: p.config.OutDir, Now: b.logTime, Log: log, Run: p.config.Run,
		Map: p.config.Scene.Map,
	})
	if err != nil {
		return err
	}
	made, err := b.offer(config)
	if err == nil {
		err = b.bridge.Connect(ctx)
	}
	if err != nil {
		made.close()
		return errors.Join(err, wrap("close bridge "+config.Spec, b.bridge.Close(ctx)))
	}
	made.connect()
	b.tellUnknown(config.Spec)
	p.bridges = append(p.bridges, b)
	return nil
}

// tellUnknown says which topics the bridge doesn't carry, and what it could.
func (b *attachedBridge) tellUnknown(spec string) {
	if len(b.unknown) == 0 {
		return
	}
	var has []string
	for _, info := range b.bridge.Types() {
		if info.Publishes {
			has = append(has, strings.TrimPrefix(info.Go, "*sample."))
		}
	}
	slices.Sort(has)
	b.unknowns.warn(b.p.log, "the bridge has no message for some topics, and does not carry them",
		"bridge", spec, "topics", strings.Join(b.unknown, " "), "has", strings.Join(slices.Compact(has), " "))
	b.unknown = nil
}

// offer makes the bridge's routes: of the run's clock and log, and of all sensors.
func (b *attachedBridge) offer(config BridgeConfig) (made routes, err error) {
	if err := b.setPolicy(config.Policy); err != nil {
		return made, err
	}
	if err := b.tune(b.p.followsROS()); err != nil {
		return made, err
	}
	if err := errors.Join(b.addClock(&made), b.addLog(&made), b.offerTime()); err != nil {
		return made, err
	}
	for _, s := range b.p.members {
		if err := b.serve(s, &made); err != nil {
			return made, err
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(config.QoS)) {
		if !b.topics[topic] {
			return made, fmt.Errorf("add bridge %s: quality of service of %s: %w", config.Spec, topic, ErrNoTopic)
		}
	}
	return made, nil
}

// setPolicy chooses what a full queue does. A file has one lane for all its topics, so that its
// messages stand in the order they were handed over in. In a stepped run every bridge has one,
// so that the clock is sent first (law T4).
func (b *attachedBridge) setPolicy(name string) error {
	file := b.file()
	c := &b.topicConfig
	switch {
	case name != "":
		policy, err := flow.ParsePolicy(name)
		if err != nil {
			return err
		}
		c.Policy = policy
	case file:
		c.Policy = flow.Block
	default:
		c.Policy = flow.DropOldest
	}
	if c.Unhurried = b.p.config.Mode == Stepped; c.Unhurried {
		if c.WaitForToken = c.Policy == flow.Exclusive; !c.WaitForToken {
			c.Policy = flow.Block
		}
	}
	switch waits := c.Policy == flow.Block || c.WaitForToken; {
	case !waits, file && b.p.config.Mode == Stepped:
	case file:
		c.BlockLimit = deliveryLimit
	default:
		c.BlockLimit = max(peerLimit, 2*b.bridge.Info().Patience) // for the message ahead and for its own
	}
	c.Ordered = true
	if file || b.p.config.Mode == Stepped {
		c.Lane = dispatch.NewLane(b.p.dispatcher)
	}
	return nil
}

// addClock gives the bridge its /clock, if there is one, it doesn't come from there, and
// the bridge knows the type.
func (b *attachedBridge) addClock(made *routes) error {
	if b.p.config.ClockRate.IsZero() || b.bringsClock.Load() {
		return nil
	}
	r, err := b.route(b.p.clockPort, bridges.Topic{Name: clockTopic, QoS: flow.ClockQoS})
	if r == nil || err != nil {
		return err
	}
	r.stats = b.p.clockStats
	b.clock.Store(r)
	*made = append(*made, r)
	return nil
}

// hears reports whether the bridge subscribes to messages of a type.
func (b *attachedBridge) hears(t reflect.Type) bool {
	return slices.ContainsFunc(b.bridge.Types(), func(info bridges.TypeInfo) bool {
		return info.Go == t.String() && info.Subscribes
	})
}

var clockSpec = sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "clock", Suffix: "/" + clockTopic})

// route makes the route of one topic, nil where the bridge doesn't know the type.
func (b *attachedBridge) route(port sensors.Port, topic bridges.Topic) (*route, error) {
	if q, ok := b.qos[topic.Name]; ok {
		topic.QoS = q
	}
	topic.Policy = b.topicConfig.Policy
	r, err := newRoute(b, port, topic)
	if errors.Is(err, bridges.ErrNoConverter) {
		b.unknown = append(b.unknown, topic.Name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if b.topics[topic.Name] {
		return nil, fmt.Errorf("topic %s is published twice", topic.Name)
	}
	b.topics[topic.Name] = true
	return r, nil
}

// send publishes one message with its hand-over time. In a stepped run that is the instant that
// it was queued in, so that it doesn't depend on how fast anything ran. In a realtime run it is
// the time now. So what waited for the clock comes after the clock in a recording too (law T4).
func (b *attachedBridge) send(ctx context.Context, publish bridges.Publisher[any], e *envelope) error {
	if b.file() {
		b.sending.Lock()
		defer b.sending.Unlock()
		if b.p.config.Mode == Realtime {
			b.handedOver.Store(b.p.clock.Now())
		} else {
			b.handedOver.Store(e.handedOver)
		}
	}
	return publish(ctx, e.message)
}

// logTime is when the message being published was handed over; a network bridge
// publishes several at once, and is told the time now.
func (b *attachedBridge) logTime() simtime.Stamp {
	switch {
	case b.file():
		return b.handedOver.Load()
	case b.p.config.Mode == Realtime:
		return b.p.clock.Now()
	default:
		return b.p.publishing.Load()
	}
}

func (b *attachedBridge) file() bool { return b.bridge.Info().Kind == bridges.KindFile }

func (b *attachedBridge) connected() bool { return b.bridge.Status() == bridges.Connected }

// clockWanted reports whether /clock is to be sent now.
func (b *attachedBridge) clockWanted() bool {
	if b.clock.Load() == nil {
		return false
	}
	if b.bringsClock.Load() { // samples don't wait for it here
		b.clockSent()
		return false
	}
	if !b.connected() {
		b.clockless.Store(true)
		return false
	}
	if !b.bridge.Listening(clockTopic) { // who wants no clock gets samples without it
		b.clockSent()
		return false
	}
	return true
}

// clockSent lets samples follow.
func (b *attachedBridge) clockSent() { b.clockless.Store(false) }

// undelivered returns, by cause, what the dispatcher didn't bring to the bridge, which so
// can't count it itself.
func (b *attachedBridge) undelivered() flow.Drops {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := maps.Clone(b.former)
	for _, r := range b.routes {
		_, lost := r.topic.Drops()
		all.Merge(lost)
	}
	return all
}

// leave lets a route go that has ended; what it has lost stays counted.
func (b *attachedBridge) leave(r *route) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, lost := r.topic.Drops()
	b.former.Merge(lost)
	b.routes = slices.DeleteFunc(b.routes, func(other *route) bool { return other == r })
}

// failed ends the run when a recording can't be written any more; a network
// peer never ends it.
func (b *attachedBridge) failed(err error) {
	if b.file() && errors.Is(err, bridges.ErrWriteFailed) {
		b.p.fail(fmt.Errorf("bridge %s: %w", b.bridge.Info().Name, err))
	}
}

// serve carries a sensor's outputs and brings its inputs, as far as the bridge knows
// their types. The pipeline's change must be held.
func (b *attachedBridge) serve(s *Sensor, made *routes) error {
	return wrap("sensor "+s.spec.Name, errors.Join(b.carry(s, made), b.receiveAll(s.inlets)))
}

// carry makes a route of each of a sensor's outputs that the bridge knows.
func (b *attachedBridge) carry(s *Sensor, made *routes) error {
	for i, port := range s.ports {
		if slices.Contains(b.without, s.topics[i]) {
			continue
		}
		topic := bridges.Topic{
			Name: s.topics[i], Sensor: s.spec.Name, SensorType: s.spec.Definition.ID,
			SensorNumber: s.spec.Definition.Number, Output: s.outputs[i], QoS: port.Spec().QoS,
		}
		r, err := b.route(port, topic)
		if err != nil {
			return err
		}
		if r != nil {
			r.sensor, r.stats = s, s.stats[i]
			*made = append(*made, r)
		}
	}
	return nil
}

// routes are those of one bridge or sensor that come to be together, or not at all.
type routes []*route

// connect lets the outputs publish to the routes.
func (list routes) connect() {
	for _, r := range list {
		r.receiver = r.stats.receiver(r)
		r.disconnect = r.port.Connect(r)
		if r.sensor != nil {
			r.sensor.routes = append(r.sensor.routes, r)
		}
	}
}

// disconnect lets nothing more be published to the routes, and returns when what was
// has been sent, or the context ends.
func (list routes) disconnect(ctx context.Context) {
	for _, r := range list {
		if r.disconnect != nil {
			r.disconnect()
		}
	}
	for _, r := range list {
		select {
		case <-r.queued.close():
		case <-ctx.Done():
			return
		}
	}
}

// close gives the routes up, with what they haven't sent; the pipeline's change must be
// held.
func (list routes) close() {
	for _, r := range list {
		if r.disconnect != nil {
			r.disconnect()
		}
		r.topic.Close()
		r.bridge.leave(r)
		delete(r.bridge.topics, r.topic.Name())
		r.bridge.bridge.Withdraw(r.topic.Name())
	}
}

// route carries what one output publishes to one topic of one bridge, through the
// dispatcher: it is the output's sink.
type route struct {
	bridge     *attachedBridge
	sensor     *Sensor // nil for the run's own clock and log
	port       sensors.Port
	topic      *dispatch.Topic[*envelope]
	publish    bridges.Publisher[any]
	stats      *outputStats // where deliveries are counted
	receiver   *int64       // the route's counter of stats; connect makes it
	queued     usage        // messages that the dispatcher has
	done       func(error)  // made once: a queued message allocates nothing
	disconnect func()       // from the port; nil before connect
}

// newRoute connects an output with a topic of a bridge; the error wraps
// bridges.ErrNoConverter where the bridge doesn't know the message's type.
func newRoute(b *attachedBridge, port sensors.Port, topic bridges.Topic) (*route, error) {
	publish, err := bridges.AddPublisherOf(b.bridge, port.Spec().Type, topic)
	if err != nil {
		return nil, err
	}
	r := &route{bridge: b, port: port, publish: publish}
	r.queued.init()
	r.done = func(err error) {
		b.failed(err)
		r.queued.exit()
	}
	config := b.topicConfig
	config.Gated = b.p.gated()
	config.IgnorePause = topic.Sensor == "" // the clock and the log
	r.topic = dispatch.NewTopic(b.p.dispatcher, topic.Name, r.send, config)
	if err := r.topic.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.routes = append(b.routes, r)
	return r, nil
}

// send runs on a dispatcher's worker, or on the goroutine that publishes.
func (r *route) send(ctx context.Context, e *envelope) error {
	if err := r.bridge.send(ctx, r.publish, e); err != nil {
		return err
	}
	r.stats.sent(r.receiver, e.at.Started)
	return nil
}

// Listening reports whether the bridge takes messages: it is connected, and somebody
// behind it wants the topic. Samples wait for the clock besides.
func (r *route) Listening() bool {
	if r.isClock() {
		return r.bridge.clockWanted()
	}
	return !r.bridge.clockless.Load() && r.bridge.bridge.Listening(r.topic.Name())
}

// Status is that of the bridge.
func (r *route) Status() flow.Status { return r.bridge.bridge.Status() }

func (r *route) isClock() bool { return r.port == r.bridge.p.clockPort }

// TryQueue copies the message into the dispatcher's queue.
func (r *route) TryQueue(at sensors.Tick, message any) bool {
	e, done := r.take(at, message)
	if e == nil {
		return true // nobody listens here any more
	}
	ok := r.topic.TryQueueTask(e, dispatch.Task{Done: done})
	r.handedOn(e)
	return ok
}

// Publish sends the message before it returns.
func (r *route) Publish(ctx context.Context, at sensors.Tick, message any) error {
	e, done := r.take(at, message)
	if e == nil {
		return nil // nobody listens here any more
	}
	err := r.topic.Publish(ctx, e)
	r.handedOn(e)
	done(err)
	return err
}

// take begins a message's way: it returns the message as the dispatcher takes it, and what
// is to be told of its end. It returns nil where the route has ended.
func (r *route) take(at sensors.Tick, message any) (e *envelope, done func(error)) {
	if !r.queued.begin() {
		return nil, nil
	}
	done = r.done
	if b := r.bridge.p.barrier.Load(); b != nil && r.sensor != nil {
		arrived := b.sending(r.sensor, at.Seq)
		done = func(err error) {
			arrived(flow.CauseOf(err))
			r.done(err)
		}
	}
	e = borrowEnvelope(at, r.port.Spec(), message)
	e.handedOver = r.bridge.p.publishing.Load()
	return e, done
}

// handedOn follows when the dispatcher has the message: samples may follow a clock.
func (r *route) handedOn(e *envelope) {
	e.giveBack()
	if r.isClock() {
		r.bridge.clockSent()
	}
}

// envelope is what the dispatcher queues: a message of any type with the
// capture it belongs to. Its copy owns the message, which the topic's pool
// keeps for the next one.
type envelope struct {
	at sensors.Tick
	// handedOver is the instant of a stepped run in which the message was queued,
	// nanoseconds: a recording's log time.
	handedOver simtime.Stamp
	spec       *sensors.OutputSpec
	message    any
}

// CopyToCache makes dst a deep copy (law D3).
func (e *envelope) CopyToCache(dst *envelope) {
	message := dst.message
	if message == nil {
		message = e.spec.New()
	}
	e.spec.Copy(message, e.message)
	*dst = *e
	dst.message = message
}

// CacheKey is the message's own.
func (e *envelope) CacheKey() uint64 { return e.spec.Key(e.message) }

// Captured is the message's own stamp, which the clock gate compares (law T4).
func (e *envelope) Captured() simtime.Stamp { return e.message.(simtime.Stamped).Captured() }

// SizeBytes is the size of the message's data, for bounds of queues in bytes.
func (e *envelope) SizeBytes() int64 {
	if s, ok := e.message.(interface{ SizeBytes() int64 }); ok {
		return s.SizeBytes()
	}
	return 256
}

// scratch lends envelopes for the time of one TryQueue call.
var scratch = sync.Pool{New: func() any { return new(envelope) }}

func borrowEnvelope(at sensors.Tick, spec *sensors.OutputSpec, message any) *envelope {
	e := scratch.Get().(*envelope)
	e.at, e.spec, e.message = at, spec, message
	return e
}

func (e *envelope) giveBack() {
	*e = envelope{}
	scratch.Put(e)
}

// Receivers counts those who would receive messages now. For a topic it counts those on all
// network bridges together, for a bridge those of its topic that has most. A peer that
// doesn't tell what it receives counts as one. The error wraps ErrNoTopic: no network
// bridge has that name or carries that topic. Any goroutine may call it.
func (p *Pipeline) Receivers(name string) (int, error) {
	p.change.Lock()
	defer p.change.Unlock()
	receivers, found := 0, false
	var known []string
	for _, b := range p.bridges {
		info := b.bridge.Info()
		if info.Kind == bridges.KindFile {
			continue
		}
		known = append(known, info.Name)
		most := 0
		for topic := range b.topics {
			known = append(known, topic)
			if name != topic && name != info.Name {
				continue
			}
			found = true
			most = max(most, b.bridge.Receivers(topic))
		}
		receivers += most
	}
	if !found {
		slices.Sort(known)
		return 0, fmt.Errorf("%w on a network bridge: %q, %s", ErrNoTopic, name, fault.Hint(name, slices.Compact(known)))
	}
	return receivers, nil
}
