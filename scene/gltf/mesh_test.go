package gltf_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
)

// positionsInFile undoes the axes rule: what the file would call them.
func positionsInFile(a *scene.Asset) [][3]mgl64.Vec3 {
	var out [][3]mgl64.Vec3
	for _, tri := range worldTriangles(a) {
		var t [3]mgl64.Vec3
		for c := range tri {
			p := tri[c].position
			t[c] = mgl64.Vec3{p[1], p[2], p[0]}
		}
		out = append(out, t)
	}
	return out
}

func oneNode(m *model, mesh int) *model {
	m.doc["nodes"] = list{object{"name": "thing", "mesh": mesh}}
	return m
}

// Five vertices of a zigzag, and their triangles by section 3.7.2.1.
func TestStripsAndFans(t *testing.T) {
	zigzag := []float32{0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 2, 0, 0}
	v := func(i int) mgl64.Vec3 { return wide([3]float32(zigzag[3*i:])) }
	tri := func(a, b, c int) [3]mgl64.Vec3 { return [3]mgl64.Vec3{v(a), v(b), v(c)} }
	for _, c := range []struct {
		name    string
		mode    int
		indices any
		want    [][3]mgl64.Vec3
	}{
		{"strip", 5, nil, [][3]mgl64.Vec3{tri(0, 1, 2), tri(1, 3, 2), tri(2, 3, 4)}},
		{"indexed strip", 5, []uint8{4, 3, 2, 1}, [][3]mgl64.Vec3{tri(4, 3, 2), tri(3, 1, 2)}},
		{"strips joined by triangles without area", 5, []uint16{0, 1, 2, 2, 4, 4, 3, 2}, [][3]mgl64.Vec3{tri(0, 1, 2), tri(4, 2, 3)}},
		{"fan", 6, nil, [][3]mgl64.Vec3{tri(1, 2, 0), tri(2, 3, 0), tri(3, 4, 0)}},
		{"triangles", 4, []uint32{0, 1, 2, 4, 3, 2}, [][3]mgl64.Vec3{tri(0, 1, 2), tri(4, 3, 2)}},
	} {
		m := newModel()
		p := object{"mode": c.mode, "attributes": object{"POSITION": m.accessor("VEC3", zigzag)}}
		if c.indices != nil {
			p["indices"] = m.accessor("SCALAR", c.indices)
		}
		a := oneNode(m, m.mesh(p)).load(t, gltf.Options{})
		checkAsset(t, a)
		assert.Equal(t, c.want, positionsInFile(a), c.name)
	}
}

func TestMissingNormalsAreFlat(t *testing.T) {
	m := newModel()
	// A ridge: two faces share an edge, and each keeps its own normal.
	p := object{
		"attributes": object{"POSITION": m.accessor("VEC3", []float32{0, 0, 0, 0, 0, 1, 1, 1, 0, -1, 1, 0})},
		"indices":    m.accessor("SCALAR", []uint8{0, 1, 2, 0, 3, 1, 0, 0, 1}),
	}
	a := oneNode(m, m.mesh(p)).load(t, gltf.Options{})
	checkAsset(t, a)
	tris := worldTriangles(a)
	h := math.Sqrt2 / 2
	for c := range 3 {
		assert.InDeltaSlice(t, []float64{0, -h, h}, tris[0][c].normal[:], 1e-6)
		assert.InDeltaSlice(t, []float64{0, h, h}, tris[1][c].normal[:], 1e-6)
	}
	assert.Len(t, tris, 3, "a triangle without area stays, with some normal")
}

func TestNormalsAreRepairedAndTurned(t *testing.T) {
	m := newModel()
	p := object{"attributes": object{
		"POSITION": m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0}),
		"NORMAL":   m.accessorWith("VEC3", []int8{0, 127, 0, 0, 0, 64, 0, 0, 0}, object{"normalized": true}),
	}}
	a := oneNode(m, m.mesh(p)).load(t, gltf.Options{})
	checkAsset(t, a)
	assert.Equal(t, []mgl32.Vec3{{0, 0, 1}, {1, 0, 0}, {1, 0, 0}}, a.Meshes[0].Normals,
		"turned, brought to unit length, and the face's own where it was zero")
}

// One quad of quantized, interleaved, normalized and sparse data against plain
// floats.
func TestAccessorKinds(t *testing.T) {
	want := []mgl32.Vec3{{-1, 0, 1}, {0.5, 0, 1}, {1, 1, 0}}
	positions := map[string]func(m *model) int{
		"float":       func(m *model) int { return m.accessor("VEC3", []float32{-1, 0, 1, 0.5, 0, 1, 1, 1, 0}) },
		"int8 scaled": func(m *model) int { return m.accessor("VEC3", []int8{-2, 0, 2, 1, 0, 2, 2, 2, 0}) },
		"interleaved": func(m *model) int {
			view := m.view(packed([]float32{9, -1, 0, 1, 9, 0.5, 0, 1, 9, 1, 1, 0}), object{"byteStride": 16})
			return m.add("accessors", object{"bufferView": view, "byteOffset": 4, "componentType": 5126, "type": "VEC3", "count": 3})
		},
		"sparse": func(m *model) int {
			indices, values := m.view([]byte{0, 2}, nil), m.view(packed([]float32{-1, 0, 1, 1, 1, 0}), nil)
			return m.accessorWith("VEC3", []float32{7, 7, 7, 0.5, 0, 1, 7, 7, 7}, object{"sparse": object{
				"count": 2, "indices": object{"bufferView": indices, "componentType": 5121}, "values": object{"bufferView": values}}})
		},
		"sparse over zeros": func(m *model) int {
			indices, values := m.view(packed([]uint16{0, 1, 2}), nil), m.view(packed([]float32{-1, 0, 1, 0.5, 0, 1, 1, 1, 0}), nil)
			return m.add("accessors", object{"componentType": 5126, "type": "VEC3", "count": 3, "sparse": object{
				"count": 3, "indices": object{"bufferView": indices, "componentType": 5123}, "values": object{"bufferView": values}}})
		},
	}
	for name, position := range positions {
		m := newModel()
		mesh := m.mesh(object{"attributes": object{"POSITION": position(m)}})
		oneNode(m, mesh)
		o := gltf.Options{}
		if name == "int8 scaled" {
			o.Scale = 0.5
		}
		a := m.load(t, o)
		checkAsset(t, a)
		var got []mgl32.Vec3
		for _, p := range a.Meshes[0].Positions {
			got = append(got, mgl32.Vec3{p[1], p[2], p[0]})
		}
		assert.Equal(t, want, got, name)
	}
}

// Section 3.6.2.2's formulas, at the ends of each type.
func TestNormalizedIntegers(t *testing.T) {
	for _, c := range []struct {
		values any
		want   []float32
	}{
		{[]int8{-128, -127, 0, 127, 1, 0}, []float32{-1, -1, 0, 1, 1. / 127, 0}},
		{[]uint8{0, 255, 51, 0, 1, 0}, []float32{0, 1, 0.2, 0, 1. / 255, 0}},
		{[]int16{-32768, -32767, 0, 32767, 1, 0}, []float32{-1, -1, 0, 1, 1. / 32767, 0}},
		{[]uint16{0, 65535, 13107, 0, 1, 0}, []float32{0, 1, 0.2, 0, 1. / 65535, 0}},
	} {
		m := newModel()
		p := object{"material": texturedMaterial(m, nil), "attributes": object{
			"POSITION":   m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0}),
			"TEXCOORD_0": m.accessorWith("VEC2", c.values, object{"normalized": true}),
		}}
		a := oneNode(m, m.mesh(p)).load(t, gltf.Options{})
		var got []float32
		for _, uv := range a.Meshes[0].UVs {
			got = append(got, uv[0], uv[1])
		}
		assert.Equal(t, c.want, got)
	}
}

func TestMeshesGroupMaterialsAndShareVertices(t *testing.T) {
	m := newModel()
	positions := m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 9, 9, 9})
	normals := m.accessor("VEC3", []float32{0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1})
	uvs := m.accessor("VEC2", []float32{0, 0, 1, 0, 0, 1, 1, 1, 5, 5})
	attributes := object{"POSITION": positions, "NORMAL": normals, "TEXCOORD_0": uvs}
	red := m.add("materials", object{"name": "red"})
	mesh := m.mesh(
		object{"attributes": attributes, "indices": m.accessor("SCALAR", []uint8{0, 1, 2, 2, 1, 3}), "material": red},
		object{"attributes": attributes, "indices": m.accessor("SCALAR", []uint8{3, 2, 1}), "material": texturedMaterial(m, nil)},
		object{"attributes": attributes, "indices": m.accessor("SCALAR", []uint8{0, 1, 2})},
	)
	a := oneNode(m, mesh).load(t, gltf.Options{})
	checkAsset(t, a)
	got := a.Meshes[0]
	assert.Equal(t, []scene.Group{{First: 0, Count: 6, Material: 0}, {First: 6, Count: 3, Material: 1}, {First: 9, Count: 3, Material: 2}}, got.Groups)
	assert.Len(t, got.Positions, 4+3+3, "each group has the vertices that it uses")
	assert.Equal(t, mgl32.Vec2{1, 1}, got.UVs[4])
	assert.Equal(t, mgl32.Vec2{}, got.UVs[0], "a group without texture has no use for them")
	assert.Equal(t, []string{"red", "textured", "default"}, []string{a.Materials[0].Name, a.Materials[1].Name, a.Materials[2].Name})
}

func TestNodesShareMeshes(t *testing.T) {
	m := arrow()
	m.doc["nodes"] = list{
		object{"mesh": 0}, object{"mesh": 0, "translation": list{1, 0, 0}},
		object{"mesh": 0, "scale": list{-1, 1, 1}}, object{"mesh": 0, "scale": list{1, 1, -2}},
	}
	m.doc["scenes"] = list{object{"nodes": list{0, 1, 2, 3}}}
	a := m.load(t, gltf.Options{})
	assert.Len(t, a.Meshes, 2, "one as it is, one reflected")
	checkAsset(t, a)
}

func TestWhatSensorsCantSeeIsLeftOut(t *testing.T) {
	m := newModel()
	positions := m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0})
	attributes := object{"POSITION": positions}
	lines := m.mesh(
		object{"attributes": attributes, "mode": 0}, object{"attributes": attributes, "mode": 1},
		object{"attributes": attributes, "mode": 2}, object{"attributes": attributes, "mode": 3},
		object{"attributes": object{}})
	shape := m.mesh(object{"attributes": object{"POSITION": positions, "COLOR_1": 99}})
	m.doc["nodes"] = list{object{"mesh": lines, "children": list{1}}, object{"mesh": shape, "skin": 0}}
	m.doc["extensionsUsed"] = list{"KHR_lights_punctual", "KHR_texture_transform"}
	a := m.load(t, gltf.Options{})
	checkAsset(t, a)
	require.Len(t, a.Meshes, 1)
	assert.Equal(t, -1, a.Nodes[0].Mesh)
	assert.Equal(t, []string{
		"extension KHR_lights_punctual is not supported and left out",
		"meshes[0].primitives[0] and 3 more: is of points or lines, which sensors can't see, and is left out",
		"meshes[0].primitives[4]: has no POSITION and is left out",
		"nodes[1]: has a skin, but its mesh has no JOINTS_0: it keeps its shape",
	}, a.Warnings)
}

// Colours of every kind of accessor are the factors that the file means; a mesh whose other
// primitives have none has white there.
func TestVertexColors(t *testing.T) {
	normalized := object{"normalized": true}
	for name, c := range map[string]struct {
		color func(m *model) int
		want  []mgl32.Vec4
	}{
		"floats with alpha": {func(m *model) int { return m.accessor("VEC4", []float32{1, 0.5, 0, 0.25, 2, -1, 0, 1, 0, 0, 0, 0}) },
			[]mgl32.Vec4{{1, 0.5, 0, 0.25}, {1, 0, 0, 1}, {0, 0, 0, 0}}},
		"floats": {func(m *model) int { return m.accessor("VEC3", []float32{1, 0.5, 0, 0, 1, 0, 0, 0, 1}) },
			[]mgl32.Vec4{{1, 0.5, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}}},
		"bytes": {func(m *model) int {
			return m.accessorWith("VEC4", []uint8{255, 51, 0, 102, 0, 0, 0, 0, 255, 255, 255, 255}, normalized)
		}, []mgl32.Vec4{{1, 0.2, 0, 0.4}, {0, 0, 0, 0}, {1, 1, 1, 1}}},
		"shorts": {func(m *model) int {
			return m.accessorWith("VEC3", []uint16{65535, 13107, 0, 0, 0, 0, 65535, 65535, 65535}, normalized)
		}, []mgl32.Vec4{{1, 0.2, 0, 1}, {0, 0, 0, 1}, {1, 1, 1, 1}}},
	} {
		for _, normals := range []bool{true, false} {
			m := newModel()
			positions := m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0})
			plain, colored := object{"POSITION": positions}, object{"POSITION": positions, "COLOR_0": c.color(m)}
			if normals {
				colored["NORMAL"] = m.accessor("VEC3", []float32{0, 0, 1, 0, 0, 1, 0, 0, 1})
			}
			a := oneNode(m, m.mesh(object{"attributes": plain}, object{"attributes": colored}, object{"attributes": plain})).load(t, gltf.Options{})
			checkAsset(t, a)
			assert.Empty(t, a.Warnings)
			got := a.Meshes[0].Colors
			require.Len(t, got, 9, name)
			for i := range 3 {
				assert.Equal(t, mgl32.Vec4{1, 1, 1, 1}, got[i])
				assert.InDeltaSlice(t, c.want[i][:], got[3+i][:], 1e-6, "%s, vertex %d", name, i)
				assert.Equal(t, mgl32.Vec4{1, 1, 1, 1}, got[6+i])
			}
		}
	}

	m := newModel()
	p := object{"attributes": object{
		"POSITION": m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0}),
		"COLOR_0":  m.accessor("VEC2", []float32{0, 0, 0, 0, 0, 0}),
	}}
	_, err := oneNode(m, m.mesh(p)).tryLoad(gltf.Options{})
	assert.ErrorContains(t, err, "meshes[0].primitives[0].attributes.COLOR_0: accessors[1]: type is VEC2, want VEC4")
}
