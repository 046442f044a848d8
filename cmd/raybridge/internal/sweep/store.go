package sweep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene/gltf"
)

// The names in a store's folder.
const (
	planFile     = "plan.json"
	casesDir     = "cases"
	attemptsDir  = "attempts"
	failedDir    = "failed"
	alarmsDir    = "alarms"
	lockFile     = "lock"
	guardFile    = ".guard"
	cancelFile   = "cancelled"
	manifestFile = "manifest.json"
)

// Store is the folder of a sweep's results. A case is done when cases/<first 2>/<id>/ has a manifest: the folder comes
// there by a rename, whole. Any goroutine and any number of processes may use one folder at a time.
type Store struct {
	dir    string // absolute
	root   *os.Root
	locked atomic.Bool // by a Lock of this one
}

// Errors of a store.
var (
	// ErrNoPlan: the folder has no plan.
	ErrNoPlan = errors.New("no sweep was planned there")
	// ErrForeign: the folder belongs to something else.
	ErrForeign = errors.New("belongs to something else")
	// ErrOlder: the folder has another plan of the same sweep.
	ErrOlder = errors.New("has another plan of this sweep")
	// ErrUnlocked says that a plan takes the place of another one only while the lock is held.
	ErrUnlocked = errors.New("has another plan, which takes its lock to replace")
)

// OpenStore opens a folder, which has to be there. The caller closes the store.
func OpenStore(dir string) (*Store, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return nil, fmt.Errorf("open sweep: %w", fault.File(err))
	}
	return &Store{dir: whole, root: root}, nil
}

// CreateStore opens a folder, and makes it where it isn't there.
func CreateStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make sweep's folder: %w", fault.File(err))
	}
	s, err := OpenStore(dir)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare refuses a folder that has something else, or that can't be written.
func (s *Store) prepare() error {
	own := []string{
		casesDir, attemptsDir, failedDir, alarmsDir, inputsDir, lockFile, guardFile, cancelFile, ResultsFile, TimingFile, ReportFile,
		roundFile, workersFile, ServerDir,
	}
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return s.fault(err)
	}
	planned := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == planFile })
	for _, e := range entries {
		if !planned && !slices.Contains(own, e.Name()) && !strings.HasPrefix(e.Name(), temporary) {
			return fmt.Errorf("%s %w: it has %s: choose another folder", s.dir, ErrForeign, fault.Printable(e.Name()))
		}
	}
	for _, dir := range []string{casesDir, attemptsDir, failedDir} {
		if err := s.folder(dir); err != nil {
			return err
		}
	}
	return nil
}

// Dir is the store's folder.
func (s *Store) Dir() string { return s.dir }

// Close closes the store. Its cases stay.
func (s *Store) Close() error { return s.root.Close() }

// fault names a file of the store in an error, with the store's folder.
func (s *Store) fault(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && !filepath.IsAbs(failed.Path) {
		return fault.File(&fs.PathError{Op: failed.Op, Path: filepath.Join(s.dir, failed.Path), Err: failed.Err})
	}
	return fault.File(err)
}

// temporary begins the names of files that aren't whole yet.
const temporary = ".new-"

// write writes a file so that it is there whole or not at all, also after the machine has failed.
func (s *Store) write(name string, data []byte) error {
	if err := s.folder(path.Dir(name)); err != nil {
		return err
	}
	next := path.Join(path.Dir(name), temporary+uniqueName())
	err := s.create(next, bytes.NewReader(data))
	if err == nil {
		err = s.root.Rename(next, name)
	}
	if err == nil {
		return s.fault(s.sync(path.Dir(name)))
	}
	_ = s.root.Remove(next) // it counts for nothing
	return s.fault(err)
}

// folder makes a folder with those above it, and waits until the disk has the names of the new ones.
func (s *Store) folder(name string) error {
	if _, err := s.root.Stat(name); err == nil || name == "." {
		return nil
	}
	if err := s.folder(path.Dir(name)); err != nil {
		return err
	}
	if err := s.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return s.fault(err)
	}
	return s.fault(s.sync(path.Dir(name)))
}

// create writes a new file, and waits until the disk has it.
func (s *Store) create(name string, from io.Reader) error {
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// sync waits until the disk has a file or a folder.
func (s *Store) sync(name string) error {
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) { // of a folder, on some file systems
		err = nil
	}
	return errors.Join(err, f.Close())
}

// maxRecord is the size of the largest manifest or record that is read, bytes.
const maxRecord = 64 << 20

// read reads a record of JSON. Nothing but a regular file is one.
func (s *Store) read(name string, into any) error {
	info, err := s.root.Lstat(name)
	if err != nil {
		return s.fault(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return fmt.Errorf("%s is not a record of a sweep", filepath.Join(s.dir, name))
	}
	data, err := s.root.ReadFile(name)
	if err != nil {
		return s.fault(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is damaged: %w", filepath.Join(s.dir, name), err)
	}
	return nil
}

// recordOf writes a record.
func recordOf(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // its types are ours, and can be written
	}
	return append(data, '\n')
}

// Plan reads the store's plan.
func (s *Store) Plan() (*Plan, error) {
	info, err := s.root.Lstat(planFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", s.dir, ErrNoPlan)
	}
	if err != nil {
		return nil, s.fault(err)
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, s.planFault(fmt.Errorf("%w: it isn't a regular file", ErrPlan))
	}
	f, err := s.root.Open(planFile)
	if err != nil {
		return nil, s.fault(err)
	}
	defer f.Close()
	p, err := readPlan(f)
	if err != nil {
		return nil, s.planFault(err)
	}
	return p, nil
}

// planFault says what to do about a plan that can't be read.
func (s *Store) planFault(err error) error {
	return fmt.Errorf("%s: %w: delete it, and plan the sweep file again: what is done stays", filepath.Join(s.dir, planFile), err)
}

// Planned returns nil if the store has a plan, whatever is in it.
func (s *Store) Planned() error {
	_, err := s.root.Lstat(planFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", s.dir, ErrNoPlan)
	}
	return s.fault(err)
}

// Change is what a new plan means for a store.
type Change struct {
	// Stay cases are in both plans, New in the new one alone, Gone in the old one alone.
	Stay, New, Gone int
	// Done is how many of Stay have their result.
	Done int
}

// Adopt makes a plan the store's, with the files that it reads. A plan that the store has already only brings back those that
// are lost or damaged. It replaces another one of the same sweep if that has the same cases, or if extend is set: the error wraps
// ErrUnlocked where this store hasn't the lock then, ErrOlder where extend would have to be set, and ErrForeign for a plan of another
// sweep.
func (s *Store) Adopt(ctx context.Context, p *Plan, extend bool) (*Change, error) {
	old, err := s.Plan()
	switch {
	case errors.Is(err, ErrNoPlan):
		return s.first(ctx, p)
	case err != nil:
		return nil, err
	case !old.isOlderOf(p):
		return nil, fmt.Errorf("%s %w: the sweep %s: choose another folder, or give --moved if %s is that sweep's file now", s.dir, ErrForeign, fault.Printable(old.Place), fault.Printable(p.Place))
	}
	if !p.moved && old.Place != p.Place { // another machine, or a copy, sees it there
		there := *p
		there.Place = old.Place
		p = &there
	}
	switch {
	case bytes.Equal(recordOf(old), recordOf(p)):
		return nil, s.take(ctx, p)
	case old.hasCases(p): // a comment in the base, or other columns of the table
		return nil, s.replace(ctx, p)
	}
	change, err := s.compare(old, p)
	if err != nil {
		return nil, err
	}
	if !extend {
		why := ""
		if old.Version != p.Version {
			why = ", made by raybridge " + fault.Printable(old.Version)
		} else if old.Class != p.Class {
			why = ", for the device " + fault.Printable(old.Class)
		}
		return change, fmt.Errorf("%s %w%s: give --extend to replace it by the new one, and to keep what is done of both, or another --out", s.dir, ErrOlder, why)
	}
	if err := s.replace(ctx, p); err != nil {
		return nil, err
	}
	return change, nil
}

// replace writes a plan in place of another one, which nobody may run meanwhile.
func (s *Store) replace(ctx context.Context, p *Plan) error {
	if !s.locked.Load() {
		return fmt.Errorf("%s %w", s.dir, ErrUnlocked)
	}
	text, err := p.text()
	if err != nil {
		return err
	}
	if err := s.take(ctx, p); err != nil {
		return err
	}
	return s.write(planFile, text)
}

// first writes the store's first plan. Of several that come at once, the first one stays.
func (s *Store) first(ctx context.Context, p *Plan) (*Change, error) {
	text, err := p.text()
	if err != nil {
		return nil, err
	}
	if err := s.take(ctx, p); err != nil {
		return nil, err
	}
	next := temporary + uniqueName()
	defer func() { _ = s.root.Remove(next) }()
	if err := s.create(next, bytes.NewReader(text)); err != nil {
		return nil, s.fault(err)
	}
	err = s.root.Link(next, planFile)
	if errors.Is(err, fs.ErrExist) {
		return s.Adopt(ctx, p, false)
	}
	if err != nil { // a file system without links
		err = s.root.Rename(next, planFile)
	}
	return nil, s.fault(cmp.Or(err, s.sync(".")))
}

func (s *Store) compare(old, p *Plan) (*Change, error) {
	had := make(map[string]struct{}, len(old.Cases))
	for i := range old.Cases {
		had[old.Cases[i].ID] = struct{}{}
	}
	done, err := s.Done()
	if err != nil {
		return nil, err
	}
	var c Change
	for i := range p.Cases {
		if _, ok := had[p.Cases[i].ID]; !ok {
			c.New++
			continue
		}
		c.Stay++
		if _, ok := done[p.Cases[i].ID]; ok {
			c.Done++
		}
	}
	c.Gone = len(old.Cases) - c.Stay
	return &c, nil
}

// take copies the files that a plan reads.
func (s *Store) take(ctx context.Context, p *Plan) error {
	for i := range p.Inputs {
		if err := s.takeInput(ctx, &p.Inputs[i], p.sources[p.Inputs[i].Hash]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) takeInput(ctx context.Context, in *Input, from source) error {
	target := path.Join(inputsDir, in.Hash)
	if s.checkInput(in) == nil {
		return nil
	}
	next := path.Join(inputsDir, temporary+uniqueName())
	defer func() { _ = s.root.RemoveAll(next) }() // it counts for nothing
	for _, f := range in.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.copyFile(path.Join(next, f.Name), f, from); err != nil {
			return err
		}
	}
	if err := s.sync(next); err != nil {
		return s.fault(err)
	}
	err := s.root.Rename(next, target)
	if err != nil && s.checkInput(in) == nil { // another was faster
		return nil
	}
	if _, there := s.root.Lstat(target); err != nil && there == nil {
		damaged := path.Join(inputsDir, temporary+uniqueName())
		defer func() { _ = s.root.RemoveAll(damaged) }() // it counts for nothing
		if err = s.root.Rename(target, damaged); err == nil {
			err = s.root.Rename(next, target)
		}
	}
	if err != nil {
		return s.fault(err)
	}
	return s.fault(s.sync(inputsDir))
}

// copyFile copies a file of an input, which has to be what it was when it was hashed.
func (s *Store) copyFile(to string, f InputFile, from source) error {
	if err := s.folder(path.Dir(to)); err != nil {
		return err
	}
	r, err := from.open(f.Name)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := s.create(to, r); err != nil {
		return s.fault(err)
	}
	if err := s.checkFile(to, f); errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%s %w since it was planned: run the command again", from.file(f.Name), ErrDamaged)
	} else if err != nil {
		return err
	}
	return nil
}

// ErrDamaged says that a file isn't what its hash says.
var ErrDamaged = errors.New("was changed: its hash is another one")

// checkInput compares the files of an input with their hashes. A model's labels, which no file names, aren't there unless
// they belong to the input.
func (s *Store) checkInput(in *Input) error {
	dir := path.Join(inputsDir, in.Hash)
	for _, f := range in.Files {
		if err := s.checkFile(path.Join(dir, f.Name), f); err != nil {
			return err
		}
	}
	for _, labels := range gltf.RulesBeside(in.Files[0].Name) { // the first one is read
		if slices.ContainsFunc(in.Files, func(f InputFile) bool { return f.Name == labels }) {
			return nil
		}
		if _, err := s.root.Lstat(path.Join(dir, labels)); err == nil {
			return fmt.Errorf("%s %w: it has %s, too", filepath.Join(s.dir, dir), ErrDamaged, labels)
		}
	}
	return nil
}

// checkFile compares a file with its hash. It is a regular file, and no folder on its way is a link.
func (s *Store) checkFile(name string, want InputFile) error {
	for at := name; at != "."; at = path.Dir(at) {
		info, err := s.root.Lstat(at)
		if err != nil {
			return s.fault(err)
		}
		if file := at == name; file && !info.Mode().IsRegular() || !file && !info.IsDir() {
			return fmt.Errorf("%s: %s is a link or a device: a sweep has only files and folders", filepath.Join(s.dir, name), at)
		}
	}
	f, err := s.root.Open(name)
	if err != nil {
		return s.fault(err)
	}
	defer f.Close()
	size, sum, err := hashOf(f)
	if err == nil && (size != want.Size || sum != want.SHA256) {
		err = fmt.Errorf("%s %w", filepath.Join(s.dir, name), ErrDamaged)
	}
	return s.fault(err)
}

// caseDir is the folder of a case that is done.
func caseDir(id string) string { return path.Join(casesDir, id[:2], id) }

// Done lists the ids of all cases that have their result.
func (s *Store) Done() (map[string]struct{}, error) {
	done := map[string]struct{}{}
	fsys := s.root.FS()
	groups, err := fs.ReadDir(fsys, casesDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, s.fault(err)
	}
	for _, g := range groups {
		if !g.IsDir() { // such as file managers leave
			continue
		}
		entries, err := fs.ReadDir(fsys, path.Join(casesDir, g.Name()))
		if err != nil {
			return nil, s.fault(err)
		}
		for _, e := range entries {
			if id := e.Name(); idForm.MatchString(id) && id[:2] == g.Name() && s.has(id) {
				done[id] = struct{}{}
			}
		}
	}
	return done, nil
}

// has reports whether a case has its result.
func (s *Store) has(id string) bool {
	info, err := s.root.Lstat(path.Join(caseDir(id), manifestFile))
	return err == nil && info.Mode().IsRegular()
}

// Manifest reads what a case that is done has given.
func (s *Store) Manifest(id string) (*Manifest, error) {
	m := &Manifest{}
	if err := s.read(path.Join(caseDir(id), manifestFile), m); err != nil {
		return nil, err
	}
	if m.ID != id {
		return nil, fmt.Errorf("%s is the result of %.40q", filepath.Join(s.dir, caseDir(id)), m.ID)
	}
	return m, nil
}

// Timing reads how long a case that is done took.
func (s *Store) Timing(id string) (*Timing, error) {
	t := &Timing{}
	return t, s.read(path.Join(caseDir(id), timingFile), t)
}

// Failure is a case that failed for good.
type Failure struct {
	ID       string    `json:"id"`
	Attempts int       `json:"attempts"` // in the life of the folder
	Code     int       `json:"code"`     // the exit code of the last attempt; -1 for a signal
	Reason   string    `json:"reason"`
	Host     string    `json:"host"`
	Time     time.Time `json:"time"`
	Log      string    `json:"log,omitempty"` // the end of what it said
}

func failureFile(id string) string { return path.Join(failedDir, id[:2], id+".json") }

// fail notes that a case failed for good.
func (s *Store) fail(f *Failure) error { return s.write(failureFile(f.ID), recordOf(f)) }

// Forgive forgets that a case failed.
func (s *Store) Forgive(id string) error {
	if err := s.root.Remove(failureFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.fault(err)
	}
	return nil
}

// Failed lists the cases that failed for good, by id. A case that has its result didn't.
func (s *Store) Failed() (map[string]*Failure, error) {
	failed := map[string]*Failure{}
	return failed, s.failed(".json", func(id, name string) error {
		f := &Failure{}
		failed[id] = f
		return s.read(name, f)
	})
}

// failed calls visit for each record below failed whose name is a case's id with an ending, unless the case has its result.
func (s *Store) failed(ending string, visit func(id, name string) error) error {
	fsys := s.root.FS()
	groups, err := fs.ReadDir(fsys, failedDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.fault(err)
	}
	for _, g := range groups {
		if !g.IsDir() {
			continue
		}
		entries, err := fs.ReadDir(fsys, path.Join(failedDir, g.Name()))
		if err != nil {
			return s.fault(err)
		}
		for _, e := range entries {
			id, ok := strings.CutSuffix(e.Name(), ending)
			if !ok || !idForm.MatchString(id) || s.has(id) {
				continue
			}
			if err := visit(id, path.Join(failedDir, g.Name(), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

const triesEnding = ".tries"

func triesFile(id string) string { return path.Join(failedDir, id[:2], id+triesEnding) }

// tried notes how often a case was tried in vain, in the life of the folder.
func (s *Store) tried(id string, n int) error { return s.write(triesFile(id), recordOf(n)) }

// tries lists how often cases were tried in vain, by id.
func (s *Store) tries() (map[string]int, error) {
	tries := map[string]int{}
	return tries, s.failed(triesEnding, func(id, name string) error {
		var n int
		err := s.read(name, &n)
		tries[id] = n
		return err
	})
}

// Alarms lists the folders of results that weren't equal to the first of their case.
func (s *Store) Alarms() ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), alarmsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, s.fault(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, path.Join(alarmsDir, e.Name()))
	}
	return list, nil
}
