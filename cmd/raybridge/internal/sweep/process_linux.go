package sweep

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// endsWithParent: the kernel kills the case when the sweep's process ends, however that comes. A terminal's interrupt is
// for the sweep alone.
func endsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killGroup kills what a case that has ended leaves running.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // mostly there is nothing left

// processSpace names the space that process numbers are of: containers have their own, and so has a machine each time that
// it starts. It is "" where /proc doesn't tell.
func processSpace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// processBorn is when a process began, "" where /proc doesn't tell: field 22 of proc_pid_stat(5), the 20th after the name,
// which is in parentheses and may have any in it.
func processBorn(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
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
