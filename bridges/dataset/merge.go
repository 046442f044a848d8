package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/fault"
)

// Renamer is a Format whose files are named by numbers.
type Renamer interface {
	// Rename returns the name of a scene's file in a set in which the scene has an index, and its key frame, whose file it is,
	// one too.
	Rename(name string, scene, frame int) string
}

// ErrMerge says that sets can't become one.
var ErrMerge = errors.New("data sets can't be merged")

// Merge makes one set of several, in a folder that isn't there yet or is empty. A folder without a journal stands for all
// sets below it, such as those of a sweep's cases. All are of one format and have the same options. Scenes come in the order of their run's id and then of their number, so that the set is the same in whatever order
// the folders are given. A scene that is in several of them comes once; two that differ and have the same run and number
// are an error. Data files are hard links to those of the folders, or copies where the file system has none. Scenes
// are dealt out to splits by shares; without any there are no splits. Errors wrap ErrMerge, ErrNoSet or are the file
// system's. After an error Merge removes all that it wrote.
func Merge(ctx context.Context, formats []Format, out string, dirs []string, shares []Share) (*Merged, error) {
	out = filepath.Clean(out)
	m := merger{out: out + ".part"}
	if err := m.read(dirs); err != nil {
		return nil, err
	}
	format, err := formatOf(formats, m.head.Format)
	if err != nil {
		return nil, err
	}
	m.rename, _ = format.(Renamer)
	if len(shares) > 0 {
		m.head.Splits = split(m.keys(), shares)
	}
	if err := unused(out); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(m.out); err == nil {
		return nil, fmt.Errorf("%w: there is %s, perhaps of a merge that was killed: remove it, or name another folder", ErrMerge, m.out)
	}
	if err = m.write(ctx, format); err == nil {
		err = replaceFolder(out, m.out)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("merge into %s: %w", out, fault.File(err)), os.RemoveAll(m.out))
	}
	return m.summary(), nil
}

// Merged says what is in a set that Merge made.
type Merged struct {
	Runs, Scenes, Frames int
	Splits               []Split
}

// String is a line for people.
func (m *Merged) String() string {
	text := fault.Count(m.Runs, "run") + ", " + fault.Count(m.Scenes, "scene") + ", " + fault.Count(m.Frames, "key frame")
	for _, s := range m.Splits {
		text += fmt.Sprintf(", %s with %s", s.Name, fault.Count(len(s.Scenes), "scene"))
	}
	return text
}

func (m *merger) summary() *Merged {
	runs, merged := map[string]bool{}, &Merged{Scenes: len(m.scenes), Splits: m.head.Splits}
	for _, s := range m.scenes {
		runs[s.Run] = true
		merged.Frames += s.frames
	}
	merged.Runs = len(runs)
	return merged
}

// replaceFolder renames a folder to the name of one that is empty or missing.
func replaceFolder(to, from string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

// setsIn returns the folders of the sets in a folder: itself, or those below it.
func setsIn(dir string) (sets []string, err error) {
	start, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSet, fault.File(err))
	}
	err = filepath.WalkDir(start, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, filepath.FromSlash(JournalFile))); err == nil {
			sets = append(sets, path)
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSet, fault.File(err))
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no %s, and no folder below it has", dir, ErrNoSet, JournalFile)
	}
	return sets, nil
}

// unused returns an error unless a folder is empty or missing.
func unused(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look into %s: %w", dir, fault.File(err))
	case len(entries) > 0:
		return fmt.Errorf("%w: %s has files already: name another folder", ErrMerge, dir)
	}
	return nil
}

// merger makes one set of several.
type merger struct {
	out    string // the folder that is written
	head   Head
	from   string // the first set, whose head it is
	scenes []*mergedScene
	rename Renamer // nil for a Format that keeps its names
}

// mergedScene is a scene of one of the sets.
type mergedScene struct {
	*SceneRow
	set     *Journal
	dir     string
	at      int64 // byte of the journal where its row begins
	frames  int
	content [sha256.Size]byte // of its rows
}

// read finds the scenes of all sets, and orders them.
func (m *merger) read(dirs []string) error {
	for _, dir := range dirs {
		sets, err := setsIn(dir)
		if err != nil {
			return err
		}
		for _, set := range sets {
			if err := m.open(set); err != nil {
				return err
			}
		}
	}
	return m.sort()
}

func (m *merger) keys() (keys []string) {
	for _, s := range m.scenes {
		keys = append(keys, s.Key())
	}
	return keys
}

// open adds the scenes of a set.
func (m *merger) open(dir string) error {
	journal, err := OpenJournal(dir)
	if err != nil {
		return err
	}
	if err := m.agree(dir, journal.Head); err != nil {
		return err
	}
	var now *mergedScene
	content := sha256.New()
	end := func() {
		if now != nil && now.frames > 0 {
			now.content = [sha256.Size]byte(content.Sum(nil))
			m.scenes = append(m.scenes, now)
		}
		content.Reset()
	}
	for row, err := range journal.from(0) {
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if row.Scene != nil {
			end()
			now = &mergedScene{SceneRow: row.Scene, set: journal, dir: dir, at: row.at}
		} else if now != nil {
			now.frames++
		}
		if err := json.NewEncoder(content).Encode(contentOf(row.Row)); err != nil {
			return err
		}
	}
	end()
	return nil
}

// contentOf is what equal scenes have in common: names of files may differ.
func contentOf(row Row) any {
	if row.Frame != nil {
		return []any{row.Frame.Number, row.Frame.Data, row.Frame.Sweeps}
	}
	return row.Scene.Data
}

// agree takes the head of the first set, and compares another one's with it.
func (m *merger) agree(dir string, head Head) error {
	if m.from == "" {
		m.from, m.head = dir, Head{Format: head.Format, Version: head.Version, Options: head.Options}
		return nil
	}
	if head.Format != m.head.Format {
		return fmt.Errorf("%w: %s has the format %s, and %s has %s", ErrMerge, m.from, m.head.Format, dir, head.Format)
	}
	keys := maps.Clone(m.head.Options)
	maps.Copy(keys, head.Options)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if a, b := m.head.Options[key], head.Options[key]; a != b {
			return fmt.Errorf("%w: %s was written with %s=%s, and %s with %s=%s", ErrMerge, m.from, key, a, dir, key, b)
		}
	}
	m.head.Version = max(m.head.Version, head.Version)
	return nil
}

// sort orders the scenes, and drops those that are there twice.
func (m *merger) sort() error {
	slices.SortStableFunc(m.scenes, func(a, b *mergedScene) int {
		if c := strings.Compare(a.Run, b.Run); c != 0 {
			return c
		}
		return a.Number - b.Number
	})
	var err error
	m.scenes = slices.CompactFunc(m.scenes, func(a, b *mergedScene) bool {
		same := a.Key() == b.Key()
		if same && a.content != b.content {
			err = fmt.Errorf("%w: %s and %s both have scene %d of run %s, and they differ", ErrMerge, a.dir, b.dir, a.Number, a.Run)
		}
		return same
	})
	if err == nil && len(m.scenes) == 0 {
		err = fmt.Errorf("%w: there are no key frames in them", ErrMerge)
	}
	return err
}

// write writes the set: the data files and the journal, and then the tables.
func (m *merger) write(ctx context.Context, format Format) error {
	journal := filepath.Join(m.out, filepath.FromSlash(JournalFile))
	if err := os.MkdirAll(filepath.Dir(journal), 0o777); err != nil {
		return err
	}
	f, err := os.Create(journal)
	if err != nil {
		return err
	}
	rows := json.NewEncoder(f)
	rows.SetEscapeHTML(false)
	err = rows.Encode(m.head)
	frames := 0
	for i, s := range m.scenes {
		if err == nil {
			err = m.writeScene(ctx, rows, s, i, &frames)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return tables(format, m.out)
}

// writeScene writes the rows of a scene and its files. frames counts the key frames of the set.
func (m *merger) writeScene(ctx context.Context, rows *json.Encoder, s *mergedScene, index int, frames *int) error {
	left := 1 + s.frames // rows
	for row, err := range s.set.from(s.at) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if row.Frame != nil {
			if err := m.link(s.dir, row.Frame, index, *frames); err != nil {
				return err
			}
			*frames++
		}
		if err := rows.Encode(row.Row); err != nil {
			return err
		}
		if left--; left == 0 {
			break
		}
	}
	return nil
}

// link puts the files of a key frame into the set, and gives the row their names there.
func (m *merger) link(dir string, frame *FrameRow, scene, index int) error {
	for i, name := range frame.Files {
		if m.rename != nil {
			frame.Files[i] = m.rename.Rename(name, scene, index)
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) || !filepath.IsLocal(filepath.FromSlash(frame.Files[i])) {
			return fmt.Errorf("%w: %s names the file %q, which is outside of the set", ErrMerge, filepath.Join(dir, JournalFile), name)
		}
		err := linkFile(filepath.Join(dir, filepath.FromSlash(name)), filepath.Join(m.out, filepath.FromSlash(frame.Files[i])))
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%w: %s has the file %s, and so has another of the sets", ErrMerge, dir, name)
		}
		if err != nil {
			return err
		}
	}
	slices.Sort(frame.Files)
	return nil
}

// linkFile makes a file another name, or copies it where the file system can't. It makes the folders of the new name. A
// file that is there is os.ErrExist.
func linkFile(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(to), 0o777); err == nil {
			err = os.Link(from, to)
		}
	}
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func formatOf(formats []Format, name string) (Format, error) {
	for _, f := range formats {
		if f.Info().Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: %q is a format that this program doesn't write", ErrNoSet, name)
}

// tables has a format write the tables of the set in a folder, with the options of its journal.
func tables(format Format, dir string) error {
	journal, err := OpenJournal(dir)
	if err != nil {
		return err
	}
	all, err := journal.options(format)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return format.Tables(newSet(dir, bridges.Run{}, slog.New(slog.DiscardHandler)), journal, all)
}

// options returns the format's with the values of the head. Errors wrap ErrNoSet.
func (j *Journal) options(format Format) (all any, err error) {
	all, _ = format.Options()
	query := url.Values{}
	for key, value := range j.Head.Options {
		query.Set(key, value)
	}
	if _, _, err = bridges.ReadOptions("?"+query.Encode(), all); err == nil {
		err = format.Channels(nil, &Map{}, all)
	}
	if err != nil && !errors.Is(err, ErrRig) {
		return nil, fmt.Errorf("%w: options: %w", ErrNoSet, err)
	}
	return all, nil
}
