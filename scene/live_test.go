//go:build cgo

package scene_test

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// listedRay and listedHit are shaders.SceneTrace's records.
type listedRay struct {
	origin    [3]float32
	tmin      float32
	direction [3]float32
	tmax      float32
	seconds   float32
	_         [3]float32
}

type listedHit struct {
	t, u, v  float32
	triangle int32
	normal   [3]float32
	mover    int32
}

// caster runs shaders.SceneTrace over one world.
type caster struct {
	t        testing.TB
	thread   *gpu.Thread
	geometry *scene.Geometry
	packer   *scene.Packer
	resident *scene.Resident
	motion   *scene.MotionTable
	program  *gpu.Program
}

func newCaster(t testing.TB, g *scene.Geometry, h *scene.History, defines ...shaders.Define) *caster {
	c := &caster{t: t, thread: gputest.Thread(t), geometry: g, packer: scene.NewPacker(g, h)}
	source, err := shaders.Source(&shaders.SceneTrace, defines...)
	require.NoError(t, err)
	gputest.Do(t, c.thread, func(ctx *gpu.Ctx) (err error) {
		if c.resident, err = g.Upload(ctx); err != nil {
			return err
		}
		if c.motion, err = c.packer.NewMotionTable(ctx, c.resident); err != nil {
			return err
		}
		c.program, err = ctx.NewProgram(gpu.ProgramDesc(source))
		return err
	})
	t.Cleanup(func() { c.resident.Close(); c.motion.Close(); c.program.Close() })
	return c
}

// cast traces rays over a window and returns their hits, waiting for each; n
// times, for benchmarks.
func (c *caster) cast(rays []listedRay, window scene.Window, n int) []listedHit {
	hits := make([]listedHit, len(rays))
	gputest.Do(c.t, c.thread, func(ctx *gpu.Ctx) error {
		in, err := ctx.NewBuffer(gpu.BufferDesc{Label: "rays", Size: len(gpu.BytesOf(rays)), Data: gpu.BytesOf(rays)})
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := ctx.NewBuffer(gpu.BufferDesc{Label: "hits", Size: len(gpu.BytesOf(hits))})
		if err != nil {
			return err
		}
		defer out.Close()
		if err := c.motion.Write(ctx, window); err != nil {
			return err
		}
		bind := append(c.resident.Bindings(nil), c.motion.Binding(),
			gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: in},
			gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: out})
		groups := shaders.SceneTrace.Groups(8, (len(rays)/shaders.TracedRays+8)/8, 1)
		for range n {
			if err := ctx.Dispatch(&gpu.Dispatch{Program: c.program, Bind: bind, Groups: groups}); err != nil {
				return err
			}
		}
		if err := ctx.Barrier(gpu.BarrierBufferUpdate); err != nil {
			return err
		}
		return ctx.ReadBuffer(out, 0, gpu.BytesOf(hits))
	})
	return hits
}

func randomRays(seed uint64, n int, reach float64) []listedRay {
	rng := rand.New(rand.NewPCG(seed, 77))
	rays := make([]listedRay, n)
	for i := range rays {
		o := mgl64.Vec3{rng.Float64()*2 - 1, rng.Float64()*2 - 1, rng.Float64() * 0.2}.Mul(reach)
		d := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), 0.4 * rng.NormFloat64()}.Normalize()
		rays[i] = listedRay{tmin: 0.01, tmax: 300, seconds: float32(rng.Float64() * 0.1)}
		for a := range 3 {
			rays[i].origin[a], rays[i].direction[a] = float32(o[a]), float32(d[a])
		}
	}
	return rays
}

// compare holds hits beside the reference tracer.
func compare(tr *scenetest.Tracer, g *scene.Geometry, rays []listedRay, hits []listedHit, startNs int64) *scenetest.Agreement {
	var a scenetest.Agreement
	for i, r := range rays {
		got := math.Inf(1)
		if hits[i].triangle >= 0 {
			got = float64(hits[i].t)
		}
		at := startNs + int64(math.Round(float64(r.seconds)*1e9))
		a.Add(tr, wide(r.origin).Add(g.Anchor), wide(r.direction), float64(r.tmin), float64(r.tmax), simtime.Stamp(at), got)
	}
	return &a
}

func TestTraceAgreesWithTheReferenceOnSoups(t *testing.T) {
	for _, moving := range []bool{false, true} {
		s := scenetest.Soup(7, 6000, moving)
		g := build(t, s)
		h := recorded(s, nil)
		rays := randomRays(3, 8000, 40)
		hits := newCaster(t, g, h).cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}, 1)
		a := compare(scenetest.NewTracer(s, h.Pose), g, rays, hits, 100e6)
		t.Log("moving", moving, a)
		assert.Zero(t, a.Wrong)
		assert.GreaterOrEqual(t, a.Share(), 0.9999)
	}
}

// The default town, rolling, with everything in it that moves: what a lidar on
// the ego sees.
func TestTraceAgreesWithTheReferenceInTheCity(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s, err := city.Generate(city.Options{})
	require.NoError(t, err)
	g := build(t, s)
	h := recorded(s, s.Route)
	mount := spatial.FromRPY(mgl64.Vec3{1, 0, 1.9}, 0, 0, 0)
	window := scene.Window{Mount: mount, StartNs: 100e6, EndNs: 200e6}
	rays := lidarRays(s, g, mount, 16, 1800, -15, 15)
	hits := newCaster(t, g, h).cast(rays, window, 1)
	a := compare(scenetest.NewTracer(s, h.Pose), g, rays, hits, 100e6)
	t.Log(a)
	assert.Zero(t, a.Wrong, a.String())
	assert.GreaterOrEqual(t, a.Share(), 0.9999, a.String())
	moving := 0
	for _, hit := range hits {
		if hit.mover >= 0 {
			moving++
		}
	}
	assert.Positive(t, moving)
}

// What moves in itself is, at any instant, where the reference has it. In a rolling scan it is as
// in the middle of each part of the window.
func TestShapesAgreeWithTheReference(t *testing.T) {
	s := limbs()
	g := build(t, s)
	h := recorded(s, nil)
	c := newCaster(t, g, h)
	tr := scenetest.NewTracer(s, h.Pose)
	rng := rand.New(rand.NewPCG(8, 8))
	rays := make([]listedRay, 1500)
	for i := range rays {
		to := mgl64.Vec3{5 + rng.NormFloat64(), 2 - float64(i%2*5) + rng.NormFloat64(), rng.NormFloat64()}
		from := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		d := to.Sub(from).Normalize()
		rays[i] = listedRay{tmin: 0.01, tmax: 50}
		for a := range 3 {
			rays[i].origin[a], rays[i].direction[a] = float32(from[a]), float32(d[a])
		}
	}
	for _, at := range []simtime.Stamp{0, 130e6, 130e6, 0} {
		hits := c.cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: at, EndNs: at}, 1)
		a := compare(tr, g, rays, hits, int64(at))
		assert.Zero(t, a.Wrong, "at %d: %v", at, a)
		shaped := 0
		for _, hit := range hits {
			if hit.mover >= 0 {
				shaped++
				assert.Zero(t, g.Movers[hit.mover].Copy)
			}
		}
		assert.Greater(t, shaped, 200)
	}
	// 100 ms are eight parts of 12.5 ms. The one that drives is where it is at each ray's own time:
	// only rays to the one that stands are compared.
	for i := range rays {
		rays[i].seconds = float32(rng.Float64() * 0.1)
	}
	hits := c.cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 50e6, EndNs: 150e6}, 1)
	parts := map[int]int{}
	var agreement scenetest.Agreement
	for i, r := range rays {
		if hits[i].mover < 0 || g.Movers[hits[i].mover].Actor.Name != "standing" {
			continue
		}
		part := int(float64(r.seconds) / 0.0125)
		assert.Equal(t, 1+part, g.Movers[hits[i].mover].Copy)
		parts[part]++
		agreement.Add(tr, wide(r.origin), wide(r.direction), 0.01, 50, simtime.Stamp(50e6+12_500_000*part+6_250_000), float64(hits[i].t))
	}
	assert.Len(t, parts, 8)
	assert.Zero(t, agreement.Wrong, agreement.String())
	assert.Greater(t, agreement.Equal, 100)
}

// A shape of ten thousand vertices is brought into the tables. It is that of an instant, or
// of a window of 100 ms, which has eight.
func BenchmarkShapes(b *testing.B) {
	asset := limb()
	fine := scenetest.Sphere(1, 71)
	coarse := asset.Meshes[0]
	fine.Groups = []scene.Group{{Count: len(fine.Indices)}}
	for range fine.Positions {
		fine.Joints, fine.Weights = append(fine.Joints, 0, 1, 1, 0), append(fine.Weights, 0.25, 0.5, 0.25, 0)
	}
	for range coarse.Targets {
		fine.Targets = append(fine.Targets, scene.MorphTarget{Positions: fine.Positions})
	}
	asset.Meshes[0] = fine
	s := scenetest.NewBuilder("limb").Scene
	if _, err := s.Add(asset, scene.Placement{Whole: true}); err != nil {
		b.Fatal(err)
	}
	g := build(b, s)
	c := newCaster(b, g, recorded(s, nil))
	for name, length := range map[string]simtime.Stamp{"instant": 0, "window": 100e6} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			gputest.Do(b, c.thread, func(ctx *gpu.Ctx) error {
				for i := range b.N {
					at := simtime.Stamp(i%100) * 1e6
					if err := c.motion.Write(ctx, scene.Window{Mount: spatial.Identity(), StartNs: at, EndNs: at + length}); err != nil {
						return err
					}
				}
				return nil
			})
			b.ReportMetric(float64(len(fine.Positions)), "vertices")
			b.ReportMetric(float64(len(fine.Indices)/3), "triangles")
		})
	}
}

// A mover that its animation brings to no place at all hides none of the others.
func TestAMoverAtNoPlaceHidesNobody(t *testing.T) {
	b := scenetest.NewBuilder("row")
	for k := range 12 {
		p := scenetest.At(10, float64(4*k-22), 0, scene.TagCar)
		p.Motion = scenetest.Linear{Start: p.Pose}
		a := b.Put("box", scenetest.Box(1, 1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), p)
		if k == 5 {
			a.Parts[0].Joints = func(stamp simtime.Stamp) mgl64.Mat4 {
				return mgl64.Translate3D(float64(stamp)*1e300, 0, 0).Mul(float64(stamp) * 1e300)
			}
		}
	}
	s := b.Scene
	g, h := build(t, s), recorded(s, nil)
	rays := make([]listedRay, 12)
	for k := range rays {
		rays[k] = listedRay{origin: [3]float32{0, float32(4*k - 22), 0}, direction: [3]float32{1, 0, 0}, tmax: 50}
	}
	for k, hit := range newCaster(t, g, h).cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 100e6}, 1) {
		assert.Equal(t, k != 5, hit.mover >= 0, "box %d", k)
	}
}

// fence stands at x = 5 in front of a wall at x = 10. Its texture is opaque on the left half (y >
// 0) and absent on the right.
func fence() *scene.Scene {
	b := scenetest.NewBuilder("fence")
	b.Put("wall", scenetest.Box(1, 20, 20), scenetest.Matte("wall", 0.5, 0.5, 0.5), scenetest.At(10.5, 0, 0, scene.TagWall))
	m := scenetest.Matte("fence", 1, 1, 1)
	m.BaseColorTexture, m.AlphaMode, m.AlphaCutoff = 0, scene.AlphaMask, 0.5
	img := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			img.SetNRGBA(x, y, color.NRGBA{200, 100, 50, uint8(255 * (x / 32))})
		}
	}
	quad := scenetest.Plane(8, 1)
	quad.Groups = []scene.Group{{Count: len(quad.Indices)}}
	asset := &scene.Asset{
		Name: "fence", Textures: []scene.Texture{{Name: "bars", Image: img, Sampler: scene.Sampler{WrapS: scene.WrapClamp, WrapT: scene.WrapClamp}}},
		Materials: []scene.Material{m}, Meshes: []scene.Mesh{quad},
		Nodes: []scene.Node{{Name: "fence", Parent: -1, Local: scene.IdentityTRS()}},
	}
	// The plane's z becomes -x, its x (and so u) becomes y.
	pose := spatial.Pose{Position: mgl64.Vec3{5, 0, 0}, Orientation: mgl64.Mat4ToQuat(mgl64.Mat3FromCols(mgl64.Vec3{0, 1, 0}, mgl64.Vec3{0, 0, -1}, mgl64.Vec3{-1, 0, 0}).Mat4())}
	for _, x := range []float64{5, 6, 7} { // three, one behind the other
		pose.Position[0] = x
		if _, err := b.Scene.Add(asset, scene.Placement{Pose: pose, Tag: scene.TagFence}); err != nil {
			panic(err)
		}
	}
	return b.Scene
}

func fanRays(n int) []listedRay {
	rays := make([]listedRay, n)
	for i := range rays {
		az := (float64(i)/float64(n) - 0.5) * 0.8
		rays[i] = listedRay{tmin: 0.1, tmax: 50}
		rays[i].direction = [3]float32{float32(math.Cos(az)), float32(math.Sin(az)), 0.01}
	}
	return rays
}

func TestRaysPassWhereAlphaCutsOut(t *testing.T) {
	s := fence()
	g, h := build(t, s), recorded(s, nil)
	rays := fanRays(400)
	hits := newCaster(t, g, h).cast(rays, scene.Window{Mount: spatial.Identity()}, 1)
	walls := 0
	for i, hit := range hits {
		d := rays[i].direction
		switch at := 5 * d[1] / d[0]; {
		case at > 0.1 && at < 3.9:
			require.InDelta(t, 5/d[0], hit.t, 1e-5, "ray %d", i)
		case at < -0.1:
			require.InDelta(t, 10/d[0], hit.t, 1e-5, "ray %d", i)
			walls++
		}
	}
	assert.Positive(t, walls)
	a := compare(scenetest.NewTracer(s, h.Pose), g, rays, hits, 0)
	assert.Zero(t, a.Wrong, a.String())

	shadows := newCaster(t, g, h, shaders.Flag("OCCLUSION", true))
	for i := range rays {
		rays[i].tmax = 8 // short of the wall
	}
	for i, hit := range shadows.cast(rays, scene.Window{Mount: spatial.Identity()}, 1) {
		d := rays[i].direction
		if at := 5 * d[1] / d[0]; at > 0.1 && at < 3.9 {
			require.GreaterOrEqual(t, hit.triangle, int32(0), "ray %d", i)
		} else if at < -0.1 {
			require.Negative(t, hit.triangle, "ray %d", i)
		}
	}
}

// A blended pane stands 5 m away, and one that moves 7 m away, before a wall at 10 m. Of the
// rays the share of its alpha stops at the first, a share of the rest at the second.
func TestRaysPassBlendedSurfacesByTheirShare(t *testing.T) {
	const first, second, n = 0.3, 0.6, 20_000
	b := scenetest.NewBuilder("panes")
	b.Put("wall", scenetest.Box(1, 40, 40), scenetest.Matte("wall", 0.5, 0.5, 0.5), scenetest.At(10.5, 0, 0, scene.TagWall))
	for _, p := range []struct {
		x     float64
		alpha float32
	}{{5.05, first}, {7.05, second}} {
		pane := scenetest.Matte("pane", 1, 1, 1)
		pane.AlphaMode, pane.BaseColor[3] = scene.AlphaBlend, p.alpha
		place := scenetest.At(p.x, 0, 0, scene.TagFence)
		if p.alpha == second {
			place.Motion = scenetest.Linear{Start: place.Pose}
			pane.BaseColor[3] = 1
		}
		box := scenetest.Box(0.1, 20, 20)
		if p.alpha == second { // by its vertices
			box.Colors = slices.Repeat([]mgl32.Vec4{{0.5, 1, 0, p.alpha}}, len(box.Positions))
		}
		b.Put("pane", front(box), pane, place)
	}
	s := b.Scene
	g, h := build(t, s), recorded(s, nil)
	c := newCaster(t, g, h)
	rays := fanRays(n)
	hits := c.cast(rays, scene.Window{Mount: spatial.Identity()}, 1)
	counts := map[int]int{}
	for i, hit := range hits {
		x := float64(hit.t) * float64(rays[i].direction[0])
		counts[int(math.Round(x))]++
	}
	for x, share := range map[int]float64{5: first, 7: (1 - first) * second, 10: (1 - first) * (1 - second)} {
		assert.InDelta(t, share, float64(counts[x])/n, 4*math.Sqrt(share*(1-share)/n), "at %d m", x)
	}
	assert.Equal(t, hits, c.cast(rays, scene.Window{Mount: spatial.Identity()}, 1), "the lot is the rays'")
}

// front returns a box's side that faces -x alone.
func front(box scene.Mesh) scene.Mesh {
	box.Indices, box.Groups = box.Indices[:6], nil
	return box
}

// Normals are unit vectors on the ray's side, for movers too; barycentrics and
// triangle lead to the point.
func TestHitsDescribeTheirPoint(t *testing.T) {
	s := scenetest.Soup(11, 3000, true)
	g, h := build(t, s), recorded(s, nil)
	rays := randomRays(5, 4000, 30)
	hits := newCaster(t, g, h).cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}, 1)
	tr := scenetest.NewTracer(s, h.Pose)
	moving := 0
	for i, hit := range hits {
		if hit.triangle < 0 {
			continue
		}
		r := rays[i]
		o, d := wide(r.origin), wide(r.direction)
		at := 100e6 + int64(math.Round(float64(r.seconds)*1e9))
		want, ok := tr.Trace(o, d, float64(r.tmin), float64(r.tmax), simtime.Stamp(at))
		if !ok || math.Abs(want.T-float64(hit.t)) > 1e-3 || want.EdgeDistance < 1e-3 {
			continue
		}
		assertVec(t, want.Normal, wide(hit.normal), 1e-3, "ray %d", i)
		v := g.Vertices[3*hit.triangle : 3*hit.triangle+3]
		p := wide([3]float32(v[0][:3])).Mul(float64(1 - hit.u - hit.v)).Add(wide([3]float32(v[1][:3])).Mul(float64(hit.u))).Add(wide([3]float32(v[2][:3])).Mul(float64(hit.v)))
		if hit.mover < 0 {
			assertVec(t, want.Point, p, 2e-3, "ray %d", i)
			assert.Equal(t, g.Attributes[3*hit.triangle+1][3], want.Actor.ID|uint32(want.Tag())<<16)
		} else {
			assert.Same(t, want.Actor, g.Movers[hit.mover].Actor)
			moving++
		}
	}
	assert.Greater(t, moving, 100)
}

// A bundle's rays don't notice each other: any order gives the same bits.
func TestHitsDoNotDependOnTheCompany(t *testing.T) {
	s := scenetest.Soup(12, 3000, true)
	c := newCaster(t, build(t, s), recorded(s, nil))
	window := scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}
	rays := randomRays(6, 2001, 30) // the last bundle isn't full
	want := c.cast(rays, window, 1)
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(rays))
	shuffled := make([]listedRay, len(rays))
	for i, k := range order {
		shuffled[i] = rays[k]
	}
	got := c.cast(shuffled, window, 1)
	for i, k := range order {
		require.Equal(t, want[k], got[i], "ray %d", k)
	}
}

// Rays meet the actors that are there at their own time. One comes within the window, one goes
// in it, and one comes and goes. The float64 tracer is the reference.
func TestRaysMeetWhoIsThereAtTheirTime(t *testing.T) {
	s, _, driving, _ := garage(t)
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	wall := func(x, y float64) scene.Motion { return along(mgl64.Vec3{x, y, 1}, 3) }
	spawn := func(m scene.Motion) *scene.Actor {
		a, err := h.Spawn("vehicle.*", m)
		require.NoError(t, err)
		return a
	}
	var first, second *scene.Actor
	for at := int64(0); at <= 200e6; at += 10e6 {
		switch at {
		case 130e6:
			first = spawn(wall(6, 2))
		case 140e6:
			require.NoError(t, h.Remove(driving.ID))
			second = spawn(wall(8, -4))
		case 170e6:
			require.NoError(t, h.Remove(second.ID))
		}
		h.Record(simtime.Stamp(at))
	}
	rays := randomRays(8, 6000, 12)
	hits := newCaster(t, g, h).cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}, 1)
	a := compare(scenetest.TracerOf(s, h), g, rays, hits, 100e6)
	assert.Zero(t, a.Wrong, a.String())
	assert.GreaterOrEqual(t, a.Share(), 0.9999)
	seen := map[uint32][2]float32{} // first and last time
	for i, hit := range hits {
		if hit.mover < 0 {
			continue
		}
		id, at := []uint32{driving.ID, first.ID, second.ID}[hit.mover], rays[i].seconds
		span, ok := seen[id]
		if !ok {
			span = [2]float32{at, at}
		}
		seen[id] = [2]float32{min(span[0], at), max(span[1], at)}
	}
	for id, want := range map[uint32][2]float64{driving.ID: {0, 0.04}, first.ID: {0.03, 0.1}, second.ID: {0.04, 0.07}} {
		got := seen[id]
		assert.True(t, float64(got[0]) >= want[0]-1e-6 && float64(got[1]) <= want[1]+1e-6, "actor %d is seen from %v", id, got)
		assert.Greater(t, float64(got[1]-got[0]), 0.8*(want[1]-want[0]), "actor %d", id)
	}
}

// village is 100,000 triangles: hilly ground and boxes cut into small faces.
func village() *scene.Scene {
	b := scenetest.NewBuilder("village")
	ground := scenetest.Plane(256, 64)
	for i, p := range ground.Positions {
		ground.Positions[i][2] = 0.5 * float32(math.Sin(float64(p[0])*0.15)*math.Cos(float64(p[1])*0.11))
	}
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	b.Put("ground", ground, grey, scenetest.At(0, 0, 0, scene.TagTerrain))
	rng := rand.New(rand.NewPCG(5, 6))
	n := 0
	for n < 92000 {
		side := 4 + rng.IntN(8)
		box := scene.Mesh{}
		h := 2 + rng.Float32()*10
		for face := range 6 {
			plane := scenetest.Plane(1, side)
			at := uint32(len(box.Positions))
			for k, p := range plane.Positions {
				q := mgl32.Vec3{p[0], p[1], 0.5}
				nn := mgl32.Vec3{0, 0, 1}
				for range face % 3 {
					q, nn = mgl32.Vec3{q[2], q[0], q[1]}, mgl32.Vec3{nn[2], nn[0], nn[1]}
				}
				if face >= 3 {
					q, nn = q.Mul(-1), nn.Mul(-1)
				}
				box.Positions = append(box.Positions, mgl32.Vec3{q[0] * 4, q[1] * 5, q[2] * h})
				box.Normals = append(box.Normals, nn)
				box.UVs = append(box.UVs, plane.UVs[k])
			}
			for _, i := range plane.Indices {
				box.Indices = append(box.Indices, at+i)
			}
		}
		r, phi := 8+112*rng.Float64(), rng.Float64()*2*math.Pi
		p := scenetest.At(r*math.Cos(phi), r*math.Sin(phi), float64(h)/2-0.5, scene.TagBuilding)
		p.Pose.Orientation = spatial.FromRPY(p.Pose.Position, 0, 0, rng.Float64()*360).Orientation
		b.Put("box", box, grey, p)
		n += len(box.Indices) / 3
	}
	return b.Scene
}

// lidarRays are a device's rays from a mount on the ego, neighbouring columns
// of one laser side by side.
func lidarRays(s *scene.Scene, g *scene.Geometry, mount spatial.Pose, rings, columns int, low, high float64) []listedRay {
	rays := make([]listedRay, rings*columns)
	pose := g.FromMap(s.Ego.Compose(mount))
	for i := range rays {
		el := (low + (high-low)*float64(i/columns)/float64(rings-1)) * math.Pi / 180
		az := 2 * math.Pi * float64(i%columns) / float64(columns)
		d := pose.Rotate(mgl64.Vec3{math.Cos(el) * math.Cos(az), math.Cos(el) * math.Sin(az), math.Sin(el)})
		rays[i] = listedRay{tmin: 0.1, tmax: 100, seconds: float32(0.1 * float64(i%columns) / float64(columns))}
		for a := range 3 {
			rays[i].origin[a], rays[i].direction[a] = float32(pose.Position[a]), float32(d[a])
		}
	}
	return rays
}

func BenchmarkTrace(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	instant, scan := scene.Window{}, scene.Window{EndNs: 100e6}
	for _, bench := range []struct {
		name           string
		scene          *scene.Scene
		rings, columns int
		low, high      float64
		window         scene.Window
	}{
		{"village/VLP16", village(), 16, 1800, -15, 15, instant},
		{"city/VLP16", town, 16, 1800, -15, 15, instant},
		{"city/VLP16_rolling", town, 16, 1800, -15, 15, scan},
		{"city/uniform_1800x64", town, 64, 1800, -20, 20, instant},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g := build(b, bench.scene)
			c := newCaster(b, g, recorded(bench.scene, nil))
			bench.window.Mount = spatial.FromRPY(mgl64.Vec3{1, 0, 1.9}, 0, 0, 0)
			rays := lidarRays(bench.scene, g, bench.window.Mount, bench.rings, bench.columns, bench.low, bench.high)
			c.cast(rays, bench.window, 1)
			b.ResetTimer()
			cpu := cpuTime()
			hits := c.cast(rays, bench.window, b.N)
			n := 0
			for _, h := range hits {
				if h.triangle >= 0 {
					n++
				}
			}
			traced := float64(len(rays) * b.N)
			b.ReportMetric(traced/b.Elapsed().Seconds()/1e6, "Mrays/s")
			b.ReportMetric(float64(cpuTime()-cpu)/traced, "cpu-ns/ray")
			b.ReportMetric(float64(n)/float64(len(rays)), "hits")
		})
	}
}

// cpuTime is what the process has used of all cores, which other programs on
// the machine disturb less than the wall clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
