//go:build cgo

package camera_test

import (
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// ownBox is a box that a spawned actor has by constant joints of a unit cube.
type ownBox struct {
	size, middle mgl64.Vec3
	motion       scenetest.Linear
	tag          scene.Tag
}

func (b *ownBox) parts(unit *scene.Actor) []scene.Part {
	at := mgl64.Translate3D(b.middle[0], b.middle[1], b.middle[2]).Mul4(mgl64.Scale3D(b.size[0], b.size[1], b.size[2]))
	parts := []scene.Part{unit.Parts[0]}
	parts[0].Tag, parts[0].Joints = b.tag, func(simtime.Stamp) mgl64.Mat4 { return at }
	return parts
}

// meet returns how far a ray of the map goes to the box at a time, +Inf if it misses it. It also
// returns how long the ray is in the box, below 0 where it passes beside.
func (b *ownBox) meet(o, d mgl64.Vec3, at simtime.Stamp) (far, within float64) {
	to := b.motion.PoseAt(at).Inverse()
	o, d = to.Apply(o).Sub(b.middle), to.Rotate(d)
	enter, leave := math.Inf(-1), math.Inf(1)
	for a := range 3 {
		t0, t1 := (-b.size[a]/2-o[a])/d[a], (b.size[a]/2-o[a])/d[a]
		enter, leave = max(enter, min(t0, t1)), min(leave, max(t0, t1))
	}
	if enter > leave {
		return math.Inf(1), enter - leave
	}
	return enter, leave - enter
}

// unitTown is a floor, and a unit cube as a model with slots.
func unitTown(slots int) (s *scene.Scene, unit *scene.Actor) {
	b := scenetest.NewBuilder("units")
	b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	unit = b.Put("unit", scenetest.Box(1, 1, 1), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "any", Tag: scene.TagCar, Reserved: true})
	b.Scene.Slots = slots
	return b.Scene, unit
}

// TestPicturesOfPartsOfOnesOwn: depth, tag and id of each pixel are those of the analytic boxes,
// also of those who took the slots of others.
func TestPicturesOfPartsOfOnesOwn(t *testing.T) {
	const width, height = 96, 72
	s, unit := unitTown(3)
	mount := forward(1)
	r := newRig(t, s, nil,
		mounted{camera.DepthDefinition, mount, size(width, height)},
		mounted{camera.SemanticDefinition, mount, size(width, height)},
		mounted{camera.InstanceDefinition, mount, size(width, height)},
		mounted{camera.NormalsDefinition, mount, size(width, height)})
	place := func(x, y, yaw float64) spatial.Pose { return spatial.FromRPY(mgl64.Vec3{x, y, 0}, 0, 0, yaw) }
	rounds := [][]ownBox{
		{
			{mgl64.Vec3{4.8, 2.2, 1.5}, mgl64.Vec3{0.1, 0, 0.75}, scenetest.Linear{Start: place(9, 3, 30)}, scene.TagCar},
			{mgl64.Vec3{0.4, 0.5, 1.8}, mgl64.Vec3{0, 0.3, 0.9}, scenetest.Linear{Start: place(5, -1, 10), Velocity: mgl64.Vec3{3, 1, 0}}, scene.TagPedestrian},
		},
		{
			{mgl64.Vec3{12, 2.5, 3.5}, mgl64.Vec3{1, 0, 1.75}, scenetest.Linear{Start: place(16, -6, 80), Velocity: mgl64.Vec3{-2, 0, 0}, YawRate: 0.6}, scene.TagBus},
			{mgl64.Vec3{1, 1, 1}, mgl64.Vec3{2, -1, 0.5}, scenetest.Linear{Start: place(6, 2, 45)}, scene.TagMotorcycle},
			{mgl64.Vec3{2, 1, 1}, mgl64.Vec3{}, scenetest.Linear{Start: place(8, -1, 0)}, scene.TagTruck},
		},
		{{mgl64.Vec3{3, 3, 3}, mgl64.Vec3{}, scenetest.Linear{Start: place(9, 3, 30)}, scene.TagTrain}},
	}
	optical := mount.Compose(spatial.OpticalInBody())
	l := lens(t, width, height, 90)
	stamp := simtime.Stamp(0)
	fire := func() { r.fire(stamp); stamp += 100e6 }
	fire()
	for round, boxes := range rounds {
		var came []*scene.Actor
		for i := range boxes {
			a, err := r.history.SpawnActor(unit, scene.Actor{TypeID: "own", Parts: boxes[i].parts(unit)}, boxes[i].motion)
			require.NoError(t, err)
			came = append(came, a)
		}
		for range 2 {
			now := stamp
			fire()
			seen, wrong := map[int]int{}, 0
			for v := range height {
				for u := range width {
					ray := unproject(l, float64(u), float64(v), 1) // depth 1
					d := optical.Rotate(ray)
					want, who, edge := math.Inf(1), -1, math.Inf(1)
					if d[2] < 0 {
						want = (-2 - 1) / d[2]
					}
					for i := range boxes {
						far, near := boxes[i].meet(optical.Position, d, now)
						edge = min(edge, math.Abs(near))
						if far < want {
							want, who = far, i
						}
					}
					if edge < 0.05 { // beside an edge
						continue
					}
					tag, id := scene.TagSky, uint32(0)
					if d[2] < 0 && want < 50 {
						tag, id = scene.TagRoads, 1
					}
					if who >= 0 {
						tag, id = boxes[who].tag, came[who].ID
						seen[who]++
					}
					if who < 0 && want > 45 {
						continue
					}
					p := at2(r, 2, u, v)
					if math.Abs(depthAt(r.picture(0), u, v)-want) > 2e-3 || at(r.picture(1), u, v, 1)[0] != byte(tag) || p != id {
						if !(math.IsInf(want, 1) && math.IsInf(depthAt(r.picture(0), u, v), 1)) {
							wrong++
						}
					}
					if who >= 0 { // normals are unit vectors of a face, across the scale
						n := boxes[who].motion.PoseAt(now).Inverse().Rotate(optical.Rotate(normalAt(r.picture(3), u, v)))
						assert.Greater(t, max(math.Abs(n[0]), math.Abs(n[1]), math.Abs(n[2])), 0.999)
					}
				}
			}
			assert.Zero(t, wrong, "round %d", round)
			for i := range boxes {
				assert.Greater(t, seen[i], 20, "round %d, box %d", round, i)
			}
		}
		for _, a := range came {
			require.NoError(t, r.history.Remove(a.ID))
		}
		fire()
		for _, id := range []uint32{1, 0} { // the floor and the sky are left
			row := map[uint32]int{1: height - 1, 0: 0}[id]
			for u := range width {
				assert.Equal(t, id, at2(r, 2, u, row))
			}
		}
	}
}

// at2 returns the id of a pixel of an instance picture.
func at2(r *rig, picture, u, v int) uint32 {
	p := at(r.picture(picture), u, v, 2)
	return uint32(p[0]) | uint32(p[1])<<8
}

// TestFlowOfWhoCameAndJumped: only who was there at the firing before, and hasn't jumped since, has a
// flow. It is that of the analytic box's point.
func TestFlowOfWhoCameAndJumped(t *testing.T) {
	const width, height = 64, 48
	s, unit := unitTown(2)
	mount := forward(0)
	r := newRig(t, s, nil,
		mounted{camera.OpticalFlowDefinition, mount, size(width, height)},
		mounted{camera.DepthDefinition, mount, size(width, height)})
	box := ownBox{mgl64.Vec3{2, 4, 3}, mgl64.Vec3{}, scenetest.Linear{
		Start: spatial.FromRPY(mgl64.Vec3{6, 0, 0}, 0, 0, 20), Velocity: mgl64.Vec3{1, 2, 0.5}, YawRate: 0.7,
	}, scene.TagCar}
	spawn := func() *scene.Actor {
		a, err := r.history.SpawnActor(unit, scene.Actor{Parts: box.parts(unit)}, box.motion)
		require.NoError(t, err)
		return a
	}
	stamp := simtime.Stamp(0)
	fire := func() { r.fire(stamp); stamp += simtime.Stamp(period) }
	middle := func() mgl64.Vec2 { return flowAt(r.picture(0), width/2, height/2) }
	follows := func(why string) {
		t.Helper()
		now, then := stamp-simtime.Stamp(period), stamp-2*simtime.Stamp(period)
		l, optical := lens(t, width, height, 90), mount.Compose(spatial.OpticalInBody())
		p := unproject(l, width/2, height/2, depthAt(r.picture(1), width/2, height/2))
		onBox := box.motion.PoseAt(now).Inverse().Apply(optical.Apply(p))
		before := optical.Inverse().Apply(box.motion.PoseAt(then).Apply(onBox))
		require.False(t, math.IsNaN(middle()[0]), why)
		assertFlow(t, l, middle(), before, p)
		assert.Greater(t, middle().Len(), 0.005, why)
	}
	fire()
	first := spawn()
	fire()
	assert.True(t, math.IsNaN(middle()[0]), "it was nowhere")
	fire()
	follows("it was there")
	require.NoError(t, r.history.Jumped(first.ID))
	fire()
	assert.True(t, math.IsNaN(middle()[0]), "it jumped")
	fire()
	follows("it has moved since")
	// Another takes the slot between two firings.
	require.NoError(t, r.history.Remove(first.ID))
	r.history.Record(stamp - simtime.Stamp(period)/2)
	second := spawn()
	assert.Greater(t, second.ID, first.ID)
	fire()
	assert.True(t, math.IsNaN(middle()[0]), "it was another's place")
	fire()
	follows("it was there")
}

// TestLampsShine switches the lamps of an actor: two on its left, of which one is an indicator, and
// an indicator on its right. Each surface shines while its lamp is on, and only then.
func TestLampsShine(t *testing.T) {
	b := scenetest.NewBuilder("lamps")
	b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	panel := func(name string, lamps world.Lights, y float64) scene.Part {
		material := scenetest.Matte(name, 0.2, 0.1, 0.1)
		material.Lamps = lamps
		b.Scene.Materials = append(b.Scene.Materials, material)
		mesh := scenetest.Box(0.2, 1, 1)
		for i := range mesh.Positions {
			mesh.Positions[i][1] += float32(y)
		}
		mesh.Groups = []scene.Group{{Count: len(mesh.Indices), Material: len(b.Scene.Materials) - 1}}
		b.Scene.Meshes = append(b.Scene.Meshes, mesh)
		return scene.Part{Name: name, Mesh: len(b.Scene.Meshes) - 1, Local: mgl64.Ident4(), Tag: scene.TagCar}
	}
	both := world.LightLeft | world.LightRight
	b.Scene.Reserve(&scene.Actor{TypeID: "car", Pose: spatial.Identity(), Parts: []scene.Part{
		panel("brake", world.LightBrake, 3), panel("left", both, 1), panel("right", both, -1), panel("none", 0, -3),
	}}, 1)
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, forward(0), size(80, 20)})
	way := &scene.Guided{}
	_, err := r.history.SpawnActor(b.Scene.Model("car"), scene.Actor{}, way)
	require.NoError(t, err)
	stamp := simtime.Stamp(0)
	shown := func(lamps world.Lights) (red [4]int) { // of the panels, from left to right
		here := scene.Waypoint{Stamp: stamp, Pose: spatial.FromRPY(mgl64.Vec3{5, 0, 0}, 0, 0, 0), Lights: lamps}
		way.Lead(here, here)
		r.fire(stamp)
		stamp += 100e6
		for i, y := range []float64{3, 1, -1, -3} {
			u := int(math.Round(39.5 - y/4.9*40))
			red[i] = int(at(r.picture(0), u, 10, 3)[0])
		}
		return red
	}
	off := shown(0)
	for _, x := range off {
		assert.Equal(t, off[3], x, "all are alike while they are off")
	}
	for lamps, on := range map[world.Lights][4]bool{
		world.LightBrake: {true, false, false, false}, world.LightLeft: {false, true, false, false},
		world.LightRight: {false, false, true, false}, both | world.LightBrake: {true, true, true, false}, world.LightHead: {},
	} {
		now := shown(lamps)
		for i, shines := range on {
			if shines {
				assert.Greater(t, now[i], off[i]+50, "panel %d with %b", i, lamps)
			} else {
				assert.Equal(t, off[i], now[i], "panel %d with %b", i, lamps)
			}
		}
	}
	assert.Equal(t, off, shown(0), "off again")
}

// TestLampsOfLightsShine: each lamp of a traffic light shines while the light is in its state. One
// light is static, and one has a part that moves. Another actor's lamp beside them stays dark.
func TestLampsOfLightsShine(t *testing.T) {
	b := scenetest.NewBuilder("lights")
	b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	for range 40 { // further ids than a texel has
		b.Put("stone", scenetest.Box(0.1, 0.1, 0.1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(-5, 0, -2, scene.TagStatic))
	}
	places := []float64{3.5, 2.5, 1.5, -0.5, -1.5, -3.5}
	all := []world.Lights{world.LightRed, world.LightYellow, world.LightGreen, world.LightRed, world.LightYellow | world.LightGreen, world.LightRed | world.LightBrake}
	panel := func(i int) scene.Part {
		material := scenetest.Matte("panel", 0.2, 0.1, 0.1)
		material.Lamps = all[i]
		b.Scene.Materials = append(b.Scene.Materials, material)
		mesh := scenetest.Box(0.2, 0.8, 1)
		mesh.Groups = []scene.Group{{Count: len(mesh.Indices), Material: len(b.Scene.Materials) - 1}}
		b.Scene.Meshes = append(b.Scene.Meshes, mesh)
		return scene.Part{Name: "panel", Mesh: len(b.Scene.Meshes) - 1, Local: mgl64.Translate3D(0, places[i], 0), Tag: scene.TagTrafficLight}
	}
	here := spatial.FromRPY(mgl64.Vec3{5, 0, 0}, 0, 0, 0)
	turns := panel(3)
	turns.Joints = func(simtime.Stamp) mgl64.Mat4 { return turns.Local }
	for _, a := range []*scene.Actor{
		{Name: "static", Pose: here, Parts: []scene.Part{panel(0), panel(1), panel(2)}},
		{Name: "moving", Pose: here, Parts: []scene.Part{turns, panel(4)}},
		{Name: "none", Pose: here, Parts: []scene.Part{panel(5)}},
	} {
		require.NoError(t, b.Scene.AddActor(a))
	}
	n := uint32(len(b.Scene.Actors))
	b.Scene.Signals = []scene.TrafficLight{
		{ID: 1, Actor: n - 2, Pose: here}, {ID: 2, Actor: n - 2, Pose: here}, {ID: 3, Actor: n - 1, Pose: here, Green: 1e9, Red: 1e9},
		{ID: 4, Pose: here},
	}
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, forward(0), size(100, 20)})
	shown := func(stamp simtime.Stamp) (red [6]int) {
		r.fire(stamp)
		for i, y := range places {
			red[i] = int(at(r.picture(0), int(math.Round(49.5-y/4.9*50)), 10, 3)[0])
		}
		return red
	}
	shows := func(stamp simtime.Stamp, want ...int) {
		t.Helper()
		now := shown(stamp)
		for i := range now {
			if lit := slices.Contains(want, i); lit {
				assert.Greater(t, now[i], now[5]+50, "panel %d at %d: %v", i, stamp, now)
			} else {
				assert.InDelta(t, now[5], now[i], 2, "panel %d at %d: %v", i, stamp, now)
			}
		}
	}
	shows(0, 4) // the first is off, and the other begins with green
	r.history.SetSignal(0, world.SignalRed)
	shows(500e6, 0, 4)
	shows(1500e6, 0, 3) // by itself
	for k, want := range [][]int{{0, 3}, {1, 4}, {2, 4}, nil} {
		r.history.SetSignal(1, world.SignalState(k)) // the other light of the first actor
		r.history.SetSignal(2, world.SignalState(k))
		shows(simtime.Stamp(2000e6+k*100e6), want...)
	}
}

// TestPaint: an actor with a colour looks like one whose material has it. Its other materials and its
// labels are as ever, and others of its model keep their own.
func TestPaint(t *testing.T) {
	b := scenetest.NewBuilder("paint")
	b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	model := func(name string, body scene.Material) *scene.Actor {
		actor := &scene.Actor{TypeID: name, Pose: spatial.Identity()}
		for i, material := range []scene.Material{body, scenetest.Matte("trim", 0.5, 0.5, 0.5)} {
			b.Scene.Materials = append(b.Scene.Materials, material)
			mesh := scenetest.Box(0.2, 1, 1)
			for k := range mesh.Positions {
				mesh.Positions[k][2] += float32(i)
			}
			mesh.Groups = []scene.Group{{Count: len(mesh.Indices), Material: len(b.Scene.Materials) - 1}}
			b.Scene.Meshes = append(b.Scene.Meshes, mesh)
			actor.Parts = append(actor.Parts, scene.Part{Name: material.Name, Mesh: len(b.Scene.Meshes) - 1, Local: mgl64.Ident4(), Tag: scene.TagCar})
		}
		b.Scene.Reserve(actor, 2)
		return b.Scene.Model(name)
	}
	grey := scenetest.Matte("body", 0.5, 0.5, 0.5)
	grey.Paint = true
	// sRGB 188 is 0.5029 in linear light, and 99 is 0.1248 (IEC 61966-2-1).
	painted, blue := model("painted", grey), model("blue", scenetest.Matte("body", 0, 0.1248, 0.5029))
	assert.True(t, b.Scene.HasPaint(painted))
	assert.False(t, b.Scene.HasPaint(blue))
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, forward(0), size(80, 40)}, mounted{camera.InstanceDefinition, forward(0), size(80, 40)})
	stamp := simtime.Stamp(0)
	shown := func(model *scene.Actor, paint *[3]uint8) []byte {
		t.Helper()
		here := scene.Standing(spatial.FromRPY(mgl64.Vec3{5, 0, 0}, 0, 0, 0))
		a, err := r.history.SpawnActor(model, scene.Actor{Paint: paint}, here)
		require.NoError(t, err)
		beside, err := r.history.SpawnActor(painted, scene.Actor{}, scene.Standing(spatial.FromRPY(mgl64.Vec3{5, 2, 0}, 0, 0, 0)))
		require.NoError(t, err)
		r.fire(stamp)
		stamp += 100e6
		assert.Equal(t, a.ID, at2(r, 1, 40, 20), "its label")
		pixels := slices.Clone(r.picture(0).Data)
		require.NoError(t, r.history.Remove(a.ID))
		require.NoError(t, r.history.Remove(beside.ID))
		for range 2 { // so that the next ones have the same slots
			r.fire(stamp)
			stamp += 100e6
		}
		return pixels
	}
	plain, inBlue, isBlue := shown(painted, nil), shown(painted, &[3]uint8{0, 99, 188}), shown(blue, nil)
	assert.NotEqual(t, plain, inBlue)
	for i := range inBlue {
		require.InDelta(t, isBlue[i], inBlue[i], 1, "byte %d", i)
	}
	assert.Equal(t, isBlue, shown(blue, &[3]uint8{255, 0, 0}), "it has no paint")
	assert.Equal(t, plain, shown(painted, nil), "nobody's colour is left")
}

// TestJointsShow: a car of the city whose front wheel is steered looks otherwise there, and nowhere
// else. Steered back it looks as before.
func TestJointsShow(t *testing.T) {
	const width, height = 96, 64
	s := scene.Plane(mgl64.Vec3{})
	city.Furnish(s, 1)
	s.Slots = 1
	r := newRig(t, s, nil, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{0, 0, 0.6}, 0, 0, 0), size(width, height)})
	way := &scene.Guided{}
	a, err := r.history.SpawnActor(s.Model("vehicle.sedan"), scene.Actor{}, way)
	require.NoError(t, err)
	require.Equal(t, "front_left_steer", a.Joints[0].Name)
	stamp := simtime.Stamp(0)
	shown := func(angle float64) []byte {
		here := scene.Waypoint{Stamp: stamp, Pose: spatial.FromRPY(mgl64.Vec3{3.5, 0, 0}, 0, 0, 90)} // its front is on the left
		way.Lead(here, here)
		way.Turn(0, angle)
		r.fire(stamp)
		stamp += 100e6
		return slices.Clone(r.picture(0).Data)
	}
	straight, steered := shown(0), shown(0.5)
	changed := 0
	for u := range width {
		for v := range height {
			if i := 3 * (v*width + u); !slices.Equal(straight[i:i+3], steered[i:i+3]) {
				changed++
				// The axle is 1.38 m to the left, 2.6 m away: at 48 - 48 * 1.38 / 2.6. Its shadow moves, too.
				assert.InDelta(t, 22, u, 12, "row %d", v)
				assert.Greater(t, v, height/2-8)
			}
		}
	}
	assert.Greater(t, changed, 40)
	assert.Equal(t, straight, shown(0))
}
