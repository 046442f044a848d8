// Package recordfile writes files that grow by whole records and can go back to
// the end of a complete one: what a bridge needs to leave a readable recording
// behind when the disk is full.
package recordfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/raybridge/raybridge/internal/fault"
)

// Target is what a File writes to; *os.File is one.
type Target interface {
	io.Writer
	io.Seeker
	io.Closer
	Truncate(size int64) error
}

// File buffers writes to a Target and remembers where the last complete record
// ends. One goroutine uses it at a time.
type File struct {
	target    Target
	place     Place
	buf       *bufio.Writer
	written   int64 // through Write, buffered or not
	received  int64 // by the target
	committed int64
}

// sink is a File behind its buffer.
type sink File

// Write hands p to the target, if that still has what came before.
func (s *sink) Write(p []byte) (int, error) {
	if err := (*File)(s).Intact(); err != nil {
		return 0, err
	}
	n, err := s.target.Write(p)
	s.received += int64(n)
	return n, err
}

// Create makes or empties the file at path, and the folders above it.
func Create(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("create folder of %s: %w", path, fault.File(err))
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", fault.File(err))
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", errors.Join(err, f.Close()))
	}
	file := New(f)
	file.place = Place{path: path, info: info}
	return file, nil
}

// ErrRemoved says that what was recorded is not, or no longer, where it was to be.
var ErrRemoved = errors.New("the recording was removed, renamed, replaced or truncated while it was written")

// Place is where a file was created, and how much of it is committed. The zero Place is that of
// a target that has no path.
type Place struct {
	path string
	info os.FileInfo
	size int64 // bytes
}

// Check returns an error that wraps ErrRemoved unless the path still leads to the file, and the
// file to what was committed.
func (p Place) Check() error {
	if p.info == nil {
		return nil
	}
	if now, err := os.Stat(p.path); err == nil && os.SameFile(now, p.info) && !shortened(now, p.size) {
		return nil
	}
	return fmt.Errorf("%s: %w", p.path, ErrRemoved)
}

// shortened reports whether a file has less than was written to it. Devices and pipes have no
// size.
func shortened(info os.FileInfo, size int64) bool {
	return info.Mode().IsRegular() && info.Size() < size
}

// Place returns where the file was created; it can be asked after Close.
func (f *File) Place() Place {
	place := f.place
	place.size = f.committed
	return place
}

// Intact returns an error that wraps ErrRemoved if what is written to the file is lost: it has
// no name left, or it was truncated, so that a hole is where its beginning was. A file that was
// renamed is intact.
func (f *File) Intact() error {
	file, ok := f.target.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if system, ok := info.Sys().(*syscall.Stat_t); ok && system.Nlink == 0 || shortened(info, f.received) {
		return fmt.Errorf("%s: %w", f.place.path, ErrRemoved)
	}
	return nil
}

// New returns a File that writes to target, which is empty and becomes the
// File's to close.
func New(target Target) *File {
	f := &File{target: target}
	f.buf = bufio.NewWriterSize((*sink)(f), 64<<10)
	return f
}

// Write appends p. After an error every Write returns it, until Rewind.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.buf.Write(p)
	f.written += int64(n)
	return n, err
}

// Commit says that all that was written so far are complete records, and hands
// them to the operating system. It returns ErrRemoved if they are lost there: see
// Intact.
func (f *File) Commit() error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	f.committed = f.written
	return f.Intact()
}

// Committed returns the size up to the last complete record.
func (f *File) Committed() int64 { return f.committed }

// Rewind cuts the file to size, which was committed before, and goes on there;
// an error of Write is forgotten.
func (f *File) Rewind(size int64) error {
	f.buf.Reset((*sink)(f))
	if err := f.target.Truncate(size); err != nil {
		return fmt.Errorf("cut recording to its last complete record: %w", err)
	}
	if _, err := f.target.Seek(size, io.SeekStart); err != nil {
		return fmt.Errorf("go back to the last complete record: %w", err)
	}
	f.written, f.received, f.committed = size, size, size
	return nil
}

// Close commits nothing: what wasn't committed is lost. It closes the target.
func (f *File) Close() error { return f.target.Close() }
