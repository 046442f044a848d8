package simtime

import (
	"os"
	"runtime"
	"sync"
)

// TakeThread keeps the calling goroutine on its OS thread and has that scheduled before others
// as far as the system allows. A [ClockPublisher] with OwnThread does the same; this is for
// frame loops that must keep a beat. granted says in a few words what the system allowed. A
// loop that holds such a thread must wait or end at times. The caller calls release once, on
// the same goroutine.
func TakeThread() (granted string, release func()) { return takeThread("") }

var procs struct {
	sync.Mutex
	holders int
	before  int
}

// spareProcs is by how many ReserveProcs raises GOMAXPROCS. One is for the clock. One each is
// for the GL thread, the frame loop and the collector. These run beside the workers without
// leaving when they wait in C or are about to sleep.
const spareProcs = 4

// ReserveProcs raises GOMAXPROCS by four for as long as a clock runs, unless the GOMAXPROCS
// environment variable sets it. With a busy goroutine on each of the default ones, a goroutine
// that wakes can wait for the Go scheduler for tens of milliseconds. The last of several
// holders' release sets it back. A program that sizes a worker pool bounds it by the cores,
// too. It may be called from any goroutine; changing GOMAXPROCS stops all of them for a moment.
func ReserveProcs() (release func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	procs.Lock()
	defer procs.Unlock()
	if procs.holders++; procs.holders == 1 {
		procs.before = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(procs.before + spareProcs)
	}
	return sync.OnceFunc(func() {
		procs.Lock()
		defer procs.Unlock()
		if procs.holders--; procs.holders == 0 {
			runtime.GOMAXPROCS(procs.before)
		}
	})
}
