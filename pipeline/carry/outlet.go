package carry

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
)

// Account keeps account of what becomes of a sensor's messages. It is asked of each that goes to
// a receiver, with its firing's sequence number. The function that it returns, nil for none, is
// told the end: the cause for which the message isn't there, or "".
type Account func(seq uint64) (arrived func(flow.Cause))

// Outlet is one output on its topic. It counts what becomes of the output's messages, by receiver
// and by cause (law S5). Any goroutine may use it.
type Outlet struct {
	sensors.Port
	// Topic is what bridges are told of it; BridgeConfig.QoS goes before its quality of service.
	Topic   bridges.Topic
	account Account

	mu        sync.Mutex
	latency   flow.Latency // guarded by mu: from the capture's begin to the delivery
	drops     flow.Drops   // guarded by mu: of the sensor and its listeners; those of routes are the dispatcher's
	routes    routes       // guarded by mu: all that ever were
	receivers []*Receiver  // guarded by mu
	retired   int64        // guarded by mu: the most that a receiver had that is gone
	listened  bool         // guarded by mu
}

// NewOutlet makes the outlet of an output. Account may be nil.
func NewOutlet(port sensors.Port, topic bridges.Topic, account Account) *Outlet {
	return &Outlet{Port: port, Topic: topic, account: account, drops: flow.Drops{}}
}

// Sending asks the outlet's account, if it has one, of a message that goes to a receiver.
func (o *Outlet) Sending(seq uint64) (arrived func(flow.Cause)) {
	if o.account == nil {
		return nil
	}
	return o.account(seq)
}

// Receiver is one of those who receive an outlet's messages: a route, or a listener.
type Receiver struct {
	outlet *Outlet
	got    int64 // guarded by the outlet's mu
}

// AddReceiver counts the messages of one more receiver.
func (o *Outlet) AddReceiver() *Receiver {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &Receiver{outlet: o}
	o.receivers = append(o.receivers, r)
	return r
}

// Sent says that the receiver has a message whose capture began at started.
func (r *Receiver) Sent(started time.Time) {
	took := time.Since(started)
	o := r.outlet
	o.mu.Lock()
	defer o.mu.Unlock()
	r.got++
	o.latency.Add(took)
}

// Retire lets a receiver go that gets no more messages; its count stays.
func (r *Receiver) Retire() {
	o := r.outlet
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retired = max(o.retired, r.got)
	o.receivers = slices.DeleteFunc(o.receivers, func(other *Receiver) bool { return other == r })
}

// Dropped counts n messages lost by a cause before any receiver had them.
func (o *Outlet) Dropped(cause flow.Cause, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drops.Add(cause, int64(n))
}

// lost returns the messages lost by cause, those of routes too.
func (o *Outlet) lost() flow.Drops {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := maps.Clone(o.drops)
	for _, r := range o.routes {
		lost, _ := r.topic.Drops()
		all.Merge(lost)
	}
	return all
}

// Ways returns, by the bridges' names, how the dispatcher fares with what it brings there.
func (o *Outlet) Ways() iter.Seq2[string, dispatch.TopicStats] {
	return func(yield func(string, dispatch.TopicStats) bool) {
		for _, r := range o.connected() {
			if !yield(r.carrier.bridge.Info().Name, r.topic.Stats()) {
				return
			}
		}
	}
}

// heard notes whether somebody listens now, and reports whether anybody ever did.
func (o *Outlet) heard(now bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listened = o.listened || now
	return o.listened
}

// add adds a route that is connected.
func (o *Outlet) add(r *route) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.routes = append(o.routes, r)
}

// connected returns the outlet's routes.
func (o *Outlet) connected() routes {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.routes)
}

// Topics are those of one sensor: what it publishes, and what it is brought.
type Topics struct {
	// Sensor and Type are the sensor's name and the id of its type.
	Sensor, Type string
	Outlets      []*Outlet
	Inlets       []*Inlet
}

// Listening reports whether anybody would receive a message now.
func (t *Topics) Listening() bool {
	return slices.ContainsFunc(t.Outlets, func(o *Outlet) bool { return o.Listening() })
}

// NoteListening remembers which outlets have listeners now, before these end.
func (t *Topics) NoteListening() {
	for _, o := range t.Outlets {
		o.heard(o.Listening())
	}
}

// Dropped counts a firing that is lost: all outlets lack it.
func (t *Topics) Dropped(cause flow.Cause) {
	for _, o := range t.Outlets {
		o.Dropped(cause, 1)
	}
}

// Drops counts the lost firings by cause: of the outlets that share one, that which lost most.
func (t *Topics) Drops() flow.Drops {
	most := flow.Drops{}
	for _, o := range t.Outlets {
		for cause, n := range o.lost() {
			most[cause] = max(most[cause], n)
		}
	}
	return most
}

// Disconnect lets nothing more be published to bridges, and returns when what was has been sent,
// or the context ends.
func (t *Topics) Disconnect(ctx context.Context) { t.routes().disconnect(ctx) }

// close gives up what bridges haven't been sent. The run's mu must be held.
func (t *Topics) close() { t.routes().close() }

func (t *Topics) routes() (list routes) {
	for _, o := range t.Outlets {
		list = append(list, o.connected()...)
	}
	return list
}
