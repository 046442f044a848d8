//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// maxBlocking is how long a topic that keeps all messages waits for its readers, with
// each message.
const maxBlocking = time.Second

// errUnheard is returned for a message on a topic without readers.
var errUnheard = fmt.Errorf("%w: the topic has no reader", bridges.ErrNotConnected)

// topic is one topic that is published. It has a writer with each connection.
type topic struct {
	endpoint
	instance *instance
	info     *bridges.PublishedTopic
	typeName string // ROS 2's

	mu      sync.Mutex
	out     *output     // guarded by mu: nil while disconnected
	encoder cdr.Encoder // guarded by mu
	room    int         // guarded by mu: what a message is expected to take, bytes
}

// output is a topic's way into one connection.
type output struct {
	topic  *topic
	writer *cyclone.Writer
	lane   *lane
}

// endpointQoS is what is offered or asked for on a topic.
func endpointQoS(q flow.QoS, typeName string) (cyclone.EndpointQoS, error) {
	hash, err := ros.TypeHash(typeName)
	if err != nil {
		return cyclone.EndpointQoS{}, err
	}
	return cyclone.EndpointQoS{
		Reliable: q.Reliability != flow.BestEffort, TransientLocal: q.Durability == flow.TransientLocal,
		KeepAll: q.History == flow.KeepAll, Depth: q.Depth, Deadline: time.Duration(q.Deadline),
		MaxBlocking: maxBlocking, UserData: endpointData(hash),
	}, nil
}

// heard reports whether a message would reach anybody, now or later. It takes no lock.
func (t *topic) heard() bool { return t.qos.TransientLocal || t.events.Matched() > 0 }

// send encodes a message and queues it.
func (t *topic) send(ctx context.Context, message ros.Message, _ int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.out == nil:
		return bridges.ErrNotConnected
	case !t.heard():
		return errUnheard
	}
	w := t.out.writer
	sample := w.Sample(t.room)
	w.Set(&sample, t.encoder.Append(sample.Bytes()[:0], message))
	size := sample.Len()
	t.room = size + size/8
	// Only a topic that keeps all messages can make its writer wait for readers; then
	// that is left to the publisher only where the policy lets it wait.
	if size <= inlineSize && (!t.qos.KeepAll || t.info.Policy == flow.Block) && t.out.lane.tryWrite(parcel{t.out, sample}) {
		return nil
	}
	err := t.out.lane.queue.Offer(ctx, parcel{t.out, sample}, int64(size), t.info.Policy)
	if err == nil {
		return nil
	}
	sample.Release()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, queue.ErrClosed):
		return bridges.ErrNotConnected
	default:
		return fmt.Errorf("%w: %w", bridges.ErrPeerSlow, err)
	}
}

// attach sets or removes the way into a connection. When it returns, nobody uses the
// former one but its lane.
func (t *topic) attach(out *output) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = out
}
