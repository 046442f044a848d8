package gltf_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
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

func TestMatrixOfShearIsAWarning(t *testing.T) {
	m := arrow()
	m.doc["nodes"].(list)[0].(object)["matrix"] = list{1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}
	a := m.load(t, gltf.Options{})
	checkAsset(t, a)
	assert.Equal(t, []string{"nodes[0].matrix: is sheared: the shear is left out"}, a.Warnings)
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
		"only scenes[1] is loaded, 1 others are left out",
		"1 nodes are not in the scene that is loaded and are left out",
	}, a.Warnings)

	delete(m.doc, "scenes")
	delete(m.doc, "scene")
	a = m.load(t, gltf.Options{})
	assert.Len(t, a.Nodes, 2, "without scenes all root nodes are loaded")
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
