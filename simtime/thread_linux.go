package simtime

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// takeThread keeps the calling goroutine on its OS thread, names that, unless name is empty,
// and makes it wake as promptly as the system allows. Each part of it may be refused without
// harm. granted is ClockPublisherStats.Scheduling. release undoes it all; the caller calls it
// on the same goroutine.
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

// What a clock's thread asks the kernel's scheduler for, the best first.
const (
	// clockRealTime is the priority of round robin, the lowest there is: above
	// all ordinary threads. It needs CAP_SYS_NICE or RLIMIT_RTPRIO.
	clockRealTime = 1
	// clockNice is the nice value, which needs CAP_SYS_NICE or RLIMIT_NICE.
	clockNice = -11
	// clockSlice is the time slice, for which no privilege is needed. A thread with a short one
	// is scheduled sooner after it wakes, at the same share of the processor. That is EEVDF,
	// Linux 6.12 and later; others ignore it. It is the shortest there is, and longer than a
	// publication.
	clockSlice = 100 * time.Microsecond
)

// Scheduling policies and flags (sched_setattr(2)).
const (
	schedOther      = 0
	schedRoundRobin = 2
	schedFlagReset  = 1 // child processes are scheduled as by default
)

// raiseScheduling has the calling thread scheduled before others, if it is
// scheduled as by default, and tells how. Failing to is not an error.
func raiseScheduling() (granted string, restore func()) {
	before, ok := schedGet()
	if !ok || before.policy != schedOther {
		return scheduledAsBefore, func() {}
	}
	realTime := schedAttr{policy: schedRoundRobin, flags: schedFlagReset, priority: clockRealTime}
	urgent, prompt := before, before
	urgent.nice = min(before.nice, clockNice)
	urgent.runtime, prompt.runtime = uint64(clockSlice), uint64(clockSlice)
	switch {
	case realTimeBounded() && schedSet(realTime):
		granted = "real time"
	case schedSet(urgent):
		granted = fmt.Sprintf("nice %d", urgent.nice)
	case schedSet(prompt):
		granted = "short slice"
	default:
		return scheduledAsBefore, func() {}
	}
	return granted, func() {
		if !schedSet(before) {
			// Only the privileged may take the flag back; it does no harm.
			before.flags |= schedFlagReset
			schedSet(before)
		}
	}
}

// realTimeBounded reports whether the kernel keeps a part of each processor from real-time
// threads. Without it a thread that never sleeps could bring the machine to a halt. And the Go
// runtime spins at times until another of its threads has moved on. A real-time thread may keep
// that one from its processor. Then both continue when that part is due.
func realTimeBounded() bool {
	share, ok := readSetting("/proc/sys/kernel/sched_rt_runtime_us")
	period, known := readSetting("/proc/sys/kernel/sched_rt_period_us")
	return ok && known && share >= 0 && share < period
}

func readSetting(path string) (value int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	value, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return value, err == nil
}

// schedAttr is the first version of the kernel's struct sched_attr.
type schedAttr struct {
	size, policy              uint32
	flags                     uint64
	nice                      int32
	priority                  uint32
	runtime, deadline, period uint64
}

// schedCalls has the numbers of the system calls sched_setattr and sched_getattr,
// which package syscall lacks.
var schedCalls = map[string]struct{ set, get uintptr }{
	"386": {351, 352}, "amd64": {314, 315}, "arm": {380, 381}, "arm64": {274, 275}, "loong64": {274, 275},
	"ppc64": {355, 356}, "ppc64le": {355, 356}, "riscv64": {274, 275}, "s390x": {345, 346},
}

// schedGet returns the calling thread's scheduling.
func schedGet() (attr schedAttr, ok bool) {
	call, ok := schedCalls[runtime.GOARCH]
	if !ok {
		return attr, false
	}
	_, _, errno := syscall.RawSyscall6(call.get, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0, 0, 0)
	return attr, errno == 0
}

// schedSet changes the calling thread's scheduling.
func schedSet(attr schedAttr) bool {
	call, ok := schedCalls[runtime.GOARCH]
	if !ok {
		return false
	}
	attr.size = uint32(unsafe.Sizeof(attr))
	_, _, errno := syscall.RawSyscall(call.set, 0, uintptr(unsafe.Pointer(&attr)), 0)
	return errno == 0
}
