package carry

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
	"github.com/raybridge/raybridge/simtime"
)

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
}

// How long policy block waits until a message counts as dropped, unless a stepped run waits for
// as long as it takes.
const (
	peerLimit = time.Second     // for a network peer
	fileLimit = 2 * time.Minute // for a file
)

// carrier is one bridge of a run.
type carrier struct {
	run     *Bridges
	config  BridgeConfig
	bridge  *bridges.Bridge
	topic   dispatch.TopicConfig  // of each of its topics
	clock   atomic.Pointer[route] // nil where the bridge takes no /clock
	brings  atomic.Bool           // /clock comes from the bridge, so that it isn't published there
	noClock atomic.Bool           // no /clock since it connected: samples wait for one (law T4)
	sending sync.Mutex            // a file publishes one message at a time
	sentAt  simtime.AtomicStamp   // of a file: when the message that is being published was handed over

	// Guarded by the run's mu.
	topics   map[string]bool       // that it carries
	unknown  []string              // topics of types that the bridge doesn't know, until its user is told
	unknowns remarks               // lines about them
	received map[string]*reception // by topic

	mu     sync.Mutex
	routes []*route   // guarded by mu
	former flow.Drops // guarded by mu: undelivered by routes that have ended
}

func newCarrier(run *Bridges, config BridgeConfig) *carrier {
	c := &carrier{run: run, config: config, topics: map[string]bool{}, received: map[string]*reception{}, former: flow.Drops{}}
	c.topic.Logger = run.config.Lines.next.With("bridge", config.Spec)
	// The last receiver has gone, or the connection, of which the bridge tells.
	c.topic.Expected = func(err error) bool { return errors.Is(err, flow.ErrNotConnected) }
	c.topic.Gated = run.config.gated()
	return c
}

// offer makes the bridge's routes, of the run's clock and log and of all sensors, and lets it
// bring what those take. The run's mu must be held.
func (c *carrier) offer(joined []*Topics) (made routes, err error) {
	if err := c.setPolicy(c.config.Policy); err != nil {
		return made, err
	}
	if err := c.follow(c.run.followsROS()); err != nil {
		return made, err
	}
	if err := errors.Join(c.addClock(&made), c.addLog(&made), c.offerTime()); err != nil {
		return made, err
	}
	for _, t := range joined {
		if err := c.serve(t, &made); err != nil {
			return made, err
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(c.config.QoS)) {
		if !c.topics[topic] {
			return made, fmt.Errorf("add bridge %s: quality of service of %s: %w", c.config.Spec, topic, ErrNoTopic)
		}
	}
	return made, nil
}

// setPolicy chooses what a full queue does. A file has one lane for all its topics, so that its
// messages stand in the order they were handed over in. In a stepped run every bridge has one,
// so that the clock is sent first (law T4).
func (c *carrier) setPolicy(name string) error {
	file, stepped, t := c.file(), c.run.config.Stepped, &c.topic
	switch {
	case name != "":
		policy, err := flow.ParsePolicy(name)
		if err != nil {
			return err
		}
		t.Policy = policy
	case file:
		t.Policy = flow.Block
	default:
		t.Policy = flow.DropOldest
	}
	if t.NoWaitWarning = stepped; stepped {
		if t.WaitForToken = t.Policy == flow.Exclusive; !t.WaitForToken {
			t.Policy = flow.Block
		}
	}
	switch waits := t.Policy == flow.Block || t.WaitForToken; {
	case !waits, file && stepped:
	case file:
		t.BlockLimit = fileLimit
	default:
		t.BlockLimit = max(peerLimit, 2*c.bridge.Info().Patience) // for the message ahead and for its own
	}
	t.Ordered = true
	if file || stepped {
		t.Lane = dispatch.NewLane(c.run.config.Dispatcher)
	}
	return nil
}

// serve carries a sensor's outputs and brings its inputs, as far as the bridge knows their types.
// The run's mu must be held.
func (c *carrier) serve(t *Topics, made *routes) error {
	errs := []error{c.carry(t.Outlets, made)}
	for _, in := range t.Inlets {
		errs = append(errs, c.receive(in))
	}
	return wrap("sensor "+t.Sensor, errors.Join(errs...))
}

// foreign reports whether a sensor is there for other bridges alone.
func (c *carrier) foreign(topic *bridges.Topic) bool {
	wants := func(w bridges.Want) bool { return w.Sensor == topic.SensorType }
	return topic.Source != nil && topic.Source.Wanted && !slices.ContainsFunc(c.bridge.Info().Wants, wants)
}

// carry makes a route of each outlet that the bridge knows.
func (c *carrier) carry(list []*Outlet, made *routes) error {
	for _, o := range list {
		if c.foreign(&o.Topic) {
			continue
		}
		r, err := c.route(o)
		if err != nil {
			return err
		}
		if r != nil {
			*made = append(*made, r)
		}
	}
	return nil
}

// route makes the route of an outlet, nil where the bridge doesn't know the type.
func (c *carrier) route(o *Outlet) (*route, error) {
	r, err := newRoute(c, o)
	if errors.Is(err, bridges.ErrNoConverter) {
		c.unknown = append(c.unknown, o.Topic.Name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if c.topics[o.Topic.Name] {
		return nil, fmt.Errorf("topic %s is published twice", o.Topic.Name)
	}
	c.topics[o.Topic.Name] = true
	return r, nil
}

// addLog gives the bridge the run's log, if it knows the type and somebody may be watching.
func (c *carrier) addLog(made *routes) error {
	if c.file() {
		return nil
	}
	r, err := newRoute(c, c.run.config.Lines.outlet)
	if errors.Is(err, bridges.ErrNoConverter) {
		return nil
	}
	if err == nil {
		*made = append(*made, r)
	}
	return err
}

// tellUnknown says which topics the bridge doesn't carry, and what it could.
func (c *carrier) tellUnknown(name string) {
	if len(c.unknown) == 0 {
		return
	}
	var has []string
	for _, info := range c.bridge.Types() {
		if info.Publishes {
			has = append(has, strings.TrimPrefix(info.Go, "*sample."))
		}
	}
	slices.Sort(has)
	c.unknowns.warn(c.run.config.Lines.Logger(), "the bridge has no message for some topics, and does not carry them",
		"bridge", name, "topics", strings.Join(c.unknown, " "), "has", strings.Join(slices.Compact(has), " "))
	c.unknown = nil
}

// send publishes one message with its hand-over time. In a stepped run that is the instant that
// it was queued in, so that it doesn't depend on how fast anything ran. In a realtime run it is
// the time now. So what waited for the clock comes after the clock in a recording too (law T4).
func (c *carrier) send(ctx context.Context, publish bridges.Publisher[any], e *envelope) error {
	if c.file() {
		c.sending.Lock()
		defer c.sending.Unlock()
		at := e.queued
		if !c.run.config.Stepped {
			at = c.run.now()
		}
		c.sentAt.Store(at)
	}
	return publish(ctx, e.message)
}

// queuedAt is when the message being published was handed over. A network bridge publishes
// several at once, and is told the time now.
func (c *carrier) queuedAt() simtime.Stamp {
	if c.file() {
		return c.sentAt.Load()
	}
	return c.run.now()
}

func (c *carrier) file() bool { return c.bridge.Info().Kind == bridges.KindFile }

func (c *carrier) connected() bool { return c.bridge.Status() == flow.Connected }

// hears reports whether the bridge subscribes to messages of a type.
func (c *carrier) hears(t reflect.Type) bool {
	return slices.ContainsFunc(c.bridge.Types(), func(info bridges.TypeInfo) bool {
		return info.Go == t.String() && info.Subscribes
	})
}

// undelivered returns, by cause, what the dispatcher didn't bring to the bridge, which so
// can't count it itself.
func (c *carrier) undelivered() flow.Drops {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.former)
	for _, r := range c.routes {
		_, lost := r.topic.Drops()
		all.Merge(lost)
	}
	return all
}

// leave lets a route go that has ended; what it has lost stays counted.
func (c *carrier) leave(r *route) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, lost := r.topic.Drops()
	c.former.Merge(lost)
	c.routes = slices.DeleteFunc(c.routes, func(other *route) bool { return other == r })
}

// failed ends the run when a recording can't be written any more; a network
// peer never ends it.
func (c *carrier) failed(err error) {
	if c.file() && errors.Is(err, flow.ErrWriteFailed) {
		c.run.config.Fail(fmt.Errorf("bridge %s: %w", c.bridge.Info().Name, err))
	}
}
