package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// fleet is a scene of a static house, a bus, and a model of cars of which two may come.
func fleet(t testing.TB) *scene.Scene {
	b := scenetest.NewBuilder("fleet")
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	b.Put("house", scenetest.Box(10, 10, 10), grey, scenetest.At(50, 0, 0, scene.TagBuilding)).TypeID = "building.house"
	bus := b.Put("bus", scenetest.Box(10, 3, 3), grey, scene.Placement{Tag: scene.TagBus, Motion: driving{mgl64.Vec3{0, 10, 0}, 1}})
	bus.TypeID = "vehicle.bus"
	b.Scene.Reserve(&scene.Actor{TypeID: "vehicle.sedan", Parts: bus.Parts}, 2)
	return b.Scene
}

// driving is a motion along x, metres a second.
type driving struct {
	from  mgl64.Vec3
	speed float64
}

func (d driving) PoseAt(stamp simtime.Stamp) spatial.Pose {
	p := spatial.Identity()
	p.Position = d.from.Add(mgl64.Vec3{d.speed * float64(stamp) / 1e9, 0, 0})
	return p
}

// only returns the one actor of a list.
func only(t testing.TB, list []*pipeline.Actor) *pipeline.Actor {
	require.Len(t, list, 1)
	return list[0]
}

// TestSensorsRideOnActors: their owner, box and pose are the actor's, children ride with
// them, and they end with it.
func TestSensorsRideOnActors(t *testing.T) {
	owners := map[string]sensors.Owner{}
	do := &script{owner: func(name string, o sensors.Owner) error {
		owners[name] = o
		return nil
	}}
	p := newScriptedIn(t, fleet(t), do, pipeline.Config{ClockRate: simtime.Hz(100)})
	bus := only(t, p.Actors("vehicle.bus"))
	busTop, err := p.AddSensor(sensors.Config{ID: plainID, Name: "bus_top", Rate: simtime.Hz(100), AttachTo: bus.ID(), Pose: sensors.Pose{Z: 3}})
	require.NoError(t, err)
	_, err = p.AddSensor(sensors.Config{ID: plainID, Name: "sedan_top", AttachTo: 3})
	require.ErrorIs(t, err, scene.ErrNoActor)
	own := recorded(t, addScripted(t, p, plainID, "own", "100"))
	require.NoError(t, p.Step(t.Context(), 10))

	sedan, err := p.SpawnActor("vehicle.sedan", driving{mgl64.Vec3{0, -5, 0}, 2})
	require.NoError(t, err)
	assert.Equal(t, "vehicle.sedan", sedan.TypeID())
	onSedan, err := p.AddSensor(sensors.Config{ID: laggyID, Name: "sedan_top", Rate: simtime.Hz(100), AttachTo: sedan.ID(), Pose: sensors.Pose{Z: 1}})
	require.NoError(t, err)
	child, err := p.AddSensor(sensors.Config{ID: plainID, Name: "sedan_mast", Rate: simtime.Hz(100), Parent: "sedan_top", Pose: sensors.Pose{Z: 1}})
	require.NoError(t, err)
	_, err = p.AddSensor(sensors.Config{ID: plainID, Name: "torn", Parent: "sedan_top", AttachTo: bus.ID()})
	require.ErrorIs(t, err, rig.ErrParent)
	stamps, more := recorded(t, onSedan), recorded(t, child)
	assert.Equal(t, []uint32{bus.ID(), sedan.ID(), sedan.ID()}, []uint32{busTop.Owner(), onSedan.Owner(), child.Owner()})
	assert.Equal(t, mgl64.Vec3{0, 0, 2}, child.Mount().Position)
	assert.Equal(t, "vehicle.sedan", owners["sedan_mast"].TypeID)
	assert.Equal(t, scene.EgoTypeID, owners["own"].TypeID)
	assert.Len(t, sedan.Sensors(), 2)

	require.NoError(t, p.Step(t.Context(), 10)) // to 200 ms
	assert.InDelta(t, 0.4, sedan.Pose().Position.X(), 1e-9)
	assert.InDelta(t, 0.2, bus.Pose().Position.X(), 1e-9)
	assert.Equal(t, millis(120, 130, 140, 150, 160, 170, 180, 190, 200), *stamps)
	assert.Equal(t, *stamps, *more)

	require.NoError(t, sedan.Destroy())
	assert.False(t, sedan.Present())
	_, err = p.Actor(sedan.ID())
	require.ErrorIs(t, err, scene.ErrAbsent)
	require.ErrorIs(t, sedan.Destroy(), scene.ErrAbsent)
	require.NoError(t, p.Step(t.Context(), 5))
	assert.Len(t, *stamps, 9, "its sensors went with it")
	assert.Len(t, *more, 9)
	for _, gone := range []*pipeline.Sensor{onSedan, child} {
		require.NoError(t, gone.Wait(t.Context()))
		require.NoError(t, gone.Destroy(), "that they are gone is not an error")
	}
	assert.Len(t, p.Sensors(), 2)
	assert.Len(t, *own, 25, "others don't notice")

	back, err := p.SpawnActor("vehicle.*", scene.Standing(spatial.Identity()))
	require.NoError(t, err)
	_, err = p.AddSensor(sensors.Config{ID: plainID, Name: "sedan_top", AttachTo: back.ID()})
	require.NoError(t, err, "the name is free again")
}

func TestActorsAreLookedUp(t *testing.T) {
	p := newScriptedIn(t, fleet(t), &script{}, pipeline.Config{ClockRate: simtime.Hz(100)})
	names := func(pattern string) (list []string) {
		for _, a := range p.Actors(pattern) {
			list = append(list, fmt.Sprintf("%d %s", a.ID(), a.TypeID()))
		}
		return list
	}
	assert.Equal(t, []string{"0 vehicle.ego", "1 building.house", "2 vehicle.bus"}, names("*"))
	_, err := p.Actor(99)
	require.ErrorIs(t, err, scene.ErrNoActor)
	_, err = p.Actor(3)
	require.ErrorIs(t, err, scene.ErrNoActor, "it comes below")
	first, err := p.SpawnActor("vehicle.sedan", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"0 vehicle.ego", "2 vehicle.bus", "3 vehicle.sedan"}, names("vehicle.*"), "at once")
	_, err = p.SpawnActor("vehicle.sedan", nil)
	require.NoError(t, err)
	_, err = p.SpawnActor("vehicle.sedan", nil)
	require.ErrorIs(t, err, scene.ErrReserveEmpty)
	_, err = p.SpawnActor("vehicle.tram", nil)
	require.ErrorIs(t, err, scene.ErrNoActor)
	require.ErrorContains(t, err, "world.city_models and world.models say which there are")
	_, there := first.State()
	assert.False(t, there, "from the next instant on")
	require.NoError(t, p.Step(t.Context(), 1))
	_, there = first.State()
	assert.True(t, there)
	house, err := p.Actor(1)
	require.NoError(t, err)
	require.ErrorIs(t, house.Destroy(), scene.ErrPermanent)
	ego, err := p.Actor(scene.EgoID)
	require.NoError(t, err)
	require.ErrorIs(t, ego.Destroy(), scene.ErrPermanent)
	assert.True(t, ego.Present())
	assert.Equal(t, "ego", ego.Name())
}

// TestASensorIsNotLeftOnAnActorThatWent, however the actor was removed.
func TestASensorIsNotLeftOnAnActorThatWent(t *testing.T) {
	p := newScriptedIn(t, fleet(t), &script{}, pipeline.Config{ClockRate: simtime.Hz(100)})
	s, err := p.AddSensor(sensors.Config{ID: plainID, Name: "s", Rate: simtime.Hz(100), AttachTo: 2})
	require.NoError(t, err)
	stamps := recorded(t, s)
	require.NoError(t, p.Step(t.Context(), 3))
	require.NoError(t, p.History().Remove(2))
	list, err := p.StepSensors(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, flow.CauseClosed, list[0].Missing)
	destroy(t, s)
	assert.Len(t, *stamps, 3)
	assert.Empty(t, p.Sensors())
}
