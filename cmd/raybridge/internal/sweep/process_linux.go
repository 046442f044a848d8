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

// endsFirst has the kernel end the case, and not the sweep or others, where memory is short.
func endsFirst(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0) // else the kernel chooses by size alone
}

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

// tryLock locks a file until it is closed, and reports whether another process has it locked. The kernel gives it back for a
// process that ends. A file system without locks has it locked by nobody.
func tryLock(f *os.File) (busy bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR)
}
