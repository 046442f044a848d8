package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/fault"
)

// Set is a set's folder as a Format writes into it.
type Set struct {
	// Dir is the folder, Run the run that is recorded, without its ID after the recording.
	Dir string
	Run bridges.Run
	Log *slog.Logger

	mu    sync.Mutex
	files []string // guarded by mu: those that were written since the last row
	bytes int64    // guarded by mu: of these
	err   error    // guarded by mu: of a job
	jobs  sync.WaitGroup
	slots chan struct{} // one for each job that may run
}

func newSet(dir string, run bridges.Run, log *slog.Logger) *Set {
	return &Set{Dir: dir, Run: run, Log: log, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))}
}

// beside is a set of the same folder whose files are its own.
func (s *Set) beside() *Set { return &Set{Dir: s.Dir, Run: s.Run, Log: s.Log, slots: s.slots} }

// Go runs a job on a goroutine of its own, and waits while as many run as there are processors, less one. The next row is
// committed when all jobs have ended. An error of a job ends the recording.
func (s *Set) Go(job func() error) {
	s.slots <- struct{}{}
	s.jobs.Add(1)
	go func() {
		defer s.jobs.Done()
		defer func() { <-s.slots }()
		if err := job(); err != nil {
			s.mu.Lock()
			s.err = errors.Join(s.err, err)
			s.mu.Unlock()
		}
	}()
}

// WriteFile writes a data file, a path below the set's folder with slashes, and makes the folders above it. The row that is
// committed next names it. Any goroutine of a job may call it.
func (s *Set) WriteFile(name string, data []byte) error {
	s.mu.Lock()
	s.files = append(s.files, name)
	s.bytes += int64(len(data))
	s.mu.Unlock()
	path := filepath.Join(s.Dir, filepath.FromSlash(name))
	err := os.WriteFile(path, data, 0o666)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
	}
	if err != nil {
		return fmt.Errorf("write data file: %w", fault.File(err))
	}
	return nil
}

// settle waits for the jobs and returns the files that they wrote, sorted, and how many bytes they have.
func (s *Set) settle() (files []string, bytes int64, err error) {
	s.jobs.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	files, bytes, err = s.files, s.bytes, s.err
	s.files, s.bytes = nil, 0
	slices.Sort(files)
	return files, bytes, err
}

// Replace writes a file that isn't a data file, in place of one of the name: to a temporary name beside it, and then renamed. Tables call it
// on one goroutine. A name that leads out of the set's folder, by itself or by a link, is an error: the journal may come from elsewhere.
// Errors of write are returned as they are.
func (s *Set) Replace(name string, write func(w io.Writer) error) error {
	path := filepath.FromSlash(name)
	failed := func(err error) error {
		var of *fs.PathError
		if errors.As(err, &of) {
			err = fault.File(&fs.PathError{Op: of.Op, Path: filepath.Join(s.Dir, path), Err: of.Err})
		}
		return fmt.Errorf("write %s: %w", filepath.Join(s.Dir, path), err)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return failed(err)
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return failed(err)
	}
	temporary := path + ".part"
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return failed(err)
	}
	if err := write(f); err != nil {
		return errors.Join(fault.File(err), f.Close(), root.Remove(temporary))
	}
	if err := errors.Join(f.Close(), root.Rename(temporary, path)); err != nil {
		return errors.Join(failed(err), root.Remove(temporary))
	}
	return nil
}

// Link gives a file that WriteFile wrote another name, so that it is in the set twice and on the disk once. The row that is
// committed next names both. Any goroutine of a job may call it.
func (s *Set) Link(name, file string) error {
	s.mu.Lock()
	s.files = append(s.files, name)
	s.mu.Unlock()
	path := filepath.Join(s.Dir, filepath.FromSlash(name))
	if err := linkFile(filepath.Join(s.Dir, filepath.FromSlash(file)), path); err != nil {
		return fmt.Errorf("write %s: %w", path, fault.File(err))
	}
	return nil
}
