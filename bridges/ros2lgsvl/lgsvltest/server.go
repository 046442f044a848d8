// Package lgsvltest is a server that follows the rules of ros2-lgsvl-bridge, for the tests
// of bridge ros2lgsvl: that program itself needs ROS 2, which is not to be had there.
//
// It was written from the facts about the protocol alone, before the bridge and without
// its encoder: it reads .msg definitions with a parser of its own and takes messages apart
// by them, as ros2-lgsvl-bridge does with ROS 2's introspection.
//
// # Rules
//
// All numbers are little endian. A client sends
//
//	1 AddSubscriber  u8 op, u32 length, topic, u32 length, type "package/Name"
//	2 AddPublisher   u8 op, u32 length, topic, u32 length, type
//	3 Publish        u8 op, u32 length, topic, u32 length, message
//
// and is sent op 3 for each message on the topics that it subscribed to. Another op is
// logged and ends the connection. The first type of a topic holds for all clients. A type
// that isn't known is logged and the registration is lost, and with it every message on
// that topic. A message is its fields in the definition's order, without padding; a string
// is its length as u32 and its bytes; every array, also one of fixed size, is its length as
// u32 and its elements. An array of fixed size has that many elements or none, in which
// case it is filled with zeros (foxy, galactic). A message with bytes left over is logged
// and published; one that is too short is logged and not published. What waits for a client
// is bounded: messages beyond that are logged and thrown away.
//
// Published messages go to the clients that subscribed to their topic, to
// [Config.Published], as a ROS 2 node would get them, and into the counts.
package lgsvltest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Config says how a server runs. The zero value of a field stands for its default.
type Config struct {
	// Address is HOST:PORT; default any free port of the loopback interface. It stays the
	// same when the server is started again.
	Address string
	// Definition returns the .msg file of "package/Name"; default are raybridge's.
	Definition func(name string) (string, error)
	// Pending is how many bytes may wait for one client; default 1 GiB.
	Pending int
	// Published is given each message that a client published, in their order for each
	// client. (optional)
	Published func(Message)
}

// Message is one that a client published.
type Message struct {
	Topic string
	Type  *Definition
	Value Value
	// Body is the message as it came.
	Body []byte
}

// Server is a running ros2-lgsvl-bridge. All methods may be called from any goroutine.
type Server struct {
	config Config

	mu        sync.Mutex
	resumed   *sync.Cond             // of mu: stalled has become false, or running
	stalled   bool                   // guarded by mu
	listener  net.Listener           // guarded by mu: nil while killed
	clients   map[*client]bool       // guarded by mu
	topics    map[string]*topic      // guarded by mu
	received  map[string]int         // guarded by mu: published messages by topic
	lines     []string               // guarded by mu: what a user would see on the console
	known     map[string]*Definition // guarded by mu: loaded once, kept
	accepted  int                    // guarded by mu: connections so far
	goroutine sync.WaitGroup
}

// topic is what clients agreed on.
type topic struct {
	typ         *Definition
	publishers  map[*client]bool
	subscribers map[*client]int // how often each has subscribed
}

// New returns a server that isn't started.
func New(config Config) *Server {
	if config.Address == "" {
		config.Address = loopback()
	}
	if config.Definition == nil {
		config.Definition = ros.MessageFile
	}
	if config.Pending <= 0 {
		config.Pending = 1 << 30
	}
	s := &Server{
		config: config, clients: map[*client]bool{}, topics: map[string]*topic{},
		received: map[string]int{}, known: map[string]*Definition{},
	}
	s.resumed = sync.NewCond(&s.mu)
	return s
}

// loopback returns where the system has a free port for a server that can be killed and
// started again: on Linux on one of the many loopback addresses, so that nobody else takes
// the port meanwhile.
func loopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	return fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
}

// Start listens, or listens again after Kill, at the same address.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return errors.New("lgsvltest: the server runs already")
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", s.config.Address)
	if err != nil {
		return err
	}
	s.listener, s.config.Address = listener, listener.Addr().String()
	s.goroutine.Go(func() { s.accept(listener) })
	return nil
}

// Address returns HOST:PORT, once the server was started.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config.Address
}

func (s *Server) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.listener != listener {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		c := newClient(s, conn)
		s.clients[c] = true
		s.accepted++
		s.goroutine.Go(c.readAll)
		s.goroutine.Go(c.writeAll)
		s.mu.Unlock()
	}
}

// Kill ends the server and all connections without a goodbye, and waits until nothing of
// it runs. It may be called again.
func (s *Server) Kill() {
	s.mu.Lock()
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	for c := range s.clients {
		c.reset()
	}
	s.stalled = false
	s.resumed.Broadcast()
	s.mu.Unlock()
	s.goroutine.Wait()
}

// Stall lets the server read nothing more, with its connections open, until Resume.
func (s *Server) Stall() { s.stall(true) }

// Resume ends Stall.
func (s *Server) Resume() { s.stall(false) }

func (s *Server) stall(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = on
	s.resumed.Broadcast()
}

// awaitResume returns when the server isn't stalled.
func (s *Server) awaitResume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.stalled {
		s.resumed.Wait()
	}
}

// Send sends bytes as they are to all clients.
func (s *Server) Send(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		s.queue(c, raw)
	}
}

// Publish sends a message to the clients that subscribed to the topic, as if a ROS 2 node
// had published it, and returns how many they are.
func (s *Server) Publish(name string, v Value) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.publish(name, v)
}

// publish is Publish; mu must be held.
func (s *Server) publish(name string, v Value) int {
	t := s.topics[name]
	if t == nil || len(t.subscribers) == 0 {
		return 0
	}
	frame := appendFrame(nil, opPublish, []byte(name), t.typ.Encode(v))
	for c := range t.subscribers {
		s.queue(c, frame)
	}
	return len(t.subscribers)
}

// queue has a frame sent to a client; mu must be held.
func (s *Server) queue(c *client, frame []byte) {
	if len(c.pending)+len(frame) > s.config.Pending {
		s.log("Pending size too large. Discard message.")
		return
	}
	c.pending = append(c.pending, frame...)
	c.more.Signal()
}

// Received returns how many messages were published on each topic since New.
func (s *Server) Received() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int, len(s.received))
	for name, n := range s.received {
		counts[name] = n
	}
	return counts
}

// Accepted returns how many connections there were.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Publishing returns the type that clients publish on a topic, "" for none.
func (s *Server) Publishing(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[name]; t != nil && len(t.publishers) > 0 {
		return t.typ.Name
	}
	return ""
}

// Subscribed returns the type that clients subscribed to on a topic, "" for none.
func (s *Server) Subscribed(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[name]; t != nil && len(t.subscribers) > 0 {
		return t.typ.Name
	}
	return ""
}

// Subscriptions returns how often the clients that are connected have subscribed to a
// topic. A client that has subscribed twice is sent each message once all the same.
func (s *Server) Subscriptions(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if t := s.topics[name]; t != nil {
		for _, times := range t.subscribers {
			n += times
		}
	}
	return n
}

// Log returns what was logged.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.lines...)
}

// log notes a line; mu must be held.
func (s *Server) log(format string, args ...any) {
	if len(s.lines) < 10_000 {
		s.lines = append(s.lines, fmt.Sprintf(format, args...))
	}
}

// definition loads a type; mu must be held.
func (s *Server) definition(name string) (*Definition, error) {
	if d := s.known[name]; d != nil {
		return d, nil
	}
	d, err := Load(name, s.config.Definition)
	if err == nil {
		s.known[name] = d
	}
	return d, err
}

const (
	opSubscribe = 1
	opAdvertise = 2
	opPublish   = 3
	// maxText bounds names and messages that a client announces.
	maxText = 1 << 30
)

// client is one connection. pending and gone are guarded by the server's mu.
type client struct {
	server  *Server
	conn    net.Conn
	reader  *bufio.Reader
	pending []byte     // what waits to be written
	gone    bool       // nothing is written any more
	more    *sync.Cond // pending or gone changed
}

func newClient(s *Server, conn net.Conn) *client {
	return &client{server: s, conn: conn, reader: bufio.NewReader(conn), more: sync.NewCond(&s.mu)}
}

// reset ends the connection without a goodbye.
func (c *client) reset() {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.conn.Close()
}

// readAll serves the client until it goes or sends what can't be served.
func (c *client) readAll() {
	err := c.serve()
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, errGone) {
		s.log("%v", err)
	}
	for name, t := range s.topics {
		delete(t.publishers, c)
		delete(t.subscribers, c)
		if len(t.publishers)+len(t.subscribers) == 0 {
			delete(s.topics, name)
		}
	}
	delete(s.clients, c)
	c.gone = true
	c.more.Signal()
	_ = c.conn.Close()
}

// writeAll sends what waits, as much as there is at once.
func (c *client) writeAll() {
	s := c.server
	var writing []byte
	for {
		s.mu.Lock()
		for len(c.pending) == 0 && !c.gone {
			c.more.Wait()
		}
		if c.gone {
			s.mu.Unlock()
			return
		}
		writing, c.pending = c.pending, writing[:0]
		s.mu.Unlock()
		if _, err := c.conn.Write(writing); err != nil {
			return
		}
	}
}

// errGone says that a client has gone between two ops, which is no failure.
var errGone = errors.New("connection ended")

// serve reads op after op until the client has gone, or one can't be served.
func (c *client) serve() error {
	for {
		op, err := c.reader.ReadByte()
		if err != nil {
			return errGone
		}
		c.server.awaitResume()
		if op != opSubscribe && op != opAdvertise && op != opPublish {
			return fmt.Errorf("unknown operation %d", op)
		}
		first, err := c.text()
		if err != nil {
			return err
		}
		second, err := c.text()
		if err != nil {
			return err
		}
		if op == opPublish {
			c.published(string(first), second)
		} else {
			c.registered(op, string(first), string(second))
		}
	}
}

var errCut = errors.New("connection ended within a message")

// text reads a length and as many bytes.
func (c *client) text() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		return nil, errCut
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxText {
		return nil, fmt.Errorf("a length of %d bytes", n)
	}
	b, err := io.ReadAll(io.LimitReader(c.reader, int64(n)))
	if err != nil || len(b) < int(n) {
		return nil, errCut
	}
	return b, nil
}

// registered adds the client to a topic.
func (c *client) registered(op byte, name, typ string) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[name]
	if t == nil {
		d, err := s.definition(typ)
		if err != nil {
			s.log("can't load type %q of topic %q: %v", typ, name, err)
			return
		}
		t = &topic{typ: d, publishers: map[*client]bool{}, subscribers: map[*client]int{}}
		s.topics[name] = t
	}
	if op == opSubscribe {
		t.subscribers[c]++
	} else {
		t.publishers[c] = true
	}
}

// published takes a message apart and hands it on.
func (c *client) published(name string, body []byte) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[name]
	if t == nil || len(t.publishers) == 0 {
		s.log("No publisher registered on topic %q", name)
		return
	}
	v, rest, err := t.typ.Decode(body)
	if err != nil {
		s.log("can't read a message on topic %q: %v", name, err)
		return
	}
	if len(rest) > 0 {
		s.log("%d bytes left over in a message on topic %q", len(rest), name)
	}
	s.received[name]++
	s.publish(name, v)
	if s.config.Published != nil {
		s.config.Published(Message{Topic: name, Type: t.typ, Value: v, Body: body})
	}
}

// appendFrame appends an op with its two texts.
func appendFrame(dst []byte, op byte, first, second []byte) []byte {
	dst = append(dst, op)
	for _, text := range [][]byte{first, second} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
		dst = append(dst, text...)
	}
	return dst
}
