package simtime

import (
	"runtime"
	"syscall"
	"time"
)

// clockNice is the nice value that a clock's thread asks for.
const clockNice = -11

// takeThread keeps the calling goroutine on its OS thread and asks for a higher
// priority for it, which the system may refuse. release undoes both; the caller
// calls it on the same goroutine.
func takeThread() (release func()) {
	runtime.LockOSThread()
	thread := syscall.Gettid()
	// The raw system call returns 20 - nice (getpriority(2)).
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
	before := 20 - raw
	raised := err == nil && before > clockNice && syscall.Setpriority(syscall.PRIO_PROCESS, thread, clockNice) == nil
	return func() {
		if raised {
			// Lowering a priority needs no privilege, so it doesn't fail.
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, thread, before)
		}
		runtime.UnlockOSThread()
	}
}

// sleepThread sleeps in the kernel. It may return early. A Go timer is up to a
// millisecond late, since the runtime polls in whole ones, and hands over to
// the waiting thread only then.
func sleepThread(d time.Duration) {
	request := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&request, nil)
}
