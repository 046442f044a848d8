package gpu

import "syscall"

// threadID names the calling OS thread. The GL goroutine is locked to its
// thread, so an equal id means the caller is that goroutine.
func threadID() int { return syscall.Gettid() }
