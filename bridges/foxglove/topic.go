package foxglove

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// clockType is the message whose time is the protocol's too.
const clockType = "rosgraph_msgs/msg/Clock"

// maxMessage is the size of the largest message that is sent, bytes. Protobuf has no larger
// ones (protobuf.dev, "Proto Limits"), and those in CDR come to the same viewers.
const maxMessage = math.MaxInt32

// timeBytes is the size of the time before each message.
const timeBytes = 8

// topic is one channel. Its streams are others with each connection.
type topic struct {
	bridges.Outlet[*transport.Stream]
	instance *instance
	id       uint32
	channel  []byte // its advertisement, without what stands around it
	isClock  bool
	exact    bool // its messages tell their size before they are encoded

	// time is a clock's second stream, to all clients; its messages are the ones that count.
	time atomic.Pointer[transport.Stream]
	// replaying is set while a latched message is given to a new server, which doesn't
	// count it again.
	replaying atomic.Bool

	mu   sync.Mutex
	last []byte // guarded by mu: the latest frame of a latched topic
}

func newTopic(i *instance, info *bridges.PublishedTopic, id uint32, schema foxglovemsg.Schema) (*topic, error) {
	advertised, err := marshal(newChannel(id, info.Name, schema))
	if err != nil {
		return nil, err
	}
	return &topic{
		Outlet: bridges.Outlet[*transport.Stream]{Info: info}, instance: i, id: id, channel: advertised, isClock: schema.Name == clockType,
	}, nil
}

// Open makes the topic's streams on a server.
func (t *topic) Open(ctx context.Context, s *transport.Server) error {
	policy := t.Info.Policy
	config := transport.StreamConfig{Name: t.Info.Name, Latched: t.Latched(), Policy: &policy}
	if t.isClock {
		counted := config
		counted.Latched = false
		t.time.Store(s.NewStream(t.count(counted)))
	} else {
		config = t.count(config)
	}
	out := s.NewStream(config)
	t.SetStream(out)
	t.mu.Lock()
	last := t.last
	t.mu.Unlock()
	if last == nil {
		return nil
	}
	t.replaying.Store(true)
	defer t.replaying.Store(false)
	return post(ctx, out, last)
}

// Shut forgets the streams.
func (t *topic) Shut() {
	t.Outlet.Shut()
	t.time.Store(nil)
}

// Leave takes the streams from a server.
func (t *topic) Leave(s *transport.Server) {
	if out, ok := t.Stream(); ok {
		s.Remove(out)
	}
	if ticks := t.time.Load(); ticks != nil {
		s.Remove(ticks)
	}
}

// Receivers counts the clients that receive the topic, as a channel or as the server's time:
// those of the way that more of them chose. It takes no lock.
func (t *topic) Receivers() int {
	n := t.Outlet.Receivers()
	if ticks := t.time.Load(); ticks != nil {
		n = max(n, ticks.Subscribers())
	}
	return n
}

// Endpoint describes the topic, with its channel's number.
func (t *topic) Endpoint() bridges.Endpoint {
	e := t.Outlet.Endpoint()
	e.Stream = t.id
	return e
}

// count is bridges.Count for all messages that aren't replayed.
func (t *topic) count(config transport.StreamConfig) transport.StreamConfig {
	config = bridges.Count(t.Info, config)
	written, settled := config.Written, config.Settled
	config.Written = func(bytes int) {
		if !t.replaying.Load() {
			written(bytes)
		}
	}
	config.Settled = func(o transport.Outcome) {
		if !t.replaying.Load() {
			settled(o)
		}
	}
	return config
}

// send encodes a message and queues it for the topic's clients.
func (t *topic) send(ctx context.Context, m foxglovemsg.Message, stamp simtime.Stamp) error {
	out, ok := t.Stream()
	switch {
	case !ok:
		return flow.ErrNotConnected
	case !t.Latched() && t.Receivers() == 0:
		return transport.ErrNoSubscribers
	}
	now := t.instance.env.HandedOver(stamp)
	if now < 0 || t.isClock && stamp < 0 {
		return fmt.Errorf("%w: time %d ns, captured %d ns: the protocol has no negative times", bridges.ErrConvert, now, stamp)
	}
	if err := t.sendChannel(ctx, out, m, int64(now)); err != nil {
		return err
	}
	if ticks := t.time.Load(); ticks != nil {
		return t.sendTime(ctx, ticks, stamp)
	}
	return nil
}

// sendChannel queues a message on the topic's channel ("Message Data"): its time and its
// content, which all clients share.
func (t *topic) sendChannel(ctx context.Context, out *transport.Stream, m foxglovemsg.Message, now int64) error {
	size := m.Size()
	if t.exact {
		if err := bridges.CheckSize(int64(size), t.instance.limit); err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
	}
	message := out.NewMessage()
	size += timeBytes
	frame := message.Frame(0, size)
	frame.Reset(size)
	data, err := m.Append(binary.LittleEndian.AppendUint64(frame.Bytes()[:0], uint64(now)))
	if err == nil && !t.exact {
		err = bridges.CheckSize(int64(len(data))-timeBytes, t.instance.limit)
	}
	if err != nil {
		message.Discard()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	frame.Adopt(data)
	if t.Latched() {
		t.mu.Lock()
		t.last = bytes.Clone(data)
		t.mu.Unlock()
	}
	err = out.Send(ctx, message)
	if t.isClock && errors.Is(err, transport.ErrNoSubscribers) {
		return nil // the time goes out all the same
	}
	return err
}

// sendTime tells all clients the time ("Time").
func (t *topic) sendTime(ctx context.Context, ticks *transport.Stream, stamp simtime.Stamp) error {
	message := ticks.NewMessage()
	frame := message.Frame(0, 8)
	frame.Reset(8)
	binary.LittleEndian.PutUint64(frame.Bytes(), uint64(stamp))
	return ticks.Send(ctx, message)
}

// post queues a frame that is at hand.
func post(ctx context.Context, out *transport.Stream, frame []byte) error {
	message := out.NewMessage()
	message.Frame(0, len(frame)).Adopt(bytes.Clone(frame))
	return out.Send(ctx, message)
}
