package snapshot_test

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// at is an actor on the x axis.
func at(name string, x float64) world.Spawn {
	return world.Spawn{Name: name, Model: "m", State: world.State{Pose: spatial.Pose{Position: mgl64.Vec3{x}, Orientation: mgl64.QuatIdent()}}}
}

// with is the same with a speed.
func with(speed float64, s world.Spawn) world.Spawn {
	s.State.Velocity, s.State.VelocityKnown = mgl64.Vec3{speed}, true
	return s
}

func TestTrack(t *testing.T) {
	track := snapshot.NewTrack(100)
	add := func(at simtime.Stamp, ego *world.State, actors ...world.Spawn) *world.Frame {
		f, err := track.Add(snapshot.Snapshot{At: at, Actors: actors, Ego: ego})
		require.NoError(t, err)
		return f
	}
	moved := func(f *world.Frame) (names []string, x []float64) {
		for _, a := range f.Actors {
			names, x = append(names, a.Name), append(x, a.Pose.Position[0])
		}
		return names, x
	}
	spawned := func(f *world.Frame) (names []string, x []float64) {
		for _, s := range f.Spawn {
			names, x = append(names, s.Name), append(x, s.State.Pose.Position[0])
		}
		return names, x
	}
	ego := &world.State{Pose: spatial.Identity()}

	f := add(-5e9, ego, at("a", 1), at("brief", 2))
	assert.Equal(t, simtime.Stamp(100), f.Until, "it is the first instant alone")
	assert.True(t, f.Complete)
	names, x := spawned(f)
	assert.Equal(t, []string{"a", "brief"}, names, "who is there at the first instant alone is there at that")
	assert.Equal(t, []float64{1, 2}, x)
	assert.True(t, f.Ego.Jump)
	assert.Nil(t, add(-5e9, ego, at("other", 1)), "this instant is told")

	f = add(-4e9, ego, at("a", 3), with(2, at("b", 10)), at("c", 20))
	assert.Equal(t, simtime.Stamp(1e9+100), f.Until)
	names, x = spawned(f)
	assert.Equal(t, []string{"b", "c"}, names)
	assert.Equal(t, []float64{10, 20}, x, "where they are when they come")
	assert.True(t, f.AtEnd)
	names, x = moved(f)
	assert.Equal(t, []string{"a"}, names)
	assert.Equal(t, []float64{3}, x)
	assert.False(t, f.Ego.Jump)

	f = add(-2e9, ego, at("c", 21), at("a", 4))
	assert.Empty(t, f.Spawn)
	names, _ = moved(f)
	assert.Equal(t, []string{"c", "a"}, names)

	f = add(0, nil, at("b", 30))
	names, x = spawned(f)
	assert.Equal(t, []string{"b"}, names, "it comes again")
	assert.Equal(t, []float64{30}, x)
	assert.Nil(t, f.Ego)
	assert.True(t, add(1, ego).Ego.Jump)
	assert.ErrorIs(t, track.End(), io.EOF)
}

// TestTrackRefused: what is refused was never told, be it by the track or by the run.
func TestTrackRefused(t *testing.T) {
	track := snapshot.NewTrack(0)
	add := func(stamp simtime.Stamp, names ...string) (*world.Frame, error) {
		s := snapshot.Snapshot{At: stamp, Ego: &world.State{}}
		for _, name := range names {
			s.Actors = append(s.Actors, at(name, 0))
		}
		return track.Add(s)
	}
	_, err := add(5, "a", "b")
	require.NoError(t, err)
	_, err = add(9, "b", "c", "c")
	require.ErrorIs(t, err, world.ErrDuplicate)
	_, err = add(4, "b", "c")
	require.ErrorIs(t, err, world.ErrTime)
	f, err := add(1000, "b", "d")
	require.NoError(t, err)
	assert.False(t, f.Ego.Jump)
	track.Refuse()
	track.Refuse()
	f, err = add(7, "a", "d")
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(2), f.Until)
	require.Len(t, f.Spawn, 1)
	assert.Equal(t, "d", f.Spawn[0].Name)
	require.Len(t, f.Actors, 1)
	assert.Equal(t, "a", f.Actors[0].Name)

	track.Continue(1) // its clock was set back
	f, err = add(4, "a")
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(5), f.Until)
}

func TestTrackFaults(t *testing.T) {
	reference := at("b", 0)
	reference.Reference = world.BoxCentre
	ground := at("b", 0)
	ground.OnGround = true
	crowd := make([]world.Spawn, snapshot.Most+1)
	for name, c := range map[string]struct {
		told  snapshot.Snapshot
		is    error
		index int
	}{
		"back":      {snapshot.Snapshot{At: 5}, world.ErrTime, -1},
		"far":       {snapshot.Snapshot{At: math.MaxInt64}, world.ErrTime, -1},
		"too far":   {snapshot.Snapshot{At: math.MaxInt64/2 - 1}, world.ErrTime, -1},
		"twice":     {snapshot.Snapshot{At: 7, Actors: []world.Spawn{at("a", 0), at("b", 0), at("a", 1)}}, world.ErrDuplicate, 2},
		"reference": {snapshot.Snapshot{At: 7, Actors: []world.Spawn{at("a", 0), reference}}, world.ErrValue, 1},
		"ground":    {snapshot.Snapshot{At: 7, Actors: []world.Spawn{ground}}, snapshot.ErrHeight, 0},
		"crowd":     {snapshot.Snapshot{At: 7, Actors: crowd}, world.ErrFull, -1},
	} {
		t.Run(name, func(t *testing.T) {
			track := snapshot.NewTrack(math.MaxInt64/2 + 10)
			_, err := track.Add(snapshot.Snapshot{At: 6, Actors: []world.Spawn{at("b", 0)}})
			require.NoError(t, err)
			assert.False(t, errors.Is(track.End(), io.EOF), "there is nothing to move between")
			_, err = track.Add(c.told)
			assert.ErrorIs(t, err, c.is)
			var of *world.ActorError
			if assert.Equal(t, c.index >= 0, errors.As(err, &of)) && of != nil {
				assert.Equal(t, c.index, of.Index)
			}
		})
	}
}

// TestNameIsMadeOnce: the name of somebody who is there needs no memory.
func TestNameIsMadeOnce(t *testing.T) {
	track := snapshot.NewTrack(0)
	_, err := track.Add(snapshot.Snapshot{Actors: []world.Spawn{at("somebody with a long name that is on the heap", 0)}})
	require.NoError(t, err)
	name := []byte("somebody with a long name that is on the heap")
	assert.Zero(t, testing.AllocsPerRun(100, func() { track.Name(name) }))
	assert.Equal(t, "nobody", track.Name([]byte("nobody")))
}
