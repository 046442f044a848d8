package guard

import (
	"net"
	"syscall"
)

// userOf returns who is at the other end of a UNIX socket: the effective user at the time of
// connect(2) (SO_PEERCRED of unix(7)).
func userOf(conn *net.UnixConn) (user int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *syscall.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		credentials, asked = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, asked
	}
	return int(credentials.Uid), nil
}
