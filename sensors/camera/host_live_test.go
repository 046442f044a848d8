//go:build cgo

package camera_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// stand is a scene that both devices show, and from where.
type stand struct {
	scene  *scene.Scene
	ego    scene.Motion
	mount  spatial.Pose
	stamps []simtime.Stamp
	width  int
	height int
	lens   []any // attributes; nil for a pinhole
	// begin changes what is there before the first instant (optional).
	begin func(*rig)
}

func still(s *scene.Scene, mount spatial.Pose, stamps ...simtime.Stamp) stand {
	return stand{scene: s, mount: mount, stamps: stamps, width: 321, height: 243}
}

// cutOuts are fences and panes of every kind, still and moving, on a textured floor.
func cutOuts(t *testing.T) *scene.Scene {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	picture := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			picture.SetNRGBA(x, y, color.NRGBA{uint8(4 * x), uint8(4 * y), uint8(rng.IntN(256)), uint8(255 * ((x/8 + y/8) % 2))})
		}
	}
	b := scenetest.NewBuilder("cut-outs")
	floor := scenetest.Matte("floor", 0.7, 0.6, 0.5)
	floor.BaseColorTexture = 0
	textures := func(sampler scene.Sampler) []scene.Texture {
		return []scene.Texture{{Name: "picture", Image: picture, Sampler: sampler}, {Name: "rough", Image: picture, Sampler: sampler}}
	}
	put := func(m scene.Mesh, material scene.Material, sampler scene.Sampler, p scene.Placement) {
		m.Groups = []scene.Group{{Count: len(m.Indices)}}
		for i := range m.UVs {
			m.UVs[i] = m.UVs[i].Mul(2.5).Sub(mgl32.Vec2{0.7, 0.9})
		}
		_, err := b.Scene.Add(&scene.Asset{
			Name: material.Name, Textures: textures(sampler), Materials: []scene.Material{material}, Meshes: []scene.Mesh{m},
			Nodes: []scene.Node{{Name: material.Name, Parent: -1, Local: scene.IdentityTRS()}},
		}, p)
		require.NoError(t, err)
	}
	put(scenetest.Plane(80, 4), floor, scene.Sampler{}, scenetest.At(0, 0, 0, scene.TagRoads))
	for i := range 24 {
		m := scenetest.Matte(fmt.Sprintf("pane %d", i), rng.Float32(), rng.Float32(), rng.Float32())
		m.BaseColorTexture, m.AlphaCutoff = 0, 0.5
		m.AlphaMode = []scene.AlphaMode{scene.AlphaMask, scene.AlphaBlend, scene.AlphaOpaque}[i%3]
		m.BaseColor[3] = 0.4 + 0.6*rng.Float32()
		m.Metallic, m.Roughness = rng.Float32(), rng.Float32()
		if i%4 == 1 {
			m.MetalRoughTexture, m.MetalRoughUV = 1, scene.UVTransform{{0.5, 0.3, 0.1}, {-0.3, 0.5, 0.2}}
		}
		if i%4 == 2 {
			m.EmissiveTexture, m.Emissive = 0, mgl32.Vec3{0.4, 0.2, 0.6}
		}
		m.Unlit = i%7 == 3
		mesh := scenetest.Box(0.1+rng.Float64(), 2, 2)
		if i%5 == 0 {
			for range mesh.Positions {
				mesh.Colors = append(mesh.Colors, mgl32.Vec4{rng.Float32(), rng.Float32(), rng.Float32(), 0.5 + 0.5*rng.Float32()})
			}
		}
		p := scenetest.At(4+20*rng.Float64(), 16*rng.Float64()-8, 1.2, scene.TagFence)
		p.Pose.Orientation = spatial.FromRPY(mgl64.Vec3{}, 0, 0, 360*rng.Float64()).Orientation
		if i%2 == 0 {
			p.Motion = scenetest.Linear{Start: p.Pose, Velocity: mgl64.Vec3{rng.Float64() - 0.5, rng.Float64() - 0.5, 0}}
		}
		put(mesh, m, scene.Sampler{WrapS: scene.Wrap(i % 3), WrapT: scene.Wrap((i / 2) % 3), Magnify: []scene.Filter{scene.FilterLinear, scene.FilterNearest}[i%2], Minify: scene.Filter(i % 6)}, p)
	}
	return b.Scene
}

// lights are a traffic light that shows red, and two actors of one model: one has a paint of its own.
func lights(t *testing.T) stand {
	t.Helper()
	b := scenetest.NewBuilder("lights")
	b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	part := func(material scene.Material, y, z float64) scene.Part {
		b.Scene.Materials = append(b.Scene.Materials, material)
		mesh := scenetest.Box(0.5, 0.8, 0.8)
		mesh.Groups = []scene.Group{{Count: len(mesh.Indices), Material: len(b.Scene.Materials) - 1}}
		b.Scene.Meshes = append(b.Scene.Meshes, mesh)
		return scene.Part{Name: material.Name, Mesh: len(b.Scene.Meshes) - 1, Local: mgl64.Translate3D(0, y, z), Tag: scene.TagTrafficLight}
	}
	light := &scene.Actor{Name: "light", Pose: spatial.FromRPY(mgl64.Vec3{6, 1, 0}, 0, 0, 0)}
	for i, lamp := range []world.Lights{world.LightRed, world.LightYellow, world.LightGreen} {
		material := scenetest.Matte("lamp", 0.3, 0.2, 0.1)
		material.Lamps = lamp
		light.Parts = append(light.Parts, part(material, 0, 1+float64(i)))
	}
	require.NoError(t, b.Scene.AddActor(light))
	b.Scene.Signals = []scene.TrafficLight{{ID: 1, Actor: uint32(len(b.Scene.Actors)), Pose: light.Pose}}
	body, brake := scenetest.Matte("body", 0.5, 0.5, 0.5), scenetest.Matte("brake", 0.4, 0.1, 0.1)
	body.Paint, brake.Lamps = true, world.LightBrake
	b.Scene.Reserve(&scene.Actor{TypeID: "car", Pose: spatial.Identity(), Parts: []scene.Part{part(body, 0, 1), part(brake, 1, 1)}}, 2)
	s := still(b.Scene, forward(1.5), 0)
	s.begin = func(r *rig) {
		r.history.SetSignal(0, world.SignalRed)
		for i, paint := range []*[3]uint8{{0, 99, 188}, nil} {
			at := scene.Waypoint{Pose: spatial.FromRPY(mgl64.Vec3{5, -1 - 1.5*float64(i), 0}, 0, 0, 20), Lights: world.LightBrake}
			way := &scene.Guided{}
			way.Lead(at, at)
			_, err := r.history.SpawnActor(r.geometry.Scene.Model("car"), scene.Actor{Paint: paint}, way)
			require.NoError(t, err)
		}
	}
	return s
}

// stands are the scenes of the suite.
func stands(t *testing.T) map[string]stand {
	t.Helper()
	town, err := city.Generate(city.Options{})
	require.NoError(t, err)
	mount := spatial.FromRPY(mgl64.Vec3{1.2, 0.3, 1.6}, 0, 2, 5)
	list := map[string]stand{
		"city":      {scene: town, ego: town.Route, mount: mount, stamps: []simtime.Stamp{0, simtime.Stamp(9 * second)}, width: 417, height: 235},
		"plane":     still(scene.Plane(mgl64.Vec3{}), forward(1.6), 0),
		"street":    still(ownStreet(t), forward(1.7), 0),
		"lights":    lights(t),
		"cut-outs":  still(cutOuts(t), forward(1.6), 0, simtime.Stamp(second)),
		"wall":      still(scenetest.MovingWall(20, 4), forward(1), 0, simtime.Stamp(second)),
		"one pixel": {scene: scenetest.MovingWall(20, 4), mount: forward(1), stamps: []simtime.Stamp{0}, width: 1, height: 1},
	}
	for seed := range uint64(3) {
		pose := []spatial.Pose{forward(1), spatial.FromRPY(mgl64.Vec3{-20, 13, 7}, 12, 20, 140), spatial.FromRPY(mgl64.Vec3{40, -40, -3}, -30, -15, 100)}[seed]
		s := still(scenetest.Soup(seed, 6000, true), pose, simtime.Stamp(int64(seed)*second/2))
		list[fmt.Sprintf("soup %d", seed)] = s
	}
	through := func(name, as string, lens ...any) {
		s := list[name]
		s.lens, list[as] = lens, s
	}
	through("street", "street by fisheye", "lens", "svl_fisheye", "distortion", "0.1,-0.05,0,0", "xi", 0.9)
	through("wall", "wall by plumb bob", "lens", "plumb_bob", "distortion", "-0.2,0.05,0.01,-0.01,0")
	through("soup 1", "soup by barrel", "lens", "svl", "distortion", "0.2,0.05,0,0")
	for _, name := range []string{"car.gltf", "arrow.glb"} {
		s := scene.New(name)
		asset, err := gltf.Load(t.Context(), filepath.Join("../../scene/gltf/testdata", name), gltf.Options{})
		require.NoError(t, err)
		_, err = s.Add(asset, scene.Placement{Pose: spatial.FromRPY(mgl64.Vec3{6, 0.5, 0}, 0, 0, 30)})
		require.NoError(t, err)
		list[name] = still(s, forward(1.2), 0)
	}
	return list
}

// everyPicture are cameras of all kinds, encodings and ways to show light.
func everyPicture(s *stand) []mounted {
	view := func(more ...any) map[string]any { return size(s.width, s.height, append(more, s.lens...)...) }
	list := everyForm(view)
	for _, light := range [][]any{
		{"samples", 4}, {"samples", 9}, {"samples", 16}, {"tone_curve", "none"}, {"enable_postprocess_effects", false},
		{"gamma", 2.6, "temp", 4500.0, "tint", 0.5}, {"slope", 0.7, "toe", 0.3, "shoulder", 0.5, "black_clip", 0.05, "white_clip", 0.3},
	} {
		list = append(list, mounted{camera.RGBDefinition, forward(1), view(light...)})
	}
	for i := range list {
		list[i].mount = s.mount
		delete(list[i].attributes, "compressed")
	}
	return list
}

// album has what a stand's cameras published, an instant after the other.
type album [][]*sample.Image

func (s *stand) show(t *testing.T, thread *gpu.Thread, list []mounted) (all album) {
	t.Helper()
	r := newRigOn(t, thread, s.scene, s.ego, list...)
	defer r.end()
	if s.begin != nil {
		s.begin(r)
	}
	for _, stamp := range s.stamps {
		r.fire(stamp)
		assert.Empty(t, r.drops)
		var pictures []*sample.Image
		for i := range list {
			pictures = append(pictures, r.picture(i))
		}
		all = append(all, pictures)
	}
	return all
}

// hostThread runs a thread on a host device, which has no object left in the end.
func hostThread(t *testing.T, isa string, threads int) *gpu.Thread {
	t.Helper()
	thread, err := gpu.Start(hostdev.Open(hostdev.Options{ISA: isa, Threads: threads}))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Empty(t, thread.DebugErrors())
		assert.Empty(t, thread.Live())
		assert.NoError(t, thread.Close())
	})
	return thread
}

// difference counts the pixels of two pictures that differ by more than the contract allows.
type difference struct{ pixels, off, worst int }

func (d *difference) share() float64 { return float64(d.off) / float64(max(d.pixels, 1)) }

// compare holds a picture of the host device against OpenGL's. same has, for each pixel, whether
// the labels of both devices are equal.
func compare(kind, encoding string, got, want *sample.Image, same []bool) (d difference) {
	bytesOf := map[string]int{
		sample.EncodingRGB8: 3, sample.EncodingBGR8: 3, sample.EncodingBGRA8: 4, sample.EncodingMono8: 1, sample.Encoding16UC1: 2,
		sample.Encoding32SC1: 4, sample.Encoding32FC1: 4, sample.Encoding32FC2: 8, sample.Encoding32FC3: 12,
	}[encoding]
	for v := range want.Height {
		for u := range want.Width {
			a, b := at(got, u, v, bytesOf), at(want, u, v, bytesOf)
			if kind != "label" && kind != "light" && !same[v*want.Width+u] {
				continue
			}
			d.pixels++
			if bytes.Equal(a, b) {
				continue
			}
			off := true
			switch {
			case kind == "light" || kind == "grey":
				most := 0
				for i := range a {
					most = max(most, int(math.Abs(float64(a[i])-float64(b[i]))))
				}
				d.worst = max(d.worst, most)
				off = most > map[string]int{"light": 2, "grey": 1}[kind]
			case kind == "code":
				code := func(p []byte) float64 { return float64(p[2]) + 256*float64(p[1]) + 65536*float64(p[0]) }
				off = math.Abs(code(a)-code(b)) > 1+1e-5*code(b)
			case kind == "number":
				off = false
				for i := 0; i < len(a); i += 4 {
					x, y := float(a[i:]), float(b[i:])
					near := math.Abs(x-y) <= 1e-5*math.Abs(y) || x == y || math.IsNaN(x) && math.IsNaN(y)
					if encoding != sample.Encoding32FC1 {
						near = near || math.Abs(x-y) <= 1e-3
					}
					off = off || !near
				}
			}
			if off {
				d.off++
			}
		}
	}
	return d
}

// kindOf says how a camera's pictures are compared.
func kindOf(m *mounted) string {
	switch m.definition {
	case camera.RGBDefinition:
		return "light"
	case camera.DepthDefinition:
		if output, ok := m.attributes["output"]; ok {
			return map[string]string{"carla": "code", "svl": "grey"}[output.(string)]
		}
		return "number"
	case camera.NormalsDefinition, camera.OpticalFlowDefinition:
		return "number"
	}
	return "label"
}

// openGL returns the reference's thread.
func openGL(t *testing.T) *gpu.Thread {
	t.Helper()
	if os.Getenv("GL_DEVICE") == "host" {
		t.Skip("holds the host device against OpenGL; runs without GL_DEVICE=host")
	}
	return gputest.Thread(t)
}

// TestHostPicturesAgreeWithOpenGL holds each kernel's pictures against the shader's.
func TestHostPicturesAgreeWithOpenGL(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	gl := openGL(t)
	host := hostThread(t, "", 2)
	for name, s := range stands(t) {
		t.Run(name, func(t *testing.T) {
			list := everyPicture(&s)
			want, got := s.show(t, gl, list), s.show(t, host, list)
			for k := range want {
				same := make([]bool, s.width*s.height)
				tags, ids := 6, 11 // of everyForm
				for i := range same {
					u, v := i%s.width, i/s.width
					same[i] = bytes.Equal(at(got[k][tags], u, v, 1), at(want[k][tags], u, v, 1)) && bytes.Equal(at(got[k][ids], u, v, 2), at(want[k][ids], u, v, 2))
				}
				for i := range list {
					kind := kindOf(&list[i])
					d := compare(kind, want[k][i].Encoding, got[k][i], want[k][i], same)
					most := map[string]float64{"light": 0.005, "label": 0.001, "number": 0.001, "code": 0.001, "grey": 0.001}[kind]
					if d.off > 0 {
						t.Logf("%s %v at %d: %.4f %% of %d off, worst %d", list[i].definition.ID, list[i].attributes, s.stamps[k], 100*d.share(), d.pixels, d.worst)
					}
					assert.LessOrEqual(t, d.share(), most, "%s %v at %d", list[i].definition.ID, list[i].attributes, s.stamps[k])
				}
			}
		})
	}
}

// TestHostEventsAgreeWithOpenGL compares the events of a second of the city, which come of LUMINANCE.
func TestHostEventsAgreeWithOpenGL(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	town, err := city.Generate(city.Options{Triangles: 40_000})
	require.NoError(t, err)
	events := func(thread *gpu.Thread) map[sample.DvsEvent]bool {
		r := newRigOn(t, thread, town, town.Route, mounted{camera.DVSDefinition, forward(1.6), size(160, 120, "samples", 4)})
		defer r.end()
		r.fire(0)
		r.fire(simtime.Stamp(second))
		all := map[sample.DvsEvent]bool{}
		for _, e := range last[*sample.DvsEvents](r, 0, camera.OutputEvents).Events {
			e.TimeNs = 0
			all[e] = true
		}
		return all
	}
	want, got := events(openGL(t)), events(hostThread(t, "", 2))
	missing := 0
	for e := range want {
		if !got[e] {
			missing++
		}
	}
	t.Logf("%d events, %d of OpenGL's %d are not there", len(got), missing, len(want))
	require.Greater(t, len(want), 1000)
	assert.InEpsilon(t, len(want), len(got), 0.01)
	assert.LessOrEqual(t, missing, len(want)/50, "a level decides at which pixels a threshold is passed")
}

// TestHostPicturesAreTheSameBytes: any instruction set, any number of threads, and again.
func TestHostPicturesAreTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	if os.Getenv("GL_DEVICE") == "host" {
		t.Skip("opens the host device itself; runs without GL_DEVICE=host")
	}
	for name, s := range stands(t) {
		t.Run(name, func(t *testing.T) {
			if name == "city" {
				s.width, s.height = s.width/2, s.height/2
			}
			list := everyPicture(&s)
			var want album
			for i, isa := range hostdev.ISAs() {
				for _, threads := range [][]int{{1, 2, 3, 2}, {2}, {3}}[i] {
					got := s.show(t, hostThread(t, isa, threads), list)
					if want == nil {
						want = got
					}
					for k := range got {
						for i := range list {
							assert.True(t, bytes.Equal(want[k][i].Data, got[k][i].Data),
								"%s, %d threads: %s %v at %d", isa, threads, list[i].definition.ID, list[i].attributes, s.stamps[k])
						}
					}
				}
			}
		})
	}
}
