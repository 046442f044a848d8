//go:build !linux

package bench

import "net"

// discardFrom reads a TCP connection to its end and tells how much has come each time.
func discardFrom(conn net.Conn, come func(n int)) {
	chunk := make([]byte, 1<<20)
	for {
		n, err := conn.Read(chunk)
		come(n)
		if err != nil {
			return
		}
	}
}
