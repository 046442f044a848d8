package carry

import (
	"context"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// route carries what one outlet publishes to one topic of one bridge, through the
// dispatcher: it is the output's sink.
type route struct {
	carrier    *carrier
	outlet     *Outlet
	topic      *dispatch.Topic[*envelope]
	publish    bridges.Publisher[any]
	receiver   *Receiver   // connect makes it
	queued     *flow.Usage // messages that the dispatcher has
	done       func(error) // made once: a queued message allocates nothing
	disconnect func()      // from the port; nil before connect
}

// newRoute connects an outlet with a topic of a bridge; the error wraps
// bridges.ErrNoConverter where the bridge doesn't know the message's type.
func newRoute(c *carrier, o *Outlet) (*route, error) {
	topic := o.Topic
	if q, ok := c.config.QoS[topic.Name]; ok {
		topic.QoS = q
	}
	topic.Policy = c.topic.Policy
	publish, err := bridges.AddPublisherOf(c.bridge, o.Spec().Type, topic)
	if err != nil {
		return nil, err
	}
	r := &route{carrier: c, outlet: o, publish: publish, queued: flow.NewUsage()}
	r.done = func(err error) {
		c.failed(err)
		r.queued.Exit()
	}
	config := c.topic
	config.IgnorePause = topic.Sensor == "" // the clock and the log
	r.topic = dispatch.NewTopic(c.run.config.Dispatcher, topic.Name, r.send, config)
	if err := r.topic.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.routes = append(c.routes, r)
	return r, nil
}

// send runs on a dispatcher's worker, or on the goroutine that publishes.
func (r *route) send(ctx context.Context, e *envelope) error {
	if err := r.carrier.send(ctx, r.publish, e); err != nil {
		return err
	}
	r.receiver.Sent(e.at.Started)
	return nil
}

// Listening reports whether the bridge takes messages: it is connected, and somebody
// behind it wants the topic. Samples wait for the clock besides.
func (r *route) Listening() bool {
	if r.isClock() {
		return r.carrier.clockWanted()
	}
	return !r.carrier.noClock.Load() && r.carrier.bridge.Listening(r.topic.Name())
}

// Status is that of the bridge.
func (r *route) Status() flow.Status { return r.carrier.bridge.Status() }

func (r *route) isClock() bool { return r.outlet == r.carrier.run.clock }

// TryQueue copies the message into the dispatcher's queue.
func (r *route) TryQueue(at sensors.Tick, message any) bool {
	e, done := r.take(at, message)
	if e == nil {
		return true // nobody listens here any more
	}
	ok := r.topic.TryQueueTask(e, dispatch.Task{Done: done})
	r.offered(e)
	return ok
}

// Publish sends the message before it returns.
func (r *route) Publish(ctx context.Context, at sensors.Tick, message any) error {
	e, done := r.take(at, message)
	if e == nil {
		return nil // nobody listens here any more
	}
	err := r.topic.Publish(ctx, e)
	r.offered(e)
	done(err)
	return err
}

// take begins a message's way: it returns the message as the dispatcher takes it, and what
// is to be told of its end. It returns nil where the route has ended.
func (r *route) take(at sensors.Tick, message any) (e *envelope, done func(error)) {
	if !r.queued.Begin() {
		return nil, nil
	}
	done = r.done
	if arrived := r.outlet.Sending(at.Seq); arrived != nil {
		done = func(err error) {
			arrived(flow.CauseOf(err))
			r.done(err)
		}
	}
	e = scratch.Get().(*envelope)
	*e = envelope{at: at, queued: r.carrier.run.instant.Load(), spec: r.outlet.Spec(), message: message}
	return e, done
}

// offered follows when the dispatcher has the message: samples may follow a clock.
func (r *route) offered(e *envelope) {
	*e = envelope{}
	scratch.Put(e)
	if r.isClock() {
		r.carrier.clockSent()
	}
}

// scratch lends envelopes for the time of one TryQueue call.
var scratch = sync.Pool{New: func() any { return new(envelope) }}

// envelope is what the dispatcher queues: a message of any type with the
// capture it belongs to. Its copy owns the message, which the topic's pool
// keeps for the next one.
type envelope struct {
	at      sensors.Tick
	queued  simtime.Stamp // the instant of a stepped run at which it was queued: a recording's log time
	spec    *sensors.OutputSpec
	message any
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
	if s, ok := e.message.(dispatch.Sized); ok {
		return s.SizeBytes()
	}
	return 256
}

// routes are those of one bridge or sensor that come to be together, or not at all.
type routes []*route

// connect lets the outputs publish to the routes.
func (list routes) connect() {
	for _, r := range list {
		r.receiver = r.outlet.AddReceiver()
		r.disconnect = r.outlet.Connect(r)
		r.outlet.add(r)
	}
}

// disconnect lets nothing more be published to the routes, and returns when what was
// has been sent, or the context ends.
func (list routes) disconnect(ctx context.Context) {
	for _, r := range list {
		r.disconnect()
	}
	for _, r := range list {
		select {
		case <-r.queued.Close():
		case <-ctx.Done():
			return
		}
	}
}

// close gives the routes up, with what they haven't sent; the run's mu must be held.
func (list routes) close() {
	for _, r := range list {
		if r.disconnect != nil {
			r.disconnect()
		}
		r.topic.Close()
		r.carrier.leave(r)
		delete(r.carrier.topics, r.topic.Name())
		r.carrier.bridge.Withdraw(r.topic.Name())
	}
}
