// Package fault says of a file that can't be used, and of a connection that failed, what
// happened. It says what the user can do about it, where the system says which call failed. For a
// mistyped name it says which known name is meant. It knows a file of another kind, and what takes
// that. It has counts and numbers as people write them, and reads files of bounded size.
package fault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Error is a failure of a file or of a connection, said for people. The system's own is to errors.Is and
// errors.As.
type Error struct {
	text  string
	cause error
}

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.cause }

// File returns an error of package os as an *Error that names the path and says what
// is the matter with it. For a file that isn't there it says where it was looked for, and
// which name there may be meant. Other errors are returned as they are.
func File(err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) || errors.As(err, new(*Error)) {
		return err
	}
	return &Error{unusable(failed.Path, failed.Err), err}
}

// ReadUpTo returns what a file has, at most so many bytes and one more: by that one the
// caller sees that the file is larger. The error is File's.
func ReadUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, File(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	return data, File(err)
}

// Bounded is a reader that fails with Err once Left bytes have been read, where [io.LimitedReader] would seem to
// have come to the end. It is for what has a length of its own that nobody knows before.
type Bounded struct {
	Reader io.Reader
	Left   int64 // goes down as it is read
	Err    error
}

// Read reads at most Left bytes.
func (b *Bounded) Read(p []byte) (int, error) {
	if b.Left <= 0 {
		return 0, b.Err
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.Left)])
	b.Left -= int64(n)
	return n, err
}

func unusable(path string, cause error) string {
	switch {
	case errors.Is(cause, fs.ErrNotExist):
		return absent(path)
	case errors.Is(cause, fs.ErrPermission):
		return fmt.Sprintf("%s: no permission: check whose it is, or choose another path", path)
	case errors.Is(cause, syscall.EISDIR):
		return fmt.Sprintf("%s is a folder: name a file", path)
	case errors.Is(cause, syscall.ENOTDIR):
		const text = "is a file where a folder should be"
		if file := fileAbove(path); file != path {
			return fmt.Sprintf("%s: %s %s", path, file, text)
		}
		return path + " " + text
	case errors.Is(cause, syscall.ENOSPC):
		return fmt.Sprintf("%s: the disk is full", path)
	default:
		return fmt.Sprintf("%s: %v", path, cause)
	}
}

// absent says where a path that doesn't exist ends, and what is there instead.
func absent(path string) string {
	folder, name := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s: no folder %s", path, folder)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := Closest(name, names); near != "" && Closest(stem(name), []string{stem(near)}) != "" {
		return fmt.Sprintf("%s: no such file, did you mean %s?", path, filepath.Join(folder, near))
	}
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	return fmt.Sprintf("%s: no such file in %s", path, folder)
}

// stem is a file's name without its kind, which names have in common that are otherwise
// nothing alike.
func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// fileAbove returns the part of a path that is a file, the path itself if no other is.
func fileAbove(path string) string {
	for above := filepath.Clean(path); ; above = filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && !info.IsDir() {
			return above
		}
		if above == filepath.Dir(above) {
			return path
		}
	}
}
