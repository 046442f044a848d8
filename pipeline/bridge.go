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
	undelivered struct {
		sync.Mutex
		byCause flow.Drops
	}
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
		b.undelivered.Lock()
		if b.undelivered.byCause == nil {
			b.undelivered.byCause = flow.Drops{}
		}
		b.undelivered.byCause[cause]++
		b.undelivered.Unlock()
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
