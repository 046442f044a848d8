package scene_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// limb is a ball of 1 m. Its upper half turns about y on a joint, its lower half goes up and down
// on another. Two morph targets make it wider and longer. All that takes 0.8 s.
func limb() *scene.Asset {
	mesh := scenetest.Sphere(1, 12)
	wider, longer := scene.MorphTarget{}, scene.MorphTarget{}
	for _, p := range mesh.Positions {
		up := (p[2] + 1) / 2
		mesh.Joints = append(mesh.Joints, 0, 1, 1, 0)
		mesh.Weights = append(mesh.Weights, 1-up, up*0.75, up*0.25, 0)
		wider.Positions = append(wider.Positions, mgl32.Vec3{p[0], 0, 0})
		wider.Normals = append(wider.Normals, mgl32.Vec3{-0.3 * p[0], 0, 0})
		longer.Positions = append(longer.Positions, mgl32.Vec3{0, 0.5 * p[1], 0})
	}
	mesh.Targets = []scene.MorphTarget{wider, longer}
	mesh.Groups = []scene.Group{{Count: len(mesh.Indices)}}
	identity := scene.IdentityTRS()
	elbow := identity
	elbow.Translation = mgl64.Vec3{0, 0, 0.5}
	keys := []int64{0, 2e8, 4e8, 8e8}
	half := math.Sqrt2 / 2
	return &scene.Asset{
		Name: "limb", Materials: []scene.Material{scenetest.Matte("skin", 0.6, 0.4, 0.3)}, Meshes: []scene.Mesh{mesh},
		Nodes: []scene.Node{
			{Name: "limb", Parent: -1, Mesh: 0, Local: identity, Weights: []float64{0.25, 0},
				Skin: &scene.Skin{Joints: []int{1, 2}, Bind: []mgl64.Mat4{mgl64.Ident4(), mgl64.Translate3D(0, 0, -0.5)}}},
			{Name: "shoulder", Parent: -1, Mesh: -1, Local: identity},
			{Name: "elbow", Parent: 1, Mesh: -1, Local: elbow},
		},
		Animations: []scene.Animation{{DurationNs: 8e8, Channels: []scene.Channel{
			{Node: 1, Path: scene.PathTranslation, TimesNs: keys, Values: []float64{0, 0, 0, 0, 0, 0.4, 0.3, 0, 0, 0, 0, 0}},
			{Node: 2, Path: scene.PathRotation, TimesNs: keys, Values: []float64{0, 0, 0, 1, 0, half, 0, half, 0, -half, 0, half, 0, 0, 0, 1}},
			{Node: 0, Path: scene.PathWeight, Target: 1, TimesNs: keys, Values: []float64{0, 1, -0.5, 0}},
		}}},
	}
}

// limbs is a scene with limbs: one that stands, one that drives and turns, and a model.
func limbs() *scene.Scene {
	b := scenetest.NewBuilder("limbs")
	b.Put("floor", scenetest.Plane(60, 3), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	asset := limb()
	for _, p := range []scene.Placement{
		{Name: "standing", Pose: spatial.FromRPY(mgl64.Vec3{6, 2, 0}, 10, 20, 30)},
		{Name: "driving", Motion: scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{5, -3, 0.2}, 0, 0, 50), Velocity: mgl64.Vec3{-3, 1, 0}, YawRate: 1}},
		{Name: "absent", Pose: spatial.FromRPY(mgl64.Vec3{-6, 0, 0}, 0, 0, 0), Reserved: true},
	} {
		p.Tag, p.Whole = scene.TagPedestrian, true
		if _, err := b.Scene.Add(asset, p); err != nil {
			panic(err)
		}
	}
	return b.Scene
}

// All limbs look alike at a time and share their triangles, of which there are copies.
func TestShapesShareTheirTriangles(t *testing.T) {
	s := limbs()
	geometry := build(t, s)
	triangles := 0
	for _, g := range s.Meshes[1].Groups {
		triangles += g.Count / 3
	}
	copies := len(geometry.Movers) / 3
	require.Len(t, geometry.Movers, 3*copies)
	assert.Equal(t, geometry.StaticCount+copies*triangles, geometry.Triangles())
	assert.Equal(t, geometry.Movers[:copies][2].First, geometry.Movers[copies:][2].First)
	assert.False(t, s.Actors[1].Static(), "what moves in itself isn't static")

	dir := t.TempDir()
	require.False(t, buildCached(t, s, dir).FromCache)
	cached := buildCached(t, s, dir)
	require.True(t, cached.FromCache)
	assert.Equal(t, geometry.Nodes, cached.Nodes)
	assert.Equal(t, geometry.Movers, cached.Movers)
	s.Meshes[1].Targets[0].Positions[9][0] = 2
	assert.False(t, buildCached(t, s, dir).FromCache, "another shape")
}

// The boxes hold each vertex where the textbook puts it.
func TestBoundsHoldTheShape(t *testing.T) {
	s := limbs()
	g := build(t, s)
	rng := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		at := simtime.Stamp(rng.Int64N(2e9))
		low, high := g.Movers[0].Bounds(at)
		mesh := scenetest.Shaped(&s.Meshes[1], s.Actors[1].Parts[0].Shape, at)
		for _, p := range mesh.Positions {
			for a := range 3 {
				require.GreaterOrEqual(t, float64(p[a]), low[a]-1e-6)
				require.LessOrEqual(t, float64(p[a]), high[a]+1e-6)
			}
		}
		assert.Less(t, high.Sub(low).Len(), 7.0, "and not by far too large")
	}
	box := s.BoxOf(s.Actors[2])
	assert.InDelta(t, 1.3, box.Half[2], 0.35, "the ball goes up and down by 0.4 m")
}

// The box of an actor that bends holds it at all times, also where its animation is long and leaves
// the best for its end.
func TestBoxOfWhatBends(t *testing.T) {
	for name, c := range map[string]struct {
		factor, pause int64
		within        float64
	}{"short": {1, 0, 0.01}, "slow": {12, 0, 0.01}, "late": {2, 20e9, 0.01}, "very late": {2, 200e9, 0.02}} {
		t.Run(name, func(t *testing.T) {
			asset := limb()
			a := &asset.Animations[0]
			for i := range a.Channels {
				times := make([]int64, len(a.Channels[i].TimesNs))
				for k, at := range a.Channels[i].TimesNs {
					if times[k] = at * c.factor; k > 0 {
						times[k] += c.pause
					}
				}
				a.Channels[i].TimesNs = times
			}
			a.DurationNs = a.DurationNs*c.factor + c.pause
			// The second part is a ball of 1 m that hangs on the elbow.
			asset.Meshes = append(asset.Meshes, scenetest.Sphere(1, 12))
			asset.Meshes[1].Groups = []scene.Group{{Count: len(asset.Meshes[1].Indices)}}
			hand := scene.IdentityTRS()
			hand.Translation = mgl64.Vec3{0, 0, 3}
			asset.Nodes = append(asset.Nodes, scene.Node{Name: "hand", Parent: 2, Mesh: 1, Local: hand})
			s := scenetest.NewBuilder("limb").Scene
			made, err := s.Add(asset, scene.Placement{Whole: true, Tag: scene.TagPedestrian})
			require.NoError(t, err)
			box := s.BoxOf(made[0])
			most := 0.0
			for k := range int64(400) {
				at := simtime.Stamp(c.pause + k*a.DurationNs/400)
				if k%2 == 0 {
					at = simtime.Stamp(k * a.DurationNs / 400)
				}
				for i := range made[0].Parts {
					p := &made[0].Parts[i]
					mesh := s.Meshes[p.Mesh]
					if p.Shape != nil {
						mesh = *scenetest.Shaped(&s.Meshes[p.Mesh], p.Shape, at)
					}
					for _, v := range mesh.Positions {
						away := mgl64.TransformCoordinate(wide(v), p.At(at)).Sub(box.Center)
						for axis := range 3 {
							most = max(most, math.Abs(away[axis])-box.Half[axis])
						}
					}
				}
			}
			assert.Less(t, most, c.within, "metres beyond the box")
			assert.Greater(t, most, -0.5, "the box is not far too large")
		})
	}
}

// A world's copies of a shape are taken from the budget before they are made.
func TestShapesTakeMemory(t *testing.T) {
	for _, model := range []bool{false, true} {
		s := scenetest.NewBuilder("limb").Scene
		_, err := s.Add(limb(), scene.Placement{Whole: true, Reserved: model})
		require.NoError(t, err)
		_, err = scene.Build(t.Context(), s, scene.BuildOptions{Memory: memory.New(1 << 20)})
		assert.ErrorIs(t, err, memory.ErrExceeded, "model %v", model)
		_, err = scene.Build(t.Context(), s, scene.BuildOptions{Memory: memory.New(1 << 23)})
		assert.NoError(t, err, "model %v", model)
	}
}

func TestBadShapes(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(a *scene.Asset)
		want  string
	}{
		"weights":       {func(a *scene.Asset) { a.Meshes[0].Weights = a.Meshes[0].Weights[1:] }, "joints and"},
		"joint":         {func(a *scene.Asset) { a.Meshes[0].Joints[5] = 2 }, `node 0 "limb": index is out of range: mesh "sphere" names joint 2 of 2`},
		"node":          {func(a *scene.Asset) { a.Nodes[0].Skin.Joints[1] = 3 }, "a skin names node 3 of 3"},
		"bind":          {func(a *scene.Asset) { a.Nodes[0].Skin.Bind = nil }, "a skin has 2 joints and 0 bind matrices"},
		"target":        {func(a *scene.Asset) { a.Meshes[0].Targets[1].Positions = nil }, "target 1 has 0 positions"},
		"weights' keys": {func(a *scene.Asset) { a.Animations[0].Channels[2].Values = nil }, "channel 2 has 0 values, its 4 keys need 4"},
	} {
		a := limb()
		c.spoil(a)
		_, err := scene.New("bad").Add(a, scene.Placement{})
		assert.ErrorIs(t, err, scene.ErrIndex, name)
		assert.ErrorContains(t, err, c.want, name)
	}
}
