package stream

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// newSharedRing makes shared memory. Its size is fixed, so that reading it never fails. Only the
// server's view of it can be written: memfd_create(2).
func newSharedRing(size uint64) (made *ring, err error) {
	file, err := unix.MemfdCreate("raybridge", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("%w: create it: %w", errNoRing, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unix.Close(file))
		}
	}()
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
	made = newRing(memory, unix.Munmap)
	made.file = os.NewFile(uintptr(file), "shared memory")
	return made, nil
}

// send sends the answer with the memory's descriptor on its first byte, which the server needs no
// more then. It runs on the connection's writing goroutine.
func (r *ring) send(conn *net.UnixConn, answer []byte) error {
	r.mu.Lock()
	file := r.file
	r.file = nil
	r.mu.Unlock()
	if file == nil {
		return nil // the session has ended
	}
	defer file.Close()
	n, _, err := conn.WriteMsgUnix(answer, unix.UnixRights(int(file.Fd())), nil)
	if err == nil && n < len(answer) { // the kernel had no room for more
		_, err = conn.Write(answer[n:])
	}
	return err
}
