package scene_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
)

// TestPlane: the ground is flat and everywhere, wherever it lies, and ends after 2 km.
func TestPlane(t *testing.T) {
	const half = scene.PlaneSize / 2
	for _, at := range []mgl64.Vec3{{}, {300_000.37, 4_000_000.81, 50.43}, {-1e7, 1e7, 1e7}} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			s := scene.Plane(at)
			assert.Equal(t, at, s.Ego.Position)
			assert.Nil(t, s.Route, "the ego stands")
			low, high, ok := s.Bounds()
			require.True(t, ok)
			assert.Equal(t, at.Sub(mgl64.Vec3{half, half, 0}), low)
			assert.Equal(t, at.Add(mgl64.Vec3{half, half, 0}), high)
			g := build(t, s)
			assert.Equal(t, g.Triangles(), g.StaticCount)
			rng := rand.New(rand.NewPCG(8, 1))
			for range 2000 {
				x, y := half*(2*rng.Float64()-1), half*(2*rng.Float64()-1)
				z, ok := g.Ground(at[0]+x, at[1]+y, at[2])
				require.True(t, ok, "at (%v, %v)", x, y)
				require.InDelta(t, at[2], z, 1e-6)
			}
			_, ok = g.Ground(at[0]+half+1, at[1], at[2])
			assert.False(t, ok)
		})
	}
}

// TestPlaneShowsSomething: cameras have something to follow, near and where the picture of a
// tile has shrunk to a few pixels.
func TestPlaneShowsSomething(t *testing.T) {
	s := scene.Plane(mgl64.Vec3{})
	for _, n := range s.Meshes[0].Normals {
		require.Equal(t, mgl32.Vec3{0, 0, 1}, n)
	}
	tile := s.Textures[s.Materials[0].BaseColorTexture].Image
	for _, block := range []int{1, 8, 32, 128} {
		var sum, squares, n float64
		for y := 0; y < tile.Rect.Dy(); y += block {
			for x := 0; x < tile.Rect.Dx(); x += block {
				mean := 0.0
				for k := range block * block {
					c := tile.NRGBAAt(x+k%block, y+k/block)
					require.True(t, c.R == c.G && c.G == c.B && c.A == 255, "grey")
					mean += float64(c.R) / float64(block*block)
				}
				sum, squares, n = sum+mean, squares+mean*mean, n+1
			}
		}
		deviation := math.Sqrt(squares/n - sum/n*sum/n)
		assert.InDelta(t, 105, sum/n, 5, "road-grey")
		assert.Greater(t, deviation, 2.0, "levels between blocks of %d pixels", block)
		assert.Less(t, deviation, 20.0, "subtle")
	}
	assert.Equal(t, tile.Pix, scene.Plane(mgl64.Vec3{1, 2, 3}).Textures[0].Image.Pix, "always the same")
}
