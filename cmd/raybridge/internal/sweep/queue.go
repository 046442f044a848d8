package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// An engine whose workers are on other machines asks plan and store for the following.

// ID names the plan by its cases. Plans that differ in the columns of their table alone are one.
func (p *Plan) ID() string {
	h := sha256.New()
	for i := range p.Cases {
		_, _ = io.WriteString(h, p.Cases[i].ID) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Has reports whether a case has its result.
func (s *Store) Has(id string) bool { return s.has(id) }

// HasNow reports whether a case has its result, which another machine may just have put there. NFS may know for a minute that
// a file isn't there, unless its folder is opened.
func (s *Store) HasNow(id string) bool {
	if s.has(id) {
		return true
	}
	folder := caseDir(id)
	for _, name := range []string{".", casesDir, path.Dir(folder), folder} {
		s.look(name)
	}
	return s.has(id)
}

// look has a network's file system look whether a folder has changed.
func (s *Store) look(folder string) {
	if f, err := s.root.Open(folder); err == nil {
		_ = f.Close()
	}
}

// Try runs a case that may be any, and files what it gives. tries counts the attempts with this one.
func (w *Worker) Try(ctx context.Context, c *Case, tries int) End {
	if err := w.check(c); err != nil {
		return End{Case: c, Result: Hopeless, Err: err, Code: codeUsage}
	}
	return w.run(ctx, c, tries).file()
}

// The files by which a coordinator and workers of other machines know each other.
const (
	roundFile   = "round"
	workersFile = "workers.json"
)

// ServerDir is the folder with the files of the coordinator's own server, in the store's.
const ServerDir = "nats"

// Round is one start of a coordinator.
type Round struct {
	// Name tells rounds apart.
	Name string `json:"name"`
	// Stream has the round's cases.
	Stream string `json:"stream"`
}

// Round is what the coordinator has written to the folder at its start, empty where none has. A worker that sees another one than
// the coordinator says isn't in the coordinator's folder.
func (s *Store) Round() (round Round, err error) {
	s.look(".") // else NFS may show the one before
	if err = s.read(roundFile, &round); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return round, err
}

// SetRound writes the coordinator's round.
func (s *Store) SetRound(round Round) error { return s.write(roundFile, recordOf(round)) }

// WorkerState is a worker of another machine, by the word of the coordinator.
type WorkerState struct {
	Name string `json:"name"`
	Host string `json:"host"`
	// Jobs is how many cases it runs at a time, and Running are those that it runs now.
	Jobs    int      `json:"jobs"`
	Running []string `json:"running,omitempty"`
	// Done and Failed count its attempts.
	Done   int `json:"done"`
	Failed int `json:"failed"`
	// SilentS is for how long the coordinator hadn't heard of it, seconds.
	SilentS float64 `json:"silent_s"`
}

// SetWorkers writes the workers that the coordinator has.
func (s *Store) SetWorkers(list []WorkerState) error { return s.write(workersFile, recordOf(list)) }

// ForgetWorkers says that the coordinator has none any longer.
func (s *Store) ForgetWorkers() error {
	if err := s.root.Remove(workersFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.fault(err)
	}
	return nil
}

// Workers are those that the coordinator has last said to have.
func (s *Store) Workers() (list []WorkerState, err error) {
	if err = s.read(workersFile, &list); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return list, err
}

// ErrInUse says that another process has a file locked.
var ErrInUse = errors.New("another process has it")

// LockFile locks a file of the store, which it makes, until it is closed or the process ends.
func (s *Store) LockFile(name string) (io.Closer, error) {
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, s.fault(err)
	}
	if tryLock(f) {
		return nil, errors.Join(s.fault(&fs.PathError{Op: "lock", Path: name, Err: ErrInUse}), f.Close())
	}
	return f, nil
}

// Complete reports whether each case of a plan is done or has failed for good.
func (s *Store) Complete(p *Plan) (bool, error) {
	failed, err := s.Failed()
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(p.Cases, func(c Case) bool { return failed[c.ID] == nil && !s.has(c.ID) }), nil
}
