package gltf_test

import (
	"errors"
	"testing"

	"github.com/raybridge/raybridge/scene/gltf"
)

// fuzzLoad loads bytes as a model beside a buffer and a picture: whatever they
// are, there is an *Error with a known cause or an asset that keeps its rules.
func fuzzLoad(t *testing.T, data []byte) {
	a, err := loadFiles(map[string][]byte{"m.gltf": data, "a.bin": full().bin, "a.png": pngOf(checker())}, gltf.Options{})
	if err != nil {
		var place *gltf.Error
		if !errors.As(err, &place) || place.File != "m.gltf" || a != nil {
			t.Fatalf("untyped error %T: %v", err, err)
		}
		return
	}
	if err := assetFault(a); err != nil {
		t.Fatal(err)
	}
}

func FuzzLoadJSON(f *testing.F) {
	m := full()
	m.doc["images"].(list)[0].(object)["uri"] = "a.png"
	f.Add(m.json("a.bin"))
	m = full()
	m.doc["images"].(list)[0].(object)["uri"] = "a.png"
	m.doc["scenes"].(list)[0].(object)["nodes"] = list{0, 2}
	m.add("nodes", object{"name": "b", "scale": list{-1, 1, 1}, "mesh": 0, "extras": object{"semantic_tag": "bus"}})
	m.add("nodes", object{"matrix": list{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1}, "mesh": 0})
	sparse := object{"count": 1, "indices": object{"bufferView": 6, "componentType": 5121}, "values": object{"bufferView": 0}}
	m.doc["accessors"].(list)[0].(object)["sparse"] = sparse
	m.doc["meshes"].(list)[0].(object)["primitives"].(list)[0].(object)["mode"] = 5
	f.Add(m.json("a.bin"))
	f.Add(arrow().json("a.bin"))
	f.Add([]byte(`{"asset":{"version":"2.0"}}`))
	f.Fuzz(fuzzLoad)
}

func FuzzLoadGLB(f *testing.F) {
	f.Add(full().glb())
	f.Add(arrow().glb())
	f.Fuzz(fuzzLoad)
}
