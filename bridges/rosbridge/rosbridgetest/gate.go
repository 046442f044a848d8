package rosbridgetest

import (
	"io"
	"log"
	"net"
	"sync"
)

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
