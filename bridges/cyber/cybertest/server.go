// Package cybertest has a server that follows the rules of Apollo's cyber_bridge, for
// tests of what connects to one. It was written from the description of the protocol
// alone (docs/bridges/cyber.md), and shares no code with the bridge cyber. No foreign
// server can be had here: cyber_bridge is built and run within Apollo only.
//
// # Rules
//
// All integers are u32, little endian. A client sends
//
//	op 1: count, then count times a length and a FileDescriptorProto
//	op 2: length, channel, length, type: it wants the channel's messages
//	op 3: length, channel, length, type: it will publish on the channel
//	op 4: length, channel, length, message
//
// and is sent op 4. Nothing is acknowledged. An op of another number ends the
// connection. A file whose imports aren't registered is logged and thrown away; so is a
// writer of a type that isn't known, and from then on the channel's messages are
// dropped. The type of a reader is ignored. What a client doesn't take is kept up to a
// limit, then dropped. Readers and writers of one channel are shared by all clients and
// end with the last that has them.
package cybertest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// defaultPending is how much cyber_bridge keeps for a client.
const defaultPending = 1 << 30

// Config says what a server does; the zero value follows cyber_bridge.
type Config struct {
	// Pending bounds what waits for one client, bytes; default 1 GiB.
	Pending int
	// Received is called with each message on a channel that has a writer, one at a
	// time, on a client's goroutine. The bytes are good until it returns. (optional)
	Received func(channel string, message []byte)
}

// Server is one cyber_bridge. Its methods may be called from any goroutine.
type Server struct {
	config Config

	mu       sync.Mutex
	changed  *sync.Cond // of mu: stalled, or a client's pending data
	types    types      // guarded by mu
	listener net.Listener
	clients  map[*client]bool
	stalled  bool
	received map[string]int    // guarded by mu: messages by channel, also after Kill
	last     map[string][]byte // guarded by mu: the last message of each channel
	log      []string          // guarded by mu
	running  sync.WaitGroup
}

// New returns a server that doesn't listen yet.
func New(config Config) *Server {
	if config.Pending == 0 {
		config.Pending = defaultPending
	}
	s := &Server{config: config, clients: map[*client]bool{}, received: map[string]int{}, last: map[string][]byte{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Start listens on an address, HOST:PORT. It may be called again after Kill: then it is
// a new server that knows no types, and counts on.
func (s *Server) Start(address string) error {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener, s.types, s.stalled = listener, types{}, false
	s.running.Go(func() { s.accept(listener) })
	return nil
}

// Addr returns the address that it listens on, "" for none.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

func (s *Server) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		c := &client{server: s, conn: conn, readers: map[string]int{}, writers: map[string]protoreflect.MessageDescriptor{}}
		s.mu.Lock()
		if s.listener != listener {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.clients[c] = true
		s.running.Go(c.read)
		s.running.Go(c.write)
		s.mu.Unlock()
	}
}

// Kill stops listening and resets all connections, as a process that is killed. It
// returns when nothing of the server runs any more.
func (s *Server) Kill() {
	s.mu.Lock()
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	for c := range s.clients {
		s.drop(c)
	}
	s.mu.Unlock()
	s.running.Wait()
}

// drop ends a client; mu must be held.
func (s *Server) drop(c *client) {
	if !s.clients[c] {
		return
	}
	delete(s.clients, c)
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.conn.Close()
	s.changed.Broadcast()
}

// Stall lets the server read and write nothing, its connections open, until Resume.
func (s *Server) Stall() { s.stall(true) }

// Resume lets a stalled server go on.
func (s *Server) Resume() { s.stall(false) }

func (s *Server) stall(stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = stalled
	s.changed.Broadcast()
}

// Publish has a message arrive from elsewhere on a channel: all clients with a reader
// are sent it.
func (s *Server) Publish(channel string, message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forward(channel, message)
}

// forward queues a message for those that read the channel; mu must be held.
func (s *Server) forward(channel string, message []byte) {
	for c := range s.clients {
		if c.readers[channel] > 0 {
			s.post(c, publishOp(channel, message))
		}
	}
}

// Send sends all clients bytes as they are.
func (s *Server) Send(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		s.post(c, data)
	}
}

// post queues bytes for one client unless too much waits for it already; mu must be held.
func (s *Server) post(c *client, data []byte) {
	if len(c.pending) >= s.config.Pending {
		s.logf("pending size too large, message discarded")
		return
	}
	c.pending = append(c.pending, data...)
	s.changed.Broadcast()
}

// Received returns how many messages of each channel have arrived since New.
func (s *Server) Received() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.received)
}

// Last decodes the last message of a channel, with the descriptors that the writing
// client sent.
func (s *Server) Last(channel string) (*dynamicpb.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	typ := s.writer(channel)
	data, ok := s.last[channel]
	if typ == nil || !ok {
		return nil, fmt.Errorf("channel %q has no writer or no message", channel)
	}
	return decode(typ, data)
}

// writer returns the type of a channel's writer, nil for none; mu must be held.
func (s *Server) writer(channel string) protoreflect.MessageDescriptor {
	for c := range s.clients {
		if typ := c.writers[channel]; typ != nil {
			return typ
		}
	}
	return nil
}

// Writers returns the full name of the type of each channel that has a writer.
func (s *Server) Writers() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]string{}
	for c := range s.clients {
		for channel, typ := range c.writers {
			names[channel] = string(typ.FullName())
		}
	}
	return names
}

// Readers returns the channels that have a reader, sorted.
func (s *Server) Readers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	channels := map[string]int{}
	for c := range s.clients {
		maps.Copy(channels, c.readers)
	}
	return slices.Sorted(maps.Keys(channels))
}

// Registrations returns how often the clients that are connected have registered a reader
// of a channel.
func (s *Server) Registrations(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for c := range s.clients {
		n += c.readers[channel]
	}
	return n
}

// Log returns what the server has logged.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// logf keeps a line of at most the first thousand; mu must be held.
func (s *Server) logf(format string, args ...any) {
	if len(s.log) < 1000 {
		s.log = append(s.log, fmt.Sprintf(format, args...))
	}
}
