package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mostBytes is the size of the largest file that is read. nuScenes's own largest table has 1.2 GB.
const mostBytes = 2 << 30

// Errors of files that aren't read.
var (
	errLarge = fmt.Errorf("the file has more than %d bytes", mostBytes)
	errOther = errors.New("it isn't a file: a pipe or a device may never end")
)

// Folder opens a data set's folder. It reads regular files up to 2 GiB. Links may lead out of it: large sets lie on several disks.
func Folder(dir string) fs.FS { return folder{os.DirFS(dir)} }

type folder struct{ fs.FS }

// ReadFile reads a file as fs.ReadFileFS has it.
func (f folder) ReadFile(name string) ([]byte, error) {
	info, err := fs.Stat(f.FS, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		err = errOther
	case info.Size() > mostBytes:
		err = errLarge
	default:
		return fs.ReadFile(f.FS, name)
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: err}
}

// Stat is that of fs.StatFS: Open would wait for a pipe's other end.
func (f folder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// ReadDir is that of fs.ReadDirFS.
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }
