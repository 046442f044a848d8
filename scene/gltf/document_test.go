package gltf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// full is a model with one of everything, for edits to break.
func full() *model {
	m := newModel()
	texturedMaterial(m, nil)
	p := object{
		"material": 0,
		"attributes": object{
			"POSITION":   m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0}), // accessors[0]
			"NORMAL":     m.accessor("VEC3", []float32{0, 0, 1, 0, 0, 1, 0, 0, 1}), // accessors[1]
			"TEXCOORD_0": m.accessor("VEC2", []float32{0, 0, 1, 0, 0, 1}),          // accessors[2]
		},
		"indices": m.accessor("SCALAR", []uint16{0, 1, 2}), // accessors[3]
	}
	m.doc["nodes"] = list{object{"name": "car", "children": list{1}}, object{"mesh": m.mesh(p)}}
	sampler := object{"input": m.accessor("SCALAR", []float32{0, 1}), "output": m.accessor("VEC3", make([]float32, 6))}
	m.add("animations", object{
		"channels": list{object{"sampler": 0, "target": object{"node": 1, "path": "translation"}}},
		"samplers": list{sampler},
	})
	m.doc["bufferViews"] = append(m.doc["bufferViews"].(list), object{"buffer": 0, "byteLength": 4})
	return m
}

// edit sets the value at a path such as "nodes.1.mesh", or removes it for
// value remove{}.
func edit(t *testing.T, doc object, path string, value any) {
	t.Helper()
	// Through JSON, so that every list and object has one type.
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	clear(doc)
	require.NoError(t, json.Unmarshal(text, &doc))
	keys := strings.Split(path, ".")
	var at any = doc
	for i, key := range keys {
		var n int
		switch v := at.(type) {
		case object:
			if i < len(keys)-1 {
				at = v[key]
				continue
			}
			v[key] = value
			if value == (remove{}) {
				delete(v, key)
			}
		case list:
			_, err := fmt.Sscan(key, &n)
			require.NoError(t, err, path)
			if i < len(keys)-1 {
				at = v[n]
				continue
			}
			v[n] = value
		default:
			t.Fatalf("%s: no %s", path, key)
		}
	}
}

type remove struct{}

func TestFullModelIsFine(t *testing.T) {
	a := full().load(t, gltf.Options{})
	checkAsset(t, a)
	assert.Empty(t, a.Warnings)
}

// notANumber stands for a new buffer view that holds one.
const notANumber = "NaN"

// badDocuments are edits of the full model, with the kind and text of the error.
var badDocuments = []struct {
	path  string
	value any
	kind  error
	want  string
}{
	// The document.
	{"asset", remove{}, gltf.ErrFormat, "asset: is missing"},
	{"asset.version", "1.0", gltf.ErrUnsupported, "asset.version: glTF 1.0 is not supported: convert the file to 2.0"},
	{"asset.version", 2, gltf.ErrFormat, "asset.version: want a string, have 2"},
	{"asset.minVersion", "2.1", gltf.ErrUnsupported, "asset.minVersion: glTF 2.1 is not supported"},
	{"extensionsRequired", list{"KHR_lights_punctual", "CESIUM_RTC"}, gltf.ErrUnsupported, "extensionsRequired: CESIUM_RTC is not supported"},
	{"nodes", object{}, gltf.ErrFormat, "nodes: want an array, have an object"},
	{"nodes.1", nil, gltf.ErrFormat, "nodes[1]: want an object, have null"},
	{"Nodes", list{nil}, gltf.ErrFormat, `property "Nodes" must be written "nodes"`},
	// Nodes.
	{"scene", 1, gltf.ErrFormat, "scene: scenes[1] is not there: the file has 1"},
	{"scenes.0.nodes", list{7}, gltf.ErrFormat, "scenes[0].nodes[0]: nodes[7] is not there: the file has 2"},
	{"nodes.0.children", list{1, -1}, gltf.ErrFormat, "nodes[0].children[1]: -1 is out of range: want 0 to 2147483647"},
	{"nodes.0.children", list{2}, gltf.ErrFormat, "nodes[0].children[0]: nodes[2] is not there: the file has 2"},
	{"nodes.0.children", list{0}, gltf.ErrFormat, "nodes[0]: is its own ancestor"},
	{"nodes.1.children", list{0}, gltf.ErrFormat, "nodes[0]: is its own ancestor"},
	{"nodes.1.mesh", 1, gltf.ErrFormat, "nodes[1].mesh: meshes[1] is not there: the file has 1"},
	{"nodes.1.mesh", 0.5, gltf.ErrFormat, "nodes[1].mesh: want a whole number, have 0.5"},
	{"nodes.1.mesh", 1e300, gltf.ErrFormat, "nodes[1].mesh: want a whole number"},
	{"nodes.1.mesh", json.Number("1.0"), gltf.ErrFormat, "nodes[1].mesh: meshes[1] is not there: the file has 1"},
	{"nodes.1.mesh", json.Number("1e20"), gltf.ErrFormat, "nodes[1].mesh: want a whole number, have 1e20"},
	{"nodes.1.mesh", json.Number("-1.0"), gltf.ErrFormat, "nodes[1].mesh: -1 is out of range"},
	{"accessors.0.componentType", 5126.5, gltf.ErrFormat, "accessors[0].componentType: 5126.5 is not one of"},
	{"nodes.1.rotation", list{0, 0, 1e-9, 0}, gltf.ErrFormat, "nodes[1].rotation: [0 0 1e-09 0] is not a unit quaternion"},
	{"nodes.1.rotation", list{0, 0, 1}, gltf.ErrFormat, "nodes[1].rotation: want at least 4 items, have 3"},
	{"nodes.1.scale", list{1, 1e200, 1}, gltf.ErrFormat, "nodes[1].scale: [1 1e+200 1] is out of range"},
	{"nodes.1.translation", list{0, 1e200, 0}, gltf.ErrFormat, "nodes[1].translation: [0 0 1e+200] is out of range"},
	{"nodes.1.matrix", list{1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, gltf.ErrFormat, "nodes[1].matrix: its last row is not 0 0 0 1"},
	{"nodes.1.extras", object{"semantic_tag": "carr"}, scene.ErrUnknownTag, `nodes[1]: extras.semantic_tag: unknown semantic tag "carr": did you mean car?`},
	// Meshes.
	{"meshes.0.primitives.0.mode", 7, gltf.ErrFormat, "meshes[0].primitives[0].mode: 7 is not one of [0 1 2 3 4 5 6]"},
	{"meshes.0.primitives.0.attributes.POSITION", 99, gltf.ErrFormat, "meshes[0].primitives[0].attributes.POSITION: accessors[99] is not there: the file has 6"},
	{"meshes.0.primitives.0.attributes.POSITION", 2, gltf.ErrFormat, "meshes[0].primitives[0].attributes.POSITION: accessors[2]: type is VEC2, want VEC3"},
	{"meshes.0.primitives.0.attributes.NORMAL", 5, gltf.ErrFormat, "meshes[0].primitives[0].attributes.NORMAL: accessors[5] has 2 elements, POSITION has 3"},
	{"meshes.0.primitives.0.attributes.TEXCOORD_0", "x", gltf.ErrFormat, `meshes[0].primitives[0].attributes.TEXCOORD_0: want a whole number, have "x"`},
	{"meshes.0.primitives.0.indices", 4, gltf.ErrFormat, "meshes[0].primitives[0].indices: accessors[4]: componentType is FLOAT, which isn't allowed for indices"},
	{"meshes.0.primitives.0.indices", 0, gltf.ErrFormat, "meshes[0].primitives[0].indices: accessors[0]: type is VEC3, want SCALAR"},
	{"meshes.0.primitives.0.material", 5, gltf.ErrFormat, "meshes[0].primitives[0].material: materials[5] is not there: the file has 1"},
	{"accessors.0.count", 2, gltf.ErrFormat, "meshes[0].primitives[0].attributes.NORMAL: accessors[1] has 3 elements, POSITION has 2"},
	{"accessors.3.count", 2, gltf.ErrFormat, "meshes[0].primitives[0]: has 2 corners, which are no whole triangles"},
	// Accessors, views, buffers.
	{"accessors.0.count", 4, gltf.ErrFormat, "meshes[0].primitives[0].attributes.POSITION: accessors[0]: its 4 elements end at byte 48, bufferViews[0] has 36"},
	{"accessors.0.count", -1, gltf.ErrFormat, "accessors[0].count: -1 is out of range: want 0 to 4294967295"},
	{"accessors.1.count", 0, gltf.ErrFormat, "meshes[0].primitives[0].attributes.NORMAL: accessors[1] has 0 elements, POSITION has 3"},
	{"nodes", nil, gltf.ErrFormat, "scenes[0].nodes[0]: nodes[0] is not there: the file has 0"},
	{"accessors.0.componentType", nil, gltf.ErrFormat, "accessors[0].componentType: null is not one of"},
	{"accessors.0.count", 4294967295, gltf.ErrFormat, "accessors[0]: its 4294967295 elements end at byte 51539607540"},
	{"accessors.0.count", json.Number("9223372036854775807"), gltf.ErrFormat, "accessors[0].count: 9223372036854775807 is out of range"},
	{"accessors.0.count", json.Number("92233720368547758070"), gltf.ErrFormat, "accessors[0].count: want a whole number, have 92233720368547758070"},
	{"accessors.0.byteOffset", 1 << 40, gltf.ErrFormat, "accessors[0]: its 3 elements end at byte 1099511627812"},
	{"accessors.0.byteOffset", -4, gltf.ErrFormat, "accessors[0].byteOffset: -4 is out of range"},
	{"accessors.0.componentType", 5124, gltf.ErrFormat, "accessors[0].componentType: 5124 is not one of [5120 5121 5122 5123 5125 5126]"},
	{"accessors.0.componentType", 5125, gltf.ErrFormat, "accessors[0]: componentType is UNSIGNED_INT, which isn't allowed here"},
	{"accessors.1.componentType", 5120, gltf.ErrFormat, "accessors[1]: componentType is BYTE, which must be normalized here"},
	{"accessors.0.type", "VEC5", gltf.ErrFormat, `accessors[0].type: "VEC5" is not one of SCALAR, VEC2`},
	{"accessors.0.bufferView", 77, gltf.ErrFormat, "accessors[0]: bufferViews[77] is not there"},
	{"accessors.0.sparse", object{"count": 1, "indices": object{"bufferView": 6, "componentType": 5121}}, gltf.ErrFormat, "accessors[0].sparse.values: is missing"},
	{"accessors.0.sparse", object{"count": 5, "indices": object{"bufferView": 6, "componentType": 5121}, "values": object{"bufferView": 0}}, gltf.ErrFormat, "accessors[0]: sparse.indices: end at byte 5, bufferViews[6] has 4"},
	{"accessors.0.sparse", object{"count": 4, "indices": object{"bufferView": 6, "componentType": 5121}, "values": object{"bufferView": 0}}, gltf.ErrFormat, "accessors[0]: sparse.values: end at byte 48, bufferViews[0] has 36"},
	{"accessors.0.sparse", object{"count": 1, "indices": object{"bufferView": 1, "byteOffset": 11, "componentType": 5121}, "values": object{"bufferView": 0}}, gltf.ErrFormat, "accessors[0]: sparse.indices: index 63 is out of range: the accessor has 3 elements"},
	{"bufferViews.0.buffer", 3, gltf.ErrFormat, "accessors[0]: bufferViews[0]: buffers[3] is not there: the file has 1"},
	{"bufferViews.0.byteStride", 8, gltf.ErrFormat, "accessors[0]: elements have 12 bytes, bufferViews[0].byteStride is 8"},
	{"bufferViews.0.byteStride", 253, gltf.ErrFormat, "bufferViews[0].byteStride: 253 is out of range: want 0 to 252"},
	{"bufferViews.0.byteLength", 1 << 39, gltf.ErrFormat, "accessors[0]: bufferViews[0] ends at byte 549755813888, buffers[0] has"},
	{"buffers.0.byteLength", 1 << 39, gltf.ErrFormat, "accessors[0]: bufferViews[0]: buffers[0] has 136 bytes, its byteLength says 549755813888"},
	{"buffers.0.byteLength", remove{}, gltf.ErrFormat, "buffers[0].byteLength: is missing"},
	{"buffers.0.uri", remove{}, gltf.ErrFormat, "buffers[0]: has no URI, and the file has no binary chunk for it"},
	{"buffers.0.uri", "data:;base64", gltf.ErrFormat, `buffers[0]: data URI "data:;base64" has no comma before its data`},
	{"buffers.0.uri", "data:;base64,A*", gltf.ErrFormat, "buffers[0]: data URI: illegal base64 data"},
	{"buffers.0.uri", "no.bin", fs.ErrNotExist, `buffers[0]: file "no.bin": file does not exist`},
	{"buffers.0.uri", "../m.bin", gltf.ErrPath, `buffers[0]: URI "../m.bin" leads out of the model's folder: put the file there or below`},
	{"buffers.0.uri", "a/%2e%2e/..%2Fm.bin", gltf.ErrPath, "leads out of the model's folder"},
	{"buffers.0.uri", `..\m.bin`, gltf.ErrPath, "leads out of the model's folder"},
	{"buffers.0.uri", "/etc/passwd", gltf.ErrPath, "leads out of the model's folder"},
	{"buffers.0.uri", "https://example.org/m.bin", gltf.ErrUnsupported, "only relative files and data URIs are read"},
	{"buffers.0.uri", "file:///etc/passwd", gltf.ErrUnsupported, "only relative files and data URIs are read"},
	{"buffers.0.uri", "./", gltf.ErrFormat, "names no file"},
	{"buffers.0.uri", "short.bin", gltf.ErrFormat, "buffers[0] has 3 bytes, its byteLength says 136"},
	{"buffers.0.uri", "pointer.bin", gltf.ErrFormat, "pointer.bin is a Git LFS pointer, not the file itself: run git lfs pull"},
	{"buffers.0.uri", "folder", gltf.ErrFormat, "folder is not a regular file"},
	// Materials.
	{"materials.0.alphaMode", "CLEAR", gltf.ErrFormat, `materials[0].alphaMode: "CLEAR" is not one of OPAQUE, MASK, BLEND`},
	{"materials.0.pbrMetallicRoughness.baseColorTexture.index", 3, gltf.ErrFormat, "materials[0].pbrMetallicRoughness.baseColorTexture: textures[3] is not there: the file has 1"},
	{"materials.0.pbrMetallicRoughness.baseColorTexture.index", remove{}, gltf.ErrFormat, "materials[0].pbrMetallicRoughness.baseColorTexture.index: is missing"},
	{"materials.0.pbrMetallicRoughness.baseColorTexture.extensions", object{"KHR_texture_transform": object{"scale": list{1}}}, gltf.ErrFormat, "materials[0].pbrMetallicRoughness.baseColorTexture.extensions.KHR_texture_transform.scale: want at least 2 items, have 1"},
	{"materials.0.pbrMetallicRoughness.baseColorTexture.extensions", object{"KHR_texture_transform": object{"scale": list{1e300, 1}}}, gltf.ErrFormat, "meshes[0].primitives[0].attributes.TEXCOORD_0: element 1 is out of range once transformed"},
	{"materials.0.extensions", object{"KHR_materials_emissive_strength": object{"emissiveStrength": -1}}, gltf.ErrFormat, "materials[0].extensions.KHR_materials_emissive_strength.emissiveStrength: -1 is out of range: want 0 or more"},
	{"materials.0.extras", object{"lidar_reflectance": 2}, gltf.ErrFormat, "materials[0].extras.lidar_reflectance: 2 is out of range: want a number from 0 to 1"},
	{"materials.0.extras", object{"retroreflective": "x"}, gltf.ErrFormat, "materials[0].extras.retroreflective: want true or false"},
	{"textures.0.source", 4, gltf.ErrFormat, "textures[0]: images[4] is not there: the file has 1"},
	{"textures.0.sampler", 4, gltf.ErrFormat, "textures[0]: samplers[4] is not there: the file has 0"},
	{"images.0.uri", "no.png", fs.ErrNotExist, `materials[0].pbrMetallicRoughness.baseColorTexture: textures[0]: images[0]: file "no.png": file does not exist`},
	{"images.0.uri", remove{}, gltf.ErrFormat, "images[0]: has neither uri nor bufferView"},
	{"images.0.uri", "data:image/x,GEF89a12", gltf.ErrUnsupported, `images[0]: is neither PNG, JPEG nor WebP (it starts with "GEF89a12"): export it as PNG or JPEG`},
	{"images.0.uri", "data:,", gltf.ErrUnsupported, `images[0]: is neither PNG, JPEG nor WebP (it starts with "")`},
	{"images.0.uri", "half.png", gltf.ErrFormat, "images[0]: decode PNG: png: invalid format: not enough pixel data"},
	{"images.0.uri", "huge.png", gltf.ErrTooLarge, "images[0]: picture has 100000x100000 pixels: at most 16384 a side"},
	{"images.0.uri", "liar.png", gltf.ErrFormat, "images[0]: picture says 8000x8000 pixels, its bytes hold at most 577920"},
	// Not finite.
	{"accessors.0.bufferView", notANumber, gltf.ErrFormat, "meshes[0].primitives[0].attributes.POSITION: accessors[0]: element 2 is not finite: [0 NaN 0]"},
}

// badClips are edits of the full model's animation, with the fault.
var badClips = []struct {
	path  string
	value any
	want  string
}{
	{"animations.0.channels.0.sampler", 1, "animations[0].channels[0].sampler: samplers[1] is not there: the file has 1"},
	{"animations.0.channels.0.target.node", 5, "animations[0].channels[0].target.node: nodes[5] is not there: the file has 2"},
	{"animations.0.channels.0.target.path", "colour", `animations[0].channels[0].target.path: "colour" is not one of translation`},
	{"animations.0.channels.0.target.path", "rotation", "animations[0].samplers[0].output: accessors[5]: type is VEC3, want VEC4"},
	{"animations.0.samplers.0.interpolation", "CUBIC", `animations[0].samplers[0].interpolation: "CUBIC" is not one of LINEAR, STEP, CUBICSPLINE`},
	{"animations.0.samplers.0.interpolation", "CUBICSPLINE", "animations[0].samplers[0].output: accessors[5] has 2 elements, 2 keys need 6"},
	{"animations.0.samplers.0.input", 5, "animations[0].samplers[0].input: accessors[5]: type is VEC3, want SCALAR"},
	{"accessors.4.count", 0, "animations[0].samplers[0].input: accessors[4]: has no keys"},
	{"accessors.4.byteOffset", 4, "animations[0].samplers[0].input: accessors[4]: its 2 elements end at byte 12"},
	{"accessors.4.bufferView", 5, "animations[0].samplers[0].input: accessors[4]: time 0 s does not come after 0 s"},
	{"animations.0.channels", list{
		object{"sampler": 0, "target": object{"node": 1, "path": "scale"}},
		object{"sampler": 0, "target": object{"node": 1, "path": "scale"}},
	}, "animations[0].channels[1].target: another channel has the same"},
	{"animations.0.samplers.0", nil, "animations[0].samplers[0]: want an object, have null"},
	{"animations.0", 7, "animations[0]: want an object, have 7"},
	{"animations.0.extensions", 7, "animations[0].extensions: want an object, have 7"},
	{"animations.0.channels.0.extensions", list{}, "animations[0].channels[0].extensions: want an object, have an array"},
	{"animations.0.channels.0.target.extensions", "x", `animations[0].channels[0].target.extensions: want an object, have "x"`},
	{"animations.0.samplers.0.extensions", 7, "animations[0].samplers[0].extensions: want an object, have 7"},
	{"buffers.1", object{"byteLength": 24, "uri": "lost.bin"}, `animations[0].samplers[0].output: accessors[5]: bufferViews[5]: buffers[1]: file "lost.bin": file does not exist`},
	{"buffers.1", object{"byteLength": 24, "uri": "../x.bin"}, `accessors[5]: bufferViews[5]: buffers[1]: URI "../x.bin" leads out of the model's folder`},
	{"bufferViews.5", object{"buffer": 1, "byteLength": 24, "extensions": object{"EXT_meshopt_compression": object{}}},
		"animations[0].samplers[0].output: accessors[5]: bufferViews[5] is compressed by EXT_meshopt_compression"},
}

// One bad clip is left out with a warning that names its fault; the mesh and the other clip stay.
func TestABadClipIsLeftOut(t *testing.T) {
	for _, c := range badClips {
		name := fmt.Sprintf("%s=%.60v", c.path, c.value)
		m := full()
		m.add("animations", object{
			"name":     "good",
			"channels": list{object{"sampler": 0, "target": object{"node": 0, "path": "translation"}}},
			"samplers": list{object{"input": m.accessor("SCALAR", []float32{0, 1}), "output": m.accessor("VEC3", make([]float32, 6))}},
		})
		var doc object
		require.NoError(t, json.Unmarshal(m.embedded(), &doc))
		doc["buffers"] = append(doc["buffers"].(list), object{"byteLength": 24, "extensions": object{"EXT_meshopt_compression": object{"fallback": true}}})
		if c.path == "buffers.1" {
			doc["bufferViews"].(list)[5].(object)["buffer"] = 1
		}
		edit(t, doc, c.path, c.value)
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		a, err := loadFiles(map[string][]byte{"m.gltf": text}, gltf.Options{})
		require.NoError(t, err, name)
		checkAsset(t, a)
		assert.Len(t, a.Meshes, 1, name)
		if assert.Len(t, a.Animations, 1, name) {
			assert.Equal(t, "good", a.Animations[0].Name, name)
		}
		if assert.Len(t, a.Warnings, 1, name) {
			assert.Contains(t, a.Warnings[0], c.want, name)
			assert.Contains(t, a.Warnings[0], "the animation is left out", name)
		}
	}
}

// A clip too many for the budget is an error all the same: leaving it out would hide why.
func TestAClipBeyondTheBudgetIsAnError(t *testing.T) {
	m := full()
	huge := m.add("accessors", object{"componentType": 5126, "type": "SCALAR", "count": 4_000_000_000})
	m.doc["animations"].(list)[0].(object)["samplers"].(list)[0].(object)["input"] = huge
	_, err := m.tryLoad(gltf.Options{})
	assert.ErrorIs(t, err, gltf.ErrTooLarge)
}

// What a file has in compressed form alone is an error that names the compression, required or
// not. With the plain data beside it, it loads.
func TestCompressionsAreNamed(t *testing.T) {
	draco := func(view any) *model {
		m := full()
		p := m.doc["meshes"].(list)[0].(object)["primitives"].(list)[0].(object)
		p["extensions"] = object{"KHR_draco_mesh_compression": object{"bufferView": 0, "attributes": object{"POSITION": 0}}}
		switch view {
		case nil:
			delete(m.doc["accessors"].(list)[0].(object), "bufferView")
		case "none":
			p["attributes"] = object{}
		}
		return m
	}
	meshopt := func(name string, fallback object) *model {
		m := full()
		m.doc["bufferViews"].(list)[0].(object)["extensions"] = object{name: object{"buffer": 0}}
		m.doc["bufferViews"].(list)[0].(object)["buffer"] = 1
		m.doc["fallback"] = fallback
		return m
	}
	plain := object{"byteLength": 36, "uri": "data:;base64," + strings.Repeat("AAAA", 12)}
	for name, c := range map[string]struct {
		m    *model
		want string // empty: it loads
	}{
		"draco":              {draco(nil), "meshes[0].primitives[0].extensions: is compressed by KHR_draco_mesh_compression, which is not supported: export the model without it"},
		"draco, no accessor": {draco("none"), "meshes[0].primitives[0].extensions: is compressed by KHR_draco_mesh_compression"},
		"draco and plain":    {draco(0), ""},
		"meshopt":            {meshopt("EXT_meshopt_compression", object{"byteLength": 36, "extensions": object{"EXT_meshopt_compression": object{"fallback": true}}}), "bufferViews[0] is compressed by EXT_meshopt_compression, which is not supported"},
		"meshopt, unmarked":  {meshopt("EXT_meshopt_compression", object{"byteLength": 36}), "bufferViews[0] is compressed by EXT_meshopt_compression"},
		"meshopt, Khronos's": {meshopt("KHR_meshopt_compression", object{"byteLength": 36}), "bufferViews[0] is compressed by KHR_meshopt_compression"},
		"meshopt and plain":  {meshopt("EXT_meshopt_compression", plain), ""},
	} {
		var doc object
		require.NoError(t, json.Unmarshal(c.m.embedded(), &doc))
		if extra, ok := doc["fallback"]; ok {
			doc["buffers"] = append(doc["buffers"].(list), extra)
		}
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		a, err := loadFiles(map[string][]byte{"m.gltf": text}, gltf.Options{})
		if c.want == "" {
			require.NoError(t, err, name)
			assert.Len(t, a.Meshes, 1, name)
			continue
		}
		assert.ErrorIs(t, err, gltf.ErrUnsupported, name)
		assert.ErrorContains(t, err, c.want, name)
	}
}

// An extension that holds no shapes isn't needed to measure them, whatever the file says. Blender requires
// KHR_lights_punctual of every scene that has a lamp.
func TestARequiredExtensionWithoutShapesIsAWarning(t *testing.T) {
	m := full()
	m.doc["extensionsRequired"] = list{"KHR_lights_punctual", "KHR_materials_clearcoat", "EXT_texture_webp", "KHR_animation_pointer", "ACME_soundtrack"}
	m.doc["extensionsUsed"] = list{"KHR_lights_punctual", "KHR_materials_clearcoat", "KHR_texture_transform", "KHR_xmp_json_ld"}
	m.doc["extensions"] = object{"KHR_lights_punctual": object{"lights": list{object{"type": "point"}}}, "ACME_soundtrack": object{}}
	m.doc["nodes"].(list)[0].(object)["extensions"] = object{"KHR_lights_punctual": object{"light": 0}}
	m.doc["materials"].(list)[0].(object)["extensions"] = object{"KHR_materials_clearcoat": object{"clearcoatFactor": 1}}
	m.doc["textures"].(list)[0].(object)["extensions"] = object{"EXT_texture_webp": object{"source": 0}}
	a := m.load(t, gltf.Options{})
	checkAsset(t, a)
	assert.Len(t, a.Meshes, 1)
	assert.Equal(t, []string{
		"extension KHR_lights_punctual is required, but holds no shapes: it is left out",
		"extension KHR_materials_clearcoat is required, but holds no shapes: it is left out",
		"extension KHR_animation_pointer is required, but holds no shapes: it is left out",
		"extension ACME_soundtrack is required, but holds no shapes: it is left out",
		"extension KHR_xmp_json_ld is not supported and left out",
	}, a.Warnings)
}

// A compression holds shapes, and so may what nobody here knows, where shapes are.
func TestARequiredExtensionOfShapesIsRefused(t *testing.T) {
	for _, name := range []string{"ACME_curved_shapes", "KHR_draco_mesh_compression"} {
		for place, at := range map[string]func(doc object) object{
			"buffer":    func(doc object) object { return doc["buffers"].(list)[0].(object) },
			"view":      func(doc object) object { return doc["bufferViews"].(list)[0].(object) },
			"accessor":  func(doc object) object { return doc["accessors"].(list)[0].(object) },
			"mesh":      func(doc object) object { return doc["meshes"].(list)[0].(object) },
			"primitive": func(doc object) object { return doc["meshes"].(list)[0].(object)["primitives"].(list)[0].(object) },
			"node":      func(doc object) object { return doc["nodes"].(list)[1].(object) },
			"skin":      func(doc object) object { return doc["skins"].(list)[0].(object) },
		} {
			m := full()
			m.doc["skins"] = list{object{"joints": list{0}}}
			m.doc["extensionsRequired"] = list{name, "KHR_lights_punctual", "KHR_texture_transform"}
			var doc object
			require.NoError(t, json.Unmarshal(m.embedded(), &doc))
			at(doc)["extensions"] = object{name: object{"x": 1}}
			text, err := json.Marshal(doc)
			require.NoError(t, err)
			_, err = loadFiles(map[string][]byte{"m.gltf": text}, gltf.Options{})
			require.ErrorIs(t, err, gltf.ErrUnsupported, place)
			assert.ErrorContains(t, err, "extensionsRequired: "+name+" is not supported: export the model without it", place)
		}
	}
}

// Some exporters write every number with a fraction, 5126.0. Such a file loads as if it were
// written as the specification wants it.
func TestWholeNumbersMayHaveAFraction(t *testing.T) {
	m := full()
	m.doc["nodes"].(list)[1].(object)["extras"] = object{"semantic_tag": 14}
	m.doc["nodes"].(list)[1].(object)["extensions"] = object{"EXT_mesh_gpu_instancing": object{"attributes": object{"TRANSLATION": m.accessor("VEC3", []float32{1, 2, 3})}}}
	m.doc["materials"].(list)[0].(object)["pbrMetallicRoughness"].(object)["baseColorTexture"].(object)["extensions"] = object{"KHR_texture_transform": object{"texCoord": 0}}
	m.doc["bufferViews"].(list)[0].(object)["target"] = 34962
	m.doc["skins"] = list{object{"joints": list{0}}}
	m.doc["samplers"] = list{object{"wrapS": 33071, "magFilter": 9728, "minFilter": 9984}}
	m.doc["textures"].(list)[0].(object)["sampler"] = 0
	want := m.load(t, gltf.Options{})
	require.Empty(t, want.Warnings)
	for _, form := range []string{".0", "e0", ".000E+00"} {
		text := bytes.NewBuffer(nil)
		d := json.NewDecoder(bytes.NewReader(m.embedded()))
		d.UseNumber()
		var doc any
		require.NoError(t, d.Decode(&doc))
		require.NoError(t, json.NewEncoder(text).Encode(withFractions(doc, form)))
		require.Contains(t, text.String(), `"componentType":5126`+form)
		got, err := loadFiles(map[string][]byte{"m.gltf": text.Bytes()}, gltf.Options{})
		require.NoError(t, err, form)
		if assert.Len(t, got.Warnings, 1, form) {
			assert.Contains(t, got.Warnings[0], " whole numbers with a fraction or an exponent, the first is 0"+form)
		}
		got.Warnings = nil
		assert.Equal(t, want, got, form)
	}
}

// withFractions is a JSON value with an ending at each of its whole numbers.
func withFractions(v any, ending string) any {
	switch v := v.(type) {
	case object:
		for k := range v {
			v[k] = withFractions(v[k], ending)
		}
	case list:
		for i := range v {
			v[i] = withFractions(v[i], ending)
		}
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return json.Number(v.String() + ending)
		}
	}
	return v
}

// Every broken document is answered with its place and fault.
func TestBadDocuments(t *testing.T) {
	picture := pngOf(image.NewNRGBA(image.Rect(0, 0, 64, 64)))
	files := map[string][]byte{
		"short.bin": {1, 2, 3}, "folder/x": nil, "half.png": picture[:len(picture)-40],
		"pointer.bin": []byte("version https://git-lfs.github.com/spec/v1\n" + strings.Repeat("x", 500)),
		"huge.png":    pngHeader(100000, 100000), "liar.png": pngHeader(8000, 8000),
	}
	for _, c := range badDocuments {
		name := fmt.Sprintf("%s=%.60v", c.path, c.value)
		m := full()
		if c.value == notANumber {
			c.value = m.view(packed([]float32{0, 0, 0, 0, 0, 0, 0, float32(math.NaN()), 0}), nil)
		}
		var doc object
		require.NoError(t, json.Unmarshal(m.embedded(), &doc))
		edit(t, doc, c.path, c.value)
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		files["m.gltf"] = text
		a, err := loadFiles(files, gltf.Options{})
		if assert.Error(t, err, name) {
			assert.Nil(t, a, name)
			assert.ErrorIs(t, err, c.kind, name)
			assert.Contains(t, err.Error(), c.want, name)
			var place *gltf.Error
			assert.ErrorAs(t, err, &place, name)
		}
	}
}

// pngHeader is a PNG that claims a size and ends.
func pngHeader(width, height int) []byte {
	data := pngOf(image.NewNRGBA(image.Rect(0, 0, 1, 1)))[:70]
	header := data[12:29] // type and content of IHDR
	copy(header[4:], []byte{byte(width >> 24), byte(width >> 16), byte(width >> 8), byte(width)})
	copy(header[8:], []byte{byte(height >> 24), byte(height >> 16), byte(height >> 8), byte(height)})
	sum := crc32.ChecksumIEEE(header)
	copy(data[29:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return data
}

func TestBadIndices(t *testing.T) {
	m := newModel()
	p := object{
		"attributes": object{"POSITION": m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0})},
		"indices":    m.accessor("SCALAR", []uint32{0, 1, 3}),
	}
	_, err := oneNode(m, m.mesh(p)).tryLoad(gltf.Options{})
	assert.EqualError(t, err, "m.gltf: meshes[0].primitives[0].indices: index 3, the 3. one, is out of range: POSITION has 3 elements")

	m = newModel()
	p = object{"mode": 5, "attributes": object{"POSITION": m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0})}}
	_, err = oneNode(m, m.mesh(p)).tryLoad(gltf.Options{})
	assert.EqualError(t, err, "m.gltf: meshes[0].primitives[0]: has 2 corners, which are no triangle")

	m = newModel()
	m = oneNode(m, m.triangle(0, 0, 0, 1e30, 0, 0, 0, 1e30, 0))
	_, err = m.tryLoad(gltf.Options{Scale: 1e20})
	assert.ErrorContains(t, err, "meshes[0].primitives[0].attributes.POSITION: element 1 at")
}

func TestBadContainers(t *testing.T) {
	glb := arrow().glb()
	patched := func(at int, b ...byte) []byte {
		out := append([]byte(nil), glb...)
		copy(out[at:], b)
		return out
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":           {nil, "m.gltf: line 1, column 0: the JSON ends early"},
		"cut JSON":        {arrow().embedded()[:100], "the JSON ends early"},
		"no JSON":         {[]byte("{\n  \"asset\": }"), "line 2, column 12: invalid character '}'"},
		"text":            {[]byte("hello"), `it begins with "hello", not as glTF's JSON or a .glb file does`},
		"two documents":   {append(arrow().embedded(), "{}"...), "something follows the document"},
		"no object":       {[]byte("[]"), "want an object, have an array"},
		"LFS":             {[]byte("version https://git-lfs.github.com/spec/v1\noid"), "run git lfs pull"},
		"deep":            {[]byte(strings.Repeat("[", 1<<20)), "exceeded max depth"},
		"short header":    {[]byte("glTF\x02\x00"), "the .glb header needs 12 bytes, the file has 6"},
		"version 1":       {patched(4, 1), ".glb version 1: convert it to version 2"},
		"length too long": {patched(8, 0xff, 0xff, 0xff), "the .glb header says"},
		"length nil":      {patched(8, 0, 0, 0, 0), "the .glb header says 0 bytes"},
		"cut":             {glb[:len(glb)-4], "the .glb header says"},
		"JSON too long":   {patched(12, 0xff, 0xff), "first .glb chunk: its header says"},
		"JSON missing":    {patched(16, 'B', 'I', 'N', 0), "first .glb chunk: its type is 0x004e4942, not JSON"},
		"no chunk":        {packed([]uint32{0x46546c67, 2, 12}), "first .glb chunk: its header needs 8 bytes, 0 are left"},
		"half a chunk":    {append(packed([]uint32{0x46546c67, 2, 25, 4, 0x4e4f534a}), "{}  \x01"...), "second .glb chunk: its header needs 8 bytes, 1 are left"},
		"BIN of another":  {patched(len(glb)-36-4, 'X'), "buffers[0]: has no URI, and the file has no binary chunk for it"},
	} {
		_, err := loadFiles(map[string][]byte{"m.gltf": c.data}, gltf.Options{})
		if assert.Error(t, err, name) {
			assert.Contains(t, err.Error(), c.want, name)
			assert.Less(t, len(err.Error()), 300, name)
		}
	}
}

// A part without content is as if it weren't there: exporters write it for empty objects, and
// null for what isn't set.
func TestEmptyPartsAreLeftOut(t *testing.T) {
	want := full().load(t, gltf.Options{})
	m := full()
	none := m.add("accessors", object{"bufferView": m.add("bufferViews", object{"buffer": 1, "byteLength": 0}), "byteOffset": 4, "componentType": 5126, "count": 0, "type": "VEC3"})
	nodes := m.doc["nodes"].(list)
	nodes[0].(object)["children"] = list{1, 2, 3}
	m.add("nodes", object{"mesh": m.mesh(object{"attributes": object{"POSITION": none}})})
	m.add("nodes", object{"name": "tmp", "mesh": m.mesh(object{"attributes": object{"POSITION": 0}, "indices": m.add("accessors", object{"componentType": 5123, "count": 0, "type": "SCALAR"})})})
	m.doc["bufferViews"].(list)[0].(object)["byteStride"] = 0
	nodes[1].(object)["skin"], nodes[1].(object)["rotation"], nodes[0].(object)["extras"] = nil, nil, nil
	m.doc["materials"].(list)[0].(object)["normalTexture"], m.doc["extensionsRequired"] = nil, nil
	var doc object
	require.NoError(t, json.Unmarshal(m.embedded(), &doc))
	doc["buffers"] = append(doc["buffers"].(list), object{"byteLength": 0, "uri": nil})
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	got, err := loadFiles(map[string][]byte{"m.gltf": text}, gltf.Options{})
	require.NoError(t, err)
	checkAsset(t, got)
	assert.Equal(t, []string{"meshes[1].primitives[0] and 1 more: is empty and is left out"}, got.Warnings)
	assert.Equal(t, want.Meshes, got.Meshes)
	assert.Equal(t, want.Nodes, got.Nodes[:2])
}

// A file of another kind is named, with what to do instead. Its content counts where its name says
// nothing, and glTF's content whatever the name is.
func TestFilesOfOtherKindsAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"Town03.xodr":    {"<?xml version=\"1.0\"?>\n<OpenDRIVE>", "it is an OpenDRIVE map, which is not supported yet: "},
		"TOWN03.XODR":    {"\n", "it is an OpenDRIVE map, which is not supported yet: "},
		"map.xml":        {"\xef\xbb\xbf<?xml version=\"1.0\" standalone=\"yes\"?>\n<!-- made by hand -->\n<OpenDRIVE>", "it is an OpenDRIVE map"},
		"city.osm":       {"<osm version=\"0.6\">", "it is a map of OpenStreetMap or Lanelet2, which is not supported yet: "},
		"a.net.xml":      {"<net version=\"1.16\">", "it is a file of SUMO, which is not a scene: give --scene plane --world sumo:"},
		"cross.sumocfg":  {"<sumoConfiguration>", "it is a file of SUMO, which is not a scene"},
		"cut-in.xosc":    {"<OpenSCENARIO>", "it is an OpenSCENARIO file, which is not a scene: let esmini play it, with --scene plane --world osi:udp:"},
		"car.usdz":       {"PK\x03\x04", "it is a USD file, which is not supported yet: open it in Blender and export it as glTF 2.0 (.glb)"},
		"stage.usda":     {"#usda 1.0\n", "it is a USD file"},
		"stage":          {"PXR-USDC\x00", "it is a USD file"},
		"car.fbx":        {"Kaydara FBX Binary  \x00\x1a\x00", "it is an FBX file, which is not supported yet: open it in Blender"},
		"car.obj":        {"# Blender\nv 1 2 3\n", "it is an OBJ file"},
		"car.dae":        {"<?xml version=\"1.0\"?><COLLADA>", "it is a COLLADA file"},
		"car.blend":      {"BLENDER-v300", "it is a Blender file"},
		"car.stl":        {"solid car\n", "it is an STL file"},
		"car.ply":        {"ply\n", "it is a PLY file"},
		"Town03.umap":    {"\xc1\x83\x2a\x9e", "it is a map of Unreal Engine"},
		"City.unity":     {"%YAML 1.1\n", "it is a scene of Unity"},
		"empty.sdf":      {"<sdf version=\"1.6\">", "it is a world of Gazebo"},
		"robot.urdf":     {"<robot>", "it is a robot of URDF, which is not a scene"},
		"scan.pcd":       {"# .PCD v0.7\n", "it is a cloud of points, which is not a scene"},
		"assets.zip":     {"PK\x03\x04", "it is an archive, which is not a scene: unpack it"},
		"assets":         {"PK\x03\x04", "it is an archive"},
		"run.yaml":       {"sensors: []\n", "it is YAML, which is not a scene: give a configuration by --config, a rig by --rig"},
		"drive.mcap":     {"\x89MCAP0\r\n", "it is a recording, which is not a scene: raybridge replay sends it"},
		"drive.osi":      {"\x10\x00\x00\x00", "it is a trace of OSI, which is not a scene: give --scene plane --world osi:"},
		"drive.csv":      {"time,id\n", "it is a table, which is not a scene: give --scene plane --world csv:"},
		"picture":        {"\x89PNG\r\n", "it begins with \"\\x89PNG"},
		"hello":          {"hello", "it begins with \"hello\", not as glTF's JSON or a .glb file does"},
		"arrow.obj":      {string(arrow().embedded()), ""},
		"model.usd":      {string(arrow().glb()), ""},
		"with blank.osm": {" \n" + string(arrow().embedded()), ""},
	} {
		_, err := gltf.LoadFS(fstest.MapFS{name: &fstest.MapFile{Data: []byte(c.content)}}, name, gltf.Options{})
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, name+": "+c.want, name)
		var place *gltf.Error
		require.ErrorAs(t, err, &place)
		if name != "picture" && name != "hello" {
			assert.ErrorIs(t, err, gltf.ErrUnsupported, name)
		}
	}
}

// Small files that ask for much memory get none.
func TestHugeCountsAreRefused(t *testing.T) {
	m := newModel()
	zeros := m.add("accessors", object{"componentType": 5126, "type": "VEC3", "count": 4_000_000_000})
	_, err := oneNode(m, m.mesh(object{"attributes": object{"POSITION": zeros}})).tryLoad(gltf.Options{})
	assert.ErrorIs(t, err, gltf.ErrTooLarge)
	assert.ErrorContains(t, err, "meshes[0].primitives[0].attributes.POSITION: accessors[0]: the model unpacks to more than 64 MiB and 128 times the bytes")

	// The same million vertices a thousand times.
	m = newModel()
	zeros = m.add("accessors", object{"componentType": 5126, "type": "VEC3", "count": 999_999})
	primitives := make([]object, 1000)
	for i := range primitives {
		primitives[i] = object{"attributes": object{"POSITION": zeros}}
	}
	_, err = oneNode(m, m.mesh(primitives...)).tryLoad(gltf.Options{})
	assert.ErrorIs(t, err, gltf.ErrTooLarge)
}
