//go:build !linux

package main

import "os"

// terminalWidth returns how many columns a terminal has, 0 where nobody knows, and
// whether f is one.
func terminalWidth(f *os.File) (columns int, terminal bool) {
	info, err := f.Stat()
	return 0, err == nil && info.Mode()&os.ModeCharDevice != 0
}
