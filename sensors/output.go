package sensors

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Message is what an output can carry: a pointer to a structure that knows its stamp, and that
// [sample.Copy] can copy. Copies go into memory of messages before. One whose size differs
// much from sensor to sensor also has a method CacheKey() uint64: messages of one key use
// the same memory.
type Message[E any] interface {
	*E
	simtime.Stamped
}

type cacheKeyer interface{ CacheKey() uint64 }

// OutputSpec declares one output of a sensor type.
type OutputSpec struct {
	// Name is unique within the sensor: "image", "camera_info".
	Name string
	// Suffix is appended to the sensor's topic: "/image_raw". A suffix that
	// starts with "//" is an absolute topic of its own: "//tf" is /tf. With none
	// the topic is the sensor's own.
	Suffix string
	Doc    string
	// QoS is what the output asks of a middleware that has quality of service;
	// flow.DefaultQoS where none is given.
	QoS flow.QoS
	// Type is the message's Go type, a pointer.
	Type reflect.Type
	// New makes a message, Copy is [sample.Copy], and Key the message's CacheKey, or 0: all
	// with the type erased.
	New  func() any
	Copy func(dst, src any)
	Key  func(any) uint64

	open func() Port
}

// Declare makes the spec of an output that carries *E. It panics if E can't be copied, and
// names the field.
func Declare[E any, M Message[E]](spec OutputSpec) OutputSpec {
	if err := sample.Copyable(reflect.TypeFor[E]()); err != nil {
		panic(fmt.Errorf("sensors: output %s: %w", spec.Name, err))
	}
	spec.Type, spec.QoS = reflect.TypeFor[M](), spec.QoS.OrDefault()
	spec.New = func() any { return M(new(E)) }
	spec.Copy = func(dst, src any) { sample.Copy((*E)(dst.(M)), (*E)(src.(M))) }
	spec.Key = func(any) uint64 { return 0 }
	if _, keyed := spec.New().(cacheKeyer); keyed {
		spec.Key = func(m any) uint64 { return m.(cacheKeyer).CacheKey() }
	}
	self := spec
	spec.open = func() Port { return &Output[M]{spec: self} }
	return spec
}

// OneOutput makes the outputs of a sensor that has one: see Declare.
func OneOutput[E any, M Message[E]](spec OutputSpec) []OutputSpec {
	return []OutputSpec{Declare[E, M](spec)}
}

// Sink receives what an output publishes: one per bridge, listener or window.
// Its methods are called from any goroutine.
type Sink interface {
	// TryQueue takes a message without waiting on a peer, and copies it
	// before it returns if it keeps it. at says which capture it belongs to.
	TryQueue(at Tick, message any) bool
	// Publish delivers the message before it returns.
	Publish(ctx context.Context, at Tick, message any) error
	// Listening reports whether anybody would receive a message now.
	Listening() bool
	// Status is the state of the connection that messages go through.
	Status() flow.Status
}

// Port is an output with its type erased: what the pipeline connects sinks to.
type Port interface {
	Spec() *OutputSpec
	// Connect adds a sink; the returned function removes it again.
	Connect(Sink) (disconnect func())
	// Listening reports whether any sink is listening.
	Listening() bool
	// Status is the best state of the sinks' connections.
	Status() flow.Status
	// Unlatch lets a message that holds for ever reach the sinks again.
	Unlatch()
	// Observe has a function called with each message that a listening sink is handed, once. It is set before the sensor
	// begins, and lends the message for the call.
	Observe(func(message any))
}

// Open makes the output that spec declares.
func (s *OutputSpec) Open() Port { return s.open() }

// Output publishes messages of one type M to all connected sinks. Its methods
// may be called from any goroutine, also while sinks come and go.
type Output[M any] struct {
	spec     OutputSpec
	observed func(any) // nil for nobody

	mu    sync.Mutex               // serialises Connect and disconnect
	sinks atomic.Pointer[[]*entry] // copied on write, read without a lock
}

type entry struct {
	sink    Sink
	latched atomic.Bool // has had Latch's message since it began to listen
}

// Spec returns the output's declaration.
func (o *Output[M]) Spec() *OutputSpec { return &o.spec }

// Connect adds a sink; the returned function removes it and may be called twice.
func (o *Output[M]) Connect(s Sink) (disconnect func()) {
	e := &entry{sink: s}
	o.change(func(list []*entry) []*entry { return append(list, e) })
	return func() {
		o.change(func(list []*entry) []*entry {
			return slices.DeleteFunc(list, func(x *entry) bool { return x == e })
		})
	}
}

func (o *Output[M]) change(edit func([]*entry) []*entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := edit(slices.Clone(o.load()))
	o.sinks.Store(&list)
}

func (o *Output[M]) load() []*entry {
	if p := o.sinks.Load(); p != nil {
		return *p
	}
	return nil
}

// Listening reports whether any sink would receive a message now; a sensor
// that nobody listens to computes nothing.
func (o *Output[M]) Listening() bool {
	return slices.ContainsFunc(o.load(), func(e *entry) bool { return e.sink.Listening() })
}

// Status returns the best state of the sinks' connections: Connected if one of them takes
// messages, Disconnected without sinks.
func (o *Output[M]) Status() flow.Status {
	best := flow.Disconnected
	for _, e := range o.load() {
		best = best.Better(e.sink.Status())
	}
	return best
}

// TryQueue hands message to every listening sink; each copies what it keeps
// before the call returns, so the caller may overwrite the message. It reports
// whether all of them took it; what was not taken is counted by its sink.
func (o *Output[M]) TryQueue(at Tick, message M) bool {
	ok, heard := true, false
	for _, e := range o.load() {
		if e.sink.Listening() {
			heard = o.observe(message, heard)
			ok = e.sink.TryQueue(at, message) && ok
		}
	}
	return ok
}

// Observe implements Port.
func (o *Output[M]) Observe(see func(message any)) { o.observed = see }

// observe shows a message to the observer, unless it has seen it. It returns true: now it has.
func (o *Output[M]) observe(message M, seen bool) bool {
	if o.observed != nil && !seen {
		o.observed(message)
	}
	return true
}

// Latch hands a message that holds for ever to those listening sinks that were not given it
// since they began to listen, as TryQueue does. A sensor that calls it at every tick reaches
// those that come late, and each once. One goroutine at a time calls it.
func (o *Output[M]) Latch(at Tick, message M) {
	heard := false
	for _, e := range o.load() {
		if e.latched.Swap(e.sink.Listening()) || !e.latched.Load() {
			continue
		}
		heard = o.observe(message, heard)
		e.sink.TryQueue(at, message)
	}
}

// Unlatch lets the next Latch reach all listening sinks again, because the message has
// changed. Who calls Latch calls it.
func (o *Output[M]) Unlatch() {
	for _, e := range o.load() {
		e.latched.Store(false)
	}
}

// Publish delivers message to every listening sink before it returns: for
// small messages that are cheap to convert. The error joins all sinks' errors.
func (o *Output[M]) Publish(ctx context.Context, at Tick, message M) error {
	var errs []error
	heard := false
	for _, e := range o.load() {
		if e.sink.Listening() {
			heard = o.observe(message, heard)
			errs = append(errs, e.sink.Publish(ctx, at, message))
		}
	}
	return errors.Join(errs...)
}

// OutputOf returns the named output of a sensor being begun. M must be the type
// that the definition declares; a mismatch is a programming error of the
// sensor, reported at Begin.
func OutputOf[M any](env *Env, name string) (*Output[M], error) {
	for _, p := range env.Ports {
		if p.Spec().Name != name {
			continue
		}
		if o, ok := p.(*Output[M]); ok {
			return o, nil
		}
		return nil, fmt.Errorf("output %s carries %v, not %v", name, p.Spec().Type, reflect.TypeFor[M]())
	}
	return nil, fmt.Errorf("output %s is not declared in the sensor's definition", name)
}
