package stage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// TestAnUnknownModelIsABox looks at its box, and at what is said of it.
func TestAnUnknownModelIsABox(t *testing.T) {
	p := plaza(t, 4)
	ids, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{
		{Name: "t", Model: "vehicle.tank", Size: mgl64.Vec3{7, 3, 2.5}, Reference: world.BoxCentre, State: world.State{Pose: spatial.FromRPY(mgl64.Vec3{4, 5, 1.25}, 0, 0, 90)}},
		{Name: "u", Model: "vehicle.tank", Reference: world.RearAxle, State: at(0, 0, 0)},
	}})
	box, ok := p.history.Box(ids[0])
	require.True(t, ok)
	assert.Equal(t, mgl64.Vec3{3.5, 1.5, 1.25}, box.Half)
	state, _ := p.history.State(ids[0], tick)
	place := box.At(state.Pose)
	assert.InDelta(t, 0, place.Pose.Position.Sub(mgl64.Vec3{4, 5, 1.25}).Len(), 1e-9)
	box, _ = p.history.Box(ids[1])
	assert.Equal(t, mgl64.Vec3{2.25, 0.9, 0.75}, box.Half)
	state, _ = p.history.State(ids[1], tick)
	assert.InDelta(t, 0.27*4.5, state.Pose.Position[0], 1e-9)
	a := p.history.Actor(ids[0])
	assert.Equal(t, "vehicle.tank", a.TypeID)
	assert.Equal(t, "t", a.Name)
}

// TestAModelIsAsLongAsItsActor: the model of 4 m is stretched so that its front and its rear are where the source
// has them. If that would distort it too much, a box stands for it, and the log and the stage say so.
func TestAModelIsAsLongAsItsActor(t *testing.T) {
	for _, c := range []struct {
		told, length float64
		boxed        bool
	}{{0, 4, false}, {4.005, 4, false}, {5, 5, false}, {3.2, 3.2, false}, {5.2, 5.2, false}, {5.3, 5.3, true}, {3, 3, true}} {
		p := plaza(t, 2)
		for k, yaw := range []float64{0, 90} {
			ids, boxed := p.step(t, world.Frame{Until: simtime.Stamp(k+1) * tick, Spawn: []world.Spawn{
				{Model: "vehicle.sedan", Size: mgl64.Vec3{c.told}, Reference: world.FrontBumper, State: at(10, 2, yaw)}}})
			box, _ := p.history.Box(ids[0])
			assert.InDelta(t, c.length, 2*box.Half[0], 1e-9)
			assert.InDelta(t, 1.5, 2*box.Half[2], 1e-9, "a box keeps the height of its model")
			state, _ := p.history.State(ids[0], p.now)
			place := box.At(state.Pose)
			front := place.Pose.Apply(mgl64.Vec3{box.Half[0], 0, -box.Half[2]})
			assert.InDelta(t, 0, front.Sub(mgl64.Vec3{10, 2, 0}).Len(), 0.003, "%v m", c.told)
			assert.Equal(t, c.boxed, slices.Contains(boxed, "vehicle.sedan"))
		}
		assert.Equal(t, c.boxed, strings.Count(p.log.String(), "much longer or shorter than its model") == 1, p.log.String())
	}
}

// TestManyUnknownModels: the log tells of some, and then of how many they are; what is known of them is bounded.
func TestManyUnknownModels(t *testing.T) {
	p := plaza(t, 1)
	long := strings.Repeat("x", 1000)
	for k := range 300 {
		model := fmt.Sprintf("vehicle.%d.%s", k, long)
		f := world.Frame{Until: simtime.Stamp(k+1) * tick, Spawn: []world.Spawn{{Name: "a", Model: model, State: at(0, 0, 0)}}}
		if k > 0 {
			f.Remove = []world.Ref{{Name: "a"}}
		}
		_, boxed := p.step(t, f)
		assert.Equal(t, []string{model}, boxed)
	}
	assert.Equal(t, 20, strings.Count(p.log.String(), "is not known"))
	assert.Contains(t, p.log.String(), "further models of actors are boxes, too")
	assert.Less(t, p.log.Len(), 20_000)
}

// TestColorIsPaint: a spawned actor has the colour that its frame says, and none without one.
func TestColorIsPaint(t *testing.T) {
	p := plaza(t, 3)
	blue, err := world.ParseColor("#0063bc")
	require.NoError(t, err)
	ids, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{
		{Model: "vehicle.sedan", State: at(0, 0, 0), Color: blue}, {Model: "vehicle.sedan", State: at(0, 9, 0)}, {Model: "?", State: at(9, 9, 0), Color: blue},
	}})
	for i, want := range []*[3]uint8{{0, 99, 188}, nil, {0, 99, 188}} {
		assert.Equal(t, want, p.history.Actor(ids[i]).Paint)
	}
}

// TestASceneWithoutABox refuses actors whose model it doesn't have, and names the keys that bring models.
func TestASceneWithoutABox(t *testing.T) {
	s := scenetest.Plaza(1)
	s.Models = s.Models[:1]
	p := playIn(t, s, 1)
	err := p.refused(t, world.Frame{Until: tick, Spawn: []world.Spawn{{Name: "t", Model: "vehicle.tank", State: at(0, 0, 0)}}})
	require.ErrorIs(t, err, world.ErrUnknownActor)
	assert.ErrorContains(t, err, `model "vehicle.tank": the scene has no such model, and no box either: `+stage.WhichModels)
}
