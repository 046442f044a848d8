package main

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/internal/fault"
)

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
		}
	}
}
