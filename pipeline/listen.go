package pipeline

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
)

// Listen calls call with every message of one output of a sensor until the listener is stopped.
// It does so on the goroutine that publishes it, one message at a time. M is the output's message
// type, a pointer; the message must not be changed and may be read until call returns. An output
// may have several listeners. An error says which outputs and types there are.
//
// A call that panics is counted as callback_failed among the output's drops and logged; the run
// continues, and so does the listener.
func Listen[M any](s *Sensor, output string, call func(at sensors.Tick, message M)) (*Listener, error) {
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
		l := &Listener{
			sensor: s, outlet: o, receiver: o.AddReceiver(),
			call: func(at sensors.Tick, m any) { call(at, m.(M)) },
		}
		l.idle.L = &l.mu
		if !s.heardBy.add(l) {
			return nil, fmt.Errorf("listen to %s of sensor %s: %w: it has ended", output, s.spec.Name, ErrNoSensor)
		}
		return l, nil
	}
	return nil, fmt.Errorf("%w: %s of sensor %s as %v; it has %s", ErrOutput, output, s.spec.Name, reflect.TypeFor[M](), strings.Join(known, ", "))
}

// Stop ends all of the sensor's listeners, as Listener.Stop ends one. It doesn't wait: call each
// listener's Wait for that. The sensor lives on.
func (s *Sensor) Stop() { s.heardBy.stop() }

// IsListening reports whether the sensor has listeners.
func (s *Sensor) IsListening() bool { return s.heardBy.any() }

// listeners are a sensor's Go callbacks.
type listeners struct {
	mu     sync.Mutex
	closed bool        // guarded by mu: the sensor has ended
	list   []*Listener // guarded by mu
}

// add connects a listener, unless the sensor has ended.
func (x *listeners) add(l *Listener) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return false
	}
	x.list = append(x.list, l)
	l.disconnect = l.outlet.Connect((*listenerSink)(l))
	return true
}

func (x *listeners) any() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.list) > 0
}

func (x *listeners) remove(l *Listener) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = slices.DeleteFunc(x.list, func(other *Listener) bool { return other == l })
}

// end ends all listeners with the sensor: none can be added any more.
func (x *listeners) end() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.stop()
}

// stop ends all listeners.
func (x *listeners) stop() {
	x.mu.Lock()
	list := x.list
	x.list = nil
	x.mu.Unlock()
	for _, l := range list {
		l.stop()
	}
}

// Listener is a callback that Listen has connected to a sensor's output. Its methods may be called
// from any goroutine.
type Listener struct {
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

// Stop lets no call begin any more, once it has returned. It doesn't wait for a call that is
// under way, so that callbacks may stop any listener; Wait does. Stopping again does nothing.
func (l *Listener) Stop() {
	l.sensor.heardBy.remove(l)
	l.stop()
}

// Wait waits until no call is under way. After Stop none will come either, and what the callback
// uses may be freed. A callback must not call it, of any listener: it might wait for itself.
func (l *Listener) Wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.running > 0 {
		l.idle.Wait()
	}
}

// stop lets no call begin any more.
func (l *Listener) stop() {
	l.disconnect()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.stopped = true
		l.settle()
	}
}

// settle ends the listener once it is stopped and no call is under way. It is called after either has
// happened. l.mu must be held.
func (l *Listener) settle() {
	if l.running > 0 {
		return
	}
	l.idle.Broadcast()
	if l.stopped {
		l.receiver.Retire()
	}
}

// listenerSink is a Listener as its output sees it. It runs the callback on the goroutine that
// publishes.
type listenerSink Listener

// Listening is always true: a listener that wants no more messages stops.
func (l *listenerSink) Listening() bool { return true }

// Status is always Connected, likewise.
func (l *listenerSink) Status() flow.Status { return flow.Connected }

// TryQueue runs the callback before it returns.
func (l *listenerSink) TryQueue(at sensors.Tick, message any) bool {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return true
	}
	l.running++
	l.mu.Unlock()
	(*Listener)(l).deliver(at, message)
	return true
}

// Publish runs the callback before it returns.
func (l *listenerSink) Publish(_ context.Context, at sensors.Tick, message any) error {
	l.TryQueue(at, message)
	return nil
}

// deliver runs the callback.
func (l *Listener) deliver(at sensors.Tick, message any) {
	returned := false
	defer func() {
		if !returned {
			if reason := recover(); reason != nil {
				l.failed(at, reason)
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
		l.settle()
	}()
	l.call(at, message)
	returned = true
	l.receiver.Sent(at.Started)
	if arrived := l.outlet.Sending(at.Seq); arrived != nil {
		arrived("")
	}
}

// failed counts a message whose callback panicked.
func (l *Listener) failed(at sensors.Tick, reason any) {
	l.outlet.Dropped(flow.CauseCallbackFailed, 1)
	if arrived := l.outlet.Sending(at.Seq); arrived != nil {
		arrived(flow.CauseCallbackFailed)
	}
	l.sensor.env.Log.Error("a listener panicked", "panic", reason, "stack", string(debug.Stack()))
}
