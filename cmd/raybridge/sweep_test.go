package main

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/internal/fault"
)

// TestCleanedUp: the exit code is that of the cases, and the fault in cleaning up is told.
func TestCleanedUp(t *testing.T) {
	t.Parallel()
	all := sweep.Progress{Total: 3, Done: 3}
	for want, report := range map[int]*sweep.Report{
		exitDone:       {Progress: all},
		exitFailed:     {Progress: sweep.Progress{Total: 3, Done: 2, Failed: 1}},
		exitIncomplete: {Progress: sweep.Progress{Total: 3}, Stopped: sweep.ErrDiskFull},
	} {
		var said strings.Builder
		err := cleanedUp(newLog(&said, false), syscall.ENOTEMPTY, reported(report, nil))
		assert.Equal(t, want, exitCode(err))
		assert.Equal(t, report.Err() == nil, err == nil)
		assert.Contains(t, said.String(), syscall.ENOTEMPTY.Error())
	}
}

// TestFolderFault: schedulers try a share again that a disk has failed, and none that is used wrongly.
func TestFolderFault(t *testing.T) {
	t.Parallel()
	for want, causes := range map[int][]error{
		exitDone:       {nil},
		exitUsage:      {sweep.ErrForeign, sweep.ErrLocked, sweep.ErrDamaged, syscall.ENOENT, syscall.EACCES, syscall.ENOTDIR},
		exitIncomplete: {syscall.ENOSPC, syscall.EIO, syscall.ESTALE, syscall.EMFILE},
	} {
		for _, cause := range causes {
			err := cause
			if err != nil {
				err = fmt.Errorf("open sweep: %w", fault.File(&fs.PathError{Op: "open", Path: "plan.json", Err: cause}))
			}
			assert.Equal(t, want, exitCode(folderFault(err)), "%v", cause)
			assert.Equal(t, want, exitCode(serverFault(err)), "%v", cause)
		}
	}
}
