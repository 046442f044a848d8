//go:build !linux

package sumo

import "syscall"

// killedWithParent: only Linux ends a program with the one that started it. SUMO itself ends when
// its connection does.
func killedWithParent() *syscall.SysProcAttr { return nil }
