// Package peers has fakes of the programs that bridges connect to. [Cyber] is Apollo's
// cyber_bridge, [LGSVL] is ros2-lgsvl-bridge, and [Rosbridge] is a server of rosbridge v2. They
// are for tests only.
//
// Each protocol is written from its description alone, and shares no code with the bridge that
// it tests. [Server] is the part that all servers share: it listens, accepts, stalls, and dies
// as a process does.
//
// # Concurrency
//
// All exported methods may be called from any goroutine.
package peers

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
)

// Server is the life of a fake. It outlives Kill: Start lets it run again at the same
// address, and its counts and its log continue.
type Server struct {
	serve func(net.Listener) // accepts until the listener is closed

	mu       sync.Mutex
	changed  *sync.Cond     // of mu: stalled, conns, or what waits for one
	address  string         // guarded by mu: HOST:PORT, final since the first Start
	listener net.Listener   // guarded by mu: nil while it doesn't run
	conns    map[*conn]bool // guarded by mu
	stalled  bool           // guarded by mu
	accepted int            // guarded by mu: connections since New
	received map[string]int // guarded by mu: published messages by topic
	lines    []string       // guarded by mu: what a user would see on the console
	running  sync.WaitGroup
}

// newServer returns a server that isn't started; "" stands for any free port.
func newServer(address string) *Server {
	if address == "" {
		address = loopback()
	}
	s := &Server{address: address, conns: map[*conn]bool{}, received: map[string]int{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// loopback returns where the system has a free port for a server that can be killed and
// started again. On Linux it is on one of the many loopback addresses, so that no other
// program takes the port meanwhile.
func loopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	return fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
}

// Start begins to listen. A server that runs already continues.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	var config net.ListenConfig
	inner, err := config.Listen(context.Background(), "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	listener := &gate{inner, s}
	s.listener, s.address = listener, listener.Addr().String()
	s.running.Go(func() { s.serve(listener) })
	return nil
}

// Addr returns HOST:PORT. It is final once Start was called.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Kill stops listening and resets all connections, as a process that is killed. It returns
// when nothing of the server runs any more. A server that doesn't run stays so.
func (s *Server) Kill() {
	s.mu.Lock()
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	s.drop()
	s.stalled = false
	s.mu.Unlock()
	s.running.Wait()
}

// Drop resets all connections. The server continues to listen.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

// drop is Drop; mu must be held.
func (s *Server) drop() {
	for c := range s.conns {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Conn.Close()
	}
	clear(s.conns)
	s.changed.Broadcast()
}

// Stall lets the server read nothing more, its connections open, until Resume or Kill.
func (s *Server) Stall() { s.stall(true) }

// Resume ends Stall.
func (s *Server) Resume() { s.stall(false) }

func (s *Server) stall(stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = stalled
	s.changed.Broadcast()
}

// Received returns how many messages of each topic have been published since New.
func (s *Server) Received() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.received)
}

// Accepted returns how many connections there have been since New.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Log returns what the server has logged, at most the first thousand lines.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// logf keeps a line; mu must be held.
func (s *Server) logf(format string, args ...any) {
	if len(s.lines) < 1000 {
		s.lines = append(s.lines, fmt.Sprintf(format, args...))
	}
}

// gate is the listener of a server. It registers what it accepts.
type gate struct {
	net.Listener
	server *Server
}

func (g *gate) Accept() (net.Conn, error) {
	inner, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s := g.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != net.Listener(g) {
		_ = inner.Close()
		return nil, net.ErrClosed
	}
	c := &conn{Conn: inner, server: s}
	s.conns[c] = true
	s.accepted++
	return c, nil
}

// conn is a connection that reads only while its server isn't stalled.
type conn struct {
	net.Conn
	server  *Server
	pending []byte // guarded by the server's mu: what waits to be written
}

// wait waits while the server stalls, and until ready says so; false is the connection's
// end. The server's mu must be held.
func (c *conn) wait(ready func() bool) bool {
	s := c.server
	for s.conns[c] && (s.stalled || !ready()) {
		s.changed.Wait()
	}
	return s.conns[c]
}

// resumed waits while the server stalls.
func (c *conn) resumed() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.wait(func() bool { return true })
}

// Read also holds back what was being read when the server stalled.
func (c *conn) Read(p []byte) (int, error) {
	c.resumed()
	n, err := c.Conn.Read(p)
	c.resumed()
	return n, err
}

func (c *conn) Close() error {
	s := c.server
	s.mu.Lock()
	delete(s.conns, c)
	s.changed.Broadcast()
	s.mu.Unlock()
	return c.Conn.Close()
}

// framed is a server of a protocol of ops: a byte, and fields that are a length and so many
// bytes.
type framed struct {
	*Server
	limit int // of what waits for one client, bytes
	// do reads the rest of one op and does it. An error ends the client, and is logged
	// unless it is errGone.
	do func(c *conn, code byte, in *bufio.Reader) error
	// left forgets a client that has gone; mu is held.
	left func(c *conn)
}

// defaultPending is how much the real programs keep for a client.
const defaultPending = 1 << 30

func (s *framed) init(address string, limit int) {
	if limit <= 0 {
		limit = defaultPending
	}
	s.Server, s.limit = newServer(address), limit
	s.serve = s.accept
}

func (s *framed) accept(listener net.Listener) {
	for {
		accepted, err := listener.Accept()
		if err != nil {
			return
		}
		c := accepted.(*conn)
		s.running.Go(func() { s.read(c) })
		s.running.Go(c.write)
	}
}

// errGone says that a client has gone, which is not a failure.
var errGone = errors.New("connection ended")

// errCut says that it went within an op.
var errCut = errors.New("connection ended within a message")

// read does op after op until the client has gone, or one can't be done.
func (s *framed) read(c *conn) {
	in := bufio.NewReader(c)
	err := s.one(c, in)
	for err == nil {
		err = s.one(c, in)
	}
	s.mu.Lock()
	if !errors.Is(err, errGone) {
		s.logf("%v", err)
	}
	s.left(c)
	s.mu.Unlock()
	_ = c.Close()
}

func (s *framed) one(c *conn, in *bufio.Reader) error {
	code, err := in.ReadByte()
	if err != nil {
		return errGone
	}
	c.resumed()
	return s.do(c, code, in)
}

// write sends what waits: one buffer is written while another fills.
func (c *conn) write() {
	s := c.server
	var writing []byte
	for {
		s.mu.Lock()
		alive := c.wait(func() bool { return len(c.pending) > 0 })
		writing, c.pending = c.pending, writing[:0]
		s.mu.Unlock()
		if !alive {
			return
		}
		if _, err := c.Conn.Write(writing); err != nil {
			return
		}
	}
}

// Send sends bytes as they are to all clients.
func (s *framed) Send(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		s.post(c, raw)
	}
}

// post queues bytes for one client unless too much waits for it already; mu must be held.
func (s *framed) post(c *conn, data []byte) {
	if len(c.pending)+len(data) > s.limit {
		s.logf("pending size too large, message discarded")
		return
	}
	c.pending = append(c.pending, data...)
	s.changed.Broadcast()
}

// maxField bounds what a client may announce.
const maxField = 1 << 30

// readField reads a length and as many bytes.
func readField(in *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, errCut
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxField {
		return nil, fmt.Errorf("a length of %d bytes", n)
	}
	b, err := io.ReadAll(io.LimitReader(in, int64(n)))
	if err != nil || len(b) < int(n) {
		return nil, errCut
	}
	return b, nil
}

// readFields reads the two fields of most ops.
func readFields(in *bufio.Reader) (first string, second []byte, err error) {
	name, err := readField(in)
	if err == nil {
		second, err = readField(in)
	}
	return string(name), second, err
}

// appendOp appends an op of two fields.
func appendOp(dst []byte, code byte, first string, second []byte) []byte {
	dst = append(dst, code)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(first)))
	dst = append(dst, first...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(second)))
	return append(dst, second...)
}
