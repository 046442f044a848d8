package scene_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// node makes a node at (x, 0, 0) below parent, with mesh 0 if it shows.
func node(name string, parent int, x float64, shows bool) scene.Node {
	n := scene.Node{Name: name, Parent: parent, Local: scene.IdentityTRS(), Mesh: -1}
	n.Local.Translation[0] = x
	if shows {
		n.Mesh = 0
	}
	return n
}

func street(nodes ...scene.Node) *scene.Asset {
	quad := scenetest.Plane(1, 1)
	quad.Groups = []scene.Group{{Count: 6, Material: 0}}
	m := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	m.BaseColorTexture = 0
	return &scene.Asset{
		Name: "street", Textures: []scene.Texture{{Name: "brick"}}, Materials: []scene.Material{m},
		Meshes: []scene.Mesh{quad}, Nodes: nodes,
	}
}

// describe lists actors as name@x[part@x:tag ...].
func describe(actors []*scene.Actor) (out []string) {
	for _, a := range actors {
		s := fmt.Sprintf("%s@%g[", a.Name, a.Pose.Position[0])
		for i, p := range a.Parts {
			if i > 0 {
				s += " "
			}
			s += fmt.Sprintf("%s@%g:%v", p.Name, p.Local.At(0, 3), p.Tag)
		}
		out = append(out, s+"]")
	}
	return out
}

func TestAddMakesActors(t *testing.T) {
	tagged := func(n scene.Node, tag scene.Tag, actor bool) scene.Node {
		n.Tag, n.Actor = tag, actor
		return n
	}
	moving := scenetest.Linear{Start: spatial.Identity()}
	for _, c := range []struct {
		name      string
		asset     *scene.Asset
		placement scene.Placement
		want      []string
	}{
		{"one root is one actor", street(node("house", -1, 2, true), node("roof", 0, 3, true)),
			scene.Placement{Tag: scene.TagBuilding},
			[]string{"street@2[house@0:building roof@3:building]"}},
		{"each root is an actor", street(node("a", -1, 1, true), node("b", -1, 2, true), node("c", 1, 5, true)),
			scene.Placement{Name: "block"},
			[]string{"block/a@1[a@0:unlabeled]", "block/b@2[b@0:unlabeled c@5:unlabeled]"}},
		{"a single root without a mesh is opened", street(node("world", -1, 10, false), node("a", 0, 1, true), node("b", 0, 2, true)),
			scene.Placement{},
			[]string{"street/a@11[a@0:unlabeled]", "street/b@12[b@0:unlabeled]"}},
		{"actor nodes are actors wherever they are", street(node("world", -1, 0, false), node("ground", 0, 0, true), tagged(node("car", 1, 7, true), scene.TagCar, true), node("wheel", 2, 1, true)),
			scene.Placement{Tag: scene.TagRoads},
			[]string{"street/ground@0[ground@0:roads]", "street/car@7[car@0:car wheel@1:car]"}},
		{"motion makes one actor", street(node("a", -1, 1, true), tagged(node("b", -1, 2, true), scene.TagBus, true)),
			scene.Placement{Motion: moving},
			[]string{"street@0[a@1:unlabeled b@2:bus]"}},
		{"so does Whole", street(node("a", -1, 1, true), node("b", -1, 2, true)),
			scene.Placement{Whole: true, Pose: spatial.FromRPY(mgl64.Vec3{4, 0, 0}, 0, 0, 0)},
			[]string{"street@4[a@1:unlabeled b@2:unlabeled]"}},
		{"tags are inherited", street(tagged(node("a", -1, 0, true), scene.TagPole, false), node("b", 0, 1, true), tagged(node("c", 1, 1, true), scene.TagTrafficSign, false), node("d", 2, 1, true)),
			scene.Placement{Tag: scene.TagOther},
			[]string{"street@0[a@0:pole b@1:pole c@2:traffic_sign d@3:traffic_sign]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scene.New("test")
			actors, err := s.Add(c.asset, c.placement)
			require.NoError(t, err)
			assert.Equal(t, c.want, describe(actors))
			for i, a := range actors {
				assert.Equal(t, uint32(i+1), a.ID)
				assert.Same(t, a, s.Actor(a.ID))
			}
			assert.Nil(t, s.Actor(0))
			assert.Nil(t, s.Actor(99))
		})
	}
}

// TestAddFindsSpawnPoints by the names of nodes, wherever the asset and their parents are.
func TestAddFindsSpawnPoints(t *testing.T) {
	turned := node("town", -1, 10, false)
	turned.Local.Rotation = mgl64.QuatRotate(math.Pi/2, mgl64.Vec3{0, 0, 1})
	tilted := node("Spawn_Point.001", 1, 0, false)
	tilted.Local.Translation[2] = 0.5
	tilted.Local.Rotation = mgl64.QuatRotate(math.Pi/6, mgl64.Vec3{1, 0, 0})
	asset := street(turned, node("road", 0, 5, true), tilted, node("spawn_point_sign", 0, 1, true), node("respawn_point", 0, 1, false))
	s := scene.New("test")
	_, err := s.Add(asset, scene.Placement{Pose: spatial.FromRPY(mgl64.Vec3{100, 0, 3}, 0, 0, 90)})
	require.NoError(t, err)
	require.Len(t, s.SpawnPoints, 1, "one shows, and one has another name")
	at := s.SpawnPoints[0]
	assert.InDeltaSlice(t, []float64{95, 10, 3.5}, at.Position[:], 1e-9)
	roll, pitch, yaw := at.RPY()
	assert.InDeltaSlice(t, []float64{0, 0, 180}, []float64{roll, pitch, math.Abs(yaw)}, 1e-9, "it is upright")
	_, err = s.Add(asset, scene.Placement{Motion: scenetest.Linear{Start: spatial.Identity()}})
	require.NoError(t, err)
	_, err = s.Add(asset, scene.Placement{Reserved: true})
	require.NoError(t, err)
	assert.Len(t, s.SpawnPoints, 1, "what moves, and models, have none")
}

func TestAddRemapsAndSharesAndNumbers(t *testing.T) {
	s := scene.New("test")
	first, second := street(node("a", -1, 0, true)), street(node("a", -1, 0, true))
	second.Materials[0].EmissiveTexture = 0
	for range 2 {
		for _, asset := range []*scene.Asset{first, second} {
			_, err := s.Add(asset, scene.Placement{Name: "prop"})
			require.NoError(t, err)
		}
	}
	var names []string
	var meshes []int
	for i, a := range s.Actors {
		names = append(names, a.Name)
		meshes = append(meshes, a.Parts[0].Mesh)
		assert.Equal(t, uint32(i+1), a.ID)
		assert.Equal(t, "static.prop", a.TypeID)
	}
	assert.Equal(t, []string{"prop", "prop_2", "prop_3", "prop_4"}, names)
	assert.Equal(t, []int{0, 1, 0, 1}, meshes)
	assert.Len(t, s.Textures, 2)
	assert.Equal(t, 1, s.Meshes[1].Groups[0].Material)
	assert.Equal(t, []int{1, scene.NoTexture, 1}, []int{s.Materials[1].BaseColorTexture, s.Materials[1].MetalRoughTexture, s.Materials[1].EmissiveTexture})
	assert.Equal(t, 0, second.Meshes[0].Groups[0].Material, "the asset is left as it was")
}

func TestAddRefusesBadAssets(t *testing.T) {
	for says, spoil := range map[string]func(*scene.Asset){
		"parent 0":        func(a *scene.Asset) { a.Nodes[0].Parent = 0 },
		"mesh 4 of 1":     func(a *scene.Asset) { a.Nodes[0].Mesh = 4 },
		"texture 3 of 1":  func(a *scene.Asset) { a.Materials[0].BaseColorTexture = 3 },
		"material 7 of 1": func(a *scene.Asset) { a.Meshes[0].Groups[0].Material = 7 },
		"node 5 of 1":     func(a *scene.Asset) { a.Animations = []scene.Animation{{Channels: []scene.Channel{{Node: 5}}}} },
		"need 3": func(a *scene.Asset) {
			a.Animations = []scene.Animation{{Channels: []scene.Channel{{TimesNs: []int64{1}}}}}
		},
		"key 1": func(a *scene.Asset) {
			a.Animations = []scene.Animation{{Channels: []scene.Channel{{TimesNs: []int64{1, 1}, Values: make([]float64, 6)}}}}
		},
	} {
		asset := street(node("a", -1, 0, true))
		spoil(asset)
		_, err := scene.New("test").Add(asset, scene.Placement{})
		require.ErrorIs(t, err, scene.ErrIndex, says)
		assert.ErrorContains(t, err, says)
	}
	s := scene.New("full")
	for range scene.MaxActors {
		require.NoError(t, s.AddActor(&scene.Actor{Name: "x"}))
	}
	_, err := s.Add(street(node("a", -1, 0, true)), scene.Placement{})
	assert.ErrorIs(t, err, scene.ErrTooManyActors)
}

// A lamp turns on an arm that slides: the part's joints are the product.
func TestAnimatedNodesBecomeJoints(t *testing.T) {
	asset := street(node("arm", -1, 1, false), node("lamp", 0, 2, true), node("base", -1, 0, true))
	k := math.Sqrt(0.5)
	asset.Animations = []scene.Animation{{DurationNs: 4e9, Channels: []scene.Channel{
		{Node: 0, Path: scene.PathTranslation, TimesNs: []int64{0, 2e9, 4e9}, Values: []float64{0, 0, 0, 4, 0, 0, 0, 0, 0}},
		{Node: 1, Path: scene.PathRotation, TimesNs: []int64{0, 4e9}, Values: []float64{0, 0, 0, 1, 0, 0, k, k}},
		{Node: 1, Path: scene.PathScale, Interpolation: scene.InterpolationStep, TimesNs: []int64{0, 3e9}, Values: []float64{1, 1, 1, 2, 2, 2}},
	}}}
	s := scene.New("test")
	actors, err := s.Add(asset, scene.Placement{Whole: true})
	require.NoError(t, err)
	require.Len(t, actors[0].Parts, 2)
	assert.False(t, actors[0].Static())
	lamp, base := actors[0].Parts[0], actors[0].Parts[1]
	require.NotNil(t, lamp.Joints)
	assert.Nil(t, base.Joints)
	at := func(stamp simtime.Stamp, x mgl64.Vec3) mgl64.Vec3 {
		return mgl64.TransformCoordinate(x, lamp.Joints(stamp))
	}
	assertVec(t, mgl64.Vec3{2, 0, 0}, at(0, mgl64.Vec3{}), 1e-12)
	assertVec(t, mgl64.Vec3{6, 0, 0}, at(2e9, mgl64.Vec3{}), 1e-12)
	angle := math.Pi / 4 // half way through a right angle
	assertVec(t, mgl64.Vec3{6 + math.Cos(angle), math.Sin(angle), 0}, at(2e9, mgl64.Vec3{1, 0, 0}), 1e-9)
	angle = math.Pi / 2 * 3.5 / 4
	assertVec(t, mgl64.Vec3{3 + 2*math.Cos(angle), 2 * math.Sin(angle), 0}, at(3.5e9, mgl64.Vec3{1, 0, 0}), 1e-9)
	assert.Equal(t, lamp.Joints(1e9), lamp.Joints(9e9), "it loops")
	assert.Equal(t, lamp.Joints(3e9), lamp.Joints(-1e9), "before time 0 too")
}

// A cubic spline with the tangents of a cubic is that cubic.
func TestCubicSplineReproducesACubic(t *testing.T) {
	f := func(x float64) float64 { return x*x*x - 2*x*x + 3*x - 1 }
	df := func(x float64) float64 { return 3*x*x - 4*x + 3 }
	c := scene.Channel{Path: scene.PathTranslation, Interpolation: scene.InterpolationCubicSpline}
	for _, x := range []float64{0, 0.5, 2} {
		c.TimesNs = append(c.TimesNs, int64(x*1e9))
		c.Values = append(c.Values, df(x), 0, 0, f(x), 0, 7, df(x), 0, 0)
	}
	asset := street(node("a", -1, 0, true))
	asset.Animations = []scene.Animation{{DurationNs: 5e9, Channels: []scene.Channel{c}}}
	actors, err := scene.New("test").Add(asset, scene.Placement{})
	require.NoError(t, err)
	for x := 0.0; x <= 2; x += 0.125 {
		m := actors[0].Parts[0].Joints(simtime.Stamp(x * 1e9))
		assert.InDelta(t, f(x), m.At(0, 3), 1e-12)
		assert.InDelta(t, 7, m.At(2, 3), 1e-12)
	}
	assert.InDelta(t, f(2), actors[0].Parts[0].Joints(4e9).At(0, 3), 1e-12, "the last key holds")
}

func TestStats(t *testing.T) {
	s := scenetest.MovingWall(20, 5)
	got := s.Stats()
	assert.Equal(t, scene.Stats{
		Triangles: 812, Stored: 812, Instances: 2, Moving: 1, Meshes: 2, Materials: 2,
		Tags: []scene.TagStats{{Tag: scene.TagRoads, Instances: 1, Triangles: 800}, {Tag: scene.TagWall, Instances: 1, Triangles: 12}},
		Min:  mgl64.Vec3{-100, -100, 0}, Max: mgl64.Vec3{100, 100, 10},
	}, got)
	_, _, ok := scene.New("nothing").Bounds()
	assert.False(t, ok)
}

// A mesh that is placed thousands of times costs a scene's bounds no more than one. A scene that
// is too large for a world is refused before anything of it is made.
func TestMeshesThatArePlacedOftenCostLittle(t *testing.T) {
	const side, places = 200, 1000 // 79,202 triangles, 79 million in all
	b := scenetest.NewBuilder("crowd")
	mesh := scenetest.Plane(10, side)
	mesh.Groups = []scene.Group{{Count: len(mesh.Indices)}}
	b.Scene.Meshes, b.Scene.Materials = []scene.Mesh{mesh}, []scene.Material{scenetest.Matte("grey", 1, 1, 1)}
	for i := range places {
		at := spatial.FromRPY(mgl64.Vec3{float64(i), 0, 0}, 0, 0, 90)
		require.NoError(t, b.Scene.AddActor(&scene.Actor{Name: "a", Pose: at, Parts: []scene.Part{{Local: mgl64.Ident4()}}}))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	low, high, ok := b.Scene.Bounds()
	_, err := scene.Build(t.Context(), b.Scene, scene.BuildOptions{})
	runtime.ReadMemStats(&after)
	require.True(t, ok)
	assert.InDeltaSlice(t, []float64{-5, -5, 0}, low[:], 1e-9)
	assert.InDeltaSlice(t, []float64{places + 4, 5, 0}, high[:], 1e-9)
	require.ErrorIs(t, err, scene.ErrTooLarge)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(50<<20))
}

// A build ends with its context.
func TestBuildEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := scenetest.Soup(1, 600, true)
	s.Occlusion = true
	_, err := scene.Build(ctx, s, scene.BuildOptions{CacheDir: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled)
}

func TestNormalsKeepTheirDirection(t *testing.T) {
	for _, n := range []mgl32.Vec3{{0, 0, 1}, {0, 0, -1}, {1, 0, 0}, {-1, 0, 0}, {0, -1, 0}, {0.3, -0.5, -0.8}, {-0.6, 0.1, 0.2}} {
		code := scene.EncodeNormal(mgl64.Vec3{float64(n[0]), float64(n[1]), float64(n[2])})
		x, y := float64(int16(code))/32767, float64(int16(code>>16))/32767
		v := mgl64.Vec3{x, y, 1 - math.Abs(x) - math.Abs(y)}
		fold := max(-v[2], 0)
		v[0] -= math.Copysign(fold, v[0])
		v[1] -= math.Copysign(fold, v[1])
		want := n.Normalize()
		assertVec(t, mgl64.Vec3{float64(want[0]), float64(want[1]), float64(want[2])}, v.Normalize(), 5e-5)
	}
}
