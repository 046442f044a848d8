package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

// countingFormat numbers its files over the set, and its table lists the rows.
type countingFormat struct{ Format }

func (countingFormat) Info() bridges.Info { return bridges.Info{Name: "counting"} }

func (countingFormat) Options() (any, *Options) {
	o := DefaultOptions()
	return &o, &o
}

func (countingFormat) Folders() []string { return []string{"data"} }

// Channels refuses a quality that the format doesn't have.
func (countingFormat) Channels(_ []*Sensor, _ *Map, all any) error {
	if all.(*Options).Quality == 13 {
		return errors.New("quality 13 is for no set")
	}
	return ErrRig // an empty rig is one that can't be written
}

func (countingFormat) Rename(_ string, scene, frame int) string {
	return fmt.Sprintf("data/%d-%d", scene, frame)
}

func (countingFormat) Tables(set *Set, journal *Journal, _ any) error {
	return set.Replace("table", func(w io.Writer) error {
		for row, err := range journal.Rows() {
			if err != nil {
				return err
			}
			if row.Scene != nil {
				fmt.Fprintln(w, row.Scene.Key(), journal.Head.SplitOf(row.Scene))
			} else {
				fmt.Fprintln(w, row.Frame.Number, row.Frame.Files, string(row.Frame.Data))
			}
		}
		return nil
	})
}

// keepingFormat keeps its files' names: it has the others' methods, except Rename.
type keepingFormat struct{ countingFormat }

func (keepingFormat) Info() bridges.Info { return bridges.Info{Name: "keeping"} }
func (keepingFormat) Rename()            {}

var testFormats = []Format{countingFormat{}, keepingFormat{}}

// testScene is a scene of a set for tests: a key frame for each text.
type testScene struct {
	run    string
	number int
	frames []string
}

// testSet writes a set of scenes and returns its folder.
func testSet(t *testing.T, head Head, scenes ...testScene) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name string, data []byte) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, data, 0o666))
	}
	var journal []byte
	row := func(v any) {
		line, err := json.Marshal(v)
		require.NoError(t, err)
		journal = append(append(journal, line...), '\n')
	}
	row(head)
	n := 0
	for i, s := range scenes {
		row(Row{Scene: &SceneRow{Run: s.run, Number: s.number, Data: json.RawMessage(`{"a":1}`)}})
		for k, text := range s.frames {
			file := fmt.Sprintf("data/%d-%d", i, n)
			write(file, []byte(text))
			data, err := json.Marshal(text)
			require.NoError(t, err)
			row(Row{Frame: &FrameRow{Number: k, Files: []string{file}, Data: data}})
			n++
		}
	}
	write(JournalFile, journal)
	return dir
}

// contents reads all files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(data)
		return err
	}))
	return all
}

var head = Head{Format: "counting", Version: "1", Options: map[string]string{"keyframes": "2"}}

// TestMergeJoinsScenes compares a merged set with the scenes in the order of their runs, however the folders are ordered.
func TestMergeJoinsScenes(t *testing.T) {
	newer := head
	newer.Version = "2"
	dirs := []string{
		testSet(t, head, testScene{"c", 0, []string{"c0", "c1"}}, testScene{"a", 1, []string{"a2"}}),
		testSet(t, newer, testScene{"a", 0, []string{"a0", "a1"}}, testScene{"d", 0, nil}, testScene{"a", 10, []string{"a3"}}),
		testSet(t, head, testScene{"b", 0, []string{"b0"}}, testScene{"a", 1, []string{"a2"}}), // the last one is there already
	}
	var first map[string]string
	for range 6 {
		rand.Shuffle(len(dirs), func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
		out := filepath.Join(t.TempDir(), "out")
		merged, err := Merge(t.Context(), testFormats, out, dirs, nil)
		require.NoError(t, err)
		assert.Equal(t, "3 runs, 5 scenes, 7 key frames", merged.String())
		got := contents(t, out)
		if first == nil {
			first = got
		}
		require.Equal(t, first, got)
	}
	assert.Equal(t, "a/0 \n0 [data/0-0] \"a0\"\n1 [data/0-1] \"a1\"\na/1 \n0 [data/1-2] \"a2\"\na/10 \n0 [data/2-3] \"a3\"\n"+
		"b/0 \n0 [data/3-4] \"b0\"\nc/0 \n0 [data/4-5] \"c0\"\n1 [data/4-6] \"c1\"\n", first["table"])
	assert.Equal(t, "c1", first["data/4-6"])
	assert.Len(t, first, 7+2)
	assert.Contains(t, first[JournalFile], `"version":"2"`)
}

// TestMergeOfMerged merges a merged set and a third one: the result is that of all three at once.
func TestMergeOfMerged(t *testing.T) {
	a, b, c := testSet(t, head, testScene{"a", 0, []string{"1"}}), testSet(t, head, testScene{"b", 0, []string{"2"}}), testSet(t, head, testScene{"c", 0, []string{"3"}})
	shares, err := ParseShares("train=1")
	require.NoError(t, err)
	out := t.TempDir() // an empty folder will do
	merge := func(to string, dirs []string, shares []Share) {
		_, err := Merge(t.Context(), testFormats, to, dirs, shares)
		require.NoError(t, err)
	}
	some, all, want := filepath.Join(out, "some"), filepath.Join(out, "all"), filepath.Join(out, "want")
	require.NoError(t, os.Mkdir(some, 0o777))
	merge(some, []string{c, a}, shares)
	merge(all, []string{b, some}, nil)
	merge(want, []string{a, b, c}, nil)
	assert.Equal(t, contents(t, want), contents(t, all))

	// Folders of sets stand for what is below them. They have the scenes of all three, some several times.
	below := filepath.Join(t.TempDir(), "below")
	merge(below, []string{out, some}, nil)
	assert.Equal(t, contents(t, want), contents(t, below))
}

func TestMergeRefuses(t *testing.T) {
	good := testSet(t, head, testScene{"a", 0, []string{"a0"}})
	keeping := head
	keeping.Format = "keeping"
	other := head
	other.Options = map[string]string{"keyframes": "2", "min_pixels": "5"}
	outside := testSet(t, head, testScene{"a", 0, []string{"a0"}})
	journal, err := os.ReadFile(filepath.Join(outside, JournalFile))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(outside, JournalFile), append(journal, `{"frame":{"number":1,"files":["../x"],"data":1}}`+"\n"...), 0o666))
	for name, tt := range map[string]struct {
		dirs []string
		is   error
		says string
	}{
		"other rows":    {[]string{good, testSet(t, head, testScene{"a", 0, []string{"b0"}})}, ErrMerge, "both have scene 0 of run a, and they differ"},
		"other format":  {[]string{good, testSet(t, keeping, testScene{"b", 0, []string{"b0"}})}, ErrMerge, "has the format counting"},
		"other options": {[]string{good, testSet(t, other, testScene{"b", 0, []string{"b0"}})}, ErrMerge, "with min_pixels="},
		"no set":        {[]string{good, t.TempDir()}, ErrNoSet, "has no " + JournalFile},
		"empty":         {[]string{testSet(t, head, testScene{"a", 0, nil})}, ErrMerge, "no key frames"},
		"unknown":       {[]string{testSet(t, Head{Format: "voc"}, testScene{"a", 0, []string{"a0"}})}, ErrNoSet, `"voc"`},
		"equal names": {[]string{testSet(t, keeping, testScene{"a", 0, []string{"a0"}}), testSet(t, keeping, testScene{"b", 0, []string{"b0"}})},
			ErrMerge, "has the file data/0-0, and so has another"},
		"outside": {[]string{outside}, ErrMerge, `names the file "../x"`},
		"a file lacks": {[]string{func() string {
			dir := testSet(t, head, testScene{"a", 0, []string{"a0"}})
			require.NoError(t, os.Remove(filepath.Join(dir, "data", "0-0")))
			return dir
		}()}, fs.ErrNotExist, "0-0"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			_, err := Merge(t.Context(), testFormats, filepath.Join(parent, "out"), tt.dirs, nil)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.says)
			entries, err := os.ReadDir(parent)
			require.NoError(t, err)
			assert.Empty(t, entries, "nothing is left")
		})
	}
	_, err = Merge(t.Context(), testFormats, good, []string{good}, nil)
	require.ErrorContains(t, err, "has files already")
}

func TestShares(t *testing.T) {
	shares, err := ParseShares("train=8,val=1.5,test=0.5")
	require.NoError(t, err)
	assert.Equal(t, []Share{{"train", 8}, {"val", 1.5}, {"test", .5}}, shares)
	for _, text := range []string{"", "train", "train=", "train=0", "train=-1", "train=nan", "train=inf", "a=1,a=2", "a/b=1", "=1", "a=1,"} {
		_, err := ParseShares(text)
		require.ErrorIs(t, err, ErrShares, text)
	}
}

// TestSplits deals 100 scenes out: the parts have their sizes, each scene is in one of them, and their order doesn't matter.
func TestSplits(t *testing.T) {
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("run%d/%d", i/5, i%5))
	}
	shares := []Share{{"train", 0.7}, {"val", 0.2}, {"test", 0.1}}
	splits := split(keys, shares)
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	assert.Equal(t, splits, split(keys, shares))
	var all []string
	for i, n := range []int{70, 20, 10} {
		assert.Equal(t, shares[i].Name, splits[i].Name)
		assert.Len(t, splits[i].Scenes, n)
		all = append(all, splits[i].Scenes...)
	}
	assert.ElementsMatch(t, keys, all)

	h := Head{Splits: splits}
	assert.Equal(t, "val", h.SplitOf(&SceneRow{Run: splits[1].Scenes[0][:len(splits[1].Scenes[0])-2], Number: int(splits[1].Scenes[0][len(splits[1].Scenes[0])-1] - '0')}))
	assert.Equal(t, "train", h.SplitOf(&SceneRow{Run: "appended"}))
	h.Splits = nil
	assert.Empty(t, h.SplitOf(&SceneRow{Run: "run0"}))
}

// TestMergeOutput: the folder may be named as shells complete it, files of others stay, and links lead to sets.
func TestMergeOutput(t *testing.T) {
	set := testSet(t, head, testScene{"a", 0, []string{"a0"}})
	at := t.TempDir()
	out := filepath.Join(at, "out")
	require.NoError(t, os.Mkdir(out, 0o777))
	link := filepath.Join(at, "link")
	require.NoError(t, os.Symlink(set, link))
	_, err := Merge(t.Context(), testFormats, out+string(filepath.Separator), []string{link}, nil)
	require.NoError(t, err)
	assert.Equal(t, "a0", contents(t, out)["data/0-0"])

	other := filepath.Join(at, "other")
	require.NoError(t, os.Mkdir(other+".part", 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(other+".part", "notes"), []byte("kept"), 0o600))
	_, err = Merge(t.Context(), testFormats, other, []string{set}, nil)
	require.ErrorIs(t, err, ErrMerge)
	require.ErrorContains(t, err, other+".part")
	assert.Equal(t, map[string]string{"notes": "kept"}, contents(t, other+".part"))
	assert.NoFileExists(t, filepath.Join(other, JournalFile))
}

// TestHostileJournals: a set that comes from elsewhere is refused by name, and nothing is written outside of it.
func TestHostileJournals(t *testing.T) {
	const scene, frame = `{"scene":{"run":"a","number":0,"data":{}}}`, `{"frame":{"number":0,"files":[],"data":{}}}`
	first := `{"format":"counting","version":"1","options":{"keyframes":"2"}}`
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"an empty row":               {[]string{first, scene, `{}`}, "can't be read"},
		"null":                       {[]string{first, scene, `null`}, "can't be read"},
		"a frame without data":       {[]string{first, scene, `{"frame":{"number":0}}`}, "can't be read"},
		"a scene without data":       {[]string{first, `{"scene":{"run":"a"}}`}, "can't be read"},
		"a frame in no scene":        {[]string{first, frame}, "can't be read"},
		"both":                       {[]string{first, scene, scene[:len(scene)-1] + "," + frame[1:]}, "can't be read"},
		"an option out of its range": {[]string{strings.Replace(first, `"2"`, `"-1"`, 1), scene, frame}, "keyframes"},
		"an option that the format refuses": {
			[]string{strings.Replace(first, `"keyframes":"2"`, `"quality":"13"`, 1), scene, frame}, "quality 13",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "raybridge"), 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(dir, JournalFile), []byte(strings.Join(c.lines, "\n")+"\n"), 0o600))
			_, err := Recover(dir, testFormats)
			require.ErrorIs(t, err, ErrNoSet)
			require.ErrorContains(t, err, c.want)
			_, err = Merge(t.Context(), testFormats, filepath.Join(t.TempDir(), "out"), []string{dir}, nil)
			require.ErrorIs(t, err, ErrNoSet)
		})
	}
}

// TestLongLine: a journal without ends of lines doesn't fill the memory.
func TestLongLine(t *testing.T) {
	set := testSet(t, head, testScene{"a", 0, []string{"a0"}})
	require.NoError(t, os.Truncate(filepath.Join(set, JournalFile), 1<<40)) // a hole takes no room on the disk
	_, err := OpenJournal(set)
	require.ErrorIs(t, err, ErrNoSet)
	require.ErrorContains(t, err, "bytes")
}

// TestReplaceStaysInTheSet: neither names nor links lead out of a set's folder.
func TestReplaceStaysInTheSet(t *testing.T) {
	at := t.TempDir()
	dir, victim := filepath.Join(at, "set"), filepath.Join(at, "victim")
	for _, folder := range []string{"set", "elsewhere"} {
		require.NoError(t, os.Mkdir(filepath.Join(at, folder), 0o777))
	}
	require.NoError(t, os.WriteFile(victim, []byte("kept"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, "table.json.part")))
	require.NoError(t, os.Symlink(filepath.Join(at, "elsewhere"), filepath.Join(dir, "link")))
	set := newSet(dir, bridges.Run{}, nil)
	text := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	require.NoError(t, set.Replace("table.json", text))
	for _, name := range []string{"../out.json", "a/../../out.json", "link/out.json"} {
		require.ErrorContains(t, set.Replace(name, text), "escapes", name)
	}
	assert.Equal(t, map[string]string{"set/table.json": "new", "victim": "kept"}, regular(t, at))
}

// regular reads the files of a folder that are no links.
func regular(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	}))
	return all
}
