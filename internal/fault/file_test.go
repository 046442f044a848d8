package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/fault"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	rig := filepath.Join(dir, "rig.yaml")
	require.NoError(t, os.WriteFile(rig, nil, 0o644))
	read := func(path string) error { _, err := os.ReadFile(path); return err }
	below := filepath.Join(rig, "deep", "er")
	for _, c := range []struct {
		err  error
		want string
		is   error
	}{
		{read(filepath.Join(dir, "rgi.yaml")), filepath.Join(dir, "rgi.yaml") + ": no such file, did you mean " + rig + "?", fs.ErrNotExist},
		{read(filepath.Join(dir, "a.yaml")), filepath.Join(dir, "a.yaml") + ": no such file in " + dir, fs.ErrNotExist},
		{read(filepath.Join(dir, "other")), filepath.Join(dir, "other") + ": no such file in " + dir, fs.ErrNotExist},
		{read(filepath.Join(dir, "a", "b")), filepath.Join(dir, "a", "b") + ": no folder " + filepath.Join(dir, "a"), fs.ErrNotExist},
		{read(dir), dir + " is a folder: name a file", syscall.EISDIR},
		{os.MkdirAll(below, 0o755), rig + " is a file where a folder should be", syscall.ENOTDIR},
		{read(below), below + ": " + rig + " is a file where a folder should be", syscall.ENOTDIR},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "/x: no permission: check whose it is, or choose another path", fs.ErrPermission},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, "/x: the disk is full", syscall.ENOSPC},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EMFILE}, "/x: too many open files", syscall.EMFILE},
	} {
		got := fault.File(c.err)
		assert.EqualError(t, got, c.want)
		assert.ErrorIs(t, got, c.is)
		assert.Equal(t, got, fault.File(got), "said once")
	}
	other := errors.New("other")
	assert.Equal(t, other, fault.File(other))
	assert.NoError(t, fault.File(nil))
	assert.EqualError(t, fmt.Errorf("read rig: %w", fault.File(read(dir))), "read rig: "+dir+" is a folder: name a file")
}
