package stage_test

import (
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// robot is a plaza's car with a hand and a door.
func robot(t testing.TB) *play {
	t.Helper()
	s := scenetest.Plaza(4)
	model := s.Model("vehicle.sedan")
	model.Joints = []scene.Joint{{Name: "hand"}, {Name: "door", Slides: true}}
	model.Parts = slices.Clone(model.Parts)
	model.Parts[0].Posed = func(v scene.JointValues, _ simtime.Stamp) mgl64.Mat4 {
		hand, _ := v.Of(0)
		door, _ := v.Of(1)
		return mgl64.Translate3D(hand, door, 0)
	}
	return playIn(t, s, 4)
}

// TestJointsOfAFrame are led to by their order and their names, and kept where a frame says nothing.
func TestJointsOfAFrame(t *testing.T) {
	p := robot(t)
	step := func(ms int, f world.Frame) []uint32 {
		t.Helper()
		f.Until = simtime.Stamp(ms) * 1e6
		ids, _ := p.step(t, f)
		return ids
	}
	turned := func(name string, names []string, values ...float64) world.Actor {
		s := at(0, 0, 0)
		s.Joints, s.JointNames = values, names
		return moved(name, s)
	}
	first := turned("a", []string{"door"}, 1).State
	ids := step(10, world.Frame{
		Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: first}, {Name: "b", Model: "vehicle.sedan", State: at(0, 9, 0)},
			{Name: "c", Model: "unknown", State: turned("", []string{"wing"}, 1).State}},
		Actors: []world.Actor{turned("a", nil, 3), turned("c", nil, 1, 2, 3)},
	})
	step(30, world.Frame{Actors: []world.Actor{turned("a", []string{"door", "hand"}, 2, 5)}})
	step(40, world.Frame{Actors: []world.Actor{turned("a", nil)}})
	jump := turned("a", nil, -1)
	jump.Jump = true
	step(60, world.Frame{Actors: []world.Actor{jump}})
	step(70, world.Frame{})
	for ms, want := range map[int]mgl64.Vec3{10: {3, 1, 0}, 20: {4, 1.5, 0}, 30: {5, 2, 0}, 40: {5, 2, 0}, 49: {5, 2, 0}, 50: {-1, 2, 0}, 70: {-1, 2, 0}} {
		place := func(id uint32) mgl64.Vec3 {
			return p.history.Actor(id).Parts[0].At(simtime.Stamp(ms) * 1e6).Col(3).Vec3()
		}
		got := place(ids[0])
		assert.InDeltaSlice(t, want[:], got[:], 1e-12, "at %d ms", ms)
		assert.Zero(t, place(ids[1]).Len(), "another of the model has its own")
	}
}

// TestBadJointsChangeNothing: each is an error with its place.
func TestBadJointsChangeNothing(t *testing.T) {
	p := robot(t)
	p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}})
	for _, c := range []struct {
		names  []string
		values []float64
		is     error
		want   string
	}{
		{nil, []float64{1, 2, 3}, world.ErrUnknownJoint, "no such joint: 3 values, the model has 2 joints"},
		{[]string{"door", "wing"}, []float64{1, 2}, world.ErrUnknownJoint, `no such joint: "wing": want hand, door`},
		{[]string{"door"}, []float64{1, 2}, world.ErrValue, "2 values and 1 name of joints"},
		{[]string{"door"}, nil, world.ErrValue, "0 values and 1 name of joints"},
		{nil, []float64{1, math.NaN()}, world.ErrValue, "value 1 of joints is NaN"},
		{nil, []float64{1e300}, world.ErrValue, "value 0 of joints is 1e+300, the range is -1e+09 to 1e+09"},
		{[]string{"door"}, []float64{math.Inf(-1)}, world.ErrValue, "value 0 of joints is -Inf"},
	} {
		bad := at(5, 0, 0)
		bad.Joints, bad.JointNames = c.values, c.names
		spawn := world.Spawn{Name: "b", Model: "vehicle.sedan", State: at(0, 0, 0)}
		worse := spawn
		worse.State = bad
		for list, f := range map[string]world.Frame{
			"actors[1]": {Spawn: []world.Spawn{spawn}, Actors: []world.Actor{moved("b", at(1, 0, 0)), moved("a", bad)}},
			"actors[0]": {Spawn: []world.Spawn{spawn}, Actors: []world.Actor{moved("b", bad)}},
			"spawn[0]":  {Spawn: []world.Spawn{worse}},
		} {
			f.Until = 2 * tick
			err := p.refused(t, f)
			require.ErrorIs(t, err, c.is)
			require.ErrorIs(t, err, world.ErrValue)
			assert.ErrorContains(t, err, list)
			assert.ErrorContains(t, err, c.want)
		}
	}
	assert.Equal(t, 1, p.cars())
	turned := at(0, 0, 0)
	turned.Joints = []float64{1}
	err := p.refused(t, world.Frame{Until: 2 * tick, Spawn: []world.Spawn{{Model: scene.BoxModel, State: turned}}})
	require.ErrorIs(t, err, world.ErrUnknownJoint, "a box by its name has no joints")
}
