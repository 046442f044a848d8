//go:build !linux

package simtime

import (
	"runtime"
	"time"
)

// takeThread keeps the calling goroutine on its OS thread until release; it has
// no names.
func takeThread(string) (granted string, release func()) {
	runtime.LockOSThread()
	return scheduledAsBefore, runtime.UnlockOSThread
}

// sleepThread sleeps until deadline.
func sleepThread(deadline time.Time) { time.Sleep(time.Until(deadline)) }
