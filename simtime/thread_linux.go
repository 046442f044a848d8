package simtime

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// takeThread keeps the calling goroutine on its OS thread, names that, unless name
// is empty, and makes it wake as promptly as the system allows; each part of it
// may be refused without harm. granted is ClockPublisherStats.Scheduling. release
// undoes it all; the caller calls it on the same goroutine.
func takeThread(name string) (granted string, release func()) {
	runtime.LockOSThread()
	restoreName := nameThread(name)
	restoreSlack := setTimerSlack(1)
	granted, restoreScheduling := raiseScheduling()
	return granted, func() {
		restoreScheduling()
		restoreSlack()
		restoreName()
		runtime.UnlockOSThread()
	}
}

// prctl(2): operations on the calling thread.
const (
	prSetName       = 15
	prGetName       = 16
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// nameThread names the calling thread, as top and ps show it; "" leaves its name.
func nameThread(name string) (restore func()) {
	if name == "" {
		return func() {}
	}
	var before, after [16]byte // with the terminating zero
	copy(after[:15], name)
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetName, uintptr(unsafe.Pointer(&before)), 0)
	if errno != 0 {
		return func() {}
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&after)), 0)
	return func() {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&before)), 0)
	}
}

// setTimerSlack sets how late, in nanoseconds, the kernel may end the calling
// thread's sleeps to join them with others: 50,000 by default.
func setTimerSlack(slack uintptr) (restore func()) {
	before, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if errno != 0 {
		return func() {}
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, slack, 0)
	return func() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, before, 0) }
}

// sleepThread sleeps in the kernel until deadline. It may return early. A Go
// timer is up to a millisecond late, since the runtime polls in whole ones, and
// hands over to the waiting thread only then.
func sleepThread(deadline time.Time) {
	const clockMonotonic, timerAbstime = 1, 1
	var now syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	if errno != 0 {
		time.Sleep(time.Until(deadline))
		return
	}
	// The end is absolute, so that being preempted here doesn't make the sleep
	// longer. What passes between the two readings of the clock makes it end early.
	end := syscall.NsecToTimespec(now.Nano() + int64(time.Until(deadline)))
	_, _, _ = syscall.Syscall6(syscall.SYS_CLOCK_NANOSLEEP, clockMonotonic, timerAbstime, uintptr(unsafe.Pointer(&end)), 0, 0, 0)
}
