package stage_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// tick is the time between two records of the history.
const tick = 10_000_000

// play is a stage with its history, and the time.
type play struct {
	*stage.Stage
	history *scene.History
	log     bytes.Buffer
	now     simtime.Stamp
}

// plaza is a play on a plaza with room for so many actors.
func plaza(t testing.TB, capacity int) *play {
	t.Helper()
	return playIn(t, scenetest.Plaza(capacity), capacity)
}

func playIn(t testing.TB, s *scene.Scene, capacity int) *play {
	t.Helper()
	w, err := scene.Build(t.Context(), s, scene.BuildOptions{})
	require.NoError(t, err)
	p := &play{history: scene.NewHistory(s, nil, 0)}
	p.Stage = stage.New(w, p.history, capacity, slog.New(slog.NewTextHandler(&p.log, nil)))
	return p
}

// step applies a frame and records the history up to its end, as a pipeline does.
func (p *play) step(t testing.TB, f world.Frame) (spawned []uint32, boxed []string) {
	t.Helper()
	plan, err := p.Check(&f, p.now)
	require.NoError(t, err)
	spawned, boxed = p.Apply(plan)
	for p.now < f.Until {
		p.now = min(p.now-p.now%tick+tick, f.Until)
		p.history.Record(p.now)
	}
	return spawned, boxed
}

// refused checks a frame that can't be applied.
func (p *play) refused(t testing.TB, f world.Frame) error {
	t.Helper()
	_, err := p.Check(&f, p.now)
	require.Error(t, err)
	return err
}

// cars are those that are there from the next tick on.
func (p *play) cars() int { return len(p.history.Coming(nil)) }

func at(x, y, yaw float64) world.State {
	return world.State{Pose: spatial.FromRPY(mgl64.Vec3{x, y, 0}, 0, 0, yaw)}
}

func moved(name string, s world.State) world.Actor {
	return world.Actor{Ref: world.Ref{Name: name}, State: s}
}

func sedan(name string, s world.State) world.Spawn {
	return world.Spawn{Name: name, Model: "vehicle.sedan", State: s}
}

// TestActorsComeMoveAndLeave goes with one car, whose reference is its front bumper.
func TestActorsComeMoveAndLeave(t *testing.T) {
	p := plaza(t, 4)
	first := sedan("a", at(10, 2, 0))
	first.Reference = world.FrontBumper
	spawned, boxed := p.step(t, world.Frame{Until: 100_000_000, Spawn: []world.Spawn{first}, Actors: []world.Actor{moved("a", at(12, 2, 0))}})
	require.Len(t, spawned, 1)
	assert.Empty(t, boxed)
	// The front of a car of 4 m is 2 m before its middle, which is its origin.
	for stamp, x := range map[simtime.Stamp]float64{10_000_000: 8.2, 50_000_000: 9, 55_000_000: 9.1, 100_000_000: 10} {
		state, there := p.history.State(spawned[0], stamp)
		require.True(t, there)
		assert.InDelta(t, x, state.Pose.Position[0], 1e-9, "at %d", stamp)
		assert.InDelta(t, 20, state.Twist.Linear[0], 1e-9)
	}

	p.step(t, world.Frame{Until: 200_000_000})
	state, there := p.history.State(spawned[0], 200_000_000)
	assert.True(t, there, "an actor that isn't listed stays")
	assert.Zero(t, state.Twist.Linear.Len(), "and stands")
	assert.Equal(t, stage.Counts{Frames: 2, Actors: 1, Most: 1}, p.Counts())

	p.step(t, world.Frame{Until: 300_000_000, Complete: true})
	assert.False(t, p.history.Present(spawned[0], 300_000_000), "but not where the frame names all")
	again, _ := p.step(t, world.Frame{Until: 400_000_000, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}})
	assert.Greater(t, again[0], spawned[0], "a handle is given once")
}

// TestAPlanChangesNothing until it is applied.
func TestAPlanChangesNothing(t *testing.T) {
	p := plaza(t, 2)
	p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(1, 0, 0))}})
	f := world.Frame{Until: 2 * tick, Remove: []world.Ref{{Name: "a"}}, Spawn: []world.Spawn{sedan("a", at(5, 0, 0))}}
	for range 3 {
		_, err := p.Check(&f, p.now)
		require.NoError(t, err)
	}
	assert.Equal(t, stage.Counts{Frames: 1, Actors: 1, Most: 1}, p.Counts())
	assert.Equal(t, 1, p.cars())
}

// TestARestartForgetsTheActors, and the history has the scene's lights as they were.
func TestARestartForgetsTheActors(t *testing.T) {
	p := plaza(t, 1)
	ego := at(7, 0, 0)
	f := world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(1, 0, 0))}, Ego: &ego, Signals: []world.Signal{shows("J7", world.SignalOff)}}
	first, _ := p.step(t, f)
	assert.InDelta(t, 7, p.Ego(p.now).Pose.Position[0], 1e-9)
	p.history.Restart()
	p.Restart()
	p.now = 0
	assert.Zero(t, p.Ego(0).Pose.Position.Len())
	again, _ := p.step(t, f)
	assert.Equal(t, first, again, "name, room and handle are free")
	assert.Equal(t, stage.Counts{Frames: 2, Actors: 1, Most: 1}, p.Counts())
}

// TestAForgottenActorIsUnknown: the program took it out of the history.
func TestAForgottenActorIsUnknown(t *testing.T) {
	p := plaza(t, 1)
	ids, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}})
	require.NoError(t, p.history.Remove(ids[0]))
	p.Forget(ids[0])
	p.Forget(ids[0])
	require.ErrorIs(t, p.refused(t, world.Frame{Until: 2 * tick, Actors: []world.Actor{moved("a", at(1, 0, 0))}}), world.ErrUnknownActor)
	p.step(t, world.Frame{Until: 2 * tick, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}})
}

// TestActorsOfTheProgramTakeRoom: those of History.Spawn have slots, too.
func TestActorsOfTheProgramTakeRoom(t *testing.T) {
	p := plaza(t, 2)
	for range 3 {
		_, err := p.history.Spawn("vehicle.sedan", nil)
		require.NoError(t, err)
	}
	f := world.Frame{Until: tick, Spawn: []world.Spawn{{Name: "a", State: at(0, 0, 0)}, {Name: "b", State: at(0, 9, 0)}}}
	err := p.refused(t, f)
	require.ErrorIs(t, err, world.ErrFull)
	assert.Contains(t, err.Error(), `spawn[1] (actor "b")`)
	f.Spawn = f.Spawn[:1]
	p.step(t, f)
}

// TestAMadeNameYields: an actor without a name is given one that another may have already.
func TestAMadeNameYields(t *testing.T) {
	p := plaza(t, 4)
	ids, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{sedan("vehicle.sedan_3", at(0, 0, 0)), sedan("", at(0, 0, 0))}})
	require.Equal(t, uint32(3), ids[1])
	p.step(t, world.Frame{Until: 2 * tick, Remove: []world.Ref{{Name: "vehicle.sedan_3"}}})
	assert.Equal(t, []bool{false, true}, []bool{p.history.Present(ids[0], 2*tick), p.history.Present(3, 2*tick)})
}

// TestABadFrameChangesNothing gives frames with one fault each. Then a good one works as if they had not been.
func TestABadFrameChangesNothing(t *testing.T) {
	p := plaza(t, 3)
	first, _ := p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(1, 0, 0)), sedan("b", at(5, 0, 0))}})
	a := first[0]
	nan, still := at(math.NaN(), 0, 0), at(0, 0, 0)
	still.Pose.Orientation = mgl64.Quat{}
	spawn := func(names ...string) (list []world.Spawn) {
		for _, n := range names {
			list = append(list, sedan(n, at(0, 9, 0)))
		}
		return list
	}
	for name, c := range map[string]struct {
		frame world.Frame
		err   error
		text  string
	}{
		"unknown name":   {world.Frame{Actors: []world.Actor{moved("a", at(2, 0, 0)), moved("c", at(2, 0, 0))}}, world.ErrUnknownActor, `actors[1] (actor "c"): no such actor`},
		"unknown handle": {world.Frame{Remove: []world.Ref{{Handle: 999}}}, world.ErrUnknownActor, "remove[0] (actor 999): no such actor"},
		"nan":            {world.Frame{Actors: []world.Actor{moved("a", nan)}}, world.ErrValue, `actors[0] (actor "a"): value is not usable: position is NaN`},
		"no direction":   {world.Frame{Spawn: []world.Spawn{{Name: "c", State: still}}}, world.ErrValue, "orientation"},
		"twice":          {world.Frame{Actors: []world.Actor{moved("a", at(2, 0, 0)), {Ref: world.Ref{Handle: a}, State: at(3, 0, 0)}}}, world.ErrDuplicate, "actors[1]"},
		"removed twice":  {world.Frame{Remove: []world.Ref{{Name: "a"}, {Handle: a}}}, world.ErrDuplicate, "remove[1]"},
		"twice spawned":  {world.Frame{Spawn: spawn("c", "c")}, world.ErrDuplicate, "spawn[1]"},
		"came and moved twice": {world.Frame{Spawn: spawn("c"), Actors: []world.Actor{moved("c", at(2, 0, 0)), moved("c", at(3, 0, 0))}},
			world.ErrDuplicate, "actors[1]"},
		"name is taken":     {world.Frame{Spawn: spawn("a")}, world.ErrDuplicate, "the name is taken"},
		"moved and removed": {world.Frame{Remove: []world.Ref{{Name: "a"}}, Actors: []world.Actor{moved("a", at(2, 0, 0))}}, world.ErrDuplicate, "actors[0]"},
		"no room":           {world.Frame{Spawn: spawn("c", "d", "e")}, world.ErrFull, `spawn[1] (actor "d"): no room for another actor: it is for 3, of whom 2 are there`},
		"far too many":      {world.Frame{Spawn: spawn("c", "d", "e", "f")}, world.ErrFull, `spawn[3] (actor "f"): no room for another actor: it is for 3, of whom 2 are there`},
		"a size":            {world.Frame{Spawn: []world.Spawn{{Name: "c", Size: mgl64.Vec3{-1, 0, 0}, State: at(0, 0, 0)}}}, world.ErrValue, "size"},
		"unknown light":     {world.Frame{Signals: []world.Signal{shows("J7", world.SignalOff), shows("J9", world.SignalRed)}}, world.ErrUnknownSignal, `signals[1] (light "J9"): no such traffic light: did you mean J7? There are J7 (id 4), J8 (id 6)`},
		"unknown light id":  {world.Frame{Signals: []world.Signal{{Ref: world.Ref{Handle: 1, Name: "J7"}}}}, world.ErrUnknownSignal, `signals[0] (light "J7"): no such traffic light: there are J7 (id 4), J8 (id 6)`},
		"light twice":       {world.Frame{Signals: []world.Signal{shows("J7", world.SignalOff), {Ref: world.Ref{Handle: 5}}}}, world.ErrDuplicate, "signals[1] (light 5): it is named twice"},
		"a state":           {world.Frame{Signals: []world.Signal{shows("J7", 4)}}, world.ErrValue, `signals[0] (light "J7"): value is not usable: state 4`},
		"after its signals": {world.Frame{Signals: []world.Signal{shows("J7", world.SignalOff)}, Ego: &nan}, world.ErrValue, "ego"},
		"a large size":      {world.Frame{Spawn: []world.Spawn{{Name: "c", Size: mgl64.Vec3{1, 2e7, 1}, State: still}}}, world.ErrValue, "size is 2e+07, the range is"},
		"far away":          {world.Frame{Actors: []world.Actor{moved("a", at(0, -2e7, 0))}}, world.ErrValue, "position is -2e+07, the range is -1e+07 to 1e+07"},
		"a fast ego":        {world.Frame{Ego: &world.State{Pose: spatial.Identity(), VelocityKnown: true, Velocity: mgl64.Vec3{math.Inf(1), 0, 0}}}, world.ErrValue, "velocity is +Inf"},
		"the ego":           {world.Frame{Ego: &nan}, world.ErrValue, "ego: value is not usable"},
	} {
		t.Run(name, func(t *testing.T) {
			c.frame.Until = 2 * tick
			err := p.refused(t, c.frame)
			require.ErrorIs(t, err, c.err)
			assert.Contains(t, err.Error(), c.text)
			assert.Equal(t, 2, p.cars())
			assert.Equal(t, 2, p.Counts().Actors)
		})
	}
	signal, _ := p.history.Signal(0, tick)
	assert.Equal(t, world.SignalGreen, signal)
	p.step(t, world.Frame{Until: 2 * tick, Spawn: spawn("c"), Actors: []world.Actor{moved("a", at(2, 0, 0))}})
	state, _ := p.history.State(a, 2*tick)
	assert.InDelta(t, 2, state.Pose.Position[0], 1e-9)
	signal, _ = p.history.Signal(0, 2*tick)
	assert.Equal(t, world.SignalRed, signal, "as it is by itself")
	p.step(t, world.Frame{Until: 3 * tick, Remove: []world.Ref{{Name: "a"}, {Name: "b"}}, Spawn: spawn("a", "e")})
	assert.Equal(t, 3, p.cars(), "actors that leave make room at once")
}

// TestAStepOfThousands brings and moves 4,096 actors.
func TestAStepOfThousands(t *testing.T) {
	const n = 4096
	p := plaza(t, n)
	f := world.Frame{Until: tick}
	for i := range n {
		f.Spawn = append(f.Spawn, sedan(fmt.Sprint("car", i), at(float64(i%64), float64(i/64), 0)))
	}
	ids, _ := p.step(t, f)
	require.Len(t, ids, n)
	next := world.Frame{Until: 2 * tick}
	for i, id := range ids {
		next.Actors = append(next.Actors, world.Actor{Ref: world.Ref{Handle: id}, State: at(float64(i%64)+1, float64(i/64), 0)})
	}
	p.step(t, next)
	for i, id := range ids {
		pose, there := p.history.Pose(id, 2*tick)
		require.True(t, there)
		require.InDelta(t, float64(i%64)+1, pose.Position[0], 1e-9)
	}
}

// moving is a play of n cars, and a frame that moves all of them.
func moving(t testing.TB, n int) (*play, *world.Frame) {
	p := plaza(t, n)
	first := world.Frame{Until: tick}
	for i := range n {
		first.Spawn = append(first.Spawn, sedan("", at(float64(i), 0, 0)))
	}
	ids, _ := p.step(t, first)
	ego := at(0, 3, 0)
	f := &world.Frame{Until: tick, Ego: &ego, Signals: []world.Signal{shows("J8", world.SignalRed)}}
	for i, id := range ids {
		f.Actors = append(f.Actors, world.Actor{Ref: world.Ref{Handle: id}, State: at(float64(i), 1, 0)})
	}
	return p, f
}

// next applies a frame again, a tick later.
func (p *play) next(t testing.TB, f *world.Frame) {
	f.Until += tick
	plan, err := p.Check(f, p.now)
	if err != nil {
		t.Fatal(err)
	}
	p.Apply(plan)
	p.now = f.Until
}

// TestMovesAllocateNothing: the plan is the scratch of the stage.
func TestMovesAllocateNothing(t *testing.T) {
	p, f := moving(t, 50)
	for range 3 {
		p.next(t, f)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { p.next(t, f) }))
}

// BenchmarkFrame is what a frame costs that moves many actors.
func BenchmarkFrame(b *testing.B) {
	for _, n := range []int{1, 200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, f := moving(b, n)
			b.ReportAllocs()
			for b.Loop() {
				p.next(b, f)
			}
		})
	}
}

// TestFarFromTheScene: the world's numbers are coarse far from the scene, which the log says once,
// of actors and of the ego. A scene that is there has none of it.
func TestFarFromTheScene(t *testing.T) {
	far := at(450_000, 5_400_000, 0)
	for name, c := range map[string]struct {
		frame world.Frame
		at    mgl64.Vec3 // of the scene
		want  int
	}{
		"actor":          {world.Frame{Spawn: []world.Spawn{sedan("", far)}}, mgl64.Vec3{}, 1},
		"ego":            {world.Frame{Ego: &far}, mgl64.Vec3{}, 1},
		"all of them":    {world.Frame{Ego: &far, Spawn: []world.Spawn{sedan("a", far), sedan("b", far)}}, mgl64.Vec3{}, 1},
		"scene is there": {world.Frame{Ego: &far, Spawn: []world.Spawn{sedan("", far)}}, far.Pose.Position, 0},
		"all are near":   {world.Frame{Spawn: []world.Spawn{sedan("", at(65_000, 0, 0))}}, mgl64.Vec3{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenetest.Plaza(4)
			for _, a := range s.Actors {
				a.Pose.Position = a.Pose.Position.Add(c.at)
			}
			s.Ego.Position = s.Ego.Position.Add(c.at)
			p := playIn(t, s, 4)
			for _, until := range []simtime.Stamp{1e8, 2e8} {
				c.frame.Until = until
				p.step(t, c.frame)
				c.frame.Spawn = nil
			}
			text := p.log.String()
			assert.Equal(t, c.want, strings.Count(text, "is far from the scene, so that ranges and pictures are only exact to 0.5 m there"), text)
			assert.Equal(t, c.want, strings.Count(text, "scene.offset"))
		})
	}
}
