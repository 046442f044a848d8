//go:build !linux

package sweep

import (
	"os"
	"syscall"
)

// endsWithParent: here it is --end-with-input that ends a case with the sweep's process.
func endsWithParent() *syscall.SysProcAttr { return nil }

// killGroup does nothing: a case has no group of its own here.
func killGroup(int) {}

// endsFirst does nothing: the system chooses.
func endsFirst(int) {}

// processSpace is empty: nothing is known of other processes.
func processSpace() string { return "" }

// processBorn is empty, too.
func processBorn(int) string { return "" }

// processLives takes every process for one that lives.
func processLives(int) bool { return true }

// tryLock does nothing here: the sweep's lock has to do.
func tryLock(*os.File) (busy bool) { return false }
