package rosbridge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// Forms of a server's messages, as transport numbers them.
const (
	formJSON = iota
	formCBOR
	formRaw
	forms
)

// server is a rosbridge server.
type server struct {
	*transport.Server
	instance *instance
	ros      ros.Version
	desk     *rosbridgev2.Desk
	newest   atomic.Int64 // the time of hand-over of the last message, nanoseconds

	mu       sync.Mutex
	sessions map[*session]bool // guarded by mu
}

func newServer(i *instance, c connection, services []rosbridgev2.Service) *server {
	s := &server{instance: i, ros: c.ros, desk: rosbridgev2.NewDesk(), sessions: map[*session]bool{}}
	config := c.server
	config.Log, config.MaxControl, config.WebSocket.Name = i.env.Log, i.kept, "rosbridge"
	config.WebSocket.Accept = func(client *transport.WebSocket) transport.WebSocketSession { return newSession(s, client) }
	s.Server = transport.New(config)
	for _, service := range services {
		s.desk.Open(service)
	}
	return s
}

// Open makes a topic's stream on a server, and gives it to the clients that asked for it before
// it was there.
func (t *topic) Open(_ context.Context, s *server) error {
	t.SetStream(s.NewStream(bridges.Count(t.Info, transport.StreamConfig{
		Name: t.Info.Name, Latched: t.Latched(), Policy: &t.Info.Policy,
	})))
	for _, session := range s.open() {
		session.appeared(t)
	}
	return nil
}

// Leave takes the topic's stream from a server. Its subscribers stay, for a topic of the name that
// comes later.
func (t *topic) Leave(s *server) {
	if stream, ok := t.Stream(); ok {
		s.Remove(stream)
	}
	for _, session := range s.open() {
		session.vanished(t)
	}
}

// open returns the sessions that there are.
func (s *server) open() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.sessions))
}

// publish encodes a topic's content once for each form that a client wants, and queues it
// for them; the topic's mu must be held.
func (s *server) publish(ctx context.Context, t *topic, stamp simtime.Stamp) error {
	stream, ok := t.Stream()
	if !ok {
		return flow.ErrNotConnected
	}
	now := s.instance.env.HandedOver(stamp)
	s.newest.Store(int64(now))
	if stream.Subscribers() == 0 && !t.Latched() {
		return transport.ErrNoSubscribers
	}
	m := stream.NewMessage()
	for form := range forms {
		if (t.Latched() || stream.Wants(form)) && !(t.foreign && form == formRaw) {
			b := m.Frame(form, t.sizes[form])
			frame, err := t.appendFrame(b.Bytes()[:0], form, s.ros, int64(now))
			if err != nil {
				m.Discard()
				return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
			}
			t.sizes[form] = len(frame)
			b.Adopt(frame)
		}
	}
	return stream.Send(ctx, m)
}

// appendFrame appends a publication in one form; mu must be held.
func (t *topic) appendFrame(dst []byte, form int, version ros.Version, now int64) ([]byte, error) {
	switch form {
	case formCBOR:
		return t.append(rosbridgev2.AppendCBORHead(dst, t.Info.Name), rosbridgev2.CBOR, version)
	case formRaw:
		dst, at := rosbridgev2.AppendRawHead(rosbridgev2.AppendCBORHead(dst, t.Info.Name), now)
		dst, err := t.append(dst, rosbridgev2.Raw, version)
		return rosbridgev2.SealRaw(dst, at), err
	default:
		dst = rosbridgev2.AppendPublishHead(dst, rosbridgev2.JSON, t.Info.Name, false)
		t.tree.NonFinite = encode.Null // browsers' JSON.parse refuses the words
		dst, err := t.append(dst, rosbridgev2.JSON, version)
		return rosbridgev2.Seal(dst, rosbridgev2.JSON, 0), err
	}
}

// Close delivers what waits and disconnects all clients.
func (s *server) Close(ctx context.Context) error {
	err := s.Server.Close(ctx)
	s.desk.Close(ctx)
	return err
}

func (s *server) enter(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[session] = true
}

func (s *server) leave(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session)
}

// topic returns one that is published, nil for none.
func (s *server) topic(name string) *topic {
	t, _ := s.instance.Topic(name)
	return t
}

// incoming returns the subscription to what clients publish on a topic.
func (s *server) incoming(name string) *incoming {
	s.instance.mu.Lock()
	defer s.instance.mu.Unlock()
	return s.instance.incoming[name]
}

// typeOf returns the full name of a topic's type, "" for a topic that there isn't.
func (s *server) typeOf(name string) string {
	if t := s.topic(name); t != nil {
		return t.wire()
	}
	if in := s.incoming(name); in != nil {
		return in.Type
	}
	return ""
}
