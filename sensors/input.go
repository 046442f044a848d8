package sensors

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/flow"
)

// InputSpec declares one input of a sensor type: messages that bridges receive for it.
type InputSpec struct {
	// Name is unique within the sensor, among its outputs too: "lane_line".
	Name string
	// Suffix is appended to the sensor's topic, as an output's is; "//" begins an
	// absolute topic.
	Suffix string
	Doc    string
	QoS    flow.QoS
	// Alternative says that another such input of the sensor says the same: one that is
	// brought is enough.
	Alternative bool
	// Type is the message's Go type.
	Type reflect.Type

	open func() Inlet
}

// DeclareInput makes the spec of an input of messages M, mostly a pointer. A bridge
// brings them if it has a subscriber of that type.
func DeclareInput[M any](spec InputSpec) InputSpec {
	spec.Type = reflect.TypeFor[M]()
	self := spec
	spec.open = func() Inlet { return &Input[M]{spec: self} }
	return spec
}

// Inlet is an input with its type erased: what the pipeline puts messages into.
type Inlet interface {
	Spec() *InputSpec
	// Put adds a message of the spec's type. It never blocks, and any goroutine may
	// call it; the message is only read from then on, for others may have it too.
	Put(message any)
	// Dropped returns how many messages were dropped because the sensor didn't take them.
	Dropped() int64
	// Restart forgets what there is, and who takes it: another sensor begins with it.
	Restart()
	// Close lets nothing more in and forgets what there is.
	Close()
}

// Open makes the input that spec declares.
func (s *InputSpec) Open() Inlet { return s.open() }

// inputDepth is how many messages wait for a sensor.
const inputDepth = 64

// Input holds the messages of one type M that have come since the sensor took some. Of
// more than 64 the oldest are dropped. Any goroutine may use it.
type Input[M any] struct {
	spec InputSpec

	mu      sync.Mutex
	waiting []M     // guarded by mu
	dropped int64   // guarded by mu
	closed  bool    // guarded by mu
	handle  func(M) // guarded by mu: takes messages at once; nil where they wait for Take
}

// Spec returns the input's declaration.
func (in *Input[M]) Spec() *InputSpec { return &in.spec }

// Put adds a message; one of another type than M is ignored.
func (in *Input[M]) Put(message any) {
	m, ok := message.(M)
	in.mu.Lock()
	defer in.mu.Unlock()
	if !ok || in.closed {
		return
	}
	if in.handle != nil {
		in.handle(m)
		return
	}
	if len(in.waiting) == inputDepth {
		in.waiting = append(in.waiting[:0], in.waiting[1:]...)
		in.dropped++
	}
	in.waiting = append(in.waiting, m)
}

// Restart forgets what there is, and who takes it: another sensor begins with it.
func (in *Input[M]) Restart() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting, in.handle = nil, nil
}

// Close lets nothing more in and forgets what there is.
func (in *Input[M]) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.waiting = true, nil
}

// Take returns the messages that have come since the call before, oldest first. A sensor
// calls it in PreTick or Tick.
func (in *Input[M]) Take() iter.Seq[M] {
	in.mu.Lock()
	taken := in.waiting
	in.waiting = nil
	in.mu.Unlock()
	return slices.Values(taken)
}

// Handle calls take for each message of the named input, starting with those already waiting. The
// calls are on the goroutine of the bridge that brings them, one at a time and not after the
// sensor's end. take must not wait. The error is InputOf's. A sensor calls it in Begin.
func Handle[M any](env *Env, name string, take func(M)) error {
	in, err := InputOf[M](env, name)
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, m := range in.waiting {
		take(m)
	}
	in.waiting, in.handle = nil, take
	return nil
}

// Dropped returns how many messages were dropped because the sensor didn't take them; any
// goroutine may call it, after Close too.
func (in *Input[M]) Dropped() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.dropped
}

// InputOf returns the named input of a sensor being begun. M must be the type that the
// definition declares; a mismatch is a programming error of the sensor, reported
// at Begin.
func InputOf[M any](env *Env, name string) (*Input[M], error) {
	for _, inlet := range env.Inlets {
		if inlet.Spec().Name != name {
			continue
		}
		if in, ok := inlet.(*Input[M]); ok {
			return in, nil
		}
		return nil, fmt.Errorf("input %s takes %v, not %v", name, inlet.Spec().Type, reflect.TypeFor[M]())
	}
	return nil, fmt.Errorf("input %s is not declared in the sensor's definition", name)
}
