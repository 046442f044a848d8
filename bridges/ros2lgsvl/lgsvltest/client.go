package lgsvltest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

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
