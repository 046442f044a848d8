package transport

import "syscall"

// limitUnacknowledged has the system give a connection up whose peer's machine has acknowledged
// nothing for half a minute. Keep-alive isn't sent while data waits (tcp(7), TCP_USER_TIMEOUT).
func limitUnacknowledged(_, _ string, c syscall.RawConn) error {
	const userTimeout, milliseconds = 0x12, 30_000
	var err error
	if e := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, milliseconds)
	}); e != nil {
		return e
	}
	return err
}
