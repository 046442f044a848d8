//go:build !linux

package simtime

import (
	"runtime"
	"time"
)

// takeThread keeps the calling goroutine on its OS thread until release.
func takeThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

func sleepThread(d time.Duration) { time.Sleep(d) }
