package scene_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/shaders"
)

// TestTenMillionTrianglesFitTextureBuffers: no table has more than seven texels a triangle, whatever the scene, so that
// 10^7 triangles stay within the 2^27 texels that raybridge counts on.
func TestTenMillionTrianglesFitTextureBuffers(t *testing.T) {
	most := gpu.Guaranteed().MaxTextureBufferTexels
	for name, s := range map[string]*scene.Scene{
		"one": scenetest.Soup(1, 6, false), "soup": scenetest.Soup(2, 6000, false), "movers": scenetest.Soup(3, 6000, true),
		"all in one place": reshaped(func(i int) mgl32.Vec3 { return mgl32.Vec3{} }),
		"ever farther":     reshaped(func(i int) mgl32.Vec3 { return mgl32.Vec3{exp(i)} }),
		"far apart":        reshaped(func(i int) mgl32.Vec3 { return mgl32.Vec3{float32(i%13) * 90, float32(i%17) * 70, float32(i%19) * 50} }),
	} {
		g := build(t, s)
		n := g.Triangles()
		require.Positive(t, n, name)
		// A node has two children at least, and each leaf a triangle of its own.
		assert.LessOrEqual(t, len(g.Nodes), n, name)
		for table, texels := range map[string]int{
			"nodes": len(g.Nodes) * shaders.NodeTexels, "planes": len(g.Planes), "vertices": len(g.Vertices), "attributes": len(g.Attributes),
		} {
			assert.LessOrEqual(t, texels*10_000_000/n, most, "%s: %s", name, table)
		}
	}
	assert.LessOrEqual(t, 10_000_000*shaders.NodeTexels, most)
	assert.LessOrEqual(t, 10_000_000, scene.MaxTriangles)
}

// exp grows from a millimetre to some kilometres.
func exp(i int) float32 {
	x := float32(0.001)
	for range i % 150 {
		x *= 1.1
	}
	return x
}

// reshaped is a soup whose triangles, a centimetre wide, stand where a function says.
func reshaped(at func(i int) mgl32.Vec3) *scene.Scene {
	s := scenetest.Soup(4, 3000, false)
	for i := range s.Meshes {
		p := s.Meshes[i].Positions
		for k := range p {
			corner := mgl32.Vec3{}
			corner[k%3] = 0.01
			p[k] = at(k / 3).Add(corner)
		}
	}
	return s
}
