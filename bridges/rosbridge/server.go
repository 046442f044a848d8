package rosbridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rosjson"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
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
	instance *instance
	ros      ros.Version
	ws       *transport.Server
	desk     *rosbridgev2.Desk
	streams  sync.Map     // of *topic by name
	newest   atomic.Int64 // the time of hand-over of the last message, nanoseconds

	mu       sync.Mutex
	sessions map[*session]bool // guarded by mu
}

func newServer(i *instance, c connection) *server {
	s := &server{instance: i, ros: c.ros, desk: rosbridgev2.NewDesk(), sessions: map[*session]bool{}}
	config := c.server
	config.Log, config.WebSocket.Name = i.env.Log, "rosbridge"
	config.WebSocket.Accept = func(client *transport.WebSocket) transport.WebSocketSession { return newSession(s, client) }
	s.ws = transport.New(config)
	return s
}

// open makes a topic's stream, and gives it to the clients that asked for it before it was
// there; the instance's mu must be held.
func (s *server) open(t *topic) {
	t.stream.Store(s.ws.NewStream(bridges.Count(t.info, transport.StreamConfig{
		Name: t.info.Name, Latched: t.latched(), Policy: &t.info.Policy,
	})))
	s.streams.Store(t.info.Name, t)
	s.mu.Lock()
	list := make([]*session, 0, len(s.sessions))
	for session := range s.sessions {
		list = append(list, session)
	}
	s.mu.Unlock()
	for _, session := range list {
		session.appeared(t)
	}
}

// latched topics hand their last message to whoever subscribes.
func (t *topic) latched() bool { return t.info.QoS.Durability == flow.TransientLocal }

// heard reports whether a client has subscribed. It takes no lock.
func (t *topic) heard() bool { return t.receivers() > 0 }

// receivers counts the clients of the server that have subscribed. It takes no lock.
func (t *topic) receivers() int {
	stream := t.stream.Load()
	if stream == nil {
		return 0
	}
	return stream.Subscribers()
}

// errUnheard is returned for a message on a topic that no client has subscribed to.
var errUnheard = fmt.Errorf("%w: no client has subscribed to the topic", bridges.ErrNotConnected)

// publish encodes a topic's content once for each form that a client wants, and queues it
// for them; the topic's mu must be held.
func (s *server) publish(ctx context.Context, t *topic, stampNs int64) error {
	stream := t.stream.Load()
	if stream == nil {
		return bridges.ErrNotConnected
	}
	now := s.instance.env.HandedOver(stampNs)
	s.newest.Store(now)
	if stream.Subscribers() == 0 && !t.latched() {
		return errUnheard
	}
	m := stream.NewMessage()
	for form := range forms {
		if (t.latched() || stream.Wants(form)) && !(t.foreign && form == formRaw) {
			b := m.Frame(form, t.sizes[form])
			frame, err := t.appendFrame(b.Bytes()[:0], form, s.ros, now)
			if err != nil {
				m.Discard()
				return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
			}
			t.sizes[form] = len(frame)
			b.Adopt(frame)
		}
	}
	if err := stream.Send(ctx, m); errors.Is(err, transport.ErrNoSubscribers) {
		return errUnheard
	} else if err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrClosed, err)
	}
	return nil
}

// appendFrame appends a publication in one form; mu must be held.
func (t *topic) appendFrame(dst []byte, form int, version ros.Version, now int64) ([]byte, error) {
	switch form {
	case formCBOR:
		return t.append(rosbridgev2.AppendCBORHead(dst, t.info.Name), rosbridgev2.CBOR, version)
	case formRaw:
		dst, at := rosbridgev2.AppendRawHead(rosbridgev2.AppendCBORHead(dst, t.info.Name), now)
		dst, err := t.append(dst, rosbridgev2.Raw, version)
		return rosbridgev2.SealRaw(dst, at), err
	default:
		dst = rosbridgev2.AppendPublishHead(dst, rosbridgev2.JSON, t.info.Name, false)
		t.json.NonFinite = rosjson.Null // browsers' JSON.parse refuses the words
		dst, err := t.append(dst, rosbridgev2.JSON, version)
		return rosbridgev2.SealPublish(dst, rosbridgev2.JSON, 0), err
	}
}

// close delivers what waits and disconnects all clients.
func (s *server) close(ctx context.Context) error {
	err := s.ws.Close(ctx)
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

// topic returns one that is published.
func (s *server) topic(name string) *topic {
	v, ok := s.streams.Load(name)
	if !ok {
		return nil
	}
	return v.(*topic)
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
