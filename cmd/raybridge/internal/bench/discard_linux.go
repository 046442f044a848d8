package bench

import (
	"errors"
	"net"
	"syscall"
)

// discardFrom reads a TCP connection to its end and tells how much has come each time. The
// kernel throws the bytes away instead of copying them (tcp(7), MSG_TRUNC). So the receiver
// takes as little of the machine from the sender as one on another machine would.
func discardFrom(conn net.Conn, come func(n int)) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	chunk := make([]byte, 1<<20)
	for {
		n := 0
		if err := raw.Read(func(fd uintptr) bool {
			n, _, err = syscall.Recvfrom(int(fd), chunk, syscall.MSG_TRUNC)
			return !errors.Is(err, syscall.EAGAIN)
		}); err != nil {
			return
		}
		if err != nil || n <= 0 {
			return
		}
		come(n)
	}
}
