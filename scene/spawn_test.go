package scene_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// garage is a floor, a car that drives along x at 10 m/s, and a model like it with two slots.
func garage(t testing.TB) (s *scene.Scene, floor, driving, model *scene.Actor) {
	t.Helper()
	b := scenetest.NewBuilder("garage")
	b.Put("floor", scenetest.Plane(100, 10), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	b.Put("car", scenetest.Box(4, 2, 1.5), scenetest.Matte("red", 1, 0, 0),
		scene.Placement{TypeID: "vehicle.sedan", Motion: along(mgl64.Vec3{0, 20, 0.75}, 10), Tag: scene.TagCar})
	b.Scene.Reserve(b.Scene.Actors[1], 2)
	return b.Scene, b.Scene.Actors[0], b.Scene.Actors[1], b.Scene.Models[0]
}

// fleet is a floor, two slots, and two models. The car is a box of 4 x 2 x 2 m. The van is two of
// 6 x 2 x 2 m, one above the other.
func fleet() *scene.Scene {
	b := scenetest.NewBuilder("fleet")
	b.Put("floor", scenetest.Plane(100, 10), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -5, scene.TagRoads))
	b.Put("car", scenetest.Box(4, 2, 2), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "vehicle.car", Tag: scene.TagCar, Reserved: true})
	van := b.Put("van", scenetest.Box(6, 2, 2), scenetest.Matte("white", 1, 1, 1), scene.Placement{TypeID: "vehicle.van", Tag: scene.TagTruck, Reserved: true})
	roof := van.Parts[0]
	roof.Local = mgl64.Translate3D(0, 0, 2)
	van.Parts = append(van.Parts, roof)
	return b.Scene
}

func along(start mgl64.Vec3, speed float64) scene.Motion {
	pose := spatial.Identity()
	pose.Position = start
	return scenetest.Linear{Start: pose, Velocity: mgl64.Vec3{speed, 0, 0}}
}

func standing(x, y, z float64) scene.Motion { return scene.Standing(scenetest.At(x, y, z, 0).Pose) }

func idsOf(list []*scene.Actor) (ids []uint32) {
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	return ids
}

func TestModelsShareMeshes(t *testing.T) {
	s, _, driving, model := garage(t)
	assert.Equal(t, []*scene.Actor{driving}, s.ActorsOf("vehicle.*"), "a model is no actor")
	assert.Empty(t, s.ActorsOf("vehicle.[")) // no pattern
	assert.Same(t, model, s.Model("vehicle.sedan"))
	assert.Nil(t, s.Model("vehicle.*"))
	assert.Equal(t, driving.Parts, model.Parts)
	assert.NotSame(t, driving, model)
	assert.Nil(t, model.Motion)
	assert.Zero(t, model.ID)
	stats := s.Stats()
	assert.Equal(t, [3]int{2, 1, 1}, [3]int{stats.Instances, stats.Moving, stats.Models})
	assert.Equal(t, stats.Stored, stats.Triangles, "models are not shown")

	g := build(t, s)
	require.Len(t, g.Movers, 2)
	assert.Equal(t, g.Movers[0].Root, g.Movers[1].Root)
	assert.Equal(t, stats.Stored, g.Triangles(), "models need no triangles of their own")
	assert.Equal(t, 3, g.Rows())

	// Room is added to what there is, for all models; a second model of a name is not added.
	s.Reserve(driving, 3)
	s.Reserve(&scene.Actor{TypeID: "vehicle.sedan"}, -1)
	assert.Equal(t, []*scene.Actor{model}, s.Models)
	assert.Equal(t, 5, s.Slots)
	s.Reserve(&scene.Actor{TypeID: "vehicle.ghost"}, 0)
	assert.Len(t, s.Models, 2)

	// What Add makes of an asset may be a model too.
	box := scenetest.Box(5, 2, 2)
	box.Groups = []scene.Group{{Count: len(box.Indices)}}
	asset := &scene.Asset{Name: "van", Materials: []scene.Material{scenetest.Matte("white", 1, 1, 1)},
		Meshes: []scene.Mesh{box}, Nodes: []scene.Node{
			{Parent: -1, Mesh: 0, Local: scene.IdentityTRS()}, {Parent: -1, Mesh: 0, Local: scene.IdentityTRS()},
		}}
	vans, err := s.Add(asset, scene.Placement{TypeID: "vehicle.van", Reserved: true})
	require.NoError(t, err)
	require.Len(t, vans, 1, "one model, whatever its nodes say")
	assert.Zero(t, vans[0].ID)
	assert.Same(t, s.Model("vehicle.van"), vans[0])
	assert.Len(t, vans[0].Parts, 2)
	assert.Equal(t, 6, s.Slots)
	g = build(t, s)
	for model, want := range [][2]int{{1, 1}, {2, 0}, {2, 2}} {
		first, count := g.ModelMovers(model)
		assert.Equal(t, want[1], count, "model %d", model)
		if count > 0 {
			assert.Equal(t, want[0], first, "model %d", model)
		}
	}
	assert.Equal(t, 1+6*2, g.Rows(), "a slot has room for the model with the most")
}

func TestTooManySlots(t *testing.T) {
	s, _, driving, _ := garage(t)
	s.Reserve(driving, 1<<16)
	_, err := scene.Build(t.Context(), s, scene.BuildOptions{})
	require.ErrorIs(t, err, scene.ErrTooLarge)
	assert.ErrorContains(t, err, "65538 slots of 1")
}

// Nobody has the label of another who is there, however many came meanwhile.
func TestLabelsOfThoseWhoAreThereDiffer(t *testing.T) {
	s := fleet()
	s.Slots = 3
	h := scene.NewHistory(s, nil, 4)
	stays, err := h.Spawn("vehicle.car", nil)
	require.NoError(t, err)
	for k := range 140_000 {
		a, err := h.Spawn("vehicle.car", nil)
		require.NoError(t, err)
		if scene.LabelOf(a.ID) == scene.LabelOf(stays.ID) {
			t.Fatalf("actors %d and %d have one label", stays.ID, a.ID)
		}
		if k%30_000 == 0 {
			h.Record(simtime.Stamp(k))
			assert.Equal(t, a.ID, h.Labelled(scene.LabelOf(a.ID), simtime.Stamp(k)))
			assert.Equal(t, stays.ID, h.Labelled(stays.ID, simtime.Stamp(k)))
			require.NoError(t, h.Remove(a.ID))
			h.Record(simtime.Stamp(k + 1))
			continue
		}
		require.NoError(t, h.Remove(a.ID))
	}
}

// Whom a scene brings never has the label of one that it had from the start, nor that of nothing.
func TestSpawnNumbersRise(t *testing.T) {
	for _, own := range []int{0, 1, 40, 3000, scene.MaxActors} {
		t.Run(fmt.Sprint(own), func(t *testing.T) {
			s := scene.New("town")
			for range own {
				require.NoError(t, s.AddActor(&scene.Actor{}))
			}
			s.Reserve(&scene.Actor{TypeID: "vehicle.van"}, 1)
			h := scene.NewHistory(s, nil, 1)
			last := uint32(own)
			for range 140_000 {
				a, err := h.Spawn("vehicle.van", nil)
				require.NoError(t, err)
				if label := scene.LabelOf(a.ID); a.ID <= last || label == 0 || own < scene.MaxActors && label <= uint32(own) {
					t.Fatalf("actor %d comes after %d", a.ID, last)
				}
				last = a.ID
				if err := h.Remove(a.ID); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestSpawnAndRemoveTakeEffectAtTheNextTick(t *testing.T) {
	s, _, driving, model := garage(t)
	h := scene.NewHistory(s, nil, 0)
	assert.False(t, h.Present(driving.ID, 0), "nothing is recorded yet")
	assert.Empty(t, h.Spawned(nil, 0))
	h.Record(0)
	h.Record(10e6)
	a, err := h.Spawn("vehicle.sedan", along(mgl64.Vec3{5, 0, 1}, 2))
	require.NoError(t, err)
	assert.Equal(t, driving.ID+1, a.ID)
	assert.Equal(t, [2]string{"vehicle.sedan", fmt.Sprint("vehicle.sedan_", a.ID)}, [2]string{a.TypeID, a.Name})
	assert.Equal(t, model.Parts, a.Parts)
	assert.Same(t, a, h.Actor(a.ID))
	require.NoError(t, h.Remove(driving.ID))
	assert.False(t, h.Present(a.ID, 10e6))
	assert.True(t, h.Present(driving.ID, 10e6))
	assert.True(t, h.IsComing(a.ID))
	assert.False(t, h.IsComing(driving.ID))
	assert.Equal(t, []*scene.Actor{a}, h.Coming(nil))
	assert.Empty(t, h.Spawned(nil, 10e6))
	h.Record(20e6)
	h.Record(30e6)

	for _, c := range []struct {
		stamp          simtime.Stamp
		spawned, drove bool
	}{{-5, false, true}, {10e6, false, true}, {19_999_999, false, true}, {20e6, true, false}, {25e6, true, false}, {99e6, true, false}} {
		assert.Equal(t, c.spawned, h.Present(a.ID, c.stamp), "spawned at %d", c.stamp)
		assert.Equal(t, c.drove, h.Present(driving.ID, c.stamp), "removed at %d", c.stamp)
		assert.Equal(t, c.spawned, len(h.Spawned(nil, c.stamp)) == 1, "spawned at %d", c.stamp)
		_, ok := h.Pose(a.ID, c.stamp)
		assert.Equal(t, c.spawned, ok)
		_, ok = h.State(driving.ID, c.stamp)
		assert.Equal(t, c.drove, ok)
	}
	// Up to its last moment a removed actor continues; then it keeps its place.
	state, _ := h.State(driving.ID, 19e6)
	assertVec(t, mgl64.Vec3{0.19, 20, 0.75}, state.Pose.Position, 1e-9)
	assertVec(t, mgl64.Vec3{10, 0, 0}, state.Twist.Linear, 1e-6)
	state, _ = h.State(driving.ID, 30e6)
	assertVec(t, mgl64.Vec3{0.2, 20, 0.75}, state.Pose.Position, 1e-9)
	assert.Zero(t, state.Twist)
	// The motion is asked with the simulation's time.
	pose, _ := h.Pose(a.ID, 25e6)
	assertVec(t, mgl64.Vec3{5.05, 0, 1}, pose.Position, 1e-9)

	// Growing the ring keeps who was there; the actor that went never comes again.
	h.Keep(1000)
	assert.False(t, h.Present(a.ID, 15e6))
	assert.True(t, h.Present(a.ID, 25e6))
	model.Pose = scenetest.At(1, 2, 3, 0).Pose
	again, err := h.Spawn("vehicle.sedan", nil)
	require.NoError(t, err)
	assert.Equal(t, a.ID+1, again.ID)
	m, ok := h.Motion(again.ID)
	assert.True(t, ok)
	assert.Nil(t, m)
	h.Record(40e6)
	pose, ok = h.Pose(again.ID, 40e6)
	assert.True(t, ok)
	assert.Equal(t, model.Pose, pose, "without a motion it stands at the model's pose")
	pose, ok = h.Pose(driving.ID, 40e6)
	assert.False(t, ok)
	assertVec(t, mgl64.Vec3{0.2, 20, 0.75}, pose.Position, 1e-9)
	assert.Equal(t, []uint32{a.ID, again.ID}, idsOf(h.Spawned(nil, 40e6)))
}

// TestSpawnedActorComesLater: up to its Since nobody sees it, though it has its id and its slot. It goes at the
// first tick at the time of its end.
func TestSpawnedActorComesLater(t *testing.T) {
	s, _, _, model := garage(t)
	h := scene.NewHistory(s, nil, 8)
	h.Record(0)
	late, err := h.SpawnActor(model, scene.Actor{Since: 25}, standing(1, 0, 0))
	require.NoError(t, err)
	never, err := h.SpawnActor(model, scene.Actor{Since: 25}, standing(2, 0, 0))
	require.NoError(t, err)
	assert.Zero(t, h.Room())
	h.Record(10)
	require.NoError(t, h.Remove(never.ID))
	assert.Equal(t, 1, h.Room())
	for _, stamp := range []simtime.Stamp{20, 30} {
		h.Record(stamp)
	}
	require.NoError(t, h.RemoveAt(late.ID, 45))
	h.Record(40)
	assert.Equal(t, 1, h.Room(), "it is there")
	h.Record(45)
	assert.Equal(t, 2, h.Room())
	require.ErrorIs(t, h.RemoveAt(late.ID, 50), scene.ErrAbsent)
	require.ErrorIs(t, h.RemoveAt(99, 50), scene.ErrNoActor)
	for stamp, there := range map[simtime.Stamp]bool{0: false, 10: false, 20: false, 29: false, 30: true, 31: true, 44: true, 45: false} {
		assert.Equal(t, there, h.Present(late.ID, stamp), "at %d", stamp)
		assert.False(t, h.Present(never.ID, stamp), "at %d", stamp)
	}
}

func TestSpawnAndRemoveErrors(t *testing.T) {
	s, floor, driving, model := garage(t)
	h := scene.NewHistory(s, nil, 0)
	h.Record(0)
	fail := func(want error, err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, want)
		assert.ErrorContains(t, err, text)
	}
	assert.Equal(t, 2, h.Room())
	_, err := h.Spawn("vehicle.sedam", nil)
	fail(scene.ErrNoActor, err, "did you mean vehicle.sedan?")
	_, err = h.Spawn("[", nil)
	fail(scene.ErrNoActor, err, "syntax error in pattern")
	_, err = h.SpawnActor(driving, scene.Actor{}, nil)
	fail(scene.ErrNoActor, err, "not a model of the scene")
	_, err = h.SpawnActor(model, scene.Actor{Parts: []scene.Part{}}, nil)
	fail(scene.ErrIndex, err, "0 parts of its own")
	for name, do := range map[string]func(uint32) error{
		"remove": h.Remove, "move": h.Jumped, "move too": func(id uint32) error { return h.SetMotion(id, nil) },
	} {
		fail(scene.ErrPermanent, do(floor.ID), "it is static")
		fail(scene.ErrNoActor, do(999), "999")
		if name != "move too" {
			fail(scene.ErrPermanent, do(scene.EgoID), "it is the ego")
		}
	}
	require.NoError(t, h.SetMotion(scene.EgoID, nil))

	var came []uint32
	for range 2 {
		a, err := h.Spawn("vehicle.*", scene.Standing(spatial.Identity()))
		require.NoError(t, err)
		came = append(came, a.ID)
	}
	assert.Zero(t, h.Room())
	_, err = h.SpawnActor(model, scene.Actor{}, nil)
	fail(scene.ErrReserveEmpty, err, "all 2 are taken")
	// Spawned and removed before a tick: it never appears, and its slot is free at once.
	require.NoError(t, h.Remove(came[0]))
	fail(scene.ErrAbsent, h.Remove(came[0]), "actor is not there")
	fail(scene.ErrAbsent, h.Jumped(came[0]), "actor is not there")
	h.Record(10e6)
	assert.False(t, h.Present(came[0], 10e6))
	assert.True(t, h.Present(came[1], 10e6))
	_, err = h.Spawn("vehicle.*", nil)
	require.NoError(t, err)
	fail(scene.ErrNoActor, h.Remove(came[0]), "no such actor")
	// The slot of one that was there is free only after the tick at which it goes.
	require.NoError(t, h.Remove(came[1]))
	assert.Zero(t, h.Room())
	_, err = h.Spawn("vehicle.*", nil)
	require.ErrorIs(t, err, scene.ErrReserveEmpty)
	h.Record(20e6)
	assert.Equal(t, 1, h.Room())
	_, err = h.Spawn("vehicle.*", nil)
	require.NoError(t, err)

	_, err = scene.NewHistory(&scene.Scene{Models: s.Models}, nil, 0).Spawn("vehicle.*", nil)
	fail(scene.ErrReserveEmpty, err, "Scene.Reserve makes them before the run")
}

// Two slots take actors of two models in any mix. A slot that is free again is taken again.
func TestSpawnSharesSlotsAmongModels(t *testing.T) {
	for _, c := range []struct{ first, second, third string }{
		{"vehicle.car", "vehicle.car", "vehicle.van"},
		{"vehicle.car", "vehicle.van", "vehicle.car"},
		{"vehicle.van", "vehicle.car", "vehicle.van"},
		{"vehicle.van", "vehicle.van", "vehicle.car"},
	} {
		t.Run(c.first+" "+c.second, func(t *testing.T) {
			s := fleet()
			h := scene.NewHistory(s, nil, 0)
			now := simtime.Stamp(0)
			tick := func() { h.Record(now); now += 10e6 }
			spawn := func(model string, y float64) *scene.Actor {
				a, err := h.Spawn(model, standing(0, y, 0))
				require.NoError(t, err)
				assert.Equal(t, model, a.TypeID)
				return a
			}
			tick()
			here := []*scene.Actor{spawn(c.first, 10), spawn(c.second, 20)}
			last := here[1].ID
			assert.Equal(t, []uint32{2, 3}, idsOf(here), "they rise from the scene's last")
			for round := range 5 {
				_, err := h.Spawn(c.third, nil)
				require.ErrorIs(t, err, scene.ErrReserveEmpty)
				require.ErrorContains(t, err, "all 2 are taken")
				tick()
				gone := here[round%2]
				require.NoError(t, h.Remove(gone.ID))
				tick()
				came := spawn([]string{c.third, c.first, c.second}[round%3], float64(100+round))
				assert.Equal(t, last+1, came.ID)
				last, here[round%2] = came.ID, came
				tick()
				assert.False(t, h.Present(gone.ID, now))
				_, known := h.Motion(gone.ID)
				assert.False(t, known, "the slot is another's")
				require.ErrorIs(t, h.SetMotion(gone.ID, nil), scene.ErrNoActor)
				pose, there := h.Pose(came.ID, now)
				assert.True(t, there)
				assert.Equal(t, float64(100+round), pose.Position[1])
				assert.ElementsMatch(t, here, h.Spawned(nil, now))
				assert.True(t, slices.IsSorted(idsOf(h.Spawned(nil, now))))
				box, _ := h.Box(came.ID)
				assert.Equal(t, s.BoxOf(s.Model(came.TypeID)), box)
			}
		})
	}
}

// Sensors ask late: what they measured is some ticks ago, and the slot may be another's by then.
func TestWhoLeftIsKnownAsLongAsATickHasHim(t *testing.T) {
	for name, forget := range map[string]func(h *scene.History){
		"ticks pass":     func(h *scene.History) { h.Record(40e6); h.Record(50e6) },
		"time goes back": func(h *scene.History) { h.Jump(5e6) },
	} {
		t.Run(name, func(t *testing.T) {
			s := fleet()
			s.Slots = 1
			g, err := scene.Build(t.Context(), s, scene.BuildOptions{})
			require.NoError(t, err)
			h := scene.NewHistory(s, nil, 4)
			h.Record(0)
			gone, err := h.Spawn("vehicle.car", standing(0, 10, 0))
			require.NoError(t, err)
			h.Record(10e6)
			require.NoError(t, h.Remove(gone.ID))
			h.Record(20e6)
			came, err := h.Spawn("vehicle.van", standing(0, 20, 0))
			require.NoError(t, err)
			h.Record(30e6)

			assert.Same(t, gone, h.Actor(gone.ID))
			box, known := h.Box(gone.ID)
			assert.True(t, known)
			assert.Equal(t, s.BoxOf(gone), box)
			for _, c := range []struct {
				stamp simtime.Stamp
				there bool
			}{{10e6, true}, {20e6, false}, {30e6, false}} {
				pose, there := h.Pose(gone.ID, c.stamp)
				state, also := h.State(gone.ID, c.stamp)
				assert.Equal(t, []bool{c.there, c.there, c.there}, []bool{there, also, h.Present(gone.ID, c.stamp)}, "at %d", c.stamp)
				assert.Equal(t, []float64{10, 10}, []float64{pose.Position[1], state.Pose.Position[1]}, "at %d", c.stamp)
			}
			_, err = scene.NewPacker(g, h).Motion(nil, scene.Window{Parent: gone.ID, Mount: spatial.Identity(), StartNs: 10e6, EndNs: 20e6})
			require.NoError(t, err, "the sensor that he carried")
			require.ErrorIs(t, h.Remove(gone.ID), scene.ErrAbsent)

			forget(h)
			assert.Nil(t, h.Actor(gone.ID))
			assert.Same(t, came, h.Actor(came.ID))
		})
	}
}

// stepping is at a place in each tick that is the tick's own: it jumps.
type stepping map[simtime.Stamp]mgl64.Vec3

func (s stepping) PoseAt(stamp simtime.Stamp) spatial.Pose {
	return spatial.Pose{Position: s[stamp], Orientation: mgl64.QuatIdent()}
}

func (s stepping) StateAt(stamp simtime.Stamp) scene.State {
	return scene.State{Pose: s.PoseAt(stamp), Twist: spatial.Twist{Linear: s[stamp]}}
}

// An actor that jumps is where it was up to the jump's tick, be it the scene's own or spawned.
func TestJumpedIsNowhereInBetween(t *testing.T) {
	way := stepping{0: {0, 0, 1}, 10e6: {1, 0, 1}, 20e6: {2, 0, 1}, 30e6: {50, 0, 1}, 40e6: {51, 0, 1}}
	for _, own := range []bool{true, false} {
		for _, jumps := range []bool{true, false} {
			t.Run(fmt.Sprintf("own %v, jumps %v", own, jumps), func(t *testing.T) {
				s, _, driving, _ := garage(t)
				h := scene.NewHistory(s, nil, 0)
				id := driving.ID
				if own {
					require.NoError(t, h.SetMotion(id, way))
				} else {
					a, err := h.Spawn("vehicle.sedan", way)
					require.NoError(t, err)
					id = a.ID
					require.NoError(t, h.Jumped(id), "before it is there it may, too")
				}
				for at := simtime.Stamp(0); at <= 40e6; at += 10e6 {
					if jumps && at == 30e6 {
						require.NoError(t, h.Jumped(id))
					}
					h.Record(at)
				}
				for _, c := range []struct {
					stamp      simtime.Stamp
					x, without float64
				}{{5e6, 0.5, 0.5}, {15e6, 1.5, 1.5}, {20e6, 2, 2}, {21e6, 2, 6.8}, {29e6, 2, 45.2}, {30e6, 50, 50}, {35e6, 50.5, 50.5}, {90e6, 51, 51}} {
					want := c.x
					if !jumps {
						want = c.without
					}
					pose, there := h.Pose(id, c.stamp)
					assert.True(t, there)
					assert.InDelta(t, want, pose.Position[0], 1e-9, "at %d", c.stamp)
					state, there := h.State(id, c.stamp)
					assert.True(t, there)
					assert.InDelta(t, want, state.Pose.Position[0], 1e-9, "at %d", c.stamp)
					assert.InDelta(t, want, state.Twist.Linear[0], 1e-9, "at %d", c.stamp)
					assert.True(t, h.Present(id, c.stamp))
				}
			})
		}
	}
}

// TestSpawnActorStretched: what stands still in the actor is longer, and what turns keeps its shape, farther out.
func TestSpawnActorStretched(t *testing.T) {
	s := fleet()
	model := s.Model("vehicle.van")
	wheel := model.Parts[1]
	wheel.Local = mgl64.Translate3D(2, 0, -1)
	wheel.Joints = func(stamp simtime.Stamp) mgl64.Mat4 {
		return mgl64.Translate3D(2, 0, -1).Mul4(mgl64.HomogRotate3DY(float64(stamp)))
	}
	model.Parts[1] = wheel
	h := scene.NewHistory(s, nil, 0)
	a, err := h.SpawnActor(model, scene.Actor{Stretch: 1.25}, standing(0, 0, 0))
	require.NoError(t, err)
	corner := a.Parts[0].At(0).Mul4x1(mgl64.Vec4{3, 1, 1, 1})
	assert.InDeltaSlice(t, []float64{3.75, 1, 1, 1}, corner[:], 1e-12)
	for _, stamp := range []simtime.Stamp{0, 1} {
		want := mgl64.Translate3D(0.5, 0, 0).Mul4(wheel.Joints(stamp))
		got := a.Parts[1].At(stamp)
		assert.InDeltaSlice(t, want[:], got[:], 1e-12)
	}
	box, ok := h.Box(a.ID)
	require.True(t, ok)
	assert.InDelta(t, 1.25*s.BoxOf(model).Half[0], box.Half[0], 1e-12)
	assert.Equal(t, mgl64.Translate3D(2, 0, -1), model.Parts[1].Local, "the model is as it was")
}

// Parts of its own may be the model's at another scale, fixed or by constant joints. The box is
// the analytic one.
func TestSpawnActorWithPartsOfItsOwn(t *testing.T) {
	b := scenetest.NewBuilder("unit")
	unit := b.Put("unit", scenetest.Box(1, 1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{TypeID: "any", Tag: scene.TagCar, Reserved: true})
	b.Scene.Reserve(unit, 9)
	h := scene.NewHistory(b.Scene, nil, 0)
	for _, c := range []struct {
		as           scene.Actor
		typeID, name string
		want         scene.Box
	}{
		{scene.Actor{}, "any", "any_1", scene.Box{Half: mgl64.Vec3{0.5, 0.5, 0.5}}},
		{scene.Actor{Name: "her", TypeID: "vehicle.tesla", Parts: scaled(unit, mgl64.Vec3{4.8, 2.2, 1.5}, mgl64.Vec3{0.1, 0, 0.75})},
			"vehicle.tesla", "her", scene.Box{Center: mgl64.Vec3{0.1, 0, 0.75}, Half: mgl64.Vec3{2.4, 1.1, 0.75}}},
		{scene.Actor{TypeID: "walker", Parts: scaled(unit, mgl64.Vec3{0.4, 0.4, 1.8}, mgl64.Vec3{})},
			"walker", "walker_3", scene.Box{Half: mgl64.Vec3{0.2, 0.2, 0.9}}},
	} {
		a, err := h.SpawnActor(b.Scene.Models[0], c.as, nil)
		require.NoError(t, err)
		assert.Equal(t, [2]string{c.typeID, c.name}, [2]string{a.TypeID, a.Name})
		box, ok := h.Box(a.ID)
		require.True(t, ok)
		assertVec(t, c.want.Center, box.Center, 1e-9)
		assertVec(t, c.want.Half, box.Half, 1e-9)
	}
}

// scaled returns parts of a model of a unit box that make it a box of a size about a middle.
func scaled(model *scene.Actor, size, middle mgl64.Vec3) []scene.Part {
	at := mgl64.Translate3D(middle[0], middle[1], middle[2]).Mul4(mgl64.Scale3D(size[0], size[1], size[2]))
	parts := slices.Clone(model.Parts)
	parts[0].Joints = func(simtime.Stamp) mgl64.Mat4 { return at }
	return parts
}

// A driven car that is spawned starts to be advanced, and stops with its removal.
func TestSpawnedDrivenIsAdvanced(t *testing.T) {
	s, _, _, _ := garage(t)
	h := scene.NewHistory(s, nil, 0)
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	require.NoError(t, err)
	h.Record(0)
	a, err := h.Spawn("vehicle.sedan", car)
	require.NoError(t, err)
	require.NoError(t, car.SetCommand(scene.Command{Acceleration: 1}))
	for at := int64(10e6); at <= 100e6; at += 10e6 {
		h.Record(simtime.Stamp(at))
	}
	state, _ := h.State(a.ID, 100e6)
	assert.InDelta(t, 0.1, state.Twist.Linear[0], 1e-9)
	require.NoError(t, h.Remove(a.ID))
	for at := int64(110e6); at <= 200e6; at += 10e6 {
		h.Record(simtime.Stamp(at))
	}
	assert.InDelta(t, 0.11, car.StateAt(1e9).Twist.Linear[0], 1e-9)
}

// The history is read while the loop records, spawns and removes, and its tables grow; run with
// the race detector it also proves the locks.
func TestConcurrentReadersWhileActorsComeAndGo(t *testing.T) {
	s, _, driving, model := garage(t)
	s.Reserve(driving, 40)
	model.Joints = []scene.Joint{{Name: "lift", Slides: true, Follow: func(before float64, m scene.Moved) float64 { return before + m.Way }}}
	model.Parts = slices.Clone(model.Parts)
	model.Parts[0].Posed = func(v scene.JointValues, _ simtime.Stamp) mgl64.Mat4 {
		lift, _ := v.Of(0)
		return mgl64.Translate3D(0, 0, lift)
	}
	g := build(t, s)
	h := scene.NewHistory(s, nil, 16)
	h.Record(0)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		p := scene.NewPacker(g, h)
		readers.Go(func() {
			var buf []byte
			var list []*scene.Actor
			var cast []scene.Shown
			var places []mgl64.Mat4
			for {
				select {
				case <-done:
					return
				default:
				}
				_, newest, _ := h.Span()
				list = h.Spawned(list[:0], newest)
				for _, a := range list {
					if state, ok := h.State(a.ID, newest); ok && math.Abs(state.Pose.Position[1]-7) > 1e-9 {
						t.Errorf("a spawned actor is at %v", state.Pose.Position)
						return
					}
					_, _ = h.Motion(a.ID)
					_, _ = h.Box(a.ID)
					_ = h.Actor(a.ID)
				}
				var err error
				if buf, err = p.Motion(buf, scene.Window{Mount: spatial.Identity(), StartNs: newest - 5e6, EndNs: newest}); err != nil {
					t.Error(err)
					return
				}
				cast = p.Cast(cast[:0], newest)
				places = p.Places(places[:0], cast, newest)
			}
		})
	}
	spawned := 0
	for at := int64(1e6); at < 1e9; at += 1e6 {
		coming := h.Coming(nil)
		switch {
		case at/1e6%3 != 0 && len(coming) < 40:
			if _, err := h.Spawn("vehicle.sedan", along(mgl64.Vec3{0, 7, 1}, 3)); err != nil && !errors.Is(err, scene.ErrReserveEmpty) {
				t.Fatal(err)
			}
			spawned++
		case len(coming) > 0:
			id := coming[int(at/1e6)%len(coming)].ID
			if err := h.Jumped(id); err != nil {
				t.Fatal(err)
			}
			if err := h.Remove(id); err != nil {
				t.Fatal(err)
			}
		}
		h.Record(simtime.Stamp(at))
	}
	close(done)
	readers.Wait()
	assert.Greater(t, spawned, 400)
}

// What is done at each tick and capture allocates nothing, also where many are there.
func TestMotionOfSpawnedActorsAllocatesNothing(t *testing.T) {
	s, _, driving, _ := garage(t)
	s.Reserve(driving, 98)
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	at := simtime.Stamp(0)
	h.Record(at)
	p := scene.NewPacker(g, h)
	var buf []byte
	var cast []scene.Shown
	var places []mgl64.Mat4
	step := func() {
		at += 10e6
		h.Record(at)
		var err error
		if buf, err = p.Motion(buf, scene.Window{Mount: spatial.Identity(), StartNs: at - 50e6, EndNs: at}); err != nil {
			t.Fatal(err)
		}
		cast = p.Cast(cast[:0], at)
		places = p.Places(places[:0], cast, at)
	}
	for k := range 100 {
		_, err := h.Spawn("vehicle.sedan", along(mgl64.Vec3{0, float64(7 * k), 1}, 3))
		require.NoError(t, err)
	}
	for range 10 { // its tables grow
		step()
	}
	assert.Zero(t, testing.AllocsPerRun(100, step))
	// Who leaves and jumps changes nothing of that.
	coming := h.Coming(nil)
	for k := range 50 {
		require.NoError(t, h.Remove(coming[2*k].ID))
	}
	step()
	assert.Zero(t, testing.AllocsPerRun(100, step))
}

// found returns the movers of the hierarchy that Motion wrote, by their rows, with their boxes.
func found(rows [][4]float64) map[int][2]mgl64.Vec3 {
	boxes := map[int][2]mgl64.Vec3{}
	root := scene.Ref(math.Float32bits(float32(rows[0][3])))
	if root == 0 {
		return boxes
	}
	if row, _, leaf := root.Leaf(); leaf {
		boxes[row] = [2]mgl64.Vec3{}
		return boxes
	}
	var walk func(scene.Ref)
	walk = func(r scene.Ref) {
		n := rows[int(rows[1][1])+7*r.Node():]
		for k := range 4 {
			if n[0][k] > n[1][k] {
				continue
			}
			child := scene.Ref(math.Float32bits(float32(n[6][k])))
			if row, _, leaf := child.Leaf(); leaf {
				boxes[row] = [2]mgl64.Vec3{{n[0][k], n[2][k], n[4][k]}, {n[1][k], n[3][k], n[5][k]}}
				continue
			}
			walk(child)
		}
	}
	walk(root)
	return boxes
}

// stayOf returns from when to when a row's mover is there, seconds after the window's start.
func stayOf(rows [][4]float64, row int) [2]float64 {
	record := int(rows[1][0]) + row*int(rows[1][2])
	return [2]float64{rows[record][3], rows[record+1][3]}
}

func TestPackerLeavesOutWhoIsAbsent(t *testing.T) {
	s, _, driving, _ := garage(t)
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	var a *scene.Actor
	for at := simtime.Stamp(0); at <= 200e6; at += 10e6 {
		var err error
		switch at {
		case 50e6:
			a, err = h.Spawn("vehicle.*", along(mgl64.Vec3{5, 0, 1}, 2))
		case 60e6:
			err = h.Remove(driving.ID)
		case 100e6:
			err = h.Remove(a.ID)
		}
		require.NoError(t, err)
		h.Record(at)
	}
	for _, c := range []struct {
		start, end  simtime.Stamp
		found       []int
		from, until float64 // of row 1
	}{
		{0, 0, []int{0}, 0, 0},
		{20e6, 40e6, []int{0}, 0, 0},
		{41e6, 48e6, []int{0}, 0, 0},
		{20e6, 80e6, []int{0, 1}, 0.03, 1e30},
		{60e6, 90e6, []int{1}, -1e30, 0.04},
		{55e6, 58e6, []int{0, 1}, -1e30, 1e30},
		{40e6, 120e6, []int{0, 1}, 0.01, 0.06},
		{50e6, 50e6, []int{0, 1}, -1e30, 1e30},
		{91e6, 97e6, []int{1}, -1e30, 0.009},
		{100e6, 100e6, nil, 0, 0},
		{110e6, 200e6, nil, 0, 0},
	} {
		rows := packMotion(t, g, h, scene.Window{Mount: spatial.Identity(), StartNs: c.start, EndNs: c.end})
		boxes := found(rows)
		var list []int
		for row, box := range boxes {
			list = append(list, row)
			if row == 1 && len(boxes) > 1 { // its box holds where it was while it was there, no more
				assert.InDelta(t, 3, box[0][0], 0.3)
				assert.InDelta(t, 7, box[1][0], 0.3)
			}
		}
		slices.Sort(list)
		assert.Equal(t, c.found, list, "%d to %d", c.start, c.end)
		if slices.Contains(c.found, 1) {
			stay := stayOf(rows, 1)
			assert.InEpsilon(t, c.from, stay[0], 1e-6, "%d to %d", c.start, c.end)
			assert.InEpsilon(t, c.until, stay[1], 1e-6, "%d to %d", c.start, c.end)
		}
	}

	p := scene.NewPacker(g, h)
	cast := p.Cast(nil, 70e6)
	require.GreaterOrEqual(t, len(cast), 2)
	assert.Nil(t, cast[0].Actor, "it was removed")
	assert.Equal(t, -1, cast[0].Slot)
	assert.Same(t, a, cast[1].Actor)
	assert.Equal(t, [3]int{1, 0, 0}, [3]int{cast[1].Mover, cast[1].Slot, cast[1].Model})
	places := p.Places(nil, cast, 70e6)
	require.Len(t, places, len(cast))
	assert.Zero(t, places[0])
	assertVec(t, mgl64.Vec3{5.14, 0, 1}, places[1].Col(3).Vec3(), 1e-9)
	for row := 2; row < len(cast); row++ {
		assert.Nil(t, cast[row].Actor)
		assert.Equal(t, -1, cast[row].Mover)
		assert.Zero(t, places[row])
	}
	// Earlier and later than its stay it is nowhere.
	assert.Zero(t, p.Places(nil, cast, 40e6)[1])
	assert.Zero(t, p.Places(nil, cast, 100e6)[1])
}

// Cast has the mover of each row of a slot that is taken. Rows behind a model's last have no mover.
func TestCastOfModelsOfDifferentParts(t *testing.T) {
	s := fleet()
	g := build(t, s)
	require.Equal(t, 2*2, g.Rows())
	h := scene.NewHistory(s, nil, 0)
	h.Record(0)
	p := scene.NewPacker(g, h)
	assert.Empty(t, p.Cast(nil, 0), "no slot was ever in use")
	car, err := h.Spawn("vehicle.car", standing(1, 0, 0))
	require.NoError(t, err)
	van, err := h.Spawn("vehicle.van", standing(0, 3, 0))
	require.NoError(t, err)
	h.Record(10e6)
	cast := p.Cast(nil, 10e6)
	require.Len(t, cast, 4)
	for row, want := range []struct {
		mover int
		actor *scene.Actor
		at    mgl64.Vec3
	}{{0, car, mgl64.Vec3{1, 0, 0}}, {-1, car, mgl64.Vec3{}}, {1, van, mgl64.Vec3{0, 3, 0}}, {2, van, mgl64.Vec3{0, 3, 2}}} {
		assert.Equal(t, want.mover, cast[row].Mover, "row %d", row)
		assert.Same(t, want.actor, cast[row].Actor, "row %d", row)
		assert.Equal(t, [2]int{row / 2, row / 2}, [2]int{cast[row].Slot, cast[row].Model}, "row %d", row)
		place := p.Places(nil, cast, 10e6)[row]
		assertVec(t, want.at, place.Col(3).Vec3(), 1e-12, "row %d", row)
		assert.Equal(t, want.mover >= 0, place.At(3, 3) == 1, "row %d", row)
	}
	// Somebody else's place isn't that of who was there before, nor is it after a jump.
	require.NoError(t, h.Remove(car.ID))
	require.NoError(t, h.Jumped(van.ID))
	h.Record(20e6)
	other, err := h.Spawn("vehicle.van", standing(2, 0, 0))
	require.NoError(t, err)
	h.Record(30e6)
	now := p.Cast(nil, 30e6)
	assert.Same(t, other, now[0].Actor)
	for _, then := range p.Places(nil, now, 10e6) {
		assert.Zero(t, then)
	}
	for row, then := range p.Places(nil, now, 30e6) {
		assert.Equal(t, 1.0, then.At(3, 3), "row %d", row)
	}
}

// A window that ends before a jump's tick has the actor where it was. One that holds the tick has
// it from then on, where it is.
func TestPackerKeepsJumpsApart(t *testing.T) {
	s, _, _, _ := garage(t)
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	way := stepping{0: {0, 0, 1}, 10e6: {1, 0, 1}, 20e6: {2, 0, 1}, 30e6: {50, 0, 1}, 40e6: {51, 0, 1}}
	a, err := h.Spawn("vehicle.sedan", way)
	require.NoError(t, err)
	for at := simtime.Stamp(0); at <= 40e6; at += 10e6 {
		if at == 30e6 {
			require.NoError(t, h.Jumped(a.ID))
		}
		h.Record(at)
	}
	for _, c := range []struct {
		start, end  simtime.Stamp
		from, until float64
		low, high   float64 // of its middle
	}{
		{12e6, 18e6, -1e30, 1e30, 1, 2},
		{12e6, 28e6, -1e30, 0.018, 1, 2},
		{22e6, 28e6, -1e30, 0.008, 2, 2},
		{22e6, 22e6, -1e30, 0.008, 2, 2},
		{12e6, 30e6, 0.018, 1e30, 50, 50},
		{30e6, 40e6, -1e30, 1e30, 50, 51},
		{5e6, 36e6, 0.025, 1e30, 50, 51},
	} {
		rows := packMotion(t, g, h, scene.Window{Mount: spatial.Identity(), StartNs: c.start, EndNs: c.end})
		box, ok := found(rows)[1]
		require.True(t, ok, "%d to %d", c.start, c.end)
		stay := stayOf(rows, 1)
		assert.InEpsilon(t, c.from, stay[0], 1e-6, "%d to %d", c.start, c.end)
		assert.InEpsilon(t, c.until, stay[1], 1e-6, "%d to %d", c.start, c.end)
		assert.InDelta(t, c.low-2, box[0][0], 0.02, "%d to %d", c.start, c.end)
		assert.InDelta(t, c.high+2, box[1][0], 0.02, "%d to %d", c.start, c.end)
	}
}

// Motion of many: the history and the table grow with the slots in use, and no further.
func TestSpawnOfMany(t *testing.T) {
	s, _, driving, _ := garage(t)
	s.Reserve(driving, 998)
	g := build(t, s)
	h := scene.NewHistory(s, nil, 0)
	h.Record(0)
	p := scene.NewPacker(g, h)
	size := func(at simtime.Stamp) int {
		packed, err := p.Motion(nil, scene.Window{Mount: spatial.Identity(), StartNs: at, EndNs: at})
		require.NoError(t, err)
		return len(packed)
	}
	empty := size(0)
	at := simtime.Stamp(0)
	var came []*scene.Actor
	for k := range 300 {
		a, err := h.Spawn("vehicle.*", standing(float64(k%20)*10, 100+float64(k/20)*10, 1))
		require.NoError(t, err)
		came = append(came, a)
		if k%30 == 0 {
			at += 10e6
			h.Record(at)
		}
	}
	at += 10e6
	h.Record(at)
	assert.Equal(t, came, h.Spawned(nil, at))
	for k, a := range came {
		pose, there := h.Pose(a.ID, at)
		require.True(t, there)
		require.Equal(t, mgl64.Vec3{float64(k%20) * 10, 100 + float64(k/20)*10, 1}, pose.Position)
		// Growth has kept who was there at each tick.
		for tick := simtime.Stamp(0); tick <= at; tick += 10e6 {
			require.Equal(t, tick > 0 && k <= 30*(int(tick/10e6)-1) || tick == at, h.Present(a.ID, tick), "actor %d at %d", k, tick)
		}
	}
	full := size(at)
	assert.Greater(t, full, empty+300*16*7)
	assert.Less(t, full, empty+1000*16*7, "slots that nobody has used take no room")
	assert.Len(t, found(packMotion(t, g, h, scene.Window{Mount: spatial.Identity(), StartNs: at, EndNs: at})), 301)
	// Those who come take the first free slots.
	for _, a := range came[10:290] {
		require.NoError(t, h.Remove(a.ID))
	}
	h.Record(at + 10e6)
	for range 280 {
		_, err := h.Spawn("vehicle.*", nil)
		require.NoError(t, err)
	}
	h.Record(at + 20e6)
	assert.LessOrEqual(t, size(at+20e6), full)
}

func ExampleHistory_Spawn() {
	b := scenetest.NewBuilder("yard")
	van := b.Put("van", scenetest.Box(5, 2, 2), scenetest.Matte("white", 1, 1, 1), scene.Placement{TypeID: "vehicle.van", Reserved: true})
	b.Scene.Reserve(van, 3) // four in all

	history := scene.NewHistory(b.Scene, nil, 0)
	history.Record(0)
	van, err := history.Spawn("vehicle.*", scene.Standing(spatial.FromRPY(mgl64.Vec3{12, 0, 1}, 0, 0, 90)))
	if err != nil {
		fmt.Println(err)
		return
	}
	history.Record(10_000_000)
	fmt.Println(van.TypeID, history.Present(van.ID, 5_000_000), history.Present(van.ID, 10_000_000))
	if err := history.Remove(van.ID); err != nil {
		fmt.Println(err)
	}
	history.Record(20_000_000)
	fmt.Println(history.Present(van.ID, 20_000_000), history.Remove(van.ID))
	// Output:
	// vehicle.van false true
	// false remove actor 1: actor is not there
}
