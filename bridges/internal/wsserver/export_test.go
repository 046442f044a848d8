package wsserver

import (
	"net"
	"time"
)

// WithBeat has the sessions' Beat called so often.
func (c Config) WithBeat(d time.Duration) Config {
	c.beat = d
	return c
}

// Admit makes a client of a connection that the server didn't accept itself.
func (s *Server) Admit(conn net.Conn) { s.fan.Admit(conn) }
