package simtime

import (
	"os"
	"runtime"
	"sync"
)

var procs struct {
	sync.Mutex
	holders int
	before  int
}

// ReserveProcs raises GOMAXPROCS by two for as long as a clock runs, unless the
// GOMAXPROCS environment variable sets it: with a busy goroutine on each of the
// default ones, the Go scheduler can let a timer wait for tens of milliseconds.
// The last of several holders' release sets it back. Whoever sizes a worker pool
// bounds it by the cores, too.
func ReserveProcs() (release func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	procs.Lock()
	defer procs.Unlock()
	if procs.holders++; procs.holders == 1 {
		procs.before = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(procs.before + 2)
	}
	return sync.OnceFunc(func() {
		procs.Lock()
		defer procs.Unlock()
		if procs.holders--; procs.holders == 0 {
			runtime.GOMAXPROCS(procs.before)
		}
	})
}
