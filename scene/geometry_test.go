package scene_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTablesAgreeWithTheReference(t *testing.T) {
	for _, n := range []int{6, 7, 60, 6000} {
		s := scenetest.Soup(uint64(n), n, false)
		g := build(t, s)
		tr := scenetest.NewTracer(s, nil)
		var a scenetest.Agreement
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		for range 4000 {
			o := [3]float32{rng.Float32()*100 - 50, rng.Float32()*100 - 50, rng.Float32() * 10}
			v := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), 0.3 * rng.NormFloat64()}.Normalize()
			if rng.IntN(10) == 0 { // along an axis: zero components
				v = mgl64.Vec3{}
				v[rng.IntN(3)] = 1
			}
			d := [3]float32{float32(v[0]), float32(v[1]), float32(v[2])}
			got := math.Inf(1)
			if h := searchTree(g, g.Static, o, d, 0.01, 300); h.triangle >= 0 {
				got = float64(h.t)
			}
			a.Add(tr, wide(o), wide(d), 0.01, 300, 0, got)
		}
		assert.Zero(t, a.Wrong, a.String())
		assert.GreaterOrEqual(t, a.Share(), 0.9995, a.String())
	}
}

// No ray may pass between the triangles of a closed surface.
func TestNeighboursLeaveNoGap(t *testing.T) {
	for _, at := range []float64{0, 30, 300} {
		b := scenetest.NewBuilder("sphere")
		b.Put("sphere", scenetest.Sphere(3, 40), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(at, -at, at/10, scene.TagOther))
		g := build(t, b.Scene)
		sphere := &b.Scene.Meshes[0]
		rng := rand.New(rand.NewPCG(9, 9))
		for range 20000 {
			// Aim at a point of an edge, from outside.
			i := 3 * rng.IntN(len(sphere.Indices)/3)
			p, q := sphere.Positions[sphere.Indices[i]], sphere.Positions[sphere.Indices[i+1+rng.IntN(2)]]
			on := p.Add(q.Sub(p).Mul(rng.Float32())).Add(mgl32.Vec3{float32(at), float32(-at), float32(at / 10)})
			out := p.Normalize().Mul(20)
			o := on.Add(out).Add(mgl32.Vec3{rng.Float32(), rng.Float32(), rng.Float32()}.Mul(8))
			d := on.Sub(o).Normalize()
			h := searchTree(g, g.Static, o, d, 0, 1000)
			require.GreaterOrEqual(t, h.triangle, 0, "from %v along %v", o, d)
			require.InDelta(t, on.Sub(o).Len(), h.t, 0.15, "the ray went through to the other side")
		}
	}
}

func TestHierarchyHoldsEveryTriangleOnce(t *testing.T) {
	s := scenetest.Soup(4, 3000, true)
	g := build(t, s)
	seen := make([]int, g.Triangles())
	var walk func(r scene.Ref, lo, hi [3]float32)
	walk = func(r scene.Ref, lo, hi [3]float32) {
		if first, count, leaf := r.Leaf(); leaf {
			for i := first; i < first+count; i++ {
				seen[i]++
				for _, v := range g.Vertices[3*i : 3*i+3] {
					for a := range 3 {
						assert.True(t, v[a] >= lo[a] && v[a] <= hi[a], "triangle %d lies outside its box", i)
					}
				}
			}
			return
		}
		n := &g.Nodes[r.Node()]
		for k := range 4 {
			if n[0][k] > n[1][k] {
				continue
			}
			walk(scene.Ref(math.Float32bits(n[6][k])), [3]float32{n[0][k], n[2][k], n[4][k]}, [3]float32{n[1][k], n[3][k], n[5][k]})
		}
	}
	inf := float32(math.Inf(1))
	walk(g.Static, [3]float32{-inf, -inf, -inf}, [3]float32{inf, inf, inf})
	for _, m := range g.Movers {
		walk(m.Root, [3]float32{-inf, -inf, -inf}, [3]float32{inf, inf, inf})
	}
	for i, n := range seen {
		require.Equal(t, 1, n, "triangle %d", i)
	}
	assert.Len(t, g.Movers, 2)
	assert.Equal(t, g.Movers[0].First, g.StaticCount)
}

// stackNeed is how many references a search below r may have to put by.
func stackNeed(g *scene.Geometry, r scene.Ref) int {
	if _, _, leaf := r.Leaf(); leaf {
		return 0
	}
	n := &g.Nodes[r.Node()]
	children, below := 0, 0
	for k := range 4 {
		if n[0][k] <= n[1][k] {
			children++
			below = max(below, stackNeed(g, scene.Ref(math.Float32bits(n[6][k]))))
		}
	}
	return children - 1 + below
}

func TestDeepHierarchiesAreBalanced(t *testing.T) {
	s := scenetest.Soup(6, 6000, false)
	usual, err := scene.BuildWithStack(s, 63)
	require.NoError(t, err)
	need := stackNeed(usual, usual.Static)
	balanced, err := scene.BuildWithStack(s, need-1)
	require.NoError(t, err)
	assert.Less(t, stackNeed(balanced, balanced.Static), need)
	assert.Equal(t, usual.Triangles(), balanced.Triangles())
	h := searchTree(balanced, balanced.Static, [3]float32{0, 0, 50}, [3]float32{0.1, 0, -0.995}, 0, 300)
	want := searchTree(usual, usual.Static, [3]float32{0, 0, 50}, [3]float32{0.1, 0, -0.995}, 0, 300)
	assert.InDelta(t, want.t, h.t, 1e-4)

	_, err = scene.BuildWithStack(s, 3)
	assert.ErrorIs(t, err, scene.ErrTooLarge)
}

func TestBuildDoesNotDependOnWorkers(t *testing.T) {
	s := scenetest.Soup(5, 30000, true)
	one, err := scene.Build(context.Background(), s, scene.BuildOptions{Workers: 1})
	require.NoError(t, err)
	many, err := scene.Build(context.Background(), s, scene.BuildOptions{Workers: 8})
	require.NoError(t, err)
	assert.Equal(t, one.Nodes, many.Nodes)
	assert.Equal(t, one.Planes, many.Planes)
	assert.Equal(t, one.Attributes, many.Attributes)
}

func TestAnchorKeepsFarScenesExact(t *testing.T) {
	const east, north = 500_000.25, 5_400_000.5
	b := scenetest.NewBuilder("far")
	b.Put("wall", scenetest.Box(1, 20, 10), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(east+10.5, north, 5, scene.TagWall))
	g := build(t, b.Scene)
	o := g.FromMap(spatial.Pose{Position: mgl64.Vec3{east, north, 2}}).Position
	h := searchTree(g, g.Static, [3]float32{float32(o[0]), float32(o[1]), float32(o[2])}, [3]float32{1, 0, 0}, 0, 100)
	require.GreaterOrEqual(t, h.triangle, 0)
	assert.InDelta(t, 10, h.t, 1e-5)
}

// TestAnchorIsWhereSomethingStands: what moves, or is held back, may be elsewhere for now.
func TestAnchorIsWhereSomethingStands(t *testing.T) {
	far, ego := mgl64.Vec3{300_000, 4_000_000, 50}, mgl64.Vec3{-80_000, 0, 0}
	crate, grey := scenetest.Box(1, 1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5)
	for _, c := range []struct {
		name          string
		stands, moves bool
		want          mgl64.Vec3
	}{
		{"a mover elsewhere", true, true, far},
		{"movers alone", false, true, mgl64.Vec3{9_000, 0, 0}},
		{"the ego alone", false, false, ego},
	} {
		b := scenetest.NewBuilder(c.name)
		b.Scene.Ego.Position = ego
		if c.stands {
			b.Put("ground", scenetest.Plane(100, 1), grey, scenetest.At(far[0], far[1], far[2], scene.TagRoads))
		}
		if c.moves {
			p := scenetest.At(9_000, 0, 0, scene.TagCar)
			p.Motion = scenetest.Linear{Start: p.Pose}
			b.Put("car", crate, grey, p)
		}
		p := scenetest.At(0, 0, 0, scene.TagCar)
		p.Reserved = true
		b.Put("reserve", crate, grey, p)
		assert.Equal(t, c.want, build(t, b.Scene).Anchor, c.name)
	}
}

// quad is a square metre facing up with a mistake made by spoil.
func quad(spoil func(*scene.Mesh)) *scene.Scene {
	b := scenetest.NewBuilder("spoilt")
	b.Put("quad", scenetest.Plane(1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagOther))
	spoil(&b.Scene.Meshes[0])
	return b.Scene
}

func TestBuildRefusesBadScenes(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name  string
		scene *scene.Scene
		want  error
		says  string
	}{
		{"nothing", scene.New("nothing"), scene.ErrEmptyScene, `"nothing"`},
		{"no area", quad(func(m *scene.Mesh) { m.Indices = []uint32{0, 1, 1, 2, 2, 2} }), scene.ErrEmptyScene, "1 actors"},
		{"NaN", quad(func(m *scene.Mesh) { m.Positions[2][1] = nan }), scene.ErrVertex, "vertex 2"},
		{"far away", quad(func(m *scene.Mesh) { m.Positions[3][0] = 1e8 }), scene.ErrVertex, "more than 65536 m"},
		{"index", quad(func(m *scene.Mesh) { m.Indices[4] = 9 }), scene.ErrIndex, "vertex 9 of 4"},
		{"normals", quad(func(m *scene.Mesh) { m.Normals = nil }), scene.ErrIndex, "0 normals"},
		{"group", quad(func(m *scene.Mesh) { m.Groups[0].Count = 9 }), scene.ErrIndex, "0 to 9 of 6"},
		{"material", quad(func(m *scene.Mesh) { m.Groups[0].Material = 2 }), scene.ErrIndex, "material 2 of 1"},
		{"mesh", &scene.Scene{Name: "m", Actors: []*scene.Actor{{Name: "a", Parts: []scene.Part{{Mesh: 3}}, Pose: spatial.Identity()}}}, scene.ErrIndex, "mesh 3 of 0"},
	} {
		_, err := scene.Build(context.Background(), c.scene, scene.BuildOptions{})
		require.ErrorIs(t, err, c.want, c.name)
		assert.ErrorContains(t, err, c.says, c.name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := scene.Build(ctx, quad(func(*scene.Mesh) {}), scene.BuildOptions{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestMirroredPartsKeepTheirFrontOutside(t *testing.T) {
	b := scenetest.NewBuilder("mirror")
	a := b.Put("ball", scenetest.Sphere(1, 12), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagOther))
	a.Parts[0].Local = mgl64.Scale3D(-2, 1, 0.5)
	g := build(t, b.Scene)
	for i := range g.Triangles() {
		v := g.Vertices[3*i : 3*i+3]
		p, q, r := wide([3]float32(v[0][:3])), wide([3]float32(v[1][:3])), wide([3]float32(v[2][:3]))
		assert.Positive(t, q.Sub(p).Cross(r.Sub(p)).Dot(p.Add(q).Add(r)), "triangle %d faces inwards", i)
	}
}

func ExampleBuild() {
	s := scenetest.MovingWall(20, 5)
	g, err := scene.Build(context.Background(), s, scene.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d triangles, %d of them static, %d mover of %s\n", g.Triangles(), g.StaticCount, len(g.Movers), g.Movers[0].Actor.TypeID)
	// Output: 812 triangles, 800 of them static, 1 mover of vehicle.wall
}

func build(t testing.TB, s *scene.Scene) *scene.Geometry {
	t.Helper()
	g, err := scene.Build(context.Background(), s, scene.BuildOptions{})
	require.NoError(t, err)
	return g
}

// recorded returns a history of ticks every 10 ms up to 200 ms.
func recorded(s *scene.Scene, ego scene.Motion) *scene.History {
	h := scene.NewHistory(s, ego, 0)
	for t := int64(0); t <= 200e6; t += 10e6 {
		h.Record(simtime.Stamp(t))
	}
	return h
}

func wide(v [3]float32) mgl64.Vec3 { return mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])} }

// cpuHit is what searchTree finds.
type cpuHit struct {
	t        float32
	triangle int
}

// searchTree walks a world's tables in float32 as shaders/lib/trace.glsl does,
// without its order: what it needs of the tables is all that the shader needs.
func searchTree(g *scene.Geometry, root scene.Ref, o, d [3]float32, tmin, tmax float32) cpuHit {
	best := cpuHit{t: tmax, triangle: -1}
	if root == 0 {
		return best
	}
	stack := []scene.Ref{root}
	for len(stack) > 0 {
		ref := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if first, count, leaf := ref.Leaf(); leaf {
			for i := first; i < first+count; i++ {
				best.test(g, i, o, d, tmin)
			}
			continue
		}
		n := &g.Nodes[ref.Node()]
		for k := range 4 {
			near, far := tmin, best.t
			for a := range 3 {
				inv := 1 / d[a]
				if d[a] == 0 {
					inv = 1e20
				}
				t0, t1 := (n[2*a][k]-o[a])*inv, (n[2*a+1][k]-o[a])*inv
				near, far = max(near, min(t0, t1)), min(far, max(t0, t1))
			}
			if n[0][k] <= n[1][k] && near <= far*1.0000005 {
				stack = append(stack, scene.Ref(math.Float32bits(n[6][k])))
			}
		}
	}
	return best
}

func (h *cpuHit) test(g *scene.Geometry, i int, o, d [3]float32, tmin float32) {
	p, u, v := g.Planes[3*i], g.Planes[3*i+1], g.Planes[3*i+2]
	dot := func(r scene.Row, x [3]float32) float32 { return r[0]*x[0] + r[1]*x[1] + r[2]*x[2] }
	t := -(dot(p, o) + p[3]) / dot(p, d)
	at := [3]float32{o[0] + t*d[0], o[1] + t*d[1], o[2] + t*d[2]}
	a, b := dot(u, at)+u[3], dot(v, at)+v[3]
	if t >= tmin && t < h.t && a >= 0 && b >= 0 && a+b <= 1 {
		h.t, h.triangle = t, i
	}
}

// TestBuildTakesMemory: before the world's tables are made, by what is placed, not by what the
// scene's meshes are. What only the work needs is given back.
func TestBuildTakesMemory(t *testing.T) {
	s, err := city.Generate(city.Options{Seed: 1, Triangles: 40_000})
	require.NoError(t, err)
	budget := memory.New(1 << 20)
	_, err = scene.Build(t.Context(), s, scene.BuildOptions{Memory: budget})
	require.ErrorIs(t, err, memory.ErrExceeded)
	assert.ErrorContains(t, err, "a world of ")
	assert.Zero(t, budget.Held())

	budget = memory.New(1 << 30)
	g, err := scene.Build(t.Context(), s, scene.BuildOptions{Memory: budget})
	require.NoError(t, err)
	assert.InEpsilon(t, 210*g.StaticCount, budget.Held(), 0.1)
}

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
		g, err := scene.Build(context.Background(), s, opts)
		require.NoError(b, err)
		require.True(b, g.FromCache)
	}
}
