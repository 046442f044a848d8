package bridges

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// Target is what a File writes to; *os.File is one. One goroutine uses it at a time. It is
// empty when the recording begins, and closed at its end. Truncate and Seek cut a recording
// back that the target refuses to take more of.
type Target interface {
	io.Writer
	io.Seeker
	io.Closer
	Truncate(size int64) error
}

// File writes a file that grows by whole records and can go back to the end of a complete one.
// So a bridge can leave a readable recording behind when the disk is full. It buffers what it
// writes. One goroutine uses it at a time. It is a Recording of records that Commit ends.
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

// ErrRemoved says that what was recorded is not, or no longer, where it was to be.
var ErrRemoved = errors.New("the recording was removed, renamed, replaced or truncated while it was written")

// Place is where a file was created, and how much of it is committed. That of a target
// which isn't a file is always in order.
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

// Intact returns an error that wraps ErrRemoved if what is written to the file is lost. It has
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

// FileOn returns a File that writes to target, which is empty and becomes the File's to
// close. Errors name it by path.
func FileOn(target Target, path string) *File {
	f := &File{target: target, place: Place{path: path}}
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

// Rewind cuts the file to size, which was committed before, and continues there; an error of
// Write is forgotten.
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

// Path returns the path that the file was created at.
func (f *File) Path() string { return f.place.path }

// End is Commit.
func (f *File) End() error { return f.Commit() }

// Salvage cuts the file back to its last complete record, unless it was removed.
func (f *File) Salvage() error {
	if errors.Is(f.Intact(), ErrRemoved) {
		return nil // which Settle tells
	}
	return f.Rewind(f.committed)
}

// Settle closes the file. Its error wraps ErrRemoved if the file isn't at its place.
func (f *File) Settle() error { return errors.Join(f.Close(), f.Place().Check()) }

// Recording is what a Recorder writes during one connection: a File, or what a format makes of
// some. One goroutine uses it at a time.
type Recording interface {
	// Path names the recording, or the file of it that is being written, in errors.
	Path() string
	// End completes the recording.
	End() error
	// Salvage completes the recording after an error: it keeps the records that are complete,
	// and counts the others as lost.
	Salvage() error
	// Settle is called at last, after End or Salvage. It lets go of the recording. What isn't
	// at its place is counted as lost, and is an error that wraps ErrRemoved.
	Settle() error
}

// Recorder is the life of an instance that writes files, another recording with each
// connection. An instance that embeds one has all of Instance, Checker and Failer. It sets Env,
// Read and perhaps Open when it is made. Methods may be called from any goroutine.
//
// The lock guards the recording, and what the instance keeps for it. Recording and Fail are
// called with the lock, and so are all methods of the recording. A publisher writes a message
// like this:
//
//	r.Lock()
//	defer r.Unlock()
//	file, err := r.Recording()
//	if err != nil {
//		return err
//	}
//	if _, err = file.Write(record); err == nil {
//		err = file.Commit()
//	}
//	if err != nil {
//		return r.Fail(err)
//	}
//	topic.Sent(len(record))
//
// The recording is Connected from Connect to Disconnect. A write that fails ends it early. What
// is complete is finished and stays readable, and the instance is UnexpectedlyDisconnected. Every
// publisher returns the same error, which wraps flow.ErrWriteFailed, until the next Connect.
type Recorder[R Recording] struct {
	State
	sync.Mutex
	// Env is the run that is recorded, as Registry.Open gives it: with a Log.
	Env Env
	// Read reads a connection string, or returns an error that wraps ErrConnectionString.
	// begin, which is called with the lock, makes the recording.
	Read func(connection string) (begin func() (R, error), err error)
	// Open makes what is written to in the place of the file at path. (optional; nil makes
	// files)
	Open func(path string) (Target, error)

	now  R     // guarded by Mutex: of no meaning unless open
	open bool  // guarded by Mutex: there is a recording
	err  error // guarded by Mutex: what ended the last recording early
}

// Create makes or empties the file at path, and the folders above it, or opens what is in its
// place.
func (r *Recorder[R]) Create(path string) (*File, error) {
	if r.Open != nil {
		target, err := r.Open(path)
		if err != nil {
			return nil, fmt.Errorf("open target of the recording: %w", err)
		}
		return FileOn(target, path), nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("create folder of %s: %w", path, fault.File(err))
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", fault.File(err))
	}
	file := FileOn(f, path)
	if file.place.info, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("create recording: %w", errors.Join(err, f.Close()))
	}
	return file, nil
}

// Check reads a connection string as Connect does.
func (r *Recorder[R]) Check(connection string) error {
	_, err := r.Read(connection)
	return err
}

// Connect ends the former recording, if there is one, and begins another.
func (r *Recorder[R]) Connect(ctx context.Context, connection string) error {
	if err := r.Disconnect(ctx); err != nil {
		r.Env.Log.Error("end the former recording", "error", err)
	}
	begin, err := r.Read(connection)
	if err != nil {
		return err
	}
	r.Lock()
	defer r.Unlock()
	recording, err := begin()
	if r.err = nil; err != nil {
		r.SetStatus(flow.UnexpectedlyDisconnected)
		return err
	}
	r.now, r.open = recording, true
	r.SetStatus(flow.Connected)
	return nil
}

// Recording returns the recording that is being written, else why there is none:
// flow.ErrNotConnected, or what ended the last one early.
func (r *Recorder[R]) Recording() (recording R, err error) {
	switch {
	case r.open:
		return r.now, nil
	case r.err != nil:
		return recording, r.err
	default:
		return recording, flow.ErrNotConnected
	}
}

// Fail ends the recording after a failed write, of which cause tells. What is complete stays
// readable. The error is returned, which wraps flow.ErrWriteFailed.
func (r *Recorder[R]) Fail(cause error) error {
	if errors.Is(cause, ErrRemoved) {
		cause = nil // Settle tells of all files
	}
	path, salvage := r.now.Path(), r.now.Salvage()
	r.finish(fmt.Errorf("record to %s: %w: %w", path, flow.ErrWriteFailed, errors.Join(cause, salvage, r.now.Settle())))
	r.Env.Log.Error("recording ended early; what is complete stays readable", "error", r.err)
	return r.err
}

// finish forgets the recording, which err ended early; the lock must be held.
func (r *Recorder[R]) finish(err error) {
	var none R
	r.now, r.open, r.err = none, false, err
	if err != nil {
		r.SetStatus(flow.UnexpectedlyDisconnected)
		return
	}
	r.SetStatus(flow.Disconnected)
}

// Disconnect completes the recording. It returns again what ended a recording early.
func (r *Recorder[R]) Disconnect(context.Context) error {
	r.Lock()
	defer r.Unlock()
	if !r.open {
		return r.err
	}
	r.SetStatus(flow.Disconnecting)
	if err := r.now.End(); err != nil {
		return r.Fail(err)
	}
	err := r.now.Settle()
	if err != nil {
		err = fmt.Errorf("finish %s: %w: %w", r.now.Path(), flow.ErrWriteFailed, err)
	}
	r.finish(err)
	return err
}

// Err returns what ended the last recording early.
func (r *Recorder[R]) Err() error {
	r.Lock()
	defer r.Unlock()
	return r.err
}
