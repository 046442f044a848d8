package scene_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
)

// hills is a million triangles of which most stand on the ground.
func hills() *scene.Scene {
	b := scenetest.NewBuilder("hills")
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	b.Put("ground", scenetest.Plane(1000, 300), grey, scenetest.At(0, 0, 0, scene.TagTerrain))
	ball := scenetest.Sphere(2, 32)
	for i := range 20 {
		for j := range 10 {
			b.Put("ball", ball, grey, scenetest.At(float64(i)*40-400, float64(j)*70-350, 1, scene.TagVegetation))
		}
	}
	return b.Scene
}

func BenchmarkBuildMillion(b *testing.B) {
	s := hills()
	b.Log(s.Stats().Triangles, "triangles")
	for b.Loop() {
		_, err := scene.Build(context.Background(), s, scene.BuildOptions{})
		require.NoError(b, err)
	}
}

func BenchmarkLoadMillion(b *testing.B) {
	s := hills()
	opts := scene.BuildOptions{CacheDir: b.TempDir()}
	_, err := scene.Build(context.Background(), s, opts)
	require.NoError(b, err)
	for b.Loop() {
		w, err := scene.Build(context.Background(), s, opts)
		require.NoError(b, err)
		require.True(b, w.FromCache)
	}
}
