// Package rosbridgetest is a rosbridge server for tests: it keeps no ROS behind it, but
// records what its clients advertise and publish, hands publications on to those that
// subscribed, and misbehaves when it is told to.
//
// It is written from the rosbridge v2 protocol specification (rosbridge_suite,
// ROSBRIDGE_PROTOCOL.md) alone, and shares no code with the bridge: it has its own BSON,
// and decodes JSON and CBOR with libraries of others into plain maps.
//
// # Usage
//
//	server := rosbridgetest.New(rosbridgetest.Config{})
//	err := server.Start()
//	defer server.Kill()
//	... connect a bridge to server.Addr()
//	server.Advertised()               // {"/points": "sensor_msgs/PointCloud2"}
//	server.Messages("/points")        // what was published
//	server.Publish("/cmd_vel", rosbridgetest.Outgoing{Values: twist})
//	server.Call(ctx, "/reset", nil)   // a service that the bridge offers
//
// # What it speaks
//
// The operations advertise, unadvertise, publish, subscribe (compression none, cbor and
// cbor-raw, throttle_rate, fragment_size), unsubscribe, advertise_service,
// unadvertise_service, call_service, service_response, set_level, fragment; png and auth
// are answered by a status of level error, as is whatever isn't of the protocol. With
// BSONOnly every frame in both directions is one BSON document, as rosbridge_server's
// parameter bson_only_mode has it.
//
// It knows no message definitions, so it can't tell whether a message conforms to its
// type, and routes a client's message to subscribers in the shape in which it came.
// Messages that [Server.Publish] is given have the shape that rosbridge gives them:
// bytes are base64 in JSON, byte strings in CBOR and binary in BSON; numeric slices are
// typed arrays in CBOR (RFC 8746).
//
// # Concurrency
//
// All methods may be called from any goroutine. Every client has one that reads;
// writing is done by whoever has something to send.
package rosbridgetest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
)

// Config says how a server behaves. The zero value is a server of JSON on a free port.
type Config struct {
	// Address is where it listens; any free port of 127.0.0.1 by default.
	Address string
	// BSONOnly makes every frame a BSON document, as bson_only_mode does.
	BSONOnly bool
	// TLS makes it a server of wss.
	TLS *tls.Config
	// Keep is how many messages of each topic are kept for Messages (default 1000); -1
	// decodes nothing but counts the bytes, for measurements.
	Keep int
	// Published is called with each message of a topic, in the order in which they came
	// from a client, on that client's goroutine. (optional)
	Published func(topic string, m Message)
	// MaxMessageSize is the largest frame, bytes: a larger one ends the connection. It is
	// that of ROS 2's rosbridge_server by default, and none with BSONOnly or Keep -1.
	MaxMessageSize int64
	// NoTypes are message types that it knows not: advertising one is refused by a
	// status of level error.
	NoTypes []string
}

// Message is what a client published.
type Message struct {
	// Type is what the topic was advertised as.
	Type string
	// Values is the message: JSON with numbers as json.Number, or BSON.
	Values map[string]any
	// Frame is the whole frame as it came, Binary whether it was a binary one.
	Frame  []byte
	Binary bool
	// Latch says that it is kept for those who subscribe later.
	Latch bool
}

// Outgoing is a message that the server publishes.
type Outgoing struct {
	// Values is the message with numbers, strings, bools, []byte, slices and maps; Raw
	// the same as ROS serializes it, for subscribers with cbor-raw.
	Values map[string]any
	Raw    []byte
	// Secs and Nsecs are when it was received, as cbor-raw tells.
	Secs, Nsecs uint32
}

// Server is a rosbridge server. It outlives Kill: Start lets it run again at the same
// address, with its counts and records.
type Server struct {
	config Config
	gate   gate
	refuse atomic.Int32 // an HTTP status, or refuseByRubbish; 0 refuses nobody

	mu       sync.Mutex
	address  string                // guarded by mu: HOST:PORT since the first Start
	run      *run                  // guarded by mu: nil while it doesn't run
	received map[string]int        // guarded by mu
	bytes    int64                 // guarded by mu
	messages map[string][]Message  // guarded by mu
	statuses []string              // guarded by mu: of level error, as sent
	waiting  map[string]*response  // guarded by mu: calls by the id they were passed on with
	calls    int                   // guarded by mu
	levels   map[*client]string    // guarded by mu
	ever     map[string]advertised // guarded by mu: all topics since New
}

type advertised struct{ Type string }

// run is the time from a Start to a Kill.
type run struct {
	listener net.Listener
	http     *http.Server
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	clients  map[*client]bool // guarded by the server's mu
}

// New returns a server that doesn't run yet.
func New(config Config) *Server {
	if config.Address == "" {
		config.Address = "127.0.0.1:0"
	}
	if config.Keep == 0 {
		config.Keep = 1000
	}
	if config.MaxMessageSize == 0 {
		config.MaxMessageSize = 10_000_000
		if config.BSONOnly || config.Keep < 0 {
			config.MaxMessageSize = -1
		}
	}
	s := &Server{
		config: config, address: config.Address,
		received: map[string]int{}, messages: map[string][]Message{}, waiting: map[string]*response{},
		levels: map[*client]string{}, ever: map[string]advertised{},
	}
	s.gate.init()
	return s
}

// Start begins to listen. A server that runs already goes on.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.address = listener.Addr().String()
	listener = gatedListener{listener, s}
	if s.config.TLS != nil {
		listener = tls.NewListener(listener, s.config.TLS)
	}
	r := &run{listener: listener, clients: map[*client]bool{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.http = &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { s.accept(r, w, q) }),
		ErrorLog: discard,
	}
	r.wg.Go(func() { _ = r.http.Serve(listener) })
	s.run = r
	return nil
}

// Addr returns HOST:PORT. It is final once Start was called.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Kill ends all connections without a goodbye and stops listening. A server that doesn't
// run stays so.
func (s *Server) Kill() {
	s.mu.Lock()
	r := s.run
	s.run = nil
	s.mu.Unlock()
	if r == nil {
		return
	}
	_ = r.http.Close()
	r.cancel()
	s.drop(r)
	s.gate.open()
	r.wg.Wait()
}

// Drop ends all connections without a goodbye; the server goes on listening.
func (s *Server) Drop() {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r != nil {
		s.drop(r)
	}
}

func (s *Server) drop(r *run) {
	for _, c := range s.clients(r) {
		_ = c.conn.CloseNow()
	}
}

func (s *Server) clients(r *run) []*client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r == nil {
		r = s.run
	}
	if r == nil {
		return nil
	}
	return slices.Collect(maps.Keys(r.clients))
}

// Stall lets the server read nothing more until Resume, its connections open.
func (s *Server) Stall() { s.gate.shut() }

// Resume lets a stalled server read on.
func (s *Server) Resume() { s.gate.open() }

// Refuse lets the server answer each further connection by an HTTP status; 0 accepts
// them again.
func (s *Server) Refuse(status int) { s.refuse.Store(int32(status)) }

// refuseByRubbish answers connections by what isn't HTTP.
const refuseByRubbish = -1

// SpeakOther lets the server answer each further connection in another protocol.
func (s *Server) SpeakOther() { s.refuse.Store(refuseByRubbish) }

// Rubbish sends all clients frames that aren't of the protocol.
func (s *Server) Rubbish() {
	for _, c := range s.clients(nil) {
		for _, frame := range []string{"}", `{"op":"publish"`, `{"op":7}`, `[]`, `{"topic":"/x"}`, `{"op":"publish","topic":"/x"}`, "\x00"} {
			_ = c.write(c.server.binary(), []byte(frame))
		}
		_ = c.write(websocket.MessageBinary, []byte{0xff, 0x00, 0x9f})
	}
}

// SendFrame sends all clients one frame as it is.
func (s *Server) SendFrame(binary bool, frame []byte) {
	kind := websocket.MessageText
	if binary {
		kind = websocket.MessageBinary
	}
	for _, c := range s.clients(nil) {
		_ = c.write(kind, frame)
	}
}

func (s *Server) binary() websocket.MessageType {
	if s.config.BSONOnly {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}

// Connections returns how many clients there are.
func (s *Server) Connections() int { return len(s.clients(nil)) }

// Advertised returns the topics that clients advertise now, with their types.
func (s *Server) Advertised() map[string]string {
	all := map[string]string{}
	for _, c := range s.clients(nil) {
		c.mu.Lock()
		maps.Copy(all, c.topics)
		c.mu.Unlock()
	}
	return all
}

// Subscribed returns the topics that clients subscribe to now, with the types and the
// compression that they asked for, such as "geometry_msgs/Twist cbor".
func (s *Server) Subscribed() map[string]string {
	all := map[string]string{}
	for _, c := range s.clients(nil) {
		c.mu.Lock()
		for _, sub := range c.subscriptions {
			all[sub.Topic] = sub.Type + " " + sub.Compression
		}
		c.mu.Unlock()
	}
	return all
}

// Subscriptions returns how many subscriptions clients have to a topic now. A client with
// several is sent each message once.
func (s *Server) Subscriptions(topic string) int {
	n := 0
	for _, c := range s.clients(nil) {
		c.mu.Lock()
		for _, sub := range c.subscriptions {
			if sub.Topic == topic {
				n++
			}
		}
		c.mu.Unlock()
	}
	return n
}

// Services returns the services that clients offer now, with their types.
func (s *Server) Services() map[string]string {
	all := map[string]string{}
	for _, c := range s.clients(nil) {
		c.mu.Lock()
		maps.Copy(all, c.services)
		c.mu.Unlock()
	}
	return all
}

// Received returns how many messages of each topic have come since New.
func (s *Server) Received() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.received)
}

// Bytes returns how many bytes of messages have come since New.
func (s *Server) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Messages returns the messages of a topic that were kept, in the order in which they
// came.
func (s *Server) Messages(topic string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages[topic])
}

// Topics returns every topic that was ever advertised, sorted.
func (s *Server) Topics() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.ever))
}

// Statuses returns the complaints that the server sent.
func (s *Server) Statuses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statuses)
}

func (s *Server) accept(r *run, w http.ResponseWriter, q *http.Request) {
	switch status := s.refuse.Load(); {
	case status == refuseByRubbish:
		s.answerOther(w)
		return
	case status != 0:
		w.WriteHeader(int(status))
		return
	}
	conn, err := websocket.Accept(w, q, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	conn.SetReadLimit(s.config.MaxMessageSize)
	c := newClient(s, r, conn)
	s.mu.Lock()
	if s.run != r {
		s.mu.Unlock()
		_ = conn.CloseNow()
		return
	}
	r.wg.Add(1) // Kill takes the run away before it waits
	r.clients[c] = true
	s.mu.Unlock()
	defer r.wg.Done()
	c.serve(r.ctx)
	s.mu.Lock()
	delete(r.clients, c)
	delete(s.levels, c)
	s.mu.Unlock()
	s.hangUp(c)
	_ = conn.CloseNow()
}

func (s *Server) answerOther(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "220 mail ready\r\n\r\n")
	_ = conn.Close()
}

// errGone says that the client that should answer has gone.
var errGone = errors.New("the client has gone")

// discard takes what net/http has to say of clients that behave badly on purpose.
var discard = log.New(io.Discard, "", 0)

// gate lets readers through while it is open.
type gate struct {
	mu     sync.Mutex
	opened *sync.Cond
	closed bool // guarded by mu
}

func (g *gate) init() { g.opened = sync.NewCond(&g.mu) }

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.opened.Broadcast()
}

func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.closed {
		g.opened.Wait()
	}
}

// gatedListener makes connections that read only while the server's gate is open.
type gatedListener struct {
	net.Listener
	server *Server
}

func (l gatedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return gatedConn{conn, &l.server.gate}, nil
}

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c gatedConn) Read(p []byte) (int, error) {
	c.gate.pass()
	n, err := c.Conn.Read(p)
	c.gate.pass() // what was being read when the gate was shut waits too
	return n, err
}
