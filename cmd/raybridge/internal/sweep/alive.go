package sweep

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync"
	"time"
)

// aliveFile is what the process of an attempt writes in the attempt's folder again and again. The time of the last writing is
// by the clock of the file system, so that it doesn't count what the clocks of the machines say.
const aliveFile = "alive"

const (
	// signEvery is how often an attempt gives a sign of life.
	signEvery = 10 * time.Second
	// lostAfter is how long a process that nobody can see from here may be silent before it counts as dead.
	lostAfter = time.Minute
	// deadAfter is how long an attempt of such a process stays.
	deadAfter = 24 * time.Hour
)

// live has the attempt give signs of life, from now on until the function that it returns is called, which may be called again.
func (a *attempt) live() (quiet func()) {
	a.sign()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(signEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				a.sign()
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(ended)
		<-done
		_ = a.store.root.Remove(a.path(aliveFile)) // at the latest it goes with the attempt
	})
}

// sign gives one sign of life.
func (a *attempt) sign() {
	_ = a.store.root.WriteFile(a.path(aliveFile), []byte("The time of this file says that the attempt is being made.\n"), 0o644) // the next one may succeed
}

// work is an attempt that is being made, or that the dead have left. Times are by the clock of the file system.
type work struct {
	Timing
	name string
	// since is how long ago the attempt began, and silent how long its last sign of life is ago.
	since, silent time.Duration
}

// lives reports whether the attempt is being made: as its process shows where it can be seen from here, and else by its signs.
func (w *work) lives() bool { return !w.ended() && (w.here() || w.silent <= lostAfter) }

// works lists all attempts. One without a record, such as a half result that was set aside, has no ID.
func (s *Store) works() ([]work, error) {
	entries, err := fs.ReadDir(s.root.FS(), attemptsDir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, s.fault(err)
	}
	now := s.now()
	var list []work
	for _, e := range entries {
		w := work{name: path.Join(attemptsDir, e.Name())}
		info, err := e.Info()
		if err != nil {
			continue // another has removed it
		}
		began := s.timeOf(path.Join(w.name, timingFile), info.ModTime())
		w.since, w.silent = now.Sub(began), now.Sub(s.timeOf(path.Join(w.name, aliveFile), info.ModTime()))
		if err := s.read(path.Join(w.name, timingFile), &w.Timing); err != nil || !idForm.MatchString(w.ID) {
			w.Timing = Timing{} // it has just begun or ended, or isn't an attempt
		}
		list = append(list, w)
	}
	return list, nil
}

// timeOf is when a file was last written, and otherwise where it isn't there. Opened, it has the time of now on NFS, too, which
// else remembers times for up to a minute.
func (s *Store) timeOf(name string, otherwise time.Time) time.Time {
	info, err := s.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would wait
		return otherwise
	}
	f, err := s.root.Open(name)
	if err != nil {
		return otherwise
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return otherwise
	}
	return info.ModTime()
}

// now is the time by the clock of the file system, which several machines may share. If nothing can be
// written there, it is the time of this machine.
func (s *Store) now() time.Time {
	name := temporary + uniqueName()
	defer func() { _ = s.root.Remove(name) }() // only its time counts
	if err := s.root.WriteFile(name, nil, 0o644); err != nil {
		return time.Now()
	}
	return s.timeOf(name, time.Now())
}

// SweepDead removes the attempts of processes of this machine that have ended, and those of others that have given no sign of
// life for a day.
func (s *Store) SweepDead() error {
	works, err := s.works()
	for _, w := range works {
		if w.ended() || !w.lives() && w.silent > deadAfter {
			err = errors.Join(err, s.removeAttempt(w.name))
		}
	}
	return err
}

// running lists the attempts that are being made, and those that were lost. An attempt is lost if its case has no result, and its
// process has ended or has given no sign of life for a minute.
func (s *Store) running() (running, lost []work, err error) {
	works, err := s.works()
	works = slices.DeleteFunc(works, func(w work) bool { return w.ID == "" })
	for _, w := range works {
		switch {
		case w.lives():
			running = append(running, w)
		case !s.has(w.ID):
			lost = append(lost, w)
		}
	}
	return running, lost, err
}
