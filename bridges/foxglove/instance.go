package foxglove

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/transport"
)

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	env        bridges.Env
	limit      int64         // of a message that is published, bytes
	status     atomic.Uint32 // a bridges.Status
	parameters parameters
	services   services
	inboxes    inboxes

	byName sync.Map // of *topic, for Listening

	connecting sync.Mutex // held while servers are exchanged

	// mu also orders what clients are told: a session that opens is either told of a topic
	// with all others, or later by itself.
	mu        sync.Mutex
	server    *transport.Server // guarded by mu: nil while disconnected
	sessionID string            // guarded by mu: the server's
	topics    []*topic          // guarded by mu: id = index + 1
	sessions  map[*session]bool // guarded by mu: those that are open
	before    bridges.Diagnosis // guarded by mu: of the servers before this one
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

// Status is Connected while the server listens.
func (i *instance) Status() bridges.Status { return bridges.Status(i.status.Load()) }

// Listening reports whether a client receives the topic. It takes no lock.
func (i *instance) Listening(name string) bool { return i.Receivers(name) > 0 }

// Receivers counts the clients that receive the topic. It takes no lock.
func (i *instance) Receivers(name string) int {
	v, ok := i.byName.Load(name)
	if !ok {
		return 0
	}
	return v.(*topic).receivers()
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
		list[n] = bridges.Endpoint{Topic: t.info.Name, Sensor: t.info.Sensor, Address: address, Stream: t.id}
	}
	return list
}

// Diagnosis adds up what happened to the connections of all servers of the instance.
func (i *instance) Diagnosis() bridges.Diagnosis {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.server == nil {
		return i.before
	}
	return i.before.Add(i.server.Diagnosis())
}

// add makes a channel of a topic and tells the clients that are there.
func (i *instance) add(info *bridges.PublishedTopic, schema foxglovemsg.Schema) (*topic, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	t, err := newTopic(i, info, uint32(len(i.topics)+1), schema)
	if err != nil {
		return nil, err
	}
	i.topics = append(i.topics, t)
	i.byName.Store(info.Name, t)
	if i.server == nil {
		return t, nil
	}
	if err := t.open(context.Background(), i.server); err != nil { // there is nothing to wait for
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
	// A session is told of the topics in one message of any number: all or none arrives.
	err = errors.Join(s.client.Post(transport.OpText, info), s.client.Post(transport.OpText, advertisement(i.topics)))
	if services := i.services.advertisement(); services != nil {
		err = errors.Join(err, s.client.Post(transport.OpText, services))
	}
	if err != nil {
		return err
	}
	i.sessions[s] = true
	for _, t := range i.topics {
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
	i.mu.Lock()
	defer i.mu.Unlock()
	if id == 0 || int64(id) > int64(len(i.topics)) {
		return nil
	}
	return i.topics[id-1]
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
	i.connecting.Lock()
	defer i.connecting.Unlock()
	if err := i.disconnect(ctx); err != nil {
		return err
	}
	config.Log = i.env.Log
	config.WebSocket.Name, config.WebSocket.Subprotocols = "raybridge's Foxglove server", subprotocols
	config.WebSocket.Accept = func(c *transport.WebSocket) transport.WebSocketSession { return newSession(i, c) }
	return i.listen(ctx, address, config)
}

// listen begins to listen; connecting must be held.
func (i *instance) listen(ctx context.Context, address string, config transport.Config) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := transport.New(config)
	var err error
	for _, t := range i.topics { // before the first client comes
		err = errors.Join(err, t.open(ctx, s))
	}
	i.sessionID = rand.Text()
	if err == nil {
		err = s.Listen(address)
	}
	if err != nil {
		i.forget()
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		return errors.Join(err, s.Close(ctx))
	}
	i.services.start()
	i.server = s
	i.status.Store(uint32(bridges.Connected))
	return nil
}

// forget takes the topics from their server; mu must be held.
func (i *instance) forget() {
	for _, t := range i.topics {
		t.close()
	}
}

// Disconnect delivers what waits, for as long as ctx allows and the clients take it,
// and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	i.connecting.Lock()
	defer i.connecting.Unlock()
	return i.disconnect(ctx)
}

// disconnect is Disconnect; connecting must be held.
func (i *instance) disconnect(ctx context.Context) error {
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
	i.services.stop()
	i.mu.Lock()
	i.before = i.before.Add(s.Diagnosis())
	i.mu.Unlock()
	i.status.Store(uint32(bridges.Disconnected))
	return err
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
