package gltf_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// object and list are JSON, written by hand: no glTF library takes part.
type (
	object = map[string]any
	list   = []any
)

// model builds a glTF document with one buffer.
type model struct {
	doc object
	bin []byte
}

// newModel has a scene whose one root node is nodes[0].
func newModel() *model {
	return &model{doc: object{
		"asset": object{"version": "2.0"},
		"scene": 0, "scenes": list{object{"nodes": list{0}}},
	}}
}

// add appends to one of the document's lists and returns the index.
func (m *model) add(name string, item object) int {
	items, _ := m.doc[name].(list)
	m.doc[name] = append(items, item)
	return len(items)
}

// view appends bytes as a buffer view.
func (m *model) view(data []byte, more object) int {
	for len(m.bin)%4 != 0 {
		m.bin = append(m.bin, 0)
	}
	v := object{"buffer": 0, "byteOffset": len(m.bin), "byteLength": len(data)}
	for k, x := range more {
		v[k] = x
	}
	m.bin = append(m.bin, data...)
	return m.add("bufferViews", v)
}

func packed(values any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
		panic(err)
	}
	return b.Bytes()
}

var componentTypes = map[string]int{"i8": 5120, "u8": 5121, "i16": 5122, "u16": 5123, "u32": 5125, "f32": 5126}

var componentCounts = map[string]int{"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}

// accessor appends tightly packed values as an accessor.
func (m *model) accessor(typ string, values any) int {
	return m.accessorWith(typ, values, nil)
}

func (m *model) accessorWith(typ string, values any, more object) int {
	component, n := "", 0
	switch v := values.(type) {
	case []int8:
		component, n = "i8", len(v)
	case []uint8:
		component, n = "u8", len(v)
	case []int16:
		component, n = "i16", len(v)
	case []uint16:
		component, n = "u16", len(v)
	case []uint32:
		component, n = "u32", len(v)
	case []float32:
		component, n = "f32", len(v)
	}
	a := object{
		"bufferView": m.view(packed(values), nil), "componentType": componentTypes[component],
		"type": typ, "count": n / componentCounts[typ],
	}
	for k, x := range more {
		a[k] = x
	}
	return m.add("accessors", a)
}

// mesh appends a mesh of primitives and returns its index.
func (m *model) mesh(primitives ...object) int {
	var items list
	for _, p := range primitives {
		items = append(items, p)
	}
	return m.add("meshes", object{"name": "mesh", "primitives": items})
}

// triangle appends a mesh of one triangle with corners a, b, c and no normals.
func (m *model) triangle(corners ...float32) int {
	return m.mesh(object{"attributes": object{"POSITION": m.accessor("VEC3", corners)}})
}

func (m *model) json(uri string) []byte {
	m.doc["buffers"] = list{object{"byteLength": len(m.bin), "uri": uri}}
	if uri == "" {
		m.doc["buffers"] = list{object{"byteLength": len(m.bin)}}
	}
	if len(m.bin) == 0 {
		delete(m.doc, "buffers")
	}
	text, err := json.Marshal(m.doc)
	if err != nil {
		panic(err)
	}
	return text
}

// embedded returns the model as .gltf with its buffer in a data URI.
func (m *model) embedded() []byte {
	return m.json("data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(m.bin))
}

// glb returns the model as .glb.
func (m *model) glb() []byte {
	text := m.json("")
	for len(text)%4 != 0 {
		text = append(text, ' ')
	}
	bin := append([]byte(nil), m.bin...)
	for len(bin)%4 != 0 {
		bin = append(bin, 0)
	}
	out := packed([]uint32{0x46546c67, 2, uint32(12 + 8 + len(text) + 8 + len(bin)), uint32(len(text)), 0x4e4f534a})
	out = append(out, text...)
	out = append(out, packed([]uint32{uint32(len(bin)), 0x004e4942})...)
	return append(out, bin...)
}

// load loads the model from data URIs.
func (m *model) load(t *testing.T, o gltf.Options) *scene.Asset {
	t.Helper()
	a, err := m.tryLoad(o)
	require.NoError(t, err)
	return a
}

func (m *model) tryLoad(o gltf.Options) (*scene.Asset, error) {
	return loadFiles(map[string][]byte{"m.gltf": m.embedded()}, o)
}

// loadFiles loads m.gltf or m.glb, whichever is among the files.
func loadFiles(files map[string][]byte, o gltf.Options) (*scene.Asset, error) {
	fsys := fstest.MapFS{}
	name := "m.gltf"
	for n, data := range files {
		fsys[n] = &fstest.MapFile{Data: data}
		if n == "m.glb" {
			name = n
		}
	}
	return gltf.LoadFS(fsys, name, o)
}

var update = flag.Bool("update", false, "write testdata anew")

// pretty is a document with its buffer in another file, for people to read.
func pretty(m *model, buffer string) []byte {
	m.json(buffer)
	text, err := json.MarshalIndent(m.doc, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// testdata is every file in the folder of that name, made again.
func testdata() map[string][]byte {
	car := newModel()
	paint := car.add("materials", object{"name": "paint", "pbrMetallicRoughness": object{
		"baseColorTexture": object{"index": car.add("textures", object{"source": car.add("images", object{"uri": "checker.png"})})},
		"metallicFactor":   0, "roughnessFactor": 0.5}})
	quad := func(width, length, height float32) int {
		w, l := width/2, length/2
		return car.mesh(object{"material": paint, "indices": car.accessor("SCALAR", []uint16{0, 1, 2, 2, 1, 3}), "attributes": object{
			"POSITION":   car.accessorWith("VEC3", []float32{-w, height, -l, -w, height, l, w, height, -l, w, height, l}, object{"min": list{-w, height, -l}, "max": list{w, height, l}}),
			"TEXCOORD_0": car.accessor("VEC2", []float32{0, 0, 0, 1, 1, 0, 1, 1}),
		}})
	}
	car.doc["nodes"] = list{
		object{"name": "car", "mesh": quad(2, 4, 1.5), "children": list{1}},
		object{"name": "antenna", "mesh": quad(0.1, 0.1, 0.5), "translation": list{0.5, 1.5, -1.5}, "extras": object{"semantic_tag": "pole"}},
	}
	short := arrow()
	text := pretty(short, "arrow.bin")
	short.doc["buffers"].(list)[0].(object)["byteLength"] = 24
	shortText, err := json.MarshalIndent(short.doc, "", "  ")
	if err != nil {
		panic(err)
	}
	return map[string][]byte{
		"arrow.gltf": text, "arrow.bin": short.bin, "arrow.glb": arrow().glb(),
		"short_buffer.gltf": append(shortText, '\n'),
		"car.gltf":          pretty(car, "car.bin"), "car.bin": car.bin, "checker.png": pngOf(checker()),
	}
}

func TestTestdataIsWhatTheBuilderMakes(t *testing.T) {
	for name, want := range testdata() {
		file := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, want, 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err, "run go test -update")
		if filepath.Ext(name) != ".png" { // whose encoder may change
			assert.Equal(t, string(want), string(got), "%s: run go test -update", name)
		}
	}
	var assets []any
	for _, name := range []string{"arrow.gltf", "arrow.glb"} {
		a, err := gltf.Load(t.Context(), filepath.Join("testdata", name), gltf.Options{})
		require.NoError(t, err)
		assets = append(assets, a)
	}
	assert.Equal(t, assets[0], assets[1])
}
