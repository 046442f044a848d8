package sweep

import (
	"errors"
	"os"
	"syscall"
)

// endsWithParent: the kernel kills the case when the sweep's process ends, however that comes. A terminal's interrupt is
// for the sweep alone.
func endsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// processSpace names the space that process numbers are of: containers have their own.
func processSpace() string {
	space, _ := os.Readlink("/proc/self/ns/pid") // without /proc nothing is known of others
	return space
}

// processLives reports whether there is a process of a number.
func processLives(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// guard keeps other processes from looking at the lock at the same time, where the file system can: then no two take a
// stale one at once. The kernel gives it back for a process that ends.
func (s *Store) guard() (release func(), err error) {
	f, err := s.root.OpenFile(guardFile, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, s.fault(err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	return func() { _ = f.Close() }, nil // without locks, the lock's own file has to do
}
