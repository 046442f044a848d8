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
)

// clockType is the message whose time is the protocol's too.
const clockType = "rosgraph_msgs/msg/Clock"

// maxMessage is the size of the largest message that is sent, bytes: protobuf has no larger
// ones (protobuf.dev, "Proto Limits"), and those in CDR come to the same viewers.
const maxMessage = math.MaxInt32

// timeBytes is the size of the time before each message.
const timeBytes = 8

// topic is one channel. Its streams are others with each connection.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	id       uint32
	channel  []byte // its advertisement, without what stands around it
	latched  bool
	isClock  bool
	exact    bool // its messages tell their size before they are encoded

	out atomic.Pointer[transport.Stream] // nil while disconnected
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
		instance: i, info: info, id: id, channel: advertised,
		latched: info.QoS.Durability == flow.TransientLocal, isClock: schema.Name == clockType,
	}, nil
}

// open makes the topic's streams on a server.
func (t *topic) open(ctx context.Context, s *transport.Server) error {
	policy := t.info.Policy
	config := transport.StreamConfig{Name: t.info.Name, Latched: t.latched, Policy: &policy}
	if t.isClock {
		counted := config
		counted.Latched = false
		t.time.Store(s.NewStream(t.count(counted)))
	} else {
		config = t.count(config)
	}
	out := s.NewStream(config)
	t.out.Store(out)
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

// close forgets the streams.
func (t *topic) close() {
	t.out.Store(nil)
	t.time.Store(nil)
}

// receivers counts the clients that receive the topic, as a channel or as the server's time:
// those of the way that more of them chose. It takes no lock.
func (t *topic) receivers() (n int) {
	for _, s := range []*transport.Stream{t.out.Load(), t.time.Load()} {
		if s != nil {
			n = max(n, s.Subscribers())
		}
	}
	return n
}

// count is bridges.Count for all messages that aren't replayed.
func (t *topic) count(config transport.StreamConfig) transport.StreamConfig {
	config = bridges.Count(t.info, config)
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

// errUnheard is returned for a message on a topic that no client has subscribed to.
var errUnheard = fmt.Errorf("%w: no client has subscribed to the topic", bridges.ErrNotConnected)

// send encodes a message and queues it for the topic's clients.
func (t *topic) send(ctx context.Context, m foxglovemsg.Message, stampNs int64) error {
	out := t.out.Load()
	if out == nil {
		return bridges.ErrNotConnected
	}
	if !t.latched && t.receivers() == 0 {
		return errUnheard
	}
	now := t.instance.env.HandedOver(stampNs)
	if now < 0 || t.isClock && stampNs < 0 {
		return fmt.Errorf("%w: time %d ns, captured %d ns: the protocol has no negative times", bridges.ErrConvert, now, stampNs)
	}
	if err := t.sendChannel(ctx, out, m, now); err != nil {
		return err
	}
	if ticks := t.time.Load(); ticks != nil {
		return t.sendTime(ctx, ticks, stampNs)
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
	if t.latched {
		t.mu.Lock()
		t.last = bytes.Clone(data)
		t.mu.Unlock()
	}
	err = out.Send(ctx, message)
	if errors.Is(err, transport.ErrNoSubscribers) {
		if t.isClock {
			return nil // the time goes out all the same
		}
		return errUnheard
	}
	return err
}

// sendTime tells all clients the time ("Time").
func (t *topic) sendTime(ctx context.Context, ticks *transport.Stream, stampNs int64) error {
	message := ticks.NewMessage()
	frame := message.Frame(0, 8)
	frame.Reset(8)
	binary.LittleEndian.PutUint64(frame.Bytes(), uint64(stampNs))
	if err := ticks.Send(ctx, message); errors.Is(err, transport.ErrNoSubscribers) {
		return errUnheard
	} else if err != nil {
		return err
	}
	return nil
}

// post queues a frame that is at hand.
func post(ctx context.Context, out *transport.Stream, frame []byte) error {
	message := out.NewMessage()
	message.Frame(0, len(frame)).Adopt(bytes.Clone(frame))
	return out.Send(ctx, message)
}
