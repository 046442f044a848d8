package scene_test

import (
	"errors"
	"fmt"
	"math"
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

// garage is a floor, a car that drives along x at 10 m/s and two cars like it in
// reserve.
func garage(t testing.TB) (s *scene.Scene, floor, driving *scene.Actor, reserved []*scene.Actor) {
	t.Helper()
	b := scenetest.NewBuilder("garage")
	b.Put("floor", scenetest.Plane(100, 10), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	b.Put("car", scenetest.Box(4, 2, 1.5), scenetest.Matte("red", 1, 0, 0),
		scene.Placement{TypeID: "vehicle.sedan", Motion: along(mgl64.Vec3{0, 20, 0.75}, 10), Tag: scene.TagCar})
	floor, driving = b.Scene.Actors[0], b.Scene.Actors[1]
	reserved, err := b.Scene.Reserve(driving, 2)
	require.NoError(t, err)
	return b.Scene, floor, driving, reserved
}

func along(start mgl64.Vec3, speed float64) scene.Motion {
	pose := spatial.Identity()
	pose.Position = start
	return scenetest.Linear{Start: pose, Velocity: mgl64.Vec3{speed, 0, 0}}
}

func TestReserveSharesMeshes(t *testing.T) {
	s, _, driving, reserved := garage(t)
	require.Len(t, reserved, 2)
	assert.Equal(t, []*scene.Actor{driving, reserved[0], reserved[1]}, s.ActorsOf("vehicle.*"))
	assert.Empty(t, s.ActorsOf("vehicle.[")) // no pattern
	assert.Same(t, reserved[1], s.Actor(reserved[1].ID))
	for _, a := range reserved {
		assert.Equal(t, driving.Parts, a.Parts)
		assert.NotEqual(t, driving.Name, a.Name)
		assert.Nil(t, a.Motion)
		assert.False(t, a.Static())
	}
	stats := s.Stats()
	assert.Equal(t, [3]int{2, 1, 2}, [3]int{stats.Instances, stats.Moving, stats.Reserved})
	assert.Equal(t, stats.Stored, stats.Triangles, "nobody in reserve is shown")

	w := buildWorld(t, s)
	require.Len(t, w.Movers, 3)
	assert.Equal(t, w.Movers[0].Root, w.Movers[2].Root)
	assert.Equal(t, stats.Stored, w.Triangles(), "reserved actors need no triangles")

	// What Add makes of an asset may be reserved too, and be a template.
	asset := &scene.Asset{Name: "van", Materials: []scene.Material{scenetest.Matte("white", 1, 1, 1)},
		Meshes: []scene.Mesh{scenetest.Box(5, 2, 2)}, Nodes: []scene.Node{
			{Parent: -1, Mesh: 0, Local: scene.IdentityTRS()}, {Parent: -1, Mesh: 0, Local: scene.IdentityTRS()},
		}}
	vans, err := s.Add(asset, scene.Placement{TypeID: "vehicle.van", Reserved: true})
	require.NoError(t, err)
	require.Len(t, vans, 1, "one actor, whatever its nodes say")
	more, err := s.Reserve(vans[0], 2)
	require.NoError(t, err)
	assert.Equal(t, append(vans, more...), s.ActorsOf("vehicle.van"))
	none, err := s.Reserve(vans[0], -1)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestReserveRunsOutOfIDs(t *testing.T) {
	s := scene.New("full")
	got, err := s.Reserve(&scene.Actor{TypeID: "vehicle.van"}, scene.MaxActors+1)
	require.ErrorIs(t, err, scene.ErrTooManyActors)
	assert.Len(t, got, scene.MaxActors)
}

func TestSpawnAndRemoveTakeEffectAtTheNextTick(t *testing.T) {
	s, _, driving, reserved := garage(t)
	h := scene.NewHistory(s, nil, 0)
	assert.False(t, h.Present(driving.ID, 0), "nothing is recorded yet")
	h.Record(0)
	h.Record(10e6)
	a, err := h.Spawn("vehicle.sedan", along(mgl64.Vec3{5, 0, 1}, 2))
	require.NoError(t, err)
	require.Same(t, reserved[0], a)
	require.NoError(t, h.Remove(driving.ID))
	assert.False(t, h.Present(a.ID, 10e6))
	assert.True(t, h.Present(driving.ID, 10e6))
	h.Record(20e6)
	h.Record(30e6)

	for _, c := range []struct {
		stamp          simtime.Stamp
		spawned, drove bool
	}{{-5, false, true}, {10e6, false, true}, {19_999_999, false, true}, {20e6, true, false}, {25e6, true, false}, {99e6, true, false}} {
		assert.Equal(t, c.spawned, h.Present(a.ID, c.stamp), "spawned at %d", c.stamp)
		assert.Equal(t, c.drove, h.Present(driving.ID, c.stamp), "removed at %d", c.stamp)
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

	// Growing the ring keeps who was there; the actor that went may come again.
	h.Keep(1000)
	assert.False(t, h.Present(a.ID, 15e6))
	assert.True(t, h.Present(a.ID, 25e6))
	again, err := h.SpawnActor(driving.ID, nil)
	require.NoError(t, err)
	assert.Same(t, driving, again)
	m, ok := h.Motion(driving.ID)
	assert.True(t, ok)
	assert.Nil(t, m)
	h.Record(40e6)
	pose, ok = h.Pose(driving.ID, 40e6)
	assert.True(t, ok)
	assert.Equal(t, driving.Pose, pose, "without a motion it stands at its own pose")
	pose, ok = h.Pose(driving.ID, 35e6)
	assert.False(t, ok, "between its stays it is nowhere")
	assertVec(t, mgl64.Vec3{0.2, 20, 0.75}, pose.Position, 1e-9)
}

func TestSpawnAndRemoveErrors(t *testing.T) {
	s, floor, driving, reserved := garage(t)
	h := scene.NewHistory(s, nil, 0)
	h.Record(0)
	fail := func(want error, err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, want)
		assert.ErrorContains(t, err, text)
	}
	_, err := h.Spawn("vehicle.sedam", nil)
	fail(scene.ErrNoActor, err, "did you mean vehicle.sedan?")
	_, err = h.Spawn("[", nil)
	fail(scene.ErrNoActor, err, "syntax error in pattern")
	fail(scene.ErrPermanent, h.Remove(floor.ID), "it is static")
	fail(scene.ErrPermanent, h.Remove(scene.EgoID), "it is the ego")
	fail(scene.ErrNoActor, h.Remove(999), "999")
	fail(scene.ErrAbsent, h.Remove(reserved[0].ID), "actor is not there")
	_, err = h.SpawnActor(floor.ID, nil)
	fail(scene.ErrPermanent, err, "it is static")
	_, err = h.SpawnActor(driving.ID, nil)
	fail(scene.ErrPresent, err, fmt.Sprint(driving.ID))

	for range 2 {
		_, err = h.Spawn("vehicle.*", scene.Standing(spatial.Identity()))
		require.NoError(t, err)
	}
	_, err = h.Spawn("vehicle.sedan", nil)
	fail(scene.ErrReserveEmpty, err, "reserve more with Scene.Reserve")
	// Spawned and removed before a tick: it never appears, and is free at once.
	require.NoError(t, h.Remove(reserved[0].ID))
	h.Record(10e6)
	assert.False(t, h.Present(reserved[0].ID, 10e6))
	assert.True(t, h.Present(reserved[1].ID, 10e6))
	// One that was there is free only after the tick at which it goes.
	require.NoError(t, h.Remove(reserved[1].ID))
	_, err = h.SpawnActor(reserved[1].ID, nil)
	require.ErrorIs(t, err, scene.ErrPresent)
	h.Record(20e6)
	_, err = h.SpawnActor(reserved[1].ID, nil)
	require.NoError(t, err)
}

// A driven car that is spawned starts to be advanced, and stops with its removal.
func TestSpawnedDrivenIsAdvanced(t *testing.T) {
	s, _, _, reserved := garage(t)
	h := scene.NewHistory(s, nil, 0)
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	require.NoError(t, err)
	h.Record(0)
	_, err = h.SpawnActor(reserved[0].ID, car)
	require.NoError(t, err)
	require.NoError(t, car.SetCommand(scene.Command{Acceleration: 1}))
	for at := int64(10e6); at <= 100e6; at += 10e6 {
		h.Record(simtime.Stamp(at))
	}
	state, _ := h.State(reserved[0].ID, 100e6)
	assert.InDelta(t, 0.1, state.Twist.Linear[0], 1e-9)
	require.NoError(t, h.Remove(reserved[0].ID))
	for at := int64(110e6); at <= 200e6; at += 10e6 {
		h.Record(simtime.Stamp(at))
	}
	assert.InDelta(t, 0.11, car.StateAt(1e9).Twist.Linear[0], 1e-9)
}

// The history is read while the loop records, spawns and removes; run with the
// race detector it also proves the locks.
func TestHistoryIsReadWhileActorsComeAndGo(t *testing.T) {
	s, _, _, reserved := garage(t)
	w := buildWorld(t, s)
	h := scene.NewHistory(s, nil, 16)
	h.Record(0)
	id := reserved[0].ID
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		p := scene.NewPacker(w, h)
		buf := make([]byte, p.MotionBytes())
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, newest, _ := h.Span()
				if state, ok := h.State(id, newest); ok && math.Abs(state.Pose.Position[1]-7) > 1e-9 {
					t.Errorf("a spawned actor is at %v", state.Pose.Position)
					return
				}
				_, _ = h.Motion(id)
				if _, err := p.Motion(buf, scene.Window{Mount: spatial.Identity(), StartNs: newest - 5e6, EndNs: newest}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	spawned := 0
	for at := int64(1e6); at < 1e9; at += 1e6 {
		switch at / 1e6 % 3 {
		case 0:
			if _, err := h.Spawn("vehicle.sedan", along(mgl64.Vec3{0, 7, 1}, 3)); err != nil {
				t.Fatal(err)
			}
			spawned++
		case 1:
			if err := h.Remove(id); err != nil && !errors.Is(err, scene.ErrAbsent) {
				t.Fatal(err)
			}
		}
		h.Record(simtime.Stamp(at))
	}
	close(done)
	readers.Wait()
	assert.Equal(t, 333, spawned)
}

func TestSpawnAndRemoveAllocateNothing(t *testing.T) {
	s, _, _, _ := garage(t)
	w := buildWorld(t, s)
	h := scene.NewHistory(s, nil, 0)
	p := scene.NewPacker(w, h)
	buf := make([]byte, p.MotionBytes())
	motion := along(mgl64.Vec3{0, 7, 1}, 3)
	at := int64(0)
	h.Record(simtime.Stamp(at))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		a, err := h.Spawn("vehicle.sedan", motion)
		if err != nil {
			t.Fatal(err)
		}
		at += 10e6
		h.Record(simtime.Stamp(at))
		if _, err := p.Motion(buf, scene.Window{Mount: spatial.Identity(), StartNs: simtime.Stamp(at - 20e6), EndNs: simtime.Stamp(at)}); err != nil {
			t.Fatal(err)
		}
		if err := h.Remove(a.ID); err != nil {
			t.Fatal(err)
		}
		at += 10e6
		h.Record(simtime.Stamp(at))
	}))
}

func TestPackerLeavesOutWhoIsAbsent(t *testing.T) {
	s, _, driving, reserved := garage(t)
	w := buildWorld(t, s)
	h := scene.NewHistory(s, nil, 0)
	for at := int64(0); at <= 200e6; at += 10e6 {
		switch at {
		case 50e6:
			_, err := h.SpawnActor(reserved[0].ID, along(mgl64.Vec3{5, 0, 1}, 2))
			require.NoError(t, err)
		case 60e6:
			require.NoError(t, h.Remove(driving.ID))
		case 100e6:
			require.NoError(t, h.Remove(reserved[0].ID))
		}
		h.Record(simtime.Stamp(at))
	}
	at := func(start, end int64) (rows [][4]float64, found map[int]bool) {
		rows = packMotion(t, w, h, scene.Window{Mount: spatial.Identity(), StartNs: simtime.Stamp(start), EndNs: simtime.Stamp(end)})
		found = map[int]bool{}
		if math.Float32bits(float32(rows[0][3])) == 0 {
			return rows, found
		}
		ref := scene.Ref(math.Float32bits(float32(rows[0][3])))
		if mover, _, leaf := ref.Leaf(); leaf {
			found[mover] = true
			return rows, found
		}
		nodes := int(rows[1][1])
		for k := range 4 {
			if n := rows[nodes : nodes+7]; n[0][k] <= n[1][k] {
				mover, _, _ := scene.Ref(math.Float32bits(float32(n[6][k]))).Leaf()
				found[mover] = true
				if mover == 1 { // its box holds where it was while it was there, no more
					assert.InDelta(t, 3, n[0][k], 0.3)
					assert.InDelta(t, 7, n[1][k], 0.3)
				}
			}
		}
		return rows, found
	}
	for _, c := range []struct {
		start, end  int64
		found       map[int]bool
		from, until float64 // of mover 1
	}{
		{0, 0, map[int]bool{0: true}, 0, 0},
		{20e6, 40e6, map[int]bool{0: true}, 0, 0},
		{20e6, 80e6, map[int]bool{0: true, 1: true}, 0.03, 1e30},
		{60e6, 90e6, map[int]bool{1: true}, -1e30, 0.04},
		{55e6, 58e6, map[int]bool{0: true, 1: true}, -1e30, 1e30},
		{40e6, 120e6, map[int]bool{0: true, 1: true}, 0.01, 0.06},
		{50e6, 50e6, map[int]bool{0: true, 1: true}, -1e30, 1e30},
		{100e6, 100e6, map[int]bool{}, 0, 0},
		{110e6, 200e6, map[int]bool{}, 0, 0},
	} {
		rows, found := at(c.start, c.end)
		assert.Equal(t, c.found, found, "%d to %d", c.start, c.end)
		if c.found[1] {
			record := int(rows[1][0]) + int(rows[1][2])
			assert.InEpsilon(t, c.from, rows[record][3], 1e-6, "%d to %d", c.start, c.end)
			assert.InEpsilon(t, c.until, rows[record+1][3], 1e-6, "%d to %d", c.start, c.end)
		}
	}

	places := scene.NewPacker(w, h).Places(nil, 70e6)
	require.Len(t, places, 3)
	assert.Zero(t, places[0])
	assertVec(t, mgl64.Vec3{5.14, 0, 1}, places[1].Col(3).Vec3(), 1e-9)
	assert.Zero(t, places[2])
}

func ExampleHistory_Spawn() {
	b := scenetest.NewBuilder("yard")
	b.Put("van", scenetest.Box(5, 2, 2), scenetest.Matte("white", 1, 1, 1), scene.Placement{TypeID: "vehicle.van", Reserved: true})
	if _, err := b.Scene.Reserve(b.Scene.Actors[0], 3); err != nil { // four in all
		fmt.Println(err)
	}

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
