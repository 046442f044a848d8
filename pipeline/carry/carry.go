// Package carry brings what sensors publish to bridges, and what bridges receive to sensors and
// to the clock.
//
// # Usage
//
// [New] makes the [Bridges] of one run. [Bridges.Add] opens a bridge; [Bridges.Join] connects the
// [Topics] of sensors with all bridges, also with those that are added later:
//
//	out := carry.NewOutlet(port, bridges.Topic{Name: "/imu", Sensor: "imu"}, nil)
//	err := run.Join([]*carry.Topics{{Sensor: "imu", Outlets: []*carry.Outlet{out}}})
//
// A route is the way of one [Outlet] to one bridge. It copies a message before the output's
// TryQueue returns, and a worker of the dispatcher gives the copy to the bridge. An [Inlet] is
// a topic that bridges are to bring. Its messages come in at once, on the bridge's goroutine.
//
// # Concurrency
//
// Any goroutine may call anything, but QueueClock and PublishClock, which are the run's, and Stop,
// which is called once. Coming and going is serialised, also while a bridge
// connects. Messages, times and summaries don't wait for that.
//
// # Ordering
//
// No bridge is given a sample before a /clock of its stamp (law T4). In a stepped run each bridge
// has one lane, and the run queues /clock ahead of an instant's samples. In real time the samples
// wait in the dispatcher until PublishClock. A bridge that connects late gets a clock first.
//
// # Failure
//
// Each message ends once: sent, or dropped with a cause that its outlet's row and the bridge's
// row count (law S5). A file that can't be written ends the run by Config.Fail. A peer never does.
package carry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// ErrNoTopic says that no bridge carries that topic, or not that bridge.
var ErrNoTopic = errors.New("no such topic")

// Config is the run whose messages Bridges carry.
type Config struct {
	// Registry has the types of bridges. (optional; nil where none is added)
	Registry *bridges.Registry
	// Env is what bridges are told of the run. Its Now and Log are made for each of them.
	Env        bridges.Env
	Dispatcher *dispatch.Dispatcher
	// Lines are those of the run's log.
	Lines *Lines
	// Clock is the run's. Clients of bridges pause and scale it, and step it by Step.
	Clock *simtime.Clock
	Step  time.Duration
	// Stepped says that the run makes its time: it waits for bridges, and SetInstant tells the
	// time of its messages.
	Stepped bool
	// HasClock says that the run publishes /clock.
	HasClock bool
	// Fail ends the run.
	Fail func(error)
	// Await tells that the run waits for something from outside, or for nothing any more: "".
	Await func(what string)
}

// gated reports whether samples wait for the clock (law T4): in a stepped run the step itself
// keeps the order.
func (c *Config) gated() bool { return c.HasClock && !c.Stepped }

// Bridges are those of one run, and what they carry. New makes them.
type Bridges struct {
	config  Config
	clock   *Outlet // of /clock
	out     *sensors.Output[*sample.Clock]
	ros     rosClock
	instant simtime.AtomicStamp // of a stepped run: the one whose messages are queued

	list atomic.Pointer[[]*carrier] // replaced, never changed

	mu      sync.Mutex // serialises what comes and goes
	started bool       // guarded by mu
	joined  []*Topics  // guarded by mu
	wanted  remarks    // guarded by mu: lines about topics that nobody brings
}

// New begins to carry for a run. Stop and Close end it.
func New(config Config) *Bridges {
	b := &Bridges{config: config, out: clockSpec.Open().(*sensors.Output[*sample.Clock])}
	b.clock = NewOutlet(b.out, bridges.Topic{Name: ClockTopic, QoS: flow.ClockQoS}, nil)
	b.config.Lines.now = b.now
	b.list.Store(&[]*carrier{})
	b.ros.open(b)
	return b
}

// all returns the bridges in the order they were added.
func (b *Bridges) all() []*carrier { return *b.list.Load() }

// SetInstant tells at which instant of a stepped run messages are queued from now on.
func (b *Bridges) SetInstant(t simtime.Stamp) { b.instant.Store(t) }

// now is when what is published now was handed over. In a stepped run that is the instant of the
// messages. The loop is ahead of it, and so would a line of the log be of /clock (law T4).
func (b *Bridges) now() simtime.Stamp {
	if b.config.Stepped {
		return b.instant.Load()
	}
	return b.config.Clock.Now()
}

// Add opens a bridge and connects it with all that has joined. On an error the bridge is closed
// and nothing is connected. Errors of the connection string wrap bridges.ErrConnectionString or
// bridges.ErrUnknownBridge.
func (b *Bridges) Add(ctx context.Context, config BridgeConfig) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, err := b.open(config)
	if err != nil {
		return err
	}
	made, err := c.offer(b.joined)
	if err == nil {
		err = c.bridge.Connect(ctx)
	}
	if err != nil {
		made.close()
		return errors.Join(err, wrap("close bridge "+config.Spec, c.bridge.Close(ctx)))
	}
	made.connect()
	c.tellUnknown(config.Spec)
	list := append(slices.Clone(b.all()), c)
	b.list.Store(&list)
	return nil
}

// open opens a bridge that carries nothing yet.
func (b *Bridges) open(config BridgeConfig) (c *carrier, err error) {
	if b.config.Registry == nil {
		return nil, fmt.Errorf("add bridge %s: the pipeline was made without a registry of bridges", config.Spec)
	}
	c = newCarrier(b, config)
	env := b.config.Env
	env.Now, env.Log = c.queuedAt, c.topic.Logger
	c.bridge, err = b.config.Registry.Open(config.Spec, env)
	return c, err
}

// Join connects sensors with all bridges: all of them, or none where a bridge refuses a topic.
func (b *Bridges) Join(added []*Topics) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var made routes
	for _, c := range b.all() {
		c.unknown = nil // of what failed before
	}
	for _, t := range added {
		if err := b.serve(t, &made); err != nil {
			made.close()
			b.leave(added)
			return err
		}
	}
	made.connect()
	b.joined = append(b.joined, added...)
	for _, c := range b.all() {
		c.tellUnknown(c.bridge.Info().Name)
	}
	if b.started {
		for _, t := range added {
			b.warnUnbrought(t.Inlets)
		}
	}
	return nil
}

// serve opens the inlets of a sensor and makes its routes; mu must be held.
func (b *Bridges) serve(t *Topics, made *routes) error {
	for _, in := range t.Inlets {
		in.open(b.config.Dispatcher, in.input.Put)
	}
	for _, c := range b.all() {
		if err := c.serve(t, made); err != nil {
			return err
		}
	}
	return nil
}

// Leave takes sensors out that have ended. Messages that their routes haven't sent are given up, see
// Topics.Disconnect; their topics are free again.
func (b *Bridges) Leave(gone []*Topics) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range gone {
		t.close()
	}
	b.leave(gone)
}

// leave lets nothing more into sensors; mu must be held.
func (b *Bridges) leave(gone []*Topics) {
	b.joined = slices.DeleteFunc(b.joined, func(t *Topics) bool { return slices.Contains(gone, t) })
	for _, t := range gone {
		for _, in := range t.Inlets {
			for _, c := range b.all() {
				c.release(in)
			}
			in.close()
		}
	}
}

// Start says that the run begins, once. It warns of topics that nobody brings, of those that
// inlets are for.
func (b *Bridges) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = true
	var list []*Inlet
	if b.followsROS() {
		list = append(list, b.ros.inlet)
	}
	for _, t := range b.joined {
		list = append(list, t.Inlets...)
	}
	b.warnUnbrought(list)
}

// Stop comes at the end of the run, before the sensors end: bridges no longer go with the clock's
// source, and the rows tell who has listened.
func (b *Bridges) Stop() {
	b.ros.unwatch()
	b.clock.heard(b.clockHeard())
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.joined {
		t.NoteListening()
	}
}

// Close closes the bridges. The dispatcher has sent what it had by then.
func (b *Bridges) Close(ctx context.Context) error {
	var errs []error
	for _, c := range b.all() {
		errs = append(errs, c.bridge.Close(ctx))
	}
	return errors.Join(errs...)
}

// Receivers counts those who would receive messages now. For a topic it counts those on all
// network bridges together, for a bridge those of its topic that has most. A peer that
// doesn't tell what it receives counts as one. The error wraps ErrNoTopic: no network
// bridge has that name or carries that topic.
func (b *Bridges) Receivers(name string) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	receivers, found := 0, false
	var known []string
	for _, c := range b.all() {
		if c.file() {
			continue
		}
		bridge := c.bridge.Info().Name
		known = append(append(known, bridge), slices.Collect(maps.Keys(c.topics))...)
		most := 0
		for topic := range c.topics {
			if name == topic || name == bridge {
				found = true
				most = max(most, c.bridge.Receivers(topic))
			}
		}
		receivers += most
	}
	if !found {
		slices.Sort(known)
		return 0, fmt.Errorf("%w on a network bridge: %q, %s", ErrNoTopic, name, fault.Hint(name, slices.Compact(known)))
	}
	return receivers, nil
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
