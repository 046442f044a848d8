package fanout

import "net"

// Admit makes a client of a connection that the server didn't accept itself.
func (s *Server) Admit(conn net.Conn) { s.admit(conn) }
