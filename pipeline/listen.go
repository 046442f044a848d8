package pipeline

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
)

// Listen calls call with every message of one output of a sensor until stop is called. It does
// so on the goroutine that publishes it, one message at a time. M is the output's message type,
// a pointer; the message must not be changed and may be read until call returns. An output may
// have several listeners. An error says which outputs and types there are.
//
// When stop returns, no call is under way and none will come. Called from within a callback,
// the listener's own or another's, it doesn't wait, and the callback comes to its end. It may
// be called again. A call that panics is counted as callback_failed among the output's drops
// and logged; the run continues, and so does the listener.
func Listen[M any](s *Sensor, output string, call func(at sensors.Tick, message M)) (stop func(), err error) {
	var known []string
	for _, o := range s.topics.Outlets {
		spec := o.Spec()
		known = append(known, fmt.Sprintf("%s (%v)", spec.Name, spec.Type))
		if spec.Name != output {
			continue
		}
		if spec.Type != reflect.TypeFor[M]() {
			break
		}
		l := &listener{
			sensor: s, outlet: o, receiver: o.AddReceiver(),
			call: func(at sensors.Tick, m any) { call(at, m.(M)) },
		}
		l.idle.L = &l.mu
		if !s.heardBy.add(l) {
			return nil, fmt.Errorf("listen to %s of sensor %s: %w: it has ended", output, s.spec.Name, ErrNoSensor)
		}
		return func() { s.heardBy.remove(l) }, nil
	}
	return nil, fmt.Errorf("%w: %s of sensor %s as %v; it has %s", ErrOutput, output, s.spec.Name, reflect.TypeFor[M](), strings.Join(known, ", "))
}

// Stop ends all of the sensor's listeners, as the function that Listen returned ends
// one. The sensor lives on.
func (s *Sensor) Stop() { s.heardBy.stop() }

// IsListening reports whether the sensor has listeners.
func (s *Sensor) IsListening() bool { return s.heardBy.any() }

// listeners are a sensor's Go callbacks.
type listeners struct {
	mu     sync.Mutex
	closed bool        // guarded by mu: the sensor has ended
	list   []*listener // guarded by mu
}

// add connects a listener, unless the sensor has ended.
func (x *listeners) add(l *listener) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return false
	}
	x.list = append(x.list, l)
	l.disconnect = l.outlet.Connect(l)
	return true
}

func (x *listeners) any() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.list) > 0
}

// remove ends one listener.
func (x *listeners) remove(l *listener) {
	x.mu.Lock()
	for i := range x.list {
		if x.list[i] == l {
			x.list = append(x.list[:i:i], x.list[i+1:]...)
			break
		}
	}
	x.mu.Unlock()
	l.stop()
	l.await()
}

// take removes all listeners from the list.
func (x *listeners) take(closing bool) []*listener {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := x.list
	x.list, x.closed = nil, x.closed || closing
	return list
}

// stop ends all listeners.
func (x *listeners) stop() {
	list := x.take(false)
	for _, l := range list {
		l.stop()
	}
	for _, l := range list {
		l.await()
	}
}

// close ends all listeners for good, without waiting for calls under way.
func (x *listeners) close() {
	for _, l := range x.take(true) {
		l.stop()
	}
}

// listener is a Go callback as a sink. It runs on the goroutine that publishes.
type listener struct {
	sensor     *Sensor
	outlet     *carry.Outlet
	receiver   *carry.Receiver
	call       func(at sensors.Tick, message any)
	disconnect func()

	mu      sync.Mutex
	idle    sync.Cond // running is 0
	running int       // guarded by mu: calls under way
	stopped bool      // guarded by mu
}

// stop lets no call begin any more.
func (l *listener) stop() {
	l.disconnect()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// await waits for the calls under way, unless it is within one.
func (l *listener) await() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running > 0 && inCallback() {
		return // its count stays with the output's
	}
	for l.running > 0 {
		l.idle.Wait()
	}
	l.receiver.Retire()
}

// Listening is always true: who doesn't want to listen any more stops.
func (l *listener) Listening() bool { return true }

// Status is always Connected, likewise.
func (l *listener) Status() flow.Status { return flow.Connected }

// TryQueue runs the callback before it returns.
func (l *listener) TryQueue(at sensors.Tick, message any) bool {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return true
	}
	l.running++
	l.mu.Unlock()
	callback(l, at, message)
	return true
}

// Publish runs the callback before it returns.
func (l *listener) Publish(_ context.Context, at sensors.Tick, message any) error {
	l.TryQueue(at, message)
	return nil
}

// callback runs a listener's function. It is not inlined: inCallback looks for it.
//
//go:noinline
func callback(l *listener, at sensors.Tick, message any) {
	returned := false
	defer func() {
		if !returned {
			if reason := recover(); reason != nil {
				l.failed(at, reason)
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running--; l.running == 0 {
			l.idle.Broadcast()
		}
	}()
	l.call(at, message)
	returned = true
	l.receiver.Sent(at.Started)
	if arrived := l.outlet.Sending(at.Seq); arrived != nil {
		arrived("")
	}
}

// failed counts a message whose callback panicked.
func (l *listener) failed(at sensors.Tick, reason any) {
	l.outlet.Dropped(flow.CauseCallbackFailed, 1)
	if arrived := l.outlet.Sending(at.Seq); arrived != nil {
		arrived(flow.CauseCallbackFailed)
	}
	l.sensor.env.Log.Error("a listener panicked", "panic", reason, "stack", string(debug.Stack()))
}

var callbackEntry = runtime.FuncForPC(reflect.ValueOf(callback).Pointer()).Entry()

// inCallback reports whether it is called, at whatever depth, by a listener's callback:
// who waited there for a callback to end might wait for itself. It walks the stack,
// which takes microseconds, and is for rare calls.
func inCallback() bool {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		if n == 0 {
			return false
		}
		frames := runtime.CallersFrames(pcs[:n])
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Entry == callbackEntry {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}
