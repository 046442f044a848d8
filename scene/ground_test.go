package scene_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/spatial"
)

// groundBy finds the ground by the reference: a vertical ray through everything static.
func groundBy(tr *scenetest.Tracer, x, y, near float64) (z float64, ok bool) {
	const top, bottom = 1000.0, -1000.0
	down := mgl64.Vec3{0, 0, -1}
	best := map[bool]float64{true: math.Inf(1), false: math.Inf(1)}
	for from := 0.0; ; {
		h, hit := tr.Trace(mgl64.Vec3{x, y, top}, down, from, top-bottom, 0)
		if !hit {
			break
		}
		from = h.T + 1e-7
		if ground := h.Tag().Ground(); h.Actor.Static() && math.Abs(h.Point[2]-near) < math.Abs(best[ground]-near) {
			best[ground] = h.Point[2]
		}
	}
	for _, ground := range []bool{true, false} {
		if !math.IsInf(best[ground], 1) {
			return best[ground], true
		}
	}
	return 0, false
}

// besideGround tells whether a point a millimetre beside has the height: it lies at a kerb.
func besideGround(tr *scenetest.Tracer, x, y, near, got float64) bool {
	for k := range 8 {
		sin, cos := math.Sincos(float64(k) * math.Pi / 4)
		if z, ok := groundBy(tr, x+1e-3*cos, y+1e-3*sin, near); ok && math.Abs(z-got) < 2e-3 {
			return true
		}
	}
	return false
}

// TestGroundOfTheCity compares with float64 rays, also where the city lies far from the map's
// origin.
func TestGroundOfTheCity(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, at := range []mgl64.Vec3{{}, {80_000.37, -3_200.61, 412.3}, {300_000, 4_000_000, 50}} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			s, err := city.Generate(city.Options{Seed: 5, Cars: -1, Walkers: -1, Triangles: city.MinTriangles})
			require.NoError(t, err)
			for _, a := range s.Actors {
				a.Pose.Position = a.Pose.Position.Add(at)
			}
			const town = 200.0
			low, high, _ := s.Bounds()
			g, tr := build(t, s), scenetest.NewTracer(s, nil)
			require.Equal(t, at != mgl64.Vec3{}, g.Anchor != mgl64.Vec3{})
			const n = 4000
			edges := 0
			rng := rand.New(rand.NewPCG(17, 4))
			for range n {
				x, y := at[0]+town*(2*rng.Float64()-1), at[1]+town*(2*rng.Float64()-1)
				if rng.IntN(8) == 0 { // anywhere
					x, y = low[0]+rng.Float64()*(high[0]-low[0]), low[1]+rng.Float64()*(high[1]-low[1])
				}
				near := at[2] + rng.Float64()*30 - 5
				want, there := groundBy(tr, x, y, near)
				got, ok := g.Ground(x, y, near)
				if ok == there && math.Abs(got-want) < 1e-3 {
					continue
				}
				if ok && besideGround(tr, x, y, near, got) {
					edges++
					continue
				}
				t.Errorf("the ground at (%v, %v) near %v is %v, %v: want %v, %v", x, y, near, got, ok, want, there)
			}
			assert.LessOrEqual(t, edges, n/200, "points at kerbs")
		})
	}
}

// bridgeScene has a road, a bridge over it, a roof over both, and beside these a crate, each at at.
func bridgeScene(at mgl64.Vec3) *scene.Scene {
	b := scenetest.NewBuilder("bridge")
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	put := func(name string, m scene.Mesh, offset mgl64.Vec3, tag scene.Tag) {
		p := at.Add(offset)
		b.Put(name, m, grey, scenetest.At(p[0], p[1], p[2], tag))
	}
	put("road", scenetest.Plane(40, 4), mgl64.Vec3{}, scene.TagRoads)
	put("bridge", scenetest.Box(10, 10, 1), mgl64.Vec3{0, 0, 5.5}, scene.TagBridge)
	put("roof", scenetest.Plane(20, 1), mgl64.Vec3{0, 0, 9}, scene.TagBuilding)
	put("crate", scenetest.Box(2, 2, 1), mgl64.Vec3{15, 15, 0.5}, scene.TagStatic)
	put("platform", scenetest.Box(2, 2, 1), mgl64.Vec3{100, 0, 3}, scene.TagStatic)
	return b.Scene
}

func TestGroundIsTheNearestOfSeveral(t *testing.T) {
	for _, at := range []mgl64.Vec3{{}, {80_000.25, 20_000.5, 300.125}} {
		g := build(t, bridgeScene(at))
		for _, c := range []struct {
			name       string
			x, y, near float64
			want       float64
			none       bool
		}{
			{name: "under the bridge", near: 0.3, want: 0},
			{name: "on the bridge", near: 5.9, want: 6},
			{name: "nearer to the bridge's underside than to the road", near: 3, want: 5},
			{name: "below all", near: -50, want: 0},
			{name: "high above: the roof isn't ground", near: 80, want: 6},
			{name: "beside the bridge, under the roof", x: 8, near: 9, want: 0},
			{name: "on the crate, which isn't ground", x: 15, y: 15, near: 1, want: 0},
			{name: "no ground: the platform's upper side", x: 100, near: 4, want: 3.5},
			{name: "no ground: its lower side", x: 100, near: 0, want: 2.5},
			{name: "at the edge", x: 20, y: 3, want: 0},
			{name: "outside of everything", x: 21, none: true},
			{name: "far away", x: 1e9, y: -1e9, none: true},
			{name: "nowhere", x: math.NaN(), none: true},
			{name: "near nothing", near: math.NaN(), none: true},
		} {
			z, ok := g.Ground(at[0]+c.x, at[1]+c.y, at[2]+c.near)
			assert.Equal(t, !c.none, ok, c.name)
			if ok {
				assert.InDelta(t, at[2]+c.want, z, 1e-6, c.name)
			}
		}
	}
}

// TestGroundOnSlopes: the height is exact between the vertices and across the edges.
func TestGroundOnSlopes(t *testing.T) {
	at := mgl64.Vec3{79_000.7, -12_345.6, 88.8}
	for _, pitch := range []float64{0, 5, -30, 75} {
		b := scenetest.NewBuilder("slope")
		p := scenetest.At(at[0], at[1], at[2], scene.TagTerrain)
		p.Pose = spatial.FromRPY(at, 0, pitch, 30)
		b.Put("slope", scenetest.Plane(60, 7), scenetest.Matte("grey", 0.5, 0.5, 0.5), p)
		g := build(t, b.Scene)
		normal := p.Pose.Rotate(mgl64.Vec3{0, 0, 1})
		rng := rand.New(rand.NewPCG(3, 9))
		for range 2000 {
			// At random, and on the lines between the cells.
			local := mgl64.Vec3{rng.Float64()*59 - 29.5, rng.Float64()*59 - 29.5, 0}
			if rng.IntN(2) == 0 {
				local[rng.IntN(2)] = 60.0/7*float64(rng.IntN(6)+1) - 30
			}
			q := p.Pose.Apply(local)
			want := at[2] - (normal[0]*(q[0]-at[0])+normal[1]*(q[1]-at[1]))/normal[2]
			got, ok := g.Ground(q[0], q[1], want+rng.NormFloat64())
			require.True(t, ok, "at %v of a slope of %v degrees", local, pitch)
			require.InDelta(t, want, got, 5e-5, "at %v of a slope of %v degrees", local, pitch)
		}
	}
}

// TestGroundIsStatic: what moves isn't ground.
func TestGroundIsStatic(t *testing.T) {
	g := build(t, scenetest.MovingWall(20, 3))
	z, ok := g.Ground(20.5, 0, 10)
	assert.True(t, ok)
	assert.InDelta(t, 0, z, 1e-6)

	b := scenetest.NewBuilder("movers alone")
	p := scenetest.At(0, 0, 0, scene.TagRoads)
	p.Motion = scenetest.Linear{Start: p.Pose}
	b.Put("carpet", scenetest.Plane(10, 1), scenetest.Matte("red", 1, 0, 0), p)
	_, ok = build(t, b.Scene).Ground(0, 0, 0)
	assert.False(t, ok)
}

func TestGroundAllocatesNothing(t *testing.T) {
	g := build(t, bridgeScene(mgl64.Vec3{}))
	assert.Zero(t, testing.AllocsPerRun(100, func() { g.Ground(1, 1, 3) }))
}

// BenchmarkGround asks for the ground all over the city of raybridge run.
func BenchmarkGround(b *testing.B) {
	s, err := city.Generate(city.Options{Seed: 1})
	require.NoError(b, err)
	g := build(b, s)
	rng := rand.New(rand.NewPCG(1, 1))
	var points [1024][2]float64
	for i := range points {
		points[i] = [2]float64{rng.Float64()*200 - 100, rng.Float64()*200 - 100}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := &points[i%len(points)]
		g.Ground(p[0], p[1], 0)
	}
}
