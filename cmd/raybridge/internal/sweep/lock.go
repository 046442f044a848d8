package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
)

// holder says who coordinates a sweep.
type holder struct {
	Process
	Name    string    `json:"name"` // no other process's
	Started time.Time `json:"started"`
	Renewed time.Time `json:"renewed"`
	// Beat goes up with each renewal: clocks of two machines may be far apart.
	Beat int64 `json:"beat"`
}

func (h *holder) String() string {
	return fmt.Sprintf("process %d on %s, since %s", h.PID, fault.Printable(h.Host), h.Started.Format(time.DateTime))
}

// ErrLocked says that another coordinator has the sweep, or had it and nobody knows whether it still runs.
var ErrLocked = errors.New("is locked by another sweep run")

// ErrLockLost says that a coordinator has no longer the lock that it had.
var ErrLockLost = errors.New("the sweep's lock was lost")

// renewal is how often a lock is renewed.
const renewal = 2 * time.Second

// Lock is the right to coordinate a sweep: a file that is renewed as long as it is held.
type Lock struct {
	store *Store
	mine  holder
	end   context.CancelFunc
	done  chan struct{}
	lost  error // read after done
}

// Lock takes the lock, and holds it until Release. The context that it returns ends with ctx, or when the lock was taken by
// another. takeOver takes one whose holder may still run on another machine, and one of this machine that is no longer
// renewed. The lock of a process of this machine that has ended is taken; tell is told of that. Errors wrap ErrLocked where another has it.
func (s *Store) Lock(ctx context.Context, takeOver bool, tell func(string)) (context.Context, *Lock, error) {
	old, err := s.holder()
	switch {
	case err != nil && !takeOver:
		return nil, nil, fmt.Errorf("%s %w: %w: if none works there, raybridge sweep run --take-over --out %[1]s takes it", s.dir, ErrLocked, err)
	case err == nil && old.Name != "":
		if err := s.judge(ctx, &old, takeOver, tell); err != nil {
			return nil, nil, err
		}
	}
	unguard, err := s.guard(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unguard()
	if now, err := s.holder(); err == nil && now.Name != "" && (now.Name != old.Name || now.Beat != old.Beat) {
		return nil, nil, s.held(&now, "which was faster")
	}
	now := time.Now()
	l := &Lock{store: s, done: make(chan struct{}), mine: holder{Process: thisProcess(), Name: uniqueName(), Started: now, Renewed: now}}
	if err := s.write(lockFile, recordOf(l.mine)); err != nil {
		return nil, nil, err
	}
	s.locked.Store(true)
	held, cancel := context.WithCancelCause(ctx)
	var renewing context.Context
	renewing, l.end = context.WithCancel(context.Background())
	go l.renew(renewing, cancel)
	return held, l, nil
}

// holder reads who has the lock; it has no name where nobody does.
func (s *Store) holder() (h holder, err error) {
	if err = s.read(lockFile, &h); errors.Is(err, fs.ErrNotExist) {
		return holder{}, nil
	}
	if err == nil && h.Name == "" {
		err = fmt.Errorf("%s is damaged: it has no name", filepath.Join(s.dir, lockFile))
	}
	return h, err
}

// guard keeps other processes from changing the lock at the same time, where the file system can: then no two take a stale
// one at once. None holds it for long.
func (s *Store) guard(ctx context.Context) (release func(), err error) {
	f, err := s.root.OpenFile(guardFile, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, s.fault(err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*renewal)
	defer cancel()
	for tryLock(f) {
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("%s %w: another process has %s open: %w", s.dir, ErrLocked, guardFile, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func() { _ = f.Close() }, nil
}

// judge returns nil if a lock that is there may be taken, and tells of it.
func (s *Store) judge(ctx context.Context, old *holder, takeOver bool, tell func(string)) error {
	switch {
	case old.ended():
		tell(fmt.Sprintf("the lock was that of %v, which has ended without giving it back", old))
		return nil
	case old.here() && old.Born != "" && !takeOver:
		return s.held(old, "which is running")
	}
	silent, renewed := s.silent().Round(time.Second), false
	if !takeOver || old.here() { // of one that is here, its word counts for more than the user's
		var err error
		if renewed, err = s.renews(ctx, old); err != nil {
			return err
		}
	}
	switch {
	case renewed:
		return s.held(old, "which has just renewed its lock")
	case takeOver:
		tell(fmt.Sprintf("the lock was that of %v, not renewed for %v", old, silent))
		return nil
	}
	return fmt.Errorf("%s %w: %v, which hasn't renewed its lock for %v: if it has ended, or its machine has, raybridge sweep run --take-over --out %[1]s continues",
		s.dir, ErrLocked, old, silent+2*renewal)
}

// held is the error of a lock whose holder works, and says what to do.
func (s *Store) held(by *holder, how string) error {
	return fmt.Errorf("%s %w: %v, %s: raybridge sweep status %[1]s shows how far it is, raybridge sweep cancel %[1]s ends it", s.dir, ErrLocked, by, how)
}

// renews watches whether a lock is renewed, by its count: times of another machine say nothing.
func (s *Store) renews(ctx context.Context, old *holder) (bool, error) {
	timer := time.NewTimer(2 * renewal)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	var now holder
	err := s.read(lockFile, &now)
	if errors.Is(err, fs.ErrNotExist) { // given back
		return true, nil
	}
	return err == nil && (now.Beat != old.Beat || now.Name != old.Name), err
}

// renew renews the lock until ctx ends. It ends the sweep if another has taken the lock, or if it can't be renewed.
func (l *Lock) renew(ctx context.Context, end context.CancelCauseFunc) {
	defer close(l.done)
	ticker := time.NewTicker(renewal)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			end(nil)
			return
		case <-ticker.C:
		}
		if l.beat(ctx) {
			continue
		}
		l.store.locked.Store(false)
		end(l.lost)
		<-ctx.Done()
		return
	}
}

// beat renews the lock once, and reports whether it is still ours as far as anybody knows.
func (l *Lock) beat(ctx context.Context) bool {
	unguard, err := l.store.guard(ctx)
	if err != nil {
		return true // the file system may come back
	}
	defer unguard()
	var now holder
	err = l.store.read(lockFile, &now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.lost = fmt.Errorf("%w: somebody has removed the file %s: run the command again to continue", ErrLockLost, filepath.Join(l.store.dir, lockFile))
		return false
	case err == nil && now.Name != l.mine.Name:
		l.lost = fmt.Errorf("%w: %s now %w: %v", ErrLockLost, l.store.dir, ErrLocked, &now)
		return false
	case err == nil:
		l.mine.Beat++
		l.mine.Renewed = time.Now()
		_ = l.store.write(lockFile, recordOf(l.mine)) // a full disk ends the sweep by its cases
	}
	return true
}

// Release gives the lock back. The error wraps ErrLockLost if another had taken it.
func (l *Lock) Release() error {
	l.end()
	<-l.done
	l.store.locked.Store(false)
	if l.lost != nil {
		return l.lost
	}
	unguard, err := l.store.guard(context.Background())
	if err != nil {
		return err
	}
	defer unguard()
	if now, err := l.store.holder(); err != nil || now.Name != l.mine.Name {
		return nil // another's
	}
	return l.store.fault(l.store.root.Remove(lockFile))
}

// Coordinator says who has the sweep's lock, "" for nobody, or for a process that has ended. It reports lost for one that
// can't be seen from here, and hasn't renewed its lock for a minute.
func (s *Store) Coordinator() (who string, lost bool, err error) {
	h, err := s.holder()
	if err != nil || h.Name == "" || h.ended() {
		return "", false, err
	}
	if silent := s.silent(); !h.here() && silent > lostAfter {
		return fmt.Sprintf("%v, which hasn't renewed its lock for %v", &h, silent.Round(time.Second)), true, nil
	}
	return h.String(), false, nil
}

// silent is how long the lock wasn't renewed, by the clock of the file system.
func (s *Store) silent() time.Duration {
	now := s.now()
	return now.Sub(s.timeOf(lockFile, now))
}

// Cancel asks all that work on the sweep to end. They look once a second.
func (s *Store) Cancel() error {
	return s.write(cancelFile, []byte("The sweep was cancelled. Without this file, it can continue.\n"))
}

// Uncancel lets the sweep be worked on again.
func (s *Store) Uncancel() error {
	if err := s.root.Remove(cancelFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.fault(err)
	}
	return nil
}

// Cancelled reports whether the sweep was cancelled.
func (s *Store) Cancelled() bool {
	_, err := s.root.Lstat(cancelFile)
	return err == nil
}

// ErrCancelled says that the sweep was cancelled.
var ErrCancelled = errors.New("the sweep was cancelled")

// UntilCancelled returns a context that ends with ctx, or soon after the sweep was cancelled. The function that it returns
// has to be called, and ends it, too.
func (s *Store) UntilCancelled(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if s.Cancelled() {
					cancel(ErrCancelled)
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}
