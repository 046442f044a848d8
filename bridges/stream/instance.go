package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	server "github.com/raybridge/raybridge/sensors/stream"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	env    bridges.Env
	limit  int           // of a message, bytes; 0 for the protocol's
	status atomic.Uint32 // a bridges.Status

	mu     sync.Mutex
	server *server.Server    // guarded by mu: nil while disconnected
	before bridges.Diagnosis // guarded by mu: of the servers before this one
	topics []*topic          // guarded by mu: in the order of addition
	byName sync.Map          // of *topic, for Listening
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Directory = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int) *instance { return &instance{env: env, limit: limit} }

// topic is one topic. Its stream is another one with each connection.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	stream   server.Info
	out      atomic.Pointer[server.Stream] // nil while disconnected
}

// add makes a stream of a topic, at once if the server is there.
func (i *instance) add(info *bridges.PublishedTopic, kind wire.Kind) (*topic, error) {
	t := &topic{instance: i, info: info, stream: server.Info{
		Name: info.Name, Sensor: info.Sensor, SensorType: info.SensorType, Message: info.Wire,
		Type: wire.NewTypeID(info.SensorNumber, info.Output), Kind: kind, SchemaVersion: kind.Version(),
		Latched: info.QoS.Durability == flow.TransientLocal,
	}}
	if info.Name == server.Wildcard {
		return nil, fmt.Errorf("%w: %q stands for all topics", bridges.ErrTopicName, info.Name)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.server != nil {
		if err := t.open(i.server); err != nil {
			return nil, err
		}
	}
	i.topics = append(i.topics, t)
	i.byName.Store(info.Name, t)
	return t, nil
}

func (t *topic) open(s *server.Server) error {
	counted := bridges.Count(t.info, transport.StreamConfig{Latched: t.stream.Latched})
	out, err := s.AddStream(t.stream, counted.Written, counted.Settled)
	t.out.Store(out)
	return err
}

// publish serializes a message and queues it for the topic's clients.
func (t *topic) publish(ctx context.Context, msg any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	out := t.out.Load()
	if out == nil {
		return bridges.ErrNotConnected
	}
	if out.Subscribers() == 0 && !t.stream.Latched {
		return errUnheard
	}
	// Every sample and wire.Foreign has a stamp.
	now := t.instance.env.HandedOver(msg.(bridges.Stamped).Stamp())
	switch err := out.Publish(ctx, now, msg); {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrNoSubscribers):
		return errUnheard
	case errors.Is(err, server.ErrTooLarge):
		return fmt.Errorf("%w: %w: %w", bridges.ErrConvert, bridges.ErrTooLarge, err)
	default:
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
}

// errUnheard is returned for a message on a topic that no client has subscribed to.
var errUnheard = fmt.Errorf("%w: no client has subscribed to the topic", bridges.ErrNotConnected)

// Status is Connected while the server listens.
func (i *instance) Status() bridges.Status { return bridges.Status(i.status.Load()) }

// Listening reports whether a client has subscribed to the topic. It takes no lock.
func (i *instance) Listening(name string) bool { return i.Receivers(name) > 0 }

// Receivers counts the clients that receive the topic. It takes no lock.
func (i *instance) Receivers(name string) int {
	v, ok := i.byName.Load(name)
	if !ok {
		return 0
	}
	out := v.(*topic).out.Load()
	if out == nil {
		return 0
	}
	return out.Subscribers()
}

// Endpoints lists the topics; while the server listens, with its address.
func (i *instance) Endpoints() []bridges.Endpoint {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.server == nil {
		return nil
	}
	address := i.server.Addr().String()
	if len(i.topics) == 0 {
		return []bridges.Endpoint{{Address: address}}
	}
	list := make([]bridges.Endpoint, len(i.topics))
	for n, t := range i.topics {
		list[n] = bridges.Endpoint{Topic: t.info.Name, Sensor: t.info.Sensor, Address: address}
	}
	return list
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, _, err := parseConnection(connection)
	return err
}

// Connect begins to listen.
func (i *instance) Connect(ctx context.Context, connection string) error {
	address, config, err := parseConnection(connection)
	if err != nil {
		return err
	}
	if err := i.Disconnect(ctx); err != nil {
		return err
	}
	config.Log, config.MaxFrame = i.env.Log, i.limit
	return i.listen(address, config)
}

func (i *instance) listen(address string, config server.ServerConfig) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := server.NewServer(config)
	var err error
	for _, t := range i.topics { // before the first client comes
		err = errors.Join(err, t.open(s))
	}
	if err == nil {
		err = s.Listen(address)
	}
	if err != nil {
		i.forget()
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		return err
	}
	i.server = s
	i.status.Store(uint32(bridges.Connected))
	return nil
}

// forget takes the topics from their server; mu must be held.
func (i *instance) forget() {
	for _, t := range i.topics {
		t.out.Store(nil)
	}
}

// Disconnect delivers what waits, for as long as ctx allows and the clients take it,
// and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	i.mu.Lock()
	s := i.server
	i.server = nil
	i.forget()
	i.mu.Unlock()
	if s == nil {
		return nil
	}
	i.status.Store(uint32(bridges.Disconnecting))
	err := s.Close(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.before = i.before.Add(s.Diagnosis())
	i.status.Store(uint32(bridges.Disconnected))
	return err
}

// Diagnosis tells how the clients' connections fared.
func (i *instance) Diagnosis() bridges.Diagnosis {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.server == nil {
		return i.before
	}
	return i.before.Add(i.server.Diagnosis())
}
