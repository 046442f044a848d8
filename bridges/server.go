package bridges

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// ServerOptions are the options of connection strings that say how a server treats its clients.
type ServerOptions struct {
	Policy  flow.Policy `option:"policy" value:"drop_oldest|drop_newest|block" default:"drop_oldest" doc:"policy of a client's full queue"`
	Clients int         `option:"clients" value:"N" default:"16" doc:"clients at a time, at most" min:"1" max:"65535" want:"a whole number from 1 to 65535"`
	QueueOptions
}

// Server returns the configuration that the options ask for, with 0 for what isn't given.
func (o ServerOptions) Server() transport.Config {
	config := transport.Config{Queue: o.Queue(), MaxClients: o.Clients}
	config.Queue.Policy = o.Policy
	return config
}

// WebSocketOptions are the options of connection strings that say how a server treats the
// clients of its WebSocket.
type WebSocketOptions struct {
	Clients int      `option:"clients" value:"N" default:"16" doc:"clients at a time, at most" min:"1" max:"65535" want:"a whole number from 1 to 65535"`
	Origins []string `option:"origins" value:"HOST,..." doc:"whose web pages may connect too, as patterns; * lets all of them in"`
	Cert    string   `option:"cert" value:"FILE" doc:"certificate in PEM, for wss; goes with key" want:"a file"`
	Key     string   `option:"key" value:"FILE" doc:"the certificate's private key in PEM" want:"a file"`
	QueueOptions
}

// WebSocket returns the configuration that the options ask for. Errors wrap
// ErrConnectionString, or transport.ErrTLS where the certificate can't be used.
func (o WebSocketOptions) WebSocket() (config transport.Config, err error) {
	config = transport.Config{Queue: o.Queue(), MaxClients: o.Clients, WebSocket: &transport.WebSocketConfig{Origins: o.Origins}}
	for _, pattern := range o.Origins {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return config, fmt.Errorf("%w: origins=%q: want hosts between commas, such as viewer.example,https://*.lab.example:8443, or * for all pages",
				ErrConnectionString, strings.Join(o.Origins, ","))
		}
	}
	config.TLS, err = o.certificate()
	return config, err
}

// certificate reads the certificate, if one is named.
func (o WebSocketOptions) certificate() (*tls.Config, error) {
	switch {
	case o.Cert == "" && o.Key == "":
		return nil, nil
	case o.Cert == "" || o.Key == "":
		return nil, fmt.Errorf("%w: cert and key go together: want cert=FILE&key=FILE, both in PEM", ErrConnectionString)
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, fmt.Errorf("%w: read certificate %q with key %q: %w", transport.ErrTLS, o.Cert, o.Key, fault.File(err))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Count returns the configuration of a stream whose messages are counted on a topic. A message
// is sent when the first client has it. A latched one that no client has subscribed to is kept
// for those to come, and counts as sent too. A message is dropped when a client misses it, or
// when every client asked for fewer: of several clients it can be both.
func Count(topic *PublishedTopic, config transport.StreamConfig) transport.StreamConfig {
	config.Written = topic.Sent
	config.Settled = func(o transport.Outcome) {
		switch {
		case o.Dropped > 0:
			topic.Dropped(o.Cause)
		case o.Delivered > 0: // Written has counted it
		case config.Latched:
			topic.Sent(o.Bytes)
		default:
			topic.Dropped(flow.CausePeerSlow)
		}
	}
	return config
}

// Serving is a server while it lives: a *transport.Server, or what a protocol makes of one.
type Serving interface {
	// Listen accepts clients on HOST:PORT until Close. Errors wrap transport.ErrListen.
	Listen(address string) error
	// Addr returns the address that the server listens on.
	Addr() net.Addr
	// Close delivers what waits, for as long as ctx allows and the clients take it, and
	// disconnects them. All goroutines have ended when it returns.
	Close(ctx context.Context) error
	// Diagnosis tells how the connections fared.
	Diagnosis() Diagnosis
}

// ServerTopic is what a Server asks of a topic. An Outlet has all but Open.
type ServerTopic[S Serving] interface {
	// Open makes the topic's streams on a server: before the first client comes, or, for a topic
	// that is added later, while it listens.
	Open(ctx context.Context, server S) error
	// Shut forgets the streams.
	Shut()
	// Leave takes the topic's streams from the server that they are on, and tells the clients.
	Leave(server S)
	// Receivers counts the clients that receive the topic. It takes no lock.
	Receivers() int
	// Endpoint describes the topic; the address is set afterwards.
	Endpoint() Endpoint
}

// Server is the life of an instance whose peers connect to it, by one server after another. An
// instance that embeds one has all of Instance, Audience, Directory, Diagnoser and Withdrawer except
// Connect, which reads the connection string, disconnects and calls Serve. The zero value is
// ready. Methods may be called from any goroutine, but Serve and Disconnect one after the other,
// as Bridge does.
type Server[S Serving, T ServerTopic[S]] struct {
	transport.State
	serving atomic.Pointer[S] // nil while disconnected
	byName  sync.Map          // of T

	mu     sync.Mutex
	topics []T       // guarded by mu: in the order of addition
	ending *S        // guarded by mu: the server that is being closed
	before Diagnosis // guarded by mu: of the servers before
}

// Serving returns the server that listens, false while there is none. It takes no lock.
func (s *Server[S, T]) Serving() (server S, ok bool) {
	if p := s.serving.Load(); p != nil {
		return *p, true
	}
	return server, false
}

// Add adds a topic, and opens it at once if there is a server. An error is the topic's: it
// isn't added then.
func (s *Server[S, T]) Add(topic T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := topic.Endpoint().Topic
	s.byName.Store(name, topic) // first: a client finds it, or Open tells the client of it
	if server, ok := s.Serving(); ok {
		if err := topic.Open(context.Background(), server); err != nil { // there is nothing to wait for
			s.byName.Delete(name)
			return err
		}
	}
	s.topics = append(s.topics, topic)
	return nil
}

// Withdraw takes a topic out that was added, and from the server.
func (s *Server[S, T]) Withdraw(info *PublishedTopic) {
	topic, ok := s.Topic(info.Name)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName.Delete(info.Name)
	s.topics = slices.DeleteFunc(slices.Clone(s.topics), func(other T) bool { return other.Endpoint().Topic == info.Name })
	if server, ok := s.Serving(); ok {
		topic.Leave(server)
	}
	topic.Shut()
}

// Topics returns the topics in the order of addition.
func (s *Server[S, T]) Topics() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.topics[:len(s.topics):len(s.topics)]
}

// Topic returns the topic with that name. It takes no lock.
func (s *Server[S, T]) Topic(name string) (topic T, ok bool) {
	if v, ok := s.byName.Load(name); ok {
		return v.(T), true
	}
	return topic, false
}

// Serve opens all topics on a new server and begins to listen. A server that can't is closed,
// and the status is UnexpectedlyDisconnected.
func (s *Server[S, T]) Serve(ctx context.Context, address string, server S) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, topic := range s.topics { // before the first client comes
		err = errors.Join(err, topic.Open(ctx, server))
	}
	if err == nil {
		err = server.Listen(address)
	}
	if err != nil {
		s.shut()
		s.SetStatus(flow.UnexpectedlyDisconnected)
		if closing := server.Close(ctx); closing != nil {
			err = errors.Join(err, closing)
		}
		return err
	}
	s.serving.Store(&server)
	s.SetStatus(flow.Connected)
	return nil
}

// shut takes the topics from their server; mu must be held.
func (s *Server[S, T]) shut() {
	for _, topic := range s.topics {
		topic.Shut()
	}
}

// Disconnect delivers what waits, for as long as ctx allows and the clients take it, and ends
// all connections.
func (s *Server[S, T]) Disconnect(ctx context.Context) error {
	s.mu.Lock()
	s.ending = s.serving.Swap(nil)
	s.shut()
	ending := s.ending
	s.mu.Unlock()
	defer s.SetStatus(flow.Disconnected)
	if ending == nil {
		return nil
	}
	s.SetStatus(flow.Disconnecting)
	err := (*ending).Close(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.ending = s.before.Add((*ending).Diagnosis()), nil
	return err
}

// Diagnosis tells how the clients' connections fared, of all servers together.
func (s *Server[S, T]) Diagnosis() Diagnosis {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range []*S{s.serving.Load(), s.ending} {
		if server != nil {
			return s.before.Add((*server).Diagnosis())
		}
	}
	return s.before
}

// Listening reports whether a client receives the topic. It takes no lock.
func (s *Server[S, T]) Listening(name string) bool { return s.Receivers(name) > 0 }

// Receivers counts the clients that receive the topic. It takes no lock.
func (s *Server[S, T]) Receivers(name string) int {
	if topic, ok := s.Topic(name); ok {
		return topic.Receivers()
	}
	return 0
}

// Endpoints lists the topics with the server's address; nil while there is no server.
func (s *Server[S, T]) Endpoints() []Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	server, ok := s.Serving()
	if !ok {
		return nil
	}
	address := server.Addr().String()
	if len(s.topics) == 0 {
		return []Endpoint{{Address: address}}
	}
	list := make([]Endpoint, len(s.topics))
	for i, topic := range s.topics {
		list[i] = topic.Endpoint()
		list[i].Address = address
	}
	return list
}

// Outlet is a topic's place on the servers of a bridge: its stream there, another one with each
// connection. A ServerTopic embeds one, and its Open sets the stream.
type Outlet[P interface{ Subscribers() int }] struct {
	Info *PublishedTopic
	out  atomic.Pointer[P] // nil while disconnected
}

// SetStream gives the topic its stream on a server.
func (o *Outlet[P]) SetStream(stream P) { o.out.Store(&stream) }

// Stream returns the topic's stream, false while disconnected. It takes no lock.
func (o *Outlet[P]) Stream() (stream P, ok bool) {
	if p := o.out.Load(); p != nil {
		return *p, true
	}
	return stream, false
}

// Shut forgets the stream.
func (o *Outlet[P]) Shut() { o.out.Store(nil) }

// Receivers counts the clients that receive the stream. It takes no lock.
func (o *Outlet[P]) Receivers() int {
	if stream, ok := o.Stream(); ok {
		return stream.Subscribers()
	}
	return 0
}

// Latched reports whether the last message goes to those who subscribe later.
func (o *Outlet[P]) Latched() bool { return o.Info.QoS.Durability == flow.TransientLocal }

// Endpoint describes the topic, without an address.
func (o *Outlet[P]) Endpoint() Endpoint {
	return Endpoint{Topic: o.Info.Name, Sensor: o.Info.Sensor}
}
