package gltf_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	qmuntal "github.com/qmuntal/gltf"
	"github.com/qmuntal/gltf/modeler"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/scene/labels"
)

// arrow is one thin triangle that points along glTF's +z, two metres long and
// one metre up, in a node called arrow.
func arrow() *model {
	m := newModel()
	mesh := m.triangle(0.1, 1, 0, 0, 1, 2, -0.1, 1, 0)
	m.add("nodes", object{"name": "arrow", "mesh": mesh})
	return m
}

func TestArrowAlongZPointsToX(t *testing.T) {
	a := arrow().load(t, gltf.Options{})
	checkAsset(t, a)
	tri := worldTriangles(a)[0]
	assert.Equal(t, mgl64.Vec3{2, 0, 1}, tri[1].position, "the tip lies ahead, at its height")
	assert.InDelta(t, 0.1, tri[0].position[1], 1e-6, "glTF's +x is left")
	// Counter-clockwise from above in the file: x, then ahead, then -x.
	assert.Equal(t, mgl64.Vec3{0, 0, -1}, tri[0].normal)
}

func TestUpAndForwardNameOtherAxes(t *testing.T) {
	// A box's corner at (1, 2, 3) tells all axes apart.
	for _, c := range []struct {
		up, forward string
		want        mgl32.Vec3
	}{
		{"", "", mgl32.Vec3{3, 1, 2}},
		{"+y", "+z", mgl32.Vec3{3, 1, 2}},
		{"z", "x", mgl32.Vec3{1, 2, 3}},
		{"+z", "-y", mgl32.Vec3{-2, 1, 3}},
		{"Y", "-Z", mgl32.Vec3{-3, -1, 2}},
		{"-x", "+y", mgl32.Vec3{2, -3, -1}},
	} {
		m := newModel()
		m.add("nodes", object{"mesh": m.triangle(1, 2, 3, 0, 0, 0, 0, 1, 0)})
		a := m.load(t, gltf.Options{Up: c.up, Forward: c.forward})
		assert.Equal(t, c.want, a.Meshes[0].Positions[0], "up %q, forward %q", c.up, c.forward)
		checkAsset(t, a)
	}
}

func TestScaleIsMetresPerUnit(t *testing.T) {
	m := arrow()
	m.add("nodes", object{"name": "moved", "translation": list{1, 2, 3}, "scale": list{2, 2, 2}})
	m.doc["scenes"] = list{object{"nodes": list{0, 1}}}
	a := m.load(t, gltf.Options{Scale: 0.01})
	assert.Equal(t, mgl32.Vec3{0.02, 0, 0.01}, a.Meshes[0].Positions[1])
	assert.InDeltaSlice(t, []float64{0.03, 0.01, 0.02}, a.Nodes[1].Local.Translation[:], 1e-12)
	assert.Equal(t, mgl64.Vec3{2, 2, 2}, a.Nodes[1].Local.Scale, "a node's own scale stays")
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []gltf.Options{
		{Up: "+y", Forward: "-y"}, {Up: "up"}, {Forward: "+"}, {Forward: "xy"}, {Up: "+z"}, {Scale: -1},
	} {
		_, err := arrow().tryLoad(o)
		assert.ErrorIs(t, err, gltf.ErrOptions, "%+v", o)
	}
}

// The same model through every container.
func TestContainers(t *testing.T) {
	want := arrow().load(t, gltf.Options{})
	m := arrow()
	percent := ""
	for _, b := range m.bin {
		percent += "%" + string("0123456789abcdef"[b>>4]) + string("0123456789ABCDEF"[b&15])
	}
	b64 := base64.StdEncoding.EncodeToString(m.bin)
	padded := append(append([]byte(nil), m.bin...), 1, 2, 3)
	for name, files := range map[string]map[string][]byte{
		"glb":                     {"m.glb": m.glb()},
		"external":                {"m.gltf": m.json("a.bin"), "a.bin": m.bin},
		"external, longer":        {"m.gltf": m.json("a.bin"), "a.bin": padded},
		"external, in a folder":   {"m.gltf": m.json("./b/../c/a.bin"), "c/a.bin": m.bin},
		"external, percent":       {"m.gltf": m.json("my%20%C3%A9.bin"), "my é.bin": m.bin},
		"external, plain space":   {"m.gltf": m.json("my é.bin"), "my é.bin": m.bin},
		"external, stray percent": {"m.gltf": m.json("100%.bin"), "100%.bin": m.bin},
		"external, backslash":     {"m.gltf": m.json(`c\a.bin`), "c/a.bin": m.bin},
		"data URI, no padding":    {"m.gltf": m.json("data:;base64," + b64)},
		"data URI, percent":       {"m.gltf": m.json("data:application/gltf-buffer," + percent)},
		"byte order mark":         {"m.gltf": append([]byte("\xef\xbb\xbf"), m.embedded()...)},
		"glb named gltf":          {"m.gltf": m.glb()},
		"glb, buffer elsewhere":   {"m.gltf": m.json("m.bin"), "m.bin": m.bin},
	} {
		got, err := loadFiles(files, gltf.Options{})
		if assert.NoError(t, err, name) {
			assert.Equal(t, want, got, name)
		}
	}
}

func TestLoadReadsFiles(t *testing.T) {
	dir := t.TempDir()
	m := arrow()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "arrow.gltf"), m.json("arrow.bin"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "arrow.bin"), m.bin, 0o600))
	a, err := gltf.Load(filepath.Join(dir, "arrow.gltf"), gltf.Options{})
	require.NoError(t, err)
	assert.Equal(t, "arrow", a.Name)

	// The model itself may be a link; what it names may not lead outside.
	inner := filepath.Join(dir, "inner")
	require.NoError(t, os.Mkdir(inner, 0o700))
	require.NoError(t, os.Symlink(filepath.Join(dir, "arrow.gltf"), filepath.Join(inner, "link.gltf")))
	_, err = gltf.Load(filepath.Join(inner, "link.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, fs.ErrNotExist, "arrow.bin is not beside the link")
	require.NoError(t, os.Symlink("../arrow.bin", filepath.Join(inner, "arrow.bin")))
	_, err = gltf.Load(filepath.Join(inner, "link.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, gltf.ErrPath)
	require.NoError(t, os.Remove(filepath.Join(inner, "arrow.bin")))
	require.NoError(t, os.WriteFile(filepath.Join(inner, "real.bin"), m.bin, 0o600))
	require.NoError(t, os.Symlink("real.bin", filepath.Join(inner, "arrow.bin")))
	_, err = gltf.Load(filepath.Join(inner, "link.gltf"), gltf.Options{})
	assert.NoError(t, err)
}

func TestLoadOfNoModel(t *testing.T) {
	dir := t.TempDir()
	_, err := gltf.Load(filepath.Join(dir, "no.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "no.gltf")
	_, err = gltf.Load(filepath.Join(dir, "none", "no.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = gltf.Load(dir, gltf.Options{})
	assert.ErrorContains(t, err, "not a regular file")
	_, err = gltf.Load("", gltf.Options{})
	assert.Error(t, err)
}

func TestLabels(t *testing.T) {
	m := newModel()
	mesh := m.triangle(0, 0, 0, 1, 0, 0, 0, 1, 0)
	m.doc["meshes"].(list)[mesh].(object)["extras"] = object{"semantic_tag": "fence"}
	m.doc["nodes"] = list{
		object{"name": "car_1", "children": list{1, 2}},
		object{"name": "car_1_wheel", "mesh": m.triangle(0, 0, 0, 1, 0, 0, 0, 1, 0)},
		object{"name": "plate", "extras": object{"semantic_tag": 8, "semantic_actor": true}, "children": list{3}},
		object{"mesh": mesh},
	}
	text := m.embedded()
	tags := func(files map[string][]byte, o gltf.Options) (tags []scene.Tag, actors []bool) {
		t.Helper()
		files["m.gltf"] = text
		a, err := loadFiles(files, o)
		require.NoError(t, err)
		for _, n := range a.Nodes {
			tags, actors = append(tags, n.Tag), append(actors, n.Actor)
		}
		return tags, actors
	}
	got, actors := tags(map[string][]byte{}, gltf.Options{})
	assert.Equal(t, []scene.Tag{scene.TagCar, scene.TagCar, scene.TagTrafficSign, scene.TagFence}, got)
	assert.Equal(t, []bool{true, false, false, false}, actors, "one actor is never inside another")

	beside := []byte("rules: [{match: car_?, tag: bus}]\ndefaults: false\n")
	for _, name := range []string{"m.labels.yaml", "m.gltf.labels.yaml"} {
		got, actors = tags(map[string][]byte{name: beside}, gltf.Options{})
		assert.Equal(t, []scene.Tag{scene.TagBus, scene.TagUnlabeled, scene.TagTrafficSign, scene.TagFence}, got, name)
		assert.Equal(t, []bool{false, false, true, false}, actors, name)
	}

	given, err := labels.Parse("f.yaml", []byte("rules: [{match: '*', tag: wall}]\nextras: other\n"))
	require.NoError(t, err)
	got, _ = tags(map[string][]byte{"m.labels.yaml": beside}, gltf.Options{Labels: given})
	assert.Equal(t, []scene.Tag{scene.TagWall, scene.TagWall, scene.TagWall, scene.TagWall}, got)

	_, err = loadFiles(map[string][]byte{"m.gltf": text, "m.labels.yaml": []byte("rules: [{match: a, tag: caar}]")}, gltf.Options{})
	assert.ErrorIs(t, err, scene.ErrUnknownTag)
	assert.EqualError(t, err, `m.gltf: m.labels.yaml: rules[0].tag: unknown semantic tag "caar": the closest is "car"`)
}

// A file that another program's writer made, with its own layout of buffers.
func TestLoadsWhatAnotherWriterWrites(t *testing.T) {
	doc := qmuntal.NewDocument()
	positions := [][3]float32{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}}
	attributes, err := modeler.WritePrimitiveAttributes(doc,
		modeler.PrimitiveAttribute{Name: qmuntal.POSITION, Data: positions},
		modeler.PrimitiveAttribute{Name: qmuntal.NORMAL, Data: [][3]float32{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}}},
		modeler.PrimitiveAttribute{Name: qmuntal.TEXCOORD_0, Data: [][2]float32{{0, 0}, {1, 0}, {0, 1}, {1, 1}}})
	require.NoError(t, err)
	doc.Meshes = []*qmuntal.Mesh{{Name: "quad", Primitives: []*qmuntal.Primitive{{
		Attributes: attributes,
		Indices:    qmuntal.Index(modeler.WriteIndices(doc, []uint16{0, 2, 1, 1, 2, 3})),
	}}}}
	doc.Nodes = []*qmuntal.Node{{Name: "quad", Mesh: qmuntal.Index(0)}}
	doc.Scenes[0].Nodes = []int{0}
	dir := t.TempDir()
	for name, save := range map[string]func(*qmuntal.Document, string) error{"q.gltf": qmuntal.Save, "q.glb": qmuntal.SaveBinary} {
		file := filepath.Join(dir, name)
		require.NoError(t, save(doc, file))
		a, err := gltf.Load(file, gltf.Options{})
		require.NoError(t, err)
		checkAsset(t, a)
		assert.Empty(t, a.Warnings)
		require.Equal(t, 2, triangleCount(a))
		for _, tri := range worldTriangles(a) {
			for _, c := range tri {
				assert.Equal(t, mgl64.Vec3{0, 1, 0}, c.normal)
			}
		}
		assert.Equal(t, mgl32.Vec3{1, 0, 1}, a.Meshes[0].Positions[a.Meshes[0].Indices[5]])
	}
}

func TestErrorsAreTyped(t *testing.T) {
	_, err := gltf.LoadFS(fstest.MapFS{"a/m.gltf": {Data: []byte("{}")}}, "a/m.gltf", gltf.Options{})
	var e *gltf.Error
	require.True(t, errors.As(err, &e))
	assert.Equal(t, "a/m.gltf", e.File)
	assert.Equal(t, "asset", e.Where)
	assert.ErrorIs(t, err, gltf.ErrFormat)
	assert.EqualError(t, err, "a/m.gltf: asset: is missing")
}
