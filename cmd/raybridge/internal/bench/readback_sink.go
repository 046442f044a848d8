package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/sensors"
)

// delivery is what lies behind the readback, the same for both loops: a
// dispatcher whose workers encode each message as the mcap bridge does, into a
// recording that is thrown away.
type delivery struct {
	dispatcher *dispatch.Dispatcher
	bridge     *bridges.Bridge
	outlets    []*outlet

	mu  sync.Mutex
	err error // guarded by mu: the first message that was not sent
}

// openDelivery opens the recording and starts the dispatcher.
func openDelivery(ctx context.Context) (*delivery, error) {
	nowhere := func(string) (mcap.Target, error) { return discarded{}, nil }
	registry, err := bridges.NewRegistry(mcap.FactoryOn{Open: nowhere})
	if err != nil {
		return nil, err
	}
	// Not compressed: that would take more of the processor than all the rest.
	bridge, err := registry.Open("mcap:bench.mcap?compression=none", bridges.Env{})
	if err != nil {
		return nil, err
	}
	if err := bridge.Connect(ctx); err != nil {
		return nil, errors.Join(err, bridge.Close(ctx))
	}
	return &delivery{dispatcher: dispatch.New(dispatch.Config{Context: ctx, Logger: slog.New(slog.DiscardHandler)}), bridge: bridge}, nil
}

// close ends the dispatcher and the recording.
func (d *delivery) close() error {
	ctx := context.Background()
	return errors.Join(d.dispatcher.Close(ctx), d.bridge.Close(ctx))
}

// connect makes the outlet of one output of a sensor.
func (d *delivery) connect(sensor string, spec *sensors.OutputSpec, _ bool) (sensors.Sink, error) {
	topic := "/" + strings.ReplaceAll(sensor, ".", "_") + spec.Suffix
	publish, err := bridges.AddPublisherOf(d.bridge, spec.Type, bridges.Topic{Name: topic})
	if err != nil {
		return nil, err
	}
	o := &outlet{of: d, spec: spec, name: topic, publish: publish}
	o.done = dispatch.Task{Done: d.resolve}
	o.topic = dispatch.NewTopic(d.dispatcher, topic, o.send, dispatch.TopicConfig{Ordered: true})
	d.outlets = append(d.outlets, o)
	return o, o.topic.Err()
}

// resolve notes why a message was not sent.
func (d *delivery) resolve(err error) {
	if err == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = fmt.Errorf("a message was not published: %w", err)
	}
}

// failure returns why a message was not sent, or nil.
func (d *delivery) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// expect forgets what was delivered and makes room for the messages of so many
// captures. Nothing is under way.
func (d *delivery) expect(captures int) {
	for _, o := range d.outlets {
		o.arrivals = make([]arrival, 0, captures)
	}
}

// received returns what was delivered since expect, by output. Nothing is under
// way.
func (d *delivery) received() []stream {
	var list []stream
	for _, o := range d.outlets {
		list = append(list, stream{o.name, o.arrivals})
	}
	return list
}

// stream is what came of one output.
type stream struct {
	topic    string
	arrivals []arrival
}

// arrival is one published message.
type arrival struct {
	stamp int64  // simulation time
	sum   uint64 // of the data
	// The message's way, on the host's clock: its capture was announced, it was
	// handed to the dispatcher, a worker took it, it was encoded and written.
	started, queued, taken, published time.Time
}

// outlet carries one output to the recording. It is the output's sink.
type outlet struct {
	of      *delivery
	spec    *sensors.OutputSpec
	name    string
	publish bridges.Publisher[any]
	topic   *dispatch.Topic[*parcel]
	done    dispatch.Task
	scratch parcel // of TryQueue, which one goroutine at a time calls

	arrivals []arrival // appended to by send; the topic is ordered
}

var _ sensors.Sink = (*outlet)(nil)

// Listening is always true.
func (o *outlet) Listening() bool { return true }

// TryQueue copies the message into the dispatcher's queue.
func (o *outlet) TryQueue(at sensors.Tick, message any) bool {
	o.scratch = parcel{at: at, queued: time.Now(), spec: o.spec, message: message}
	ok := o.topic.TryQueueTask(&o.scratch, o.done)
	o.scratch.message = nil
	return ok
}

// Publish is TryQueue: nothing here is published at once.
func (o *outlet) Publish(_ context.Context, at sensors.Tick, message any) error {
	o.TryQueue(at, message)
	return nil
}

// send encodes and writes on a worker. The sum is taken after the message was
// published, of what was published.
func (o *outlet) send(ctx context.Context, p *parcel) error {
	a := arrival{stamp: p.message.(bridges.Stamped).Stamp(), started: p.at.Started, queued: p.queued, taken: time.Now()}
	if err := o.publish(ctx, p.message); err != nil {
		return err
	}
	a.published = time.Now()
	var err error
	a.sum, err = sumOf(p.message)
	o.arrivals = append(o.arrivals, a)
	return err
}

// parcel is what the dispatcher queues: any message. Its copy owns the message.
type parcel struct {
	at      sensors.Tick
	queued  time.Time
	spec    *sensors.OutputSpec
	message any
}

// CopyToCache makes dst a deep copy (law D3).
func (p *parcel) CopyToCache(dst *parcel) {
	message := dst.message
	if message == nil {
		message = p.spec.New()
	}
	p.spec.Copy(message, p.message)
	*dst = *p
	dst.message = message
}

// CacheKey is the message's own.
func (p *parcel) CacheKey() uint64 { return p.spec.Key(p.message) }

// SizeBytes is the size of the message's data.
func (p *parcel) SizeBytes() int64 {
	if s, ok := p.message.(dispatch.Sized); ok {
		return s.SizeBytes()
	}
	return 0
}

// discarded is a recording that is thrown away.
type discarded struct{}

func (discarded) Write(p []byte) (int, error)        { return len(p), nil }
func (discarded) Seek(o int64, _ int) (int64, error) { return o, nil }
func (discarded) Truncate(int64) error               { return nil }
func (discarded) Close() error                       { return nil }

var _ mcap.Target = discarded{}
