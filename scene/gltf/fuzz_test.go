package gltf_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/require"
)

var fuzzFiles = sync.OnceValues(func() (bin, picture []byte) { return full().bin, pngOf(checker()) })

var richText = sync.OnceValue(func() []byte { return rich().json("a.bin") })

// fuzzLoad loads bytes as a model beside a buffer and a picture. Whatever they are, there is an
// *Error with a known cause or an asset that keeps its rules.
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
	attributes := m.doc["meshes"].(list)[0].(object)["primitives"].(list)[0].(object)["attributes"].(object)
	attributes["COLOR_0"] = m.accessor("VEC3", []float32{1, 0, 0, 0, 1, 0, 0, 0, 1})
	m.add("nodes", object{"mesh": 0, "matrix": list{1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, "extensions": object{
		"EXT_mesh_gpu_instancing": object{"attributes": object{"TRANSLATION": 0, "SCALE": 1}}}})
	m.doc["scenes"].(list)[0].(object)["nodes"] = list{0, 2, 4, 5}
	// A skinned triangle with a target, bent by nodes[1].
	m.add("nodes", object{"mesh": 1, "skin": 0, "weights": list{0.5}})
	m.doc["skins"] = list{object{"joints": list{1, 2}}}
	m.mesh(object{"targets": list{object{"POSITION": 1, "NORMAL": 1}}, "attributes": object{
		"POSITION": 0, "JOINTS_0": m.accessor("VEC4", make([]uint8, 12)),
		"WEIGHTS_0": m.accessorWith("VEC4", []uint8{255, 0, 0, 0, 128, 127, 0, 0, 0, 0, 0, 0}, object{"normalized": true})}})
	m.add("animations", object{
		"channels": list{object{"sampler": 0, "target": object{"node": 5, "path": "weights"}}},
		"samplers": list{object{"input": 4, "output": m.accessor("SCALAR", []float32{0, 1})}},
	})
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

// checkAsset fails the test unless the asset keeps what package scene says of
// assets.
func checkAsset(t testing.TB, a *scene.Asset) {
	t.Helper()
	require.NoError(t, assetFault(a))
}

func assetFault(a *scene.Asset) error {
	for i := range a.Meshes {
		if err := meshFault(&a.Meshes[i], len(a.Materials)); err != nil {
			return fmt.Errorf("mesh %d: %w", i, err)
		}
	}
	for i, m := range a.Materials {
		for _, texture := range []int{m.BaseColorTexture, m.MetalRoughTexture, m.EmissiveTexture} {
			if texture < scene.NoTexture || texture >= len(a.Textures) {
				return fmt.Errorf("material %d: texture %d", i, texture)
			}
		}
	}
	for i, tex := range a.Textures {
		if want := 4 * tex.Image.Rect.Dx() * tex.Image.Rect.Dy(); len(tex.Image.Pix) != want || want == 0 {
			return fmt.Errorf("texture %d: %d bytes for %v", i, len(tex.Image.Pix), tex.Image.Rect)
		}
	}
	for i, n := range a.Nodes {
		s := n.Local.Scale
		if n.Parent >= i || n.Parent < -1 || n.Mesh >= len(a.Meshes) || n.Tag >= scene.TagCount || s[0]*s[1]*s[2] < 0 {
			return fmt.Errorf("node %d: %+v", i, n)
		}
		if d := n.Local.Rotation.Len() - 1; math.Abs(d) > 1e-9 || !finite(n.Local.Translation[:]...) || !finite(s[:]...) {
			return fmt.Errorf("node %d: %+v", i, n)
		}
	}
	for i, animation := range a.Animations {
		for j, c := range animation.Channels {
			if err := channelFault(&c, len(a.Nodes)); err != nil {
				return fmt.Errorf("animation %d, channel %d: %w", i, j, err)
			}
		}
	}
	s := scene.New("fuzzed")
	actors, err := s.Add(a, scene.Placement{})
	if err != nil || len(actors) == 0 {
		return err
	}
	// Whatever its shapes do, they are boxed, built and packed. Build refuses vertices that are
	// too far away, and the like.
	w, refused := scene.Build(context.Background(), s, scene.BuildOptions{Workers: 1})
	if refused == nil {
		h := scene.NewHistory(s, nil, 2)
		h.Record(0)
		p := scene.NewPacker(w, h)
		_, err = p.Motion(nil, scene.Window{Mount: spatial.Identity(), EndNs: 100e6})
	}
	return err
}

func meshFault(m *scene.Mesh, materials int) error {
	if len(m.Normals) != len(m.Positions) || m.UVs != nil && len(m.UVs) != len(m.Positions) || m.Colors != nil && len(m.Colors) != len(m.Positions) {
		return fmt.Errorf("%d positions, %d normals, %d uvs", len(m.Positions), len(m.Normals), len(m.UVs))
	}
	for i := range m.Positions {
		p, n := wide(m.Positions[i]), wide(m.Normals[i])
		if !finite(p[:]...) || math.Abs(n.Len()-1) > 1e-5 {
			return fmt.Errorf("vertex %d: %v, normal %v", i, p, n)
		}
		if m.UVs != nil && !finite(float64(m.UVs[i][0]), float64(m.UVs[i][1])) {
			return fmt.Errorf("vertex %d: uv %v", i, m.UVs[i])
		}
	}
	for i, c := range m.Colors {
		for _, x := range c {
			if !(x >= 0 && x <= 1) {
				return fmt.Errorf("vertex %d: colour %v", i, c)
			}
		}
	}
	for _, v := range m.Indices {
		if int(v) >= len(m.Positions) {
			return fmt.Errorf("index %d of %d", v, len(m.Positions))
		}
	}
	next := 0
	for _, g := range m.Groups {
		if g.First != next || g.Count <= 0 || g.Count%3 != 0 || g.Material < 0 || g.Material >= materials {
			return fmt.Errorf("group %+v after %d", g, next)
		}
		next += g.Count
	}
	if next != len(m.Indices) {
		return fmt.Errorf("groups end at %d of %d", next, len(m.Indices))
	}
	return nil
}

func channelFault(c *scene.Channel, nodes int) error {
	per := 3
	switch c.Path {
	case scene.PathRotation:
		per = 4
	case scene.PathWeight:
		per = 1
	}
	if c.Interpolation == scene.InterpolationCubicSpline {
		per *= 3
	}
	if c.Node < 0 || c.Node >= nodes || len(c.TimesNs) == 0 || len(c.Values) != per*len(c.TimesNs) || !finite(c.Values...) {
		return fmt.Errorf("%+v", c)
	}
	for i := range c.TimesNs {
		if i > 0 && c.TimesNs[i] <= c.TimesNs[i-1] {
			return fmt.Errorf("times %v", c.TimesNs)
		}
	}
	return nil
}

func finite(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
