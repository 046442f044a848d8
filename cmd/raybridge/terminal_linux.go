package main

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalWidth returns how many columns a terminal has, 0 where it doesn't tell, and
// whether f is one.
func terminalWidth(f *os.File) (columns int, terminal bool) {
	var size struct{ rows, columns, x, y uint16 } // struct winsize of tty_ioctl(4)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), errno == 0
}
