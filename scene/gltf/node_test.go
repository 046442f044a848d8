package gltf_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomNode is a node's JSON and its matrix in glTF's axes.
func randomNode(rng *rand.Rand) (object, mgl64.Mat4) {
	vector := func() mgl64.Vec3 { return mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()} }
	v := vector()
	q := mgl64.Quat{W: rng.NormFloat64(), V: vector()}.Normalize()
	var s mgl64.Vec3
	for i := range s {
		s[i] = 0.5 + rng.Float64()
		if rng.IntN(3) == 0 {
			s[i] = -s[i]
		}
	}
	m := mgl64.Translate3D(v[0], v[1], v[2]).Mul4(q.Mat4()).Mul4(mgl64.Scale3D(s[0], s[1], s[2]))
	if rng.IntN(3) == 0 {
		return object{"matrix": m[:]}, m
	}
	return object{"translation": v[:], "rotation": list{q.V[0], q.V[1], q.V[2], q.W}, "scale": s[:]}, m
}

// toROS is the axes rule, independently of the loader: (x, y, z) = (z, x, y).
func toROS(v mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{v[2], v[0], v[1]} }

// Random trees of nodes, mirrored or not. Every triangle is where the specification's matrices
// put it, and is counter-clockwise with the normal on its front. The specification turns it
// round for a negative determinant (section 3.7.4).
func TestHierarchiesKeepPlaceAndWinding(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		m := newModel()
		corners := []float32{1, 0, 0, 0, 2, 0, 0, 0, 3}
		mesh := m.triangle(corners...)
		const n = 6
		nodes, globals := make(list, n), make([]mgl64.Mat4, n)
		nodes[0], globals[0] = randomNode(rng)
		for i := 1; i < n; i++ {
			node, local := randomNode(rng)
			parent := rng.IntN(i)
			nodes[i], globals[i] = node, globals[parent].Mul4(local)
			children, _ := nodes[parent].(object)["children"].(list)
			nodes[parent].(object)["children"] = append(children, i)
		}
		for i := range nodes {
			nodes[i].(object)["mesh"] = mesh
			nodes[i].(object)["name"] = string(rune('a' + i))
		}
		m.doc["nodes"] = nodes
		a := m.load(t, gltf.Options{})
		checkAsset(t, a)
		require.Empty(t, a.Warnings)
		require.Len(t, a.Nodes, n)
		for k, tri := range worldTriangles(a) {
			global := globals[a.Nodes[k].Name[0]-'a']
			var want [3]mgl64.Vec3
			for c := range want {
				want[c] = toROS(global.Mul4x1(mgl64.Vec4{float64(corners[3*c]), float64(corners[3*c+1]), float64(corners[3*c+2]), 1}).Vec3())
			}
			if global.Det() < 0 {
				want[1], want[2] = want[2], want[1]
			}
			normal := want[1].Sub(want[0]).Cross(want[2].Sub(want[0])).Normalize()
			for c := range want {
				assert.InDeltaSlice(t, want[c][:], tri[c].position[:], 1e-5)
				assert.InDeltaSlice(t, normal[:], tri[c].normal[:], 1e-4)
			}
		}
	}
}

// Matrices of any kind: sheared, mirrored, without volume. Every triangle is where the
// matrices put it, with its normal at right angles on its front.
func TestShearedMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for k := range 300 {
		m := newModel()
		corners := []float32{1, 0, 0, 0, 2, 0, 0, 0, 3}
		mesh := m.triangle(corners...)
		var matrices [2]mgl64.Mat4
		for i := range matrices {
			for c := range 12 {
				matrices[i][c+c/3] = rng.NormFloat64()
			}
			matrices[i][15] = 1
		}
		if k%3 == 0 { // flat: the third axis lies in the plane of the others
			matrices[1].SetCol(2, matrices[1].Col(0).Add(matrices[1].Col(1)))
		}
		m.doc["nodes"] = list{
			object{"name": "car", "matrix": matrices[0][:], "mesh": mesh, "children": list{1}},
			object{"name": "b", "matrix": matrices[1][:], "mesh": mesh},
		}
		a := m.load(t, gltf.Options{})
		checkAsset(t, a)
		require.Empty(t, a.Warnings)
		globals := [2]mgl64.Mat4{matrices[0], matrices[0].Mul4(matrices[1])}
		for i, tri := range worldTriangles(a) {
			var want [3]mgl64.Vec3
			for c := range want {
				want[c] = toROS(globals[i].Mul4x1(wide([3]float32(corners[3*c:])).Vec4(1)).Vec3())
			}
			if i == 1 && k%3 == 0 {
				require.NoError(t, sameCorners(tri, want))
				continue
			}
			if globals[i].Det() < 0 {
				want[1], want[2] = want[2], want[1]
			}
			normal := want[1].Sub(want[0]).Cross(want[2].Sub(want[0])).Normalize()
			for c := range want {
				assert.InDeltaSlice(t, want[c][:], tri[c].position[:], 2e-5)
				assert.InDeltaSlice(t, normal[:], tri[c].normal[:], 2e-4)
			}
		}
		assert.Equal(t, "car", a.Nodes[0].Name)
		assert.Equal(t, scene.TagCar, a.Nodes[0].Tag)
		actors, err := new(scene.Scene).Add(a, scene.Placement{Name: "it"})
		require.NoError(t, err)
		require.Len(t, actors, 1)
		for _, p := range actors[0].Parts {
			assert.Equal(t, scene.TagCar, p.Tag)
		}
	}
}

// A matrix that is a little off a rotation makes an actor that is turned by that rotation.
func TestASlightShearTurnsNoActor(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for k := range 100 {
		turn := mgl64.QuatRotate(rng.Float64()*3, mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Normalize())
		stretch := mgl64.Ident3()
		for i := range stretch {
			stretch[i] += 0.002 * float64(k%3) * rng.NormFloat64()
		}
		if k%2 == 1 { // left and right are swapped
			stretch.SetCol(0, stretch.Col(0).Mul(-1))
		}
		matrix := turn.Mat4().Mat3().Mul3(stretch).Mat4()
		m := newModel()
		m.doc["nodes"] = list{object{"name": "car", "matrix": matrix[:], "mesh": m.triangle(1, 0, 0, 0, 2, 0, 0, 0, 3)}}
		actors, err := new(scene.Scene).Add(m.load(t, gltf.Options{}), scene.Placement{})
		require.NoError(t, err)
		require.Len(t, actors, 1)
		for _, axis := range []mgl64.Vec3{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} {
			want, got := toROS(turn.Rotate(axis)), actors[0].Pose.Rotate(toROS(axis))
			assert.InDeltaSlice(t, want[:], got[:], 0.02, "model %d", k)
		}
	}
}

// sameCorners reports corners that are not where they should be, in either direction.
func sameCorners(tri [3]corner, want [3]mgl64.Vec3) error {
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}} {
		worst := 0.0
		for c := range want {
			worst = max(worst, tri[c].position.Sub(want[order[c]]).Len())
		}
		if worst < 2e-5 {
			return nil
		}
	}
	return fmt.Errorf("triangle %v, want %v", tri, want)
}

// Instances are the node's transform after their own, mirrored ones too; the node's mesh is
// there for each of them and not otherwise.
func TestInstances(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for k := range 8 { // the attributes that there are
		m := newModel()
		corners := []float32{1, 0, 0, 0, 2, 0, 0, 0, 3}
		mesh := m.triangle(corners...)
		const n = 5
		var places [n]scene.TRS
		var shift, scale []float32
		var turn []int16
		for i := range places {
			places[i] = scene.IdentityTRS()
			v, s, q := mgl64.Vec3{}, mgl64.Vec3{}, [4]int16{}
			for c := range 3 {
				v[c], s[c] = float64(float32(rng.NormFloat64())), float64(float32(rng.NormFloat64()))
			}
			for c := range q {
				q[c] = int16(rng.IntN(65535) - 32767)
			}
			if k&1 != 0 {
				places[i].Translation = v
			}
			if k&2 != 0 {
				places[i].Rotation = mgl64.Quat{W: float64(q[3]), V: mgl64.Vec3{float64(q[0]), float64(q[1]), float64(q[2])}}.Normalize()
			}
			if k&4 != 0 {
				places[i].Scale = s
			}
			for c := range 3 {
				shift, scale = append(shift, float32(v[c])), append(scale, float32(s[c]))
			}
			turn = append(turn, q[:]...)
		}
		attributes := object{"_ID": 77}
		if k&1 != 0 {
			attributes["TRANSLATION"] = m.accessor("VEC3", shift)
		}
		if k&2 != 0 {
			attributes["ROTATION"] = m.accessorWith("VEC4", turn, object{"normalized": true})
		}
		if k&4 != 0 {
			attributes["SCALE"] = m.accessor("VEC3", scale)
		}
		node, local := randomNode(rng)
		node["name"], node["mesh"] = "trees", mesh
		node["extensions"] = object{"EXT_mesh_gpu_instancing": object{"attributes": attributes}}
		m.doc["nodes"] = list{node}
		m.doc["extensionsRequired"] = list{"EXT_mesh_gpu_instancing"}
		m.doc["extensionsUsed"] = list{"EXT_mesh_gpu_instancing"}
		if k == 0 {
			_, err := m.tryLoad(gltf.Options{})
			assert.ErrorIs(t, err, gltf.ErrFormat)
			assert.ErrorContains(t, err, "nodes[0].extensions.EXT_mesh_gpu_instancing.attributes: has none of TRANSLATION, ROTATION and SCALE")
			continue
		}
		a := m.load(t, gltf.Options{})
		checkAsset(t, a)
		require.Empty(t, a.Warnings)
		got := worldTriangles(a)
		require.Len(t, got, n)
		for i := range places {
			global := local.Mul4(places[i].Mat4())
			var want [3]mgl64.Vec3
			for c := range want {
				want[c] = toROS(global.Mul4x1(wide([3]float32(corners[3*c:])).Vec4(1)).Vec3())
			}
			if global.Det() < 0 {
				want[1], want[2] = want[2], want[1]
			}
			normal := want[1].Sub(want[0]).Cross(want[2].Sub(want[0])).Normalize()
			for c := range want {
				assert.InDeltaSlice(t, want[c][:], got[i][c].position[:], 1e-4, "attributes %d, instance %d", k, i)
				assert.InDeltaSlice(t, normal[:], got[i][c].normal[:], 1e-3, "attributes %d, instance %d", k, i)
			}
		}
		actors, err := new(scene.Scene).Add(a, scene.Placement{})
		require.NoError(t, err)
		require.Len(t, actors, 1, "the node is one actor")
	}
}

func TestBadInstances(t *testing.T) {
	for name, c := range map[string]struct {
		attributes func(m *model) any
		want       string
	}{
		"counts differ": {func(m *model) any {
			return object{"SCALE": m.accessor("VEC3", make([]float32, 6)), "TRANSLATION": m.accessor("VEC3", make([]float32, 9))}
		}, "attributes.SCALE: accessors[1] has 2 elements, another attribute has 3"},
		"no rotation": {func(m *model) any { return object{"ROTATION": m.accessor("VEC4", make([]float32, 4))} },
			"attributes.ROTATION: element 0: [0 0 0 0] is not a unit quaternion"},
		"no accessor": {func(*model) any { return object{"SCALE": 99} }, "attributes.SCALE: accessors[99] is not there"},
		"a list":      {func(*model) any { return list{} }, "attributes: want an object, have an array"},
		"far away":    {func(m *model) any { return object{"TRANSLATION": m.accessor("VEC3", []float32{3e38, 0, 0})} }, "attributes.TRANSLATION: element 0 at"},
		"too many": {func(m *model) any {
			return object{"TRANSLATION": m.add("accessors", object{"componentType": 5126, "type": "VEC3", "count": 1_000_000})}
		}, "attributes.TRANSLATION: the model unpacks to more than 64 MiB"},
	} {
		m := newModel()
		oneNode(m, m.triangle(1, 0, 0, 0, 2, 0, 0, 0, 3))
		m.doc["nodes"].(list)[0].(object)["extensions"] = object{"EXT_mesh_gpu_instancing": object{"attributes": c.attributes(m)}}
		_, err := m.tryLoad(gltf.Options{Scale: 10})
		assert.ErrorContains(t, err, "nodes[0].extensions.EXT_mesh_gpu_instancing."+c.want, name)
	}
}

// Scales of zero are allowed: they hide a node.
func TestFlattenedNodes(t *testing.T) {
	for _, node := range []object{
		{"scale": list{0, 0, 0}},
		{"scale": list{1, 0, -1}},
		{"matrix": list{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
		{"matrix": list{0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
		{"matrix": list{0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
	} {
		m := arrow()
		node["mesh"] = 0
		m.doc["nodes"] = list{node}
		a := m.load(t, gltf.Options{})
		checkAsset(t, a)
		assert.Empty(t, a.Warnings)
	}
}

func TestNodesOutsideTheSceneAreLeftOut(t *testing.T) {
	m := arrow()
	m.add("nodes", object{"name": "elsewhere"})
	m.doc["scenes"] = list{object{"nodes": list{1}}, object{"nodes": list{0}}}
	m.doc["scene"] = 1
	a := m.load(t, gltf.Options{})
	require.Len(t, a.Nodes, 1)
	assert.Equal(t, "arrow", a.Nodes[0].Name)
	assert.Equal(t, []string{
		"only scenes[1] is loaded, 1 other scene left out",
		"left out: 1 node that the scene that is loaded doesn't have",
	}, a.Warnings)

	delete(m.doc, "scenes")
	delete(m.doc, "scene")
	a = m.load(t, gltf.Options{})
	assert.Len(t, a.Nodes, 2, "without scenes all root nodes are loaded")
}

// Asset packs have a node, often tmpParent, that holds the scene's roots as children too. It may lie
// outside the scene, or in it beside them. Each node is loaded once all the same.
func TestANodeThatManyNameIsLoadedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		scene    list
		parent   int // of arrow and post, in the asset
		warnings []string
	}{
		"the parent is outside of the scene": {list{0, 2}, -1, []string{"left out: 2 nodes that the scene that is loaded doesn't have"}},
		"a root is a child too": {list{1, 0, 2}, 0, []string{
			"scenes[0].nodes[1] and 1 more: names a node that has a parent: it is placed there",
			"left out: 1 node that the scene that is loaded doesn't have"}},
		"two parents": {list{1, 3}, 0, []string{"nodes[3].children[0] and 2 more: names a node that has its place already: it stays there"}},
		"named twice": {list{0, 2, 2, 0}, -1, []string{
			"scenes[0].nodes[2] and 1 more: names a node that has its place already: it stays there",
			"left out: 2 nodes that the scene that is loaded doesn't have"}},
	} {
		m := arrow()
		m.add("nodes", object{"name": "tmpParent", "children": list{0, 2}, "translation": list{0, 0, 5}})
		m.add("nodes", object{"name": "post", "mesh": 0})
		m.add("nodes", object{"name": "group", "children": list{2, 0, 2}})
		m.doc["scenes"] = list{object{"nodes": c.scene}}
		a := m.load(t, gltf.Options{})
		checkAsset(t, a)
		assert.Equal(t, c.warnings, a.Warnings, name)
		count := map[string]int{}
		for _, n := range a.Nodes {
			count[n.Name]++
			if n.Name == "arrow" || n.Name == "post" {
				assert.Equal(t, c.parent, n.Parent, "%s: %s", name, n.Name)
			}
		}
		assert.Equal(t, 1, count["arrow"], name)
		assert.Equal(t, 1, count["post"], name)
	}
}

// Nodes that the scene doesn't reach may be as they like: they are left out.
func TestStrayNodesAreNotLookedAt(t *testing.T) {
	for name, stray := range map[string]list{
		"a cycle":    {object{"name": "tmpParent", "children": list{2}}, object{"children": list{1}}},
		"no child":   {object{"name": "tmpParent", "children": list{99}}},
		"no mesh":    {object{"name": "tmpParent", "mesh": 99}},
		"flat turns": {object{"name": "tmpParent", "rotation": list{0, 0, 0, 0}}},
	} {
		m := arrow()
		for _, n := range stray {
			m.add("nodes", n.(object))
		}
		a := m.load(t, gltf.Options{})
		assert.Len(t, a.Nodes, 1, name)
		assert.Equal(t, []string{"left out: " + fault.Count(len(stray), "node") + " that the scene that is loaded doesn't have"}, a.Warnings, name)
	}
}

// A rotation that nobody has set is 0 0 0 0 in some exporters, Unity's among them.
func TestARotationOfNoLengthTurnsNothing(t *testing.T) {
	want := arrow().load(t, gltf.Options{})
	m := arrow()
	m.doc["nodes"].(list)[0].(object)["rotation"] = list{0, 0, 0, 0}
	got := m.load(t, gltf.Options{})
	checkAsset(t, got)
	assert.Equal(t, []string{"nodes[0]: has a rotation of no length: it isn't turned"}, got.Warnings)
	assert.Equal(t, want.Nodes, got.Nodes)
}

// A mesh without primitives has nothing to see. Exporters write it for an object without faces.
func TestAMeshWithoutPrimitivesIsLeftOut(t *testing.T) {
	m := arrow()
	m.doc["nodes"].(list)[0].(object)["children"] = list{1}
	m.add("nodes", object{"name": "empty", "mesh": m.mesh()})
	m.doc["meshes"].(list)[1].(object)["primitives"] = list{}
	a := m.load(t, gltf.Options{})
	checkAsset(t, a)
	assert.Len(t, a.Meshes, 1)
	assert.Equal(t, []string{"meshes[1]: has no primitives and is left out"}, a.Warnings)
}

func TestDeepHierarchy(t *testing.T) {
	m := newModel()
	const depth = 20_000
	nodes := make(list, depth)
	for i := range nodes {
		nodes[i] = object{"children": list{i + 1}, "translation": list{0, 0, 1}}
	}
	nodes[depth-1] = object{"name": "car"}
	m.doc["nodes"] = nodes
	a := m.load(t, gltf.Options{})
	assert.Len(t, a.Nodes, depth)
	assert.Equal(t, depth-2, a.Nodes[depth-1].Parent)
	assert.Equal(t, scene.TagCar, a.Nodes[depth-1].Tag)
}

// corner is a triangle's corner in the world: position and unit normal.
type corner struct{ position, normal mgl64.Vec3 }

// worldTriangles places all of an asset's meshes in the world.
func worldTriangles(a *scene.Asset) [][3]corner {
	global := make([]mgl64.Mat4, len(a.Nodes))
	var out [][3]corner
	for i, n := range a.Nodes {
		global[i] = n.Local.Mat4()
		if n.Parent >= 0 {
			global[i] = global[n.Parent].Mul4(global[i])
		}
		if n.Mesh < 0 {
			continue
		}
		normals := global[i].Mat3().Inv().Transpose()
		m := a.Meshes[n.Mesh]
		for t := 0; t < len(m.Indices); t += 3 {
			var tri [3]corner
			for c, v := range m.Indices[t : t+3] {
				tri[c] = corner{
					global[i].Mul4x1(wide(m.Positions[v]).Vec4(1)).Vec3(),
					normals.Mul3x1(wide(m.Normals[v])).Normalize(),
				}
			}
			out = append(out, tri)
		}
	}
	return out
}

func wide(v [3]float32) mgl64.Vec3 {
	return mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
}

func bounds(a *scene.Asset) (lo, hi mgl64.Vec3) {
	for i, tri := range worldTriangles(a) {
		for j, c := range tri {
			for k := range 3 {
				if i == 0 && j == 0 {
					lo[k], hi[k] = c.position[k], c.position[k]
				}
				lo[k], hi[k] = min(lo[k], c.position[k]), max(hi[k], c.position[k])
			}
		}
	}
	return lo, hi
}

func triangleCount(a *scene.Asset) int {
	n := 0
	for _, node := range a.Nodes {
		if node.Mesh >= 0 {
			n += len(a.Meshes[node.Mesh].Indices) / 3
		}
	}
	return n
}
