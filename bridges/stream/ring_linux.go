package stream

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// shareRing makes shared memory and sends its descriptor to a client. Its size is fixed, so that
// reading it never fails. Only the server's view of it can be written: memfd_create(2).
func shareRing(conn *net.UnixConn, size uint64) (made *ring, err error) {
	file, err := unix.MemfdCreate("raybridge", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("%w: create it: %w", errNoRing, err)
	}
	defer unix.Close(file)
	if err := unix.Ftruncate(file, int64(size)); err != nil {
		return nil, fmt.Errorf("%w: size it: %w", errNoRing, err)
	}
	memory, err := unix.Mmap(file, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: map it: %w", errNoRing, err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: seal it: %w", errNoRing, err), unix.Munmap(memory))
	}
	if _, _, err := conn.WriteMsgUnix(ringAnswer(size), unix.UnixRights(file), nil); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: send it: %w", errNoRing, err), unix.Munmap(memory))
	}
	return newRing(memory, unix.Munmap), nil
}
