package sweep

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
)

// The files of a case's folder, beside the manifest.
const (
	summaryFile = "summary.json"
	timingFile  = "timing.json"
	logFile     = "log.txt"
	outputsDir  = "outputs"
)

// Manifest is what a case has given. Two results of a case are equal if their manifests are.
type Manifest struct {
	Schema   int               `json:"schema"`
	ID       string            `json:"id"`
	Settings map[string]string `json:"settings,omitempty"`
	Seed     uint64            `json:"seed"`
	Version  string            `json:"version"`
	// Class is that of the device that computed.
	Class string `json:"class"`
	// Files are relative to the case's folder. The summary lacks what depends on wall time, which Timing has.
	Files []InputFile `json:"files"`
	// Dropped are files that the case wrote, that are compared with those of a second result, and that aren't kept.
	Dropped []InputFile        `json:"dropped,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// written are all files of the case that are compared.
func (m *Manifest) written() []InputFile { return slices.Concat(m.Files, m.Dropped) }

// agrees reports whether two manifests say the same except the settings: by other settings than before, as after --extend,
// the same case may be asked for.
func (m *Manifest) agrees(with *Manifest) bool {
	a, b := *m, *with
	a.Settings, b.Settings = nil, nil
	return bytes.Equal(recordOf(a), recordOf(b))
}

// Timing is what of a case depends on wall time, and where it ran. It is never compared. An attempt that is being made has
// the first part of it.
type Timing struct {
	ID      string    `json:"id"`      // of the case
	Attempt string    `json:"attempt"` // name
	Process           // that made the attempt
	Started time.Time `json:"started"`
	Tries   int       `json:"tries,omitempty"` // with the one that succeeded, in the life of the folder; those that were told to end don't count
	// WallS is how long the process took, seconds.
	WallS float64 `json:"wall_s"`
	// Summary has the rest of the run's summary.
	Summary json.RawMessage `json:"summary,omitempty"`
}

// attempt is one try to run a case, in a folder of its own.
type attempt struct {
	store  *Store
	name   string
	timing Timing
	quiet  func() // ends its signs of life
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// hostName is the machine's name.
func hostName() string {
	name, _ := os.Hostname() // without one, numbers tell attempts apart
	return name
}

// uniqueName is a name that no other process gives a file.
func uniqueName() string {
	var number [8]byte
	_, _ = rand.Read(number[:]) // it never fails
	host := notInNames.ReplaceAllString(hostName(), "-")
	return host[:min(len(host), 64)] + "-" + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(number[:])
}

// begin makes the folder of a new attempt, which shows that it lives until it is accepted or dropped.
func (s *Store) begin(id string, now time.Time) (*attempt, error) {
	name := uniqueName()
	a := &attempt{store: s, name: name, timing: Timing{ID: id, Attempt: name, Process: thisProcess(), Started: now}, quiet: func() {}}
	if err := s.root.MkdirAll(path.Join(attemptsDir, name), 0o755); err != nil {
		return nil, s.fault(err)
	}
	err := s.root.WriteFile(a.path(timingFile), recordOf(a.timing), 0o644) // first: by it others know whose the folder is
	if err == nil {
		err = s.root.Mkdir(a.path(outputsDir), 0o755)
	}
	if err != nil {
		a.drop()
		return nil, s.fault(err)
	}
	a.quiet = a.live()
	return a, nil
}

// path is a file of the attempt, in the store.
func (a *attempt) path(name string) string { return path.Join(attemptsDir, a.name, name) }

// drop removes the attempt.
func (a *attempt) drop() {
	a.quiet()
	_ = a.store.removeAttempt(path.Join(attemptsDir, a.name)) // another run sweeps up what stays
}

// removeAttempt removes an attempt's folder, the record of its process last: by that another run knows at once what is left
// where this process is killed meanwhile.
func (s *Store) removeAttempt(name string) error {
	var err error
	entries, _ := fs.ReadDir(s.root.FS(), name) // what isn't a folder has none
	for _, e := range entries {
		if e.Name() != timingFile {
			err = errors.Join(err, s.fault(s.root.RemoveAll(path.Join(name, e.Name()))))
		}
	}
	if err != nil {
		return err
	}
	return s.fault(s.root.RemoveAll(name))
}

// Alarm is a result that isn't equal to the first one of its case.
type Alarm struct {
	ID string
	// First and Second are the folders of both.
	First, Second string
	// Files are those that differ; without one, the manifests differ otherwise.
	Files []string
}

// AlarmHere is what another machine says of a case's second result, with the folders by this store's path. Names that no
// attempt gives are left out.
func (s *Store) AlarmHere(id string, told *Alarm) *Alarm {
	const most = 1000
	second := path.Base(told.Second)
	if !strings.HasPrefix(second, id+"-") || notInNames.MatchString(second) {
		second = ""
	}
	return &Alarm{
		ID: id, First: filepath.Join(s.dir, caseDir(id)), Second: filepath.Join(s.dir, alarmsDir, second),
		Files: told.Files[:min(len(told.Files), most)],
	}
}

// Error names both results.
func (a *Alarm) Error() string {
	what := "what they say of themselves"
	if n := len(a.Files); n > 0 {
		const few = 5
		var names []string // of the case's making
		for _, name := range a.Files[:min(n, few)] {
			names = append(names, fault.Printable(name))
		}
		what = strings.Join(names, ", ")
		if n > few {
			what += fmt.Sprintf(" and %d more", n-few)
		}
	}
	return fmt.Sprintf("case %s gave two results that differ in %s: %s counts, %s is the other one", a.ID, what, fault.Printable(a.First), fault.Printable(a.Second))
}

// accept makes the attempt the case's result: it hashes the files, drops those that aren't kept, writes the manifest last,
// and moves the folder. If the case has a result already, that counts; an *Alarm is returned if it isn't equal.
func (a *attempt) accept(m *Manifest, kept func(name string) bool) (*Alarm, error) {
	s := a.store
	files, err := a.hash()
	if err != nil {
		return nil, err
	}
	a.quiet()
	if err := s.write(a.path(timingFile), recordOf(a.timing)); err != nil {
		return nil, err
	}
	for _, f := range files {
		if kept(f.Name) {
			m.Files = append(m.Files, f)
			continue
		}
		m.Dropped = append(m.Dropped, f)
		if err := s.root.Remove(a.path(f.Name)); err != nil {
			return nil, s.fault(err)
		}
		for dir := path.Dir(f.Name); dir != outputsDir && s.root.Remove(a.path(dir)) == nil; { // it is empty
			dir = path.Dir(dir)
		}
	}
	if err := s.create(a.path(manifestFile), bytes.NewReader(recordOf(m))); err != nil {
		return nil, s.fault(err)
	}
	if err := s.sync(a.path(".")); err != nil {
		return nil, s.fault(err)
	}
	return a.move(m)
}

// errOutputs: a case wrote what can't be kept.
var errOutputs = errors.New("the case's outputs can't be kept")

// hash lists the attempt's files that are compared, and waits until the disk has them.
func (a *attempt) hash() ([]InputFile, error) {
	s := a.store
	summary, err := s.fileOf(a.path(summaryFile))
	if err != nil {
		return nil, err
	}
	summary.Name = summaryFile
	files := []InputFile{summary}
	err = fs.WalkDir(s.root.FS(), a.path(outputsDir), func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return s.fault(err)
		case e.IsDir():
			return s.fault(s.sync(name))
		case !e.Type().IsRegular():
			return fmt.Errorf("%w: %s is a link or a device: only files are kept", errOutputs, fault.Printable(strings.TrimPrefix(name, a.path("")+"/")))
		}
		f, err := s.fileOf(name)
		f.Name = strings.TrimPrefix(name, a.path("")+"/")
		files = append(files, f)
		return err
	})
	return files, err
}

// fileOf hashes a file, and waits until the disk has it.
func (s *Store) fileOf(name string) (InputFile, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return InputFile{}, s.fault(err)
	}
	defer f.Close()
	size, sum, err := hashOf(f)
	if err == nil {
		err = f.Sync()
	}
	return InputFile{Size: size, SHA256: sum}, s.fault(err)
}

// move renames the attempt's folder to the case's.
func (a *attempt) move(m *Manifest) (*Alarm, error) {
	s := a.store
	target := caseDir(m.ID)
	if err := s.folder(path.Dir(target)); err != nil {
		return nil, err
	}
	err := s.root.Rename(path.Join(attemptsDir, a.name), target)
	if errors.Is(err, fs.ErrExist) && !s.has(m.ID) { // a folder that no attempt has left: it counts for nothing
		if err = s.setAside(target); err == nil {
			err = s.root.Rename(path.Join(attemptsDir, a.name), target)
		}
	}
	if err == nil {
		return nil, s.fault(s.sync(path.Dir(target)))
	}
	// A rename that is said to have failed may have happened, on NFS. Else the case may have a result already.
	if t, timed := s.Timing(m.ID); timed == nil && t.Attempt == a.name && s.has(m.ID) {
		return nil, nil
	}
	first, there := s.Manifest(m.ID)
	if there != nil {
		return nil, errors.Join(s.fault(err), there)
	}
	if first.agrees(m) || first.Class != m.Class {
		a.drop()
		return nil, nil
	}
	return a.raise(first, m)
}

// setAside makes room for a result where a half one lies. It gives a whole one back, which another has just brought there.
func (s *Store) setAside(target string) error {
	aside := path.Join(attemptsDir, "half-"+uniqueName())
	if err := s.root.Rename(target, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // another has set it aside
			return nil
		}
		return err
	}
	if info, err := s.root.Lstat(path.Join(aside, manifestFile)); err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // without a manifest it was a half result, and stays aside
	}
	return cmp.Or(s.root.Rename(aside, target), fs.ErrExist)
}

// raise keeps a second result that differs.
func (a *attempt) raise(first, second *Manifest) (*Alarm, error) {
	s := a.store
	name := path.Join(alarmsDir, second.ID+"-"+a.name)
	if err := s.folder(alarmsDir); err != nil {
		return nil, err
	}
	if err := s.root.Rename(path.Join(attemptsDir, a.name), name); err != nil {
		return nil, s.fault(err)
	}
	alarm := &Alarm{ID: first.ID, First: filepath.Join(s.dir, caseDir(first.ID)), Second: filepath.Join(s.dir, name)}
	alarm.Files = differing(first.written(), second.written())
	return alarm, nil
}

// differing names the files that aren't equal in both lists.
func differing(a, b []InputFile) (names []string) {
	of := map[string]InputFile{}
	for _, f := range a {
		of[f.Name] = f
	}
	for _, f := range b {
		if of[f.Name] != f {
			names = append(names, f.Name)
		}
		delete(of, f.Name)
	}
	for _, f := range a {
		if _, left := of[f.Name]; left {
			names = append(names, f.Name)
		}
	}
	return names
}

// realTimeFactor is that of the run, "" where it isn't known.
func (t *Timing) realTimeFactor() string {
	var s struct {
		Factor json.Number `json:"real_time_factor"`
	}
	if err := json.Unmarshal(t.Summary, &s); err != nil {
		return ""
	}
	return s.Factor.String()
}
