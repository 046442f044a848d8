//go:build cgo

package hostdev_test

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// layers is how many panes stand at one place.
const layers = 6

// stack is how panes stand one on another.
type stack struct {
	apart float64        // metres between two that follow each other
	moves func(int) bool // whether a pane is a mover
	one   bool           // all are parts of one mesh
}

func never(int) bool  { return false }
func always(int) bool { return true }

func stacks() map[string]stack {
	all := map[string]stack{"both": {moves: func(k int) bool { return k%2 == 0 }}}
	if !testing.Short() {
		all["static"] = stack{moves: never}
		all["one mesh, apart"] = stack{apart: 1e-7, moves: never, one: true}
		all["movers, apart"] = stack{apart: 1e-7, moves: always}
	}
	return all
}

// bars are opaque in each (layers + 1)th column of 8 texels, from number k on.
func bars(k int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, 24*(layers+1), 4))
	for y := range 4 {
		for x := range img.Rect.Dx() {
			img.SetNRGBA(x, y, color.NRGBA{255, 255, 255, uint8(255 * (1 - min((x/8+layers+1-k)%(layers+1), 1)))})
		}
	}
	return img
}

// panes is a room of four walls, a roof and a floor. A stack of panes stands before each wall and forms
// the roof. Each pane has opaque bars where all the others have holes, and between the bars of the last
// pane and the first all of them have holes. Every other pane is turned round.
func panes(s stack) *scene.Scene {
	b := scenetest.NewBuilder("panes")
	b.Scene.Light = scene.Light{SunDirection: mgl32.Vec3{0.1, 0.2, 0.97}.Normalize(), SunColor: mgl32.Vec3{3, 3, 3}, Exposure: 1}
	b.Put("floor", scenetest.Plane(60, 1), scenetest.Matte("floor", 1, 1, 1), scenetest.At(0, 0, 0, scene.TagRoads))
	asset := &scene.Asset{Name: "panes"}
	for k := range layers {
		asset.Textures = append(asset.Textures, scene.Texture{
			Name: fmt.Sprint("bars ", k), Image: bars(k), Sampler: scene.Sampler{WrapS: scene.WrapClamp, WrapT: scene.WrapClamp, Magnify: scene.FilterNearest},
		})
		m := scenetest.Matte(fmt.Sprint("pane ", k), 1, 1, 1)
		m.BaseColorTexture, m.AlphaMode, m.AlphaCutoff, m.DoubleSided = k, scene.AlphaMask, 0.5, true
		asset.Materials = append(asset.Materials, m)
	}
	for n := range 5 {
		place := spatial.FromRPY(mgl64.Vec3{0, 0, 0}, 0, 90, 0) // the plane's z becomes x
		turn := spatial.FromRPY(mgl64.Vec3{}, 0, 0, 90*float64(n))
		if n == 4 {
			turn = spatial.FromRPY(mgl64.Vec3{0, 0, 3}, 0, -90, 0)
		}
		if n < 4 {
			b.Put(fmt.Sprint("wall ", n), scenetest.Plane(60, 1), scenetest.Matte("wall", 0.5, 0.5, 0.5),
				scene.Placement{Pose: turn.Compose(spatial.FromRPY(mgl64.Vec3{20, 0, 0}, 0, 90, 0)), Tag: scene.TagWall})
		}
		place.Position[0] = 5
		s.put(side{b.Scene, asset, turn.Compose(place)})
	}
	return b.Scene
}

// side is where the panes of an asset stand in a room.
type side struct {
	of    *scene.Scene
	asset *scene.Asset
	at    spatial.Pose
}

// put places the panes of one side.
func (s stack) put(to side) {
	var all scene.Mesh
	for k := range layers {
		m := scenetest.Plane(10, 1)
		if k%2 == 1 {
			m.Indices[1], m.Indices[2], m.Indices[4], m.Indices[5] = m.Indices[2], m.Indices[1], m.Indices[5], m.Indices[4]
		}
		for i := range m.Positions {
			m.Positions[i][2] = float32(s.apart * float64(k))
		}
		group := scene.Group{First: len(all.Indices), Count: len(m.Indices), Material: k}
		if !s.one {
			group.First = 0
			m.Groups = []scene.Group{group}
			s.add(to, m, k)
			continue
		}
		for _, i := range m.Indices {
			all.Indices = append(all.Indices, i+uint32(len(all.Positions)))
		}
		all.Positions, all.Normals = append(all.Positions, m.Positions...), append(all.Normals, m.Normals...)
		all.UVs, all.Groups = append(all.UVs, m.UVs...), append(all.Groups, group)
	}
	if s.one {
		s.add(to, all, 0)
	}
}

func (s stack) add(to side, m scene.Mesh, k int) {
	own := *to.asset
	own.Meshes = []scene.Mesh{m}
	own.Nodes = []scene.Node{{Name: "pane", Parent: -1, Local: scene.IdentityTRS()}}
	p := scene.Placement{Pose: to.at, Tag: scene.TagFence}
	if s.moves(k) {
		p.Motion = scenetest.Linear{Start: to.at}
	}
	if _, err := to.of.Add(&own, p); err != nil {
		panic(err)
	}
}

// seen is what a ray of a sensor sees.
type seen struct {
	rangeTo  float64 // +Inf for nothing
	instance uint32
}

// room holds what sensors see in a scene against the float64 tracer.
type room struct {
	tracer *scenetest.Tracer
	from   spatial.Pose
	stamp  simtime.Stamp
}

// look returns what the tracer sees along a direction of the sensor's frame.
func (r *room) look(d mgl64.Vec3) seen {
	if h, ok := r.tracer.Trace(r.from.Position, r.from.Rotate(d).Normalize(), 0.01, 200, r.stamp); ok {
		return seen{h.T, h.Actor.ID}
	}
	return seen{math.Inf(1), 0}
}

// agree compares what sensors see along directions with the tracer, and one device with another.
func (r *room) agree(t *testing.T, ways []mgl64.Vec3, devices [2][]seen) {
	t.Helper()
	var wrong [2]int
	others := 0
	for i, d := range ways {
		want := r.look(d)
		for k := range devices {
			if got := devices[k][i]; got.instance != want.instance || math.Abs(got.rangeTo-want.rangeTo) > scenetest.Tolerance(want.rangeTo) {
				wrong[k]++
			}
		}
		if devices[0][i].instance != devices[1][i].instance || !near(float32(devices[0][i].rangeTo), float32(devices[1][i].rangeTo)) {
			others++
		}
	}
	t.Logf("%d rays: OpenGL sees %d otherwise than the tracer, host %d; %d differ", len(ways), wrong[0], wrong[1], others)
	assert.LessOrEqual(t, wrong[0], len(ways)/1000, "OpenGL and the tracer")
	assert.LessOrEqual(t, wrong[1], len(ways)/1000, "host and the tracer")
	assert.LessOrEqual(t, others, len(ways)/1000, "OpenGL and host")
}

// mast is where the sensors stand.
func mast(pitch, yaw float64) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{0.3, 0.2, 1.9}, 1, pitch, yaw)
}

// around are directions all round, and some up and down.
func around(n int) []mgl64.Vec3 {
	list := make([]mgl64.Vec3, n)
	for i := range list {
		across, up := float64(i)/float64(n)*60*math.Pi, 1.2*math.Sin(float64(i)/77)
		list[i] = mgl64.Vec3{math.Cos(across) * math.Cos(up), math.Sin(across) * math.Cos(up), math.Sin(up)}
		for a := range 3 {
			list[i][a] = float64(float32(list[i][a]))
		}
	}
	return list
}

// TestRaysGoOnBehindHoles: where a ray passes a hole it meets what stands at that very point or
// less than a millionth of its way behind. OpenGL, the host device and the float64 tracer agree on
// which pane it is.
func TestRaysGoOnBehindHoles(t *testing.T) {
	on := [2]*gpu.Thread{gputest.Thread(t), start(t, hostdev.Options{})}
	for name, k := range stacks() {
		s := panes(k)
		tracer := scenetest.NewTracer(s, nil)
		for what, test := range map[string]func(*testing.T, *room, [2]*gpu.Thread, *scene.Scene){
			"listed": listedSee, "rays": raysSee, "lidar": lidarSees, "camera": cameraSees, "sun": sunReaches,
		} {
			t.Run(name+" "+what, func(t *testing.T) { test(t, &room{tracer: tracer, stamp: 2 * period}, on, s) })
		}
	}
}

// instanceOf returns the instance id of a listed hit.
func instanceOf(g *scene.Geometry, h *listedHit) uint32 {
	switch {
	case h.triangle < 0:
		return 0
	case h.mover >= 0:
		return g.Movers[h.mover].Actor.ID
	}
	return g.Attributes[3*h.triangle+1][3] & 0xffff
}

func listedSee(t *testing.T, r *room, on [2]*gpu.Thread, s *scene.Scene) {
	const x, y, z = 0.3, 0.2, 1.9
	r.from = spatial.FromRPY(mgl64.Vec3{float64(float32(x)), float64(float32(y)), float64(float32(z))}, 0, 0, 0)
	ways := around(4000)
	var list []uint32
	for _, d := range ways {
		list = append(list, words(x, y, z, 0.01, float32(d[0]), float32(d[1]), float32(d[2]), 200, 0, 0, 0, 0)...)
	}
	j := job{
		entry: &shaders.SceneTrace, result: 1, storage: [2][]byte{gpu.BytesOf(list)}, resultOf: make([]byte, 32*len(ways)),
		groups: shaders.SceneTrace.Groups(8, len(ways)/shaders.TracedRays/8+8, 1),
	}
	var devices [2][]seen
	for k, thread := range on {
		w := newWorld(t, thread, s)
		require.Zero(t, w.geometry.Anchor)
		for _, h := range hitsOf(w.run(t, &j)) {
			devices[k] = append(devices[k], seen{float64(h.t), instanceOf(w.geometry, &h)})
		}
	}
	r.agree(t, ways, devices)

	// The same for any surface short of the walls.
	j.defines = []shaders.Define{shaders.Flag("OCCLUSION", true)}
	for i := range ways {
		list[12*i+7] = math.Float32bits(15)
	}
	for k, thread := range on {
		wrong := 0
		for i, h := range hitsOf(newWorld(t, thread, s).run(t, &j)) {
			if want := r.look(ways[i]); (h.triangle >= 0) != (want.rangeTo < 15) {
				wrong++
			}
		}
		assert.LessOrEqual(t, wrong, len(ways)/1000, "shadows on device %d", k)
	}
}

func raysSee(t *testing.T, r *room, on [2]*gpu.Thread, s *scene.Scene) {
	r.from = spatial.FromRPY(mgl64.Vec3{0.9, 0, 1.9}, 1, 2, 3) // newWorld's
	ways := around(4000)
	var table []uint32
	for _, d := range ways {
		table = append(table, words(0, 0, 0, 0.01, float32(d[0]), float32(d[1]), float32(d[2]), 200)...)
	}
	j := job{
		entry: &shaders.Rays, uniform: make([]byte, 16), table: table, resultOf: make([]byte, 16*len(ways)),
		groups: shaders.Rays.Groups(len(ways)/shaders.TracedRays+1, 1, 1),
	}
	var devices [2][]seen
	for k, thread := range on {
		got := wordsOf(newWorld(t, thread, s).run(t, &j))
		for i := range ways {
			devices[k] = append(devices[k], seen{float64(math.Float32frombits(got[4*i])), got[4*i+2]})
		}
	}
	r.agree(t, ways, devices)
}

func lidarSees(t *testing.T, r *room, on [2]*gpu.Thread, s *scene.Scene) {
	r.from = mast(2, 10)
	var ways []mgl64.Vec3
	var devices [2][]seen
	for k, thread := range on {
		h := sensortest.New(t, lidar.RayCastDefinition, sensortest.Options{Scene: s, GL: thread, Mount: r.from, Attributes: map[string]any{
			"channels": 16, "organized": true, "rolling": false, "range_min": 0.1, "range": 100.0, "columns": 300, "dropoff_general_rate": 0.0,
		}})
		h.Fire(r.stamp)
		for _, p := range sensortest.Last[*sample.PointCloud](h, "points").Points {
			devices[k] = append(devices[k], seen{float64(p.Distance), p.Instance})
			if k == 0 {
				sin, cos := math.Sincos(float64(p.Azimuth))
				up, flat := math.Sincos(float64(p.Elevation))
				ways = append(ways, mgl64.Vec3{cos * flat, sin * flat, up})
			}
		}
		h.End()
	}
	r.agree(t, ways, devices)
}

// lensOf is that of the cameras, whose picture is wide times high pixels.
const wide, high = 200, 120

func lensOf(t *testing.T) (camera.Lens, map[string]any) {
	t.Helper()
	pinhole, err := camera.NewLens(wide, high, 90)
	require.NoError(t, err)
	lens, err := pinhole.PlumbBob(-0.2, 0.05, 0.002, -0.001, 0)
	require.NoError(t, err)
	return lens, map[string]any{
		"image_size_x": wide, "image_size_y": high, "fov": 90.0, "lens": "plumb_bob", "distortion": []float64{-0.2, 0.05, 0.002, -0.001, 0},
	}
}

// mounted is where a camera of that lens stands, on one device.
type mounted struct {
	thread *gpu.Thread
	scene  *scene.Scene
	at     spatial.Pose
}

// picture fires the camera.
func (m mounted) picture(t *testing.T, d *sensors.Definition, more map[string]any) *sample.Image {
	t.Helper()
	_, attributes := lensOf(t)
	maps.Copy(attributes, more)
	h := sensortest.New(t, d, sensortest.Options{Scene: m.scene, GL: m.thread, Mount: m.at, Attributes: attributes})
	defer h.End()
	h.Fire(2 * period)
	return sensortest.Last[*sample.Image](h, "image")
}

func cameraSees(t *testing.T, r *room, on [2]*gpu.Thread, s *scene.Scene) {
	mount := mast(-20, 40)
	lens, _ := lensOf(t)
	r.from = mount.Compose(spatial.OpticalInBody())
	var ways []mgl64.Vec3
	for i := range wide * high {
		ways = append(ways, lens.Ray(float64(i%wide), float64(i/wide)))
	}
	var devices [2][]seen
	for k, thread := range on {
		m := mounted{thread, s, mount}
		labels, depths := m.picture(t, camera.InstanceDefinition, nil), m.picture(t, camera.DepthDefinition, nil)
		for i, d := range ways {
			x, y := i%wide, i/wide
			depth := math.Float32frombits(binary.LittleEndian.Uint32(depths.Data[y*depths.Step+4*x:]))
			devices[k] = append(devices[k], seen{float64(depth) * d.Len(), uint32(binary.LittleEndian.Uint16(labels.Data[y*labels.Step+2*x:]))})
		}
	}
	r.agree(t, ways, devices)
}

// sunReaches holds the light on the floor against the tracer: the sun alone shines.
func sunReaches(t *testing.T, r *room, on [2]*gpu.Thread, s *scene.Scene) {
	mount := mast(40, 15)
	lens, _ := lensOf(t)
	r.from = mount.Compose(spatial.OpticalInBody())
	toSun := mgl64.Vec3{float64(s.Light.SunDirection[0]), float64(s.Light.SunDirection[1]), float64(s.Light.SunDirection[2])}
	light := map[string]any{"shadows": "traced", "enable_postprocess_effects": false}
	for k, thread := range on {
		p := mounted{thread, s, mount}.picture(t, camera.RGBDefinition, light)
		var lit, shade, wrong int
		for i := range wide * high {
			h, ok := r.tracer.Trace(r.from.Position, r.from.Rotate(lens.Ray(float64(i%wide), float64(i/wide))).Normalize(), 0.01, 200, r.stamp)
			if !ok || h.Actor.Name != "floor" {
				continue
			}
			_, blocked := r.tracer.Trace(h.Point.Add(h.Normal.Mul(1e-3)), toSun, 0, 1e5, r.stamp)
			if blocked {
				shade++
			} else {
				lit++
			}
			if (p.Data[i/wide*p.Step+3*(i%wide)] > 20) == blocked {
				wrong++
			}
		}
		t.Logf("device %d: %d pixels of the floor are lit, %d in the shade, %d are wrong", k, lit, shade, wrong)
		assert.Greater(t, min(lit, shade), 500)
		assert.LessOrEqual(t, wrong, (lit+shade)/1000)
	}
}

// TestEqualRangesGoToTheLowerTriangle: of triangles in one plane, cut in different ways, rays hit the one
// with the lowest number, on both devices and in whichever order they are met. Of movers that share one, it
// is the lowest mover.
func TestEqualRangesGoToTheLowerTriangle(t *testing.T) {
	on := [2]*gpu.Thread{gputest.Thread(t), start(t, hostdev.Options{})}
	var list []uint32
	ways := around(4000)
	for _, d := range ways {
		list = append(list, words(0.3, 0.2, 1.9, 0.01, float32(d[0]), float32(d[1]), -float32(math.Abs(d[2])), 200, 0, 0, 0, 0)...)
	}
	j := job{
		entry: &shaders.SceneTrace, result: 1, storage: [2][]byte{gpu.BytesOf(list)}, resultOf: make([]byte, 32*len(ways)),
		groups: shaders.SceneTrace.Groups(8, len(ways)/shaders.TracedRays/8+8, 1),
	}
	for name, moves := range map[string]func(int) bool{"static": never, "movers": always, "both": func(k int) bool { return k%2 == 0 }} {
		b := scenetest.NewBuilder("equal")
		for k := range layers {
			p := scenetest.At(0, 0, 0, scene.TagRoads)
			if moves(k) {
				p.Motion = scenetest.Linear{Start: p.Pose}
			}
			pane := b.Put(fmt.Sprint("pane ", k), scenetest.Plane(40, 3+3*(k%2)), scenetest.Matte("grey", 0.5, 0.5, 0.5), p)
			for twin := range 3 {
				other := *pane
				other.Name = fmt.Sprint("twin ", twin, " of pane ", k)
				require.NoError(t, b.Scene.AddActor(&other))
			}
		}
		for k, thread := range on {
			w := newWorld(t, thread, b.Scene)
			n, wrong := 0, 0
			for i, h := range hitsOf(w.run(t, &j)) {
				if h.triangle < 0 {
					continue
				}
				n++
				if slices.ContainsFunc(w.geometry.Movers[:max(h.mover, 0)], func(m scene.Mover) bool {
					return m.First == w.geometry.Movers[h.mover].First
				}) {
					wrong++
					continue
				}
				at := func(axis int) float32 {
					return math.Float32frombits(list[12*i+axis]) + h.t*math.Float32frombits(list[12*i+4+axis])
				}
				for lower := range h.triangle {
					if covers(w.geometry.Planes[3*lower:3*lower+3], at(0), at(1)) {
						wrong++
						break
					}
				}
			}
			assert.Greater(t, n, 1000, name)
			assert.Zero(t, wrong, "of %d hits on device %d: %s", n, k, name)
		}
	}
}

// covers tells whether a triangle of the ground has a point well within its edges.
func covers(rows []scene.Row, x, y float32) bool {
	u := rows[1][0]*x + rows[1][1]*y + rows[1][3]
	v := rows[2][0]*x + rows[2][1]*y + rows[2][3]
	return min(u, v, 1-u-v) > 1e-3
}
