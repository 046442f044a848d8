package gltf_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/gltf"
)

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

// testdata is every file in the folder of that name, made anew.
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
		a, err := gltf.Load(filepath.Join("testdata", name), gltf.Options{})
		require.NoError(t, err)
		assets = append(assets, a)
	}
	assert.Equal(t, assets[0], assets[1])
}
