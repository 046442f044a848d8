package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
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

func resetTo(t *testing.T, p *pipeline.Pipeline, seed uint64) world.StepResult {
	t.Helper()
	result, err := p.Reset(t.Context(), seed)
	require.NoError(t, err)
	return result
}

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

// TestARefusedFrameChangesNothing: time stands, and the error says where the step was to end.
func TestARefusedFrameChangesNothing(t *testing.T) {
	p := stepped(t, 3, &script{})
	_, err := p.StepTo(t.Context(), &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: at(1, 0, 0)}}})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		frame world.Frame
		err   error
		text  string
	}{
		"the present":  {world.Frame{Until: 10_000_000}, world.ErrTime, "step to 0.01 s: time is not ahead: it is 0.01 s already"},
		"the past":     {world.Frame{Until: 5}, world.ErrTime, ""},
		"unknown name": {world.Frame{Until: 20_000_000, Actors: []world.Actor{moved("c", at(2, 0, 0))}}, world.ErrUnknownActor, `step to 0.02 s: actors[0] (actor "c"): no such actor`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.StepTo(t.Context(), &c.frame)
			require.ErrorIs(t, err, c.err)
			assert.Contains(t, err.Error(), c.text)
			assert.Equal(t, simtime.Stamp(10_000_000), p.Clock().Now(), "time stands")
			assert.Len(t, p.Actors("vehicle.sedan"), 1)
		})
	}
	_, err = p.StepTo(t.Context(), &world.Frame{Until: 20_000_000, Actors: []world.Actor{moved("a", at(2, 0, 0))}})
	require.NoError(t, err)
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

	// A Reset takes the run back to its beginning, where there is one first instant again.
	for range 2 {
		resetTo(t, p, 4)
		_, err = p.StepTo(t.Context(), &world.Frame{Spawn: []world.Spawn{spawn("a")}})
		require.NoError(t, err)
		_, err = p.StepTo(t.Context(), &world.Frame{})
		require.ErrorIs(t, err, world.ErrTime)
	}
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
	others := make(chan []world.Delivery, 1)
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
	for want, list := range map[int][]world.Delivery{10: result.Deliveries, 3: <-others} {
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

// TestAStepTellsWhoIsSlow: the caller doesn't wait for a peer that doesn't move, whether the caller runs
// the pipeline or somebody else does.
func TestAStepTellsWhoIsSlow(t *testing.T) {
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprint(alone), func(t *testing.T) {
			var result world.StepResult
			err := context.DeadlineExceeded
			// A busy machine may need longer for the step itself.
			for patience := 50 * time.Millisecond; patience < time.Minute; patience *= 2 {
				result, err = stepBesideASlowBridge(t, alone, patience)
				if errors.Is(err, pipeline.ErrUndelivered) || !errors.Is(err, context.DeadlineExceeded) {
					break
				}
			}
			require.ErrorIs(t, err, pipeline.ErrUndelivered)
			require.Len(t, result.Deliveries, 1)
			assert.Equal(t, flow.CausePeerSlow, result.Deliveries[0].Missing)
			assert.Len(t, result.Spawned, 1)
		})
	}
}

// stepBesideASlowBridge makes a step, alone or in a run, for which a bridge has no time as long as the
// caller waits.
func stepBesideASlowBridge(t *testing.T, alone bool, patience time.Duration) (world.StepResult, error) {
	t.Helper()
	stall, begun := make(chan struct{}), make(chan struct{})
	to := &peer{kind: bridges.KindNetwork, publish: func(context.Context, string, simtime.Stamp) error {
		<-stall
		return nil
	}}
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := p.StepTo(ctx, &world.Frame{Until: 10_000_000, Spawn: []world.Spawn{{Name: "a", State: at(0, 0, 0)}}})
	close(stall)
	end()
	require.NoError(t, <-ended)
	return result, err
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
