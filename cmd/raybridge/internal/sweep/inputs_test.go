package sweep_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// idsOf are the ids of a sweep of files; DIR in their texts is the folder. A file of an empty text isn't there.
func idsOf(t *testing.T, sumo string, files ...map[string]string) []string {
	t.Helper()
	all := map[string]string{"drive.yaml": base, "sweep.yaml": `sweep: {base: drive.yaml, matrix: {ego.speed: [5, 6]}}`}
	for _, f := range files {
		maps.Copy(all, f)
	}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	dir := folder(t, all)
	for name, text := range all {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
	}
	pl := planner()
	pl.AllowPrograms, pl.Program = true, func() (string, error) { return sumo, nil }
	f, err := sweep.ReadFile(filepath.Join(dir, "sweep.yaml"))
	require.NoError(t, err)
	p, err := pl.Plan(t.Context(), f)
	require.NoError(t, err)
	return ids(p)
}

// TestWhatDecidesCounts: the content of all files that a run reads decides ids, also of those that no configuration names.
// So do names that something in the run is called by.
func TestWhatDecidesCounts(t *testing.T) {
	t.Parallel()
	const gltf = `{"buffers": [{"uri": "m.bin"}]}`
	scene := map[string]string{"drive.yaml": base + "scene:\n  file: town.model\n", "town.model": gltf, "m.bin": "one"}
	world := map[string]string{
		"drive.yaml": base + "world:\n  source: sumo:DIR/a.sumocfg\n", "a.sumocfg": `<configuration><r value="r.xml"/></configuration>`,
		"r.xml": `<routes><include href="more.xml"/></routes>`, "more.xml": "<routes/>",
	}
	trace := map[string]string{"drive.yaml": base + "world:\n  source: csv:DIR/a.csv\n", "a.csv": "time,id\n"}
	for name, c := range map[string]struct {
		files  map[string]string
		change map[string]string
		sumo   string
		equal  bool
	}{
		"nothing":                     {files: scene, equal: true},
		"buffer":                      {files: scene, change: map[string]string{"m.bin": "two"}},
		"labels appear":               {files: scene, change: map[string]string{"town.labels.yaml": "rules: []"}},
		"labels appear, another form": {files: scene, change: map[string]string{"town.model.labels.yaml": "rules: []"}},
		"labels of another scene":     {files: scene, change: map[string]string{"hill.labels.yaml": "rules: []"}, equal: true},
		"scene renamed":               {files: scene, change: map[string]string{"drive.yaml": base + "scene:\n  file: hill.model\n", "hill.model": gltf}},
		"base renamed":                {files: scene, change: map[string]string{"sweep.yaml": `sweep: {base: city.yaml, matrix: {ego.speed: [5, 6]}}`, "city.yaml": scene["drive.yaml"]}, equal: true},
		"SUMO":                        {files: world, sumo: "SUMO 2"},
		"no SUMO":                     {files: scene, sumo: "SUMO 2", equal: true},
		"routes in turn":              {files: world, change: map[string]string{"more.xml": "<routes></routes>"}},
		"SUMO renamed":                {files: world, change: map[string]string{"drive.yaml": base + "world:\n  source: sumo:DIR/b.sumocfg\n", "b.sumocfg": world["a.sumocfg"]}, equal: true},
		"CSV":                         {files: trace, change: map[string]string{"a.csv": "time,id,x\n"}},
		"CSV renamed":                 {files: trace, change: map[string]string{"drive.yaml": base + "world:\n  source: csv:DIR/b.csv\n", "b.csv": "time,id\n"}, equal: true},
		"OSI renamed":                 {files: map[string]string{"drive.yaml": base + "world:\n  source: osi:DIR/a.osi\n", "a.osi": "1"}, change: map[string]string{"drive.yaml": base + "world:\n  source: osi:DIR/b.osi\n", "b.osi": "1"}},
	} {
		before, after := idsOf(t, "SUMO 1", c.files), idsOf(t, c.sumo+map[bool]string{true: "SUMO 1"}[c.sumo == ""], c.files, c.change)
		assert.Equal(t, c.equal, before[0] == after[0], name)
		assert.Equal(t, c.equal, before[1] == after[1], name)
	}
}

// TestNothingIsAddedToInputs: labels that lie beside a scene in the store, and weren't there when it was planned, are damage.
func TestNothingIsAddedToInputs(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"drive.yaml": base + "scene:\n  file: town.gltf\n", "town.gltf": "{}", "sweep.yaml": `sweep: {base: drive.yaml, matrix: {ego.speed: [5]}}`})
	p, err := planOf(t, dir, "sweep.yaml")
	require.NoError(t, err)
	s, err := sweep.CreateStore(t.TempDir())
	require.NoError(t, err)
	defer s.Close()
	for range 2 { // planning again mends it
		_, err = s.Adopt(t.Context(), p, false)
		require.NoError(t, err)
		_, err = newWorker(s, p)
		require.NoError(t, err)
		towns, err := filepath.Glob(filepath.Join(s.Dir(), "inputs", "*", "town.gltf"))
		require.NoError(t, err)
		put(t, filepath.Join(filepath.Dir(towns[0]), "town.labels.yaml"), "rules: []")
		_, err = newWorker(s, p)
		require.ErrorIs(t, err, sweep.ErrDamaged)
		assert.ErrorContains(t, err, "it has town.labels.yaml, too")
	}
}

// TestFilesThatChangeWhilePlanned: nothing of a file is kept that was hashed with other content.
func TestFilesThatChangeWhilePlanned(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"drive.yaml": base + "scene:\n  file: town.gltf\n", "town.gltf": "{}", "sweep.yaml": `sweep: {base: drive.yaml, matrix: {ego.speed: [5]}}`})
	p, err := planOf(t, dir, "sweep.yaml")
	require.NoError(t, err)
	put(t, filepath.Join(dir, "town.gltf"), "{ }")
	s, err := sweep.CreateStore(t.TempDir())
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Adopt(t.Context(), p, false)
	require.ErrorIs(t, err, sweep.ErrDamaged)
	require.ErrorContains(t, err, filepath.Join(dir, "town.gltf")+" was changed")
	require.ErrorContains(t, err, "run the command again")
	require.ErrorIs(t, s.Planned(), sweep.ErrNoPlan)
	for _, input := range entriesOf(t, filepath.Join(s.Dir(), "inputs")) {
		assert.NotContains(t, input.Name(), ".new-", "nothing half is left")
	}
}

// TestGarbageInFolders: files that nobody of a sweep has written count for nothing.
func TestGarbageInFolders(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	for _, dir := range []string{"cases", "failed"} {
		put(t, filepath.Join(s.Dir(), dir, ".DS_Store"), "x")
		require.NoError(t, os.MkdirAll(filepath.Join(s.Dir(), dir, "zz", "garbage"), 0o755))
		put(t, filepath.Join(s.Dir(), dir, "zz", "garbage.json"), "x")
	}
	done, err := s.Done()
	require.NoError(t, err)
	assert.Len(t, done, 2)
	failed, err := s.Failed()
	require.NoError(t, err)
	assert.Empty(t, failed)
	require.NoError(t, runLocal(t, s, p).Err())
}
