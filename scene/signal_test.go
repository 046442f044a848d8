package scene_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// turning shows green for 4 s, yellow for 1 s and red for 5 s.
func turning(id, actor uint32, name string) scene.TrafficLight {
	return scene.TrafficLight{ID: id, Actor: actor, Name: name, Pose: spatial.Identity(), Green: 4e9, Yellow: 1e9, Red: 5e9}
}

// says is what a light shows and for how long, nanoseconds.
type says struct {
	state world.SignalState
	since int64
}

func said(h *scene.History, light int, stamp simtime.Stamp) says {
	state, elapsed := h.Signal(light, stamp)
	return says{state, elapsed}
}

func TestSignalsAreSetFromTheNextTickOn(t *testing.T) {
	s := &scene.Scene{Signals: []scene.TrafficLight{turning(3, 0, ""), turning(5, 0, "J7")}}
	h := scene.NewHistory(s, nil, 4)
	light, ok := h.Light(0, "J7")
	require.True(t, ok)
	require.Equal(t, 1, light)
	h.SetSignal(light, world.SignalYellow) // counts for nothing: another follows before the tick
	h.SetSignal(light, world.SignalRed)
	assert.Equal(t, says{world.SignalGreen, 1e9}, said(h, light, 1e9), "there is no tick yet")
	h.Record(1e9)
	h.Record(2e9)
	assert.Equal(t, says{world.SignalGreen, 999_999_999}, said(h, light, 999_999_999), "as it was")
	assert.Equal(t, says{world.SignalRed, 0}, said(h, light, 1e9))
	assert.Equal(t, says{world.SignalRed, 1_500_000_000}, said(h, light, 2_500_000_000))
	assert.Equal(t, says{world.SignalGreen, 2_500_000_000}, said(h, 0, 2_500_000_000), "the other turns by itself")

	h.SetSignal(light, world.SignalRed)
	h.Record(3e9)
	assert.Equal(t, says{world.SignalRed, 2e9}, said(h, light, 3e9), "it shows red all the time")
	h.SetSignal(light, world.SignalOff)
	h.Record(4e9)
	h.SetSignal(light, world.SignalGreen)
	h.Record(5e9)
	for stamp, want := range map[simtime.Stamp]says{
		3_999_999_999: {world.SignalRed, 2_999_999_999}, 4_500_000_000: {world.SignalOff, 500_000_000}, 6e9: {world.SignalGreen, 1e9},
	} {
		assert.Equal(t, want, said(h, light, stamp), "at %d", stamp)
	}

	// Ticks that are forgotten take along what was shown up to then.
	h.Record(6e9)
	h.Record(7e9)
	h.Record(8e9)
	assert.Equal(t, says{world.SignalGreen, 3e9}, said(h, light, 8e9))

	// The clock goes back: what it shows holds from there.
	h.SetSignal(0, world.SignalOff)
	h.Jump(2e9)
	assert.Equal(t, says{world.SignalGreen, 0}, said(h, light, 2e9))
	assert.Equal(t, says{world.SignalOff, 0}, said(h, 0, 2e9))
	h.Record(3e9)
	assert.Equal(t, says{world.SignalGreen, 1e9}, said(h, light, 3e9))
}

// TestASignalGoesOnWithWhatItShows: one that is set to what it shows by itself has shown it before.
func TestASignalGoesOnWithWhatItShows(t *testing.T) {
	h := scene.NewHistory(&scene.Scene{Signals: []scene.TrafficLight{turning(1, 0, "")}}, nil, 0)
	h.SetSignal(0, world.SignalGreen)
	h.Record(3e9)
	assert.Equal(t, says{world.SignalGreen, 3e9}, said(h, 0, 3e9))
	assert.Equal(t, says{world.SignalGreen, 9e9}, said(h, 0, 9e9), "and shows it on")
}

func TestLightsOfOneActorShowTheSame(t *testing.T) {
	s := &scene.Scene{Signals: []scene.TrafficLight{
		turning(1, 0, ""), turning(2, 9, "pole"), turning(3, 0, ""), turning(4, 9, "pole"), turning(5, 8, "other"),
	}}
	h := scene.NewHistory(s, nil, 0)
	for _, c := range []struct {
		id    uint32
		name  string
		light int
		known bool
	}{{1, "", 0, true}, {2, "", 1, true}, {4, "", 1, true}, {0, "pole", 1, true}, {3, "pole", 2, true}, {5, "", 4, true},
		{6, "pole", 0, false}, {0, "post", 0, false}, {0, "", 0, false}} {
		light, ok := h.Light(c.id, c.name)
		assert.Equal(t, c.known, ok, "%+v", c)
		if c.known {
			assert.Equal(t, c.light, light, "%+v", c)
		}
	}
	assert.Equal(t, []string{"pole", "other"}, s.SignalNames())
	h.SetSignal(3, world.SignalOff)
	h.Record(0)
	for light, want := range []world.SignalState{world.SignalGreen, world.SignalOff, world.SignalGreen, world.SignalOff, world.SignalGreen} {
		assert.Equal(t, want, said(h, light, 0).state, "light %d", light)
	}
}

// TestSignalsThatDoNotChangeAllocateNothing: a tick asks every light.
func TestSignalsThatDoNotChangeAllocateNothing(t *testing.T) {
	h := scene.NewHistory(&scene.Scene{Signals: []scene.TrafficLight{turning(1, 0, ""), turning(2, 0, "")}}, nil, 0)
	h.SetSignal(0, world.SignalRed)
	stamp := simtime.Stamp(0)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		stamp += 1e6
		h.Record(stamp)
		h.Signal(0, stamp)
		h.Signal(1, stamp)
	}))
}

// lamp is a disc, or rather a triangle, that faces a direction.
func lamp(name string, lamps world.Lights, corners ...float32) (scene.Material, scene.Mesh) {
	m := scenetest.Matte(name, 0.5, 0.1, 0.1)
	m.Lamps = lamps
	mesh := scene.Mesh{Name: name, Indices: []uint32{0, 1, 2}, Groups: []scene.Group{{Count: 3}}}
	for i := range 3 {
		mesh.Positions = append(mesh.Positions, [3]float32(corners[3*i:3*i+3]))
		mesh.Normals = append(mesh.Normals, [3]float32{1, 0, 0})
	}
	return m, mesh
}

// TestLightsOfAssets: what stands and has lamps of a traffic light is one, and looks where they look.
func TestLightsOfAssets(t *testing.T) {
	red, above := lamp("red", world.LightRed, 1, 0, 4, 0, 1, 4, 0.5, 0.5, 5)       // looks along (1, 1, 0)
	green, below := lamp("green", world.LightGreen, 1, 0, 2, 0, 1, 2, 0.5, 0.5, 3) // the same, below
	plain, pole := lamp("grey", world.LightBrake, 0, 0, 0, 1, 0, 0, 0, 0, 9)
	above.Groups[0].Material, below.Groups[0].Material, pole.Groups[0].Material = 0, 1, 2
	asset := &scene.Asset{
		Name: "street", Materials: []scene.Material{red, green, plain}, Meshes: []scene.Mesh{above, below, pole},
		Nodes: []scene.Node{
			{Name: "J7", Parent: -1, Local: scene.IdentityTRS(), Mesh: 2, Actor: true},
			{Name: "up", Parent: 0, Local: scene.IdentityTRS(), Mesh: 0},
			{Name: "down", Parent: 0, Local: scene.IdentityTRS(), Mesh: 1},
			{Name: "post", Parent: -1, Local: scene.IdentityTRS(), Mesh: 2, Actor: true},
		},
	}
	s := scene.New("town")
	placed := scene.Placement{Pose: spatial.FromRPY(mgl64.Vec3{10, 0, 0}, 0, 0, 90)}
	_, err := s.Add(asset, placed)
	require.NoError(t, err)
	placed.TypeID = "static.gantry"
	_, err = s.Add(asset, placed)
	require.NoError(t, err)
	placed.Motion = scene.Standing(spatial.Identity())
	_, err = s.Add(asset, placed)
	require.NoError(t, err)

	require.Len(t, s.Signals, 2, "neither the post nor what moves")
	first, second := &s.Signals[0], &s.Signals[1]
	assert.Equal(t, []any{uint32(1), "J7", uint32(2), "street/J7_2"}, []any{first.ID, first.Name, second.ID, second.Name})
	assert.Equal(t, []string{scene.TypeTrafficLight, "static.gantry"}, []string{s.Actor(first.Actor).TypeID, s.Actor(second.Actor).TypeID})
	assert.Equal(t, "static.prop", s.Actors[1].TypeID)
	// Turned by 90 degrees (1, 1, 0) is (-1, 1, 0). The triangles' middle is at (0.5, 0.5, 3.5).
	look := first.Pose.Rotate(mgl64.Vec3{1, 0, 0})
	assert.InDeltaSlice(t, []float64{-0.7071, 0.7071, 0}, look[:], 1e-3)
	assert.InDeltaSlice(t, []float64{9.5, 0.5, 3.5}, first.Pose.Position[:], 1e-6)
	assert.InDeltaSlice(t, []float64{0, 1.4142, 3}, first.Size[:], 1e-3)
	assert.Equal(t, world.SignalOff, said(scene.NewHistory(s, nil, 0), 0, 0).state)
}

// TestALightThatLooksToAllSides looks along its actor.
func TestALightThatLooksToAllSides(t *testing.T) {
	ball := scenetest.Matte("ball", 0.5, 0.1, 0.1)
	ball.Lamps = world.LightYellow
	b := scenetest.NewBuilder("town")
	b.Put("light", scenetest.Box(1, 2, 3), ball, scene.Placement{Pose: spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 0, 30)})
	require.Len(t, b.Scene.Signals, 1)
	light := &b.Scene.Signals[0]
	look := light.Pose.Rotate(mgl64.Vec3{1, 0, 0})
	assert.InDeltaSlice(t, []float64{0.8660, 0.5, 0}, look[:], 1e-3)
	assert.InDeltaSlice(t, []float64{1, 2, 3}, light.Size[:], 1e-6)
	assert.Equal(t, "light", light.Name)
}
