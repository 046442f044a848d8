package foxglove

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/transport"
)

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	bridges.Server[*transport.Server, *topic]
	env        bridges.Env
	limit      int64 // of a message that is published, bytes
	parameters parameters
	services   services
	inboxes    inboxes

	// mu also orders what clients are told: a session that opens is either told of a topic
	// with all others, or later by itself.
	mu        sync.Mutex
	sessionID string            // guarded by mu: the server's
	sessions  map[*session]bool // guarded by mu: those that are open
}

var (
	_ bridges.Checker         = (*instance)(nil)
	_ bridges.Instance        = (*instance)(nil)
	_ bridges.Audience        = (*instance)(nil)
	_ bridges.Directory       = (*instance)(nil)
	_ bridges.Diagnoser       = (*instance)(nil)
	_ bridges.ParameterServer = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int64) *instance {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	i := &instance{env: env, limit: limit, sessions: map[*session]bool{}}
	i.parameters.addRun(env.Run)
	return i
}

// add makes a channel of a topic and tells the clients that are there.
func (i *instance) add(info *bridges.PublishedTopic, schema foxglovemsg.Schema) (*topic, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	t, err := newTopic(i, info, uint32(len(i.Topics())+1), schema)
	if err != nil {
		return nil, err
	}
	if err := i.Add(t); err != nil {
		return nil, err
	}
	message := advertisement([]*topic{t})
	for s := range i.sessions {
		s.post(message)
		s.receiveTime(t)
	}
	return t, nil
}

// advertisement is the message that tells of topics ("Advertise").
func advertisement(topics []*topic) []byte {
	list := []byte(`{"op":"advertise","channels":[`)
	for n, t := range topics {
		if n > 0 {
			list = append(list, ',')
		}
		list = append(list, t.channel...)
	}
	return append(list, "]}"...)
}

// enter tells a client of everything, and sees that it is told of changes.
func (i *instance) enter(s *session) error {
	info, err := json.Marshal(serverInfo{
		Op: "serverInfo", Name: i.name(), Capabilities: capabilities, SupportedEncodings: clientEncodings,
		Metadata: map[string]string{"version": i.env.Run.Version, "scene": i.env.Run.Scene, "rig": i.env.Run.Rig}, SessionID: i.sessionID,
	})
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	topics := i.Topics()
	// A session is told of the topics in one message of any number: all or none arrives.
	err = errors.Join(s.client.Post(transport.OpText, info), s.client.Post(transport.OpText, advertisement(topics)))
	if services := i.services.advertisement(); services != nil {
		err = errors.Join(err, s.client.Post(transport.OpText, services))
	}
	if err != nil {
		return err
	}
	i.sessions[s] = true
	for _, t := range topics {
		s.receiveTime(t)
	}
	return nil
}

// name is what the server calls itself.
func (i *instance) name() string {
	if i.env.Run.Version == "" {
		return "raybridge"
	}
	return "raybridge " + i.env.Run.Version
}

func (i *instance) leave(s *session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.sessions, s)
}

// topic returns the topic with an id, nil for none.
func (i *instance) topic(id uint32) *topic {
	topics := i.Topics()
	if id == 0 || int64(id) > int64(len(topics)) {
		return nil
	}
	return topics[id-1]
}

// openSessions returns the sessions that are open now.
func (i *instance) openSessions() []*session {
	i.mu.Lock()
	defer i.mu.Unlock()
	list := make([]*session, 0, len(i.sessions))
	for s := range i.sessions {
		list = append(list, s)
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
	i.mu.Lock()
	i.sessionID = rand.Text()
	i.mu.Unlock()
	config.Log = i.env.Log
	config.WebSocket.Name, config.WebSocket.Subprotocols = "raybridge's Foxglove server", subprotocols
	config.WebSocket.Accept = func(c *transport.WebSocket) transport.WebSocketSession { return newSession(i, c) }
	i.services.start()
	if err := i.Serve(ctx, address, transport.New(config)); err != nil {
		i.services.stop()
		return err
	}
	return nil
}

// Disconnect delivers what waits, for as long as ctx allows and the clients take it,
// and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	defer i.services.stop()
	return i.Server.Disconnect(ctx)
}

// AddParameter offers a parameter.
func (i *instance) AddParameter(p bridges.Parameter) error { return i.parameters.add(p) }

// ParameterChanged tells those clients that want to know.
func (i *instance) ParameterChanged(name string) { i.tellParameters([]string{name}, nil) }

// tellParameters sends values to the clients that subscribed to them, but for one.
func (i *instance) tellParameters(names []string, but *session) {
	for _, s := range i.openSessions() {
		if s == but {
			continue
		}
		wanted := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !s.wants(name) })
		if len(wanted) > 0 {
			s.say(parameterValues{Op: "parameterValues", Parameters: i.parameters.values(wanted)})
		}
	}
}
