package gltf_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	qmuntal "github.com/qmuntal/gltf"
	"github.com/qmuntal/gltf/modeler"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	a, err := gltf.Load(t.Context(), filepath.Join(dir, "arrow.gltf"), gltf.Options{})
	require.NoError(t, err)
	assert.Equal(t, "arrow", a.Name)

	// The model itself may be a link; what it names may not lead outside.
	inner := filepath.Join(dir, "inner")
	require.NoError(t, os.Mkdir(inner, 0o700))
	require.NoError(t, os.Symlink(filepath.Join(dir, "arrow.gltf"), filepath.Join(inner, "link.gltf")))
	_, err = gltf.Load(t.Context(), filepath.Join(inner, "link.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, fs.ErrNotExist, "arrow.bin is not beside the link")
	require.NoError(t, os.Symlink("../arrow.bin", filepath.Join(inner, "arrow.bin")))
	_, err = gltf.Load(t.Context(), filepath.Join(inner, "link.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, gltf.ErrPath)
	require.NoError(t, os.Remove(filepath.Join(inner, "arrow.bin")))
	require.NoError(t, os.WriteFile(filepath.Join(inner, "real.bin"), m.bin, 0o600))
	require.NoError(t, os.Symlink("real.bin", filepath.Join(inner, "arrow.bin")))
	_, err = gltf.Load(t.Context(), filepath.Join(inner, "link.gltf"), gltf.Options{})
	assert.NoError(t, err)
}

func TestLoadOfNoModel(t *testing.T) {
	dir := t.TempDir()
	_, err := gltf.Load(t.Context(), filepath.Join(dir, "no.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "no.gltf")
	_, err = gltf.Load(t.Context(), filepath.Join(dir, "none", "no.gltf"), gltf.Options{})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = gltf.Load(t.Context(), dir, gltf.Options{})
	assert.ErrorContains(t, err, "not a regular file")
	_, err = gltf.Load(t.Context(), "", gltf.Options{})
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

	given, err := gltf.ParseRules("f.yaml", []byte("rules: [{match: '*', tag: wall}]\nextras: other\n"))
	require.NoError(t, err)
	got, _ = tags(map[string][]byte{"m.labels.yaml": beside}, gltf.Options{Labels: given})
	assert.Equal(t, []scene.Tag{scene.TagWall, scene.TagWall, scene.TagWall, scene.TagWall}, got)

	_, err = loadFiles(map[string][]byte{"m.gltf": text, "m.labels.yaml": []byte("rules: [{match: a, tag: caar}]")}, gltf.Options{})
	assert.ErrorIs(t, err, scene.ErrUnknownTag)
	assert.EqualError(t, err, `m.gltf: m.labels.yaml: rules[0].tag: unknown semantic tag "caar": did you mean car?`)
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
		a, err := gltf.Load(t.Context(), file, gltf.Options{})
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

// Pieces of streets: our own, and those of KayKit, which lie beside the checkout or don't.
const (
	street = "../../testdata/street"
	kaykit = "../../../shared/assets/kaykit_city"
)

// summary is what a plain reading of a piece's JSON says: its nodes have translations
// alone, its primitives indices.
type summary struct {
	Nodes []struct {
		Name        string
		Mesh        *int
		Translation [3]float64
	}
	Meshes []struct {
		Primitives []struct {
			Attributes map[string]int
			Indices    int
		}
	}
	Accessors []struct {
		Count    int
		Min, Max []float64
	}
}

// expect returns the triangles and the bounds, in our axes.
func (s *summary) expect() (triangles int, lo, hi mgl64.Vec3) {
	inf := math.Inf(1)
	lo, hi = mgl64.Vec3{inf, inf, inf}, mgl64.Vec3{-inf, -inf, -inf}
	for _, n := range s.Nodes {
		for _, p := range s.Meshes[*n.Mesh].Primitives {
			triangles += s.Accessors[p.Indices].Count / 3
			a := s.Accessors[p.Attributes["POSITION"]]
			for ours, theirs := range [3]int{2, 0, 1} {
				lo[ours] = min(lo[ours], a.Min[theirs]+n.Translation[theirs])
				hi[ours] = max(hi[ours], a.Max[theirs]+n.Translation[theirs])
			}
		}
	}
	return triangles, lo, hi
}

func TestStreetPieces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(street, "*.gltf"))
	require.NoError(t, err)
	require.Len(t, files, 14)
	loadPieces(t, files, 16)
}

func TestKayKitCity(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(kaykit, "*.gltf"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the KayKit city pieces are not in ../shared/assets/kaykit_city; TestStreetPieces has our own")
	}
	loadPieces(t, files, 1024)
}

// loadPieces loads each file and holds it beside its JSON; all have one texture, so
// many pixels wide.
func loadPieces(t *testing.T, files []string, texture int) {
	tags := map[string]scene.Tag{
		"base": scene.TagGround, "bench": scene.TagStatic, "box": scene.TagDynamic, "building": scene.TagBuilding,
		"bush": scene.TagVegetation, "car": scene.TagCar, "dumpster": scene.TagDynamic, "firehydrant": scene.TagStatic,
		"road": scene.TagRoads, "streetlight": scene.TagPole, "trafficlight": scene.TagTrafficLight,
		"trash": scene.TagDynamic, "watertower": scene.TagBuilding,
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gltf")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var s summary
			require.NoError(t, json.Unmarshal(text, &s))
			triangles, lo, hi := s.expect()

			a, err := gltf.Load(t.Context(), file, gltf.Options{})
			require.NoError(t, err)
			assert.Empty(t, a.Warnings)
			assert.Equal(t, name, a.Name)
			assert.Equal(t, triangles, triangleCount(a))
			gotLo, gotHi := bounds(a)
			assert.InDeltaSlice(t, lo[:], gotLo[:], 1e-5)
			assert.InDeltaSlice(t, hi[:], gotHi[:], 1e-5)
			require.Len(t, a.Nodes, len(s.Nodes))

			require.Len(t, a.Textures, 1)
			assert.Equal(t, texture, a.Textures[0].Image.Rect.Dx())
			kind, _, _ := strings.Cut(name, "_")
			assert.Equal(t, tags[kind].String(), a.Nodes[0].Tag.String())
			for i, n := range a.Nodes {
				assert.Equal(t, i == 0 && kind != "road" && kind != "base", n.Actor, "node %d", i)
			}
			checkAsset(t, a)

			actors, err := new(scene.Scene).Add(a, scene.Placement{})
			require.NoError(t, err)
			require.Len(t, actors, 1, "a piece is one actor")
			assert.Len(t, actors[0].Parts, len(a.Nodes))
			for _, part := range actors[0].Parts {
				assert.Equal(t, tags[kind].String(), part.Tag.String())
			}
		})
	}
}

// A car's front wheels are ahead of its rear wheels, its left ones to the left.
func TestCarsFaceForward(t *testing.T) {
	for file, wheelbase := range map[string]float64{
		filepath.Join(street, "car_small.gltf"): 1.3 + 1.25,
		filepath.Join(kaykit, "car_taxi.gltf"):  0.2454192042350769 + 0.25616389513015747,
	} {
		if _, err := os.Stat(file); err != nil && strings.HasPrefix(file, kaykit) {
			t.Log("no KayKit city pieces are in ../shared/assets/kaykit_city: our own car alone is looked at")
			continue
		}
		a, err := gltf.Load(t.Context(), file, gltf.Options{Scale: 8})
		require.NoError(t, err)
		at := map[string]mgl64.Vec3{}
		for _, n := range a.Nodes {
			_, wheel, _ := strings.Cut(n.Name, "_wheel_")
			at[wheel] = n.Local.Translation
		}
		assert.InDelta(t, 8*wheelbase, at["front_left"][0]-at["rear_left"][0], 1e-6)
		assert.Greater(t, at["front_left"][1], at["front_right"][1])
	}
}

// TestPicturesAreTakenFromTheBudget: before a picture is decoded, with what the decoder needs
// for it. A 16-bit PNG has 8 bytes a pixel beside the 4 that are kept.
func TestPicturesAreTakenFromTheBudget(t *testing.T) {
	const side = 2000
	area := image.Rect(0, 0, side, side)
	for name, c := range map[string]struct {
		picture image.Image
		peak    int64 // bytes a pixel
	}{
		"16 bit":   {image.NewNRGBA64(area), 8 + 4},
		"grey":     {image.NewGray(area), 1 + 4},
		"16 grey":  {image.NewGray16(area), 2 + 4},
		"8 bit":    {image.NewNRGBA(area), 4},
		"no alpha": {opaque(area), 4},
	} {
		t.Run(name, func(t *testing.T) {
			m := full()
			m.doc["images"].(list)[0].(object)["uri"] = "a.png"
			files := map[string][]byte{"m.gltf": m.json("a.bin"), "a.bin": m.bin, "a.png": pngOf(c.picture)}
			pixels := int64(side * side)
			budget := memory.New(pixels*c.peak - 1)
			_, err := loadFiles(files, gltf.Options{Memory: budget})
			require.ErrorIs(t, err, memory.ErrExceeded)
			assert.ErrorContains(t, err, fmt.Sprintf("picture of %dx%d pixels needs %s", side, side, memory.Size(pixels*c.peak)))

			budget = memory.New(pixels*c.peak + 10<<20)
			_, err = loadFiles(files, gltf.Options{Memory: budget})
			require.NoError(t, err)
			assert.InDelta(t, 4*pixels, budget.Held(), 1<<20, "what the asset keeps")
		})
	}
}

// opaque is a picture that PNG writes without alpha.
func opaque(area image.Rectangle) image.Image {
	picture := image.NewNRGBA(area)
	for i := range picture.Pix {
		picture.Pix[i] = 255
	}
	return picture
}

// BenchmarkLoad loads a .glb of 200,000 triangles that share their vertices.
func BenchmarkLoad(b *testing.B) {
	const side = 317
	var positions, normals []float32
	var indices []uint32
	for y := range side {
		for x := range side {
			positions = append(positions, float32(x), 0, float32(y))
			normals = append(normals, 0, 1, 0)
			if i := uint32(y*side + x); x+1 < side && y+1 < side {
				indices = append(indices, i, i+side, i+1, i+1, i+side, i+side+1)
			}
		}
	}
	m := newModel()
	oneNode(m, m.mesh(object{"indices": m.accessor("SCALAR", indices), "attributes": object{
		"POSITION": m.accessor("VEC3", positions), "NORMAL": m.accessor("VEC3", normals)}}))
	files := fstest.MapFS{"m.glb": {Data: m.glb()}}
	b.SetBytes(int64(len(files["m.glb"].Data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gltf.LoadFS(files, "m.glb", gltf.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(indices)/3)*float64(b.N)/b.Elapsed().Seconds(), "triangles/s")
}

// waiting is a context that ends when it was asked so many times.
type waiting struct {
	context.Context
	left atomic.Int64
}

func (w *waiting) Err() error {
	if w.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Loading ends with its context, wherever it is, and never calls the file faulty then.
func TestLoadingEndsWithItsContext(t *testing.T) {
	m := newModel()
	m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0})
	picture := m.add("textures", object{"source": m.add("images", object{"uri": "a.png"})})
	material := m.add("materials", object{"pbrMetallicRoughness": object{"baseColorTexture": object{"index": picture}}})
	oneNode(m, m.mesh(object{"material": material, "attributes": object{"POSITION": 0}}))
	files := map[string]*fstest.MapFile{"m.gltf": {Data: m.embedded()}, "a.png": {Data: pngOf(checker())}}
	for asked := int64(0); ; asked++ {
		ctx := &waiting{Context: t.Context()}
		ctx.left.Store(asked)
		budget := memory.New(1 << 30)
		a, err := gltf.LoadFSContext(ctx, fstest.MapFS(files), "m.gltf", gltf.Options{Memory: budget})
		if err == nil {
			assert.Len(t, a.Textures, 1)
			assert.Greater(t, asked, int64(5), "it asked for each file, node and list")
			return
		}
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, gltf.ErrFormat)
		require.Less(t, asked, int64(1000))
	}
}

// A document of little text and many values is refused before its values are made.
func TestADocumentOfManyValuesIsOfTheBudget(t *testing.T) {
	text := `{"asset": {"version": "2.0"}, "extras": [` + strings.Repeat("0,", 1<<20) + `0]}`
	_, err := loadFiles(map[string][]byte{"m.gltf": []byte(text)}, gltf.Options{Memory: memory.New(16 << 20)})
	require.ErrorIs(t, err, memory.ErrExceeded)
	assert.ErrorContains(t, err, "JSON")
	_, err = loadFiles(map[string][]byte{"m.gltf": []byte(text)}, gltf.Options{Memory: memory.New(128 << 20)})
	require.NoError(t, err)
}
