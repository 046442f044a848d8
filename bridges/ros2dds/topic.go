//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// maxBlocking is how long a topic that keeps all messages waits for its readers, with
// each message.
const maxBlocking = time.Second

// errUnheard is returned for a message on a topic without readers.
var errUnheard = fmt.Errorf("%w: the topic has no reader", flow.ErrNotConnected)

// topic is one topic that is published. It has a writer with each connection.
type topic struct {
	endpoint
	instance *instance
	info     *bridges.PublishedTopic
	typeName string // ROS 2's

	mu      sync.Mutex
	out     *output              // guarded by mu: nil while disconnected
	encoder encode.BinaryEncoder // guarded by mu
	room    int                  // guarded by mu: what a message is expected to take, bytes
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
func (t *topic) send(ctx context.Context, message ros.Message, _ simtime.Stamp) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.out == nil:
		return flow.ErrNotConnected
	case !t.heard():
		return errUnheard
	}
	w := t.out.writer
	sample := w.Sample(t.room)
	w.Set(&sample, t.encoder.Append(sample.Bytes()[:0], message))
	size := sample.Len()
	t.room = size + size/8
	// Only a topic that keeps all messages can make its writer wait for readers. Then that is
	// left to the publisher only where the policy lets it wait.
	if size <= inlineSize && (!t.qos.KeepAll || t.info.Policy == flow.Block) && t.out.lane.tryWrite(parcel{out: t.out, sample: sample}) {
		return nil
	}
	err := t.out.lane.queue.Offer(ctx, parcel{out: t.out, sample: sample}, int64(size), t.info.Policy)
	if err == nil {
		return nil
	}
	sample.Release()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, flow.ErrClosed):
		return flow.ErrNotConnected
	default:
		return fmt.Errorf("%w: %w", flow.ErrPeerSlow, err)
	}
}

// attach sets or removes the way into a connection. When it returns, nobody uses the
// former one but its lane.
func (t *topic) attach(out *output) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = out
}

// lane is what waits to be given to the library, and the goroutine that does it.
type lane struct {
	queue *flow.Queue[parcel]
	done  chan struct{} // closed when the goroutine has ended

	// writing is held from before a message is taken from the queue until it is written. So a
	// goroutine that finds it free and the queue empty is next in order.
	writing sync.Mutex
}

// inlineSize is up to which size a message is written on its publisher's goroutine where
// nothing waits before it. It is in that processor's cache, and handing it to another takes
// longer than it gains.
const inlineSize = 2 << 20

// parcel is one message on its way to a topic's readers, or what ends the topic.
type parcel struct {
	out    *output
	sample cyclone.Sample
	end    func() // nil for a message
}

// newLane starts a lane, which wait ends.
func newLane(config flow.QueueConfig) *lane {
	l := &lane{done: make(chan struct{})}
	l.queue = flow.NewQueue(config, func(p parcel, reason flow.Cause) {
		if p.end != nil {
			p.end()
			return
		}
		p.sample.Release()
		cause := flow.CausePeerSlow
		if reason == flow.CauseClosed {
			cause = flow.CauseClosed
		}
		p.out.topic.info.Dropped(cause)
	})
	go l.run()
	return l
}

// run writes until the queue is finished and empty.
func (l *lane) run() {
	defer close(l.done)
	for {
		finished := l.queue.Finished() // asked before, so that nothing comes after the last look
		for l.writeNext() {
		}
		if finished {
			return
		}
		<-l.queue.Ready()
	}
}

// writeNext writes the oldest message, if there is one.
func (l *lane) writeNext() bool {
	l.writing.Lock()
	defer l.writing.Unlock()
	p, ok := l.queue.Pop()
	if ok {
		p.write()
	}
	return ok
}

// tryWrite writes a message on the caller's goroutine, unless others are before it.
func (l *lane) tryWrite(p parcel) bool {
	if !l.writing.TryLock() {
		return false
	}
	defer l.writing.Unlock()
	if n, _ := l.queue.Len(); n > 0 || l.queue.Finished() {
		return false
	}
	p.write()
	return true
}

// wait lets nothing more in and ends the goroutine once everything is written; when ctx
// ends, at once.
func (l *lane) wait(ctx context.Context) {
	l.queue.Finish()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.queue.Close()
		<-l.done
	}
}

// ended reports whether the goroutine has ended, whose topic was withdrawn.
func (l *lane) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// write gives the message to the library, and counts what became of it.
func (p parcel) write() {
	if p.end != nil {
		p.end()
		return
	}
	info, size := p.out.topic.info, p.sample.Len()
	switch err := p.out.writer.Write(p.sample); {
	case err == nil:
		info.Sent(size)
	case errors.Is(err, cyclone.ErrTimeout):
		info.Dropped(flow.CausePeerSlow)
	default:
		info.Dropped(flow.CauseWriteFailed)
		p.out.topic.instance.failed(err)
	}
}

// subscription is one topic that is read. It has a reader with each connection.
type subscription struct {
	endpoint
	instance *instance
	typeName string // ROS 2's
	inbox    ros.Inbox
	decoder  encode.BinaryDecoder // the reading goroutine's
}

// receive decodes and delivers a message, on the reading goroutine.
func (s *subscription) receive(data []byte, _ cyclone.Sender) {
	message := s.inbox.New()
	err := s.decoder.Decode(data, message)
	if err == nil {
		err = s.inbox.Deliver(message)
	}
	if err != nil {
		s.instance.malformed(fmt.Errorf("topic %s: %w", s.name, err))
	}
}
