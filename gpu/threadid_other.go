//go:build !linux

package gpu

// threadID is 0 where the OS thread can't be told cheaply: calls of Do on the
// GL thread are not detected there.
func threadID() int { return 0 }
