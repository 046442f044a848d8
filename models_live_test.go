//go:build cgo

package raybridge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/world"
)

type (
	object = map[string]any
	list   = []any
)

// panel is a glTF file of one rectangle, 4 m wide and 2 m high. It stands 10 m before the origin
// and faces it. In glTF's axes that is along z, from x = -2 to 2 and y = -1 to 1.
type panel struct {
	doc object
	bin []byte
}

// put appends numbers as an accessor.
func (p *panel) put(typ string, numbers ...float32) int {
	views, _ := p.doc["bufferViews"].(list)
	accessors, _ := p.doc["accessors"].(list)
	data, err := binary.Append(nil, binary.LittleEndian, numbers)
	if err != nil {
		panic(err)
	}
	p.doc["bufferViews"] = append(views, object{"buffer": 0, "byteOffset": len(p.bin), "byteLength": len(data)})
	p.doc["accessors"] = append(accessors, object{
		"bufferView": len(views), "componentType": 5126, "type": typ, "count": len(numbers) / map[string]int{"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[typ],
	})
	p.bin = append(p.bin, data...)
	return len(accessors)
}

func newPanel() *panel {
	p := &panel{doc: object{"asset": object{"version": "2.0"}}}
	p.doc["meshes"] = list{object{"primitives": list{object{
		"attributes": object{"POSITION": p.put("VEC3", 2, -1, 0, -2, -1, 0, -2, 1, 0, 2, -1, 0, -2, 1, 0, 2, 1, 0)}, "material": 0,
	}}}}
	p.doc["materials"] = list{object{
		"pbrMetallicRoughness": object{"baseColorFactor": list{0.25, 0.5, 0.75, 1}}, "extensions": object{"KHR_materials_unlit": object{}},
	}}
	p.doc["nodes"] = list{object{"mesh": 0, "translation": list{0, 0, 10}, "extras": object{"semantic_actor": true}}}
	return p
}

// first returns the first item of one of the document's lists.
func (p *panel) first(name string) object { return p.doc[name].(list)[0].(object) }

func (p *panel) primitive() object { return p.first("meshes")["primitives"].(list)[0].(object) }

func (p *panel) attribute(name string, accessor int) {
	p.primitive()["attributes"].(object)[name] = accessor
}

// step adds a clip that moves a node's property from 0.05 s on. The clip lasts 10 s.
func (p *panel) step(node int, path, typ string, values ...float32) {
	p.doc["animations"] = list{object{
		"samplers": list{object{"input": p.put("SCALAR", 0, 0.05, 10), "interpolation": "STEP", "output": p.put(typ, values...)}},
		"channels": list{object{"sampler": 0, "target": object{"node": node, "path": path}}},
	}}
}

func (p *panel) write(t *testing.T, file string) {
	t.Helper()
	p.doc["buffers"] = list{object{"byteLength": len(p.bin), "uri": "data:;base64," + base64.StdEncoding.EncodeToString(p.bin)}}
	text, err := json.Marshal(p.doc)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o644))
}

// halves is a picture of 2x1 pixels as a data URI: red on the left, green on the right.
func halves() string {
	img := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	img.SetNRGBA(0, 0, color.NRGBA{255, 0, 0, 255})
	img.SetNRGBA(1, 0, color.NRGBA{0, 255, 0, 255})
	var data bytes.Buffer
	if err := png.Encode(&data, img); err != nil {
		panic(err)
	}
	return "data:;base64," + base64.StdEncoding.EncodeToString(data.Bytes())
}

// seen is what the sensors must see of a panel, y to the left and z up in the plane x.
type seen struct {
	x      float64
	inside func(y, z float64) bool
	color  func(y, z float64) [3]int // without a tone curve; nil for paint, -1 for any
	share  float64                   // of the rays that stop at it; 0 for all
	low    [3]float64                // corners of its box in space
	high   [3]float64
}

func between(y0, y1, z0, z1 float64) func(y, z float64) bool {
	return func(y, z float64) bool { return y0 < y && y < y1 && z0 < z && z < z1 }
}

// paint is a panel's colour unless its case says another: 0.25, 0.5 and 0.75 of 255.
func paint(_, _ float64) [3]int { return [3]int{64, 128, 191} }

var (
	plain    = seen{x: 10, inside: between(-2, 2, -1, 1), low: [3]float64{10, -2, -1}, high: [3]float64{10, 2, 1}}
	features = map[string]struct {
		edit func(p *panel)
		want func(s seen) seen
	}{
		"nothing": {func(*panel) {}, func(s seen) seen { return s }},
		"a skin": {func(p *panel) {
			p.doc["nodes"] = list{object{"mesh": 0, "skin": 0}, object{"translation": list{0, 0, 10}}}
			p.doc["skins"] = list{object{"joints": list{1}}}
			p.attribute("JOINTS_0", p.put("VEC4", make([]float32, 24)...))
			p.doc["accessors"].(list)[1].(object)["componentType"] = 5121 // zeros are zeros
			p.attribute("WEIGHTS_0", p.put("VEC4", 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0))
			p.step(1, "translation", "VEC3", 0, 0, 10, 1, 0, 8, 1, 0, 8)
		}, func(s seen) seen {
			s.x, s.inside, s.low[0], s.high[1] = 8, between(-1, 3, -1, 1), 8, 3
			return s
		}},
		"a morph target": {func(p *panel) {
			p.primitive()["targets"] = list{object{"POSITION": p.put("VEC3", 1, 0, -2, 1, 0, -2, 1, 0, -2, 1, 0, -2, 1, 0, -2, 1, 0, -2)}}
			p.step(0, "weights", "SCALAR", 0, 1, 1)
		}, func(s seen) seen {
			s.x, s.inside, s.low[0], s.high[1] = 8, between(-1, 3, -1, 1), 8, 3
			return s
		}},
		"a node that moves": {func(p *panel) { p.step(0, "translation", "VEC3", 0, 0, 10, 1, 0, 8, 1, 0, 8) }, func(s seen) seen {
			s.x, s.inside, s.low[0], s.high[1] = 8, between(-1, 3, -1, 1), 8, 3
			return s
		}},
		"colours of vertices": {func(p *panel) {
			p.attribute("COLOR_0", p.put("VEC3", 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0))
			p.first("materials")["pbrMetallicRoughness"] = object{}
		}, func(s seen) seen {
			s.color = func(y, _ float64) [3]int { return [3]int{int(255*(y+2)/4 + 0.5), int(255*(2-y)/4 + 0.5), 0} }
			return s
		}},
		"instances": {func(p *panel) {
			p.first("nodes")["extensions"] = object{"EXT_mesh_gpu_instancing": object{"attributes": object{
				"TRANSLATION": p.put("VEC3", -4, 0, 0, 4, 1, 0), "SCALE": p.put("VEC3", 1, 1, 1, -0.5, 1, 1),
			}}}
		}, func(s seen) seen {
			first, second := between(-6, -2, -1, 1), between(3, 5, 0, 2)
			s.inside = func(y, z float64) bool { return first(y, z) || second(y, z) }
			s.low, s.high = [3]float64{10, -6, -1}, [3]float64{10, 5, 2}
			return s
		}},
		"a texture's transform": {func(p *panel) {
			p.attribute("TEXCOORD_0", p.put("VEC2", 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0)) // u to the right
			p.doc["images"], p.doc["textures"] = list{object{"uri": halves()}}, list{object{"source": 0}}
			p.first("materials")["pbrMetallicRoughness"] = object{"baseColorTexture": object{
				"index": 0, "extensions": object{"KHR_texture_transform": object{"scale": list{0, 0}, "offset": list{0.75, 0.5}}},
			}}
		}, func(s seen) seen {
			s.color = func(_, _ float64) [3]int { return [3]int{0, 255, 0} }
			return s
		}},
		"a strong glow": {func(p *panel) {
			p.doc["materials"] = list{object{
				"pbrMetallicRoughness": object{"baseColorFactor": list{0, 0, 0, 1}, "metallicFactor": 0},
				"emissiveFactor":       list{1, 0, 1}, "extensions": object{"KHR_materials_emissive_strength": object{"emissiveStrength": 1000}},
			}}
		}, func(s seen) seen {
			s.color = func(_, _ float64) [3]int { return [3]int{255, -1, 255} }
			return s
		}},
		"a blend": {func(p *panel) {
			p.first("materials")["alphaMode"] = "BLEND"
			p.first("materials")["pbrMetallicRoughness"].(object)["baseColorFactor"] = list{0.25, 0.5, 0.75, 0.4}
		}, func(s seen) seen {
			s.share = 0.4
			return s
		}},
		"a sheared matrix": {func(p *panel) { // x' = x + y / 2
			delete(p.first("nodes"), "translation")
			p.first("nodes")["matrix"] = list{1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 10, 1}
		}, func(s seen) seen {
			s.inside = func(y, z float64) bool { return plain.inside(y-z/2, z) }
			// Its box is turned by the nearest rotation, as the actor: (2, 0.5) over its length. What
			// is left is a stretch by (2, 0.5) and (0.5, 2.25) over that length.
			length := math.Hypot(2, 0.5)
			s.low[1], s.high[1] = -4.5/length, 4.5/length
			s.low[2], s.high[2] = -3.25/length, 3.25/length
			return s
		}},
		"a bad clip": {func(p *panel) {
			p.step(0, "translation", "VEC3", 0, 0, 10, 1, 0, 8, 1, 0, 8)
			good := p.doc["animations"].(list)[0]
			p.step(0, "scale", "VEC3", 1, 1, 1) // two keys too few
			p.doc["animations"] = append(p.doc["animations"].(list), good)
		}, func(s seen) seen {
			s.x, s.inside, s.low[0], s.high[1] = 8, between(-1, 3, -1, 1), 8, 3
			return s
		}},
	}
)

// Each feature of glTF is in each output: depth, tag, instance, colour, the lidar's ranges and
// tags, boxes in the picture and in space. The panel is a car, and a wall stands 20 m away.
func TestModelsAreInEveryOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for name, c := range features {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := newPanel()
			c.edit(p)
			p.write(t, filepath.Join(dir, "panel.gltf"))
			wall := newPanel()
			wall.doc["nodes"] = list{object{"mesh": 0, "translation": list{0, 0, 20}, "scale": list{50, 50, 1}}}
			wall.write(t, filepath.Join(dir, "wall.gltf"))
			cfg, err := config.Reader{}.Parse(filepath.Join(dir, "run.yaml"),
				[]byte("scene: {place: [{file: wall.gltf, tag: wall}]}\nactors: [{file: panel.gltf, tag: car, type: vehicle.sedan}]"))
			require.NoError(t, err)
			newLook(t, cfg).check(t, c.want(plain))
		})
	}
}

const lookWidth, lookHeight = 160, 120

// look is the last message of a sensor of each kind at the origin.
type look struct {
	depth, tags, instances, colors []sample.Image
	points                         []sample.PointCloud
	boxes                          []sample.Detections2D
	space                          []sample.Detections3D
}

func newLook(t *testing.T, c *config.Config) *look {
	t.Helper()
	s, _, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	p, err := pipeline.New(t.Context(), pipeline.Config{Scene: s, Sensors: all.Registry(), Open: gputest.Opener()})
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	size := map[string]any{"image_size_x": lookWidth, "image_size_y": lookHeight, "fov": 90}
	add := func(id string, attributes map[string]any) *pipeline.Sensor {
		s, err := p.AddSensor(sensors.Config{ID: id, Name: filepath.Ext(id)[1:], Attributes: attributes})
		require.NoError(t, err)
		return s
	}
	l := &look{}
	keep(t, add("sensor.camera.depth", size), "image", &l.depth)
	keep(t, add("sensor.camera.semantic_segmentation", size), "image", &l.tags)
	keep(t, add("sensor.camera.instance_segmentation", size), "image", &l.instances)
	keep(t, add("sensor.camera.rgb", map[string]any{"image_size_x": lookWidth, "image_size_y": lookHeight, "fov": 90, "enable_postprocess_effects": false}), "image", &l.colors)
	keep(t, add("sensor.lidar.ray_cast", map[string]any{"rolling": false, "upper_fov": 20, "lower_fov": -20, "range": 50}), "points", &l.points)
	keep(t, add("sensor.ground_truth.boxes_2d", size), "boxes", &l.boxes)
	keep(t, add("sensor.ground_truth.boxes_3d", nil), "boxes", &l.space)
	require.NoError(t, p.Run(t.Context(), runTime))
	return l
}

func last[E any](t *testing.T, messages []E) *E {
	t.Helper()
	require.NotEmpty(t, messages)
	return &messages[len(messages)-1]
}

// clear tells on which side of the panel's edges a point is, where none is within 0.2 m.
func (s *seen) clear(y, z float64) (inside, ok bool) {
	inside = s.inside(y, z)
	for _, d := range [][2]float64{{0.2, 0}, {-0.2, 0}, {0, 0.2}, {0, -0.2}} {
		if s.inside(y+d[0], z+d[1]) != inside {
			return false, false
		}
	}
	return inside, true
}

func (l *look) check(t *testing.T, want seen) {
	t.Helper()
	depth, tags, instances, colors := last(t, l.depth), last(t, l.tags), last(t, l.instances), last(t, l.colors)
	space, boxes := last(t, l.space), last(t, l.boxes)
	require.Len(t, space.Boxes, 1)
	require.Len(t, boxes.Boxes, 1)
	id := space.Boxes[0].ID
	if want.share == 0 {
		want.share = 1
	}
	var count, hits int
	low, high := [2]float64{lookWidth, lookHeight}, [2]float64{}
	for v := range lookHeight {
		for u := range lookWidth {
			y, z := want.x*(lookWidth/2-0.5-float64(u))/(lookWidth/2), want.x*(lookHeight/2-0.5-float64(v))/(lookWidth/2)
			if want.inside(y, z) {
				low = [2]float64{min(low[0], float64(u)), min(low[1], float64(v))}
				high = [2]float64{max(high[0], float64(u+1)), max(high[1], float64(v+1))}
			}
			inside, ok := want.clear(y, z)
			if !ok {
				continue
			}
			x, tag, instance := 20.0, scene.TagWall, uint32(0)
			hit := scene.Tag(tags.Data[v*tags.Step+u]) == scene.TagCar
			if inside {
				count++
			}
			if hit {
				hits++
				x, tag, instance = want.x, scene.TagCar, id
				pixel := colors.Data[v*colors.Step+3*u:][:3]
				color := paint
				if want.color != nil {
					color = want.color
				}
				for k, c := range color(y, z) {
					if c >= 0 {
						require.InDelta(t, c, int(pixel[k]), 2, "pixel %d, %d is %v", u, v, pixel)
					}
				}
			}
			require.True(t, hit == inside || inside && want.share < 1, "pixel %d, %d", u, v)
			require.EqualValues(t, tag, tags.Data[v*tags.Step+u], "pixel %d, %d", u, v)
			require.InDelta(t, x, math.Float32frombits(binary.LittleEndian.Uint32(depth.Data[v*depth.Step+4*u:])), 0.01, "pixel %d, %d", u, v)
			got := uint32(binary.LittleEndian.Uint16(instances.Data[v*instances.Step+2*u:]))
			require.Equal(t, instance == id, got == id, "pixel %d, %d", u, v)
		}
	}
	require.Greater(t, count, 300)
	assert.InDelta(t, want.share, float64(hits)/float64(count), 0.08, "of pixels")

	count, hits = 0, 0
	for i := range last(t, l.points).Points {
		p := &last(t, l.points).Points[i]
		f := want.x / float64(p.X)
		inside, ok := want.clear(float64(p.Y)*f, float64(p.Z)*f)
		if p.X < 1 || math.Abs(float64(p.Y)) > float64(p.X) || !ok {
			continue
		}
		x, tag := 20.0, scene.TagWall
		if p.Instance == id {
			x, tag = want.x, scene.TagCar
			hits++
		}
		if inside {
			count++
		}
		require.True(t, p.Instance == id == inside || inside && want.share < 1, "%+v", p)
		require.InDelta(t, x, p.X, 0.01)
		require.EqualValues(t, tag, p.Tag)
	}
	require.Greater(t, count, 30)
	assert.InDelta(t, want.share, float64(hits)/float64(count), 0.16, "of rays")

	flat := &boxes.Boxes[0]
	assert.Equal(t, id, flat.ID)
	assert.EqualValues(t, scene.TagCar, flat.Tag)
	within := 0.51
	if want.share < 1 {
		within = 1.51
	}
	assert.InDelta(t, (low[0]+high[0])/2, flat.CenterX, within)
	assert.InDelta(t, (low[1]+high[1])/2, flat.CenterY, within)
	assert.InDelta(t, high[0]-low[0], flat.Width, 2*within)
	assert.InDelta(t, high[1]-low[1], flat.Height, 2*within)
	box := &space.Boxes[0]
	for k := range 3 {
		assert.InDelta(t, want.high[k]-want.low[k], box.Size[k], 1e-3, "axis %d", k)
		assert.InDelta(t, (want.high[k]+want.low[k])/2, box.Pose.Position[k], 1e-3, "axis %d", k)
	}
}

// streetLights is a glTF file of a light, J7, and a wall behind it. The light has a red lamp on the left
// and a green one on the right.
func streetLights(t *testing.T, file string) {
	t.Helper()
	p := newPanel()
	meshes := p.doc["meshes"].(list)
	lamp := func(name string) object {
		return object{"name": name, "pbrMetallicRoughness": object{"baseColorFactor": list{0.2, 0.2, 0.2, 1}, "metallicFactor": 0}, "extras": object{"lamps": list{name}}}
	}
	p.doc["materials"] = list{lamp("red"), lamp("green"), object{"name": "grey"}}
	for material := 1; material < 3; material++ {
		p.doc["meshes"] = append(p.doc["meshes"].(list), object{"primitives": list{object{
			"attributes": meshes[0].(object)["primitives"].(list)[0].(object)["attributes"], "material": material,
		}}})
	}
	p.doc["nodes"] = list{
		object{"name": "J7", "children": list{1, 2}, "translation": list{0, 0, 10}, "extras": object{"semantic_actor": true}},
		object{"mesh": 0, "translation": list{2, 0, 0}}, object{"mesh": 1, "translation": list{-2, 0, 0}},
		object{"name": "wall", "mesh": 2, "translation": list{0, 0, 20}, "scale": list{9, 9, 1}},
	}
	p.write(t, file)
}

// bulbs is a message of OSI, after its length: the lamps of a light, of which one is on.
func bulbs(at int64, on uint64) []byte {
	put := func(field protowire.Number, in ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), slices.Concat(in...))
	}
	number := func(field protowire.Number, n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), n)
	}
	m := put(2, number(2, uint64(at)))
	for color := uint64(2); color <= 4; color++ { // red, yellow, green
		mode := uint64(2)
		if color == on {
			mode = 3
		}
		m = append(m, put(7, put(1, number(1, 100+color)), put(3, number(1, color), number(3, mode)), put(5, put(3, []byte("traffic_light_id:J7"))))...)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(m))), m...)
}

// TestATraceSwitchesTheLampsOfAModel: lights of a glTF file follow a trace of OSI. Pictures show their
// lamps, and sensors tell what they show.
func TestATraceSwitchesTheLampsOfAModel(t *testing.T) {
	dir := t.TempDir()
	streetLights(t, filepath.Join(dir, "street.gltf"))
	trace := slices.Concat(bulbs(0, 0), bulbs(1e8, 2), bulbs(2e8, 4), bulbs(3e8, 3), bulbs(4e8, 2))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.osi"), trace, 0o600))
	cfg, err := config.Reader{}.Parse(filepath.Join(dir, "run.yaml"), []byte(`
scene: {file: street.gltf}
sensors:
  - {id: sensor.camera.rgb, name: eye, rate: 10, image_size_x: 40, image_size_y: 20, fov: 60}
  - {id: sensor.other.signals, name: ahead, rate: 10}
  - {id: sensor.other.snapshot, name: all}
`))
	require.NoError(t, err)
	sim, err := raybridge.Open(t.Context(), raybridge.Config{Run: cfg, Open: gputest.Opener()})
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sim.Close(context.Background())) })
	var pictures []sample.Image
	var ahead []sample.Signals
	var all []sample.Snapshot
	for name, hear := range map[string]func(*pipeline.Sensor){
		"eye": func(s *pipeline.Sensor) { keep(t, s, "image", &pictures) }, "ahead": func(s *pipeline.Sensor) { keep(t, s, "signals", &ahead) },
		"all": func(s *pipeline.Sensor) { keep(t, s, "snapshot", &all) },
	} {
		s, err := sim.Sensor(name)
		require.NoError(t, err)
		hear(s)
	}
	kind, source, err := raybridge.OpenWorld(t.Context(), "osi:"+filepath.Join(dir, "drive.osi"), world.Options{
		Lights: sim.Geometry().Scene.SignalNames, Warn: func(text string, args ...any) { assert.Fail(t, text, args...) },
	})
	require.NoError(t, err)
	require.NoError(t, sim.Follow(t.Context(), pipeline.Following{Kind: kind, Source: source}))
	require.NoError(t, source.Close())

	require.Len(t, pictures, 4)
	require.Len(t, ahead, 4)
	glows := func(m *sample.Image, u int) bool { return m.Data[10*m.Step+3*u] > 230 }
	for i, want := range []world.SignalState{world.SignalRed, world.SignalGreen, world.SignalYellow, world.SignalRed} {
		assert.Equal(t, want == world.SignalRed, glows(&pictures[i], 13), "the red lamp in picture %d", i)
		assert.Equal(t, want == world.SignalGreen, glows(&pictures[i], 26), "the green lamp in picture %d", i)
		require.Len(t, ahead[i].Signals, 1)
		light := &ahead[i].Signals[0]
		assert.Equal(t, want, light.State)
		assert.InDeltaSlice(t, []float64{10, 0, 0}, light.Pose.Position[:], 1e-6)
		assert.InDeltaSlice(t, []float64{0, 8, 2}, light.Size[:], 1e-6)
	}
	for _, a := range last(t, all).Actors {
		if a.Kind == sample.KindTrafficLight {
			assert.Equal(t, world.SignalRed, a.Signal)
			return
		}
	}
	assert.Fail(t, "the snapshot has no light")
}
