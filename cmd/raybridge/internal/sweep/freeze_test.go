package sweep_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
)

// TestFreeze: paths are replaced where they stand, in every way to write them; the rest stays, comments too.
func TestFreeze(t *testing.T) {
	t.Parallel()
	const text = `# A drive.
rig: rigs/a.yaml # the car's
scene: {file: "müll/tö wn.gltf", labels: 'it''s.yaml', place: [{file: a.glb, name: file}]}
actors:
  - {file: &van /models/van.glb, name: van}
  - file: *van
world: {source: csv:log.csv?x=1, models: [m1.glb, "m2.glb"]}
ego: {speed: 3}
`
	var moved []string
	frozen, err := sweep.Freeze("d/drive.yaml", []byte(strings.Replace(text, "&van ", "", 1)), func(key, path string) (string, error) {
		moved = append(moved, key+" "+path)
		return "X" + filepath.Base(path), nil
	})
	require.Error(t, err, "an alias of nothing")
	require.Nil(t, frozen)
	moved = nil
	frozen, err = sweep.Freeze("d/drive.yaml", []byte(strings.Replace(strings.Replace(text, "&van ", "", 1), "*van", "b.glb", 1)), func(key, path string) (string, error) {
		moved = append(moved, key+" "+path)
		return "X" + filepath.Base(path), nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"rig d/rigs/a.yaml", "scene.file d/müll/tö wn.gltf", "scene.labels d/it's.yaml", "scene.place[].file d/a.glb",
		"actors[].file /models/van.glb", "actors[].file d/b.glb", "world.source csv:log.csv?x=1", "world.models[] d/m1.glb", "world.models[] d/m2.glb",
	}, moved)
	assert.Equal(t, `# A drive.
rig: Xa.yaml # the car's
scene: {file: "Xtö wn.gltf", labels: "Xit's.yaml", place: [{file: Xa.glb, name: file}]}
actors:
  - {file: Xvan.glb, name: van}
  - file: Xb.glb
world: {source: "Xcsv:log.csv?x=1", models: [Xm1.glb, Xm2.glb]}
ego: {speed: 3}
`, string(frozen))

	// What can't be replaced in its line is an error with its place.
	_, err = sweep.Freeze("drive.yaml", []byte("rig: >-\n  a\n  b\n"), func(string, string) (string, error) { return "x", nil })
	assert.ErrorContains(t, err, "drive.yaml:1:6: rig: written in a way that can't be moved")
}

// FuzzFreeze: a configuration that is frozen says what it said, except for its paths.
func FuzzFreeze(f *testing.F) {
	f.Add([]byte("rig: a\nscene: {file: \"b\\u00e4\", labels: 'c''d'}\n"))
	f.Add([]byte("actors: [{file: &x a.glb}, {file: *x}]\nworld: {source: \"csv:a?b\", models: [a, b]}\n"))
	f.Add([]byte("scene:\n  file: ä\n  place:\n  - file: >-\n      x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		move := func(_, path string) (string, error) { return "/moved/" + filepath.Base(path), nil }
		frozen, err := sweep.Freeze("/d/drive.yaml", text, move)
		if err != nil {
			return
		}
		before, after := config.Default(), config.Default()
		n, err := doc.ParseYAML("drive.yaml", text)
		if err != nil || n.Decode(before) != nil {
			return
		}
		n, err = doc.ParseYAML("drive.yaml", frozen)
		require.NoError(t, err, "%q", frozen)
		require.NoError(t, n.Decode(after), "%q", frozen)
		for _, p := range []struct{ old, moved *string }{{&before.Rig, &after.Rig}, {&before.Scene.File, &after.Scene.File}, {&before.Scene.Labels, &after.Scene.Labels}} {
			if *p.old != "" {
				require.Equal(t, "/moved/"+filepath.Base("/d/"+*p.old), *p.moved, "%q", frozen)
			}
		}
		require.Equal(t, before.Ego, after.Ego)
		require.Equal(t, bytes.Count(text, []byte("\n")), bytes.Count(frozen, []byte("\n")))
	})
}

func FuzzReadPlan(f *testing.F) {
	f.Add([]byte(`{"schema": 1, "sweep": "s.yaml", "config": "inputs/a/b", "inputs": [{"hash": "a", "files": [{"name": "b", "size": 1, "sha256": "c"}]}], "cases": [{"id": "00", "seed": 1}]}`))
	f.Add([]byte(`{"schema": 1, "files": {"scene.file": {"a": "../b"}}, "keys": ["scene.file"], "cases": [{"values": ["a"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := sweep.ReadPlan(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, in := range p.Inputs {
			for _, file := range in.Files {
				require.True(t, filepath.IsLocal(filepath.FromSlash(file.Name)))
			}
		}
		require.True(t, filepath.IsLocal(p.Config))
		for i := range p.Cases {
			p.Settings(&p.Cases[i])
			p.Label(&p.Cases[i])
		}
	})
}
