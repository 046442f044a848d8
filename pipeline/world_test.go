package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

func stepped(t testing.TB, capacity int, s *script) *pipeline.Pipeline {
	t.Helper()
	return newScriptedIn(t, scenetest.Plaza(capacity), s, pipeline.Config{Capacity: capacity})
}

func at(x, y, yaw float64) world.State {
	return world.State{Pose: spatial.FromRPY(mgl64.Vec3{x, y, 0}, 0, 0, yaw)}
}

func moved(name string, s world.State) world.Actor {
	return world.Actor{Ref: world.Ref{Name: name}, State: s}
}

// TestAStepMovesTheWorld goes through two steps of one car, whose reference is its front bumper.
func TestAStepMovesTheWorld(t *testing.T) {
	p := stepped(t, 4, &script{})
	addScripted(t, p, plainID, "imu", "100")
	s, err := p.Sensor("imu")
	require.NoError(t, err)
	hear(t, s, func(sensors.Tick, *sample.Imu) {})
	result, err := p.StepTo(t.Context(), &world.Frame{
		Until:  100_000_000,
		Spawn:  []world.Spawn{{Name: "a", Model: "vehicle.sedan", Reference: world.FrontBumper, State: at(10, 2, 0)}},
		Actors: []world.Actor{moved("a", at(12, 2, 0))},
	})
	require.NoError(t, err)
	require.Len(t, result.Spawned, 1)
	assert.Equal(t, simtime.Stamp(100_000_000), result.Stamp)
	assert.Len(t, result.Deliveries, 10)
	for _, d := range result.Deliveries {
		assert.True(t, d.Delivered(), "%+v", d)
	}
	assert.Equal(t, simtime.Stamp(100_000_000), p.Clock().Now())

	// The front of a box of 4 m is 2 m before its middle; the box's origin is its centre.
	id := result.Spawned[0]
	for stamp, x := range map[simtime.Stamp]float64{10_000_000: 8.2, 50_000_000: 9, 55_000_000: 9.1, 100_000_000: 10} {
		state, there := p.History().State(id, stamp)
		require.True(t, there)
		assert.InDelta(t, x, state.Pose.Position[0], 1e-9, "at %d", stamp)
		assert.InDelta(t, 2, state.Pose.Position[1], 1e-9)
		assert.InDelta(t, 20, state.Twist.Linear[0], 1e-9)
	}

	// By its handle, turned and with velocities: a quarter circle is near what is made of it.
	turned := at(22, 12, 90)
	turned.Velocity, turned.VelocityKnown = mgl64.Vec3{0, 15.7, 0}, true
	result, err = p.StepTo(t.Context(), &world.Frame{Until: 1_100_000_000, Actors: []world.Actor{{Ref: world.Ref{Handle: id}, State: turned}}})
	require.NoError(t, err)
	state, _ := p.History().State(id, 1_100_000_000)
	assert.InDelta(t, 22, state.Pose.Position[0], 1e-9)
	assert.InDelta(t, 10, state.Pose.Position[1], 1e-9)
	assert.Equal(t, 10*10, len(result.Deliveries))

	// Who isn't listed stays, and stands.
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 1_200_000_000})
	require.NoError(t, err)
	state, there := p.History().State(id, 1_200_000_000)
	assert.True(t, there)
	assert.InDelta(t, 10, state.Pose.Position[1], 1e-9)
	assert.Zero(t, state.Twist.Linear.Len())

	// With Complete he leaves, and his handle is nobody's.
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 1_300_000_000, Complete: true})
	require.NoError(t, err)
	assert.False(t, p.History().Present(id, 1_300_000_000))
	again, err := p.StepTo(t.Context(), &world.Frame{Until: 1_400_000_000, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(0, 0, 0)}}})
	require.NoError(t, err)
	assert.Greater(t, again.Spawned[0], id)
	summary := p.Summary()
	assert.Equal(t, int64(5), summary.World.Frames)
	assert.Equal(t, 1, summary.World.Actors.Now)
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
		"actor":          {world.Frame{Spawn: []world.Spawn{{Model: "vehicle.sedan", State: far}}}, mgl64.Vec3{}, 1},
		"ego":            {world.Frame{Ego: &far}, mgl64.Vec3{}, 1},
		"all of them":    {world.Frame{Ego: &far, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: far}, {Name: "b", Model: "vehicle.sedan", State: far}}}, mgl64.Vec3{}, 1},
		"scene is there": {world.Frame{Ego: &far, Spawn: []world.Spawn{{Model: "vehicle.sedan", State: far}}}, far.Pose.Position, 0},
		"all are near":   {world.Frame{Spawn: []world.Spawn{{Model: "vehicle.sedan", State: at(65_000, 0, 0)}}}, mgl64.Vec3{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenetest.Plaza(4)
			for _, a := range s.Actors {
				a.Pose.Position = a.Pose.Position.Add(c.at)
			}
			s.Ego.Position = s.Ego.Position.Add(c.at)
			var text lockedText
			p := newScriptedIn(t, s, &script{}, pipeline.Config{Capacity: 4, Log: slog.New(slog.NewTextHandler(&text, nil))})
			for _, until := range []simtime.Stamp{1e8, 2e8} {
				f := c.frame
				f.Until = until
				_, err := p.StepTo(t.Context(), &f)
				require.NoError(t, err)
				c.frame.Spawn = nil
			}
			assert.Equal(t, c.want, strings.Count(text.String(), "is far from the scene, so that ranges and pictures are only exact to 0.5 m there"), text.String())
			assert.Equal(t, c.want, strings.Count(text.String(), "scene.offset"))
		})
	}
}

// TestTheWayFollowsACircle holds the way between frames to a circle, which it is to leave by
// less than a millimetre at 0.1 s.
func TestTheWayFollowsACircle(t *testing.T) {
	const radius, speed = 20.0, 10.0
	on := func(seconds float64) world.State {
		a := speed / radius * seconds
		s := at(radius*math.Sin(a), radius*(1-math.Cos(a)), a*180/math.Pi)
		s.Velocity, s.VelocityKnown = mgl64.Vec3{speed * math.Cos(a), speed * math.Sin(a), 0}, true
		return s
	}
	p := stepped(t, 1, &script{})
	result, err := p.StepTo(t.Context(), &world.Frame{
		Until: 100_000_000, Spawn: []world.Spawn{{Model: "vehicle.sedan", Reference: world.BoxCentre, State: on(0)}},
	})
	require.NoError(t, err)
	for k := 2; k < 12; k++ {
		_, err = p.StepTo(t.Context(), &world.Frame{
			Until:  simtime.Stamp(k * 100_000_000),
			Actors: []world.Actor{{Ref: world.Ref{Handle: result.Spawned[0]}, State: on(float64(k-1) / 10)}},
		})
		require.NoError(t, err)
		if k == 2 {
			continue
		}
		for ms := 10; ms <= 100; ms += 10 {
			state, _ := p.History().State(result.Spawned[0], simtime.Stamp(k*100_000_000-100_000_000+ms*1_000_000))
			want := on(float64(k-2)/10 + float64(ms)/1000)
			assert.InDelta(t, 0, state.Pose.Position.Sub(want.Pose.Position).Len(), 1e-3)
			assert.InDelta(t, 0, state.Twist.Linear.Sub(want.Velocity).Len(), 0.02)
			assert.InDelta(t, speed*speed/radius, state.Acceleration.Len(), 0.1)
		}
	}
}

// TestABadFrameChangesNothing gives frames with one fault each; afterwards a good one works as
// if they had not been.
func TestABadFrameChangesNothing(t *testing.T) {
	p := stepped(t, 3, &script{})
	first, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{
		{Name: "a", Model: "vehicle.sedan", State: at(1, 0, 0)}, {Name: "b", Model: "vehicle.sedan", State: at(5, 0, 0)},
	}})
	require.NoError(t, err)
	a := first.Spawned[0]
	nan, still := at(math.NaN(), 0, 0), at(0, 0, 0)
	still.Pose.Orientation = mgl64.Quat{}
	spawn := func(names ...string) (list []world.Spawn) {
		for _, n := range names {
			list = append(list, world.Spawn{Name: n, Model: "vehicle.sedan", State: at(0, 9, 0)})
		}
		return list
	}
	for name, c := range map[string]struct {
		frame world.Frame
		err   error
		text  string
	}{
		"the present":       {world.Frame{Until: 10_000_000}, world.ErrTime, "step to 0.01 s: time is not ahead: it is 0.01 s already"},
		"the past":          {world.Frame{Until: 5}, world.ErrTime, ""},
		"unknown name":      {world.Frame{Actors: []world.Actor{moved("a", at(2, 0, 0)), moved("c", at(2, 0, 0))}}, world.ErrUnknownActor, `actors[1] (actor "c"): no such actor`},
		"unknown handle":    {world.Frame{Remove: []world.Ref{{Handle: 999}}}, world.ErrUnknownActor, "remove[0] (actor 999): no such actor"},
		"nan":               {world.Frame{Actors: []world.Actor{moved("a", nan)}}, world.ErrValue, `actors[0] (actor "a"): value is not usable: position is NaN`},
		"no direction":      {world.Frame{Spawn: []world.Spawn{{Name: "c", State: still}}}, world.ErrValue, "orientation"},
		"twice":             {world.Frame{Actors: []world.Actor{moved("a", at(2, 0, 0)), {Ref: world.Ref{Handle: a}, State: at(3, 0, 0)}}}, world.ErrDuplicate, "actors[1]"},
		"twice spawned":     {world.Frame{Spawn: spawn("c", "c")}, world.ErrDuplicate, "spawn[1]"},
		"name is taken":     {world.Frame{Spawn: spawn("a")}, world.ErrDuplicate, "the name is taken"},
		"moved and removed": {world.Frame{Remove: []world.Ref{{Name: "a"}}, Actors: []world.Actor{moved("a", at(2, 0, 0))}}, world.ErrDuplicate, "actors[0]"},
		"no room":           {world.Frame{Spawn: spawn("c", "d", "e")}, world.ErrFull, `spawn[1] (actor "d"): no room for another actor: it is for 3, of whom 2 are there`},
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
			if c.frame.Until == 0 {
				c.frame.Until = 20_000_000
			}
			_, err := p.StepTo(t.Context(), &c.frame)
			require.ErrorIs(t, err, c.err)
			assert.Contains(t, err.Error(), c.text)
			assert.Equal(t, simtime.Stamp(10_000_000), p.Clock().Now(), "time stands")
			assert.Len(t, p.Actors("vehicle.sedan"), 2)
		})
	}
	signal, _ := p.History().Signal(0, 10_000_000)
	assert.Equal(t, scene.SignalGreen, signal)
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000, Spawn: spawn("c"), Actors: []world.Actor{moved("a", at(2, 0, 0))}})
	require.NoError(t, err)
	state, _ := p.History().State(a, 20_000_000)
	assert.InDelta(t, 2, state.Pose.Position[0], 1e-9)
	signal, _ = p.History().Signal(0, 20_000_000)
	assert.Equal(t, scene.SignalRed, signal, "as it is by itself")
	// One who leaves makes room at once.
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 30_000_000, Remove: []world.Ref{{Name: "a"}, {Name: "b"}}, Spawn: spawn("a", "e")})
	require.NoError(t, err)
	assert.Len(t, p.Actors("vehicle.sedan"), 3)
}

// TestAnUnknownModelIsABox looks at its box, and at what is said of it.
func TestAnUnknownModelIsABox(t *testing.T) {
	p := stepped(t, 4, &script{})
	result, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{
		{Name: "t", Model: "vehicle.tank", Size: mgl64.Vec3{7, 3, 2.5}, Reference: world.BoxCentre, State: world.State{Pose: spatial.FromRPY(mgl64.Vec3{4, 5, 1.25}, 0, 0, 90)}},
		{Name: "u", Model: "vehicle.tank", Reference: world.RearAxle, State: at(0, 0, 0)},
	}})
	require.NoError(t, err)
	box, ok := p.History().Box(result.Spawned[0])
	require.True(t, ok)
	assert.Equal(t, mgl64.Vec3{3.5, 1.5, 1.25}, box.Half)
	state, _ := p.History().State(result.Spawned[0], 10_000_000)
	place := box.At(state.Pose)
	assert.InDelta(t, 0, place.Pose.Position.Sub(mgl64.Vec3{4, 5, 1.25}).Len(), 1e-9)
	box, _ = p.History().Box(result.Spawned[1])
	assert.Equal(t, mgl64.Vec3{2.25, 0.9, 0.75}, box.Half)
	state, _ = p.History().State(result.Spawned[1], 10_000_000)
	assert.InDelta(t, 0.27*4.5, state.Pose.Position[0], 1e-9)
	a, err := p.Actor(result.Spawned[0])
	require.NoError(t, err)
	assert.Equal(t, "vehicle.tank", a.TypeID())
	assert.Equal(t, "t", a.Name())
}

// TestAModelIsAsLongAsItsActor: the model of 4 m is stretched so that its front and its rear are where the source
// has them. Where that wouldn't look like it a box stands for it, and the log and the result say so.
func TestAModelIsAsLongAsItsActor(t *testing.T) {
	for _, c := range []struct {
		told, length float64
		boxed        bool
	}{{0, 4, false}, {4.005, 4, false}, {5, 5, false}, {3.2, 3.2, false}, {5.2, 5.2, false}, {5.3, 5.3, true}, {3, 3, true}} {
		var log bytes.Buffer
		p := newScriptedIn(t, scenetest.Plaza(2), &script{}, pipeline.Config{Capacity: 2, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for k, yaw := range []float64{0, 90} {
			result, err := p.StepTo(t.Context(), &world.Frame{Until: simtime.Stamp(k+1) * 10_000_000, Spawn: []world.Spawn{
				{Model: "vehicle.sedan", Size: mgl64.Vec3{c.told}, Reference: world.FrontBumper, State: at(10, 2, yaw)}}})
			require.NoError(t, err)
			box, _ := p.History().Box(result.Spawned[0])
			assert.InDelta(t, c.length, 2*box.Half[0], 1e-9)
			assert.InDelta(t, 1.5, 2*box.Half[2], 1e-9, "a box keeps the height of its model")
			state, _ := p.History().State(result.Spawned[0], result.Stamp)
			place := box.At(state.Pose)
			front := place.Pose.Apply(mgl64.Vec3{box.Half[0], 0, -box.Half[2]})
			assert.InDelta(t, 0, front.Sub(mgl64.Vec3{10, 2, 0}).Len(), 0.003, "%v m", c.told)
			assert.Equal(t, c.boxed, slices.Contains(result.Boxed, "vehicle.sedan"))
		}
		assert.Equal(t, c.boxed, strings.Count(log.String(), "much longer or shorter than its model") == 1, log.String())
	}
}

// TestManyUnknownModels: the log tells of some, and then of how many they are; what is known of them is bounded.
func TestManyUnknownModels(t *testing.T) {
	var log bytes.Buffer
	p := newScriptedIn(t, scenetest.Plaza(1), &script{}, pipeline.Config{Capacity: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	long := strings.Repeat("x", 1000)
	for k := range 300 {
		model := fmt.Sprintf("vehicle.%d.%s", k, long)
		f := &world.Frame{Until: simtime.Stamp(k+1) * 10_000_000, Spawn: []world.Spawn{{Name: "a", Model: model, State: at(0, 0, 0)}}}
		if k > 0 {
			f.Remove = []world.Ref{{Name: "a"}}
		}
		result, err := p.StepTo(t.Context(), f)
		require.NoError(t, err)
		assert.Equal(t, []string{model}, result.Boxed)
	}
	assert.Equal(t, 20, strings.Count(log.String(), "is not known"))
	assert.Contains(t, log.String(), "further models of actors are boxes, too")
	assert.Less(t, log.Len(), 20_000)
}

// TestWhoJumpsIsNowhereBetween compares the places right before and at the step's end.
func TestWhoJumpsIsNowhereBetween(t *testing.T) {
	p := stepped(t, 1, &script{})
	result, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(1, 0, 0)}}})
	require.NoError(t, err)
	far := at(90, 0, 0)
	far.Jump = true
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000, Actors: []world.Actor{moved("a", far)}})
	require.NoError(t, err)
	for stamp, x := range map[simtime.Stamp]float64{10_000_000: 1, 19_999_999: 1, 20_000_000: 90} {
		pose, there := p.History().Pose(result.Spawned[0], stamp)
		assert.True(t, there)
		assert.InDelta(t, x, pose.Position[0], 1e-9, "at %d", stamp)
	}
	state, _ := p.History().State(result.Spawned[0], 20_000_000)
	assert.Zero(t, state.Twist.Linear.Len())
}

// TestLightsAreLamps: a frame's lights are those of the scene, bit by bit, and stay until another
// frame says otherwise.
func TestLightsAreLamps(t *testing.T) {
	for light, lamp := range map[world.Lights]scene.Lamps{
		world.LightHead: scene.LampHead, world.LightBrake: scene.LampBrake, world.LightLeft: scene.LampLeft,
		world.LightRight: scene.LampRight, world.LightReverse: scene.LampReverse,
	} {
		p := stepped(t, 1, &script{})
		s := at(1, 0, 0)
		s.Lights = light
		result, err := p.StepTo(t.Context(), &world.Frame{
			Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(0, 0, 0)}}, Actors: []world.Actor{moved("a", s)},
		})
		require.NoError(t, err)
		_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000})
		require.NoError(t, err)
		for _, stamp := range []simtime.Stamp{10_000_000, 20_000_000} {
			state, _ := p.History().State(result.Spawned[0], stamp)
			assert.Equal(t, lamp, state.Lamps)
		}
	}
}

// shows is what a light of a name is to show.
func shows(name string, state world.SignalState) world.Signal {
	return world.Signal{Ref: world.Ref{Name: name}, State: state}
}

// TestAnUnknownLightListsTheLights: as many as one reads, and how many more there are.
func TestAnUnknownLightListsTheLights(t *testing.T) {
	shows := func(s *scene.Scene, ref world.Ref) string {
		p := newScriptedIn(t, s, &script{}, pipeline.Config{Capacity: 2})
		_, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Signals: []world.Signal{{Ref: ref, State: world.SignalRed}}})
		require.ErrorIs(t, err, world.ErrUnknownSignal)
		return err.Error()
	}
	s := scenetest.Plaza(2)
	s.Signals = nil
	assert.Contains(t, shows(s, world.Ref{Name: "J9"}), "no such traffic light: the scene has none")
	for id := range uint32(50) {
		s.Signals = append(s.Signals, scene.TrafficLight{ID: id + 1, Name: fmt.Sprintf("north %d", id+1)})
	}
	s.Signals[1].Name = ""
	text := shows(s, world.Ref{Name: "zebra crossing"})
	assert.Contains(t, text, "no such traffic light: there are north 1 (id 1), (id 2), north 3 (id 3), ")
	assert.Contains(t, text, "north 20 (id 20) and 30 more")
	assert.Contains(t, shows(s, world.Ref{Name: "nort 44"}), "did you mean north 44? There are north 1 (id 1)")
	assert.Contains(t, shows(s, world.Ref{Handle: 77}), "(light 77): no such traffic light: there are north 1 (id 1)")
}

// TestSignalsOfAFrame: lights show what a frame says on the whole way to its end, and afterwards. So
// do all of one actor.
func TestSignalsOfAFrame(t *testing.T) {
	p := stepped(t, 1, &script{})
	step := func(until simtime.Stamp, complete bool, signals ...world.Signal) {
		t.Helper()
		_, err := p.StepTo(t.Context(), &world.Frame{Until: until, Signals: signals, Complete: complete})
		require.NoError(t, err)
	}
	step(10e6, false)
	step(40e6, false, world.Signal{Ref: world.Ref{Handle: 5}, State: world.SignalYellow}, shows("J8", world.SignalGreen))
	step(50e6, false, shows("J8", world.SignalRed))
	step(60e6, true)
	for stamp, want := range map[simtime.Stamp][3]scene.SignalState{
		10e6: {scene.SignalGreen, scene.SignalGreen, scene.SignalOff}, // by themselves
		20e6: {scene.SignalYellow, scene.SignalYellow, scene.SignalGreen},
		40e6: {scene.SignalYellow, scene.SignalYellow, scene.SignalGreen},
		50e6: {scene.SignalYellow, scene.SignalYellow, scene.SignalRed},
		60e6: {scene.SignalYellow, scene.SignalYellow, scene.SignalRed},
	} {
		for light := range want {
			state, _ := p.History().Signal(light, stamp)
			assert.Equal(t, want[light], state, "light %d at %d", light, stamp)
		}
	}
	_, err := p.Reset(t.Context(), 1)
	require.NoError(t, err)
	step(10e6, false)
	for light, want := range []scene.SignalState{scene.SignalGreen, scene.SignalGreen, scene.SignalOff} {
		state, _ := p.History().Signal(light, 10e6)
		assert.Equal(t, want, state, "light %d is as in the beginning", light)
	}
	for state, want := range map[world.SignalState]scene.SignalState{
		world.SignalRed: scene.SignalRed, world.SignalYellow: scene.SignalYellow, world.SignalGreen: scene.SignalGreen, world.SignalOff: scene.SignalOff,
	} {
		assert.Equal(t, want, scene.SignalState(state), "a frame's states are the scene's")
		parsed, err := world.ParseSignal(state.String())
		require.NoError(t, err)
		assert.Equal(t, state, parsed)
	}
	_, err = world.ParseSignal("blue")
	assert.ErrorIs(t, err, world.ErrValue)
	assert.ErrorContains(t, err, `state "blue": want red, yellow, green or off`)
}

// TestColorIsPaint: a spawned actor has the colour that its frame says, and none without one.
func TestColorIsPaint(t *testing.T) {
	p := stepped(t, 3, &script{})
	blue, err := world.ParseColor("#0063bc")
	require.NoError(t, err)
	result, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{
		{Model: "vehicle.sedan", State: at(0, 0, 0), Color: blue}, {Model: "vehicle.sedan", State: at(0, 9, 0)}, {Model: "?", State: at(9, 9, 0), Color: blue},
	}})
	require.NoError(t, err)
	for i, want := range []*[3]uint8{{0, 99, 188}, nil, {0, 99, 188}} {
		assert.Equal(t, want, p.History().Actor(result.Spawned[i]).Paint)
	}
}

// robot is a plaza's car with a hand and a door.
func robot(t testing.TB) *pipeline.Pipeline {
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
	return newScriptedIn(t, s, &script{}, pipeline.Config{Capacity: 4})
}

// TestJointsOfAFrame are led to by their order and their names, and kept where a frame says nothing.
func TestJointsOfAFrame(t *testing.T) {
	p := robot(t)
	step := func(ms int, f world.Frame) []uint32 {
		t.Helper()
		f.Until = simtime.Stamp(ms) * 1e6
		result, err := p.StepTo(t.Context(), &f)
		require.NoError(t, err)
		return result.Spawned
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
			return p.History().Actor(id).Parts[0].At(simtime.Stamp(ms) * 1e6).Col(3).Vec3()
		}
		got := place(ids[0])
		assert.InDeltaSlice(t, want[:], got[:], 1e-12, "at %d ms", ms)
		assert.Zero(t, place(ids[1]).Len(), "another of the model has its own")
	}
}

// TestBadJointsChangeNothing: each is an error with its place, and time stands.
func TestBadJointsChangeNothing(t *testing.T) {
	p := robot(t)
	_, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(0, 0, 0)}}})
	require.NoError(t, err)
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
			f.Until = 20_000_000
			_, err := p.StepTo(t.Context(), &f)
			require.ErrorIs(t, err, c.is)
			require.ErrorIs(t, err, world.ErrValue)
			assert.ErrorContains(t, err, list)
			assert.ErrorContains(t, err, c.want)
		}
	}
	assert.Equal(t, simtime.Stamp(10_000_000), p.Clock().Now())
	assert.Len(t, p.Actors("vehicle.sedan"), 1)
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000, Spawn: []world.Spawn{{Model: pipeline.BoxModel, State: func() world.State {
		s := at(0, 0, 0)
		s.Joints = []float64{1}
		return s
	}()}}})
	require.ErrorIs(t, err, world.ErrUnknownJoint, "a box by its name has no joints")
}

// TestTheEgoOfAFrame moves the vehicle from outside.
func TestTheEgoOfAFrame(t *testing.T) {
	p := stepped(t, 1, &script{})
	there := at(5, 6, 90)
	assert.Nil(t, p.Ego())
	result, err := p.StepTo(t.Context(), &world.Frame{Until: 200_000_000, Ego: &there})
	require.NoError(t, err)
	assert.IsType(t, &scene.Guided{}, p.Ego(), "it follows frames from now on")
	assert.InDelta(t, 0, result.Ego.Pose.Position.Sub(mgl64.Vec3{5, 6, 0}).Len(), 1e-9)
	half, _ := p.History().Pose(scene.EgoID, 100_000_000)
	assert.InDelta(t, 2.5, half.Position[0], 1e-9)
	result, err = p.StepTo(t.Context(), &world.Frame{Until: 300_000_000})
	require.NoError(t, err)
	assert.InDelta(t, 5, result.Ego.Pose.Position[0], 1e-9, "it stays")
	assert.Zero(t, result.Ego.Velocity.Len())
}

// TestAPausedRunIsStepped steps a pipeline whose Run is under way, in both modes.
func TestAPausedRunIsStepped(t *testing.T) {
	for _, mode := range []pipeline.Mode{pipeline.Stepped, pipeline.Realtime} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			p := newScriptedIn(t, scenetest.Plaza(2), &script{}, pipeline.Config{Capacity: 2, Mode: mode})
			addScripted(t, p, laggyID, "cam", "20")
			s, err := p.Sensor("cam")
			require.NoError(t, err)
			hear(t, s, func(sensors.Tick, *sample.Imu) {})
			p.Clock().Pause()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx, 0) }()
			defer func() {
				cancel()
				assert.NoError(t, <-ended)
			}()
			require.Eventually(t, func() bool { // the run has begun
				_, err := p.StepTo(ctx, &world.Frame{Until: 0})
				return errors.Is(err, world.ErrTime)
			}, 5*time.Second, time.Millisecond)
			for _, until := range []simtime.Stamp{1, 3, 1_000_000, 1_000_001, 49_999_999} { // before what the run waits for
				result, err := p.StepTo(ctx, &world.Frame{Until: until})
				require.NoError(t, err)
				assert.Empty(t, result.Deliveries)
				assert.Equal(t, until, p.Clock().Now())
			}
			for k := 1; k <= 5; k++ {
				until := simtime.Stamp(k * 50_000_001)
				f := &world.Frame{Until: until}
				if k == 1 {
					f.Spawn = []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(0, 0, 0)}}
				}
				f.Actors = []world.Actor{moved("a", at(float64(k), 0, 0))}
				result, err := p.StepTo(ctx, f)
				require.NoError(t, err)
				require.Len(t, result.Deliveries, 1)
				assert.True(t, result.Deliveries[0].Delivered(), "%+v", result.Deliveries[0])
				pose, there := p.History().Pose(p.Actors("vehicle.*")[1].ID(), until)
				assert.True(t, there)
				assert.InDelta(t, float64(k), pose.Position[0], 1e-9, "there is an instant at the step's end")
				assert.Equal(t, until, p.Clock().Now())
			}
			short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
			_, err = p.StepTo(short, &world.Frame{Until: 900_000_000_000_000})
			stop()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, world.ErrUnfinished)
			p.Clock().Halt()
			now := p.Clock().Pace()
			assert.Less(t, now, simtime.Stamp(800_000_000_000_000), "it ends where it is")
			_, err = p.StepTo(ctx, &world.Frame{Until: now + 10_000_000})
			require.NoError(t, err)
			assert.Equal(t, now+10_000_000, p.Clock().Now())
			p.Clock().Resume()
			_, err = p.StepTo(ctx, &world.Frame{Until: 900_000_000_000_000})
			require.ErrorIs(t, err, world.ErrMode)
		})
	}
}

// TestAStepGoesToAFiring has one of 30 Hz, whose period isn't a whole number of nanoseconds, beside others. The third
// firing is at 100 ms, one nanosecond after three steps of its rounded period.
func TestAStepGoesToAFiring(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("running %v", running), func(t *testing.T) {
			p := stepped(t, 1, &script{})
			p.Clock().Pause()
			addScripted(t, p, plainID, "camera", "30")
			addScripted(t, p, plainID, "imu", "400")
			step := p.StepTo
			if running {
				begun := make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { begun <- p.Run(ctx, 0) }()
				t.Cleanup(func() {
					cancel()
					assert.NoError(t, <-begun)
				})
				require.Eventually(t, p.Running, 5*time.Second, time.Millisecond)
				step = p.StepRunning
			}
			to := func(sensor string) simtime.Stamp {
				result, err := step(t.Context(), &world.Frame{To: sensor})
				require.NoError(t, err)
				assert.Equal(t, p.Clock().Now(), result.Stamp)
				fired := map[string]simtime.Stamp{}
				for _, d := range result.Deliveries {
					fired[d.Sensor] = d.Due
				}
				assert.Equal(t, result.Stamp, fired[sensor], "its firing is the step's end")
				return result.Stamp
			}
			for k := range 6 {
				assert.Equal(t, simtime.Hz(30).At(int64(k+1)), to("camera"))
			}
			assert.Equal(t, simtime.Stamp(202_500_000), to("imu"))
			assert.Equal(t, simtime.Stamp(233_333_333), to("camera"), "the IMU is ahead")

			addScripted(t, p, plainID, "late", "8")
			assert.Equal(t, simtime.Stamp(375_000_000), to("late"), "a whole period after the instant at which it joins, 235 ms")
			late, err := p.Sensor("late")
			require.NoError(t, err)
			require.NoError(t, late.Tune(pipeline.Tuning{Rate: simtime.Hz(5)}))
			assert.Equal(t, simtime.Stamp(500_000_000), to("late"), "the firing after which the new rate counts")
			assert.Equal(t, simtime.Stamp(600_000_000), to("late"))

			addScripted(t, p, eachID, "all", "")
			assert.Equal(t, simtime.Stamp(602_500_000), to("all"), "with the IMU")
			_, err = step(t.Context(), &world.Frame{To: "camra"})
			require.ErrorIs(t, err, pipeline.ErrNoSensor)
			assert.EqualError(t, err, `step to the next firing of camra: no such sensor: "camra", did you mean camera?`)
			require.NotErrorIs(t, err, world.ErrUnfinished)
			addScripted(t, p, plainID, "never", "0.00001")
			_, err = step(t.Context(), &world.Frame{To: "never"})
			require.ErrorIs(t, err, world.ErrTime)
			assert.Equal(t, simtime.Stamp(602_500_000), p.Clock().Now(), "time stands")
		})
	}
}

// TestStepRunningStepsNoOneElses pipeline: one that nobody runs stands.
func TestStepRunningStepsNoOneElses(t *testing.T) {
	p := stepped(t, 1, &script{})
	p.Clock().Pause()
	assert.False(t, p.Running())
	_, err := p.StepRunning(t.Context(), &world.Frame{Until: 10_000_000})
	require.ErrorIs(t, err, world.ErrMode)
	assert.Zero(t, p.Clock().Now())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, 0) }()
	require.Eventually(t, p.Running, 5*time.Second, time.Millisecond)
	_, err = p.StepRunning(t.Context(), &world.Frame{Until: 10_000_000})
	require.NoError(t, err)
	assert.Equal(t, simtime.Stamp(10_000_000), p.Clock().Now())
	cancel()
	require.NoError(t, <-ended)
	_, err = p.StepRunning(t.Context(), &world.Frame{Until: 20_000_000})
	require.ErrorIs(t, err, world.ErrEnded)
	require.NotErrorIs(t, err, world.ErrUnfinished)
	assert.Equal(t, simtime.Stamp(10_000_000), p.Clock().Now())
}

// TestWhoHasLeftIsNotPresent: neither one whose model never moves by itself.
func TestWhoHasLeftIsNotPresent(t *testing.T) {
	p := stepped(t, 1, &script{})
	result, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Model: "vehicle.sedan", State: at(0, 0, 0)}}})
	require.NoError(t, err)
	a, err := p.Actor(result.Spawned[0])
	require.NoError(t, err)
	assert.True(t, a.Present())
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000, Complete: true})
	require.NoError(t, err)
	assert.False(t, a.Present())
	_, err = p.Actor(result.Spawned[0])
	require.ErrorIs(t, err, scene.ErrAbsent)
}

// TestOneSteps has a second step come while the first is under way.
func TestOneSteps(t *testing.T) {
	busy := make(chan error, 1)
	p := stepped(t, 1, &script{})
	addScripted(t, p, plainID, "imu", "100")
	s, err := p.Sensor("imu")
	require.NoError(t, err)
	hear(t, s, func(sensors.Tick, *sample.Imu) {
		_, err := p.StepTo(context.Background(), &world.Frame{Until: 1})
		busy <- err
	})
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 10_000_000})
	require.NoError(t, err)
	require.ErrorIs(t, <-busy, world.ErrBusy)
}

// TestAStepOfThousands brings and moves 4,096 actors.
func TestAStepOfThousands(t *testing.T) {
	const n = 4096
	p := stepped(t, n, &script{})
	f := &world.Frame{Until: 10_000_000}
	for i := range n {
		f.Spawn = append(f.Spawn, world.Spawn{Name: fmt.Sprint("car", i), Model: "vehicle.sedan", State: at(float64(i%64), float64(i/64), 0)})
	}
	result, err := p.StepTo(t.Context(), f)
	require.NoError(t, err)
	require.Len(t, result.Spawned, n)
	next := &world.Frame{Until: 20_000_000}
	for i, id := range result.Spawned {
		next.Actors = append(next.Actors, world.Actor{Ref: world.Ref{Handle: id}, State: at(float64(i%64)+1, float64(i/64), 0)})
	}
	_, err = p.StepTo(t.Context(), next)
	require.NoError(t, err)
	for i, id := range result.Spawned {
		pose, there := p.History().Pose(id, 20_000_000)
		require.True(t, there)
		require.InDelta(t, float64(i%64)+1, pose.Position[0], 1e-9)
	}
}

// BenchmarkStepTo is a step of many actors without sensors. The pipeline is one that nobody runs,
// or one whose run is paused, as the API's is.
func BenchmarkStepTo(b *testing.B) {
	for _, running := range []bool{false, true} {
		for _, n := range []int{200, 2000} {
			b.Run(fmt.Sprintf("running=%v/%d", running, n), func(b *testing.B) { benchmarkStepTo(b, running, n) })
		}
	}
}

func benchmarkStepTo(b *testing.B, running bool, n int) {
	p := stepped(b, n, &script{})
	f := &world.Frame{Until: 10_000_000}
	for i := range n {
		f.Spawn = append(f.Spawn, world.Spawn{Model: "vehicle.sedan", State: at(float64(i), 0, 0)})
	}
	result, err := p.StepTo(b.Context(), f)
	require.NoError(b, err)
	f.Spawn = nil
	for i, id := range result.Spawned {
		f.Actors = append(f.Actors, world.Actor{Ref: world.Ref{Handle: id}, State: at(float64(i), 1, 0)})
	}
	if running {
		p.Clock().Pause()
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx, 0) }()
		defer func() {
			cancel()
			require.NoError(b, <-ended)
		}()
		time.Sleep(50 * time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Until += 10_000_000
		if _, err := p.StepTo(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
}

// frames is a source of some frames, which then ends with an error.
type frames struct {
	list  []world.Frame
	then  error
	egos  []world.State
	gaps  int64
	onEnd func()
}

func (s *frames) Next(ctx context.Context, ego world.State) (*world.Frame, error) {
	s.egos = append(s.egos, ego)
	if len(s.list) == 0 {
		if s.onEnd != nil {
			s.onEnd()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, s.then
	}
	f := &s.list[0]
	s.list = s.list[1:]
	return f, nil
}

func (s *frames) Gaps() int64 { return s.gaps }

func (*frames) Close() error { return nil }

// TestFollow goes through a source's frames, by each way to its end.
func TestFollow(t *testing.T) {
	broken := errors.New("the line is dead")
	there := at(3, 0, 0)
	list := func() []world.Frame {
		return []world.Frame{{Until: 10_000_000, Ego: &there}, {Until: 20_000_000}, {Until: 40_000_000}}
	}
	for name, c := range map[string]struct {
		then     error
		duration time.Duration
		frames   int64
		stamp    simtime.Stamp
		err      error
	}{
		"to its end":      {io.EOF, 0, 3, 40_000_000, nil},
		"to its fault":    {broken, 0, 3, 40_000_000, broken},
		"for a duration":  {io.EOF, 20 * time.Millisecond, 2, 20_000_000, nil},
		"into a step":     {io.EOF, 30 * time.Millisecond, 3, 30_000_000, nil},
		"until ctx ended": {nil, 0, 3, 40_000_000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := stepped(t, 1, &script{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			source := &frames{list: list(), then: c.then, gaps: 7}
			if c.then == nil {
				source.onEnd = cancel
			}
			require.ErrorIs(t, p.Follow(ctx, pipeline.Following{Kind: "test", Source: source, Duration: c.duration}), c.err)
			assert.Equal(t, c.stamp, p.Clock().Now())
			summary := p.Summary().World
			assert.Equal(t, [2]int64{c.frames, 7}, [2]int64{summary.Frames, summary.Gaps})
			assert.Equal(t, "test", summary.Kind)
			assert.InDelta(t, 0, source.egos[0].Pose.Position[0], 1e-9, "the source is told where the ego is")
			assert.InDelta(t, 3, source.egos[1].Pose.Position[0], 1e-9)
		})
	}
}

// TestTheFirstInstantIsAStep: a frame may end where the run begins, so that the first of a source's moments is
// seen. Later actors come at the end of a step, and leave at the end of one.
func TestTheFirstInstantIsAStep(t *testing.T) {
	p := stepped(t, 4, &script{})
	ego := at(5, 6, 0)
	ego.Jump = true
	spawn := func(name string) world.Spawn {
		return world.Spawn{Name: name, Model: "vehicle.sedan", State: at(10, 0, 0)}
	}
	first, err := p.StepTo(t.Context(), &world.Frame{Spawn: []world.Spawn{spawn("brief"), spawn("a")}, Ego: &ego, AtEnd: true, Complete: true})
	require.NoError(t, err)
	assert.Zero(t, first.Stamp)
	assert.Equal(t, mgl64.Vec3{5, 6, 0}, first.Ego.Pose.Position)
	_, err = p.StepTo(t.Context(), &world.Frame{})
	require.ErrorIs(t, err, world.ErrTime, "there is one first instant")

	second, err := p.StepTo(t.Context(), &world.Frame{Until: 35_000_000, AtEnd: true, Complete: true, Spawn: []world.Spawn{spawn("late")},
		Actors: []world.Actor{moved("a", at(11, 0, 0))}})
	require.NoError(t, err)
	brief, a, late := first.Spawned[0], first.Spawned[1], second.Spawned[0]
	h := p.History()
	for stamp, want := range map[simtime.Stamp][3]bool{
		0: {true, true, false}, 10_000_000: {true, true, false}, 34_999_999: {true, true, false}, 35_000_000: {false, true, true},
	} {
		assert.Equal(t, want, [3]bool{h.Present(brief, stamp), h.Present(a, stamp), h.Present(late, stamp)}, "at %d", stamp)
	}
	state, _ := h.State(a, 0)
	assert.Equal(t, 10.0, state.Pose.Position[0])

	// Once the run has begun there is no step without a length.
	p = stepped(t, 1, &script{})
	require.NoError(t, p.Step(t.Context(), 1))
	_, err = p.StepTo(t.Context(), &world.Frame{Until: p.Clock().Now()})
	require.ErrorIs(t, err, world.ErrTime)
}

// stubborn is a source that goes on after a frame that was refused.
type stubborn struct {
	frames
	refused []error
	end     error
}

func (s *stubborn) Refused(err error) error {
	s.refused = append(s.refused, err)
	return s.end
}

// TestASourceIsToldOfRefusedFrames: it may continue, or say where the frame stands. Frames that are too far ahead
// are refused, too.
func TestASourceIsToldOfRefusedFrames(t *testing.T) {
	list := []world.Frame{{Until: 10_000_000}, {Until: 20_000_000, Remove: []world.Ref{{Name: "nobody"}}}, {Until: 17e17}, {Until: 30_000_000}}
	s := &stubborn{frames: frames{list: list, then: io.EOF}}
	p := stepped(t, 1, &script{})
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: s}))
	assert.Equal(t, simtime.Stamp(30_000_000), p.Clock().Now())
	require.Len(t, s.refused, 2)
	assert.ErrorIs(t, s.refused[0], world.ErrUnknownActor)
	assert.ErrorIs(t, s.refused[1], world.ErrTime)
	assert.ErrorContains(t, s.refused[1], "steps of 10ms ahead, the most is 1000000")

	s = &stubborn{frames: frames{list: list, then: io.EOF}, end: errors.New("line 7")}
	err := stepped(t, 1, &script{}).Follow(t.Context(), pipeline.Following{Kind: "test", Source: s})
	assert.EqualError(t, err, "world test: line 7")
}

// TestFollowKeepsToItsPace lets no more simulated time pass than the scale says.
func TestFollowKeepsToItsPace(t *testing.T) {
	p := stepped(t, 1, &script{})
	begun := time.Now()
	source := &frames{list: []world.Frame{{Until: 10_000_000}, {Until: 100_000_000}}, then: io.EOF}
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: source, Scale: 2}))
	assert.GreaterOrEqual(t, time.Since(begun), 50*time.Millisecond)
	assert.Equal(t, simtime.Stamp(100_000_000), p.Clock().Now())
}

// TestALongFrameKeepsToItsPace: time passes within it, too, instead of standing and then going at once.
func TestALongFrameKeepsToItsPace(t *testing.T) {
	p := stepped(t, 1, &script{})
	begun, samples := time.Now(), 0
	hear(t, addScripted(t, p, plainID, "imu", "100"), func(at sensors.Tick, _ *sample.Imu) {
		assert.GreaterOrEqual(t, time.Since(begun), time.Duration(at.Due))
		samples++
		p.Clock().Pause() // it is resumed in time, and what the pause takes isn't made good
		p.Clock().Resume()
	})
	source := &frames{list: []world.Frame{{Until: 100_000_000}}, then: io.EOF}
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: source, Scale: 1}))
	assert.Equal(t, simtime.Stamp(100_000_000), p.Clock().Now())
	assert.Equal(t, 10, samples)
}

// TestWhoFollowsSteps: nobody else steps while a source is followed.
func TestWhoFollowsSteps(t *testing.T) {
	p := stepped(t, 1, &script{})
	source := &frames{then: io.EOF}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source.onEnd = func() {
		_, err := p.StepTo(ctx, &world.Frame{Until: 10_000_000})
		assert.ErrorIs(t, err, world.ErrBusy)
		assert.ErrorContains(t, err, "the world test moves the actors and time")
		_, err = p.StepRunning(ctx, &world.Frame{Until: 10_000_000})
		assert.ErrorIs(t, err, world.ErrBusy)
		assert.True(t, p.Running())
		cancel()
	}
	require.NoError(t, p.Follow(ctx, pipeline.Following{Kind: "test", Source: source}))
}

// TestActorsOfTheProgramTakeRoom: SpawnActor's have slots, too.
func TestActorsOfTheProgramTakeRoom(t *testing.T) {
	p := stepped(t, 2, &script{})
	for range 3 {
		_, err := p.SpawnActor("vehicle.sedan", nil)
		require.NoError(t, err)
	}
	f := &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", State: at(0, 0, 0)}, {Name: "b", State: at(0, 9, 0)}}}
	_, err := p.StepTo(t.Context(), f)
	require.ErrorIs(t, err, world.ErrFull)
	assert.Contains(t, err.Error(), `spawn[1] (actor "b")`)
	f.Spawn = f.Spawn[:1]
	_, err = p.StepTo(t.Context(), f)
	require.NoError(t, err)
}

// TestWhoIsDestroyedHasLeft: a frame's actor may go by the program's hand.
func TestWhoIsDestroyedHasLeft(t *testing.T) {
	p := stepped(t, 1, &script{})
	f := &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(0, 0, 0)}}}
	result, err := p.StepTo(t.Context(), f)
	require.NoError(t, err)
	a, err := p.Actor(result.Spawned[0])
	require.NoError(t, err)
	require.NoError(t, a.Destroy())
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000, Actors: []world.Actor{moved("a", at(1, 0, 0))}})
	require.ErrorIs(t, err, world.ErrUnknownActor)
	f.Until = 20_000_000
	_, err = p.StepTo(t.Context(), f)
	require.NoError(t, err, "his name and his room are free")
}

// TestAMadeNameYields: an actor without a name is given one that another may have already.
func TestAMadeNameYields(t *testing.T) {
	p := stepped(t, 4, &script{})
	spawn := func(name string) world.Spawn {
		return world.Spawn{Name: name, Model: "vehicle.sedan", State: at(0, 0, 0)}
	}
	result, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{spawn("vehicle.sedan_3"), spawn("")}})
	require.NoError(t, err)
	require.Equal(t, uint32(3), result.Spawned[1])
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000, Remove: []world.Ref{{Name: "vehicle.sedan_3"}}})
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true}, []bool{p.History().Present(result.Spawned[0], 20_000_000), p.History().Present(3, 20_000_000)})
}

// TestABrokenStepContinues: who was on his way continues from where he is.
func TestABrokenStepContinues(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := stepped(t, 2, &script{pretick: func(_ string, at sensors.Tick) {
		if at.Due == 50_000_000 {
			cancel()
		}
	}})
	s := addScripted(t, p, plainID, "imu", "100")
	hear(t, s, func(sensors.Tick, *sample.Imu) {})
	there := at(1000, 9, 0)
	f := &world.Frame{
		Until: 10_000_000_000, Ego: &there, Actors: []world.Actor{moved("a", there)},
		Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(0, 9, 0)}, {Name: "b", Model: "vehicle.sedan", State: at(0, 9, 0)}},
	}
	f.Actors = append(f.Actors, moved("b", there))
	result, err := p.StepTo(ctx, f)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, world.ErrUnfinished)
	now := p.Clock().Now()
	assert.Equal(t, now, result.Stamp)
	assert.Len(t, result.Spawned, 2)
	assert.InDelta(t, 5, result.Ego.Pose.Position[0], 1e-9)
	require.Equal(t, simtime.Stamp(50_000_000), now)
	there, ego := at(15, 9, 0), at(15, result.Ego.Pose.Position[1], 0)
	_, err = p.StepTo(t.Context(), &world.Frame{Until: now + 100_000_000, Ego: &ego, Actors: []world.Actor{moved("a", there)}})
	require.NoError(t, err)
	for k, x := range map[string][2]float64{"a": {5, 6}, "b": {5, 5}, "ego": {5, 6}} {
		id := uint32(scene.EgoID)
		for _, a := range p.Actors("vehicle.*") {
			if a.Name() == k {
				id = a.ID()
			}
		}
		for i, want := range x {
			pose, _ := p.History().Pose(id, now+simtime.Stamp(i)*10_000_000)
			assert.InDelta(t, want, pose.Position[0], 1e-9, "%s, %d ticks on", k, i)
		}
	}
}

// TestStepSensorsWaitsForItsTurn: each has the account of its own firings.
func TestStepSensorsWaitsForItsTurn(t *testing.T) {
	p := stepped(t, 2, &script{})
	s := addScripted(t, p, plainID, "imu", "100")
	others := make(chan []pipeline.Delivery, 1)
	hear(t, s, func(at sensors.Tick, _ *sample.Imu) {
		if at.Due != 10_000_000 {
			return
		}
		called := make(chan struct{})
		go func() {
			close(called)
			list, err := p.StepSensors(t.Context(), 3)
			assert.NoError(t, err)
			others <- list
		}()
		<-called
		time.Sleep(20 * time.Millisecond) // it has come to where it waits, most likely
	})
	result, err := p.StepTo(t.Context(), &world.Frame{Until: 100_000_000})
	require.NoError(t, err)
	for want, list := range map[int][]pipeline.Delivery{10: result.Deliveries, 3: <-others} {
		require.Len(t, list, want)
		for _, d := range list {
			assert.Equal(t, 1, d.Messages, "%+v", d)
		}
	}
}

// pausedPlaza returns a pipeline whose run is under way, and paused at 10 ms.
func pausedPlaza(t *testing.T, mode pipeline.Mode) *pipeline.Pipeline {
	t.Helper()
	begun := make(chan struct{})
	p := newScriptedIn(t, scenetest.Plaza(2), &script{begin: func(context.Context, string) error {
		close(begun)
		return nil
	}}, pipeline.Config{Capacity: 2, Mode: mode})
	addScripted(t, p, plainID, "imu", "100")
	p.Clock().Pause()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, 0) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	<-begun
	_, err := p.StepTo(ctx, &world.Frame{Until: 10_000_000})
	require.NoError(t, err) // and its loop, too
	return p
}

// TestAClockThatIsChangedEndsTheStep: others resume and pause it, or choose another source.
func TestAClockThatIsChangedEndsTheStep(t *testing.T) {
	for name, change := range map[string]func(c *simtime.Clock){
		"resumed and paused": func(c *simtime.Clock) { c.Resume(); c.Pause() },
		"another source":     func(c *simtime.Clock) { _ = c.Select("simulation") },
	} {
		for _, mode := range []pipeline.Mode{pipeline.Stepped, pipeline.Realtime} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				p := pausedPlaza(t, mode)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				var once sync.Once
				p.Clock().Subscribe(func(c simtime.Change) {
					if c.Kind == simtime.Stepped {
						once.Do(func() { go change(p.Clock()) })
					}
				})
				result, err := p.StepTo(ctx, &world.Frame{Until: math.MaxInt64 / 2, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(3, 0, 0)}}})
				require.ErrorIs(t, err, world.ErrMode)
				require.ErrorIs(t, err, world.ErrUnfinished, "the frame was applied")
				require.Len(t, result.Spawned, 1)
				assert.Equal(t, p.Clock().Pace(), result.Stamp)
				assert.Less(t, result.Stamp, simtime.Stamp(math.MaxInt64/2))
				result, err = p.StepTo(ctx, &world.Frame{Until: result.Stamp + 10_000_000, Actors: []world.Actor{{Ref: world.Ref{Handle: result.Spawned[0]}, State: at(4, 0, 0)}}})
				require.NoError(t, err, "it is there")
				assert.Equal(t, p.Clock().Now(), result.Stamp)
			})
		}
	}
}

// TestThoseWhoHearOfAStepMayAsk: the clock's subscribers may call the pipeline.
func TestThoseWhoHearOfAStepMayAsk(t *testing.T) {
	p := pausedPlaza(t, pipeline.Stepped)
	p.Clock().Subscribe(func(simtime.Change) { p.Actors("*") })
	done := make(chan error, 1)
	go func() {
		_, err := p.StepTo(t.Context(), &world.Frame{Until: 20_000_000})
		done <- err
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the step and a subscriber wait for each other")
	}
}

// TestAStepTellsWhoIsSlow: the caller doesn't wait for a peer that doesn't move. Either he runs the
// pipeline, or somebody else does.
func TestAStepTellsWhoIsSlow(t *testing.T) {
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprint(alone), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			stall := make(chan struct{})
			to := &peer{kind: bridges.KindNetwork, publish: func(context.Context, string, simtime.Stamp) error {
				cancel()
				<-stall
				return nil
			}}
			begun := make(chan struct{})
			p := newScriptedIn(t, scenetest.Plaza(1), &script{begin: func(context.Context, string) error {
				close(begun)
				return nil
			}}, pipeline.Config{Capacity: 1, Bridges: to.registry()})
			addScripted(t, p, plainID, "imu", "100")
			to.attach(t, p, "block")
			ended, end := make(chan error, 1), func() {}
			if alone {
				ended <- nil
			} else {
				p.Clock().Pause()
				var running context.Context
				running, end = context.WithCancel(t.Context())
				go func() { ended <- p.Run(running, 0) }()
				<-begun
			}
			result, err := p.StepTo(ctx, &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", State: at(0, 0, 0)}}})
			require.ErrorIs(t, err, pipeline.ErrUndelivered)
			require.Len(t, result.Deliveries, 1)
			assert.Equal(t, flow.CausePeerSlow, result.Deliveries[0].Missing)
			assert.Len(t, result.Spawned, 1)
			close(stall)
			end()
			require.NoError(t, <-ended)
		})
	}
}

// TestAWorldOfAClockWithItsOwnTime steps one whose time doesn't begin at 0.
func TestAWorldOfAClockWithItsOwnTime(t *testing.T) {
	p := newScriptedIn(t, scenetest.Plaza(1), &script{}, pipeline.Config{Capacity: 1, TimeSource: simtime.System})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := p.StepTo(ctx, &world.Frame{Until: 10_000_000})
	require.ErrorIs(t, err, world.ErrTime)
	result, err := p.StepTo(ctx, &world.Frame{Until: p.Clock().Now() + 10_000_000})
	require.NoError(t, err)
	assert.Equal(t, p.Clock().Now(), result.Stamp)
}

// TestManyAskWhileAWorldSteps has sensors and actors of others come and go meanwhile. It is for the
// race detector.
func TestManyAskWhileAWorldSteps(t *testing.T) {
	p := stepped(t, 16, &script{})
	hear(t, addScripted(t, p, laggyID, "cam", "20"), func(sensors.Tick, *sample.Imu) { p.Actors("*") })
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for _, do := range []func(k int){
		func(int) { p.Summary() },
		func(int) {
			_, newest, _ := p.History().Span()
			for _, a := range p.History().Spawned(nil, newest) {
				_, _ = p.History().State(a.ID, newest)
				_, _ = p.History().Box(a.ID)
				_, _ = p.History().Motion(a.ID)
			}
		},
		func(k int) {
			a, err := p.SpawnActor("vehicle.sedan", nil)
			if err != nil {
				return
			}
			_, _ = p.AddSensor(sensors.Config{AttachTo: a.ID(), ID: laggyID, Name: fmt.Sprint("on ", k), Rate: simtime.Hz(50)})
			assert.NoError(t, a.Destroy())
		},
	} {
		others.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				do(k)
				time.Sleep(time.Millisecond)
			}
		})
	}
	for k := 1; k <= 100; k++ {
		name := fmt.Sprint("a", k)
		_, err := p.StepTo(t.Context(), &world.Frame{
			Until: simtime.Stamp(k * 10_000_000), Wait: world.Wait(k % 3), Complete: k%4 == 0,
			Spawn:  []world.Spawn{{Name: name, Model: "vehicle.sedan", State: at(float64(k), 0, 0)}},
			Actors: []world.Actor{moved(name, at(float64(k), 1, 0))},
		})
		require.NoError(t, err)
	}
	stop()
	others.Wait()
	require.NoError(t, p.Close(t.Context()))
}

// TestAPauseHoldsUpWhoFollows: others may pause the clock between two frames, and resume it.
func TestAPauseHoldsUpWhoFollows(t *testing.T) {
	p := stepped(t, 1, &script{})
	p.Clock().Pause()
	var resumed time.Time
	released := make(chan struct{})
	go func() {
		defer close(released)
		time.Sleep(100 * time.Millisecond)
		assert.Zero(t, p.Clock().Now(), "it stands")
		resumed = time.Now()
		p.Clock().Resume()
	}()
	source := &frames{list: []world.Frame{{Until: 10_000_000}, {Until: 500_000_000}}, then: io.EOF}
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: source, Scale: 1}))
	<-released
	assert.Equal(t, simtime.Stamp(500_000_000), p.Clock().Now())
	assert.GreaterOrEqual(t, time.Since(resumed), 200*time.Millisecond, "and doesn't hurry afterwards; a busy machine may be late before")
}
