package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	bridges.Server[*Server, *topic]
	env   bridges.Env
	limit int   // of a message, bytes; 0 for the protocol's
	port  *Port // nil where the instance listens by itself, or is of pages
	page  *PagePort
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Directory = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int) *instance { return &instance{env: env, limit: limit} }

// topic is one topic.
type topic struct {
	bridges.Outlet[*Stream]
	instance *instance
	info     Info
	encoding *Encoding
	form     form // nil where samples are published as they are
}

// publisher makes a stream of a topic, at once if the server is there, and returns what
// publishes on it.
func (i *instance) publisher(info *bridges.PublishedTopic, e *Encoding) (bridges.SendSample, error) {
	return i.publisherOf(info, e, nil)
}

// publisherOf is publisher for samples that are shown in another form, where that isn't nil.
func (i *instance) publisherOf(info *bridges.PublishedTopic, e *Encoding, form form) (bridges.SendSample, error) {
	if info.Name == Wildcard {
		return nil, fmt.Errorf("%w: %q stands for all topics", bridges.ErrTopicName, info.Name)
	}
	t := &topic{Outlet: bridges.Outlet[*Stream]{Info: info}, instance: i, encoding: e, form: form}
	t.info = Info{
		Name: info.Name, Sensor: info.Sensor, SensorType: info.SensorType,
		Type: NewTypeID(info.SensorNumber, info.Output), Latched: t.Latched(),
	}
	if err := i.Add(t); err != nil {
		return nil, err
	}
	return t.publish, nil
}

// Open makes the topic's stream on a server.
func (t *topic) Open(_ context.Context, s *Server) error {
	counted := bridges.Count(t.Info, transport.StreamConfig{Latched: t.info.Latched})
	var shown *latest
	if t.form != nil {
		shown = newLatest(t.form, t.Info.Dropped, s.page.memory)
	}
	out, err := s.add(t.info, t.encoding, counted, shown)
	if err == nil {
		t.SetStream(out)
	}
	return err
}

// Leave ends the topic's stream.
func (t *topic) Leave(s *Server) {
	if out, ok := t.Stream(); ok {
		s.RemoveStream(out)
	}
}

// publish serializes a message and queues it for the topic's clients.
func (t *topic) publish(ctx context.Context, msg simtime.Stamped) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	out, ok := t.Stream()
	switch {
	case !ok:
		return flow.ErrNotConnected
	case out.Subscribers() == 0 && !t.info.Latched:
		return transport.ErrNoSubscribers
	}
	now := int64(t.instance.env.HandedOver(msg.Captured()))
	if out.latest != nil {
		return out.latest.offer(now, msg)
	}
	switch err := out.Publish(ctx, now, msg); {
	case err == nil, errors.Is(err, transport.ErrNoSubscribers):
		return err
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("%w: %w: %w", bridges.ErrConvert, flow.ErrTooLarge, err)
	default:
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	if (i.port != nil || i.page != nil) && connection == "" {
		return nil
	}
	_, _, err := parseConnection(connection)
	return err
}

// Connect begins to listen.
func (i *instance) Connect(ctx context.Context, connection string) error {
	address, config, err := parseConnection(connection)
	if err != nil {
		return err
	}
	if i.port != nil {
		config = i.port.config()
	}
	if err := i.Disconnect(ctx); err != nil {
		return err
	}
	config.Log, config.MaxFrame = i.env.Log, i.limit
	if i.page != nil {
		config = i.page.config()
		config.Log = i.env.Log
	}
	server := newServer(config, i.page)
	if server.port = i.port; server.port != nil {
		server.results = server.newResults()
	}
	return i.Serve(ctx, address, server)
}
