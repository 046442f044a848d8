package sweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// runLocal runs a plan's cases on this machine.
func runLocal(t *testing.T, s *sweep.Store, p *sweep.Plan) *sweep.Report {
	t.Helper()
	return runAll(t.Context(), t, engines["local"], s, p)[0]
}

// TestSecretsOfTheEnvironment: cases see the environment, except the secrets.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Setenv("SWEEP_TEST_SECRET", "hunter2")
	t.Setenv("SWEEP_TEST_OPEN", "open")
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	w.Arguments = []string{"-c", "env >environment; exec /bin/sh \"$0\" \"$@\"", w.Arguments[0]}
	w.Secrets = []string{"SWEEP_TEST_SECRET"}
	end := w.Try(t.Context(), &p.Cases[0], 1)
	require.NoError(t, end.Err)
	seen, err := os.ReadFile(filepath.Join(s.Dir(), "environment"))
	require.NoError(t, err)
	assert.Contains(t, string(seen), "SWEEP_TEST_OPEN=open")
	assert.NotContains(t, string(seen), "hunter2")
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	_, same, err := storeIn(t, s.Dir(), `matrix: {scene.seed: [1, 2]}`)
	require.NoError(t, err, "the same plan continues")
	assert.Equal(t, p.Cases, same.Cases)

	commented, err := planOf(t, folder(t, map[string]string{"drive.yaml": "# slow\n" + base, "sweep.yaml": `sweep: {base: drive.yaml, matrix: {scene.seed: [1, 2]}}`}), "sweep.yaml")
	require.NoError(t, err)
	require.NotEqual(t, p.Config, commented.Config)
	before, err := os.ReadFile(filepath.Join(s.Dir(), "plan.json"))
	require.NoError(t, err)
	_, err = s.Adopt(t.Context(), commented, false)
	require.ErrorIs(t, err, sweep.ErrUnlocked)
	after, err := os.ReadFile(filepath.Join(s.Dir(), "plan.json"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "others may run it")
	_, lock, err := s.Lock(t.Context(), false, func(string) {})
	require.NoError(t, err)
	_, err = s.Adopt(t.Context(), commented, false)
	require.NoError(t, err, "a comment changes no case")
	assert.Zero(t, runLocal(t, s, commented).Left())

	put(t, p.Place, `sweep: {base: drive.yaml, matrix: {scene.seed: [2, 3, 4]}}`)
	grown, err := planOf(t, filepath.Dir(p.Place), "sweep.yaml")
	require.NoError(t, err)
	change, err := s.Adopt(t.Context(), grown, false)
	require.ErrorIs(t, err, sweep.ErrOlder)
	assert.ErrorContains(t, err, "give --extend")
	assert.Equal(t, &sweep.Change{Stay: 1, New: 2, Gone: 1, Done: 1}, change)
	_, err = s.Adopt(t.Context(), grown, true)
	require.NoError(t, err)
	require.NoError(t, lock.Release())
	_, err = s.Adopt(t.Context(), p, true)
	require.ErrorIs(t, err, sweep.ErrUnlocked)
	read, err := s.Plan()
	require.NoError(t, err)
	assert.Equal(t, grown.Cases, read.Cases)
	report := runLocal(t, s, read)
	require.NoError(t, report.Err())
	assert.Equal(t, []int{3, 3, 1}, []int{report.Total, report.Done, report.Before})

	// One of another program.
	_, err = sweep.CreateStore(folder(t, map[string]string{"thesis.tex": ""}))
	require.ErrorIs(t, err, sweep.ErrForeign)
	assert.ErrorContains(t, err, "it has thesis.tex")
	empty, err := sweep.CreateStore(t.TempDir())
	require.NoError(t, err)
	defer empty.Close()
	_, err = empty.Plan()
	require.ErrorIs(t, err, sweep.ErrNoPlan)
}

// TestWhoseFolder: a folder is of the sweep file that it was planned from, however that is edited. Another file is refused, of
// whatever name, unless it asks for the same cases, or the user says that the file was moved.
func TestWhoseFolder(t *testing.T) {
	t.Parallel()
	sweepFile := func(values string) string { return `sweep: {base: drive.yaml, matrix: {scene.seed: [` + values + `]}}` }
	dir := folder(t, map[string]string{"drive.yaml": base, "sweep.yaml": sweepFile("1, 2")})
	p, err := planOf(t, dir, "sweep.yaml")
	require.NoError(t, err)
	s, err := sweep.CreateStore(t.TempDir())
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Adopt(t.Context(), p, false)
	require.NoError(t, err)
	place := func() string {
		p, err := s.Plan()
		require.NoError(t, err)
		return p.Place
	}

	put(t, filepath.Join(dir, "drive.yaml"), "duration: 200ms\n")
	linked := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, linked))
	edited, err := planOf(t, linked, "sweep.yaml")
	require.NoError(t, err)
	require.Equal(t, place(), edited.Place)
	change, err := s.Adopt(t.Context(), edited, false)
	require.ErrorIs(t, err, sweep.ErrOlder, "the base was edited: no case is left")
	assert.Equal(t, &sweep.Change{New: 2, Gone: 2}, change)

	for _, extend := range []bool{false, true} {
		other, err := planned(t, sweepFile("1, 2, 3"))
		require.NoError(t, err)
		require.Equal(t, filepath.Base(p.Place), filepath.Base(other.Place))
		_, err = s.Adopt(t.Context(), other, extend)
		require.ErrorIs(t, err, sweep.ErrForeign)
		assert.ErrorContains(t, err, "belongs to something else: the sweep "+p.Place+": choose another folder, or give --moved")
	}
	same, err := planned(t, sweepFile("1, 2"))
	require.NoError(t, err)
	_, err = s.Adopt(t.Context(), same, false)
	require.NoError(t, err, "another machine sees the file elsewhere")
	assert.Equal(t, p.Place, place(), "where it was first planned")

	f, err := sweep.ReadFile(filepath.Join(folder(t, map[string]string{"drive.yaml": base, "sweep.yaml": sweepFile("2, 3")}), "sweep.yaml"))
	require.NoError(t, err)
	pl := planner()
	pl.Moved = true
	moved, err := pl.Plan(t.Context(), f)
	require.NoError(t, err)
	_, err = s.Adopt(t.Context(), moved, false)
	require.ErrorIs(t, err, sweep.ErrOlder)
	_, lock, err := s.Lock(t.Context(), false, func(string) {})
	require.NoError(t, err)
	_, err = s.Adopt(t.Context(), moved, true)
	require.NoError(t, err)
	require.NoError(t, lock.Release())
	assert.Equal(t, moved.Place, place())
}

// TestFirstPlanWins: shares that begin together in an empty folder agree on one plan.
func TestFirstPlanWins(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	errs := make(chan error)
	for range 8 {
		go func() {
			p, err := planned(t, `sweep: {base: drive.yaml, matrix: {scene.seed: [1, 2]}}`)
			if err == nil {
				var s *sweep.Store
				if s, err = sweep.CreateStore(dir); err == nil {
					_, err = s.Adopt(t.Context(), p, false)
					_ = s.Close()
				}
			}
			errs <- err
		}()
	}
	for range 8 {
		assert.NoError(t, <-errs)
	}
	assert.Len(t, entriesOf(t, filepath.Join(dir, "inputs")), 1, "nothing half is left")
}

func entriesOf(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	return list
}

// TestSecondResult: a case that is run again has to give equal bytes. If it doesn't, both are named, and the first counts.
func TestSecondResult(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [`+isRandom+`]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	first, err := s.Manifest(p.Cases[0].ID)
	require.NoError(t, err)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v, err := w.Sample(t.Context(), 0.01, func(*sweep.Case) {})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{v.Checked, v.Done}, "at least one is checked")
	require.Len(t, v.Faults, 1)
	alarm := new(sweep.Alarm)
	require.ErrorAs(t, v.Faults[0], &alarm)
	assert.Equal(t, []string{"outputs/data.txt"}, alarm.Files)
	for _, dir := range []string{alarm.First, alarm.Second} {
		assert.FileExists(t, filepath.Join(dir, "manifest.json"))
		assert.ErrorContains(t, alarm, dir)
	}
	still, err := s.Manifest(p.Cases[0].ID)
	require.NoError(t, err)
	assert.Equal(t, first, still)
	assert.Len(t, stateOf(t, s, p).Alarms, 1)
	require.ErrorContains(t, runLocal(t, s, p).Err(), "1 of 1 case gave two results that differ: find out why, and delete", "a later run hasn't forgotten it")
	require.NoError(t, os.RemoveAll(alarm.Second))
	require.NoError(t, runLocal(t, s, p).Err())

	s, p = storeOf(t, `matrix: {scene.seed: [1]}, repeat: {seed: 4}`)
	require.NoError(t, runLocal(t, s, p).Err())
	w, err = newWorker(s, p)
	require.NoError(t, err)
	v, err = w.Sample(t.Context(), 1, func(*sweep.Case) {})
	require.NoError(t, err)
	assert.Equal(t, []int{4, 4, 0}, []int{v.Checked, v.Done, len(v.Faults)})
	assert.Empty(t, entries(t, s, "attempts"))
}

func TestVerifyNamesDamage(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2, 3]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	dir := func(i int) string { return filepath.Join(s.Dir(), "cases", p.Cases[i].ID[:2], p.Cases[i].ID) }
	require.NoError(t, os.WriteFile(filepath.Join(dir(0), "outputs/data.txt"), []byte("better"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir(1), "outputs/data.txt")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir(1), "outputs/data.txt")))
	v, err := s.Verify(t.Context(), p)
	require.NoError(t, err)
	assert.Equal(t, 3, v.Checked)
	require.Len(t, v.Faults, 2)
	require.ErrorIs(t, v.Faults[0], sweep.ErrDamaged)
	assert.ErrorContains(t, v.Faults[0], "delete "+dir(0)+", and run the sweep again")
	assert.ErrorContains(t, v.Faults[1], "is a link or a device")
}

// TestVerifyNamesEdits: a manifest isn't believed, nor are files that it doesn't list.
func TestVerifyNamesEdits(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]struct{ old, new, want string }{
		"metrics":      {`"ego.distance": 1`, `"ego.distance": 99`, "was edited: its metrics aren't the summary's"},
		"seed":         {`"seed": 1`, `"seed": 2`, "was edited: its seed"},
		"class":        {`"class": "host/`, `"class": "gpu/`, "was edited: its seed, version or class"},
		"no summary":   {`"name": "summary.json"`, `"name": "timing.json"`, "was changed"},
		"another file": {"", "", "outputs/more.txt isn't in the manifest"},
		"nothing":      {"", "", ""},
	} {
		s, p := storeOf(t, `matrix: {scene.seed: [1]}, collect: [ego.distance]`)
		require.NoError(t, runLocal(t, s, p).Err())
		dir := filepath.Join(s.Dir(), "cases", p.Cases[0].ID[:2], p.Cases[0].ID)
		text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		require.NoError(t, err)
		require.Contains(t, string(text), edit.old)
		put(t, filepath.Join(dir, "manifest.json"), strings.Replace(string(text), edit.old, edit.new, 1))
		if name == "another file" {
			put(t, filepath.Join(dir, "outputs/more.txt"), "")
		}
		v, err := s.Verify(t.Context(), p)
		require.NoError(t, err)
		if edit.want == "" {
			assert.Empty(t, v.Faults)
			continue
		}
		require.Len(t, v.Faults, 1, name)
		require.ErrorContains(t, v.Faults[0], edit.want)
		if name == "metrics" {
			_, err = sweep.Merge(p, []*sweep.Store{s}, t.TempDir())
			require.ErrorIs(t, err, sweep.ErrEdited, "no table has it")
		}
	}
}

// TestHalfResultsDontCount: what isn't whole isn't done, whatever its name.
func TestHalfResultsDontCount(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
	half := filepath.Join(s.Dir(), "cases", p.Cases[0].ID[:2], p.Cases[0].ID)
	require.NoError(t, os.MkdirAll(half, 0o755))
	put(t, filepath.Join(half, "summary.json"), "{}")
	done, err := s.Done()
	require.NoError(t, err)
	assert.Empty(t, done)
	require.NoError(t, runLocal(t, s, p).Err())
	assert.Equal(t, 2, stateOf(t, s, p).Done)
	// Another case's result under this one's name doesn't count.
	require.NoError(t, os.RemoveAll(half))
	other := filepath.Join(s.Dir(), "cases", p.Cases[1].ID[:2], p.Cases[1].ID)
	require.NoError(t, os.Rename(other, half))
	_, err = s.Manifest(p.Cases[0].ID)
	assert.ErrorContains(t, err, "is the result of "+`"`+p.Cases[1].ID)
}

// TestRestore: what the store lost of the plan's inputs comes back with the sweep file, and the error says so.
func TestRestore(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, file string){
		"lost":   func(t *testing.T, file string) { require.NoError(t, os.RemoveAll(filepath.Dir(file))) },
		"edited": func(t *testing.T, file string) { put(t, file, "duration: 1h") },
		"linked": func(t *testing.T, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Symlink("/etc/passwd", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
			lose(t, filepath.Join(s.Dir(), p.Config))
			read, err := s.Plan()
			require.NoError(t, err)
			_, err = newWorker(s, read)
			require.ErrorContains(t, err, "give sweep run the sweep file, which brings it back")
			_, err = s.Adopt(t.Context(), p, false)
			require.NoError(t, err)
			require.NoError(t, runLocal(t, s, read).Err())
			assert.Len(t, entries(t, s, "inputs"), 1, "nothing half is left")
		})
	}
}

// TestLostPlan: a folder that lost its plan is still the sweep's, with its tables.
func TestLostPlan(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	_, err := sweep.Merge(p, []*sweep.Store{s}, s.Dir())
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), notes))) // the test's
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), "plan.json")))
	again, p, err := storeIn(t, s.Dir(), `matrix: {scene.seed: [1]}`)
	require.NoError(t, err)
	assert.Equal(t, 1, stateOf(t, again, p).Done)
}

// TestAttemptsOfTheDead: those of processes that have ended go, and those of a day ago, by the file system's clock. The
// others stay.
func TestAttemptsOfTheDead(t *testing.T) {
	t.Parallel()
	s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
	host, err := os.Hostname()
	require.NoError(t, err)
	space, born := sweep.ThisProcess()
	write := func(name string, process map[string]any, age time.Duration) {
		dir := filepath.Join(s.Dir(), "attempts", name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		record := map[string]any{"id": strings.Repeat("0", 32), "host": host, "pid": os.Getpid(), "space": space}
		maps.Copy(record, process)
		text, err := json.Marshal(record)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "timing.json"), text, 0o600))
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(dir, at, at))
	}
	type process = map[string]any
	const gone = 1 << 30 // no process has such a number
	write("alive", process{"born": born}, time.Hour)
	write("alive for long", process{"born": born}, 25*time.Hour)
	write("dead", process{"pid": gone}, time.Second)
	write("elsewhere", process{"host": "another", "pid": gone}, 23*time.Hour)
	write("number used again", process{"born": "1"}, time.Second)
	write("old", process{"host": "another", "pid": gone}, 25*time.Hour)
	write("same name elsewhere", process{"pid": gone, "space": "another start of a machine"}, time.Hour)
	require.NoError(t, s.SweepDead())
	if space == "" {
		t.Skip("this system doesn't tell when a process started, which attempts compare")
	}
	assert.Equal(t, []string{"alive", "alive for long", "elsewhere", "same name elsewhere"}, entries(t, s, "attempts"))
}

func TestStoreWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		_, err := sweep.CreateStore("/proc/sweep") // where root can't write either
		require.ErrorContains(t, err, "/proc/sweep")
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	_, err := sweep.CreateStore(filepath.Join(dir, "out"))
	require.ErrorContains(t, err, "no permission")
	_, err = sweep.CreateStore(dir)
	require.ErrorContains(t, err, "no permission")
}

func TestStoreOnAFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"file": ""})
	for _, open := range []func(string) (*sweep.Store, error){sweep.CreateStore, sweep.OpenStore} {
		_, err := open(filepath.Join(dir, "file"))
		assert.ErrorContains(t, err, "file")
	}
	_, err := sweep.OpenStore(filepath.Join(dir, "nothing"))
	assert.ErrorContains(t, err, "no such file")
}

// TestPoisonedPlans: a plan from elsewhere makes nobody read or write outside of its folder.
func TestPoisonedPlans(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(folder(t, map[string]string{"secret.yaml": base}), "secret.yaml")
	files := map[string]string{"drive.yaml": base, "hill.gltf": "{}", "sweep.yaml": `sweep: {base: drive.yaml, matrix: {scene.file: [hill.gltf]}}`}
	type object = map[string]any
	for name, c := range map[string]struct {
		poison func(t *testing.T, dir string, plan object)
		want   string
	}{
		"an id": {func(_ *testing.T, _ string, p object) { p["cases"].([]any)[0].(object)["id"] = "../../../etc" }, "case 0"},
		"a long id": {func(_ *testing.T, _ string, p object) {
			p["cases"].([]any)[0].(object)["id"] = strings.Repeat("a", 1<<20)
		}, "case 0"},
		"a config":  {func(_ *testing.T, _ string, p object) { p["config"] = outside }, "is not one of its inputs"},
		"a way out": {func(_ *testing.T, _ string, p object) { p["config"] = "inputs/../../secret.yaml" }, "is not one of its inputs"},
		"a file": {func(_ *testing.T, _ string, p object) {
			p["files"] = object{"scene.file": object{"hill.gltf": "/etc/passwd"}}
		}, "is not one of its inputs"},
		"a value":      {func(_ *testing.T, _ string, p object) { delete(p, "files") }, `scene.file: "hill.gltf" is not one of its inputs`},
		"an input":     {func(_ *testing.T, _ string, p object) { inputOf(p)["name"] = "../../x" }, "isn't what its files say"},
		"an unknown":   {func(_ *testing.T, _ string, p object) { p["command"] = "rm" }, `unknown field "command"`},
		"another form": {func(_ *testing.T, _ string, p object) { p["schema"] = 7 }, "its schema is 7"},
		"a long value": {func(_ *testing.T, _ string, p object) {
			p["cases"].([]any)[0].(object)["values"] = []any{"hill.gltf", "b"}
		}, "case 0"},
		"no keep":         {func(_ *testing.T, _ string, p object) { p["keep"] = []any{} }, "keep: "},
		"another keep":    {func(_ *testing.T, _ string, p object) { p["keep"] = []any{"summary", "everything"} }, `keep: unknown "everything"`},
		"keep twice":      {func(_ *testing.T, _ string, p object) { p["keep"] = []any{"summary", "outputs", "outputs"} }, "keep: "},
		"a device":        {func(_ *testing.T, _ string, p object) { p["device"] = "host\x1b[2J" }, "device: a text is too long"},
		"no device":       {func(_ *testing.T, _ string, p object) { p["device"] = "" }, "device: "},
		"any class":       {func(_ *testing.T, _ string, p object) { p["class"] = "any" }, "device: "},
		"a metric":        {func(_ *testing.T, _ string, p object) { p["collect"] = []any{strings.Repeat("a", 1<<20)} }, "collect: a text is too long"},
		"a metric twice":  {func(_ *testing.T, _ string, p object) { p["collect"] = []any{"a", "a"} }, "collect: "},
		"a key twice":     {func(_ *testing.T, _ string, p object) { p["keys"] = []any{"scene.file", "scene.file"} }, "keys: "},
		"a place":         {func(_ *testing.T, _ string, p object) { p["place"] = "x" }, "isn't absolute"},
		"no version":      {func(_ *testing.T, _ string, p object) { p["version"] = "" }, "version is missing"},
		"a key's files":   {func(_ *testing.T, _ string, p object) { p["files"].(object)["ego.speed"] = object{"1": p["config"]} }, "is a key without files"},
		"a size":          {func(_ *testing.T, _ string, p object) { inputOf(p)["size"] = -1 }, "isn't what its files say"},
		"a seed":          {func(_ *testing.T, _ string, p object) { p["cases"].([]any)[0].(object)["seed"] = 1e30 }, "seed"},
		"no case":         {func(_ *testing.T, _ string, p object) { p["cases"] = []any{} }, "it has 0 cases"},
		"a value's bytes": {func(_ *testing.T, _ string, p object) { p["cases"].([]any)[0].(object)["values"] = []any{"a\nb"} }, "a text is too long, or has characters"},
		"cut off": {func(t *testing.T, dir string, _ object) {
			path := filepath.Join(dir, "plan.json")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, int64(len(text)/2)))
		}, "unexpected EOF: delete it, and plan the sweep file again: what is done stays"},
		"more": {func(t *testing.T, dir string, _ object) {
			path := filepath.Join(dir, "plan.json")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			put(t, path, string(text)+"{}")
		}, "something follows its end"},
		"text": {func(t *testing.T, dir string, _ object) { put(t, filepath.Join(dir, "plan.json"), "sweep:") }, "not a plan of a sweep"},
		"another input": {func(t *testing.T, dir string, p object) {
			put(t, filepath.Join(dir, p["config"].(string)), base+"rig: "+outside)
		}, "was changed"},
		"a link": {func(t *testing.T, dir string, p object) {
			require.NoError(t, os.Remove(filepath.Join(dir, p["config"].(string))))
			require.NoError(t, os.Symlink(outside, filepath.Join(dir, p["config"].(string))))
		}, "is a link or a device"},
		"a folder's link": {func(t *testing.T, dir string, p object) {
			folder := filepath.Dir(filepath.Join(dir, p["config"].(string)))
			require.NoError(t, os.Rename(folder, folder+"-moved"))
			require.NoError(t, os.Symlink(filepath.Base(folder)+"-moved", folder))
		}, "is a link or a device"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := planOf(t, folder(t, files), "sweep.yaml")
			require.NoError(t, err)
			s, err := sweep.CreateStore(t.TempDir())
			require.NoError(t, err)
			defer s.Close()
			_, err = s.Adopt(t.Context(), p, false)
			require.NoError(t, err)
			path := filepath.Join(s.Dir(), "plan.json")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var tree object
			require.NoError(t, json.Unmarshal(text, &tree))
			c := c
			c.poison(t, s.Dir(), tree)
			if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, text) {
				text, err = json.Marshal(tree)
				require.NoError(t, err)
				put(t, path, string(text))
			}
			p, err = s.Plan()
			if err == nil {
				_, err = newWorker(s, p)
			} else {
				require.ErrorIs(t, err, sweep.ErrPlan)
			}
			require.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 1000)
		})
	}
}

// TestPlanIsAFile: nobody waits for what a pipe in the plan's place says.
func TestPlanIsAFile(t *testing.T) {
	t.Parallel()
	s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
	path := filepath.Join(s.Dir(), "plan.json")
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := s.Plan()
	assert.ErrorIs(t, err, sweep.ErrPlan)
}

// TestPoisonedConfig: an input that is what its hash says may name other files, which nobody reads.
func TestPoisonedConfig(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"drive.yaml": base, "town.gltf": "{}", "sweep.yaml": `sweep: {base: drive.yaml, matrix: {ego.speed: [1]}}`})
	for _, text := range []string{base + "rig: " + filepath.Join(dir, "drive.yaml"), base + "scene: {file: ../../../town.gltf}", base + "world: {source: \"csv:/etc/passwd\"}"} {
		p, err := planOf(t, dir, "sweep.yaml")
		require.NoError(t, err)
		sweep.Poison(p, "drive.yaml", text)
		s, err := sweep.CreateStore(t.TempDir())
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Adopt(t.Context(), p, false)
		require.NoError(t, err)
		_, err = newWorker(s, p)
		require.ErrorIs(t, err, sweep.ErrOutside, text)
	}
}

// inputOf is a file of a plan's input.
func inputOf(plan map[string]any) map[string]any {
	return plan["inputs"].([]any)[0].(map[string]any)["files"].([]any)[0].(map[string]any)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestCasesAreWhatTheirIDsSay: a case of a plan that was changed by hand isn't run.
func TestCasesAreWhatTheirIDsSay(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *sweep.Case){
		"value":        func(c *sweep.Case) { c.Values[0] = "3" },
		"base's value": func(c *sweep.Case) { c.Values[0] = "" },
		"seed":         func(c *sweep.Case) { c.Seed = 8 },
		"seed's value": func(c *sweep.Case) { c.Values[1] = "8" },
	} {
		s, p := storeOf(t, `list: [{scene.seed: 1, seed: 2}, {scene.seed: 2, seed: 2}]`)
		change(&p.Cases[1])
		r := runLocal(t, s, p)
		assert.Equal(t, []int{1, 1}, []int{r.Done, r.Failed}, name)
		failed, err := s.Failed()
		require.NoError(t, err)
		assert.Contains(t, failed[p.Cases[1].ID].Reason, "isn't what its id says", name)
	}
}

func TestWorkersRefuse(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	for _, c := range []struct {
		version, class string
		want           error
	}{{"v2", class(), sweep.ErrVersion}, {version, "software/amd64, llvmpipe", sweep.ErrClass}} {
		w := &sweep.Worker{Store: s, Plan: p, Read: readDrive}
		require.ErrorIs(t, w.Prepare(c.version, c.class, false), c.want)
	}
	programs := *p
	programs.Program = "SUMO 1"
	w := &sweep.Worker{Store: s, Plan: &programs, Read: readDrive, WorldProgram: func() (string, error) { return "SUMO 1", nil }}
	require.ErrorIs(t, w.Prepare(version, class(), false), sweep.ErrPrograms)
	require.NoError(t, w.Prepare(version, class(), true))
	w.WorldProgram = func() (string, error) { return "SUMO 2", nil }
	require.ErrorIs(t, w.Prepare(version, class(), true), sweep.ErrVersion)
}

// TestTooLong: a case that takes longer than it may is ended.
func TestTooLong(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [`+neverEnds+`]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	w.Limit = 50 * time.Millisecond
	r, err := (&sweep.Run{Store: s, Plan: p, Engine: local(context.Background(), t, w, 1), Attempts: 2, Delay: time.Millisecond}).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, r.Failed)
	failed, err := s.Failed()
	require.NoError(t, err)
	assert.Equal(t, "it took longer than 50ms", failed[p.Cases[0].ID].Reason)
	require.NoError(t, s.Forgive(p.Cases[0].ID))
	failed, err = s.Failed()
	require.NoError(t, err)
	assert.Empty(t, failed)
}

// TestSecondResultOfDroppedFiles: what isn't kept is compared, too.
func TestSecondResultOfDroppedFiles(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [`+isRandom+`, 1]}, keep: [summary]`)
	require.NoError(t, runLocal(t, s, p).Err())
	for _, c := range p.Cases {
		m, err := s.Manifest(c.ID)
		require.NoError(t, err)
		assert.Equal(t, []string{"summary.json"}, namesOf(m.Files))
		assert.Equal(t, []string{"outputs/data.txt"}, namesOf(m.Dropped))
		assert.Empty(t, entriesOf(t, filepath.Join(s.Dir(), "cases", c.ID[:2], c.ID, "outputs")))
	}
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v, err := w.Sample(t.Context(), 1, func(*sweep.Case) {})
	require.NoError(t, err)
	require.Len(t, v.Faults, 1)
	alarm := new(sweep.Alarm)
	require.ErrorAs(t, v.Faults[0], &alarm)
	assert.Equal(t, []string{"outputs/data.txt"}, alarm.Files)
}

func namesOf(files []sweep.InputFile) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// TestSecondResultAskedForOtherwise: other settings that give the same configuration, as after --extend, are no other result.
func TestSecondResultAskedForOtherwise(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	id := p.Cases[0].ID
	file := filepath.Join(s.Dir(), "cases", id[:2], id, "manifest.json")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	other := bytes.Replace(data, []byte(`"scene.seed"`), []byte(`"scene"`), 1)
	require.NotEqual(t, data, other)
	require.NoError(t, os.WriteFile(file, other, 0o644))
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v, err := w.Sample(t.Context(), 1, func(*sweep.Case) {})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{v.Checked, v.Done})
	assert.Empty(t, v.Faults)
}

// TestSickMachine: where a case that is done fails, too, the machine is at fault, and no case has failed for good. Where it
// doesn't, the cases are.
func TestSickMachine(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2, `+failsAlways+`]}, repeat: {seed: 4}`)
	report := runLocal(t, s, p)
	require.NoError(t, report.Stopped)
	assert.Equal(t, []int{8, 4}, []int{report.Done, report.Failed}, "the machine is well")
	assert.Empty(t, stateOf(t, s, p).Alarms)

	sick := func(keep int) *sweep.Report {
		s, p := storeOf(t, `matrix: {scene.seed: [1]}, repeat: {seed: 9}`)
		runLocal(t, s, p)
		for i := range p.Cases[keep:] {
			id := p.Cases[keep+i].ID
			require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "cases", id[:2], id)))
		}
		w, err := newWorker(s, p)
		require.NoError(t, err)
		w.Program = "/bin/false"
		r, err := (&sweep.Run{Store: s, Plan: p, Engine: local(t.Context(), t, w, 2), Delay: time.Millisecond}).Run(t.Context())
		require.NoError(t, err)
		failed, err := s.Failed()
		require.NoError(t, err)
		assert.Empty(t, failed)
		assert.Equal(t, []int{keep, 0}, []int{r.Done, r.Failed})
		return r
	}
	for keep, want := range map[int]string{1: "so did one that is done: exit status 1", 0: "or the drive has a fault"} {
		r := sick(keep)
		require.ErrorIs(t, r.Stopped, sweep.ErrSick)
		assert.ErrorContains(t, r.Err(), want)
	}
}

// TestChildOfACase: a case that ended well is done, though a process that it has started holds its standard error. That one
// ends, too.
func TestChildOfACase(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [`+leavesChild+`]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	text, err := os.ReadFile(filepath.Join(s.Dir(), notes, "child"))
	require.NoError(t, err)
	if runtime.GOOS == "linux" {
		line := filepath.Join("/proc", strings.TrimSpace(string(text)), "cmdline")
		assert.Eventually(t, func() bool {
			data, _ := os.ReadFile(line) // it is empty where nobody waits for it
			return len(data) == 0
		}, patience, time.Millisecond)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	one, p := storeOf(t, `matrix: {scene.seed: [1, 2, `+isWrongUse+`]}, collect: [ego.distance]`)
	two, _ := storeOf(t, `matrix: {scene.seed: [1, 2, `+isWrongUse+`]}, collect: [ego.distance]`)
	for i, s := range []*sweep.Store{one, two} {
		w, err := newWorker(s, p)
		require.NoError(t, err)
		_, err = (&sweep.Run{Store: s, Plan: p, Engine: local(t.Context(), t, w, 1), Shard: sweep.Shard{Index: i, Count: 2}}).Run(t.Context())
		require.NoError(t, err)
	}
	whole, _ := storeOf(t, `matrix: {scene.seed: [1, 2, `+isWrongUse+`]}, collect: [ego.distance]`)
	runLocal(t, whole, p)
	table := func(dir string, stores ...*sweep.Store) (string, *sweep.Merged) {
		m, err := sweep.Merge(p, stores, dir)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, sweep.ResultsFile))
		require.NoError(t, err)
		return string(text), m
	}
	half, m := table(t.TempDir(), one)
	assert.Contains(t, half, ",missing,")
	assert.Equal(t, 3, m.Total)
	both, m := table(t.TempDir(), one, two)
	assert.Equal(t, []int{2, 1, 0}, []int{m.Done, m.Failed, len(m.Alarms)})
	dir := t.TempDir()
	alone, _ := table(dir, whole)
	timing, err := os.ReadFile(filepath.Join(dir, sweep.TimingFile))
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Contains(t, string(timing), "\n"+p.Cases[2].ID+",failed,,,1,"+host+",,\n")
	assert.Equal(t, alone, both, "the same bytes from every engine")
	_, m = table(t.TempDir(), whole, one, two)
	assert.Empty(t, m.Alarms)

	// A result that was damaged by hand, also in its manifest.
	id := p.Cases[0].ID
	path := filepath.Join(whole.Dir(), "cases", id[:2], id, "manifest.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	put(t, path, strings.Replace(string(text), `"seed": 1`, `"seed": 2`, 1))
	_, m = table(t.TempDir(), whole, one, two)
	require.Len(t, m.Alarms, 1)
	assert.Equal(t, id, m.Alarms[0].ID)
}

// TestIdleKeys: a key whose values change nothing is named.
func TestIdleKeys(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string][]string{
		`matrix: {scene.seed: [1, 2], ego.speed: [1, 2]}`:                               nil,
		`matrix: {scene.seed: [` + ignoresAll + `], ego.speed: [1, 2]}`:                 {"ego.speed"},
		`matrix: {scene.seed: [` + ignoresAll + `, 1], ego.speed: [1, 2]}`:              nil,
		`list: [{scene.seed: 1, ego.speed: 2}, {scene.seed: 2, ego.speed: 1}]`:          nil,
		`matrix: {scene.seed: [` + ignoresAll + `], ego.speed: [1]}, repeat: {seed: 3}`: nil,
	} {
		s, p := storeOf(t, keys)
		require.NoError(t, runLocal(t, s, p).Err())
		m, err := sweep.Merge(p, []*sweep.Store{s}, s.Dir())
		require.NoError(t, err)
		assert.Equal(t, want, m.Idle, keys)
	}
}

func TestParseShare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"1%": 0.01, "100%": 1, "0.5": 0.5} {
		got, err := sweep.ParseShare(text)
		require.NoError(t, err)
		assert.InDelta(t, want, got, 1e-12, text)
	}
	for _, text := range []string{"", "%", "0%", "101%", "-1%", "NaN", "all"} {
		_, err := sweep.ParseShare(text)
		assert.ErrorContains(t, err, "is not a share", text)
	}
}

// TestPoisonedNames: a plan whose hashes are right may still have names that lead out of the store, or that no disk takes.
func TestPoisonedNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"../../../evil.yaml": "leads out of its folder", "/etc/evil.yaml": "leads out of its folder", `a\b`: "leads out of its folder", "a/../b": "leads out of its folder",
		"a\x00b": "leads out of its folder", "": "leads out of its folder", strings.Repeat("n", 256): "is too long", strings.Repeat("d/", 3000) + "f": "is too long",
	} {
		s, p := storeOf(t, `matrix: {ego.speed: [1]}`)
		sweep.Poison(p, name, base)
		text, err := json.Marshal(p)
		require.NoError(t, err)
		put(t, filepath.Join(s.Dir(), "plan.json"), string(text))
		_, err = s.Plan()
		require.ErrorIs(t, err, sweep.ErrPlan, "%.20q", name)
		assert.ErrorContains(t, err, want, "%.20q", name)
		assert.Less(t, len(err.Error()), 500)
	}
}
