//go:build !linux

package sumo

import "syscall"

// endsWithUs: only Linux ends a program with the one that started it. SUMO itself ends when
// its connection does.
func endsWithUs() *syscall.SysProcAttr { return nil }
