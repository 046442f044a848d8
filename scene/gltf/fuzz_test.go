package gltf_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/raybridge/raybridge/scene/gltf"
)

var fuzzFiles = sync.OnceValues(func() (bin, picture []byte) { return full().bin, pngOf(checker()) })

var richText = sync.OnceValue(func() []byte { return rich().json("a.bin") })

// fuzzLoad loads bytes as a model beside a buffer and a picture: whatever they
// are, there is an *Error with a known cause or an asset that keeps its rules.
func fuzzLoad(t *testing.T, data []byte) {
	t.Helper()
	bin, picture := fuzzFiles()
	a, err := loadFiles(map[string][]byte{"m.gltf": data, "a.bin": bin, "a.png": picture}, gltf.Options{})
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
	f.Add(rich().json("a.bin"))
	f.Add(arrow().json("a.bin"))
	f.Add([]byte(`{"asset":{"version":"2.0"}}`))
	f.Fuzz(fuzzLoad)
}

// rich has more kinds of things than full: sparse data, a strip, mirrored
// nodes, extensions.
func rich() *model {
	m := full()
	m.doc["images"].(list)[0].(object)["uri"] = "a.png"
	m.doc["scenes"].(list)[0].(object)["nodes"] = list{0, 2}
	m.add("nodes", object{"name": "b", "scale": list{-1, 1, 1}, "mesh": 0, "extras": object{"semantic_tag": "bus"}})
	m.add("nodes", object{"matrix": list{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1}, "mesh": 0})
	sparse := object{"count": 1, "indices": object{"bufferView": 6, "componentType": 5121}, "values": object{"bufferView": 0}}
	m.doc["accessors"].(list)[0].(object)["sparse"] = sparse
	m.doc["meshes"].(list)[0].(object)["primitives"].(list)[0].(object)["mode"] = 5
	material := m.doc["materials"].(list)[0].(object)
	material["extensions"] = object{"KHR_materials_emissive_strength": object{"emissiveStrength": 2}}
	material["alphaMode"], material["extras"] = "MASK", object{"lidar_reflectance": 0.5, "retroreflective": true}
	m.doc["samplers"] = list{object{"wrapS": 33071, "wrapT": 33071}}
	m.doc["textures"].(list)[0].(object)["sampler"] = 0
	material["pbrMetallicRoughness"].(object)["baseColorTexture"].(object)["extensions"] = object{
		"KHR_texture_transform": object{"offset": list{0, 1}, "rotation": 1, "scale": list{2, 2}, "texCoord": 0}}
	return m
}

func FuzzLoadGLB(f *testing.F) {
	f.Add(full().glb())
	f.Add(arrow().glb())
	f.Fuzz(fuzzLoad)
}

// newValues are what an edit puts in a document's place; each call makes its own,
// since later edits may change what is inside.
func newValues() list {
	return list{
		nil, true, -1, 0, 1, 2, 3, 5, 6, 63, 255, 5120, 5121, 5123, 5125, 5126, 1e9, 4294967295, 1 << 40, 0.5, -1e30, 1e38, 1e308,
		"", "x", "STEP", "CUBICSPLINE", "rotation", "scale", "VEC2", "VEC3", "VEC4", "SCALAR", "BLEND", "data:,xyz", "../a.png",
		list{}, list{0}, list{1, 0}, list{nil}, list{0, 0, 0, 1}, list{0, -1, 0}, object{}, object{"POSITION": 0}, object{"uri": "a.png"},
	}
}

// place is one value of a JSON document, as a function that replaces it.
type place func(value any)

// places returns every place in a document, in a fixed order.
func places(v any) []place {
	var out []place
	switch v := v.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, func(value any) { v[key] = value })
			out = append(out, places(v[key])...)
		}
	case list:
		for i := range v {
			out = append(out, func(value any) { v[i] = value })
			out = append(out, places(v[i])...)
		}
	}
	return out
}

// edited is the rich model with places edited: three bytes an edit, two for the
// place and one for its new value.
func edited(edits []byte) []byte {
	var doc object
	if err := json.Unmarshal(richText(), &doc); err != nil {
		panic(err)
	}
	for ; len(edits) >= 3; edits = edits[3:] {
		all := places(doc)
		if len(all) == 0 {
			break
		}
		n := (int(edits[0])<<8 | int(edits[1])) % len(all)
		values := newValues()
		all[n](values[int(edits[2])%len(values)])
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return text
}

// Values of each kind in every place of a document; FuzzLoadEdited tries more.
func TestNoEditBreaksTheLoader(t *testing.T) {
	var doc object
	if err := json.Unmarshal(richText(), &doc); err != nil {
		t.Fatal(err)
	}
	for n := range places(doc) {
		for k := range 8 {
			v := (n + 6*k) % len(newValues())
			fuzzLoad(t, edited([]byte{byte(n >> 8), byte(n), byte(v)}))
		}
	}
}

func FuzzLoadEdited(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 50, 7})
	f.Add([]byte{0, 90, 9, 0, 91, 20, 0, 100, 3})
	f.Fuzz(func(t *testing.T, edits []byte) { fuzzLoad(t, edited(edits[:min(len(edits), 30)])) })
}
