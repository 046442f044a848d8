package ros2lgsvl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/link"
)

// instance is one client. Its methods may be called from any goroutine.
type instance struct {
	link.Client
	env   bridges.Env
	limit int64 // of a message that is published, bytes

	mu            sync.RWMutex
	subscriptions map[string]func(body []byte) error // guarded by mu: by topic
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Failer    = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int64) *instance {
	return &instance{env: env, limit: limit, subscriptions: map[string]func([]byte) error{}}
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, _, err := parseConnection(connection)
	return err
}

// Connect begins to dial.
func (i *instance) Connect(ctx context.Context, connection string) error {
	address, config, err := parseConnection(connection)
	if err != nil {
		return err
	}
	config.Log = i.env.Log
	config.Handle = i.handle
	config.Dial = func(ctx context.Context) (link.Conn, error) { return link.TCP{Size: frameSize}.Dial(ctx, address) }
	return i.Open(ctx, config)
}

// topic is the way of one topic's messages.
type topic struct {
	way *link.Way
	// head begins each frame: all that comes before the message's length.
	head  []byte
	limit int64 // of a message, bytes
	// size is that of the last frame, which the next one will have about.
	size atomic.Int64
}

// publish announces a topic.
func (i *instance) publish(info *bridges.PublishedTopic, wire string) (*topic, error) {
	if err := checkTopic(info.Name); err != nil {
		return nil, err
	}
	i.Register(appendText(appendText([]byte{opAddPublisher}, info.Name), wire))
	return &topic{way: i.NewWay(info), limit: i.limit, head: appendText([]byte{opPublish}, info.Name)}, nil
}

// send queues the message that encode appends.
func (t *topic) send(ctx context.Context, encode func(dst []byte) ([]byte, error)) error {
	b := t.way.Buffer(int(t.size.Load()))
	frame := append(b.Bytes()[:0], t.head...)
	frame = append(frame, 0, 0, 0, 0)
	body := len(frame)
	frame, err := encode(frame)
	if err != nil {
		b.Release()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	size := len(frame) - body
	if err := bridges.CheckSize(int64(size), t.limit); err != nil {
		b.Release()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	binary.LittleEndian.PutUint32(frame[body-4:], uint32(size))
	t.size.Store(int64(len(frame)))
	b.Adopt(frame)
	return t.way.Send(ctx, b)
}

// subscribe has deliver called with each message on a topic, on the reading goroutine.
func (i *instance) subscribe(name, wire string, deliver func(body []byte) error) error {
	if err := checkTopic(name); err != nil {
		return err
	}
	i.mu.Lock()
	i.subscriptions[name] = deliver
	i.mu.Unlock()
	i.Register(appendText(appendText([]byte{opAddSubscriber}, name), wire))
	return nil
}

var errNoSubscriber = errors.New("nothing was subscribed to on topic")

// handle takes a frame of the server.
func (i *instance) handle(frame []byte) error {
	name, body := splitPublish(frame)
	i.mu.RLock()
	deliver := i.subscriptions[string(name)]
	i.mu.RUnlock()
	if deliver == nil {
		return fmt.Errorf("%w %q", errNoSubscriber, name)
	}
	if err := deliver(body); err != nil {
		return fmt.Errorf("message on topic %q: %w", name, err)
	}
	return nil
}
