package lgsvltest

import (
	"context"
	"errors"
	"fmt"
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
