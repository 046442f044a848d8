// Package foxglove is the bridge "foxglove": it serves every topic with Foxglove's
// WebSocket protocol, for the Foxglove application and everything else that speaks it.
//
// # Connection
//
//	foxglove:[[HOST:]PORT][?messages=N][&bytes=N][&clients=N][&origins=HOST,...][&cert=FILE&key=FILE]
//
// The bridge listens on 127.0.0.1:8765 unless an address is given, with TLS (wss://) where a
// certificate and its key are named. It is connected as soon as it listens. A topic without
// clients isn't encoded, and its sensor computes nothing ([bridges.Audience]).
//
// # Protocol
//
// The subprotocols foxglove.sdk.v1 and foxglove.websocket.v1 have the same messages, as far as
// a server without playback control is concerned. The specification is docs/spec.md of
// foxglove/ws-protocol, "Foxglove WebSocket protocol v1", and rust/foxglove/src/protocol of
// foxglove/foxglove-sdk. A client that offers neither is refused.
//
// # Types
//
// Package foxglovemsg's: Foxglove's own schemas in protobuf where there is one, ROS 2
// messages in CDR else. A Clock is published on its topic and as the protocol's time, to
// all clients. The time stamp of a message is when it was handed over, in
// simulation time; the capture's stamp is in the message itself.
//
// # Queues
//
// Each client has a queue of its own, 64 messages and 64 MiB unless the options say otherwise.
// The topic's policy decides what happens when the queue is full. A client that loses messages
// is told so each second, and when it is over. One that takes nothing for ten seconds is
// disconnected.
//
// # Counts
//
// A message counts as sent when the first client has it, and as dropped once more if other
// clients miss it. One that nobody has subscribed to is not_connected.
//
// # What clients send
//
// Clients publish vehicle commands, parameters and service calls; see [Factory.Register].
package foxglove

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/simtime"
)

// DefaultAddress is where the bridge listens if the connection string has no address.
const DefaultAddress = "127.0.0.1:8765"

// Factory is the bridge named "foxglove".
type Factory struct {
	limit int64 // of a message, bytes; 0 for maxMessage
	kept  int   // for a client, bytes; 0 for guard.KeptBytes
}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "foxglove", Type: "foxglove", Kind: bridges.KindNetwork,
		Summary:    "serves every topic to Foxglove and other viewers that speak its WebSocket protocol",
		Connection: "[[HOST:]PORT]", Default: DefaultAddress, Options: bridges.OptionsOf(bridges.WebSocketOptions{}),
	}
}

// Register declares the messages of package foxglovemsg, the run's log, and the services that
// clients may call (those of std_srvs, in JSON). It declares what clients may publish: the
// subscriptions of rossample.StandardSubscriptions, in JSON, CDR and ROS 1's encoding.
func (f Factory) Register(p *bridges.Plugin) error {
	var list []error
	for _, pub := range foxglovemsg.Publications() {
		list = append(list, pub.Register(p, pub.Type, open))
	}
	for _, sub := range rossample.StandardSubscriptions() {
		list = append(list, f.RegSubscription(p, sub))
	}
	return errors.Join(append(list, registerServices(p), ros.CarryMirrors(p, f))...)
}

// RegPublication lets the bridge publish one more type, as a ROS 2 message (cdr, ros2msg).
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return foxglovemsg.RegisterROS(p, pub, open)
}

// RegSubscription lets clients publish one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, sub.Type, listen)
}

// NewInstance returns a server that doesn't listen yet.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := &instance{env: env, limit: cmp.Or(f.limit, maxMessage), kept: f.kept, sessions: map[*session]bool{}}
	i.parameters.addRun(env.Run)
	return i, nil
}

// open makes the way of one topic's messages.
func open(i bridges.Instance, info *bridges.PublishedTopic, schema foxglovemsg.Schema) (foxglovemsg.Send, error) {
	t, err := i.(*instance).add(info, schema)
	if err != nil {
		return nil, err
	}
	t.exact = schema.MessageEncoding == "protobuf"
	return t.send, nil
}

// parseConnection reads a connection string. Errors wrap bridges.ErrConnectionString, or
// transport.ErrTLS where the certificate can't be used.
func parseConnection(connection string) (address string, config transport.Config, err error) {
	var options bridges.WebSocketOptions
	target, _, err := bridges.ReadOptions(connection, &options)
	if err != nil {
		return "", config, err
	}
	if address, err = bridges.ListenAddress(target, DefaultAddress); err != nil {
		return "", config, err
	}
	config, err = options.WebSocket()
	return address, config, err
}

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	bridges.Server[*transport.Server, *topic]
	env        bridges.Env
	limit      int64 // of a message that is published, bytes
	kept       int   // as Factory has it
	parameters parameters
	services   services
	inboxes    inboxes

	// mu also orders what clients are told: a session that opens is either told of a topic
	// with all others, or later by itself.
	mu        sync.Mutex
	sessionID string            // guarded by mu: the server's
	sessions  map[*session]bool // guarded by mu: those that are open
	lastID    uint32            // guarded by mu: of a channel
	byID      sync.Map          // of *topic by channel's number, which is never used again
}

var (
	_ bridges.Checker         = (*instance)(nil)
	_ bridges.Instance        = (*instance)(nil)
	_ bridges.Audience        = (*instance)(nil)
	_ bridges.Directory       = (*instance)(nil)
	_ bridges.Diagnoser       = (*instance)(nil)
	_ bridges.ParameterServer = (*instance)(nil)
	_ bridges.Withdrawer      = (*instance)(nil)
)

// add makes a channel of a topic and tells the clients that are there.
func (i *instance) add(info *bridges.PublishedTopic, schema foxglovemsg.Schema) (*topic, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lastID++
	t, err := newTopic(i, info, i.lastID, schema)
	if err != nil {
		return nil, err
	}
	i.byID.Store(t.id, t)
	if err := i.Add(t); err != nil {
		i.byID.Delete(t.id)
		return nil, err
	}
	message := advertisement([]*topic{t})
	for s := range i.sessions {
		s.post(message)
		s.receiveTime(t)
	}
	return t, nil
}

// Withdraw takes a topic's channel back, and tells the clients ("Unadvertise").
func (i *instance) Withdraw(info *bridges.PublishedTopic) {
	i.mu.Lock()
	defer i.mu.Unlock()
	t, ok := i.Topic(info.Name)
	if !ok {
		return
	}
	i.byID.Delete(t.id) // first: nobody subscribes any more
	i.Server.Withdraw(info)
	news := unadvertise{Op: "unadvertise", ChannelIDs: []uint32{t.id}}
	for s := range i.sessions {
		s.lose(t)
		s.say(news)
	}
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
	s.client.Greet(transport.OpText, info)
	s.client.Greet(transport.OpText, advertisement(topics))
	if services := i.services.advertisement(); services != nil {
		s.client.Greet(transport.OpText, services)
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
	if t, ok := i.byID.Load(id); ok {
		return t.(*topic)
	}
	return nil
}

// openSessions returns the sessions that are open now.
func (i *instance) openSessions() []*session {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Keys(i.sessions))
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
	config.Log, config.MaxControl = i.env.Log, i.kept
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

// tellParameters sends values to the clients that subscribed to them, except one.
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

// CodecEncoding says that channels carry messages of any encoding.
func (Factory) CodecEncoding() string { return "" }

// RegCodec lets the bridge publish one more type, whose schema clients are told. A schema in
// "protobuf" is a serialised FileDescriptorSet.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return pub.Register(p, pub.Type, func(i bridges.Instance, info *bridges.PublishedTopic, schema bridges.Schema) (bridges.Send[bridges.Append], error) {
		send, err := open(i, info, schema)
		if err != nil {
			return nil, err
		}
		var message foxglovemsg.Appended
		return func(ctx context.Context, encode bridges.Append, stamp simtime.Stamp) error {
			message.Encode = encode
			return send(ctx, &message, stamp)
		}, nil
	})
}

// RegReader lets clients publish messages of one more type, in whatever encoding they
// advertise; "pkg/Type" and "pkg/msg/Type" are the same. A reader's error is told to the client.
func (Factory) RegReader(p *bridges.Plugin, sub bridges.Subscription[bridges.Encoded, bridges.Schema]) error {
	return sub.Register(p, sub.Type, func(i bridges.Instance, topic bridges.Topic, schema bridges.Schema, in bridges.Inbox[bridges.Encoded]) error {
		i.(*instance).inboxes.add(topic.Name, &inbox{typeName: fullName(schema.Name), anyEncoding: true, take: func(c *clientChannel, data []byte) error {
			return in.Deliver(bridges.Encoded{Encoding: c.encoding, Data: data})
		}})
		return nil
	})
}
