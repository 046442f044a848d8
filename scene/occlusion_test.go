package scene_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/spatial"
)

// hidden returns the occlusion of triangle corner i, 0 to 1.
func hidden(g *scene.Geometry, i int) float64 {
	return float64(g.Attributes[i/3*3+2][3]>>(8*(i%3))&255) / 255
}

// besideWall is how much of the sky a wall hides from a floor so many metres before it. What is
// nearer than a metre hides, by the square of what is left of the metre. It gives back a fifth.
func besideWall(distance float64) float64 {
	const steps = 60
	sum := 0.0
	for i := range steps {
		sin2 := (float64(i) + 0.5) / steps // even shares of the light of an even sky
		for j := range steps {
			around := 2 * math.Pi * (float64(j) + 0.5) / steps
			if to := distance / (math.Sqrt(sin2) * math.Cos(around)); to > 0 && to < 1 {
				sum += (1 - to) * (1 - to)
			}
		}
	}
	return 0.8 * sum / (steps * steps)
}

func TestAWallHidesTheSkyFromTheFloorBesideIt(t *testing.T) {
	b := scenetest.NewBuilder("corner")
	b.Put("corner", scenetest.Corner(4.4, 44), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagStatic))
	plain := build(t, b.Scene)
	b.Scene.Occlusion = true
	g := build(t, b.Scene)
	seen, nearest := 0, 0.0
	for i, v := range g.Vertices {
		require.Zero(t, hidden(plain, i), "nobody asked for it")
		distance := 2.2 - float64(v[0])
		if v[2] > 0 || distance < 0.05 || math.Abs(float64(v[1])) > 1 {
			continue
		}
		assert.InDelta(t, besideWall(distance), hidden(g, i), 0.07, "%.1f m before the wall", distance)
		seen, nearest = seen+1, max(nearest, hidden(g, i))
	}
	assert.Greater(t, seen, 100)
	assert.Greater(t, nearest, 0.1)
}

// What is convex hides nothing of itself; the ground hides what stands on it.
func TestABoxHidesItsGroundOnly(t *testing.T) {
	for name, below := range map[string]float32{"hovers": 1, "stands": 0} {
		m := scenetest.Box(1, 1, 1)
		for i := range m.Positions {
			m.Positions[i][2] += 0.5 + below
		}
		b := scenetest.NewBuilder("box")
		b.Scene.Occlusion = true
		b.Put("box", m, scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagStatic))
		g := build(t, b.Scene)
		for i, v := range g.Vertices {
			if dark := v[2] == 0; dark {
				assert.NotZero(t, hidden(g, i), "it %s, vertex %v", name, v)
			} else {
				assert.Zero(t, hidden(g, i), "it %s, vertex %v", name, v)
			}
		}
	}
}

// A mover has the occlusion of its mesh, as something that stands has.
func TestMoversHaveOcclusion(t *testing.T) {
	var built []*scene.Geometry
	for _, motion := range []scene.Motion{nil, scenetest.Linear{Start: spatial.Identity()}} {
		b := scenetest.NewBuilder("corner")
		b.Scene.Occlusion = true
		b.Put("corner", scenetest.Corner(2, 6), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{Pose: spatial.Identity(), Motion: motion})
		built = append(built, build(t, b.Scene))
		require.Len(t, built[len(built)-1].Movers, len(built)-1)
	}
	still, moving := map[mgl32.Vec3]float64{}, map[mgl32.Vec3]float64{}
	darkest := 0.0
	for i := range built[0].Vertices {
		for k, sums := range []map[mgl32.Vec3]float64{still, moving} {
			v := built[k].Vertices[i]
			sums[mgl32.Vec3{v[0], v[1], v[2]}] += hidden(built[k], i)
		}
		darkest = max(darkest, hidden(built[0], i))
	}
	for p, sum := range still {
		assert.InDelta(t, sum, moving[p], 1e-9, "%v", p)
	}
	assert.Greater(t, darkest, 0.1)
}
