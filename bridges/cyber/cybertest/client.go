package cybertest

import (
	"net"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// chunk is how much is read at once.
const chunk = 1 << 20

// client is one connection. Its maps and its pending data are guarded by the server's mu.
type client struct {
	server  *Server
	conn    net.Conn
	readers map[string]int // how often it has registered a reader, by channel
	writers map[string]protoreflect.MessageDescriptor
	pending []byte
}

// wait waits while the server stalls, and until ready says so; false is the client's
// end. The server's mu must be held.
func (c *client) wait(ready func() bool) bool {
	for c.server.clients[c] && (c.server.stalled || !ready()) {
		c.server.changed.Wait()
	}
	return c.server.clients[c]
}

// read takes ops until the connection ends or one is unknown.
func (c *client) read() {
	s := c.server
	defer func() {
		_ = c.conn.Close() // a goodbye: only Kill resets
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(c)
	}()
	var data []byte
	for {
		s.mu.Lock()
		alive := c.wait(func() bool { return true })
		s.mu.Unlock()
		if !alive {
			return
		}
		data = slices.Grow(data, chunk)
		n, err := c.conn.Read(data[len(data) : len(data)+chunk])
		data = data[:len(data)+n]
		rest, ok := c.handle(data)
		if err != nil || !ok {
			return
		}
		data = data[:copy(data, rest)]
	}
}

// handle does all that is whole and returns the rest; false ends the client.
func (c *client) handle(data []byte) (rest []byte, ok bool) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if !c.wait(func() bool { return true }) {
			return nil, false
		}
		o, rest, ok, err := cutOp(data)
		if err != nil {
			s.logf("%v: client stopped", err)
			return nil, false
		}
		if !ok {
			return data, true
		}
		data = rest
		c.do(o)
	}
}

// do does one op; the server's mu must be held.
func (c *client) do(o op) {
	s := c.server
	switch o.code {
	case opRegister:
		for _, file := range o.files {
			if err := s.types.register(file); err != nil {
				s.logf("%v", err)
			}
		}
	case opAddReader:
		c.readers[o.channel]++
	case opAddWriter:
		typ := s.types.find(string(o.body))
		if typ == nil {
			s.logf("cannot find the descriptor of %q for channel %q", o.body, o.channel)
			return
		}
		c.writers[o.channel] = typ
	case opPublish:
		if s.writer(o.channel) == nil {
			s.logf("no writer on channel %q, message dropped", o.channel)
			return
		}
		s.received[o.channel]++
		s.last[o.channel] = append(s.last[o.channel][:0], o.body...)
		if s.config.Received != nil {
			s.config.Received(o.channel, o.body)
		}
		s.forward(o.channel, o.body)
	}
}

// write sends what is pending: one buffer is being written while another fills.
func (c *client) write() {
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
		if _, err := c.conn.Write(writing); err != nil {
			_ = c.conn.Close()
			return
		}
	}
}
