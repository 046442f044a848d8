package gltf_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
)

// skinned is a model of one skinned mesh with two morph targets. Its joints hang on one another
// in any manner, mirrored and sheared ones too. It has a clip over 2 s that steps after 1 s.
type skinned struct {
	model   *model
	parents []int
	places  []mgl64.Mat4 // of the joints' nodes, in glTF's axes
	later   []mgl64.Mat4 // after the step
	bind    []mgl64.Mat4
	corners []mgl64.Vec3
	deltas  [2][]mgl64.Vec3
	joints  [][]int // by vertex
	shares  [][]float64
	weights [2][2]float64 // before and after the step
}

const (
	skinJoints   = 5
	skinVertices = 6
	firstJoint   = 1 // nodes[0] has the mesh
)

func float32s[V mgl64.Vec3 | mgl64.Mat4](vs ...V) []float32 {
	var out []float32
	for _, v := range vs {
		switch v := any(v).(type) {
		case mgl64.Vec3:
			out = append(out, float32(v[0]), float32(v[1]), float32(v[2]))
		case mgl64.Mat4:
			for _, x := range v {
				out = append(out, float32(x))
			}
		}
	}
	return out
}

func newSkinned(rng *rand.Rand, sets int) *skinned {
	componentCounts["MAT4"] = 16
	s := &skinned{model: newModel(), weights: [2][2]float64{{0.5, -1}, {2, 0.25}}}
	m := s.model
	vector := func() mgl64.Vec3 { return mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()} }
	nodes := list{object{"name": "walker", "mesh": 0, "skin": 0, "weights": s.weights[0][:], "scale": list{-3, 5, 7}}}
	roots := list{0}
	for k := range skinJoints {
		node, place := randomNode(rng)
		if k == 3 { // sheared
			node, place = object{}, mgl64.Ident4()
			for i := range 12 {
				place[i+i/3] = rng.NormFloat64()
			}
			node["matrix"] = place[:]
		}
		if k == 0 { // the one that moves has no matrix
			place = mgl64.Translate3D(1, 2, 3)
			node = object{"translation": list{1, 2, 3}, "rotation": list{0, 0, 0, 1}, "scale": list{1, 1, 1}}
		}
		parent := rng.IntN(k+1) - 1
		if k == 0 {
			parent = -1
		}
		nodes, s.parents = append(nodes, node), append(s.parents, parent)
		s.places, s.later = append(s.places, place), append(s.later, place)
		if parent < 0 {
			roots = append(roots, firstJoint+k)
		} else {
			above := nodes[firstJoint+parent].(object)
			children, _ := above["children"].(list)
			above["children"] = append(children, firstJoint+k)
		}
		bind := mgl64.Ident4()
		for i := range 12 {
			bind[i+i/3] = float64(float32(rng.NormFloat64()))
		}
		s.bind = append(s.bind, bind)
	}
	m.doc["nodes"], m.doc["scenes"] = nodes, list{object{"nodes": roots}}
	turn := mgl64.QuatRotate(0.7, vector().Normalize())
	s.later[0] = mgl64.Translate3D(1, 2, 3).Mul4(turn.Mat4())

	attributes := object{}
	for range skinVertices {
		s.corners = append(s.corners, vector())
		for k := range s.deltas {
			s.deltas[k] = append(s.deltas[k], vector())
		}
		var joints []int
		var shares []float64
		for range 4 * sets {
			joints, shares = append(joints, rng.IntN(skinJoints)), append(shares, rng.Float64())
		}
		s.joints, s.shares = append(s.joints, joints), append(s.shares, shares)
	}
	for set := range sets {
		var joints []uint8
		var shares []float32
		for i := range skinVertices {
			for k := 4 * set; k < 4*set+4; k++ {
				joints, shares = append(joints, uint8(s.joints[i][k])), append(shares, float32(s.shares[i][k]))
			}
		}
		attributes["JOINTS_"+string(rune('0'+set))] = m.accessor("VEC4", joints)
		attributes["WEIGHTS_"+string(rune('0'+set))] = m.accessor("VEC4", shares)
	}
	attributes["POSITION"] = m.accessor("VEC3", float32s(s.corners...))
	m.mesh(object{"attributes": attributes, "targets": list{
		object{"POSITION": m.accessor("VEC3", float32s(s.deltas[0]...))}, object{"POSITION": m.accessor("VEC3", float32s(s.deltas[1]...))},
	}})
	m.doc["skins"] = list{object{"joints": list{1, 2, 3, 4, 5}, "inverseBindMatrices": m.accessor("MAT4", float32s(s.bind...))}}
	times := m.accessor("SCALAR", []float32{0, 1, 2})
	q := []float32{float32(turn.V[0]), float32(turn.V[1]), float32(turn.V[2]), float32(turn.W)}
	w := []float32{0.5, -1, 2, 0.25, 0, 0}
	m.add("animations", object{
		"samplers": list{
			object{"input": times, "interpolation": "STEP", "output": m.accessor("VEC4", append(append([]float32{0, 0, 0, 1}, q...), 0, 0, 0, 1))},
			object{"input": times, "interpolation": "STEP", "output": m.accessor("SCALAR", w)},
		},
		"channels": list{
			object{"sampler": 0, "target": object{"node": firstJoint, "path": "rotation"}},
			object{"sampler": 1, "target": object{"node": 0, "path": "weights"}},
		},
	})
	return s
}

// want returns where the specification puts a vertex, in our axes.
func (s *skinned) want(i, step int) mgl64.Vec3 {
	p := s.corners[i]
	for k := range s.deltas {
		p = p.Add(s.deltas[k][i].Mul(s.weights[step][k]))
	}
	places := s.places
	if step == 1 {
		places = s.later
	}
	var sum mgl64.Vec3
	total := 0.0
	for k, j := range s.joints[i] {
		global := places[j]
		for at := s.parents[j]; at >= 0; at = s.parents[at] {
			global = places[at].Mul4(global)
		}
		w := float64(float32(s.shares[i][k]))
		sum = sum.Add(global.Mul4(s.bind[j]).Mul4x1(p.Vec4(1)).Vec3().Mul(w))
		total += w
	}
	return toROS(sum.Mul(1 / total))
}

func TestSkinsAndMorphTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for k := range 40 {
		s := newSkinned(rng, 1+k%2)
		a := s.model.load(t, gltf.Options{})
		checkAsset(t, a)
		require.Empty(t, a.Warnings)
		into := scene.New("one")
		actors, err := into.Add(a, scene.Placement{Whole: true})
		require.NoError(t, err)
		require.Len(t, actors, 1)
		part := actors[0].Parts[0]
		require.NotNil(t, part.Shape)
		require.Nil(t, part.Joints)
		for step, stamp := range []simtime.Stamp{0.5e9, 1.5e9, 2.5e9} {
			mesh := scenetest.Shaped(&into.Meshes[0], part.Shape, stamp)
			for i := range skinVertices {
				got := mgl64.TransformCoordinate(wide(mesh.Positions[i]), part.Local)
				want := s.want(i, step%2)
				assert.InDeltaSlice(t, want[:], got[:], 1e-4*(1+want.Len()), "model %d, vertex %d, step %d", k, i, step)
			}
		}
	}
}

func TestBadSkins(t *testing.T) {
	first := func(m *model) object {
		return m.doc["meshes"].(list)[0].(object)["primitives"].(list)[0].(object)
	}
	for name, c := range map[string]struct {
		spoil func(m *model)
		want  string
	}{
		"no skin":    {func(m *model) { delete(m.doc, "skins") }, "nodes[0].skin: skins[0] is not there: the file has 0"},
		"no joint":   {func(m *model) { m.doc["skins"].(list)[0].(object)["joints"] = list{1, 9, 1, 1, 1} }, "skins[0].joints[1]: nodes[9] is not there"},
		"few joints": {func(m *model) { m.doc["skins"].(list)[0].(object)["joints"] = list{1} }, "nodes[0].skin: skins[0] has 1 joints, the mesh names joint"},
		"few bind":   {func(m *model) { m.doc["skins"].(list)[0].(object)["joints"] = list{1, 2, 3, 4, 5, 5} }, "skins[0].inverseBindMatrices: accessors[5] has 5 elements, 6 joints need as many"},
		"outside": {func(m *model) {
			m.doc["nodes"] = append(m.doc["nodes"].(list), object{})
			m.doc["skins"].(list)[0].(object)["joints"] = list{1, 2, 3, 4, 6}
		}, "skins[0].joints[4]: nodes[6] is not in the scene that is loaded"},
		"no weights": {func(m *model) { delete(first(m)["attributes"].(object), "WEIGHTS_0") }, "primitives[0].attributes: has JOINTS_0 but no WEIGHTS_0"},
		"half joints": {func(m *model) {
			first(m)["attributes"].(object)["JOINTS_0"] = first(m)["attributes"].(object)["WEIGHTS_0"]
		}, "attributes.JOINTS_0: element 0 has 0."},
		"target": {func(m *model) { first(m)["targets"] = list{object{"POSITION": 99}} }, "primitives[0].targets[0].attributes.POSITION: accessors[99] is not there"},
		"targets": {func(m *model) {
			m.doc["meshes"].(list)[0].(object)["primitives"] = append(m.doc["meshes"].(list)[0].(object)["primitives"].(list),
				object{"attributes": first(m)["attributes"], "targets": list{first(m)["targets"].(list)[0]}})
		}, "primitives[1].targets: has 1, the primitive before has 2"},
	} {
		m := newSkinned(rand.New(rand.NewPCG(1, 2)), 1).model
		c.spoil(m)
		_, err := m.tryLoad(gltf.Options{})
		assert.ErrorIs(t, err, gltf.ErrFormat, name)
		assert.ErrorContains(t, err, c.want, name)
	}
}

// Weights that nothing animates, and none, and a skin whose mesh has no joints.
func TestShapesThatStand(t *testing.T) {
	m := newSkinned(rand.New(rand.NewPCG(1, 2)), 1).model
	delete(m.doc, "animations")
	p := m.doc["meshes"].(list)[0].(object)["primitives"].(list)[0].(object)
	delete(p["attributes"].(object), "JOINTS_0")
	a := m.load(t, gltf.Options{})
	assert.Equal(t, []string{"nodes[0]: has a skin, but its mesh has no JOINTS_0: it keeps its shape"}, a.Warnings)
	actors, err := scene.New("one").Add(a, scene.Placement{Whole: true})
	require.NoError(t, err)
	assert.NotNil(t, actors[0].Parts[0].Shape, "its weights aren't 0")

	delete(m.doc["nodes"].(list)[0].(object), "weights")
	m.doc["meshes"].(list)[0].(object)["weights"] = list{0, 0}
	actors, err = scene.New("one").Add(m.load(t, gltf.Options{}), scene.Placement{Whole: true})
	require.NoError(t, err)
	assert.Nil(t, actors[0].Parts[0].Shape)
	assert.True(t, actors[0].Static())
}

// Joints that hang on one another in one long chain take room for all above each of them. That is of the
// model's budget like all that it unpacks to.
func TestAChainOfJointsIsOfTheBudget(t *testing.T) {
	for length, want := range map[int]error{100: nil, 4000: gltf.ErrTooLarge} {
		m := newSkinned(rand.New(rand.NewPCG(1, 2)), 1).model
		nodes, joints := m.doc["nodes"].(list), list{1, 2, 3, 4, 5}
		nodes[5].(object)["children"] = list{len(nodes)}
		for i := range length {
			n := object{}
			if i < length-1 {
				n["children"] = list{len(nodes) + 1}
			}
			joints = append(joints, len(nodes))
			nodes = append(nodes, n)
		}
		m.doc["nodes"] = nodes
		skin := m.doc["skins"].(list)[0].(object)
		delete(skin, "inverseBindMatrices")
		skin["joints"] = joints
		_, err := m.tryLoad(gltf.Options{})
		require.ErrorIs(t, err, want)
	}
}
