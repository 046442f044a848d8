package scene_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
)

func buildCached(t *testing.T, s *scene.Scene, dir string) *scene.Geometry {
	t.Helper()
	g, err := scene.Build(context.Background(), s, scene.BuildOptions{CacheDir: dir})
	require.NoError(t, err)
	return g
}

func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return files
}

func TestCacheRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by build")
	s := scenetest.Soup(1, 900, true)
	built := buildCached(t, s, dir)
	require.False(t, built.FromCache)
	require.NoError(t, built.CacheErr)
	require.Len(t, cacheFiles(t, dir), 1)

	loaded := buildCached(t, scenetest.Soup(1, 900, true), dir)
	require.True(t, loaded.FromCache)
	require.NoError(t, loaded.CacheErr)
	assert.Equal(t, built.Nodes, loaded.Nodes)
	assert.Equal(t, built.Planes, loaded.Planes)
	assert.Equal(t, built.Vertices, loaded.Vertices)
	assert.Equal(t, built.Attributes, loaded.Attributes)
	assert.Equal(t, built.Static, loaded.Static)
	assert.Equal(t, built.StaticCount, loaded.StaticCount)
	require.Len(t, loaded.Movers, len(built.Movers))
	for i, m := range loaded.Movers {
		b := built.Movers[i]
		assert.Equal(t, []any{b.First, b.Count, b.Root, b.Min, b.Max, b.Part, b.Actor.Name}, []any{m.First, m.Count, m.Root, m.Min, m.Max, m.Part, m.Actor.Name})
	}
}

func TestCacheKeyFollowsTheContent(t *testing.T) {
	dir := t.TempDir()
	buildCached(t, scenetest.Soup(1, 60, true), dir)
	for name, change := range map[string]func(*scene.Scene){
		"a vertex": func(s *scene.Scene) { s.Meshes[0].Positions[0][0] += 1e-4 },
		"a pose":   func(s *scene.Scene) { s.Actors[0].Pose.Position[2]++ },
		"a tag":    func(s *scene.Scene) { s.Actors[0].Parts[0].Tag = scene.TagTrain },
		"colours": func(s *scene.Scene) {
			s.Meshes[0].Colors = slices.Repeat([]mgl32.Vec4{{1, 1, 1, 1}}, len(s.Meshes[0].Positions))
		},
		"an alpha cut": func(s *scene.Scene) { s.Materials[0].AlphaMode = scene.AlphaBlend },
		"occlusion":    func(s *scene.Scene) { s.Occlusion = true },
		"an id":        func(s *scene.Scene) { s.Actors[0].ID = 77 },
	} {
		s := scenetest.Soup(1, 60, true)
		change(s)
		assert.False(t, buildCached(t, s, dir).FromCache, name)
	}
	s := scenetest.Soup(1, 60, true)
	s.Materials[0].BaseColor[0] = 0 // colours aren't in the tables
	assert.True(t, buildCached(t, s, dir).FromCache)
}

func TestCorruptedCacheIsRebuilt(t *testing.T) {
	for name, corrupt := range map[string]func([]byte) []byte{
		"a bit":     func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"the head":  func(b []byte) []byte { b[3] ^= 1; return b },
		"counts":    func(b []byte) []byte { b[70] = 0xff; return b },
		"cut off":   func(b []byte) []byte { return b[:len(b)-100] },
		"too long":  func(b []byte) []byte { return append(b, 1, 2, 3) },
		"empty":     func([]byte) []byte { return nil },
		"the crc":   func(b []byte) []byte { b[len(b)-1]++; return b },
		"huge size": func(b []byte) []byte { copy(b[64:], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}); return b },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := scenetest.Soup(2, 300, false)
			want := buildCached(t, s, dir)
			file := cacheFiles(t, dir)[0]
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, corrupt(data), 0o644))

			got := buildCached(t, s, dir)
			assert.False(t, got.FromCache)
			assert.Error(t, got.CacheErr)
			assert.Equal(t, want.Nodes, got.Nodes)
			assert.True(t, buildCached(t, s, dir).FromCache, "the rebuilt world was not kept")
		})
	}
}

func TestCacheThatCannotBeWrittenCostsNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	g := buildCached(t, scenetest.Soup(1, 60, false), filepath.Join(file, "below"))
	assert.Error(t, g.CacheErr)
	assert.Equal(t, 60, g.Triangles())
}

func TestCacheDropsTheOldest(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name+".world")
		require.NoError(t, os.WriteFile(path, make([]byte, 100), 0o644))
		at := time.Unix(int64(1000+i), 0)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), make([]byte, 1000), 0o644))
	require.NoError(t, scene.TrimCache(dir, 250))
	var left []string
	for _, f := range cacheFiles(t, dir) {
		left = append(left, filepath.Base(f))
	}
	assert.Equal(t, []string{"b.world", "c.world", "other"}, left)
}

// TestKept: what was kept comes back for its key and length alone, and files of it go when the cache is full, as worlds do.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	data, key := []byte("what took long"), [32]byte{1}
	got := make([]byte, len(data))
	require.ErrorIs(t, scene.Kept(dir, key, got), fs.ErrNotExist)
	require.NoError(t, scene.Keep(dir, key, data))
	require.NoError(t, scene.Kept(dir, key, got))
	assert.Equal(t, data, got)
	require.Error(t, scene.Kept(dir, key, got[1:]))
	require.ErrorIs(t, scene.Kept(dir, [32]byte{2}, got), fs.ErrNotExist)

	list, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, list, 1)
	other := [32]byte{1, 31: 1} // whose file has the same name
	require.NoError(t, scene.Keep(dir, other, []byte("another's text")))
	require.Error(t, scene.Kept(dir, key, got))
	require.NoError(t, scene.TrimCache(dir, 0))
	require.ErrorIs(t, scene.Kept(dir, other, got), fs.ErrNotExist)
}
