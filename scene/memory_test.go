package scene_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
)

// TestBuildTakesMemory: before the world's tables are made, by what is placed, not by what the
// scene's meshes are; what only the work needs is given back.
func TestBuildTakesMemory(t *testing.T) {
	s, err := city.Generate(city.Options{Seed: 1, Triangles: 40_000})
	require.NoError(t, err)
	budget := memory.New(1 << 20)
	_, err = scene.Build(t.Context(), s, scene.BuildOptions{Memory: budget})
	require.ErrorIs(t, err, memory.ErrExceeded)
	assert.ErrorContains(t, err, "a world of ")
	assert.Zero(t, budget.Held())

	budget = memory.New(1 << 30)
	w, err := scene.Build(t.Context(), s, scene.BuildOptions{Memory: budget})
	require.NoError(t, err)
	assert.InEpsilon(t, 210*w.StaticCount, budget.Held(), 0.1)
}
