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
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// clockTopic is where the simulation time goes.
const clockTopic = "/clock"

// BridgeConfig is one bridge to be added.
type BridgeConfig struct {
	// Spec is "TYPE:CONNECTION".
	Spec string
	// Policy says what happens when a topic's queue is full: "block",
	// "drop_newest" or "drop_oldest"; empty: block for files, drop_oldest
	// for networks.
	Policy string
	// QoS overrides the sensors' quality of service, by topic.
	QoS map[string]flow.QoS
}

// peerLimit is how long policy block waits for a network peer before a message
// counts as dropped; for a file it waits deliveryLimit.
const peerLimit = time.Second

// attachedBridge is one bridge of a pipeline.
type attachedBridge struct {
	p           *Pipeline
	bridge      *bridges.Bridge
	topicConfig dispatch.TopicConfig
	qos         map[string]flow.QoS
	topics      map[string]bool
	// unknown are the topics of types that the bridge doesn't know, until its user is
	// told of them. The pipeline's change guards it.
	unknown []string
	// received are the topics that the bridge brings. The pipeline's change guards it.
	received map[string]*reception
	clock    atomic.Pointer[bridgeSink] // nil where the bridge has no clock
	// bringsClock says that /clock comes from the bridge, so that it isn't published there.
	bringsClock atomic.Bool
	log         *bridgeSink // nil where the bridge has no log
	// clockless is set while the bridge is without connection: who connects
	// then gets a clock before any sample (law T4).
	clockless atomic.Bool
	// handedOver is the simulation time at which the message that is being
	// published was handed over, nanoseconds. A file publishes one message at
	// a time, under sending, so it belongs to that message.
	handedOver atomic.Int64
	sending    sync.Mutex
	// undelivered counts, by cause, what the dispatcher didn't bring to the
	// bridge, which so can't count it itself.
	undelivered flow.Tally
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
	b := &attachedBridge{p: p, qos: config.QoS, topics: map[string]bool{}, received: map[string]*reception{}}
	b.topicConfig.Logger = log
	// The last receiver has gone, or the connection, of which the bridge tells.
	b.topicConfig.Expected = func(err error) bool { return errors.Is(err, bridges.ErrNotConnected) }
	var err error
	b.bridge, err = p.config.Bridges.Open(config.Spec, bridges.Env{
		OutDir: p.config.OutDir, Now: b.logTime, Log: log, Run: p.config.Run,
		Origin: (*bridges.Origin)(&p.config.Scene.Origin),
	})
	if err != nil {
		return err
	}
	carried, err := b.offer(config)
	if err == nil {
		err = b.bridge.Connect(ctx)
	}
	if err != nil {
		b.abandon(carried)
		return errors.Join(err, wrap("close bridge "+config.Spec, b.bridge.Close(ctx)))
	}
	carried.connect()
	if b.log != nil {
		p.logLines.add(b.log)
	}
	b.tellUnknown(config.Spec)
	p.bridges = append(p.bridges, b)
	return nil
}

// abandon gives up what a bridge that can't be added has of the dispatcher.
func (b *attachedBridge) abandon(made carriage) {
	made.close()
	for _, sink := range []*bridgeSink{b.clock.Load(), b.log} {
		if sink != nil {
			sink.topic.Close()
		}
	}
}

// tellUnknown says once which topics the bridge doesn't carry, and what it could.
func (b *attachedBridge) tellUnknown(spec string) {
	if len(b.unknown) > 0 {
		var has []string
		for _, info := range b.bridge.Types() {
			if info.Publishes {
				has = append(has, strings.TrimPrefix(info.Go, "*sample."))
			}
		}
		slices.Sort(has)
		b.p.log.Warn("the bridge has no message for some topics, and does not carry them",
			"bridge", spec, "topics", strings.Join(b.unknown, " "), "has", strings.Join(slices.Compact(has), " "))
	}
	b.unknown = nil
}

// offer makes the bridge's topics: its clock's and all sensors'.
func (b *attachedBridge) offer(config BridgeConfig) (made carriage, err error) {
	if err := b.setPolicy(config.Policy); err != nil {
		return made, err
	}
	if err := b.tune(b.p.followsROS()); err != nil {
		return made, err
	}
	if !b.bringsClock.Load() {
		if err := b.addClock(); err != nil {
			return made, err
		}
	}
	if err := errors.Join(b.addLog(), b.receiveAll(b.p.own), b.offerTime()); err != nil {
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

// setPolicy chooses what a full queue does. A file has one lane for all its
// topics, so that its messages stand in the order they were handed over in; in a
// stepped run every bridge has, so that the clock is sent first (law T4).
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
	if b.p.config.Mode == Stepped {
		c.Policy = flow.Block
	}
	if c.Policy == flow.Block {
		c.BlockLimit = peerLimit
		if file {
			c.BlockLimit = deliveryLimit
		}
	}
	c.Ordered = true
	if file || b.p.config.Mode == Stepped {
		c.Lane = dispatch.NewLane(b.p.dispatcher)
	}
	return nil
}

// addClock gives the bridge its /clock, if there is one and it knows the type.
func (b *attachedBridge) addClock() error {
	if b.p.config.ClockHz < 0 {
		return nil
	}
	sink, err := b.connect(&clockSpec, bridges.Topic{Name: clockTopic, QoS: flow.ClockQoS})
	if sink == nil || err != nil {
		return err
	}
	sink.count(nil, b.p.clockStats)
	b.clock.Store(sink)
	return nil
}

// hears reports whether the bridge subscribes to messages of a type.
func (b *attachedBridge) hears(t reflect.Type) bool {
	return slices.ContainsFunc(b.bridge.Types(), func(info bridges.TypeInfo) bool {
		return info.Go == t.String() && info.Subscribes
	})
}

var clockSpec = sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "clock", Suffix: "/" + clockTopic})

// connect makes the sink of one topic, nil where the bridge doesn't know the type.
func (b *attachedBridge) connect(spec *sensors.OutputSpec, topic bridges.Topic) (*bridgeSink, error) {
	if q, ok := b.qos[topic.Name]; ok {
		topic.QoS = q
	}
	topic.Policy = b.topicConfig.Policy
	sink, err := newBridgeSink(b.p, b, spec, topic)
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
	return sink, nil
}

// send publishes one message with its hand-over time: in a stepped run the
// instant that it was queued in, so that it doesn't depend on how fast anything
// ran; in a realtime run the time now, so that what waited for the clock comes
// after the clock in a recording too (law T4).
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
func (b *attachedBridge) logTime() int64 {
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

// account counts a message that the bridge never saw, and ends the run if a
// recording can't go on.
func (b *attachedBridge) account(cause flow.Cause, err error) {
	if neverSent(err) {
		b.undelivered.Dropped(cause)
	}
	b.failed(err)
}

// neverSent reports whether an error is the dispatcher's own, not the publisher's.
func neverSent(err error) bool {
	var panicked *dispatch.PanicError
	return errors.Is(err, dispatch.ErrFull) || errors.Is(err, dispatch.ErrPaused) ||
		errors.Is(err, dispatch.ErrTokenBusy) || errors.Is(err, dispatch.ErrClosed) || errors.As(err, &panicked)
}

// failed ends the run when a recording can't be written any more; a network
// peer never ends it.
func (b *attachedBridge) failed(err error) {
	if b.file() && errors.Is(err, bridges.ErrWriteFailed) {
		b.p.fail(fmt.Errorf("bridge %s: %w", b.bridge.Info().Name, err))
	}
}

// carriage is a list of outputs with the sinks that carry them, or will, as long as it
// isn't sure that all can be carried.
type carriage []carried

type carried struct {
	sensor     *Sensor
	output     int
	sink       *bridgeSink
	disconnect func() // nil before connect
}

// connect lets the outputs publish to the sinks.
func (list carriage) connect() {
	for _, c := range list {
		c.sink.count(c.sensor, c.sensor.stats[c.output])
		c.disconnect = c.sensor.ports[c.output].Connect(c.sink)
		c.sensor.carried = append(c.sensor.carried, c)
	}
}

// disconnect lets nothing more be published to the sinks, and returns when what was
// has been sent, or the context ends.
func (list carriage) disconnect(ctx context.Context) {
	for _, c := range list {
		if c.disconnect != nil {
			c.disconnect()
		}
	}
	for _, c := range list {
		select {
		case <-c.sink.queued.close():
		case <-ctx.Done():
			return
		}
	}
}

// close gives the sinks up, with what they haven't sent; the pipeline's change must be
// held.
func (list carriage) close() {
	for _, c := range list {
		if c.disconnect != nil {
			c.disconnect()
		}
		c.sink.topic.Close()
		delete(c.sink.bridge.topics, c.sink.topic.Name())
	}
}

// serve carries a sensor's outputs and brings its inputs, as far as the bridge knows
// their types. The pipeline's change must be held.
func (b *attachedBridge) serve(s *Sensor, made *carriage) error {
	return wrap("sensor "+s.spec.Name, errors.Join(b.carry(s, made), b.receiveAll(s.takers)))
}

// carry makes a topic of each of a sensor's outputs that the bridge knows.
func (b *attachedBridge) carry(s *Sensor, made *carriage) error {
	for i, port := range s.ports {
		spec := port.Spec()
		topic := bridges.Topic{
			Name: s.topics[i], Sensor: s.spec.Name, SensorType: s.spec.Definition.ID,
			SensorNumber: s.spec.Definition.Number, Output: s.outputs[i], QoS: spec.QoS,
		}
		sink, err := b.connect(spec, topic)
		if err != nil {
			return err
		}
		if sink != nil {
			*made = append(*made, carried{sensor: s, output: i, sink: sink})
		}
	}
	return nil
}

// causeOf names the reason of a message's fate for the summary.
func (s *bridgeSink) causeOf(err error) flow.Cause {
	if errors.Is(err, dispatch.ErrFull) && s.bridge.topicConfig.BlockLimit > 0 {
		return flow.CausePeerSlow // it was waited for
	}
	return flow.CauseOf(err)
}

// bridgeSink carries one output to one topic of one bridge, through the dispatcher.
type bridgeSink struct {
	bridge   *attachedBridge
	spec     *sensors.OutputSpec
	topic    *dispatch.Topic[*envelope]
	publish  bridges.Publisher[any]
	sensor   *Sensor // nil for the clock
	stats    *outputStats
	receiver *int64
	queued   usage       // messages that the dispatcher has
	done     func(error) // account, made once: a queued message allocates nothing
}

// newBridgeSink connects an output with a topic of a bridge; the error wraps
// bridges.ErrNoConverter where the bridge doesn't know the message's type.
func newBridgeSink(p *Pipeline, b *attachedBridge, spec *sensors.OutputSpec, topic bridges.Topic) (*bridgeSink, error) {
	publish, err := bridges.AddPublisherOf(b.bridge, spec.Type, topic)
	if err != nil {
		return nil, err
	}
	s := &bridgeSink{bridge: b, spec: spec, publish: publish}
	s.queued.init()
	s.done = func(err error) {
		s.account(err)
		s.queued.exit()
	}
	config := b.topicConfig
	config.Gated = p.gated()
	s.topic = dispatch.NewTopic(p.dispatcher, topic.Name, s.send, config)
	return s, s.topic.Err()
}

// count says whose the messages are, and where deliveries and drops are counted. It
// comes before the first message.
func (s *bridgeSink) count(sensor *Sensor, stats *outputStats) {
	s.sensor, s.stats, s.receiver = sensor, stats, stats.receiver()
}

// send runs on a dispatcher's worker.
func (s *bridgeSink) send(ctx context.Context, e *envelope) error {
	if err := s.bridge.send(ctx, s.publish, e); err != nil {
		return err
	}
	s.stats.sent(s.receiver, e.at.Started)
	return nil
}

// account counts a message that was not sent.
func (s *bridgeSink) account(err error) {
	if err != nil {
		cause := s.causeOf(err)
		s.stats.dropped(cause, 1)
		s.bridge.account(cause, err)
	}
}

// Listening reports whether the bridge takes samples: it is connected, has the clock,
// and somebody behind it wants the topic.
func (s *bridgeSink) Listening() bool {
	return !s.bridge.clockless.Load() && s.bridge.bridge.Listening(s.topic.Name())
}

// TryQueue copies the message into the dispatcher's queue.
func (s *bridgeSink) TryQueue(at sensors.Tick, message any) bool {
	if !s.queued.begin() {
		return true // nobody listens here any more
	}
	done := s.done
	if b := s.bridge.p.barrier.Load(); b != nil && s.sensor != nil {
		arrived := b.sending(s.sensor, at.Seq)
		done = func(err error) {
			if err != nil {
				arrived(s.causeOf(err))
			} else {
				arrived("")
			}
			s.done(err)
		}
	}
	e := borrowEnvelope(at, s.spec, message)
	e.handedOver = s.bridge.p.publishing.Load()
	ok := s.topic.TryQueueTask(e, dispatch.Task{Done: done})
	e.giveBack()
	return ok
}

// Publish sends the message before it returns.
func (s *bridgeSink) Publish(ctx context.Context, at sensors.Tick, message any) error {
	if !s.queued.begin() {
		return nil // nobody listens here any more
	}
	arrived := func(flow.Cause) {}
	if b := s.bridge.p.barrier.Load(); b != nil && s.sensor != nil {
		arrived = b.sending(s.sensor, at.Seq)
	}
	e := borrowEnvelope(at, s.spec, message)
	e.handedOver = s.bridge.p.publishing.Load()
	err := s.send(ctx, e)
	e.giveBack()
	if err != nil {
		arrived(s.causeOf(err))
	} else {
		arrived("")
	}
	s.done(err)
	return err
}

// envelope is what the dispatcher queues: a message of any type with the
// capture it belongs to. Its copy owns the message, which the topic's pool
// keeps for the next one.
type envelope struct {
	at sensors.Tick
	// handedOver is the instant of a stepped run in which the message was queued,
	// nanoseconds: a recording's log time.
	handedOver int64
	stamp      int64
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

// Stamp is the message's own stamp: what the clock gate compares (law T4).
func (e *envelope) Stamp() int64 { return e.stamp }

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
	e.stamp = at.TimeNs
	if s, ok := message.(interface{ Stamp() int64 }); ok {
		e.stamp = s.Stamp()
	}
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
		return 0, fmt.Errorf("%w on a network bridge: %q, %s", ErrNoTopic, name, closest.Hint(name, slices.Compact(known)))
	}
	return receivers, nil
}
